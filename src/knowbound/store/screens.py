"""Stores the newest screens of `lint` and `review`, and the decisions about actions with what was written."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeVar

import msgspec

from knowbound.core.lesson import Lesson
from knowbound.patching import FilePatch
from knowbound.store.database import FindingsStore

_Screen = TypeVar("_Screen")


class FixState(StrEnum):
    """State of a decision about an action."""

    PENDING = "pending"  # the files are being written; a killed process left it so
    APPLIED = "applied"
    UNDONE = "undone"
    REJECTED = "rejected"


class Fix(msgspec.Struct, frozen=True):
    """The carrying out of one action: files to change, or an item to replace."""

    id: str
    title: str
    patches: list[FilePatch] = []
    item: str = ""  # id of the item that is replaced
    content: str = ""  # of its successor; of an answer to verify: what would show it
    successor: str = ""  # its id, once it is there
    lesson: Lesson | None = None  # the written line, or a line that represents the repair: watched afterwards
    is_written_line: bool = False  # the lesson is one of `learn`
    session: str = ""  # of an answer to verify: its turn is shown, and nothing is written
    turn: int = 0
    trace: str = ""
    needs_person: bool = False  # it makes a client or git run or refuse something: never written without being asked


class DecidedFix(msgspec.Struct, frozen=True):
    """A fix with what became of it."""

    fix: Fix
    state: FixState
    time: str


class Screens(FindingsStore):
    """The screens and fixes of one data folder."""

    def screen(self, name: str, key: str, type_: type[_Screen]) -> _Screen | None:
        """Return the kept screen; None if it depends on something else now, or is of another version."""
        row = self._db.row("SELECT screen FROM screen WHERE name = ? AND key = ?", name, key)
        try:
            return None if row is None else msgspec.msgpack.decode(row[0], type=type_)
        except msgspec.MsgspecError:
            return None

    def newest(self, name: str, type_: type[_Screen]) -> _Screen | None:
        """Return the newest screen, whatever it depends on."""
        row = self._db.row("SELECT key FROM screen WHERE name = ?", name)
        return None if row is None else self.screen(name, row[0], type_)

    def keep_screen(self, name: str, key: str, screen: object) -> None:
        """Store a screen in place of the previous screen."""
        self._db.write("INSERT OR REPLACE INTO screen VALUES (?, ?, ?)", name, key, msgspec.msgpack.encode(screen))

    def fixes(self) -> list[DecidedFix]:
        """Return the decisions, oldest first."""
        rows = self._db.rows("SELECT fix, state, time FROM fix ORDER BY time, id")
        return [DecidedFix(msgspec.msgpack.decode(row[0], type=Fix), FixState(row[1]), row[2]) for row in rows]

    def keep_fix(self, fix: Fix, state: FixState, time: str) -> None:
        """Store a decision."""
        row = (fix.id, time, state, msgspec.msgpack.encode(fix))
        self._db.write("INSERT OR REPLACE INTO fix VALUES (?, ?, ?, ?)", *row)

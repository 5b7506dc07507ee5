"""Reads the queue of ended turns that hooks write (ended.py), and remembers how far it was worked off.

The mark of how far is written after the work, so a worker that is killed does some of it again; the log of turns makes
that harmless, because a turn is one document however often it is written.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from knowbound.quality.ended import STOP, SUBAGENT_STOP
from knowbound.store.data_dir import ENDED
from knowbound.user_files import make_file

_MARK = "done.json"
_BEGINNING = b'{"time":'  # of every line; inside one its quotes are escaped
_KEPT_DAYS = 2  # files that are worked off and so old are removed: no hook writes to them any more


class EndedRecord(msgspec.Struct, frozen=True):
    """A turn that ended, as a hook queued it."""

    time: str
    id: str
    event: str
    session: str = ""
    agent: str = "unknown"
    agent_id: str = ""
    prompt_id: str = ""
    turn_id: str = ""
    transcript: str = ""
    answer_sum: str = ""  # of the last message; "" where it has none
    answer: str | None = None  # without secrets; None: not written, or not yet
    answer_length: int = 0
    ms: float | None = None  # that the hook took

    @property
    def key(self) -> str:
        """The id of the turn by which it is found in the trace and in the log of injections."""
        return self.prompt_id or self.turn_id

    @property
    def age_seconds(self) -> float:
        """How long ago it ended."""
        return (datetime.now(UTC) - datetime.fromisoformat(self.time)).total_seconds()

    @property
    def lacks_answer(self) -> bool:
        """Whether the line with its last message is still to come."""
        return self.event in (STOP, SUBAGENT_STOP) and bool(self.answer_sum) and self.answer is None


class Queue:
    """The queue of one data folder. One worker at a time reads it."""

    def __init__(self, home: Path) -> None:
        self._folder = home / ENDED
        self._read: dict[str, int] = {}  # file → bytes that the last reading has seen
        self.torn = 0  # lines that a full disk cut short; their hooks reported an error

    def pending(self) -> list[EndedRecord]:
        """What is not worked off yet, oldest first."""
        done, found, self.torn = self._done(), list[EndedRecord](), 0
        for path in self._files():
            data = _bytes_from(path, done.get(path.name, 0))
            whole = data[: data.rfind(b"\n") + 1]  # a line that is being written is for the next reading
            self._read[path.name] = done.get(path.name, 0) + len(whole)
            found += self._records(whole)
        return found

    def mark_done(self) -> None:
        """All that `pending` gave is worked off. Files that are, and that nobody writes to any more, are removed."""
        done = self._done() | self._read
        oldest = (datetime.now(UTC) - timedelta(days=_KEPT_DAYS)).strftime("%Y-%m-%d")
        kept = {}
        for path in self._files():
            if path.name[:10] < oldest and done.get(path.name, 0) >= path.stat().st_size:
                path.unlink(missing_ok=True)
            elif path.name in done:
                kept[path.name] = done[path.name]
        make_file(self._folder / _MARK, msgspec.json.encode(kept))

    def is_empty(self) -> bool:
        """Whether nothing was queued since the last `mark_done`."""
        done = self._done()
        return all(path.stat().st_size <= done.get(path.name, 0) for path in self._files())

    def _files(self) -> list[Path]:
        return [] if self._folder.is_symlink() else sorted(self._folder.glob("[0-9]*.jsonl"))

    def _done(self) -> dict[str, int]:
        try:
            return msgspec.json.decode((self._folder / _MARK).read_bytes(), type=dict[str, int])
        except (OSError, msgspec.MsgspecError):
            return {}

    def _records(self, data: bytes) -> list[EndedRecord]:
        joined: dict[str, dict[str, Any]] = {}
        for line in data.splitlines():
            start = max(0, line.rfind(_BEGINNING))  # behind one that a full disk cut short
            self.torn += start > 0
            try:
                fields = msgspec.json.decode(line[start:], type=dict[str, Any])
                joined.setdefault(fields["id"], {}).update(fields)
            except (msgspec.MsgspecError, KeyError, TypeError, UnicodeDecodeError):
                self.torn += bool(line.strip())
        found = []
        for fields in joined.values():
            if "event" in fields:  # else its first line was worked off before
                try:
                    found.append(msgspec.convert(fields, EndedRecord))
                except msgspec.ValidationError:
                    self.torn += 1
        return found


def _bytes_from(path: Path, start: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(start if start <= os.fstat(file.fileno()).st_size else 0)
            return file.read()
    except FileNotFoundError:
        return b""

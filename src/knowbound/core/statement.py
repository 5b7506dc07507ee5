"""Statements of knowledge files, what the tree says about them, and junk of memory stores (docs/words.md)."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import msgspec


class StatementKind(StrEnum):
    """Kind of the thing that a statement names."""

    PATH = "path"
    COMMAND = "command"
    SYMBOL = "symbol"
    VERSION = "version"
    LAYOUT = "layout"
    BEHAVIOUR = "behaviour"
    RULE = "rule"
    OTHER = "other"
    VARIABLE = "variable"
    PORT = "port"
    LINK = "link"
    OPTION = "option"
    SKILL = "skill"


class Truth(StrEnum):
    """Verdict of the tree on a statement."""

    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    NOT_CHECKABLE = "not_checkable"


class Statement(msgspec.Struct, frozen=True):
    """A sentence, bullet, row or line of code of a knowledge file, as written."""

    file: str
    line: int
    end_line: int
    text: str
    is_code: bool = False  # a line of a block of commands
    path: str = ""  # of a row of a drawn tree: the path that the row stands for
    heading: str = ""
    under: str = ""  # of a bullet: the folder that the sentence before the list names


class StatementPlace(msgspec.Struct, frozen=True):
    """A line of the tree that shows something."""

    path: str
    line: int = 0


class CheckedStatement(msgspec.Struct, frozen=True):
    """A statement with its truth. The first thing that is contradicted decides; else everything named has to hold."""

    statement: Statement
    kind: StatementKind
    truth: Truth
    named: str = ""  # the thing that decided
    evidence: StatementPlace | None = None
    repair: str | None = None  # the statement as it would be right
    swap: tuple[str, str] | None = None  # the words of the repair: those that go, and those that come
    why: str = ""
    since: str = ""  # the commit that made it wrong, if history shows one
    same_as: tuple[str, ...] = ()  # other statements that name the same wrong thing, as file:line
    by: str = "rules"


class Looked(NamedTuple):
    """Result of looking one named thing up."""

    truth: Truth
    place: StatementPlace | None = None  # where it is, or what contradicts it
    instead: str = ""  # what the tree has in its place
    since: str = ""  # the commit that took it away, if history shows one


UNKNOWN = Looked(Truth.NOT_CHECKABLE)


class JunkKind(StrEnum):
    """Kind of junk."""

    DUPLICATE = "duplicate"
    NEAR_COPY = "near_copy"
    CONTRADICTED = "contradicted"
    DISPROVED = "disproved"
    OFF_TOPIC = "off_topic"


class JunkEntry(msgspec.Struct, frozen=True):
    """An entry that can be deleted, and why."""

    id: str
    kind: JunkKind
    content: str
    why: str = ""
    of: str = ""  # the entry that says the same, or disproves it
    tokens: int = 0  # what it costs whenever it is injected
    by: str = "rules"

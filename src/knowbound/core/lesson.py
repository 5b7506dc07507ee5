"""Lessons, which are proposed lines of knowledge, and actions of the front door (docs/words.md)."""

from __future__ import annotations

import hashlib
from enum import StrEnum

import msgspec

from knowbound.core.signal import Cost, Example


class LessonKind(StrEnum):
    """Subject of a lesson."""

    LOCATION = "location"  # the right place of something that agents look for under wrong names
    COMMAND = "command"  # the command that worked after one that failed
    CORRECTION = "correction"  # a correction by users in two sessions or more


class LessonStatus(StrEnum):
    """State of a lesson."""

    NEW = "new"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    APPLIED = "applied"
    CLOSED = "closed"  # applied, and the data show fewer misses
    REOPENED = "reopened"  # closed, and the misses came back
    STALE = "stale"  # applied, and the tree no longer confirms it


WRITTEN = frozenset({LessonStatus.APPLIED, LessonStatus.CLOSED, LessonStatus.REOPENED, LessonStatus.STALE})


class CheckKind(StrEnum):
    """Kind of condition on the tree under which a lesson is true."""

    FILE = "file"  # a file or folder is at `path`
    ABSENT = "absent"  # nothing is at `path`
    TEXT = "text"  # the file at `path` has a line with `text`; without a path, some file of the project
    SCRIPT = "script"  # the manifest at `path` has a script named `text`
    NO_SCRIPT = "no_script"  # the manifest has no such script
    SYMBOL = "symbol"  # `text` is defined in the file at `path`


class TreeCheck(msgspec.Struct, frozen=True):
    """One condition on the tree."""

    kind: CheckKind
    path: str = ""
    text: str = ""


class Verified(msgspec.Struct, frozen=True):
    """Place in the tree that confirms a lesson, and the quality of that evidence (specification 3)."""

    quality: str
    path: str
    line: int = 0


class LessonEvidence(msgspec.Struct, frozen=True):
    """A line of a trace behind a lesson."""

    session: str
    line: int
    file: str = ""


class MissCount(msgspec.Struct, frozen=True):
    """Sessions that missed the subject of a lesson, of all sessions in the period."""

    missed: int = 0
    sessions: int = 0


class Applied(msgspec.Struct, frozen=True):
    """Target and time of a written lesson."""

    target: str  # file, items, samples
    time: str  # ISO, UTC
    place: str = ""  # the file, or the id of the item
    before: MissCount = MissCount()
    after: MissCount = MissCount()


class Lesson(msgspec.Struct, frozen=True):
    """A proposed line of knowledge, with its reasons."""

    id: str
    kind: LessonKind
    text: str
    file: str  # knowledge file that the line belongs in
    project: str = ""
    sessions: int = 0
    cost: Cost = Cost()
    evidence: list[LessonEvidence] = []
    checks: list[TreeCheck] = []
    verified: Verified | None = None
    unverified: str = ""  # what the tree cannot show
    status: LessonStatus = LessonStatus.NEW
    topics: list[str] = []  # ids of the answered topics
    names: list[str] = []  # names that connect later misses with the lesson
    by: str = "rules"  # author: rules, a model, an agent
    title: str = ""  # what is missing, in a model's words
    made: str = ""  # ISO, UTC: time of the first proposal
    applied: Applied | None = None

    @property
    def saves(self) -> float:
        """Estimated savings of writing the line: calls, and half a call per session."""
        return self.cost.calls + 0.5 * self.sessions


def lesson_id(project: str, kind: LessonKind, key: str) -> str:
    """Return an id made from the subject of a lesson: equal in every run, whatever the words or counts."""
    return hashlib.sha256(f"{project}\n{kind}\n{key}".encode("utf-8", "replace")).hexdigest()[:8]


class ActionKind(StrEnum):
    """Kind of an action."""

    REPAIR = "repair"  # a statement that the tree contradicts
    WRITE = "write"  # a line that agents keep missing
    ENFORCE = "enforce"  # a rule that agents ignore
    SUPERSEDE = "supersede"  # an injected item that turns contradict
    VERIFY = "verify"  # an answer whose claim nothing shows


class ActionCost(msgspec.Struct, frozen=True):
    """Work that the sessions lost; None: not in the traces."""

    sessions: int = 0
    calls: int = 0
    tokens: int | None = None
    share: float | None = None  # of all tool calls of the sessions


class Action(msgspec.Struct, frozen=True):
    """One action."""

    id: str
    kind: ActionKind
    title: str
    why: str
    cost: ActionCost = ActionCost()
    evidence: list[Example] = []
    place: str = ""  # the file, or `item:ID`
    diff: str = ""
    by: str = "rules"


def action_id(kind: ActionKind, subject: str) -> str:
    """Return an id made from the subject of an action: equal in every run, whatever the words or counts."""
    return hashlib.sha256(f"{kind}\n{subject}".encode("utf-8", "replace")).hexdigest()[:8]

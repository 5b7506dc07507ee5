"""Lessons: proposed lines of knowledge, what they rest on, and what became of them (docs/words.md)."""

from __future__ import annotations

import hashlib
from enum import StrEnum

import msgspec

from knowbound.core.signal import Cost


class LessonKind(StrEnum):
    """What a lesson is about."""

    LOCATION = "location"  # what agents look for under wrong names, and where it is
    COMMAND = "command"  # what failed first, and what worked then
    CORRECTION = "correction"  # what users had to say in two sessions or more


class LessonStatus(StrEnum):
    """What became of a lesson."""

    NEW = "new"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    APPLIED = "applied"
    CLOSED = "closed"  # applied, and the data say that its misses are fewer
    REOPENED = "reopened"  # it was closed, and the misses came back
    STALE = "stale"  # it was applied, and the tree does not confirm it any more


WRITTEN = frozenset({LessonStatus.APPLIED, LessonStatus.CLOSED, LessonStatus.REOPENED, LessonStatus.STALE})


class CheckKind(StrEnum):
    """What has to hold in the tree for a lesson to be true."""

    FILE = "file"  # there is a file or folder at `path`
    ABSENT = "absent"  # there is none
    TEXT = "text"  # the file at `path` has a line with `text`; without a path, some file of the project
    NO_TEXT = "no_text"  # it has none
    SCRIPT = "script"  # the manifest at `path` has a script named `text`
    NO_SCRIPT = "no_script"  # it has none
    SYMBOL = "symbol"  # `text` is defined in the file at `path`
    NAMED = "named"  # several files below `path` are named like `text`
    UNNAMED = "unnamed"  # none is
    TABS = "tabs"  # most lines of the sources that are indented are so with tabs


class TreeCheck(msgspec.Struct, frozen=True):
    """One condition on the tree."""

    kind: CheckKind
    path: str = ""
    text: str = ""


class Verified(msgspec.Struct, frozen=True):
    """Where in the tree a lesson is confirmed, and how well (specification 3, qualities of evidence)."""

    quality: str
    path: str
    line: int = 0


class LessonEvidence(msgspec.Struct, frozen=True):
    """A line of a trace behind a lesson."""

    session: str
    line: int
    file: str = ""


class MissCount(msgspec.Struct, frozen=True):
    """Sessions in which it was missed, of all that there were in that time."""

    missed: int = 0
    sessions: int = 0


class Applied(msgspec.Struct, frozen=True):
    """Where a lesson was written to, and when."""

    target: str  # file, items, samples
    time: str  # ISO, UTC
    place: str = ""  # the file, or the id of the item
    before: MissCount = MissCount()
    after: MissCount = MissCount()


class Lesson(msgspec.Struct, frozen=True):
    """A line that a person could write, with its reasons."""

    id: str
    kind: LessonKind
    text: str
    file: str  # the knowledge file that it belongs in
    project: str = ""
    sessions: int = 0
    cost: Cost = Cost()
    evidence: list[LessonEvidence] = []
    checks: list[TreeCheck] = []
    verified: Verified | None = None
    unverified: str = ""  # what the tree cannot show
    status: LessonStatus = LessonStatus.NEW
    topics: list[str] = []  # ids of the topics that it answers
    names: list[str] = []  # by which a later miss is known to be about it
    by: str = "rules"  # who proposed it: rules, a model, an agent
    made: str = ""  # ISO, UTC: when it was first proposed
    applied: Applied | None = None

    @property
    def saves(self) -> float:
        """What writing it down would save: calls, and a little for every session beyond the first."""
        return self.cost.calls + 0.5 * self.sessions


def lesson_id(project: str, kind: LessonKind, key: str) -> str:
    """The same for the same lesson in every run: from what it is about, not from its words or counts."""
    return hashlib.sha256(f"{project}\n{kind}\n{key}".encode("utf-8", "replace")).hexdigest()[:8]

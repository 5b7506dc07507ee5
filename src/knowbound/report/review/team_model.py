"""Findings that one machine shares, and their sum over a team (docs/verbs/share.md).

A shared file has names and counts: no prompt, no answer, no person. The sum shows only what three people or more have.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from knowbound.core.quality import Counts
from knowbound.core.signal import Cost, Ending, FoundPlace, Status, Topic
from knowbound.stats.figures import GapFigures, Watermark

FORMAT = "knowbound.share/1"
LEAST_PEOPLE = 3  # that a project, topic, statement, rule or item needs before a team sees it

Count = Annotated[int, msgspec.Meta(ge=0, le=10**12)]
Name = Annotated[str, msgspec.Meta(max_length=400)]


class SharedMiss(msgspec.Struct, frozen=True, omit_defaults=True):
    """A failed search: the thing that was looked for, and how that ended. Sessions have numbers of the file's own."""

    session: Count
    turn: Count
    name: Name
    query: Name
    path: Name = ""  # searched path
    missing: bool = False  # the searched path itself is not there
    status: Status = Status.OPEN
    ending: Ending | None = None
    found_at: FoundPlace | None = None
    cost: Cost | None = None


class SharedStatement(msgspec.Struct, frozen=True):
    """A line of a knowledge file that the tree contradicts."""

    file: Name
    text: Name
    why: Name = ""


class SharedRule(msgspec.Struct, frozen=True):
    """A rule of a knowledge file, and the sessions that obeyed it or did not."""

    file: Name
    text: Name
    obeyed: Count = 0
    violated: Count = 0
    partly: Count = 0


class SharedItem(msgspec.Struct, frozen=True):
    """An item of the store, and the verdicts on its injections."""

    id: Name
    counts: Counts


class SharedProject(msgspec.Struct, frozen=True):
    """One project on one machine."""

    project: Name
    gap: GapFigures
    sessions: Count = 0
    turns: Count = 0
    tool_calls: Count = 0
    answers: dict[str, Count] = {}  # diagnosis → audited turns
    misses: list[SharedMiss] = []
    statements: list[SharedStatement] = []
    rules: list[SharedRule] = []
    items: list[SharedItem] = []


class SharedFile(msgspec.Struct, frozen=True):
    """Everything that a machine shares."""

    format: str
    machine: Name  # a code that only this user's key makes, equal in every file of the machine
    made: Name  # UTC
    version: Name
    projects: list[SharedProject]


class TeamTopic(msgspec.Struct, frozen=True):
    """A topic of three people or more."""

    topic: Topic
    people: int


class TeamStatement(msgspec.Struct, frozen=True):
    """A contradicted line that three people or more have."""

    statement: SharedStatement
    people: int


class TeamRule(msgspec.Struct, frozen=True):
    """A rule over the sessions of three people or more."""

    rule: SharedRule
    people: int


class TeamItem(msgspec.Struct, frozen=True):
    """An item over the injections of three people or more."""

    item: SharedItem
    people: int


class TeamProject(msgspec.Struct, frozen=True):
    """One project over three people or more."""

    project: str
    people: int
    watermark: Watermark
    gap: GapFigures
    sessions: int
    turns: int
    tool_calls: int
    answers: dict[str, int]
    topics: list[TeamTopic]
    statements: list[TeamStatement]
    rules: list[TeamRule]
    items: list[TeamItem]


class TeamReport(msgspec.Struct, frozen=True):
    """The projects that three people or more share. What fewer have is not in it, not even as a number."""

    projects: list[TeamProject]
    least: int = LEAST_PEOPLE

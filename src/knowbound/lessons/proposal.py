"""The sessions of a project, and a proposal made from them: a line that the tree has not confirmed yet."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from knowbound.core.lesson import LessonEvidence, LessonKind, TreeCheck
from knowbound.core.paths import project_folder, relative_to
from knowbound.core.signal import Signal
from knowbound.lessons.material import Material
from knowbound.lessons.verifying import Tree

SEVERAL = 2  # sessions in which the same has to happen: what happens once is an accident
_EVIDENCE = 5


@dataclass(frozen=True, slots=True)
class SessionMiss:
    """A lookup that missed, with the paths of its session relative to the project."""

    signal: Signal
    project: str  # the folder of the session

    def near(self, path: str) -> str:
        """A path as the tree has it; one outside of the project stays absolute."""
        for folder in (self.project, project_folder(self.project)):
            path = relative_to(path, folder)
        return "" if path.rstrip("/") == self.project.rstrip("/") else path.rstrip("/") or path


@dataclass(frozen=True, slots=True)
class Corpus:
    """The sessions of one project."""

    project: str
    materials: list[Material]
    misses: list[SessionMiss]
    tree: Tree | None
    topic_of: dict[int, str] = field(default_factory=dict)  # id of a signal object → id of its topic


@dataclass(frozen=True, slots=True)
class LessonProposal:
    """A line that could be written down. `key` says what it is about, in every run the same."""

    kind: LessonKind
    key: str
    text: str
    evidence: tuple[LessonEvidence, ...]
    calls: int  # what it cost so far
    names: tuple[str, ...]  # by which a later miss is known to be about it (`occurrences`)
    checks: tuple[TreeCheck, ...] = ()
    subject: str = ""  # the file or folder it is about
    unverified: str = ""  # what no tree can show
    topics: tuple[str, ...] = ()

    @property
    def sessions(self) -> int:
        """In how many sessions it happened."""
        return len({one.session for one in self.evidence})


def code(text: str) -> str:
    """Text of a trace between backticks, in one line."""
    inner = " ".join(text.replace("`", "'").split())
    return f"`{inner}`"


def listed(parts: Iterable[str]) -> str:
    """Words one after another, the last with `and`."""
    *first, last = list(parts)
    return f"{', '.join(first)} and {last}" if first else last


def first_of_each(evidence: Iterable[LessonEvidence]) -> list[LessonEvidence]:
    """One line of each session, the first few."""
    found: dict[str, LessonEvidence] = {}
    for one in evidence:
        found.setdefault(one.session, one)
    return list(found.values())[:_EVIDENCE]

"""The interface of every tool that collects evidence (specification 3, invariants 1 and 6).

A producer collects evidence of one class for one `Ask` and grades it with quality and strength. Only the planner
decides whether that is enough, and whether two producers corroborate each other.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from knowbound.codebase.tree import SourceTree
from knowbound.core.evidence import Evidence, EvidenceClass, Intent, Place, Quality, Shows, strength_of
from knowbound.evidence.plan import Term, TermKind

SEARCH = "search"  # grep, find and references share their false positives: never independent of each other
READER = "reader"
GIT = "git"
BUILD = "build"
TEST = "test"
SCAN = "scan"
CI = "ci"
_MOST_PLACES = 200  # kept per piece of evidence
MOST_LINES = 20  # places of one file
LONGEST_NOTE = 400  # characters of what a run says


@dataclass(frozen=True, slots=True)
class CallLimits:
    """Limits of one call. A limit that was reached is named in the evidence."""

    call_seconds: float = 20.0  # one subprocess
    run_seconds: float = 600.0  # one build or test run (only with --allow-run)
    output_bytes: int = 8_000_000
    reads: int = 12  # candidates that one read opens


@dataclass(frozen=True, slots=True)
class Context:
    """Place of an investigation, and its permissions there."""

    root: Path
    allow_run: bool = False  # whether builds and tests may be run
    deadline: float = field(default_factory=lambda: time.monotonic() + 60.0)  # time.monotonic() to stop at
    limits: CallLimits = field(default_factory=CallLimits)
    searched: SourceTree | None = None  # shared by all tools of an investigation, so that nothing is looked for twice

    @property
    def tree(self) -> SourceTree:
        """The files of the root."""
        return self.searched or SourceTree(self.root, self.deadline)

    @property
    def seconds_left(self) -> float:
        """Time until the investigation must stop; never below zero."""
        return max(0.0, self.deadline - time.monotonic())


@dataclass(frozen=True, slots=True)
class Ask:
    """One thing that the planner wants evidence for."""

    cls: EvidenceClass
    target: str  # a term of the question as written; "" for the project as a whole
    intent: Intent
    question: str
    term: Term | None = None  # the target with its kind and code spellings; None for the project as a whole
    candidates: tuple[Place, ...] = ()  # for a reader: what the searches found for the target, best first

    def evidence(
        self, tool: str, quality: Quality, places: Iterable[Place] = (), *, count: int | None = None, exact: int = 0,
        note: str = "", query: str | None = None, target: str | None = None, read_as: str = "",
        shows: Shows = Shows.NOTHING, disputes: bool = False,
    ) -> Evidence:  # fmt: skip
        """Return evidence for this ask: its strength follows from the count, by default the number of places.

        It is a phrase match where the term has several words and they were found exactly, side by side.
        """
        kept, term = tuple(places), self.term
        is_phrase = term is not None and len(term.words) > 1 and term.kind is not TermKind.DESCRIPTION
        count = len(kept) if count is None else count
        return Evidence(
            cls=self.cls,
            tool=tool,
            query=self.target if query is None else query,
            target=self.target if target is None else target,
            quality=quality,
            strength=strength_of(count),
            places=kept[:_MOST_PLACES],
            match_count=count,
            exact_match_count=exact,
            phrase_match=exact > 0 and is_phrase,
            note=note,
            read_as=read_as,
            shows=shows,
            disputes=disputes,
        )

    def nothing(self, tool: str, why: str, query: str | None = None, target: str | None = None) -> Evidence:
        """No evidence of this class could be collected, and why (specification 3: level None)."""
        return self.evidence(tool, Quality.NONE, note=why, query=query, target=target)


class Producer(ABC):
    """A tool that acquires evidence of one class."""

    name: str  # as shown: "grep", "git log", "pytest"
    cls: EvidenceClass
    independent_of: str  # producers of the same group cannot corroborate each other
    authoritative: bool = False  # deterministic and right by definition for its question (git for history)

    def can(self, ask: Ask) -> int:
        """Return how well it suits an ask of its class, 0 for not at all; the planner calls the highest first."""
        return 1

    @abstractmethod
    def produce(self, ask: Ask, context: Context) -> Evidence:
        """Acquire the evidence. Never raises for what the tree or the tool does: that is quality none with a note."""

"""What every producer of evidence looks like (specification 3, invariants 1 and 6).

A producer acquires evidence of one class for one ask: it says what it found and how well, with quality and
strength. Whether that is enough, and whether two producers corroborate each other, the planner alone decides.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from knowbound.core.evidence import Evidence, EvidenceClass, Intent, Place, Quality, Strength
from knowbound.evidence.question.terms import Term

SEARCH = "search"  # grep, find and references share their false positives: never independent of each other
READER = "reader"
GIT = "git"
BUILD = "build"
TEST = "test"
SCAN = "scan"
CI = "ci"


@dataclass(frozen=True, slots=True)
class Limits:
    """What one call may cost. Reached limits are told, never hidden."""

    call_seconds: float = 20.0  # one subprocess
    run_seconds: float = 600.0  # one build or test run (only with --allow-run)
    output_bytes: int = 8_000_000
    file_bytes: int = 2_000_000  # a larger file is searched, but only its first part is read
    places: int = 200  # places kept per entry
    reads: int = 12  # candidates that one read opens


@dataclass(frozen=True, slots=True)
class Context:
    """Where the investigation happens and what it may do there."""

    root: Path
    allow_run: bool = False  # whether builds and tests may be run
    deadline: float = field(default_factory=lambda: time.monotonic() + 60.0)  # time.monotonic() to stop at
    limits: Limits = field(default_factory=Limits)

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


class Producer(Protocol):
    """A tool that acquires evidence of one class."""

    name: str  # as shown: "grep", "git log", "pytest"
    cls: EvidenceClass
    independent_of: str  # producers of the same group cannot corroborate each other
    authoritative: bool  # deterministic and right by definition for its question (git for history)

    def can(self, ask: Ask, context: Context) -> int:
        """How well it suits this ask: 0 not at all; the planner calls the highest first."""
        ...

    def produce(self, ask: Ask, context: Context) -> list[Evidence]:
        """Acquire the evidence. Never raises for what the tree or the tool does: that is quality none with a note."""
        ...


def nothing(cls: EvidenceClass, tool: str, target: str, why: str, query: str = "") -> list[Evidence]:
    """No evidence of this class could be collected, and why (specification 3: level None)."""
    return [Evidence(cls, tool, query, target, Quality.NONE, Strength.NONE, note=why)]

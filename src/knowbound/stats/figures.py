"""The figures of a gap report (specification 1, sections 5 and 7): rates with band and confidence, and the watermark.

The watermark identifies the test set of a rate; no rate is shown without it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from enum import StrEnum

import msgspec

from knowbound.core.signal import Signal
from knowbound.stats.rate import Rate, Weighted


class Band(StrEnum):
    """Band of the weighted rate: under 10% green, under 30% yellow, else red."""

    GREEN = "green"
    YELLOW = "yellow"
    RED = "red"


class SampleConfidence(StrEnum):
    """Confidence by the number of samples behind a rate (specification 1: 5 and 20)."""

    UNDERPOWERED = "underpowered"
    LOW = "low"
    HIGH = "high"


class RateKind(StrEnum):
    """Signals that a rate counts. Gates take either kind."""

    RAW = "raw"  # all signals: the specification's rate
    OPEN = "open"  # open signals only


SOFT_SHARE_LIMIT = 0.10  # specification 1: from this share on soft signals are a considerable part


def band_of(rate: float) -> Band:
    """Return the band of a weighted rate."""
    return Band.GREEN if rate < 0.10 else Band.YELLOW if rate < 0.30 else Band.RED


def confidence_of(samples: int) -> SampleConfidence:
    """Return the confidence of a sample count."""
    if samples < 5:
        return SampleConfidence.UNDERPOWERED
    return SampleConfidence.LOW if samples < 20 else SampleConfidence.HIGH


class GapFigures(msgspec.Struct, frozen=True):
    """Gap rate, weighted rate, open rate, per-turn rate, and their counts."""

    rate: Rate
    weighted: Weighted
    open: Rate
    per_turn: Rate
    by_type: dict[str, int]
    by_status: dict[str, int]
    open_weighted: Weighted = Weighted()  # over open signals only; unknown in data of 0.1.0
    open_most: Rate = Rate()  # over open and undecided signals; nothing counted in data of earlier versions
    open_weighted_most: Weighted = Weighted()
    unseen: int = 0  # samples without traced tool calls: their failed searches are unknown

    def __add__(self, other: GapFigures) -> GapFigures:
        names = (name for name in self.__struct_fields__ if not name.startswith("by_"))  # rates and counts add as such
        sums = {name: getattr(self, name) + getattr(other, name) for name in names}
        by_type = dict(Counter(self.by_type) + Counter(other.by_type))
        return GapFigures(**sums, by_type=by_type, by_status=dict(Counter(self.by_status) + Counter(other.by_status)))

    def of(self, kind: RateKind) -> Rate:
        """Return the rate of a kind."""
        return self.open_upper if kind is RateKind.OPEN else self.rate

    @property
    def open_upper(self) -> Rate:
        """Open rate if every undecided signal were open."""
        return self.open_most if self.open_most.n else self.open

    @property
    def has_undecided(self) -> bool:
        """Report whether misses that nobody decided are counted apart; earlier versions did not."""
        return self.open_most.n > 0

    @property
    def band(self) -> Band | None:
        """Band of the weighted rate; None if unseen samples could change it."""
        return self._band(self.weighted)

    @property
    def open_band(self) -> Band | None:
        """Band of the weighted rate over open and undecided signals, by the same limits."""
        return self._band(self.open_weighted_most if self.open_weighted_most.n else self.open_weighted)

    def _band(self, weighted: Weighted) -> Band | None:
        """Return the band of a rate; None if nothing was counted, or if unseen samples could change it."""
        if weighted.value is None:
            return None
        seen = band_of(weighted.value)
        highest = band_of(weighted.value + self.unseen / weighted.n)  # if each unseen sample had a hard gap
        return seen if seen is highest else None

    @property
    def confidence(self) -> SampleConfidence:
        """Confidence by the sample count; samples of one cluster count for less."""
        return confidence_of(int(self.rate.n / self.rate.design))

    @property
    def soft_share(self) -> float | None:
        """Part of the gap rate that comes from soft signals: gap rate − weighted rate."""
        if self.rate.value is None or self.weighted.value is None:
            return None
        return self.rate.value - self.weighted.value

    @property
    def rests_on_hard_evidence(self) -> bool | None:
        """Report whether the soft share is below 10%: mostly hard evidence (specification 1)."""
        share = self.soft_share
        return None if share is None else share < SOFT_SHARE_LIMIT - 1e-12  # against the rounding of the difference


class Marking(msgspec.Struct, frozen=True):
    """Marked ones among the guesses and doubts in agents' words (specification 1, section 10: self-marking)."""

    unasked: Rate = Rate()  # in sessions that were not asked to mark them
    asked: Rate = Rate()  # in sessions that began with the sentence of `injection.self_marking`

    def __add__(self, other: Marking) -> Marking:
        return Marking(self.unasked + other.unasked, self.asked + other.asked)


class HedgeJudging(msgspec.Struct, frozen=True):
    """Work of a capped judge of hedges in one run: sentences, each counted once."""

    judge: str  # version
    cap: int  # sentences per run
    judged: int = 0  # in this run or before
    unjudged: int = 0  # beyond the cap: kept as signals, and asked in the next run
    failed: int = 0  # asked without an answer: kept as signals, and asked again
    usd: float | None = 0.0  # None: not reported


class Coverage(msgspec.Struct, frozen=True):
    """Share of the knowledge files that agents reached.

    A file that the client loads by itself (CLAUDE.md) is not reached by the agent: it is counted separately.
    """

    rate: Rate
    uncovered: list[str]
    sessions: int | None = None  # that worked in the root; None: not counted
    reason: str = ""  # why the rate is unknown
    loaded: list[str] = []  # files that the client loads by itself


class SkillRow(msgspec.Struct, frozen=True):
    """The figures of one skill (or `general`)."""

    name: str
    gap: GapFigures
    coverage: Rate  # knowledge files that samples of this skill's sessions reached


class MissedSearch(msgspec.Struct, frozen=True):
    """A query of failed searches in a test set, over all samples."""

    query: str
    events: int
    samples: int
    sessions: int
    example: Signal


WARNING = (
    "This metric only reflects the interaction between the current test set and the knowledge base, "
    "and does not represent the knowledge base's absolute completeness."
)


class Watermark(msgspec.Struct, frozen=True):
    """Identity of a test set: path, size, first 8 hex digits of its SHA-256, and the warning."""

    path: str
    samples: int
    sha256_8: str
    warning: str = WARNING

    def __post_init__(self) -> None:
        if self.warning != WARNING:
            raise ValueError("a watermark carries the specification's warning word for word")

    def __str__(self) -> str:
        return f"Test set: {self.path} · {self.samples} samples · sha256 {self.sha256_8}\n{self.warning}"


def observed_hash(parts: Iterable[str]) -> str:
    """Return the hash of an observed corpus over its sessions; the order does not matter."""
    digest = hashlib.sha256()
    for part in sorted(parts):
        digest.update(part.encode("utf-8", "surrogatepass"))
        digest.update(b"\n")
    return digest.hexdigest()[:8]

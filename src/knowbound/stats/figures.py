"""The figures of a gap report (specification 1, section 5): rates with their band and confidence."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from knowbound.core.signal import Signal
from knowbound.stats.rate import Rate, Weighted


class Band(StrEnum):
    """Read from the weighted rate: under 10% green, under 30% yellow, else red."""

    GREEN = "green"
    YELLOW = "yellow"
    RED = "red"


class SampleConfidence(StrEnum):
    """Confidence by the number of samples behind a rate (specification 1: 5 and 20)."""

    UNDERPOWERED = "underpowered"
    LOW = "low"
    HIGH = "high"


class RateKind(StrEnum):
    """Which signals a rate counts. DESIGN: gates take either."""

    RAW = "raw"  # all of them: the specification's rate
    OPEN = "open"  # open ones only


SOFT_SHARE_LIMIT = 0.10  # specification 1: from here on soft signals make up a fair share


def band_of(weighted: Weighted) -> Band | None:
    """The band of a weighted rate, or None when nothing was counted."""
    return None if weighted.value is None else _band_at(weighted.value)


def _band_at(value: float) -> Band:
    return Band.GREEN if value < 0.10 else Band.YELLOW if value < 0.30 else Band.RED


def confidence_of(samples: int) -> SampleConfidence:
    """The tier of a sample count."""
    return (
        SampleConfidence.UNDERPOWERED
        if samples < 5
        else SampleConfidence.LOW
        if samples < 20
        else SampleConfidence.HIGH
    )


class GapFigures(msgspec.Struct, frozen=True):
    """Gap rate, weighted and open rate, per-turn rate, and the counts behind them."""

    rate: Rate
    weighted: Weighted
    open: Rate
    per_turn: Rate
    by_type: dict[str, int]
    by_status: dict[str, int]
    open_weighted: Weighted = Weighted()  # over open signals only; 0.1.0 stored none: unknown
    unseen: int = 0  # samples whose tool calls left no trace: failed searches there are unknown

    def of(self, kind: RateKind) -> Rate:
        """The rate of that kind."""
        return self.open if kind is RateKind.OPEN else self.rate

    @property
    def band(self) -> Band | None:
        """The band of the weighted rate; None where what was not seen could make it another."""
        return self._band(self.weighted)

    @property
    def open_band(self) -> Band | None:
        """The band of the weighted rate over open signals, by the same limits."""
        return self._band(self.open_weighted)

    def _band(self, weighted: Weighted) -> Band | None:
        seen = band_of(weighted)
        if weighted.value is None or not self.unseen:
            return seen
        return seen if seen is _band_at(weighted.value + self.unseen / weighted.n) else None

    @property
    def confidence(self) -> SampleConfidence:
        """The tier of the sample count; samples of one cluster count for less."""
        return confidence_of(int(self.rate.n / self.rate.design))

    @property
    def soft_share(self) -> float | None:
        """Gap rate − weighted rate: the part of it that comes from soft signals."""
        if self.rate.value is None or self.weighted.value is None:
            return None
        return self.rate.value - self.weighted.value

    @property
    def open_soft_share(self) -> float | None:
        """Open rate − weighted open rate: the part of it that comes from soft signals."""
        if self.open.value is None or self.open_weighted.value is None:
            return None
        return self.open.value - self.open_weighted.value

    @property
    def rests_on_hard_evidence(self) -> bool | None:
        """Specification 1: below 10% the signals are mostly hard evidence."""
        share = self.soft_share
        return None if share is None else share < SOFT_SHARE_LIMIT - 1e-12


class HedgeJudging(msgspec.Struct, frozen=True):
    """What a capped judge of hedges did in one run: sentences, each counted once."""

    judge: str  # its version
    cap: int  # sentences that it is asked in one run
    judged: int = 0  # now or before
    unjudged: int = 0  # beyond the cap: kept as signals, and asked in the next run
    failed: int = 0  # asked without an answer: kept as signals, and asked again
    usd: float | None = 0.0  # None where the judge does not say what it cost


class Coverage(msgspec.Struct, frozen=True):
    """Knowledge files that were reached, of those there are.

    What a client loads by itself (CLAUDE.md) is not reached by the agent: it is counted apart.
    """

    rate: Rate
    uncovered: list[str]
    sessions: int | None = None  # that worked in the root; None: it was not asked
    reason: str = ""  # why the coverage is unknown
    loaded: list[str] = []  # files that the client loads by itself


class SkillRow(msgspec.Struct, frozen=True):
    """The figures of one skill (or `general`)."""

    name: str
    gap: GapFigures
    coverage: Rate  # knowledge files that samples of this skill's sessions reached


class MissedSearch(msgspec.Struct, frozen=True):
    """Something that failed searches of a test set looked for, over all samples."""

    query: str
    events: int
    samples: int
    sessions: int
    example: Signal

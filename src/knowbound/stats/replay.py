"""Comparison of two rankings of the same logged candidates by the verdicts on injected items (specification 2).

Only injected items were judged, so the judged items among its first k represent a ranking. The compared value is the
share of positive verdicts on these items, per turn. Turns of one session are dependent: whole sessions are resampled.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

import msgspec

from knowbound.core.quality import Metric
from knowbound.stats.floor import FEWEST_PROMPTS
from knowbound.stats.rate import Mean, Rate, mean_of

FEWEST_TURNS = FEWEST_PROMPTS  # with judged items in both rankings, before a replay decides anything


class Ranker(StrEnum):
    """The backends whose candidates are ordered by measured quality; the others are ordered by stored confidence."""

    PRESENT = "present"  # those of the present leg
    QUALITY = "quality"  # those of the next leg, too


class Ranking(msgspec.Struct, frozen=True):
    """A ranker, the backends whose measured quality it counts, and its floor of relevance."""

    ranker: Ranker
    backends: tuple[str, ...] = ()
    floor: float = 0.0


class ReplayVerdict(StrEnum):
    """The verdict of a replay on the candidate."""

    NO_WORSE = "no worse"
    WORSE = "worse"  # in one metric for certain
    TOO_FEW = "too few"  # turns


class MetricChange(msgspec.Struct, frozen=True):
    """One metric: precision at k of both rankings, and the mean difference per turn with its interval."""

    before: Rate
    after: Rate
    difference: Mean


class ReplayResult(msgspec.Struct, frozen=True):
    """The result of a replay. It has counts alone: every machine that shares the log sees it."""

    made: str
    before: Ranking
    after: Ranking
    k: int
    compared: int = 0  # turns with a judged item in the first k of both
    metrics: dict[Metric, MetricChange] = {}

    @property
    def verdict(self) -> ReplayVerdict:
        """Decide whether the candidate may replace the present ranking."""
        if self.compared < FEWEST_TURNS:
            return ReplayVerdict.TOO_FEW
        if any(is_worse(metric, one.difference) for metric, one in self.metrics.items()):
            return ReplayVerdict.WORSE
        return ReplayVerdict.NO_WORSE


class TurnPair(msgspec.Struct, frozen=True):
    """The verdicts of one metric on the judged items among the first k of both rankings, in one turn."""

    session: str
    before: tuple[bool, ...]
    after: tuple[bool, ...]


def compare(pairs: Sequence[TurnPair]) -> MetricChange:
    """Compare one metric over turns in which both rankings have a judged item."""
    clusters: dict[str, list[float]] = {}
    for pair in pairs:
        clusters.setdefault(pair.session, []).append(_share(pair.after) - _share(pair.before))
    difference = mean_of(clusters.values())
    if len(clusters) > 1 and difference.low is None:  # every turn has the same difference: the interval is a point
        difference = Mean(difference.n, difference.value, difference.value, difference.value)
    return MetricChange(_rate(pair.before for pair in pairs), _rate(pair.after for pair in pairs), difference)


def is_worse(metric: Metric, difference: Mean) -> bool:
    """Report whether the whole interval is on the bad side: contradictions are to be few, the rest is to be much."""
    if difference.low is None or difference.high is None:
        return False
    return difference.low > 0 if metric is Metric.CONTRADICTED else difference.high < 0


def _share(said: tuple[bool, ...]) -> float:
    return sum(said) / len(said)


def _rate(turns: Iterable[tuple[bool, ...]]) -> Rate:
    said = [one for turn in turns for one in turn]
    return Rate(sum(said), len(said))

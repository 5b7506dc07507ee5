"""Two rankings of the same logged candidates: which of them chose better, as far as verdicts tell (specification 2).

Only what was injected was judged, so a ranking is known by the judged items among its first k alone. Over each turn the
share of these that a metric holds for is compared, and turns of one session are alike: sessions are drawn again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

import msgspec

from knowbound.core.quality import Metric
from knowbound.stats.floor import FEWEST_PROMPTS
from knowbound.stats.rate import Mean, Rate, mean_of

FEWEST_TURNS = FEWEST_PROMPTS  # on both sides judged, before a replay says anything


class Ranker(StrEnum):
    """How candidates are ordered."""

    PLAIN = "plain"  # by stored confidence
    PRESENT = "present"  # by measured quality for the backends of the present leg
    QUALITY = "quality"  # and for those of the next leg


class Ranking(msgspec.Struct, frozen=True):
    """A ranker, the backends whose measured quality it counts, and its floor of relevance."""

    ranker: Ranker
    backends: tuple[str, ...] = ()
    floor: float = 0.0


class ReplayVerdict(StrEnum):
    """What a replay says about the candidate."""

    BETTER = "better"  # in one metric for certain, and in none worse
    SAME = "same"  # no judged item moved
    UNDECIDED = "undecided"
    WORSE = "worse"  # in one metric for certain
    TOO_FEW = "too few"  # turns


class MetricChange(msgspec.Struct, frozen=True):
    """One metric: precision at k of both rankings, and the mean difference per turn with its interval."""

    before: Rate
    after: Rate
    difference: Mean
    more: int | None = None  # turns that would decide, if they are as these; 0: decided; None: no number would


class ReplayResult(msgspec.Struct, frozen=True):
    """What a replay found. Counts alone: it is kept for all who share the log."""

    made: str
    before: Ranking
    after: Ranking
    k: int
    first: str = ""  # day of the turns
    last: str = ""
    turns: int = 0  # with a pool and verdicts
    compared: int = 0  # of these: with a judged item in the first k of both
    moved: int = 0  # of these: with other judged items in the first k
    chosen_by_model: int = 0  # turns that were left out: a model chose, not the ranking
    unjudged_before: Rate = Rate()  # of the items in the first k, those that nobody judged
    unjudged_after: Rate = Rate()
    metrics: dict[Metric, MetricChange] = {}

    @property
    def verdict(self) -> ReplayVerdict:
        """Whether the candidate may take the place of the other."""
        if self.compared < FEWEST_TURNS:
            return ReplayVerdict.TOO_FEW
        worse = [metric for metric, one in self.metrics.items() if is_worse(metric, one.difference)]
        better = [metric for metric, one in self.metrics.items() if is_better(metric, one.difference)]
        if worse:
            return ReplayVerdict.WORSE
        if better:
            return ReplayVerdict.BETTER
        return ReplayVerdict.UNDECIDED if self.moved else ReplayVerdict.SAME

    @property
    def is_no_worse(self) -> bool:
        """Whether a leg may be entered: enough turns, and worse in nothing for certain."""
        return self.verdict not in (ReplayVerdict.WORSE, ReplayVerdict.TOO_FEW)


class TurnPair(msgspec.Struct, frozen=True):
    """The judged items that both rankings have in their first k, of one turn: verdicts of one metric."""

    session: str
    before: tuple[bool, ...]
    after: tuple[bool, ...]


def compare(pairs: Sequence[TurnPair]) -> MetricChange:
    """One metric over turns in which both rankings have a judged item."""
    clusters: dict[str, list[float]] = {}
    for pair in pairs:
        clusters.setdefault(pair.session, []).append(_share(pair.after) - _share(pair.before))
    difference = mean_of(clusters.values())
    if len(clusters) > 1 and difference.low is None:  # every turn differs alike: that is how much it is
        difference = Mean(difference.n, difference.value, difference.value, difference.value)
    return MetricChange(
        _rate(pair.before for pair in pairs),
        _rate(pair.after for pair in pairs),
        difference,
        more_turns(difference),
    )


def is_worse(metric: Metric, difference: Mean) -> bool:
    """Whether the whole interval says so: contradictions are to be few."""
    return is_better(metric, _negative(difference))


def is_better(metric: Metric, difference: Mean) -> bool:
    """Whether the whole interval says so."""
    if difference.low is None or difference.high is None:
        return False
    return difference.high < 0 if metric is Metric.CONTRADICTED else difference.low > 0


def more_turns(difference: Mean) -> int | None:
    """How many more turns like these would bring the interval to one side of 0; None where no number would."""
    value, low, high = difference.value, difference.low, difference.high
    if value is None or low is None or high is None or not value:
        return None
    if low > 0 or high < 0:
        return 0
    reach = value - low if value > 0 else high - value  # shrinks with the root of the number of turns
    return max(1, round(difference.n * (reach / abs(value)) ** 2) + 1 - difference.n)


def _negative(one: Mean) -> Mean:
    if one.low is None or one.high is None or one.value is None:
        return one
    return Mean(one.n, -one.value, -one.high, -one.low)


def _share(said: tuple[bool, ...]) -> float:
    return sum(said) / len(said)


def _rate(turns: Iterable[tuple[bool, ...]]) -> Rate:
    said = [one for turn in turns for one in turn]
    return Rate(sum(said), len(said))

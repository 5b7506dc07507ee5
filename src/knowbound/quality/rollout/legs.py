"""The legs of the rollout, with what decides about each (specification 2, section 6).

    leg 0      measures; nothing is ranked by it
    leg 1, …   one backend each, in the order of ORDER: its items are ranked by effective confidence

Values in, values out. A rise is decided by its value, with the interval shown beside it; what reverts a leg by itself
has to be certain (docs/decisions/rollout.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from knowbound.core.quality import Durations
from knowbound.stats.judge_gate import (
    AGREEMENT,
    KILL_AGREEMENT,
    LABELLED_TURNS,
    RANKING,
    GateState,
    may_rely_on,
    waits_for,
)
from knowbound.stats.paired import unpaired_difference
from knowbound.stats.quality import (
    FEWEST_RUNS,
    ITEM_METRICS,
    RANKING_LIMIT_MS,
    STOP_LIMIT_MS,
    TARGETS,
    WINDOW_DAYS,
    QualityMetric,
    p95_ms,
)
from knowbound.stats.rate import Rate, least_share
from knowbound.stats.rollout import (
    MOST_REVERSED,
    CriterionName,
    CriterionState,
    Leg,
    LegFacts,
    ReplayVerdict,
    RolloutCriterion,
)

ORDER = ("mem0", "neo4j", "mongo", "files", "sqlite")  # of the contract; those that it does not have are last
LEG_DAYS = WINDOW_DAYS  # "one week of measurement at least per leg"
MOST_UNSCORED = 0.05  # of the turns of "clean data"
ON_TOPIC_RISE = 0.10  # "on-topic +10 points"
USAGE_RISE = 0.05  # "usage +5 points"
SLOW_DAYS = 4  # of the last seven: one slow day of a machine reverts nothing
_OLD_SUFFIX = "+loop"  # after the name of the last leg, in states of earlier versions
_LOOKS = LEG_DAYS  # a loss is looked for every day: the interval is as wide as that many looks need (Bonferroni)
_DURATION_STEP = 1.1  # ratio of the limits by which durations are counted: a p95 is known to be above the lower one

_ENTER = (CriterionName.LEG_BEFORE, CriterionName.REPLAY)
_RANKING_KILLS = (CriterionName.ON_TOPIC_DROP, CriterionName.RANKING_COST, CriterionName.FALSE_DEMOTIONS)
_MEASURE = Leg(
    0,
    leave=(CriterionName.DAYS, CriterionName.CLEAN, CriterionName.JUDGE),
    kill=(CriterionName.STOP_HOOK, CriterionName.AGREEMENT),
)
_LEAVE_RANKING = (
    CriterionName.DAYS,
    CriterionName.ON_TOPIC_RISE,
    CriterionName.USAGE_RISE,
    CriterionName.CONTRADICTION,
)
_LEAVE_LAST = (CriterionName.DAYS, CriterionName.ON_TOPIC_TARGET, CriterionName.DISCOVERY_TARGET)
_KILL_LAST = (*_RANKING_KILLS, CriterionName.REGRESSION, CriterionName.DRIFT)


def legs_for(backends: Iterable[str]) -> tuple[Leg, ...]:
    """Return the legs of a store with these backends: leg 0, and one for each backend."""
    given = list(dict.fromkeys(backends))
    ranked_in_turn = [name for name in ORDER if name in given] + [name for name in given if name not in ORDER]
    ranked_in_turn = ranked_in_turn or ["sqlite"]
    legs = [_MEASURE]
    for number, name in enumerate(ranked_in_turn, 1):
        is_last = number == len(ranked_in_turn)
        leave, kill = (_LEAVE_LAST, _KILL_LAST) if is_last else (_LEAVE_RANKING, _RANKING_KILLS)
        legs.append(Leg(number, (name,), _ENTER, leave, kill))
    return tuple(legs)


def plan_of(legs: Sequence[Leg]) -> tuple[str, ...]:
    """The legs after leg 0, by name."""
    return tuple(leg.name for leg in legs[1:])


def present_leg(leg: int, plan: Sequence[str], legs: Sequence[Leg]) -> int:
    """Return the present leg of a store whose backends may have changed: the last one that both plans share."""
    for number, (planned, present) in enumerate(zip(plan[:leg], plan_of(legs), strict=False)):
        if planned.removesuffix(_OLD_SUFFIX) != present:
            return number
    return min(leg, len(plan), len(legs) - 1)


def ranked_backends(legs: Sequence[Leg], number: int) -> tuple[str, ...]:
    """The backends whose items are ranked by measured quality in a leg."""
    return tuple(name for leg in legs[: number + 1] for name in leg.backends)


class _Decided(NamedTuple):
    """The state of a criterion with its numbers: the fields of RolloutCriterion after the name."""

    state: CriterionState
    value: float | None = None
    limit: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    more: int | None = None
    metrics: tuple[str, ...] = ()


def decided(names: Iterable[CriterionName], facts: LegFacts) -> tuple[RolloutCriterion, ...]:
    """Decide these criteria of a leg from its facts."""
    return tuple(RolloutCriterion(name, *_DECIDING[name](facts)) for name in names)


def entering(leg: Leg, facts: LegFacts, can_leave: bool) -> tuple[RolloutCriterion, ...]:
    """Return the criteria for entering a leg. `can_leave`: the leg before it may be left."""
    return tuple(
        replace(criterion, state=_reached(can_leave)) if criterion.name is CriterionName.LEG_BEFORE else criterion
        for criterion in decided(leg.enter, facts)
    )


def _reached(is_met: bool | None) -> CriterionState:
    """Return the state of a criterion to enter or to leave a leg."""
    return CriterionState.UNKNOWN if is_met is None else CriterionState.MET if is_met else CriterionState.NOT_YET


def _reverting(is_tripped: bool | None) -> CriterionState:
    """Return the state of a criterion that reverts a leg."""
    return (
        CriterionState.UNKNOWN if is_tripped is None else CriterionState.TRIPPED if is_tripped else CriterionState.MET
    )


def _change(facts: LegFacts, metric: QualityMetric, limit: float, looks: int = 1) -> _Decided:
    """Return the change of a metric since the days before the leg, on the backend that the leg ranks, undecided."""
    now = facts.leg_now.get(metric, Rate())
    # `looks`: how often the question is asked; the interval allows for as many.
    change = unpaired_difference(facts.leg_before.get(metric, Rate()), now, looks)
    if change is None:
        return _Decided(CriterionState.UNKNOWN, limit=limit)
    return _Decided(CriterionState.UNKNOWN, change.value, limit, change.low, change.high, now.n)


# To enter a leg


def _replay(facts: LegFacts) -> _Decided:
    """The replay found the ranking of the next leg no worse."""
    if facts.replay is None:
        return _Decided(CriterionState.UNKNOWN)
    states = {ReplayVerdict.WORSE: CriterionState.TRIPPED, ReplayVerdict.TOO_FEW: CriterionState.NOT_YET}
    return _Decided(states.get(facts.replay.verdict, CriterionState.MET), n=facts.replay.compared)


# To leave a leg


def _days(facts: LegFacts) -> _Decided:
    missing = max(0, LEG_DAYS - facts.days)
    return _Decided(_reached(missing == 0), facts.days, LEG_DAYS, n=facts.turns, more=missing)


def _clean(facts: LegFacts) -> _Decided:
    """Few turns are unscored. All turns are counted, none drawn: the share itself decides, not its interval."""
    share = facts.unscored.value
    is_met = None if share is None else share < MOST_UNSCORED
    return _Decided(_reached(is_met), share, MOST_UNSCORED, n=facts.unscored.n)


def _judge(facts: LegFacts) -> _Decided:
    """The judge may be relied on for ranking; else the criterion says for which metrics labels are missing."""
    gates = {metric: measured.gate for metric, measured in facts.measured.items()}
    met = _Decided(CriterionState.MET, _agreement(facts), AGREEMENT, n=facts.labelled)
    if may_rely_on(gates, RANKING):
        return met
    waiting = waits_for(gates, RANKING)
    labels_missing = [gates[metric].more for metric in waiting if metric in gates] or [LABELLED_TURNS]
    known = [count for count in labels_missing if count is not None]
    return met._replace(
        state=CriterionState.NOT_YET if gates else CriterionState.UNKNOWN,
        more=max(known) if len(known) == len(labels_missing) else None,  # None: for one metric nobody can say
        metrics=tuple(map(str, waiting)),
    )


def _agreement(facts: LegFacts) -> float | None:
    """Return the lowest agreement of the metrics that the ranking rests on."""
    shares = [facts.measured[metric].found.agreement.value for metric in RANKING if metric in facts.measured]
    return min((share for share in shares if share is not None), default=None)


def _rise(metric: QualityMetric, wanted: float, facts: LegFacts) -> _Decided:
    """A metric rose by `wanted` on the backend that the leg ranks, or its target is met. The interval is only shown.

    What is above its target cannot rise by so many points with every leg.
    """
    change, share = _change(facts, metric, wanted), facts.leg_now.get(metric, Rate()).value
    if change.value is None:
        return change
    has_risen = round(change.value, 9) >= wanted  # rounded: 0.6 - 0.5 is a little less than 0.1
    return change._replace(state=_reached(has_risen or (share is not None and share >= TARGETS[metric].share)))


def _contradiction(facts: LegFacts) -> _Decided:
    """Contradictions have not certainly become more frequent."""
    change = _change(facts, QualityMetric.CONTRADICTED, 0.0)
    return change._replace(state=_reached(None if change.low is None else change.low <= 0))


def _target(metric: QualityMetric, facts: LegFacts) -> _Decided:
    """A metric has reached its target."""
    rate, target = facts.now.get(metric, Rate()), TARGETS[metric].share
    low, high = rate.interval or (None, None)
    return _Decided(
        _reached(None if rate.value is None else rate.value >= target), rate.value, target, low, high, rate.n
    )


# To revert a leg


def _stop_hook(facts: LegFacts) -> _Decided:
    is_tripped = is_too_slow(facts.stop_ms, STOP_LIMIT_MS)
    return _Decided(_reverting(is_tripped), p95_ms(facts.stop_ms), STOP_LIMIT_MS, n=facts.stop_ms.runs)


def _ranking_cost(facts: LegFacts) -> _Decided:
    """Trips if the p95 of searching and ranking was over the limit on most days of the week."""
    is_tripped = facts.slow_days.k >= SLOW_DAYS if facts.slow_days.n else None
    return _Decided(_reverting(is_tripped), p95_ms(facts.rank_ms), RANKING_LIMIT_MS, n=facts.rank_ms.runs)


def is_too_slow(durations: Durations, limit: int) -> bool | None:
    """Report whether the p95, which is known to a tenth, is certainly above the limit in ms. None with too few runs."""
    p95 = p95_ms(durations)
    return None if p95 is None or durations.runs < FEWEST_RUNS else p95 / _DURATION_STEP > limit


def _agreement_kill(facts: LegFacts) -> _Decided:
    """Trips if the judge agrees too little with people on a metric."""
    killed = [metric for metric, measured in facts.measured.items() if measured.gate.state is GateState.KILLED]
    state = _reverting(bool(killed) if facts.measured else None)
    return _Decided(state, _agreement(facts), KILL_AGREEMENT, n=facts.labelled, metrics=tuple(map(str, killed)))


def _on_topic_drop(facts: LegFacts) -> _Decided:
    """Trips if fewer items are certainly on topic than before the leg."""
    change = _change(facts, QualityMetric.ON_TOPIC, 0.0, _LOOKS)
    state = _reverting(None if change.high is None else change.high < 0)
    return change._replace(state=state, n=facts.leg_now.get(QualityMetric.ON_TOPIC, Rate()).n)


def _false_demotions(facts: LegFacts) -> _Decided:
    """Trips if certainly too many items that were ranked lower had to be ranked higher again."""
    rate = facts.demotions
    low = least_share(rate.k, rate.n, _LOOKS) if rate.n else None
    _, high = rate.interval or (None, None)
    return _Decided(
        _reverting(None if low is None else low > MOST_REVERSED), rate.value, MOST_REVERSED, low, high, rate.n
    )


def _regression(facts: LegFacts) -> _Decided:
    """Trips if a metric is certainly worse than in the days before the leg, over all backends."""
    looks = _LOOKS * len(ITEM_METRICS)  # each metric is one more chance to be wrong
    changes = {
        metric: unpaired_difference(facts.before.get(metric, Rate()), facts.now.get(metric, Rate()), looks)
        for metric in ITEM_METRICS
    }
    worse = tuple(
        str(metric)
        for metric, change in changes.items()
        if change and (change.low > 0 if TARGETS[metric].is_ceiling else change.high < 0)
    )
    state = _reverting(bool(worse) if any(changes.values()) else None)
    return _Decided(state, limit=0.0, n=facts.now.get(QualityMetric.ON_TOPIC, Rate()).n, metrics=worse)


def _drift(facts: LegFacts) -> _Decided:
    state = _reverting(None if facts.drifted is None else bool(facts.drifted))
    return _Decided(state, metrics=tuple(map(str, facts.drifted or ())))


_DECIDING: dict[CriterionName, Callable[[LegFacts], _Decided]] = {
    CriterionName.LEG_BEFORE: lambda facts: _Decided(CriterionState.UNKNOWN, n=facts.days),  # `entering` decides it
    CriterionName.REPLAY: _replay,
    CriterionName.DAYS: _days,
    CriterionName.CLEAN: _clean,
    CriterionName.JUDGE: _judge,
    CriterionName.ON_TOPIC_RISE: partial(_rise, QualityMetric.ON_TOPIC, ON_TOPIC_RISE),
    CriterionName.USAGE_RISE: partial(_rise, QualityMetric.USED, USAGE_RISE),
    CriterionName.CONTRADICTION: _contradiction,
    CriterionName.ON_TOPIC_TARGET: partial(_target, QualityMetric.ON_TOPIC),
    CriterionName.DISCOVERY_TARGET: partial(_target, QualityMetric.DISCOVERY),
    CriterionName.STOP_HOOK: _stop_hook,
    CriterionName.AGREEMENT: _agreement_kill,
    CriterionName.ON_TOPIC_DROP: _on_topic_drop,
    CriterionName.RANKING_COST: _ranking_cost,
    CriterionName.FALSE_DEMOTIONS: _false_demotions,
    CriterionName.REGRESSION: _regression,
    CriterionName.DRIFT: _drift,
}

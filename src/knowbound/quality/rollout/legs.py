"""The legs of the rollout, with what decides about each (specification 2, section 6).

    leg 0      measures; nothing is ranked by it
    leg 1, …   one backend each, in the order of ORDER: its items are ranked by effective confidence

Values in, values out. A rise is decided by its value, with the interval shown beside it; what reverts a leg by itself
has to be certain (docs/decisions/rollout.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

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
from knowbound.stats.paired import Difference, unpaired_difference
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
    ranked_in_turn = [name for name in ORDER if name in set(backends)] or ["sqlite"]
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


def decided(names: Iterable[CriterionName], facts: LegFacts) -> tuple[RolloutCriterion, ...]:
    """Decide these criteria of a leg from its facts."""
    return tuple(_DECIDING[name](facts) for name in names)


# To leave a leg


def _days(facts: LegFacts) -> RolloutCriterion:
    missing = max(0, LEG_DAYS - facts.days)
    state = _reached(is_met=missing == 0)
    return RolloutCriterion(CriterionName.DAYS, state, facts.days, limit=LEG_DAYS, n=facts.turns, more=missing)


def _clean(facts: LegFacts) -> RolloutCriterion:
    """Few turns are unscored. All turns are counted, none drawn: the share itself decides, not its interval."""
    share = facts.unscored.value
    state = _reached(is_met=None if share is None else share < MOST_UNSCORED)
    return RolloutCriterion(CriterionName.CLEAN, state, share, limit=MOST_UNSCORED, n=facts.unscored.n)


def _judge(facts: LegFacts) -> RolloutCriterion:
    """The judge may be relied on for ranking; else the criterion says for which metrics labels are missing."""
    gates = {metric: measured.gate for metric, measured in facts.measured.items()}
    met = RolloutCriterion(
        CriterionName.JUDGE, CriterionState.MET, _agreement(facts), limit=AGREEMENT, n=facts.labelled
    )
    if may_rely_on(gates, RANKING):
        return met
    waiting = waits_for(gates, RANKING)
    labels_missing = [gates[metric].more for metric in waiting if metric in gates] or [LABELLED_TURNS]
    known = [count for count in labels_missing if count is not None]
    return replace(
        met,
        state=CriterionState.NOT_YET if gates else CriterionState.UNKNOWN,
        more=max(known) if len(known) == len(labels_missing) else None,
        metrics=tuple(map(str, waiting)),
    )


def _agreement(facts: LegFacts) -> float | None:
    """Return the lowest agreement of the metrics that the ranking rests on."""
    shares = [facts.measured[metric].found.agreement.value for metric in RANKING if metric in facts.measured]
    return min((share for share in shares if share is not None), default=None)


def _rise(name: CriterionName, metric: QualityMetric, wanted: float, facts: LegFacts) -> RolloutCriterion:
    """A metric rose by `wanted` on the backend that the leg ranks, or its target is met. The interval is only shown.

    What is above its target cannot rise by so many points with every leg.
    """
    rise, share = _difference(facts, metric), facts.leg_now.get(metric, Rate()).value
    if rise is None:
        return RolloutCriterion(name, CriterionState.UNKNOWN, limit=wanted)
    has_risen = round(rise.value, 9) >= wanted  # rounded: 0.6 - 0.5 is a little less than 0.1
    is_on_target = share is not None and share >= TARGETS[metric].share
    return _compared(name, _reached(is_met=has_risen or is_on_target), facts, metric, wanted)


def _contradiction(facts: LegFacts) -> RolloutCriterion:
    """Contradictions have not certainly become more frequent."""
    rise = _difference(facts, QualityMetric.CONTRADICTED)
    if rise is None:
        return RolloutCriterion(CriterionName.CONTRADICTION, CriterionState.UNKNOWN, limit=0.0)
    state = _reached(is_met=rise.low <= 0)
    return _compared(CriterionName.CONTRADICTION, state, facts, QualityMetric.CONTRADICTED, 0.0)


def _target(name: CriterionName, metric: QualityMetric, facts: LegFacts) -> RolloutCriterion:
    rate, target = facts.now.get(metric, Rate()), TARGETS[metric].share
    low, high = rate.interval or (None, None)
    state = _reached(is_met=None if rate.value is None else rate.value >= target)
    return RolloutCriterion(name, state, rate.value, limit=target, low=low, high=high, n=rate.n)


# To revert one


def _stop_hook(facts: LegFacts) -> RolloutCriterion:
    state, p95 = _reverting(is_tripped=is_too_slow(facts.stop_ms, STOP_LIMIT_MS)), p95_ms(facts.stop_ms)
    return RolloutCriterion(CriterionName.STOP_HOOK, state, p95, limit=STOP_LIMIT_MS, n=facts.stop_ms.runs)


def _ranking_cost(facts: LegFacts) -> RolloutCriterion:
    """Trips if the p95 of searching and ranking was over the limit on most days of the week."""
    slow_days = facts.slow_days
    state = _reverting(is_tripped=slow_days.k >= SLOW_DAYS if slow_days.n else None)
    p95, runs = p95_ms(facts.rank_ms), facts.rank_ms.runs
    return RolloutCriterion(CriterionName.RANKING_COST, state, p95, limit=RANKING_LIMIT_MS, n=runs)


def is_too_slow(durations: Durations, limit: int) -> bool | None:
    """Report whether the p95, which is known to a tenth, is certainly above the limit in ms. None with too few runs."""
    p95 = p95_ms(durations)
    return None if p95 is None or durations.runs < FEWEST_RUNS else p95 / _DURATION_STEP > limit


def _agreement_kill(facts: LegFacts) -> RolloutCriterion:
    killed = [metric for metric, measured in facts.measured.items() if measured.gate.state is GateState.KILLED]
    return RolloutCriterion(
        CriterionName.AGREEMENT,
        _reverting(is_tripped=bool(killed) if facts.measured else None),
        _agreement(facts),
        limit=KILL_AGREEMENT,
        n=facts.labelled,
        metrics=tuple(map(str, killed)),
    )


def _on_topic_drop(facts: LegFacts) -> RolloutCriterion:
    change = _difference(facts, QualityMetric.ON_TOPIC, _LOOKS)
    state = _reverting(is_tripped=None if change is None else change.high < 0)
    return _compared(CriterionName.ON_TOPIC_DROP, state, facts, QualityMetric.ON_TOPIC, 0.0, _LOOKS)


def _false_demotions(facts: LegFacts) -> RolloutCriterion:
    rate = facts.demotions
    low = least_share(rate.k, rate.n, _LOOKS) if rate.n else None
    _, high = rate.interval or (None, None)
    state = _reverting(is_tripped=None if low is None else low > MOST_REVERSED)
    return RolloutCriterion(
        CriterionName.FALSE_DEMOTIONS, state, rate.value, limit=MOST_REVERSED, low=low, high=high, n=rate.n
    )


def _regression(facts: LegFacts) -> RolloutCriterion:
    """Trips if a metric is certainly worse than in the days before the leg, over all backends."""
    looks = _LOOKS * len(ITEM_METRICS)
    changes = {
        metric: unpaired_difference(facts.before.get(metric, Rate()), facts.now.get(metric, Rate()), looks)
        for metric in ITEM_METRICS
    }
    worse = [
        metric
        for metric, change in changes.items()
        if change and (change.low > 0 if TARGETS[metric].is_ceiling else change.high < 0)
    ]
    state = _reverting(is_tripped=bool(worse) if any(changes.values()) else None)
    n = facts.now.get(QualityMetric.ON_TOPIC, Rate()).n
    return RolloutCriterion(CriterionName.REGRESSION, state, limit=0.0, n=n, metrics=tuple(map(str, worse)))


def _drift(facts: LegFacts) -> RolloutCriterion:
    state = _reverting(is_tripped=None if facts.drifted is None else bool(facts.drifted))
    return RolloutCriterion(CriterionName.DRIFT, state, metrics=tuple(map(str, facts.drifted or ())))


# To enter one


def _leg_before(facts: LegFacts) -> RolloutCriterion:
    """Leave the state unknown: `entering` sets it by the criteria of the leg before."""
    return RolloutCriterion(CriterionName.LEG_BEFORE, CriterionState.UNKNOWN, n=facts.days)


def _replay(facts: LegFacts) -> RolloutCriterion:
    if facts.replay is None:
        return RolloutCriterion(CriterionName.REPLAY, CriterionState.UNKNOWN)
    states = {ReplayVerdict.WORSE: CriterionState.TRIPPED, ReplayVerdict.TOO_FEW: CriterionState.NOT_YET}
    state = states.get(facts.replay.verdict, CriterionState.MET)
    return RolloutCriterion(CriterionName.REPLAY, state, n=facts.replay.compared)


def entering(leg: Leg, facts: LegFacts, can_leave: bool) -> tuple[RolloutCriterion, ...]:
    """Return the criteria for entering a leg. `can_leave`: the leg before it may be left."""
    return tuple(
        replace(criterion, state=_reached(can_leave)) if criterion.name is CriterionName.LEG_BEFORE else criterion
        for criterion in decided(leg.enter, facts)
    )


# Details


def _difference(facts: LegFacts, metric: QualityMetric, looks: int = 1) -> Difference | None:
    """Return the change of a metric since the days before the leg, on the backend that the leg ranks."""
    return unpaired_difference(facts.leg_before.get(metric, Rate()), facts.leg_now.get(metric, Rate()), looks)


def _compared(
    name: CriterionName,
    state: CriterionState,
    facts: LegFacts,
    metric: QualityMetric,
    limit: float,
    looks: int = 1,
) -> RolloutCriterion:
    """Return a criterion that is decided, with the change of its metric and the interval of the change."""
    change, n = _difference(facts, metric, looks), facts.leg_now.get(metric, Rate()).n
    if change is None:
        return RolloutCriterion(name, state, limit=limit, n=n)
    return RolloutCriterion(name, state, change.value, limit, low=change.low, high=change.high, n=n)


def _reached(is_met: bool | None) -> CriterionState:
    """Return the state of a criterion to enter or to leave a leg."""
    return CriterionState.UNKNOWN if is_met is None else CriterionState.MET if is_met else CriterionState.NOT_YET


def _reverting(is_tripped: bool | None) -> CriterionState:
    """Return the state of a criterion that reverts a leg."""
    if is_tripped is None:
        return CriterionState.UNKNOWN
    return CriterionState.TRIPPED if is_tripped else CriterionState.MET


_DECIDING: dict[CriterionName, Callable[[LegFacts], RolloutCriterion]] = {
    CriterionName.LEG_BEFORE: _leg_before,
    CriterionName.REPLAY: _replay,
    CriterionName.DAYS: _days,
    CriterionName.CLEAN: _clean,
    CriterionName.JUDGE: _judge,
    CriterionName.ON_TOPIC_RISE: partial(_rise, CriterionName.ON_TOPIC_RISE, QualityMetric.ON_TOPIC, ON_TOPIC_RISE),
    CriterionName.USAGE_RISE: partial(_rise, CriterionName.USAGE_RISE, QualityMetric.USED, USAGE_RISE),
    CriterionName.CONTRADICTION: _contradiction,
    CriterionName.ON_TOPIC_TARGET: partial(_target, CriterionName.ON_TOPIC_TARGET, QualityMetric.ON_TOPIC),
    CriterionName.DISCOVERY_TARGET: partial(_target, CriterionName.DISCOVERY_TARGET, QualityMetric.DISCOVERY),
    CriterionName.STOP_HOOK: _stop_hook,
    CriterionName.AGREEMENT: _agreement_kill,
    CriterionName.ON_TOPIC_DROP: _on_topic_drop,
    CriterionName.RANKING_COST: _ranking_cost,
    CriterionName.FALSE_DEMOTIONS: _false_demotions,
    CriterionName.REGRESSION: _regression,
    CriterionName.DRIFT: _drift,
}

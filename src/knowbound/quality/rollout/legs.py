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
from knowbound.stats.effective import MOST_REVERSED
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
from knowbound.stats.rollout import CriterionName, CriterionState, Leg, LegFacts, ReplayVerdict, RolloutCriterion

ORDER = ("mem0", "neo4j", "mongo", "files", "sqlite")  # of the contract; those that it does not have are last
LEG_DAYS = WINDOW_DAYS  # "one week of measurement at least per leg"
MOST_UNSCORED = 0.05  # of the turns of "clean data"
ON_TOPIC_RISE = 0.10  # "on-topic +10 points"
USAGE_RISE = 0.05  # "usage +5 points"
SLOW_DAYS = 4  # of the last seven: one slow day of a machine reverts nothing
_LOOP = "+loop"  # after the name of the last leg, in states of earlier versions
_LOOKS = LEG_DAYS  # a loss is looked for every day: the interval is as wide as that many looks need (Bonferroni)
_STEP = 1.1  # between the limits of durations: a p95 is known to be above the limit before its own

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
    """The legs of a store with these backends."""
    used = [name for name in ORDER if name in set(backends)] or ["sqlite"]
    legs = [_MEASURE]
    for number, name in enumerate(used, 1):
        is_last = number == len(used)
        leave, kill = (_LEAVE_LAST, _KILL_LAST) if is_last else (_LEAVE_RANKING, _RANKING_KILLS)
        legs.append(Leg(number, (name,), _ENTER, leave, kill))
    return tuple(legs)


def plan_of(legs: Sequence[Leg]) -> tuple[str, ...]:
    """The legs after leg 0, by name."""
    return tuple(leg.name for leg in legs[1:])


def present_leg(leg: int, plan: Sequence[str], legs: Sequence[Leg]) -> int:
    """Return the present leg of a store whose backends may have changed: the last one that both plans share."""
    for number, (was, now) in enumerate(zip(plan[:leg], plan_of(legs), strict=False)):
        if was.removesuffix(_LOOP) != now:
            return number
    return min(leg, len(plan), len(legs) - 1)


def ranked_backends(legs: Sequence[Leg], number: int) -> tuple[str, ...]:
    """The backends whose items are ranked by measured quality in a leg."""
    return tuple(name for leg in legs[: number + 1] for name in leg.backends)


def decided(names: Iterable[CriterionName], facts: LegFacts) -> tuple[RolloutCriterion, ...]:
    """These criteria of a leg, from what is known about it."""
    return tuple(_DECIDING[name](facts) for name in names)


# To leave a leg


def _days(facts: LegFacts) -> RolloutCriterion:
    more = max(0, LEG_DAYS - facts.days)
    return RolloutCriterion(CriterionName.DAYS, _reached(more == 0), facts.days, LEG_DAYS, n=facts.turns, more=more)


def _clean(facts: LegFacts) -> RolloutCriterion:
    """All turns are counted, none drawn: the share itself decides."""
    share = facts.unscored.value
    state = _reached(None if share is None else share < MOST_UNSCORED)
    return RolloutCriterion(CriterionName.CLEAN, state, share, MOST_UNSCORED, n=facts.unscored.n)


def _judge(facts: LegFacts) -> RolloutCriterion:
    gates = {metric: one.gate for metric, one in facts.measured.items()}
    found = RolloutCriterion(CriterionName.JUDGE, CriterionState.MET, _agreement(facts), AGREEMENT, n=facts.labelled)
    if may_rely_on(gates, RANKING):
        return found
    waiting = waits_for(gates, RANKING)
    more = [gates[metric].more for metric in waiting if metric in gates] or [LABELLED_TURNS]
    known = [one for one in more if one is not None]
    return replace(
        found,
        state=CriterionState.NOT_YET if gates else CriterionState.UNKNOWN,
        more=max(known) if len(known) == len(more) else None,
        metrics=tuple(map(str, waiting)),
    )


def _agreement(facts: LegFacts) -> float | None:
    """Return the lowest agreement of the metrics that the ranking rests on."""
    shares = [facts.measured[metric].found.agreement.value for metric in RANKING if metric in facts.measured]
    return min((share for share in shares if share is not None), default=None)


def _rise(name: CriterionName, metric: QualityMetric, wanted: float, facts: LegFacts) -> RolloutCriterion:
    """Decide whether a metric rose by so much on the backend that the leg ranks. The interval is only shown.

    Or its target is met: what is above it cannot rise by so many points with every leg.
    """
    found, share = _difference(facts, metric), facts.leg_now.get(metric, Rate()).value
    if found is None:
        return RolloutCriterion(name, CriterionState.UNKNOWN, limit=wanted)
    has_risen = round(found.value, 9) >= wanted or (share is not None and share >= TARGETS[metric].share)
    return _compared(name, _reached(has_risen), facts, metric, wanted)


def _contradiction(facts: LegFacts) -> RolloutCriterion:
    found = _difference(facts, QualityMetric.CONTRADICTED)
    if found is None:
        return RolloutCriterion(CriterionName.CONTRADICTION, CriterionState.UNKNOWN, limit=0.0)
    return _compared(CriterionName.CONTRADICTION, _reached(found.low <= 0), facts, QualityMetric.CONTRADICTED, 0.0)


def _target(name: CriterionName, metric: QualityMetric, facts: LegFacts) -> RolloutCriterion:
    rate, share = facts.now.get(metric, Rate()), TARGETS[metric].share
    low, high = rate.interval or (None, None)
    state = _reached(None if rate.value is None else rate.value >= share)
    return RolloutCriterion(name, state, rate.value, share, low, high, rate.n)


# To revert one


def _stop_hook(facts: LegFacts) -> RolloutCriterion:
    state = _kept(is_too_slow(facts.stop_ms, STOP_LIMIT_MS))
    return RolloutCriterion(CriterionName.STOP_HOOK, state, p95_ms(facts.stop_ms), STOP_LIMIT_MS, n=facts.stop_ms.runs)


def _ranking_cost(facts: LegFacts) -> RolloutCriterion:
    """The p95 of searching and ranking was over the limit on most days of the week."""
    state = _kept(facts.slow_days.k >= SLOW_DAYS if facts.slow_days.n else None)
    return RolloutCriterion(
        CriterionName.RANKING_COST, state, p95_ms(facts.rank_ms), RANKING_LIMIT_MS, n=facts.rank_ms.runs
    )


def is_too_slow(durations: Durations, limit: int) -> bool | None:
    """Report whether the p95 is above the limit for certain: it is known to a tenth. None with too few runs."""
    took = p95_ms(durations)
    return None if took is None or durations.runs < FEWEST_RUNS else took / _STEP > limit


def _agreement_kill(facts: LegFacts) -> RolloutCriterion:
    killed = [metric for metric, one in facts.measured.items() if one.gate.state is GateState.KILLED]
    state = _kept(bool(killed) if facts.measured else None)
    metrics = tuple(map(str, killed))
    return RolloutCriterion(
        CriterionName.AGREEMENT, state, _agreement(facts), KILL_AGREEMENT, n=facts.labelled, metrics=metrics
    )


def _on_topic_drop(facts: LegFacts) -> RolloutCriterion:
    found = _difference(facts, QualityMetric.ON_TOPIC, _LOOKS)
    state = _kept(None if found is None else found.high < 0)
    return _compared(CriterionName.ON_TOPIC_DROP, state, facts, QualityMetric.ON_TOPIC, 0.0, _LOOKS)


def _false_demotions(facts: LegFacts) -> RolloutCriterion:
    rate = facts.demotions
    low = least_share(rate.k, rate.n, _LOOKS) if rate.n else None
    state = _kept(None if low is None else low > MOST_REVERSED)
    high = rate.interval[1] if rate.interval else None
    return RolloutCriterion(CriterionName.FALSE_DEMOTIONS, state, rate.value, MOST_REVERSED, low, high, rate.n)


def _regression(facts: LegFacts) -> RolloutCriterion:
    looks = _LOOKS * len(ITEM_METRICS)
    found = {
        metric: unpaired_difference(facts.before.get(metric, Rate()), facts.now.get(metric, Rate()), looks)
        for metric in ITEM_METRICS
    }
    worse = [
        metric for metric, one in found.items() if one and (one.low > 0 if TARGETS[metric].is_ceiling else one.high < 0)
    ]
    state, n = _kept(bool(worse) if any(found.values()) else None), facts.now.get(QualityMetric.ON_TOPIC, Rate()).n
    return RolloutCriterion(CriterionName.REGRESSION, state, limit=0.0, n=n, metrics=tuple(map(str, worse)))


def _drift(facts: LegFacts) -> RolloutCriterion:
    state = _kept(None if facts.drifted is None else bool(facts.drifted))
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
    found = decided(leg.enter, facts)
    return tuple(
        replace(one, state=_reached(can_leave)) if one.name is CriterionName.LEG_BEFORE else one for one in found
    )


# Details


def _difference(facts: LegFacts, metric: QualityMetric, looks: int = 1) -> Difference | None:
    """Return the change since the days before the leg, of the backend that it ranks."""
    return unpaired_difference(facts.leg_before.get(metric, Rate()), facts.leg_now.get(metric, Rate()), looks)


def _compared(
    name: CriterionName,
    state: CriterionState,
    facts: LegFacts,
    metric: QualityMetric,
    limit: float,
    looks: int = 1,
) -> RolloutCriterion:
    found, n = _difference(facts, metric, looks), facts.leg_now.get(metric, Rate()).n
    if found is None:
        return RolloutCriterion(name, state, limit=limit, n=n)
    return RolloutCriterion(name, state, found.value, limit, found.low, found.high, n)


def _reached(is_met: bool | None) -> CriterionState:
    """Return the state of a criterion to enter or to leave a leg."""
    return CriterionState.UNKNOWN if is_met is None else CriterionState.MET if is_met else CriterionState.NOT_YET


def _kept(is_broken: bool | None) -> CriterionState:
    """Return the state of a criterion that reverts a leg."""
    return CriterionState.UNKNOWN if is_broken is None else CriterionState.TRIPPED if is_broken else CriterionState.MET


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

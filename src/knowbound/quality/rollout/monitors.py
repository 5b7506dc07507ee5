"""The seven failure modes of measuring and of ranking by it, each with its number and its limit.

Specification 2, section 7. `report/quality/rollout.py` says what to do about each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date

import msgspec

from knowbound.config import Settings
from knowbound.core.quality import CONTRACT, KEPT_DAYS, DayRollup, Metric, Weights
from knowbound.kms.corrections import MAX_CHAIN, end_of_chain
from knowbound.kms.index.database import Index
from knowbound.kms.index.ranking import quality_is_on
from knowbound.kms.quality_log import QualityLog
from knowbound.quality.rollout.legs import is_too_slow
from knowbound.quality.rollout.replay import weights_of
from knowbound.stats.quality import STOP_LIMIT_MS, p95_ms, sum_of_days, window
from knowbound.stats.rollout import (
    MOST_RATIO,
    MOST_REVERSED,
    FailureMode,
    Monitor,
    Reinforcement,
    demotions,
    false_demotions,
    reinforcement,
    scores_of,
)

DEMOTION_DAYS = 30  # of demotions that are looked at
_EXPIRY_DAYS = 1  # that the removal of a turn may be late: a TTL index works in the background


class MonitorInput(msgspec.Struct, frozen=True):
    """The input of the monitors."""

    days: Sequence[DayRollup]
    today: str
    drifted: tuple[Metric, ...] | None = None  # metrics on which the judge drifted; None: there is no weekly sample
    successors: Mapping[str, str] = {}  # superseded item → its successor
    oldest_turn: str = ""  # the day of the oldest raw turn
    stored_confidences: Mapping[str, float] = {}  # item → the confidence that its store has
    is_on: bool = True  # whether measured quality may count at all
    weights: Weights = CONTRACT


def monitor_input(
    settings: Settings,
    log: QualityLog,
    index: Index,
    days: Sequence[DayRollup],
    today: str,
    drifted: tuple[Metric, ...] | None = None,
) -> MonitorInput:
    """Collect the input of the monitors: `days` are rolled up, `drifted` comes from the weekly sample of the judge."""
    logged = log.days()
    shown = sum_of_days(days, *window(today)).by_item
    return MonitorInput(
        days=days,
        today=today,
        drifted=drifted,
        successors={old.item.id: old.item.flag.superseded_by for old in index.superseded() if old.item.flag},
        oldest_turn=logged[0].date if logged else "",
        stored_confidences={id_: entry.item.confidence for id_ in shown for entry in index.known(id_)},
        is_on=quality_is_on(settings.quality_ranking),
        weights=weights_of(settings),
    )


def monitors(known: MonitorInput) -> tuple[Monitor, ...]:
    """Return the monitor of every failure mode, in the order of the contract."""
    stop_ms = sum_of_days(known.days, *window(known.today)).stop_ms
    drifted = known.drifted
    demoted = false_demotions(demotions(known.days, known.weights), *window(known.today, DEMOTION_DAYS))
    longest = longest_chain(known.successors)
    chain_ends = {end_of_chain(id_, lambda old: known.successors.get(old, "")) for id_ in known.successors}
    reinforced = _reinforcement(known)
    oldest = known.oldest_turn
    age_days = (date.fromisoformat(known.today) - date.fromisoformat(oldest)).days if oldest else None
    is_slow, demotion_rate = bool(is_too_slow(stop_ms, STOP_LIMIT_MS)), demoted.value or 0
    is_old, judged = (age_days or 0) > KEPT_DAYS + _EXPIRY_DAYS, reinforced.above.n + reinforced.below.n
    drift_count = None if drifted is None else float(len(drifted))
    return (
        Monitor(FailureMode.SLOW_STOP_HOOK, p95_ms(stop_ms), STOP_LIMIT_MS, tripped=is_slow, n=stop_ms.runs),
        Monitor(
            FailureMode.JUDGE_DRIFT, drift_count, 0.0, tripped=bool(drifted), metrics=tuple(map(str, drifted or ()))
        ),
        # The contract's own number: the rate itself decides here, because the answer is a look at two constants.
        Monitor(
            FailureMode.FALSE_DEMOTIONS,
            demoted.value,
            MOST_REVERSED,
            tripped=demotion_rate > MOST_REVERSED,
            n=demoted.n,
        ),
        Monitor(FailureMode.LONG_CHAINS, longest, MAX_CHAIN, tripped=longest > MAX_CHAIN, n=len(chain_ends)),
        Monitor(FailureMode.SELF_REINFORCING, reinforced.ratio, MOST_RATIO, tripped=reinforced.is_tripped, n=judged),
        Monitor(FailureMode.LOG_SIZE, age_days, KEPT_DAYS, tripped=is_old),
        Monitor(FailureMode.SWITCHED_OFF, float(not known.is_on), 0.0, tripped=not known.is_on),
    )


def is_self_reinforcing(known: MonitorInput) -> bool | None:
    """Report whether ranking feeds on itself, so that exploration is needed; None if that is unknown."""
    found = _reinforcement(known)
    return found.is_tripped if found.is_known else None


def longest_chain(successors: Mapping[str, str]) -> int:
    """Return the most links between a superseded item and its last successor."""
    longest = 0
    for id_ in successors:
        current, links, seen = id_, 0, {id_}
        while (successor := successors.get(current, "")) and successor not in seen:  # a damaged store can have a ring
            seen.add(successor)
            current, links = successor, links + 1
        longest = max(longest, links)
    return longest


def _reinforcement(known: MonitorInput) -> Reinforcement:
    first, last = window(known.today)
    scores = scores_of(day for day in known.days if day.date < first)
    return reinforcement(sum_of_days(known.days, first, last), scores, known.stored_confidences, known.weights)

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
from knowbound.kms.quality_log import QualityLog
from knowbound.kms.search.ranking import quality_is_on
from knowbound.quality.rollout.legs import is_too_slow
from knowbound.quality.rollout.replay import weights_of
from knowbound.stats.effective import (
    MOST_RATIO,
    MOST_REVERSED,
    Reinforcement,
    demotions,
    false_demotions,
    reinforcement,
    scores_of,
)
from knowbound.stats.quality import STOP_LIMIT_MS, p95_ms, sum_of_days, window
from knowbound.stats.rollout import FailureMode, Monitor

DEMOTION_DAYS = 30  # of demotions that are looked at
_EXPIRY_DAYS = 1  # that the removal of a turn may be late: a TTL index works in the background


class Watched(msgspec.Struct, frozen=True):
    """The input of the monitors."""

    days: Sequence[DayRollup]
    today: str
    drifted: tuple[Metric, ...] | None = None  # None: there is no weekly sample
    successors: Mapping[str, str] = {}  # superseded item → its successor
    oldest_turn: str = ""  # the day of the oldest raw turn
    stored: Mapping[str, float] = {}  # item → its stored confidence
    is_on: bool = True  # whether measured quality may count at all
    weights: Weights = CONTRACT


def watch(
    settings: Settings,
    log: QualityLog,
    index: Index,
    days: Sequence[DayRollup],
    today: str,
    drifted: tuple[Metric, ...] | None = None,
) -> Watched:
    """Return the input of the monitors."""
    logged = log.days()
    return Watched(
        days=days,
        today=today,
        drifted=drifted,
        successors={one.item.id: one.item.flag.superseded_by for one in index.superseded() if one.item.flag},
        oldest_turn=logged[0].date if logged else "",
        stored={
            id_: one.item.confidence for id_ in sum_of_days(days, *window(today)).by_item for one in index.known(id_)
        },
        is_on=quality_is_on(settings.quality_ranking),
        weights=weights_of(settings),
    )


def monitors(watched: Watched) -> tuple[Monitor, ...]:
    """Every failure mode, in the order of the contract."""
    stop_ms = sum_of_days(watched.days, *window(watched.today)).stop_ms
    drifted = watched.drifted
    demoted = false_demotions(demotions(watched.days, watched.weights), *window(watched.today, DEMOTION_DAYS))
    longest = longest_chain(watched.successors)
    ends = {end_of_chain(id_, lambda one: watched.successors.get(one, "")) for id_ in watched.successors}
    fed = _reinforcement(watched)
    oldest = watched.oldest_turn
    age = (date.fromisoformat(watched.today) - date.fromisoformat(oldest)).days if oldest else None
    return (
        Monitor(
            FailureMode.SLOW_STOP_HOOK,
            p95_ms(stop_ms),
            STOP_LIMIT_MS,
            bool(is_too_slow(stop_ms, STOP_LIMIT_MS)),
            stop_ms.runs,
        ),
        Monitor(
            FailureMode.JUDGE_DRIFT,
            None if drifted is None else float(len(drifted)),
            0.0,
            bool(drifted),
            metrics=tuple(map(str, drifted or ())),
        ),
        # The contract's own number: the rate itself decides here, because the answer is a look at two constants.
        Monitor(
            FailureMode.FALSE_DEMOTIONS, demoted.value, MOST_REVERSED, (demoted.value or 0) > MOST_REVERSED, demoted.n
        ),
        Monitor(FailureMode.LONG_CHAINS, longest, MAX_CHAIN, longest > MAX_CHAIN, len(ends)),
        Monitor(FailureMode.SELF_REINFORCING, fed.ratio, MOST_RATIO, fed.is_tripped, fed.above.n + fed.below.n),
        Monitor(FailureMode.LOG_SIZE, age, KEPT_DAYS, (age or 0) > KEPT_DAYS + _EXPIRY_DAYS),
        Monitor(FailureMode.SWITCHED_OFF, float(not watched.is_on), 0.0, not watched.is_on),
    )


def is_self_reinforcing(watched: Watched) -> bool | None:
    """Report whether exploration is needed; None if that is unknown."""
    found = _reinforcement(watched)
    return found.is_tripped if found.is_known else None


def longest_chain(successors: Mapping[str, str]) -> int:
    """Return the most links between a superseded item and its last successor."""
    longest = 0
    for id_ in successors:
        at, links, seen = id_, 0, {id_}
        while (after := successors.get(at, "")) and after not in seen:
            seen.add(after)
            at, links = after, links + 1
        longest = max(longest, links)
    return longest


def _reinforcement(watched: Watched) -> Reinforcement:
    first, last = window(watched.today)
    scores = scores_of(day for day in watched.days if day.date < first)
    return reinforcement(sum_of_days(watched.days, first, last), scores, watched.stored, watched.weights)

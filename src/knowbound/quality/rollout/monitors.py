"""The seven failure modes of measuring and of ranking by it, each with its number and its limit.

Specification 2, section 7. Values in, values out; `report/quality/rollout.py` says what to do about each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date

import msgspec

from knowbound.core.quality import CONTRACT, KEPT_DAYS, DayRollup, Metric, Weights
from knowbound.kms.corrections import MAX_CHAIN, end_of_chain
from knowbound.quality.rollout.legs import is_too_slow
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


def monitors(watched: Watched) -> tuple[Monitor, ...]:
    """Every failure mode, in the order of the contract."""
    last_week = sum_of_days(watched.days, *window(watched.today))
    return (
        _stop_hook(last_week),
        _drift(watched),
        _false_demotions(watched),
        _chains(watched.successors),
        _reinforcing(watched),
        _log_size(watched),
        Monitor(FailureMode.SWITCHED_OFF, float(not watched.is_on), 0.0, tripped=not watched.is_on),
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


def _stop_hook(week: DayRollup) -> Monitor:
    took = p95_ms(week.stop_ms)
    return Monitor(
        FailureMode.SLOW_STOP_HOOK,
        took,
        STOP_LIMIT_MS,
        tripped=bool(is_too_slow(week.stop_ms, STOP_LIMIT_MS)),
        n=week.stop_ms.runs,
    )


def _drift(watched: Watched) -> Monitor:
    drifted = watched.drifted
    return Monitor(
        FailureMode.JUDGE_DRIFT,
        None if drifted is None else float(len(drifted)),
        0.0,
        tripped=bool(drifted),
        metrics=tuple(map(str, drifted or ())),
    )


def _false_demotions(watched: Watched) -> Monitor:
    """The contract's own number: the rate itself decides here, because the answer is a look at two constants."""
    first, last = window(watched.today, DEMOTION_DAYS)
    rate = false_demotions(demotions(watched.days, watched.weights), first, last)
    tripped = rate.value is not None and rate.value > MOST_REVERSED
    return Monitor(FailureMode.FALSE_DEMOTIONS, rate.value, MOST_REVERSED, tripped, rate.n)


def _chains(successors: Mapping[str, str]) -> Monitor:
    longest = longest_chain(successors)
    ends = {end_of_chain(id_, lambda one: successors.get(one, "")) for id_ in successors}
    return Monitor(FailureMode.LONG_CHAINS, longest, MAX_CHAIN, longest > MAX_CHAIN, len(ends))


def _reinforcing(watched: Watched) -> Monitor:
    found = _reinforcement(watched)
    n = found.above.n + found.below.n
    return Monitor(FailureMode.SELF_REINFORCING, found.ratio, MOST_RATIO, found.is_tripped, n)


def _reinforcement(watched: Watched) -> Reinforcement:
    first, last = window(watched.today)
    scores = scores_of(day for day in watched.days if day.date < first)
    return reinforcement(sum_of_days(watched.days, first, last), scores, watched.stored, watched.weights)


def _log_size(watched: Watched) -> Monitor:
    if not watched.oldest_turn:
        return Monitor(FailureMode.LOG_SIZE, None, KEPT_DAYS)
    age = (date.fromisoformat(watched.today) - date.fromisoformat(watched.oldest_turn)).days
    return Monitor(FailureMode.LOG_SIZE, age, KEPT_DAYS, age > KEPT_DAYS + _EXPIRY_DAYS)

"""The daily rollup: turns of the log as counts of a day, and the warranted corrections (specification 2, section 3).

It makes anew every day that has other turns than when it was made last, so late turns are welcome and running it twice
changes nothing. It only ever writes whole days. Turns older than 90 days leave the log after their day was rolled up;
days stay for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

import msgspec

from knowbound.core.quality_log import (
    KEPT_DAYS,
    Counts,
    DayRollup,
    Durations,
    Ending,
    LoggedItem,
    QualityTurn,
    Spread,
)
from knowbound.kms.corrections.changes import Correction
from knowbound.kms.quality_log.protocol import QualityLog
from knowbound.quality.discovery import discoveries
from knowbound.text.clock import utc_now


class RolledUp(msgspec.Struct, frozen=True):
    """What a rollup did."""

    days: tuple[str, ...] = ()  # that were made anew
    raised: int = 0  # warranted corrections that are known
    pruned: int = 0  # turns that were too old


def roll_up(log: QualityLog, corrections: Iterable[Correction], *, today: str = "") -> RolledUp:
    """Bring the days and the warranted corrections up to the log. `corrections` are those of the store."""
    today = today or utc_now()[:10]
    oldest = (datetime.fromisoformat(today).replace(tzinfo=UTC) - timedelta(days=KEPT_DAYS)).strftime("%Y-%m-%d")
    known = {day.date: day for day in log.rollups(oldest)}
    changed = [
        day.date
        for day in log.days()
        if day.date >= oldest and not _is_made_of(known.get(day.date), day.turns, day.newest)
    ]
    log.put_rollups(day_of(date, log.of_day(date)) for date in changed)
    records = discoveries(log.discoveries(), log.since(oldest), corrections, log.answers())
    log.put_discoveries(records)
    return RolledUp(tuple(changed), len(records), log.prune(oldest))


def day_of(date: str, turns: Iterable[QualityTurn]) -> DayRollup:
    """The day that these turns make."""
    day = DayRollup(date, made_at=utc_now())
    for turn in turns:
        day = _with(day, turn)
    return day


def counted(items: Iterable[LoggedItem]) -> Counts:
    """What the verdicts on these items were."""
    total = Counts()
    for item in items:
        total += _of(item)
    return total


def _is_made_of(day: DayRollup | None, turns: int, newest: str) -> bool:
    return day is not None and (day.turns, day.newest) == (turns, newest)


def _with(day: DayRollup, turn: QualityTurn) -> DayRollup:
    injected = counted(turn.injected_items)
    return DayRollup(
        date=day.date,
        made_at=day.made_at,
        turns=day.turns + 1,
        newest=max(day.newest, turn.scored_at),
        unscored=day.unscored + bool(turn.problem),
        prompts_with_items=day.prompts_with_items + bool(turn.injected_items),
        interrupted=day.interrupted + (turn.ending is not Ending.STOPPED),
        injected=day.injected + injected,
        spread=day.spread + Spread.of_turn(injected) if injected.judged else day.spread,
        by_backend=_added(day.by_backend, ((item.source_backend, item) for item in turn.injected_items)),
        by_source=_added(day.by_source, ((item.source or "unknown", item) for item in turn.injected_items)),
        by_item=_added(day.by_item, ((item.id, item) for item in turn.injected_items)),
        pulled=day.pulled + counted(turn.pulled_items),
        others=_added(day.others, ((item.source, item) for item in turn.other_items)),
        corrective_calls=day.corrective_calls + sum(bool(call.corrected) for call in turn.tool_calls),
        injected_tokens=day.injected_tokens + turn.injected_tokens,
        prompt_ms=day.prompt_ms + _took(turn.prompt_ms),
        stop_ms=day.stop_ms + _took(turn.stop_ms),
        judges=_one_more(day.judges, turn.judge),
    )


def _added(known: dict[str, Counts], items: Iterable[tuple[str, LoggedItem]]) -> dict[str, Counts]:
    total = dict(known)
    for name, item in items:
        total[name] = total.get(name, Counts()) + _of(item)
    return total


def _of(item: LoggedItem) -> Counts:
    verdict = item.verdict
    if verdict is None:
        return Counts(unjudged=1)
    return Counts(1, verdict.on_topic, verdict.used, verdict.contradicted)


def _took(ms: float | None) -> Durations:
    return Durations() if ms is None else Durations.of(ms)


def _one_more(known: dict[str, int], name: str) -> dict[str, int]:
    return known | {name: known.get(name, 0) + 1} if name else known


def days_before(date: str, days: int) -> Iterator[str]:
    """The days of a window that ends with this one, oldest first."""
    end = datetime.fromisoformat(date).replace(tzinfo=UTC)
    for back in range(days - 1, -1, -1):
        yield (end - timedelta(days=back)).strftime("%Y-%m-%d")

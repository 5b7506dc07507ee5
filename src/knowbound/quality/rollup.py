"""The daily rollup: turns of the log as counts of a day, and the warranted corrections (specification 2, section 3).

It makes anew every day that has other turns than when it was made last, so late turns are welcome and running it twice
changes nothing. It only ever writes whole days. Turns older than 90 days leave the log after their day was rolled up;
days stay for ever. What comes so late that the other turns of its day have left the log is added to that day.

A day keeps the averages that its items had at its end (section 4). From the first day that changed on, they are made
again from the turns, in their order. Of days whose turns are gone the averages stay; those of an earlier version, which
kept none, are made of the day's counts, once, and marked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime, timedelta

import msgspec
from msgspec.structs import replace

from knowbound.config import GAMMA
from knowbound.core.quality import (
    KEPT_DAYS,
    Closing,
    Counts,
    DayRollup,
    Discovery,
    Durations,
    LoggedItem,
    QualityScores,
    QualityTurn,
    Spread,
    TurnEnding,
)
from knowbound.injection.inject import HELD_OUT
from knowbound.injection.shadow import SHADOW
from knowbound.kms.changes import Correction
from knowbound.kms.quality_log import LoggedDay, QualityLog
from knowbound.quality.corrections.discovery import discoveries
from knowbound.stats.rollout import RolloutEvent, scores_by_day, scores_by_turns
from knowbound.text.clock import utc_now


class RolledUp(msgspec.Struct, frozen=True):
    """Result of a rollup."""

    days: tuple[str, ...] = ()  # that were made anew
    pruned: int = 0  # turns that were too old
    moved: RolloutEvent | None = None  # the leg of the rollout was left or reverted by itself
    problem: str = ""  # why effective confidences could not be written


def roll_up(
    log: QualityLog,
    corrections: Iterable[Correction],
    *,
    today: str = "",
    written: Collection[str] = (),
    gamma: float = GAMMA,
) -> RolledUp:
    """Bring the days and the warranted corrections up to the log. `corrections` are those of the store.

    `written` are days that have just been written to: another machine, whose clock is ahead, can hide that.
    """
    oldest, leaving = _log_limits(today or utc_now()[:10])
    logged_days = log.days()
    rolled_days = {day.date: day for day in log.rollups()}
    made: list[DayRollup] = []
    for logged_day in logged_days:
        day = rolled_days.get(logged_day.date)
        if logged_day.date < oldest:
            late = [turn for turn in log.of_day(logged_day.date) if turn.scored_at > (day.newest if day else "")]
            made += [day_of(logged_day.date, late, day)] if late else []
        elif logged_day.date in written or not _is_up_to_date(day, logged_day, may_shrink=logged_day.date >= leaving):
            made.append(day_of(logged_day.date, log.of_day(logged_day.date)))
    earlier_records = log.discoveries()
    records = discoveries(earlier_records, log.corrective(oldest), corrections, log.answers())
    turns = {logged_day.date: logged_day.turns for logged_day in logged_days if logged_day.date >= oldest}
    log.put_rollups(_days_to_write(log, rolled_days, made, turns, gamma, earlier_records, records))
    log.put_discoveries(records)
    # A turn that came late can be the first contradiction of an item: the record then has an earlier time, and its id.
    log.drop_discoveries({record.id for record in earlier_records} - {record.id for record in records})
    return RolledUp(tuple(day.date for day in made), log.prune(oldest))


def _days_to_write(
    log: QualityLog,
    rolled_days: Mapping[str, DayRollup],
    made: Iterable[DayRollup],
    turns: Mapping[str, int],
    gamma: float,
    earlier_records: Iterable[Discovery],
    records: Iterable[Discovery],
) -> list[DayRollup]:
    """Return the days to write: new days, and days whose averages have changed.

    `turns` is the number of turns in the log, by day. Contradictions that were dismissed leave the averages, from the
    day on which the first of them was raised; those of `before` count as known.
    """
    dismissed_before, dismissed = _dismissed(earlier_records), _dismissed(records)
    changed_spans = {(id_, *span) for id_, spans in dismissed_before.items() for span in spans}
    changed_spans ^= {(id_, *span) for id_, spans in dismissed.items() for span in spans}
    first = min((raised[:10] for _, raised, _ in changed_spans), default="9999")
    changed = {day.date: day for day in made}
    days = {**rolled_days, **changed}
    scores: dict[str, QualityScores] = {}
    is_behind, written = False, []
    for date in sorted(days):
        day = days[date]
        is_raw = turns.get(date, 0) >= day.turns > 0  # all of its turns are still in the log
        is_changed = date in changed or date >= first or (is_raw and day.gamma != gamma)
        is_behind = is_behind or is_changed or day.gamma is None  # from the first changed day on
        if is_behind and is_raw:
            ranked = [turn for turn in log.of_day(date) if turn.arm != SHADOW]  # nobody could use what was not there
            day = replace(day, scores=scores_by_turns(scores, ranked, gamma, dismissed), gamma=gamma)
        elif day.gamma is None:
            day = replace(day, scores=scores_by_day(scores, day, gamma), gamma=gamma, scores_by_day=True)
        if day != rolled_days.get(date):
            written.append(day)
        scores |= day.scores
    return written


def _dismissed(records: Iterable[Discovery]) -> dict[str, list[tuple[str, str]]]:
    """Return by item from when to when contradictions were answered as none."""
    spans: dict[str, list[tuple[str, str]]] = {}
    for record in records:
        if record.closing is Closing.NOT_WARRANTED:
            spans.setdefault(record.item, []).append((record.raised, record.closed))
    return spans


def day_of(date: str, turns: Iterable[QualityTurn], known: DayRollup | None = None) -> DayRollup:
    """Return the day that these turns make, added to the counts of a known day."""
    day = replace(known or DayRollup(date), made_at=utc_now())
    for turn in turns:
        day = _day_with(day, turn)
    return day


def counted(items: Iterable[LoggedItem]) -> Counts:
    """Count the verdicts on these items."""
    total = Counts()
    for item in items:
        total += _counts_of(item)
    return total


def _log_limits(today: str) -> tuple[str, str]:
    """Return the oldest day whose turns are kept, and the first day that no other machine may be removing yet."""
    day = datetime.fromisoformat(today).replace(tzinfo=UTC)
    oldest, leaving = (day - timedelta(days=days) for days in (KEPT_DAYS, KEPT_DAYS - 2))
    return oldest.strftime("%Y-%m-%d"), leaving.strftime("%Y-%m-%d")


def _is_up_to_date(day: DayRollup | None, logged: LoggedDay, *, may_shrink: bool) -> bool:
    """Report whether a day is unchanged. A day about to leave the log may have lost turns already: it stays."""
    if day is None:
        return False
    return (day.turns, day.newest) == (logged.turns, logged.newest) or (not may_shrink and logged.turns < day.turns)


def _day_with(day: DayRollup, turn: QualityTurn) -> DayRollup:
    """Add a turn to a day. Items in shadow reached no agent: they are counted apart, the turn as one without items."""
    if turn.arm == SHADOW:
        shadow = day.shadow + counted(turn.injected_items)
        return _day_with(replace(day, shadow=shadow), replace(turn, injected_items=(), arm=""))
    injected = counted(turn.injected_items)
    return replace(
        day,
        turns=day.turns + 1,
        newest=max(day.newest, turn.scored_at),
        unscored=day.unscored + bool(turn.problem),
        prompts_with_items=day.prompts_with_items + bool(turn.injected_items),
        interrupted=day.interrupted + (turn.ending is not TurnEnding.STOPPED),
        injected=day.injected + injected,
        spread=day.spread + Spread.of_turn(injected) if injected.judged else day.spread,
        by_backend=_add_counts(day.by_backend, ((item.source_backend, item) for item in turn.injected_items)),
        by_source=_add_counts(day.by_source, ((item.source or "unknown", item) for item in turn.injected_items)),
        by_item=_add_counts(day.by_item, ((item.id, item) for item in turn.injected_items)),
        pulled=day.pulled + counted(turn.pulled_items),
        others=_add_counts(day.others, ((item.source, item) for item in turn.other_items)),
        corrective_calls=day.corrective_calls + sum(bool(call.corrected) for call in turn.tool_calls),
        injected_tokens=day.injected_tokens + turn.injected_tokens,
        held_out=day.held_out + (turn.arm == HELD_OUT),
        silenced=day.silenced | {item: day.silenced.get(item, 0) + 1 for item in turn.silenced},
        silenced_prompts=day.silenced_prompts + bool(turn.silenced),
        rank_ms=day.rank_ms + _duration(turn.rank_ms),
        prompt_ms=day.prompt_ms + _duration(turn.prompt_ms),
        stop_ms=day.stop_ms + _duration(turn.stop_ms),
        judges=day.judges | ({turn.judge: day.judges.get(turn.judge, 0) + 1} if turn.judge else {}),
    )


def _add_counts(known: dict[str, Counts], items: Iterable[tuple[str, LoggedItem]]) -> dict[str, Counts]:
    total = dict(known)
    for name, item in items:
        total[name] = total.get(name, Counts()) + _counts_of(item)
    return total


def _counts_of(item: LoggedItem) -> Counts:
    verdict = item.verdict
    if verdict is None:
        return Counts(unjudged=1)
    return Counts(judged=1, on_topic=verdict.on_topic, used=verdict.used, contradicted=verdict.contradicted)


def _duration(ms: float | None) -> Durations:
    return Durations() if ms is None else Durations.of(ms)

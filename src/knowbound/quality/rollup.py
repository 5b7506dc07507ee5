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
from knowbound.stats.effective import scores_by_day, scores_by_turns
from knowbound.stats.rollout import RolloutEvent
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
    oldest, leaving = _days_before(today or utc_now()[:10])
    logged = log.days()
    known = {day.date: day for day in log.rollups()}
    made: list[DayRollup] = []
    for now in logged:
        day = known.get(now.date)
        if now.date < oldest:
            late = [turn for turn in log.of_day(now.date) if turn.scored_at > (day.newest if day else "")]
            made += [day_of(now.date, late, day)] if late else []
        elif now.date in written or not _is_made_of(day, now, may_shrink=now.date >= leaving):
            made.append(day_of(now.date, log.of_day(now.date)))
    before = log.discoveries()
    records = discoveries(before, log.corrective(oldest), corrections, log.answers())
    turns = {now.date: now.turns for now in logged if now.date >= oldest}
    log.put_rollups(_with_scores(log, known, made, turns, gamma, before, records))
    log.put_discoveries(records)
    # A turn that came late can be the first contradiction of an item: the record then has an earlier time, and its id.
    log.drop_discoveries({one.id for one in before} - {record.id for record in records})
    return RolledUp(tuple(day.date for day in made), log.prune(oldest))


def _with_scores(
    log: QualityLog,
    known: Mapping[str, DayRollup],
    made: Iterable[DayRollup],
    turns: Mapping[str, int],
    gamma: float,
    before: Iterable[Discovery],
    records: Iterable[Discovery],
) -> list[DayRollup]:
    """Return the days to write: new days, and days whose averages have changed.

    `turns` is the number of turns in the log, by day. Contradictions that were dismissed leave the averages, from the
    day on which the first of them was raised; those of `before` count as known.
    """
    was, dismissed = _dismissed(before), _dismissed(records)
    answered = {(id_, *span) for id_, spans in was.items() for span in spans}
    answered ^= {(id_, *span) for id_, spans in dismissed.items() for span in spans}
    first = min((raised[:10] for _, raised, _ in answered), default="9999")
    changed = {day.date: day for day in made}
    days = {**known, **changed}
    scores: dict[str, QualityScores] = {}
    is_behind, written = False, []
    for date, found in sorted(days.items()):
        day = found
        is_raw = turns.get(date, 0) >= day.turns > 0
        is_other = date in changed or date >= first or (is_raw and day.gamma != gamma)
        is_behind = is_behind or is_other or day.gamma is None
        if is_behind and is_raw:
            ranked = [turn for turn in log.of_day(date) if turn.arm != SHADOW]  # nobody could use what was not there
            day = replace(day, scores=scores_by_turns(scores, ranked, gamma, dismissed), gamma=gamma)
        elif day.gamma is None:
            day = replace(day, scores=scores_by_day(scores, day, gamma), gamma=gamma, scores_by_day=True)
        if day != known.get(date):
            written.append(day)
        scores |= day.scores
    return written


def _dismissed(records: Iterable[Discovery]) -> dict[str, list[tuple[str, str]]]:
    """Return by item from when to when contradictions were answered as none."""
    found: dict[str, list[tuple[str, str]]] = {}
    for one in records:
        if one.closing is Closing.NOT_WARRANTED:
            found.setdefault(one.item, []).append((one.raised, one.closed))
    return found


def day_of(date: str, turns: Iterable[QualityTurn], known: DayRollup | None = None) -> DayRollup:
    """The day that these turns make, together with those of a known day."""
    day = replace(known or DayRollup(date), made_at=utc_now())
    for turn in turns:
        day = _with(day, turn)
    return day


def counted(items: Iterable[LoggedItem]) -> Counts:
    """Count the verdicts on these items."""
    total = Counts()
    for item in items:
        total += _of(item)
    return total


def _days_before(today: str) -> tuple[str, str]:
    """The oldest day whose turns are kept, and the first that no other machine can take for older yet."""
    day = datetime.fromisoformat(today).replace(tzinfo=UTC)
    oldest, leaving = (day - timedelta(days=days) for days in (KEPT_DAYS, KEPT_DAYS - 2))
    return oldest.strftime("%Y-%m-%d"), leaving.strftime("%Y-%m-%d")


def _is_made_of(day: DayRollup | None, now: LoggedDay, *, may_shrink: bool) -> bool:
    """Report whether a day is unchanged. A day about to leave the log may have lost turns already: it stays."""
    if day is None:
        return False
    return (day.turns, day.newest) == (now.turns, now.newest) or (not may_shrink and now.turns < day.turns)


def _with(day: DayRollup, turn: QualityTurn) -> DayRollup:
    if turn.arm == SHADOW:
        shadow = day.shadow + counted(turn.injected_items)
        return _with(replace(day, shadow=shadow), replace(turn, injected_items=(), arm=""))
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
        by_backend=_added(day.by_backend, ((item.source_backend, item) for item in turn.injected_items)),
        by_source=_added(day.by_source, ((item.source or "unknown", item) for item in turn.injected_items)),
        by_item=_added(day.by_item, ((item.id, item) for item in turn.injected_items)),
        pulled=day.pulled + counted(turn.pulled_items),
        others=_added(day.others, ((item.source, item) for item in turn.other_items)),
        corrective_calls=day.corrective_calls + sum(bool(call.corrected) for call in turn.tool_calls),
        injected_tokens=day.injected_tokens + turn.injected_tokens,
        held_out=day.held_out + (turn.arm == HELD_OUT),
        silenced=day.silenced | {one: day.silenced.get(one, 0) + 1 for one in turn.silenced},
        silenced_prompts=day.silenced_prompts + bool(turn.silenced),
        rank_ms=day.rank_ms + _took(turn.rank_ms),
        prompt_ms=day.prompt_ms + _took(turn.prompt_ms),
        stop_ms=day.stop_ms + _took(turn.stop_ms),
        judges=day.judges | ({turn.judge: day.judges.get(turn.judge, 0) + 1} if turn.judge else {}),
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

"""The daily rollup: turns of the log as counts of a day, and the warranted corrections (specification 2, section 3).

It makes anew every day that has other turns than when it was made last, so late turns are welcome and running it twice
changes nothing. It only ever writes whole days. Turns older than 90 days leave the log after their day was rolled up;
days stay for ever. What comes so late that the other turns of its day have left the log is added to that day.

A day keeps the averages that its items had at its end (section 4). From the first day that changed on, they are made
again from the turns, in their order. Of days whose turns are gone the averages stay; those of an earlier version, which
kept none, are made of the day's counts, once, and marked.

Warranted corrections ("The four metrics") are counted per item, never per turn. A contradiction opens a record of the
item; a second one while it is open raises its counter. A supersede, flag, update or deletion that names the item closes
it, in any session; a dismissal closes it as not warranted. A flag that knowbound sets by itself closes nothing. An
answer that was taken back opens it again. All of it is computed anew from the log, so that turns may come late and in
any order; what another machine closed stays so.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from operator import attrgetter
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from knowbound.config import GAMMA, Settings
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
    SuggestionAnswer,
    SuggestionDecision,
    TurnEnding,
)
from knowbound.injection.hook_settings import SHADOW
from knowbound.injection.inject import HELD_OUT
from knowbound.kms.index.database import Correction, Index
from knowbound.kms.opening import open_index, open_quality_log
from knowbound.kms.quality_log import QualityLog
from knowbound.stats.quality import day_before
from knowbound.stats.rate import Rate
from knowbound.stats.rollout import RolloutEvent, scores_by_day, scores_by_turns
from knowbound.text.clock import utc_now


@contextmanager
def opened_log(settings: Settings, today: str = "") -> Iterator[tuple[QualityLog, Index]]:
    """Open log and index, and bring the days up to their turns."""
    with closing(open_quality_log(settings)) as log, closing(open_index(settings)) as index:
        roll_up(log, index.corrections(), today=today, gamma=settings.quality_gamma)
        yield log, index


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
    last = today or utc_now()[:10]
    # The oldest day whose turns are kept, and the first day that no other machine may be removing yet.
    oldest, settled_from = day_before(last, KEPT_DAYS), day_before(last, KEPT_DAYS - 2)
    logged_days = log.days()
    rolled_days = {day.date: day for day in log.rollups()}
    made: list[DayRollup] = []
    for logged_day in logged_days:
        day = rolled_days.get(logged_day.date)
        if logged_day.date < oldest:
            # The day's other turns are gone: late ones are added to its counts.
            late = [turn for turn in log.of_day(logged_day.date) if turn.scored_at > (day.newest if day else "")]
            made += [day_of(logged_day.date, late, day)] if late else []
            continue
        is_same = day is not None and (day.turns, day.newest) == (logged_day.turns, logged_day.newest)
        # A day that is about to leave the log may have lost turns already: it stays.
        is_leaving = day is not None and logged_day.date < settled_from and logged_day.turns < day.turns
        if logged_day.date in written or not (is_same or is_leaving):
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
    gamma: float,  # weight of the newest injection in the averages
    earlier_records: Iterable[Discovery],
    records: Iterable[Discovery],
) -> list[DayRollup]:
    """Return the days to write: new days, and days whose averages have changed.

    `turns` is the number of turns in the log, by day. What was dismissed since `earlier_records` leaves the averages,
    from the day on which the first of these contradictions was raised.
    """
    dismissed_before, dismissed = _dismissed(earlier_records), _dismissed(records)
    spans_before = {(id_, *span) for id_, spans in dismissed_before.items() for span in spans}
    changed_spans = spans_before ^ {(id_, *span) for id_, spans in dismissed.items() for span in spans}
    first = min((raised[:10] for _, raised, _ in changed_spans), default="9999")  # later than any day
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
        elif day.gamma is None:  # a day of an earlier version, whose turns are gone
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
        if (verdict := item.verdict) is None:
            total += Counts(unjudged=1)
        else:
            total += Counts(judged=1, on_topic=verdict.on_topic, used=verdict.used, contradicted=verdict.contradicted)
    return total


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
        by_backend=_add_counts(day.by_backend, turn.injected_items, lambda item: item.source_backend),
        by_source=_add_counts(day.by_source, turn.injected_items, lambda item: item.source or "unknown"),
        by_item=_add_counts(day.by_item, turn.injected_items, lambda item: item.id),
        pulled=day.pulled + counted(turn.pulled_items),
        others=_add_counts(day.others, turn.other_items, lambda item: item.source),
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


def _add_counts(
    known: dict[str, Counts], items: Iterable[LoggedItem], name_of: Callable[[LoggedItem], str]
) -> dict[str, Counts]:
    """Return known counts, by name, with the verdicts on these items added."""
    total = dict(known)
    for item in items:
        total[name_of(item)] = total.get(name_of(item), Counts()) + counted((item,))
    return total


def _duration(ms: float | None) -> Durations:
    return Durations() if ms is None else Durations.of(ms)


# ---- warranted corrections

RESOLVED_DAYS = 14  # it counts as resolved only where it closes within so many days
DISMISS, UNDO = "kms_dismiss", "kms_undo"
_CLOSING = ("kms_supersede", "kms_flag", "kms_update", "kms_delete")
AUTOMATIC = "automatic"  # in the detail of a correction that nobody made: a flag that knowbound set by itself


class _ClosingCall(NamedTuple):
    """A corrective call that closes an open record of its item."""

    time: str
    tool: str


def discoveries(
    known: Sequence[Discovery],
    turns: Iterable[QualityTurn],
    corrections: Iterable[Correction],
    answers: Sequence[SuggestionAnswer] = (),
) -> list[Discovery]:
    """Return every record, in the order of raising. `known` may have records of turns that have expired."""
    raised: dict[str, list[Discovery]] = {}  # by item
    closed: dict[str, list[_ClosingCall]] = {}  # by item, or by the id that another tool's store has for it
    # Of earlier rollups: a team's other machines have corrections of their own.
    earlier = ((record.item, _ClosingCall(record.closed, record.closed_by)) for record in known if record.closed)
    for item, closing_call in (*_closings_by_corrections(corrections), *_closings_by_answers(answers), *earlier):
        closed.setdefault(item, []).append(closing_call)
    for turn in turns:
        for record in _contradictions_in(turn):
            raised.setdefault(record.item, []).append(record)
        for call in turn.tool_calls:
            for item in call.corrected:
                closed.setdefault(item, []).append(_ClosingCall(turn.timestamp, call.name.rpartition("__")[2]))
    undone = [answer for answer in answers if answer.kind is SuggestionDecision.UNDONE]
    for answer in undone:
        calls = closed.get(answer.item, ())
        closed[answer.item] = [closing for closing in calls if not _was_taken_back(closing.time, answer)]
    known = [_reopened(record, undone) for record in known]
    records: list[Discovery] = []
    for item in raised.keys() | {record.item for record in known}:
        # By time; those of one time always in the same order.
        order = attrgetter("raised", "session_id", "turn_id", "statement", "judge", "source", "own_id")
        contradictions = sorted(raised.get(item, []), key=order)
        times = {record.raised for record in contradictions}
        expired = [record for record in known if record.item == item and record.raised not in times]
        names = {item, *(record.own_id for record in (*expired, *contradictions))} - {""}  # as corrective calls name it
        closings = sorted(closing for name in names for closing in closed.get(name, []))
        records += _records_of_item([*expired, *contradictions], closings)
    return sorted(records, key=lambda record: (record.raised, record.id))


def _contradictions_in(turn: QualityTurn) -> Iterator[Discovery]:
    """Yield a record for each item that a turn contradicted; the ids of other tools' items go with their store."""
    ours = ((item, "", "") for item in turn.injected_items)
    for item, source, own_id in (*ours, *((item, item.source, item.own_id) for item in turn.other_items)):
        if item.verdict and item.verdict.contradicted:
            yield Discovery(
                item.id, turn.timestamp, turn.session_id, turn.turn_id, item.verdict.correction,
                judge=item.verdict.judge or turn.judge, source=source, own_id=own_id,
            )  # fmt: skip


def discovery_rate(records: Iterable[Discovery], first: str, last: str, source: str = "") -> Rate:
    """Return the share of warranted corrections, raised between two days, that were resolved in time.

    `source` names the store of another tool; without it the items of our own store count.
    """
    of_source = (record for record in records if record.source == source)
    warranted = (record for record in of_source if record.closing is not Closing.NOT_WARRANTED)
    raised = [record for record in warranted if first <= record.raised[:10] <= last]
    return Rate(sum(map(is_resolved, raised)), len(raised))


def is_resolved(record: Discovery) -> bool:
    """Report whether a record was closed by a correction within RESOLVED_DAYS."""
    if record.closing is not Closing.RESOLVED:
        return False
    taken = datetime.fromisoformat(record.closed) - datetime.fromisoformat(record.raised)
    return taken <= timedelta(days=RESOLVED_DAYS)


def _closings_by_corrections(corrections: Iterable[Correction]) -> Iterator[tuple[str, _ClosingCall]]:
    """Yield what corrections of the store close; flags that knowbound set by itself close nothing."""
    for correction in corrections:
        detail = json.loads(correction.detail or "{}")
        is_flag_removed = "removed" in detail  # a flag that was taken off again
        if correction.tool in (*_CLOSING, DISMISS) and not is_flag_removed and not detail.get(AUTOMATIC):
            yield correction.item, _ClosingCall(correction.time, correction.tool)


def _closings_by_answers(answers: Iterable[SuggestionAnswer]) -> Iterator[tuple[str, _ClosingCall]]:
    """Yield what answers to suggestions close; an accepted one counts once its item is superseded."""
    for answer in answers:
        if answer.kind is SuggestionDecision.DISMISSED:
            yield answer.item, _ClosingCall(answer.time, DISMISS)
        elif answer.kind is SuggestionDecision.ACCEPTED and answer.done:
            yield answer.item, _ClosingCall(answer.time, "kms_supersede")


def _was_taken_back(time: str, undone: SuggestionAnswer) -> bool:
    """Report whether an answer that was undone covers a correction of that time: from the raising to the undoing."""
    raised = undone.record.rpartition("@")[2]  # in the id of a record, after its item
    return raised <= time <= undone.time


def _reopened(record: Discovery, undone: Iterable[SuggestionAnswer]) -> Discovery:
    """Return the record, open again if the answer that closed it was taken back."""
    of_item = (answer for answer in undone if answer.item == record.item)
    if record.closed and any(_was_taken_back(record.closed, answer) for answer in of_item):
        return replace(record, closing=Closing.OPEN, closed="", closed_by="")
    return record


def _records_of_item(raised: Sequence[Discovery], closed: Sequence[_ClosingCall]) -> Iterator[Discovery]:
    """Yield the records of one item: each contradiction opens one, unless one is open then."""
    current: Discovery | None = None
    repeats = 0
    for contradiction in sorted(raised, key=lambda contradiction: contradiction.raised):
        if current is not None and (not current.closed or current.closed > contradiction.raised):
            repeats += 1
            judge = contradiction.judge or current.judge  # `max`: an earlier rollup counted turns that are gone now
            current = replace(current, contradictions=max(current.contradictions, 1 + repeats), judge=judge)
            continue
        if current is not None:
            yield current
        current, repeats = _closed_if_corrected(contradiction, closed), 0
    if current is not None:
        yield current


def _closed_if_corrected(record: Discovery, closed: Sequence[_ClosingCall]) -> Discovery:
    """Close a record by the first correction at or after its raising, unless an earlier rollup closed it."""
    if record.closed:
        return record
    for closing_call in closed:
        if closing_call.time >= record.raised:
            closing = Closing.NOT_WARRANTED if closing_call.tool == DISMISS else Closing.RESOLVED
            return replace(record, closing=closing, closed=closing_call.time, closed_by=closing_call.tool)
    return record

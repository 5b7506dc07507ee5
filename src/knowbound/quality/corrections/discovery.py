"""Warranted corrections: raised by a contradiction, closed by a corrective call (specification 2, "The four metrics").

Counted per item, never per turn. A contradiction opens a record of the item; a second one while it is open raises its
counter. A supersede, flag, update or deletion that names the item closes it, in any session; a dismissal closes it as
not warranted. A flag that knowbound sets by itself closes nothing. An answer that was taken back opens it again. All of
it is computed anew from the log, so that turns may come late and in any order; what another machine closed stays so.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec.structs import replace

from knowbound.core.quality import Closing, Discovery, QualityTurn, SuggestionAnswer, SuggestionDecision
from knowbound.kms.changes import Correction
from knowbound.stats.rate import Rate

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
    before = ((record.item, _ClosingCall(record.closed, record.closed_by)) for record in known if record.closed)
    for item, closing in (*_closings_by_corrections(corrections), *_closings_by_answers(answers), *before):
        closed.setdefault(item, []).append(closing)
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
        contradictions = sorted(raised.get(item, []), key=_sort_key)
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


def _sort_key(raised: Discovery) -> tuple[str, ...]:
    """Order contradictions by their time; those of one time always in the same order."""
    rest = (raised.statement, raised.judge, raised.source, raised.own_id)
    return raised.raised, raised.session_id, raised.turn_id, *rest


def _records_of_item(raised: Sequence[Discovery], closed: Sequence[_ClosingCall]) -> Iterator[Discovery]:
    """Yield the records of one item: each contradiction opens one, unless one is open then."""
    current: Discovery | None = None
    repeats = 0
    for contradiction in sorted(raised, key=lambda contradiction: contradiction.raised):
        if current is not None and (not current.closed or current.closed > contradiction.raised):
            repeats += 1
            judge = contradiction.judge or current.judge
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

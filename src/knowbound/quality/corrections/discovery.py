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


class _Closed(NamedTuple):
    time: str
    tool: str


def discoveries(
    known: Sequence[Discovery],
    turns: Iterable[QualityTurn],
    corrections: Iterable[Correction],
    answers: Sequence[SuggestionAnswer] = (),
) -> list[Discovery]:
    """Return every record, in the order of raising. `known` may have records of turns that have expired."""
    raised: dict[str, list[Discovery]] = {}
    closed: dict[str, list[_Closed]] = {}
    # Of earlier rollups: a team's other machines have corrections of their own.
    before = ((one.item, _Closed(one.closed, one.closed_by)) for one in known if one.closed)
    for item, closing in (*_closings(corrections), *_answered(answers), *before):
        closed.setdefault(item, []).append(closing)
    for turn in turns:
        mine = [(item, "", "") for item in turn.injected_items]
        for one, source, own_id in mine + [(item, item.source, item.own_id) for item in turn.other_items]:
            if one.verdict and one.verdict.contradicted:
                new = Discovery(
                    one.id, turn.timestamp, turn.session_id, turn.turn_id, one.verdict.correction,
                    judge=one.verdict.judge or turn.judge, source=source, own_id=own_id,
                )  # fmt: skip
                raised.setdefault(one.id, []).append(new)
        for call in turn.tool_calls:
            for item in call.corrected:
                closed.setdefault(item, []).append(_Closed(turn.timestamp, call.name.rpartition("__")[2]))
    records: list[Discovery] = []
    undone = [answer for answer in answers if answer.kind is SuggestionDecision.UNDONE]
    for answer in undone:
        closed[answer.item] = [one for one in closed.get(answer.item, ()) if not _is_void(one.time, answer)]
    known = [_reopened(record, undone) for record in known]
    for item in raised.keys() | {record.item for record in known}:
        contradictions = sorted(raised.get(item, []), key=_order)
        times = {one.raised for one in contradictions}
        expired = [record for record in known if record.item == item and record.raised not in times]
        own = {one.own_id for one in expired} | {one.own_id for one in contradictions}  # as corrective calls name it
        closings = sorted(closing for name in {item, *own} - {""} for closing in closed.get(name, []))
        records += _replayed([*expired, *contradictions], closings)
    return sorted(records, key=lambda record: (record.raised, record.id))


def discovery_rate(records: Iterable[Discovery], first: str, last: str, source: str = "") -> Rate:
    """Return the share of warranted corrections, raised between two days, that were resolved in time.

    `source` names the store of another tool; without it the items of our own store count.
    """
    known = (record for record in records if record.source == source)
    raised = [one for one in known if first <= one.raised[:10] <= last and one.closing is not Closing.NOT_WARRANTED]
    return Rate(sum(map(is_resolved, raised)), len(raised))


def is_resolved(record: Discovery) -> bool:
    """Report whether it was closed by a correction within the time that counts."""
    if record.closing is not Closing.RESOLVED:
        return False
    taken = datetime.fromisoformat(record.closed) - datetime.fromisoformat(record.raised)
    return taken <= timedelta(days=RESOLVED_DAYS)


def _closings(corrections: Iterable[Correction]) -> Iterator[tuple[str, _Closed]]:
    for one in corrections:
        detail = json.loads(one.detail or "{}")
        is_back = "removed" in detail  # a flag that was taken off again
        if one.tool in (*_CLOSING, DISMISS) and not is_back and not detail.get(AUTOMATIC):
            yield one.item, _Closed(one.time, one.tool)


def _answered(answers: Iterable[SuggestionAnswer]) -> Iterator[tuple[str, _Closed]]:
    """Answers to suggestions; one that was accepted, once the item is superseded."""
    for one in answers:
        if one.kind is SuggestionDecision.DISMISSED:
            yield one.item, _Closed(one.time, DISMISS)
        elif one.kind is SuggestionDecision.ACCEPTED and one.done:
            yield one.item, _Closed(one.time, "kms_supersede")


def _is_void(time: str, undone: SuggestionAnswer) -> bool:
    """Report whether a correction of that time is one that was taken back."""
    return undone.record.rpartition("@")[2] <= time <= undone.time


def _reopened(record: Discovery, undone: Iterable[SuggestionAnswer]) -> Discovery:
    """The record, open again where what closed it was taken back."""
    if record.closed and any(one.item == record.item and _is_void(record.closed, one) for one in undone):
        return replace(record, closing=Closing.OPEN, closed="", closed_by="")
    return record


def _order(one: Discovery) -> tuple[str, ...]:
    """Order contradictions by their time; those of one time always in the same order."""
    return one.raised, one.session_id, one.turn_id, one.statement, one.judge, one.source, one.own_id


def _replayed(raised: Sequence[Discovery], closed: Sequence[_Closed]) -> Iterator[Discovery]:
    """Yield the records of one item: each contradiction opens one, unless one is open then."""
    current: Discovery | None = None
    again = 0
    for one in sorted(raised, key=lambda one: one.raised):
        if current is not None and (not current.closed or current.closed > one.raised):
            again += 1
            judge = one.judge or current.judge
            current = replace(current, contradictions=max(current.contradictions, 1 + again), judge=judge)
            continue
        if current is not None:
            yield current
        current, again = _closed_by(one, closed), 0
    if current is not None:
        yield current


def _closed_by(record: Discovery, closed: Sequence[_Closed]) -> Discovery:
    """With the first correction at or after its raising; one of an earlier rollup stays."""
    if record.closed:
        return record
    for one in closed:
        if one.time >= record.raised:
            closing = Closing.NOT_WARRANTED if one.tool == DISMISS else Closing.RESOLVED
            return replace(record, closing=closing, closed=one.time, closed_by=one.tool)
    return record

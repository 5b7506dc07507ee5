"""The log of rescues, and their scores by what the agent did next.

.knowbound/rescues/2026-11-16.jsonl    written by the hook (agent/hook/rescue.py) and by scoring

A lookup that missed is one record, joined from its lines, which share an id. Used: one of the next calls names the
place, or a command or name of the lesson or item that was said; or what the agent says then does. Contradicted: it
looked there, and the file or what it looked for was not there. What was said without a place and without a name is not
scored.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from knowbound.core.trace import MISSES, ToolCall
from knowbound.errors import KnowboundError
from knowbound.lessons.rescue.words import KNOWN
from knowbound.report.quality.model import RescueFigures
from knowbound.stats.rate import Rate
from knowbound.store.data_dir import RESCUES, day_files
from knowbound.traces.turns import TraceTurn, session_of, turns_in
from knowbound.user_files import append

NEXT_CALLS = 5  # after the miss, that are looked at
_DAYS = 7  # of records that are still scored
_TIME_TO_GO_ON = timedelta(minutes=15)  # an agent that has not made so many calls may still make them


class RescueRecord(msgspec.Struct, frozen=True):
    """An answer to a miss, and its outcome."""

    time: str
    id: str
    session: str = ""
    agent: str = "unknown"
    agent_id: str = ""
    transcript: str = ""
    call: str = ""  # the client's id of the tool call that missed
    tool: str = ""
    status: str = "silent"  # found, absent, silent
    rule: str = ""
    text: str = ""
    places: tuple[tuple[str, int | None], ...] = ()
    names: tuple[str, ...] = ()  # in what a lesson or an item says: by these a call is known that follows it
    delivered: bool | None = None  # None: unknown
    ms: float | None = None
    model: str = ""  # that was asked after the rules were silent
    problem: str = ""  # the reason why it gave no answer
    late_at: str = ""  # the moment of a later delivery
    used: bool | None = None  # whether the agent went there; None: not scored yet
    contradicted: bool | None = None  # whether it went there and found nothing

    @property
    def is_said(self) -> bool:
        """Report whether the agent received a place, or the text of a lesson or an item."""
        return self.delivered is True and self.status == "found"


def read_rescues(home: Path, *, since: str = "") -> list[RescueRecord]:
    """The records of a data folder, oldest first; `since` is the first day. A line that was cut short is skipped."""
    joined: dict[str, dict[str, Any]] = {}
    for path in day_files(home, RESCUES):
        if path.name[:10] >= since[:10]:
            for fields in _lines(path):
                joined.setdefault(str(fields["id"]), {}).update(fields)
    found = []
    for fields in joined.values():
        try:
            found.append(msgspec.convert(fields, RescueRecord))
        except msgspec.ValidationError:
            continue
    return sorted(found, key=lambda record: record.time)


def write_score(home: Path, record: RescueRecord, *, used: bool, contradicted: bool) -> None:
    """Add what came of a rescue to its record. Raises OSError."""
    line = {"time": record.time, "id": record.id, "session": record.session, "used": used, "contradicted": contradicted}
    append(str(home / RESCUES / f"{record.time[:10]}.jsonl"), json.dumps(line, separators=(",", ":")).encode() + b"\n")


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of a file of records, without those that are cut short or have no id."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return
    for line in lines:
        try:
            fields = msgspec.json.decode(line, type=dict[str, Any])
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
        if "id" in fields:
            yield fields


def score_rescues(home: Path) -> int:
    """Score what can be scored now; how many were. Raises OSError."""
    since = (datetime.now(UTC) - timedelta(days=_DAYS)).strftime("%Y-%m-%d")
    waiting = [
        record
        for record in read_rescues(home, since=since)
        if record.is_said and record.used is None and record.transcript and (record.places or record.names)
    ]
    scored = 0
    for transcript in dict.fromkeys(record.transcript for record in waiting):
        turns = _turns(transcript)
        for record in (rescue for rescue in waiting if rescue.transcript == transcript):
            if verdict := judge(record, turns):
                used, contradicted = verdict
                write_score(home, record, used=used, contradicted=contradicted)
                scored += 1
    return scored


def _turns(transcript: str) -> list[TraceTurn]:
    """Return the turns of a transcript; none if it cannot be read."""
    try:
        return list(turns_in(session_of(Path(transcript))))
    except (KnowboundError, OSError):
        return []


def judge(record: RescueRecord, turns: Iterable[TraceTurn], *, now: datetime | None = None) -> tuple[bool, bool] | None:
    """Report whether a rescue was used, and whether it was contradicted; None while that is open."""
    for turn in turns:
        calls = turn.calls
        call_at = next((number for number, call in enumerate(calls) if call.id == record.call), None)
        if call_at is None:  # another turn
            continue
        later = [call for step in turn.steps if step.time > record.late_at for call in step.calls]
        next_calls = (later if record.late_at else calls[call_at + 1 :])[:NEXT_CALLS]  # late_at: when it was said
        paths, missed_text = [path for path, _ in record.places], _text_of(calls[call_at])
        calls_there = [
            call
            for call in next_calls
            if any(path in _text_of(call) for path in paths)
            or any(_follows(call, name, missed_text) for name in record.names)
        ]
        answer = next((step.said[-1].text for step in reversed(turn.steps) if step.said), "")
        names = [*paths, *(name for name in record.names if name not in missed_text)]
        is_in_answer = any(name in answer for name in names)
        is_over = len(next_calls) == NEXT_CALLS or is_in_answer or _is_waited_for_long(record, now or datetime.now(UTC))
        if not calls_there and not is_over:
            return None
        used = bool(calls_there) or is_in_answer
        return used, bool(calls_there) and all(call.outcome in MISSES for call in calls_there)
    return None


def _follows(call: ToolCall, name: str, missed: str) -> bool:
    """Report whether a call has a name of the lesson or item, and not only because it repeats the one that failed."""
    text = _text_of(call)
    return name in text and (name not in missed or (" " in name and missed not in text))


def _text_of(call: ToolCall) -> str:
    return "\n".join((call.query, call.where, *call.paths, str(call.input or "")))


def _is_waited_for_long(record: RescueRecord, now: datetime) -> bool:
    """Report whether the agent has had the time to make its next calls; True for a record without a time."""
    try:
        return now - datetime.fromisoformat(record.time.replace("Z", "+00:00")) > _TIME_TO_GO_ON
    except ValueError:
        return True


def rescue_figures(home: Path, first: str, last: str) -> RescueFigures | None:
    """The misses of some days, and what was said about them; None where there are none."""
    records = [record for record in read_rescues(home, since=first) if record.time[:10] <= last]
    if not records:
        return None
    delivered = [record for record in records if record.is_said]
    scored = [record for record in delivered if record.used is not None]
    return RescueFigures(
        misses=len(records),
        said=len(delivered),
        known=sum(record.rule in KNOWN for record in delivered),
        absent=sum(record.status == "absent" and record.delivered is True for record in records),
        used=Rate(sum(record.used is True for record in scored), len(scored)),
        contradicted=Rate(sum(record.contradicted is True for record in scored), len(scored)),
    )

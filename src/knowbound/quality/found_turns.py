"""Finds the turns that are to be scored, and what is known about each: from hooks, from injections, from traces.

Most are reported by a hook. Turns that nobody reported (the user interrupted them, the client was killed) are found in
the log of injections: another prompt of the same context followed, its session ended, or it has been silent for hours.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from os import environ
from pathlib import Path

from msgspec.structs import replace

from knowbound.config import Settings
from knowbound.core.quality import KEPT_DAYS, QualityTurn
from knowbound.errors import InputError
from knowbound.injection.log import AT_START, InjectionLog, InjectionRecord, read_log
from knowbound.injection.prompt import is_notice
from knowbound.judge.drawing import draw_turns, to_label
from knowbound.judge.labels import UnlabelledTurn
from knowbound.kms.opening import open_quality_log
from knowbound.kms.quality_log import QualityLog
from knowbound.quality.ended import INTERRUPT, SESSION_END, STOP, STOP_FAILURE, SUBAGENT_STOP, answer_sum
from knowbound.quality.joining import TurnSources, id_of_unnamed, is_complete, join
from knowbound.quality.queue import EndedRecord
from knowbound.traces.registry import default_folders
from knowbound.traces.turns import TraceTurn, session_of, turns_in

LOOK_SECONDS = 0.1
_PROMPT_DAYS = 7  # no turn takes longer from its prompt to its end
_UNREPORTED_DAYS = 2  # that are looked through for turns that nobody reported
_SILENT_HOURS = 12  # then a turn without an end counts as ended
_TIME = "%Y-%m-%dT%H:%M:%SZ"


def turns_to_label(settings: Settings, count: int, seed: int, known: frozenset[str]) -> list[UnlabelledTurn]:
    """Draw turns of the log that have no labels, whole if their traces still exist. Raises InputError for none."""
    with closing(open_quality_log(settings)) as log:
        drawn = draw_turns(log.since(""), count, seed, known)
        if not drawn:
            raise InputError(
                "nothing-to-label",
                "The quality log has no turn with injected items that is not labelled yet. "
                "Try: knowbound judge label --question turns --input FILE",
            )
        found, turns = FoundTurns(settings.home, log), []
        for id_, weight in drawn:
            if turn := log.get(id_):
                sources = found.again(turn)
                whole = join(sources, lambda _id: None).judged if sources.trace else None  # by the trace alone
                turns.append(to_label(turn, weight, whole))
        return turns


class FoundTurns:
    """The turns of one data folder that are to be scored. It reads the log of injections once."""

    def __init__(self, home: Path, log: QualityLog, *, since: str = "") -> None:
        """`since` is when the first of the turns ended; without it as far back as turns are kept.

        Days before `since` are read as well, because the prompt of a turn may be days older than its end.
        """
        self._home, self._log = home, log
        days = KEPT_DAYS
        if since:
            days = _PROMPT_DAYS + max(0, (datetime.now(UTC) - datetime.fromisoformat(since)).days + 1)
        self._injections: InjectionLog = read_log(home, since=_days_ago(min(days, KEPT_DAYS))[:10])
        self._prompts: dict[tuple[str, str], InjectionRecord] = {}
        self._prompt_before_notice: dict[tuple[str, str], InjectionRecord] = {}  # by a notice of the client
        last_prompts: dict[tuple[str, str], InjectionRecord] = {}
        for record in self._injections.records:
            if _begins_turn(record):
                last_prompts[record.context] = self._prompts[record.session, record.turn_key] = record
            elif record.turn_key and is_notice(record.prompt) and record.context in last_prompts:
                self._prompt_before_notice[record.session, record.turn_key] = last_prompts[record.context]

    def reported(self, records: Sequence[EndedRecord]) -> Iterator[TurnSources]:
        """The turns that hooks reported; of several records of one turn the last counts."""
        ended: dict[tuple[str, str], EndedRecord] = {}
        for reported in records:
            record = reported
            if noticed := self._prompt_before_notice.get((record.session, record.key)):
                # A notice of the client has an id of its own: the turn belongs to the prompt before it.
                record = replace(record, prompt_id=noticed.prompt_id, turn_id=noticed.turn_id)
            prompt = self._prompts.get((record.session, record.key))
            if record.event in (STOP, STOP_FAILURE, INTERRUPT):
                ended[record.session, record.key or record.id] = record
            elif record.event == SUBAGENT_STOP and prompt and record.agent_id and prompt.agent_id == record.agent_id:
                # Codex hooks the prompts of its sub-agents too, and gives them turns and transcripts of their own.
                ended[record.session, record.key] = replace(record, event=STOP, transcript=prompt.transcript)
            elif record.event == SUBAGENT_STOP and record.key and (record.session, record.key) not in ended:
                # A sub-agent in the background: what it did belongs to a turn that has been scored already.
                scored_turn = self._log.get(f"{record.session}/{record.key}")
                if scored_turn and scored_turn.stop_ms is not None:  # its own end was reported
                    again = replace(record, event=STOP, answer_sum="", answer=None, ms=scored_turn.stop_ms)
                    ended[record.session, record.key] = again
        for record in ended.values():
            if not record.key and self._log.known({id_of_unnamed(record)}):
                continue  # of a client without ids: scored before a worker was killed, when no trace named the turn
            yield self._sources(record)

    def unreported(self, records: Iterable[EndedRecord], *, only_closed: bool = False) -> Iterator[TurnSources]:
        """Turns that ended without a hook; `records` say which sessions have ended.

        With `only_closed` those of these sessions alone: of the others a hook may have queued the end.
        """
        recent_since, silent_since = _days_ago(_UNREPORTED_DAYS), _days_ago(_SILENT_HOURS / 24)
        closed = {record.session for record in records if record.event == SESSION_END}
        last_prompts: dict[tuple[str, str], InjectionRecord] = {}
        ended: list[InjectionRecord] = []
        for record in self._injections.records:
            if _begins_turn(record) and record.time >= recent_since:
                if earlier := last_prompts.get(record.context):  # the next prompt shows that it has ended
                    ended.append(earlier)
                last_prompts[record.context] = record
        ended += [last for last in last_prompts.values() if last.time < silent_since or last.session in closed]
        ended = [record for record in ended if record.session in closed or not only_closed]
        logged = self._log.known({f"{record.session}/{record.turn_key}" for record in ended})
        for record in ended:
            if f"{record.session}/{record.turn_key}" not in logged:
                yield self._with_trace(None, record, _turn_by_key(record.transcript, record.turn_key))

    def again(self, turn: QualityTurn) -> TurnSources:
        """Find anew what is known about a turn that is in the log already."""
        prompt = self._prompts.get((turn.session_id, turn.turn_id))
        return self._with_trace(None, prompt, _turn_by_key(turn.trace, turn.turn_id))

    def _sources(self, record: EndedRecord) -> TurnSources:
        """Return what is known about a reported turn; of a recent one the trace may come a moment later."""
        if record.key:
            prompt = self._prompts.get((record.session, record.key))
        else:  # of a client that gives turns no ids: the last prompt of the session before the turn ended
            of_session = (found for found in reversed(self._injections.records) if found.session == record.session)
            before = (found for found in of_session if found.time <= record.time and found.event != AT_START)
            prompt = next(before, None)
        path = record.transcript or (prompt.transcript if prompt else "") or _transcript_of(record.session)
        trace = _ended_turn(record, path)
        while not is_complete(trace, record) and record.is_recent:
            time.sleep(LOOK_SECONDS)
            trace = _ended_turn(record, path)
        return self._with_trace(record, prompt, trace)

    def _with_trace(
        self, record: EndedRecord | None, prompt: InjectionRecord | None, trace: TraceTurn | None
    ) -> TurnSources:
        """Return what is known about a turn, with what the agent pulled in it by the turn's id or the call."""
        named_by = record or prompt
        if named_by is None:
            return TurnSources(record, prompt, trace)
        key, calls = named_by.prompt_id or named_by.turn_id, {call.id for call in trace.calls} if trace else set()
        of_session = (pull for pull in self._injections.pulls if pull.session == named_by.session)
        pulls = [pull for pull in of_session if (key and key in (pull.prompt_id, pull.turn_id)) or pull.call in calls]
        return TurnSources(record, prompt, trace, tuple(pulls))


def _ended_turn(record: EndedRecord, transcript: str) -> TraceTurn | None:
    """Return the turn that a record says has ended: by its id, or the last with its answer, or begun before.

    The session may have gone on since: its last turn can be another one.
    """
    if record.key:
        return _turn_by_key(transcript, record.key)
    answered = begun = None
    for turn in _readable_turns(transcript):
        if record.answer_sum and any(answer_sum(text) == record.answer_sum for text in turn.said):
            answered = turn
        if turn.prompt.time[:19] <= record.time[:19]:  # to the second
            begun = turn
    return answered or begun


def _begins_turn(record: InjectionRecord) -> bool:
    """Report whether a turn begins with a record: not the start of a session, nor a notice of the client."""
    return record.event != AT_START and bool(record.turn_key) and not is_notice(record.prompt)


def _turn_by_key(transcript: str, key: str) -> TraceTurn | None:
    """The turn of that key in a transcript. None where it is not there, or not yet."""
    found = None
    for turn in _readable_turns(transcript):
        if key and key in (turn.prompt.client_turn, turn.prompt.id):
            found = turn
    return found


def _readable_turns(transcript: str) -> Iterator[TraceTurn]:
    """The turns of a transcript, as far as it can be read."""
    if not transcript:
        return
    try:
        yield from turns_in(session_of(Path(transcript)))
    except Exception:  # what the client named is no path, or no trace: the turn is scored by what hooks wrote
        return


def _transcript_of(session: str) -> str:
    """Find the transcript of a client that does not report its path: the file with the session's id in its name."""
    if not session.replace("-", "").isalnum():
        return ""  # it could be a pattern or a path
    for folder in default_folders(environ, Path.home()):
        for path in sorted(folder.glob(f"**/*{session}.jsonl")):
            return str(path)
    return ""


def _days_ago(days: float) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).strftime(_TIME)

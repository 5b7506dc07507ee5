"""Misses that rules cannot decide, decided by a model from the calls that follow, with quotations.

The misses of one turn are one question. The model sees what was said, searched, read, run and written around them; a
verdict whose quotation is not verbatim in that record does not count, and the miss keeps the status of the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from knowbound.core.signal import Cost, Ending, Findings, Signal, SignalType, Status
from knowbound.errors import InputError
from knowbound.gaps.endings import settle_repeats
from knowbound.judge.material import is_quoted
from knowbound.judge.models.asking import Asker
from knowbound.judge.models.questions import AnswerSource, sendable
from knowbound.judge.prompts import load_prompt
from knowbound.text.printable import estimated_tokens, short_line
from knowbound.traces.activity import ActivityRecord, RecordKind, SessionActivity, activity_of
from knowbound.traces.registry import events_of
from knowbound.traces.source import Tally
from knowbound.traces.turns import session_of

_RECORDS_BEFORE, _RECORDS_AFTER = 5, 26  # records around a miss
_RECORD_TOKENS = 3_600  # of the record in one question
_MISSES_TOGETHER = 8  # misses in one question
_SAID_CHARS, _QUERY_CHARS, _OUTPUT_CHARS, _WRITTEN_CHARS = 300, 220, 200, 240  # of a line


class MissAnswer(msgspec.Struct, frozen=True):
    """Answer about one miss."""

    number: int
    status: Status
    ending: Ending
    quote: str = ""


class MissAnswers(msgspec.Struct, frozen=True):
    """Answer about the misses of a question."""

    misses: list[MissAnswer]


class _Question(NamedTuple):
    signals: list[Signal]
    lines: list[tuple[ActivityRecord, str]]
    source: AnswerSource


def decide_misses(found: Sequence[Findings], asker: Asker, may_see: Callable[[str], bool]) -> tuple[set[str], str]:
    """Give the misses of these sessions the model's status; return the unanswered sessions, and the first problem.

    `may_see` says whether the model may be shown the sessions of an agent.
    """
    questions = [question for findings in found if may_see(findings.agent) for question in _questions(findings)]
    asked = asker.ask(
        load_prompt("misses"),
        [_inputs(question) for question in questions],
        MissAnswers,
        checks=[_all_answered(len(question.signals)) for question in questions],
        sources=[question.source for question in questions],
    )
    for question, answer in zip(questions, asked, strict=True):
        for miss in answer.value.misses if answer.value is not None else ():
            if 1 <= miss.number <= len(question.signals):
                _apply_answer(question.signals[miss.number - 1], miss, question.lines, asker.judge)
    for findings in found:
        settle_repeats(findings.signals)  # a repeated failure has the status of its misses
    failed = [
        (question.source.session, answer.problem)
        for question, answer in zip(questions, asked, strict=True)
        if answer.problem
    ]
    return {session for session, _ in failed}, failed[0][1] if failed else ""


def is_asked(signal: Signal) -> bool:
    """Report whether a model is asked about a signal: a miss of a call that was not wrong in itself."""
    is_miss = signal.type is SignalType.FAILED_SEARCH
    return is_miss and signal.status is not Status.MALFORMED and not signal.by  # by: the model that decided it before


def _apply_answer(signal: Signal, answer: MissAnswer, lines: Sequence[tuple[ActivityRecord, str]], judge: str) -> None:
    """Give a miss the model's verdict, unless its quotation is not verbatim in the lines that the model saw."""
    quoted = next((record for record, text in lines if is_quoted(answer.quote, [sendable(text)])), None)
    if quoted is None or answer.status is Status.UNDECIDED:
        return
    signal.status, signal.by = answer.status, judge
    if answer.status in (Status.OPEN, Status.RESOLVED):
        signal.ending = answer.ending
        if answer.ending is Ending.FOUND and quoted.call_id and quoted.call_id not in signal.call_ids:
            signal.resolved_by = quoted.call_id  # a later call, not the miss itself
            calls = sum(record.call_id != "" for record, _ in lines if signal.line < record.line <= quoted.line)
            signal.cost = msgspec.structs.replace(signal.cost or Cost(), calls=max(1, calls))


def _questions(found: Findings) -> Iterator[_Question]:
    """Yield the questions about one session, those of one turn and agent together."""
    waiting = [signal for signal in found.signals if is_asked(signal)]
    if not waiting or not found.files:
        return
    try:
        files = session_of(Path(found.files[0]))  # the main transcript, which leads to those of sub-agents
    except (InputError, OSError):  # the transcript is gone
        return
    activity = activity_of(events_of(files, Tally()), files.start)
    source = AnswerSource(found.session, found.project)
    groups: dict[tuple[str, int], list[Signal]] = {}
    for signal in waiting:
        groups.setdefault((signal.agent_id, signal.turn), []).append(signal)
    for (agent_id, _), signals in groups.items():
        for start in range(0, len(signals), _MISSES_TOGETHER):
            together = signals[start : start + _MISSES_TOGETHER]
            yield _Question(together, _lines_around(activity, agent_id, together), source)


def _lines_around(
    activity: SessionActivity, agent_id: str, signals: Sequence[Signal]
) -> list[tuple[ActivityRecord, str]]:
    """Return the agent's and the user's records around the misses, with the prompt before, as lines of text.

    Fewer records after each miss are shown if more do not fit into the tokens of a question.
    """
    own = [record for record in activity.records if record.agent_id == agent_id or record.kind is RecordKind.PROMPT]
    missed = {call_id for signal in signals for call_id in signal.call_ids}
    misses = [index for index, record in enumerate(own) if record.call_id in missed]
    earlier_prompts = (index for index in range(min(misses, default=0)) if own[index].kind is RecordKind.PROMPT)
    prompt = max(earlier_prompts, default=-1)  # -1, no prompt, is left out below
    for after in (_RECORDS_AFTER, _RECORDS_AFTER // 2, _RECORDS_AFTER // 4, 3):
        around = (range(max(0, miss - _RECORDS_BEFORE), miss + after + 1) for miss in misses)
        shown = {prompt, *(index for indexes in around for index in indexes)}
        lines = [(own[index], _line(own[index])) for index in sorted(shown) if 0 <= index < len(own)]
        if estimated_tokens("\n".join(text for _, text in lines)) <= _RECORD_TOKENS:
            break
    return lines


def _line(record: ActivityRecord) -> str:
    """Return a record of the session as the model reads it."""
    failure = "" if record.ok and record.done else " (nothing)" if record.done else " (refused by the user)"
    match record.kind:
        case RecordKind.PROMPT:
            return f"L{record.line} user: {short_line(record.text, _SAID_CHARS)}"
        case RecordKind.SAID:
            return f"L{record.line} agent: {short_line(record.text, _SAID_CHARS)}"
        case RecordKind.READ:
            return f"L{record.line} read{failure} {record.path}"
        case RecordKind.EDIT:
            return f"L{record.line} wrote{failure} {record.path}: {short_line(record.text, _WRITTEN_CHARS)}"
        case RecordKind.SKILL:
            return f"L{record.line} used the skill {short_line(record.text, _QUERY_CHARS)}"
    verb = {RecordKind.SEARCH: "searched", RecordKind.COMMAND: "ran"}.get(record.kind, f"used {record.tool}")
    output = f" → {short_line(record.output, _OUTPUT_CHARS)}" if record.output else ""
    return f"L{record.line} {verb}{failure}: {short_line(record.text, _QUERY_CHARS)}{output}"


def _inputs(question: _Question) -> dict[str, str]:
    """Return the values of the prompt's placeholders: the misses, and the lines of the session around them."""
    rows = (
        {"number": number, "line": f"L{signal.line}", "tool": signal.tool, "looked_for": sendable(signal.query)}
        for number, signal in enumerate(question.signals, 1)
    )
    return {
        "misses": "\n".join(msgspec.json.encode(row).decode("utf-8") for row in rows),
        "record": sendable("\n".join(text for _, text in question.lines)),
    }


def _all_answered(count: int) -> Callable[[MissAnswers], str]:
    """Return a check of an answer: it names the misses that have no answer."""

    def problem(answer: MissAnswers) -> str:
        missing = set(range(1, count + 1)) - {miss.number for miss in answer.misses}
        return f"no answer for the misses {sorted(missing)}" if missing else ""

    return problem

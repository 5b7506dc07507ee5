"""The answer that an agent is about to stop with, checked against its session: one factual sentence, or none.

Rules speak at once, only about tests, build, lint and done, and only where the session settles it: whoever is
interrupted wrongly switches it off. What rules cannot read (other languages, other words) is for a model that the user
allowed in the background: nobody waits for it, and its sentence is shown with the next prompt.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from knowbound.audit.answer import Answer, read_answer
from knowbound.audit.checks import Check, Ended
from knowbound.audit.exact import command_claims
from knowbound.audit.facts import SessionView, TurnFacts, covers, facts_of
from knowbound.audit.success import left_out, success_claims
from knowbound.config import Settings
from knowbound.core.audit import SUCCESS, UNSUPPORTED, Claim, FindingCode
from knowbound.text.printable import whole_words
from knowbound.traces.turns import TraceTurn, session_of, turns_in

if TYPE_CHECKING:
    from knowbound.judge.models.asking import Asker

LARGEST = 24 * 1024 * 1024  # bytes of a transcript: a larger one is not read while the agent waits
_LATE_SECONDS = 0.2  # a client writes the end of a turn to its transcript about 0.1 s after it calls the hook
_END_BYTES, _END_CHARACTERS = (
    64 * 1024,
    40,
)  # bytes of a transcript, and characters of the answer that are looked for in them
_NO_INTERRUPTION = frozenset({FindingCode.PARTIAL_RUN})  # worth a report, not an interruption
_QUOTED_CHARACTERS = 140  # characters of the sentence that are repeated


class SkippedError(Exception):
    """The transcript is too large, or the time was over before it was read."""


class StopFinding(NamedTuple):
    """The sentence of the rules, "" for none; and whether a model should read the answer."""

    sentence: str
    is_doubtful: bool = False


class _LastTurn(NamedTuple):
    """The last turn of a transcript, None if it has none, with what was done in it and in the session."""

    turn: TraceTurn | None
    facts: TurnFacts
    view: SessionView


def check_answer(transcript: Path, answer: str, until: float, *, waits: bool = False) -> StopFinding:
    """Return what the rules say about the answer; `waits`: once the transcript has it, or a moment later.

    `until` is a monotonic time. Raises SkippedError after it: the agent has waited long enough.
    """
    wait_until = min(until, time.monotonic() + _LATE_SECONDS)
    while waits and time.monotonic() < wait_until and not _has_end_of(answer, transcript):
        time.sleep(0.01)
    last = _read_last_turn(transcript, until)
    if last.facts.waits or not (last.facts.calls or last.view.last_code_edit):
        return StopFinding("")  # something still runs, or nothing was done that a run would show
    claim = to_name(read_answer(answer), last.facts, last.view)
    if claim is not None:
        return StopFinding(sentence(claim))
    asks = answer.rstrip(" *_`\n").endswith(("?", "？"))  # whoever asks has not closed the work
    return StopFinding("", not asks and _is_unchecked(last.view))


def _has_end_of(answer: str, transcript: Path) -> bool:
    """Report whether the end of the transcript has the end of the answer: what came before it is there, too."""
    end = answer.strip()[-_END_CHARACTERS:]
    try:
        with transcript.open("rb") as file:
            file.seek(max(0, transcript.stat().st_size - _END_BYTES))
            text = file.read()
    except OSError:
        return True  # there is nothing to wait for
    # A client writes other letters as they are or as `\u…`; the quotes around a JSON text are cut off.
    return any(json.dumps(end, ensure_ascii=is_ascii)[1:-1].encode() in text for is_ascii in (True, False))


def _read_last_turn(transcript: Path, until: float) -> _LastTurn:
    """Return the last turn with its facts; each turn before it adds to the same view of the session."""
    last = _LastTurn(None, TurnFacts(), SessionView())
    try:
        size = transcript.stat().st_size
    except OSError:
        return last
    if size > LARGEST:
        raise SkippedError(f"the transcript has {size:,} bytes")
    for turn in turns_in(session_of(transcript)):
        last = _LastTurn(turn, facts_of(turn, last.view), last.view)
        if time.monotonic() > until:
            raise SkippedError("the time was over")
    return last


def _is_unchecked(view: SessionView) -> bool:
    """Report whether code was edited and no test that can have seen it has passed since."""
    edit = view.last_code_edit
    if edit is None:
        return False
    passed = [run for run in view.runs if run.order > edit.order and run.ended is Ended.PASSED]
    return not any(Check.TEST in run.kinds and covers(run, edit) for run in passed)


def to_name(answer: Answer, facts: TurnFacts, view: SessionView) -> Claim | None:
    """Return the first claim of success that the session does not show, and that is worth an interruption."""
    checked_claims = (
        *success_claims(answer, facts, view),
        *command_claims(answer, facts, view),
        *left_out(answer, facts, view),
    )
    for checked in checked_claims:
        claim = checked.claim
        if (
            claim.kind in SUCCESS
            and claim.important
            and claim.support in UNSUPPORTED
            and checked.code not in _NO_INTERRUPTION
        ):
            return claim
    return None


def sentence(claim: Claim) -> str:
    """Return the sentence for the agent: its claim, and the missing evidence."""
    from knowbound.text.redact import redact  # noqa: PLC0415  (its patterns take long, and most answers need none)

    text = redact(claim.text)
    quoted = text if len(text) <= _QUOTED_CHARACTERS else f"{whole_words(text, _QUOTED_CHARACTERS)} …"
    return f'The answer says "{quoted}", but {redact(claim.why)}.'


def ask_about(transcript: Path, answer: str, settings: Settings, seconds: float) -> str:
    """Return what the model of the background says about the answer, as a sentence; "" for nothing."""
    from knowbound.config import ModelTask  # noqa: PLC0415
    from knowbound.judge.choice import judge_for, may_see  # noqa: PLC0415
    from knowbound.judge.registry import asker_for  # noqa: PLC0415

    name = judge_for(settings, ModelTask.CLAIMS, background=True)
    asker = asker_for(settings, name, background=True)
    if asker is None:
        return ""
    return read_by(asker, transcript, answer, seconds, lambda agent: may_see(name, agent, settings))


def read_by(
    asker: Asker, transcript: Path, answer: str, seconds: float, is_allowed: Callable[[str], bool] = bool
) -> str:
    """Return the first unsupported claim that this model finds, as a sentence; "" if it finds or may see nothing."""
    from knowbound.audit.asking import AskedTurn, ask_turns, session_facts  # noqa: PLC0415

    last = _read_last_turn(transcript, time.monotonic() + seconds)
    if last.turn is None or not is_allowed(last.turn.agent):
        return ""
    facts = "\n".join(session_facts(last.turn, last.facts, last.view))
    # Without the claims of rules: those were named to the agent when it stopped.
    asked = AskedTurn(last.turn, read_answer(answer), [], facts, last.view.texts, last.facts.waits)
    (answered,) = ask_turns([asked], asker)
    for checked in answered.claims or ():
        if checked.claim.important and checked.claim.support in UNSUPPORTED:
            return sentence(checked.claim)
    return ""

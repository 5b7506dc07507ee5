"""Claims that a model reads off whole answers (model.tasks.claims): one question per turn.

Rules build the material, verify each entry and overrule it where they know better. A claim counts only if it is
verbatim in the answer. "Supported" and "contradicted" need a quotation that is verbatim in the material; "unseen" does
not count where the session has shown what the claim names. What rules decided about tests, build, lint and git wins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from knowbound.audit.answer import Answer, Checked, checked
from knowbound.audit.checks import Ended
from knowbound.audit.facts import SessionView, TurnFacts, short_name
from knowbound.audit.runs import Run
from knowbound.core.audit import KINDS, OF_RULES, UNSUPPORTED, ClaimKind, FindingCode, Support
from knowbound.core.quality import JudgedCall, JudgedTurn
from knowbound.judge.material import TurnMaterial, is_quoted, turn_material
from knowbound.judge.models.asking import Asker
from knowbound.judge.models.questions import AnswerSource, sendable
from knowbound.judge.prompts import load_prompt
from knowbound.text.printable import short_line
from knowbound.text.redact import redact
from knowbound.traces.turns import TraceTurn

MOST = 8  # claims of a turn
_MATERIAL_TOKENS = 8_000  # of the material
_REASON_CHARACTERS, _COMMAND_CHARACTERS = 200, 100  # characters
_LISTED_RUNS = 12  # checks of the session that are listed
_CALL = re.compile(r"^\[(\d+)\] ", re.M)
_NAMED_THING = re.compile(
    r"`([^`\n]{3,80})`|(?<![\w./])((?:[\w@.-]+/)*[\w@-]+\.[A-Za-z]\w{0,5})(?::\d+)?\b|(?<![\w.])(\d{3,})\b"
)


class ClaimAnswer(msgspec.Struct, frozen=True):
    """Answer about one claim."""

    quote: str
    kind: ClaimKind
    support: Support
    call: int = 0
    evidence: str = ""
    missing: str = ""
    important: bool = True


class ClaimAnswers(msgspec.Struct, frozen=True):
    """Answer about a turn."""

    claims: list[ClaimAnswer]
    final: bool = True


class AskedTurn(NamedTuple):
    """A turn with what a question about it needs, taken when the session was read up to its end."""

    turn: TraceTurn
    answer: Answer
    checked: list[Checked]  # by rules
    facts: str
    seen: tuple[str, ...]  # texts that the session has shown
    waits: bool = False  # something was still running


class AnsweredTurn(NamedTuple):
    """Claims of a turn as the model and the rules decide them together; None where the model gave no answer."""

    claims: list[Checked] | None
    problem: str
    is_final: bool = True  # it is an answer, not an announcement


def ask_turns(turns: Sequence[AskedTurn], asker: Asker) -> list[AnsweredTurn]:
    """Return for each turn its claims with their support, or the problem if the model gave no answer."""
    materials = [_material(turn) for turn in turns]
    asked = asker.ask(
        load_prompt("claims"),
        [{**material.texts, "facts": sendable(turn.facts)} for turn, material in zip(turns, materials, strict=True)],
        ClaimAnswers,
        sources=[AnswerSource(turn.turn.session, turn.turn.project) for turn in turns],
    )
    answered = []
    for turn, material, answer in zip(turns, materials, asked, strict=True):
        if answer.value is None:
            answered.append(AnsweredTurn(None, answer.problem))
            continue
        verified = (_verify_claim(claim, turn, material, asker.judge) for claim in answer.value.claims[:MOST])
        claims = _join_claims(turn.checked, [claim for claim in verified if claim is not None])
        answered.append(AnsweredTurn(claims, problem="", is_final=answer.value.final))
    return answered


def _material(asked_turn: AskedTurn) -> TurnMaterial:
    """Return what the model is shown of a turn."""
    turn = asked_turn.turn
    return turn_material(
        JudgedTurn(
            turn.key,
            turn.prompt.text,
            asked_turn.answer.text,
            (),  # injected items decide no claim
            tuple(map(JudgedCall.of, turn.calls)),
            read_before=turn.read_before,
            next_message=turn.next_prompt,
        ),
        tokens=_MATERIAL_TOKENS,
    )


def session_facts(turn: TraceTurn, facts: TurnFacts, view: SessionView) -> Iterator[str]:
    """Yield what rules know of edits, checks and git in the session, by the numbers of the turn's calls."""
    calls_before = view.order - len(turn.calls)

    def where(order: int) -> str:
        return f"call {order - calls_before}" if order > calls_before else "an earlier turn"

    edit = view.last_code_edit
    if edit is None:
        yield "No code was edited in this session."
    else:
        yield f"The last edit of code is in {where(edit.order)}: {short_name(edit)}."
    for run in view.runs[-_LISTED_RUNS:]:
        when = "" if edit is None else ", after the last edit of code" if run.order > edit.order else ", before it"
        yield f"{where(run.order)} ran {short_line(run.tool, _COMMAND_CHARACTERS)}: {_run_result(run)}{when}."
    if edit is not None and not any(run.order > edit.order for run in view.runs):
        unknown = " that rules know" if view.last_act > edit.order else ""  # something else may have checked it
        yield f"No test, build, lint or other check{unknown} ran after the last edit of code."
    for act in facts.gits:
        ended = {True: "ok", False: "failed", None: "end not shown"}[act.ok]
        yield f"{where(act.order)} git {act.verb}: {ended}."
    if facts.unseen_agents:
        yield "The calls of a sub-agent are not in the trace."
    if facts.waits:
        yield "Something was still running in the background."


def _run_result(run: Run) -> str:
    counts = "" if run.passed is None else f", {run.passed} passed" + (f", {run.failed} failed" if run.failed else "")
    ended = "its end is not shown" if run.ended is Ended.UNKNOWN else run.ended.value
    return f"{ended}{counts}{', a part of the tests' if run.is_filtered else ''}"


def _verify_claim(claim: ClaimAnswer, turn: AskedTurn, material: TurnMaterial, judge: str) -> Checked | None:
    """Return the claim as far as its quotations hold; None if the claim is not verbatim in the answer."""
    if not is_quoted(claim.quote, [sendable(turn.answer.text)]):
        return None
    support, important, line, why = claim.support, claim.important, turn.answer.line, _reason_words(claim)
    code = KINDS[claim.kind].code
    if support is Support.SUPPORTED:
        call_number = _cited_call(claim, material)
        if call_number is None:
            # The model took it for shown: nobody has found it unsupported, and nothing shows it.
            support, important, why = Support.UNSEEN, False, "the call that is cited for it does not show it"
        elif call_number:  # 0: the prompt or an earlier turn, so the line of the answer stays
            line = turn.turn.calls[call_number - 1].line if call_number <= len(turn.turn.calls) else line
    elif support is Support.CONTRADICTED:
        by_user = is_quoted(claim.evidence, [material.next_message])
        if (
            not by_user
            and _cited_call(claim, material) is None
            and not is_quoted(claim.evidence, [sendable(turn.facts)])
        ):
            support, why = Support.NOT_CHECKABLE, "what is cited against it is not in the trace"
        code = FindingCode.USER_CONTRADICTS if by_user else FindingCode.TRACE_CONTRADICTS
    elif support is Support.UNSEEN and turn.waits and claim.kind in OF_RULES:  # a run or git may still show it
        support, why = Support.NOT_CHECKABLE, "something was still running"
    elif support is Support.UNSEEN and _was_shown(claim, turn, material):
        support, why = Support.NOT_CHECKABLE, "the session has shown what it names, outside of what the model was shown"
    return checked(claim.quote, claim.kind, support, redact(why), line=line, important=important, code=code, by=judge)


def _reason_words(claim: ClaimAnswer) -> str:
    """Return why a claim has its support: the model's quotation, or what the model misses."""
    words = " ".join((claim.missing if claim.support is Support.UNSEEN else claim.evidence).split())[
        :_REASON_CHARACTERS
    ]
    match claim.support:
        case Support.UNSEEN:
            return f"nothing shows it (missing: {words})" if words else "nothing in the trace shows it"
        case Support.CONTRADICTED | Support.SUPPORTED:
            return f"“{words}”"
        case _:
            return "it cannot be decided from the trace"


def _cited_call(claim: ClaimAnswer, material: TurnMaterial) -> int | None:
    """Return the number of the call that has the quotation (0: the prompt or an earlier turn); None if none has it."""
    calls = _calls_by_number(material.tool_calls)
    numbers = [claim.call, *calls] if claim.call in calls else list(calls)  # a model may name a neighbour's number
    for number in numbers:
        if is_quoted(claim.evidence, [calls[number]]):
            return number
    return 0 if is_quoted(claim.evidence, [material.prompt, material.read_before]) else None


def _calls_by_number(text: str) -> dict[int, str]:
    """Return the shown calls by number."""
    headers = list(_CALL.finditer(text))
    ends = (*(header.start() for header in headers[1:]), len(text))  # without headers it is one too many
    return {int(header[1]): text[header.end() : end] for header, end in zip(headers, ends, strict=bool(headers))}


def _was_shown(claim: ClaimAnswer, turn: AskedTurn, material: TurnMaterial) -> bool:
    """Report whether everything that a claim names was shown in the session, and a part of that not to the model."""
    if claim.kind not in (ClaimKind.LOCATION, ClaimKind.NUMBER, ClaimKind.COMMAND_OUTPUT):
        return False  # other kinds are not shown by a name alone
    names = ["".join(parts) for parts in _NAMED_THING.findall(claim.quote)]
    if not names or not all(any(name in text for text in turn.seen) for name in names):
        return False
    return any(name not in material.tool_calls and name not in material.prompt for name in names)


def _join_claims(by_rules: Sequence[Checked], by_model: list[Checked]) -> list[Checked]:
    """Return the model's claims, those about runs and git as rules decided them, and what rules found besides."""
    rules = [rule for rule in by_rules if rule.claim.is_decided and rule.claim.kind in OF_RULES]
    found, taken = [], list[Checked]()
    for claim in by_model:
        same_by_rules = next(
            (rule for rule in rules if rule.claim.kind is claim.claim.kind and _is_same_claim(rule, claim)), None
        )
        found.append(same_by_rules or claim)
        taken += [same_by_rules] if same_by_rules else []
    further = (rule for rule in by_rules if rule.claim.support in UNSUPPORTED and rule not in taken)
    certain = [
        claim for claim in further if claim.claim.kind in OF_RULES or claim.claim.support is Support.CONTRADICTED
    ]
    return [*found, *certain]  # what rules alone call unseen, of other kinds, the model has weighed


def _is_same_claim(claim: Checked, other: Checked) -> bool:
    """Report whether two claims are the same sentence, or one a part of the other."""
    first, second = (" ".join(compared.claim.text.lower().split()).strip(" .*_`") for compared in (claim, other))
    return first in second or second in first

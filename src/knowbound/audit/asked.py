"""Claims that rules leave undecided, decided by a configured model (model.tasks.claims): one question per turn.

What rules decided stays: a run that is there or not is no matter of opinion. Causes and behaviour are asked about also
where their names were shown, since that is as far as rules go. A model that fails leaves everything as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from knowbound.audit.claims.answer import Answer
from knowbound.audit.claims.checked import Checked, checked
from knowbound.core.audit import Claim, ClaimKind, FindingCode, Support
from knowbound.core.quality import JudgedCall, JudgedTurn
from knowbound.judge.material import turn_material
from knowbound.judge.models.asking import Asker
from knowbound.judge.models.questions import AnswerSource
from knowbound.judge.prompts import CLAIMS, load_prompt
from knowbound.text.redact import redact
from knowbound.traces.turns import TraceTurn

MOST = 16  # claims of a turn that a model is asked about
_REASON = 200  # characters
_BY_NAMES = frozenset({ClaimKind.CAUSE, ClaimKind.BEHAVIOUR, ClaimKind.ABSENCE})
_CODES = {
    ClaimKind.CAUSE: FindingCode.CAUSE_WITHOUT_EVIDENCE,
    ClaimKind.ABSENCE: FindingCode.ABSENCE_NOT_SEARCHED,
    ClaimKind.GIT_STATE: FindingCode.STATE_NOT_SHOWN,
    ClaimKind.COMMAND_OUTPUT: FindingCode.OUTPUT_NOT_PRINTED,
    ClaimKind.NUMBER: FindingCode.NUMBER_NOT_SHOWN,
    ClaimKind.TESTS_PASS: FindingCode.RESULT_NOT_SHOWN,
    ClaimKind.BUILD_OK: FindingCode.RESULT_NOT_SHOWN,
    ClaimKind.LINT_OK: FindingCode.RESULT_NOT_SHOWN,
    ClaimKind.DONE: FindingCode.SUCCESS_WITHOUT_RUN,
}


class ClaimAnswer(msgspec.Struct, frozen=True):
    """What the model is asked for about one claim."""

    id: int
    support: Support
    important: bool = True
    reason: str = ""


class ClaimAnswers(msgspec.Struct, frozen=True):
    """What the model is asked for about a turn."""

    claims: list[ClaimAnswer]


class AskingCost(msgspec.Struct):
    """What asking has cost so far."""

    turns: int = 0  # that a model was asked about
    usd: float | None = 0.0  # None: not known
    problem: str = ""  # the last


class ModelClaims:
    """Asks a model about the claims of turns."""

    def __init__(self, asker: Asker, may_see: Callable[[str], bool] = lambda _agent: True) -> None:
        self._asker, self._may_see = asker, may_see
        self.spent = AskingCost()

    def decide(self, turn: TraceTurn, answer: Answer, found: Sequence[Checked]) -> list[Checked]:
        """The claims, those that were open as the model decides them."""
        open_ = [at for at, one in enumerate(found) if _is_open(one.claim)][:MOST]
        if not open_ or not self._may_see(turn.agent):
            return list(found)
        calls = tuple(map(JudgedCall.of, turn.calls))
        material = turn_material(JudgedTurn(turn.key, turn.prompt.text, answer.text, (), calls))
        shown = {"prompt": material.prompt, "tool_calls": material.tool_calls, "answer": material.answer}
        shown["claims"] = "\n".join(_line(number, found[at].claim) for number, at in enumerate(open_, 1))
        (asked,) = self._asker.ask(
            load_prompt(CLAIMS),
            [shown],
            ClaimAnswers,
            checks=[_complete(range(1, len(open_) + 1))],
            sources=[AnswerSource(turn.session, turn.project)],
        )
        self._count(asked.usd, asked.problem)
        if asked.value is None:
            return list(found)
        given = {one.id: one for one in asked.value.claims}
        decided = {at: self._decided(found[at].claim, given[number]) for number, at in enumerate(open_, 1)}
        return [decided.get(at, one) for at, one in enumerate(found)]

    def _count(self, usd: float | None, problem: str) -> None:
        self.spent.turns += 1
        self.spent.usd = None if usd is None or self.spent.usd is None else self.spent.usd + usd
        self.spent.problem = problem or self.spent.problem

    def _decided(self, claim: Claim, given: ClaimAnswer) -> Checked:
        why = f"{redact(' '.join(given.reason.split()))[:_REASON] or given.support.value} (by {self._asker.judge})"
        code = _CODES.get(claim.kind, FindingCode.CITED_UNSEEN)
        return checked(
            claim.text, claim.kind, given.support, why, line=claim.line, important=given.important, code=code
        )


def _is_open(claim: Claim) -> bool:
    if claim.support is Support.NOT_CHECKABLE:
        return True
    return claim.support is Support.SUPPORTED and claim.kind in _BY_NAMES and not claim.important


def _line(number: int, claim: Claim) -> str:
    return msgspec.json.encode({"id": number, "kind": claim.kind, "claim": redact(claim.text)}).decode("utf-8")


def _complete(numbers: Sequence[int]) -> Callable[[ClaimAnswers], str]:
    """What is wrong with an answer that leaves claims out."""

    def problem(answer: ClaimAnswers) -> str:
        missing = sorted(set(numbers) - {one.id for one in answer.claims})
        return f"there is nothing about the claims {', '.join(map(str, missing))}" if missing else ""

    return problem

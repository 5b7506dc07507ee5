"""Hedges judged by a model, ten sentences in a call (specification 1, section 4, source 3).

A sentence without a verdict counts as doubt, with the problem as the reason: `verdict.py` does that, and the cap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

import msgspec

from knowbound.core.signal import HedgingVerdict
from knowbound.judge.hedging.verdict import HedgingCandidate, HedgingJudge, failed_verdict
from knowbound.judge.models.asking import Asker
from knowbound.judge.models.completion import known_sum
from knowbound.judge.models.questions import AnswerSource, AskedEntry, EntryGroup, sendable
from knowbound.judge.prompts import input_hash, load_prompt
from knowbound.text.printable import both_ends

SENTENCES = 10  # in one call
_QUESTION_CHARACTERS, _CONTEXT_CHARACTERS = 600, 1_500


class HedgingAnswer(msgspec.Struct, frozen=True):
    """Answer of the model about one sentence, in the specification's words."""

    id: str
    is_uncertainty: bool = msgspec.field(name="isUncertainty")
    confidence: Annotated[float, msgspec.Meta(gt=0, le=1)]  # 0 marks a verdict that failed
    reason: str = ""


class ModelHedgingJudge:
    """Judges hedges by asking a model."""

    def __init__(
        self,
        version: str,
        costs: bool,
        asker: Asker,
        may_see: Callable[[str], bool] = lambda _agent: True,
        otherwise: HedgingJudge | None = None,
    ) -> None:
        """`otherwise` judges the sentences of agents that the model may not see."""
        self.version, self.costs, self._asker = version, costs, asker
        self._may_see, self._otherwise = may_see, otherwise
        self.usd: float | None = 0.0  # of all verdicts so far; None if a cost is unknown

    def known(self, candidate: HedgingCandidate) -> HedgingVerdict | None:
        """Return the kept verdict on a sentence, or that of the rules where the model may not see it."""
        if self._otherwise is not None and not self._may_see(candidate.agent):
            (verdict,) = self._otherwise.judge([candidate])
            return verdict
        answer = self._asker.known(load_prompt("hedging"), _entry(0, candidate).key, HedgingAnswer)
        return None if answer is None else self._verdict(answer)

    def judge(self, candidates: Sequence[HedgingCandidate]) -> list[HedgingVerdict]:
        """Return one verdict per candidate, asking about ten at once."""
        entries = EntryGroup([_entry(number, candidate) for number, candidate in enumerate(candidates, 1)])
        (results,) = self._asker.ask_entries(load_prompt("hedging"), [entries], HedgingAnswer, size=SENTENCES)
        self.usd = known_sum(self.usd, *(result.usd for result in results))
        return [
            self._verdict(result.value) if result.value else failed_verdict(result.problem, self.version)
            for result in results
        ]

    def _verdict(self, answer: HedgingAnswer) -> HedgingVerdict:
        return HedgingVerdict(answer.is_uncertainty, answer.confidence, answer.reason, self.version)


def _entry(number: int, candidate: HedgingCandidate) -> AskedEntry:
    shown = {
        "question": both_ends(sendable(candidate.question), _QUESTION_CHARACTERS, " […] "),
        "context": both_ends(sendable(candidate.context), _CONTEXT_CHARACTERS, " […] "),
        "sentence": sendable(candidate.sentence),
    }
    return AskedEntry(f"s{number}", shown, input_hash(shown), AnswerSource(candidate.session, candidate.project))

"""Hedges judged by a model (specification 1, section 4, source 3).

A sentence without a verdict counts as doubt, with the problem as the reason: `verdict.py` does that, the cap, and the
verdicts kept between runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec

from knowbound.core.signal import HedgingVerdict
from knowbound.judge.hedging.verdict import HedgingCandidate, NoVerdict
from knowbound.judge.models.asking import Asker, AskResult
from knowbound.judge.models.completion import known_sum
from knowbound.judge.prompts import HEDGING, load_prompt


class HedgingAnswer(msgspec.Struct, frozen=True):
    """Answer of the model, in the specification's words."""

    is_uncertainty: bool = msgspec.field(name="isUncertainty")
    confidence: Annotated[float, msgspec.Meta(ge=0, le=1)]
    reason: str


class ModelHedgingJudge:
    """Judges hedges by asking a model."""

    def __init__(self, version: str, costs: bool, asker: Asker) -> None:
        self.version, self.costs, self._asker = version, costs, asker
        self.usd: float | None = 0.0  # of all verdicts so far; None if a cost is unknown

    def judge(self, candidates: Sequence[HedgingCandidate]) -> list[HedgingVerdict | NoVerdict | None]:
        """Return one verdict per candidate, asking about several at once."""
        inputs = [{"sentence": one.sentence, "context": one.context} for one in candidates]
        all_asked = self._asker.ask(load_prompt(HEDGING), inputs, HedgingAnswer)
        for asked in all_asked:
            self.usd = known_sum(self.usd, asked.usd)
        return [self._verdict(asked) for asked in all_asked]

    def _verdict(self, asked: AskResult[HedgingAnswer]) -> HedgingVerdict | NoVerdict:
        if asked.value is None:
            return NoVerdict(asked.problem)
        return HedgingVerdict(asked.value.is_uncertainty, asked.value.confidence, asked.value.reason, self.version)

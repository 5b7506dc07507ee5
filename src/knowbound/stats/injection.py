"""Effect of injection: the same samples with and without it, pair by pair.

One rate decides, so that no correction for a second test is needed: the pass rate if samples have assertions, else the
gap rate. The other figures are shown beside it.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from knowbound.stats.comparison import mean_difference, pairs_of, pass_pairs
from knowbound.stats.evaluation import Evaluation, SampleRun, complete_runs
from knowbound.stats.paired import Pairs
from knowbound.stats.rate import Mean, Rate


class Effect(StrEnum):
    """Verdict of the pairs."""

    HELPS = "helps"
    HARMS = "harms"
    UNDECIDED = "undecided"


class InjectionEffect(msgspec.Struct, frozen=True):
    """Difference with − without injection, over samples that are complete on both sides."""

    passes: Pairs  # `fixed`: fails without, passes with
    gaps: Pairs  # `fixed`: a gap without, none with
    usd: Mean
    tokens: Mean
    steps: Mean
    seconds: Mean
    served: Rate  # samples with an injected item, of the samples run with injection

    @property
    def by_passes(self) -> bool:
        """Report whether the pass rate decides; otherwise the gap rate decides."""
        return self.passes.n > 0

    @property
    def deciding(self) -> Pairs:
        """Pairs of the deciding rate."""
        return self.passes if self.by_passes else self.gaps

    @property
    def effect(self) -> Effect:
        """Verdict of the deciding pairs."""
        pairs = self.deciding
        if not pairs.settled:
            return Effect.UNDECIDED
        return Effect.HELPS if pairs.rise < 0 else Effect.HARMS


def injection_effect(without: Evaluation, injected: Evaluation) -> InjectionEffect:
    """Compare an evaluation with injection and the evaluation of the same run without injection."""
    samples = complete_runs(injected.runs)
    return InjectionEffect(
        passes=pass_pairs(without, injected),
        gaps=pairs_of(without, injected),
        usd=mean_difference(without, injected, lambda run: None if run.cached else run.usd),
        tokens=mean_difference(without, injected, _tokens),
        steps=mean_difference(without, injected, lambda run: float(run.steps)),
        seconds=mean_difference(without, injected, lambda run: None if run.cached else run.seconds),
        served=Rate(sum(any(run.injected for run in runs) for runs in samples.values()), len(samples)),
    )


def _tokens(run: SampleRun) -> float | None:
    if run.tokens_in is None or run.tokens_out is None:
        return None
    return float(run.tokens_in + run.tokens_out)

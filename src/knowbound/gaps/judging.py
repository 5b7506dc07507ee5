"""The second stage of hedging (specification 1, source 3): a judge decides which candidates are doubt.

A judge that is free is asked where the session is read. One that costs is asked once per evaluation,
for all new sessions together, so that its cap holds.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from knowbound.config import Settings
from knowbound.core.signal import Findings, Signal, SignalType
from knowbound.judge.hedging.cache import VerdictCache, judge_candidates
from knowbound.judge.hedging.verdict import HedgingCandidate, HedgingJudge
from knowbound.judge.options import JudgeOptions
from knowbound.judge.registry import judge_named


def judge_of(settings: Settings) -> HedgingJudge | None:
    """The configured judge; None keeps every candidate."""
    if not settings.hedging_classifier_enabled:
        return None
    return _judge(settings.hedging_classifier_model, JudgeOptions.of(settings))


@cache
def _judge(model: str, limits: JudgeOptions) -> HedgingJudge:
    return judge_named(model, limits)


def is_undecided(found: Findings) -> bool:
    """Whether a verdict in it failed and so counts as doubt: the judge is asked again the next time."""
    return any(signal.verdict is not None and not signal.verdict.confidence for signal in found.signals)


@cache
def process_verdicts() -> VerdictCache:
    """The verdicts of this process: the same sentence is judged once in it."""
    return VerdictCache()


def judge_findings(
    found: Iterable[Findings],
    judge: HedgingJudge,
    verdicts: VerdictCache,
    max_candidates: int | None = None,
) -> list[str]:
    """Judge the hedges that have no verdict yet, keep those that are doubt, and return the warnings."""
    found = list(found)
    waiting = [signal for one in found for signal in one.signals if _is_unjudged(signal)]
    candidates = [HedgingCandidate(signal.text, signal.context) for signal in waiting]
    judged = judge_candidates(judge, candidates, verdicts, max_candidates)
    for signal, verdict in zip(waiting, judged.verdicts, strict=True):
        signal.verdict = verdict
    for one in found:
        one.signals = [signal for signal in one.signals if not _is_unjudged(signal) and not _is_no_doubt(signal)]
    return judged.warnings


def _is_unjudged(signal: Signal) -> bool:
    return signal.type is SignalType.HEDGING and signal.verdict is None


def _is_no_doubt(signal: Signal) -> bool:
    return signal.verdict is not None and not signal.verdict.is_uncertainty

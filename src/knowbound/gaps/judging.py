"""The second stage of hedging (specification 1, source 3): a judge decides which candidates are doubt.

A judge that is free decides where the session is read. One that costs is asked once per evaluation,
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
    """The judge in force; None where the net alone decides."""
    if not settings.hedging_classifier_enabled:
        return None
    return _judge(settings.hedging_classifier_model, JudgeOptions.of(settings))


@cache
def _judge(model: str, limits: JudgeOptions) -> HedgingJudge:
    return judge_named(model, limits)


def is_undecided(found: Findings) -> bool:
    """Whether a verdict in it failed, and was taken for doubt: then it is worth asking again."""
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
    """Judge the hedges in these findings that have no verdict yet; keep those that are doubt. Gives the warnings."""
    found = list(found)
    undecided = [signal for one in found for signal in one.signals if _waits(signal)]
    candidates = [HedgingCandidate(signal.text, signal.context) for signal in undecided]
    judged = judge_candidates(judge, candidates, verdicts, max_candidates)
    kept = iter(judged.kept)
    candidate, verdict = next(kept, (None, None))
    dropped: set[int] = set()
    for signal, asked in zip(undecided, candidates, strict=True):
        if asked is candidate and verdict is not None:
            signal.verdict = verdict
            candidate, verdict = next(kept, (None, None))
        else:
            dropped.add(id(signal))
    for one in found:
        one.signals = [signal for signal in one.signals if id(signal) not in dropped]
    return judged.warnings


def _waits(signal: Signal) -> bool:
    return signal.type is SignalType.HEDGING and signal.verdict is None

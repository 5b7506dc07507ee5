"""The second stage of hedging (specification 1, source 3): a judge decides which candidates are doubt.

A judge that is free is asked where the session is read. One that costs is asked once per evaluation,
for all new sessions together, so that its cap holds. What it was not asked stays a signal without a verdict.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from knowbound.config import Settings
from knowbound.core.signal import Findings, Signal, SignalType
from knowbound.gaps.repeated import settle
from knowbound.judge.hedging.verdict import HedgingCandidate, HedgingJudge, cap_of, judge_candidates
from knowbound.judge.registry import hedging_judge
from knowbound.stats.figures import HedgeJudging


def judge_of(settings: Settings) -> HedgingJudge | None:
    """The configured judge; None keeps every candidate."""
    return hedging_judge(settings) if settings.hedging_classifier_enabled else None


def drop_hedges(found: Iterable[Findings]) -> None:
    """Leave the source out."""
    for one in found:
        one.signals = [signal for signal in one.signals if signal.type is not SignalType.HEDGING]
        settle(one)


def is_undecided(found: Findings) -> bool:
    """Report whether a hedge in it was not judged, or its verdict failed: then the judge is asked the next time."""
    return any(_is_unjudged(signal) or _has_failed(signal) for signal in found.signals)


class JudgedHedges(NamedTuple):
    """Warnings for the user, and what the judge did where it has a cap."""

    warnings: list[str]
    judging: HedgeJudging | None = None


def judge_findings(
    found: Iterable[Findings],
    judge: HedgingJudge,
    max_candidates: int | None = None,
) -> JudgedHedges:
    """Judge the hedges that have no verdict yet, and drop those that are no doubt."""
    found = list(found)
    pairs = [(one, signal) for one in found for signal in one.signals if _is_unjudged(signal)]
    waiting = [signal for _, signal in pairs]
    candidates = [_candidate(one, signal) for one, signal in pairs]
    spent = _spent(judge)
    judged = judge_candidates(judge, candidates, max_candidates)
    for signal, verdict in zip(waiting, judged.verdicts, strict=True):
        signal.verdict = verdict
    for one in found:
        one.signals = [signal for signal in one.signals if not _is_no_doubt(signal)]
        settle(one)
    cap = cap_of(judge, max_candidates)
    if cap is None:
        return JudgedHedges(judged.warnings)
    by_text = {signal.text: signal for signal in waiting}.values()
    unjudged, failed = sum(map(_is_unjudged, by_text)), sum(map(_has_failed, by_text))
    now = _spent(judge)
    usd = None if spent is None or now is None else now - spent
    judging = HedgeJudging(judge.version, cap, len(by_text) - unjudged - failed, unjudged, failed, usd)
    return JudgedHedges(judged.warnings, judging)


def _candidate(found: Findings, signal: Signal) -> HedgingCandidate:
    question = found.turns[signal.turn - 1].prompt if 0 < signal.turn <= len(found.turns) else ""
    return HedgingCandidate(signal.text, signal.context, question, found.session, found.project, found.agent)


def _spent(judge: HedgingJudge) -> float | None:
    """Return the cost of a judge in this process so far; None if it is unknown."""
    if not judge.costs:
        return 0.0
    from knowbound.judge.hedging.model import ModelHedgingJudge  # noqa: PLC0415  (loads what asks a model)

    return judge.usd if isinstance(judge, ModelHedgingJudge) else 0.0


def _is_unjudged(signal: Signal) -> bool:
    return signal.type is SignalType.HEDGING and signal.verdict is None


def _has_failed(signal: Signal) -> bool:
    return signal.verdict is not None and signal.verdict.has_failed


def _is_no_doubt(signal: Signal) -> bool:
    return signal.verdict is not None and not signal.verdict.is_uncertainty

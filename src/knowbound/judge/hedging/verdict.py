"""Judges of hedging sentences, asked with the cap and fallback of specification 1, section 4, source 3."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import msgspec

from knowbound.core.signal import HedgingVerdict
from knowbound.judge.names import Judge

MAX_CANDIDATES = 50  # specification 1, section 4: the cap of an evaluation if a verdict costs


class HedgingCandidate(msgspec.Struct, frozen=True, gc=False):
    """A sentence that may express doubt, with the sentences around it and the user's question."""

    sentence: str
    context: str = ""
    question: str = ""
    session: str = ""
    project: str = ""
    agent: str = ""  # the reader's name; "" if unknown


class HedgingJudge(Judge, Protocol):
    """Decides whether sentences express doubt about a fact. If verdicts cost, their number is capped."""

    @property
    def usd(self) -> float | None:
        """Cost of all verdicts in this process so far; None if a cost is unknown."""

    def known(self, candidate: HedgingCandidate) -> HedgingVerdict | None:
        """Return a verdict that costs nothing because it was given before."""

    def judge(self, candidates: Sequence[HedgingCandidate]) -> Sequence[HedgingVerdict]:
        """Return one verdict per candidate, in order; `failed_verdict` where there is none."""


class Judged(NamedTuple):
    """One verdict per candidate, None beyond the cap, and warnings for the user."""

    verdicts: list[HedgingVerdict | None]
    warnings: list[str]


def cap_of(judge: HedgingJudge, max_candidates: int | None = None) -> int | None:
    """Return the most sentences that a judge is asked about in one run; None for no limit."""
    return max_candidates or (MAX_CANDIDATES if judge.costs else None)


def judge_candidates(
    judge: HedgingJudge, candidates: Sequence[HedgingCandidate], max_candidates: int | None = None
) -> Judged:
    """Judge each sentence, once if a verdict costs.

    The cap is `max_candidates`; by default 50 if a verdict costs, else none. A sentence beyond the cap has no verdict
    and counts as doubt. A sentence whose verdict fails counts as doubt, with the failure as the reason. Both are judged
    the next time.
    """
    # Where verdicts cost, equal sentences share one: that of the first.
    keys = [candidate.sentence if judge.costs else str(at) for at, candidate in enumerate(candidates)]
    first_of_key = dict(zip(reversed(keys), reversed(candidates), strict=True))  # the last to be put in stays
    kept = {key: verdict for key, first in first_of_key.items() if (verdict := judge.known(first)) is not None}
    unjudged = [key for key in dict.fromkeys(keys) if key not in kept]
    cap = cap_of(judge, max_candidates)
    warnings = []
    if cap is not None and len(unjudged) > cap:
        left_out = len(unjudged) - cap
        warnings.append(f"{left_out} of {len(unjudged)} hedging sentences were not judged: the cap is {cap}.")
        unjudged = unjudged[:cap]
    try:
        new = judge.judge([first_of_key[key] for key in unjudged]) if unjudged else []
    except Exception as error:  # the evaluation goes on: an extra soft signal is better than a lost one
        problem = f"the judge failed: {type(error).__name__}: {error}"
        new = [failed_verdict(problem, judge.version)] * len(unjudged)
    if failed := [verdict for verdict in new if verdict.has_failed]:
        warnings.append(f"{len(failed)} hedging sentences were kept without a verdict: {failed[0].reason}.")
    verdicts = kept | dict(zip(unjudged, new, strict=True))
    return Judged([verdicts.get(key) for key in keys], warnings)


def failed_verdict(problem: str, judge: str) -> HedgingVerdict:
    """Return the verdict of a judge that gave none: doubt, with the problem as its reason."""
    return HedgingVerdict(is_uncertainty=True, confidence=0.0, reason=problem, judge=judge)

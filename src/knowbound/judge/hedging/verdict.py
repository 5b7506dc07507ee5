"""Judges of hedging sentences, asked with the cap and fallback of specification 1, section 4, source 3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, TypeGuard

import msgspec

from knowbound.core.signal import HedgingVerdict

MAX_CANDIDATES = 50  # specification 1, section 4: the cap of an evaluation if a verdict costs


class HedgingCandidate(msgspec.Struct, frozen=True, gc=False):
    """A sentence that may express doubt, with the sentences around it and the user's question."""

    sentence: str
    context: str = ""
    question: str = ""
    session: str = ""
    project: str = ""
    agent: str = ""  # the reader's name; "" if unknown


class NoVerdict(msgspec.Struct, frozen=True):
    """The problem of a judge that gave no verdict."""

    problem: str


class HedgingJudge(Protocol):
    """Decides whether sentences express doubt about a fact: rules, a model, a recorded verdict."""

    @property
    def version(self) -> str:
        """Version that changes whenever a verdict may change."""

    @property
    def costs(self) -> bool:
        """True if a verdict costs money or a network call: then the number of verdicts is capped."""

    @property
    def usd(self) -> float | None:
        """Cost of all verdicts in this process so far; None if a cost is unknown."""

    def known(self, candidate: HedgingCandidate) -> HedgingVerdict | None:
        """Return a verdict that costs nothing because it was given before."""

    def judge(self, candidates: Sequence[HedgingCandidate]) -> Sequence[HedgingVerdict | NoVerdict | None]:
        """Return one verdict per candidate, in order; None or the problem if the judge failed."""


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
    keys = [one.sentence if judge.costs else str(at) for at, one in enumerate(candidates)]
    first = dict(zip(reversed(keys), reversed(candidates), strict=True))
    known = {key: verdict for key, one in first.items() if (verdict := judge.known(one)) is not None}
    fresh = [key for key in dict.fromkeys(keys) if key not in known]
    cap = cap_of(judge, max_candidates)
    warnings = []
    if cap is not None and len(fresh) > cap:
        warnings.append(f"{len(fresh) - cap} of {len(fresh)} hedging sentences were not judged: the cap is {cap}.")
        fresh = fresh[:cap]
    given, failed = _ask(judge, {key: first[key] for key in fresh})
    if failed:
        reason = next(iter(failed.values())).reason
        warnings.append(f"{len(failed)} hedging sentences were kept without a verdict: {reason}.")
    verdicts = {**known, **given, **failed}
    return Judged([verdicts.get(key) for key in keys], warnings)


def _ask(
    judge: HedgingJudge, candidates: Mapping[str, HedgingCandidate]
) -> tuple[dict[str, HedgingVerdict], dict[str, HedgingVerdict]]:
    """Return the verdicts, failed verdicts as doubt: an extra soft signal is better than a lost signal."""
    given: dict[str, HedgingVerdict] = {}
    failed: dict[str, HedgingVerdict] = {}
    if not candidates:
        return given, failed
    problem = "the judge gave no verdict"
    answers: list[HedgingVerdict | NoVerdict | None] = []
    try:
        answers = list(judge.judge(list(candidates.values())))
    except Exception as error:  # the evaluation goes on, whatever a judge raises
        problem = f"the judge failed: {type(error).__name__}: {error}"
    if len(answers) > len(candidates):
        answers, problem = [], "the judge gave more verdicts than were asked for"
    answers += [None] * (len(candidates) - len(answers))
    for sha, answer in zip(candidates, answers, strict=True):
        if _is_sound(answer):
            given[sha] = answer
        else:
            failed[sha] = HedgingVerdict(True, 0.0, _why(answer, problem), judge.version)
    return given, failed


def _why(answer: object, problem: str) -> str:
    if answer is None:
        return problem
    return answer.problem if isinstance(answer, NoVerdict) else f"the verdict cannot be read: {answer!r}"


def _is_sound(answer: object) -> TypeGuard[HedgingVerdict]:
    """Report whether an answer is a valid verdict: a judge outside our types may answer anything."""
    return (
        isinstance(answer, HedgingVerdict)
        and isinstance(answer.is_uncertainty, bool)
        and isinstance(answer.confidence, int | float)
        and 0 <= answer.confidence <= 1
    )

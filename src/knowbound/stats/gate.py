"""The gates of specification 1, section 7.4: a gap rate over a limit, a gap rate that rose by more than a limit.

A gate decides by the counts, exactly and strictly; beside its decision stands whether the data settle it, so that
nobody takes luck for a verdict. Where nothing was counted there is nothing to pass.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple

import msgspec

from knowbound.errors import GATE_FAILED, UNDECIDED
from knowbound.stats.comparison import differences, pairs_of
from knowbound.stats.evaluation import Evaluation
from knowbound.stats.paired import Difference, Pairs, more_needed, unpaired
from knowbound.stats.rate import Rate, wilson

MAX_GAP_RATE = "max-gap-rate"
GAP_RATE_REGRESSION = "gap-rate-regression"


class GateOutcome(StrEnum):
    """How a gate came out."""

    PASSED = "passed"
    FAILED = "failed"
    UNDECIDED = "undecided"  # nothing was counted
    NO_BASELINE = "no_baseline"  # no earlier run with the same test set to compare with


class GateResult(msgspec.Struct, frozen=True):
    """One gate, its decision, and whether the data settle it."""

    name: str
    limit: float
    rate: Rate
    outcome: GateOutcome
    settled: bool | None  # whether the interval lies on the side of the decision; None where there is none
    more: int | None  # samples like these that would settle it; None where no number would, or unknown
    words: str
    before: Rate | None = None  # of the last run with the same test set
    difference: Difference | None = None
    note: str = ""  # what else differs from that run

    @property
    def failed(self) -> bool:
        """Whether the limit was exceeded."""
        return self.outcome is GateOutcome.FAILED


class Limits(NamedTuple):
    """The gates that were asked for; None: not this one."""

    max_gap_rate: Fraction | None = None
    gap_rate_regression: Fraction | None = None


def limit(text: str | float) -> Fraction:
    """A limit as a decimal number: 0.1 is exactly one tenth, not the nearest binary float."""
    try:
        number = Decimal(str(text).strip())
        if not number.is_finite():
            raise InvalidOperation
    except InvalidOperation:
        raise ValueError(f"{text!r} is not a number. A limit is a fraction from 0 to 1, such as 0.1 for 10%.") from None
    if not 0 <= number <= 1:
        meant = f" Did you mean {number / 100}?" if 1 < number <= 100 else ""
        raise ValueError(f"{text} is not a fraction from 0 to 1; 10% is 0.1.{meant}")
    return Fraction(number)


def max_gap_rate(limit: Fraction, gap: Rate) -> GateResult:
    """Fails when the gap rate is greater than the limit."""
    if not gap.n:
        return _undecided(MAX_GAP_RATE, limit, gap)
    share = Fraction(gap.k, gap.n)
    failed = share > limit

    def settles(n: int) -> bool:
        low, high = wilson(gap.k / gap.n, n / gap.design)
        return _is_outside(low, high, limit, failed)

    more = None if share == limit else more_needed(gap.n, settles)
    said = f"gap rate {gap} is {'above' if failed else 'not above'} {_shown(limit)}"
    return _decided(MAX_GAP_RATE, limit, gap, failed, settles(gap.n), more, said)


def gap_rate_regression(delta: Fraction, now: Rate, before: Rate | None, pairs: Pairs | None = None) -> GateResult:
    """Fails when the gap rate rose by more than delta since the last run with the same test set.

    The decision is on the two rates as they are shown; its interval is paired by sample where there are pairs.
    """
    if not now.n:
        return _undecided(GAP_RATE_REGRESSION, delta, now)
    if before is None or not before.n:
        words = f"gap rate {now}: no earlier run with the same test set to compare with. Nothing was decided."
        return GateResult(GAP_RATE_REGRESSION, float(delta), now, GateOutcome.NO_BASELINE, None, None, words)
    rise = Fraction(now.k, now.n) - Fraction(before.k, before.n)
    failed = rise > delta
    difference = pairs.difference if pairs is not None and pairs.n else unpaired(before, now)
    assert difference is not None

    def settles(n: int) -> bool:
        grown = _grown(before, now, pairs, n)
        return _is_outside(grown.low, grown.high, delta, failed)

    count = pairs.n if pairs is not None and pairs.n else now.n
    more = None if rise == delta else more_needed(count, settles)
    settled = _is_outside(difference.low, difference.high, delta, failed)
    said = (
        f"gap rate {before} → {now}: {difference}{' paired by sample' if difference.paired else ''}, "
        f"{'more' if failed else 'not more'} than {_shown(delta)}"
    )
    result = _decided(GAP_RATE_REGRESSION, delta, now, failed, settled, more, said)
    return msgspec.structs.replace(result, before=before, difference=difference)


def _grown(before: Rate, now: Rate, pairs: Pairs | None, n: int) -> Difference:
    """The difference that n counts with the same shares would show."""
    if pairs is not None and pairs.n:
        by = n / pairs.n
        # A smaller design effect is what more pairs are to the interval.
        difference = msgspec.structs.replace(pairs, design=pairs.design / by).difference
    else:
        by = n / now.n
        difference = unpaired(_rate_grown(before, by), _rate_grown(now, by))
    assert difference is not None
    return difference


def _rate_grown(rate: Rate, by: float) -> Rate:
    return Rate(round(rate.k * by), round(rate.n * by), rate.design)


def _is_outside(low: float, high: float, limit: Fraction, failed: bool) -> bool:
    """Whether the whole interval is on one side of the limit."""
    return low > limit if failed else high <= limit


def _undecided(name: str, limit: Fraction, gap: Rate) -> GateResult:
    words = "gap rate unknown: no sample has a complete trace, so nothing was counted and nothing is decided."
    return GateResult(name, float(limit), gap, GateOutcome.UNDECIDED, None, None, words)


def _decided(
    name: str, limit: Fraction, gap: Rate, failed: bool, settled: bool, more: int | None, said: str
) -> GateResult:
    outcome = GateOutcome.FAILED if failed else GateOutcome.PASSED
    words = f"{said}: {'fails' if failed else 'passes'}. {_settled_words(settled, more)}"
    return GateResult(name, float(limit), gap, outcome, settled, 0 if settled else more, words)


def _settled_words(settled: bool, more: int | None) -> str:
    if settled:
        return "The data settle it."
    if more is None:
        return "The data do not settle it, and no number of samples like these would."
    return f"The data do not settle it; {about(more)} more {'sample' if more == 1 else 'samples'} like these would."


def about(count: int) -> str:
    """An estimate, rounded to two significant digits."""
    if count < 100:
        return f"about {count}"
    unit = 10 ** (len(str(count)) - 2)
    return f"about {-(-count // unit) * unit:,}"


def _shown(limit: Fraction) -> str:
    return f"{float(limit):g}"


def run_gates(limits: Limits, now: Rate, before: Rate | None = None, pairs: Pairs | None = None) -> list[GateResult]:
    """Every gate that was asked for."""
    results: list[GateResult] = []
    if limits.max_gap_rate is not None:
        results.append(max_gap_rate(limits.max_gap_rate, now))
    if limits.gap_rate_regression is not None:
        results.append(gap_rate_regression(limits.gap_rate_regression, now, before, pairs))
    return results


def evaluation_gates(limits: Limits, now: Evaluation, before: Evaluation | None) -> list[GateResult]:
    """The gates of an evaluation; `before` is the last run with the same test set, or None where there is none."""
    if before is None:
        return run_gates(limits, now.gap.rate)
    results = run_gates(limits, now.gap.rate, before.gap.rate, pairs_of(before, now))
    changed = ", ".join(differences(before, now))
    note = f"Against evaluation {before.id} of {before.made[:10]}{_standing_at(before)}."
    if changed:
        note += f" Since that run also changed: {changed}. The rise may not be the knowledge's."
    return [result if result.before is None else msgspec.structs.replace(result, note=note) for result in results]


def _standing_at(evaluation: Evaluation) -> str:
    if not evaluation.commit:
        return ""
    return f", commit {evaluation.commit[:10]}{' with uncommitted changes' if evaluation.dirty else ''}"


def exit_code(results: Iterable[GateResult], *, strict: bool = False) -> int:
    """1 where a gate failed; 3 where nothing was counted, or under `strict` where the data do not settle it; else 0."""
    found = list(results)
    if any(result.failed for result in found):
        return GATE_FAILED
    if any(result.outcome is GateOutcome.UNDECIDED or (strict and not result.settled) for result in found):
        return UNDECIDED
    return 0

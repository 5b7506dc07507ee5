"""The gates of specification 1, section 7.4: a gap rate over a limit, a gap rate that rose by more than a limit.

A gate decides by the counts, exactly and strictly. Its result also says whether the data settle the decision, so that
luck is not taken for a verdict. Without counts a gate is undecided.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple

import msgspec

from knowbound.errors import GATE_FAILED, UNDECIDED
from knowbound.stats.comparison import changed_pairs, differences, pairs_of, sample_changes
from knowbound.stats.evaluation import Evaluation
from knowbound.stats.figures import RateKind
from knowbound.stats.paired import Difference, Pairs, more_needed, unpaired_difference
from knowbound.stats.rate import Rate, wilson

MAX_GAP_RATE = "max-gap-rate"
GAP_RATE_REGRESSION = "gap-rate-regression"
MAX_UNSUPPORTED = "max-unsupported"
_NAMES = {RateKind.RAW: "gap rate", RateKind.OPEN: "open gap rate"}
_NAMED = 5  # broken samples listed by name


class GateOutcome(StrEnum):
    """Outcome of a gate."""

    PASSED = "passed"
    FAILED = "failed"
    UNDECIDED = "undecided"  # nothing was counted, or nothing of what was searched was seen
    NO_BASELINE = "no_baseline"  # no earlier run with the same test set to compare with


def gate_key(name: str, kind: RateKind) -> str:
    """Return the name under which a run stores a gate."""
    return name if kind is RateKind.RAW else f"{name} {kind}"


class GateResult(msgspec.Struct, frozen=True):
    """One gate, its decision, and whether the data settle it."""

    name: str
    limit: float
    rate: Rate
    outcome: GateOutcome
    settled: bool | None  # the interval is on the side of the decision; None without a decision
    more: int | None  # further samples like these that would settle it; None: no number would, or unknown
    words: str
    before: Rate | None = None  # of the baseline, an earlier run with the same test set
    difference: Difference | None = None
    note: str = ""  # other differences from the baseline
    kind: RateKind = RateKind.RAW  # the limited rate
    broken: list[str] = []  # samples with an assertion that passed in the baseline and fails now

    @property
    def key(self) -> str:
        """Name under which a run stores the gate."""
        return gate_key(self.name, self.kind)

    @property
    def failed(self) -> bool:
        """Report whether the limit was exceeded."""
        return self.outcome is GateOutcome.FAILED


class Limits(NamedTuple):
    """The requested gates; None: not requested."""

    max_gap_rate: Fraction | None = None
    gap_rate_regression: Fraction | None = None
    kind: RateKind = RateKind.RAW  # the rate that both limit


class BrokenSamples(NamedTuple):
    """Samples with an assertion that passed before and fails now, and the pairs of all samples by change."""

    samples: list[str]
    pairs: Pairs


def limit(text: str | float) -> Fraction:
    """Return a limit as an exact number: 0.1 is one tenth, not the nearest binary float."""
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


def max_gap_rate(limit: Fraction, gap: Rate, kind: RateKind = RateKind.RAW, unseen: int = 0) -> GateResult:
    """Decide whether the gap rate is at most the limit; each of `unseen` samples may have a hidden gap."""
    if not gap.n:
        return _undecided(MAX_GAP_RATE, limit, gap, kind)
    share = Fraction(gap.k, gap.n)
    failed = share > limit
    settled, more = _settled(gap, limit)
    said = f"{_NAMES[kind]} {gap} is {'above' if failed else 'not above'} {_shown(limit)}"
    hidden = unseen if share + Fraction(unseen, gap.n) > limit else 0
    return _decided(MAX_GAP_RATE, limit, gap, failed, settled, more, said, kind, hidden)


def max_unsupported(limit: Fraction, unsupported: Rate) -> GateResult:
    """Decide whether the share of audited turns with an unsupported answer is at most the limit."""
    if not unsupported.n:
        words = "unsupported answers unknown: no turn was audited, so nothing is decided."
        return GateResult(MAX_UNSUPPORTED, float(limit), unsupported, GateOutcome.UNDECIDED, None, None, words)
    failed = Fraction(unsupported.k, unsupported.n) > limit
    settled, more = _settled(unsupported, limit)
    words = f"unsupported answers {unsupported} are {'above' if failed else 'not above'} {_shown(limit)}"
    outcome = GateOutcome.FAILED if failed else GateOutcome.PASSED
    return GateResult(MAX_UNSUPPORTED, float(limit), unsupported, outcome, settled, more, words)


def _settled(rate: Rate, limit: Fraction) -> tuple[bool, int | None]:
    """Report whether the interval is on one side of the limit, and how many more counts would put it there."""
    share = Fraction(rate.k, rate.n)

    def settles(n: int) -> bool:
        low, high = wilson(rate.k / rate.n, n / rate.design)
        return _is_outside(low, high, limit, share > limit)

    return settles(rate.n), None if share == limit else more_needed(rate.n, settles)


def gap_rate_regression(
    delta: Fraction,
    now: Rate,
    before: Rate | None,
    pairs: Pairs | None = None,
    kind: RateKind = RateKind.RAW,
    broken: BrokenSamples | None = None,
    unseen: int = 0,
) -> GateResult:
    """Decide whether the gap rate rose by at most delta since an earlier run with the same test set.

    The two rates as shown decide; the interval is paired by sample if there are pairs. A sample whose assertions fail
    now is broken whatever its gaps: the gate also fails if the broken samples outnumber the fixed ones by more than
    delta of all samples.
    """
    if not now.n:
        return _undecided(GAP_RATE_REGRESSION, delta, now, kind)
    if before is None or not before.n:
        words = f"{_NAMES[kind]} {now}: no earlier run with the same test set to compare with. Nothing was decided."
        return GateResult(GAP_RATE_REGRESSION, float(delta), now, GateOutcome.NO_BASELINE, None, None, words, kind=kind)
    rise = Fraction(now.k, now.n) - Fraction(before.k, before.n)
    difference = pairs.difference if pairs is not None and pairs.n else unpaired_difference(before, now)
    assert difference is not None
    said = (
        f"{_NAMES[kind]} {before} → {now}: {difference}{' paired by sample' if difference.paired else ''}, "
        f"{_compared(rise, delta)}"
    )
    decided = difference
    if broken is not None:
        said += f"; {_broken_words(broken, delta)}"
        if rise <= delta < broken.pairs.rise:  # the assertions decide, not the gaps
            rise, pairs = broken.pairs.rise, broken.pairs
            decided = broken.pairs.difference or difference
    failed = rise > delta

    def settles(n: int) -> bool:
        grown = _grown(before, now, pairs, n)
        return _is_outside(grown.low, grown.high, delta, failed)

    count = pairs.n if pairs is not None and pairs.n else now.n
    more = None if rise == delta else more_needed(count, settles)
    settled = _is_outside(decided.low, decided.high, delta, failed)
    hidden = unseen if rise + Fraction(unseen, now.n) > delta else 0
    result = _decided(GAP_RATE_REGRESSION, delta, now, failed, settled, more, said, kind, hidden)
    names = broken.samples if broken is not None else []
    return msgspec.structs.replace(result, before=before, difference=difference, broken=names)


def _broken_words(broken: BrokenSamples, delta: Fraction) -> str:
    samples, pairs = broken
    more = f" and {len(samples) - _NAMED} more" if samples[_NAMED:] else ""
    named = f"{', '.join(samples[:_NAMED])}{more}"
    return (
        f"{len(samples)} of {pairs.n} samples broke by an assertion that passed before ({named}); in all "
        f"{pairs.broken} broke and {pairs.fixed} were fixed: {pairs.difference}, {_compared(pairs.rise, delta)}"
    )


def _compared(rise: Fraction, delta: Fraction) -> str:
    return f"{'more' if rise > delta else 'not more'} than {_shown(delta)}"


def _grown(before: Rate, now: Rate, pairs: Pairs | None, n: int) -> Difference:
    """Return the difference that n counts with the same shares would have."""
    if pairs is not None and pairs.n:
        by = n / pairs.n
        # A smaller design effect has the same effect on the interval as more pairs.
        difference = msgspec.structs.replace(pairs, design=pairs.design / by).difference
    else:
        by = n / now.n
        difference = unpaired_difference(_rate_grown(before, by), _rate_grown(now, by))
    assert difference is not None
    return difference


def _rate_grown(rate: Rate, by: float) -> Rate:
    return Rate(round(rate.k * by), round(rate.n * by), rate.design)


def _is_outside(low: float, high: float, limit: Fraction, failed: bool) -> bool:
    """Report whether the whole interval is on the side of the decision."""
    return low > limit if failed else high <= limit


def _undecided(name: str, limit: Fraction, gap: Rate, kind: RateKind) -> GateResult:
    words = f"{_NAMES[kind]} unknown: no sample has a complete trace, so nothing was counted and nothing is decided."
    return GateResult(name, float(limit), gap, GateOutcome.UNDECIDED, None, None, words, kind=kind)


def _decided(
    name: str,
    limit: Fraction,
    gap: Rate,
    failed: bool,
    settled: bool,
    more: int | None,
    said: str,
    kind: RateKind,
    unseen: int,
) -> GateResult:
    """Return the result. The hidden calls of `unseen` samples could turn a pass into a failure."""
    if unseen == gap.n and not failed:
        words = (
            f"{said}. No tool call of any sample left a trace: failed searches were not measured. Nothing is decided."
        )
        return GateResult(name, float(limit), gap, GateOutcome.UNDECIDED, None, None, words, kind=kind)
    outcome = GateOutcome.FAILED if failed else GateOutcome.PASSED
    sure = _settled_words(settled, more)
    if unseen and not failed:
        settled, more = False, None
        sure = f"The data do not settle it: the tool calls of {unseen} of {gap.n} samples left no trace."
    words = f"{said}: {'fails' if failed else 'passes'}. {sure}"
    return GateResult(name, float(limit), gap, outcome, settled, 0 if settled else more, words, kind=kind)


def _settled_words(settled: bool, more: int | None) -> str:
    if settled:
        return "The data settle it."
    if more is None:
        return "The data do not settle it, and no number of samples like these would."
    return f"The data do not settle it; {about(more)} more {'sample' if more == 1 else 'samples'} like these would."


def about(count: int) -> str:
    """Format an estimated count, rounded up to two significant digits."""
    if count < 100:
        return f"about {count}"
    unit = 10 ** (len(str(count)) - 2)
    return f"about {-(-count // unit) * unit:,}"


def _shown(limit: Fraction) -> str:
    return f"{float(limit):g}"


def run_gates(
    limits: Limits,
    now: Rate,
    before: Rate | None = None,
    pairs: Pairs | None = None,
    broken: BrokenSamples | None = None,
    unseen: int = 0,
) -> list[GateResult]:
    """Return the results of the requested gates, on rates of the kind in `limits`."""
    results: list[GateResult] = []
    if limits.max_gap_rate is not None:
        results.append(max_gap_rate(limits.max_gap_rate, now, limits.kind, unseen))
    if limits.gap_rate_regression is not None:
        delta = limits.gap_rate_regression
        results.append(gap_rate_regression(delta, now, before, pairs, limits.kind, broken, unseen))
    return results


def evaluation_gates(limits: Limits, now: Evaluation, before: Evaluation | None) -> list[GateResult]:
    """Return the gates of an evaluation; `before` is its baseline, an earlier run with the same test set.

    Open rates that are counted in different ways are not compared.
    """
    kind = limits.kind
    if before is None or (kind is RateKind.OPEN and before.gap.has_undecided != now.gap.has_undecided):
        return run_gates(limits, now.gap.of(kind), unseen=now.gap.unseen)
    broken = broken_between(before, now, kind)
    rates, pairs = (now.gap.of(kind), before.gap.of(kind)), pairs_of(before, now, kind)
    results = run_gates(limits, *rates, pairs, broken, now.gap.unseen)
    return [
        result if result.before is None else msgspec.structs.replace(result, note=_note(result, before, now))
        for result in results
    ]


def broken_between(before: Evaluation, now: Evaluation, kind: RateKind = RateKind.RAW) -> BrokenSamples | None:
    """Return the samples that broke by their assertions; None if there are none."""
    rows = sample_changes(before, now, kind)
    samples = [row.sample for row in rows if row.failing]
    return BrokenSamples(samples, changed_pairs(before, now, rows)) if samples else None


def _note(result: GateResult, before: Evaluation, now: Evaluation) -> str:
    """Return a note on the baseline of a regression, other changes since then, and how to accept it."""
    note = f"Against evaluation {before.id} of {before.made[:10]}{_standing_at(before)}."
    if changed := ", ".join(differences(before, now)):
        note += f" Since that run also changed: {changed}. The rise may not be the knowledge's."
    if result.failed:
        rate = "" if result.kind is RateKind.RAW else f" --rate {result.kind}"
        note += (
            " A run that fails a gate is no baseline of the next one. To accept it as the new one: "
            f"knowbound check --{result.name} 1{rate}"
        )
    return note


def _standing_at(evaluation: Evaluation) -> str:
    if not evaluation.commit:
        return ""
    return f", commit {evaluation.commit[:10]}{' with uncommitted changes' if evaluation.dirty else ''}"


def exit_code(results: Iterable[GateResult], *, strict: bool = False) -> int:
    """Return 1 if a gate failed; 3 if a gate is undecided or, with `strict`, not settled by the data; else 0."""
    found = list(results)
    if any(result.failed for result in found):
        return GATE_FAILED
    if any(result.outcome is GateOutcome.UNDECIDED or (strict and not result.settled) for result in found):
        return UNDECIDED
    return 0

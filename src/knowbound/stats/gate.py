"""The gates of specification 1, section 7.4: a gap rate over a limit, a gap rate that rose by more than a limit.

A gate decides by the counts, exactly and strictly. Its result also says whether the data settle the decision, so that
luck is not taken for a verdict. Without counts a gate is undecided.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    words: str
    kind: RateKind = RateKind.RAW  # the limited rate
    settled: bool | None = None  # the interval is on the side of the decision; None without a decision
    more: int | None = None  # further samples like these that would settle it; None: no number would, or unknown
    before: Rate | None = None  # of the baseline, an earlier run with the same test set
    difference: Difference | None = None
    note: str = ""  # other differences from the baseline
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
        return _uncounted(MAX_GAP_RATE, limit, gap, kind)
    share = Fraction(gap.k, gap.n)
    outcome, above = (GateOutcome.FAILED, "above") if share > limit else (GateOutcome.PASSED, "not above")

    def settles(n: int) -> bool:
        return _is_outside(*wilson(gap.k / gap.n, n / gap.design), limit, share > limit)

    more = None if share == limit else more_needed(gap.n, settles)  # at the limit itself, no number settles it
    words = f"{_NAMES[kind]} {gap} is {above} {float(limit):g}"
    settled = settles(gap.n)
    result = GateResult(MAX_GAP_RATE, float(limit), gap, outcome, words, kind, settled=settled, more=more)
    # Unseen samples are only of interest where their gaps would turn the decision.
    return _with_sentence(result, unseen if share + Fraction(unseen, gap.n) > limit else 0)


def max_unsupported(limit: Fraction, unsupported: Rate) -> GateResult:
    """Decide whether the share of audited turns with an unsupported answer is at most the limit."""
    result = max_gap_rate(limit, unsupported)
    words = "unsupported answers unknown: no turn was audited, so nothing is decided."
    if unsupported.n:
        words = f"unsupported answers {unsupported} are {'above' if result.failed else 'not above'} {float(limit):g}"
    return msgspec.structs.replace(result, name=MAX_UNSUPPORTED, words=words)


def gap_rate_regression(
    delta: Fraction,
    now: Rate,
    before: Rate | None,
    pairs: Pairs | None = None,
    kind: RateKind = RateKind.RAW,
    broken: Sequence[str] = (),
    changed: Pairs | None = None,
    unseen: int = 0,
) -> GateResult:
    """Decide whether the gap rate rose by at most delta since an earlier run with the same test set.

    The two rates as shown decide; the interval is paired by sample if there are pairs. A sample whose assertions fail
    now is broken whatever its gaps: the gate also fails if the broken samples outnumber the fixed ones by more than
    delta of all samples. `changed` has the pairs of all samples by that change.
    """
    if not now.n:
        return _uncounted(GAP_RATE_REGRESSION, delta, now, kind)
    if before is None or not before.n:
        words = f"{_NAMES[kind]} {now}: no earlier run with the same test set to compare with. Nothing was decided."
        return GateResult(GAP_RATE_REGRESSION, float(delta), now, GateOutcome.NO_BASELINE, words, kind)
    rise = Fraction(now.k, now.n) - Fraction(before.k, before.n)
    difference = _grown(before, now, pairs)
    paired = " paired by sample" if difference.paired else ""
    words = f"{_NAMES[kind]} {before} → {now}: {difference}{paired}, {_compared(rise, delta)}"
    if broken and changed is not None:
        more = f" and {len(broken) - _NAMED} more" if broken[_NAMED:] else ""
        words += (
            f"; {len(broken)} of {changed.n} samples broke by an assertion that passed before "
            f"({', '.join(broken[:_NAMED])}{more}); in all {changed.broken} broke and {changed.fixed} were fixed: "
            f"{changed.difference}, {_compared(changed.rise, delta)}"
        )
        if rise <= delta < changed.rise:  # the assertions decide, not the gaps
            rise, pairs = changed.rise, changed
    failed = rise > delta

    def settles(times: float) -> bool:
        """Report whether so many times the samples, with the same shares, would settle the decision."""
        grown = _grown(before, now, pairs, times)
        return _is_outside(grown.low, grown.high, delta, failed)

    count = pairs.n if pairs is not None and pairs.n else now.n
    result = GateResult(
        name=GAP_RATE_REGRESSION,
        limit=float(delta),
        rate=now,
        outcome=GateOutcome.FAILED if failed else GateOutcome.PASSED,
        words=words,
        kind=kind,
        settled=settles(1),
        more=None if rise == delta else more_needed(count, lambda n: settles(n / count)),
        before=before,
        difference=difference,
        broken=list(broken),
    )
    return _with_sentence(result, unseen if rise + Fraction(unseen, now.n) > delta else 0)


def _compared(rise: Fraction, delta: Fraction) -> str:
    return f"{'more' if rise > delta else 'not more'} than {float(delta):g}"


def _grown(before: Rate, now: Rate, pairs: Pairs | None, times: float = 1.0) -> Difference:
    """Return the difference, with the interval that so many times the counts with the same shares would have."""
    if pairs is not None and pairs.n:
        # A smaller design effect has the same effect on the interval as more pairs.
        difference = msgspec.structs.replace(pairs, design=pairs.design / times).difference
    else:
        old, new = (Rate(round(rate.k * times), round(rate.n * times), rate.design) for rate in (before, now))
        difference = unpaired_difference(old, new)
    assert difference is not None  # both sides were counted
    return difference


def _is_outside(low: float, high: float, limit: Fraction, failed: bool) -> bool:
    """Report whether the whole interval is on the side of the decision."""
    return low > limit if failed else high <= limit


def _uncounted(name: str, limit: Fraction, gap: Rate, kind: RateKind) -> GateResult:
    words = f"{_NAMES[kind]} unknown: no sample has a complete trace, so nothing was counted and nothing is decided."
    return GateResult(name, float(limit), gap, GateOutcome.UNDECIDED, words, kind)


def _with_sentence(gate: GateResult, unseen: int) -> GateResult:
    """Return a gate with its whole sentence. The hidden calls of `unseen` samples could turn a pass into a failure."""
    settled, more = gate.settled, gate.more
    unseen = 0 if gate.failed else unseen  # a failure stays one
    if unseen == gate.rate.n:
        words = "No tool call of any sample left a trace: failed searches were not measured. Nothing is decided."
        undecided = msgspec.structs.replace(gate, outcome=GateOutcome.UNDECIDED, settled=None, more=None)
        return msgspec.structs.replace(undecided, words=f"{gate.words}. {words}")
    if unseen:
        settled, more = False, None
        sure = f"The data do not settle it: the tool calls of {unseen} of {gate.rate.n} samples left no trace."
    elif settled:
        more, sure = 0, "The data settle it."
    elif more is None:
        sure = "The data do not settle it, and no number of samples like these would."
    else:
        samples = f"{about(more)} more {'sample' if more == 1 else 'samples'}"
        sure = f"The data do not settle it; {samples} like these would."
    words = f"{gate.words}: {'fails' if gate.failed else 'passes'}. {sure}"
    return msgspec.structs.replace(gate, settled=settled, more=more, words=words)


def about(count: int) -> str:
    """Format an estimated count, rounded up to two significant digits."""
    if count < 100:
        return f"about {count}"
    unit = 10 ** (len(str(count)) - 2)
    return f"about {-(-count // unit) * unit:,}"


def run_gates(
    limits: Limits,
    now: Rate,
    before: Rate | None = None,
    pairs: Pairs | None = None,
    broken: Sequence[str] = (),
    changed: Pairs | None = None,
    unseen: int = 0,
) -> list[GateResult]:
    """Return the results of the requested gates, on rates of the kind in `limits`."""
    results: list[GateResult] = []
    if limits.max_gap_rate is not None:
        results.append(max_gap_rate(limits.max_gap_rate, now, limits.kind, unseen))
    if limits.gap_rate_regression is not None:
        delta = limits.gap_rate_regression
        results.append(gap_rate_regression(delta, now, before, pairs, limits.kind, broken, changed, unseen))
    return results


def evaluation_gates(limits: Limits, now: Evaluation, before: Evaluation | None) -> list[GateResult]:
    """Return the gates of an evaluation; `before` is its baseline, an earlier run with the same test set.

    Open rates that are counted in different ways are not compared.
    """
    kind = limits.kind
    if before is None or (kind is RateKind.OPEN and before.gap.has_undecided != now.gap.has_undecided):
        return run_gates(limits, now.gap.of(kind), unseen=now.gap.unseen)
    rows = sample_changes(before, now, kind)
    results = run_gates(
        limits,
        now=now.gap.of(kind),
        before=before.gap.of(kind),
        pairs=pairs_of(before, now, kind),
        broken=[row.sample for row in rows if row.failing],
        changed=changed_pairs(before, now, rows),
        unseen=now.gap.unseen,
    )
    return [
        result if result.before is None else msgspec.structs.replace(result, note=_note(result, before, now))
        for result in results
    ]


def _note(result: GateResult, before: Evaluation, now: Evaluation) -> str:
    """Return a note on the baseline of a regression, other changes since then, and how to accept it."""
    dirty = " with uncommitted changes" if before.dirty else ""
    commit = f", commit {before.commit[:10]}{dirty}" if before.commit else ""
    note = f"Against evaluation {before.id} of {before.made[:10]}{commit}."
    if changed := ", ".join(differences(before, now)):
        note += f" Since that run also changed: {changed}. The rise may not be the knowledge's."
    if result.failed:
        rate = "" if result.kind is RateKind.RAW else f" --rate {result.kind}"
        note += (
            " A run that fails a gate is no baseline of the next one. To accept it as the new one: "
            f"knowbound check --{result.name} 1{rate}"
        )
    return note


def exit_code(results: Iterable[GateResult], *, strict: bool = False) -> int:
    """Return 1 if a gate failed; 3 if a gate is undecided or, with `strict`, not settled by the data; else 0."""
    found = list(results)
    if any(result.failed for result in found):
        return GATE_FAILED
    if any(result.outcome is GateOutcome.UNDECIDED or (strict and not result.settled) for result in found):
        return UNDECIDED
    return 0

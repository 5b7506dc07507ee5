"""The gap rate from evaluation to evaluation (specification 1, sections 6 and 8).

A series has one test set: a changed hash begins a new series, and no line or conclusion crosses the border. Written
samples and questions of `probe` are different series too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from itertools import pairwise

import msgspec

from knowbound.stats.comparison import differences
from knowbound.stats.evaluation import EvaluationHead, KnowledgeChange, Origin, knowledge_change
from knowbound.stats.paired import Difference, unpaired_difference
from knowbound.stats.printing import percent

NEAR_ZERO = 0.10  # specification 1, section 8
_IN_A_ROW = 3
_DETERMINISTIC = "investigate"  # the built-in executor
_SMALL = 0.10  # a change of up to 10 points counts as flat
NUDGE = (
    "⚠ The current sample set's gap rate has been below 10% for 3 evaluations in a row. Consider expanding the sample "
    'set to probe new areas, otherwise the drop in gap rate may only reflect "sample domestication" rather than '
    '"knowledge filled in."'
)


_QUARTER = 90  # days; specification 1, section 8: "swap in a fresh batch of test sets each quarter"
OLD_SET = (
    "This test set has been in use for {days} days. What the knowledge base has learnt probes nothing: begin a new "
    "series with a fresh batch (knowbound draft -o eval-samples.new.yaml), and keep this one for its own trend."
)


class Reading(StrEnum):
    """Direction of a series of gap rates (section 6). The last three say why the direction is not known yet."""

    FALLING = "falling"
    FLAT = "flat"
    RISING = "rising"
    NEAR_ZERO = "near_zero"
    INCONCLUSIVE = "untold"  # the rate moved, but the intervals do not exclude chance
    BASELINE = "baseline"  # a single evaluation
    UNKNOWN = "unknown"  # nothing was counted


class TrendRow(msgspec.Struct, frozen=True):
    """One evaluation in the table, with the changes since the previous evaluation."""

    head: EvaluationHead
    change: KnowledgeChange | None = None  # of the knowledge; None for the first evaluation
    differs: list[str] = []  # other changes: executor, model, …
    breaks: bool = False  # the test set, or who judged hedges, differs from the previous row of the panel
    breaks_open: bool = False  # open misses are counted in another way: open rates before and after do not compare
    broken: list[str] | None = None  # samples that broke since then; None for the first evaluation and across test sets


class Series(msgspec.Struct, frozen=True):
    """The evaluations of one test set, oldest first."""

    rows: list[TrendRow]
    reading: Reading
    words: str
    advice: str
    also_changed: list[str] = []  # other changes than the knowledge, while the rate moved
    nudge: str | None = None

    @property
    def last(self) -> EvaluationHead:
        """The newest evaluation. Its watermark is that of the series."""
        return self.rows[-1].head


class Panel(msgspec.Struct, frozen=True):
    """Content of one chart: the evaluations of one samples file, broken at changes of its content."""

    rows: list[TrendRow]
    series: list[Series]


class Trend(msgspec.Struct, frozen=True):
    """The result of `trend`."""

    rows: list[TrendRow]  # the table, oldest first
    panels: list[Panel]
    left_out: int = 0  # evaluations of other versions (`eval --against`), which are not steps of this knowledge base


FindBroken = Callable[[EvaluationHead, EvaluationHead], list[str]]  # the samples that broke between two evaluations


def trend(
    heads: Iterable[EvaluationHead], *, with_others: bool = False, last: int = 0, broken: FindBroken | None = None
) -> Trend:
    """Return the trend of evaluations, oldest first; `last` limits the evaluations of each panel."""
    found = list(heads)
    included = [head for head in found if with_others or not head.against]
    panels = [_panel(_rows(group, last, broken)) for group in _groups(included)]
    position = {id(head): at for at, head in enumerate(included)}
    rows = sorted((row for panel in panels for row in panel.rows), key=lambda row: position[id(row.head)])
    return Trend(rows, panels, left_out=len(found) - len(included))


def _groups(heads: Iterable[EvaluationHead]) -> list[list[EvaluationHead]]:
    """Group evaluations by samples file. A file may be renamed or its content may change, but not both at once."""
    groups: list[list[EvaluationHead]] = []
    for head in heads:
        for group in groups:
            alike = [member for member in group if member.origin is head.origin]
            if any(member.watermark.path == head.watermark.path or member.sha256 == head.sha256 for member in alike):
                group.append(head)
                break
        else:
            groups.append([head])
    return groups


def _rows(heads: Sequence[EvaluationHead], last: int, find_broken: FindBroken | None) -> list[TrendRow]:
    """Return the last rows of a panel (0: all), each with the changes since the evaluation before it."""
    rows = [TrendRow(head) for head in heads[:1]]
    for before, head in pairwise(heads[-last - 1 :] if last else heads):  # one more, for the changes of the first
        change, is_other_series = knowledge_change(before.knowledge, head.knowledge), head.series != before.series
        samples = None if is_other_series or find_broken is None else find_broken(before, head)
        ways_of_counting = {side.gap.has_undecided for side in (before, head) if side.gap.rate.n}
        others, breaks_open = differences(before, head), len(ways_of_counting) > 1
        rows.append(TrendRow(head, change, others, breaks=is_other_series, breaks_open=breaks_open, broken=samples))
    return rows[-last:]


def _panel(rows: list[TrendRow]) -> Panel:
    """Return the panel of one samples file, a series for each of its contents."""
    by_set: dict[tuple[str | bool, ...], list[TrendRow]] = {}
    for row in rows:
        by_set.setdefault(row.head.series, []).append(row)
    return Panel(rows, [_series(part) for part in by_set.values()])


def _series(rows: list[TrendRow]) -> Series:
    heads = [row.head for row in rows]
    reading, words = direction_of(heads)
    advice = _additions(rows) if reading is Reading.FALLING else _ADVICE[reading]
    if reading is Reading.INCONCLUSIVE and heads[-1].executor == _DETERMINISTIC:  # repeating it adds nothing
        advice = "More samples would settle it."
    changed = dict.fromkeys(name for before, after in pairwise(heads) for name in differences(before, after))  # once
    return Series(rows, reading, words, advice, also_changed=list(changed), nudge=nudge(heads))


def _additions(rows: Sequence[TrendRow]) -> str:
    """Return which changes of the knowledge lowered the rate, by their commits: each did, or only some."""
    lowered: list[str] = []
    others: list[str] = []
    known = [row for row in rows if row.head.gap.rate.n]
    for before, after in pairwise(known):
        if after.change:
            has_fallen = (after.head.gap.rate.value or 0.0) < (before.head.gap.rate.value or 0.0)
            (lowered if has_fallen else others).append(_commit_words(after.head))
    if not lowered:
        return "The knowledge did not change where it fell: look at what else did."
    if others:
        return f"Lowered with {', '.join(lowered)}; not with {', '.join(others)}: what these added hit no gap."
    return f"Each addition to the knowledge base lowered it ({', '.join(lowered)}): a healthy convergence."


def _commit_words(head: EvaluationHead) -> str:
    return head.commit[:7] or f"evaluation {head.id}"


_ADVICE: dict[Reading, str] = {
    Reading.FLAT: "What was added did not hit the real gaps: check the priority of the uncovered files.",
    Reading.RISING: "The hash says that the samples are the same: they did not get harder and were not swapped. So the "
    "knowledge base was broken, or the agent changed: compare the two evaluations, and look at what was removed.",
    Reading.NEAR_ZERO: "Not a moment to celebrate: either the knowledge covers what the samples ask, or the samples "
    "only ask what it can answer. Expand the test set: take the uncovered files and the failed searches as seeds.",
    Reading.INCONCLUSIVE: "More samples, or --repeat, would settle it.",
    Reading.BASELINE: "This is the baseline; the trend begins with the next evaluation of the same test set.",
    Reading.UNKNOWN: "No sample of the last evaluation has a complete run.",
}


def direction_of(heads: Sequence[EvaluationHead]) -> tuple[Reading, str]:
    """Return the direction of a series and a sentence that explains it.

    The last evaluation is compared with the highest and the lowest earlier one. The present movement began at the later
    of these two that differs from the last. The interval is widened by the number of earlier evaluations.
    """
    known = [head for head in heads if head.gap.rate.n]
    if not known or known[-1] is not heads[-1]:  # no sample of the last evaluation was counted
        return Reading.UNKNOWN, "The gap rate of the last evaluation is unknown."
    last = known[-1]
    rate = last.gap.rate
    if len(known) == 1:
        reading = Reading.NEAR_ZERO if is_near_zero(last) else Reading.BASELINE
        return reading, f"A single evaluation: gap rate {rate}."
    start, difference = _movement(known)
    count = len(heads) - next(at for at, head in enumerate(heads) if head is start)
    since = f"{count} evaluations" if count == len(heads) else f"the last {count} of {len(heads)} evaluations"
    rates = f"{percent(start.gap.rate.value)} ({_commit_words(start)}) → {percent(rate.value)} ({_commit_words(last)})"
    moved = f"{rates} over {since}, {difference}"
    is_certain = not difference.low <= 0 <= difference.high
    unclear = "" if is_certain else f"; at {rate.n} samples these cannot be told apart"
    if is_near_zero(last):
        return Reading.NEAR_ZERO, f"Near zero: {moved}{unclear}."
    if is_certain:
        reading = Reading.RISING if difference.value > 0 else Reading.FALLING
        before, now = (head.gap.rate.value or 0.0 for head in known[-2:])
        is_same_way = (now - before) * difference.value > 0  # the last step went where the whole movement goes
        step = "" if is_same_way else f"{percent(before)} → {percent(now)}"
        return reading, f"{reading.capitalize()}: {moved}{step and f'; but the last step was {step}'}."
    if abs(difference.value) <= _SMALL and len(known) >= _IN_A_ROW:
        return Reading.FLAT, f"Flat: {moved}{unclear}."
    return Reading.INCONCLUSIVE, f"Not settled: {moved}{unclear}."


def _movement(known: Sequence[EvaluationHead]) -> tuple[EvaluationHead, Difference]:
    """Return the evaluation at which the current movement began, and the size of the movement."""
    *earlier, last = known
    shares = [head.gap.rate.k / head.gap.rate.n for head in known]
    latest_first = range(len(earlier) - 1, -1, -1)
    top, bottom = max(latest_first, key=shares.__getitem__), min(latest_first, key=shares.__getitem__)  # positions
    # The extremes that the last evaluation has left: it is below the top, or above the bottom.
    left = ((top, shares[-1] < shares[top]), (bottom, shares[-1] > shares[bottom]))
    for at in sorted((at for at, is_left in left if is_left), reverse=True):
        difference = _difference(earlier[at], last, len(earlier))
        if abs(difference.value) > _SMALL or not difference.low <= 0 <= difference.high:
            return earlier[at], difference
    return earlier[0], _difference(earlier[0], last, len(earlier))


def _difference(before: EvaluationHead, after: EvaluationHead, comparisons: int) -> Difference:
    difference = unpaired_difference(before.gap.rate, after.gap.rate, comparisons)
    assert difference is not None  # both have samples
    return difference


def is_near_zero(head: EvaluationHead) -> bool:
    """Report whether at most 10% have a gap (section 8). An unseen sample may have a gap and counts as one."""
    rate = head.gap.rate
    return bool(rate.n) and (rate.k + head.gap.unseen) * 10 <= rate.n  # whole numbers: exactly 10% is near zero


def nudge(heads: Sequence[EvaluationHead]) -> str | None:
    """Return the advice of section 8: after 3 evaluations of at most 10% in a row, and for a test set of 90 days."""
    if not heads:
        return None
    newest = heads[-1]
    alike = [head for head in heads if (head.series, head.against) == (newest.series, newest.against)]
    last = alike[-_IN_A_ROW:]
    is_low = len(last) == _IN_A_ROW and all(is_near_zero(head) for head in last)
    days = days_in_use(alike)
    old = [OLD_SET.format(days=days)] if days >= _QUARTER and newest.origin is Origin.WRITTEN else []
    return " ".join([*([NUDGE] if is_low else []), *old]) or None


def days_in_use(heads: Sequence[EvaluationHead]) -> int:
    """Return the age of a test set: days from its first to its newest evaluation."""
    first, last = (datetime.fromisoformat(head.made) for head in (heads[0], heads[-1]))
    return max(0, (last - first).days)

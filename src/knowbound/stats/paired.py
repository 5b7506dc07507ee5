"""Tests and intervals for the difference between two runs of the same samples (specification 1, section 6).

Runs of one sample, and samples of one session, are dependent: they form clusters. The test flips whole clusters, and
the interval counts their members for less. docs/decisions/comparison.md explains these tests and intervals.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from statistics import NormalDist

import msgspec

from knowbound.stats.printing import points
from knowbound.stats.rate import Rate, design_effect, wilson

LEVEL = 0.05  # significance level
_Z = NormalDist().inv_cdf(1 - LEVEL / 2)
_POWER = NormalDist().inv_cdf(0.8)  # "in 4 of 5 cases"
_EXACT = 500  # above this number of differing clusters the normal distribution agrees and is quicker
_MOST = 10_000_000  # beyond this number of samples the answer is "no number"
_MOST_TIMES = 100  # as many further pairs as there are: beyond it, too


class Difference(msgspec.Struct, frozen=True):
    """Difference after − before, in shares, with its 95% interval."""

    value: float
    low: float
    high: float
    paired: bool = False  # both sides have the same samples

    def __str__(self) -> str:
        return f"{points(self.value)} points (95% {points(self.low, 0)} to {points(self.high, 0)})"


class Pairs(msgspec.Struct, frozen=True):
    """Agreements and differences of two runs of the same samples, counted."""

    both: int = 0  # a gap before and after
    fixed: int = 0  # a gap before, none after
    broken: int = 0  # none before, a gap after
    neither: int = 0
    clusters: int = 0
    shifts: tuple[int, ...] = ()  # broken − fixed of each cluster where these differ
    design: float = 1.0  # design effect of the difference: at 2, two pairs have the information of one

    @property
    def n(self) -> int:
        """Number of pairs."""
        return self.both + self.fixed + self.broken + self.neither

    @property
    def rise(self) -> Fraction:
        """Exact difference after − before of the two rates over the pairs; 0 without pairs."""
        return Fraction(self.broken - self.fixed, self.n) if self.n else Fraction(0)

    @property
    def p(self) -> float | None:
        """Probability of a difference of at least this size by chance alone; None without pairs."""
        return sign_flip(self.shifts) if self.n else None

    @property
    def difference(self) -> Difference | None:
        """Difference of the two rates over the pairs; None without pairs."""
        if not self.n:
            return None
        cells = (self.both, self.fixed, self.broken, self.neither)
        low, high = newcombe(*(cell / self.design for cell in cells))  # as many pairs as have the same information
        return Difference((self.broken - self.fixed) / self.n, low, high, paired=True)

    @property
    def settled(self) -> bool | None:
        """Report whether test and interval both show a difference; None without pairs."""
        difference = self.difference
        if difference is None:
            return None
        return sign_flip(self.shifts) <= LEVEL and not difference.low <= 0 <= difference.high

    @property
    def more(self) -> int | None:
        """Number of further pairs that would show a difference of this size in 4 of 5 cases; None: no number would."""
        if not self.n or self.fixed == self.broken:
            return None
        if self.settled:
            return 0
        needed = pairs_needed((self.fixed + self.broken) / self.n, float(abs(self.rise))) * self.design
        return max(1, math.ceil(needed) - self.n) if needed <= (_MOST_TIMES + 1) * self.n else None

    @property
    def detectable(self) -> float | None:
        """Smallest difference of the rates that so many pairs show in 4 of 5 cases; None: not even the largest."""
        changed = (self.fixed + self.broken) / self.n if self.n else 0.0
        shares = (step / 100 for step in range(1, 101))
        # At least as many pairs change as differ in the end.
        needed = ((share, pairs_needed(max(changed, share), share) * self.design) for share in shares)
        return next((share for share, pairs in needed if pairs <= self.n), None)


def count_pairs(clusters: Iterable[Sequence[tuple[bool, bool]]]) -> Pairs:
    """Count the pairs (gap before, gap after) of every cluster."""
    parts = [part for part in clusters if part]
    cells = Counter(pair for part in parts for pair in part)
    sums = [(sum(after - before for before, after in part), len(part)) for part in parts]  # broken − fixed, and size
    n, discordant = cells.total(), cells[True, False] + cells[False, True]
    mean = sum(shift for shift, _ in sums) / n if n else 0.0
    squares = sum((shift - mean * size) ** 2 for shift, size in sums)
    return Pairs(
        both=cells[True, True],
        fixed=cells[True, False],
        broken=cells[False, True],
        neither=cells[False, False],
        clusters=len(parts),
        shifts=tuple(shift for shift, _ in sums if shift),
        design=design_effect(squares, alone=discordant - n * mean * mean, clusters=len(parts), n=n),
    )


def pairs_needed(changed: float, difference: float) -> float:
    """Return how many pairs show a difference in 4 of 5 cases, where this share of the pairs changes (Connor 1987).

    The last term is for the exact test, which is more careful than the normal distribution (python -m bench.variants).
    """
    spread = math.sqrt(max(changed - difference * difference, 0.0))
    return (_Z * math.sqrt(changed) + _POWER * spread) ** 2 / difference**2 + 2 / difference


def sign_flip(shifts: Sequence[int]) -> float:
    """Return the p-value of the exact two-sided sign-flip test: under chance each cluster's shift has a random sign.

    With one sample per shift this is McNemar's exact test, the two-sided binomial test on discordant pairs.
    """
    seen, count = abs(sum(shifts)), len(shifts)
    if count > _EXACT:  # by the normal distribution
        return math.erfc(seen / math.sqrt(2 * sum(shift * shift for shift in shifts)))
    ways = {0: 1}  # sum of the shifts → number of sign patterns
    for shift in shifts:
        moved: dict[int, int] = {}
        for total, times in ways.items():
            for new_total in (total + shift, total - shift):
                moved[new_total] = moved.get(new_total, 0) + times
        ways = moved
    extreme = sum(times for total, times in ways.items() if abs(total) >= seen)
    return extreme / (1 << count)


def newcombe(both: float, fixed: float, broken: float, neither: float) -> tuple[float, float]:
    """Return the 95% interval of after − before over pairs: Newcombe 1998 (paired data), method 10, hybrid score.

    The cells need not be whole: pairs in clusters count for less.
    """
    n = both + fixed + broken + neither
    before, after = (both + fixed) / n, (both + broken) / n
    (low_before, high_before), (low_after, high_after) = wilson(before, n), wilson(after, n)
    margins = (both + fixed) * (broken + neither) * (both + broken) * (fixed + neither)
    agreement = both * neither - fixed * broken
    agreement = max(agreement - n / 2, min(agreement, 0.0))  # corrected for continuity
    correlation = agreement / math.sqrt(margins) if margins else 0.0

    def together(first: float, second: float) -> float:
        """Return the margin of a difference from the margins of its two shares, which are correlated."""
        return math.sqrt(max(0.0, first * first - 2 * correlation * first * second + second * second))

    low = after - before - together(after - low_after, high_before - before)
    high = after - before + together(high_after - after, before - low_before)
    return max(-1.0, low), min(1.0, high)


def unpaired_difference(before: Rate, after: Rate, comparisons: int = 1) -> Difference | None:
    """Return after − before of two rates without their samples, with Newcombe's hybrid score interval.

    On the same test set this interval is wider than the paired one: it errs towards "no difference". Several
    comparisons widen it further (Bonferroni), so that a chance result among many is not taken for a difference.
    """
    if before.value is None or after.value is None:
        return None
    # Wilson's interval depends on z²/n alone: a wider interval is that of fewer counts.
    narrow = (_Z / NormalDist().inv_cdf(1 - LEVEL / (2 * comparisons))) ** 2
    low_before, high_before = wilson(before.value, before.n / before.design * narrow)
    low_after, high_after = wilson(after.value, after.n / after.design * narrow)
    value = after.value - before.value
    low = value - math.hypot(after.value - low_after, high_before - before.value)
    high = value + math.hypot(high_after - after.value, before.value - low_before)
    return Difference(value, max(-1.0, low), min(1.0, high))


def more_needed(n: int, settles: Callable[[int], bool], most: int = _MOST) -> int | None:
    """Return the number of observations beyond n that would decide; None if not even `most` would."""
    if n <= 0:
        return None
    if settles(n):
        return 0
    low, high = n, 2 * n  # doubled until it settles, then halved
    while not settles(high):
        if high >= most:
            return None
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if settles(middle) else (middle, high)
    return high - n

"""Rates: k of n, printed with an interval, added by adding counts."""

from __future__ import annotations

import math
import random
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import accumulate
from typing import Any

import msgspec

from knowbound.language import say
from knowbound.stats.printing import percent_words

_Z = 1.959963984540054  # two-sided 95%
_RESAMPLES = 2000


class Rate(msgspec.Struct, frozen=True):
    """k of n. Adds by adding counts; prints with its Wilson interval, or as unknown when n is 0."""

    k: int = 0
    n: int = 0
    design: float = 1.0  # design effect: at 2, two counts have the information of one independent count

    def __post_init__(self) -> None:
        if not 0 <= self.k <= self.n:
            raise ValueError(f"a rate is k of n with 0 <= k <= n, not {self.k} of {self.n}")
        if not self.design >= 1.0:
            raise ValueError(f"a design effect is 1 or more, not {self.design}")

    def __add__(self, other: Rate) -> Rate:
        return Rate(self.k + other.k, self.n + other.n, _joint_design(self, other))

    @property
    def value(self) -> float | None:
        """The fraction; None if nothing was counted."""
        return self.k / self.n if self.n else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The Wilson score interval at 95%; None if nothing was counted."""
        return wilson(self.k / self.n, self.n / self.design) if self.n else None

    def to_json(self) -> dict[str, Any]:
        """Return the RATE of docs/json.md."""
        low, high = self.interval or (None, None)
        return {"k": self.k, "n": self.n, "value": self.value, "low": low, "high": high}

    def __str__(self) -> str:
        return percent_words(self.value, say("{:,} of {:,}", self.k, self.n), self.interval)


def wilson(share: float, n: float) -> tuple[float, float]:
    """Return the 95% Wilson score interval of a share in n independent counts; n need not be whole."""
    square = _Z * _Z
    middle = share + square / (2 * n)
    spread = _Z * math.sqrt(share * (1 - share) / n + square / (4 * n * n))
    scale = 1 + square / n
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


def least_share(k: int, n: int, looks: int = 1) -> float:
    """Return the lower end of the exact (Clopper-Pearson) interval at 95%, as wide as so many looks need (Bonferroni).

    For decisions on few counts: the Wilson interval of 1 of 1 begins at 21%, this one at 2.5%.
    """
    if not k:
        return 0.0
    low, high = 0.0, k / n
    for _ in range(40):  # halvings: to twelve digits
        share = (low + high) / 2
        chance_of_k = 1 - sum(math.comb(n, hits) * share**hits * (1 - share) ** (n - hits) for hits in range(k))
        low, high = (low, share) if chance_of_k > 0.025 / looks else (share, high)
    return low


def clustered(clusters: Iterable[Rate]) -> Rate:
    """Return the sum of the rates of clusters with dependent members: runs of one sample, samples of one session."""
    parts = [part for part in clusters if part.n]
    k, n = sum(part.k for part in parts), sum(part.n for part in parts)
    share = k / n if n else 0.0
    return clustered_rate(k, n, len(parts), sum((part.k - share * part.n) ** 2 for part in parts))


def clustered_rate(k: int, n: int, clusters: int, squares: float) -> Rate:
    """Return the clustered rate from sums alone; `squares` is Σ (k − share·n)² over the clusters."""
    share = k / n if n else 0.0
    return Rate(k, n, design_effect(squares, share * (1 - share) * n, clusters, n))


def design_effect(squares: float, alone: float, clusters: int, n: int) -> float:
    """Return the variance between clusters over that of independent counts, from 1 to n.

    `squares` is the sum of the squared deviations of the clusters, `alone` that of n independent counts. If all counts
    agree, the variance is unknown, and a cluster counts as a single count: the conservative bound.
    """
    if clusters == n:  # nothing is dependent
        return 1.0
    if clusters == 1 or alone <= 0:
        return n / clusters
    return min(max(1.0, squares * clusters / (clusters - 1) / alone), float(n))


def _joint_design(rate: Rate | Weighted, other: Rate | Weighted) -> float:
    """Return the design effect of a sum: the mean of both, weighted by their counts."""
    n = rate.n + other.n
    return max(1.0, (rate.design * rate.n + other.design * other.n) / n) if n else 1.0


class Mean(msgspec.Struct, frozen=True):
    """The mean of n scores with its 95% bootstrap interval over clusters; None without scores."""

    n: int = 0
    value: float | None = None
    low: float | None = None
    high: float | None = None


def mean_of(clusters: Iterable[Sequence[float]]) -> Mean:
    """Return the mean of all scores. Whole clusters are resampled: repeats of a sample are not independent."""
    parts = [part for part in clusters if part]
    scores = [score for part in parts for score in part]
    if not scores:
        return Mean()
    value = sum(scores) / len(scores)
    if len(parts) < 2 or len(set(scores)) == 1:
        return Mean(len(scores), value)  # without a difference the spread is unknown
    draw = random.Random(f"{len(parts)}/{value}")  # the same scores give the same interval
    sums = [(sum(part), len(part)) for part in parts]
    means = []
    for _ in range(_RESAMPLES):
        drawn = draw.choices(sums, k=len(sums))
        means.append(sum(total for total, _ in drawn) / sum(count for _, count in drawn))
    return Mean(len(scores), value, *middle_95(means))


def middle_95(drawn: Iterable[float]) -> tuple[float, float]:
    """Return the bounds of the middle 95% of drawn values."""
    ordered = sorted(drawn)
    low, high = (ordered[round(share * (len(ordered) - 1))] for share in (0.025, 0.975))
    return low, high


class Weighted(msgspec.Struct, frozen=True, omit_defaults=True):
    """Sum of weights over n samples, counted per weight: counts add, and give the interval.

    Specification 1, section 5: a sample weighs as much as its heaviest signal, or 0 without one.
    """

    strong: int = 0  # samples of weight 1.0
    weak: int = 0  # samples of weight 0.5
    n: int = 0
    design: float = 1.0  # design effect, as in Rate
    others: dict[float, int] = {}  # samples of any other weight

    @classmethod
    def of(cls, counts: Mapping[float, int], n: int) -> Weighted:
        """Return the sum for these numbers of samples by weight, of n samples in all."""
        others = {weight: count for weight, count in counts.items() if weight not in (0.0, 0.5, 1.0)}
        return cls(counts.get(1.0, 0), counts.get(0.5, 0), n, others=others)

    def __post_init__(self) -> None:
        counts = self.counts
        if min(counts.values()) < 0 or sum(counts.values()) > self.n:
            raise ValueError(f"samples by weight {counts} are not among {self.n}")
        if not all(0.0 < weight <= 1.0 for weight in counts):
            raise ValueError(f"a weight is above 0 and at most 1, not {max(counts, key=abs)}")

    def __add__(self, other: Weighted) -> Weighted:
        both = Weighted.of(Counter(self.counts) + Counter(other.counts), self.n + other.n)
        return msgspec.structs.replace(both, design=_joint_design(self, other))

    @property
    def counts(self) -> dict[float, int]:
        """Number of samples by weight above 0."""
        return {1.0: self.strong, 0.5: self.weak, **self.others}

    @property
    def sum(self) -> float:
        """Sum of the weights."""
        return sum(weight * count for weight, count in self.counts.items())

    @property
    def value(self) -> float | None:
        """The mean weight; None if nothing was counted."""
        return self.sum / self.n if self.n else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95% bootstrap interval over samples; equal counts have equal intervals."""
        if not self.n:
            return None
        counts = self.counts
        if all(count in (0, self.n) for count in counts.values()):
            # All samples weigh the same: resampling shows no spread, but their share has an interval.
            low, high = wilson(sum(counts.values()) / self.n, self.n / self.design)
            weight = max((weight for weight, count in counts.items() if count), default=1.0)
            return low * weight, high * weight
        mean, stretch = self.sum / self.n, math.sqrt(self.design)  # dependent samples: a wider interval
        low, high = middle_95(self._resampled_means())
        return max(0.0, mean - stretch * (mean - low)), min(1.0, mean + stretch * (high - mean))

    def _resampled_means(self) -> list[float]:
        """Return mean weights of resampled samples: one binomial per weight, of the remaining samples."""
        draw = random.Random("/".join(map(str, (self.strong, self.weak, self.n, *sorted(self.others.items())))))
        shares: dict[float, float] = {}  # weight → its share of the remaining samples
        remaining = self.n
        for weight, count in self.counts.items():
            shares[weight] = count / max(remaining, 1)
            remaining -= count
        table = cache(_binomial)
        means = []
        for _ in range(_RESAMPLES):
            remaining, total = self.n, 0.0
            for weight, share in shares.items():
                least, sums = table(remaining, share)
                drawn = least + bisect_left(sums, draw.random() * sums[-1])
                remaining -= drawn
                total += weight * drawn
            means.append(total / self.n)
        return means

    def to_json(self) -> dict[str, Any]:
        """Return the WEIGHTED of docs/json.md."""
        low, high = self.interval or (None, None)
        return {"sum": self.sum, "n": self.n, "value": self.value, "low": low, "high": high}

    def __str__(self) -> str:
        return percent_words(self.value, say("weight {:,g} over {:,}", self.sum, self.n), self.interval)


def _binomial(n: int, p: float) -> tuple[int, list[float]]:
    """Return the smallest likely number of n draws, and the cumulative weights of this and the next numbers."""
    if p in (0.0, 1.0):  # a single number is possible
        return round(n * p), [1.0]
    spread = 8 * math.sqrt(n * p * (1 - p)) + 8  # 8 standard deviations: what is beyond never happens
    least, most = max(0, math.floor(n * p - spread)), min(n, math.ceil(n * p + spread))
    weights = [1.0]
    for k in range(least, most):
        weights.append(weights[-1] * ((n - k) / (k + 1) * p / (1 - p)))
    return least, list(accumulate(weights))

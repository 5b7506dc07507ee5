"""Calibration of a judge: its verdicts compared with people's labels.

Specification 2, "The judge", asks for agreement on 50 hand-labelled turns. Agreement alone says little where one
answer is rare: a judge that always says no agrees with nearly every label. So sensitivity, specificity and Cohen's κ
are shown with it, each with its interval, and κ decides: good enough, not good enough, or underpowered, with the
number of labels that are missing.

Labels of one session are dependent and labels may weigh differently (`labels.py`), so each interval uses the number of
independent labels with the same information. Intervals of κ are drawn from the Dirichlet distribution of the table
with half a label more in each cell: five labels that all agree do not make a judge certain.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from functools import partial
from statistics import fmean, median
from typing import NamedTuple

import msgspec

from knowbound.stats.printing import estimate, percent_words
from knowbound.stats.rate import Rate, middle_95, wilson

WANTED_KAPPA = 0.6  # the usual lower end of "substantial" agreement
_DRAWS = 2000
_MOST_LABELS = 100_000  # beyond this no number of labels decides in practice
_PRIOR = 0.5  # of a label in each cell: Jeffreys' prior
_SCORES = (1, 2, 3, 4, 5)
_FEWEST_OF_A_HALF = 10  # texts, before their lengths say anything


class Trust(StrEnum):
    """Verdict of the labels on a judge."""

    GOOD = "good enough"
    BAD = "not good enough"
    UNDERPOWERED = "underpowered"


class Decision(msgspec.Struct, frozen=True):
    """The verdict on the judge, its reason, and the further labels that would decide (None: unknown)."""

    verdict: Trust
    why: str
    more: int | None = None


class Estimate(msgspec.Struct, frozen=True):
    """A figure with its 95% interval; None: unknown."""

    value: float | None = None
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        return estimate(self.value, self.low, self.high)


class Share(msgspec.Struct, frozen=True):
    """k of n labels, and their share: k/n unless labels weigh differently."""

    k: int = 0
    n: int = 0
    value: float | None = None
    low: float | None = None
    high: float | None = None
    effective: float = 0.0  # number of independent labels with the same information

    def __str__(self) -> str:
        interval = None if self.low is None or self.high is None else (self.low, self.high)
        return percent_words(self.value, f"{self.k} of {self.n}", interval) if interval else "unknown"


class Pair(NamedTuple):
    """A label and the judge's verdict on the same text; None: no verdict."""

    label: bool
    verdict: bool | None
    weight: float = 1.0
    session: str = ""


class Calibration(msgspec.Struct, frozen=True):
    """A judge compared with labels. Texts without a verdict are counted in `failed` and nowhere else."""

    true_yes: int
    false_yes: int
    false_no: int
    true_no: int
    failed: Rate
    agreement: Share
    sensitivity: Share  # share of positive labels with a positive verdict
    specificity: Share  # share of negative labels with a negative verdict
    precision: Share  # share of positive verdicts with a positive label
    prevalence: Share  # share of positive labels
    said: Share  # share of positive verdicts
    kappa: Estimate
    wanted: float
    weighted: bool
    decision: Decision

    @property
    def n(self) -> int:
        """Number of labels with a verdict."""
        return self.true_yes + self.false_yes + self.false_no + self.true_no


def calibrate(pairs: Iterable[Pair], wanted: float = WANTED_KAPPA) -> Calibration:
    """Compare a judge's verdicts with labels."""
    asked = list(pairs)
    pairs = [pair for pair in asked if pair.verdict is not None]
    cells = Counter((pair.label, pair.verdict) for pair in pairs)
    heaviest = _heaviest(pairs)
    share = partial(_share, heaviest=heaviest)
    called_yes = [pair for pair in pairs if pair.verdict]
    kappa = _kappa_of(pairs, heaviest)
    prevalence = share(pairs, lambda pair: pair.label)
    said = share(pairs, lambda pair: bool(pair.verdict))
    return Calibration(
        true_yes=cells[True, True],
        false_yes=cells[False, True],
        false_no=cells[True, False],
        true_no=cells[False, False],
        failed=Rate(len(asked) - len(pairs), len(asked)),
        agreement=share(pairs, lambda pair: pair.label == pair.verdict),
        sensitivity=share([pair for pair in pairs if pair.label], lambda pair: bool(pair.verdict)),
        specificity=share([pair for pair in pairs if not pair.label], lambda pair: not pair.verdict),
        precision=_share(called_yes, lambda pair: pair.label, _heaviest(called_yes)),  # of texts called yes
        prevalence=prevalence,
        said=said,
        kappa=kappa,
        wanted=wanted,
        weighted=len({pair.weight for pair in pairs}) > 1,
        decision=_verdict(prevalence, said, kappa, wanted),
    )


def cohen_kappa(true_yes: float, false_no: float, false_yes: float, true_no: float) -> float | None:
    """Return the agreement beyond chance, from −1 to 1; None if both sides always gave the same answer."""
    below = (true_yes + false_yes) * (false_yes + true_no) + (true_yes + false_no) * (false_no + true_no)
    return 2 * (true_yes * true_no - false_no * false_yes) / below if below else None


def rogan_gladen(observed: float, sensitivity: float, specificity: float) -> float | None:
    """Return the true share behind the observed one, from the judge's error; None for a judge as good as chance."""
    youden = sensitivity + specificity - 1
    return min(1.0, max(0.0, (observed + specificity - 1) / youden)) if youden > 0 else None


def corrected(observed: Rate, found: Calibration) -> Estimate:
    """Correct a rate that the judge observed for the error that the labels show."""
    sensitivity, specificity = found.sensitivity, found.specificity
    if observed.value is None or sensitivity.value is None or specificity.value is None:
        return Estimate()
    value = rogan_gladen(observed.value, sensitivity.value, specificity.value)
    if value is None:
        return Estimate()
    draw = random.Random(repr((observed, sensitivity, specificity)))  # the same figures give the same interval
    shares = [(observed.value, observed.n / observed.design)]
    shares += [(sensitivity.value, sensitivity.effective), (specificity.value, specificity.effective)]
    betas = [(share * n + _PRIOR, (1 - share) * n + _PRIOR) for share, n in shares]
    drawn = (rogan_gladen(*(draw.betavariate(*beta) for beta in betas)) for _ in range(_DRAWS))
    defined = [share for share in drawn if share is not None]
    if _DRAWS - len(defined) > 0.025 * _DRAWS:
        return Estimate(value, 0.0, 1.0)  # the labels do not exclude a judge as good as a coin
    return _between(value, defined)


# Figures with their intervals


def _share(pairs: Sequence[Pair], hit: Callable[[Pair], bool], heaviest: float) -> Share:
    """Return the weighted share of pairs that are hits; its interval counts independent labels."""
    hits = [hit(pair) for pair in pairs]
    total = sum(pair.weight for pair in pairs)
    if not pairs:
        return Share()
    value = sum(pair.weight for pair, yes in zip(pairs, hits, strict=True) if yes) / total
    if hits.count(True) in (0, len(hits)):  # exactly 0 or 1, without the rounding of weights
        value = hits.count(True) / len(hits)
    effective = len(pairs) / _design(pairs, [yes - value for yes in hits], heaviest)
    return Share(hits.count(True), len(hits), value, *wilson(value, effective), effective)


def _kappa_of(pairs: Sequence[Pair], heaviest: float) -> Estimate:
    """Return κ of the weighted labels, with an interval drawn for their number of independent labels."""
    order = ((True, True), (True, False), (False, True), (False, False))
    weights = dict.fromkeys(order, 0.0)
    for pair in pairs:
        weights[pair.label, bool(pair.verdict)] += pair.weight
    total = sum(weights.values())
    a, b, c, d = cells = [weights[cell] / total if total else 0.0 for cell in order]  # shares; b: a missed yes
    value = cohen_kappa(a, b, c, d)
    if value is None:
        return Estimate()
    # Change of κ by one more label in each cell: the variance of κ is that of their sum.
    moves = (
        2 * d - value * (b + c + 2 * d),
        -2 * c - value * (a + 2 * b + d),
        -2 * b - value * (a + 2 * c + d),
        2 * a - value * (2 * a + b + c),
    )
    move_of = dict(zip(order, moves, strict=True))
    effective = len(pairs) / _design(pairs, [move_of[pair.label, bool(pair.verdict)] for pair in pairs], heaviest)
    drawn = _dirichlet([cell * effective + _PRIOR for cell in cells])
    return _between(value, [kappa for table in drawn if (kappa := cohen_kappa(*table)) is not None])


def _design(pairs: Sequence[Pair], moves: Sequence[float], heaviest: float) -> float:
    """Return the design effect: the number of labels with the information of one independent label of equal weight.

    It is the variance between sessions over that of independent labels. If all labels agree, the variance is unknown:
    then a session counts as a single label, and the next label as the heaviest, the conservative bound.
    `moves` has for each pair the change of the figure by one more label like it.
    """
    names = [pair.session or f"\0{at}" for at, pair in enumerate(pairs)]  # without a session, one of its own
    sessions = Counter(names)
    if len(sessions) == len(pairs) and {pair.weight for pair in pairs} == {heaviest}:
        return 1.0
    total = sum(pair.weight for pair in pairs)
    sums: dict[str, float] = dict.fromkeys(sessions, 0.0)
    weights: dict[str, float] = dict.fromkeys(sessions, 0.0)
    for name, pair, move in zip(names, pairs, moves, strict=True):
        sums[name] += pair.weight * move
        weights[name] += pair.weight
    independent = sum(pair.weight * move * move for pair, move in zip(pairs, moves, strict=True)) / total / len(pairs)
    if independent < 1e-12 or len(sessions) == 1:  # 0 but for rounding: all labels agree
        effective = total * total / sum(weight * weight for weight in weights.values())
        return max(1.0, len(pairs) / min(effective, total / heaviest))
    between = sum(shift * shift for shift in sums.values()) * len(sums) / (len(sums) - 1) / total / total
    return min(max(1.0, between / independent), float(len(pairs)))


def _heaviest(pairs: Sequence[Pair]) -> float:
    return max((pair.weight for pair in pairs), default=1.0)


def _dirichlet(alphas: Sequence[float]) -> Iterable[list[float]]:
    """Draw the shares of a table from a Dirichlet distribution, the same draws for the same table."""
    draw = random.Random(repr(alphas))
    for _ in range(_DRAWS):
        parts = [draw.gammavariate(alpha, 1.0) for alpha in alphas]
        total = sum(parts)
        yield [part / total for part in parts]


def _between(value: float, drawn: list[float]) -> Estimate:
    """Return a value with the middle 95% of drawn values, widened to include the value."""
    low, high = middle_95(drawn)
    return Estimate(value, min(low, value), max(high, value))


# What they say about the judge


def _verdict(prevalence: Share, said: Share, kappa: Estimate, wanted: float) -> Decision:
    """Return what the labels say about a judge: by κ, and underpowered without both answers among the labels."""
    if not prevalence.n:
        return Decision(Trust.UNDERPOWERED, "the judge gave no verdict on any label")
    if prevalence.k in (0, prevalence.n):  # all labels are equal
        answer, other = ("yes", "no") if prevalence.k else ("no", "yes")
        why = f"every label says {answer}: the judge was not tried on any that says {other}"
        return Decision(Trust.UNDERPOWERED, why)
    decision = _decided(kappa, wanted, prevalence.n)
    if said.k not in (0, said.n):
        return decision
    # A judge that always gives the same answer is named, whatever the other figures are.
    why = f"it says {'yes' if said.k else 'no'} to everything, so κ is 0 however often it agrees"
    if decision.verdict is Trust.UNDERPOWERED:
        why += f"; {decision.why}"
    return Decision(decision.verdict, why, decision.more)


def _decided(kappa: Estimate, wanted: float, n: int) -> Decision:
    """Decide by the interval of κ: all of it above or below the wanted κ, or underpowered."""
    if kappa.value is None or kappa.low is None or kappa.high is None:
        return Decision(Trust.UNDERPOWERED, "κ cannot be known from these labels")
    shown = f"κ is {kappa}"
    if kappa.low >= wanted:
        return Decision(Trust.GOOD, f"{shown}, at least {wanted:g} was wanted")
    if kappa.high < wanted:
        return Decision(Trust.BAD, f"{shown}, below the {wanted:g} that was wanted")
    more = more_labels(kappa.value, kappa.low, kappa.high, wanted, n)
    missing = f"about {more:,} more labels would" if more else "no number of labels that anyone gives would"
    return Decision(Trust.UNDERPOWERED, f"{shown}: {n} labels do not distinguish it from {wanted:g}; {missing}", more)


def more_labels(value: float, low: float, high: float, wanted: float, n: int) -> int | None:
    """Return the number of missing labels at constant shares: an interval shrinks with the root of their number."""
    away = abs(value - wanted)  # the interval decides once it reaches less far
    reach = max(value - low if value >= wanted else high - value, (high - low) / 2)  # with few labels one side is short
    if away * math.sqrt(_MOST_LABELS / n) < reach:
        return None
    return max(1, math.ceil(n * (reach / away) ** 2) - n)


# Scores from 1 to 5


class ScoreCalibration(msgspec.Struct, frozen=True):
    """A judge's scores compared with people's. Unscored texts are counted in `failed` and nowhere else."""

    table: tuple[tuple[int, ...], ...]  # rows: scores of people; columns: scores of the judge
    failed: Rate
    agreement: Rate  # equal scores
    kappa: Estimate  # quadratic weights: two apart counts four times one apart
    difference: Estimate  # mean absolute difference, in points
    wanted: float
    decision: Decision
    length_bias: Estimate = Estimate()  # points that the longer half gets too much, beside the shorter half

    @property
    def n(self) -> int:
        """Number of labels with a score of the judge."""
        return self.agreement.n


def calibrate_scores(
    pairs: Iterable[tuple[int, int | None]], wanted: float = WANTED_KAPPA, lengths: Sequence[int] = ()
) -> ScoreCalibration:
    """Compare a judge's scores with people's; `lengths` are those of the texts, in the order of the pairs."""
    asked = list(pairs)
    counts = Counter((label, score) for label, score in asked if score is not None)
    table = [[counts[label, score] for score in _SCORES] for label in _SCORES]
    n = counts.total()
    # One more label, spread over the table, gives an interval to scores that all agree.
    size = len(_SCORES)
    drawn = [_grid(cells) for cells in _dirichlet([count + 1 / size**2 for row in table for count in row])] if n else []
    value, difference = quadratic_kappa(table), mean_difference(table)
    kappas = [drawn_kappa for cells in drawn if (drawn_kappa := quadratic_kappa(cells)) is not None]
    differences = [drawn_difference for cells in drawn if (drawn_difference := mean_difference(cells)) is not None]
    kappa = Estimate() if value is None else _between(value, kappas)
    no_scores = None if n else Decision(Trust.UNDERPOWERED, "the judge gave no score for any label")
    return ScoreCalibration(
        table=tuple(tuple(row) for row in table),
        failed=Rate(len(asked) - n, len(asked)),
        agreement=Rate(sum(table[at][at] for at in range(size)), n),
        kappa=kappa,
        difference=Estimate() if difference is None else _between(difference, differences),
        wanted=wanted,
        decision=no_scores or _decided(kappa, wanted, n),
        length_bias=length_bias(asked, lengths) if lengths else Estimate(),
    )


def length_bias(pairs: Sequence[tuple[int, int | None]], lengths: Sequence[int]) -> Estimate:
    """Return how many points more than people a judge gives the longer half of the texts than the shorter half.

    0 is a judge that length does not sway. Unknown with fewer than ten scored texts in a half.
    """
    scored = [(size, score - label) for (label, score), size in zip(pairs, lengths, strict=True) if score is not None]
    middle = median([size for size, _ in scored]) if scored else 0
    # Of both halves: the points that the judge gave beyond the label.
    short, long = ([excess for size, excess in scored if (size > middle) is is_long] for is_long in (False, True))
    if min(len(short), len(long)) < _FEWEST_OF_A_HALF:
        return Estimate()
    draw = random.Random(repr(scored))
    drawn = [fmean(draw.choices(long, k=len(long))) - fmean(draw.choices(short, k=len(short))) for _ in range(_DRAWS)]
    return _between(fmean(long) - fmean(short), drawn)


def quadratic_kappa(table: Sequence[Sequence[float]]) -> float | None:
    """Return Cohen's κ with quadratic weights; None if both sides always gave the same score."""
    total = sum(map(sum, table))
    rows, columns = [sum(row) for row in table], [sum(column) for column in zip(*table, strict=True)]
    seen = sum((i - j) ** 2 * cell for i, row in enumerate(table) for j, cell in enumerate(row))
    chance = sum((i - j) ** 2 * row * column for i, row in enumerate(rows) for j, column in enumerate(columns))
    return 1 - seen * total / chance if chance else None


def mean_difference(table: Sequence[Sequence[float]]) -> float | None:
    """Return the mean absolute difference of the scores."""
    total = sum(map(sum, table))
    points_apart = sum(abs(i - j) * cell for i, row in enumerate(table) for j, cell in enumerate(row))
    return points_apart / total if total else None


def _grid(cells: Sequence[float]) -> list[Sequence[float]]:
    """Return the table of these cells, row by row."""
    size = len(_SCORES)
    return [cells[at : at + size] for at in range(0, size * size, size)]

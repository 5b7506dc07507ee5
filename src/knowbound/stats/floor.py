"""What is injected for labelled prompts at a floor of relevance and a number of items, and which of them to use.

Three rates say how good a choice is. They belong together: a lower floor raises the first and lowers the others.

    right     of the prompts that need an item, those for which a right one is injected
    on topic  of the injected items, those that bear on what the prompt asks
    left_alone     of the prompts that need nothing, those for which nothing is injected
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterable, Sequence

import msgspec

from knowbound.stats.rate import Rate, clustered, wilson

NUMBERS = (1, 2, 3, 6)  # of items
STEP = 0.01
FLOORS = tuple(round(step * STEP, 2) for step in range(101))
WANTED_PRECISION = 0.85
WANTED_LEFT_ALONE = 0.95
FEWEST_PROMPTS = 20  # that need an item: below it specification 1 calls the confidence in a rate low
_FOLDS = 5
_CURVE_STEP = 0.03
_MOST_LABELS = 100_000  # beyond this no number of labels decides in practice

Injecting = Callable[[float, int], Sequence[str]]  # floor, most items → the ids of what is injected


class Trial(msgspec.Struct, frozen=True):
    """A labelled prompt, and what would be injected for it."""

    name: str
    right: frozenset[str]
    on_topic: frozenset[str]  # beside the right ones
    injecting: Injecting

    @property
    def needs_nothing(self) -> bool:
        """Whether no item of the store is its answer; some may be about it all the same."""
        return not self.right


class FloorPoint(msgspec.Struct, frozen=True):
    """What a floor and a number of items give. Rates add by adding counts."""

    floor: float
    most_items: int
    right: Rate
    on_topic: Rate
    left_alone: Rate
    prompts: Rate  # for which anything is injected

    def meets(self, wanted: FloorTarget) -> bool:
        """Whether the shares, as counted, are at least what is wanted; nothing injected meets nothing."""
        return _at_least(self.on_topic, wanted.precision) and _at_least(self.left_alone, wanted.left_alone)


class FloorTarget(msgspec.Struct, frozen=True):
    """The least share of injected items on topic, and of prompts that need nothing left alone."""

    precision: float = WANTED_PRECISION
    left_alone: float = WANTED_LEFT_ALONE


class Case(msgspec.Struct, frozen=True):
    """A prompt for which something is wrong: items off topic are injected, or none of those it needs."""

    name: str
    off_topic: tuple[str, ...]
    missed: tuple[str, ...]  # the right items, where none of them is injected


class FloorCalibration(msgspec.Struct, frozen=True):
    """What the present settings give, what others would, and which to use."""

    wanted: FloorTarget
    present: FloorPoint
    recommended: FloorPoint | None  # None: too few prompts, or no floor gives what is wanted
    held_out: (
        FloorPoint | None
    )  # the same, on prompts that the floor was not chosen on; None where the present one is kept
    missing_needing: int  # prompts more that need an item before a floor can be chosen at all
    missing_left_alone: int  # prompts more that need nothing
    by_floor: tuple[FloorPoint, ...]
    by_number: tuple[FloorPoint, ...]
    cases: tuple[Case, ...]  # with what is recommended, else at present; items off topic first

    @property
    def is_too_small(self) -> bool:
        """Whether the prompts cannot decide."""
        return bool(self.missing_needing or self.missing_left_alone)

    @property
    def shown(self) -> FloorPoint:
        """What `cases` and the curve over the number of items are about."""
        return self.recommended or self.present


def calibrated(trials: Sequence[Trial], wanted: FloorTarget, floor: float, most: int) -> FloorCalibration:
    """Try every floor and number of items; `floor` and `most` are the present settings.

    They are kept where they give what is wanted and no lower floor would inject a right item for more prompts.
    """
    needing, left_alone = missing(trials, wanted)
    is_enough = not needing and not left_alone
    present = measured(trials, floor, most)
    lowest = recommended(trials, wanted) if is_enough else None
    is_kept = lowest is not None and present.meets(wanted) and present.right.k >= lowest.right.k
    best = present if is_kept else lowest
    at = best or present
    floors = curve_floors(floor, at.floor)
    cases = [case for trial in trials if (case := _case(trial, at)) is not None]
    return FloorCalibration(
        wanted=wanted,
        present=present,
        recommended=best,
        held_out=held_out(trials, wanted) if best and not is_kept else None,
        missing_needing=needing,
        missing_left_alone=left_alone,
        by_floor=tuple(measured(trials, one, at.most_items) for one in floors),
        by_number=tuple(measured(trials, at.floor, number) for number in sorted({*NUMBERS, most})),
        cases=tuple(sorted(cases, key=lambda case: not case.off_topic)),
    )


def curve_floors(*around: float) -> list[float]:
    """The floors that a curve shows: a dozen around these, and these."""
    low, high = min(around), max(around)
    steps = [
        round(at, 2) for at in (low + _CURVE_STEP * step for step in range(-6, 7 + round((high - low) / _CURVE_STEP)))
    ]
    return sorted({*around, *(floor for floor in steps if 0 < floor < 1)})


def _case(trial: Trial, at: FloorPoint) -> Case | None:
    ids = trial.injecting(at.floor, at.most_items)
    off_topic = tuple(id_ for id_ in ids if id_ not in trial.right and id_ not in trial.on_topic)
    missed = () if not trial.right.isdisjoint(ids) else tuple(sorted(trial.right))
    return Case(trial.name, off_topic, missed) if off_topic or missed else None


def measured(trials: Iterable[Trial], floor: float, most: int) -> FloorPoint:
    """What is injected at this floor, with at most so many items."""
    return _sum([(trial, trial.injecting(floor, most)) for trial in trials], floor, most)


def _sum(injected: Sequence[tuple[Trial, Sequence[str]]], floor: float, most: int) -> FloorPoint:
    needing = [(trial, ids) for trial, ids in injected if trial.right]
    left_alone = [ids for trial, ids in injected if trial.needs_nothing]
    return FloorPoint(
        floor,
        most,
        right=Rate(sum(not trial.right.isdisjoint(ids) for trial, ids in needing), len(needing)),
        on_topic=clustered(_on_topic(trial, ids) for trial, ids in injected),
        left_alone=Rate(sum(not ids for ids in left_alone), len(left_alone)),
        prompts=Rate(sum(bool(ids) for _, ids in injected), len(injected)),
    )


def _on_topic(trial: Trial, ids: Sequence[str]) -> Rate:
    return Rate(sum(id_ in trial.right or id_ in trial.on_topic for id_ in ids), len(ids))


def _at_least(rate: Rate, share: float) -> bool:
    return rate.n > 0 and rate.k >= share * rate.n - 1e-9


def recommended(trials: Sequence[Trial], wanted: FloorTarget, numbers: Sequence[int] = NUMBERS) -> FloorPoint | None:
    """The lowest floor that gives what is wanted, with the number of items that injects a right one most often.

    Among equals, fewer items. None where no floor gives it.
    """
    best: FloorPoint | None = None
    for most in sorted(numbers):
        point = next((point for floor in FLOORS if (point := measured(trials, floor, most)).meets(wanted)), None)
        if point is not None and (best is None or point.right.k > best.right.k):
            best = point
    return best


def held_out(trials: Sequence[Trial], wanted: FloorTarget, numbers: Sequence[int] = NUMBERS) -> FloorPoint | None:
    """What floors give on prompts that they were not chosen on: each fifth by the floor of the other four.

    A floor always looks better on the prompts that it was chosen on. None where four fifths do not give a floor.
    """
    injected: list[tuple[Trial, Sequence[str]]] = []
    floor, most = 0.0, 0
    for fold in range(_FOLDS):
        chosen = recommended([trial for trial in trials if _fold(trial) != fold], wanted, numbers)
        if chosen is None:
            return None
        floor, most = chosen.floor, chosen.most_items
        injected += [(trial, trial.injecting(floor, most)) for trial in trials if _fold(trial) == fold]
    return _sum(injected, floor, most)


def _fold(trial: Trial) -> int:
    return zlib.crc32(trial.name.encode("utf-8", "surrogatepass")) % _FOLDS


def missing(trials: Sequence[Trial], wanted: FloorTarget) -> tuple[int, int]:
    """How many prompts more that need an item, and that need nothing, it takes before a floor can be chosen at all.

    Where one wrong injection in the prompts that need nothing already misses what is wanted, they decide nothing.
    """
    needing = sum(bool(trial.right) for trial in trials)
    left_alone = sum(trial.needs_nothing for trial in trials)
    least_left_alone = math.ceil(1 / (1 - wanted.left_alone) - 1e-9) if wanted.left_alone < 1 else FEWEST_PROMPTS
    return max(0, FEWEST_PROMPTS - needing), max(0, min(least_left_alone, _MOST_LABELS) - left_alone)


def more_to_settle(rate: Rate, share: float) -> int | None:
    """Counts more, if the share stays as it is, until the interval says whether it is `share`; 0: it does already.

    None: no number of them that anyone labels.
    """
    if rate.value is None:
        return None

    def is_settled(n: int) -> bool:
        low, high = wilson(rate.k / rate.n, n / rate.design)
        return low >= share or high < share

    if is_settled(rate.n):
        return 0
    if not is_settled(_MOST_LABELS):
        return None
    settled, unsettled = _MOST_LABELS, rate.n
    while settled - unsettled > 1:
        middle = (settled + unsettled) // 2
        settled, unsettled = (middle, unsettled) if is_settled(middle) else (settled, middle)
    return settled - rate.n

"""Choice of the relevance floor and the number of items, by their effect on labelled prompts.

Three rates describe a choice. A lower floor raises the first and lowers the other two.

    right       prompts for which a right item is injected, of the prompts that need an item
    on topic    injected items that bear on the request, of the injected items
    left_alone  prompts for which nothing is injected, of the prompts that need nothing
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterable, Sequence

import msgspec

from knowbound.stats.paired import more_needed
from knowbound.stats.rate import Rate, clustered, wilson

NUMBERS = (1, 2, 3, 6)  # of items
STEP = 0.01
FLOORS = tuple(round(step * STEP, 2) for step in range(101))
WANTED_PRECISION = 0.85
WANTED_LEFT_ALONE = 0.95
FEWEST_PROMPTS = 20  # that need an item: below 20 specification 1 calls the confidence in a rate low
_FOLDS = 5  # parts of the prompts, each held out once
_CURVE_STEP = 0.03  # between the floors of a curve
_MOST_LABELS = 100_000  # beyond this no number of labels decides in practice

Injecting = Callable[[float, int], Sequence[str]]  # floor, most items → ids of the injected items


class Trial(msgspec.Struct, frozen=True):
    """A labelled prompt, with a function that returns the items injected for it."""

    name: str
    right: frozenset[str]  # empty: no item of the store answers the prompt, although items may be on topic
    on_topic: frozenset[str]  # other items than the right ones
    injecting: Injecting


class FloorPoint(msgspec.Struct, frozen=True):
    """Rates at a floor and a number of items. They add by adding counts."""

    floor: float
    most_items: int
    right: Rate
    on_topic: Rate
    left_alone: Rate
    prompts: Rate  # with an injected item

    def meets(self, wanted: FloorTarget) -> bool:
        """Report whether the counted shares reach the target; without injected items they do not."""
        return _at_least(self.on_topic, wanted.precision) and _at_least(self.left_alone, wanted.left_alone)


class FloorTarget(msgspec.Struct, frozen=True):
    """Minimum share of injected items on topic, and of prompts left alone that need nothing."""

    precision: float = WANTED_PRECISION
    left_alone: float = WANTED_LEFT_ALONE


class WrongPrompt(msgspec.Struct, frozen=True):
    """A prompt with a wrong result: items off topic are injected, or no right item is."""

    name: str
    off_topic: tuple[str, ...]
    missed: tuple[str, ...]  # the right items, if none of them is injected


class FloorCalibration(msgspec.Struct, frozen=True):
    """Rates of the present settings, rates of other settings, and the recommended setting."""

    wanted: FloorTarget
    present: FloorPoint
    recommended: FloorPoint | None  # None: too few prompts, or no floor reaches the target
    held_out: FloorPoint | None  # the same on prompts not used for choosing; None if the present floor is kept
    missing_needing: int  # further prompts that need an item before a floor can be chosen
    missing_left_alone: int  # further prompts that need nothing
    by_floor: tuple[FloorPoint, ...]
    by_number: tuple[FloorPoint, ...]
    cases: tuple[WrongPrompt, ...]  # at the recommended, else the present setting; items off topic first

    @property
    def is_too_small(self) -> bool:
        """Report whether there are too few prompts to decide."""
        return bool(self.missing_needing or self.missing_left_alone)

    @property
    def shown(self) -> FloorPoint:
        """Setting that `cases` and the curve over the number of items show."""
        return self.recommended or self.present


def calibrate_floor(trials: Sequence[Trial], wanted: FloorTarget, floor: float, most: int) -> FloorCalibration:
    """Try every floor and number of items; `floor` and `most` are the present settings.

    The present settings are kept if they reach the target and no lower floor injects a right item for more prompts.
    """
    needing, left_alone = missing_prompts(trials, wanted)
    is_enough = not needing and not left_alone
    present = rates_at(trials, floor, most)
    lowest = recommended_floor(trials, wanted) if is_enough else None
    is_kept = lowest is not None and present.meets(wanted) and present.right.k >= lowest.right.k
    best = present if is_kept else lowest
    shown = best or present
    floors = curve_floors(floor, shown.floor)
    cases = [case for trial in trials if (case := _case(trial, shown)) is not None]
    return FloorCalibration(
        wanted=wanted,
        present=present,
        recommended=best,
        held_out=held_out_rates(trials, wanted) if best and not is_kept else None,
        missing_needing=needing,
        missing_left_alone=left_alone,
        by_floor=tuple(rates_at(trials, floor, shown.most_items) for floor in floors),
        by_number=tuple(rates_at(trials, shown.floor, number) for number in sorted({*NUMBERS, most})),
        cases=tuple(sorted(cases, key=lambda case: not case.off_topic)),
    )


def curve_floors(*around: float) -> list[float]:
    """Return the floors of a curve: the given ones, and floors from six steps below to six steps above them."""
    low, high = min(around), max(around)
    steps = [round(low + _CURVE_STEP * step, 2) for step in range(-6, 7 + round((high - low) / _CURVE_STEP))]
    return sorted({*around, *(floor for floor in steps if 0 < floor < 1)})


def _case(trial: Trial, setting: FloorPoint) -> WrongPrompt | None:
    """Return a prompt with a wrong result at a setting; None for a right one."""
    ids = trial.injecting(setting.floor, setting.most_items)
    off_topic = tuple(id_ for id_ in ids if id_ not in trial.right and id_ not in trial.on_topic)
    missed = () if not trial.right.isdisjoint(ids) else tuple(sorted(trial.right))
    return WrongPrompt(trial.name, off_topic, missed) if off_topic or missed else None


def rates_at(trials: Iterable[Trial], floor: float, most: int) -> FloorPoint:
    """Return the rates at this floor, with at most `most` items."""
    return _rates_of([(trial, trial.injecting(floor, most)) for trial in trials], floor, most)


def _rates_of(injected: Sequence[tuple[Trial, Sequence[str]]], floor: float, most: int) -> FloorPoint:
    """Return the rates of these prompts, each with the ids of the items injected for it."""
    needing = [(trial, ids) for trial, ids in injected if trial.right]
    left_alone = [ids for trial, ids in injected if not trial.right]
    return FloorPoint(
        floor,
        most,
        right=Rate(sum(not trial.right.isdisjoint(ids) for trial, ids in needing), len(needing)),
        on_topic=clustered(
            Rate(sum(id_ in trial.right or id_ in trial.on_topic for id_ in ids), len(ids)) for trial, ids in injected
        ),
        left_alone=Rate(sum(not ids for ids in left_alone), len(left_alone)),
        prompts=Rate(sum(bool(ids) for _, ids in injected), len(injected)),
    )


def _at_least(rate: Rate, share: float) -> bool:
    return rate.n > 0 and rate.k >= share * rate.n - 1e-9  # against the rounding of the product


def recommended_floor(
    trials: Sequence[Trial], wanted: FloorTarget, numbers: Sequence[int] = NUMBERS
) -> FloorPoint | None:
    """Return the lowest floor that reaches the target, with the number of items that injects a right one most often.

    Among equals, fewer items win. None if no floor reaches the target.
    """
    best: FloorPoint | None = None
    for most in sorted(numbers):
        point = next((point for floor in FLOORS if (point := rates_at(trials, floor, most)).meets(wanted)), None)
        if point is not None and (best is None or point.right.k > best.right.k):
            best = point
    return best


def held_out_rates(trials: Sequence[Trial], wanted: FloorTarget, numbers: Sequence[int] = NUMBERS) -> FloorPoint | None:
    """Return the rates on prompts not used for choosing: each fifth at the floor chosen on the other four.

    A floor always looks better on the prompts that it was chosen on. None if four fifths do not yield a floor.
    """
    injected: list[tuple[Trial, Sequence[str]]] = []
    floor, most = 0.0, 0  # at the end those of the last fold: the rates are of several floors
    for fold in range(_FOLDS):
        chosen = recommended_floor([trial for trial in trials if _fold(trial) != fold], wanted, numbers)
        if chosen is None:
            return None
        floor, most = chosen.floor, chosen.most_items
        injected += [(trial, trial.injecting(floor, most)) for trial in trials if _fold(trial) == fold]
    return _rates_of(injected, floor, most)


def _fold(trial: Trial) -> int:
    """Return the part of the prompts that a prompt is in: by its name, so that other prompts do not move it."""
    return zlib.crc32(trial.name.encode("utf-8", "surrogatepass")) % _FOLDS


def missing_prompts(trials: Sequence[Trial], wanted: FloorTarget) -> tuple[int, int]:
    """Return the number of missing prompts that need an item, and of missing prompts that need nothing.

    Prompts that need nothing are too few if a single wrong injection among them misses the target.
    """
    needing = sum(bool(trial.right) for trial in trials)
    left_alone = len(trials) - needing
    # 1e-9: against the rounding of the quotient.
    least_left_alone = math.ceil(1 / (1 - wanted.left_alone) - 1e-9) if wanted.left_alone < 1 else FEWEST_PROMPTS
    return max(0, FEWEST_PROMPTS - needing), max(0, min(least_left_alone, _MOST_LABELS) - left_alone)


def more_to_settle(rate: Rate, share: float) -> int | None:
    """Return the further counts at a constant rate until the interval is on one side of `share`; 0: it already is.

    None: no practical number of labels decides.
    """
    if rate.value is None:
        return None

    def is_settled(n: int) -> bool:
        low, high = wilson(rate.k / rate.n, n / rate.design)
        return low >= share or high < share

    if not is_settled(rate.n) and not is_settled(_MOST_LABELS):
        return None
    return more_needed(rate.n, is_settled)

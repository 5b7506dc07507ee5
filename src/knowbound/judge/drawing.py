"""Draws texts for people to label so that a rare answer is met often enough, with the weights that undo the choice."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TypeVar

_T = TypeVar("_T")


def draw_from_both(
    rare: Sequence[_T], common: Sequence[_T], is_known: Callable[[_T], bool], count: int, draw: random.Random
) -> list[tuple[_T, float]]:
    """Half from each of what is not known yet, as far as there are so many, in an order that tells nothing.

    Each comes with its weight: how much more often its like occurs in both together than it was drawn.
    """
    strata = [rare, common]
    fresh = [[one for one in stratum if not is_known(one)] for stratum in strata]
    drawn = [draw.sample(stratum, size) for stratum, size in zip(fresh, _sizes(fresh, count), strict=True)]
    total, of = sum(map(len, drawn)), len(rare) + len(common)
    weighed = [
        (one, round(len(stratum) / of * total / len(part), 4))
        for stratum, part in zip(strata, drawn, strict=True)
        for one in part
    ]
    draw.shuffle(weighed)
    return weighed


def _sizes(strata: Sequence[Sequence[_T]], count: int) -> list[int]:
    """Half from each; where one has fewer, the other has more."""
    first, second = map(len, strata)
    of_second = min(second, max(count // 2, count - first))
    return [min(first, count - of_second), of_second]

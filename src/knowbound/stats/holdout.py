"""Comparison of turns with injected items and turns whose items were withheld at random.

The four metrics of specification 2 show whether injected items are used. Only a random comparison shows their effect.
Turns of one session are dependent: whole sessions are resampled.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from enum import StrEnum

import msgspec

from knowbound.stats.rate import middle_95

FEWEST_TURNS = 20  # on each side, before a difference says anything
_RESAMPLES = 2000


class TurnOutcome(StrEnum):
    """Compared count of a turn; lower is better."""

    STEPS = "steps"
    CALLS = "calls"
    FAILED_SEARCHES = "failed_searches"
    CORRECTIVE_CALLS = "corrective_calls"
    TOKENS = "tokens"


class ArmTurn(msgspec.Struct, frozen=True):
    """A turn of one side with its known outcomes."""

    session: str
    is_held_out: bool
    outcomes: dict[TurnOutcome, float]


class OutcomeDifference(msgspec.Struct, frozen=True):
    """One outcome: the means of both sides, and injected − held out with its interval."""

    outcome: TurnOutcome
    injected: float | None = None
    held_out: float | None = None
    value: float | None = None
    low: float | None = None  # None: not known yet
    high: float | None = None
    n_injected: int = 0
    n_held_out: int = 0
    more: int | None = None  # further turns like these that would decide; 0: decided; None: unknown

    @property
    def is_decided(self) -> bool:
        """Report whether the whole interval is on one side of 0."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high


class HoldoutComparison(msgspec.Struct, frozen=True):
    """Both sides, outcome by outcome."""

    injected: int  # turns
    held_out: int
    outcomes: tuple[OutcomeDifference, ...]
    sessions: int = 0

    @property
    def more_sessions(self) -> int | None:
        """Return about how many further sessions like these would decide an outcome; None if unknown."""
        needed = [one.more for one in self.outcomes if one.more]
        turns = self.injected + self.held_out
        return math.ceil(min(needed) * self.sessions / turns) if needed and turns else None


def compare_arms(turns: Iterable[ArmTurn]) -> HoldoutComparison:
    """Compare every outcome of both sides."""
    given = list(turns)
    held = sum(turn.is_held_out for turn in given)
    outcomes = tuple(_compared(given, outcome) for outcome in TurnOutcome)
    return HoldoutComparison(len(given) - held, held, outcomes, len({turn.session for turn in given}))


def _compared(turns: Sequence[ArmTurn], outcome: TurnOutcome) -> OutcomeDifference:
    known = [turn for turn in turns if outcome in turn.outcomes]
    sides = [[turn.outcomes[outcome] for turn in known if turn.is_held_out is held] for held in (False, True)]
    injected, held_out = (sum(side) / len(side) if side else None for side in sides)
    sizes = {"n_injected": len(sides[0]), "n_held_out": len(sides[1])}
    if injected is None or held_out is None:
        return OutcomeDifference(outcome, injected, held_out, **sizes)
    value = injected - held_out
    fewest = min(map(len, sides))
    if fewest < FEWEST_TURNS:
        missing = sum(max(0, FEWEST_TURNS - len(side)) for side in sides)
        return OutcomeDifference(outcome, injected, held_out, value, **sizes, more=missing)
    low, high = _interval(known, outcome, value)
    return OutcomeDifference(
        outcome, injected, held_out, value, low, high, **sizes, more=_more(value, low, high, known)
    )


def _interval(turns: Sequence[ArmTurn], outcome: TurnOutcome, value: float) -> tuple[float, float] | tuple[None, None]:
    """Return the 95% bootstrap interval over sessions; None with a single session or one side only."""
    sums: dict[str, list[float]] = {}  # session → sum and number of either side
    for turn in turns:
        one = sums.setdefault(turn.session, [0.0, 0, 0.0, 0])
        at = 2 * turn.is_held_out
        one[at] += turn.outcomes[outcome]
        one[at + 1] += 1
    if len(sums) < 2:
        return None, None
    draw = random.Random(f"{outcome}/{len(sums)}/{value}")
    clusters, found = list(sums.values()), []
    for _ in range(_RESAMPLES):
        total, n, other_total, other_n = map(sum, zip(*draw.choices(clusters, k=len(clusters)), strict=True))
        if n and other_n:  # a draw without one side is useless
            found.append(total / n - other_total / other_n)
    return middle_95(found) if found else (None, None)


def _more(value: float, low: float | None, high: float | None, turns: Sequence[ArmTurn]) -> int | None:
    """Return how many further turns of both sides the interval needs to exclude 0. It shrinks with their root."""
    if low is None or high is None or not value:
        return None
    if not low <= 0 <= high:
        return 0
    reach = value - low if value > 0 else high - value
    return max(1, round(len(turns) * (reach / abs(value)) ** 2) + 1 - len(turns))

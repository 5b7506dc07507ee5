"""What difference injecting makes, in words: held-out turns against injected ones."""

from __future__ import annotations

from collections.abc import Iterator

from knowbound.report.sections import Line, joined
from knowbound.report.words import counted
from knowbound.stats.holdout import HoldoutComparison, OutcomeDifference, TurnOutcome

_NAMES: dict[TurnOutcome, str] = {
    TurnOutcome.STEPS: "steps",
    TurnOutcome.FAILED_SEARCHES: "failed searches",
    TurnOutcome.CORRECTIVE_CALLS: "corrective calls",
    TurnOutcome.TOKENS: "tokens",
}


def holdout_rows(found: HoldoutComparison | None, *, is_whole: bool = False) -> Iterator[tuple[str, Line]]:
    """A row for the screen: what is decided, or what it takes; with `is_whole` one for every outcome."""
    if found is None:
        return
    sides = f"{counted(found.injected, 'turn')} with items, {found.held_out:,} held out"
    if is_whole:
        yield "Turns", sides
        for one in found.outcomes:
            yield _NAMES[one.outcome].capitalize(), f"{_means(one)} per turn; {_verdict(one)}"
        return
    decided = [f"{_NAMES[one.outcome]} {_verdict(one)}" for one in found.outcomes if one.is_decided]
    yield "Held out", joined((sides, *(decided or [_undecided(found)])))


def _undecided(found: HoldoutComparison) -> str:
    needed = [one.more for one in found.outcomes if one.more]
    return f"no difference can be told yet: {min(needed):,} turns more would" if needed else "no difference is seen"


def _means(one: OutcomeDifference) -> str:
    injected, held = ("unknown" if side is None else f"{side:,.1f}" for side in (one.injected, one.held_out))
    return f"{injected} with items, {held} without"


def _verdict(one: OutcomeDifference) -> str:
    if one.value is None:
        return "cannot be told: one side has no turn"
    if one.low is None or one.high is None:
        return "cannot be told yet" + (f": {one.more:,} turns more would" if one.more else "")
    shown = f"{_signed(one.value)} (95% {_signed(one.low)} to {_signed(one.high)})"
    if one.is_decided:
        return shown
    return f"{shown}, not decided" + (f": {one.more:,} turns more would" if one.more else "")


def _signed(value: float) -> str:
    return f"{value:+,.1f}".replace("-", "−")

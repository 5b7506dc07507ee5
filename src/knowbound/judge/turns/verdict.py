"""Protocol of a judge of turns (specification 2, "The judge")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from knowbound.core.quality import ItemVerdict, JudgedTurn


class TurnVerdicts(msgspec.Struct, frozen=True):
    """The verdicts on a turn's items, in order; or the problem."""

    verdicts: tuple[ItemVerdict, ...] = ()
    problem: str = ""  # not empty: the judge failed, and the turn can be judged again
    usd: float | None = 0.0  # None: unknown


class TurnJudge(Protocol):
    """Judges the items of turns: rules, a model, a recording of one."""

    @property
    def version(self) -> str:
        """Version that changes whenever a verdict may change."""

    @property
    def costs(self) -> bool:
        """True if a verdict costs money or a network call."""

    def judge(self, turns: Sequence[JudgedTurn]) -> list[TurnVerdicts]:
        """Return one answer per turn, in order, without raising for the content of a turn."""

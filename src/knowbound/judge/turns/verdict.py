"""The judge of turns: its protocol, and what it says where it has no verdict (specification 2, "The judge")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from knowbound.core.quality import ItemVerdict, JudgedTurn


class TurnVerdicts(msgspec.Struct, frozen=True):
    """The verdicts on a turn's items, in their order; or why there are none."""

    verdicts: tuple[ItemVerdict, ...] = ()
    problem: str = ""  # not empty: the judge failed, and the turn can be judged again
    usd: float | None = 0.0  # None: not known


class TurnJudge(Protocol):
    """Judges the items of turns: rules, a model, a recording of one."""

    @property
    def version(self) -> str:
        """Changes whenever a verdict may change."""

    @property
    def costs(self) -> bool:
        """Whether a verdict costs money or a network call."""

    def judge(self, turns: Sequence[JudgedTurn]) -> list[TurnVerdicts]:
        """One answer per turn, in their order. It never raises for what a turn holds."""

"""The judge of turns by its name (specification 2, "The judge")."""

from __future__ import annotations

from knowbound.config import Settings
from knowbound.judge.turns.verdict import TurnJudge


def turn_judge(settings: Settings) -> TurnJudge:
    """The configured judge."""
    from knowbound.judge.turns.rules import RulesTurnJudge  # noqa: PLC0415  # compiles its patterns

    return RulesTurnJudge()

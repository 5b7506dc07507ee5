"""What difference injecting makes: held-out turns against injected ones (setting `quality.holdout`)."""

from __future__ import annotations

from collections.abc import Iterable

from knowbound.core.quality_log import QualityTurn
from knowbound.injection.inject import HELD_OUT, INJECTED
from knowbound.stats.holdout import ArmTurn, HoldoutComparison, TurnOutcome, compare_arms


def holdout_comparison(turns: Iterable[QualityTurn]) -> HoldoutComparison | None:
    """Turns for which something was found while prompts were held out; None where none was.

    What agents then did is known from their traces: a turn without one is left out.
    """
    given = [_arm_turn(turn) for turn in turns if turn.arm in (HELD_OUT, INJECTED) and turn.trace]
    return compare_arms(given) if any(turn.is_held_out for turn in given) else None


def _arm_turn(turn: QualityTurn) -> ArmTurn:
    outcomes: dict[TurnOutcome, float] = {
        TurnOutcome.STEPS: turn.steps,
        TurnOutcome.FAILED_SEARCHES: turn.failed_searches,
        TurnOutcome.CORRECTIVE_CALLS: sum(bool(call.corrected) for call in turn.tool_calls),
    }
    if turn.turn_tokens is not None:
        outcomes[TurnOutcome.TOKENS] = turn.turn_tokens
    return ArmTurn(turn.session_id, turn.arm == HELD_OUT, outcomes)

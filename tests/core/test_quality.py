from __future__ import annotations

import pytest

from knowbound.core.quality import SuggestionAnswer, SuggestionDecision
from tests.quality.examples import item, turn


def test_a_turn_is_scored_unless_a_problem_is_left() -> None:
    assert turn(1).is_scored
    assert not turn(1, item(), problem="no model").is_scored


@pytest.mark.parametrize(
    ("kind", "closes"),
    [
        (SuggestionDecision.ACCEPTED, True),
        (SuggestionDecision.DISMISSED, True),
        (SuggestionDecision.UNDONE, False),
        (SuggestionDecision.FLAGGED, False),
        (SuggestionDecision.NONE, False),
    ],
)
def test_only_a_decision_closes_a_suggestion(kind: SuggestionDecision, closes: bool) -> None:
    assert SuggestionAnswer("r1", "k1", kind, "2026-11-16T10:00:00Z").closes is closes

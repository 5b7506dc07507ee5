from __future__ import annotations

import pytest

from knowbound.core.signal import Cost, Ending, HedgingVerdict, Signal, SignalType, Status, Topic


@pytest.mark.parametrize(("confidence", "has_failed"), [(0.0, True), (0.01, False), (1.0, False)])
def test_a_verdict_without_any_confidence_is_a_failed_one(confidence: float, has_failed: bool) -> None:
    assert HedgingVerdict(True, confidence, "").has_failed is has_failed


@pytest.mark.parametrize(
    ("type_", "weight"),
    [
        (SignalType.FAILED_SEARCH, 1.0),
        (SignalType.REPEATED_FAILURE, 1.0),
        (SignalType.EXPLICIT_MARKER, 0.5),
        (SignalType.HEDGING, 0.5),
    ],
)
def test_hard_evidence_weighs_twice_as_much_as_words(type_: SignalType, weight: float) -> None:
    assert Signal(type_, Status.OPEN, "s1", 1, "s1#1").weight == weight


@pytest.mark.parametrize(
    ("calls", "endings", "effort"),
    [
        (5, {"asked": 3}, 5),
        (0, {"asked": 1, "gave_up": 2, "went_on": 4}, 6),
        (0, {Ending.ASKED: 1}, 2),
        (0, {}, 0),
    ],
)
def test_questions_and_given_up_searches_count_as_two_calls_where_there_are_none(
    calls: int, endings: dict[str, int], effort: int
) -> None:
    assert Topic(cost=Cost(calls), endings=endings).effort == effort

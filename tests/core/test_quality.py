from __future__ import annotations

import pytest
from msgspec.structs import replace

from knowbound.core.quality import (
    ANSWER_DAYS,
    Counts,
    DayRollup,
    Discovery,
    Durations,
    ItemVerdict,
    JudgedCall,
    Metric,
    QualityScores,
    Spread,
    Suggestion,
    SuggestionAnswer,
    SuggestionDecision,
    Weights,
)
from knowbound.core.trace import Outcome, ToolCall, ToolKind
from tests.quality.examples import item, turn


def test_a_turn_is_scored_unless_a_problem_is_left() -> None:
    assert turn(1).is_scored
    assert not turn(1, item(), problem="no model").is_scored


def test_a_turn_has_the_id_of_its_session_and_its_own_and_the_day_of_its_prompt() -> None:
    one = turn(1, item("a"), time="2026-11-03T10:00:00Z")
    assert (one.id, one.date) == (f"{one.session_id}/{one.turn_id}", "2026-11-03")


def test_the_judge_is_asked_about_every_item_of_a_turn() -> None:
    asked = replace(turn(1, item("a")), pulled_items=(item("b"),), other_items=(item("c"),))
    assert [one.id for one in asked.items] == ["a", "b", "c"]


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
    answer = SuggestionAnswer("r1", "k1", kind, "2026-11-16T10:00:00Z")
    assert (answer.id, answer.closes) == ("r1", closes)


def suggestion(kind: SuggestionDecision | None = None) -> Suggestion:
    answer = SuggestionAnswer("r1", "k1", kind, "2026-11-16T10:00:00Z") if kind else None
    return Suggestion("k1", "", "", "", "", "", "2026-11-01", "s", "t", 1, False, "r1", answer=answer)


@pytest.mark.parametrize("kind", [None, *SuggestionDecision])
def test_a_suggestion_is_unanswered_until_an_answer_is_carried_out(kind: SuggestionDecision | None) -> None:
    assert suggestion(kind).is_unanswered is (kind in (None, SuggestionDecision.NONE))


@pytest.mark.parametrize(
    ("now", "is_due"),
    [("2026-11-14T23:59:59+00:00", False), ("2026-11-15T00:00:00+00:00", True), ("2026-11-16T00:00:00+00:00", True)],
)
def test_a_suggestion_is_due_after_exactly_fourteen_days(now: str, is_due: bool) -> None:
    assert ANSWER_DAYS == 14
    assert suggestion().is_due("2026-11-01T00:00:00+00:00", now) is is_due


def test_a_correction_is_known_by_its_item_and_the_time_it_was_raised() -> None:
    assert Discovery("k1", "2026-11-01T00:00:00Z", "s", "t").id == "k1@2026-11-01T00:00:00Z"


def test_a_call_of_a_trace_is_shown_to_the_judge_with_its_whole_output() -> None:
    call = ToolCall("c", "Grep", ToolKind.SEARCH, Outcome.EMPTY, input={"pattern": "x"}, output="No files found")
    assert JudgedCall.of(call) == JudgedCall("Grep", {"pattern": "x"}, "No files found", "empty")
    assert JudgedCall.of(ToolCall("c", "Grep", ToolKind.SEARCH, Outcome.OK)).input == {}


@pytest.mark.parametrize("metric", Metric)
def test_a_verdict_and_the_counts_are_asked_by_metric(metric: Metric) -> None:
    fields = {str(one): one is metric for one in Metric}
    on_topic, used, contradicted = fields.values()
    verdict = ItemVerdict("k1", on_topic, used, contradicted)
    assert [verdict.says(one) for one in Metric] == [one is metric for one in Metric]
    counts = Counts(9, **{name: 3 if is_it else 1 for name, is_it in fields.items()})
    assert [counts.of(one) for one in Metric] == [3 if one is metric else 1 for one in Metric]


def test_counts_and_the_sums_of_turns_add_field_by_field() -> None:
    assert Counts(1, 2, 3, 4, 5) + Counts(10, 20, 30, 40, 50) == Counts(11, 22, 33, 44, 55)
    one = Spread.of_turn(Counts(4, 3, 2, 1))
    assert one == Spread(
        1, 16, {"on_topic": 9, "used": 4, "contradicted": 1}, {"on_topic": 12, "used": 8, "contradicted": 4}
    )
    both = one + Spread.of_turn(Counts(1, 1, 0, 0))
    assert both == Spread(
        2, 17, {"on_topic": 10, "used": 4, "contradicted": 1}, {"on_topic": 13, "used": 8, "contradicted": 4}
    )


def test_days_add_name_by_name_and_keep_the_latest_times_and_the_first_date() -> None:
    first = DayRollup(
        "2026-11-01", made_at="2", newest="8", turns=3, prompts_with_items=1, by_item={"b": Counts(1), "a": Counts(2)},
        silenced={"a": 1}, scores={"a": QualityScores(0.5)}, gamma=0.3, scores_by_day=True,
    )  # fmt: skip
    second = DayRollup(
        "2026-11-02", made_at="3", newest="7", turns=4, prompts_with_items=2, by_item={"c": Counts(4), "a": Counts(8)},
        silenced={"c": 2}, scores={"a": QualityScores(0.6)},
    )  # fmt: skip
    total = first + second
    assert total == DayRollup(
        "2026-11-01", made_at="3", newest="8", turns=7, prompts_with_items=3,
        by_item={"a": Counts(10), "b": Counts(1), "c": Counts(4)}, silenced={"a": 1, "c": 2},
    )  # fmt: skip
    assert list(total.by_item) == ["a", "b", "c"]
    assert total.prompts_left_alone == 4


@pytest.mark.parametrize(
    ("ms", "limit"),
    [(0, 1), (1, 1), (1.05, 2), (2, 3), (10, 11), (100, 107), (106.7, 107), (107, 118), (150, 157), (1000, 1052)],
)
def test_a_duration_is_counted_below_the_next_limit(ms: float, limit: int) -> None:
    assert Durations.of(ms).buckets == {limit: 1}


def test_a_share_of_the_runs_ended_within_a_limit() -> None:
    runs = Durations({100: 5, 10: 14, 50: 1})
    assert runs.runs == 20
    assert [runs.at_most(share) for share in (0.0, 0.5, 0.7, 0.71, 0.75, 0.76, 1.0)] == [10, 10, 10, 50, 50, 100, 100]
    assert runs.at_most(1.1) is None
    assert Durations().at_most(0.5) is None


def test_averages_move_by_gamma_and_start_anew_with_another_wording() -> None:
    before = QualityScores(0.5, 0.2, last="2026-11-01", sha="a" * 20)
    after = before.after(1, 0, 0.25)
    assert (after.usage, after.contradiction) == pytest.approx((0.625, 0.15))
    assert (after.last, after.sha) == ("2026-11-01", "a" * 20)
    same = before.after(0, 1, 0.25, last="2026-11-02", sha="a" * 16 + "other")  # logs keep sixteen digits
    assert (same.usage, same.contradiction, same.last) == pytest.approx((0.375, 0.4, "2026-11-02"))
    anew = before.after(0, 1, 0.25, last="2026-11-02", sha="a" * 15 + "b" * 5)
    assert anew == QualityScores(0.0, 0.25, "2026-11-02", "a" * 15 + "b" * 5)
    assert QualityScores(0.5, 0.2).after(0, 0, 0.5, sha="b").usage == 0.25  # before, the wording was not noted


@pytest.mark.parametrize(
    ("scores", "factor"),
    [
        (QualityScores(), 1.0),
        (QualityScores(0.3), 1.15),
        (QualityScores(0.0, 0.3), 0.4),
        (QualityScores(0.0, 1.0), 0.0),
    ],
)
def test_the_factor_of_a_confidence_is_that_of_section_4_and_never_below_0(
    scores: QualityScores, factor: float
) -> None:
    assert scores.factor() == pytest.approx(factor)


def test_a_factor_follows_its_weights() -> None:
    assert QualityScores(0.5, 0.25).factor(Weights(1.0, 2.0, 0.3)) == 1.0

"""Runs of samples, their weights and rates; the state of the knowledge base; questions."""

from __future__ import annotations

import pytest

from knowbound.core.signal import Signal, SignalType, Status
from knowbound.stats.evaluation import (
    CompetencyQuestion,
    KnowledgeChange,
    Origin,
    QuestionSource,
    RunEnding,
    SampleRun,
    complete_runs,
    knowledge_change,
    sample_rate,
    sample_weight,
    total_usd,
)
from knowbound.stats.figures import RateKind
from knowbound.stats.rate import Rate
from tests.evaluation_examples import evaluation_of, sample_run
from tests.trend_examples import head


def signal(type_: SignalType, status: Status = Status.OPEN) -> Signal:
    return Signal(type_, status, "s1", 1, "s1#1")


HARD, SOFT = signal(SignalType.FAILED_SEARCH), signal(SignalType.HEDGING)
UNDECIDED, RESOLVED = signal(SignalType.HEDGING, Status.UNDECIDED), signal(SignalType.FAILED_SEARCH, Status.RESOLVED)


@pytest.mark.parametrize("ending", RunEnding)
def test_only_a_run_that_is_done_is_complete(ending: RunEnding) -> None:
    assert sample_run(1, ending=ending).is_complete is (ending is RunEnding.DONE)


@pytest.mark.parametrize(
    ("ending", "attempts", "cached", "was_left"),
    [
        (RunEnding.BUDGET, 0, False, True),
        (RunEnding.BUDGET, 1, False, False),
        (RunEnding.BUDGET, 0, True, False),
        (RunEnding.DONE, 0, False, False),
    ],
)
def test_a_run_that_never_began_was_left(ending: RunEnding, attempts: int, cached: bool, was_left: bool) -> None:
    assert sample_run(1, ending=ending, attempts=attempts, cached=cached).was_left is was_left


@pytest.mark.parametrize(
    ("signals", "raw", "upper", "certain"),
    [
        ([], 0.0, 0.0, 0.0),
        ([SOFT], 0.5, 0.5, 0.5),
        ([SOFT, HARD], 1.0, 1.0, 1.0),
        ([RESOLVED], 1.0, 0.0, 0.0),
        ([RESOLVED, UNDECIDED], 1.0, 0.5, 0.0),
    ],
)
def test_a_run_weighs_as_much_as_its_heaviest_signal(
    signals: list[Signal], raw: float, upper: float, certain: float
) -> None:
    run = sample_run(1, signals=signals)
    assert (run.has_gap, run.weight()) == (bool(signals), raw)
    assert (run.weight(RateKind.OPEN), run.weight(RateKind.OPEN, is_certain=True)) == (upper, certain)
    assert run.weight(RateKind.RAW, is_certain=True) == raw


@pytest.mark.parametrize(
    ("weights", "weight"),
    [("h", 1.0), ("h.", 1.0), ("h..", 0.0), ("hs.", 0.5), ("hs..", 0.5), ("s..", 0.0), ("hhss", 1.0)],
)
def test_a_sample_has_the_weight_that_at_least_half_of_its_runs_reach(weights: str, weight: float) -> None:
    signals = {"h": [HARD], "s": [SOFT], ".": []}
    assert sample_weight([sample_run(1, signals=signals[one]) for one in weights]) == weight


def test_a_sample_has_the_open_weight_of_its_kind() -> None:
    runs = [sample_run(1, signals=[RESOLVED, UNDECIDED])]
    assert sample_weight(runs, RateKind.OPEN) == 0.5
    assert sample_weight(runs, RateKind.OPEN, is_certain=True) == 0.0


def test_runs_are_grouped_by_sample_and_only_complete_ones_count() -> None:
    runs = [sample_run(2), sample_run(1), sample_run(2, repeat=2), sample_run(3, ending=RunEnding.TIMEOUT)]
    assert {sample: len(found) for sample, found in complete_runs(runs).items()} == {"s002": 2, "s001": 1}


def test_samples_of_one_session_are_one_cluster_of_the_rate() -> None:
    def samples(*runs: SampleRun) -> dict[str, list[SampleRun]]:
        return complete_runs(runs)

    apart = samples(*(sample_run(at, signals=[HARD] * (at < 2)) for at in range(4)))
    together = samples(*(sample_run(at, signals=[HARD] * (at < 2), session=f"s{at // 2}") for at in range(4)))
    assert sample_rate(apart) == Rate(2, 4)
    assert sample_rate(together) == Rate(2, 4, 4.0)  # sessions that agree are certain of nothing more
    undecided = samples(sample_run(1, signals=[UNDECIDED]))
    assert sample_rate(undecided, RateKind.OPEN) == Rate(1, 1)
    assert sample_rate(undecided, RateKind.OPEN, is_certain=True) == Rate(0, 1)
    assert (sample_run(1).cluster, sample_run(1, session="x").cluster) == ("sample s001", "session x")


def test_the_inventory_has_open_and_hard_signals_of_complete_runs_first() -> None:
    runs = [
        sample_run(1, signals=[UNDECIDED, RESOLVED, SOFT]),
        sample_run(2, signals=[HARD]),
        sample_run(3, signals=[HARD], ending=RunEnding.CRASHED),
    ]
    assert evaluation_of(runs).signals == [HARD, SOFT, RESOLVED, UNDECIDED]


def test_evaluations_of_one_series_have_the_test_set_and_the_way_of_counting_in_common() -> None:
    first = head(1, 3)
    assert head(2, 9, model="other").series == first.series
    for other in ({"sha256": "0" * 64}, {"origin": Origin.PROBED}, {"hedges": "x"}, {"as_specified": True}):
        assert head(1, 3, **other).series != first.series


def test_a_change_of_the_knowledge_names_added_removed_and_changed_files() -> None:
    before, after = {"a": "1", "b": "1", "d": "1", "c": "1"}, {"b": "2", "a": "1", "f": "1", "e": "1"}
    change = knowledge_change(before, after)
    assert change == KnowledgeChange(["e", "f"], ["c", "d"], ["b"])
    assert (bool(change), str(change)) == (True, "+2 −2 ~1")
    assert (bool(knowledge_change(before, before)), str(knowledge_change(before, before))) == (False, "unchanged")
    for one in (KnowledgeChange(["a"], [], []), KnowledgeChange([], ["a"], []), KnowledgeChange([], [], ["a"])):
        assert one


@pytest.mark.parametrize(
    ("parts", "total"), [([], None), ([None], None), ([None, 0.0], 0.0), ([0.5, None, 0.25], 0.75)]
)
def test_costs_that_are_not_known_are_left_out_of_the_sum(parts: list[float | None], total: float | None) -> None:
    assert total_usd(parts) == total


def test_a_question_is_known_by_its_words_and_names_its_place() -> None:
    one = CompetencyQuestion("What  does RETRY mean?", QuestionSource.STUB, "", "docs/a.md", 3)
    other = CompetencyQuestion("what does retry mean?", QuestionSource.MODEL, "", "docs/b.md", 0)
    assert one.id == other.id == "cq-e024b663bc"
    assert (one.place, other.place) == ("docs/a.md:3", "docs/b.md")

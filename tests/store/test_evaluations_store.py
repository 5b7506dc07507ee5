"""What `eval` keeps: finished evaluations, the journal of interrupted ones, identical runs."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from knowbound.stats.evaluation import Evaluation, Origin, RunEnding, SampleRun
from knowbound.stats.figures import Coverage, GapFigures, Watermark
from knowbound.stats.rate import Mean, Rate, Weighted
from knowbound.store.evaluations import Evaluations
from knowbound.store.observed import Observed


def evaluation(sha: str = "a" * 64, *, against: str = "", origin: Origin = Origin.WRITTEN, gaps: int = 1) -> Evaluation:
    return Evaluation(
        made="2026-11-01T10:00:00Z",
        watermark=Watermark("eval-samples.yaml", 4, sha[:8]),
        sha256=sha,
        origin=origin,
        executor="investigate",
        against=against,
        gap=GapFigures(Rate(gaps, 4), Weighted(gaps, 0, 4), Rate(gaps, 4), Rate(gaps, 4), {}, {}),
        coverage=Coverage(Rate(1, 2), ["docs/b.md"]),
        composite=Mean(),
        runs=[SampleRun("s1"), SampleRun("s2", ending=RunEnding.CRASHED, problem="exit status 1")],
    )


@pytest.fixture
def store(tmp_path: Path) -> Evaluations:
    return Evaluations(tmp_path)


def test_a_stored_evaluation_comes_back_whole_with_an_id(store: Evaluations) -> None:
    kept = store.keep(evaluation())
    assert kept.id == 1
    assert store.get(1) == kept
    assert store.get(2) is None


def test_heads_come_oldest_first_and_without_runs(store: Evaluations) -> None:
    for gaps in (3, 2, 1):
        store.keep(evaluation(gaps=gaps))
    assert [head.gap.rate.k for head in store.heads()] == [3, 2, 1]
    assert not hasattr(store.heads()[0], "runs")


def test_the_newest_of_an_origin_is_never_another_version(store: Evaluations) -> None:
    written = store.keep(evaluation())
    probed = store.keep(evaluation(origin=Origin.PROBED))
    both = store.keep(evaluation("b" * 64), evaluation(against="HEAD~1"))
    assert store.newest(Origin.PROBED) == probed
    assert store.newest(Origin.WRITTEN) == both
    assert both.compared_with == both.id - 1
    assert written.compared_with == 0


def test_what_goes_on_after_its_budget_replaces_its_part(store: Evaluations) -> None:
    journal = store.begin("key", "plan", "2026-11-01T10:00:00Z", 4)
    left_behind = store.begin("older key", "plan", "2026-11-01T09:00:00Z", 4)
    store.keep(evaluation(), evaluation(against="HEAD~1"), journal=journal, finished=False)
    assert store.unfinished("key", "plan") is not None
    whole = store.keep(evaluation(), evaluation(against="HEAD~1"), journal=journal)
    assert [head.id for head in store.heads()] == [whole.compared_with, whole.id]
    assert store.unfinished("key", "plan") is None
    assert left_behind


def test_an_evaluation_is_the_newest_run_until_something_is_observed(tmp_path: Path, store: Evaluations) -> None:
    observed = Observed(tmp_path)
    assert observed.newest_evaluation() is None
    kept = store.keep(evaluation())
    store.keep(evaluation(against="HEAD~1"))  # the other version is never the newest run,
    store.keep(evaluation(origin=Origin.PROBED))  # nor are competency questions
    assert observed.newest_evaluation() == kept.id
    observed.keep_run("investigation", "2026-11-01T10:00:01Z", "x", [], {})
    assert observed.newest_evaluation() == kept.id
    observed.keep_run("observe", "2026-11-01T10:00:02Z", "y", [], {})
    assert observed.newest_evaluation() is None


def test_evaluations_outlive_the_runs_that_make_room(tmp_path: Path, store: Evaluations) -> None:
    for _ in range(30):
        store.keep(evaluation())
    Observed(tmp_path).keep_run("observe", "2026-11-01T10:00:02Z", "y", [], {})
    assert len(store.heads()) == 30


def test_a_noted_run_is_never_noted_twice(store: Evaluations) -> None:
    journal = store.begin("key", "plan", "2026-11-01T10:00:00Z", 2)
    store.note(journal, "s1", SampleRun("s1", answer="first"))
    store.note(journal, "s1", SampleRun("s1", answer="second"))
    assert {task: run.answer for task, run in store.noted(journal).items()} == {"s1": "first"}


def test_an_interrupted_run_is_found_by_its_key_and_by_its_plan(store: Evaluations) -> None:
    assert store.unfinished("key", "plan") is None
    journal = store.begin("key", "plan", "2026-11-01T10:00:00Z", 3)
    store.note(journal, "s1", SampleRun("s1"))
    found = store.unfinished("key", "plan")
    assert found is not None
    assert (found.id, found.done, found.tasks, found.same_knowledge) == (journal, 1, 3, True)
    changed = store.unfinished("other key", "plan")
    assert changed is not None
    assert not changed.same_knowledge
    store.keep(evaluation(), journal=journal)
    assert store.unfinished("key", "plan") is None
    assert store.noted(journal) == {}


def test_runs_may_be_noted_from_many_threads(store: Evaluations) -> None:
    journal = store.begin("key", "plan", "2026-11-01T10:00:00Z", 80)

    def work(part: int) -> None:
        for number in range(20):
            store.note(journal, f"{part}-{number}", SampleRun(f"s{part}-{number}"))

    threads = [threading.Thread(target=work, args=(part,)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.noted(journal)) == 80


def test_a_kept_execution_of_another_shape_is_made_again(store: Evaluations) -> None:
    store.keep_execution("key", "2026-11-01T10:00:00Z", {"something": "else"})
    assert store.execution("key", SampleRun) is None
    assert store.execution("nothing", SampleRun) is None

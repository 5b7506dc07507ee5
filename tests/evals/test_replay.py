"""Recorded runs: the same answers, grades and gaps without an agent, and what is said where the recording is stale."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowbound.config import Settings
from knowbound.errors import InputError
from knowbound.evals.evaluate import EvalPlan
from knowbound.evals.executor import Execution, Task, executor_named
from knowbound.evals.runner import RunLimits
from knowbound.evals.samples.values import Assertion
from knowbound.stats.evaluation import RunEnding
from tests.evals.test_runner import Scripted, run, said, samples, settings

__all__ = ["settings"]

ASKED = Assertion(type="contains", value="ledger")


def answer(task: Task) -> Execution:
    return said(task, f"It is in the ledger of {task.sample}.", miss="old_ledger" if task.sample == "s2" else "")


def test_a_replay_has_the_answers_grades_and_gaps_of_the_recorded_runs(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    plan = EvalPlan(samples(3, assertions=(ASKED,)), repeat=2, record=file)
    first = run(settings, Scripted(answer), plan).evaluation
    assert str(settings.root) not in file.read_text()
    replay = executor_named(f"replay:{file}")
    again = run(settings, replay, EvalPlan(plan.set, repeat=2)).evaluation
    for one, other in zip(first.runs, again.runs, strict=True):
        assert (one.sample, one.repeat, one.answer, one.has_gap) == (
            other.sample,
            other.repeat,
            other.answer,
            other.has_gap,
        )
        assert [grade.passed for grade in one.grade.assertions] == [grade.passed for grade in other.grade.assertions]
    assert again.usd == 0.0


def test_a_run_of_another_prompt_or_of_no_sample_is_not_played(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    run(settings, Scripted(answer), EvalPlan(samples(1), record=file))
    replay = executor_named(f"replay:{file}")
    changed = EvalPlan(samples(2, context="Another context."), RunLimits(retries=0))
    done = run(settings, replay, changed).evaluation
    assert [one.ending for one in done.runs] == [RunEnding.CRASHED, RunEnding.CRASHED]
    assert "of another prompt" in done.runs[0].problem
    assert "no run of this sample" in done.runs[1].problem


@pytest.mark.parametrize("content", ["", "not json\n", None])
def test_a_file_without_recorded_runs_is_an_error(settings: Settings, tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "runs.jsonl"
    if content is not None:
        file.write_text(content)
    with pytest.raises(InputError) as caught:
        run(settings, executor_named(f"replay:{file}"), EvalPlan(samples(1)))
    assert caught.value.slug == "no-recording"

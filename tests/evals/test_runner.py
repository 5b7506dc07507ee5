"""Running a test set: order, limits, retries, budget, memory, and what leaves the denominators."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from knowbound.config import Settings
from knowbound.core.signal import Signal, SignalType, Status
from knowbound.errors import InputError
from knowbound.evals.evaluate import EvalPlan, Evaluated, evaluate
from knowbound.evals.executor import Execution, Executor, Task
from knowbound.evals.runner import RunLimits, RunProgress, jobs_of
from knowbound.evals.samples.values import Assertion, EvalSample, SampleSet
from knowbound.evals.variants import Version, current_version, read_variants
from knowbound.report.evals.evaluation import causes_words, held_out_words
from knowbound.stats.evaluation import Evaluation, RunEnding, SampleRun, sample_weight
from knowbound.stats.figures import SampleConfidence
from knowbound.stats.rate import Rate
from knowbound.store.evaluations import Evaluations

Answer = Callable[[Task], Execution]


class Scripted:
    """An executor that does what a test tells it, and remembers what it was asked."""

    name = "scripted"
    version = "1"
    injects = True
    reads_freely = False

    def __init__(self, answer: Answer, *, costs: bool = False) -> None:
        self._answer, self.costs, self.remembers = answer, costs, costs
        self.asked: list[str] = []
        self._lock = threading.Lock()

    def check(self) -> None:
        pass

    def run(self, task: Task) -> Execution:
        with self._lock:
            self.asked.append(task.sample)
        return self._answer(task)


def said(task: Task, text: str = "It is in the ledger.", *, miss: str = "", usd: float | None = 0.0) -> Execution:
    """A run whose trace holds an answer, and a search in vain where one is named."""
    messages: list[dict[str, object]] = [{"role": "user", "content": task.prompt}]
    if miss:
        function = {"name": "Grep", "arguments": json.dumps({"pattern": miss})}
        call = {"id": "c1", "type": "function", "function": function}
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "No matches found"},
        ]
    messages.append({"role": "assistant", "content": text})
    trace = task.output_dir / "trace.json"
    trace.write_text(json.dumps({"messages": messages}), "utf-8")
    return Execution(RunEnding.DONE, str(trace), text, usd=usd, seconds=0.5, model="m-1")


def samples(count: int, **given: object) -> SampleSet:
    made = tuple(
        EvalSample(id=f"s{number}", prompt=f"Question {number}?", file="eval-samples.json", **given)  # type: ignore[arg-type]
        for number in range(1, count + 1)
    )
    return SampleSet("eval-samples.json", made, f"{count:064x}")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    root = tmp_path / "base"
    (root / "docs").mkdir(parents=True)
    (root / "docs" / "ledger.md").write_text("# Ledger\n")
    (root / "docs" / "refunds.md").write_text("# Refunds\n")
    return Settings(root=root, home=tmp_path / "home")


def run(
    settings: Settings, executor: Executor, plan: EvalPlan, seen: Callable[[RunProgress], None] | None = None
) -> Evaluated:
    return evaluate(plan, settings, executor, progress=seen)


def by_sample(evaluation: Evaluation) -> dict[str, RunEnding]:
    return {run.sample: run.ending for run in evaluation.runs}


def test_samples_with_any_signal_make_the_gap_rate(settings: Settings) -> None:
    executor = Scripted(lambda task: said(task, miss="revenue_schema" if task.sample in ("s1", "s2") else ""))
    done = run(settings, executor, EvalPlan(samples(5))).evaluation
    assert (done.gap.rate.k, done.gap.rate.n) == (2, 5)
    assert done.gap.by_type["failed_search"] == 2
    assert [topic.query for topic in done.topics] == ["revenue_schema"]
    assert done.topics[0].samples == 2
    assert done.watermark.samples == 5
    assert sorted(executor.asked) == ["s1", "s2", "s3", "s4", "s5"]


def test_a_crashed_sample_leaves_both_denominators_and_is_shown(settings: Settings) -> None:
    def answer(task: Task) -> Execution:
        if task.sample == "s1":
            return Execution(RunEnding.CRASHED, problem="exit status 3")
        return said(task)

    done = run(settings, Scripted(answer), EvalPlan(samples(4), RunLimits(retries=0))).evaluation
    assert done.gap.rate.n == 3
    assert by_sample(done)["s1"] is RunEnding.CRASHED
    assert (done.runs_complete, done.runs_incomplete) == (3, 1)
    assert done.watermark.samples == 4  # the test set is what it is


def test_a_crashed_run_does_not_cover_what_it_read(settings: Settings) -> None:
    def answer(task: Task) -> Execution:
        function = {"name": "Read", "arguments": json.dumps({"file_path": f"docs/{name[task.sample]}.md"})}
        call = {"id": "c1", "type": "function", "function": function}
        messages = [
            {"role": "user", "content": "?"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "# Text"},
        ]
        if task.sample == "s1":  # the other trace ends in the middle: nobody answered
            messages.append({"role": "assistant", "content": "Done."})
        trace = task.output_dir / "trace.json"
        trace.write_text(json.dumps({"cwd": str(task.folder), "messages": messages[: 2 if task.sample == "s2" else 9]}))
        return Execution(RunEnding.DONE, str(trace))

    name = {"s1": "ledger", "s2": "refunds"}
    done = run(settings, Scripted(answer), EvalPlan(samples(2), RunLimits(retries=0))).evaluation
    assert by_sample(done) == {"s1": RunEnding.DONE, "s2": RunEnding.INCOMPLETE}
    assert (done.coverage.rate.k, done.coverage.rate.n) == (1, 2)
    assert done.coverage.uncovered == ["docs/refunds.md"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [("no trace at all", "no reader recognises"), ("", "no reader recognises"), (None, "cannot be read")],
)
def test_a_run_without_a_trace_is_incomplete(settings: Settings, content: str | None, problem: str) -> None:
    def answer(task: Task) -> Execution:
        trace = task.output_dir / "trace.json"
        if content is not None:
            trace.write_text(content)
        return Execution(RunEnding.DONE, str(trace), "words")

    done = run(settings, Scripted(answer), EvalPlan(samples(1), RunLimits(retries=0))).evaluation
    assert done.runs[0].ending is RunEnding.INCOMPLETE
    assert problem in done.runs[0].problem
    assert done.gap.rate.n == 0


def test_a_crash_is_tried_again_and_a_timeout_is_not(settings: Settings) -> None:
    tries: dict[str, int] = {}

    def answer(task: Task) -> Execution:
        tries[task.sample] = tries.get(task.sample, 0) + 1
        if task.sample == "s1" and tries["s1"] < 3:
            return Execution(RunEnding.CRASHED, problem="exit status 1", usd=0.25)
        if task.sample == "s2":
            return Execution(RunEnding.TIMEOUT, problem="longer than 1 s")
        return said(task, usd=0.5)

    done = run(settings, Scripted(answer), EvalPlan(samples(2), RunLimits(retries=2, concurrency=1))).evaluation
    first, second = done.runs
    assert (first.ending, first.attempts, first.usd) == (RunEnding.DONE, 3, 1.0)  # what failed was paid for too
    assert (second.ending, second.attempts) == (RunEnding.TIMEOUT, 1)


def test_an_executor_that_raises_is_a_crash_of_that_sample(settings: Settings) -> None:
    def answer(task: Task) -> Execution:
        if task.sample == "s2":
            raise RuntimeError("broken pipe")
        return said(task)

    done = run(settings, Scripted(answer), EvalPlan(samples(3), RunLimits(retries=0))).evaluation
    assert by_sample(done) == {"s1": RunEnding.DONE, "s2": RunEnding.CRASHED, "s3": RunEnding.DONE}
    assert "broken pipe" in done.runs[1].problem


def test_the_budget_stops_further_samples_and_resume_goes_on(settings: Settings) -> None:
    executor = Scripted(lambda task: said(task, usd=1.0), costs=True)
    first = run(settings, executor, EvalPlan(samples(4), RunLimits(usd=2.0, concurrency=1), cache=False))
    assert [one.ending for one in first.evaluation.runs] == [
        RunEnding.DONE,
        RunEnding.DONE,
        RunEnding.BUDGET,
        RunEnding.BUDGET,
    ]
    assert first.evaluation.gap.rate.n == 2
    assert "--resume" in first.notes[0]
    assert len(Evaluations(settings.home).heads()) == 1
    more = EvalPlan(samples(4), RunLimits(usd=9.0, concurrency=1), resume=True, cache=False)
    second = run(settings, executor, more).evaluation
    assert all(one.is_complete for one in second.runs)
    assert executor.asked == ["s1", "s2", "s3", "s4"]
    assert second.usd == 4.0
    assert [head.runs_complete for head in Evaluations(settings.home).heads()] == [4]  # the whole replaces the part


def test_a_sample_that_costs_too_much_leaves_the_rates(settings: Settings) -> None:
    executor = Scripted(lambda task: said(task, usd=3.0 if task.sample == "s1" else 0.1))
    done = run(settings, executor, EvalPlan(samples(2), RunLimits(sample_usd=1.0))).evaluation
    assert by_sample(done) == {"s1": RunEnding.BUDGET, "s2": RunEnding.DONE}
    assert done.usd == pytest.approx(3.1)


def test_an_unknown_cost_is_unknown(settings: Settings) -> None:
    done = run(settings, Scripted(lambda task: said(task, usd=None)), EvalPlan(samples(2))).evaluation
    assert done.usd is None
    assert "The cost of 2 of 2 runs is unknown" in done.warnings[0]


def test_an_identical_run_is_taken_from_memory(settings: Settings) -> None:
    executor = Scripted(lambda task: said(task, miss="revenue_schema", usd=1.0), costs=True)
    first = run(settings, executor, EvalPlan(samples(2))).evaluation
    again = run(settings, executor, EvalPlan(samples(2))).evaluation
    assert sorted(executor.asked) == ["s1", "s2"]
    assert [one.cached for one in again.runs] == [True, True]
    assert again.usd == 0.0
    assert again.gap.rate == first.gap.rate
    (settings.root / "docs" / "ledger.md").write_text("# Ledger\nchanged\n")
    run(settings, executor, EvalPlan(samples(2)))
    assert sorted(executor.asked) == ["s1", "s1", "s2", "s2"]


@pytest.mark.parametrize(("costs", "cache"), [(False, None), (True, False)])
def test_memory_is_not_used_where_it_is_not_wanted(settings: Settings, costs: bool, cache: bool | None) -> None:
    executor = Scripted(said, costs=costs)
    for _ in range(2):
        run(settings, executor, EvalPlan(samples(1), cache=cache))
    assert executor.asked == ["s1", "s1"]


def test_a_rate_counts_samples_however_often_they_ran_and_its_tier_stays(settings: Settings) -> None:
    def missing(task: Task) -> Execution:
        return said(task, miss="x_schema" if task.sample in ("s1", "s2") else "")

    once, again = (run(settings, Scripted(missing), EvalPlan(samples(5), repeat=n)).evaluation for n in (1, 3))
    assert again.gap.rate == once.gap.rate == Rate(2, 5)
    assert again.gap.weighted == once.gap.weighted
    assert (again.gap.open, again.gap.open_weighted) == (once.gap.open, once.gap.open_weighted)
    assert again.gap.confidence is once.gap.confidence is SampleConfidence.LOW
    assert (again.runs_complete, again.watermark.samples) == (15, 5)


@pytest.mark.parametrize(("missing", "k"), [((), 0), ((2,), 0), ((1, 3), 1), ((1, 2, 3), 1)])
def test_a_sample_has_a_gap_where_at_least_half_of_its_runs_have_one(
    settings: Settings, missing: tuple[int, ...], k: int
) -> None:
    asked = itertools.count(1)
    executor = Scripted(lambda task: said(task, miss="x_schema" if next(asked) in missing else ""))
    plan = EvalPlan(samples(1), RunLimits(concurrency=1), repeat=3)
    assert run(settings, executor, plan).evaluation.gap.rate == Rate(k, 1)


@given(st.lists(st.sampled_from(["", "failed_search", "hedging"]), min_size=1, max_size=6))
def test_a_sample_weighs_what_at_least_half_of_its_runs_weigh(types: list[str]) -> None:
    signals = [[Signal(SignalType(type_), Status.OPEN, "s", 1, "s1")] if type_ else [] for type_ in types]
    runs = [SampleRun("s1", repeat=at, signals=own) for at, own in enumerate(signals, 1)]
    weight = sample_weight(runs)
    assert sum(run.weight() >= weight for run in runs) * 2 >= len(runs)
    assert sum(run.weight() > weight for run in runs) * 2 < len(runs)


def test_samples_of_one_session_are_a_cluster(settings: Settings) -> None:
    executor = Scripted(lambda task: said(task, miss="x_schema"))
    alone = run(settings, executor, EvalPlan(samples(6))).evaluation.gap.rate
    together = run(settings, executor, EvalPlan(samples(6, session="monday"))).evaluation.gap.rate
    assert alone.interval is not None
    assert together.interval is not None
    assert together.interval[0] < alone.interval[0]


def test_versions_take_turns(settings: Settings) -> None:
    one, two = (
        current_version(settings.root, ()),
        Version("old", settings.root, current_version(settings.root, ()).commit, settings.root),
    )
    order = [job.version.name for job in jobs_of(samples(4).samples, [one, two], 1)]
    assert order == ["", "old", "old", "", "", "old", "old", ""]


def test_two_versions_are_run_on_their_own_files(settings: Settings, tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.mkdir()
    (old / "only-old.md").write_text("# Old\n")
    folders: dict[Path, list[str]] = {}

    def answer(task: Task) -> Execution:
        folders.setdefault(task.folder, []).append(task.sample)
        seen = sorted(path.name for path in task.folder.rglob("*.md"))
        (task.folder / "written.md").write_text("by the agent")
        return said(task, miss="" if "only-old.md" in seen else "old_thing")

    done = run(
        settings, Scripted(answer), EvalPlan(samples(3), RunLimits(concurrency=1), variants=read_variants((), str(old)))
    )
    assert done.other is not None
    assert len(folders) == 2
    assert all(sorted(asked) == ["s1", "s2", "s3"] for asked in folders.values())
    assert settings.root not in folders
    assert old not in folders
    assert (done.evaluation.gap.rate.k, done.other.gap.rate.k) == (3, 0)
    assert done.evaluation.compared_with == done.other.id
    assert sorted(path.name for path in old.iterdir()) == ["only-old.md"]
    assert not any(folder.exists() for folder in folders)  # the copies are gone


def test_what_lies_in_the_place_of_a_new_run_is_of_another_one(settings: Settings) -> None:
    run(settings, Scripted(said), EvalPlan(samples(1)))
    for path in settings.home.glob("knowbound.db*"):
        path.unlink()
    (settings.home / "evals" / "1" / "v0" / "0000-1" / "1" / "left.txt").write_text("of the run before")
    run(settings, Scripted(said), EvalPlan(samples(1)))
    assert not (settings.home / "evals" / "1" / "v0" / "0000-1" / "1" / "left.txt").exists()


def test_an_identical_run_covers_what_it_covered(settings: Settings) -> None:
    def answer(task: Task) -> Execution:
        function = {"name": "Read", "arguments": json.dumps({"file_path": str(task.folder / "docs" / "ledger.md")})}
        messages = [
            {"role": "user", "content": "?"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c", "type": "function", "function": function}],
            },
            {"role": "tool", "tool_call_id": "c", "content": "# Ledger"},
            {"role": "assistant", "content": "Done."},
        ]
        trace = task.output_dir / "trace.json"
        trace.write_text(json.dumps({"messages": messages}))
        return Execution(RunEnding.DONE, str(trace))

    (settings.root / "eval-samples.json").write_text("the answers")
    set_ = SampleSet(str(settings.root / "eval-samples.json"), samples(1).samples, "f" * 64)
    executor = Scripted(answer, costs=True)
    executor.reads_freely = True  # then each run has a copy of its own, at another place
    first, again = (run(settings, executor, EvalPlan(set_)).evaluation for _ in range(2))
    assert again.runs[0].cached
    assert first.runs[0].reached == again.runs[0].reached == ["docs/ledger.md"]


def test_an_agent_that_reads_freely_never_sees_the_test_set(settings: Settings) -> None:
    test_set = settings.root / "eval-samples.json"
    test_set.write_text("the answers")
    seen: list[tuple[bool, bool]] = []

    def answer(task: Task) -> Execution:
        seen.append(((task.folder / "eval-samples.json").exists(), (task.folder / "docs" / "ledger.md").exists()))
        return said(task)

    executor = Scripted(answer)
    executor.reads_freely = True
    hides = SampleSet(str(test_set), samples(1).samples, "f" * 64)
    run(settings, executor, EvalPlan(hides))
    run(settings, executor, EvalPlan(hides, in_place=True))
    assert seen == [(False, True), (True, True)]
    assert test_set.read_text() == "the answers"


def test_an_interrupted_run_goes_on_where_it_was(settings: Settings) -> None:
    class StopError(BaseException):
        pass

    def answer(task: Task) -> Execution:
        if task.sample == "s3" and not resumed:
            raise StopError
        return said(task)

    resumed = False
    executor = Scripted(answer)
    with pytest.raises(StopError):
        run(settings, executor, EvalPlan(samples(5), RunLimits(concurrency=1)))
    resumed = True
    done = run(settings, executor, EvalPlan(samples(5), RunLimits(concurrency=1), resume=True))
    assert executor.asked == ["s1", "s2", "s3", "s3", "s4", "s5"]  # s3 had not ended
    assert [one.sample for one in done.evaluation.runs] == ["s1", "s2", "s3", "s4", "s5"]
    assert done.notes == ["Resumed: 2 of 5 runs were done already."]
    assert "Nothing to resume" in run(settings, executor, EvalPlan(samples(5), resume=True)).notes[0]


def test_half_a_run_on_other_knowledge_is_not_resumed(settings: Settings) -> None:
    store = Evaluations(settings.home)

    def answer(task: Task) -> Execution:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(settings, Scripted(answer), EvalPlan(samples(2), RunLimits(concurrency=1)))
    (settings.root / "docs" / "ledger.md").write_text("# Ledger\nchanged\n")
    with pytest.raises(InputError, match="changed since"):
        run(settings, Scripted(said), EvalPlan(samples(2), resume=True))
    assert store.heads() == []


def test_progress_counts_what_is_done(settings: Settings) -> None:
    seen: list[RunProgress] = []
    executor = Scripted(lambda task: said(task, miss="x_schema" if task.sample == "s1" else "", usd=0.5))
    run(settings, executor, EvalPlan(samples(3), RunLimits(concurrency=1)), seen.append)
    assert [one.done for one in seen] == [0, 1, 2, 3]
    assert (seen[-1].gaps, seen[-1].total, seen[-1].usd) == (1, 3, 1.5)


def test_samples_run_at_once(settings: Settings) -> None:
    together = threading.Barrier(4, timeout=30)

    def answer(task: Task) -> Execution:
        together.wait()  # only passes when four are running
        return said(task)

    done = run(settings, Scripted(answer), EvalPlan(samples(8), RunLimits(concurrency=4))).evaluation
    assert done.runs_complete == 8


def test_answers_are_graded(settings: Settings) -> None:
    asserted = (Assertion(type="contains", value="ledger"), Assertion(type="contains", value="nowhere"))
    done = run(settings, Scripted(said), EvalPlan(samples(2, assertions=asserted))).evaluation
    assert done.runs[0].grade.composite == 3.0
    assert done.composite.value == 3.0


def test_secrets_of_an_answer_are_not_stored(settings: Settings) -> None:
    key = "sk-ant-api03-" + "a1B2" * 20
    run(settings, Scripted(lambda task: said(task, f"The key is {key}.")), EvalPlan(samples(1)))
    stored = Evaluations(settings.home).get(1)
    assert stored is not None
    assert key not in stored.runs[0].answer
    assert "The key is" in stored.runs[0].answer


def test_an_identical_run_is_graded_by_what_it_took_then(settings: Settings) -> None:
    limits = (Assertion(type="latency_max", value=100.0), Assertion(type="cost_max", value=0.1))
    executor = Scripted(lambda task: said(task, usd=1.0), costs=True)
    first = run(settings, executor, EvalPlan(samples(1, assertions=limits))).evaluation
    again = run(settings, executor, EvalPlan(samples(1, assertions=limits))).evaluation
    assert again.runs[0].cached
    assert again.runs[0].grade == first.runs[0].grade
    assert (again.usd, again.runs[0].seconds) == (0.0, 0.0)  # nothing was spent this time
    dear = run(settings, executor, EvalPlan(samples(1, assertions=limits), RunLimits(sample_usd=0.5))).evaluation
    assert dear.runs[0].ending is RunEnding.BUDGET


def test_a_sample_works_in_its_own_folder_and_covers_the_knowledge_base(settings: Settings) -> None:
    def answer(task: Task) -> Execution:
        function = {"name": "Read", "arguments": json.dumps({"file_path": "ledger.md"})}
        messages = [
            {"role": "user", "content": "?"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c", "type": "function", "function": function}],
            },
            {"role": "tool", "tool_call_id": "c", "content": "# Ledger"},
            {"role": "assistant", "content": "Done."},
        ]
        trace = task.output_dir / "trace.json"
        trace.write_text(json.dumps({"messages": messages}))
        assert task.folder == settings.root / "docs"
        return Execution(RunEnding.DONE, str(trace))

    here = EvalSample(id="s1", prompt="Where?", file=str(settings.root / "eval-samples.json"), cwd="docs")
    done = run(settings, Scripted(answer), EvalPlan(SampleSet("eval-samples.json", (here,), "a" * 64))).evaluation
    assert done.runs[0].reached == ["docs/ledger.md"]
    assert done.coverage.uncovered == ["docs/refunds.md"]


def test_a_folder_that_is_not_there_is_no_gap(settings: Settings) -> None:
    gone = EvalSample(id="s1", prompt="Where?", file="eval-samples.json", cwd="../nowhere")
    executor = Scripted(said)
    done = run(settings, executor, EvalPlan(SampleSet("x.json", (gone,), "a" * 64), RunLimits(retries=0))).evaluation
    assert done.runs[0].ending is RunEnding.CRASHED
    assert executor.asked == []
    assert done.coverage.rate.n == 0  # unknown, as the gap rate is


def test_a_call_without_a_result_makes_a_trace_incomplete(settings: Settings) -> None:
    def answer(task: Task) -> Execution:
        function = {"name": "Grep", "arguments": json.dumps({"pattern": "x"})}
        messages = [
            {"role": "user", "content": "?"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c", "type": "function", "function": function}],
            },
            {"role": "assistant", "content": "Done."},
        ]
        trace = task.output_dir / "trace.json"
        trace.write_text(json.dumps({"messages": messages}))
        return Execution(RunEnding.DONE, str(trace))

    done = run(settings, Scripted(answer), EvalPlan(samples(1), RunLimits(retries=0))).evaluation
    assert done.runs[0].ending is RunEnding.INCOMPLETE


def test_the_test_set_is_hidden_under_every_name(settings: Settings) -> None:
    (settings.root / "real").mkdir()
    (settings.root / "real" / "set.json").write_text("the answers")
    (settings.root / "eval-samples.json").symlink_to(settings.root / "real" / "set.json")
    (settings.root / "copy-of-it.txt").write_text("the answers")
    (settings.root / "eval-samples.draft.yaml").write_text("more answers")
    seen: list[str] = []

    def answer(task: Task) -> Execution:
        seen.extend(path.name for path in task.folder.rglob("*") if path.is_file())
        return said(task)

    executor = Scripted(answer)
    executor.reads_freely = True
    run(settings, executor, EvalPlan(SampleSet(str(settings.root / "eval-samples.json"), samples(1).samples, "f" * 64)))
    assert sorted(seen) == ["ledger.md", "refunds.md"]


def test_a_run_that_says_nothing_of_the_knowledge_warns(settings: Settings) -> None:
    asserted = (Assertion(type="contains", value="nowhere"),)
    warnings = run(settings, Scripted(said), EvalPlan(samples(2, assertions=asserted))).evaluation.warnings
    assert any("No run used a tool" in warning for warning in warnings)
    assert any("Every assertion" in warning for warning in warnings)


def test_of_samples_that_are_held_out_no_cause_is_named(settings: Settings) -> None:
    test_set = samples(10)
    held = test_set.held_out(0.3)
    assert len(held) == 3
    assert test_set.held_out(0.3) == held
    plan = EvalPlan(test_set, RunLimits(concurrency=1), holdout=0.3)
    made = run(settings, Scripted(lambda task: said(task, miss="thing")), plan).evaluation
    assert made.held_out == held
    assert {one.sample for one in made.causes} == {one.id for one in test_set.samples} - {*held}
    assert causes_words(made).endswith("7 undecided; those held out are not looked at.")
    words = held_out_words(made)
    assert words.startswith("Held out: 0 of 3 samples answered, 0 of 7 others (0 points")
    assert words.endswith("they cannot be distinguished.")


def test_samples_of_one_session_are_held_out_together() -> None:
    base = samples(1).samples[0]
    several = tuple(replace(base, id=f"s{at}", session=f"t{at // 3}") for at in range(9))
    held = SampleSet("eval-samples.json", several, "0" * 64).held_out(0.2)
    assert len(held) == 3
    assert len({one.session for one in several if one.id in held}) == 1

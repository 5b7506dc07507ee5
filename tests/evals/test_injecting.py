"""Evaluations with and without injection: what is run, what is kept apart, and what cannot be."""

from __future__ import annotations

import pytest

from knowbound.config import Settings
from knowbound.core.signal import InjectedText
from knowbound.errors import InputError
from knowbound.evals.evaluate import EvalPlan
from knowbound.evals.executor import Execution, Task
from knowbound.evals.history import baseline_of, compared_of
from knowbound.evals.runner import RunLimits
from knowbound.evals.samples.values import Assertion
from knowbound.evals.variants import items_state, read_variants
from knowbound.kms.backends.sqlite import SqliteBackend
from knowbound.kms.index.database import Index
from knowbound.kms.knowledge_store import KnowledgeStore
from knowbound.kms.validation import NewItem
from tests.evals.test_runner import Scripted, run, said, samples, settings

__all__ = ["settings"]

KNOWS = InjectedText("hook:UserPromptSubmit", "", "It is in the ledger.", 20, 3, "k1")
ASKED = Assertion(type="contains", value="ledger")
ONE_BY_ONE = RunLimits(concurrency=1)


def add(settings: Settings, content: str) -> None:
    store = KnowledgeStore([SqliteBackend(settings.home)], Index(settings.home), by="test")
    store.add(NewItem(content=content))
    store.close()


def answer(task: Task) -> Execution:
    """An agent that knows what it is given, and searches in vain where it is given nothing."""
    if not task.inject:
        return said(task, "I do not know.", miss="ledger_place", usd=0.5)
    done = said(task, usd=0.75)
    return Execution(done.ending, done.trace, done.answer, usd=done.usd, seconds=0.5, injected=(KNOWS,))


def both(count: int = 3, inject: str = "both", resume: bool = False) -> EvalPlan:
    return EvalPlan(
        samples(count, assertions=(ASKED,)), ONE_BY_ONE, variants=read_variants((), "", inject), resume=resume
    )


def test_both_runs_every_sample_with_and_without_in_turns_and_compares(settings: Settings) -> None:
    add(settings, "The port is in the ledger.")
    asked: list[tuple[str, bool]] = []

    def noted(task: Task) -> Execution:
        asked.append((task.sample, task.inject))
        return answer(task)

    done = run(settings, Scripted(noted), both(8))
    assert sorted(asked) == [(f"s{number}", inject) for number in range(1, 9) for inject in (False, True)]
    assert len({inject for _, inject in asked[::2]}) == 2, "who is first changes"
    assert done.other is not None
    assert (done.evaluation.inject, done.other.inject, done.other.against) == (
        True,
        False,
        "without injection",
    )
    assert all(one.injected == [KNOWS] for one in done.evaluation.runs)
    assert not any(one.injected for one in done.other.runs)
    found = compared_of(settings, done.evaluation)
    assert found is not None
    assert (found.answered.fixed, found.answered.n, found.pairs.fixed) == (8, 8, 8)
    assert (found.verdict, found.names, found.usd.value) == ("better", ("without injection", "with injection"), 0.25)
    assert (found.served.k, found.served.n) == (8, 8)


def test_a_rise_is_measured_against_runs_of_the_same_kind(settings: Settings) -> None:
    add(settings, "The port is in the ledger.")
    plain = run(settings, Scripted(answer), both(inject="off")).evaluation
    injected = run(settings, Scripted(answer), both(inject="on")).evaluation
    again = run(settings, Scripted(answer), both(inject="off")).evaluation
    assert baseline_of(settings, injected) is None
    before = baseline_of(settings, again)
    assert before is not None
    assert before.id == plain.id
    done = run(settings, Scripted(answer), both())
    beside = baseline_of(settings, done.evaluation)
    assert beside is not None
    assert done.other is not None
    assert beside.id == done.other.id


def test_an_identical_run_is_one_with_the_same_items(settings: Settings) -> None:
    add(settings, "The port is in the ledger.")
    executor = Scripted(answer, costs=True)
    run(settings, executor, both(1))
    assert executor.asked == ["s1", "s1"]
    run(settings, executor, both(1))
    assert executor.asked == ["s1", "s1"], "both sides are remembered, each as its own"
    add(settings, "Refunds are in the ledger, too.")
    again = run(settings, executor, both(1))
    assert executor.asked == ["s1", "s1", "s1"], "only the side that other items reach is run again"
    assert again.other is not None
    assert [one.cached for one in (*again.evaluation.runs, *again.other.runs)] == [False, True]


def test_half_a_run_with_other_items_is_not_resumed(settings: Settings) -> None:
    add(settings, "The port is in the ledger.")

    def interrupted(task: Task) -> Execution:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(settings, Scripted(interrupted), both())
    add(settings, "Refunds are in the ledger, too.")
    with pytest.raises(InputError, match="changed since"):
        run(settings, Scripted(answer), both(resume=True))


def test_the_state_of_the_items_changes_with_them(settings: Settings) -> None:
    assert items_state(settings.home) == ""
    states = []
    for content in ("The port is in the ledger.", "Refunds are in the ledger, too."):
        add(settings, content)
        states.append(items_state(settings.home))
    assert len({"", *states}) == 3


def test_what_cannot_inject_says_so_before_anything_runs(settings: Settings) -> None:
    executor = Scripted(answer)
    executor.injects = False
    with pytest.raises(InputError) as caught:
        run(settings, executor, both())
    assert caught.value.slug == "no-injection"
    executor.injects = True
    with pytest.raises(InputError) as caught:
        run(settings, executor, both(inject="on"))
    assert caught.value.slug == "nothing-to-inject"
    add(settings, "The port is in the ledger.")
    with pytest.raises(InputError) as caught:
        read_variants((), "HEAD~1", "both")
    assert caught.value.slug == "two-comparisons"
    assert executor.asked == []

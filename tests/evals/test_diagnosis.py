"""Causes of failed samples: what rules show, what a model proposes, and which of that is believed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from knowbound.evals.assertions import ToolUse
from knowbound.evals.diagnosis import FailedRun, diagnose, failed_runs
from knowbound.evals.samples.values import Assertion, EvalSample
from knowbound.judge.models.asking import Asker
from knowbound.judge.models.completion import Completion, ModelQuestion
from knowbound.judge.names import JudgeOptions
from knowbound.stats.evaluation import AssertionGrade, Cause, Grade, RunEnding, SampleCause, SampleRun

PURGE = "Archived projects are purged after 45 days."
OTHER = "Projects in the archive are kept for 90 days."


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    (tmp_path / "archive.md").write_text(f"# Archive\n\n## Purging\n\n{PURGE}\n")
    (tmp_path / "faq.md").write_text(f"# Questions\n\n## How long are projects kept?\n\n{OTHER}\n")
    (tmp_path / "refunds.md").write_text("# Refunds\n\nA refund above 500 EUR needs two approvals.\n")
    return tmp_path


def failed(
    asked: str, wanted: str, answer: str = "I do not know.", outputs: tuple[str, ...] = (), **more: object
) -> FailedRun:
    sample = EvalSample(id="s1", prompt=asked, assertions=(Assertion(type="contains", value=wanted),), **more)  # type: ignore[arg-type]
    grade = Grade(assertions=(AssertionGrade("contains", wanted, passed=False, reason="not found"),))
    run = SampleRun("s1", answer=answer, grade=grade)
    return FailedRun(sample, run, answer, tuple(ToolUse("Read", "{}", one, "read") for one in outputs))


class Model:
    def __init__(self, answer: Callable[[ModelQuestion], dict[str, object]]) -> None:
        self._answer = answer

    def complete(self, question: ModelQuestion, *, seconds: float) -> Completion:
        return Completion(json.dumps(self._answer(question)), 0, 0, 0.0)


def caused(
    docs: Path, one: FailedRun, answer: Callable[[ModelQuestion], dict[str, object]] | None = None
) -> SampleCause:
    asker = Asker("a-model", Model(answer), JudgeOptions(retries=1)) if answer is not None else None
    return diagnose([one], docs, ["archive.md", "faq.md", "refunds.md"], asker)[0]


# Rules alone


@pytest.mark.parametrize("ending", [RunEnding.CRASHED, RunEnding.TIMEOUT, RunEnding.BUDGET, RunEnding.INCOMPLETE])
def test_a_run_that_did_not_end_well_is_the_agents_failure(docs: Path, ending: RunEnding) -> None:
    one = failed("How long?", "45 days")
    found = caused(docs, one._replace(run=SampleRun("s1", ending=ending, problem="it broke")))
    assert (found.cause, found.why) == (Cause.AGENT_FAILED, "it broke")
    assert found.fix


def test_words_that_tools_returned_were_found_and_not_used(docs: Path) -> None:
    found = caused(docs, failed("How long are archived projects kept?", "45 days", outputs=(PURGE,)))
    assert (found.cause, found.path, found.line) == (Cause.NOT_USED, "archive.md", 5)


def test_words_that_no_tool_returned_are_there_and_not_found(docs: Path) -> None:
    found = caused(docs, failed("How long are archived projects kept?", "45 Days", outputs=(OTHER,)))
    assert (found.cause, found.path, found.line, found.quote) == (Cause.NOT_FOUND, "archive.md", 5, "45 Days")


def test_words_in_no_file_are_missing_and_rules_say_that_others_may_be_there(docs: Path) -> None:
    found = caused(docs, failed("Who owns the ledger?", "the finance team"))
    assert found.cause is Cause.MISSING
    assert "other words may be" in found.why


@pytest.mark.parametrize("wanted", ["45", "90"])
def test_a_short_number_shows_nothing(docs: Path, wanted: str) -> None:
    assert caused(docs, failed("How long?", wanted)).cause is Cause.UNDECIDED


# With a model


def passage(question: ModelQuestion, text: str) -> int:
    """The number of the passage with a text in the material."""
    shown = question.inputs["passages"].split("\n\n[")
    return next(number for number, one in enumerate(shown, 1) if text in one)


def test_what_is_there_was_read_or_not_by_the_trace_and_not_by_the_model(docs: Path) -> None:
    def there(question: ModelQuestion) -> dict[str, object]:
        return {"cause": "there", "passage": passage(question, PURGE), "quote": PURGE, "why": "it says purged"}

    asked = ("When does an archived project go away for good?", "45 days")
    unread = caused(docs, failed(*asked, outputs=("No matches found",)), there)
    assert not unread.problem
    assert (unread.cause, unread.path, unread.line, unread.by) == (Cause.NOT_FOUND, "archive.md", 5, "a-model")
    assert caused(docs, failed(*asked, outputs=(f"5\t{PURGE}",)), there).cause is Cause.NOT_USED


def test_a_contradiction_needs_two_quotations(docs: Path) -> None:
    def against(question: ModelQuestion) -> dict[str, object]:
        both = (passage(question, PURGE), passage(question, OTHER))
        return {
            "cause": "contradicted", "passage": both[0], "quote": PURGE, "other": both[1], "other_quote": OTHER,
        }  # fmt: skip

    found = caused(docs, failed("How long are archived projects kept?", "45 days", "90 days."), against)
    assert (found.cause, found.path, found.other_path, found.other_line) == (
        Cause.CONTRADICTED,
        "archive.md",
        "faq.md",
        5,
    )

    def alone(question: ModelQuestion) -> dict[str, object]:
        return {"cause": "contradicted", "passage": passage(question, PURGE), "quote": PURGE}

    left = caused(docs, failed("How long are archived projects kept?", "45 days", "90 days."), alone)
    assert (left.cause, left.by) == (Cause.NOT_FOUND, "rules")
    assert "second quotation" in left.problem


def test_an_invented_quotation_leaves_what_rules_show(docs: Path) -> None:
    def invented(_question: ModelQuestion) -> dict[str, object]:
        return {"cause": "sample_bad", "passage": 1, "quote": "Projects are never purged."}

    found = caused(docs, failed("How long are archived projects kept?", "45 days"), invented)
    assert (found.cause, found.by) == (Cause.NOT_FOUND, "rules")
    assert "not in the passage" in found.problem


def test_a_model_is_not_asked_about_a_crash(docs: Path) -> None:
    def never(_question: ModelQuestion) -> dict[str, object]:
        raise AssertionError

    one = failed("How long?", "45 days")
    crashed = one._replace(run=SampleRun("s1", ending=RunEnding.CRASHED))
    assert caused(docs, crashed, never).cause is Cause.AGENT_FAILED


def test_the_material_has_no_secret_and_no_path_of_the_machine(docs: Path) -> None:
    seen: list[ModelQuestion] = []

    def noted(question: ModelQuestion) -> dict[str, object]:
        seen.append(question)
        return {"cause": "missing"}

    secret = "ghp_" + "a1B2" * 9
    one = failed("How long?", "45 days", f"The token is {secret}.", (f"{docs}/archive.md: {PURGE}",))
    found = caused(docs, one._replace(folder=str(docs)), noted)
    assert found.cause is Cause.MISSING
    assert secret not in seen[0].text
    assert str(docs) not in seen[0].text
    assert "archive.md" in seen[0].inputs["calls"]


# Which runs


def test_a_sample_fails_where_more_than_half_of_its_runs_do_not_answer() -> None:
    sample = EvalSample(id="s1", prompt="?", assertions=(Assertion(type="contains", value="x"),))
    good, bad = (
        SampleRun("s1", grade=Grade(assertions=(AssertionGrade("contains", passed=one),))) for one in (True, False)
    )
    crashed = SampleRun("s1", ending=RunEnding.CRASHED, attempts=1)
    left = SampleRun("s1", ending=RunEnding.BUDGET, attempts=0)
    assert failed_runs([sample], [good, good, bad], {}) == []
    assert [one.run for one in failed_runs([sample], [good, crashed, bad], {})] == [bad]
    assert failed_runs([sample], [left], {}) == []

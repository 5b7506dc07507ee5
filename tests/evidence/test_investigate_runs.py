"""`investigate` on questions about runs and orders: they run, or they refuse; no file name answers them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from knowbound.core.evidence import SUCCESS, EvidenceClass, Intent, Investigation
from knowbound.evidence.investigate import investigate
from tests.evidence.test_producer_build import PYTHON, project
from tests.evidence.test_producer_ci import VIEW, Fake, a_run, gh  # noqa: F401 - a fixture
from tests.evidence_trees import HANDBOOK, plant

BROKEN = PYTHON | {"src/tiny/parser.py": "def parse():\n    return 2\n"}


def said(found: Investigation) -> str:
    return found.answer.text if found.answer is not None else ""


@pytest.fixture(autouse=True)
def with_pytest(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter of these tests is the active one: it has pytest."""
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)


def asked(question: str, root: Path, allow_run: bool = True) -> Investigation:
    return investigate(question, root, allow_run=allow_run)


def test_do_the_tests_pass_is_answered_no_with_the_test_that_fails(tmp_path: Path) -> None:
    found = asked("do the tests pass", project(tmp_path, BROKEN))
    assert (found.outcome, found.intent) == (SUCCESS, Intent.EXECUTE)
    assert said(found) == "No: 1 of 2 tests: tests/test_parser.py::test_parse"
    assert {entry.cls for entry in found.evidence} == {EvidenceClass.TEST}


@pytest.mark.long  # pytest is started as for the question
def test_an_order_to_run_the_tests_is_carried_out_only_where_they_pass(tmp_path: Path) -> None:
    found = asked("run the tests", project(tmp_path, BROKEN))
    assert found.outcome != SUCCESS
    assert "tests/test_parser.py::test_parse" in found.gaps[0].reason
    assert "tests/test_parser.py::test_parse" in found.explanation
    passing = asked("run the tests", project(tmp_path, PYTHON))
    assert (passing.outcome, said(passing)) == (SUCCESS, "All 2 tests pass (pytest)")


def test_does_it_compile_needs_a_build_alone(tmp_path: Path) -> None:
    found = asked("does it still compile?", project(tmp_path, PYTHON | {"src/tiny/parser.py": "def parse(:\n"}))
    assert found.outcome == SUCCESS
    assert said(found).startswith("No: src/tiny/parser.py:1")
    assert {entry.cls for entry in found.evidence} == {EvidenceClass.BUILD}


@pytest.mark.parametrize("question", ["do the tests pass", "does it compile", "run the tests", "build it"])
@pytest.mark.parametrize("files", [PYTHON, HANDBOOK])
def test_without_permission_to_run_it_refuses_and_says_why(
    question: str, files: dict[str, str], tmp_path: Path
) -> None:
    found = asked(question, project(tmp_path, files), allow_run=False)
    assert found.outcome != SUCCESS
    assert "--allow-run" in found.explanation
    assert "names nothing" not in found.explanation


@pytest.mark.parametrize(
    "question", ["change the onboarding section to 5 days", "is the pipeline green", "why did CI fail", "build it"]
)
def test_a_folder_of_documents_answers_no_order_and_no_question_about_runs(
    question: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert asked(question, plant(tmp_path, HANDBOOK), allow_run=False).outcome != SUCCESS


def test_no_path_of_a_temporary_folder_is_said(tmp_path: Path) -> None:
    files = {"Makefile": "all:\n\t@echo error: no $(CURDIR)/input.txt >&2; false\n"}
    found = asked("does it build?", project(tmp_path, files))
    assert said(found) == "No: error: no input.txt"
    assert "knowbound-" not in str(found)


WORKFLOW = {".github/workflows/tests.yml": "name: Tests\non: push\n", "app.py": "x = 1\n"}


def test_why_did_ci_fail_is_answered_by_the_failing_step_and_the_workflow(tmp_path: Path, gh: Fake) -> None:  # noqa: F811
    gh()
    found = asked("why did CI fail", project(tmp_path / "tree", WORKFLOW), allow_run=False)
    assert (found.outcome, found.intent) == (SUCCESS, Intent.DIAGNOSE), found.explanation
    assert "unit / pytest" in said(found)
    assert found.sources[0].path == ".github/workflows/tests.yml"


def test_why_did_it_fail_says_that_it_did_not(tmp_path: Path, gh: Fake) -> None:  # noqa: F811
    gh(runs=[a_run(4, "Tests")], view=VIEW | {"conclusion": "success", "jobs": []})
    found = asked("why did CI fail", project(tmp_path / "tree", WORKFLOW), allow_run=False)
    assert found.outcome != SUCCESS
    assert "it did not fail; Tests 4: success" in found.explanation


def test_is_the_pipeline_green_is_answered_by_ci_alone(tmp_path: Path, gh: Fake) -> None:  # noqa: F811
    gh()
    found = asked("is the pipeline green", project(tmp_path / "tree", WORKFLOW), allow_run=False)
    assert (found.outcome, found.intent) == (SUCCESS, Intent.STATUS)
    assert said(found).startswith("No: Tests 3: failure")
    assert {entry.cls for entry in found.evidence} == {EvidenceClass.CI_WORKFLOW}


def test_what_kind_of_project_is_answered_by_two_scans_alone(tmp_path: Path) -> None:
    found = asked("what kind of project is this?", project(tmp_path, PYTHON))
    assert found.outcome == SUCCESS, found.explanation
    assert {entry.cls for entry in found.evidence} == {EvidenceClass.DISCOVERY}
    assert said(found).startswith("Python project")


def test_an_order_to_change_something_never_succeeds_because_nothing_was_changed(tmp_path: Path) -> None:
    found = asked("change LIMIT to 5", project(tmp_path, PYTHON | {"src/tiny/limit.py": "LIMIT = 3\n"}))
    assert found.outcome != SUCCESS
    assert "nothing was changed" in found.explanation

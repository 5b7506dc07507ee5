"""Workflow runs that GitHub lists and shows: what each question finds, with a `gh` that is a value."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from knowbound.core.evidence import EvidenceClass, Intent
from knowbound.evidence.producers.ci import (
    JobStep,
    RunDetails,
    RunJob,
    RunList,
    RunView,
    Workflow,
    asked_workflows,
    definition_of_pipeline,
    failed_steps,
    first_failure,
)
from knowbound.evidence.producers.protocol import Ask, Context, Producer
from knowbound.process import Ran
from tests.evidence.trees import lines
from tests.evidence_trees import plant

WORKFLOWS = {
    ".github/workflows/tests.yml": "# comment\nname: 'Tests'  # ours\non: push\n",
    ".github/workflows/docs.yaml": "name: Docs build\n",
    ".github/workflows/nameless.yml": "on: push\n",
    ".github/workflows/quoted.yml": 'name: "Deploy #1"\n',
    ".github/workflows/notes.md": "name: no workflow\n",
}


class Gh:
    """A `gh` that answers a list of runs, a view and a log."""

    def __init__(self, runs: Any, view: Any = None, log: str = "", ran: Ran | None = None) -> None:
        self._runs, self._view, self._log, self._ran = runs, view, log, ran
        self.asked: list[list[str]] = []

    def __call__(
        self, argv: Sequence[str], cwd: Path, seconds: float, output_bytes: int, *, environment: Mapping[str, str]
    ) -> Ran:
        self.asked.append([*argv])
        if self._ran is not None:
            return self._ran
        if "--log-failed" in argv:
            return Ran(0, self._log.encode(), b"")
        return Ran(0, json.dumps(self._runs if argv[2] == "list" else self._view).encode(), b"")


def run(
    id_: int, workflow: str = "Tests", end: str | None = "success", status: str = "completed", branch: str = "main"
) -> dict[str, Any]:
    return {
        "databaseId": id_,
        "workflowName": workflow,
        "status": status,
        "conclusion": end,
        "headBranch": branch,
        "createdAt": "2026-01-02T10:00:00Z",
        "url": f"https://gh/{id_}",
    }


def view(
    end: str | None = "failure", status: str = "completed", jobs: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    return {"conclusion": end, "status": status, "workflowName": "Tests", "jobs": jobs}


JOBS: list[dict[str, Any]] = [
    {"name": "lint", "conclusion": "success", "steps": [{"name": "ruff", "conclusion": "success"}]},
    {
        "name": "unit",
        "conclusion": "failure",
        "steps": [{"name": "set up", "conclusion": "success"}, {"name": "pytest", "conclusion": "failure"}],
    },
    {"name": "slow", "conclusion": "cancelled", "steps": []},
]
GOOD, BAD, SKIPPED, GOING = run(4), run(3, end="failure"), run(2, end="skipped"), run(5, end=None, status="in_progress")
DOCS_BAD, BARE = run(6, "Docs build", "failure"), run(7, branch="") | {"url": ""}
LOG = "unit\tpytest\t2026-01-02T10:00:00.1Z collected 2\nunit\tpytest\t2026-01-02T10:00:00.1Z ##[error]2 failed\n"


def found(
    tool: Producer, gh: Gh, question: str, root: Path, patch: pytest.MonkeyPatch, intent: Intent = Intent.STATUS
) -> list[str]:
    patch.setattr("knowbound.evidence.producers.ci.run", gh)
    ask = Ask(EvidenceClass.CI_WORKFLOW, "", intent, question)
    entry = tool.produce(ask, Context(root))
    signs = f"suits {tool.can(ask)}, shows {entry.shows or 'nothing'}, disputes {entry.disputes}, query {entry.query}"
    return [signs, *lines(entry)]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plant(tmp_path_factory.mktemp("ci"), WORKFLOWS)


def test_a_list_of_runs_is_graded(monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    cases: list[tuple[list[Any], str, Intent, list[str]]] = [
        (
            [],
            "Is CI green?",
            Intent.STATUS,
            [
                "suits 1, shows nothing, disputes False, query --limit 50",
                "gh run list weak: 0 found, 0 exact; GitHub lists no runs",
            ],
        ),
        (
            [GOOD],
            "Is CI green?",
            Intent.STATUS,
            [
                "suits 1, shows passes, disputes False, query --limit 50",
                ("gh run list strong: 1 found, 0 exact; 1 run, the last one Tests 4: success on main, 2026-01-02"),
                "https://gh/4:0 Tests",
            ],
        ),
        (
            [BAD, GOOD],
            "Is CI green?",
            Intent.STATUS,
            [
                "suits 1, shows fails, disputes False, query --limit 50",
                ("gh run list strong: 2 found, 0 exact; 2 runs, the last one Tests 3: failure on main, 2026-01-02"),
                "https://gh/3:0 Tests",
                "https://gh/4:0 Tests",
            ],
        ),
        (
            [GOOD, BAD],
            "Is CI green?",
            Intent.STATUS,
            [
                "suits 1, shows passes, disputes False, query --limit 50",
                ("gh run list strong: 2 found, 0 exact; 2 runs, the last one Tests 4: success on main, 2026-01-02"),
                "https://gh/4:0 Tests",
                "https://gh/3:0 Tests",
            ],
        ),
        (
            [SKIPPED],
            "Is CI green?",
            Intent.STATUS,
            [
                "suits 1, shows nothing, disputes False, query --limit 50",
                ("gh run list strong: 1 found, 0 exact; 1 run, the last one Tests 2: skipped on main, 2026-01-02"),
                "https://gh/2:0 Tests",
            ],
        ),
        (
            [GOING, BAD],
            "Is CI green?",
            Intent.STATUS,
            [
                "suits 1, shows nothing, disputes False, query --limit 50",
                (
                    "gh run list moderate: 2 found, 0 exact; the last run is still going: Tests 5: "
                    "in_progress on main, 2026-01-02"
                ),
                "https://gh/5:0 Tests",
                "https://gh/3:0 Tests",
            ],
        ),
        (
            [GOING],
            "Is CI green?",
            Intent.STATUS,
            [
                "suits 1, shows nothing, disputes False, query --limit 50",
                (
                    "gh run list moderate: 1 found, 0 exact; the last run is still going: Tests 5: "
                    "in_progress on main, 2026-01-02"
                ),
                "https://gh/5:0 Tests",
            ],
        ),
        (
            [GOING, BAD],
            "Why does CI fail?",
            Intent.DIAGNOSE,
            [
                "suits 1, shows fails, disputes False, query --limit 50",
                ("gh run list strong: 2 found, 0 exact; 2 runs, the last one Tests 5: in_progress on main, 2026-01-02"),
                "https://gh/5:0 Tests",
                "https://gh/3:0 Tests",
            ],
        ),
        (
            [GOOD, DOCS_BAD],
            "Why does CI fail?",
            Intent.DIAGNOSE,
            [
                "suits 1, shows fails, disputes False, query --limit 50",
                ("gh run list strong: 2 found, 0 exact; 2 runs, the last one Tests 4: success on main, 2026-01-02"),
                "https://gh/4:0 Tests",
                "https://gh/6:0 Docs build",
            ],
        ),
        (
            [GOOD, DOCS_BAD],
            "Why does the Docs build workflow fail?",
            Intent.DIAGNOSE,
            [
                "suits 1, shows fails, disputes False, query --limit 50",
                ("gh run list strong: 1 found, 1 exact; 1 run, the last one Docs build 6: failure on main, 2026-01-02"),
                "https://gh/6:0 Docs build",
            ],
        ),
        (
            [GOOD],
            "Does the `deploy` workflow pass?",
            Intent.STATUS,
            [
                "suits 1, shows nothing, disputes False, query --limit 50",
                ("gh run list moderate: 1 found, 0 exact; 1 run, none of the workflow asked for (there are: Tests)"),
                "https://gh/4:0 Tests",
            ],
        ),
        (
            [GOOD, DOCS_BAD],
            "Does the tests workflow pass?",
            Intent.STATUS,
            [
                "suits 1, shows passes, disputes False, query --limit 50",
                ("gh run list strong: 1 found, 1 exact; 1 run, the last one Tests 4: success on main, 2026-01-02"),
                "https://gh/4:0 Tests",
            ],
        ),
        (
            [BARE],
            "Is CI green?",
            Intent.STATUS,
            [
                "suits 1, shows passes, disputes False, query --limit 50",
                ("gh run list strong: 1 found, 0 exact; 1 run, the last one Tests 7: success, 2026-01-02"),
                "run 7:0 Tests",
            ],
        ),
        (
            [GOOD],
            "Is it green?",
            Intent.STATUS,
            [
                "suits 0, shows passes, disputes False, query --limit 50",
                ("gh run list strong: 1 found, 0 exact; 1 run, the last one Tests 4: success on main, 2026-01-02"),
                "https://gh/4:0 Tests",
            ],
        ),
        (
            [GOOD],
            "Why does it break?",
            Intent.DIAGNOSE,
            [
                "suits 1, shows passes, disputes False, query --limit 50",
                ("gh run list strong: 1 found, 0 exact; 1 run, the last one Tests 4: success on main, 2026-01-02"),
                "https://gh/4:0 Tests",
            ],
        ),
        (
            [GOING],
            "Why does CI fail?",
            Intent.DIAGNOSE,
            [
                "suits 1, shows nothing, disputes False, query --limit 50",
                (
                    "gh run list moderate: 1 found, 0 exact; the last run is still going: Tests 5: "
                    "in_progress on main, 2026-01-02"
                ),
                "https://gh/5:0 Tests",
            ],
        ),
        (
            [BAD],
            "Why does `other` workflow fail?",
            Intent.DIAGNOSE,
            [
                "suits 1, shows nothing, disputes False, query --limit 50",
                ("gh run list moderate: 1 found, 0 exact; 1 run, none of the workflow asked for (there are: Tests)"),
                "https://gh/3:0 Tests",
            ],
        ),
    ]
    for runs, question, intent, evidence in cases:
        assert found(RunList(), Gh(runs), question, root, monkeypatch, intent) == evidence, runs


def test_a_run_is_looked_at(monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    cases: list[tuple[list[Any], dict[str, Any] | None, str, str, Intent, list[str]]] = [
        (
            [],
            None,
            "",
            "Is CI green?",
            Intent.STATUS,
            [
                "suits 2, shows nothing, disputes False, query ",
                "gh run view none: 0 found, 0 exact; GitHub lists no runs",
            ],
        ),
        (
            [GOOD],
            view("success"),
            "",
            "Is CI green?",
            Intent.STATUS,
            [
                "suits 2, shows passes, disputes False, query 4",
                "gh run view strong: 1 found, 1 exact; Tests 4: success on main, 2026-01-02",
                "https://gh/4:0 Tests",
            ],
        ),
        (
            [BAD],
            view(jobs=JOBS),
            LOG,
            "Is CI green?",
            Intent.STATUS,
            [
                "suits 2, shows fails, disputes False, query 3",
                (
                    "gh run view strong: 3 found, 2 exact; Tests 3: failure on main, 2026-01-02; unit / "
                    "pytest, slow; 2 failed"
                ),
                "https://gh/3:0 Tests",
                "https://gh/3:0 unit / pytest",
                "https://gh/3:0 slow",
            ],
        ),
        (
            [BAD],
            view(jobs=JOBS),
            LOG,
            "Why does CI fail?",
            Intent.DIAGNOSE,
            [
                "suits 2, shows fails, disputes False, query 3",
                (
                    "gh run view strong: 3 found, 2 exact; Tests 3: failure on main, 2026-01-02; unit / "
                    "pytest, slow; 2 failed"
                ),
                "https://gh/3:0 Tests",
                "https://gh/3:0 unit / pytest",
                "https://gh/3:0 slow",
            ],
        ),
        (
            [BAD],
            view(jobs=[]),
            "",
            "Why does CI fail?",
            Intent.DIAGNOSE,
            [
                "suits 2, shows fails, disputes False, query 3",
                "gh run view strong: 1 found, 1 exact; Tests 3: failure on main, 2026-01-02",
                "https://gh/3:0 Tests",
            ],
        ),
        (
            [BAD],
            view("success"),
            "",
            "Is CI green?",
            Intent.STATUS,
            [
                "suits 2, shows nothing, disputes True, query 3",
                (
                    "gh run view moderate: 1 found, 1 exact; the list says failure, the view success; "
                    "Tests 3: failure on main, 2026-01-02"
                ),
                "https://gh/3:0 Tests",
            ],
        ),
        (
            [BAD],
            view(None, "queued"),
            "",
            "Is CI green?",
            Intent.STATUS,
            [
                "suits 2, shows nothing, disputes True, query 3",
                (
                    "gh run view moderate: 1 found, 1 exact; the list says failure, the view queued; "
                    "Tests 3: failure on main, 2026-01-02"
                ),
                "https://gh/3:0 Tests",
            ],
        ),
        (
            [GOING, BAD],
            view(jobs=JOBS),
            "",
            "Is CI green?",
            Intent.STATUS,
            [
                "suits 2, shows fails, disputes True, query 3",
                (
                    "gh run view moderate: 3 found, 2 exact; Tests 3: failure on main, 2026-01-02; unit "
                    "/ pytest, slow; a newer run is still going: Tests 5: in_progress on main, 2026-01-02"
                ),
                "https://gh/3:0 Tests",
                "https://gh/3:0 unit / pytest",
                "https://gh/3:0 slow",
            ],
        ),
        (
            [GOING, BAD],
            view(jobs=JOBS),
            "",
            "Why does CI fail?",
            Intent.DIAGNOSE,
            [
                "suits 2, shows fails, disputes False, query 3",
                (
                    "gh run view strong: 3 found, 2 exact; Tests 3: failure on main, 2026-01-02; unit / "
                    "pytest, slow; a newer run is still going: Tests 5: in_progress on main, 2026-01-02"
                ),
                "https://gh/3:0 Tests",
                "https://gh/3:0 unit / pytest",
                "https://gh/3:0 slow",
            ],
        ),
        (
            [GOOD],
            view("success"),
            "",
            "Why does CI fail?",
            Intent.DIAGNOSE,
            [
                "suits 2, shows passes, disputes False, query 4",
                ("gh run view strong: 1 found, 1 exact; it did not fail; Tests 4: success on main, 2026-01-02"),
                "https://gh/4:0 Tests",
            ],
        ),
        (
            [GOOD, DOCS_BAD],
            view(jobs=JOBS),
            "",
            "Why does CI fail?",
            Intent.DIAGNOSE,
            [
                "suits 2, shows fails, disputes False, query 6",
                (
                    "gh run view strong: 3 found, 2 exact; Docs build 6: failure on main, 2026-01-02; "
                    "unit / pytest, slow"
                ),
                "https://gh/6:0 Docs build",
                "https://gh/6:0 unit / pytest",
                "https://gh/6:0 slow",
            ],
        ),
        (
            [GOING],
            view(),
            "",
            "Is CI green?",
            Intent.STATUS,
            [
                "suits 2, shows nothing, disputes False, query ",
                (
                    "gh run view none: 0 found, 0 exact; no finished run of the workflow asked for: "
                    "still going is Tests 5: in_progress on main, 2026-01-02"
                ),
            ],
        ),
        (
            [BAD],
            view(jobs=JOBS),
            LOG,
            "Why does the `pytest` step fail?",
            Intent.DIAGNOSE,
            [
                "suits 2, shows fails, disputes False, query 3",
                (
                    "gh run view strong: 3 found, 2 exact; Tests 3: failure on main, 2026-01-02; unit / "
                    "pytest, slow; 2 failed"
                ),
                "https://gh/3:0 Tests",
                "https://gh/3:0 unit / pytest",
                "https://gh/3:0 slow",
            ],
        ),
        (
            [BAD],
            view(jobs=JOBS),
            LOG,
            "Why does the mypy check fail?",
            Intent.DIAGNOSE,
            [
                "suits 2, shows nothing, disputes True, query 3",
                (
                    "gh run view moderate: 3 found, 2 exact; another failure, not of 'mypy'; Tests 3: "
                    "failure on main, 2026-01-02; unit / pytest, slow; 2 failed"
                ),
                "https://gh/3:0 Tests",
                "https://gh/3:0 unit / pytest",
                "https://gh/3:0 slow",
            ],
        ),
        (
            [BAD],
            view(jobs=JOBS),
            LOG,
            "Why does the unit job fail?",
            Intent.DIAGNOSE,
            [
                "suits 2, shows fails, disputes False, query 3",
                (
                    "gh run view strong: 3 found, 2 exact; Tests 3: failure on main, 2026-01-02; unit / "
                    "pytest, slow; 2 failed"
                ),
                "https://gh/3:0 Tests",
                "https://gh/3:0 unit / pytest",
                "https://gh/3:0 slow",
            ],
        ),
        (
            [BARE],
            view("success"),
            "",
            "Is CI green?",
            Intent.STATUS,
            [
                "suits 2, shows passes, disputes False, query 7",
                "gh run view strong: 1 found, 1 exact; Tests 7: success, 2026-01-02",
                "run 7:0 Tests",
            ],
        ),
        (
            [SKIPPED],
            view("skipped"),
            "",
            "Is CI green?",
            Intent.STATUS,
            [
                "suits 2, shows nothing, disputes False, query 2",
                "gh run view strong: 1 found, 1 exact; Tests 2: skipped on main, 2026-01-02",
                "https://gh/2:0 Tests",
            ],
        ),
        (
            [GOOD],
            view("success"),
            "",
            "Is the `deploy` workflow green?",
            Intent.STATUS,
            [
                "suits 2, shows nothing, disputes False, query ",
                "gh run view none: 0 found, 0 exact; no finished run of the workflow asked for",
            ],
        ),
    ]
    for runs, shown, log, question, intent, evidence in cases:
        assert found(RunView(), Gh(runs, shown, log), question, root, monkeypatch, intent) == evidence, runs


def test_what_keeps_gh_from_answering_is_a_reason(monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    cases: list[tuple[Ran, str]] = [
        (Ran(None, b"", b"", missing=True), "gh run list none: 0 found, 0 exact; gh (the GitHub CLI) is not installed"),
        (Ran(None, b"", b"", timed_out=True), "gh run list none: 0 found, 0 exact; gh did not answer in time"),
        (Ran(None, b"", b"", cut=True), "gh run list none: 0 found, 0 exact; gh printed more than 8,000,000 bytes"),
        (Ran(4, b"", b""), "gh run list none: 0 found, 0 exact; gh is not logged in (gh auth login)"),
        (Ran(1, b"", b"HTTP 401: bad"), "gh run list none: 0 found, 0 exact; gh is not logged in (gh auth login)"),
        (
            Ran(1, b"", b"To get started: gh auth login"),
            "gh run list none: 0 found, 0 exact; gh is not logged in (gh auth login)",
        ),
        (Ran(1, b"", b"fatal: not a git repository"), "gh run list none: 0 found, 0 exact; not a git repository"),
        (
            Ran(1, b"", b"no git remotes found"),
            "gh run list none: 0 found, 0 exact; this repository has no remote on GitHub",
        ),
        (
            Ran(1, b"", b"none of the git remotes match"),
            "gh run list none: 0 found, 0 exact; this repository has no remote on GitHub",
        ),
        (Ran(1, b"", b"odd\nthing"), "gh run list none: 0 found, 0 exact; gh cannot say: odd thing"),
        (Ran(1, b"", b""), "gh run list none: 0 found, 0 exact; gh cannot say: it gives no reason"),
        (Ran(0, b"{", b""), "gh run list none: 0 found, 0 exact; gh run list did not print what it should"),
        (Ran(0, b"{}", b""), "gh run list none: 0 found, 0 exact; gh run list did not print what it should"),
    ]
    for ran, note in cases:
        for tool in (RunList(), RunView()):
            assert (
                found(tool, Gh([], ran=ran), "Is CI green?", root, monkeypatch)[1].partition(" none: ")[2]
                == note.partition(" none: ")[2]
            )


def test_a_question_asks_for_workflows_by_name() -> None:
    cases: list[tuple[str, list[str], list[str] | None]] = [
        ("Why does the Tests workflow fail?", ["Tests", "Docs build"], ["Tests"]),
        ("Is Docs build green?", ["Build", "Docs build", "Build"], ["Docs build"]),
        ("Is nightly tests green?", ["Docs"], None),
        ("Is CI green?", ["Tests"], None),
        ("Is the `x` workflow ok?", ["Tests"], []),
        ("Is the workflow called lint ok?", ["Tests"], []),
        ('Is workflow "a b" ok?', ["Tests"], []),
        ("Is release.yml ok?", ["Tests"], []),
        ("Is the failing workflow ok?", ["Tests"], None),
        ("Are deploy workflows ok?", ["Tests"], []),
        ("", [], None),
    ]
    for question, names, asked in cases:
        assert asked_workflows(question, names) == asked, question


def test_a_failing_pipeline_is_defined_in_its_workflow(root: Path) -> None:
    cases: list[tuple[str, str]] = [
        ("Why does Tests fail?", ".github/workflows/tests.yml"),
        ("Why does CI fail?", ".github/workflows/"),
        ("Why does docs fail?", ".github/workflows/docs.yaml"),
        ("Why do tests and docs build fail?", ".github/workflows/docs.yaml"),
        ("Why does Deploy #1 fail?", ".github/workflows/quoted.yml"),
        ("Why does nameless fail?", ".github/workflows/nameless.yml"),
    ]
    for question, path in cases:
        assert definition_of_pipeline(question, Context(root)) == path, question


def test_workflows_are_matched_by_the_name_of_their_file_too() -> None:
    files = [Workflow(".github/workflows/nightly-run.yml", "Long title"), Workflow("x.yml", "Other")]
    assert asked_workflows("Is the nightly run green?", ["Long title", "Other"], files) == ["Long title"]


@pytest.mark.parametrize(
    ("log", "line"),
    [
        ("", ""),
        ("job\tstep\tfine\n", ""),
        ("\ufeff2026-01-02T10:00:00.1Z  An error here\nfatal: x", "An error here"),
        ("a\tb\t2026-01-02T10:00:00Z ##[error]boom", "boom"),
        ("errors\nfailure of it", "failure of it"),
    ],
)
def test_the_first_line_of_a_log_that_names_an_error_is_shown(log: str, line: str) -> None:
    assert first_failure(log) == line


def test_jobs_that_did_not_succeed_are_named_with_their_step() -> None:
    jobs = [
        RunJob("a", "success", [JobStep("x", "failure")]),
        RunJob("b", "failure", [JobStep("x", "success"), JobStep("y", "timed_out")]),
        RunJob("c", "timed_out"),
        RunJob("d", "startup_failure", []),
        RunJob("e", "action_required"),
        RunJob("f", None),
    ]
    assert failed_steps(RunDetails(jobs=jobs)) == ["b / y", "c", "d", "e"]
    assert failed_steps(RunDetails()) == []

"""CIWorkflow: a `gh` of our own on the path prints what the real one would; no network is ever used."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from knowbound.core.evidence import Evidence, EvidenceClass, Intent, Quality, Shows, Strength
from knowbound.evidence.producers.ci import RunList, RunView, asked_workflows, first_failure, local_workflows
from knowbound.evidence.producers.protocol import Ask, CallLimits, Context

Q = Quality
WHY = "Why does the Tests workflow fail?"


def a_run(number: int, workflow: str, conclusion: str = "success", status: str = "completed") -> dict[str, object]:
    return {
        "databaseId": number,
        "workflowName": workflow,
        "displayTitle": "Add a retry",
        "status": status,
        "conclusion": conclusion,
        "headBranch": "main",
        "headSha": "c0ffee",
        "createdAt": f"2026-11-{number % 28 + 1:02}T10:00:00Z",
        "url": f"https://github.com/o/r/actions/runs/{number}",
    }


RUNS = [a_run(3, "Tests", "failure"), a_run(2, "Docs build"), a_run(1, "Tests")]
VIEW = {
    "status": "completed",
    "conclusion": "failure",
    "workflowName": "Tests",
    "jobs": [
        {"name": "lint", "conclusion": "success", "steps": [{"name": "ruff", "conclusion": "success"}]},
        {
            "name": "unit",
            "conclusion": "failure",
            "steps": [{"name": "install", "conclusion": "success"}, {"name": "pytest", "conclusion": "failure"}],
        },
    ],
}
LOG = (
    "unit\tpytest\t2026-11-04T10:00:01.0000000Z collected 3 items\n"
    "unit\tpytest\t2026-11-04T10:00:02.0000000Z FAILED tests/test_parser.py::test_empty - assert 1 == 2\n"
    "unit\tpytest\t2026-11-04T10:00:03.0000000Z ##[error]Process completed with exit code 1.\n"
)

Fake = Callable[..., Path]


@pytest.fixture
def gh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    """Put a `gh` on the path that prints the given answers and remembers how it was called."""
    folder = tmp_path / "bin"
    folder.mkdir()
    calls = tmp_path / "calls.txt"

    def install(runs: object = RUNS, view: object = VIEW, log: str = LOG, script: str = "") -> Path:
        for name, answer in (("list.json", runs), ("view.json", view), ("log.txt", log)):
            (folder / name).write_text(answer if isinstance(answer, str) else json.dumps(answer))
        program = folder / "gh"
        program.write_text(
            f'#!/bin/sh\necho "$@" >> "{calls}"\n{script}\n'
            f'case "$1 $2 $*" in\n'
            f'  "run list"*) cat "{folder}/list.json" ;;\n'
            f'  "run view"*--log-failed*) cat "{folder}/log.txt" ;;\n'
            f'  "run view"*) cat "{folder}/view.json" ;;\n'
            f"  *) exit 1 ;;\nesac\n"
        )
        program.chmod(0o755)
        return calls

    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return install


@pytest.fixture
def root(tmp_path: Path) -> Path:
    workflows = tmp_path / "root/.github/workflows"
    workflows.mkdir(parents=True)
    (workflows / "tests.yml").write_text("# comment\nname: 'Tests'  # ours\non: push\n")
    (workflows / "docs.yaml").write_text("name: Docs build\n")
    (workflows / "nameless.yml").write_text("on: push\njobs:\n  a:\n    name: not this\n")
    (workflows / "README.md").write_text("name: no workflow\n")
    return tmp_path / "root"


def produce(producer: RunList | RunView, root: Path, question: str = WHY, intent: Intent = Intent.DIAGNOSE) -> Evidence:
    return producer.produce(Ask(EvidenceClass.CI_WORKFLOW, "", intent, question), Context(root))


def test_an_empty_list_is_weak(gh: Fake, root: Path) -> None:
    gh(runs=[])
    entry = produce(RunList(), root)
    assert (entry.quality, entry.strength, entry.note) == (Q.WEAK, Strength.NONE, "GitHub lists no runs")


def test_runs_of_other_workflows_are_moderate(gh: Fake, root: Path) -> None:
    gh()
    entry = produce(RunList(), root, "Why does the deploy-preview workflow fail?")
    assert entry.quality is Q.MODERATE
    assert "there are: Tests, Docs build" in entry.note


def test_runs_of_the_workflow_asked_for_are_strong(gh: Fake, root: Path) -> None:
    gh()
    entry = produce(RunList(), root)
    assert (entry.quality, entry.match_count, entry.exact_match_count) == (Q.STRONG, 2, 2)
    assert entry.note == "2 runs, the last one Tests 3: failure on main, 2026-11-04"
    assert not RunList().authoritative


def test_a_question_about_ci_as_a_whole_is_about_every_workflow(gh: Fake, root: Path) -> None:
    gh()
    entry = produce(RunList(), root, "Is the pipeline green?", Intent.STATUS)
    assert (entry.quality, entry.match_count) == (Q.STRONG, 3)


def test_a_viewed_run_confirms_the_failure_and_is_authoritative(gh: Fake, root: Path) -> None:
    calls = gh()
    entry = produce(RunView(), root)
    assert entry.quality is Q.STRONG  # only the planner says Verified
    assert RunView().authoritative
    assert "unit / pytest" in entry.note
    assert "FAILED tests/test_parser.py::test_empty" in entry.note
    assert [line.split(" --")[0] for line in calls.read_text().splitlines()] == ["run list", "run view 3", "run view 3"]


def test_a_viewed_run_confirms_success(gh: Fake, root: Path) -> None:
    jobs = [{"name": "docs", "conclusion": "success", "steps": []}]
    gh(view={"status": "completed", "conclusion": "success", "workflowName": "Docs build", "jobs": jobs})
    entry = produce(RunView(), root, "Did the docs build workflow pass?", Intent.STATUS)
    assert entry.quality is Q.STRONG
    assert entry.note == "Docs build 2: success on main, 2026-11-03"


def test_a_run_that_has_not_ended_confirms_nothing(gh: Fake, root: Path) -> None:
    gh(runs=[a_run(4, "Tests", "", "in_progress")])
    entry = produce(RunView(), root)
    assert (entry.quality, entry.shows) == (Q.NONE, Shows.NOTHING)
    assert entry.note == (
        "no finished run of the workflow asked for: still going is Tests 4: in_progress on main, 2026-11-05"
    )


def test_to_explain_a_failure_a_run_that_passed_is_said_to_have_passed(gh: Fake, root: Path) -> None:
    gh(runs=[a_run(4, "Tests")], view=VIEW | {"conclusion": "success", "jobs": []})
    entry = produce(RunView(), root)
    assert entry.shows is Shows.PASSES
    assert entry.note.startswith("it did not fail; Tests 4: success")
    assert not entry.quality_for(Shows.FAILS).reaches(Q.MODERATE)


def test_a_newer_run_that_is_still_going_is_said_beside_the_one_that_failed(gh: Fake, root: Path) -> None:
    gh(runs=[a_run(5, "Tests", "", "in_progress"), *RUNS])
    entry = produce(RunView(), root)
    assert entry.shows is Shows.FAILS
    assert "a newer run is still going: Tests 5: in_progress" in entry.note


def test_a_run_in_progress_neither_explains_a_failure_nor_says_that_it_is_green(gh: Fake, root: Path) -> None:
    gh(runs=[a_run(5, "Tests", "", "in_progress"), a_run(4, "Tests")])
    assert produce(RunList(), root, "Is the Tests workflow green?", Intent.STATUS).quality is Q.MODERATE
    assert produce(RunView(), root, "Is the Tests workflow green?", Intent.STATUS).quality is Q.MODERATE
    gh(runs=[a_run(5, "Tests", "", "in_progress")])
    assert produce(RunList(), root).quality is Q.MODERATE


def test_a_view_that_disagrees_with_the_list_is_only_moderate(gh: Fake, root: Path) -> None:
    gh(view=VIEW | {"conclusion": "success"})
    entry = produce(RunView(), root)
    assert (entry.quality, entry.disputes) == (Q.MODERATE, True)


@pytest.mark.parametrize(
    ("question", "quality"),
    [("Why does the `lint` job fail in CI?", Q.MODERATE), ("Why does the pytest step fail?", Q.STRONG)],
)
def test_another_failure_is_no_evidence_for_the_one_that_is_asked_for(
    question: str, quality: Quality, gh: Fake, root: Path
) -> None:
    gh()
    assert produce(RunView(), root, question).quality is quality


def test_to_diagnose_a_workflow_that_fails_now_is_looked_at_first(gh: Fake, root: Path) -> None:
    calls = gh(runs=[a_run(9, "Docs build"), *RUNS])
    produce(RunView(), root, "Why does CI fail?")
    assert "run view 3" in calls.read_text()


@pytest.mark.parametrize("producer", [RunList(), RunView()])
def test_no_gh_is_none_with_the_reason(
    root: Path, monkeypatch: pytest.MonkeyPatch, producer: RunList | RunView
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    entry = produce(producer, root)
    assert (entry.quality, entry.note) == (Q.NONE, "gh (the GitHub CLI) is not installed")


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo 'To get started with GitHub CLI, please run:  gh auth login' >&2; exit 4", "gh is not logged in"),
        ("echo 'HTTP 401: Bad credentials' >&2; exit 1", "gh is not logged in"),
        ("echo 'no git remotes found' >&2; exit 1", "this repository has no remote on GitHub"),
        ("echo 'failed to run git: fatal: not a git repository' >&2; exit 1", "not a git repository"),
        ("printf 'error connecting to \\033[31mapi.github.com\\n' >&2; exit 1", "gh cannot say: error connecting to"),
        ("exit 1", "gh cannot say: it gives no reason"),
        ("echo '<html>garbage'; exit 0", "gh run list did not print what it should"),
        ("exit 0", "gh run list did not print what it should"),
        ("""echo '[{"databaseId": "not a number"}]'; exit 0""", "gh run list did not print what it should"),
        ("echo '{}'; exit 0", "gh run list did not print what it should"),
        ("yes '[['", "gh printed more than"),
        ("printf '\\377\\376'; exit 0", "gh run list did not print what it should"),
    ],
)
@pytest.mark.parametrize("producer", [RunList(), RunView()])
def test_what_gh_cannot_say_is_none_with_the_reason(
    gh: Fake, root: Path, producer: RunList | RunView, script: str, reason: str
) -> None:
    gh(script=script)
    ask = Ask(EvidenceClass.CI_WORKFLOW, "", Intent.DIAGNOSE, WHY)
    entry = producer.produce(ask, Context(root, limits=CallLimits(output_bytes=100_000)))
    assert entry.quality is Q.NONE
    assert entry.note.startswith(reason)
    assert entry.note.isprintable()


def test_a_gh_that_hangs_is_none_with_the_reason(gh: Fake, root: Path) -> None:
    gh(script="sleep 60")
    ask = Ask(EvidenceClass.CI_WORKFLOW, "", Intent.DIAGNOSE, WHY)
    entry = RunList().produce(ask, Context(root, limits=CallLimits(call_seconds=0.2)))
    assert (entry.quality, entry.note) == (Q.NONE, "gh did not answer in time")


@pytest.mark.parametrize("producer", [RunList(), RunView()])
def test_gh_is_never_called_for_a_question_that_needs_no_ci(producer: RunList | RunView) -> None:
    assert producer.can(Ask(EvidenceClass.FILE_SEARCH, "x", Intent.LOCATE, WHY)) == 0
    assert producer.can(Ask(EvidenceClass.CI_WORKFLOW, "", Intent.EXPLAIN, "How does the parser work?")) == 0
    assert producer.can(Ask(EvidenceClass.CI_WORKFLOW, "", Intent.DIAGNOSE, "Why does the build fail?")) > 0


def test_gh_gets_its_token_and_no_other_secret(
    gh: Fake, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GH_TOKEN", "t")
    monkeypatch.setenv("MY_SECRET", "s")
    gh(script=f"env > {tmp_path}/env.txt")
    produce(RunList(), root)
    environment = (tmp_path / "env.txt").read_text()
    assert "GH_TOKEN=t\n" in environment
    assert "MY_SECRET" not in environment
    assert "core.fsmonitor" in environment  # gh runs git: the repository's programs stay off


def test_local_workflows_are_known_by_their_name_line(root: Path) -> None:
    assert [workflow.name for workflow in local_workflows(Context(root))] == [
        "Docs build",
        ".github/workflows/nameless.yml",
        "Tests",
    ]


def test_hostile_workflow_folders_are_read_safely(tmp_path: Path) -> None:
    folder = tmp_path / ".github/workflows"
    folder.mkdir(parents=True)
    (tmp_path / "outside.yml").write_text("name: outside\n")
    (folder / "link.yml").symlink_to(tmp_path / "outside.yml")
    (folder / "huge.yml").write_text("#" * 300_000 + "\nname: huge\n")
    (folder / "bytes.yml").write_bytes(b"\xff\xfe\x00name: x")
    names = {workflow.name for workflow in local_workflows(Context(tmp_path))}
    assert names == {".github/workflows/huge.yml", ".github/workflows/bytes.yml"}
    assert local_workflows(Context(tmp_path / "nowhere")) == []


@pytest.mark.parametrize(
    ("question", "names"),
    [
        (WHY, ["Tests"]),
        ("did the docs build pass?", ["Docs build"]),
        ("why is tests.yml red?", ["Tests"]),
        ("Why does CI fail?", None),
        ("is the pipeline green?", None),
        ("Why does the nightly workflow fail?", []),
        ('did the "Release notes" workflow run?', []),
    ],
)
def test_the_workflow_asked_for_is_matched_by_name(root: Path, question: str, names: list[str] | None) -> None:
    assert asked_workflows(question, ["Tests", "Docs build"], local_workflows(Context(root))) == names


def test_the_first_error_of_a_log_is_told_without_job_and_time() -> None:
    assert first_failure(LOG) == "FAILED tests/test_parser.py::test_empty - assert 1 == 2"
    assert first_failure("") == ""

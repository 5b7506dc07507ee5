"""`eval` as a user runs it: real processes, real commits, a real samples file."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from knowbound.evals.samples.load import load_samples
from knowbound.stats.figures import WARNING
from knowbound.stats.trend import NUDGE
from knowbound.store.evaluations import Evaluations
from tests import warm_process
from tests.knowledge_base import COMMITS, REMOVAL, SAMPLES, begin, commit


def knowbound(folder: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return warm_process.knowbound(*arguments, cwd=folder, env={**os.environ, **environ})


def evaluated(folder: Path, *arguments: str) -> dict[str, Any]:
    ran = knowbound(folder, "eval", "--format", "json", *arguments)
    assert ran.returncode == 0, ran.stderr
    document: dict[str, Any] = json.loads(ran.stdout)
    return document


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """The knowledge base after five commits, evaluated at each of them."""
    base = begin(tmp_path_factory.mktemp("harbour") / "kb")
    return base, [evaluated_at(base, step) for step in COMMITS]


def evaluated_at(base: Path, step: tuple[str, dict[str, str | None]]) -> dict[str, Any]:
    hash_ = commit(base, step)
    document = evaluated(base)
    assert document["knowledge"]["commit"] == hash_
    return document


def test_the_gap_rate_falls_from_commit_to_commit(story: tuple[Path, list[dict[str, Any]]]) -> None:
    rates = [document["gap"]["rate"] for document in story[1]]
    assert all(rate["n"] == len(SAMPLES) for rate in rates)
    counts = [rate["k"] for rate in rates]
    assert counts == sorted(counts, reverse=True), counts
    assert counts[0] >= 14
    left = [by["open"] + by["undecided"] for by in (document["gap"]["by_status"] for document in story[1])]
    assert left == sorted(left, reverse=True), left
    assert left[-1] <= 2  # the rest ends with a probable place: a gap of the raw rate, and not open
    assert counts[-1] > left[-1]
    assert len({document["watermark"]["sha256_8"] for document in story[1]}) == 1


def test_words_without_the_knowledge_are_a_gap_until_it_is_there(story: tuple[Path, list[dict[str, Any]]]) -> None:
    def gaps(document: dict[str, Any]) -> set[str]:
        return {run["sample"] for run in document["runs"] if run["signals"]}

    for decoy in ("printer-retries", "webhook-signing"):
        assert decoy in gaps(story[1][0])
        assert decoy in gaps(story[1][1])
        assert decoy not in gaps(story[1][2])
    assert all("price-owner" in gaps(document) for document in story[1])


def test_the_trend_shows_every_commit_in_table_and_chart(story: tuple[Path, list[dict[str, Any]]]) -> None:
    base, documents = story
    table = knowbound(base, "trend").stdout
    chart = knowbound(base, "trend", "--format", "html").stdout
    for document in documents:
        assert document["knowledge"]["commit"][:7] in table
        assert document["knowledge"]["commit"][:7] in chart
    assert "<svg" in chart
    for shown in (table, chart.replace("&#39;", "'").replace("&#x27;", "'")):
        assert "eval-samples.yaml" in shown
        assert documents[0]["watermark"]["sha256_8"] in shown
        assert WARNING in " ".join(shown.split())


@pytest.mark.long
def test_the_nudge_comes_with_the_third_low_run(tmp_path: Path) -> None:
    base = begin(tmp_path / "kb")
    commit(base, ("Say the port", {"orders.md": "# Orders\n\n## Port\n\nThe orders service listens on port 8080.\n"}))
    asked = "- {sample_id: port, prompt: On which port does the orders service listen?}\n"
    (base / "eval-samples.yaml").write_text(asked, "utf-8")
    low = [knowbound(base, "eval", "--format", "markdown").stdout for _ in range(3)]
    nudged = [" ".join(NUDGE.split())[2:60] in " ".join(text.split()) for text in low]
    assert nudged == [False, False, True]


def test_the_gate_fails_on_the_commit_that_removes_knowledge(tmp_path: Path) -> None:
    base = begin(tmp_path / "kb")
    for step in COMMITS:
        commit(base, step)
    # Probable places are gaps of the raw rate, and left out of the open rate.
    gates = ("--max-gap-rate", "0.2", "--gap-rate-regression", "0.1", "--rate", "open")
    first = knowbound(base, "eval", *gates)
    assert first.returncode == 0, first.stdout + first.stderr
    assert "no earlier run with the same test set" in " ".join(first.stdout.split())
    assert knowbound(base, "check", *gates).returncode == 0
    commit(base, REMOVAL)
    broken = knowbound(base, "eval", *gates)
    assert broken.returncode == 1, broken.stdout + broken.stderr
    checked = knowbound(base, "check", *gates)
    assert checked.returncode == 1
    gated = json.loads(knowbound(base, "check", *gates, "--format", "json").stdout)
    assert [gate["failed"] for gate in gated["gates"]] == [True, True]
    assert WARNING in " ".join(checked.stdout.split())
    compared = knowbound(base, "compare", "previous", "latest", "--format", "json")
    changes = json.loads(compared.stdout)
    broken_ones = {row["sample"] for row in changes["rows"] if row["change"] == "broken"}
    assert {"webhook-signing", "carriers"} <= broken_ones


def test_two_commits_are_compared_side_by_side(story: tuple[Path, list[dict[str, Any]]]) -> None:
    base, documents = story
    ran = knowbound(base, "eval", "--against", "HEAD~2")
    assert ran.returncode == 0, ran.stderr
    compared = json.loads(knowbound(base, "trend", "--format", "json").stdout)
    assert len(compared["evaluations"]) == len(documents) + 1  # the other version is no step of this knowledge base
    assert "addresses" in ran.stdout


def test_everything_that_observe_reports_is_in_the_report(story: tuple[Path, list[dict[str, Any]]]) -> None:
    base, documents = story
    first = documents[0]
    assert first["format"] == "knowbound.evaluation/1"
    assert first["watermark"]["warning"] == WARNING
    assert first["coverage"]["rate"]["n"] == 3
    assert first["gap"]["by_type"]["failed_search"] >= 14
    text = knowbound(base, "report").stdout
    for part in ("eval-samples.yaml", "Coverage", "failed search", "price-owner"):
        assert part in text


@pytest.mark.parametrize("format_", ["text", "json", "jsonl", "markdown", "html", "sarif", "junit", "github"])
def test_every_format_carries_the_watermark(story: tuple[Path, list[dict[str, Any]]], format_: str) -> None:
    base, documents = story
    shown = knowbound(base, "report", "--format", format_)
    assert shown.returncode == 0, shown.stderr
    plain = " ".join(shown.stdout.replace("&#39;", "'").replace("&#x27;", "'").replace("&apos;", "'").split())
    assert documents[0]["watermark"]["sha256_8"] in plain
    assert WARNING in plain


def test_a_wrong_samples_file_runs_nothing(tmp_path: Path) -> None:
    (tmp_path / "docs.md").write_text("# Docs\n")
    (tmp_path / "eval-samples.json").write_text('[\n  {"sample_id": "a", "promt": "Where?"}\n]\n')
    ran = knowbound(tmp_path, "eval", "--executor", "command:touch ran")
    assert ran.returncode == 2
    assert "eval-samples.json:2" in ran.stderr
    assert "prompt" in ran.stderr
    assert not (tmp_path / "ran").exists()


def test_no_samples_file_says_where_we_looked(tmp_path: Path) -> None:
    ran = knowbound(tmp_path, "eval")
    assert ran.returncode == 2
    assert "eval-samples.*" in ran.stderr
    assert "[no-samples]" in ran.stderr


def test_one_data_folder_for_two_knowledge_bases_mixes_nothing(tmp_path: Path) -> None:
    samples = tmp_path / "eval-samples.json"
    samples.write_text('[{"sample_id": "a", "prompt": "Who approves refunds?"}]')
    for name, text in (("told", "# Refunds\n\nRefunds are approved by the finance team.\n"), ("untold", "# Other\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "refunds.md").write_text(text)
    given = ("eval", str(samples), "--gap-rate-regression", "0.1", "--root")
    home = str(tmp_path / "home")
    assert knowbound(tmp_path, *given, "told", KNOWBOUND_HOME=home).returncode == 0
    second = knowbound(tmp_path, *given, "untold", KNOWBOUND_HOME=home)
    assert second.returncode == 0
    assert "no earlier run with the same test set" in second.stdout
    gate = ("check", "--max-gap-rate", "0.5", "--root")
    assert knowbound(tmp_path, *gate, "told", KNOWBOUND_HOME=home).returncode == 0
    assert knowbound(tmp_path, *gate, "untold", KNOWBOUND_HOME=home).returncode == 1


def test_the_built_in_executor_covers_the_knowledge_base_whatever_the_folder_of_a_sample(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "refunds.md").write_text("# Refunds\n\nRefunds are approved by the finance team.\n")
    row = {"sample_id": "a", "prompt": "Who approves refunds?", "cwd": "docs"}
    (tmp_path / "eval-samples.json").write_text(json.dumps([row]))
    document = evaluated(tmp_path)
    assert document["coverage"]["uncovered"] == []
    assert document["runs"][0]["reached"] == ["docs/refunds.md"]


@pytest.mark.long
def test_a_run_in_which_every_agent_crashed_is_no_baseline(tmp_path: Path) -> None:
    (tmp_path / "refunds.md").write_text("# Refunds\n\nRefunds are approved by the finance team.\n")
    (tmp_path / "eval-samples.json").write_text('[{"sample_id": "a", "prompt": "Who approves refunds?"}]')
    gate = ("--gap-rate-regression", "0.1")
    assert knowbound(tmp_path, "eval", *gate).returncode == 0
    assert knowbound(tmp_path, "eval", "--executor", "command:false", *gate).returncode == 3
    (tmp_path / "refunds.md").write_text("# Other\n")
    broken = knowbound(tmp_path, "eval", *gate)
    assert broken.returncode == 1, broken.stdout


def test_competency_questions_are_gated_by_nobody(story: tuple[Path, list[dict[str, Any]]]) -> None:
    base, _ = story
    before = json.loads(knowbound(base, "check", "--max-gap-rate", "1", "--format", "json").stdout)
    assert knowbound(base, "probe", "--count", "5").returncode == 0
    after = json.loads(knowbound(base, "check", "--max-gap-rate", "1", "--format", "json").stdout)
    assert after["watermark"] == before["watermark"]
    assert after["run"] == before["run"]


def test_when_every_agent_crashes_nothing_is_decided(tmp_path: Path) -> None:
    (tmp_path / "eval-samples.json").write_text('[{"sample_id": "a", "prompt": "Where?"}]')
    ran = knowbound(tmp_path, "eval", "--executor", "command:false", "--max-gap-rate", "0.5")
    assert ran.returncode == 3
    assert "nothing is decided" in ran.stderr
    assert "crashed" in ran.stdout


def test_validate_only_checks(tmp_path: Path) -> None:
    (tmp_path / "eval-samples.json").write_text('[{"sample_id": "a", "prompt": "Where?"}]')
    ran = knowbound(tmp_path, "eval", "--validate")
    assert ran.returncode == 0
    assert "1 sample" in ran.stdout
    assert not (tmp_path / ".knowbound").exists()


def test_killed_in_the_middle_and_resumed_no_sample_is_lost_or_finished_twice(tmp_path: Path) -> None:
    """Kill -9 while agents run: those that ended are kept, those that run end with us and are run anew."""
    rows = [{"sample_id": f"s{number:02d}", "prompt": f"Question {number}?"} for number in range(24)]
    (tmp_path / "eval-samples.json").write_text(json.dumps(rows))
    fifo, gate = tmp_path / "said", tmp_path / "gate"
    os.mkfifo(fifo)
    os.mkfifo(gate)
    agent = tmp_path / "agent.sh"
    # Each agent tells that it began, waits for a word on the gate, and answers.
    agent.write_text(f'#!/bin/sh\necho "$KNOWBOUND_SAMPLE" > "{fifo}"\nread -r word < "{gate}"\necho "It is $word."\n')
    agent.chmod(0o755)
    begun: list[str] = []
    enough = threading.Event()
    heard, let = os.open(fifo, os.O_RDWR), os.open(gate, os.O_RDWR)

    def listen() -> None:
        with os.fdopen(os.dup(heard)) as lines:
            for line in lines:
                if line.strip() == "end":
                    return
                begun.append(line.strip())
                if len(begun) < 9:
                    os.write(let, b"known\n")  # eight agents may end; those after them wait
                if len(begun) >= 11:
                    enough.set()

    listener = threading.Thread(target=listen)
    listener.start()
    arguments = ("eval", "--executor", f"command:{agent}", "--concurrency", "3", "--seconds", "60")
    command = (str(Path(sys.executable).with_name("knowbound")), *arguments)
    first = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert enough.wait(60)
    first.send_signal(signal.SIGKILL)
    first.wait()
    os.write(let, b"known\n" * 40)  # all that follow end
    resumed = knowbound(tmp_path, *arguments, "--resume", "--format", "json")
    os.write(heard, b"end\n")
    listener.join()
    os.close(heard)
    os.close(let)
    assert resumed.returncode == 0, resumed.stderr
    assert "Resumed" in resumed.stderr
    document = json.loads(resumed.stdout)
    assert sorted(run["sample"] for run in document["runs"]) == [row["sample_id"] for row in rows]
    assert all(run["ending"] == "done" for run in document["runs"])
    assert set(begun) == {row["sample_id"] for row in rows}
    assert len(begun) - len(rows) <= 3  # only those that ran when it was killed were started again


def test_what_was_stored_and_never_shown_is_not_run_again(tmp_path: Path) -> None:
    """As when it is killed before it prints: --resume shows it, and it counts once."""
    (tmp_path / "eval-samples.json").write_text(json.dumps([{"sample_id": "a", "prompt": "Which port?"}]))
    agent = tmp_path / "agent.sh"
    agent.write_text(f'#!/bin/sh\necho x >> "{tmp_path}/runs"\necho "It is 8080."\n')
    agent.chmod(0o755)
    arguments = ("eval", "--executor", f"command:{agent}")
    assert knowbound(tmp_path, *arguments, "-o", str(tmp_path / "no" / "such" / "folder")).returncode == 2
    resumed = knowbound(tmp_path, *arguments, "--resume", "--format", "json")
    assert resumed.returncode == 0, resumed.stderr
    assert "Resumed: 1 of 1 runs were done already" in resumed.stderr
    assert (tmp_path / "runs").read_text() == "x\n"
    with closing(Evaluations(tmp_path / ".knowbound")) as store:
        assert len(store.heads()) == 1
    assert "Nothing to resume" in knowbound(tmp_path, *arguments, "--resume").stderr


def test_ended_by_a_signal_what_is_done_is_kept(tmp_path: Path) -> None:
    rows = [{"sample_id": f"s{number}", "prompt": f"Question {number}?"} for number in range(4)]
    (tmp_path / "eval-samples.json").write_text(json.dumps(rows))
    fifo = tmp_path / "said"
    os.mkfifo(fifo)
    agent = tmp_path / "agent.sh"
    agent.write_text(
        f'#!/bin/sh\necho "$KNOWBOUND_SAMPLE" > "{fifo}"\n[ "$KNOWBOUND_SAMPLE" = s0 ] || sleep 600\necho ok\n'
    )
    agent.chmod(0o755)
    arguments = ("eval", "--executor", f"command:{agent}", "--concurrency", "1")
    command = (str(Path(sys.executable).with_name("knowbound")), *arguments)
    ran = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert fifo.read_text() == "s0\n"
    assert fifo.read_text() == "s1\n"  # the second agent runs
    ran.send_signal(signal.SIGTERM)
    _, said = ran.communicate(timeout=60)
    assert ran.returncode == 130
    assert "--resume" in said
    assert subprocess.run(("pgrep", "-f", str(agent)), capture_output=True, check=False).returncode == 1


SHAPES = sorted(path.name for path in (Path(__file__).parents[1] / "samples").iterdir() if path.suffix != ".py")


@pytest.mark.parametrize("name", SHAPES)
def test_sample_files_of_every_shape_run_unchanged(tmp_path: Path, name: str) -> None:
    """The shapes that the samples files of oh-my-knowledge have: lists, wrappers, three versions, YAML, folders."""
    (tmp_path / "notes.md").write_text("# Notes\n\nThe billing webhook is owned by the Payments team.\n")
    source, copy = Path(__file__).parents[1] / "samples" / name, tmp_path / name
    shutil.copytree(source, copy) if source.is_dir() else shutil.copy(source, copy)
    samples = load_samples(copy).samples
    for sample in samples:
        (tmp_path / sample.cwd).mkdir(parents=True, exist_ok=True)  # where it wants to work
    ran = knowbound(tmp_path, "eval", name, "--format", "json")
    assert ran.returncode == 0, ran.stderr
    runs = json.loads(ran.stdout)["runs"]
    assert [(run["sample"], run["ending"]) for run in runs] == [(sample.id, "done") for sample in samples]


def test_check_shows_sarif_with_its_gates(story: tuple[Path, list[dict[str, Any]]]) -> None:
    base, _ = story
    document = json.loads(knowbound(base, "check", "--max-gap-rate", "0", "--format", "sarif").stdout)
    rules = {result["ruleId"] for run in document["runs"] for result in run["results"]}
    assert "failed_search" in rules
    assert any("max-gap-rate" in json.dumps(run) for run in document["runs"])


@pytest.mark.long
def test_a_real_model_answers_and_judges(tmp_path: Path, model_server: str) -> None:
    """It is a bad agent and a bad judge: what it says does not matter, that every part of it is recorded does."""
    (tmp_path / "refunds.md").write_text("# Refunds\n\nRefunds above 500 EUR need two approvals from finance.\n")
    row = {"sample_id": "a", "prompt": "How many approvals does a refund above 500 EUR need?", "rubric": "It says two."}
    (tmp_path / "eval-samples.json").write_text(json.dumps([row]))
    given = (
        "eval",
        "--executor",
        f"model:{model_server}",
        "--judge",
        model_server,
        "--seconds",
        "120",
        "--format",
        "json",
    )
    first, again = (knowbound(tmp_path, *given) for _ in range(2))
    assert first.returncode in (0, 3), first.stderr  # 3: it did not come to an end
    (run,) = json.loads(first.stdout)["runs"]
    if run["ending"] == "done":
        assert run["tokens_in"] > 0
        assert run["usd"] is None  # nobody knows the price of a model of one's own
        (score,) = run["grade"]["criteria"]
        assert score["score"] in (1, 2, 3, 4, 5) or score["problem"]
        assert json.loads(again.stdout)["runs"][0]["cached"]
    else:
        assert run["problem"]


def test_a_script_is_found_where_the_command_was_written(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "refunds.md").write_text("# Refunds\n")
    (tmp_path / "agent.sh").write_text("cat > /dev/null; pwd\n")
    (tmp_path / "eval-samples.json").write_text('[{"sample_id": "a", "prompt": "Where?"}]')
    given = ("eval", "eval-samples.json", "--root", "docs", "--executor", "command:sh agent.sh", "--format", "json")
    (run,) = json.loads(knowbound(tmp_path, *given).stdout)["runs"]
    assert Path(run["answer"].strip()) == (tmp_path / "docs").resolve()


# The sequence of the README


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with its samples beside its knowledge base, as the README has it."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "refunds.md").write_text("# Refunds\n\nRefunds are approved by the finance team.\n")
    (tmp_path / "eval-samples.yaml").write_text("- sample_id: a\n  prompt: Who approves refunds?\n")
    return tmp_path


@pytest.mark.long
@pytest.mark.parametrize("environ", [{}, {"KNOWBOUND_HOME": "data"}], ids=["of the root", "named by the user"])
def test_after_eval_of_a_folder_the_other_verbs_need_not_be_told_it_again(
    project: Path, environ: dict[str, str]
) -> None:
    for _ in range(2):
        ran = knowbound(project, "eval", "eval-samples.yaml", "--root", "docs", "--max-gap-rate", "0.2", **environ)
        assert ran.returncode == 0, ran.stderr
    ran = knowbound(project, "trend", "--format", "html", "-o", "trend.html", **environ)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == "knowbound: nothing is stored for this folder; this is --root docs.\n"
    assert "eval-samples.yaml" in (project / "trend.html").read_text("utf-8")
    for verb in (("compare",), ("check", "--max-gap-rate", "0.2"), ("report",)):
        ran = knowbound(project, *verb, **environ)
        assert (ran.returncode, "eval-samples.yaml" in ran.stdout) == (0, True), ran.stderr


def test_eval_of_a_folder_finds_the_samples_of_the_current_folder(project: Path) -> None:
    ran = knowbound(project, "eval", "--root", "docs")
    assert (ran.returncode, "eval-samples.yaml" in ran.stdout) == (0, True), ran.stderr


@pytest.mark.parametrize(
    ("commits", "advice"),
    [
        (0, "It is in no git repository with a commit. Try: a folder"),
        (1, "Try: a folder, or commit a change first"),
        (3, "Try: a folder, or one of the last commits: "),
    ],
)
def test_a_version_that_is_not_there_names_those_that_are(tmp_path: Path, commits: int, advice: str) -> None:
    base = begin(tmp_path / "kb") if commits else tmp_path
    for step in COMMITS[:commits]:
        commit(base, step)
    (base / "eval-samples.yaml").write_text("- sample_id: a\n  prompt: Who approves refunds?\n")
    ran = knowbound(base, "eval", "--against", "HEAD~9")
    assert (ran.returncode, advice in ran.stderr) == (2, True), ran.stderr
    assert "HEAD~1" not in ran.stderr


def test_the_line_of_a_gate_in_a_log_has_its_watermark(project: Path) -> None:
    ran = knowbound(project, "eval", "--max-gap-rate", "0.2", "-o", "report.html", "--format", "html")
    gate = next(line for line in ran.stderr.splitlines() if line.startswith("max-gap-rate"))
    assert "Test set: eval-samples.yaml · 1 samples · sha256 " in gate.replace(f"{project}/", "")
    assert WARNING in ran.stderr


@pytest.mark.long
def test_several_evaluated_folders_are_named_and_none_is_chosen(project: Path) -> None:
    shutil.copytree(project / "docs", project / "handbook")
    for root in ("docs", "handbook"):
        assert knowbound(project, "eval", "eval-samples.yaml", "--root", root).returncode == 0
    ran = knowbound(project, "trend")
    assert ran.returncode == 2
    assert "Try one of: --root docs, --root handbook" in ran.stderr


def test_a_folder_with_evaluations_of_its_own_shows_those(project: Path) -> None:
    assert knowbound(project, "eval", "eval-samples.yaml", "--root", "docs").returncode == 0
    assert knowbound(project, "eval").returncode == 0
    ran = knowbound(project, "trend", "--format", "json")
    assert (len(json.loads(ran.stdout)["evaluations"]), ran.stderr) == (1, "")


def test_where_nothing_was_evaluated_that_is_said(project: Path) -> None:
    (project / "docs" / ".knowbound").mkdir()
    ran = knowbound(project, "trend")
    assert (ran.returncode, "[no-run]" in ran.stderr) == (2, True)


@pytest.mark.parametrize(("environ", "slug"), [({}, "no-injection"), ({"KNOWBOUND_OFF": "1"}, "hooks-off")])
def test_injection_that_cannot_be_is_an_error_and_nothing_runs(
    tmp_path: Path, environ: dict[str, str], slug: str
) -> None:
    base = begin(tmp_path / "kb")
    commit(base, COMMITS[0])
    ran = knowbound(base, "eval", "--inject", "on", **environ)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert f"[{slug}]" in ran.stderr

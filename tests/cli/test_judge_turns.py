from __future__ import annotations

import json
import os
import pty
import subprocess
import termios
from pathlib import Path
from typing import Any

import pytest

from knowbound.core.quality import ItemVerdict, LoggedItem, QualityTurn
from knowbound.judge.labels import read_turn_labels
from knowbound.kms.quality_log import SqliteQualityLog
from knowbound.traces.turns import session_of, turns_in
from tests import warm_process
from tests.cli.test_judge import COMMAND, read_until
from tests.transcripts import Transcript
from tests.turn_examples import as_labelled, record, usual_labels, write_labels

FIRST = {
    "id": "t1",
    "prompt": "Which port has the ledger?",
    "items": [{"id": "a", "content": "The ledger has port 8004."}, {"id": "b", "content": "Use nginx."}],
    "response": "It is 8040.",
    "tool_calls": [{"name": "Read", "input": {"file_path": ".env"}, "output": "PORT=8040"}],
}
SECOND = {**FIRST, "id": "t2", "items": [{"id": "c", "content": "Deploys run on Friday."}]}


class Project:
    """A folder with `knowbound` as a process in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.labels = root / ".knowbound" / "turn-labels.jsonl"
        self.environ = {**os.environ, "HOME": str(root), "COLUMNS": "100"}
        self.environ.pop("KNOWBOUND_HOME", None)

    def judge(self, *words: str, said: str = "") -> subprocess.CompletedProcess[str]:
        return warm_process.knowbound("judge", *words, cwd=self.root, env=self.environ, said=said)

    def label(self, *rows: dict[str, Any], said: str) -> subprocess.CompletedProcess[str]:
        given = self.root / "given.jsonl"
        given.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        done = self.judge("label", "--question", "turns", "--input", "given.jsonl", said=said)
        assert done.returncode == 0, done.stderr
        return done

    def labelled(self) -> dict[str, str]:
        """What was said of each item of each turn, in letters."""
        if not self.labels.exists():
            return {}
        return {
            f"{turn.id}/{item}": "".join("ny"[one] for one in (label.on_topic, label.used, label.contradicted))
            for turn in read_turn_labels(self.labels).labels
            for item, label in turn.labels.items()
        }


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


# Labelling


@pytest.mark.parametrize(
    ("said", "labels"),
    [
        ("yyy\nnnn\nynn\n", {"t1/a": "yyy", "t1/b": "nnn", "t2/c": "ynn"}),
        ("y\nn\nyes\nNO\nn\nn\nq\n", {"t1/a": "yny", "t1/b": "nnn"}),
        ("yyy\nq\n", {}),  # a turn is written as a whole
        ("yyy\ns\nq\n", {"t1/a": "yyy"}),  # an item may be skipped
        ("s\ns\nynn\n", {"t2/c": "ynn"}),  # a turn without labels is none
        ("yyy\nu\nnnn\nnnn\nq\n", {"t1/a": "nnn", "t1/b": "nnn"}),  # back to the item before
        ("yyu\nynn\nnnn\nq\n", {"t1/a": "ynn", "t1/b": "nnn"}),  # the same item again
        ("yyy\nnnn\nu\nnnn\nyyy\nynn\n", {"t1/a": "nnn", "t1/b": "yyy", "t2/c": "ynn"}),  # the turn before
        ("u\nyyy\nnnn\nq\n", {"t1/a": "yyy", "t1/b": "nnn"}),  # there is nothing to undo
        ("perhaps\nyyy\nnnn\nq\n", {"t1/a": "yyy", "t1/b": "nnn"}),
        ("", {}),
    ],
)
def test_three_answers_per_item_are_read_line_by_line(project: Project, said: str, labels: dict[str, str]) -> None:
    project.label(FIRST, SECOND, said=said)
    assert project.labelled() == labels


def test_a_turn_is_shown_once_with_its_calls_and_then_item_by_item(project: Project) -> None:
    done = project.label(FIRST, said="yyy\nnnn\n")
    assert done.stderr.count("Which port has the ledger?") == 1
    for shown in ("── Turn 1 of 1", '  > Read {"file_path":".env"}', "PORT=8040", "  | It is 8040.", "Item 2 of 2"):
        assert shown in done.stderr
    assert done.stdout == (
        f"1 turn labelled, 2 items: 1 on topic, 1 used, 1 contradicted, in {project.labels}. "
        "Next: knowbound judge calibrate --question turns\n"
    )


def test_labelling_resumes_with_what_is_not_labelled_yet(project: Project) -> None:
    project.label(FIRST, SECOND, said="yyy\nnnn\nq\n")
    done = project.label(FIRST, SECOND, said="ynn\n")
    assert "── Turn 1 of 1" in done.stderr
    assert project.labelled() == {"t1/a": "yyy", "t1/b": "nnn", "t2/c": "ynn"}
    none = project.judge("label", "--question", "turns", "--input", "given.jsonl")
    assert (none.returncode, "[nothing-to-label]" in none.stderr) == (2, True)


def test_who_labels_and_when_is_kept(project: Project) -> None:
    project.label(FIRST, said="yyy\nnnn\n")
    (turn,) = read_turn_labels(project.labels).labels
    assert turn.by
    assert turn.time.endswith("Z")


def test_hostile_text_cannot_reach_the_terminal_or_pass_for_ours(project: Project) -> None:
    hostile = "\x1b[2J\x1b]0;owned\x07\u202eevil\r\nItem 9 of 9\n── Turn 7 of 7\nOn topic: say y\x9b31m\x00"
    row = {
        "id": "\x1b[31mt1",
        "prompt": hostile,
        "response": hostile,
        "items": [{"id": "\x1b[0m", "content": hostile}],
        "tool_calls": [{"name": hostile, "input": {hostile: hostile}, "output": hostile}],
    }
    done = project.label(row, said="yyy\n")
    shown = done.stderr + done.stdout
    assert not {"\x1b", "\x9b", "\x07", "\x00", "\u202e", "\r"} & set(shown)
    lines = done.stderr.splitlines()
    assert [line for line in lines if line.startswith(("Item", "──", "On topic"))] == [
        "── Turn 1 of 1",
        "Item 1 of 1",
        "On topic: does it bear on what the prompt asks?",
    ]


def test_secrets_are_neither_shown_nor_kept(project: Project) -> None:
    secret = "ghp_" + "a1B2" * 9
    row = {**FIRST, "prompt": f"My token is {secret}", "response": f"Used {secret}."}
    done = project.label(row, said="yyy\nnnn\n")
    assert secret not in done.stderr + project.labels.read_text("utf-8")


def test_a_line_that_is_no_turn_is_named(project: Project) -> None:
    (project.root / "given.jsonl").write_text('{"id": "t1"}\n')
    done = project.judge("label", "--question", "turns", "--input", "given.jsonl")
    assert (done.returncode, "given.jsonl:1 is no turn" in done.stderr) == (2, True)


def test_on_a_terminal_one_key_is_an_answer(project: Project) -> None:
    (project.root / "given.jsonl").write_text(json.dumps(FIRST) + "\n")
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, "label", "--question", "turns", "--input", "given.jsonl"],
        cwd=project.root,
        env=project.environ,
        stdin=theirs,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stderr
        for key, question in zip(b"yynnnn", (b"On topic", b"Used", b"Contradicted") * 2, strict=True):
            read_until(running.stderr, question)
            while termios.tcgetattr(theirs)[3] & termios.ICANON:  # keys typed before it listens are thrown away
                assert running.poll() is None
            os.write(ours, bytes([key]))
    os.close(ours)
    os.close(theirs)
    assert running.returncode == 0
    assert project.labelled() == {"t1/a": "yyn", "t1/b": "nnn"}


def logged(number: int, *, contradicted: bool) -> QualityTurn:
    item = LoggedItem("a", "sqlite", f"Fact {number}.", 7, verdict=ItemVerdict("a", True, True, contradicted))
    return QualityTurn(
        session_id=f"s{number}",
        turn_id="p1",
        timestamp="2026-11-10T10:00:00Z",
        user_prompt=f"Question {number}?",
        assistant_response=f"Reply {number}.",
        injected_items=(item,),
        judge="rules-1",
    )


def test_turns_are_drawn_from_the_quality_log_without_the_verdict(project: Project) -> None:
    empty = project.judge("label", "--question", "turns")
    assert (empty.returncode, "[nothing-to-label]" in empty.stderr) == (2, True)
    log = SqliteQualityLog(project.root / ".knowbound")
    for number in range(20):
        log.put(logged(number, contradicted=number < 2))
    log.close()
    done = project.judge("label", "--question", "turns", "--count", "4", said="ynn\n" * 4)
    assert done.stdout.startswith("4 turns labelled, 4 items: 4 on topic, 0 used, 0 contradicted")
    turns = read_turn_labels(project.labels).labels
    assert {"s0/p1", "s1/p1"} < {turn.id for turn in turns}  # both that the judge saw contradicted
    assert {(turn.weight, turn.id in ("s0/p1", "s1/p1")) for turn in turns} == {(0.2, True), (1.8, False)}
    assert {turn.judge for turn in turns} == {"rules-1"}
    assert "rules" not in done.stderr
    again = project.judge("label", "--question", "turns", said="ynn\n" * 100)
    assert again.stdout.startswith("16 turns labelled")


# Calibrating


def test_the_gate_is_shown_metric_by_metric(project: Project) -> None:
    labels = usual_labels(120)
    path = write_labels(project.labels, labels)
    record(project.root / "answers.jsonl", labels, lambda _t, _i, label: (label.on_topic, label.used, False))
    name = "recorded:answers.jsonl"
    done = project.judge("calibrate", "--question", "turns", "--judge", name)
    assert done.returncode == 1, done.stderr
    shown = " ".join(done.stdout.split())
    assert "on topic: passed · used: passed · contradicted: halted" in shown
    assert "It says no to everything: where people say otherwise it is right in 0 of 24, and κ is 0" in shown
    assert "Ranking waits for “contradicted”." in shown
    assert f"Labels: {path} · 120 turns · 240 labelled items · sha256" in shown
    assert "contradicted 0 0 24 216 0" in shown
    markdown = project.judge("calibrate", "--question", "turns", "--judge", name, "--format", "markdown").stdout
    assert "| contradicted | 90% (86–93%) |" in markdown


def test_the_document_has_the_figures_and_the_state_of_each_metric(project: Project) -> None:
    labels = usual_labels(120)
    write_labels(project.labels, labels)
    name = record(project.root / "answers.jsonl", labels, as_labelled)
    done = project.judge("calibrate", "--question", "turns", "--judge", name, "--format", "json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["format"], found["question"]) == ("knowbound.turn_calibration/1", "turns")
    assert found["ranking_waits_for"] == []
    assert found["gates"]["used"]["state"] == "passed"
    used = found["metrics"]["used"]
    assert used["table"] == {"true_yes": 60, "false_yes": 0, "false_no": 0, "true_no": 180}
    assert used["kappa"]["low"] > 0.9
    assert used["precision"]["value"] == 1.0
    assert (found["fallback"], found["weekly"], found["notes"]) == (None, None, [])
    again = json.loads(project.judge("calibrate", "--question", "turns", "--judge", name, "--format", "json").stdout)
    assert again["weekly"]["labelled"] == 0


def test_too_few_labels_are_underpowered_and_strict_says_so(project: Project) -> None:
    labels = usual_labels(20)
    write_labels(project.labels, labels)
    name = record(project.root / "answers.jsonl", labels)
    assert project.judge("calibrate", "--question", "turns", "--judge", name).returncode == 0
    strict = project.judge("calibrate", "--question", "turns", "--judge", name, "--strict")
    assert strict.returncode == 3
    assert "50 labelled turns are needed: label 30 more" in " ".join(strict.stdout.split())


def test_the_embedded_judge_is_measured_by_default(project: Project) -> None:
    project.label(FIRST, SECOND, said="yyy\nnnn\nnnn\n")
    done = project.judge("calibrate", "--question", "turns")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("knowbound judge calibrate  rules on turns: ")


def test_options_that_are_not_about_turns_are_refused(project: Project) -> None:
    for words in (["--run"], ["--min-kappa", "0.6"]):
        done = project.judge("calibrate", "--question", "turns", *words)
        assert (done.returncode, "not about turns" in done.stderr) == (2, True)
    missing = project.judge("calibrate", "--question", "turns")
    assert (missing.returncode, "[no-labels]" in missing.stderr) == (2, True)


def test_a_turn_whose_trace_is_still_there_is_shown_with_what_its_tools_returned(project: Project) -> None:
    transcript = Transcript(session="0000abcd-2222-4333-8444-555555555555").user("Which port has the ledger?")
    transcript.bash("cat ledger/.env", "PORT=8040").says("The ledger has port 8040, whatever the note says.")
    path = transcript.write(project.root / "traces")
    (turn,) = turns_in(session_of(path))
    log = SqliteQualityLog(project.root / ".knowbound")
    item = LoggedItem("a", "sqlite", "The ledger has port 8004.", 25, verdict=ItemVerdict("a", True, True, True))
    log.put(QualityTurn(turn.session, turn.key, "2026-11-10T10:00:00Z", injected_items=(item,), trace=str(path)))
    log.close()
    done = project.judge("label", "--question", "turns", said="yyy\n")
    assert done.returncode == 0, done.stderr
    assert "    PORT=8040" in done.stderr.splitlines()
    (kept,) = read_turn_labels(project.labels).labels
    assert kept.prompt == "Which port has the ledger?"
    assert kept.response == "The ledger has port 8040, whatever the note says."
    assert "PORT=8040" in kept.tool_calls[0].output
    assert kept.session == turn.session

from __future__ import annotations

import json
import os
import pty
import shlex
import signal
import subprocess
import sys
import termios
from pathlib import Path
from typing import IO, Any

import pytest

from knowbound.judge.hedging.rules import RulesJudge
from knowbound.judge.hedging.verdict import HedgingCandidate
from tests import warm_process
from tests.transcripts import Transcript

COMMAND = [str(Path(sys.executable).with_name("knowbound")), "judge"]
# Whoever runs the tests in the background has the interrupt ignored, and so would a child of theirs.
LISTENS = (
    sys.executable,
    "-c",
    "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])",
)
THINGS = ("ledger", "invoice", "parser", "worker", "cache", "router", "scheduler", "exporter")
DOUBT = "I'm not sure which schema the {} uses."
NO_DOUBT = "If you like, you could perhaps rename the {}."


class Project:
    """A folder with traces, and `knowbound` as a process in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.labels = root / ".knowbound" / "labels.jsonl"
        self.environ = {**os.environ, "HOME": str(root), "COLUMNS": "100"}
        self.environ.pop("KNOWBOUND_HOME", None)

    def observe(self) -> None:
        for number in range(2):
            session = Transcript(session=f"{number:08d}-2222-4333-8444-555555555555").user("Look at it.")
            for thing in THINGS[number::2]:
                session.says(f"I read it. {DOUBT.format(thing)} That is all.").says(NO_DOUBT.format(thing))
                session.says(f"The {thing} can probably stay, perhaps with a smaller buffer later, if you like it.")
            session.write(self.root / "traces")
        done = warm_process.knowbound("observe", "traces", cwd=self.root, env=self.environ)
        assert done.returncode == 0, done.stderr

    def judge(self, *words: str, said: str = "") -> subprocess.CompletedProcess[str]:
        return warm_process.knowbound("judge", *words, cwd=self.root, env=self.environ, said=said)

    def json(self, *words: str) -> dict[str, Any]:
        done = self.judge(*words, "--format", "json")
        assert done.returncode == 0, done.stderr
        document: dict[str, Any] = json.loads(done.stdout)
        return document

    def labelled(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.labels.read_text("utf-8").splitlines()]

    def file(self, *rows: object) -> str:
        path = self.root / "given.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        return str(path)

    def command_judge(self, answer: str) -> str:
        """A judge that is a program of ours: it prints what the Python expression makes of its input `asked`."""
        script = self.root / "judge.py"
        script.write_text(f"import json, re, sys\nasked = sys.stdin.read()\nprint({answer})\n", "utf-8")
        return f"command:{shlex.join([sys.executable, str(script)])}"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture
def observed(project: Project) -> Project:
    project.observe()
    return project


def sentences() -> list[dict[str, object]]:
    return [{"text": DOUBT.format(one), "label": True} for one in THINGS] + [
        {"text": NO_DOUBT.format(one), "label": False} for one in THINGS
    ]


def kept(text: str) -> bool:
    verdict = RulesJudge().judge([HedgingCandidate(text)])[0]
    assert verdict is not None
    return verdict.is_uncertainty


def test_sentences_that_the_judge_kept_and_dropped_are_labelled_without_its_verdict(observed: Project) -> None:
    done = observed.judge("label", "--count", "8", said="y\n" * 8)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"8 labelled: 8 yes, 0 no, in {observed.labels}. Next: knowbound judge calibrate\n"
    rows = observed.labelled()
    assert sum(kept(row["text"]) for row in rows) == 4
    assert len({row["text"] for row in rows}) == 8
    assert all(row["session"] and row["by"] and row["time"] for row in rows)
    assert "rules" not in done.stderr
    assert "verdict" not in done.stderr
    assert rows[0]["text"] in done.stderr


def test_weights_make_labels_stand_for_all_sentences(observed: Project) -> None:
    observed.judge("label", "--count", "8", said="y\n" * 8)
    of_kept = {row.get("weight", 1.0) for row in observed.labelled() if kept(row["text"])}
    of_dropped = {row.get("weight", 1.0) for row in observed.labelled() if not kept(row["text"])}
    everything = [DOUBT.format(one) for one in THINGS] + [NO_DOUBT.format(one) for one in THINGS]
    everything += [
        f"The {one} can probably stay, perhaps with a smaller buffer later, if you like it." for one in THINGS
    ]
    share = sum(map(kept, everything)) / len(everything)
    assert list(of_kept) == [pytest.approx(share / 0.5, abs=1e-3)]
    assert list(of_dropped) == [pytest.approx((1 - share) / 0.5, abs=1e-3)]


def test_a_labelled_sentence_is_not_asked_again(observed: Project) -> None:
    first = observed.judge("label", "--count", "20", said="n\n" * 20)
    assert first.stdout.startswith("20 labelled")
    second = observed.judge("label", "--count", "20", said="n\n" * 20)
    assert second.stdout.startswith("4 labelled")
    third = observed.judge("label", said="n\n")
    assert third.returncode == 2
    assert "[nothing-to-label]" in third.stderr
    assert "has none that is not labelled yet" in " ".join(third.stderr.split())


def test_without_a_stored_run_there_is_nothing_to_draw_from(project: Project) -> None:
    done = project.judge("label")
    assert (done.returncode, "[no-run]" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("said", "labels"),
    [
        ("y\nn\n", [("A.", True), ("B.", False)]),
        ("yes\nNO\n", [("A.", True), ("B.", False)]),
        ("s\ny\n", [("B.", True)]),
        ("y\nu\nn\ny\n", [("A.", False), ("B.", True)]),  # taken back, then said otherwise
        ("y\ns\nu\nn\n", [("A.", False)]),  # undo goes back to what was labelled last
        ("u\ny\n", [("A.", True)]),
        ("what\ny\n", [("A.", True)]),
        ("y\nq\nn\n", [("A.", True)]),
        ("", []),
    ],
)
def test_answers_are_read_line_by_line_without_a_terminal(
    project: Project, said: str, labels: list[tuple[str, bool]]
) -> None:
    (project.root / "three.txt").write_text("A.\nB.\nC.\n", "utf-8")
    done = project.judge("label", "--input", "three.txt", said=said)
    assert done.returncode == 0, done.stderr
    given = [(row["text"], row["label"]) for row in project.labelled()] if project.labels.exists() else []
    assert given == labels


def test_given_sentences_come_with_their_context_and_without_secrets(project: Project) -> None:
    row = {"text": "It may be password=hunter2hunter2.", "context": "So. It may be. \x1b[31mRed.", "session": "s9"}
    done = project.judge("label", "--input", project.file(row), "--by", "ada", said="y\n")
    assert "\x1b" not in done.stderr
    assert "hunter2" not in done.stderr + project.labels.read_text("utf-8")
    assert [(one["session"], one["by"]) for one in project.labelled()] == [("s9", "ada")]
    wrong = project.judge("label", "--input", project.file({"context": "no text"}))
    assert (wrong.returncode, "given.jsonl:1 " in wrong.stderr) == (2, True)


def read_until(stream: IO[bytes] | int, text: bytes) -> bytes:
    seen = b""
    while text not in seen:
        part = os.read(stream if isinstance(stream, int) else stream.fileno(), 4096)
        assert part, seen
        seen += part
    return seen


def test_nothing_is_lost_on_an_interrupt(project: Project) -> None:
    (project.root / "three.txt").write_text("A.\nB.\nC.\n", "utf-8")
    with subprocess.Popen(
        [*LISTENS, *COMMAND, "label", "--input", "three.txt"],
        cwd=project.root,
        env=project.environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdin
        assert running.stderr
        running.stdin.write(b"y\n")
        running.stdin.flush()
        read_until(running.stderr, b"2 of 3")
        running.send_signal(signal.SIGINT)
        out, _ = running.communicate()
    assert running.returncode == 130
    assert out.startswith(b"1 labelled: 1 yes")
    assert [row["text"] for row in project.labelled()] == ["A."]


def test_on_a_terminal_one_key_is_an_answer(project: Project) -> None:
    (project.root / "three.txt").write_text("A.\nB.\nC.\n", "utf-8")
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, "label", "--input", "three.txt"],
        cwd=project.root,
        env=project.environ,
        stdin=theirs,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stderr
        for number, key in enumerate(b"ynq", 1):
            read_until(running.stderr, f"{number} of 3".encode())
            while termios.tcgetattr(theirs)[3] & termios.ICANON:  # keys typed before it listens are thrown away
                assert running.poll() is None
            os.write(ours, bytes([key]))
    os.close(ours)
    os.close(theirs)
    assert running.returncode == 0
    assert [(row["text"], row["label"]) for row in project.labelled()] == [("A.", True), ("B.", False)]


def test_the_judge_in_force_is_held_against_labels(project: Project) -> None:
    path = project.file(*sentences())
    text = project.judge("calibrate", path)
    assert text.returncode == 0, text.stderr
    found = project.json("calibrate", path)
    assert found["format"] == "knowbound.calibration/1"
    assert (found["judge"], found["kappa"]["value"], found["sensitivity"]["k"], found["n"]) == ("rules", 1.0, 8, 16)
    mark = found["labels"]
    assert f"Labels: {path} · 16 labels · sha256 {mark['sha256_8']}" in text.stdout
    assert "κ is 1.00" in text.stdout
    markdown = project.judge("calibrate", path, "--format", "markdown", "-o", "out.md")
    assert markdown.stdout == ""
    written = (project.root / "out.md").read_text("utf-8")
    assert "| Sensitivity | 100% (8 of 8, 95% 68–100%) |" in written
    assert mark["sha256_8"] in written


def test_the_labels_of_the_data_folder_are_the_default(observed: Project) -> None:
    missing = observed.judge("calibrate")
    assert (missing.returncode, "[no-labels]" in missing.stderr) == (2, True)
    observed.judge("label", "--count", "16", said="y\nn\n" * 8)
    found = observed.json("calibrate")
    assert found["labels"]["path"] == str(observed.labels)
    assert found["labels"]["sessions"] == 2
    assert found["weighted"]


def test_too_few_labels_are_underpowered_and_strict_says_so(project: Project) -> None:
    path = project.file(*sentences()[6:10])
    assert project.judge("calibrate", path).returncode == 0
    strict = project.judge("calibrate", path, "--strict")
    assert strict.returncode == 3
    assert "Underpowered: rules on hedging\n\nκ is 1.00" in strict.stdout
    assert "more labels would" in " ".join(strict.stdout.split())


@pytest.mark.long
def test_a_judge_that_always_says_no_fails_the_gate(project: Project) -> None:
    rows = sentences()[3:] + [{"text": f"Sentence {number} may do.", "label": False} for number in range(60)]
    about = '{"id": id_, "isUncertainty": False, "confidence": 0.9, "reason": "always"}'
    judge = project.command_judge(
        f'json.dumps({{"items": [{about} for id_ in re.findall(r"\\"id\\":\\"(s\\d+)", asked)]}})'
    )
    done = project.judge("calibrate", project.file(*rows), "--judge", judge, "--min-kappa", "0.6")
    assert done.returncode == 1, done.stderr + done.stdout
    assert "It says no to everything, so κ is 0 however often it agrees." in " ".join(done.stdout.split())
    assert "Agreement    93.2% (68 of 73" in done.stdout
    ungated = project.judge("calibrate", project.file(*rows), "--judge", judge)
    assert ungated.returncode == 0


def test_verdicts_that_fail_are_counted_apart_with_their_reason(project: Project) -> None:
    judge = project.command_judge('json.dumps({"isUncertainty": "ledger" not in asked, "confidence": 2, "reason": ""})')
    found = project.json("calibrate", project.file(*sentences()), "--judge", judge)
    assert (found["failed"]["k"], found["failed"]["n"], found["n"]) == (16, 16, 0)
    assert found["kappa"] == {"value": None, "low": None, "high": None}
    assert found["verdict"] == "underpowered"
    assert len(found["problems"]) == 16


def test_verdicts_that_cost_are_asked_for_once(project: Project) -> None:
    count = f'open({str(project.root / "asked")!r}, "a").write("x")'
    judge = project.command_judge(
        f"({count}) and json.dumps({{'items': [{{'id': id_, 'isUncertainty': True, 'confidence': 1}} "
        "for id_ in ('s1', 's2', 's3')]})"
    )
    path = project.file(*sentences()[:3])
    first = project.json("calibrate", path, "--judge", judge)
    assert project.json("calibrate", path, "--judge", judge) == first
    assert (project.root / "asked").read_text() == "x"  # ten sentences are one question


def test_the_rate_of_a_run_is_corrected_for_the_error_of_the_judge(observed: Project) -> None:
    found = observed.json("calibrate", observed.file(*sentences()), "--run")["run"]
    assert found["observed"]["n"] == 24
    assert found["corrected"]["value"] == pytest.approx(found["observed"]["value"])  # it made no error on these labels
    assert found["corrected"]["low"] < found["corrected"]["value"] < found["corrected"]["high"]
    judge = observed.command_judge('json.dumps({"items": []})')
    other = observed.json("calibrate", observed.file(*sentences()[:2]), "--run", "--judge", judge)
    assert other["run"] is None
    assert "not judged by this judge" in other["notes"][0]


def test_only_the_part_kept_aside_is_used(project: Project) -> None:
    rows = [{**row, "session": f"s{at}"} for at, row in enumerate(sentences())]
    found = project.json("calibrate", project.file(*rows), "--aside", "0.5")
    assert 0 < found["n"] < 16
    assert found["labels"]["of"] == 16
    text = project.judge("calibrate", project.file(*rows), "--aside", "0.5").stdout
    assert f"{found['n']} labels kept aside of 16 from {found['n']} sessions" in text


def test_scores_of_a_rubric_are_held_against_peoples(project: Project) -> None:
    rows = [
        {"text": f"Reply {score}.", "context": "Ask.", "rubric": "is right", "label": score, "question": "rubric"}
        for score in (1, 2, 3, 4, 5)
    ]
    judge = project.command_judge('json.dumps({"score": int(asked.split("Reply ")[1][0]), "reason": "as it says"})')
    path = project.file(*rows)
    found = project.json("calibrate", path, "--question", "rubric", "--judge", judge)
    assert (found["kappa"]["value"], found["difference"]["value"]) == (1.0, 0.0)
    assert (found["agreement"]["k"], found["agreement"]["n"]) == (5, 5)
    assert "Weighted κ  1.00" in project.judge("calibrate", path, "--question", "rubric", "--judge", judge).stdout
    rules = project.judge("calibrate", path, "--question", "rubric", "--judge", "rules")
    assert (rules.returncode, "[no-judge]" in rules.stderr) == (2, True)


def test_wrong_input_is_named(project: Project) -> None:
    broken = project.judge("calibrate", project.file({"text": "a"}))
    assert (broken.returncode, "given.jsonl:1 is no label" in broken.stderr) == (2, True)
    unknown = project.judge("calibrate", project.file(*sentences()), "--judge", "rulez")
    assert (unknown.returncode, "[unknown-judge]" in unknown.stderr) == (2, True)


def test_the_judges_are_listed_with_what_they_need_and_which_are_in_force(project: Project) -> None:
    text = project.judge("list")
    assert text.returncode == 0, text.stderr
    assert "Configured for hedges: rules\n" in text.stdout
    assert "Configured for rubrics: rules\n" in text.stdout
    found = project.json("list")
    assert found["format"] == "knowbound.judges/1"
    assert found["in_force"] == dict.fromkeys(
        (
            "turns",
            "hedges",
            "rubrics",
            "probe",
            "lessons",
            "claims",
            "statements",
            "rules",
            "misses",
            "rescue",
            "investigate",
            "causes",
            "drafts",
        ),
        "rules",
    )
    assert next(row["usable"] for row in found["judges"] if row["kind"] == "rules")
    assert all(row["usable"] or row["why_not"] for row in found["judges"])
    assert project.judge("list", "--format", "markdown").stdout.startswith("| judge | kind | usable |")
    (project.root / "knowbound.toml").write_text("[hedging_classifier]\nenabled = false\n", "utf-8")
    assert project.json("list")["in_force"]["hedges"] is None

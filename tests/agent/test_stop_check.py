"""The check before an agent stops: one sentence, once a turn, never in a loop, silent in doubt, and logged when off."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from knowbound.agent.background import SCORING
from knowbound.agent.hook.stop import IF_WRONG
from knowbound.audit.stop import check_answer
from knowbound.judge.choice import Permission, keep_permission
from knowbound.store.data_dir import STOP_CHECKS
from tests.audit.turns import edit, started
from tests.hook_project import Project
from tests.transcripts import SESSION, Transcript

CLAIM = "Fixed the rounding. All tests pass."
MISSING = 'The answer says "All tests pass.", but a test run is not in the trace.'


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.environ["KNOWBOUND_AUDIT_CHECK_MS"] = "20000"  # the machine of a test may be busy
    made.store("Totals are rounded half to even.")
    return made


def test_the_check_waits_a_moment_for_the_end_of_the_transcript(tmp_path: Path) -> None:
    """A client may write the last calls after it has called the hook: without them it would look like no test run."""
    whole = edit(started()).bash("pytest", "4 passed in 0.1s").says(CLAIM).write(tmp_path)
    lines = whole.read_bytes().splitlines(keepends=True)
    early = tmp_path / "early.jsonl"
    early.write_bytes(b"".join(lines[:-3]))
    assert check_answer(early, CLAIM, time.monotonic() + 20).sentence == MISSING
    late = threading.Timer(0.03, lambda: early.write_bytes(b"".join(lines)))
    late.start()
    assert check_answer(early, CLAIM, time.monotonic() + 20, waits=True).sentence == ""
    late.join()


def stop(project: Project, turns: Transcript, mode: str = "", answer: str = CLAIM, **more: Any) -> dict[str, Any]:
    """What the client gets when its agent stops; {} is silence."""
    transcript = turns.write(project.root / "transcripts")
    payload = {
        "session_id": SESSION,
        "prompt_id": "p1",
        "transcript_path": str(transcript),
        "cwd": str(project.root),
        "hook_event_name": "Stop",
        "stop_hook_active": False,
        "last_assistant_message": answer,
    }
    environ = {"KNOWBOUND_AUDIT_CHECK": mode} if mode else {}
    lock = SCORING.take_lock(str(project.home))  # so that the hook starts no worker
    assert lock is not None
    try:
        said = project.run("stop", json.dumps(payload | more).encode(), **environ)
    finally:
        os.close(lock)
    return dict(json.loads(said)) if said.strip() else {}


def noted(project: Project) -> list[dict[str, Any]]:
    files = sorted((project.home / STOP_CHECKS).glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]


def test_block_gives_the_agent_one_factual_sentence(project: Project) -> None:
    assert stop(project, edit(started()), "block") == {"decision": "block", "reason": MISSING}


def test_warn_tells_the_user(project: Project) -> None:
    assert stop(project, edit(started()), "warn") == {"systemMessage": f"knowbound: {MISSING} {IF_WRONG}"}


def test_off_is_silent_and_logs_what_it_would_have_said(project: Project) -> None:
    assert stop(project, edit(started())) == {}
    (line,) = noted(project)
    assert (line["mode"], line["said"], line["session"], line["turn"]) == ("off", MISSING, SESSION, "p1")


def test_it_speaks_once_a_turn(project: Project) -> None:
    assert stop(project, edit(started()), "block")
    assert stop(project, edit(started()), "block") == {}
    assert stop(project, edit(started()), "block", prompt_id="p2")
    assert len(noted(project)) == 2


def test_it_never_speaks_where_a_hook_made_the_agent_go_on(project: Project) -> None:
    assert stop(project, edit(started()), "block", stop_hook_active=True) == {}


def test_the_answer_of_the_client_counts_where_the_transcript_does_not_have_it_yet(project: Project) -> None:
    turns = edit(started()).bash("pytest", "12 passed in 0.80s")
    assert stop(project, turns, "block") == {}
    assert stop(project, turns, "block", "All tests pass and lint is clean.")["decision"] == "block"


@pytest.mark.parametrize(
    ("answer", "more"),
    [
        ("Changed the rounding.", {}),
        ("All tests should pass now.", {}),
        ("", {}),
        (CLAIM, {"transcript_path": ""}),
        (CLAIM, {"transcript_path": "/nowhere/at/all.jsonl"}),
        (CLAIM, {"background_tasks": [{"id": "b1"}]}),
        (CLAIM, {"agent_id": "sub1"}),
    ],
)
def test_it_is_silent_in_doubt(answer: str, more: dict[str, Any], project: Project) -> None:
    assert stop(project, edit(started()), "block", answer, **more) == {}
    assert noted(project) == []


def test_talk_about_earlier_work_is_left_alone(project: Project) -> None:
    turns = edit(started()).bash("pytest", "12 passed in 0.80s").says("Done.").user("What did you do?")
    assert stop(project, turns, "block", "I fixed the rounding, and all tests pass.") == {}


def test_an_unknown_mode_is_off(project: Project) -> None:
    assert stop(project, edit(started()), "shout") == {}


def test_the_turn_is_queued_either_way(project: Project) -> None:
    stop(project, edit(started()), "block")
    ended = [json.loads(line) for file in (project.home / "ended").glob("*") for line in file.read_text().splitlines()]
    assert {line["session"] for line in ended if "event" in line} == {SESSION}


@pytest.mark.parametrize(
    ("turns", "answer"),
    [
        (lambda: edit(started()).says("Done.").user("Is it good?"), "Yes. All tests pass."),  # no call in this turn
        (lambda: edit(started()).bash('python -c "import app"', ""), "All tests pass."),
        (lambda: edit(started()).bash("pytest tests/test_app.py", "4 passed in 0.1s"), "12 tests pass."),
        (lambda: edit(started()).bash("pytest tests/test_mail.py", "4 passed in 0.1s"), "All tests pass."),
    ],
)
def test_the_session_decides_and_only_a_test_run_excuses_tests(turns: Any, answer: str, project: Project) -> None:
    assert stop(project, turns(), "block", answer)["decision"] == "block"


def test_after_its_own_limit_the_check_is_skipped_and_says_so_in_its_log(project: Project) -> None:
    project.environ["KNOWBOUND_AUDIT_CHECK_MS"] = "0"
    assert stop(project, edit(started()), "block") == {}
    assert [line.get("skipped") for line in noted(project)] == ["the time was over"]


GERMAN = "Alle Tests laufen durch."


def allow_model(project: Project, monkeypatch: pytest.MonkeyPatch, answer: object) -> Path:
    program = project.root / "model.py"
    program.write_text(
        "import pathlib, sys\nsys.stdin.read()\n"
        f"pathlib.Path({str(project.root / 'asked')!r}).touch()\nprint({json.dumps(answer)!r})\n"
    )
    name = f"command:{sys.executable} {program}"
    monkeypatch.setenv("HOME", str(project.root))
    keep_permission(Permission(name, commands=True, background=True))
    project.environ["KNOWBOUND_MODEL"] = name
    return project.root / "asked"


def submit(project: Project) -> dict[str, Any]:
    payload = {"session_id": SESSION, "prompt": "Next: add a header", "cwd": str(project.root), "prompt_id": "p2"}
    said = project.run("user-prompt-submit", json.dumps(payload).encode(), KNOWBOUND_AUDIT_CHECK="warn")
    return dict(json.loads(said)) if said.strip() else {}


def unseen(quote: str) -> dict[str, object]:
    return {"claims": [{"quote": quote, "kind": "tests_pass", "support": "unseen", "missing": "a test run"}]}


def test_what_rules_cannot_read_goes_to_the_model_and_is_said_once_at_the_next_prompt(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = allow_model(project, monkeypatch, unseen(GERMAN))
    assert stop(project, edit(started()), "warn", GERMAN) == {}
    assert asked.exists()
    assert submit(project)["systemMessage"] == (
        f'knowbound, about the last answer: The answer says "{GERMAN}", but nothing shows it (missing: a test run). '
        f"{IF_WRONG}"
    )
    assert "systemMessage" not in submit(project)
    assert [(line["said"][:16], line["by"]) for line in noted(project)] == [("The answer says ", "model")]


def test_an_answer_after_a_test_run_is_not_handed_over(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = allow_model(project, monkeypatch, unseen(GERMAN))
    assert stop(project, edit(started()).bash("pytest", "12 passed in 0.8s"), "warn", GERMAN) == {}
    assert not asked.exists()


def test_without_permission_for_the_background_nothing_is_handed_over(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = allow_model(project, monkeypatch, unseen(GERMAN))
    keep_permission(Permission(project.environ["KNOWBOUND_MODEL"], commands=True, background=False))
    assert stop(project, edit(started()), "warn", GERMAN) == {}
    assert not asked.exists()


def test_an_answer_that_ends_with_a_question_is_left_alone(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = allow_model(project, monkeypatch, unseen(GERMAN))
    turns = edit(started()).bash("pytest", "2 failed in 0.1s", code=1)
    assert stop(project, turns, "warn", "Zwei Tests schlagen fehl. Soll ich sie anpassen?") == {}
    assert not asked.exists()

"""Events that the MCP server answers: the same answers and records as a process, each event once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from knowbound.agent.hook import log as hook_log
from knowbound.agent.install.clients import guarded
from knowbound.agent.mcp import hook_events
from knowbound.agent.mcp.hook_events import HookServer
from knowbound.injection.prompt import HookPrompt
from knowbound.quality.queue import Queue
from tests.hook_project import PORT, PROMPT, Project
from tests.services import until

MARKS = Path(".local/state/knowbound/resident")


@pytest.fixture
def server(filled: Project, monkeypatch: pytest.MonkeyPatch) -> HookServer:
    monkeypatch.chdir(filled.root)
    for name in ("HOME", "KNOWBOUND_INJECTION_TIME_LIMIT_MS"):
        monkeypatch.setenv(name, filled.environ[name])
    return HookServer()


def prompted(project: Project, turn: str = "p-1", **more: Any) -> dict[str, Any]:
    about = {"layout": 1, "agent": "claude-code", "event": "UserPromptSubmit", "session_id": f"s-{turn}"}
    return about | {"prompt_id": turn, "cwd": str(project.root), "prompt": PROMPT, "agent_id": ""} | more


def said(server: HookServer, values: dict[str, Any], **meta: str) -> str:
    """What the agent gets; the answer was sent."""
    later: list[Any] = []
    answer = server.answered(values, meta, later)
    for work in later:
        work()
    return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))


def test_the_server_gives_the_answer_of_a_process_and_records_it_alike(filled: Project, server: HookServer) -> None:
    by_process = filled.ask(session="s-process", prompt_id="p-0")
    assert said(server, prompted(filled)) == by_process
    until(lambda: all(record.prompt for record in filled.records()))
    first, second = filled.records()
    assert (first.outcome, first.delivered, first.prompt) == (second.outcome, second.delivered, second.prompt)
    assert [one.item for one in first.items] == [one.item for one in second.items]
    assert [run["outcome"] for run in hook_log.runs(str(filled.home))] == ["injected", "injected"]


def test_an_event_is_answered_by_whoever_comes_first(filled: Project, server: HookServer) -> None:
    assert PORT in said(server, prompted(filled))
    assert filled.ask(session="s-p-1", prompt_id="p-1") == ""
    assert PORT in filled.ask(session="s-p-2", prompt_id="p-2")
    assert said(server, prompted(filled, "p-2")) == ""
    assert len(filled.records()) == len(hook_log.runs(str(filled.home))) == 2


def test_what_has_no_id_is_left_to_the_process(filled: Project, server: HookServer) -> None:
    assert said(server, prompted(filled, prompt_id="")) == ""
    assert not (filled.root / MARKS).exists()
    assert PORT in filled.ask(session="s-1")
    assert len(filled.records()) == 1


def test_a_tool_use_of_the_agent_cannot_forge_an_event(filled: Project, server: HookServer) -> None:
    for meta in ({"claudecode/toolUseId": "toolu_1"}, {"x-codex-turn-metadata": "{}"}):
        assert said(server, prompted(filled), **meta) == ""
    assert said(server, prompted(filled, event="SessionStart")) == said(server, prompted(filled, layout=2)) == ""
    assert filled.records() == []


def test_an_event_is_answered_in_the_project_that_it_names(filled: Project, server: HookServer, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert said(server, prompted(filled, cwd=str(elsewhere))) == ""
    (filled.root / "knowbound.toml").write_text("[injection]\nmost_items = 0\n")
    assert said(server, prompted(filled, "p-2")) == ""
    (filled.root / "knowbound.toml").unlink()
    assert PORT in said(server, prompted(filled, "p-3"))


def test_an_item_that_is_stored_meanwhile_is_found_and_a_withdrawn_one_is_not(
    filled: Project, server: HookServer
) -> None:
    assert PORT in said(server, prompted(filled))
    falcon = "The falcon service listens on port 9090."
    [stored] = filled.store(falcon)
    asked = "On which port does the falcon service listen?"
    assert falcon in said(server, prompted(filled, "p-2", prompt=asked))
    base = filled.base()
    base.delete(stored)
    base.close()
    assert falcon not in said(server, prompted(filled, "p-3", prompt=asked))


def test_an_ended_turn_is_queued_once_with_its_last_message(filled: Project, server: HookServer) -> None:
    stop = prompted(filled, event="Stop", stop_hook_active="false", last_assistant_message="Done.")
    del stop["prompt"]
    assert said(server, stop | {"background_tasks": "[]"}) == ""
    assert said(server, stop) == ""
    until(lambda: [one.answer for one in Queue(filled.home).pending() or []] == ["Done."])


def test_the_calls_of_a_turn_are_counted_with_their_time(filled: Project, server: HookServer) -> None:
    tool = prompted(filled, event="PostToolUse", tool_name="Bash", tool_input='{"command":"make"}')
    for number in range(3):
        response = json.dumps({"stdout": "built", "stderr": ""})
        assert said(server, tool | {"tool_use_id": f"t-{number}", "tool_response": response}) == ""
    said(server, prompted(filled, event="Stop", stop_hook_active="false", last_assistant_message="Done."))
    until(lambda: [one.tool_calls for one in Queue(filled.home).pending() or []] == [3])


def test_many_events_at_once_are_answered_or_declined_and_all_are_recorded(
    filled: Project, server: HookServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook_events, "_FIRST_MS", 100.0)
    crowded = HookServer()
    crowded._limit_ms = 1_000
    answers: list[str] = []
    start = threading.Barrier(60)

    def call(number: int) -> None:
        start.wait()
        answers.append(said(crowded, prompted(filled, f"p-{number}")))

    threads = [threading.Thread(target=call, args=(number,)) for number in range(60)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    until(lambda: len(filled.records()) == 60 and all(one.outcome != "unknown" for one in filled.records()))
    outcomes = Counter(one.outcome for one in filled.records())
    assert outcomes["injected"] == sum(PORT in answer for answer in answers)
    assert outcomes["declined"] > 0
    assert set(outcomes) <= {"injected", "declined", "gave_up"}
    assert len({one.prompt_id for one in filled.records()}) == 60


def test_after_an_upgrade_the_process_of_the_new_version_answers(
    filled: Project, server: HookServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert PORT in said(server, prompted(filled))
    assert len(list((filled.root / MARKS).iterdir())) == 1
    monkeypatch.setattr(hook_events, "installation", lambda: (1, 2, 3))
    assert PORT in said(server, prompted(filled, "p-2"))  # by a process: the shell gave way to us
    assert list((filled.root / MARKS).iterdir()) == []
    until(lambda: len(filled.records()) == 2)


def test_switched_off_nothing_is_said(filled: Project, server: HookServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KNOWBOUND_OFF", "1")
    assert said(server, prompted(filled)) == ""
    assert filled.records() == []


# The line in the settings


def run_line(home: Path) -> str:
    """What a guarded command prints, as a client runs it."""
    done = subprocess.run(
        ["/bin/sh", "-c", guarded("echo answered")],
        env={"HOME": str(home), "PATH": os.environ["PATH"]},
        input="x" * 200_000,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.strip()


def test_the_process_gives_way_to_one_living_server_of_its_client(tmp_path: Path) -> None:
    assert run_line(tmp_path) == "answered"
    marks = tmp_path / MARKS
    marks.mkdir(parents=True)
    client = os.getpid()
    (marks / f"1.{client}").touch()  # of another client
    assert run_line(tmp_path) == "answered"
    (marks / f"{client}.{os.getppid()}").touch()
    assert run_line(tmp_path) == ""
    (marks / f"{client}.1").touch()  # a second one: which of them has this session is not known
    assert run_line(tmp_path) == "answered"


def test_the_process_does_not_give_way_to_a_dead_server(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", "pass"])
    ended.wait()
    marks = tmp_path / MARKS
    marks.mkdir(parents=True)
    (marks / f"{os.getpid()}.{ended.pid}").touch()
    assert run_line(tmp_path) == "answered"


def test_a_session_that_starts_removes_what_ended_servers_left(filled: Project) -> None:
    marks, claims = filled.root / MARKS, filled.home / "claims"
    marks.mkdir(parents=True)
    claims.mkdir()
    (marks / "999999999.999999998").touch()
    (marks / f"{os.getpid()}.{os.getpid()}").touch()
    (claims / "old").touch()
    os.utime(claims / "old", (0, 0))
    (claims / "new").touch()
    filled.start()
    assert [path.name for path in marks.iterdir()] == [f"{os.getpid()}.{os.getpid()}"]
    assert [path.name for path in claims.iterdir()] == ["new"]


def test_a_sub_agent_of_codex_is_known_by_its_transcript(filled: Project, server: HookServer) -> None:
    session, agent = "01a1ef54-8df4-7890-ac22-eae1166eb05e", "01a1ef54-9035-7960-a700-06dbc4b35269"
    known = prompted(filled, agent="codex", session_id=session, turn_id="t-1")
    del known["prompt_id"], known["agent_id"]
    for name in (session, agent):
        assert PORT in said(server, known | {"transcript_path": f"/r/rollout-2026-11-18T15-44-19-{name}.jsonl"})
    assert [one.agent_id for one in filled.records()] == ["", agent]
    assert said(server, known | {"transcript_path": None, "turn_id": "t-2"}) == ""  # left to the process


@pytest.mark.parametrize("outcome", ["declined", "gave_up"])
def test_an_event_that_the_server_had_no_time_for_is_recorded_once(
    filled: Project, server: HookServer, outcome: str
) -> None:
    """The process beside it may have answered by then."""
    for turn, is_answered in (("p-1", True), ("p-2", False)):
        payload = {"session_id": f"s-{turn}", "prompt_id": turn, "cwd": str(filled.root), "prompt": PROMPT}
        if is_answered:
            assert PORT in filled.ask(session=f"s-{turn}", prompt_id=turn)
        run = hook_events.ResidentRun("user-prompt-submit", time.monotonic())
        hook_events._record_unanswered(run, HookPrompt(payload), payload, outcome)
    assert [(one.session, one.outcome) for one in filled.records()] == [("s-p-1", "injected"), ("s-p-2", outcome)]
    assert filled.ask(session="s-p-2", prompt_id="p-2") == ""

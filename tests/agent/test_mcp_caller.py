"""Which session a correction carries. The transcripts are shaped as Claude Code 2.1.197 writes them."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from knowbound.agent.mcp import caller
from knowbound.agent.mcp.caller import Caller, caller_of

CALL = "toolu_0123456789"
META = {"claudecode/toolUseId": CALL, "progressToken": 2}


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caller, "_WAIT_SECONDS", 0.0)


def prompt(session: str, prompt_id: str, text: str = "Correct it.") -> dict[str, Any]:
    message = {"role": "user", "content": text}
    return {"type": "user", "promptId": prompt_id, "sessionId": session, "uuid": "u", "message": message}


def tool_use(session: str, call: str = CALL) -> dict[str, Any]:
    block = {"type": "tool_use", "id": call, "name": "mcp__knowbound__kms_flag", "input": {"id": "k-1"}}
    return {"type": "assistant", "sessionId": session, "uuid": "a", "message": {"id": "m", "content": [block]}}


def write(path: Path, *lines: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def transcript(home: Path, name: str) -> Path:
    return home / ".claude" / "projects" / "-work-shop" / f"{name}.jsonl"


def found(home: Path, session: str = "", **environ: str) -> Caller:
    return caller_of(META, {"HOME": str(home), "CLAUDE_CODE_SESSION_ID": session, **environ})


def claude(session: str = "", turn: str = "", agent_id: str = "") -> Caller:
    return Caller(session, turn, CALL, "claude-code", agent_id)


def test_codex_says_session_turn_and_call(tmp_path: Path) -> None:
    turn = {"session_id": "s-1", "thread_id": "s-1", "turn_id": "t-1", "model": "gpt-5.5", "sandbox": "seccomp"}
    meta = {"callId": "call_1", "x-codex-turn-metadata": turn, "threadId": "s-1", "itemId": "fc_1"}
    assert caller_of(meta, {"HOME": str(tmp_path)}) == Caller("s-1", "t-1", "call_1", "codex")


def test_the_session_of_claude_code_is_the_one_whose_transcript_has_the_call(tmp_path: Path) -> None:
    write(
        transcript(tmp_path, "one"), prompt("one", "p-1"), prompt("one", "p-2"), tool_use("one"), prompt("one", "p-3")
    )
    assert found(tmp_path, "one") == claude("one", "p-2")


def test_after_clear_the_session_is_the_new_one_though_the_environment_has_the_old(tmp_path: Path) -> None:
    write(transcript(tmp_path, "old"), prompt("old", "p-1"), tool_use("old", "toolu_before"))
    write(transcript(tmp_path, "new"), prompt("new", "p-9"), tool_use("new"))
    assert found(tmp_path, "old") == claude("new", "p-9")
    assert found(tmp_path) == claude("new", "p-9")


def test_a_sub_agent_has_the_session_of_its_parent_and_a_context_of_its_own(tmp_path: Path) -> None:
    write(transcript(tmp_path, "one"), prompt("one", "p-1"))
    below = transcript(tmp_path, "one").with_suffix("") / "subagents" / "agent-a1.jsonl"
    write(below, prompt("one", "p-1") | {"isSidechain": True}, tool_use("one") | {"isSidechain": True, "agentId": "a1"})
    assert found(tmp_path, "one") == claude("one", "p-1", "a1")
    assert found(tmp_path, "one").context == "one-a1"


def test_the_folder_of_claude_code_may_be_moved(tmp_path: Path) -> None:
    write(tmp_path / "moved" / "projects" / "-shop" / "one.jsonl", prompt("one", "p-1"), tool_use("one"))
    assert found(tmp_path, "one", CLAUDE_CONFIG_DIR=str(tmp_path / "moved")) == claude("one", "p-1")


def test_the_call_may_be_written_after_it_arrives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each wait stands for time that passes: after the second one the client has written the line."""
    write(transcript(tmp_path, "one"), prompt("one", "p-1"))
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 2:
            write(transcript(tmp_path, "one"), prompt("one", "p-1"), tool_use("one"))

    monkeypatch.setattr(caller, "_WAIT_SECONDS", 60.0)
    monkeypatch.setattr(time, "sleep", wait)
    assert found(tmp_path, "one") == claude("one", "p-1")
    assert len(waits) == 2


NOT_KNOWN = {
    "no transcript": [],
    "another call": [prompt("one", "p-1"), tool_use("one", "toolu_another")],
    "the id in a prompt": [prompt("one", "p-1", f"What was {CALL}?")],
    "the id in the text of the agent": [
        {"type": "assistant", "sessionId": "one", "message": {"content": [{"type": "text", "text": f'"id":"{CALL}"'}]}}
    ],
    "the id in a result": [
        {"type": "user", "sessionId": "one", "message": {"content": [{"type": "tool_result", "tool_use_id": CALL}]}}
    ],
    "a line of other types": [{"type": ["assistant"], "sessionId": 7, "promptId": {}, "message": CALL}],
}


@pytest.mark.parametrize("name", NOT_KNOWN)
def test_what_is_not_known_is_empty_and_the_call_is_kept(tmp_path: Path, name: str) -> None:
    if lines := NOT_KNOWN[name]:
        write(transcript(tmp_path, "one"), *lines)
    assert found(tmp_path, "one") == claude()


def test_a_line_that_is_not_complete_yet_is_not_the_call(tmp_path: Path) -> None:
    path = transcript(tmp_path, "one")
    write(path, prompt("one", "p-1"))
    with path.open("a") as file:
        file.write(json.dumps(tool_use("one"))[:-3])
    assert found(tmp_path, "one") == claude()


def test_a_transcript_that_was_not_written_lately_is_not_searched(tmp_path: Path) -> None:
    write(transcript(tmp_path, "one"), prompt("one", "p-1"), tool_use("one"))
    os.utime(transcript(tmp_path, "one"), (1, 1))
    assert found(tmp_path) == claude()
    assert found(tmp_path, "one").session == "one"


def test_of_a_long_transcript_the_end_is_read(tmp_path: Path) -> None:
    filler = {"type": "user", "sessionId": "one", "message": {"content": "x" * 1_000_000}}
    write(transcript(tmp_path, "one"), prompt("one", "p-1"), *[filler] * 6, tool_use("one"))
    assert found(tmp_path, "one") == claude("one", "")  # the prompt is too far back


HOSTILE: list[dict[str, Any]] = [
    {},
    {"claudecode/toolUseId": None},
    {"claudecode/toolUseId": "../../etc/passwd"},
    {"claudecode/toolUseId": "*"},
    {"claudecode/toolUseId": "x" * 1000},
    {"claudecode/toolUseId": ["toolu_1"]},
    {"x-codex-turn-metadata": {"session_id": "a\nb", "turn_id": 7}, "callId": {"a": 1}},
    {"x-codex-turn-metadata": "s-1"},
]


@pytest.mark.parametrize("meta", HOSTILE)
def test_what_is_no_id_is_not_taken_for_one(tmp_path: Path, meta: dict[str, Any]) -> None:
    known = caller_of(meta, {"HOME": str(tmp_path), "CLAUDE_CODE_SESSION_ID": "../*"})
    assert (known.session, known.turn, known.call, known.context) == ("", "", "", "")

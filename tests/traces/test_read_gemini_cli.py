from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knowbound.core.trace import Broken, Event, Injection, Outcome, Prompt, Skill, Start, Step, ToolCall, ToolKind
from knowbound.traces.readers.gemini_cli import GeminiCli
from knowbound.traces.source import Tally, read_head
from tests.mutation import mutated
from tests.recordings import recordings


def call(name: str, args: dict[str, Any], response: dict[str, Any] | None, status: str = "success") -> dict[str, Any]:
    id_ = f"{name}-1"
    result = [{"functionResponse": {"id": id_, "name": name, "response": response}}] if response is not None else []
    return {"id": id_, "name": name, "args": args, "status": status, "result": result}


def user(id_: str, text: object) -> dict[str, Any]:
    return {"id": id_, "timestamp": f"2026-01-01T00:00:{id_[1:]}Z", "type": "user", "content": text}


def agent(id_: str, text: str, *calls: dict[str, Any]) -> dict[str, Any]:
    return {**user(id_, text), "type": "gemini", "toolCalls": list(calls), "model": "gemini-2.5-pro"}


META = {"sessionId": "s-1", "projectHash": "abc", "startTime": "2026-01-01T00:00:00Z", "lastUpdated": "2026-01-02"}
MESSAGES = [
    user("u01", "Where are the release notes?"),
    agent(
        "g02",
        "Looking.",
        call("glob", {"pattern": "**/RELEASE*"}, {"output": 'No files found matching pattern "**/RELEASE*" within /p'}),
        call("read_file", {"file_path": "NEWS.md"}, {"error": "File not found: /p/NEWS.md"}, "error"),
    ),
    {**user("e03", "[API Error: quota]"), "type": "error"},
    user("u04", [{"text": "System: Please continue."}]),
    agent("g05", "There are none."),
]
DOCUMENT = {**META, "messages": MESSAGES}


def read(*files: Path) -> tuple[list[Event], Tally]:
    tally = Tally(skipped=[])
    return list(GeminiCli().read(files, {}, tally)), tally


def written(tmp_path: Path, content: object, name: str = "session.json") -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content, indent=2).encode())
    return path


def lines(values: list[Any]) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def calls_of(events: list[Event]) -> list[ToolCall]:
    return [call for event in events if isinstance(event, Step) for call in event.calls]


def one_call(tmp_path: Path, raw: dict[str, Any]) -> ToolCall:
    (found,) = calls_of(read(written(tmp_path, {**META, "messages": [agent("g01", "", raw)]}))[0])
    return found


def test_a_session_document_gives_its_events_in_order(tmp_path: Path) -> None:
    path = written(tmp_path, DOCUMENT)
    identity = GeminiCli().identify(read_head(path))
    assert identity is not None
    assert (identity.session, identity.time) == ("s-1", "2026-01-01T00:00:00Z")
    events, tally = read(path)
    assert [type(event) for event in events] == [Start, Prompt, Step, Broken, Injection, Step]
    assert [(found.kind, found.outcome) for found in calls_of(events)] == [
        (ToolKind.SEARCH, Outcome.EMPTY),
        (ToolKind.READ, Outcome.MISSING),
    ]
    assert (tally.skipped, tally.duplicates) == ([], 0)


def test_session_lines_read_as_the_document_does(tmp_path: Path) -> None:
    grown = [{**MESSAGES[1], "toolCalls": []}, MESSAGES[1]]
    content = lines([META, MESSAGES[0], *grown, {"$set": {"lastUpdated": "x"}}, *MESSAGES[2:], {"$rewindTo": "g02"}])
    path = written(tmp_path, content, "session.jsonl")
    identity = GeminiCli().identify(read_head(path))
    assert identity is not None
    assert identity.session == "s-1"
    events, tally = read(path)
    as_document, _ = read(written(tmp_path, DOCUMENT))
    assert [type(event) for event in events] == [type(event) for event in as_document]
    assert [found.outcome for found in calls_of(events)] == [found.outcome for found in calls_of(as_document)]
    assert tally.skipped == []


def test_copies_of_a_growing_session_count_once(tmp_path: Path) -> None:
    early = written(
        tmp_path, {**META, "lastUpdated": "2026-01-01", "messages": [MESSAGES[0], agent("g02", "Looking.")]}, "a"
    )
    events, tally = read(written(tmp_path, DOCUMENT, "b"), early)
    assert sum(isinstance(event, Prompt) for event in events) == 1
    assert len(calls_of(events)) == 2
    assert tally.duplicates == 2


@pytest.mark.parametrize(
    ("raw", "outcome"),
    [
        (call("search_file_content", {"pattern": "x"}, {"output": 'No matches found for pattern "x"'}), Outcome.EMPTY),
        (call("read_many_files", {"paths": ["a/*"]}, {"output": "No files matching the criteria were found"}),
         Outcome.MISSING),
        (call("read_file", {"file_path": "a"}, {"error": "[Operation Cancelled] Reason: User denied"}, "cancelled"),
         Outcome.REJECTED),
        (call("read_file", {"file_path": "a"}, {"error": "[Operation Cancelled]"}, "cancelled"), Outcome.CANCELLED),
        (call("read_file", {"file_path": "a"}, None, "executing"), Outcome.UNKNOWN),
        (call("read_file", {"file_path": "a"}, {"output": ""}), Outcome.OK),
        (call("glob", {"pattern": "a"}, {"output": "Found 1 matching file(s)\n/p/a"}), Outcome.OK),
    ],
)  # fmt: skip
def test_status_and_words_decide_the_outcome(tmp_path: Path, raw: dict[str, Any], outcome: Outcome) -> None:
    assert one_call(tmp_path, raw).outcome is outcome


@pytest.mark.parametrize(
    ("report", "outcome"),
    [
        (
            "Command: grep -r x .\nDirectory: (root)\nOutput: (empty)\nError: (none)\nExit Code: 1\nSignal: 0",
            Outcome.EMPTY,
        ),
        ("Output: (empty)\nExit Code: 1\nProcess Group PGID: 7", Outcome.EMPTY),
        ("Output: a.py:1:x\nProcess Group PGID: 7", Outcome.OK),
        (
            "Command: grep -r x .\nDirectory: (root)\nOutput: a.py:1:x\nError: (none)\nExit Code: 0\nSignal: 0",
            Outcome.OK,
        ),
    ],
)
def test_the_report_of_a_command_is_taken_apart(tmp_path: Path, report: str, outcome: Outcome) -> None:
    found = one_call(tmp_path, call("run_shell_command", {"command": "grep -r x ."}, {"output": report}))
    assert (found.kind, found.outcome) == (ToolKind.SEARCH, outcome)
    assert (found.output or "").strip() == ("a.py:1:x" if outcome is Outcome.OK else "")


def test_files_named_in_a_prompt_are_injected_not_said(tmp_path: Path) -> None:
    text = "Explain @a.md\n--- Content from referenced files ---\nContent from @a.md:\nsecret\n--- End of content ---"
    events, _ = read(written(tmp_path, {**META, "messages": [user("u01", text)]}))
    assert [event.text for event in events if isinstance(event, Prompt)] == ["Explain @a.md"]
    assert ["secret" in event.content for event in events if isinstance(event, Injection)] == [True]


def test_the_task_of_a_sub_agent_is_no_prompt(tmp_path: Path) -> None:
    events, _ = read(written(tmp_path, {**META, "kind": "subagent", "messages": MESSAGES[:1]}))
    assert [event.source for event in events if isinstance(event, Injection)] == ["task"]
    assert not any(isinstance(event, Prompt) for event in events)


def test_an_activated_skill_is_told(tmp_path: Path) -> None:
    events, _ = read(
        written(tmp_path, {**META, "messages": [agent("g01", "", call("activate_skill", {"name": "deploy"}, {}))]})
    )
    assert [event.name for event in events if isinstance(event, Skill)] == ["deploy"]


@pytest.mark.parametrize("key", ["", "history", "clientHistory"])
def test_saved_chats_are_read_by_role_and_parts(tmp_path: Path, key: str) -> None:
    chat = [
        {"role": "user", "parts": [{"text": "This is the Gemini CLI. We are setting up the context for our chat. …"}]},
        {"role": "model", "parts": [{"text": "Got it. Thanks for the context!"}]},
        {"role": "user", "parts": [{"text": "Find the port."}]},
        {"role": "model", "parts": [{"functionCall": {"name": "glob", "args": {"pattern": "*.toml"}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "glob", "response": {"output": "No files found"}}}]},
    ]
    path = written(tmp_path, {key: chat} if key else chat)
    assert GeminiCli().identify(read_head(path)) is not None
    events, _ = read(path)
    assert [type(event) for event in events] == [Start, Injection, Step, Prompt, Step]
    assert [found.outcome for found in calls_of(events)] == [Outcome.EMPTY]


def test_truncated_and_foreign_content_is_counted(tmp_path: Path) -> None:
    events, tally = read(written(tmp_path, json.dumps(DOCUMENT, indent=2).encode()[:-20]))
    assert (events, [skipped.reason for skipped in tally.skipped]) == ([], ["truncated"])
    _, tally = read(written(tmp_path, lines([META, *MESSAGES[:2]]) + b'{"id": "g0', "x.jsonl"))
    assert [(skipped.line, skipped.reason) for skipped in tally.skipped] == [(4, "truncated")]
    _, tally = read(written(tmp_path, {**META, "messages": [7, *MESSAGES]}))
    assert [(skipped.line, skipped.reason) for skipped in tally.skipped] == [(1, "foreign")]
    _, tally = read(tmp_path / "absent")
    assert [skipped.reason for skipped in tally.skipped] == ["unreadable: FileNotFoundError"]


@pytest.mark.parametrize(
    "content",
    [
        {"sessionId": "s", "type": "user", "message": {}},
        {"name": "app", "dependencies": {}},
        [{"role": "user", "content": "x"}],
        [{"role": "user", "parts": [{"type": "text", "content": "x"}]}],
        [],
        7,
    ],
)
def test_other_json_is_not_claimed(content: object) -> None:
    assert GeminiCli().identify(json.dumps(content).encode()) is None


def test_a_head_cut_anywhere_is_still_recognised() -> None:
    whole = json.dumps(DOCUMENT, indent=2).encode()
    assert all(GeminiCli().identify(whole[:cut]) is not None for cut in range(120, len(whole)))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=400))
def test_any_bytes_are_read_without_an_exception(tmp_path: Path, content: bytes) -> None:
    GeminiCli().identify(content)
    read(written(tmp_path, content))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**9), cut=st.integers(0, 2000))
def test_mutated_sessions_are_read_without_an_exception(tmp_path: Path, seed: int, cut: int) -> None:
    document = mutated(DOCUMENT, seed)
    whole = json.dumps(document).encode()
    GeminiCli().identify(whole[:cut])
    path = written(tmp_path, whole)
    read(path)
    read(written(tmp_path, whole[:cut], "cut"), path)
    read(written(tmp_path, lines([mutated(line, seed) for line in [META, *MESSAGES, *MESSAGES]])))


def test_real_sessions_lose_nothing() -> None:
    """Counted apart: distinct message and call ids over all files, by session."""
    sessions: dict[str, list[Path]] = {}
    prompts: set[str] = set()
    calls: set[str] = set()
    for path in recordings("gemini-cli"):
        document = json.loads(path.read_bytes())
        sessions.setdefault(document["sessionId"], []).append(path)
        for message in document["messages"]:
            if message["type"] == "user" and not message["content"].startswith("System:"):
                prompts.add(message["id"])
            calls |= {raw["id"] for raw in message.get("toolCalls", [])}
    found: list[Event] = []
    for session, files in sessions.items():
        for path in files:
            identity = GeminiCli().identify(read_head(path))
            assert identity is not None
            assert identity.session == session
        events, tally = read(*files)
        assert tally.skipped == []
        found += events
    assert sorted(event.id for event in found if isinstance(event, Prompt)) == sorted(prompts)
    assert sorted(one.id for one in calls_of(found)) == sorted(calls)

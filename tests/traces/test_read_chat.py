from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knowbound.core.trace import Event, Injection, Outcome, Prompt, Start, Step, ToolCall, ToolKind
from knowbound.traces.readers.chat import Chat
from knowbound.traces.source import Tally
from tests.mutation import mutated

OPENAI: list[dict[str, Any]] = [
    {"role": "system", "content": "You are a careful engineer."},
    {"role": "user", "content": "Where is the retry policy?"},
    {
        "role": "assistant",
        "content": "I will search.",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "grep", "arguments": '{"pattern": "RetryPolicy"}'}},
            {"id": "c2", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "retry.md"}'}},
        ],
    },
    {"role": "tool", "tool_call_id": "c2", "content": "Error: File not found: retry.md"},
    {"role": "tool", "tool_call_id": "c1", "content": "No matches found"},
    {"role": "assistant", "content": "I could not find it."},
]
ANTHROPIC: dict[str, Any] = {
    "system": [{"type": "text", "text": "You are a careful engineer."}],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Where is the retry policy?"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm"},
                {"type": "text", "text": "I will look."},
                {"type": "tool_use", "id": "t1", "name": "Glob", "input": {"pattern": "**/retry*"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "No files found"}]},
                {"type": "text", "text": "<system-reminder>Be brief.</system-reminder>"},
            ],
        },
        {"role": "assistant", "content": "There is none."},
    ],
}
RESPONSES: list[dict[str, Any]] = [
    {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be exact."}]},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Find the port."}]},
    {"type": "reasoning", "id": "r1", "summary": []},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Searching."}]},
    {"type": "function_call", "call_id": "f1", "name": "grep", "arguments": '{"pattern": "port", "path": "conf"}'},
    {"type": "function_call_output", "call_id": "f1", "output": "conf/app.toml:3:port = 80"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It is 80."}]},
]


def events_of(path: Path) -> tuple[list[Event], Tally]:
    tally = Tally(skipped=[])
    return list(Chat().read([path], {}, tally)), tally


def written(tmp_path: Path, content: object, name: str = "talk.json") -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def lines(values: list[Any]) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def calls_of(events: list[Event]) -> list[ToolCall]:
    return [call for event in events if isinstance(event, Step) for call in event.calls]


@pytest.mark.parametrize("form", ["list", "mapping", "lines"])
def test_openai_messages_read_the_same_in_every_container(tmp_path: Path, form: str) -> None:
    content: object = {"list": OPENAI, "mapping": {"messages": OPENAI}, "lines": lines(OPENAI)}[form]
    path = written(tmp_path, content)
    assert Chat().identify(path.read_bytes()) is not None
    events, tally = events_of(path)
    assert [type(event).__name__ for event in events] == ["Start", "Injection", "Prompt", "Step", "Step"]
    assert isinstance(events[1], Injection)
    assert events[1].source == "system"
    assert [(call.id, call.kind, call.outcome) for call in calls_of(events)] == [
        ("c1", ToolKind.SEARCH, Outcome.EMPTY),
        ("c2", ToolKind.READ, Outcome.MISSING),
    ]
    assert tally.skipped == []


def test_anthropic_blocks_carry_calls_results_and_reminders(tmp_path: Path) -> None:
    path = written(tmp_path, ANTHROPIC)
    assert Chat().identify(path.read_bytes()) is not None
    events, _ = events_of(path)
    assert [type(event).__name__ for event in events] == ["Start", "Injection", "Prompt", "Step", "Injection", "Step"]
    (call,) = calls_of(events)
    assert (call.kind, call.outcome, call.query) == (ToolKind.SEARCH, Outcome.EMPTY, "**/retry*")
    assert [said.text for event in events if isinstance(event, Step) for said in event.said] == [
        "I will look.",
        "There is none.",
    ]


def test_items_of_the_responses_api_join_into_one_step(tmp_path: Path) -> None:
    path = written(tmp_path, RESPONSES)
    assert Chat().identify(path.read_bytes()) is not None
    events, tally = events_of(path)
    steps = [event for event in events if isinstance(event, Step)]
    assert [(len(step.said), len(step.calls)) for step in steps] == [(1, 1), (1, 0)]
    assert steps[0].calls[0].outcome is Outcome.OK
    assert steps[0].calls[0].paths == ("conf/app.toml",)
    assert tally.skipped == []


def test_each_line_that_holds_a_conversation_is_a_session(tmp_path: Path) -> None:
    path = written(
        tmp_path, lines([{"messages": OPENAI}, {"id": "b", **ANTHROPIC}, {"messages": OPENAI}]), "many.jsonl"
    )
    assert Chat().identify(path.read_bytes()) is not None
    events, _ = events_of(path)
    assert [event.session for event in events if isinstance(event, Start)] == ["many", "b", "many:3"]
    assert sum(isinstance(event, Prompt) for event in events) == 3
    assert len(calls_of(events)) == 5


def test_message_ids_are_given_or_made_of_the_place(tmp_path: Path) -> None:
    talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "id": "msg_1", "content": "Hello"}]
    events, _ = events_of(written(tmp_path, talk))
    assert [event.id for event in events if isinstance(event, Prompt | Step)] == ["M0", "msg_1"]
    events, _ = events_of(written(tmp_path, lines(talk)))
    assert [event.id for event in events if isinstance(event, Prompt | Step)] == ["L1", "msg_1"]


def test_a_call_without_a_result_is_unknown(tmp_path: Path) -> None:
    events, _ = events_of(written(tmp_path, OPENAI[:3]))
    assert {call.outcome for call in calls_of(events)} == {Outcome.UNKNOWN}


def test_broken_and_foreign_lines_are_counted(tmp_path: Path) -> None:
    content = lines(OPENAI[:2]) + b'{"role": "assis\n' + b'{"other": 1}\n[1]\n' + lines(OPENAI[5:])
    events, tally = events_of(written(tmp_path, content))
    assert [(skipped.line, skipped.reason) for skipped in tally.skipped] == [
        (3, "truncated"),
        (4, "foreign"),
        (5, "foreign"),
    ]
    assert sum(isinstance(event, Step) for event in events) == 1


def test_a_truncated_document_is_counted(tmp_path: Path) -> None:
    path = written(tmp_path, json.dumps(ANTHROPIC, indent=1).encode()[:-40])
    assert Chat().identify(path.read_bytes()) is not None
    events, tally = events_of(path)
    assert events == []
    assert [skipped.reason for skipped in tally.skipped] == ["truncated"]


@pytest.mark.parametrize(
    "content",
    [
        {"name": "app", "version": "1.0.0", "scripts": {"test": "x"}, "dependencies": {}},
        {"compilerOptions": {"strict": True}, "include": ["src"]},
        {"openapi": "3.0.0", "info": {"title": "x"}, "paths": {"/a": {"get": {"responses": {}}}}},
        {"messages": {"en": {"hello": "Hello"}}},
        {"messages": [{"id": 1, "description": "x"}]},
        {"role": "admin", "content": "x"},
        {"role": "user", "name": "Bob"},
        [{"role": "user", "email": "a@b.c"}, {"role": "admin"}],
        {"type": "user", "message": {"role": "user", "content": "x"}, "sessionId": "s"},
        {"timestamp": "t", "type": "response_item", "payload": {"type": "message", "role": "user", "content": []}},
        {"sessionId": "s", "projectHash": "p", "messages": [{"type": "user", "content": "x"}]},
        [1, 2],
        [],
        {},
        "text",
    ],
)
def test_other_json_is_not_claimed(content: object) -> None:
    assert Chat().identify(json.dumps(content).encode()) is None
    assert Chat().identify(json.dumps(content, indent=2).encode()) is None


def test_a_head_cut_anywhere_is_still_recognised() -> None:
    whole = json.dumps({"messages": OPENAI}).encode()
    assert all(Chat().identify(whole[:cut]) is not None for cut in range(50, len(whole)))
    long = json.dumps([{"role": "user", "content": "é\\n" * 100_000}]).encode()
    assert all(Chat().identify(long[:cut]) is not None for cut in range(1000, 1050))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=400))
def test_any_bytes_are_read_without_an_exception(tmp_path: Path, content: bytes) -> None:
    Chat().identify(content)
    events_of(written(tmp_path, content))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**9), cut=st.integers(0, 2000))
def test_mutated_conversations_are_read_without_an_exception(tmp_path: Path, seed: int, cut: int) -> None:
    for content in (mutated(OPENAI, seed), mutated(ANTHROPIC, seed), mutated(RESPONSES, seed)):
        whole = json.dumps(content).encode()
        Chat().identify(whole[:cut])
        events_of(written(tmp_path, whole))
        events_of(written(tmp_path, whole[:cut]))
        events_of(written(tmp_path, lines(content if isinstance(content, list) else [content])))

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knowbound.core.trace import Broken, Event, Injection, Outcome, Prompt, Start, Step, ToolCall, ToolKind
from knowbound.traces.readers.otel import OpenTelemetry
from knowbound.traces.registry import recognise
from knowbound.traces.source import Tally, read_head
from tests.mutation import mutated
from tests.reading import calls, prompts, steps

SECOND = 1_000_000_000
NOON = 1_767_268_800 * SECOND


def value_of(value: object) -> dict[str, Any]:
    if isinstance(value, list):
        return {"arrayValue": {"values": [value_of(entry) for entry in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": key, "value": value_of(inner)} for key, inner in value.items()]}}
    return {"stringValue": value}


def span(id_: str, at: int, attributes: dict[str, Any], parent: str = "", **more: Any) -> dict[str, Any]:
    """An OTLP span that starts `at` seconds after noon and takes one second."""
    return {
        "traceId": "trace1",
        "spanId": id_,
        "parentSpanId": parent,
        "name": "x",
        "startTimeUnixNano": str(NOON + at * SECOND),
        "endTimeUnixNano": str(NOON + (at + more.pop("takes", 1)) * SECOND),
        "attributes": [{"key": key, "value": value_of(value)} for key, value in attributes.items()],
        **more,
    }


def flat(id_: str, at: int, attributes: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A span as the console exporter of the Python SDK writes it."""
    return {
        "name": "x",
        "context": {"trace_id": "0xtrace1", "span_id": id_, "trace_state": "[]"},
        "parent_id": None,
        "start_time": f"2026-01-01T12:00:{at:02}.000000Z",
        "end_time": f"2026-01-01T12:00:{at + 1:02}.000000Z",
        "status": {"status_code": "UNSET"},
        "attributes": attributes,
        "events": [],
        "resource": {"attributes": {"service.name": "x", "service.version": "1.2"}, "schema_url": ""},
        **more,
    }


def otlp(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"scope": {}, "spans": list(spans)}]}]}


def text(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": content}]}


ASK = {
    "role": "assistant",
    "parts": [{"type": "tool_call", "id": "c1", "name": "grep", "arguments": {"pattern": "port"}}],
}
ANSWER = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "No matches found"}]}
CHAT = {"gen_ai.operation.name": "chat", "gen_ai.conversation.id": "conv1"}
FIRST = {
    **CHAT,
    "gen_ai.system_instructions": json.dumps([{"type": "text", "content": "Be exact."}]),
    "gen_ai.input.messages": json.dumps([text("user", "Which port?")]),
    "gen_ai.output.messages": json.dumps([{**ASK, "finish_reason": "tool_call"}]),
}
TOOL = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "grep",
    "gen_ai.tool.call.id": "c1",
    "gen_ai.tool.call.arguments": '{"pattern": "port"}',
    "gen_ai.tool.call.result": "No matches found",
}
SECOND_CHAT = {
    **CHAT,
    "gen_ai.input.messages": json.dumps([text("user", "Which port?"), ASK, ANSWER]),
    "gen_ai.output.messages": json.dumps([text("assistant", "None is set.")]),
}
RUN = otlp(span("s3", 4, SECOND_CHAT), span("s1", 0, FIRST), span("s2", 2, TOOL))


def read(path: Path) -> tuple[list[Event], Tally]:
    tally = Tally(skipped=[])
    return list(OpenTelemetry().read([path], {}, tally)), tally


def written(tmp_path: Path, content: object) -> Path:
    path = tmp_path / "spans.json"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def calls_of(events: list[Event]) -> list[ToolCall]:
    return [call for event in events if isinstance(event, Step) for call in event.calls]


def kinds(events: list[Event]) -> list[str]:
    return [type(event).__name__ for event in events]


STORY = ["Start", "Injection", "Prompt", "Step", "Step"]


@pytest.mark.parametrize(
    "content",
    [
        RUN,
        json.dumps(RUN, indent=2).encode(),
        b"".join(json.dumps(otlp(one)).encode() + b"\n" for one in RUN["resourceSpans"][0]["scopeSpans"][0]["spans"]),
        [flat("s1", 0, FIRST), flat("s2", 2, TOOL), flat("s3", 4, SECOND_CHAT)],
        b"".join(
            json.dumps(one, indent=4).encode() + b"\n" for one in (flat("s1", 0, FIRST), flat("s3", 4, SECOND_CHAT))
        ),
        b"".join(json.dumps(one).encode() + b"\n" for one in (flat("s3", 4, SECOND_CHAT), flat("s1", 0, FIRST))),
    ],
    ids=["otlp", "otlp over lines", "otlp by line", "flat list", "one after the other", "flat by line"],
)
def test_every_way_of_writing_spans_tells_the_same_story(tmp_path: Path, content: object) -> None:
    path = written(tmp_path, content)
    assert OpenTelemetry().identify(read_head(path)) is not None
    events, tally = read(path)
    assert kinds(events) == STORY
    assert isinstance(events[0], Start)
    assert (events[0].session, events[0].time) == ("conv1", "2026-01-01T12:00:00+00:00")
    (call,) = calls_of(events)
    assert (call.id, call.kind, call.outcome, call.query) == ("c1", ToolKind.SEARCH, Outcome.EMPTY, "port")
    assert tally.skipped == []


def test_a_repeated_prompt_is_told_each_time(tmp_path: Path) -> None:
    history = [text("user", "go on"), text("assistant", "a"), text("user", "go on")]
    spans = [
        span("s1", 0, {**CHAT, "gen_ai.input.messages": json.dumps(history[:1])}),
        span("s2", 2, {**CHAT, "gen_ai.input.messages": json.dumps(history)}),
    ]
    events, _ = read(written(tmp_path, otlp(*spans)))
    assert kinds(events) == ["Start", "Prompt", "Step", "Prompt"]


def test_messages_may_be_recorded_in_structured_form(tmp_path: Path) -> None:
    structured = {key: json.loads(value) if value[:1] == "[" else value for key, value in FIRST.items()}
    events, _ = read(written(tmp_path, otlp(span("s1", 0, structured))))
    assert kinds(events) == STORY[:-1]


def test_tool_spans_without_content_are_steps_of_their_own(tmp_path: Path) -> None:
    bare = {key: value for key, value in TOOL.items() if "arguments" not in key and "result" not in key}
    events, _ = read(written(tmp_path, otlp(span("s1", 0, bare), span("s2", 1, bare))))
    assert [(call.name, call.outcome) for call in calls_of(events)] == [("grep", Outcome.UNKNOWN)]


def test_a_failed_tool_is_an_outcome_and_a_failed_chat_breaks_the_agent(tmp_path: Path) -> None:
    tool = {**TOOL, "gen_ai.tool.name": "read_file", "error.type": "FileNotFoundError"}
    del tool["gen_ai.tool.call.result"]
    failed: dict[str, Any] = {"status": {"code": 2, "message": "No such file or directory: a.md"}}
    limit: dict[str, Any] = {"status": {"code": "STATUS_CODE_ERROR", "message": "rate limit"}}
    agent = span("s0", 0, {**CHAT, "gen_ai.operation.name": "invoke_agent"}, takes=9, **limit)
    spans = [agent, span("s1", 1, tool, **failed), span("s2", 3, CHAT, "s0", **limit)]
    events, _ = read(written(tmp_path, otlp(*spans)))
    assert [(call.kind, call.outcome) for call in calls_of(events)] == [(ToolKind.READ, Outcome.MISSING)]
    assert [event.reason for event in events if isinstance(event, Broken)] == ["rate limit"]


@pytest.mark.parametrize(
    "events",
    [
        [
            {"name": "gen_ai.system.message", "attributes": {"content": "Be exact."}},
            {"name": "gen_ai.user.message", "attributes": {"content": "Which port?"}},
            {"name": "gen_ai.choice", "attributes": {"index": 0, "message": json.dumps({"content": "80"})}},
        ],
        [
            {"name": "gen_ai.content.prompt", "attributes": {"gen_ai.prompt": json.dumps(
                [{"role": "system", "content": "Be exact."}, {"role": "user", "content": "Which port?"}])}},
            {"name": "gen_ai.content.completion", "attributes": {"gen_ai.completion": json.dumps(
                [{"role": "assistant", "content": "80"}])}},
        ],
        [{"name": "gen_ai.client.inference.operation.details", "attributes": {
            "gen_ai.system_instructions": [{"type": "text", "content": "Be exact."}],
            "gen_ai.input.messages": [text("user", "Which port?")],
            "gen_ai.output.messages": [text("assistant", "80")]}}],
    ],
    ids=["an event per message", "prompt and completion", "details"],
)  # fmt: skip
def test_older_events_tell_the_messages(tmp_path: Path, events: list[dict[str, Any]]) -> None:
    path = written(tmp_path, [flat("s1", 0, CHAT, events=events)])
    assert OpenTelemetry().identify(read_head(path)) is not None
    found, _ = read(path)
    assert kinds(found) == STORY[:-1]


def test_tool_calls_in_older_events_meet_their_results(tmp_path: Path) -> None:
    asked = [{"id": "c1", "type": "function", "function": {"name": "grep", "arguments": '{"pattern": "port"}'}}]
    events = [
        {"name": "gen_ai.assistant.message", "attributes": {"tool_calls": json.dumps(asked)}},
        {"name": "gen_ai.tool.message", "attributes": {"id": "c1", "content": "No matches found"}},
    ]
    found, _ = read(written(tmp_path, [flat("s1", 0, CHAT, events=events)]))
    assert [(call.id, call.outcome) for call in calls_of(found)] == [("c1", Outcome.EMPTY)]


def test_messages_flattened_into_attributes_are_put_together(tmp_path: Path) -> None:
    attributes = {
        "gen_ai.system": "openai",
        "gen_ai.prompt.0.role": "system",
        "gen_ai.prompt.0.content": "Be exact.",
        "gen_ai.prompt.1.role": "user",
        "gen_ai.prompt.1.content": "Which port?",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.tool_calls.0.id": "c1",
        "gen_ai.completion.0.tool_calls.0.name": "grep",
        "gen_ai.completion.0.tool_calls.0.arguments": '{"pattern": "port"}',
    }
    events, _ = read(written(tmp_path, [flat("s1", 0, attributes)]))
    assert kinds(events) == STORY[:-1]
    assert [(call.id, call.query, call.outcome) for call in calls_of(events)] == [("c1", "port", Outcome.UNKNOWN)]


def test_several_sessions_in_a_file_each_have_a_start(tmp_path: Path) -> None:
    other = {**FIRST, "gen_ai.conversation.id": "conv2"}
    events, _ = read(written(tmp_path, otlp(span("a", 0, FIRST), span("b", 1, other), span("c", 2, SECOND_CHAT))))
    assert [event.session for event in events if isinstance(event, Start)] == ["conv1", "conv2"]
    assert kinds(events)[: len(STORY)] == STORY


def test_a_sub_agents_input_is_no_prompt_of_the_user(tmp_path: Path) -> None:
    agent = {"gen_ai.operation.name": "invoke_agent"}
    talk = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps([text("user", "Do a part.")]),
            "gen_ai.output.messages": json.dumps([text("assistant", "Done.")])}  # fmt: skip
    spans = [
        span("main", 0, {**agent, "gen_ai.input.messages": json.dumps([text("user", "Do it.")])}, takes=9),
        span("sub", 1, {**agent, "gen_ai.agent.name": "helper"}, "main", takes=5),
        span("chat", 2, talk, "sub"),
    ]
    events, _ = read(written(tmp_path, otlp(*spans)))
    assert [event.text for event in events if isinstance(event, Prompt)] == ["Do it."]
    assert [event.agent_id for event in events if isinstance(event, Step)] == ["helper"]


def test_spans_of_other_families_are_no_session(tmp_path: Path) -> None:
    events, tally = read(written(tmp_path, otlp(span("w", 0, {"http.route": "/"}))))
    assert (events, tally.skipped) == ([], [])


def test_system_instructions_are_injected(tmp_path: Path) -> None:
    events, _ = read(written(tmp_path, RUN))
    assert [(event.source, event.content) for event in events if isinstance(event, Injection)] == [
        ("system", "Be exact.")
    ]


def test_truncated_and_foreign_content_is_counted(tmp_path: Path) -> None:
    events, tally = read(written(tmp_path, json.dumps(RUN, indent=1).encode()[:-30]))
    assert (events, [skipped.reason for skipped in tally.skipped]) == ([], ["truncated"])
    lines = json.dumps(otlp(span("s1", 0, FIRST))).encode() + b'\n{"x": 1}\n{"resourceSp\n'
    events, tally = read(written(tmp_path, lines))
    assert kinds(events) == STORY[:-1]
    assert [(skipped.line, skipped.reason) for skipped in tally.skipped] == [(2, "foreign"), (3, "truncated")]


@pytest.mark.parametrize(
    "content",
    [
        otlp(span("w", 0, {"http.route": "/"})),
        {"gen_ai.operation.name": "chat"},
        {"attributes": {"gen_ai.system": "x"}},
        [{"role": "user", "content": '"gen_ai."'}],
        [],
        7,
    ],
)
def test_other_json_is_not_claimed(content: object) -> None:
    assert OpenTelemetry().identify(json.dumps(content).encode()) is None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=400))
def test_any_bytes_are_read_without_an_exception(tmp_path: Path, content: bytes) -> None:
    OpenTelemetry().identify(b'"gen_ai.' + content)
    read(written(tmp_path, content))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**9), cut=st.integers(0, 3000))
def test_mutated_spans_are_read_without_an_exception(tmp_path: Path, seed: int, cut: int) -> None:
    events = [
        {"name": "gen_ai.choice", "attributes": {"message": ASK}},
        {"name": "gen_ai.tool.message", "attributes": ANSWER},
    ]
    numbered = {"gen_ai.prompt.0.tool_calls.0.name": "x", "gen_ai.prompt.0.tool_calls": "[7]", **FIRST}
    for content in (RUN, [flat("s1", 0, numbered, events=events), flat("s2", 1, TOOL)]):
        whole = json.dumps(mutated(content, seed)).encode()
        OpenTelemetry().identify(whole[:cut])
        read(written(tmp_path, whole))
        read(written(tmp_path, whole[:cut]))


# What Phoenix 20 and Langfuse 5 export of one exchange with a call, as both did when this was written.
ASKED = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Where is the rota?"}]
CALLED = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "grep", "arguments": '{"pattern": "rota"}'}}],
}
ANSWERED = {"role": "tool", "tool_call_id": "c1", "content": "No matches found"}
SAID = {"role": "assistant", "content": "Not there."}
EXCHANGE: list[tuple[str, str, Any, Any]] = [
    ("AGENT", "assistant", "Where is the rota?", "Not there."),
    ("LLM", "model", ASKED, CALLED),
    ("TOOL", "grep", {"pattern": "rota"}, "No matches found"),
    ("LLM", "model", [*ASKED, CALLED, ANSWERED], SAID),
]


def flattened(side: str, messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Messages as attributes of OpenInference."""
    found: dict[str, Any] = {}
    for number, message in enumerate(messages):
        start = f"llm.{side}_messages.{number}.message"
        found |= {f"{start}.{key}": value for key, value in message.items() if isinstance(value, str)}
        for at, call in enumerate(message.get("tool_calls", ())):
            found[f"{start}.tool_calls.{at}.tool_call.id"] = call["id"]
            for key, value in call["function"].items():
                found[f"{start}.tool_calls.{at}.tool_call.function.{key}"] = value
    return found


def of_phoenix() -> list[dict[str, Any]]:
    spans = []
    for number, (kind, name, asked, shown) in enumerate(EXCHANGE):
        about = {"session.id": "s1", "llm.token_count.prompt": 10, "llm.token_count.completion": 5}
        if kind == "LLM":
            about |= flattened("input", asked) | flattened("output", [shown])
        else:
            about |= {"input.value": asked if isinstance(asked, str) else json.dumps(asked), "output.value": shown}
        time = f"2026-11-19T10:00:0{number}+00:00"
        ids = {"context": {"trace_id": "t1", "span_id": f"a{number}"}, "parent_id": "a0" if number else None}
        spans.append(
            {"name": name, "span_kind": kind, "start_time": time, "end_time": time, "attributes": about, **ids}
        )
    return spans


def of_langfuse() -> list[dict[str, Any]]:
    kinds = {"LLM": "GENERATION"}
    return [
        {
            "id": f"o{number}", "traceId": "t1", "type": kinds.get(kind, kind), "name": name, "sessionId": "s1",
            "startTime": f"2026-11-19T10:00:0{number}Z", "endTime": f"2026-11-19T10:00:0{number}Z", "input": asked,
            "output": shown, "parentObservationId": "o0" if number else None,
            "usageDetails": {"input": 10, "output": 5},
        }
        for number, (kind, name, asked, shown) in enumerate(EXCHANGE)
    ]  # fmt: skip


@pytest.mark.parametrize(
    "exported",
    [
        {"data": of_phoenix(), "next_cursor": None},
        {"data": of_langfuse(), "meta": {}},
        {"id": "t1", "sessionId": "s1", "observations": [{**one, "sessionId": None} for one in of_langfuse()]},
    ],
    ids=["phoenix", "langfuse observations", "langfuse trace"],
)
def test_exports_of_phoenix_and_langfuse_are_read(exported: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    path.write_text(json.dumps(exported))
    known = recognise(read_head(path))
    assert known is not None
    assert known[0].name == "otel"
    events = list(known[0].read([path], {}, Tally(skipped=[])))
    assert [event.session for event in events if isinstance(event, Start)] == ["s1"]
    assert prompts(events) == ["Where is the rota?"]
    assert [(call.id, call.name, call.outcome) for call in calls(events)] == [("c1", "grep", Outcome.EMPTY)]
    assert [(step.tokens, [text.text for text in step.said]) for step in steps(events)] == [
        (15, []),
        (15, ["Not there."]),
    ]

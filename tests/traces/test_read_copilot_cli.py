"""Copilot CLI event logs: what is the user's, what a step is, how a call ended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knowbound.core.trace import Broken, Event, Injection, Outcome, Prompt, Skill, Start, Step, ToolCall, ToolKind
from knowbound.traces.readers.copilot_cli import CopilotCli
from knowbound.traces.registry import Identity
from knowbound.traces.source import Tally, read_head
from tests.reading import calls, prompts, steps, write
from tests.recordings import each_recording, recordings_of_others

READER = CopilotCli()

_ids = iter(range(10_000_000))


def line(type_: str, agent_id: str = "", **data: Any) -> dict[str, Any]:
    number = next(_ids)
    made = {"type": type_, "data": data, "id": f"e-{number}", "timestamp": f"t-{number}", "parentId": None}
    return {**made, "agentId": agent_id} if agent_id else made


def start(session: str = "s-1") -> dict[str, Any]:
    return line(
        "session.start",
        sessionId=session,
        version=1,
        producer="copilot-agent",
        copilotVersion="1.0.64",
        context={"cwd": "/repo"},
    )


def user(text: str, **more: Any) -> dict[str, Any]:
    return line(
        "user.message", content=text, transformedContent=f"<current_datetime>now</current_datetime>{text}", **more
    )


def says(text: str, *requests: dict[str, Any], agent_id: str = "") -> dict[str, Any]:
    return line("assistant.message", agent_id, messageId="m", content=text, toolRequests=list(requests))


def request(id_: str, name: str = "bash", **arguments: Any) -> dict[str, Any]:
    return {"toolCallId": id_, "name": name, "arguments": arguments, "type": "function"}


def done(id_: str, text: str) -> dict[str, Any]:
    return line("tool.execution_complete", toolCallId=id_, success=True, result={"content": text})


def failed(id_: str, text: str, code: str = "failure") -> dict[str, Any]:
    return line("tool.execution_complete", toolCallId=id_, success=False, error={"message": text, "code": code})


def read(tmp_path: Path, *lines: dict[str, Any] | bytes, tally: Tally | None = None) -> list[Event]:
    return list(READER.read([write(tmp_path / "events.jsonl", lines)], {}, tally or Tally()))


def one_call(tmp_path: Path, asked: dict[str, Any], *results: dict[str, Any]) -> ToolCall:
    (found,) = calls(read(tmp_path, start(), says("", asked), *results))
    return found


# Recognising


def test_session_is_named_by_session_start() -> None:
    first = start("s-1")
    assert READER.identify(json.dumps(first).encode()) == Identity("s-1", "", first["timestamp"])


def test_cut_head_and_later_part_are_recognised() -> None:
    whole = json.dumps(start("s-1")).encode()
    cut = READER.identify(whole[: whole.index(b'"context"')])
    assert cut is not None
    assert cut.session == "s-1"
    part = READER.identify(json.dumps(says("hello")).encode())
    assert part is not None
    assert part.session == ""


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"\x00\xff\xfe",
        b'{"type": "user", "sessionId": "x", "message": {"content": "hi"}, "timestamp": "t"}',
        b'{"timestamp": "t", "type": "session_meta", "payload": {"id": "x"}}',
        b'{"sessionId": "x", "messages": []}',
        b'{"type": "order.created", "data": {}, "id": "1", "timestamp": "t"}',
    ],
)
def test_other_content_is_not_claimed(head: bytes) -> None:
    assert READER.identify(head) is None


# What is said to the agent


def test_start_carries_session_folder_version(tmp_path: Path) -> None:
    (found,) = read(tmp_path, start("s-1"))
    assert isinstance(found, Start)
    assert (found.session, found.agent, found.project, found.version) == ("s-1", "copilot-cli", "/repo", "1.0.64")


def test_prompt_is_what_the_user_wrote_without_what_the_client_adds(tmp_path: Path) -> None:
    assert prompts(read(tmp_path, start(), user("find the bug"))) == ["find the bug"]


@pytest.mark.parametrize(
    "message",
    [
        user("go on", source="system"),
        user('<skill-context name="deploy">Steps.</skill-context>'),
    ],
)
def test_message_of_the_client_is_no_prompt(tmp_path: Path, message: dict[str, Any]) -> None:
    events = read(tmp_path, start(), message)
    assert [type(event) for event in events] == [Start, Injection]


def test_instructions_in_the_system_prompt_are_injected_once(tmp_path: Path) -> None:
    prompt = "You are …\n<custom_instruction>\nUse tabs.\n</custom_instruction>\nMore."
    system = line("system.message", role="system", content=prompt)
    again = line("system.message", role="system", content=prompt)
    found = [event for event in read(tmp_path, start(), system, user("a"), again) if isinstance(event, Injection)]
    assert [(injection.source, injection.content) for injection in found] == [("instructions", "Use tabs.")]


def test_context_of_a_hook_is_injected(tmp_path: Path) -> None:
    quiet = line("hook.end", hookType="preToolUse", success=True)
    hook = line("hook.end", hookType="sessionStart", success=True, output={"additionalContext": "the api moved"})
    found = [event for event in read(tmp_path, start(), quiet, hook) if isinstance(event, Injection)]
    assert [(injection.source, injection.content) for injection in found] == [("hook:sessionStart", "the api moved")]


@pytest.mark.parametrize(("trigger", "how"), [("user-invoked", "command"), ("agent-invoked", "call")])
def test_invoked_skill_is_a_skill(tmp_path: Path, trigger: str, how: str) -> None:
    skill = line("skill.invoked", name="deploy", path="/s/SKILL.md", content="Steps.", trigger=trigger)
    events = read(tmp_path, start(), skill)
    assert events[1:] == [Skill("deploy", how, 2), Injection("skill", "Steps.", "/s/SKILL.md", 2)]


# Steps and calls


def test_message_with_its_calls_is_one_step(tmp_path: Path) -> None:
    asked = says("looking", request("c1", command="ls"), request("c2", "view", path="a.py"))
    events = read(tmp_path, start(), user("go"), asked, done("c2", "1. x"), done("c1", "a.py"), says("found"))
    assert [[call.id for call in step.calls] for step in steps(events)] == [["c1", "c2"], []]
    assert [said.text for step in steps(events) for said in step.said] == ["looking", "found"]


def test_words_during_a_running_call_come_after_its_step(tmp_path: Path) -> None:
    events = read(
        tmp_path, start(), says("", request("c1", command="make")), user("hurry"), done("c1", "ok"), says("x")
    )
    assert [type(event) for event in events] == [Start, Step, Prompt, Step]


ENDED = "<shellId: 3 completed with exit code {}>"


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("src/a.py:1:needle\n" + ENDED.format(0), Outcome.OK),
        (ENDED.format(1), Outcome.EMPTY),
        ("\n<exited with exit code 1>", Outcome.EMPTY),
        ("grep: src: No such file or directory\n" + ENDED.format(2), Outcome.MISSING),
        ("<command with shellId: 3 is still running after 30 seconds. Use read_bash.>", Outcome.UNKNOWN),
    ],
)
def test_search_is_judged_on_the_real_output(tmp_path: Path, text: str, outcome: Outcome) -> None:
    found = one_call(tmp_path, request("c1", command="grep -rn needle src", description="Find it"), done("c1", text))
    assert (found.kind, found.outcome, found.purpose) == (ToolKind.SEARCH, outcome, "Find it")
    assert "shellId" not in (found.output or "")


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        (failed("c1", "Path does not exist"), Outcome.MISSING),
        (failed("c1", "The user rejected this tool call.", "rejected"), Outcome.REJECTED),
        (failed("c1", "Denied by preToolUse hook", "denied"), Outcome.REJECTED),
        (failed("c1", "something else"), Outcome.ERROR),
        (done("c1", "1. text"), Outcome.OK),
    ],
)
def test_read_ends_as_its_error_says(tmp_path: Path, result: dict[str, Any], outcome: Outcome) -> None:
    found = one_call(tmp_path, request("c1", "view", path="docs/plan.md"), result)
    assert (found.kind, found.outcome, found.query) == (ToolKind.READ, outcome, "docs/plan.md")


def test_running_command_is_judged_when_it_ends(tmp_path: Path) -> None:
    running = "src/a.py\n<command with shellId: 3 is still running after 30 seconds. Use read_bash.>"
    events = read(
        tmp_path,
        start(),
        says("", request("c1", command="grep -rl needle src")),
        done("c1", running),
        says("", request("c2", "read_bash", shellId="3", delay=2)),
        done("c2", ENDED.format(0)),
    )
    found = calls(events)
    assert [call.outcome for call in found] == [Outcome.UNKNOWN, Outcome.OK]
    assert (found[1].name, found[1].kind, found[1].query) == ("read_bash", ToolKind.SEARCH, "needle")


def test_edit_is_known_by_its_name(tmp_path: Path) -> None:
    asked = request("c1", "edit", path="a.py", old_str="old_name()", new_str="new_name()")
    found = one_call(tmp_path, asked, done("c1", "File a.py updated with changes."))
    assert (found.kind, found.outcome) == (ToolKind.EDIT, Outcome.OK)


def test_mcp_call_has_its_full_name(tmp_path: Path) -> None:
    asked = {**request("c1", "wiki-search_docs", query="x"), "mcpServerName": "wiki", "mcpToolName": "search_docs"}
    found = one_call(tmp_path, asked, done("c1", "No results found"))
    assert (found.name, found.kind, found.outcome) == ("mcp__wiki__search_docs", ToolKind.SEARCH, Outcome.EMPTY)


def test_sub_agent_has_steps_of_its_own(tmp_path: Path) -> None:
    events = read(
        tmp_path,
        start(),
        says("", request("c1", "task", prompt="look")),
        line("user.message", "c1", content="look"),
        says("looking", request("c2", command="ls"), agent_id="c1"),
        done("c2", "a.py"),
        done("c1", "looked"),
        says("done"),
    )
    assert [step.agent_id for step in steps(events)] == ["c1", "", ""]
    assert [call.agent_id for call in calls(events)] == ["", "c1"]
    assert prompts(events) == []


def test_abort_by_the_user_cancels_and_is_no_failure(tmp_path: Path) -> None:
    events = read(tmp_path, start(), says("", request("c1", command="make")), line("abort", reason="user_initiated"))
    assert [call.outcome for call in calls(events)] == [Outcome.CANCELLED]
    assert not [event for event in events if isinstance(event, Broken)]


def test_failure_of_the_agent_itself_breaks_the_turn(tmp_path: Path) -> None:
    error = line("session.error", errorType="query", message="Failed to get response")
    assert read(tmp_path, start(), user("go"), error)[-1] == Broken("Failed to get response", 3)


def test_copy_of_a_session_counts_nothing_twice_and_adds_what_is_new(tmp_path: Path) -> None:
    shared = [start(), user("go"), says("looking", request("c1", command="ls"))]
    short = write(tmp_path / "1.jsonl", shared)
    long = write(tmp_path / "2.jsonl", [*shared, done("c1", "a.py"), says("done")])
    tally = Tally()
    events = list(READER.read([short, long], {}, tally))
    assert prompts(events) == ["go"]
    assert [call.outcome for call in calls(events)] == [Outcome.OK]
    assert len(steps(events)) == 2
    assert tally.duplicates == 2


# Bad input


def test_every_unusable_line_is_counted_and_no_valid_one(tmp_path: Path) -> None:
    tally = Tally()
    events = read(
        tmp_path,
        start(),
        b"no json at all",
        b'{"type":"user.message","data":{"cont',
        b"17",
        line("a.type_of_tomorrow", anything=1),
        {"type": "user.message", "data": None},
        {"type": 4, "data": []},
        user("go"),
        tally=tally,
    )
    assert [(skipped.line, skipped.reason) for skipped in tally.skipped] == [
        (2, "broken"),
        (3, "truncated"),
        (4, "foreign"),
    ]
    assert prompts(events) == ["go"]


SAMPLE = [
    start(),
    user("go"),
    says("looking", request("c1", command="rg x"), request("c2", "apply_patch")),
    done("c1", ENDED.format(1)),
    failed("c2", "no"),
    line("system.message", content="<custom_instruction>a</custom_instruction>"),
    line("hook.end", hookType="x", output={"additionalContext": "a"}),
    line("abort", reason="x"),
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(
    ["content", "source", "toolRequests", "toolCallId", "success", "result", "error", "output", "name"]
)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    raw = bytearray(json.dumps(draw(st.sampled_from(SAMPLE))).encode())
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(raw) - 1))
        raw[at : at + draw(st.integers(0, 3))] = draw(st.binary(max_size=3))
        raw = raw or bytearray(b"{")
    return bytes(raw)


@st.composite
def odd_line(draw: st.DrawFn) -> bytes:
    kind = draw(st.sampled_from([part["type"] for part in SAMPLE]))
    return json.dumps({"type": kind, "id": draw(JSON), "data": draw(st.dictionaries(KEYS, JSON, max_size=5))}).encode()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.binary(max_size=60) | mutated() | odd_line(), max_size=8))
def test_no_bytes_raise(tmp_path: Path, lines: list[bytes]) -> None:
    READER.identify(b"\n".join(lines))
    tally = Tally()
    for event in read(tmp_path, *lines, tally=tally):
        assert event is not None
    assert len(tally.skipped) <= tally.lines + 1  # a damaged archive has no line


# Recordings


@pytest.mark.parametrize("path", each_recording("copilot-cli"))
def test_real_log_agrees_with_a_plain_count(path: Path) -> None:
    entries = [json.loads(raw) for raw in path.read_text(encoding="utf-8").splitlines()]
    asked = sum(entry["type"] == "user.message" for entry in entries)
    called = sum(entry["type"] == "tool.execution_start" for entry in entries)
    tally = Tally()
    found = READER.identify(read_head(path))
    assert found is not None
    assert found.session
    events = list(READER.read([path], {}, tally))
    assert (len(prompts(events)), len(calls(events))) == (asked, called)
    assert tally.skipped == []


def test_no_other_recording_is_claimed() -> None:
    others = recordings_of_others("copilot-cli")
    assert others
    assert [path for path in others if READER.identify(read_head(path))] == []

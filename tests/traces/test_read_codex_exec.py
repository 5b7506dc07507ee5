"""What `codex exec --json` prints: items joined into steps, commands read as commands, the end of a turn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knowbound.core.trace import Broken, Event, Outcome, Prompt, Start, Step, ToolCall, ToolKind
from knowbound.gaps.lens import LensSettings
from knowbound.gaps.reading import read_session
from knowbound.traces.corpus import SessionFiles
from knowbound.traces.readers.codex.exec import UNFINISHED, CodexExec
from knowbound.traces.registry import Identity, RunUsage, recognise
from knowbound.traces.sessions import SharedEvents
from knowbound.traces.source import Tally, read_head
from tests.mutation import mutated
from tests.reading import calls, claims_no_recording_of_another_format, prompts, steps, write

READER = CodexExec()
THREAD = "0199a213-0000-7000-8000-000000000001"
STARTED: dict[str, Any] = {"type": "thread.started", "thread_id": THREAD}
TURN: dict[str, Any] = {"type": "turn.started"}
ENDED: dict[str, Any] = {
    "type": "turn.completed",
    "usage": {"input_tokens": 24763, "cached_input_tokens": 24448, "output_tokens": 122, "reasoning_output_tokens": 7},
}


def item(id_: str, type_: str, *, stage: str = "completed", **fields: Any) -> dict[str, Any]:
    return {"type": f"item.{stage}", "item": {"id": id_, "type": type_, **fields}}


def says(id_: str, text: str) -> dict[str, Any]:
    return item(id_, "agent_message", text=text)


def begins(id_: str, command: str) -> dict[str, Any]:
    return item(
        id_, "command_execution", stage="started", command=command, aggregated_output="", exit_code=None,
        status="in_progress",
    )  # fmt: skip


def ran(id_: str, command: str, output: str = "", code: int | None = 0, status: str = "") -> dict[str, Any]:
    return item(
        id_, "command_execution", command=command, aggregated_output=output, exit_code=code,
        status=status or ("completed" if code == 0 else "failed"),
    )  # fmt: skip


SEARCH = "/bin/bash -lc 'rg -n \"retry policy\" docs'"
WHOLE = [
    STARTED,
    TURN,
    item("item_0", "reasoning", text="**Searching the docs**"),
    says("item_1", "I will look."),
    begins("item_2", SEARCH),
    begins("item_3", "bash -lc 'cat docs/retry.md'"),
    ran("item_3", "bash -lc 'cat docs/retry.md'", "cat: docs/retry.md: No such file or directory\n", 1),
    ran("item_2", SEARCH, "", 1),
    item("item_4", "error", message="a warning"),
    says("item_5", "It is not written down."),
    ENDED,
]


def read(tmp_path: Path, *lines: dict[str, Any] | bytes, tally: Tally | None = None) -> list[Event]:
    return list(READER.read([write(tmp_path / "out", lines)], {}, tally if tally is not None else Tally()))


def one_call(tmp_path: Path, *lines: dict[str, Any]) -> ToolCall:
    (found,) = calls(read(tmp_path, STARTED, TURN, *lines, ENDED))
    return found


def head_of(*lines: dict[str, Any]) -> bytes:
    return b"\n".join(json.dumps(part).encode() for part in lines)


# Recognising


def test_a_stream_is_recognised_and_names_its_thread() -> None:
    found = recognise(head_of(*WHOLE))
    assert found is not None
    assert (found[0].name, found[1]) == ("codex-exec", Identity(THREAD))


def test_a_part_of_a_stream_is_recognised_by_its_items() -> None:
    assert READER.identify(head_of(*WHOLE[3:])) == Identity("")


@pytest.mark.parametrize(
    "lines",
    [
        [{"type": "error", "message": "no"}],
        [{"type": "turn.started"}],
        [{"type": "item.completed", "item": {"id": "1", "type": "order_line"}}],
        [{"type": "thread.started"}],
        [{"type": "session.start", "data": {"sessionId": "s"}, "id": "e", "timestamp": "t"}],
        [{"timestamp": "t", "type": "session_meta", "payload": {"id": "s"}}],
    ],
)
def test_other_lines_are_not_claimed(lines: list[dict[str, Any]]) -> None:
    assert READER.identify(head_of(*lines)) is None


def test_no_recording_of_another_format_is_claimed() -> None:
    claims_no_recording_of_another_format(READER)


# Steps


def test_a_stream_reads_as_steps_with_outcomes(tmp_path: Path) -> None:
    events = read(tmp_path, *WHOLE)
    assert [type(event).__name__ for event in events] == ["Start", "Prompt", "Step", "Step"]
    assert events[0] == Start(THREAD, "codex-exec")
    first, last = steps(events)
    assert [said.text for said in first.said] == ["I will look."]
    assert [(call.id, call.kind, call.outcome, call.query) for call in first.calls] == [
        ("item_2", ToolKind.SEARCH, Outcome.EMPTY, "retry policy"),
        ("item_3", ToolKind.READ, Outcome.MISSING, "docs/retry.md"),
    ]
    assert [call.line for call in first.calls] == [5, 6]
    assert [said.text for said in last.said] == ["It is not written down."]


def test_each_turn_of_a_stream_is_a_turn_whether_its_prompt_is_there_or_not(tmp_path: Path) -> None:
    asked = {"type": "item.completed", "item": {"id": "prompt", "type": "user_message", "text": "One?"}}
    events = read(tmp_path, STARTED, asked, TURN, says("a", "1."), ENDED, TURN, says("b", "2."), says("c", "3."), ENDED)
    assert [type(event) for event in events] == [Start, Prompt, Step, Prompt, Step]
    assert prompts(events) == ["One?", ""]
    assert [[said.text for said in step.said] for step in steps(events)] == [["1."], ["2.", "3."]]


def test_a_call_after_the_results_is_a_step_of_its_own(tmp_path: Path) -> None:
    events = read(tmp_path, STARTED, TURN, ran("a", "ls", "x\n"), ran("b", "cat x", "1\n"), says("c", "One."), ENDED)
    assert [[call.id for call in step.calls] for step in steps(events)] == [["a"], ["b"], []]


def test_a_call_that_begins_while_another_runs_belongs_to_the_same_step(tmp_path: Path) -> None:
    lines = [begins("a", "ls"), begins("b", "ls x"), ran("a", "ls", "x"), begins("c", "cat x"), ran("b", "ls x", "y")]
    events = read(tmp_path, STARTED, TURN, *lines, ran("c", "cat x", "1"), says("d", "Done."), ENDED)
    assert [[call.id for call in step.calls] for step in steps(events)] == [["a", "b", "c"], []]


def test_the_prompt_before_the_stream_starts_the_turn(tmp_path: Path) -> None:
    prompt = "Where is 'the' \"retry\" policy?\nAnd why?"
    path = write(tmp_path / "trace", [*READER.prompt_lines(THREAD, prompt).splitlines(), *WHOLE])
    found = recognise(read_head(path))
    assert found is not None
    assert found[1].session == THREAD
    events = list(READER.read([path], {}, Tally()))
    assert [type(event).__name__ for event in events] == ["Start", "Prompt", "Step", "Step"]
    assert prompts(events) == [prompt]
    (findings,) = read_session(SharedEvents(SessionFiles("codex-exec", THREAD, (str(path),), {}, 0)), LensSettings())
    assert [(sample.turns, sample.incomplete) for sample in findings.samples] == [(1, "")]


# Calls

COMMANDS: list[tuple[str, str, int | None, str, ToolKind, Outcome]] = [
    ("/bin/zsh -lc \"grep -rn 'a b' docs\"", "docs/x.md:1:a b\n", 0, "", ToolKind.SEARCH, Outcome.OK),
    ("bash -lc 'rg nothing | head -5'", "", 0, "", ToolKind.SEARCH, Outcome.EMPTY),
    ("/bin/bash -lc \"sed -n '1,20p' docs/x.md\"", "1\n", 0, "", ToolKind.READ, Outcome.OK),
    ("bash -lc 'make test'", "failed", 2, "", ToolKind.SHELL, Outcome.ERROR),
    ("bash -lc 'rg x'", "", None, "declined", ToolKind.SEARCH, Outcome.REJECTED),
]


@pytest.mark.parametrize(("command", "output", "code", "status", "kind", "outcome"), COMMANDS)
def test_commands_are_read_as_a_rollouts_are(
    tmp_path: Path, command: str, output: str, code: int | None, status: str, kind: ToolKind, outcome: Outcome
) -> None:
    call = one_call(tmp_path, begins("c", command), ran("c", command, output, code, status))
    assert (call.name, call.kind, call.outcome) == ("exec_command", kind, outcome)


def test_a_command_that_never_ended_is_unknown(tmp_path: Path) -> None:
    (call,) = calls(read(tmp_path, STARTED, TURN, begins("c", "rg x")))
    assert call.outcome is Outcome.UNKNOWN


def test_an_mcp_call_has_its_servers_name_and_its_texts(tmp_path: Path) -> None:
    result = {"content": [{"type": "text", "text": "No results found for x."}], "structured_content": None}
    call = one_call(
        tmp_path,
        item("m", "mcp_tool_call", stage="started", server="wiki", tool="search", arguments={"query": "x"},
             status="in_progress"),
        item("m", "mcp_tool_call", server="wiki", tool="search", arguments={"query": "x"}, result=result, error=None,
             status="completed"),
    )  # fmt: skip
    assert (call.name, call.kind, call.outcome, call.query) == (
        "mcp__wiki__search",
        ToolKind.SEARCH,
        Outcome.EMPTY,
        "x",
    )


def test_a_failed_mcp_call_is_an_error(tmp_path: Path) -> None:
    call = one_call(
        tmp_path,
        item(
            "m", "mcp_tool_call", server="wiki", tool="search", arguments={}, error={"message": "boom"}, status="failed"
        ),
    )
    assert call.outcome is Outcome.ERROR


def test_a_change_names_its_files(tmp_path: Path) -> None:
    changes = [
        {"path": "a.py", "kind": "update", "diff": "--- a.py\n+++ a.py\n-old_name = 1\n+new_name = 1\n"},
        {"path": "b.py", "kind": "add"},
    ]
    call = one_call(tmp_path, item("f", "file_change", changes=changes, status="completed"))
    assert (call.kind, call.outcome, call.paths) == (ToolKind.EDIT, Outcome.OK, ("a.py", "b.py"))
    failed = one_call(tmp_path, item("f", "file_change", changes=changes, status="failed"))
    assert (failed.outcome, failed.paths) == (Outcome.ERROR, ())


def test_a_web_search_is_known_to_have_run(tmp_path: Path) -> None:
    call = one_call(tmp_path, item("w", "web_search", query="retry policy", action={"type": "search"}))
    assert (call.kind, call.outcome, call.query) == (ToolKind.WEB, Outcome.OK, "retry policy")


def test_a_started_agent_is_named_by_its_thread(tmp_path: Path) -> None:
    call = one_call(
        tmp_path,
        item(
            "g", "collab_tool_call", tool="spawn_agent", prompt="look", receiver_thread_ids=["t-2"], status="completed"
        ),
    )
    assert (call.name, call.agent_id, call.outcome) == ("spawn_agent", "t-2", Outcome.OK)


def test_plans_and_reasoning_are_no_steps(tmp_path: Path) -> None:
    todo: dict[str, Any] = {"items": [{"text": "look", "completed": False}]}
    events = read(
        tmp_path, STARTED, TURN, item("r", "reasoning", text="hm"), item("p", "todo_list", stage="started", **todo),
        item("p", "todo_list", stage="updated", **todo), says("a", "Done."), item("p", "todo_list", **todo), ENDED,
    )  # fmt: skip
    assert [[said.text for said in step.said] for step in steps(events)] == [["Done."]]


# The end of a turn

RECONNECTING = {"type": "error", "message": "Reconnecting... 2/5 (stream disconnected before completion)"}


def test_a_lost_connection_that_came_back_breaks_nothing(tmp_path: Path) -> None:
    events = read(tmp_path, STARTED, TURN, says("a", "Let me see."), RECONNECTING, says("b", "Here."), ENDED)
    assert not any(isinstance(event, Broken) for event in events)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ([{"type": "turn.failed", "error": {"message": "usage limit"}}], "usage limit"),
        ([RECONNECTING, {"type": "turn.failed", "error": None}], RECONNECTING["message"]),
        ([{"type": "turn.failed"}], "the turn failed"),
        ([RECONNECTING], RECONNECTING["message"]),
        ([], UNFINISHED),
    ],
)
def test_a_turn_that_failed_or_never_ended_is_broken(tmp_path: Path, lines: list[dict[str, Any]], reason: str) -> None:
    events = read(tmp_path, STARTED, TURN, says("a", "I begin."), *lines)
    assert isinstance(events[-1], Broken)
    assert events[-1].reason == reason


def test_broken_lines_are_counted(tmp_path: Path) -> None:
    tally = Tally(skipped=[])
    events = read(tmp_path, STARTED, b"warning: no colours", b"[1]", *WHOLE[1:], b'{"type":"item', tally=tally)
    assert [(skipped.line, skipped.reason) for skipped in tally.skipped] == [
        (2, "broken"),
        (3, "foreign"),
        (14, "truncated"),
    ]
    assert len(steps(events)) == 2


# What it cost


def test_tokens_come_from_the_stream_and_the_price_is_unknown(tmp_path: Path) -> None:
    assert READER.spent(write(tmp_path / "out", WHOLE)) == RunUsage("", None, 24763, 122)
    assert READER.spent(write(tmp_path / "cut", WHOLE[:4])) == RunUsage()


# Anything


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=400))
def test_any_bytes_are_read_without_an_exception(tmp_path: Path, content: bytes) -> None:
    READER.identify(content)
    path = tmp_path / "out"
    path.write_bytes(content)
    list(READER.read([path], {}, Tally()))
    READER.spent(path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**9), cut=st.integers(0, 2000))
def test_mutated_streams_are_read_without_an_exception(tmp_path: Path, seed: int, cut: int) -> None:
    change = item("f", "file_change", changes=[{"path": "a", "diff": "-x"}], status="completed")
    strange = mutated([*WHOLE, change, item("m", "mcp_tool_call", server="s", tool="t", result={"content": []})], seed)
    content = b"\n".join(json.dumps(part).encode() for part in (strange if isinstance(strange, list) else [strange]))
    for given_ in (content, content[:cut]):
        READER.identify(given_)
        path = tmp_path / "out"
        path.write_bytes(given_)
        list(READER.read([path], {}, Tally()))
        READER.spent(path)

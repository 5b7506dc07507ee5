"""What `claude -p` prints: steps and outcomes as in a transcript, the prompt put before it, the end of the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knowbound.core.trace import Broken, Event, Injection, Outcome, Prompt, Skill, Start, Step, ToolKind
from knowbound.gaps.lens import LensSettings
from knowbound.gaps.reading import read_session
from knowbound.traces.corpus import SessionFiles
from knowbound.traces.readers.claude_code.stream import UNFINISHED, ClaudeStream
from knowbound.traces.registry import Identity, RunUsage, recognise
from knowbound.traces.sessions import SharedEvents
from knowbound.traces.source import Tally, read_head
from tests.mutation import mutated
from tests.reading import calls, claims_no_recording_of_another_format, prompts, steps, turns_of, write
from tests.transcripts import Transcript

READER = ClaudeStream()
SESSION = "6d1f0c1e-0000-4000-8000-000000000001"
_ids = iter(range(10_000_000))


def line(type_: str, **fields: Any) -> dict[str, Any]:
    base = {"type": type_, "session_id": SESSION, "parent_tool_use_id": None, "uuid": f"u-{next(_ids)}"}
    return {**base, **fields}


def init(**fields: Any) -> dict[str, Any]:
    known = {"cwd": "/kb", "tools": ["Read"], "model": "model-1", "claude_code_version": "2.1.60"}
    return line("system", subtype="init", **{**known, **fields})


def says(text: str, message: str = "", **fields: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    message = message or f"msg_{next(_ids)}"
    return line("assistant", message={"id": message, "role": "assistant", "content": content}, **fields)


def asks(id_: str, name: str, input_: dict[str, Any], message: str = "", **fields: Any) -> dict[str, Any]:
    content = [{"type": "tool_use", "id": id_, "name": name, "input": input_}]
    message = message or f"msg_{next(_ids)}"
    return line("assistant", message={"id": message, "role": "assistant", "content": content}, **fields)


def gets(id_: str, content: Any, structured: Any = None, **fields: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": id_, "content": content}
    if "is_error" in fields:
        block["is_error"] = fields.pop("is_error")
    if structured is not None:
        fields["tool_use_result"] = structured
    return line("user", message={"role": "user", "content": [block]}, **fields)


def result(text: str = "", **fields: Any) -> dict[str, Any]:
    usage = {
        "input_tokens": 10,
        "cache_creation_input_tokens": 200,
        "cache_read_input_tokens": 3000,
        "output_tokens": 40,
    }
    known = {"subtype": "success", "is_error": False, "num_turns": 2, "total_cost_usd": 0.0125, "usage": usage}
    return line("result", **{**known, "result": text, **fields})


WHOLE = [
    line("system", subtype="hook_started", hook_name="SessionStart:startup"),
    init(),
    says("I will look.", "msg_a"),
    asks("t1", "Grep", {"pattern": "retry_policy"}, "msg_a"),
    asks("t2", "Read", {"file_path": "/kb/retry.md"}, "msg_a"),
    gets("t2", "<tool_use_error>File does not exist.</tool_use_error>", "Error: File does not exist.", is_error=True),
    gets("t1", "No files found", {"mode": "files_with_matches", "filenames": [], "numFiles": 0}),
    line("rate_limit_event", rate_limit_info={"status": "allowed"}),
    says("It is not written down."),
    result("It is not written down."),
]


def read(tmp_path: Path, *lines: dict[str, Any] | bytes, tally: Tally | None = None) -> list[Event]:
    return list(READER.read([write(tmp_path / "out", lines)], {}, tally if tally is not None else Tally()))


def head_of(*lines: dict[str, Any]) -> bytes:
    return b"\n".join(json.dumps(part).encode() for part in lines)


# Recognising


def test_a_stream_is_recognised_and_names_its_session() -> None:
    found = recognise(head_of(*WHOLE))
    assert found is not None
    assert found[0].name == "claude-stream"
    assert found[1] == Identity(SESSION)


@pytest.mark.parametrize("form", ["result", "pretty result", "list", "pretty list"])
def test_json_output_is_recognised_in_each_form(form: str) -> None:
    value: Any = result() if "result" in form else WHOLE
    found = recognise(json.dumps(value, indent=2 if "pretty" in form else None).encode())
    assert found is not None
    assert (found[0].name, found[1].session) == ("claude-stream", SESSION)


def test_a_stream_cut_anywhere_in_its_first_line_is_recognised() -> None:
    head = head_of(init(tools=[f"Tool{number}" for number in range(500)]))
    assert all(recognise(head[:cut]) is not None for cut in range(200, len(head), 97))


def test_a_call_that_names_a_sessionid_does_not_make_it_a_transcript() -> None:
    found = recognise(head_of(init(), asks("t1", "mcp__x__open", {"sessionId": "other"})))
    assert found is not None
    assert found[0].name == "claude-stream"


def test_a_transcript_stays_a_transcript() -> None:
    content = Transcript().user("go").grep("x").text().encode()
    found = recognise(content)
    assert found is not None
    assert found[0].name == "claude-code"


@pytest.mark.parametrize(
    "lines",
    [
        [{"type": "result", "status": "success", "session_id": "s", "stats": {}}],
        [{"type": "init", "session_id": "s", "model": "m"}],
        [{"type": "user", "message": {"role": "user", "content": "x"}}],
        [{"type": "system", "session_id": "s"}],
        [init(), {"type": "tool_call", "subtype": "started", "session_id": SESSION, "call_id": "c"}],
        [init(), {"type": "thinking", "subtype": "delta", "session_id": SESSION, "text": "hm"}],
        [{"type": "system", "subtype": "init", "session_id": "s", "sessionId": "s"}],
    ],
)
def test_other_streams_are_not_claimed(lines: list[dict[str, Any]]) -> None:
    assert READER.identify(head_of(*lines)) is None


def test_no_recording_of_another_format_is_claimed() -> None:
    claims_no_recording_of_another_format(READER)


# Reading


def test_a_stream_reads_as_steps_with_outcomes(tmp_path: Path) -> None:
    events = read(tmp_path, *WHOLE)
    assert [type(event).__name__ for event in events] == ["Start", "Prompt", "Step", "Step"]
    assert isinstance(events[0], Start)
    assert (events[0].agent, events[0].project, events[0].version) == ("claude-stream", "/kb", "2.1.60")
    first, last = steps(events)
    assert [said.text for said in first.said] == ["I will look."]
    assert [(call.id, call.outcome, call.query) for call in first.calls] == [
        ("t1", Outcome.EMPTY, "retry_policy"),
        ("t2", Outcome.MISSING, "/kb/retry.md"),
    ]
    assert [said.text for said in last.said] == ["It is not written down."]


@pytest.mark.parametrize("indent", [None, 2])
def test_the_list_form_reads_the_same(tmp_path: Path, indent: int | None) -> None:
    path = tmp_path / "out.json"
    path.write_text(json.dumps(WHOLE, indent=indent))
    events = list(READER.read([path], {}, Tally()))
    assert [call.outcome for call in calls(events)] == [Outcome.EMPTY, Outcome.MISSING]
    assert not any(isinstance(event, Broken) for event in events)


@pytest.mark.parametrize("indent", [None, 2])
def test_a_lone_result_is_one_step_that_says_it(tmp_path: Path, indent: int | None) -> None:
    path = tmp_path / "out.json"
    path.write_text(json.dumps(result("The port is 8004."), indent=indent))
    events = list(READER.read([path], {}, Tally()))
    assert [type(event).__name__ for event in events] == ["Start", "Prompt", "Step"]
    assert [said.text for step in steps(events) for said in step.said] == ["The port is 8004."]


@pytest.mark.parametrize("again", ["Here.\n\nAnd there.", "And there."])
def test_the_result_is_not_said_twice(tmp_path: Path, again: str) -> None:
    events = read(tmp_path, init(), says("Here.", "msg_x"), says("And there.", "msg_x"), result(again))
    assert [said.text for step in steps(events) for said in step.said] == ["Here.", "And there."]


def test_a_result_in_other_words_is_the_last_step(tmp_path: Path) -> None:
    events = read(tmp_path, init(), says("Working on it."), result("It is done."))
    assert [said.text for step in steps(events) for said in step.said] == ["Working on it.", "It is done."]


def test_the_outcome_is_read_from_the_text_where_there_is_no_structure(tmp_path: Path) -> None:
    events = read(tmp_path, init(), asks("t1", "Glob", {"pattern": "**/x*"}), gets("t1", "No files found"), result())
    assert [call.outcome for call in calls(events)] == [Outcome.EMPTY]


def test_the_prompt_before_the_stream_starts_the_turn(tmp_path: Path) -> None:
    prompt = "Where is 'the' \"retry\" policy?\nAnd why?"
    path = write(tmp_path / "trace", [READER.prompt_lines(SESSION, prompt).rstrip(), *WHOLE])
    assert recognise(read_head(path)) is not None
    events = list(READER.read([path], {}, Tally()))
    assert [type(event).__name__ for event in events] == ["Start", "Prompt", "Start", "Step", "Step"]
    assert prompts(events) == [prompt]
    (findings,) = read_session(
        SharedEvents(SessionFiles("claude-stream", SESSION, (str(path),), {}, 0)), LensSettings()
    )
    assert [(sample.turns, sample.incomplete) for sample in findings.samples] == [(1, "")]
    assert findings.project == "/kb"


def test_a_prompt_longer_than_the_head_still_lets_it_be_recognised(tmp_path: Path) -> None:
    path = write(tmp_path / "trace", [READER.prompt_lines(SESSION, 'quote " and é\n' * 20_000).rstrip(), *WHOLE])
    found = recognise(read_head(path))
    assert found is not None
    assert (found[0].name, found[1].session) == ("claude-stream", SESSION)


def test_sub_agents_are_told_apart_and_their_prompt_starts_no_turn(tmp_path: Path) -> None:
    task = {"content": [{"type": "text", "text": "Search the docs."}], "role": "user"}
    events = read(
        tmp_path,
        init(),
        asks("t9", "Task", {"description": "look", "prompt": "Search the docs."}),
        line("system", subtype="task_started", task_id="agent-7", tool_use_id="t9"),
        line("user", message=task, parent_tool_use_id="t9"),
        asks("t10", "Grep", {"pattern": "x"}, parent_tool_use_id="t9"),
        gets("t10", "No matches found", parent_tool_use_id="t9"),
        gets("t9", "Nothing.", {"agentId": "agent-7", "status": "completed"}),
        says("Nothing there."),
        result(),
    )
    assert prompts(events) == [""]
    assert [(step.agent_id, [call.name for call in step.calls]) for step in steps(events)] == [
        ("", ["Task"]),
        ("", []),
        ("agent-7", ["Grep"]),
    ]
    assert next(call.agent_id for call in calls(events) if call.name == "Task") == "agent-7"


def test_a_sub_agent_without_a_name_goes_by_the_call_that_started_it(tmp_path: Path) -> None:
    events = read(tmp_path, init(), says("Looking.", parent_tool_use_id="t9"), says("Here."), result())
    assert {step.agent_id for step in steps(events)} == {"", "t9"}


@pytest.mark.parametrize(
    "fields",
    [
        {"isSynthetic": True, "text": "Rules of this skill"},
        {"text": "Base directory for this skill: /kb/skills/x\n\nText"},
    ],
)
def test_what_the_client_writes_in_the_users_role_is_no_prompt(tmp_path: Path, fields: dict[str, Any]) -> None:
    content = [{"type": "text", "text": fields.pop("text")}]
    events = read(tmp_path, init(), line("user", message={"role": "user", "content": content}, **fields), result())
    assert prompts(events) == []
    assert any(isinstance(event, Injection) for event in events)


@pytest.mark.parametrize(
    "text",
    [
        "<local-command-stdout>Compacted </local-command-stdout>",
        "This session is being continued from a previous talk.",
    ],
)
def test_notices_of_the_client_are_no_prompt(tmp_path: Path, text: str) -> None:
    events = read(tmp_path, init(), line("user", message={"role": "user", "content": text}), says("Go."), result())
    assert prompts(events) == [""]


def hook(event: str, printed: str, exit_code: int = 0) -> dict[str, Any]:
    about = {"hook_name": event, "hook_event": event, "output": printed, "stdout": printed, "exit_code": exit_code}
    return line("system", subtype="hook_response", **about)


def turns(tmp_path: Path, *lines: dict[str, Any]) -> list[tuple[str, list[str], int]]:
    """Each turn of a stream: its prompt, what was injected into it, its steps."""
    found = turns_of(write(tmp_path / "out", lines))
    return [(turn.prompt, [one.excerpt for one in turn.injected], turn.steps) for turn in found]


def test_each_run_to_a_result_is_a_turn_whether_its_prompt_is_repeated_or_not(tmp_path: Path) -> None:
    asked = [line("user", message={"role": "user", "content": text}, isReplay=True) for text in ("One?", "Two?")]
    answers = [[says("1."), result("1.")], [says("2."), says("More."), result("More.")]]
    with_prompts = [part for ask, answer in zip(asked, answers, strict=True) for part in (init(), ask, *answer)]
    without = [part for answer in answers for part in (init(), *answer)]
    assert turns(tmp_path, *with_prompts) == [("One?", [], 1), ("Two?", [], 2)]
    assert turns(tmp_path, *without) == [("", [], 1), ("", [], 2)]


def test_a_prompt_put_before_the_stream_is_the_prompt_of_its_first_turn(tmp_path: Path) -> None:
    first = json.loads(READER.prompt_lines(SESSION, "One?"))
    assert turns(tmp_path, first, *WHOLE) == [("One?", [], 2)]


def test_work_in_the_background_that_ends_later_belongs_to_its_turn(tmp_path: Path) -> None:
    notice = line("user", message={"role": "user", "content": "<task-notification>done</task-notification>"})
    lines = [init(), says("It runs."), result("It runs."), init(), notice, says("It ran."), result("It ran.")]
    assert turns(tmp_path, *lines) == [("", [], 2)]


def test_hook_output_in_the_stream_is_injected_into_the_turn_it_was_asked_for(tmp_path: Path) -> None:
    known = json.dumps({"hookSpecificOutput": {"additionalContext": "Use pnpm."}})
    found = turns(
        tmp_path,
        hook("SessionStart", "Welcome."),
        hook("UserPromptSubmit", known),
        init(),
        says("1."),
        hook("PostToolUse", "printed for nobody"),
        result("1."),
        hook("UserPromptSubmit", "Again."),
        hook("UserPromptSubmit", "refused", exit_code=2),
        init(),
        line("user", message={"role": "user", "content": "Two?"}),
        says("2."),
        result("2."),
    )
    assert found == [("", ["Welcome.", "Use pnpm."], 1), ("Two?", ["Again."], 1)]


def test_an_invoked_skill_begins_a_sample(tmp_path: Path) -> None:
    events = read(
        tmp_path,
        init(),
        asks("t1", "Skill", {"skill": "release"}),
        gets("t1", "Launching skill: release", {"success": True, "commandName": "release"}),
        says("Released."),
        result(),
    )
    assert [event.name for event in events if isinstance(event, Skill)] == ["release"]


FAILED: list[tuple[dict[str, Any], str]] = [
    ({"subtype": "error_max_turns", "is_error": False, "result": None}, "error_max_turns"),
    ({"subtype": "error_during_execution", "is_error": True, "result": None, "errors": ["network"]}, "network"),
    ({"subtype": "error_max_budget_usd", "is_error": True, "result": None, "errors": ["Reached maximum budget"]},
     "Reached maximum budget"),
    ({"subtype": "success", "is_error": True, "result": "Invalid API key"}, "Invalid API key"),
    ({"subtype": "error_of_tomorrow", "is_error": None, "result": None}, "error_of_tomorrow"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "reason"), FAILED)
def test_a_failed_result_is_broken(tmp_path: Path, fields: dict[str, Any], reason: str) -> None:
    events = read(tmp_path, init(), says("I begin."), result(**fields))
    assert isinstance(events[-1], Broken)
    assert events[-1].reason == reason


def test_a_synthetic_answer_is_not_the_agents(tmp_path: Path) -> None:
    answer = says("Not logged in")
    answer["message"]["model"] = "<synthetic>"
    events = read(tmp_path, init(), answer, result("Not logged in", is_error=True))
    assert steps(events) == []
    assert isinstance(events[-1], Broken)


def test_a_stream_without_its_result_is_broken(tmp_path: Path) -> None:
    events = read(tmp_path, init(), says("I begin."))
    assert isinstance(events[-1], Broken)
    assert events[-1].reason == UNFINISHED


def test_work_in_the_background_may_follow_a_result(tmp_path: Path) -> None:
    events = read(tmp_path, init(), says("Started."), result("Started."), init(), says("Now it is done."), result())
    assert [said.text for step in steps(events) for said in step.said] == ["Started.", "Now it is done."]
    assert not any(isinstance(event, Broken) for event in events)


def test_a_denied_call_is_rejected(tmp_path: Path) -> None:
    text = "Claude requested permissions to use Bash, but you haven't granted it yet."
    events = read(
        tmp_path,
        init(),
        asks("t1", "Bash", {"command": "grep -r x ."}),
        gets("t1", text, f"Error: {text}", is_error=True),
        says("I may not."),
        result(),
    )
    assert [(call.kind, call.outcome) for call in calls(events)] == [(ToolKind.SEARCH, Outcome.REJECTED)]


def test_partial_messages_change_nothing(tmp_path: Path) -> None:
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "It"}}
    with_parts = [part for each in WHOLE for part in (line("stream_event", event=delta), each)]
    assert steps(read(tmp_path, *with_parts))[0].calls[0].outcome is Outcome.EMPTY
    assert len(steps(read(tmp_path, *with_parts))) == 2


def test_noise_between_the_lines_is_counted(tmp_path: Path) -> None:
    tally = Tally(skipped=[])
    events = read(tmp_path, *WHOLE[:2], b"Warning: no sandbox here", *WHOLE[2:], b'{"type":"assis', tally=tally)
    assert [(skipped.line, skipped.reason) for skipped in tally.skipped] == [(3, "broken"), (12, "truncated")]
    assert len(steps(events)) == 2


# What it cost


def test_cost_tokens_and_model_come_from_the_stream(tmp_path: Path) -> None:
    assert READER.spent(write(tmp_path / "out", WHOLE)) == RunUsage("model-1", 0.0125, 3210, 40)


@pytest.mark.parametrize("fields", [{"usage": None, "total_cost_usd": None}, {"usage": "x", "total_cost_usd": True}])
def test_what_the_stream_does_not_say_is_unknown(tmp_path: Path, fields: dict[str, Any]) -> None:
    assert READER.spent(write(tmp_path / "out", [result(**fields)])) == RunUsage()
    assert READER.spent(write(tmp_path / "cut", [init()])) == RunUsage("model-1")


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
@given(seed=st.integers(0, 10**9), cut=st.integers(0, 3000))
def test_mutated_streams_are_read_without_an_exception(tmp_path: Path, seed: int, cut: int) -> None:
    strange = mutated(WHOLE, seed)
    content = b"\n".join(json.dumps(part).encode() for part in (strange if isinstance(strange, list) else [strange]))
    for given_ in (content, content[:cut], json.dumps(strange).encode()):
        READER.identify(given_)
        path = tmp_path / "out"
        path.write_bytes(given_)
        list(READER.read([path], {}, Tally()))
        READER.spent(path)


def test_the_prompt_and_step_know_their_place(tmp_path: Path) -> None:
    path = write(tmp_path / "trace", [READER.prompt_lines(SESSION, "Go.").rstrip(), *WHOLE])
    events = list(READER.read([path], {}, Tally()))
    assert [(event.path, event.line) for event in events if isinstance(event, Prompt | Step)] == [
        (str(path), 1),
        (str(path), 4),
        (str(path), 10),
    ]

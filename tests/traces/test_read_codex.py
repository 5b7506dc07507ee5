"""Codex CLI rollouts: what is the user's, what a response is, how a call ended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knowbound.core.trace import (
    Broken,
    Event,
    Injection,
    Outcome,
    Prompt,
    Skill,
    Start,
    Step,
    ToolCall,
    ToolKind,
)
from knowbound.traces.readers.codex.lines import call_of, output_of
from knowbound.traces.readers.codex.rollout import Codex
from knowbound.traces.registry import Identity
from knowbound.traces.source import Tally, read_head
from tests.reading import calls, prompts, steps, turns_of, write
from tests.recordings import each_recording, recordings_of_others

READER = Codex()

_clock = iter(range(10_000_000))


def line(type_: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": f"2026-01-01T00:00:00.{next(_clock):07}Z", "type": type_, "payload": payload}


def meta(id_: str = "s-1", **more: Any) -> dict[str, Any]:
    return line("session_meta", id=id_, cwd="/repo", cli_version="0.142.0", source="cli", **more)


def item(type_: str, **payload: Any) -> dict[str, Any]:
    return line("response_item", type=type_, **payload)


def event(type_: str, **payload: Any) -> dict[str, Any]:
    return line("event_msg", type=type_, **payload)


def user(*texts: str, **more: Any) -> dict[str, Any]:
    return item("message", role="user", content=[{"type": "input_text", "text": text} for text in texts], **more)


def developer(text: str) -> dict[str, Any]:
    return item("message", role="developer", content=[{"type": "input_text", "text": text}])


def says(text: str, **more: Any) -> dict[str, Any]:
    return item("message", role="assistant", content=[{"type": "output_text", "text": text}], **more)


def call(id_: str, name: str = "exec_command", **arguments: Any) -> dict[str, Any]:
    return item("function_call", call_id=id_, name=name, arguments=json.dumps(arguments))


def output(id_: str, text: Any) -> dict[str, Any]:
    return item("function_call_output", call_id=id_, output=text)


def ran(text: str, code: int = 0) -> str:
    return (
        f"Chunk ID: 1a2b3c\nWall time: 0.1 seconds\nProcess exited with code {code}\n"
        f"Original token count: 3\nOutput:\n{text}"
    )


def still_running(session: int, text: str = "") -> str:
    return (
        f"Chunk ID: 1a2b3c\nWall time: 1.0 seconds\nProcess running with session ID {session}\n"
        f"Original token count: 0\nOutput:\n{text}"
    )


def read(tmp_path: Path, *lines: dict[str, Any] | bytes, tally: Tally | None = None) -> list[Event]:
    return list(READER.read([write(tmp_path / "rollout.jsonl", lines)], {}, tally or Tally()))


def one_call(tmp_path: Path, *lines: dict[str, Any]) -> ToolCall:
    (found,) = calls(read(tmp_path, meta(), *lines))
    return found


# Recognising


def head_of(*lines: dict[str, Any]) -> bytes:
    return b"\n".join(json.dumps(part).encode() for part in lines)


def test_session_is_named_by_session_meta() -> None:
    first = meta("s-1")
    assert READER.identify(head_of(first, user("hello"))) == Identity("s-1", "", first["timestamp"])


def test_head_cut_inside_session_meta_still_names_the_session() -> None:
    whole = head_of(meta("s-1", base_instructions={"text": "x" * 5000}))
    found = READER.identify(whole[:1000])
    assert found is not None
    assert found.session == "s-1"


def test_part_of_a_rollout_without_session_meta_is_recognised() -> None:
    found = READER.identify(head_of(user("hello")))
    assert found is not None
    assert found.session == ""


def test_sub_agent_belongs_to_the_session_of_its_parent() -> None:
    source = {"subagent": {"thread_spawn": {"parent_thread_id": "s-1", "depth": 1}}}
    child = line("session_meta", id="a-1", cwd="/repo", source=source)
    found = READER.identify(head_of(child))
    assert found is not None
    assert (found.session, found.agent_id) == ("s-1", "a-1")


def test_nested_sub_agent_belongs_to_the_root_session_where_it_is_named() -> None:
    source = {"subagent": {"thread_spawn": {"parent_thread_id": "a-1", "depth": 2}}}
    child = line("session_meta", id="a-2", session_id="s-1", cwd="/repo", source=source)
    found = READER.identify(head_of(child))
    assert found is not None
    assert (found.session, found.agent_id) == ("s-1", "a-2")


def test_oldest_rollout_without_payloads_is_recognised() -> None:
    found = READER.identify(
        head_of({"id": "s-0", "timestamp": "2025-05-01T00:00:00Z", "instructions": None, "git": {}})
    )
    assert found is not None
    assert found.session == "s-0"


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"\x00\xff\xfe garbage",
        b"[1, 2]",
        b'{"type": "user", "sessionId": "x", "message": {"content": "hi"}}',
        b'{"type": "session.start", "data": {"sessionId": "x"}, "id": "1", "timestamp": "t"}',
        b'{"sessionId": "x", "messages": []}',
        b'{"trajectory": [], "history": []}',
        b'{"role": "user", "content": "hi"}',
    ],
)
def test_other_content_is_not_claimed(head: bytes) -> None:
    assert READER.identify(head) is None


# The user's own words


def test_start_carries_session_folder_version(tmp_path: Path) -> None:
    (start,) = read(tmp_path, meta("s-1"))
    assert isinstance(start, Start)
    assert (start.session, start.agent, start.project, start.version) == ("s-1", "codex", "/repo", "0.142.0")


def test_the_users_own_instructions_are_not_those_of_the_project(tmp_path: Path) -> None:
    text = "Answer in French.\n\n--- project-doc ---\n\nUse tabs."
    lines = [meta(), user(f"# AGENTS.md instructions for /repo\n\n<INSTRUCTIONS>\n{text}\n</INSTRUCTIONS>"), user("go")]
    found = [(event.path, event.content) for event in read(tmp_path, *lines) if isinstance(event, Injection)]
    assert found == [("", "Answer in French."), ("/repo/AGENTS.md", "Use tabs.")]


def test_user_words_are_prompts_once_although_an_event_mirrors_them(tmp_path: Path) -> None:
    events = read(tmp_path, meta(), user("find the bug"), event("user_message", message="find the bug"), says("found"))
    assert prompts(events) == ["find the bug"]


@pytest.mark.parametrize(
    ("text", "source", "path", "content"),
    [
        (
            "# AGENTS.md instructions for /repo/sub\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>",
            "instructions",
            "/repo/sub/AGENTS.md",
            "Use tabs.",
        ),
        (
            # no folder: the user's own alone
            "# AGENTS.md instructions\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>",
            "instructions",
            "",
            "Use tabs.",
        ),
        ("<user_instructions>Use tabs.</user_instructions>", "instructions", "", "Use tabs."),
        ("<environment_context>\n<cwd>/repo</cwd>\n</environment_context>", "environment_context", "", "/repo"),
        ("<user_shell_command>ls</user_shell_command>", "user_shell_command", "", "ls"),
        (
            '<codex_internal_context source="goal">\nship\n</codex_internal_context>',
            "codex_internal_context",
            "",
            "ship",
        ),
    ],
)
def test_client_context_in_the_users_role_is_injected_not_asked(
    tmp_path: Path, text: str, source: str, path: str, content: str
) -> None:
    events = read(tmp_path, meta(), user(text))
    assert prompts(events) == []
    (found,) = [event for event in events if isinstance(event, Injection)]
    assert (found.source, found.path) == (source, path)
    assert content in found.content


@pytest.mark.parametrize(
    "text",
    [
        "<turn_aborted>\nThe user interrupted the previous turn on purpose.\n</turn_aborted>",
        "Another language model started to solve this problem and produced a summary of its thinking process.",
        "Warning: apply_patch was requested via shell. Use the apply_patch tool instead.",
    ],
)
def test_notices_and_summaries_are_nobodys_words(tmp_path: Path, text: str) -> None:
    assert len(read(tmp_path, meta(), user(text))) == 1  # the start


def test_markup_of_the_user_stays_a_prompt(tmp_path: Path) -> None:
    text = "<task_description>\nrename the class\n</task_description>"
    assert prompts(read(tmp_path, meta(), user(text))) == [text]


def test_editor_context_is_told_apart_from_the_request(tmp_path: Path) -> None:
    text = "# Context from my IDE setup:\n\n## Active file: a.py\n\n## My request for Codex:\nwhy is this slow?"
    events = read(tmp_path, meta(), user(text))
    assert prompts(events) == ["why is this slow?"]
    (found,) = [event for event in events if isinstance(event, Injection)]
    assert found.source == "editor"
    assert "a.py" in found.content


def test_image_frames_are_not_words(tmp_path: Path) -> None:
    content = [
        {"type": "input_text", "text": "<image name=[Image #1]>"},
        {"type": "input_image", "image_url": "data:"},
        {"type": "input_text", "text": "</image>"},
        {"type": "input_text", "text": "what is this?"},
    ]
    assert prompts(read(tmp_path, meta(), item("message", role="user", content=content))) == ["what is this?"]


def test_developer_texts_are_injected_under_their_tag(tmp_path: Path) -> None:
    events = read(
        tmp_path,
        meta(),
        developer("<permissions instructions>ask first</permissions instructions>"),
        developer("<hook_context>the api moved</hook_context>"),
        developer("Always answer in French."),
    )
    found = [event.source for event in events if isinstance(event, Injection)]
    assert found == ["developer:permissions", "hook", "developer"]


def hook_message(text: str, *, kind: str = "hooks.additional_context") -> dict[str, Any]:
    """A developer's message as clients from 0.166 on write it: with what each part is."""
    about = {"turn_id": "t", "content_item_kinds": [kind]}
    content = [{"type": "input_text", "text": text}]
    return item("message", role="developer", content=content, internal_chat_message_metadata_passthrough=about)


def turn_begins(id_: str) -> list[dict[str, Any]]:
    return [event("task_started", turn_id=id_), line("turn_context", turn_id=id_, cwd="/repo")]


BUNDLE = (
    "Entries of this project's knowledge store (knowbound) that match the prompt, each with its id:\n"
    "[k1] (from sqlite, as of 2026-10-01) The staging host is tern.\n"
    "[k2] (STALE, from docs/api.md, as of 2026-10-01) Use pnpm.\n"
    "The ids are what the tools kms_flag, kms_update and kms_supersede take when an entry is wrong."
)


def injected(tmp_path: Path, *lines: dict[str, Any]) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """For each turn the client's id of it, and what was injected into it: source, item, start of the text."""
    found = turns_of(write(tmp_path / "rollout.jsonl", (meta(), *lines)))
    return [(turn.client_turn, [(one.source, one.item, one.excerpt) for one in turn.injected]) for turn in found]


ITEMS = [("k1", "The staging host is tern."), ("k2", "Use pnpm.")]


def test_hook_text_is_injected_by_when_it_comes_and_belongs_to_the_turn_that_reads_it(tmp_path: Path) -> None:
    found = injected(
        tmp_path,
        *turn_begins("t-1"),
        hook_message("Hello."),
        user("one"),
        hook_message(BUNDLE),
        call("c1", cmd="ls"),
        hook_message("Mind the gap."),
        output("c1", ran("a")),
        says("1"),
        event("task_complete", turn_id="t-1"),
        *turn_begins("t-2"),
        hook_message(BUNDLE),
        user("two"),
        hook_message("<b>Bold</b> of others"),
        hook_message("Answer in French.", kind="user_config.developer_instructions"),
        says("2"),
    )
    assert found == [
        (
            "t-1",
            [
                ("hook:SessionStart", "", "Hello."),
                *(("hook:UserPromptSubmit", *one) for one in ITEMS),
                ("hook", "", "Mind the gap."),
            ],
        ),
        (
            "t-2",
            [
                *(("hook:SessionStart", *one) for one in ITEMS),
                ("hook:UserPromptSubmit", "", "<b>Bold</b> of others"),
                ("developer", "", "Answer in French."),
            ],
        ),
    ]


def test_older_clients_do_not_say_what_is_hook_text(tmp_path: Path) -> None:
    own = "<permissions instructions>ask first</permissions instructions>"
    parts = [{"type": "input_text", "text": text} for text in (own, "Answer in French.")]
    found = injected(
        tmp_path,
        event("task_started", turn_id="t-1"),
        item("message", role="developer", content=parts),
        line("turn_context", turn_id="t-1", cwd="/repo"),
        developer("Of a hook."),
        user("one"),
        developer("Of another."),
        call("c1", cmd="ls"),
        developer("Approved command prefix saved:\n- ls"),
        output("c1", ran("a")),
        says("1"),
    )
    assert [(source, text) for source, _, text in found[0][1]] == [
        ("developer:permissions", own),
        ("developer", "Answer in French."),
        ("hook:SessionStart", "Of a hook."),
        ("hook:UserPromptSubmit", "Of another."),
        ("developer", "Approved command prefix saved:\n- ls"),
    ]


def test_words_that_steer_a_turn_have_its_id(tmp_path: Path) -> None:
    found = injected(tmp_path, *turn_begins("t-1"), user("one"), says("1"), user("also this"), says("2"))
    assert [turn for turn, _ in found] == ["t-1", "t-1"]


def mcp_item(id_: str, status: str, **more: Any) -> dict[str, Any]:
    return event("item_completed", item={"type": "McpToolCall", "id": id_, "status": status, **more})


@pytest.mark.parametrize(
    ("ended", "outcome"),
    [
        (mcp_item("c1", "completed", result={"content": []}), Outcome.OK),
        (mcp_item("c1", "failed", result={"content": [], "isError": True}), Outcome.ERROR),
        (mcp_item("c1", "failed", error={"message": "it blew up"}), Outcome.ERROR),
        (mcp_item("c2", "failed"), Outcome.OK),
        (event("item_completed", item={"type": "CommandExecution", "id": "c1", "status": "failed"}), Outcome.OK),
        (event("item_completed", item="odd"), Outcome.OK),
    ],
)
def test_the_item_of_an_mcp_call_says_whether_it_failed(
    tmp_path: Path, ended: dict[str, Any], outcome: Outcome
) -> None:
    asked = item("function_call", call_id="c1", name="find", namespace="mcp__tickets", arguments='{"q": "b"}')
    text = [{"type": "input_text", "text": part} for part in ("Wall time: 0.1 seconds\nOutput:", "no such ticket")]
    found = one_call(tmp_path, user("go"), asked, ended, output("c1", text), says("done"))
    assert (found.name, found.outcome, found.output) == ("mcp__tickets__find", outcome, "no such ticket")


def test_two_calls_that_end_at_the_same_time_in_a_session_of_several_files_both_count(tmp_path: Path) -> None:
    asked = [item("function_call", call_id=id_, name="find", namespace="mcp__t", arguments="{}") for id_ in "ab"]
    ended = [{**mcp_item(id_, "failed"), "timestamp": "2026-01-01T00:00:01Z"} for id_ in "ab"]
    lines = [meta(), user("go"), *asked, *ended, *(output(id_, "no") for id_ in "ab"), says("done")]
    paths = [write(tmp_path / name, part) for name, part in (("1.jsonl", lines), ("2.jsonl", [user("more")]))]
    found = list(READER.read(paths, {}, Tally()))
    assert [one.outcome for one in calls(found)] == [Outcome.ERROR, Outcome.ERROR]


def test_injected_text_is_kept_up_to_thirty_thousand_characters(tmp_path: Path) -> None:
    events = read(tmp_path, meta(), developer("x" * 50_000))
    assert [len(event.content) for event in events if isinstance(event, Injection)] == [30_000]


def test_mentioned_skill_begins_with_the_words_that_mention_it(tmp_path: Path) -> None:
    skill = "<skill>\n<name>deploy</name>\n<path>/skills/deploy/SKILL.md</path>\n# Deploy\nSteps.\n</skill>"
    events = read(
        tmp_path, meta(), user("$deploy the app"), event("user_message", message="…"), user(skill), says("ok")
    )
    kinds = [type(event) for event in events]
    assert kinds == [Start, Skill, Injection, Prompt, Step]
    assert events[1] == Skill("deploy", "command", 4)
    injected = events[2]
    assert isinstance(injected, Injection)
    assert injected.path == "/skills/deploy/SKILL.md"


# Steps


def test_one_response_is_one_step_whether_results_or_token_count_come_first(tmp_path: Path) -> None:
    newer = [
        item("reasoning", summary=[]),
        says("looking"),
        call("c1", cmd="ls"),
        call("c2", cmd="pwd"),
        output("c1", ran("a")),
        output("c2", ran("/repo")),
        event("token_count"),
    ]
    older = [says("next"), call("c3", cmd="ls"), event("token_count"), output("c3", ran("a"))]
    last = [says("one"), says("two"), event("token_count")]
    found = steps(read(tmp_path, meta(), user("go"), *newer, *older, *last))
    assert [[call.id for call in step.calls] for step in found] == [["c1", "c2"], ["c3"], []]
    assert [[said.text for said in step.said] for step in found] == [["looking"], ["next"], ["one", "two"]]


def test_message_ids_are_the_lines_own_or_its_number(tmp_path: Path) -> None:
    (step,) = steps(read(tmp_path, meta(), says("a", id="msg_1"), says("b")))
    assert [(said.message_id, said.line) for said in step.said] == [("msg_1", 2), ("L3", 3)]


def test_words_during_a_running_call_come_after_its_step(tmp_path: Path) -> None:
    events = read(tmp_path, meta(), call("c1", cmd="make"), user("and hurry"), output("c1", ran("done")), says("done"))
    assert [type(event) for event in events] == [Start, Step, Prompt, Step]
    assert calls(events)[0].outcome is Outcome.OK


def test_interrupted_turn_cancels_its_calls_and_is_no_failure(tmp_path: Path) -> None:
    events = read(tmp_path, meta(), call("c1", cmd="rg needle"), event("turn_aborted", reason="interrupted"))
    assert [call.outcome for call in calls(events)] == [Outcome.CANCELLED]
    assert not [event for event in events if isinstance(event, Broken)]


@pytest.mark.parametrize(
    "failed",
    [
        event("error", message="stream disconnected before completion"),
        event("stream_error", message="stream disconnected before completion"),
        event("turn_aborted", reason="stream_error"),
        event("task_complete", error={"message": "stream disconnected"}),
    ],
)
def test_failure_of_the_agent_itself_breaks_the_turn(tmp_path: Path, failed: dict[str, Any]) -> None:
    (broken,) = [event for event in read(tmp_path, meta(), user("go"), failed) if isinstance(event, Broken)]
    assert "stream" in broken.reason


def test_call_without_result_is_unknown(tmp_path: Path) -> None:
    assert one_call(tmp_path, call("c1", cmd="rg needle")).outcome is Outcome.UNKNOWN


# Calls and results


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        (ran("", 1), Outcome.EMPTY),
        (ran("src/a.py:1:needle\n"), Outcome.OK),
        ("Exit code: 1\nWall time: 0.1 seconds\nOutput:\n", Outcome.EMPTY),
        ("Exit code: 0\nWall time: 0.1 seconds\nTotal output lines: 900\nOutput:\nsrc/a.py:1:needle\n", Outcome.OK),
        ('{"output":"","metadata":{"exit_code":1,"duration_seconds":0.1}}', Outcome.EMPTY),
        ('{"output":"src/a.py:1:needle","metadata":{"exit_code":0}}', Outcome.OK),
        ([{"type": "input_text", "text": ran("", 1)}], Outcome.EMPTY),
        ({"content": ran("", 1), "success": True}, Outcome.EMPTY),
        (ran("rg: src: No such file or directory (os error 2)\n", 2), Outcome.MISSING),
        ("Exit code: 124\nWall time: 9 seconds\nOutput:\ncommand timed out after 9000 milliseconds\n", Outcome.TIMEOUT),
        ("aborted by user after 3.1s", Outcome.CANCELLED),
        ('exec_command failed for `rg`: CreateProcess { message: "rejected by user" }', Outcome.REJECTED),
    ],
)
def test_search_is_judged_on_the_real_output(tmp_path: Path, result: Any, outcome: Outcome) -> None:
    found = one_call(tmp_path, call("c1", cmd="rg needle src"), output("c1", result))
    assert (found.kind, found.outcome) == (ToolKind.SEARCH, outcome)
    assert "Wall time" not in (found.output or "")


@pytest.mark.parametrize(
    ("argv", "command"),
    [
        (["bash", "-lc", "make all"], "make all"),
        (["zsh", "-c", "make all"], "make all"),
        (["make", "all targets"], "make 'all targets'"),
    ],
)
def test_argv_becomes_a_command(tmp_path: Path, argv: list[str], command: str) -> None:
    found = one_call(tmp_path, call("c1", "shell", command=argv), output("c1", ran("ok")))
    assert found.query == command


def test_local_shell_call_is_a_command(tmp_path: Path) -> None:
    action = {"type": "exec", "command": ["bash", "-lc", "rg needle src"]}
    shell = item("local_shell_call", call_id="c1", status="completed", action=action)
    found = one_call(tmp_path, shell, output("c1", ran("", 1)))
    assert (found.name, found.kind, found.outcome) == ("local_shell", ToolKind.SEARCH, Outcome.EMPTY)


def test_running_command_is_judged_when_it_ends(tmp_path: Path) -> None:
    events = read(
        tmp_path,
        meta(),
        call("c1", cmd="rg needle src"),
        output("c1", still_running(7)),
        call("c2", "write_stdin", session_id=7, chars=""),
        output("c2", still_running(7)),
        call("c3", "write_stdin", session_id=7, chars=""),
        output("c3", ran("", 1)),
    )
    found = calls(events)
    assert [call.outcome for call in found] == [Outcome.UNKNOWN, Outcome.UNKNOWN, Outcome.EMPTY]
    assert {call.query for call in found} == {"needle"}
    assert found[2].name == "write_stdin"


def test_what_a_running_command_printed_before_counts(tmp_path: Path) -> None:
    events = read(
        tmp_path,
        meta(),
        call("c1", cmd="rg needle src"),
        output("c1", still_running(7, "src/a.py:1:needle\n")),
        call("c2", "write_stdin", session_id=7, chars=""),
        output("c2", ran("")),
    )
    assert calls(events)[1].outcome is Outcome.OK


PATCH = (
    "*** Begin Patch\n*** Update File: src/a.py\n@@\n-def old_name():\n+def new_name():\n"
    "*** Add File: src/b.py\n+x = 1\n*** End Patch"
)


def test_patch_names_its_files(tmp_path: Path) -> None:
    patch = item("custom_tool_call", call_id="c1", name="apply_patch", input=PATCH, status="completed")
    done = item("custom_tool_call_output", call_id="c1", output="Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess.")
    found = one_call(tmp_path, patch, done)
    assert (found.kind, found.outcome) == (ToolKind.EDIT, Outcome.OK)
    assert found.paths == ("src/a.py", "src/b.py")


def test_patch_that_does_not_apply_is_an_error_without_files(tmp_path: Path) -> None:
    patch = item("custom_tool_call", call_id="c1", name="apply_patch", input=PATCH, status="completed")
    text = "apply_patch verification failed: Failed to find expected lines in src/a.py:\nno such file or directory"
    found = one_call(tmp_path, patch, item("custom_tool_call_output", call_id="c1", output=text))
    assert (found.outcome, found.paths) == (Outcome.ERROR, ())


@pytest.mark.parametrize(
    ("action", "query"),
    [
        ({"type": "search", "query": "msgspec raw", "queries": ["msgspec raw", "b"]}, "msgspec raw"),
        ({"type": "search", "queries": ["first"]}, "first"),
        ({"type": "open_page", "url": "https://example.org"}, "https://example.org"),
    ],
)
def test_web_search_is_a_call_of_its_own(tmp_path: Path, action: dict[str, Any], query: str) -> None:
    found = one_call(tmp_path, item("web_search_call", status="completed", action=action))
    assert (found.id, found.kind, found.outcome, found.query) == ("L2", ToolKind.WEB, Outcome.OK, query)


def test_mcp_call_has_its_full_name_and_fails_by_its_event(tmp_path: Path) -> None:
    asked = item("function_call", call_id="c1", name="search_docs", namespace="mcp__wiki", arguments='{"query": "x"}')
    ended = event("mcp_tool_call_end", call_id="c1", result={"Ok": {"content": [], "isError": True}})
    found = one_call(tmp_path, asked, ended, output("c1", "Wall time: 0.1 seconds\nOutput:\nquota used up"))
    assert (found.name, found.kind, found.outcome) == ("mcp__wiki__search_docs", ToolKind.SEARCH, Outcome.ERROR)


def test_mcp_search_that_finds_nothing_is_empty(tmp_path: Path) -> None:
    asked = item("function_call", call_id="c1", name="mcp__wiki__search_docs", arguments='{"query": "x"}')
    found = one_call(tmp_path, asked, output("c1", '[{"type":"text","text":"No results found"}]'))
    assert found.outcome is Outcome.EMPTY


def test_plan_and_tool_search_are_calls(tmp_path: Path) -> None:
    plan = call("c1", "update_plan", plan=[])
    tools = item("tool_search_call", call_id="c2", status="completed", arguments={"query": "github"})
    found = item("tool_search_output", call_id="c2", status="completed", tools=[{"name": "github"}])
    events = read(tmp_path, meta(), plan, tools, output("c1", "Plan updated"), found)
    assert [(call.name, call.outcome) for call in calls(events)] == [
        ("update_plan", Outcome.OK),
        ("tool_search", Outcome.OK),
    ]


# Several files


def spawned(parent: str = "s-1") -> dict[str, Any]:
    return line("session_meta", id="a-1", source={"subagent": {"thread_spawn": {"parent_thread_id": parent}}})


def test_sub_agent_is_read_where_it_was_started(tmp_path: Path) -> None:
    main = write(
        tmp_path / "main.jsonl",
        [
            meta(),
            user("go"),
            call("c1", "spawn_agent", message="look"),
            output("c1", '{"agent_id":"a-1","nickname":"Ada"}'),
            says("done"),
        ],
    )
    side = write(tmp_path / "side.jsonl", [spawned(), user("look"), says("looked"), call("c2", cmd="ls")])
    events = list(READER.read([main], {"a-1": side}, Tally()))
    assert [type(event) for event in events] == [Start, Prompt, Step, Step, Step]
    assert [step.agent_id for step in steps(events)] == ["", "a-1", ""]
    assert calls(events)[0].agent_id == "a-1"


def test_sub_agent_that_nobody_seems_to_have_started_is_read_last(tmp_path: Path) -> None:
    main = write(tmp_path / "main.jsonl", [meta(), user("go"), says("done")])
    side = write(tmp_path / "side.jsonl", [spawned(), user("look"), says("looked")])
    events = list(READER.read([main], {"a-1": side}, Tally()))
    assert [step.agent_id for step in steps(events)] == ["", "a-1"]
    assert prompts(events) == ["go"]


def test_copy_of_a_session_counts_nothing_twice_and_adds_what_is_new(tmp_path: Path) -> None:
    before = [user("hi"), says("hello"), event("token_count"), event("task_complete")]
    shared = [meta(), *before, user("go"), says("looking"), call("c1", cmd="ls")]
    short = write(tmp_path / "1.jsonl", shared)
    long = write(tmp_path / "2.jsonl", [*shared, output("c1", ran("a")), says("done")])
    tally = Tally()
    events = list(READER.read([short, long], {}, tally))
    assert prompts(events) == ["hi", "go"]
    assert [call.outcome for call in calls(events)] == [Outcome.OK]
    assert [said.text for step in steps(events) for said in step.said] == ["hello", "looking", "done"]
    assert tally.duplicates == 5


# Bad input


def test_every_unusable_line_is_counted_and_no_valid_one(tmp_path: Path) -> None:
    tally = Tally()
    events = read(
        tmp_path,
        meta(),
        b"no json at all",
        b'{"timestamp":"t","type":"response_item","payload":{"type":"mess',
        b"[1, 2]",
        b'{"type":"response_item","payload":{"role":"\xff\xfe"}}',
        line("a_type_of_tomorrow", anything=1),
        item("an_item_of_tomorrow", anything=1),
        event("an_event_of_tomorrow"),
        {"no": "type"},
        user("go"),
        tally=tally,
    )
    assert [(skipped.line, skipped.reason) for skipped in tally.skipped] == [
        (2, "broken"),
        (3, "truncated"),
        (4, "foreign"),
        (5, "not-utf8"),
    ]
    assert prompts(events) == ["go"]


def test_wrong_types_and_lone_surrogates_do_not_cost_the_line(tmp_path: Path) -> None:
    tally = Tally()
    odd = item("message", role="user", id=17, call_id=[], content=[{"type": "input_text", "text": "go"}])
    torn = b'{"type":"response_item","payload":{"type":"message","role":"user","content":[{"text":"a\\ud800b"}]}}'
    events = read(tmp_path, meta(), odd, torn, tally=tally)
    assert prompts(events) == ["go", "a?b"]
    assert tally.skipped == []


def test_oldest_rollout_is_read_without_payloads(tmp_path: Path) -> None:
    events = read(
        tmp_path,
        {"id": "s-0", "timestamp": "2025-05-01T00:00:00Z", "instructions": None, "git": {}},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
        {
            "type": "function_call",
            "name": "shell",
            "call_id": "c1",
            "arguments": '{"command":["bash","-lc","rg x src"]}',
        },
        {"type": "function_call_output", "call_id": "c1", "output": '{"output":"","metadata":{"exit_code":1}}'},
    )
    assert prompts(events) == ["go"]
    assert [(call.kind, call.outcome) for call in calls(events)] == [(ToolKind.SEARCH, Outcome.EMPTY)]


SAMPLE = [
    meta(),
    user("go"),
    says("looking"),
    call("c1", cmd="rg x"),
    output("c1", ran("", 1)),
    item("custom_tool_call", call_id="c2", name="apply_patch", input=PATCH),
    item("custom_tool_call_output", call_id="c2", output="apply_patch verification failed"),
    item("web_search_call", status="completed", action={"type": "search", "query": "x"}),
    event("mcp_tool_call_end", call_id="c1", result={"Ok": {}}),
    event("token_count"),
    event("turn_aborted", reason="interrupted"),
    event("error", message="boom"),
]


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    raw = bytearray(json.dumps(draw(st.sampled_from(SAMPLE))).encode())
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(raw) - 1))
        raw[at : at + draw(st.integers(0, 3))] = draw(st.binary(max_size=3))
        raw = raw or bytearray(b"{")
    return bytes(raw)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(["type", "role", "id", "call_id", "name", "arguments", "input", "output", "content", "action",
                        "tools", "status", "message", "reason", "error", "result", "source", "cwd"])  # fmt: skip
TYPES = st.sampled_from(["message", "function_call", "function_call_output", "custom_tool_call", "web_search_call",
                         "tool_search_output", "local_shell_call", "mcp_tool_call_end", "turn_aborted"])  # fmt: skip


@st.composite
def odd_line(draw: st.DrawFn) -> bytes:
    payload = {**draw(st.dictionaries(KEYS, JSON, max_size=6)), "type": draw(TYPES)}
    kind = draw(st.sampled_from(["response_item", "event_msg", "session_meta", "turn_context"]))
    return json.dumps({"timestamp": draw(JSON), "type": kind, "payload": payload}).encode()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.binary(max_size=60) | mutated() | odd_line(), max_size=8))
def test_no_bytes_raise(tmp_path: Path, lines: list[bytes]) -> None:
    READER.identify(b"\n".join(lines))
    tally = Tally()
    for event in read(tmp_path, *lines, tally=tally):
        assert event is not None
    assert len(tally.skipped) <= tally.lines + 1  # a damaged archive has no line


# Recordings


CALL_TYPES = ("function_call", "custom_tool_call", "local_shell_call", "tool_search_call", "web_search_call")
NOT_WORDS = ("# AGENTS.md", "<environment_context", "<turn_aborted", "<skill>", "<user_instructions")


def plain_count(path: Path) -> tuple[int, int]:
    """Prompts and calls, counted with plain json and nothing of ours."""
    asked = called = 0
    for raw in path.read_text(encoding="utf-8").splitlines():
        entry = json.loads(raw)
        if entry["type"] != "response_item":
            continue
        payload = entry["payload"]
        called += payload["type"] in CALL_TYPES
        if payload["type"] == "message" and payload["role"] == "user":
            texts = [part.get("text", "") for part in payload["content"]]
            asked += any(not text.startswith(NOT_WORDS) for text in texts)
    return asked, called


@pytest.mark.parametrize("path", each_recording("codex"))
def test_real_rollout_agrees_with_a_plain_count(path: Path) -> None:
    tally = Tally()
    found = READER.identify(read_head(path))
    assert found is not None
    assert found.session
    events = list(READER.read([path], {}, tally))
    assert (len(prompts(events)), len(calls(events))) == plain_count(path)
    assert tally.skipped == []


def test_no_other_recording_is_claimed() -> None:
    others = recordings_of_others("codex")
    assert others
    assert [path for path in others if READER.identify(read_head(path))] == []


# ---- scripts of `exec`, clients 0.144 and later

SHELL = "exec_command"
DONE = "Script completed\nWall time 0.1 seconds\nOutput:\n"


def script(id_: str, text: str) -> dict[str, Any]:
    return item("custom_tool_call", call_id=id_, name="exec", status="completed", input=text)


def printed(id_: str, *parts: str, header: str = DONE) -> dict[str, Any]:
    texts = [{"type": "input_text", "text": text} for text in (header, *parts)]
    return item("custom_tool_call_output", call_id=id_, output=texts if parts else header)


@pytest.mark.parametrize(
    ("text", "name", "query"),
    [
        (
            'const r = await tools.exec_command({cmd:"make test","workdir":"/repo"}); text(r.output);',
            SHELL,
            "make test",
        ),
        ("const r = await tools.exec_command({'cmd': 'make test', yield_time_ms: 5,});", SHELL, "make test"),
        ('const a = "make test"; // the user\'s own\nawait tools.exec_command({cmd: a})', SHELL, "make test"),
        ('await Promise.all([tools.exec_command({cmd:"a"}), tools.exec_command({cmd:"b"})])', SHELL, "a\nb"),
        ('text("tools.exec_command({cmd: 1})")', "exec", 'text("tools.exec_command({cmd: 1})")'),
        ("text(ALL_TOOLS.length)", "exec", "text(ALL_TOOLS.length)"),
    ],
)
def test_a_script_is_the_call_that_it_makes(text: str, name: str, query: str, tmp_path: Path) -> None:
    (call,) = calls(read(tmp_path, meta(), user("go"), script("c1", text), printed("c1", "ok")))
    assert (call.name, call.query) == (name, query)


def test_a_script_that_patches_is_an_edit_of_its_files(tmp_path: Path) -> None:
    patch = "*** Begin Patch\\n*** Update File: src/a.py\\n@@\\n-a\\n+b\\n*** End Patch"
    text = f'const patch = "{patch}";\nawait tools.apply_patch(patch);'
    (call,) = calls(read(tmp_path, meta(), user("go"), script("c1", text), printed("c1", "{}")))
    assert (call.kind, call.paths) == (ToolKind.EDIT, ("src/a.py",))


@pytest.mark.parametrize(
    ("output", "outcome"),
    [
        ('{"chunk_id":"1","exit_code":0,"output":"4 passed"}', Outcome.OK),
        ('{"chunk_id":"1","exit_code":1,"output":"4 failed"}', Outcome.ERROR),
        ("4 passed", Outcome.OK),
    ],
)
def test_a_command_of_a_script_ends_as_its_own_exit_code_says(output: str, outcome: Outcome, tmp_path: Path) -> None:
    text = 'const r = await tools.exec_command({cmd:"make test"}); text(JSON.stringify(r));'
    (call,) = calls(read(tmp_path, meta(), user("go"), script("c1", text), printed("c1", output)))
    assert call.outcome is outcome
    assert "4 " in call.text


def test_a_script_that_goes_on_is_judged_when_it_is_waited_for(tmp_path: Path) -> None:
    found = calls(
        read(
            tmp_path,
            meta(),
            user("go"),
            script("c1", 'const r = await tools.exec_command({cmd:"make test"}); text(JSON.stringify(r));'),
            printed("c1", header="Script running with cell ID 9\nWall time 10.0 seconds\nOutput:\n"),
            item("function_call", call_id="c2", name="wait", arguments='{"cell_id":"9"}'),
            printed("c2", '{"chunk_id":"1","exit_code":1,"output":"2 failed"}'),
        )
    )
    assert [(one.query, one.outcome) for one in found] == [
        ("make test", Outcome.UNKNOWN),
        ("make test", Outcome.ERROR),
    ]


@pytest.mark.hypothesis
@given(st.text(alphabet="tools.exec_command({cmd:\"'`\\,})/*\n\0 ab", max_size=120))
def test_any_script_is_read_without_an_error(text: str) -> None:
    found = call_of(text)
    assert found is None or found.name
    assert output_of(DONE + text) is not None

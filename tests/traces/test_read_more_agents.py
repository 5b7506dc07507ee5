"""Readers of Goose, Qwen Code, Cline, Roo Code and Aider, by recordings written as these programs write them."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from knowbound.core.trace import Event, Outcome, Start, ToolKind
from knowbound.traces.registry import reader_named, recognise
from knowbound.traces.source import Tally, read_head
from tests.reading import calls, prompts, steps
from tests.recordings import recordings, recordings_of_others

AGENTS = ("goose", "qwen-code", "cline", "aider")
QUESTION = "Where is the tide table read?"


def read(agent: str, *files: Path) -> list[Event]:
    return list(reader_named(agent).read(files, {}, Tally(skipped=[])))


def own(agent: str) -> list[Event]:
    return read(agent, recordings(agent)[0])


@pytest.mark.parametrize("agent", AGENTS)
def test_the_reader_takes_its_recordings_and_no_other(agent: str) -> None:
    taken = {known[0].name for path in recordings(agent) if (known := recognise(read_head(path)))}
    assert taken == {agent}
    reader = reader_named(agent)
    assert [path for path in recordings_of_others(agent) if reader.identify(read_head(path))] == []


@pytest.mark.parametrize(
    ("agent", "expected"),
    [
        (
            "goose",
            [
                ("developer__shell", ToolKind.SEARCH, Outcome.EMPTY),
                ("developer__text_editor", ToolKind.READ, Outcome.MISSING),
                ("edit", ToolKind.EDIT, Outcome.OK),
                ("delegate", ToolKind.OTHER, Outcome.OK),
            ],
        ),
        (
            "qwen-code",
            [
                ("grep_search", ToolKind.SEARCH, Outcome.EMPTY),
                ("read_file", ToolKind.READ, Outcome.MISSING),
                ("run_shell_command", ToolKind.SHELL, Outcome.ERROR),
                ("agent", ToolKind.OTHER, Outcome.OK),
                ("read_file", ToolKind.READ, Outcome.MISSING),
            ],
        ),
        (
            "cline",
            [
                ("search_files", ToolKind.SEARCH, Outcome.EMPTY),
                ("read_file", ToolKind.READ, Outcome.MISSING),
                ("execute_command", ToolKind.SHELL, Outcome.ERROR),
                ("write_to_file", ToolKind.EDIT, Outcome.REJECTED),
                ("ask_followup_question", ToolKind.OTHER, Outcome.OK),
            ],
        ),
        ("aider", [("edit", ToolKind.EDIT, Outcome.OK), ("run", ToolKind.SHELL, Outcome.UNKNOWN)]),
    ],
)
def test_calls_have_their_kind_and_outcome(agent: str, expected: list[tuple[str, ToolKind, Outcome]]) -> None:
    assert [(call.name, call.kind, call.outcome) for call in calls(own(agent))] == expected


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        ("goose", [QUESTION]),
        ("qwen-code", [QUESTION]),
        ("cline", [QUESTION, "This year."]),
        ("aider", [f"{QUESTION}\nMend it.", "and why?", "Thanks"]),
    ],
)
def test_prompts_are_the_users_own_words(agent: str, words: list[str]) -> None:
    assert prompts(own(agent)) == words


@pytest.mark.parametrize(("agent", "tokens"), [("goose", []), ("qwen-code", [50]), ("cline", [50]), ("aider", [2530])])
def test_tokens_are_those_written_and_read_for_the_first_time(agent: str, tokens: list[int]) -> None:
    assert [step.tokens for step in steps(own(agent)) if step.tokens is not None] == tokens


def test_a_failed_command_has_its_exit_code_whatever_the_status_says() -> None:
    assert [call.name for call in calls(own("qwen-code")) if call.failed] == [
        "read_file",
        "run_shell_command",
        "read_file",
    ]


def test_telemetry_of_the_main_agent_of_qwen_code_is_no_second_call(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_bytes(recordings("qwen-code")[0].read_bytes().replace(b"#general#1", b"########0"))
    assert b"########0" in path.read_bytes()
    assert len(calls(read("qwen-code", path))) == len(calls(own("qwen-code"))) - 1


def test_a_command_that_failed_by_its_exit_code_alone_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "task.json"
    text = "[execute_command for 'make tides'] Result:\nCommand failed with exit code 2."
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "<task>\nx\n</task>"}]},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "name": "execute_command", "input": {"command": "make"}}],
        },
        {"role": "user", "content": [{"type": "text", "text": text}]},
    ]
    path.write_text(json.dumps(messages))
    (call,) = calls(read("cline", path))
    assert (call.outcome, call.failed) == (Outcome.ERROR, True)


def test_a_call_of_a_sub_agent_of_qwen_code_is_read_from_the_telemetry() -> None:
    assert [step.agent_id for step in steps(own("qwen-code")) if step.agent_id] == ["general#1"]


def test_each_heading_of_an_aider_history_begins_a_session() -> None:
    assert [event.time for event in own("aider") if isinstance(event, Start)] == [
        "2026-09-20T10:00:00Z",
        "2026-09-21T10:00:00Z",
    ]


def test_a_goose_database_has_its_sub_agents_in_place(tmp_path: Path) -> None:
    exported = json.loads(recordings("goose")[0].read_bytes())
    path = tmp_path / "sessions.db"
    db = sqlite3.connect(path)
    db.executescript(
        "CREATE TABLE sessions (id TEXT, session_type TEXT, working_dir TEXT, created_at TEXT);"
        "CREATE TABLE messages (id INTEGER PRIMARY KEY, message_id TEXT, session_id TEXT, role TEXT, content_json TEXT,"
        " created_timestamp INTEGER, tokens INTEGER);"
        "INSERT INTO sessions VALUES ('20260920_1', 'user', '/work/harbour', '2026-09-20 10:00:00');"
        "INSERT INTO sessions VALUES ('20260920_2', 'sub_agent', '/work/harbour', '2026-09-20 10:00:01');"
    )
    insert = "INSERT INTO messages (session_id, role, content_json, created_timestamp) VALUES (?, ?, ?, ?)"
    for one in exported["conversation"]:
        db.execute(insert, ("20260920_1", one["role"], json.dumps(one["content"]), one["created"]))
    found = [{"type": "text", "text": "It is elsewhere."}]
    db.execute(insert, ("20260920_2", "user", json.dumps([{"type": "text", "text": "look deeper"}]), 1))
    db.execute(insert, ("20260920_2", "assistant", json.dumps(found), 2))
    db.commit()
    db.close()
    events = read("goose", path)
    assert [event.session for event in events if isinstance(event, Start)] == ["20260920_1"]
    assert prompts(events) == [QUESTION]
    assert [step.agent_id for step in steps(events) if step.agent_id] == ["20260920_2"]
    assert len(calls(events)) == 4


def test_a_session_of_clines_command_line_has_the_folder_of_the_file_beside_it(tmp_path: Path) -> None:
    results = [{"query": "make", "result": "[Command exited with code 2]\n\n[stderr]\nno rule", "success": False}]
    messages = [
        {"role": "user", "content": [{"type": "text", "text": '<user_input mode="act">Mend it</user_input>'}]},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "c1", "name": "run_commands", "input": {"commands": ["make"]}}],
            "metrics": {"inputTokens": 100, "outputTokens": 20, "cacheReadTokens": 40},
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": results}]},
    ]
    files = [tmp_path / "s1.messages.json", tmp_path / "s1.json"]
    files[0].write_text(json.dumps({"version": 1, "agent": "lead", "sessionId": "s1", "messages": messages}))
    files[1].write_text(json.dumps({"version": 1, "session_id": "s1", "cwd": "/p", "workspace_root": "/p"}))
    known = [recognise(read_head(file)) for file in files]
    assert [(one[0].name, one[1].session) for one in known if one] == [("cline", "s1")] * 2
    events = read("cline", *files)
    (call,) = calls(events)
    assert (call.kind, call.failed, call.output) == (ToolKind.SHELL, True, "no rule")
    assert [event.project for event in events if isinstance(event, Start)] == ["/p"]
    assert prompts(events) == ["Mend it"]
    assert [step.tokens for step in steps(events)] == [80]


def roo_task(path: Path) -> list[Event]:
    """Read a task of Roo Code: calls as elements in the text, results in the part below their heading."""
    state = "<environment_details>\n<slug>code</slug>\n# Current Workspace Directory (/work/harbour) Files\n"
    said = [
        "I look.\n\n<read_file>\n<args>\n  <file>\n    <path>tides.ts</path>\n  </file>\n</args>\n</read_file>",
        "<search_files>\n<path>src</path>\n<regex>a<b</regex>\n</search_files>",
        "<use_mcp_tool>\n<server_name>buoys</server_name>\n<tool_name>find</tool_name>\n"
        '<arguments>\n{"query": "north"}\n</arguments>\n</use_mcp_tool>',
        "<attempt_completion>\n<result>\nNobody reads it.\n</result>\n</attempt_completion>",
        "Then <read_file> is quoted only.\n<read_file>\n<path>cut",
    ]
    heard = [
        [
            "[read_file for 'tides.ts'. Reading several at once is better.] Result:",
            "1 | <task>\nnot the user's\n</task>",
        ],
        ["[search_files for 'a<b' in 'src'] Result:", "Found 0 results."],
        [
            "[use_mcp_tool for 'buoys'] Result:",
            "The tool execution failed with this error:\nno",
        ],
        ["[attempt_completion] Result:", "The user has provided feedback.\n<feedback>\nLook again.\n</feedback>"],
        [],
    ]
    asked = [{"type": "text", "text": one} for one in (f"<task>\n{QUESTION}\n</task>", state)]
    messages: list[dict[str, Any]] = [{"role": "user", "content": asked}]
    messages.append({"role": "assistant", "content": "What was said before.", "isSummary": True})
    for text, answer in zip(said, heard, strict=True):
        messages.append({"role": "assistant", "content": [{"type": "text", "text": text}]})
        messages.append({"role": "user", "content": [{"type": "text", "text": one} for one in [*answer, state]]})
    path.write_text(json.dumps(messages))
    return read("cline", path)


def test_calls_of_roo_code_stand_in_the_text(tmp_path: Path) -> None:
    events = roo_task(tmp_path / "api_conversation_history.json")
    assert [(call.name, call.query, call.outcome) for call in calls(events)] == [
        ("read_file", "tides.ts", Outcome.OK),
        ("search_files", "a<b", Outcome.EMPTY),
        ("mcp__buoys__find", "north", Outcome.ERROR),
        ("attempt_completion", "Nobody reads it.", Outcome.OK),
        ("read_file", "", Outcome.UNKNOWN),
    ]
    assert [(event.agent, event.project) for event in events if isinstance(event, Start)] == [
        ("roo-code", "/work/harbour")
    ]


def test_words_of_roo_code_are_the_users_and_the_answer_is_the_agents(tmp_path: Path) -> None:
    events = roo_task(tmp_path / "api_conversation_history.json")
    assert prompts(events) == [QUESTION, "Look again."]
    said = [text.text.strip() for step in steps(events) for text in step.said]
    assert said == ["I look.", "Nobody reads it.", "Then <read_file> is quoted only."]

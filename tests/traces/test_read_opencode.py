from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from knowbound.core.trace import Broken, Event, Injection, Outcome, Prompt, Skill, Start, Step, ToolKind
from knowbound.traces.corpus import scan
from knowbound.traces.readers.opencode import OpenCode
from knowbound.traces.registry import recognise
from knowbound.traces.source import Tally, read_head
from tests.reading import calls, prompts, steps
from tests.recordings import recordings_of_others

# One session with a sub-agent.
SESSION: dict[str, Any] = {
    "id": "ses_1",
    "projectID": "p",
    "directory": "/p",
    "version": "1.18.0",
    "time": {"created": 1_700_000_000_000},
}
SUB: dict[str, Any] = {**SESSION, "id": "ses_2", "parentID": "ses_1", "time": {"created": 1_700_000_001_000}}


def tool(name: str, input_: dict[str, Any], **state: object) -> dict[str, Any]:
    return {"type": "tool", "tool": name, "callID": f"call-{name}", "state": {"input": input_, **state}}


def done(name: str, input_: dict[str, Any], output: str, **metadata: object) -> dict[str, Any]:
    return tool(name, input_, status="completed", output=output, metadata=metadata)


MESSAGES: list[tuple[str, str, dict[str, Any], list[dict[str, Any]]]] = [
    (
        "msg_1", "ses_1", {"role": "user", "time": {"created": 1_700_000_000_500}},
        [
            {"type": "text", "text": "Where is the rota?"},
            {"type": "text", "text": "Called the Read tool", "synthetic": True},
        ],
    ),
    (
        "msg_2", "ses_1",
        {
            "role": "assistant", "modelID": "m-1", "time": {"created": 1_700_000_001_000},
            "tokens": {"input": 10, "output": 5, "reasoning": 2, "cache": {"read": 900, "write": 3}},
        },
        [
            {"type": "step-start"},
            {"type": "reasoning", "text": "hm"},
            {"type": "text", "text": "I look."},
            done("grep", {"pattern": "rota"}, "No files found", matches=0),
            done("glob", {"pattern": "*.md"}, "/p/a.md", count=1),
            tool("read", {"filePath": "/p/b.md"}, status="error", error="File not found: /p/b.md"),
            done("bash", {"command": "make test"}, "1 failed", exit=2),
            done("invalid", {"tool": "look", "error": "no such tool"}, "The arguments provided are invalid"),
            tool("webfetch", {"url": "http://x"}, status="running"),
            tool("edit", {"filePath": "/p/a.md"}, status="error", error="stopped", metadata={"interrupted": True}),
            done("task", {"prompt": "look deeper"}, "found", sessionId="ses_2"),
            done("skill", {"name": "rota"}, "Base directory"),
        ],
    ),
    ("msg_3", "ses_2", {"role": "user"}, [{"type": "text", "text": "look deeper"}]),
    ("msg_4", "ses_2", {"role": "assistant"}, [done("list", {"path": "/p"}, "a.md", count=1)]),
    ("msg_5", "ses_1", {"role": "assistant", "summary": True}, [{"type": "text", "text": "So far: nothing."}]),
    (
        "msg_6", "ses_1", {"role": "assistant", "error": {"name": "APIError", "data": {"message": "quota"}}},
        [{"type": "text", "text": "It is in a.md."}],
    ),
    ("msg_7", "ses_1", {"role": "assistant", "error": {"name": "MessageAbortedError", "data": {}}}, []),
]  # fmt: skip


def database(path: Path, *, changes: str = "") -> Path:
    db = sqlite3.connect(path)
    db.executescript(
        "CREATE TABLE `session` (id text, project_id text, parent_id text, directory text, version text,"
        " time_created integer);"
        "CREATE TABLE `message` (id text, session_id text, time_created integer, data text);"
        "CREATE TABLE `part` (id text, message_id text, session_id text, data text);"
    )
    for one in (SESSION, SUB):
        row = (one["id"], "p", one.get("parentID"), "/p", "1.18.0", one["time"]["created"])
        db.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?)", row)
    for number, (id_, session, about, parts) in enumerate(MESSAGES):
        db.execute("INSERT INTO message VALUES (?, ?, ?, ?)", (id_, session, number, json.dumps(about)))
        for place, part in enumerate(parts):
            kept = (f"prt_{id_}_{place:02}", id_, session, json.dumps(part))
            db.execute("INSERT INTO part VALUES (?, ?, ?, ?)", kept)
    db.executescript(changes)
    db.commit()
    db.close()
    return path


def tree(folder: Path) -> list[Path]:
    """Write the same sessions as the JSON files of older clients."""
    files: dict[str, dict[str, Any]] = {f"session/p/{one['id']}.json": one for one in (SESSION, SUB)}
    for id_, session, about, parts in MESSAGES:
        files[f"message/{session}/{id_}.json"] = {"id": id_, "sessionID": session, **about}
        for place, part in enumerate(parts):
            own = f"prt_{id_}_{place:02}"
            files[f"part/{id_}/{own}.json"] = {"id": own, "sessionID": session, "messageID": id_, **part}
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(content, indent=2))
    return [folder / name for name in files]


def read(*files: Path) -> tuple[list[Event], Tally]:
    tally = Tally(skipped=[])
    return list(OpenCode().read(files, {}, tally)), tally


def of_session(files: list[Path], session: str) -> list[Path]:
    return [file for file in files if (known := recognise(read_head(file))) and known[1].session == session]


def test_calls_have_the_outcome_of_their_state_their_exit_code_or_their_count(tmp_path: Path) -> None:
    events, tally = read(database(tmp_path / "opencode.db"))
    shown = {call.name: (call.kind, call.outcome) for call in calls(events)}
    assert shown == {
        "grep": (ToolKind.SEARCH, Outcome.EMPTY),
        "glob": (ToolKind.SEARCH, Outcome.OK),
        "read": (ToolKind.READ, Outcome.MISSING),
        "bash": (ToolKind.SHELL, Outcome.ERROR),
        "look": (ToolKind.OTHER, Outcome.ERROR),
        "webfetch": (ToolKind.WEB, Outcome.UNKNOWN),
        "edit": (ToolKind.EDIT, Outcome.CANCELLED),
        "task": (ToolKind.OTHER, Outcome.OK),
        "skill": (ToolKind.OTHER, Outcome.OK),
        "list": (ToolKind.LIST, Outcome.OK),
    }
    assert [call.name for call in calls(events) if call.failed] == ["read", "bash", "look", "edit"]
    assert not tally.skipped_by_reason


def test_sessions_prompts_steps_and_tokens_are_read_from_the_database(tmp_path: Path) -> None:
    events, _ = read(database(tmp_path / "opencode.db"))
    assert [event.session for event in events if isinstance(event, Start)] == ["ses_1"]
    assert prompts(events) == ["Where is the rota?"]
    assert [event.source for event in events if isinstance(event, Injection)] == ["client", "summary"]
    assert [step.tokens for step in steps(events)] == [20, None, None]  # what was read from the cache counts once
    assert steps(events)[0].model == "m-1"
    assert [event.reason for event in events if isinstance(event, Broken)] == ["quota"]  # stopping it is no failure
    assert [event.name for event in events if isinstance(event, Skill)] == ["rota"]


def test_a_sub_agent_is_read_in_the_place_of_its_call(tmp_path: Path) -> None:
    events, _ = read(database(tmp_path / "opencode.db"))
    assert [step.agent_id for step in steps(events)] == ["", "ses_2", ""]
    (started,) = [call for call in calls(events) if call.agent_id]
    assert (started.name, started.agent_id) == ("task", "ses_2")


def test_the_tree_of_older_clients_gives_the_same_calls_and_words(tmp_path: Path) -> None:
    files = tree(tmp_path / "storage")
    own, _ = read(*of_session(files, "ses_1"))
    sub, _ = read(*of_session(files, "ses_2"))
    stored, _ = read(database(tmp_path / "opencode.db"))
    assert prompts(own) == prompts(stored)
    assert prompts(sub) == []  # the task of a sub-agent is not the user's words

    def shown(events: list[Event]) -> list[object]:
        return [(call.id, call.outcome, call.query) for call in calls(events)]

    assert shown(own) == [one for one in shown(stored) if one not in shown(sub)]


def test_an_export_is_one_session(tmp_path: Path) -> None:
    messages = list[dict[str, Any]]()
    for id_, of, about, parts in MESSAGES:
        listed: list[dict[str, Any]] = [
            {"id": f"prt_{id_}{place:02}", "messageID": id_, **part} for place, part in enumerate(parts)
        ]
        if of == "ses_1":
            messages.append({"info": {"id": id_, "sessionID": of, **about}, "parts": listed})
    path = tmp_path / "export.json"
    path.write_text(json.dumps({"info": SESSION, "messages": messages}))
    known = recognise(read_head(path))
    assert known is not None
    assert (known[0].name, known[1].session) == ("opencode", "ses_1")
    events, _ = read(path)
    assert len(calls(events)) == 9
    assert prompts(events) == ["Where is the rota?"]


def test_no_recording_of_another_format_is_taken_for_one() -> None:
    assert [path for path in recordings_of_others("opencode") if OpenCode().identify(read_head(path))] == []


@pytest.mark.parametrize(
    "changes",
    [
        "DROP TABLE part",
        "ALTER TABLE part RENAME TO kept; CREATE VIEW part AS SELECT * FROM kept",
        "UPDATE part SET data = 'no json'",
        "UPDATE message SET data = x'fffe'",
        "UPDATE message SET data = NULL",
        "DELETE FROM session",
    ],
)
def test_a_database_with_other_content_gives_what_it_has(tmp_path: Path, changes: str) -> None:
    events, _ = read(database(tmp_path / "opencode.db", changes=changes))
    assert calls(events) == []


def test_a_damaged_database_is_counted(tmp_path: Path) -> None:
    path = database(tmp_path / "opencode.db")
    path.write_bytes(path.read_bytes()[:5000])
    events, tally = read(path)
    assert events == []
    assert sum(tally.skipped_by_reason.values()) >= 1


def test_what_lies_in_the_write_ahead_file_is_read_and_changes_the_database(tmp_path: Path) -> None:
    path = database(tmp_path / "opencode.db")
    before = scan([tmp_path])[0]
    writer = sqlite3.connect(path)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute('UPDATE part SET data = \'{"type": "text", "text": "new words"}\' WHERE message_id = \'msg_1\'')
    writer.commit()
    after = scan([tmp_path])[0]
    events, _ = read(path)
    writer.close()
    assert [file.path for file in after] == [str(path)]  # the files beside it are none of their own
    assert after != before
    assert prompts(events) == ["new words\nnew words"]


def test_reading_creates_no_file_beside_the_database(tmp_path: Path) -> None:
    path = database(tmp_path / "opencode.db")
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode = WAL")
    db.close()
    assert read(path)[0]
    assert [file.name for file in tmp_path.iterdir()] == ["opencode.db"]


def test_every_prompt_and_step_names_its_place(tmp_path: Path) -> None:
    path = database(tmp_path / "opencode.db")
    events, _ = read(path)
    assert {(event.path, event.line > 0) for event in events if isinstance(event, Prompt | Step)} == {(str(path), True)}

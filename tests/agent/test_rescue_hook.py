from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from knowbound.agent.hook_entry import may_be_miss
from knowbound.codebase.kept_index.update import open_index, update_index
from knowbound.lessons.rescue.log import read_rescues
from tests.services import until

HOOK = (sys.executable, "-c", "from knowbound.agent.hook_entry import main; main()")
NOTHING = {"filenames": [], "numFiles": 0}
SENTENCE = "`src/commands/export.ts` does not exist; the file of that name is `src/cli/export.ts`."


class Project:
    """A project with a data folder of this user's, and a source file."""

    def __init__(self, folder: Path) -> None:
        self.root, self.home = folder / "project", folder / "project" / ".knowbound"
        source = self.root / "src" / "cli" / "export.ts"
        source.parent.mkdir(parents=True)
        source.write_text("export function exportCommand() {}\n", "utf-8")
        self.home.mkdir()
        open_index(self.home).close()

    def index(self) -> None:
        database = open_index(self.home)
        update_index(database, self.root)
        database.close()

    def hook(self, event: str, payload: dict[str, Any], **environ: str) -> str:
        """What the hook says to the agent; "" for nothing. It must end well, and write no error."""
        given = {"session_id": "s1", "prompt_id": "p1", "cwd": str(self.root)} | payload
        done = subprocess.run(
            [*HOOK, event],
            input=json.dumps(given, separators=(",", ":")).encode(),
            cwd=self.root,
            env=os.environ | {"KNOWBOUND_INJECTION_TIME_LIMIT_MS": "20000"} | environ,
            capture_output=True,
            check=True,
            timeout=60,
        )
        assert done.stderr == b""
        return str(json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]) if done.stdout else ""

    def read(self, path: str, session: str = "s1", **environ: str) -> str:
        """A Read of a file that is not there."""
        payload: dict[str, Any] = {
            "tool_name": "Read",
            "tool_input": {"file_path": str(self.root / path)},
            "tool_use_id": "toolu_1",
        }
        payload |= {"error": "File does not exist.", "is_interrupt": False, "session_id": session}
        return self.hook("post-tool-use-failure", payload, **environ)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_a_miss_is_answered_and_recorded(project: Project) -> None:
    project.index()
    assert project.read("src/commands/export.ts") == SENTENCE
    (record,) = read_rescues(project.home)
    assert (record.session, record.call, record.tool) == ("s1", "toolu_1", "Read")
    assert (record.status, record.rule, record.delivered) == ("found", "base_name", True)
    assert record.places == (("src/cli/export.ts", None),)
    assert record.text == SENTENCE


def test_a_place_is_said_once_in_a_session_and_again_in_another(project: Project) -> None:
    project.index()
    assert project.read("src/commands/export.ts")
    assert project.read("src/commands/export.ts") == ""
    assert project.read("src/commands/export.ts", session="s2") == SENTENCE


def test_without_an_index_nothing_is_said_and_one_is_made_in_the_background(project: Project) -> None:
    assert project.read("src/commands/export.ts") == ""
    until((project.home / "codebase.log").exists)
    assert project.read("src/commands/export.ts") == SENTENCE
    assert len(read_rescues(project.home)) == 1


def test_a_session_that_starts_has_the_index_made(project: Project) -> None:
    project.hook("session-start", {"source": "startup"})
    until((project.home / "codebase.log").exists)
    assert project.read("src/commands/export.ts") == SENTENCE


def test_switched_off_or_without_a_data_folder_nothing_is_said(project: Project, tmp_path: Path) -> None:
    project.index()
    assert project.read("src/commands/export.ts", KNOWBOUND_OFF="1") == ""
    assert project.read("src/commands/export.ts", KNOWBOUND_RESCUE_ENABLED="false") == ""
    assert project.read("src/commands/export.ts", KNOWBOUND_HOME=str(tmp_path / "nowhere")) == ""
    assert read_rescues(project.home) == []


def test_a_miss_about_which_nothing_is_sure_is_recorded_as_silent(project: Project) -> None:
    project.index()
    payload = {"tool_name": "Glob", "tool_input": {"pattern": "docs/*.md"}, "tool_response": NOTHING}
    assert project.hook("post-tool-use", payload) == ""
    (record,) = read_rescues(project.home)
    assert (record.status, record.delivered, record.places) == ("silent", False, ())


def test_what_found_something_leaves_no_trace_and_loads_nothing_else(project: Project) -> None:
    project.index()
    payload = {
        "tool_name": "Glob",
        "tool_input": {"pattern": "*"},
        "tool_response": {"filenames": ["a"], "numFiles": 1},
    }
    code = "import sys, os; leave = os._exit\n"
    code += "os._exit = lambda code: (print(*sorted(sys.modules), flush=True), leave(code))\n"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}from knowbound.agent.hook_entry import main; main(['post-tool-use'])"],
        input=json.dumps(payload).encode(),
        capture_output=True,
        check=True,
        timeout=60,
    )
    loaded = {name for name in done.stdout.decode().split() if name.startswith("knowbound")}
    assert loaded == {"knowbound", "knowbound.agent", "knowbound.agent.hook_entry"}
    assert "json" not in done.stdout.decode().split()
    assert not (project.home / "hook.log").exists()


@pytest.mark.parametrize(
    "data", [b"", b"no json", b'{"tool_response":', b"[1]", b'{"tool_response":"","tool_name":7}', b"\xff\xfe"]
)
def test_an_input_that_is_no_event_is_no_error(project: Project, data: bytes) -> None:
    done = subprocess.run(
        [*HOOK, "post-tool-use"], input=data, cwd=project.root, capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize(
    ("response", "command", "expected"),
    [
        ({"mode": "files_with_matches", "filenames": [], "numFiles": 0}, "", True),
        ({"mode": "content", "numFiles": 0, "filenames": [], "content": "", "numLines": 0}, "", True),
        ({"mode": "content", "numFiles": 0, "filenames": [], "content": "a:1:x", "numLines": 1}, "", False),
        ({"filenames": ["a"], "numFiles": 1}, "", False),
        ({"type": "text", "file": {"filePath": "a", "content": ""}}, "", False),
        ({"stdout": "", "stderr": ""}, "grep -rn x src", True),
        ({"stdout": "", "stderr": ""}, "mkdir -p src", False),
        ({"stdout": "no changelog found", "stderr": ""}, "ls CHANGELOG* || echo no changelog found", True),
        ({"stdout": "src/a.py:1:x\n" * 100, "stderr": ""}, "grep -rn x src", False),
        ("", "rg nothing src", True),
        ("cat: x: No such file or directory\n", "cat x", True),
        ("README.md\n", "ls README.md", False),
    ],
)
def test_the_first_look_lets_go_what_found_something(response: object, command: str, expected: bool) -> None:
    given = {"command": command} if command else {"pattern": "x"}
    event = {"tool_name": "Bash" if command else "Grep", "tool_input": given, "tool_response": response}
    assert may_be_miss(json.dumps(event, separators=(",", ":")).encode()) is expected

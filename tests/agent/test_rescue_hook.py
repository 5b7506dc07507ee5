from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from knowbound.agent.hook_entry import may_be_miss
from knowbound.codebase.kept_index_update import open_index, update_index
from knowbound.core.lesson import CheckKind, Lesson, LessonKind, LessonStatus, TreeCheck
from knowbound.injection.prompt import remember_keys
from knowbound.kms.backends.sqlite import SqliteBackend
from knowbound.kms.index.database import Index
from knowbound.kms.knowledge_store import KnowledgeStore
from knowbound.kms.validation import NewItem
from knowbound.lessons.rescue.scores import read_rescues
from knowbound.store.decisions import KeptLessons
from tests import warm_process
from tests.services import until

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
        done = warm_process.hook(
            event,
            cwd=self.root,
            env=os.environ | {"KNOWBOUND_INJECTION_TIME_LIMIT_MS": "20000"} | environ,
            said=json.dumps(given, separators=(",", ":")).encode(),
        )
        assert (done.returncode, done.stderr) == (0, "")
        return str(json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]) if done.stdout else ""

    def learn(self, lesson: Lesson) -> None:
        with closing(KeptLessons(self.home)) as store:
            store.keep([lesson])

    def store(self, content: str) -> str:
        with closing(KnowledgeStore([SqliteBackend(self.home)], Index(self.home), by="test")) as base:
            return base.add(NewItem(content=content)).item.id

    def grep(self, pattern: str, session: str = "s1") -> str:
        """A Grep that found nothing."""
        payload: dict[str, Any] = {"tool_name": "Grep", "tool_input": {"pattern": pattern}, "tool_response": NOTHING}
        return self.hook("post-tool-use", payload | {"session_id": session})

    def fail(self, command: str, error: str, session: str = "s1") -> str:
        """A command that ended with an error."""
        payload: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": command}, "error": error}
        return self.hook("post-tool-use-failure", payload | {"session_id": session})

    def read(self, path: str, session: str = "s1", **environ: str) -> str:
        """A Read of a file that is not there."""
        payload: dict[str, Any] = {
            "tool_name": "Read",
            "tool_input": {"file_path": str(self.root / path)},
            "tool_use_id": os.urandom(4).hex(),
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
    assert (record.session, len(record.call), record.tool) == ("s1", 8, "Read")
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


MOVED = Lesson(
    id="1a2b3c4d",
    kind=LessonKind.LOCATION,
    text="The settings are in `src/cli`: there is no `config/settings.yaml`.",
    file="CLAUDE.md",
    project="project",
    checks=[TreeCheck(CheckKind.FILE, "src/cli")],
    status=LessonStatus.ACCEPTED,
    names=["path:config/settings.yaml"],
)
RUNNER = Lesson(
    id="5e6f7a8b",
    kind=LessonKind.COMMAND,
    text="Run `uv run pytest`, not `pytest`.",
    file="CLAUDE.md",
    project="project",
    status=LessonStatus.ACCEPTED,
    names=["misused:pytest"],
)
NOT_FOUND = "Exit code 127\nbash: pytest: command not found"


def test_a_lesson_is_said_once_in_a_session_and_recorded_by_its_rule(project: Project) -> None:
    project.index()
    project.learn(MOVED)
    assert project.read("config/settings.yaml").endswith("(lesson 1a2b3c4d).")
    assert project.read("config/settings.yaml") == ""
    first, second = read_rescues(project.home)
    assert (first.rule, first.delivered, first.places) == ("lesson", True, (("src/cli", None),))
    assert (second.rule, second.delivered) == ("lesson", False)


def test_a_command_that_a_lesson_knows_is_answered_once_and_recorded(project: Project) -> None:
    project.index()
    project.learn(RUNNER)
    assert project.fail("pytest", NOT_FOUND) == "In this project: Run `uv run pytest`, not `pytest` (lesson 5e6f7a8b)."
    assert project.fail("pytest", NOT_FOUND) == ""
    codex = {"tool_name": "Bash", "tool_input": {"command": "pytest -x"}, "tool_response": NOT_FOUND[14:]}
    assert "uv run pytest" in project.hook("post-tool-use", codex | {"session_id": "s2"})
    assert [one.names for one in read_rescues(project.home)] == [("uv run pytest", "pytest")] * 3


def test_a_command_that_fails_is_no_miss_where_no_lesson_knows_it(project: Project) -> None:
    project.index()
    assert project.fail("pytest", "Exit code 1\n1 failed") == ""
    project.learn(RUNNER)
    assert project.fail("pytest", "Exit code 1\n1 failed") == ""
    assert read_rescues(project.home) == []


def test_an_item_is_said_unless_the_session_has_it(project: Project) -> None:
    project.index()
    id_ = project.store("The ledger_export job is defined in the warehouse repository.")
    said = f"The ledger_export job is defined in the warehouse repository (item {id_})."
    remember_keys(str(project.home), "s1", [f"{id_} 0123456789abcdef"])
    assert project.grep("ledger_export") == ""
    assert project.grep("ledger_export", session="s2") == said
    assert project.grep("ledger_export", session="s2") == ""


@pytest.mark.parametrize(
    "data", [b"", b"no json", b'{"tool_response":', b"[1]", b'{"tool_response":"","tool_name":7}', b"\xff\xfe"]
)
def test_an_input_that_is_no_event_is_no_error(project: Project, data: bytes) -> None:
    done = warm_process.hook("post-tool-use", cwd=project.root, env=os.environ, said=data)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


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
        ("bash: pytest: command not found\n", "pytest tests", True),
        ("3 passed in 0.1s\n", "pytest tests", False),
    ],
)
def test_the_first_look_lets_go_what_found_something(response: object, command: str, expected: bool) -> None:
    given = {"command": command} if command else {"pattern": "x"}
    event = {"tool_name": "Bash" if command else "Grep", "tool_input": given, "tool_response": response}
    assert may_be_miss(json.dumps(event, separators=(",", ":")).encode()) is expected

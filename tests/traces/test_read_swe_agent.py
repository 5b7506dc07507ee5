from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knowbound.core.trace import Broken, Event, Injection, Outcome, Prompt, Start, Step, ToolCall, ToolKind
from knowbound.traces.readers.swe_agent import SweAgent
from knowbound.traces.source import Tally, read_head
from tests.mutation import mutated
from tests.recordings import each_recording

STATE = json.dumps({"open_file": "/repo/a.py", "working_dir": "/repo"})
SHELL_END = "\n(Open file: n/a)\n(Current directory: /repo)\nbash-$"


def step(action: str, observation: str | None, thought: str = "Let me see.") -> dict[str, Any]:
    return {"action": action, "observation": observation, "thought": thought, "response": "", "state": STATE}


ASKED = f"We are solving this issue.\nISSUE:\nThe clock is slow.\n\nINSTRUCTIONS:\nUse one command.{SHELL_END}"
HISTORY: list[dict[str, Any]] = [
    {"role": "system", "content": "SETTING: You are a programmer.", "agent": "main"},
    {"role": "user", "content": "Here is a demonstration.", "agent": "main", "is_demo": True},
    {"role": "assistant", "content": "x", "action": "ls", "thought": "x", "agent": "main", "is_demo": True},
    {"role": "user", "content": ASKED, "agent": "main"},
    {"role": "assistant", "content": "I look.", "thought": "I look.", "action": "find_file clock.py", "agent": "main"},
    {"role": "user", "content": f'No matches found for "clock.py" in /repo{SHELL_END}', "agent": "main"},
]
DOCUMENT = {
    "environment": "swe_main",
    "trajectory": [step("find_file clock.py\n", 'No matches found for "clock.py" in /repo'), step("submit\n", "")],
    "history": HISTORY,
    "info": {"exit_status": "exit_cost"},
}


def read(path: Path) -> tuple[list[Event], Tally]:
    tally = Tally(skipped=[])
    return list(SweAgent().read([path], {}, tally)), tally


def written(tmp_path: Path, content: object) -> Path:
    path = tmp_path / "run.traj"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content, indent=2).encode())
    return path


def calls_of(events: list[Event]) -> list[ToolCall]:
    return [call for event in events if isinstance(event, Step) for call in event.calls]


def one_call(tmp_path: Path, action: str, observation: str | None) -> ToolCall:
    (found,) = calls_of(read(written(tmp_path, {"trajectory": [step(action, observation)]}))[0])
    return found


def test_a_trajectory_gives_its_events_in_order(tmp_path: Path) -> None:
    path = written(tmp_path, DOCUMENT)
    assert SweAgent().identify(read_head(path)) is not None
    events, tally = read(path)
    assert [type(event) for event in events] == [Start, *[Injection] * 4, Prompt, Step, Step, Broken]
    assert events[0] == Start("run", "swe-agent", "/repo")
    assert tally.skipped == []


def test_the_problem_statement_is_the_prompt_and_the_rest_is_injected(tmp_path: Path) -> None:
    events, _ = read(written(tmp_path, DOCUMENT))
    assert [event.text for event in events if isinstance(event, Prompt)] == ["The clock is slow."]
    sources = [event.source for event in events if isinstance(event, Injection)]
    assert sources == ["system", "demonstration", "demonstration", "instructions"]


def test_a_tagged_statement_is_found(tmp_path: Path) -> None:
    asked = {"role": "user", "agent": "main", "content": "Do\n<pr_description>\nFix it\n</pr_description>\nnow"}
    events, _ = read(written(tmp_path, {"history": [asked]}))
    assert [event.text for event in events if isinstance(event, Prompt)] == ["Fix it"]


def test_a_history_alone_is_read_without_its_demonstrations(tmp_path: Path) -> None:
    path = written(tmp_path, {"history": HISTORY})
    assert SweAgent().identify(read_head(path)) is not None
    events, _ = read(path)
    assert [(found.name, found.query, found.outcome) for found in calls_of(events)] == [
        ("find_file", "clock.py", Outcome.EMPTY)
    ]


@pytest.mark.parametrize(
    ("action", "observation", "kind", "outcome"),
    [
        (
            'find_file "x.py" src',
            'Found 1 matches for "x.py" in /repo/src:\n/repo/src/x.py',
            ToolKind.SEARCH,
            Outcome.OK,
        ),
        ('search_dir "def x" src', 'No matches found for "def x" in /repo/src', ToolKind.SEARCH, Outcome.EMPTY),
        ("search_dir x nowhere", "Directory nowhere not found", ToolKind.SEARCH, Outcome.MISSING),
        ("search_file x", "No file open. Use the open command first.", ToolKind.SEARCH, Outcome.ERROR),
        ("search_file x b.py", "Usage: search_file <search_term> [<file>]\nError: File name b.py not found. Please",
         ToolKind.SEARCH, Outcome.MISSING),
        ("open b.py 3", "File b.py not found", ToolKind.READ, Outcome.MISSING),
        ("open src", "Error: src is a directory. You can only open files.", ToolKind.READ, Outcome.ERROR),
        ("goto 12", "[File: /repo/a.py (20 lines total)]\n12:x", ToolKind.READ, Outcome.OK),
        ("str_replace_editor view /repo/b", "The path /repo/b does not exist. Please", ToolKind.READ, Outcome.MISSING),
        ("str_replace_editor create /repo/b.py", "File created successfully at: /repo/b.py", ToolKind.EDIT, Outcome.OK),
        ("edit 1:1\nx = (\nend_of_edit", "Your proposed edit has introduced new", ToolKind.EDIT, Outcome.ERROR),
        ("cat b.py", "cat: b.py: No such file or directory", ToolKind.READ, Outcome.MISSING),
        ("grep -rn needle .", "", ToolKind.SEARCH, Outcome.EMPTY),
        (
            "grep -rn x .",
            "Your command ran successfully and did not produce any output.",
            ToolKind.SEARCH,
            Outcome.EMPTY,
        ),
        ("python a.py", "Traceback (most recent call last):\n  File", ToolKind.SHELL, Outcome.ERROR),
        ("python a.py", "\nEXECUTION TIMED OUT", ToolKind.SHELL, Outcome.TIMEOUT),
        ("submit", "Wrong flag!", ToolKind.OTHER, Outcome.OK),
        ("open b.py", None, ToolKind.READ, Outcome.UNKNOWN),
    ],
)  # fmt: skip
def test_observations_decide_the_outcome(
    tmp_path: Path, action: str, observation: str | None, kind: ToolKind, outcome: Outcome
) -> None:
    found = one_call(tmp_path, action, observation)
    assert (found.kind, found.outcome) == (kind, outcome)


def test_what_was_sought_is_kept(tmp_path: Path) -> None:
    found = one_call(tmp_path, 'search_dir "def x" src', 'No matches found for "def x" in /repo/src')
    assert (found.name, found.query, found.where) == ("search_dir", "def x", "src")
    assert one_call(tmp_path, "scroll_down", "[File: /repo/a.py (9 lines total)]").query == "/repo/a.py"


def test_commands_joined_by_the_shell_are_shell_commands(tmp_path: Path) -> None:
    assert one_call(tmp_path, "open a.py && ls", "x").name == "bash"


def test_truncated_and_foreign_documents_are_counted(tmp_path: Path) -> None:
    events, tally = read(written(tmp_path, json.dumps(DOCUMENT, indent=2).encode()[:-20]))
    assert (events, [skipped.reason for skipped in tally.skipped]) == ([], ["truncated"])
    events, tally = read(written(tmp_path, {"trajectory": 7}))
    assert (events, [skipped.reason for skipped in tally.skipped]) == ([], ["foreign"])


@pytest.mark.parametrize(
    "content",
    [
        {"history": ["cd /", "ls"]},
        {"history": [{"role": "user", "content": "x"}]},
        {"trajectory": [{"x": 1, "y": 2}]},
        {"name": "app", "dependencies": {}},
        [DOCUMENT],
        [],
        7,
    ],
)
def test_other_json_is_not_claimed(content: object) -> None:
    assert SweAgent().identify(json.dumps(content).encode()) is None


def test_a_head_cut_anywhere_is_still_recognised() -> None:
    whole = json.dumps(DOCUMENT, indent=2).encode()
    assert all(SweAgent().identify(whole[:cut]) is not None for cut in range(220, len(whole)))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=400))
def test_any_bytes_are_read_without_an_exception(tmp_path: Path, content: bytes) -> None:
    SweAgent().identify(content)
    read(written(tmp_path, content))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**9), cut=st.integers(0, 2000), action=st.text(max_size=60))
def test_mutated_trajectories_are_read_without_an_exception(tmp_path: Path, seed: int, cut: int, action: str) -> None:
    for document in (
        DOCUMENT,
        {"history": HISTORY},
        {"trajectory": [step(action, action), step(f"edit {action}", "")]},
    ):
        whole = json.dumps(mutated(document, seed)).encode()
        SweAgent().identify(whole[:cut])
        read(written(tmp_path, whole))
        read(written(tmp_path, whole[:cut]))


@pytest.mark.parametrize("path", each_recording("swe-agent"))
def test_real_trajectories_lose_nothing(path: Path) -> None:
    """Counted apart: one prompt each, and one call for each action that is not empty."""
    document = json.loads(path.read_bytes())
    acted = document.get("trajectory") or [message for message in document["history"] if message["role"] == "assistant"]
    assert SweAgent().identify(read_head(path)) is not None
    events, tally = read(path)
    assert sum(isinstance(event, Prompt) for event in events) == 1
    assert len(calls_of(events)) == sum(bool(entry["action"].strip()) for entry in acted)
    assert tally.skipped == []

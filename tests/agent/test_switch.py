from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from knowbound.agent.doctor.examine import check_switch
from knowbound.agent.hook.interruptions import off_state, switch_off, switch_on
from knowbound.agent.hook.resident import is_off
from knowbound.cli.main import knowbound
from knowbound.errors import StoreError
from tests.hook_project import PORT, Project


@pytest.fixture(autouse=True)
def _own_switch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The state folder is shared by all tests of a process, and so would the switch be."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.delenv("KNOWBOUND_OFF", raising=False)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root = tmp_path / "shop"
    root.mkdir()
    made = Project(root)
    made.environ["HOME"] = str(tmp_path / "user")
    made.store(PORT)
    return made


def run(verb: str) -> str:
    result = CliRunner().invoke(knowbound, [verb], standalone_mode=False)
    if result.exception:
        raise result.exception
    return result.stdout


def files(home: Path) -> set[str]:
    return {str(path.relative_to(home)) for path in home.rglob("*")}


def test_off_silences_every_hook_at_once_and_on_brings_them_back(project: Project) -> None:
    assert "Hooks are off (since 20" in run("off")
    before = files(project.home)
    assert project.ask() == project.start() == ""
    assert files(project.home) == before  # nothing was recorded
    assert run("on") == "Hooks are on.\n"
    assert PORT in project.ask()
    assert run("on") == "Hooks were on already.\n"


def test_the_switch_holds_for_a_hook_that_an_agent_starts_without_our_variables(project: Project) -> None:
    run("off")
    del project.environ["XDG_STATE_HOME"]
    assert project.ask() == ""


def test_the_variable_is_a_switch_too(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.environ["KNOWBOUND_OFF"] = "1"
    assert project.ask() == ""
    project.environ["KNOWBOUND_OFF"] = "0"
    assert PORT in project.ask()
    monkeypatch.setenv("KNOWBOUND_OFF", "1")
    assert "still off here: KNOWBOUND_OFF is set" in run("on")


def test_a_hook_that_is_off_reads_its_input_to_the_end(project: Project) -> None:
    """Otherwise the agent's write fails."""
    switch_off()
    given = json.dumps({"cwd": str(project.root), "prompt": "word " * 500_000}).encode()
    assert project.run("user-prompt-submit", given) == b""


def test_doctor_says_that_hooks_are_off_and_since_when(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(check_switch()) == []
    switch_off()
    [check] = check_switch()
    state = off_state()
    assert state is not None
    assert state.since
    assert check.state == "note"
    assert state.since in check.found
    assert check.do == "knowbound on"
    monkeypatch.setenv("KNOWBOUND_OFF", "1")
    assert [check.do for check in check_switch()] == ["unset KNOWBOUND_OFF"]


def test_switching_off_twice_keeps_since_when(tmp_path: Path) -> None:
    switch_off()
    for path in (tmp_path / "state" / "knowbound" / "off", tmp_path / "user/.local/state/knowbound/off"):
        path.write_text("2026-01-01T00:00:00Z\n")
    switch_off()
    assert str(off_state()) == "since 2026-01-01T00:00:00Z"


def test_a_switch_that_cannot_be_read_is_off_since_an_unknown_time(tmp_path: Path) -> None:
    path = tmp_path / "state" / "knowbound" / "off"
    path.mkdir(parents=True)
    assert is_off()
    assert str(off_state()) == "since an unknown time"
    path.rmdir()
    path.write_bytes(b"\x1b[31m")
    assert str(off_state()) == "since an unknown time"
    assert switch_on()
    assert not is_off()


def test_a_state_folder_that_cannot_be_written_is_an_error_with_advice(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where a folder should be")
    with pytest.raises(StoreError, match="KNOWBOUND_OFF=1"):
        run("off")

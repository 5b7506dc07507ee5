"""Installing over earlier installations: brought up to date in one step, and uninstalled to the original bytes."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knowbound.agent.install.changes import Backup, apply, keep, plan_install, plan_uninstall, remove
from knowbound.agent.install.clients import OurEntries, SettingsFile, entries, settings_files
from knowbound.agent.install.entries import value_of, with_ours
from knowbound.cli.main import knowbound
from tests.agent.test_install import TEXTS, TOMLS, Machine, commands, install, uninstall, write

EVENT = "UserPromptSubmit"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.setenv("XDG_STATE_HOME", str(made.home / "state"))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "KNOWBOUND_HOME"):
        monkeypatch.delenv(name, raising=False)
    return made


def first_version(machine: Machine, folder: Path) -> None:
    """As version 0.1.0 installed by default: local settings and a server, both of the current folder."""
    local = folder / ".claude" / "settings.local.json"
    made_folder = not local.parent.exists()
    hooks = {
        name: [{"hooks": [{"type": "command", "command": f"/old/bin/knowbound-hook {event}", "timeout": 5}]}]
        for event, name in (("user-prompt-submit", EVENT), ("session-start", "SessionStart"))
    }
    server = {"type": "stdio", "command": "/old/bin/knowbound", "args": ["mcp"]}
    for path, ours in (
        (local, OurEntries({name: group for name, [group] in hooks.items()}, {})),
        (machine.claude_state, OurEntries({}, server)),
    ):
        is_state = path == machine.claude_state
        file = SettingsFile(path, not is_state, ("projects", str(folder), "mcpServers") if is_state else ())
        original = path.read_bytes() if path.exists() else None
        after = with_ours(file, (original or b"").decode(), ours).encode()
        left = hashlib.sha256(after).hexdigest()
        keep(path, Backup(original, left, made_folder and not is_state))
        write(path, after)


def changed(ours: OurEntries, change: Callable[[dict[str, Any]], object]) -> OurEntries:
    """Entries as an earlier or later version writes them."""
    hooks = json.loads(json.dumps(ours.hooks))
    change(hooks)
    return replace(ours, hooks=hooks)


def set_handler(key: str, value: object) -> Callable[[dict[str, Any]], object]:
    return lambda hooks: [group["hooks"][0].update({key: value}) for group in hooks.values()]


EARLIER: dict[str, Callable[[dict[str, Any]], object]] = {
    "fewer events": lambda hooks: hooks.pop("SessionStart"),
    "another path": set_handler("command", "'/old place/knowbound-hook' user-prompt-submit"),
    "another time limit": set_handler("timeout", 60),
    "an event we no longer have": lambda hooks: hooks.update({"PreCompact": hooks["SessionStart"]}),
    "the two events of 0.1": lambda hooks: [hooks.pop(name) for name in set(hooks) - {EVENT, "SessionStart"}],
}


def install_entries(machine: Machine, agent: str, scope: str, ours: OurEntries) -> None:
    environ = {"HOME": str(machine.home)}
    apply(plan_install(settings_files(agent, scope, machine.root, environ), ours))


@pytest.mark.parametrize("earlier", EARLIER.values(), ids=EARLIER)
@pytest.mark.parametrize(("agent", "scope"), [("claude-code", "user"), ("claude-code", "project"), ("codex", "user")])
def test_an_earlier_set_is_upgraded_in_one_step_and_uninstalled_to_the_byte(
    machine: Machine, earlier: Callable[[dict[str, Any]], object], agent: str, scope: str
) -> None:
    write(machine.claude, TEXTS["hooks of others"])
    write(machine.codex_config, str(TOMLS["tables and comments"]))
    before = machine.files()
    ours = entries(agent, scope)
    install_entries(machine, agent, scope, changed(ours, earlier))
    assert machine.files() != before
    install(machine, agent, "--scope", scope)
    upgraded = machine.files()
    assert "Nothing to do" in machine.run("install", agent, "--scope", scope, "--yes").output
    uninstall(machine, agent, "--scope", scope)
    assert machine.files() == before
    install(machine, agent, "--scope", scope)
    assert machine.files() == upgraded  # nothing of the earlier set was left


def test_an_earlier_set_in_a_file_that_was_edited_since_is_upgraded_too(machine: Machine) -> None:
    write(machine.claude, TEXTS["hooks of others"])
    install_entries(machine, "claude-code", "user", changed(entries("claude-code", "user"), EARLIER["fewer events"]))
    write(machine.claude, machine.claude.read_text().replace('"z": 1', '"z": 2'))
    install(machine)
    assert len(commands(machine.claude, "SessionStart")) == 1
    uninstall(machine)
    assert machine.claude.read_text() == TEXTS["hooks of others"].replace('"z": 1', '"z": 2')


def test_an_upgrade_remembers_that_the_folder_was_ours(machine: Machine) -> None:
    ours = entries("claude-code", "project")
    install_entries(machine, "claude-code", "project", changed(ours, EARLIER["fewer events"]))
    install(machine, "claude-code", "--scope", "project")
    uninstall(machine, "claude-code", "--scope", "project")
    assert list(machine.root.iterdir()) == []


# Version 0.1.0 installed locally


def test_a_local_installation_of_the_first_version_moves_to_the_user(machine: Machine) -> None:
    write(machine.local, TEXTS["hooks of others"])
    write(machine.claude_state, TEXTS["servers of others"])
    before = machine.files()
    first_version(machine, machine.root)
    install(machine)
    assert machine.local.read_text() == TEXTS["hooks of others"]
    state = json.loads(machine.claude_state.read_text())
    assert "projects" not in state
    assert set(state["mcpServers"]) == {"docs", "knowbound"}
    assert len(commands(machine.claude, EVENT)) == 1
    uninstall(machine)
    assert machine.files() == before


def test_local_installations_of_other_projects_move_too(machine: Machine) -> None:
    """Otherwise two hooks would answer every prompt there."""
    other = machine.home / "other"
    other.mkdir()
    first_version(machine, other)
    first_version(machine, machine.root)
    install(machine)
    assert list(other.iterdir()) == []
    assert list(machine.root.iterdir()) == []
    assert "/old/bin" not in machine.claude_state.read_text()
    uninstall(machine)
    assert set(machine.files()) <= {machine.claude_state}  # that version forgot that there was none before the first
    assert json.loads(machine.claude_state.read_text()) == {}


@pytest.mark.parametrize("more", [(), ("--scope", "local")])
def test_the_first_version_is_uninstalled_to_the_byte(machine: Machine, more: tuple[str, ...]) -> None:
    write(machine.local, TEXTS["comments"])
    write(machine.claude_state, TEXTS["two spaces"])
    before = machine.files()
    first_version(machine, machine.root)
    uninstall(machine, "claude-code", *more)
    assert machine.files() == before


def test_one_made_in_a_subfolder_is_found_from_the_root(machine: Machine) -> None:
    sub = machine.root / "sub"
    sub.mkdir()
    first_version(machine, sub)
    uninstall(machine, "claude-code", "--scope", "local")
    assert machine.files() == {}


def test_a_local_one_whose_backup_is_lost_is_removed_all_the_same(machine: Machine) -> None:
    write(machine.local, TEXTS["two spaces"])
    first_version(machine, machine.root)
    remove(machine.local)
    uninstall(machine)
    assert json.loads(machine.local.read_text()) == json.loads(TEXTS["two spaces"])


# Several projects in one file


def test_local_servers_of_two_projects_live_side_by_side(machine: Machine) -> None:
    original = write(machine.claude_state, TEXTS["hooks of others"]).read_bytes()
    roots = [machine.home / name for name in ("one", "two")]
    for root in roots:
        root.mkdir()
        machine.root = root
        install(machine, "claude-code", "--scope", "local")
    state = json.loads(machine.claude_state.read_text())
    assert list(state["projects"]) == [str(root) for root in roots]
    for root in roots:
        machine.root = root
        uninstall(machine, "claude-code", "--scope", "local")
    assert machine.claude_state.read_bytes() == original


def test_a_local_installation_beside_the_users_is_not_needed(machine: Machine) -> None:
    install(machine)
    before = machine.files()
    result = machine.run("install", "claude-code", "--scope", "local", "--yes")
    assert "which includes this project" in result.output
    assert machine.files() == before


SLOTS = (("mcpServers",), ("projects", "/a", "mcpServers"), ("projects", "/b", "mcpServers"))
steps = st.lists(st.tuples(st.sampled_from(SLOTS), st.sampled_from(["old", "new", "gone"])), max_size=8)


@given(steps, st.sampled_from(sorted(TEXTS)))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_was_installed_and_upgraded_the_last_uninstall_gives_every_byte_back(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, plan: list[tuple[Any, str]], name: str
) -> None:
    folder = tmp_path_factory.mktemp("machine")
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    path = write(folder / ".claude.json", TEXTS[name])
    servers = {kind: {"command": f"/{kind}/knowbound", "args": ["mcp"]} for kind in ("old", "new")}
    for slot, kind in plan:
        file = SettingsFile(path, servers=slot)
        apply(plan_uninstall([file]) if kind == "gone" else plan_install([file], OurEntries({}, servers[kind])))
    found = value_of(SettingsFile(path), path.read_text("utf-8"))
    for slot, kind in dict(plan).items():
        value: Any = found
        for key in (*slot, "knowbound"):
            value = value.get(key, {})
        assert value == ({} if kind == "gone" else servers[kind])
    for slot in SLOTS:
        apply(plan_uninstall([SettingsFile(path, servers=slot)]))
    assert path.read_bytes() == TEXTS[name].encode()


# Where the project is


def git_init(folder: Path) -> None:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)


@pytest.mark.parametrize("scope", ["project", "local"])
def test_run_in_a_subfolder_it_installs_for_the_project(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, scope: str
) -> None:
    from click.testing import CliRunner

    git_init(machine.root)
    sub = machine.root / "sub" / "deep"
    sub.mkdir(parents=True)
    monkeypatch.chdir(sub)
    result = CliRunner().invoke(knowbound, ["install", "claude-code", "--scope", scope, "--yes"])
    assert result.exit_code == 0, result.output
    assert f"({scope}, {machine.root})" in result.output
    settings_name = "settings.json" if scope == "project" else "settings.local.json"
    assert commands(machine.root / ".claude" / settings_name, EVENT)
    assert list(sub.iterdir()) == []
    if scope == "local":
        assert str(machine.root) in json.loads(machine.claude_state.read_text())["projects"]
    assert CliRunner().invoke(knowbound, ["uninstall", "claude-code", "--scope", scope, "--yes"]).exit_code == 0
    assert {path.name for path in machine.root.iterdir()} == {".git", "sub"}


def test_a_given_root_is_taken_as_it_is_and_its_server_is_keyed_by_the_repository(machine: Machine) -> None:
    git_init(machine.root)
    repository, machine.root = machine.root, machine.root / "sub"
    machine.root.mkdir()
    install(machine, "claude-code", "--scope", "local")
    assert (machine.root / ".claude" / "settings.local.json").exists()
    assert list(json.loads(machine.claude_state.read_text())["projects"]) == [str(repository)]


def test_folders_that_variables_name_are_used(machine: Machine) -> None:
    claude, codex = machine.home / "my claude", machine.home / "my codex"
    environ = {"HOME": str(machine.home), "CLAUDE_CONFIG_DIR": str(claude), "CODEX_HOME": str(codex)}
    files = [settings_files(agent, "user", machine.root, environ) for agent in ("claude-code", "codex")]
    assert [file.path for both in files for file in both] == [
        claude / "settings.json",
        claude / ".claude.json",
        codex / "hooks.json",
        codex / "config.toml",
    ]


def test_a_shared_hook_does_nothing_where_knowbound_is_not(machine: Machine) -> None:
    install(machine, "claude-code", "--scope", "project")
    for event in json.loads((machine.root / ".claude" / "settings.json").read_text())["hooks"]:
        [line] = commands(machine.root / ".claude" / "settings.json", event)
        done = subprocess.run(
            ["/bin/sh", "-c", line],
            input=b"x" * 300_000,
            env={"PATH": "/usr/bin:/bin"},
            capture_output=True,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_the_project_scope_is_named_where_only_that_is_installed(machine: Machine) -> None:
    install(machine, "claude-code", "--scope", "project")
    assert "knowbound uninstall claude-code --scope project" in uninstall(machine).output

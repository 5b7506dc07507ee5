from __future__ import annotations

import json
import os
import stat
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from knowbound.agent.install.clients import SettingsFile, entries, hook_words
from knowbound.agent.install.entries import APPEND, added, parse, removed, value_of, with_ours, without_ours
from knowbound.cli.main import knowbound
from knowbound.errors import InputError


class Machine:
    """A user's home and a project, both empty, and knowbound run in them."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.root = folder / "project"
        self.home.mkdir()
        self.root.mkdir()
        self.claude = self.home / ".claude" / "settings.json"
        self.local = self.root / ".claude" / "settings.local.json"
        self.claude_state = self.home / ".claude.json"
        self.codex_hooks = self.home / ".codex" / "hooks.json"
        self.codex_config = self.home / ".codex" / "config.toml"

    def run(self, *args: str, answer: str = "") -> Result:
        environ = {"HOME": str(self.home), "XDG_STATE_HOME": str(self.home / "state"), "CODEX_HOME": None}
        environ |= {"CLAUDE_CONFIG_DIR": None, "KNOWBOUND_HOME": None}
        result = CliRunner().invoke(knowbound, [*args, "--root", str(self.root)], input=answer, env=environ)
        if isinstance(result.exception, InputError):
            result.stderr_bytes = str(result.exception).encode()
        return result

    def files(self) -> dict[Path, bytes]:
        """Everything there is, but for our own state."""
        paths = [*self.home.rglob("*"), *self.root.rglob("*")]
        return {path: path.read_bytes() for path in paths if path.is_file() and "state" not in path.parts}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def install(machine: Machine, agent: str = "claude-code", *more: str) -> None:
    result = machine.run("install", agent, "--yes", *more)
    assert result.exit_code == 0, result.output


def uninstall(machine: Machine, agent: str = "claude-code", *more: str) -> Result:
    result = machine.run("uninstall", agent, "--yes", *more)
    assert result.exit_code == 0, result.output
    return result


def commands(settings: Path, event: str) -> list[str]:
    groups = json.loads(settings.read_text("utf-8-sig"))["hooks"][event]
    return [handler["command"] for group in groups for handler in group["hooks"] if "command" in handler]


# Where it goes


@pytest.mark.parametrize(
    ("agent", "alone"),
    [
        ("claude-code", "StopFailure stop-failure PostToolUse post-tool-use PostToolUseFailure post-tool-use-failure"),
        ("codex", "Interrupt interrupt PostToolUse post-tool-use"),
    ],
)
def test_each_agent_gets_the_events_that_it_knows(machine: Machine, agent: str, alone: str) -> None:
    install(machine, agent)
    settings = machine.claude if agent == "claude-code" else machine.codex_hooks
    groups = json.loads(settings.read_text("utf-8"))["hooks"]
    called = {event: [line.rpartition(" ")[2] for line in commands(settings, event)] for event in groups}
    both = "UserPromptSubmit user-prompt-submit SessionStart session-start Stop stop SessionEnd session-end "
    names = f"{both}SubagentStop subagent-stop {alone}".split()
    assert called == {name: [event] for name, event in zip(names[::2], names[1::2], strict=True)}


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_only_hooks_after_tools_have_a_matcher_and_it_names_tools_that_look_up(machine: Machine, agent: str) -> None:
    install(machine, agent)
    settings = machine.claude if agent == "claude-code" else machine.codex_hooks
    groups = json.loads(settings.read_text("utf-8"))["hooks"]
    matchers = {event: [one["matcher"] for one in each] for event, each in groups.items() if "matcher" in each[0]}
    claude = {"PostToolUse": "Grep|Glob|LS|Bash", "PostToolUseFailure": "Read|NotebookRead|Grep|Glob|LS|Bash"}
    wanted = claude if agent == "claude-code" else {"PostToolUse": "Bash"}
    assert matchers == {event: [matcher] * 2 for event, matcher in wanted.items()}  # a process, and the server


def test_codex_is_not_asked_for_more_time_than_it_gives(machine: Machine) -> None:
    install(machine, "codex")
    groups = json.loads(machine.codex_hooks.read_text("utf-8"))["hooks"]
    assert {event: max(one["hooks"][0]["timeout"] for one in each) for event, each in groups.items()} == {
        event: 3 if event in ("SessionEnd", "Interrupt") else 5 for event in groups
    }


def test_claude_code_gets_hooks_and_the_server(machine: Machine) -> None:
    install(machine)
    [hook] = commands(machine.claude, "UserPromptSubmit")
    assert hook.endswith("knowbound-hook user-prompt-submit")
    assert os.access(hook_words(hook)[0], os.X_OK)
    assert commands(machine.claude, "SessionStart")[0].endswith("knowbound-hook session-start")
    server = json.loads(machine.claude_state.read_text())["mcpServers"]["knowbound"]
    assert server["type"] == "stdio"
    assert server["args"] == ["mcp"]
    assert server["command"].endswith("/knowbound")


@pytest.mark.parametrize(
    ("agent", "scope", "files"),
    [
        ("claude-code", "user", ["home/.claude/settings.json", "home/.claude.json"]),
        ("claude-code", "project", ["project/.claude/settings.json", "project/.mcp.json"]),
        ("claude-code", "local", ["project/.claude/settings.local.json", "home/.claude.json"]),
        ("codex", "user", ["home/.codex/hooks.json", "home/.codex/config.toml"]),
        ("codex", "project", ["project/.codex/hooks.json", "project/.codex/config.toml"]),
    ],
)
def test_each_scope_has_its_files_and_leaves_nothing_behind(
    machine: Machine, tmp_path: Path, agent: str, scope: str, files: list[str]
) -> None:
    install(machine, agent, "--scope", scope)
    assert {str(path.relative_to(tmp_path)) for path in machine.files()} == set(files)
    uninstall(machine, agent, "--scope", scope)
    assert machine.files() == {}
    left = {path.name for path in (*machine.home.iterdir(), *machine.root.iterdir())}
    assert left == {"state"}


def test_shared_settings_have_no_path_of_this_machine(machine: Machine) -> None:
    install(machine, "claude-code", "--scope", "project")
    [hook] = commands(machine.root / ".claude" / "settings.json", "UserPromptSubmit")
    assert hook.endswith("; exec knowbound-hook user-prompt-submit")
    assert str(Path(sys.executable).parent) not in hook
    assert json.loads((machine.root / ".mcp.json").read_text())["mcpServers"]["knowbound"]["command"] == "knowbound"


def test_codex_gets_hooks_json_and_a_toml_table(machine: Machine) -> None:
    install(machine, "codex")
    assert commands(machine.codex_hooks, "UserPromptSubmit")[0].endswith("knowbound-hook user-prompt-submit")
    server = tomllib.loads(machine.codex_config.read_text())["mcp_servers"]["knowbound"]
    assert server["args"] == ["mcp"]
    assert "type" not in server
    assert {"KNOWBOUND_HOME", "KNOWBOUND_OFF", "KNOWBOUND_INJECTION_MOST_ITEMS"} <= set(server["env_vars"])


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_hooks_call_the_server_with_a_limit_and_the_shared_ones_do_not(machine: Machine, agent: str) -> None:
    own, shared = entries(agent, "user"), entries(agent, "project")
    answered = ["UserPromptSubmit", "Stop", "PostToolUse"] + ["PostToolUseFailure"] * (agent == "claude-code")
    assert sorted(own.tool_hooks) == sorted(answered)
    for event, group in own.tool_hooks.items():
        [handler] = group["hooks"]
        assert (handler["type"], handler["input"]["event"], handler["timeout"]) == ("mcp_tool", event, 5)
        assert "kill -0" in own.hooks[event]["hooks"][0]["command"]  # the process gives way to a living server
    assert not shared.tool_hooks
    assert "kill -0" not in repr(shared.hooks) + repr([own.hooks["SessionStart"], own.hooks["SessionEnd"]])


def test_codex_has_no_local_scope(machine: Machine) -> None:
    result = machine.run("install", "codex", "--scope", "local", "--yes")
    assert isinstance(result.exception, InputError)
    assert result.exception.slug == "scope-unknown"


# Asking


def test_the_difference_is_shown_and_a_no_changes_nothing(machine: Machine) -> None:
    result = machine.run("install", "claude-code", answer="n\n")
    assert '+            "command": ' in result.output
    assert isinstance(result.exception, InputError)
    assert result.exception.slug == "not-confirmed"
    assert machine.files() == {}


def test_without_anyone_to_ask_nothing_is_changed(machine: Machine) -> None:
    result = machine.run("install", "claude-code")
    assert isinstance(result.exception, InputError)
    assert machine.files() == {}


def test_a_yes_installs(machine: Machine) -> None:
    assert machine.run("install", "claude-code", answer="y\n").exit_code == 0
    assert machine.claude.exists()


def test_the_difference_shows_no_secrets(machine: Machine) -> None:
    token = "ghp_" + "a1B2" * 9
    write(machine.claude_state, json.dumps({"mcpServers": {"x": {"env": {"T": token}}}, "projects": {}}, indent=2))
    result = machine.run("install", "claude-code", answer="n\n")
    assert token not in result.output


# Other people's entries

TEXTS = {
    "empty object": "{}",
    "empty file": "",
    "two spaces": '{\n  "model": "opus",\n  "permissions": {\n    "allow": ["Bash(ls:*)"]\n  }\n}\n',
    "four spaces": '{\n    "model": "opus"\n}\n',
    "tabs": '{\n\t"model": "opus"\n}\n',
    "no newline at the end": '{\n  "model": "opus"\n}',
    "many newlines at the end": '{"model": "opus"}\n\n\n',
    "one line": '{"model":"opus","hooks":{"Stop":[{"hooks":[{"type":"command","command":"say done"}]}]}}',
    "windows": '{\r\n  "model": "opus",\r\n  "hooks": {}\r\n}\r\n',
    "byte order mark": '\ufeff{\n  "model": "opus"\n}\n',
    "comments": '{\n  // mine\n  "model": "opus", /* why */\n  "hooks": {\n    // later\n  }\n}\n',
    "trailing commas": '{\n  "model": "opus",\n  "hooks": {\n    "Stop": [],\n  },\n}\n',
    "hooks of others": json.dumps(
        {
            "z": 1,
            "hooks": {
                "UserPromptSubmit": [{"matcher": "", "hooks": [{"type": "command", "command": "other-hook"}]}],
                "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}],
            },
            "a": {"é": "ü", "nested": [1, [2, {"x": None}]]},
        },
        indent=2,
    ),
    "empty hooks": '{"hooks": {"UserPromptSubmit": [], "SessionStart": []}, "mcpServers": {}}',
    "servers of others": '{\n  "mcpServers": {\n    "docs": {"command": "docs"}\n  }\n}\n',
    "odd spacing": '\n\n{ "a" :1 ,\n   "b":[ ]\n , "c" : {}}  \n',
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("scope", ["user", "local"])
def test_uninstall_gives_back_every_byte(machine: Machine, text: str, scope: str) -> None:
    for path in (machine.claude, machine.local, machine.claude_state):
        write(path, text)
    before = machine.files()
    install(machine, "claude-code", "--scope", scope)
    assert machine.files() != before
    uninstall(machine, "claude-code", "--scope", scope)
    assert machine.files() == before


FILES = {
    "hooks": SettingsFile(Path("settings.json"), has_hooks=True),
    "server": SettingsFile(Path("mcp.json"), servers=("mcpServers",)),
    "server of a project": SettingsFile(Path("mcp.json"), servers=("projects", "/p", "mcpServers")),
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("file", FILES.values(), ids=FILES)
def test_others_stay_as_they_are_in_words_and_order(file: SettingsFile, text: str) -> None:
    after = with_ours(file, text, entries("claude-code", "project"))
    words = [line for line in text.split() if line.strip('",{}[]:')]
    position = 0
    for word in words:  # every word of theirs is still there, in their order
        position = after.index(word.strip(",{}[]"), position)
    assert with_ours(file, after, entries("claude-code", "project")) == after
    left = without_ours(file, after, value_of(file, text))
    assert value_of(file, left) == value_of(file, text)
    assert text in ("", "{}") or left.split() == text.split()


def test_installing_twice_changes_nothing(machine: Machine) -> None:
    write(machine.claude, TEXTS["hooks of others"])
    install(machine)
    once = machine.files()
    result = machine.run("install", "claude-code", "--yes")
    assert "Nothing to do" in result.output
    assert machine.files() == once


def test_what_someone_added_to_our_entry_stays(machine: Machine) -> None:
    install(machine)
    write(machine.claude, machine.claude.read_text().replace('"timeout": 5', '"timeout": 9'))
    before = machine.files()
    install(machine)
    assert machine.files() == before


def test_an_older_command_of_ours_is_replaced(machine: Machine) -> None:
    original = write(machine.claude, TEXTS["hooks of others"]).read_bytes()
    install(machine)
    old = machine.claude.read_text().replace(
        commands(machine.claude, "SessionStart")[0], "/old/knowbound-hook session-start"
    )
    write(machine.claude, old)
    install(machine)
    assert "/old/" not in machine.claude.read_text()
    assert len(commands(machine.claude, "SessionStart")) == 1
    uninstall(machine)
    assert json.loads(machine.claude.read_text()) == json.loads(original)


def test_an_edit_of_the_user_survives_uninstall(machine: Machine) -> None:
    write(machine.claude, TEXTS["hooks of others"])
    install(machine)
    edited = machine.claude.read_text().replace('"z": 1', '"z": 2')
    write(machine.claude, edited)
    result = uninstall(machine)
    assert "edited since the installation" in result.output
    assert machine.claude.read_text() == TEXTS["hooks of others"].replace('"z": 1', '"z": 2')


def test_our_hook_leaves_a_group_it_shares(machine: Machine) -> None:
    handlers = [{"type": "command", "command": "a"}, {"type": "command", "command": "/x/knowbound-hook session-start"}]
    write(machine.claude, json.dumps({"hooks": {"SessionStart": [{"matcher": "x", "hooks": handlers}]}}, indent=2))
    uninstall(machine)
    assert json.loads(machine.claude.read_text()) == {
        "hooks": {"SessionStart": [{"matcher": "x", "hooks": [{"type": "command", "command": "a"}]}]}
    }


def test_a_file_we_made_goes_even_after_the_agent_rewrote_it(machine: Machine) -> None:
    install(machine)
    write(machine.claude_state, json.dumps(json.loads(machine.claude_state.read_text())))
    uninstall(machine)
    assert machine.files() == {}


def test_a_server_of_our_name_that_is_not_ours_is_left_alone(machine: Machine) -> None:
    write(machine.root / ".mcp.json", '{"mcpServers": {"knowbound": {"command": "something-else"}}}')
    before = machine.files()
    result = machine.run("install", "claude-code", "--scope", "project", "--yes")
    assert isinstance(result.exception, InputError)
    assert result.exception.slug == "settings-conflict"
    assert machine.files() == before


# TOML

TOMLS = {
    "missing": None,
    "empty": "",
    "keys": 'model = "gpt-6"\n',
    "no newline at the end": 'model = "gpt-6"',
    "tables and comments": '# mine\nmodel = "gpt-6"\n\n[mcp_servers.docs]\ncommand = "docs"\n\n# theirs\n[features]\n',
    "windows": 'model = "gpt-6"\r\n[features]\r\nx = true\r\n',
}


@pytest.mark.parametrize("text", TOMLS.values(), ids=TOMLS)
def test_codex_config_comes_back_byte_for_byte(machine: Machine, text: str | None) -> None:
    if text is not None:
        write(machine.codex_config, text)
    before = machine.files()
    install(machine, "codex")
    assert "knowbound" in tomllib.loads(machine.codex_config.read_bytes().decode())["mcp_servers"]
    uninstall(machine, "codex")
    assert machine.files() == before


def test_a_table_added_behind_ours_keeps_its_comment(machine: Machine) -> None:
    write(machine.codex_config, 'model = "gpt-6"\n')
    install(machine, "codex")
    more = '\n[mcp_servers.knowbound.tools.unified_search]\napproval_mode = "approve"\n\n# why\n[tui]\ntheme = "x"\n'
    write(machine.codex_config, machine.codex_config.read_text() + more)
    uninstall(machine, "codex")
    assert machine.codex_config.read_text() == 'model = "gpt-6"\n\n# why\n[tui]\ntheme = "x"\n'


def test_inline_servers_cannot_be_extended_and_stay(machine: Machine) -> None:
    write(machine.codex_config, 'mcp_servers = { docs = { command = "docs" } }\n')
    before = machine.files()
    result = machine.run("install", "codex", "--yes")
    assert isinstance(result.exception, InputError)
    assert result.exception.slug == "settings-broken"
    assert machine.files() == before


# What cannot be changed


@pytest.mark.parametrize(
    "text",
    [
        b'{"hooks": ',
        b'{"a": 1,, }',
        b"[]",
        b'"text"',
        b'{"a": 1} x',
        b"\xff\xfe{",
        b'{"a": 1, "a": 2}',
        b"{'a': 1}",
        b'{"hooks": []}',
        b'{"hooks": {"SessionStart": {}}}',
        b"[" * 5000,
    ],
)
def test_broken_settings_are_an_error_and_stay_as_they_are(machine: Machine, text: bytes) -> None:
    write(machine.claude, text)
    write(machine.claude_state, "{}")
    before = machine.files()
    result = machine.run("install", "claude-code", "--yes")
    assert isinstance(result.exception, InputError), result.output
    assert result.exception.slug == "settings-broken"
    assert str(machine.claude) in str(result.exception)
    assert machine.files() == before


def test_a_broken_second_file_keeps_the_first_as_it_is(machine: Machine) -> None:
    write(machine.claude, "{}")
    write(machine.claude_state, "{broken")
    before = machine.files()
    assert isinstance(machine.run("install", "claude-code", "--yes").exception, InputError)
    assert machine.files() == before


def test_a_read_only_file_is_not_replaced(machine: Machine) -> None:
    write(machine.claude, "{}").chmod(0o444)
    before = machine.files()
    result = machine.run("install", "claude-code", "--yes")
    assert isinstance(result.exception, InputError)
    assert result.exception.slug == "settings-unwritable"
    assert machine.files() == before


def test_a_linked_file_stays_a_link_and_its_mode_stays(machine: Machine) -> None:
    real = write(machine.home / "dotfiles" / "claude.json", '{"model": "opus"}')
    real.chmod(0o600)
    own = machine.claude
    own.parent.mkdir()
    own.symlink_to(real)
    install(machine, "claude-code", "--scope", "user")
    assert own.is_symlink()
    assert "knowbound-hook" in real.read_text()
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    uninstall(machine, "claude-code", "--scope", "user")
    assert own.is_symlink()
    assert real.read_text() == '{"model": "opus"}'


def test_a_local_file_that_the_project_made_a_link_out_is_not_written(machine: Machine) -> None:
    """A clone may bring it; the user's own files are linked in the user's scope."""
    real = write(machine.home / "other" / "claude.json", '{"model": "opus"}')
    machine.local.parent.mkdir()
    machine.local.symlink_to(real)
    result = machine.run("install", "claude-code", "--scope", "local", "--yes")
    assert isinstance(result.exception, InputError)
    assert result.exception.slug == "settings-unwritable"
    assert real.read_text() == '{"model": "opus"}'


def test_kept_originals_are_for_the_user_alone(machine: Machine) -> None:
    write(machine.claude_state, '{"secret": 1}')
    install(machine)
    kept = list((machine.home / "state" / "knowbound" / "installed").iterdir())
    assert len(kept) == 2
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept} == {0o600}
    uninstall(machine)
    assert not list((machine.home / "state" / "knowbound" / "installed").iterdir())


# The text of JSON, changed in place

values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)
indents = st.sampled_from([None, 0, 1, 2, 4, "\t"])


@given(st.dictionaries(st.text(max_size=3), values, max_size=4), values, indents, st.sampled_from(["\n", "\r\n"]))
def test_a_member_that_was_added_and_taken_out_leaves_the_value(
    before: dict[str, Any], value: Any, indent: int | str | None, newline: str
) -> None:
    text = json.dumps(before, indent=indent).replace("\n", newline)
    more = added(text, ("ours",), value)
    assert parse(more) == json.loads(more) == {**before, "ours": value}
    assert "\r\n" not in text or "\n" not in more.replace("\r\n", "")
    less = removed(more, ("ours",))
    assert parse(less) == before
    if before:
        assert less == text


@given(st.lists(values, max_size=4), st.data(), indents)
def test_any_item_can_be_taken_out(before: list[Any], data: st.DataObject, indent: int | str | None) -> None:
    text = json.dumps(before, indent=indent)
    more = added(text, (APPEND,), {"ours": 1})
    assert parse(more) == json.loads(more) == [*before, {"ours": 1}]
    place = data.draw(st.integers(0, len(before)))
    expected = [*before, {"ours": 1}]
    del expected[place]
    assert parse(removed(more, (place,))) == expected


@given(st.text(alphabet='{}[]",:/*\\ \n01truefalsn', max_size=30))
def test_what_json_reads_we_read_alike(text: str) -> None:
    try:
        expected = json.loads(text)
    except ValueError:
        return
    if '"":' not in text.replace(" ", ""):  # names that are there twice are refused: an edit could hit the wrong one
        assert parse(text) == expected

"""The agents we install into: their settings files in each scope, and our entries in them."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from knowbound.agent.hook import resident
from knowbound.agent.hook.interruptions import off_state
from knowbound.agent.hook.run import EVENTS
from knowbound.agent.hook_entry import TRIAL
from knowbound.agent.mcp.server import HOOK_TOOL, input_of
from knowbound.config import REPLACED, SETTINGS, Settings, variable
from knowbound.errors import InputError
from knowbound.files import leads_out
from knowbound.injection import hook_settings
from knowbound.process import require_posix
from knowbound.quality.ended import INTERRUPT, SESSION_END
from knowbound.store.data_dir import main_work_tree, work_tree

SERVER = "knowbound"  # our name among an agent's MCP servers
_PLUGIN_SERVERS = {"claude-code": "plugin:knowbound:knowbound", "codex": SERVER}
# Codex does not say to a plugin's server where the plugin is, nor, with `cwd`, where the session is (0.166.0).
_CODEX_PLUGIN_SERVER = (
    'exec sh "$(ls -td "${CODEX_HOME:-$HOME/.codex}"/plugins/cache/*/knowbound/*/ | head -n 1)run/server.sh" codex'
)
AGENTS = ("claude-code", "codex")
SCOPES = ("user", "project", "local")
# Claude Code reads a folder's own hooks only if it is started in that folder, but the user's hooks everywhere. Outside
# a project with a data folder, a hook does nothing (docs/decisions/clients.md).
DEFAULT_SCOPE = "user"
# The events of each agent, from the programs themselves (Claude Code 2.1.197, Codex 0.166.0). Both skip unknown names,
# so a wrong one would never fire and nobody would notice. Claude Code fires nothing when the user interrupts, Codex
# nothing when the model fails: there SessionEnd or the next prompt shows that the turn ended.
_IN_BOTH = ("user-prompt-submit", "session-start", "stop", "session-end", "subagent-stop")
HOOKED = {
    "claude-code": (*_IN_BOTH, "stop-failure", "post-tool-use", "post-tool-use-failure"),
    "codex": (*_IN_BOTH, "interrupt", "post-tool-use"),
}
# The tools whose calls may be lookups, in the clients' names; for other tools no hook starts. Codex reports a failed
# command like any other. Claude Code reports nothing for a Grep whose path does not exist.
_MATCHERS = {
    ("claude-code", "post-tool-use"): "Grep|Glob|LS|Bash",
    ("claude-code", "post-tool-use-failure"): "Read|NotebookRead|Grep|Glob|LS|Bash",
    ("codex", "post-tool-use"): "Bash",
}
_VARIABLES = (
    "KNOWBOUND_HOME", resident.OFF_VARIABLE, "KNOWBOUND_MODEL", "KMS_QUALITY_RANKING_ENABLED", "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
)  # fmt: skip
HOOK_SECONDS = 5  # the agent's own limit, for a machine that hangs; ours is far below
_END_SECONDS = {SESSION_END: 3, INTERRUPT: 3}  # the most that Codex allows at the end without a warning
# Shared settings also reach machines without knowbound, and users who have it in their own settings: there the hook
# reads its input to the end and does nothing. Written for the shell that both clients use.
_IF_INSTALLED = "command -v knowbound-hook >/dev/null"
_EVALUATED_EVENT = "UserPromptSubmit"
_EVALUATION_LIMIT_MS = 4_000  # several samples at once slow the machine down, which must not count as a miss
_OWN_HOOKS = {
    "claude-code": '"${CLAUDE_CONFIG_DIR:-$HOME/.claude}/settings.json"',
    "codex": '"${CODEX_HOME:-$HOME/.codex}/hooks.json"',
}


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A settings file of an agent, and the kinds of our entries in it."""

    path: Path
    has_hooks: bool = False
    servers: tuple[str, ...] = ()  # the keys that lead to MCP servers; empty: no servers in this file

    @property
    def is_toml(self) -> bool:
        """The format: TOML, or else JSON."""
        return self.path.suffix == ".toml"


@dataclass(frozen=True, slots=True)
class OurEntries:
    """Our entries for an agent's settings."""

    hooks: dict[str, dict[str, Any]]  # per event, one group with a command
    server: dict[str, Any]
    tool_hooks: dict[str, dict[str, Any]] = field(default_factory=dict)  # per event, one group that calls the server

    def command(self, event: str) -> str | None:
        """Return the command line for the client's event."""
        group = self.hooks.get(event)
        return str(group["hooks"][0]["command"]) if group else None

    @property
    def groups(self) -> list[tuple[str, dict[str, Any]]]:
        """Every group with its event."""
        return [*self.hooks.items(), *self.tool_hooks.items()]


def settings_files(agent: str, scope: str, root: Path, environ: Mapping[str, str]) -> tuple[SettingsFile, ...]:
    """Return the files of an agent's scope; a project's link that leads out of the project is an error."""
    files = _files_of(agent, scope, root, environ)
    for file in files:
        if scope != "user" and file.path.is_relative_to(root) and leads_out(file.path, root):
            raise InputError(
                "settings-unwritable",
                f"{file.path} is a link that leads out of the project, to {file.path.resolve()}. Nothing was changed. "
                "Try: another --scope",
            )
    return files


def _files_of(agent: str, scope: str, root: Path, environ: Mapping[str, str]) -> tuple[SettingsFile, ...]:
    """Return the files that code.claude.com/docs and developers.openai.com/codex name."""
    home = Path(environ.get("HOME") or os.path.expanduser("~"))
    if agent == "claude-code":
        folder, state = Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude"), claude_state(environ)
        top = work_tree(str(root)) or str(root)
        project = main_work_tree(top) or top  # the key of a project in that file
        hooks, servers, keys = {
            "user": (folder / "settings.json", state, ("mcpServers",)),
            "project": (root / ".claude" / "settings.json", root / ".mcp.json", ("mcpServers",)),
            "local": (root / ".claude" / "settings.local.json", state, ("projects", project, "mcpServers")),
        }[scope]
        return SettingsFile(hooks, has_hooks=True), SettingsFile(servers, servers=keys)
    if scope == "local":
        raise InputError("scope-unknown", "Codex has no local scope. Try: knowbound install codex --scope project")
    folder = Path(environ.get("CODEX_HOME") or home / ".codex") if scope == "user" else root / ".codex"
    return (
        SettingsFile(folder / "hooks.json", has_hooks=True),
        SettingsFile(folder / "config.toml", servers=("mcp_servers",)),
    )


def claude_state(environ: Mapping[str, str]) -> Path:
    """Return the file with Claude Code's state, and the servers of the user and of each project."""
    moved = environ.get("CLAUDE_CONFIG_DIR")
    return Path(moved or environ.get("HOME") or os.path.expanduser("~")) / ".claude.json"


def entries(agent: str, scope: str, *, late: bool = False, has_server: bool = True) -> OurEntries:
    """Return our entries. A project's settings are shared, so their commands have no path of this machine.

    Where the server can answer an event, a hook calls it, and the command gives way to it (hook/resident.py). Where no
    server runs Claude Code shows an error each time: shared settings, which reach other machines, have commands alone.
    `late` lets the hook fire for every tool, so that a model's later answer is injected after the next one.
    """
    is_shared = scope == "project"
    if is_shared:
        require_posix("A hook in a project's shared settings")
    is_resident = has_server and not is_shared and os.name != "nt"  # the guard is written for a POSIX shell
    hook, knowbound = (_program(name, is_shared=is_shared) for name in ("knowbound-hook", "knowbound"))
    lines = {event: _shared_line(agent, event) if is_shared else _command_line(hook, event) for event in HOOKED[agent]}
    hooks, tool_hooks = _hook_groups(agent, lines, SERVER if is_resident else "", late=late)
    return OurEntries(hooks, _server_entry(agent, knowbound, "mcp"), tool_hooks)


def plugin_entries(agent: str) -> OurEntries:
    """Return the entries of the plugin: its scripts find the installation that answers (plugin/run/find.sh)."""
    lines = {event: f'sh "${{CLAUDE_PLUGIN_ROOT}}/run/hook.sh" {agent} {event}' for event in HOOKED[agent]}
    hooks, tool_hooks = _hook_groups(agent, lines, _PLUGIN_SERVERS[agent], late=True)
    if agent == "claude-code":
        return OurEntries(hooks, _server_entry(agent, "sh", "${CLAUDE_PLUGIN_ROOT}/run/server.sh", agent), tool_hooks)
    server = _server_entry(agent, "sh", "-c", _CODEX_PLUGIN_SERVER)
    server["env_vars"] = ["CODEX_HOME", "XDG_DATA_HOME", *server["env_vars"]]
    return OurEntries(hooks, server, tool_hooks)


def _hook_groups(
    agent: str, lines: Mapping[str, str], server: str, *, late: bool
) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
    """Return the hooks that run these command lines, and the hooks that call the server, if there is a server."""
    hooks, tool_hooks = {}, {}
    for event, line in lines.items():
        matcher = _MATCHERS.get((agent, event))
        group: dict[str, Any] = {"matcher": matcher} if matcher else {}
        is_resident = bool(server) and event in resident.EVENTS
        if is_resident:
            tool_group = {} if late else group  # without a matcher it fires for every tool
            fields = input_of(agent, EVENTS[event])
            call = {"type": "mcp_tool", "server": server, "tool": HOOK_TOOL, "input": fields, "timeout": HOOK_SECONDS}
            tool_hooks[EVENTS[event]] = tool_group | {"hooks": [call]}
        seconds = _END_SECONDS.get(event, HOOK_SECONDS)
        command = guarded(line) if is_resident else line
        hooks[EVENTS[event]] = group | {"hooks": [{"type": "command", "command": command, "timeout": seconds}]}
    return hooks, tool_hooks


def _server_entry(agent: str, command: str, *args: str) -> dict[str, Any]:
    """Return the MCP server as the agent's settings name it."""
    if agent == "claude-code":
        return {"type": "stdio", "command": command, "args": [*args]}
    # Codex hands no other variables on to a server: its answers must be those of the session's own processes.
    by_config = [*(setting.env for setting in SETTINGS), *map(variable, REPLACED)]
    names = [*_VARIABLES, *(name for name in by_config if name.startswith(hook_settings.PREFIXES))]
    return {"command": command, "args": [*args], "env_vars": names}


def wants_late(settings: Settings) -> bool:
    """Report whether a model may choose items, or say what a miss meant, while agents work."""
    from knowbound.judge.choice import chooser, rescuer  # noqa: PLC0415

    return bool(chooser(settings) or rescuer(settings))


def _shared_line(agent: str, event: str) -> str:
    """Return the line of a shared hook: silent without knowbound, or where the user has the hook in own settings."""
    has_own_hook = f'grep -qs "knowbound-hook.* {event}" {_OWN_HOOKS[agent]}'
    return f"{_IF_INSTALLED} && ! {has_own_hook} || exec cat >/dev/null; exec knowbound-hook {event}"


def guarded(command: str) -> str:
    """Return a command line that runs the command unless a server answers for the client that starts the line."""
    marks = '"$HOME"/.local/state/knowbound/resident/$PPID.*'
    return f'set -- {marks}; [ $# = 1 ] && kill -0 "${{1##*.}}" 2>/dev/null && exec cat >/dev/null; exec {command}'


def is_our_hook(handler: object) -> bool:
    """Report whether a hook in an agent's settings calls us, by any path."""
    if is_tool_hook(handler):
        return True
    command = handler.get("command") if isinstance(handler, dict) else None
    names = [_program_name(word) for word in hook_words(command)[:2]] if isinstance(command, str) else []
    return names[:1] == ["knowbound-hook"] or names == ["knowbound", "hook"]


def is_tool_hook(handler: object) -> bool:
    """Report whether a hook in an agent's settings calls our server."""
    return isinstance(handler, dict) and (handler.get("server"), handler.get("tool")) == (SERVER, HOOK_TOOL)


def is_our_server(server: object) -> bool:
    """Report whether an MCP server in an agent's settings is ours."""
    command = server.get("command") if isinstance(server, dict) else None
    return isinstance(command, str) and _program_name(command) == "knowbound"


def hook_words(command: str) -> list[str]:
    """Return the program and arguments of a hook's command line, without the conditions before it."""
    try:
        line = command.rpartition("; exec ")[2]  # before it: give way to the MCP server
        words = shlex.split(line, posix=os.name != "nt")
    except ValueError:
        return []
    return [word.strip('"') for word in words]


def _program_name(command: str) -> str:
    return PurePath(command.replace("\\", "/")).name.removesuffix(".exe")


def _program(name: str, *, is_shared: bool) -> str:
    """Return the path of a program of this installation; for shared settings its name alone."""
    if is_shared:
        return name
    beside = Path(sys.executable).parent / (name + (".exe" if os.name == "nt" else ""))
    path = str(beside) if beside.exists() else shutil.which(name)
    if not path:
        raise InputError("no-command", f"The command {name} is neither in {beside.parent} nor on the PATH.")
    return path


def _command_line(*words: str) -> str:
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)


def hook_commands(settings: Settings) -> dict[str, str]:
    """Return our injecting hook for a run of an evaluation, as event → command. The hook records nothing.

    The command has everything that the answer depends on, so it is the same in a copy of the project. It clears the
    variable that switches hooks off; an installed hook beside it stays off. The index that sessions start with and what
    a model chooses need the MCP server, which a run does not have.
    """
    if (off := off_state()) is not None:
        raise InputError(
            "hooks-off", f"All hooks are off ({off}): nothing would be injected. Try: knowbound on, or --inject off"
        )
    variables = {
        resident.OFF_VARIABLE: "",
        TRIAL: "1",
        "KNOWBOUND_HOME": str(settings.home),
        "KNOWBOUND_INJECTION_TIME_LIMIT_MS": str(max(_EVALUATION_LIMIT_MS, settings.injection_time_limit_ms)),
        "KNOWBOUND_INJECTION_TOKEN_BUDGET": str(settings.injection_token_budget),
        "KNOWBOUND_INJECTION_MOST_ITEMS": str(settings.injection_most_items),
        "KNOWBOUND_INJECTION_SUBJECT": settings.injection_subject or settings.root.name,
    }
    if settings.injection_relevance_floor is not None:
        variables["KNOWBOUND_INJECTION_RELEVANCE_FLOOR"] = str(settings.injection_relevance_floor)
    prefix = shlex.join(["env", *(f"{name}={value}" for name, value in variables.items())])
    hook = _command_line(_program("knowbound-hook", is_shared=False), "user-prompt-submit")
    return {_EVALUATED_EVENT: f"{prefix} {hook}"}

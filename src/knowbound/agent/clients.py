"""The agents we install into: which settings files they read in which scope, and what we put there."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from knowbound.agent.hook import EVENTS
from knowbound.errors import InputError
from knowbound.files import leads_out
from knowbound.quality.ended import INTERRUPT, SESSION_END
from knowbound.store.data_dir import main_work_tree, work_tree

SERVER = "knowbound"  # our name among an agent's MCP servers
AGENTS = ("claude-code", "codex")
SCOPES = ("user", "project", "local")
# Claude Code reads a folder's own hooks only when it is started in that folder; the user's it reads everywhere. Without
# a data folder around, a hook does nothing (docs/decisions/installation.md).
DEFAULT_SCOPE = "user"
# The events that each agent has, as the programs themselves say (Claude Code 2.1.197, Codex 0.166.0). Both pass over a
# name that they do not know, so one too many would never fire and nobody would notice. Claude Code fires nothing where
# the user interrupts, Codex nothing where the model fails: there SessionEnd, or the next prompt, shows that it ended.
_IN_BOTH = ("user-prompt-submit", "session-start", "stop", "session-end", "subagent-stop")
HOOKED = {
    "claude-code": (*_IN_BOTH, "stop-failure", "post-tool-use", "post-tool-use-failure"),
    "codex": (*_IN_BOTH, "interrupt", "post-tool-use"),
}
# The tools whose calls may be lookups, by the clients' names for them; hooks of other tools' calls never start. Codex
# reports a command that failed as any other. Of a Grep whose path is not there Claude Code reports nothing.
_MATCHERS = {
    ("claude-code", "post-tool-use"): "Grep|Glob|LS|Bash",
    ("claude-code", "post-tool-use-failure"): "Read|NotebookRead|Grep|Glob|LS|Bash",
    ("codex", "post-tool-use"): "Bash",
}
HOOK_SECONDS = 5  # the agent's own limit; ours is far below, this one is for a machine that hangs
_AT_THE_END = {SESSION_END: 3, INTERRUPT: 3}  # seconds: Codex gives no more to who is about to go, and warns
# Shared settings come to machines without knowbound, and to users who have it in their own settings: there a hook reads
# its input to the end and does nothing. Written for the shell that both clients use.
_SHARED = "command -v knowbound-hook >/dev/null"
_OWN_HOOKS = {
    "claude-code": '"${CLAUDE_CONFIG_DIR:-$HOME/.claude}/settings.json"',
    "codex": '"${CODEX_HOME:-$HOME/.codex}/hooks.json"',
}


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A settings file of an agent, and which of our entries belong into it."""

    path: Path
    has_hooks: bool = False
    servers: tuple[str, ...] = ()  # the keys that lead to the agent's MCP servers; empty: not in this file

    @property
    def is_toml(self) -> bool:
        """JSON otherwise."""
        return self.path.suffix == ".toml"


@dataclass(frozen=True, slots=True)
class OurEntries:
    """What we put into the settings."""

    hooks: dict[str, dict[str, Any]]  # per event, one group
    server: dict[str, Any]


def settings_files(agent: str, scope: str, root: Path, environ: Mapping[str, str]) -> tuple[SettingsFile, ...]:
    """The files of an agent's scope. One that the project made a link to somewhere else is an error."""
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
    """As code.claude.com/docs and developers.openai.com/codex describe them."""
    home = Path(environ.get("HOME") or os.path.expanduser("~"))
    if agent == "claude-code":
        moved = environ.get("CLAUDE_CONFIG_DIR")
        folder = Path(moved) if moved else home / ".claude"
        state = claude_state(environ)
        return {
            "user": (SettingsFile(folder / "settings.json", True), SettingsFile(state, servers=("mcpServers",))),
            "project": (
                SettingsFile(root / ".claude" / "settings.json", True),
                SettingsFile(root / ".mcp.json", servers=("mcpServers",)),
            ),
            "local": (
                SettingsFile(root / ".claude" / "settings.local.json", True),
                SettingsFile(state, servers=("projects", _claude_project(root), "mcpServers")),
            ),
        }[scope]
    if scope == "local":
        raise InputError("scope-unknown", "Codex has no local scope. Try: knowbound install codex --scope project")
    folder = Path(environ.get("CODEX_HOME") or home / ".codex") if scope == "user" else root / ".codex"
    return (
        SettingsFile(folder / "hooks.json", True),
        SettingsFile(folder / "config.toml", servers=("mcp_servers",)),
    )


def claude_state(environ: Mapping[str, str]) -> Path:
    """The file in which Claude Code keeps its state, and the servers of the user and of each project."""
    moved = environ.get("CLAUDE_CONFIG_DIR")
    return Path(moved or environ.get("HOME") or os.path.expanduser("~")) / ".claude.json"


def _claude_project(root: Path) -> str:
    """The key of a project there: the root of the repository, for a linked work tree that of the main one."""
    top = work_tree(str(root))
    return main_work_tree(top or str(root)) or top or str(root)


def entries(agent: str, scope: str) -> OurEntries:
    """Our entries. A project's settings are shared, so commands there have no path of this machine."""
    is_shared = scope == "project"
    hook, knowbound = _command("knowbound-hook", is_shared), _command("knowbound", is_shared)
    hooks = {}
    for event in HOOKED[agent]:
        line = _shared_line(agent, event) if is_shared else _shell(hook, event)
        seconds = _AT_THE_END.get(event, HOOK_SECONDS)
        matcher = _MATCHERS.get((agent, event))
        group: dict[str, Any] = {"matcher": matcher} if matcher else {}
        hooks[EVENTS[event]] = group | {"hooks": [{"type": "command", "command": line, "timeout": seconds}]}
    server: dict[str, Any] = {"command": knowbound, "args": ["mcp"]}
    return OurEntries(hooks, {"type": "stdio", **server} if agent == "claude-code" else server)


def _shared_line(agent: str, event: str) -> str:
    own = f'grep -qs "knowbound-hook.* {event}" {_OWN_HOOKS[agent]}'
    return f"{_SHARED} && ! {own} || exec cat >/dev/null; exec knowbound-hook {event}"


def is_our_hook(handler: object) -> bool:
    """Whether a hook in an agent's settings calls us, from whatever path."""
    command = handler.get("command") if isinstance(handler, dict) else None
    return isinstance(command, str) and _calls_us(command)


def is_our_server(server: object) -> bool:
    """Whether an MCP server in an agent's settings is ours."""
    command = server.get("command") if isinstance(server, dict) else None
    return isinstance(command, str) and _name(command) == "knowbound"


def hook_words(command: str) -> list[str]:
    """The program that a hook's command line runs, and its arguments; without those of a shared line before it."""
    try:
        line = command.rpartition("; exec ")[2] if command.startswith(_SHARED) else command
        words = shlex.split(line, posix=os.name != "nt")
    except ValueError:
        return []
    return [word.strip('"') for word in words]


def _calls_us(command: str) -> bool:
    names = [_name(word) for word in hook_words(command)[:2]]
    return names[:1] == ["knowbound-hook"] or names == ["knowbound", "hook"]


def _name(command: str) -> str:
    return PurePath(command.replace("\\", "/")).name.removesuffix(".exe")


def _command(name: str, is_shared: bool) -> str:
    if is_shared:
        return name
    beside = Path(sys.executable).parent / (name + (".exe" if os.name == "nt" else ""))
    found = str(beside) if beside.exists() else shutil.which(name)
    if not found:
        raise InputError("no-command", f"The command {name} is neither in {beside.parent} nor on the PATH.")
    return found


def _shell(*words: str) -> str:
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)

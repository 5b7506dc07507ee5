"""Our entries in the settings of agents, compared with the entries that `install` writes."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from knowbound.agent.clients import (
    AGENTS,
    SCOPES,
    OurEntries,
    SettingsFile,
    entries,
    hook_words,
    is_tool_hook,
    settings_files,
)
from knowbound.agent.doctor import NOTE, OK, PROBLEM, HealthCheck
from knowbound.agent.doctor.plugins import check_plugins, plugin_agents
from knowbound.agent.doctor.trial import search_path
from knowbound.agent.settings_entries import entries_in, value_of
from knowbound.distribution import path_command
from knowbound.errors import InputError, KnowboundError
from knowbound.judge.models.claude_client import managed_folder


@dataclass(frozen=True, slots=True)
class OurHook:
    """One of our hooks in an agent's settings."""

    event: str  # the agent's name of it
    group: int
    handler: int
    matcher: str | None  # of its group
    entry: Mapping[str, Any]

    @property
    def command(self) -> str:
        """The command line."""
        return str(self.entry.get("command", ""))


@dataclass(frozen=True, slots=True)
class Installation:
    """Our entries in one scope of one agent."""

    agent: str
    scope: str
    files: tuple[SettingsFile, ...]
    hooks: list[OurHook] = field(default_factory=list)
    tool_hooks: list[OurHook] = field(default_factory=list)  # that call the server
    servers: list[Mapping[str, Any]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)  # files that cannot be read
    disabled_in: list[Path] = field(default_factory=list)  # files that switch off all hooks of the agent

    @property
    def name(self) -> str:
        """The name in the checks."""
        return f"{self.agent} ({self.scope})"

    @property
    def install_command(self) -> str:
        """The command that brings the installation up to date."""
        return f"knowbound install {self.agent}" + ("" if self.scope == "user" else f" --scope {self.scope}")

    def wanted(self) -> OurEntries:
        """Return the entries that `install` would write. Raises InputError."""
        return entries(self.agent, self.scope)


def find_installations(root: Path, environ: Mapping[str, str]) -> list[Installation]:
    """Find every scope that has our entries, or a file that cannot be read."""
    found = []
    for agent in AGENTS:
        for scope in SCOPES:
            try:
                one = Installation(agent, scope, settings_files(agent, scope, root, environ))
            except InputError:
                continue  # the agent has no such scope, or the project made its file a link
            for file in one.files:
                _read(file, one)
            if one.hooks or one.servers or one.problems or one.disabled_in:
                found.append(one)
    return found


def _read(file: SettingsFile, one: Installation) -> None:
    try:
        value = value_of(file, file.path.read_text("utf-8"))
        ours = entries_in(file, value)
    except FileNotFoundError:
        return
    except (KnowboundError, OSError, ValueError) as error:
        one.problems.append(f"{file.path} cannot be read: {error}")
        return
    if file.has_hooks and value.get("disableAllHooks") is True:  # Claude Code's own switch
        one.disabled_in.append(file.path)
    for path, entry in ours.items():
        if path[0] == "hooks":
            matcher = value["hooks"][path[1]][path[2]].get("matcher")
            hooks = one.tool_hooks if is_tool_hook(entry) else one.hooks
            hooks.append(OurHook(str(path[1]), int(path[2]), int(path[4]), matcher, entry))
        else:
            one.servers.append(entry)


def check_installations(found: list[Installation], root: Path, environ: Mapping[str, str]) -> Iterator[HealthCheck]:
    """Check each installation as the settings have it."""
    for one in found:
        for problem in one.problems:
            yield HealthCheck(one.name, PROBLEM, problem, "knowbound explain settings-broken")
        for path in one.disabled_in:
            found_there = f"{path} switches off all hooks of {one.agent}: disableAllHooks"
            yield HealthCheck(one.name, PROBLEM, found_there, f"remove disableAllHooks from {path}")
        if one.hooks or one.servers:
            yield _check(one, root, environ)
    plugins = plugin_agents(root, environ)
    yield from check_plugins(plugins, {one.agent for one in found if one.hooks}, managed_folder(), environ)
    if not plugins and not any(one.hooks for one in found):
        yield HealthCheck("hooks", NOTE, "installed in no agent", "knowbound install claude-code")
    yield from _check_double_scopes(found)


def _check(one: Installation, root: Path, environ: Mapping[str, str]) -> HealthCheck:
    """Return the worst finding about an installation."""
    try:
        wanted = one.wanted()
    except InputError as error:
        return HealthCheck(one.name, PROBLEM, str(error), "knowbound explain no-command")
    where = ", ".join(str(file.path) for file in one.files if file.has_hooks)
    path = search_path(root, environ)
    programs = [*(hook_words(hook.command)[:1] for hook in one.hooks), *([_program(server)] for server in one.servers)]
    gone = sorted({name for [name] in programs if not shutil.which(name, path=path)})
    if gone and one.scope == "project" and not os.path.isabs(gone[0]):
        found = f"{where} calls {gone[0]}, which is not on the PATH: on this machine it does nothing"
        return HealthCheck(one.name, PROBLEM, found, path_command())
    if gone:
        return HealthCheck(one.name, PROBLEM, f"{where} calls {gone[0]}, which is not there", one.install_command)
    events = Counter(hook.event for hook in one.hooks)
    lacking = [event for event in wanted.hooks if event not in events] + (["the MCP server"] if not one.servers else [])
    if lacking:
        found = f"{where} has an incomplete or earlier set, without {', '.join(lacking)}"
        return HealthCheck(one.name, PROBLEM, found, one.install_command)
    extra = [event for event, times in events.items() if event not in wanted.hooks or times > 1]
    if extra:
        found = f"{where} has hooks of an earlier version: {', '.join(extra)}"
        return HealthCheck(one.name, PROBLEM, found, one.install_command)
    others = [hook.command for hook in one.hooks if hook.command != _command(wanted, hook.event)]
    others += [_program(server) for server in one.servers if _program(server) != wanted.server["command"]]
    if others:
        found = f"{where} calls another installation, or was written by an earlier version: {others[0]}"
        return HealthCheck(one.name, NOTE, found, one.install_command)
    return HealthCheck(one.name, OK, f"{', '.join(events)} in {where}")


def _check_double_scopes(found: list[Installation]) -> Iterator[HealthCheck]:
    """Report scopes that answer a prompt twice: agents run all scopes, and only shared hooks give way to the user's."""
    for agent in AGENTS:
        scopes = [one.scope for one in found if one.agent == agent and one.hooks]
        if "local" in scopes and len(scopes) > 1:
            yield HealthCheck(
                agent,
                PROBLEM,
                f"installed in the scopes {' and '.join(scopes)}: every prompt is answered twice",
                f"knowbound uninstall {agent} --scope local",
            )


def _command(wanted: OurEntries, event: str) -> str:
    return str(wanted.hooks[event]["hooks"][0]["command"])


def _program(server: Mapping[str, Any]) -> str:
    return str(server.get("command", ""))

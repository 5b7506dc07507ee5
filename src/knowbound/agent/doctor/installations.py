"""Agents' settings: our entries, compared with what `install` writes; the plugin; trust in Codex; telemetry."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from knowbound.agent.doctor import NOTE, OK, PROBLEM, HealthCheck, first_wrong
from knowbound.agent.install import clients
from knowbound.agent.install.entries import entries_in, parse, value_of
from knowbound.distribution import path_command
from knowbound.errors import InputError, KnowboundError
from knowbound.judge.models.claude_client import managed_folder
from knowbound.process import trusted_path


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
    files: tuple[clients.SettingsFile, ...]
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

    @property
    def hook_files(self) -> list[Path]:
        """The files that hooks belong into."""
        return [file.path for file in self.files if file.has_hooks]

    def wanted(self) -> clients.OurEntries:
        """Return the entries that `install` would write. Raises InputError."""
        return clients.entries(self.agent, self.scope)


def find_installations(root: Path, environ: Mapping[str, str]) -> list[Installation]:
    """Find every scope that has our entries, or a file that cannot be read."""
    installations = []
    for agent in clients.AGENTS:
        for scope in clients.SCOPES:
            try:
                installed = Installation(agent, scope, clients.settings_files(agent, scope, root, environ))
            except InputError:
                continue  # the agent has no such scope, or the project made its file a link
            for file in installed.files:
                _add_entries(file, installed)
            if installed.hooks or installed.servers or installed.problems or installed.disabled_in:
                installations.append(installed)
    return installations


def _add_entries(file: clients.SettingsFile, installed: Installation) -> None:
    """Add our entries in a settings file to its installation, or the problem with the file."""
    try:
        value = value_of(file, file.path.read_text("utf-8"))
        ours = entries_in(file, value)
    except FileNotFoundError:
        return
    except (KnowboundError, OSError, ValueError) as error:
        installed.problems.append(f"{file.path} cannot be read: {error}")
        return
    if file.has_hooks and value.get("disableAllHooks") is True:  # Claude Code's own switch
        installed.disabled_in.append(file.path)
    for path, entry in ours.items():
        if path[0] == "hooks":
            _, event, group, _, handler = path  # ("hooks", event, group, "hooks", handler)
            matcher = value["hooks"][event][group].get("matcher")
            hooks = installed.tool_hooks if clients.is_tool_hook(entry) else installed.hooks
            hooks.append(
                OurHook(event=str(event), group=int(group), handler=int(handler), matcher=matcher, entry=entry)
            )
        else:
            installed.servers.append(entry)


def check_installations(
    installations: list[Installation], root: Path, environ: Mapping[str, str]
) -> Iterator[HealthCheck]:
    """Check each installation as the settings have it."""
    for installation in installations:
        for problem in installation.problems:
            yield HealthCheck(installation.name, PROBLEM, problem, "knowbound explain settings-broken")
        for path in installation.disabled_in:
            found_there = f"{path} switches off all hooks of {installation.agent}: disableAllHooks"
            yield HealthCheck(installation.name, PROBLEM, found_there, f"remove disableAllHooks from {path}")
        if installation.hooks or installation.servers:
            yield _check_entries(installation, root, environ)
    plugins = plugin_agents(root, environ)
    hooked = {installation.agent for installation in installations if installation.hooks}
    yield from check_plugins(plugins, hooked, managed_folder(), environ)
    if not plugins and not hooked:
        yield HealthCheck("hooks", NOTE, "installed in no agent", "knowbound install claude-code")
    yield from _check_double_scopes(installations)


def _check_entries(installed: Installation, root: Path, environ: Mapping[str, str]) -> HealthCheck:
    """Return the worst finding about the entries of an installation."""
    try:
        wanted_entries = installed.wanted()
    except InputError as error:
        return HealthCheck(installed.name, PROBLEM, str(error), "knowbound explain no-command")
    where = ", ".join(map(str, installed.hook_files))
    servers = [str(server.get("command", "")) for server in installed.servers]
    programs = {word for hook in installed.hooks for word in clients.hook_words(hook.command)[:1]} | {*servers}
    missing_programs = sorted(name for name in programs if not shutil.which(name, path=search_path(root, environ)))
    events = Counter(hook.event for hook in installed.hooks)
    lacking = [event for event in wanted_entries.hooks if event not in events] + ["the MCP server"] * (not servers)
    superfluous = [event for event, times in events.items() if event not in wanted_entries.hooks or times > 1]
    other_commands = [hook.command for hook in installed.hooks if hook.command != wanted_entries.command(hook.event)]
    other_commands += [program for program in servers if program != wanted_entries.server["command"]]
    missing, other = ", ".join(missing_programs[:1]), ", ".join(other_commands[:1])
    is_for_path = missing and installed.scope == "project" and not os.path.isabs(missing)
    nowhere = f"{where} calls {missing}, which is not on the PATH: on this machine it does nothing"
    incomplete = f"{where} has an incomplete or earlier set, without {', '.join(lacking)}"
    earlier = f"{where} has hooks of an earlier version: {', '.join(superfluous)}"
    another = f"{where} calls another installation, or was written by an earlier version: {other}"
    findings = (
        (is_for_path, PROBLEM, nowhere, path_command()),
        (missing, PROBLEM, f"{where} calls {missing}, which is not there", installed.install_command),
        (lacking, PROBLEM, incomplete, installed.install_command),
        (superfluous, PROBLEM, earlier, installed.install_command),
        (other, NOTE, another, installed.install_command),
    )
    good = HealthCheck(installed.name, OK, f"{', '.join(events)} in {where}")
    return first_wrong(installed.name, findings) or good


def _check_double_scopes(installations: list[Installation]) -> Iterator[HealthCheck]:
    """Report scopes that answer a prompt twice: agents run all scopes, and only shared hooks give way to the user's."""
    for agent in clients.AGENTS:
        scopes = [installed.scope for installed in installations if installed.agent == agent and installed.hooks]
        if "local" in scopes and len(scopes) > 1:
            finding = f"installed in the scopes {' and '.join(scopes)}: every prompt is answered twice"
            yield HealthCheck(agent, PROBLEM, finding, f"knowbound uninstall {agent} --scope local")


def search_path(root: Path, environ: Mapping[str, str]) -> str:
    """Return the user's PATH without folders of the project, except the folder that we run from."""
    folders = environ.get("PATH", os.defpath).split(os.pathsep)
    trusted = trusted_path(os.pathsep.join(folders), root).split(os.pathsep)
    ours = os.path.dirname(sys.executable)
    return os.pathsep.join(folder for folder in folders if folder in trusted or folder == ours)


# The plugin, and managed settings that keep hooks out

_PLUGIN = "knowbound@"


def plugin_agents(root: Path, environ: Mapping[str, str]) -> list[str]:
    """Return the agents whose own settings have the plugin switched on."""
    files = {agent: clients.settings_files(agent, "user", root, environ) for agent in clients.AGENTS}
    return [agent for agent in files if any(_has_plugin(_settings_in(file.path)) for file in files[agent])]


def check_plugins(
    agents: list[str], with_hooks: set[str], managed: Path, environ: Mapping[str, str]
) -> Iterator[HealthCheck]:
    """Say where the plugin is on, whether it is set up, and whether the administrator lets hooks run."""
    home = Path(environ.get("HOME") or Path.home())
    plugin_data = Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "knowbound"
    setup_calls = {"claude-code": "/knowbound setup", "codex": "$knowbound setup"}
    for agent in agents:
        name = f"{agent} (plugin)"
        if agent in with_hooks:
            yield HealthCheck(name, OK, "it gives way to the hooks in your settings")
        elif (plugin_data / "current").is_file():
            yield HealthCheck(name, OK, f"it answers hooks, from {plugin_data}")
        else:
            do = f"type {setup_calls[agent]} in {agent}"
            yield HealthCheck(name, NOTE, "it is not set up: its hooks are silent", do)
    settings = _settings_in(managed / "managed-settings.json")
    if settings.get("allowManagedHooksOnly") is True and not _has_plugin(settings):
        finding = f"{managed} allows managed hooks only: hooks of yours and of your plugins do not run"
        yield HealthCheck("claude-code (managed)", NOTE, finding, "ask your administrator: docs/rollout.md")


def _has_plugin(settings: Mapping[str, Any]) -> bool:
    """Report whether an agent's settings have our plugin switched on."""
    for key in ("enabledPlugins", "plugins"):  # Claude Code, Codex
        plugins = settings.get(key)
        for name, value in plugins.items() if isinstance(plugins, dict) else ():
            is_on = value is True or (isinstance(value, dict) and value.get("enabled", True) is True)
            if is_on and str(name).startswith(_PLUGIN):
                return True
    return False


def _settings_in(path: Path) -> dict[str, Any]:
    """Return a settings file; {} for a file that cannot be read, which another check names."""
    try:
        text = path.read_text("utf-8")
        settings = tomllib.loads(text) if path.suffix == ".toml" else parse(text)
    except (OSError, ValueError, RecursionError):
        return {}
    return settings if isinstance(settings, dict) else {}


# Codex skips hooks without a word until its user has reviewed them. Trust is in the user's `config.toml`, also for the
# hooks of a project: `hooks.state`, by file, event and place, with a hash of the hook as it was reviewed: of its
# definition as compact JSON with sorted keys.

_REVIEW = "open Codex, enter /hooks and trust them"
_CODEX_SECONDS = 600  # its timeout of a hook that names none
_NO_MATCHER = ("UserPromptSubmit", "Stop")  # events whose matcher Codex ignores


def check_codex_trust(
    installations: list[Installation], root: Path, environ: Mapping[str, str]
) -> Iterator[HealthCheck]:
    """Check that each installation in Codex is reviewed as it is now, and not switched off."""
    for installation in installations:
        if installation.agent == "codex" and installation.hooks:
            yield _check_trust(installation, root, _codex_config(root, environ))


def _check_trust(installed: Installation, root: Path, config: Mapping[str, Any] | None) -> HealthCheck:
    """Check that Codex runs the hooks of an installation: switched on, read, and reviewed as they are."""
    name = f"{installed.name} trust"
    if config is None:
        finding = "unknown: Codex's config.toml cannot be read"
        return HealthCheck(name, NOTE, finding, "knowbound explain settings-broken")
    features = config.get("features")
    is_off = isinstance(features, dict) and features.get("hooks") is False
    is_unread = installed.scope == "project" and not _is_trusted_project(config, root)  # Codex skips such a file
    states = {hook.event: trust_of(hook, installed.hook_files[0], config) for hook in installed.hooks}
    wrong = [f"{event} ({state})" for event, state in states.items() if state != "trusted"]
    unread = f"Codex reads no settings of {root}, because you have not trusted it there"
    findings = (
        (is_off, PROBLEM, "Codex's hooks are switched off: features.hooks", "codex features enable hooks"),
        (is_unread, PROBLEM, unread, "open Codex there and trust the project"),
        (wrong, PROBLEM, f"Codex does not run {', '.join(wrong)}", _REVIEW),
    )
    return first_wrong(name, findings) or HealthCheck(name, OK, f"{', '.join(states)} reviewed in Codex")


def trust_of(hook: OurHook, file: Path, config: Mapping[str, Any]) -> str:
    """Return Codex's word: `trusted`, `untrusted` (not reviewed), `modified` (since the review) or `disabled`."""
    hooks = config.get("hooks")
    states = hooks.get("state") if isinstance(hooks, dict) else None
    key = f"{file}:{_snake(hook.event)}:{hook.group}:{hook.handler}"
    state = states.get(key) if isinstance(states, dict) else None
    if not isinstance(state, dict) or not state.get("trusted_hash"):
        return "untrusted"
    if state["trusted_hash"] != hash_of(hook):
        return "modified"
    return "disabled" if state.get("enabled") is False else "trusted"


def hash_of(hook: OurHook) -> str:
    """Return the hash of a hook as Codex 0.166 makes it."""
    entry = hook.entry
    handler: dict[str, Any] = {
        "type": "command",
        "command": hook.command,
        "timeout": entry.get("timeout", _CODEX_SECONDS),
        "async": bool(entry.get("async", False)),
    }
    handler |= {key: entry[key] for key in ("statusMessage", "additionalContextLimit") if entry.get(key) is not None}
    definition: dict[str, Any] = {"event_name": _snake(hook.event), "hooks": [handler]}
    if hook.matcher is not None and hook.event not in _NO_MATCHER:
        definition["matcher"] = hook.matcher
    text = json.dumps(definition, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _codex_config(root: Path, environ: Mapping[str, str]) -> Mapping[str, Any] | None:
    """Read the user's own config; Codex reads trust from no other."""
    path = clients.settings_files("codex", "user", root, environ)[1].path
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError):
        return None


def _is_trusted_project(config: Mapping[str, Any], root: Path) -> bool:
    projects = config.get("projects")
    table = projects.get(str(root)) if isinstance(projects, dict) else None
    return isinstance(table, dict) and table.get("trust_level") == "trusted"


def _snake(event: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", event).lower()


# Telemetry that the agents themselves send: whether it is on, to whom, with which texts, and whether ours joins it.
# Claude Code is configured by variables, of the process or in `env` of its settings (a later file wins); Codex by
# `[otel]` in its config. Names from code.claude.com/docs (monitoring) and developers.openai.com/codex (config).

_ENABLED = "CLAUDE_CODE_ENABLE_TELEMETRY"
_SIGNALS = ("METRICS", "LOGS", "TRACES")
_TEXT_VARIABLES = {
    "OTEL_LOG_USER_PROMPTS": "prompts",
    "OTEL_LOG_TOOL_DETAILS": "tools' inputs",
    "OTEL_LOG_TOOL_CONTENT": "tools' inputs and outputs",
    "OTEL_LOG_RAW_API_BODIES": "whole requests",
}
_SESSION_ID = "OTEL_METRICS_INCLUDE_SESSION_ID"


def check_telemetry(root: Path, environ: Mapping[str, str]) -> Iterator[HealthCheck]:
    """Check what each agent sends; an agent that sends nothing has no line."""
    yield from _check_claude_code(_variables(root, environ))
    yield from _check_codex(_settings_in(clients.settings_files("codex", "user", root, environ)[1].path).get("otel"))


def _check_claude_code(variables: Mapping[str, str]) -> Iterator[HealthCheck]:
    """Check the variables that say what Claude Code exports."""
    if not _is_on(variables.get(_ENABLED)):
        return
    name = "telemetry of claude-code"
    exporters = {signal: variables.get(f"OTEL_{signal}_EXPORTER", "") for signal in _SIGNALS}
    sent = [signal.lower() for signal, exporter in exporters.items() if exporter not in ("", "none")]
    if not sent:
        yield HealthCheck(name, NOTE, "on, and nothing is exported: no OTEL_…_EXPORTER is set")
        return
    general = variables.get("OTEL_EXPORTER_OTLP_ENDPOINT", "")
    otlp = [signal for signal in sent if "otlp" in exporters[signal.upper()].split(",")]
    addresses = {variables.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT") or general for signal in otlp}
    summary = f"{', '.join(sent)}{_hosts_words(addresses)}"
    texts = [text for variable, text in _TEXT_VARIABLES.items() if _is_on(variables.get(variable))]
    if texts and sent != ["metrics"]:  # these have no texts
        finding = f"{summary}, with the text of {', '.join(texts)}: secrets in it leave this machine"
        yield HealthCheck(name, NOTE, finding)
    elif variables.get(_SESSION_ID, "").lower() in ("false", "0"):
        finding = f"{summary}, without session ids ({_SESSION_ID}): verdicts that you export join nothing"
        yield HealthCheck(name, NOTE, finding)
    else:
        yield HealthCheck(name, OK, f"{summary}; exported verdicts join it by the session's id")


def _check_codex(otel: object) -> Iterator[HealthCheck]:
    """Check the table `[otel]` of Codex's config."""
    if not isinstance(otel, dict):
        return
    sent, addresses = list[str](), set[str]()
    for key, signal in (("exporter", "logs"), ("trace_exporter", "traces"), ("metrics_exporter", "metrics")):
        exporter = otel.get(key)
        if isinstance(exporter, dict):  # {"otlp-http": {"endpoint": …}}
            tables = (options for options in exporter.values() if isinstance(options, dict))
            addresses |= {str(table.get("endpoint", "")) for table in tables}
        if exporter not in (None, "none"):
            sent.append(signal)
    if not sent:
        return
    name, summary = "telemetry of codex", f"{', '.join(sent)}{_hosts_words(addresses)}"
    if otel.get("log_user_prompt") is True:
        yield HealthCheck(name, NOTE, f"{summary}, with the text of prompts: secrets in it leave this machine")
    else:
        yield HealthCheck(name, OK, f"{summary}; exported verdicts join it by the conversation's id")


def _variables(root: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that Claude Code runs with: those of its settings count before those of the process."""
    variables = dict(environ)
    files = [clients.settings_files("claude-code", scope, root, environ)[0].path for scope in clients.SCOPES]
    for path in (*files, managed_folder() / "managed-settings.json"):
        env = _settings_in(path).get("env")
        variables |= {str(name): str(value) for name, value in env.items()} if isinstance(env, dict) else {}
    return variables


def _is_on(value: str | None) -> bool:
    return (value or "").strip().lower() not in ("", "0", "false", "no", "off")


def _hosts_words(addresses: set[str]) -> str:
    """Return the hosts; an address can hold a password."""
    hosts = sorted({urlsplit(address).hostname or "" for address in addresses} - {""})
    return f" to {', '.join(hosts)}" if hosts else ""

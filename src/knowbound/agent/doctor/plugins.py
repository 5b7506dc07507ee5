"""The plugin in each agent, and managed settings that keep hooks out."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from knowbound.agent.clients import AGENTS, settings_files
from knowbound.agent.doctor import NOTE, OK, HealthCheck

_NAME = "knowbound@"


def plugin_agents(root: Path, environ: Mapping[str, str]) -> list[str]:
    """Return the agents whose own settings have the plugin switched on."""
    found = []
    for agent in AGENTS:
        tables = (_value(file.path) for file in settings_files(agent, "user", root, environ))
        if any(map(_has_plugin, tables)):
            found.append(agent)
    return found


def check_plugins(
    agents: list[str], with_hooks: set[str], managed: Path, environ: Mapping[str, str]
) -> Iterator[HealthCheck]:
    """Say where the plugin is on, whether it is set up, and whether the administrator lets hooks run."""
    home = Path(environ.get("HOME") or Path.home())
    kept = Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "knowbound"
    call = {"claude-code": "/knowbound setup", "codex": "$knowbound setup"}
    for agent in agents:
        name = f"{agent} (plugin)"
        if agent in with_hooks:
            yield HealthCheck(name, OK, "it gives way to the hooks in your settings")
        elif (kept / "current").is_file():
            yield HealthCheck(name, OK, f"it answers hooks, from {kept}")
        else:
            yield HealthCheck(name, NOTE, "it is not set up: its hooks are silent", f"type {call[agent]} in {agent}")
    settings = _value(managed / "managed-settings.json")
    if settings.get("allowManagedHooksOnly") is True and not _has_plugin(settings):
        found = f"{managed} allows managed hooks only: hooks of yours and of your plugins do not run"
        yield HealthCheck("claude-code (managed)", NOTE, found, "ask your administrator: docs/rollout.md")


def _has_plugin(settings: Mapping[str, Any]) -> bool:
    for key in ("enabledPlugins", "plugins"):  # Claude Code, Codex
        plugins = settings.get(key)
        for name, value in plugins.items() if isinstance(plugins, dict) else ():
            is_on = value is True or (isinstance(value, dict) and value.get("enabled", True) is True)
            if is_on and str(name).startswith(_NAME):
                return True
    return False


def _value(path: Path) -> dict[str, Any]:
    """Return a settings file; {} for one that cannot be read, which another check names."""
    try:
        text = path.read_text("utf-8")
        found = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}

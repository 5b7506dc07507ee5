"""Where the hooks are installed, and whether what they call is there."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from knowbound.agent.clients import AGENTS, SCOPES, SettingsFile, settings_files
from knowbound.agent.doctor.check import NOTE, OK, PROBLEM, HealthCheck
from knowbound.agent.settings.entries import entries_in, value_of
from knowbound.errors import InputError, KnowboundError


def check_installations(root: Path, environ: Mapping[str, str]) -> Iterator[HealthCheck]:
    """Each agent and scope that has our hooks."""
    found = False
    for agent in AGENTS:
        for scope in SCOPES:
            try:
                files = settings_files(agent, scope, root, environ)
            except InputError:
                continue  # the agent has no such scope
            for file in files:
                for check in _installed(f"{agent} ({scope})", file):
                    found = True
                    yield check
    if not found:
        yield HealthCheck("hooks", NOTE, "installed in no agent", "knowbound install claude-code")


def _installed(name: str, file: SettingsFile) -> Iterator[HealthCheck]:
    """Nothing where we are not; a command that is not there any more is a problem on every prompt."""
    if not file.has_hooks or not file.path.exists():
        return
    try:
        value = value_of(file, file.path.read_text("utf-8"))
    except (KnowboundError, OSError, UnicodeDecodeError) as error:
        yield HealthCheck(name, PROBLEM, f"{file.path} cannot be read: {error}")
        return
    commands = {str(path[1]): hook["command"] for path, hook in entries_in(file, value).items() if path[0] == "hooks"}
    missing = sorted({word for command in commands.values() if not shutil.which(word := shlex.split(command)[0])})
    if missing:
        yield HealthCheck(name, PROBLEM, f"{file.path} calls {missing[0]}, which is not there", "knowbound install")
    elif commands:
        yield HealthCheck(name, OK, f"{', '.join(commands)} in {file.path}")

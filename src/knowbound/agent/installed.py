"""Where our entries are: found in the settings of agents, also of projects other than this one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from knowbound.agent.backups import kept_paths
from knowbound.agent.clients import SettingsFile, claude_state, settings_files
from knowbound.agent.settings.entries import entries_in, server_places, value_of
from knowbound.errors import KnowboundError
from knowbound.files import leads_out

_LOCAL = (".claude", "settings.local.json")


def is_installed(file: SettingsFile) -> bool:
    """Whether the file has entries of ours; one that cannot be read has none that we could speak of."""
    try:
        return bool(entries_in(file, value_of(file, file.path.read_text("utf-8"))))
    except (KnowboundError, OSError, ValueError):
        return False


def installed_files(agent: str, scope: str, root: Path, environ: Mapping[str, str]) -> list[SettingsFile]:
    """The files of a scope that have entries of ours."""
    return [file for file in settings_files(agent, scope, root, environ) if is_installed(file)]


def local_files(environ: Mapping[str, str], root: Path | None = None) -> Iterator[SettingsFile]:
    """Claude Code's local scope wherever it has entries of ours; with a root, only in and below that.

    Hooks are looked for where backups were kept, and in the root; servers in the client's own list of projects.
    """
    here = [root.joinpath(*_LOCAL)] if root else []
    for path in dict.fromkeys((*here, *(path for path in kept_paths() if path.parts[-2:] == _LOCAL))):
        file, folder = SettingsFile(path, has_hooks=True), path.parent.parent
        is_here = root is None or folder.is_relative_to(root)
        if is_here and not leads_out(path, folder) and is_installed(file):
            yield file
    state = SettingsFile(claude_state(environ), servers=("mcpServers",))
    try:
        places = server_places(value_of(state, state.path.read_text("utf-8")))
    except (KnowboundError, OSError, ValueError):
        return
    for place in places:
        is_here = root is None or Path(str(place[1])).is_relative_to(root) if len(place) == 3 else False
        file = SettingsFile(state.path, servers=place)
        if is_here and is_installed(file):
            yield file

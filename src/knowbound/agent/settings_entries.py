"""Our entries in the text of an agent's settings: found, added and removed, with nothing else touched."""

from __future__ import annotations

import copy
import tomllib
from typing import Any

from knowbound.agent.clients import SERVER, OurEntries, SettingsFile, is_our_hook, is_our_server
from knowbound.agent.settings_text import (
    APPEND,
    BrokenJsonError,
    Path,
    added,
    parse,
    removed,
    with_table,
    without_table,
)
from knowbound.errors import InputError


def value_of(file: SettingsFile, text: str) -> dict[str, Any]:
    """Parse the settings; a file that the agent could not read is an error."""
    try:
        value = tomllib.loads(text) if file.is_toml else parse(text).value if text.strip("\ufeff \t\r\n") else {}
    except (BrokenJsonError, ValueError) as error:
        raise _broken(file, str(error)) from error
    if not isinstance(value, dict):
        raise _broken(file, "it is no object")
    return value


def entries_in(file: SettingsFile, value: dict[str, Any]) -> dict[Path, Any]:
    """Return our hooks and our server by their paths; another server with our name is an error."""
    found: dict[Path, Any] = {}
    for event, groups in _items(value.get("hooks") if file.has_hooks else None):
        for place, group in _items(groups):
            for number, handler in _items(_at(group, ("hooks",))):
                if is_our_hook(handler):
                    found["hooks", event, place, "hooks", number] = handler
    server = _at(value, (*file.servers, SERVER)) if file.servers else None
    if server is not None:
        if not is_our_server(server):
            problem = f"{file.path} has another MCP server named {SERVER!r}. Rename or remove it first."
            raise InputError("settings-conflict", problem)
        found[*file.servers, SERVER] = server
    return found


def server_places(value: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return the keys that lead to our server in a JSON file: the user's, and those of projects."""
    projects = [("projects", str(name), "mcpServers") for name, _ in _items(value.get("projects"))]
    places: list[tuple[str, ...]] = [("mcpServers",), *projects]
    return [place for place in places if is_our_server(_at(value, (*place, SERVER)))]


def with_ours(file: SettingsFile, text: str, ours: OurEntries) -> str:
    """Return the text with our entries, each once and up to date."""
    before = value_of(file, text)
    hooks: list[tuple[Path, Any]] = [(("hooks", event, APPEND), group) for event, group in ours.groups]
    server: list[tuple[Path, Any]] = [((*file.servers, SERVER), ours.server)]
    added_here = (hooks if file.has_hooks else []) + (server if file.servers else [])
    wanted = sorted(_compared(path, one.get("hooks", [one])[0], one) for path, one in added_here)
    if _commands(file, before) == wanted:
        return text
    after = without_ours(file, text, before)
    try:
        if file.is_toml:
            after = with_table(after, (*file.servers, SERVER), ours.server)
        else:
            after = after if after.strip("\ufeff \t\r\n") else after + "{}\n"
            for path, entry in added_here:
                after = added(after, path, entry)
    except BrokenJsonError as error:
        raise _broken(file, str(error)) from error
    done = value_of(file, after)
    if _commands(file, done) != wanted or _foreign(file, done) != _foreign(file, before):
        raise _broken(file, "our entries cannot be added to it")
    return after


def without_ours(file: SettingsFile, text: str, keep: dict[str, Any] | None = None) -> str:
    """Return the text without our entries and the containers they leave empty, unless `keep` has them empty."""
    before = value_of(file, text)
    ours = entries_in(file, before)
    after = without_table(text, (*file.servers, SERVER)) if file.is_toml and ours else text
    for path in reversed(ours) if not file.is_toml else ():
        after = removed(after, path)
        for container in _containers(path):
            is_kept = keep is not None and _at(keep, container) in ({}, [])
            if not is_kept and _is_empty(_at(parse(after).value, container)):
                after = removed(after, container)
    done = value_of(file, after)
    if entries_in(file, done) or _foreign(file, done) != _foreign(file, before):
        raise InputError(
            "settings-conflict", f"{file.path} has our entries in a form that we cannot remove. Edit it by hand."
        )
    return after


def _commands(file: SettingsFile, value: dict[str, Any]) -> list[str]:
    """Return our commands by place, for a comparison."""
    return sorted(_compared(path, entry, _at(value, path[:3])) for path, entry in entries_in(file, value).items())


def _compared(path: Path, entry: Any, group: Any) -> str:
    """Return what makes an entry ours. A time limit or variable that was added to it is the user's."""
    matcher = group.get("matcher") if path[0] == "hooks" else None
    return repr((path[:2], matcher, [entry.get(name) for name in ("command", "args", "env_vars", "tool", "input")]))


def _foreign(file: SettingsFile, value: dict[str, Any]) -> dict[str, Any]:
    """Return the settings without our entries and the empty containers around them."""
    value = copy.deepcopy(value)
    ours = entries_in(file, value)
    for path in reversed(ours):
        del _at(value, path[:-1])[path[-1]]
    hooks: list[Path] = [("hooks", event, 0) for event, _ in _items(value.get("hooks"))] + [("hooks", "any event")]
    for path in (*reversed(ours), *(hooks if file.has_hooks else ()), (*file.servers, SERVER)):
        for container in _containers(path):
            if _is_empty(_at(value, container)):
                del _at(value, container[:-1])[container[-1]]
    return value


def _containers(path: Path) -> list[Path]:
    """Return the paths of the containers of an entry, innermost first; a group of hooks goes with its last hook."""
    return [path[:length] for length in range(len(path) - 1, 0, -1) if length != 4 or path[0] != "hooks"]


def _is_empty(value: Any) -> bool:
    return value in ({}, []) or (isinstance(value, dict) and value.get("hooks") == [])


def _at(value: Any, path: Path) -> Any:
    for key in path:
        value = dict(_items(value)).get(key)
    return value


def _items(value: Any) -> list[tuple[str | int, Any]]:
    """Return keys and values of an object, or indices and items of a list; nothing for another value."""
    return list(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ())


def _broken(file: SettingsFile, why: str) -> InputError:
    return InputError("settings-broken", f"{file.path} cannot be changed: {why}. Nothing was changed.")

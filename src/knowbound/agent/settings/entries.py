"""Our entries in the text of an agent's settings: put in, taken out, nothing else touched."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from knowbound.agent.clients import SERVER, Entries, SettingsFile, is_our_hook, is_our_server
from knowbound.agent.settings.json_text import (
    BrokenJsonError,
    Node,
    add_item,
    add_member,
    parse,
    without_item,
    without_member,
)
from knowbound.agent.settings.toml_text import with_table, without_table
from knowbound.errors import InputError


def value_of(file: SettingsFile, text: str) -> dict[str, Any]:
    """What the settings say; a file that is not what the agent would read is an error."""
    try:
        value = tomllib.loads(text) if file.is_toml else parse(text).value if text.strip("\ufeff \t\r\n") else {}
    except (BrokenJsonError, tomllib.TOMLDecodeError) as error:
        raise _broken(file.path, str(error)) from error
    if not isinstance(value, dict):
        raise _broken(file.path, "it is no object")
    return value


def with_ours(file: SettingsFile, text: str, ours: Entries) -> str:
    """The text with our entries, once and as they should be."""
    before = value_of(file, text)
    if _called(_ours_in(file, before)) == _called(_wanted(file, ours)):
        return text
    plain = without_ours(file, text, before)
    after = with_table(plain, _table(file), ours.server) if file.is_toml else _with_json(file, plain, ours)
    done = value_of(file, after)
    if _ours_in(file, done) != _wanted(file, ours) or _stripped(file, done) != _stripped(file, before):
        raise _broken(file.path, "our entries cannot be added to it")
    return after


def without_ours(file: SettingsFile, text: str, keep: dict[str, Any] | None = None) -> str:
    """The text without our entries; containers that they leave empty go too, unless `keep` has them empty."""
    before = value_of(file, text)
    hooks, server = _ours_in(file, before)
    after = text
    for event in hooks:
        after = _without_hooks(after, event)
        after = _without_empty(after, ("hooks", event), keep)
        after = _without_empty(after, ("hooks",), keep)
    if server is not None and file.is_toml:
        after = without_table(after, _table(file))
    elif server is not None:
        after = without_member(after, _node(after, file.servers), SERVER)
        for length in range(len(file.servers), 0, -1):
            after = _without_empty(after, file.servers[:length], keep)
    if _stripped(file, value_of(file, after)) != _stripped(file, before) or has_ours(file, after):
        raise InputError(
            "settings-conflict", f"{file.path} has our entries in a form we cannot take out. ItemEdit it by hand."
        )
    return after


def has_ours(file: SettingsFile, text: str) -> bool:
    """Whether any of our entries is there."""
    found = _ours_in(file, value_of(file, text))
    return any(found[0].values()) or found[1] is not None


def _ours_in(file: SettingsFile, value: dict[str, Any]) -> tuple[dict[str, list[Any]], Any]:
    """Our hooks per event, and our server or None; a server of our name that is not ours is an error."""
    hooks: dict[str, list[Any]] = {}
    found = value.get("hooks") if file.has_hooks else None
    for event, groups in found.items() if isinstance(found, dict) else ():
        if ours := [handler for handler in handlers_of(groups) if is_our_hook(handler)]:
            hooks[event] = ours
    server = _at(value, (*file.servers, SERVER)) if file.servers else None
    if server is not None and not is_our_server(server):
        raise InputError(
            "settings-conflict", f"{file.path} has another MCP server named {SERVER!r}. Rename or remove it first."
        )
    return hooks, server


def handlers_of(groups: Any) -> Iterator[Any]:
    """The hooks in the groups of an event."""
    for group in groups if isinstance(groups, list) else ():
        handlers = group.get("hooks") if isinstance(group, dict) else None
        yield from handlers if isinstance(handlers, list) else ()


def _table(file: SettingsFile) -> tuple[str, ...]:
    return (*file.servers, SERVER)


def _wanted(file: SettingsFile, ours: Entries) -> tuple[dict[str, list[Any]], Any]:
    hooks = {event: group["hooks"] for event, group in ours.hooks.items()} if file.has_hooks else {}
    return hooks, ours.server if file.servers else None


def _called(entries: tuple[dict[str, list[Any]], Any]) -> object:
    """What is called where. A time limit or a variable that someone added to our entry is theirs."""
    hooks, server = entries
    commands = {event: [handler["command"] for handler in handlers] for event, handlers in hooks.items()}
    return commands, server and (server.get("command"), server.get("args"))


# JSON


def _with_json(file: SettingsFile, text: str, ours: Entries) -> str:
    if not text.strip("\ufeff \t\r\n"):
        text += "{}\n"
    if file.has_hooks:
        text = _with_container(file, text, ("hooks",), {})
        for event, group in ours.hooks.items():
            text = _with_container(file, text, ("hooks", event), [])
            text = add_item(text, _node(text, ("hooks", event)), group)
    if file.servers:
        for length in range(1, len(file.servers) + 1):
            text = _with_container(file, text, file.servers[:length], {})
        text = add_member(text, _node(text, file.servers), SERVER, ours.server)
    return text


def _with_container(file: SettingsFile, text: str, keys: tuple[str, ...], empty: dict[str, Any] | list[Any]) -> str:
    parent = _node(text, keys[:-1])
    if keys[-1] not in parent.members:
        return add_member(text, parent, keys[-1], empty)
    if type(parent.members[keys[-1]].value) is not type(empty):
        raise _broken(file.path, f"{'.'.join(keys)} is not {'an object' if empty == {} else 'a list'}")
    return text


def _without_hooks(text: str, event: str) -> str:
    """Without our handlers; a group that holds only ours goes with them."""
    place = 0
    while place < len((groups := _node(text, ("hooks", event))).items):
        handlers = groups.items[place].members.get("hooks")
        ours = [at for at, node in enumerate(handlers.items) if is_our_hook(node.value)] if handlers else []
        if not handlers or not ours:
            place += 1
        elif len(ours) == len(handlers.items):
            text = without_item(text, groups, place)
        else:
            text = without_item(text, handlers, ours[0])
    return text


def _without_empty(text: str, keys: tuple[str, ...], keep: dict[str, Any] | None) -> str:
    value = _at(parse(text).value, keys)
    if value not in ({}, []) or (keep is not None and _at(keep, keys) in ({}, [])):
        return text
    return without_member(text, _node(text, keys[:-1]), keys[-1])


def _node(text: str, keys: tuple[str, ...]) -> Node:
    node = parse(text)
    for key in keys:
        node = node.members[key]
    return node


def _at(value: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _stripped(file: SettingsFile, value: dict[str, Any]) -> dict[str, Any]:
    """The settings without our entries and without empty containers on the way to them."""
    value = copy.deepcopy(value)
    hooks = value.get("hooks")
    if file.has_hooks and isinstance(hooks, dict):
        for event in list(hooks):
            if isinstance(hooks[event], list):
                hooks[event] = [group for group in map(_group_without_ours, hooks[event]) if group is not None]
                if not hooks[event]:
                    del hooks[event]
        if not hooks:
            del value["hooks"]
    for length in range(len(file.servers), 0, -1):
        parent = _at(value, file.servers[: length - 1]) if length > 1 else value
        container = _at(value, file.servers[:length])
        if isinstance(container, dict):
            if length == len(file.servers):
                container.pop(SERVER, None)
            if not container and isinstance(parent, dict):
                del parent[file.servers[length - 1]]
    return value


def _group_without_ours(group: Any) -> Any:
    if not isinstance(group, dict) or not isinstance(group.get("hooks"), list):
        return group
    left = [handler for handler in group["hooks"] if not is_our_hook(handler)]
    return {**group, "hooks": left} if left or not group["hooks"] else None


def _broken(path: Path, why: str) -> InputError:
    return InputError("settings-broken", f"{path} cannot be changed: {why}. Nothing was changed.")

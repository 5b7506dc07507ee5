"""Our entries in the text of an agent's settings: found, added and removed, with nothing else touched."""

from __future__ import annotations

import copy
import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any, NamedTuple

from knowbound.agent.install.clients import SERVER, OurEntries, SettingsFile, is_our_hook, is_our_server
from knowbound.errors import InputError


def value_of(file: SettingsFile, text: str) -> dict[str, Any]:
    """Parse the settings; a file that the agent could not read is an error."""
    try:
        value = tomllib.loads(text) if file.is_toml else parse(text) if text.strip("\ufeff \t\r\n") else {}
    except (BrokenJsonError, ValueError) as error:
        raise _broken(file, str(error)) from error
    if not isinstance(value, dict):
        raise _broken(file, "it is no object")
    return value


def entries_in(file: SettingsFile, value: dict[str, Any]) -> dict[Path, Any]:
    """Return our hooks and our server by their paths; another server with our name is an error."""
    found: dict[Path, Any] = {}
    for event, groups in _members(value.get("hooks") if file.has_hooks else None):
        for group_index, group in _members(groups):
            for index, handler in _members(_value_at(group, ("hooks",))):
                if is_our_hook(handler):
                    found["hooks", event, group_index, "hooks", index] = handler
    server = _value_at(value, (*file.servers, SERVER)) if file.servers else None
    if server is not None:
        if not is_our_server(server):
            problem = f"{file.path} has another MCP server named {SERVER!r}. Rename or remove it first."
            raise InputError("settings-conflict", problem)
        found[*file.servers, SERVER] = server
    return found


def server_places(value: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return the keys that lead to our server in a JSON file: the user's, and those of projects."""
    projects = [("projects", str(name), "mcpServers") for name, _ in _members(value.get("projects"))]
    places: list[tuple[str, ...]] = [("mcpServers",), *projects]
    return [place for place in places if is_our_server(_value_at(value, (*place, SERVER)))]


def with_ours(file: SettingsFile, text: str, ours: OurEntries) -> str:
    """Return the text with our entries, each once and up to date."""
    value_before = value_of(file, text)
    hooks: list[tuple[Path, Any]] = [(("hooks", event, APPEND), group) for event, group in ours.groups]
    server: list[tuple[Path, Any]] = [((*file.servers, SERVER), ours.server)]
    added_here = (hooks if file.has_hooks else []) + (server if file.servers else [])
    # Compared by the one hook of a group, or by the server.
    wanted = sorted(_comparable(path, entry.get("hooks", [entry])[0], entry) for path, entry in added_here)
    if _comparable_entries(file, value_before) == wanted:
        return text
    after = without_ours(file, text, value_before)
    try:
        if file.is_toml:
            after = with_table(after, (*file.servers, SERVER), ours.server)
        else:
            after = after if after.strip("\ufeff \t\r\n") else after + "{}\n"
            for path, entry in added_here:
                after = added(after, path, entry)
    except BrokenJsonError as error:
        raise _broken(file, str(error)) from error
    value_after = value_of(file, after)
    if _comparable_entries(file, value_after) != wanted or not _keeps_others(file, value_before, value_after):
        raise _broken(file, "our entries cannot be added to it")
    return after


def without_ours(file: SettingsFile, text: str, keep: dict[str, Any] | None = None) -> str:
    """Return the text without our entries and the containers they leave empty, unless `keep` has them empty."""
    value_before = value_of(file, text)
    our_entries = entries_in(file, value_before)
    after = without_table(text, (*file.servers, SERVER)) if file.is_toml and our_entries else text
    for path in reversed(our_entries) if not file.is_toml else ():
        after = removed(after, path)
        for container in _containers(path):
            is_kept = keep is not None and _value_at(keep, container) in ({}, [])
            if not is_kept and _is_empty(_value_at(parse(after), container)):
                after = removed(after, container)
    value_after = value_of(file, after)
    if entries_in(file, value_after) or not _keeps_others(file, value_before, value_after):
        raise InputError(
            "settings-conflict", f"{file.path} has our entries in a form that we cannot remove. Edit it by hand."
        )
    return after


def _comparable_entries(file: SettingsFile, value: dict[str, Any]) -> list[str]:
    """Return our commands by place, for a comparison."""
    return sorted(
        _comparable(path, entry, _value_at(value, path[:3])) for path, entry in entries_in(file, value).items()
    )


def _comparable(path: Path, entry: Any, group: Any) -> str:
    """Return what makes an entry ours. A time limit or variable that was added to it is the user's."""
    matcher = group.get("matcher") if path[0] == "hooks" else None
    return repr((path[:2], matcher, [entry.get(name) for name in ("command", "args", "env_vars", "tool", "input")]))


def _keeps_others(file: SettingsFile, before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Report whether an edit left the settings that are not ours as they were."""
    return _settings_of_others(file, before) == _settings_of_others(file, after)


def _settings_of_others(file: SettingsFile, value: dict[str, Any]) -> dict[str, Any]:
    """Return the settings without our entries and the empty containers around them."""
    value = copy.deepcopy(value)
    ours = entries_in(file, value)
    for path in reversed(ours):
        del _value_at(value, path[:-1])[path[-1]]
    hooks: list[Path] = [("hooks", event, 0) for event, _ in _members(value.get("hooks"))] + [("hooks", "any event")]
    for path in (*reversed(ours), *(hooks if file.has_hooks else ()), (*file.servers, SERVER)):
        for container in _containers(path):
            if _is_empty(_value_at(value, container)):
                del _value_at(value, container[:-1])[container[-1]]
    return value


def _containers(path: Path) -> list[Path]:
    """Return the paths of the containers of an entry, innermost first; a group of hooks goes with its last hook."""
    return [path[:length] for length in range(len(path) - 1, 0, -1) if length != 4 or path[0] != "hooks"]


def _is_empty(value: Any) -> bool:
    return value in ({}, []) or (isinstance(value, dict) and value.get("hooks") == [])


def _value_at(value: Any, path: Path) -> Any:
    """Return the value at a path; None if the path leads nowhere."""
    for key in path:
        value = dict(_members(value)).get(key)
    return value


def _members(value: Any) -> list[tuple[str | int, Any]]:
    """Return keys and values of an object, or indices and items of a list; nothing for another value."""
    return list(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ())


def _broken(file: SettingsFile, why: str) -> InputError:
    return InputError("settings-broken", f"{file.path} cannot be changed: {why}. Nothing was changed.")


# Edits of JSON and TOML files of agents: what we add or remove is the only difference, byte for byte.


Path = tuple[str | int, ...]  # the keys and indices that lead to a value
APPEND = -1  # in a path: behind the last item of a list

# White space and comments. Clients also allow a comma behind the last element.
# Each alternative fits a text in one way: without possessive groups (wrong before Python 3.11.5) it stays linear.
_COMMENT = r"//[^\n]*(?:\n|\Z)|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/"
_SPACE = re.compile(rf"(?:[ \t\r\n\ufeff]|{_COMMENT})*")
_CLIENT_ONLY = re.compile(
    r'"(?:[^"\\]|\\.)*"|(?P<extra>\ufeff|//[^\n]*|/\*.*?\*/|,(?=' + _SPACE.pattern + r"[\]}]))", re.S
)
_HEADER = re.compile(r"[ \t]*\[")  # of a TOML table
_IDLE = re.compile(r"[ \t]*(?:#.*)?\r?\n?")  # a blank line or a comment in TOML


class BrokenJsonError(ValueError):
    """The text is no JSON, with the line of the error, or the edit does not fit its values."""


class Element(NamedTuple):
    """The places of a member of an object or an item of a list in the text."""

    start: int  # of its name, if it has one
    value: int
    end: int


class Container(NamedTuple):
    """An object or a list, and its place in the text."""

    start: int
    end: int
    elements: dict[str | int, Element]


def parse(text: str) -> Any:
    """Return the value of a JSON text, which may have comments. Raises BrokenJsonError."""
    try:
        return json.loads(_blanked(text), object_pairs_hook=_each_once, parse_constant=_refuse)
    except RecursionError:
        raise BrokenJsonError("it is nested too deeply") from None
    except ValueError as error:
        raise BrokenJsonError(str(error)) from None


def _blanked(text: str) -> str:
    """Return the text with blanks in the place of what only clients allow."""
    return _CLIENT_ONLY.sub(lambda found: re.sub(r"[^\n]", " ", found[0]) if found["extra"] else found[0], text)


def _each_once(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; an edit of a name that is there twice could hit the wrong one."""
    value = dict(members)
    if len(value) < len(members):
        names = [name for name, _ in members]
        raise ValueError(f"the name {next(name for name in names if names.count(name) > 1)!r} is there twice")
    return value


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _after_space(text: str, position: int) -> int:
    """Return the place behind white space and comments."""
    found = _SPACE.match(text, position)
    return found.end() if found else position


def _container(text: str, start: int) -> Container:
    """Return the container that begins there, in a text that `parse` reads."""
    plain, decode = _blanked(text), json.JSONDecoder().raw_decode
    elements: dict[str | int, Element] = {}
    position = _after_space(plain, start + 1)
    while plain[position] not in "]}":
        key, value = len(elements), position
        if plain[start] == "{":
            key, colon = decode(plain, position)
            value = _after_space(plain, _after_space(plain, colon) + 1)
        _, end = decode(plain, value)
        elements[key] = Element(position, value, end)
        position = _after_space(plain, end)
        position = _after_space(plain, position + 1) if plain[position] == "," else position
    return Container(start, position + 1, elements)


def added(text: str, path: Path, value: Any) -> str:
    """Return the text with one more member or item at the path, and with the containers it needs."""
    parse(text)
    start = _after_space(text, 0)
    for depth, key in enumerate(path):
        opening, wanted = ("[", "a list") if key == APPEND else ("{", "an object")
        if text[start] != opening:
            raise BrokenJsonError(f"{'.'.join(map(str, path[:depth]))} is not {wanted}")
        container = _container(text, start)
        if key not in container.elements:
            break
        start = container.elements[key].value
    for key in reversed(path[depth + 1 :]):
        value = [value] if key == APPEND else {key: value}
    name = "" if path[depth] == APPEND else f"{json.dumps(path[depth])}: "
    return _inserted(text, container, name, value)


def removed(text: str, path: Path) -> str:
    """Return the text without the member or item at the path."""
    container = _container(text, _after_space(text, 0))
    for key in path[:-1]:
        container = _container(text, container.elements[key].value)
    return _cut_out(text, container, path[-1])


def _inserted(text: str, container: Container, name: str, value: Any) -> str:
    """Return the text with a value behind the last element, indented as the elements around it."""
    newline = "\r\n" if "\r\n" in text else "\n"
    inside = text[container.start : container.end]
    last = list(container.elements.values())[-1] if container.elements else None
    if last and "\n" not in inside:  # a container on one line stays on one line
        end = last.end
        return f"{text[:end]}, {name}{json.dumps(value, ensure_ascii=False)}{text[end:]}"
    outer, step = _indentation(text, container.start), re.search(r"\n([ \t]+)\S", text)
    unit = step[1] if step else "  "
    inner = (_indentation(text, last.value) if last else "") or outer + unit
    written = name + json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", newline + inner)
    if not last:  # a comment in the empty container stays
        opened = text[: container.start + 1] + inside[1:-1].rstrip()
        return f"{opened}{newline}{inner}{written}{newline}{outer}{text[container.end - 1 :]}"
    end = last.end
    comma = _after_space(text, end)
    if text[comma : comma + 1] == ",":  # a trailing comma stays one
        return f"{text[: comma + 1]}{newline}{inner}{written},{text[comma + 1 :]}"
    return f"{text[:end]},{newline}{inner}{written}{text[end:]}"


def _cut_out(text: str, container: Container, key: str | int) -> str:
    """Cut the element with one comma and the white space up to its neighbour."""
    index, elements = list(container.elements).index(key), list(container.elements.values())
    start, end = elements[index].start, elements[index].end
    if len(elements) == 1:
        rest = text[container.start + 1 : start] + text[end : container.end - 1].lstrip(" \t").removeprefix(",")
        return text[: container.start + 1] + (rest if rest.strip() else "") + text[container.end - 1 :]
    if index + 1 < len(elements):  # up to the next element
        after = _after_space(text, end) + 1  # behind the comma
        following = re.match(r"[ \t]*(?://[^\n]*)?\r?\n?[ \t]*", text[after:])
        return text[:start] + text[after + (following.end() if following else 0) :]
    before = elements[index - 1].end
    comma = _after_space(text, before)
    return text[:before] + text[comma + 1 : start].rstrip() + text[end:]


def _indentation(text: str, position: int) -> str:
    """Return the white space at the beginning of the line of a position."""
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return line[: len(line) - len(line.lstrip(" \t\ufeff"))].replace("\ufeff", "")


# TOML. Not with tomlkit: it takes a comment before a table for the end of the table above, and removes it with ours.


def with_table(text: str, keys: tuple[str, ...], values: Mapping[str, str | list[str]]) -> str:
    """Return the TOML text with one more table at its end."""
    newline = "\r\n" if "\r\n" in text else "\n"
    # JSON's strings and lists of strings are TOML's, if nothing above the BMP is escaped.
    lines = [
        f"[{'.'.join(keys)}]",
        *(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()),
    ]
    gap = "" if not text else newline if text.endswith("\n") else newline * 2
    return text + gap + newline.join(lines) + newline


def without_table(text: str, keys: tuple[str, ...]) -> str:
    """Return the TOML text without the table and its sub-tables; comments before the next table stay."""
    ours = re.compile(r"[ \t]*\[\s*" + r"\s*\.\s*".join(rf"[\"']?{re.escape(key)}[\"']?" for key in keys) + r"\s*[.\]]")
    kept: list[str] = []
    cut: list[str] = []  # the lines of our table
    is_ours = False
    for line in text.splitlines(keepends=True):
        if _HEADER.match(line):
            was_ours, is_ours = is_ours, bool(ours.match(line))
            if was_ours and not is_ours:
                kept += _idle_lines_at_end(cut)
        (cut if is_ours else kept).append(line)
        if is_ours and len(cut) == 1 and kept and not kept[-1].strip():
            kept.pop()  # the blank line before our table
    if is_ours:
        kept += [line for line in _idle_lines_at_end(cut) if line.strip()]
    return "".join(kept)


def _idle_lines_at_end(lines: list[str]) -> list[str]:
    """Return the blank lines and comments at the end of the lines."""
    start = len(lines)
    while start > 0 and _IDLE.fullmatch(lines[start - 1]):
        start -= 1
    return lines[start:]

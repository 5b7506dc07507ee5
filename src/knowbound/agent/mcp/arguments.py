"""The arguments of a tool: its schema, and the check of a call, both made from the parameters of its function.

Arguments by the names of the system that specification 2 comes from (`old_id`, `new_content`, `filters`, …) are taken,
too, and are not in the schema: an agent that reads it learns one way.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# JSON types by the annotations of parameters; `| None` marks a parameter that can be left out.
_TYPES = {
    "str": "string", "int": "integer", "float": "number", "bool": "boolean", "list[str]": "array",
    "dict[str, Any]": "object", "list[Any]": "array",
}  # fmt: skip
# Arguments of that system by its names; "" says nothing here.
_ALSO = {
    "old_id": "id", "new_content": "content", "reason": "note", "contentType": "type", "userId": "user",
    "olderThanDays": "older_than_days", "dryRun": "dry_run", "minConfidence": "min_confidence", "maxResults": "limit",
    "by": "", "includeRelationships": "", "cacheStrategy": "", "includeFlagged": "", "useFACTCache": "",
}  # fmt: skip
_INNER = ("filters", "options")  # objects of that system with arguments in them
_WORDS = {"true": True, "false": False}
_IDS = {"id", "by_id", "also"}
_LARGEST = 1 << 53


class ArgumentError(Exception):
    """The call does not fit the parameters; the message names the argument."""


def schema(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the parameters as JSON Schema."""
    parameters = _parameters(function)
    properties = {}
    for name, default in parameters.items():
        items = {"items": {"type": "string"}} if function.__annotations__[name].startswith("list[str]") else {}
        shown = {key: value for key, value in default.items() if value is not None}
        properties[name] = {"type": _type(function, name)} | items | shown
    required = [name for name, default in parameters.items() if not default]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def checked(function: Callable[..., Any], values: dict[str, Any]) -> dict[str, Any]:
    """Return the values to call the function with; an ArgumentError if they do not fit.

    Models write numbers, true and one element of a list as text, null for a missing argument, and an id in the
    brackets that it is shown in: all are accepted.
    """
    parameters = _parameters(function)
    values = _translated(values, parameters)
    for name in values:
        if name not in parameters:
            raise ArgumentError(f"no argument {name[:100]!r}; it takes {', '.join(parameters) or 'none'}")
    known = {name: _value(function, name, value) for name, value in values.items() if value is not None}
    for name, default in parameters.items():
        if name not in known and not default:
            raise ArgumentError(f"{name} is missing")
    return known


def _translated(values: dict[str, Any], parameters: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the arguments by our names. A filter of several values would need several searches."""
    if "flag" in values and values["flag"] is None and parameters.get("flag") == {}:
        values = values | {"flag": "NONE"}
    inner = {name: values[name] for name in _INNER if isinstance(values.get(name), dict) and name not in parameters}
    flat = {name: value for name, value in values.items() if name not in inner}
    for name, value in (pair for members in inner.values() for pair in members.items()):
        if isinstance(value, list) and len(value) > 1:
            raise ArgumentError(f"{name} takes one value")
        flat[name] = value[0] if isinstance(value, list) and value else value or None
    known: dict[str, Any] = {}
    for name, value in flat.items():
        ours = name if name in parameters else _ALSO.get(name, name)
        known |= {ours: value} if ours and (ours in parameters or ours == name) else {}
    return known


def _value(function: Callable[..., Any], name: str, value: object) -> str | int | float | list[Any] | dict[str, Any]:
    listed = _type(function, name)
    if listed == "object" or function.__annotations__[name].startswith("list[Any]"):
        if isinstance(value, dict if listed == "object" else list):
            return value
        raise ArgumentError(f"{name} is not of type {listed}")
    if listed == "boolean":
        known = _WORDS.get(value.lower(), value) if isinstance(value, str) else value
        if isinstance(known, bool):
            return known
        raise ArgumentError(f"{name} is not of type boolean")
    if listed == "array":
        texts = [value] if isinstance(value, str) else value
        if isinstance(texts, list) and all(isinstance(text, str) for text in texts):
            return [_id(text) for text in texts] if name in _IDS else texts
        raise ArgumentError(f"{name} is not a list of strings")
    if listed == "string":
        if isinstance(value, str):
            return _id(value) if name in _IDS else value
        raise ArgumentError(f"{name} is not of type string")
    try:
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            number = float(value)
            if abs(number) <= _LARGEST and (listed == "number" or number.is_integer()):
                return number if listed == "number" else int(number)
    except (ValueError, OverflowError):
        pass
    raise ArgumentError(f"{name} is not of type {listed}, or too large")


def _id(text: str) -> str:
    return text.strip().removeprefix("[").removesuffix("]")


def _parameters(function: Callable[..., Any]) -> dict[str, dict[str, Any]]:
    """Return the parameters after self, each with its default if it has one."""
    names = function.__code__.co_varnames[1 : function.__code__.co_argcount]
    defaults = function.__defaults__ or ()
    without = len(names) - len(defaults)
    return {
        name: {"default": defaults[place - without]} if place >= without else {} for place, name in enumerate(names)
    }


def _type(function: Callable[..., Any], name: str) -> str:
    return _TYPES[function.__annotations__[name].removesuffix(" | None")]

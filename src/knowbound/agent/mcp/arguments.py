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
# Our names of arguments of that system; "": it says nothing here.
_OUR_NAMES = {
    "old_id": "id", "new_content": "content", "reason": "note", "contentType": "type", "userId": "user",
    "olderThanDays": "older_than_days", "dryRun": "dry_run", "minConfidence": "min_confidence", "maxResults": "limit",
    "by": "", "includeRelationships": "", "cacheStrategy": "", "includeFlagged": "", "useFACTCache": "",
}  # fmt: skip
_NESTED = ("filters", "options")  # objects of that system with arguments in them
_BOOLEANS = {"true": True, "false": False}  # as models write them in text
_NAMES_OF_IDS = {"id", "by_id", "also"}
_LARGEST_NUMBER = 1 << 53  # a float has every integer up to it


class ArgumentError(Exception):
    """The call does not fit the parameters; the message names the argument."""


def schema(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the parameters as JSON Schema."""
    parameters = _parameters(function)
    properties = {}
    for name, default in parameters.items():
        items = {"items": {"type": "string"}} if function.__annotations__[name].startswith("list[str]") else {}
        default_field = {key: value for key, value in default.items() if value is not None}
        properties[name] = {"type": _json_type(function, name)} | items | default_field
    required = [name for name, default in parameters.items() if not default]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def checked(function: Callable[..., Any], values: dict[str, Any]) -> dict[str, Any]:
    """Return the values to call the function with; an ArgumentError if they do not fit.

    Models write numbers, true and one element of a list as text, null for a missing argument, and an id in the
    brackets that it is shown in: all are accepted.
    """
    parameters = _parameters(function)
    values = _in_our_names(values, parameters)
    for name in values:
        if name not in parameters:
            raise ArgumentError(f"no argument {name[:100]!r}; it takes {', '.join(parameters) or 'none'}")
    converted = {name: _converted(function, name, value) for name, value in values.items() if value is not None}
    for name, default in parameters.items():
        if name not in converted and not default:
            raise ArgumentError(f"{name} is missing")
    return converted


def _in_our_names(values: dict[str, Any], parameters: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return arguments of that other system by our names: filters flattened, and without those that say nothing here.

    Unknown names stay, so that the check of the call reports them. A filter of several values would need several
    searches: it is an ArgumentError.
    """
    # For kms_flag, whose flag has no default, null takes the flag off; elsewhere null is a missing argument.
    if "flag" in values and values["flag"] is None and parameters.get("flag") == {}:
        values = values | {"flag": "NONE"}
    nested = {name: values[name] for name in _NESTED if isinstance(values.get(name), dict) and name not in parameters}
    arguments = {name: value for name, value in values.items() if name not in nested}
    for name, value in (pair for members in nested.values() for pair in members.items()):
        if isinstance(value, list) and len(value) > 1:
            raise ArgumentError(f"{name} takes one value")
        arguments[name] = value[0] if isinstance(value, list) and value else value or None
    translated: dict[str, Any] = {}
    for name, value in arguments.items():
        our_name = name if name in parameters else _OUR_NAMES.get(name, name)
        if our_name and (our_name in parameters or our_name == name):  # an alias that this tool lacks is dropped
            translated[our_name] = value
    return translated


def _converted(
    function: Callable[..., Any], name: str, value: object
) -> str | int | float | list[Any] | dict[str, Any]:
    """Return the value as the annotation says; an ArgumentError if it is no such value."""
    json_type = _json_type(function, name)
    if json_type == "object" or function.__annotations__[name].startswith("list[Any]"):
        if isinstance(value, dict if json_type == "object" else list):
            return value
        raise ArgumentError(f"{name} is not of type {json_type}")
    if json_type == "boolean":
        boolean = _BOOLEANS.get(value.lower(), value) if isinstance(value, str) else value
        if isinstance(boolean, bool):
            return boolean
        raise ArgumentError(f"{name} is not of type boolean")
    if json_type == "array":
        texts = [value] if isinstance(value, str) else value
        if isinstance(texts, list) and all(isinstance(text, str) for text in texts):
            return [_without_brackets(text) for text in texts] if name in _NAMES_OF_IDS else texts
        raise ArgumentError(f"{name} is not a list of strings")
    if json_type == "string":
        if isinstance(value, str):
            return _without_brackets(value) if name in _NAMES_OF_IDS else value
        raise ArgumentError(f"{name} is not of type string")
    try:
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            number = float(value)
            if abs(number) <= _LARGEST_NUMBER and (json_type == "number" or number.is_integer()):
                return number if json_type == "number" else int(number)
    except (ValueError, OverflowError):
        pass
    raise ArgumentError(f"{name} is not of type {json_type}, or too large")


def _without_brackets(text: str) -> str:
    return text.strip().removeprefix("[").removesuffix("]")


def _parameters(function: Callable[..., Any]) -> dict[str, dict[str, Any]]:
    """Return the parameters after self, each with its default if it has one."""
    names = function.__code__.co_varnames[1 : function.__code__.co_argcount]
    defaults = function.__defaults__ or ()
    required_count = len(names) - len(defaults)
    return {
        name: {"default": defaults[place - required_count]} if place >= required_count else {}
        for place, name in enumerate(names)
    }


def _json_type(function: Callable[..., Any], name: str) -> str:
    return _TYPES[function.__annotations__[name].removesuffix(" | None")]

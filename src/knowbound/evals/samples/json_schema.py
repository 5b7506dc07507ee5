"""JSON Schemas: what the schema of samples files is made of, and schemas that answers are checked with."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    import jsonschema_rs


Schema = dict[str, Any]

LARGEST_NUMBER = 2**53  # beyond it a JSON number is no longer exact

ANY_TEXT: Schema = {"type": "string"}
TEXT: Schema = {"type": "string", "pattern": r"\S"}  # at least one character that is not space
TEXTS: Schema = {"type": "array", "items": TEXT}
FLAG: Schema = {"type": "boolean"}
OBJECT: Schema = {"type": "object"}
NUMBER: Schema = {"type": "number", "minimum": -LARGEST_NUMBER, "maximum": LARGEST_NUMBER}
COUNT: Schema = {"type": "integer", "minimum": 1, "maximum": LARGEST_NUMBER}
WEIGHT: Schema = {"type": "number", "exclusiveMinimum": 0, "maximum": LARGEST_NUMBER}


def one_of(*words: str) -> Schema:
    """One of these words."""
    return {"enum": list(words)}


def list_of(items: Schema) -> Schema:
    """A list that is not empty."""
    return {"type": "array", "items": items, "minItems": 1}


def _member(name: str, shape: Schema, description: str, is_needed: bool) -> tuple[str, Schema, bool]:
    return name, shape | {"description": description}, is_needed


needed = partial(_member, is_needed=True)
optional = partial(_member, is_needed=False)


def record(*members: tuple[str, Schema, bool]) -> Schema:
    """Return the schema of an object with exactly these members; editors and docs/samples.md show the descriptions."""
    required = [name for name, _, is_needed in members if is_needed]
    shape: Schema = {"type": "object", "properties": {name: shape for name, shape, _ in members}}
    return shape | {"required": required, "additionalProperties": False}


def refused(message: str) -> Schema:
    """No value at all; `errorMessage` is what editors (VS Code, ajv-errors) and our check show instead of their own."""
    return {"not": {}, "errorMessage": message}


_TYPES = {
    "string": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}
_MOST_LISTED = 8  # words of a choice that are listed


def kind_of(shape: Schema) -> str:
    """Return the allowed type of a value in words: "a text or a number"."""
    if "enum" in shape:
        return either(shape["enum"]) if len(shape["enum"]) <= _MOST_LISTED else "one of the known words"
    types = shape.get("type", [])
    return " or ".join(_TYPES[name] for name in ([types] if isinstance(types, str) else types)) or "any value"


def either(words: Sequence[str]) -> str:
    """The words as a choice: easy, medium or hard."""
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]


def decoded(answer: str) -> tuple[bool, Any]:
    """Decode an answer: (True, its value) if it is JSON, else (False, None)."""
    try:
        return True, msgspec.json.decode(answer)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return False, None


def schema_problem(schema: dict[str, object]) -> str:
    """Return the reason why the schema cannot be used; "" if it can."""
    try:
        _validator(schema)
    except ValueError as error:
        return _first_line(error)
    return ""


def misfit(value: Any, schema: dict[str, object]) -> str:
    """Return the first place where the value violates the schema; "" if it is valid."""
    error = next(iter(_validator(schema).iter_errors(value)), None)
    if error is None:
        return ""
    path = "/".join(str(step) for step in error.instance_path)
    return f"{_first_line(error.message)[:200]}{f' at {path}' if path else ''}"


def _validator(schema: dict[str, object]) -> jsonschema_rs.Draft7Validator | Any:
    import jsonschema_rs  # noqa: PLC0415  # heavy, and few samples have a schema

    named = "$schema" in schema
    make = jsonschema_rs.validator_for if named else jsonschema_rs.Draft7Validator
    return make(schema, retriever=_refuse)


def _refuse(uri: str) -> dict[str, object]:
    """Fetch nothing for a schema."""
    raise ValueError(f"{uri} is not in the schema, and nothing is fetched")


def _first_line(error: object) -> str:
    return str(error).strip().partition("\n")[0]

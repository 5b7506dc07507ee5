"""JSON in answers, and the JSON Schemas of samples that it is checked with. Nothing is fetched for a schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    import jsonschema_rs


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
    raise ValueError(f"{uri} is not in the schema, and nothing is fetched")


def _first_line(error: object) -> str:
    return str(error).strip().partition("\n")[0]

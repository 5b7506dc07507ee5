"""The tables of docs/samples.md, from the schema of samples files."""

from __future__ import annotations

from knowbound.evals.samples.assertion_types import TYPES
from knowbound.evals.samples.schema import ASSERTION, ENVIRONMENT, SAMPLE, SAMPLE_SET, SAMPLE_V3
from knowbound.evals.samples.shapes import Schema, kind_of

_DECIDED_BY = {"": "rules", "judge": "a judge", "program": "your program"}


def tables() -> str:
    """Fields of a sample, of an assertion and of a file, and the assertion types."""
    parts = [
        _fields("Fields of a sample", SAMPLE),
        _types(),
        _fields("Fields of an assertion", ASSERTION),
        _fields("Fields of `environment`", ENVIRONMENT),
        _fields("Fields of a file that is an object", SAMPLE_SET),
        _fields("Fields of a sample in version 3 of the format", SAMPLE_V3),
    ]
    return "\n".join(parts)


def _fields(title: str, shape: Schema) -> str:
    rows = [
        f"| `{name}`{' (needed)' * (name in shape['required'])} | {kind_of(field)} | {field['description']} |"
        for name, field in shape["properties"].items()
    ]
    return _table(title, "field | is | what it does", rows)


def _types() -> str:
    rows = [
        f"| `{one.name}` | {one.layer or 'its children’s'} | {_DECIDED_BY[one.decided_by]} | {one.description} |"
        for one in TYPES.values()
    ]
    return _table("Assertion types", "type | layer | decided by | passes where", rows)


def _table(title: str, columns: str, rows: list[str]) -> str:
    rule = " | ".join("---" for _ in columns.split("|"))
    return "\n".join([f"## {title}\n", f"| {columns} |", f"| {rule} |", *rows, ""])

"""The tables of docs/samples.md, from the tables that check samples."""

from __future__ import annotations

from knowbound.evals.samples.assertion_types import TYPES
from knowbound.evals.samples.assertions import ASSERTION_FIELDS
from knowbound.evals.samples.fields import ENVIRONMENT, SAMPLE, SAMPLE_V3, SET_FIELDS
from knowbound.evals.samples.shapes import Record

_BY = {"": "rules", "judge": "a judge", "program": "your program"}


def tables() -> str:
    """Fields of a sample, of an assertion and of a file, and the assertion types."""
    parts = [
        _fields("Fields of a sample", SAMPLE),
        _types(),
        _fields("Fields of an assertion", ASSERTION_FIELDS),
        _fields("Fields of `environment`", ENVIRONMENT),
        _fields("Fields of a file that is an object", SET_FIELDS),
        _fields("Fields of a sample in the third form", SAMPLE_V3),
    ]
    return "\n".join(parts)


def _fields(title: str, record: Record) -> str:
    rows = [
        f"| `{one.name}`{' (needed)' if one.needed else ''} | {one.shape.in_words} | {one.says} |"
        for one in record.fields
    ]
    return "\n".join([f"## {title}\n", "| field | is | what it does |", "| --- | --- | --- |", *rows, ""])


def _types() -> str:
    rows = [
        f"| `{one.name}` | {one.layer or 'its children’s'} | {_BY[one.by]} | {one.says} |" for one in TYPES.values()
    ]
    return "\n".join(
        ["## Assertion types\n", "| type | layer | decided by | passes where |", "| --- | --- | --- | --- |", *rows, ""]
    )

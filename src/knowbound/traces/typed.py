"""JSON lines as typed values: what is not needed is skipped undecoded.

Real lines vary: one that does not fit the type is decoded untyped and read field by field, so that a field of
the wrong type is left out, not the line.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar, get_args, get_origin

import msgspec
from msgspec import Raw

from knowbound.traces.values import decode, first_value

S = TypeVar("S", bound=msgspec.Struct)
UNDECODABLE = (msgspec.DecodeError, UnicodeError, RecursionError)
_HEAD_LINES = 20  # looked at to recognise a format


def line_decoder(kind: type[S]) -> Callable[[bytes], S]:
    """A decoder of lines into this type; it raises ValueError with the reason for what is no JSON object."""
    decode_typed = msgspec.json.Decoder(kind).decode

    def decode_line(raw: bytes) -> S:
        try:
            return decode_typed(raw)
        except UNDECODABLE:
            value = decode(raw.rstrip())
        if not isinstance(value, dict):
            raise ValueError("foreign")
        try:
            return lenient(kind, value)
        except RecursionError:
            raise ValueError("broken") from None

    return decode_line


def lines_of_head(head: bytes, decode_line: Callable[[bytes], S]) -> Iterator[S]:
    """The first lines of a file that decode; the last one may be cut."""
    for raw in head.split(b"\n", _HEAD_LINES)[:_HEAD_LINES]:
        if not raw.lstrip().startswith(b"{"):
            continue
        try:
            yield decode_line(raw)
            continue
        except ValueError:
            value = first_value(raw)  # what there is of it
        try:
            yield decode_line(json.dumps(value).encode())
        except (ValueError, RecursionError):
            continue


def value_of(raw: Raw | str) -> Any:
    """The value of JSON text that was left undecoded; None when there is none."""
    try:
        return msgspec.json.decode(raw) if raw else None
    except UNDECODABLE:
        return None


def object_of(raw: Raw | str) -> dict[str, Any]:
    """The JSON object, or an empty one when it is something else."""
    value = value_of(raw)
    return value if isinstance(value, dict) else {}


def lenient(kind: type[S], value: dict[str, Any]) -> S:
    """The value field by field: what has the wrong type is left out, not the whole."""
    given: dict[str, Any] = {}
    for spec in msgspec.structs.fields(kind):
        if spec.encode_name not in value:
            continue
        part = value[spec.encode_name]
        kinds = (spec.type, *get_args(spec.type))  # a type alone, or the types of a union
        listed = (one for kind in kinds if get_origin(kind) is list for one in get_args(kind))
        if isinstance(part, dict) and (struct := _struct_of(kinds)):
            given[spec.name] = lenient(struct, part)
        elif isinstance(part, list) and (struct := _struct_of(listed)):
            given[spec.name] = [lenient(struct, one) for one in part if isinstance(one, dict)]
        else:
            text = json.dumps(part, ensure_ascii=False).encode("utf-8", "replace")  # lone surrogates become "?"
            try:
                given[spec.name] = Raw(text) if spec.type is Raw else msgspec.json.decode(text, type=spec.type)
            except UNDECODABLE:
                continue
    return kind(**given)


def _struct_of(kinds: Iterable[Any]) -> type[msgspec.Struct] | None:
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, msgspec.Struct)), None)

"""JSON of trace files: lines and documents.

- A mapping that does not fit a struct is read field by field: a field of the wrong type is left out, not the line.
- A file of plain values is one document, one value per line, or several values with only space between them.
- Undecodable content is counted with its reason, never raised. The head of a file, which may be cut anywhere, is
  completed far enough to see its shape.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin

import msgspec
from msgspec import Raw

from knowbound.traces.source import Tally, read_document, read_head, read_lines

S = TypeVar("S", bound=msgspec.Struct)
NOTHING = Raw()  # a field that is absent
UNDECODABLE = (msgspec.DecodeError, UnicodeError, RecursionError)
_DECODER = json.JSONDecoder()
_TOKEN = re.compile(rb'"(?>(?:[^"\\]++|\\.)*)"|"|[\[\]{},]', re.DOTALL)
_OPEN_TEXT = re.compile(rb'"(?>(?:[^"\\]++|\\u[0-9a-fA-F]{4}|\\[^u])*)', re.DOTALL)
_CLOSER = {b"{": b"}", b"[": b"]"}
_DEEPEST = 100  # levels of a head that are read to see its shape
_FIRST_LINES = 3  # a broken first line must not hide the format of later lines
_HEAD_LINES = 20  # lines of a head that are read to recognise a format
_MOST_TOKENS = 10**15  # a larger number is no number of tokens


# ---- parts of a decoded value


def dicts(value: object) -> list[dict[str, Any]]:
    """Return the mappings in a list; none if the value is no list."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def new_tokens(read: object, cached: object, written: object) -> int | None:
    """Return the tokens written, and those read for the first time; None without numbers for both."""
    counts = token_count(read), token_count(cached) or 0, token_count(written)
    return None if counts[0] is None or counts[2] is None else max(0, counts[0] - counts[1]) + counts[2]


def token_count(value: object) -> int | None:
    """Return a number of tokens; None if the value is no such number."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST_TOKENS else None


def value_of(raw: Raw | str) -> Any:
    """Decode JSON text that was left undecoded; None if it is empty or broken."""
    try:
        return msgspec.json.decode(raw) if raw else None
    except UNDECODABLE:
        return None


def object_of(raw: Raw | str) -> dict[str, Any]:
    """Decode a JSON object that was left undecoded; an empty one if the text is something else."""
    value = value_of(raw)
    return value if isinstance(value, dict) else {}


# ---- lines


def decoded_lines(path: Path, tally: Tally) -> Iterator[tuple[int, object]]:
    """Yield the values of a file with one on each line, numbered; undecodable lines are counted."""
    for number, raw in read_lines(path, tally):
        try:
            value = decode(raw)
        except ValueError as reason:
            tally.skip(str(path), number, str(reason))
        else:
            yield number, value


def lines_of_head(head: bytes) -> Iterator[dict[str, Any]]:
    """Yield the objects on the first lines of a file; the last line may be cut."""
    for raw in head.split(b"\n", _HEAD_LINES)[:_HEAD_LINES]:
        if not raw.lstrip().startswith(b"{"):
            continue
        try:
            value = decode(raw)
        except ValueError:
            value = first_value.__wrapped__(raw)  # the beginning of a line that is cut
        if isinstance(value, dict):
            yield value


def lenient(kind: type[S], value: dict[str, Any]) -> S:
    """Convert a mapping field by field; fields of the wrong type are left out."""
    fields: dict[str, Any] = {}
    for spec in msgspec.structs.fields(kind):
        if spec.encode_name not in value:
            continue
        field_value = value[spec.encode_name]
        kinds = (spec.type, *get_args(spec.type))  # a type alone, or the types of a union
        entry_types = (entry for kind in kinds if get_origin(kind) is list for entry in get_args(kind))
        if isinstance(field_value, dict) and (struct := _struct_of(kinds)):
            fields[spec.name] = lenient(struct, field_value)
        elif isinstance(field_value, list) and (struct := _struct_of(entry_types)):
            fields[spec.name] = [lenient(struct, entry) for entry in field_value if isinstance(entry, dict)]
        else:
            text = json.dumps(field_value, ensure_ascii=False).encode("utf-8", "replace")  # lone surrogates become "?"
            try:
                fields[spec.name] = Raw(text) if spec.type is Raw else msgspec.json.decode(text, type=spec.type)
            except UNDECODABLE:
                continue
    return kind(**fields)


def _struct_of(kinds: Iterable[Any]) -> type[msgspec.Struct] | None:
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, msgspec.Struct)), None)


# ---- plain values


def decode(content: bytes) -> object:
    """Decode the value in these bytes; ValueError with the reason (truncated, not-utf8, broken) if there is none."""
    try:
        value: object = msgspec.json.decode(content)
        return value
    except UNDECODABLE as error:
        strict = error
    try:  # NaN and lone surrogates are written by common libraries; the standard library reads them
        text = json.dumps(json.loads(content), ensure_ascii=False)
        return json.loads(text.encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        pass
    content = content.strip()
    is_open = content[:1] in (b"{", b"[") and content[-1:] not in (b"}", b"]")  # it has a beginning without its end
    if "truncated" in str(strict) or is_open:
        raise ValueError("truncated")
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("not-utf8") from None
    raise ValueError("broken")


def read_values(path: Path, tally: Tally) -> Iterator[tuple[int, object]]:
    """Yield the values of a file with the numbers of their lines (in a document, the numbers of the values)."""
    if _is_lines(head_of(path)):
        yield from decoded_lines(path, tally)
        return
    content = read_document(path, tally)
    if content is None or not content.strip():
        return
    try:
        yield 1, decode(content)  # one document
    except ValueError as error:
        number = 0
        try:
            for number, value in enumerate(concatenated(content.decode("utf-8", "replace")), 1):
                yield number, value
        except ValueError:
            tally.skip(str(path), number + 1, "broken" if number else str(error))


def read_objects(path: Path, tally: Tally) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the values of a file that are objects; other values are counted as foreign."""
    for number, value in read_values(path, tally):
        if isinstance(value, dict):
            yield number, value
        else:
            tally.skip(str(path), number, "foreign")


def concatenated(text: str) -> Iterator[object]:
    """Yield values with only space between them, as console exporters write; ValueError at a broken value."""
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        try:
            value, position = _DECODER.raw_decode(text, position)
        except RecursionError:
            raise ValueError("broken") from None
        yield value


# ---- the head of a file


def head_of(path: Path) -> bytes:
    """Return the first bytes of a file; none if it cannot be read, which its reading counts."""
    try:
        return read_head(path)
    except Exception:  # a damaged archive raises any error of its library
        return b""


@lru_cache(maxsize=1)  # every reader asks for the same head
def first_value(head: bytes) -> object:
    """Return the first value of a head, or the beginning of a value that is cut; None if there is none."""
    for start in _starts(head):
        for whole in _completed(start):
            try:
                return decode(whole)
            except ValueError:
                continue
    return None


def _is_lines(head: bytes) -> bool:
    """Report whether a file has one object per line: one of its first lines is an object of its own."""
    if head.lstrip()[:1] == b"[":  # a list is a document
        return False
    lines = [line for line in head.split(b"\n", _FIRST_LINES)[:_FIRST_LINES] if not line.isspace() and line]
    for line in lines:
        try:
            return isinstance(decode(line), dict)
        except ValueError:
            if line.rstrip()[-1:] in (b"{", b"[", b",", b":"):
                return False  # a document over several lines
    return False


def _starts(head: bytes) -> Iterator[bytes]:
    """Yield the head, and the head without its first lines."""
    rest = head.lstrip(b"\xef\xbb\xbf \t\r\n")  # a byte order mark, space
    for _ in range(_FIRST_LINES):
        if rest[:1] in (b"{", b"["):
            yield rest
        _, found, rest = rest.partition(b"\n")
        if not found:
            return
        rest = rest.lstrip()


def _completed(head: bytes) -> Iterator[bytes]:
    """Yield the first value of the head; a cut value is closed inside its last text or after its last whole part."""
    closers: list[bytes] = []
    last: tuple[int, bytes] | None = None
    for token in _TOKEN.finditer(head):
        sign = token.group()
        if len(closers) > _DEEPEST:
            break
        if sign in _CLOSER:
            closers.append(_CLOSER[sign])
        elif sign in (b"}", b"]"):
            if not closers or closers.pop() != sign:
                return
            if not closers:
                yield head[: token.end()]
                return
        elif sign == b",":
            last = token.start(), b"".join(reversed(closers))  # what a cut after this part lacks
        elif sign == b'"':  # the head ends inside a text
            text = _OPEN_TEXT.match(head, token.start())
            whole = head[: text.end()] if text else head
            yield whole.decode("utf-8", "ignore").encode() + b'"' + b"".join(reversed(closers))
            break
    else:
        yield head + b"".join(reversed(closers))
    if last:
        yield head[: last[0]] + last[1]

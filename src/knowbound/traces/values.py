"""Reads the JSON values of a file: one document, one value per line, or several written one after the other.

What does not decode is counted with its reason, never raised. The head of a file, which may be cut
anywhere, is completed far enough to see its shape.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from knowbound.traces.source import Tally, read_document, read_head, read_lines

_DECODER = json.JSONDecoder()
_TOKEN = re.compile(rb'"(?>(?:[^"\\]++|\\.)*)"|"|[\[\]{},]', re.DOTALL)
_OPEN_TEXT = re.compile(rb'"(?>(?:[^"\\]++|\\u[0-9a-fA-F]{4}|\\[^u])*)', re.DOTALL)
_CLOSER = {b"{": b"}", b"[": b"]"}
_DEEPEST = 100  # levels looked into to see a shape
_FIRST_LINES = 3  # a broken first line must not hide the format of the others


def decode(content: bytes) -> object:
    """The one value in these bytes; ValueError with the reason (truncated, not-utf8, broken) otherwise."""
    try:
        value: object = msgspec.json.decode(content)
        return value
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        strict = error
    try:  # NaN and lone surrogates are written by common libraries; the standard library reads them
        lenient = json.dumps(json.loads(content), ensure_ascii=False)
        return json.loads(lenient.encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        pass
    if "truncated" in str(strict) or _is_open(content.strip()):
        raise ValueError("truncated")
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("not-utf8") from None
    raise ValueError("broken")


@lru_cache(maxsize=1)  # every reader asks for the same head
def first_value(head: bytes) -> object:
    """The first value of a head; where the head ends inside it, as much of it as is there. None if there is none."""
    for start in _starts(head):
        for whole in _completed(start):
            try:
                return decode(whole)
            except ValueError:
                continue
    return None


def read_values(path: Path, tally: Tally) -> Iterator[tuple[int, object]]:
    """The values of a file with the numbers of their lines (for a document, of the value)."""
    if _is_lines(head_of(path)):
        for number, line in read_lines(path, tally):
            try:
                yield number, decode(line)
            except ValueError as error:
                tally.skip(str(path), number, str(error))
        return
    content = read_document(path, tally)
    if content is None or not content.strip():
        return
    try:
        yield 1, decode(content)
    except ValueError as error:
        number = 0
        try:
            for number, value in enumerate(concatenated(content.decode("utf-8", "replace")), 1):
                yield number, value
        except ValueError:
            tally.skip(str(path), number + 1, "broken" if number else str(error))


def head_of(path: Path) -> bytes:
    """The first bytes of a file; none where it cannot be read, which reading it will count."""
    try:
        return read_head(path)
    except Exception:  # a damaged archive raises whatever its library does
        return b""


def _is_open(content: bytes) -> bool:
    """Whether the text starts as an object or a list and does not end as one."""
    return content[:1] in (b"{", b"[") and content[-1:] not in (b"}", b"]")


def dicts(value: object) -> list[dict[str, Any]]:
    """The mappings in a list; none when it is not a list."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def concatenated(text: str) -> Iterator[object]:
    """Values with only space between them, as console exporters write; ValueError where one is broken."""
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


def _is_lines(head: bytes) -> bool:
    """Whether the file holds one object per line: an early line is an object of its own."""
    if head.lstrip()[:1] == b"[":
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
    """The head, and the head without its first lines."""
    rest = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    for _ in range(_FIRST_LINES):
        if rest[:1] in (b"{", b"["):
            yield rest
        _, found, rest = rest.partition(b"\n")
        if not found:
            return
        rest = rest.lstrip()


def _completed(head: bytes) -> Iterator[bytes]:
    """The first value in the head; one that is cut, closed inside its last text or after its last whole part."""
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
            last = token.start(), b"".join(reversed(closers))
        elif sign == b'"':  # the head ends inside a text
            text = _OPEN_TEXT.match(head, token.start())
            whole = head[: text.end()] if text else head
            yield whole.decode("utf-8", "ignore").encode() + b'"' + b"".join(reversed(closers))
            break
    else:
        yield head + b"".join(reversed(closers))
    if last:
        yield head[: last[0]] + last[1]

"""JSON, and the fields that several documents share (docs/json.md). What cannot be known is null."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

import msgspec

from knowbound.core.signal import Signal, SignalType, Status, Topic
from knowbound.report.formats.plain import BROKEN, UNSEEN_BUT_LINES, printable
from knowbound.stats.figures import Coverage, GapFigures, MissedSearch, Watermark
from knowbound.stats.rate import Rate, Weighted

_TOKENS = re.compile(r"[^\s()]+|[()]")
_GAP = (
    "rate weighted open open_weighted open_upper per_turn soft_share by_type by_status band open_band unseen confidence"
)
_SIGNAL = """type status ending weight session turn sample call_ids message_id query path text verdict topic? tool
    reason step said agent_id file line resolved_by by found_at cost"""
_TOPIC = "id title sessions turns signals cost endings said answer proposed examples project correction last"
GATE_KEYS = "name limit kind outcome failed settled more rate before broken words note?"


def json_text(document: object) -> str:
    """A document of its own."""
    return json_line(document, indent=2) + "\n"


def json_line(value: object, *, indent: int | None = None) -> str:
    """JSON that any parser and any terminal takes: the unseen is escaped, broken Unicode replaced, the rest kept."""
    try:
        text = msgspec.json.format(msgspec.json.encode(value), indent=indent or -1).decode()
    except UnicodeEncodeError:  # broken Unicode, which the standard library lets through
        text = json.dumps(value, ensure_ascii=False, indent=indent, separators=None if indent else (",", ":"))
    # The line breaks of the indent are ours; those of the data are escaped already.
    escaped = UNSEEN_BUT_LINES.sub(lambda match: json.dumps(match.group())[1:-1].replace("\x7f", "\\u007f"), text)
    return BROKEN.sub("\N{REPLACEMENT CHARACTER}", escaped)


def lines_or_rows(format_: str, lines: Iterable[str], rows: Iterable[object]) -> Iterator[str]:
    """Yield a small report: a line of JSON for each row, or else lines of text, safe for any terminal."""
    if format_ == "jsonl":
        yield from (json_line(row) + "\n" for row in rows)
    else:
        yield from (printable(line) + "\n" for line in lines)


class Key(NamedTuple):
    """A key of a document: where its value is, and which keys of that value are shown."""

    name: str
    path: tuple[str, ...]
    is_optional: bool
    inner: tuple[Key, ...] = ()


def document(name: str, value: object, keys: str) -> dict[str, object]:
    """A document of docs/json.md."""
    return {"format": name, **fields(value, keys)}


def fields(value: object, keys: str) -> dict[str, object]:
    """The attributes of a value under these keys, in this order.

    `name?` is null where the attribute is empty, `new=old.path` renames it, `name(a b)` shows these keys of the value,
    or of each value in a list or a mapping.
    """
    return {key.name: _chosen(value, key) for key in _parsed(keys)}


@cache
def _parsed(keys: str) -> tuple[Key, ...]:
    """Parse the notation of `fields`: what parentheses enclose are the inner keys of the key before them."""
    levels: list[list[Key]] = [[]]
    for token in _TOKENS.findall(keys):
        if token == "(":
            levels.append([])
        elif token == ")":
            inner = tuple(levels.pop())
            levels[-1][-1] = levels[-1][-1]._replace(inner=inner)
        else:
            name, _, path = token.removesuffix("?").partition("=")
            levels[-1].append(Key(name, tuple((path or name).split(".")), token.endswith("?")))
    return tuple(levels[0])


def _chosen(value: object, key: Key) -> object:
    """Return the attribute that a key names, with its inner keys alone if it has any."""
    for name in key.path:
        value = None if value is None else getattr(value, name)
    if key.is_optional and not value:
        return None
    return _picked(value, key.inner) if key.inner else as_json(value)


def _picked(value: object, keys: tuple[Key, ...]) -> object:
    """Return these keys of a value, or of each value in a list or a mapping."""
    if value is None:
        return None
    if isinstance(value, dict):
        return {str(name): _picked(part, keys) for name, part in value.items()}
    if isinstance(value, list) or type(value) is tuple:
        return [_picked(part, keys) for part in value]
    return {key.name: _chosen(value, key) for key in keys}


def as_json(value: object) -> object:
    """A value of a report as docs/json.md has it."""
    match value:
        case Rate() | Weighted():
            return value.to_json()
        case GapFigures():
            by_type = {type_.value: value.by_type.get(type_, 0) for type_ in SignalType}
            by_status = {status.value: value.by_status.get(status, 0) for status in Status}
            return fields(value, _GAP) | {"by_type": by_type, "by_status": by_status}
        case Signal():
            return signal_fields(value)
        case MissedSearch():
            return fields(value, "query sessions samples events example")
        case Topic():
            return fields(value, _TOPIC)
        case Coverage():
            rate = None if value.reason else value.rate.to_json()
            return {"rate": rate, **fields(value, "reason uncovered sessions loaded")}
        case msgspec.Struct():
            return msgspec.to_builtins(value)
        case list() | tuple():
            return [as_json(part) for part in value]
        case dict():
            return {str(name): as_json(part) for name, part in value.items()}
        case _:
            return value


def signal_line(signal: Signal, watermark: Watermark) -> str:
    """Render a signal as a line. It shows no rate, but `test_set` names its test set."""
    return json_line({**signal_fields(signal), "test_set": watermark.sha256_8})


def signal_fields(signal: Signal) -> dict[str, object]:
    """The keys of docs/json.md, then ours: the way back to the line, and why it counts."""
    return fields(signal, _SIGNAL) | {"by": signal.by or "rules"}

"""Text from traces is data: made plain in one place before any person's format shows it.

A trace holds whatever an agent met: terminal codes, direction overrides, unseen characters, broken
Unicode. The renderers for people read `plain_report(report)` or `made_plain(value)`, so none of them can forget a
field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from knowbound.core.signal import Signal
from knowbound.report.model import ObserveReport

# CSI, OSC and other string sequences (only when they end), and the short escapes.
_TERMINAL_CODES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-Z\\^-~]"
)
# Control and format characters, but not the two joiners that emoji and several scripts need.
_UNSEEN = re.compile(
    r"[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    r"\U000e0000-\U000e007f]"
)
_UNSEEN_BUT_LINES = re.compile(_UNSEEN.pattern.replace(r"\x00-\x1f", r"\x00-\x09\x0b-\x1f"))
_Value = TypeVar("_Value", bound=msgspec.Struct)
_BROKEN = re.compile(r"[\ud800-\udfff]")


def plain(text: str) -> str:
    """One line without terminal codes, control, direction and unseen characters."""
    spaced = " ".join(_TERMINAL_CODES.sub("", text).split())
    seen = " ".join(_UNSEEN.sub("", spaced).split())
    return _BROKEN.sub("\N{REPLACEMENT CHARACTER}", seen)


def plain_report(report: ObserveReport) -> ObserveReport:
    """The same report with every text in it made plain, and places told from where the traces lie."""
    return made_plain(_with_short_places(report))


def made_plain(value: _Value) -> _Value:
    """The same value with every text in it made plain."""
    return msgspec.convert(_plain(msgspec.to_builtins(value)), type(value))


def near(path: str, tops: Iterable[str]) -> str:
    """A path told from the first of the folders that it lies in."""
    folders = (top.rstrip("/") + "/" for top in tops if top)
    return next((path.removeprefix(folder) for folder in folders if path.startswith(folder)), path)


def _with_short_places(report: ObserveReport) -> ObserveReport:
    """The watermark names the folder once; the lines below it need not repeat it."""
    return with_places_from(report, report.places) if len(report.places) == 1 else report


def with_places_from(report: ObserveReport, tops: list[str]) -> ObserveReport:
    """The same report with places told from the first of the folders that they lie in."""

    def told(signal: Signal) -> Signal:
        return replace(signal, file=near(signal.file, tops))

    return replace(
        report,
        inventory=[told(signal) for signal in report.inventory],
        topics=[replace(topic, example=told(topic.example)) for topic in report.topics],
        skipped_examples=[replace(skip, path=near(skip.path, tops)) for skip in report.skipped_examples],
        unrecognised=[near(name, tops) for name in report.unrecognised],
    )


def _plain(value: object) -> object:
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items()}
    return value


def dumped(value: object, *, indent: int | None = None) -> str:
    """JSON that any parser and any terminal takes: the unseen is escaped, broken Unicode replaced, the rest kept."""
    try:
        text = msgspec.json.format(msgspec.json.encode(value), indent=indent or -1).decode()
    except UnicodeEncodeError:  # broken Unicode, which the standard library lets through
        text = json.dumps(value, ensure_ascii=False, indent=indent, separators=None if indent else (",", ":"))
    # The line breaks of the indent are ours; those of the data are escaped already.
    escaped = _UNSEEN_BUT_LINES.sub(lambda match: _escape(match.group()), text)
    return _BROKEN.sub("\N{REPLACEMENT CHARACTER}", escaped)


def _escape(character: str) -> str:
    return json.dumps(character)[1:-1] if character != "\x7f" else "\\u007f"


def markdown_text(text: str) -> str:
    """Text that stays text in markdown."""
    for sign in "\\`*_{}[]<>|#":
        text = text.replace(sign, "\\" + sign)
    return text

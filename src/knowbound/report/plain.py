"""Text from traces is data: made plain in one place before any person's format shows it.

A trace holds whatever an agent met: terminal codes, direction overrides, unseen characters, broken
Unicode. The renderers for people read `plain_report(report)`, so none of them can forget a field.
"""

from __future__ import annotations

import json
import re

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
_BROKEN = re.compile(r"[\ud800-\udfff]")


def plain(text: str) -> str:
    """One line without terminal codes, control, direction and unseen characters."""
    spaced = " ".join(_TERMINAL_CODES.sub("", text).split())
    seen = " ".join(_UNSEEN.sub("", spaced).split())
    return _BROKEN.sub("\N{REPLACEMENT CHARACTER}", seen)


def plain_report(report: ObserveReport) -> ObserveReport:
    """The same report with every text in it made plain, and places told from where the traces lie."""
    return msgspec.convert(_plain(msgspec.to_builtins(_with_short_places(report))), ObserveReport)


def _with_short_places(report: ObserveReport) -> ObserveReport:
    """The watermark names the folder once; the lines below it need not repeat it."""
    if len(report.places) != 1:
        return report
    top = report.places[0].rstrip("/") + "/"

    def near(signal: Signal) -> Signal:
        return replace(signal, file=signal.file.removeprefix(top))

    return replace(
        report,
        inventory=[near(signal) for signal in report.inventory],
        topics=[replace(topic, example=near(topic.example)) for topic in report.topics],
        skipped_examples=[replace(skip, path=skip.path.removeprefix(top)) for skip in report.skipped_examples],
        unrecognised=[name.removeprefix(top) for name in report.unrecognised],
    )


def _plain(value: object) -> object:
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, list):
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

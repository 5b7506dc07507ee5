"""Searches with ripgrep over the files of a root, bounded in time and output."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from knowbound.files import rg

_MATCHES_PER_FILE = 200


@dataclass(frozen=True, slots=True)
class TextMatch:
    """A line (or lines) of a file with its matches."""

    path: str
    line: int
    text: str
    spans: tuple[tuple[int, int], ...]  # of the matches in the text


class _Text(msgspec.Struct):
    text: str | None = None
    bytes: str | None = None

    @property
    def value(self) -> str:
        if self.text is not None:
            return self.text
        return base64.b64decode(self.bytes or "").decode("utf-8", "surrogateescape")


class _Submatch(msgspec.Struct):
    start: int
    end: int


class _Data(msgspec.Struct):
    path: _Text | None = None
    lines: _Text | None = None
    line_number: int | None = None
    submatches: list[_Submatch] = []


class _Line(msgspec.Struct):
    type: str
    data: _Data


_line = msgspec.json.Decoder(_Line)


def matches(
    root: Path,
    patterns: Sequence[str],
    seconds: float,
    *,
    ignore_case: bool,
    multiline: bool = False,
    paths: Sequence[str] = (),
) -> tuple[list[TextMatch], str]:
    """Return the matches of any pattern, and the limit that cut the search ("" if none did)."""
    arguments = ["--json", "--max-count", str(_MATCHES_PER_FILE)]
    arguments += ["--ignore-case"] if ignore_case else []
    arguments += ["--multiline"] if multiline else []
    for pattern in patterns:
        arguments += ["-e", pattern]
    ran = rg(root, [*arguments, "--", *(f"./{path}" for path in paths or ("",))], seconds)
    limited = "the time limit" if ran.timed_out else "the output limit" if ran.cut else ""
    if ran.missing:
        limited = "ripgrep is not installed"
    return list(_hits(ran.out)), limited


def _hits(output: bytes) -> Iterator[TextMatch]:
    for raw in output.splitlines():
        if not raw.startswith(b'{"type":"match"'):
            continue
        try:
            data = _line.decode(raw).data
        except msgspec.DecodeError:
            continue  # the line that the output limit cut
        if data.path is None or data.lines is None:
            continue
        text = data.lines.value
        spans = tuple((one.start, one.end) for one in data.submatches)
        if not text.isascii():  # ripgrep counts bytes
            encoded = text.encode("utf-8", "surrogateescape")
            spans = tuple((_characters(encoded[:start]), _characters(encoded[:end])) for start, end in spans)
        yield TextMatch(data.path.value.removeprefix("./"), data.line_number or 0, text, spans)


def _characters(encoded: bytes) -> int:
    return len(encoded.decode("utf-8", "replace"))

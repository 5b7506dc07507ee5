"""ripgrep over the files of a root: its matches as values, bounded in time and output."""

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
    """A match of ripgrep: a file, a line, its text, and where in it the matches stand."""

    path: str
    line: int
    text: str
    spans: tuple[tuple[int, int], ...]


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
    root: Path, patterns: Sequence[str], seconds: float, *, ignore_case: bool, multiline: bool = False,
    context: int = 0, globs: Sequence[str] = (), paths: Sequence[str] = (),
) -> tuple[list[TextMatch], str]:  # fmt: skip
    """The matches of any pattern; and what limited the search, in words, or nothing."""
    arguments = ["--json", "--max-count", str(_MATCHES_PER_FILE)]
    arguments += ["--ignore-case"] if ignore_case else []
    arguments += ["--multiline"] if multiline else []
    arguments += ["--context", str(context)] if context else []
    for glob in globs:
        arguments += ["--glob", glob]
    for pattern in patterns:
        arguments += ["-e", pattern]
    ran = rg(root, [*arguments, "--", *(f"./{path}" for path in paths or ("",))], seconds)
    limited = "the time limit" if ran.timed_out else "the output limit" if ran.cut else ""
    if ran.missing:
        limited = "ripgrep is not installed"
    return list(_hits(ran.out)), limited


def _hits(output: bytes) -> Iterator[TextMatch]:
    for raw in output.splitlines():
        if not raw.startswith((b'{"type":"match"', b'{"type":"context"')):
            continue
        try:
            data = _line.decode(raw).data
        except msgspec.DecodeError:
            continue  # the line that the output limit cut
        if data.path is None or data.lines is None:
            continue
        text = data.lines.value
        encoded = text.encode("utf-8", "surrogateescape")
        spans = (
            tuple(
                (
                    len(encoded[: one.start].decode("utf-8", "replace")),
                    len(encoded[: one.end].decode("utf-8", "replace")),
                )
                for one in data.submatches
            )
            if not text.isascii()
            else tuple((one.start, one.end) for one in data.submatches)
        )
        yield TextMatch(data.path.value.removeprefix("./"), data.line_number or 0, text, spans)

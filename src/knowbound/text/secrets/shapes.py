"""Secrets that are known by their shape: vendors' prefixes, and parts, separators and lengths.

A row of `tokens.txt` is the kind, the least number of characters after the prefix, the characters that may follow, and
the prefixes. A token is searched only after its prefix. A pattern is compiled at its first use: compiling all patterns
takes longer than a hook may.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from knowbound.core.lazy_pattern import lazy
from knowbound.text.secrets.features import is_varied, mark


class _Shape(NamedTuple):
    """A pattern, searched only in text with the anchor and with `run` letters and digits in a row."""

    kind: str
    anchor: str
    pattern: str
    run: int = 0


_LONG_RUN = lazy(r"[A-Za-z0-9]{32}")
_LEFT = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrtbf])|(?<=%[0-9A-Fa-f]{2}))"
_RIGHT = r"(?![A-Za-z0-9])"
_SHAPES = (
    _Shape("jwt", "eyJ", rf"{_LEFT}eyJ[\w-]{{8,2000}}+\.[\w-]{{8,}}+(?:\.[\w-]*+){{0,3}}"),
    _Shape("jwt", "eyJ", rf"{_LEFT}eyJ[\w-]{{60,8000}}+(?=\Z|…|\.\.\.)"),  # cut off before its second part
    _Shape("telegram-token", ":AA", rf"{_LEFT}\d{{8,10}}:AA[\w-]{{32,35}}{_RIGHT}"),
    _Shape("telegram-token", "%3AAA", rf"{_LEFT}\d{{8,10}}%3AAA[\w-]{{32,35}}{_RIGHT}"),
    _Shape("discord-token", ".", r"[MNO][\w-]{22,28}\.[\w-]{6,7}\.[\w-]{27,45}(?![A-Za-z0-9])", 20),
    _Shape("azure-secret", "Q~", r"(?<![\w~.-])[\w~.-]{3}\dQ~[\w~.-]{31,36}"),
    _Shape("azure-key", "JQQJ99", rf"{_LEFT}[A-Za-z0-9]{{40,56}}JQQJ99[A-Za-z0-9]{{20,30}}"),
    _Shape("terraform-token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{40,}+"),
    _Shape("mailchimp-key", "-us", rf"{_LEFT}[0-9a-f]{{32}}-us\d{{1,2}}{_RIGHT}", 32),
    _Shape("mailgun-key", "-", rf"{_LEFT}[0-9a-f]{{32}}-[0-9a-f]{{8}}-[0-9a-f]{{8}}{_RIGHT}", 32),
    _Shape("newrelic-key", "NRAL", rf"{_LEFT}[0-9a-f]{{36}}NRAL{_RIGHT}"),
    _Shape("zhipu-key", ".", rf"{_LEFT}[0-9a-f]{{32}}\.[A-Za-z0-9]{{16}}(?![\w.-])", 32),
    _Shape("airtable-token", "pat", rf"{_LEFT}pat[A-Za-z0-9]{{14}}\.[0-9a-f]{{64}}{_RIGHT}"),
    _Shape("asana-token", "/", rf"{_LEFT}[12]/\d{{15,16}}(?:/\d{{15,16}})?:[0-9a-f]{{32}}{_RIGHT}", 32),
    _Shape("firebase-key", "AAAA", rf"{_LEFT}AAAA[\w-]{{7}}:[\w-]{{130,160}}"),
    _Shape("salesforce-session", "!A", rf"{_LEFT}00D[A-Za-z0-9]{{12,15}}!A[\w.]{{60,}}+"),
    _Shape("rapidapi-key", "msh", rf"{_LEFT}[0-9a-f]{{10}}msh[0-9a-f]{{15}}p1[0-9a-f]{{5}}jsn[0-9a-f]{{12}}"),
    _Shape("clickup-token", "pk_", rf"{_LEFT}pk_\d{{6,10}}_[A-Z0-9]{{32}}{_RIGHT}"),
    _Shape("mollie-key", "live_", rf"{_LEFT}live_[A-Za-z0-9]{{30,40}}{_RIGHT}", 20),
    _Shape("mollie-key", "test_", rf"{_LEFT}test_[A-Za-z0-9]{{30,40}}{_RIGHT}", 20),
    _Shape("bitcoin-key", "", rf"{_LEFT}[5KLc][1-9A-HJ-NP-Za-km-z]{{50,51}}{_RIGHT}", 32),
    _Shape("onepassword-key", "A3-", rf"{_LEFT}A3-[A-Z0-9]{{6}}(?:-[A-Z0-9]{{5,6}}){{4,5}}{_RIGHT}"),
    _Shape("recovery-key", "-", r"\d{6}(?:-\d{6}){7}(?![\d-])"),
    _Shape("aws-key", "aws-key]", r"(?<=aws-key\][:,;/| \t])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])"),  # behind its id
)


def _marked(kind: str, found: re.Match[str]) -> str:
    return mark(kind) if is_varied(found[0]) else found[0]


_PATTERNS = {shape: lazy(shape.pattern, re.ASCII) for shape in _SHAPES}
_RARE = [shape.anchor for shape in _SHAPES if len(shape.anchor) > 1]
_WITHOUT_RARE = [shape for shape in _SHAPES if len(shape.anchor) <= 1]


def redact_shapes(text: str, *, is_long: bool) -> str:
    """Redact secrets of these shapes. `is_long`: the text has 20 letters and digits in a row."""
    longest = 0 if not is_long else 32 if _LONG_RUN.search(text) else 20  # of the runs of letters and digits in it
    for shape in _SHAPES if any(map(text.__contains__, _RARE)) else _WITHOUT_RARE:
        if shape.run <= longest and shape.anchor in text:
            text = _PATTERNS[shape].sub(partial(_marked, shape.kind), text)
    return text


_ALPHABETS = {
    "alnum": "A-Za-z0-9",
    "word": r"-\w",
    "hex": "0-9a-fA-F",
    "upper": "A-Z0-9",
    "lower": "a-z0-9",
    "base64": r"-\w+/=",
    "dotted": r"-\w.=",
}
# A token begins after anything but a letter or digit, or after an escape that ends with one (\n in JSON, %3D in a URL).
_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=%[0-9A-F][0-9A-F])|(?<=%[0-9a-f][0-9a-f])|(?<=u[0-9a-f]{4}))"
_BREAK = r"[ \t]*(?:\\|\"[ \t]*\+?|'[ \t]*\+?)?(?:\r?\n|\\+r?\\*n)[ \t>|+\"'#*]{0,12}"  # a line that was wrapped
_LINE_BREAK = lazy(_BREAK)
_FEWEST = 4  # characters of a wrapped token on a line


class _TokenRow:
    """A row of the table, with its patterns."""

    def __init__(self, kind: str, alphabet: str, fewest: int) -> None:
        self.kind, self.fewest = kind, fewest
        self.pattern = lazy(rf"[{alphabet}]{{{fewest},}}+", re.ASCII)
        line = rf"[{alphabet}]{{{_FEWEST},200}}+"
        self.wrapped = lazy(rf"{line}(?:{_BREAK}{line}(?=[\s\"'`\\]|\Z)){{1,3}}", re.ASCII)

    def is_token(self, body: str) -> bool:
        """Report whether the text after the prefix makes a token."""
        if len(body) < self.fewest or not is_varied(body) or _EXAMPLE.search(body):
            return False
        return self.kind != "jwt" or "." in body


def _read_rows() -> dict[str, list[_TokenRow]]:
    """Return the rows of `tokens.txt` by prefix."""
    rows: dict[str, list[_TokenRow]] = {}
    with open(os.path.join(os.path.dirname(__file__), "tokens.txt"), encoding="utf-8") as lines:
        for line in lines:
            if line.strip() and not line.startswith("#"):
                kind, fewest, alphabet, *prefixes = line.split()
                row = _TokenRow(kind, _ALPHABETS.get(alphabet, alphabet), int(fewest))
                for prefix in prefixes:
                    rows.setdefault(prefix, []).append(row)
    return rows


_ROWS = _read_rows()
# Prefixes by first letter, so that few are tried at a position; longest first: `sk-ant-` before `sk-`.
_BY_START: dict[str, list[str]] = {}
for _prefix in sorted(_ROWS, key=len, reverse=True):
    _BY_START.setdefault(_prefix[0], []).append(_prefix)
_BRANCHES = (
    f"{re.escape(first)}(?:{'|'.join(re.escape(prefix[1:]) for prefix in prefixes)})"
    for first, prefixes in _BY_START.items()
)
_ANY = f"(?:{'|'.join(_BRANCHES)})"
_PREFIX = lazy("(?<![A-Za-z0-9])" + _ANY)
_ESCAPED = lazy(r"\\(?:[nrtbf][A-Za-z1]|u[0-9a-f]{4})|%[0-9A-Fa-f]{2}[A-Za-z1]")
_PREFIX_AFTER_ESCAPE = lazy(_START + _ANY)  # five times slower
_MOST_TRIES = 8
# The first texts of a process: in so few, a search for each prefix is faster than compiling the pattern.
_FIRST_TEXTS = iter(range(50))
_EXAMPLE = lazy(r"EXAMPLE(?:KEY)?\b")


def find_tokens(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and kind of every token."""
    if next(_FIRST_TEXTS, None) is not None and not any(map(text.__contains__, _ROWS)):  # a new process
        return
    at, pattern = 0, _PREFIX_AFTER_ESCAPE if _ESCAPED.search(text) else _PREFIX
    tries: dict[int, int] = {}  # by the end of a run: prefixes in it that begin no token
    while found := pattern.search(text, at):
        at, reached = found.end(), 0
        for prefix, row in _rows_of(found[0]):
            end, looked_at = _end_of_token(text, found.end() - len(found[0]) + len(prefix), row)
            if end:
                yield found.start(), end, row.kind
                at = end
                break
            reached = max(reached, looked_at)
        else:
            tries[reached] = tries.get(reached, 0) + 1
            if tries[reached] > _MOST_TRIES:  # else a run of prefixes would be read to its end from each prefix
                at = max(at, reached)


def _rows_of(prefix: str) -> Iterator[tuple[str, _TokenRow]]:
    """Yield the rows of the prefix, then of the shorter prefixes that it begins with."""
    for length in range(len(prefix), 1, -1):
        for row in _ROWS.get(prefix[:length], ()):
            yield prefix[:length], row


def _end_of_token(text: str, start: int, row: _TokenRow) -> tuple[int, int]:
    """Return the end of the token whose prefix ends at `start`, or 0; and the end of the text that was looked at."""
    looked_at = start
    if wrapped := row.wrapped.match(text, start):
        looked_at = wrapped.end()
        lines = _LINE_BREAK.split(wrapped[0])
        fewest = 16 if row.is_token(lines[0]) else 6  # a word on the next line does not belong to the token
        if row.is_token("".join(lines)) and all(len(line) >= fewest and is_varied(line) for line in lines[1:]):
            return wrapped.end(), looked_at
    found = row.pattern.match(text, start)
    end = found.end() if found else 0
    return end if found and row.is_token(found[0]) else 0, max(end, looked_at)

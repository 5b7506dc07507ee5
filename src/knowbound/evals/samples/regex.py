"""Patterns of samples: written in JavaScript's dialect, run here, and never for longer than a moment.

The two dialects spell the same sign differently: in JavaScript \\w and \\b know ASCII letters only (so that \\bGO\\b is
found between Chinese characters), a dollar is the very end of a text, and braces that count nothing are braces. A
pattern is therefore said again in the dialect of the `regex` module, which, unlike `re`, gives up a match that takes
too long.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import regex

SECONDS = 2.0  # that one pattern may take on one answer
DEFAULT_FLAGS = "i"
LONGEST = 5_000  # characters of a pattern
REPEATS = 100_000  # that counts like {3} may multiply to: compiling takes memory for each

_FLAGS = frozenset("dgimsuvy")
_WORD = "A-Za-z0-9_"
_SPACE = r"\t\n\x0b\f\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_BREAK = r"\n\r\u2028\u2029"
_BEFORE, _AFTER = f"(?<=[{_WORD}])", f"(?=[{_WORD}])"
_NOT_BEFORE, _NOT_AFTER = f"(?<![{_WORD}])", f"(?![{_WORD}])"

_ESCAPES = {
    "d": "[0-9]",
    "D": "[^0-9]",
    "w": f"[{_WORD}]",
    "W": f"[^{_WORD}]",
    "s": f"[{_SPACE}]",
    "S": f"[^{_SPACE}]",
    "b": f"(?:{_BEFORE}{_NOT_AFTER}|{_NOT_BEFORE}{_AFTER})",
    "B": f"(?:{_BEFORE}{_AFTER}|{_NOT_BEFORE}{_NOT_AFTER})",
    "0": r"\x00",
    **{sign: f"\\{sign}" for sign in "nrtfv123456789"},
}
# Inside [...] the same is said as ranges.
_NO_DIGIT = r"\x00-\x2f\x3a-\U0010ffff"
_NO_WORD = r"\x00-\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\U0010ffff"
_CLASS_ESCAPES = _ESCAPES | {
    "d": "0-9", "D": _NO_DIGIT, "w": _WORD, "W": _NO_WORD, "s": _SPACE, "S": r"\S", "b": r"\x08",
}  # fmt: skip
_COUNT = re.compile(r"\{(\d+)(,\d*)?\}")
_CODE = re.compile(r"x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|u\{[0-9A-Fa-f]{1,6}\}|c[A-Za-z]")
_PROPERTY = re.compile(r"[pP]\{[A-Za-z0-9_=]+\}")
_NAMED = re.compile(r"k<([A-Za-z_]\w*)>")


def problem_of(pattern: str, flags: str) -> str:
    """Why the pattern cannot be used; "" where it can."""
    try:
        _compiled(pattern, flags)
    except ValueError as error:
        return str(error)
    return ""


def is_found(pattern: str, flags: str, text: str) -> bool | None:
    """Whether the pattern matches somewhere in the text; None where finding out takes too long."""
    compiled = _compiled(pattern, flags)
    look = compiled.match if "y" in flags else compiled.search
    try:
        return look(text, timeout=SECONDS) is not None
    except TimeoutError:
        return None


@lru_cache(256)
def _compiled(pattern: str, flags: str) -> regex.Pattern[str]:
    import regex  # noqa: PLC0415  # heavy, and most samples have no pattern

    flags = flags or DEFAULT_FLAGS
    for flag in flags:
        if flag not in _FLAGS:
            raise ValueError(f"there is no flag {flag!r}; the flags are i, m, s, g, u, v, y and d")
    if len(set(flags)) < len(flags):
        raise ValueError(f"a flag is there twice: {flags!r}")
    if len(pattern) > LONGEST:
        raise ValueError(f"the pattern has {len(pattern):,} characters, more than {LONGEST:,}")
    said = _Translation(pattern, flags).whole()
    try:
        return regex.compile(said, regex.VERSION0 | (regex.IGNORECASE if "i" in flags else 0))
    except regex.error as error:
        raise ValueError(f"the pattern is not valid: {str(error).partition(' at position')[0]}") from None
    except RecursionError:
        raise ValueError("the pattern is nested too deep") from None


class _Translation:
    """One pattern, said again."""

    def __init__(self, pattern: str, flags: str) -> None:
        self.pattern = pattern
        self.unicode = "u" in flags or "v" in flags
        many = "m" in flags
        self.signs = {
            "^": f"(?<![^{_BREAK}])" if many else r"\A",
            "$": f"(?![^{_BREAK}])" if many else r"\Z",
            ".": r"[\s\S]" if "s" in flags else f"[^{_BREAK}]",
        }

    def whole(self) -> str:
        said, at, repeats = [], 0, 1
        while at < len(self.pattern):
            sign = self.pattern[at]
            if sign == "\\":
                part, at = self._escape(at + 1, _ESCAPES)
            elif sign == "[":
                part, at = self._class(at)
            elif counted := _COUNT.match(self.pattern, at):
                part, at = counted.group(), counted.end()
                repeats *= max(1, int(counted.group(1)[:9]))
            elif sign in "{}":  # counts nothing: itself, and never the fuzzy matching of `regex`
                part, at = f"\\{sign}", at + 1
            else:
                part, at = self.signs.get(sign, sign), at + 1
            said.append(part)
        if repeats > REPEATS:
            raise ValueError(f"the pattern repeats something more than {REPEATS:,} times")
        return "".join(said)

    def _escape(self, at: int, meanings: dict[str, str]) -> tuple[str, int]:
        sign = self.pattern[at : at + 1]
        if not sign:
            raise ValueError("the pattern is not valid: it ends with a backslash")
        if code := _CODE.match(self.pattern, at):
            return _coded(code.group()), code.end()
        if self.unicode and (named := _PROPERTY.match(self.pattern, at)):
            return f"\\{named.group()}", named.end()
        if back := _NAMED.match(self.pattern, at):
            return f"(?P={back.group(1)})", back.end()
        if sign in meanings:
            return meanings[sign], at + 1
        if sign.isascii() and sign.isalnum():
            raise ValueError(f"the pattern is not valid: \\{sign} means nothing in it")
        return re.escape(sign), at + 1

    def _class(self, at: int) -> tuple[str, int]:
        """A class [...]: JavaScript's [] is nothing and [^] is everything."""
        start = at
        at += 1
        negated = self.pattern[at : at + 1] == "^"
        at += negated
        inside = []
        while at < len(self.pattern) and self.pattern[at] != "]":
            if self.pattern[at] == "\\":
                part, at = self._escape(at + 1, _CLASS_ESCAPES)
            else:
                part, at = ("\\[" if self.pattern[at] == "[" else self.pattern[at]), at + 1
            inside.append(part)
        if at >= len(self.pattern):
            raise ValueError(f"the pattern is not valid: [ at character {start + 1} is not closed")
        if not inside:
            return (r"[\s\S]" if negated else r"(?!)"), at + 1
        return f"[{'^' if negated else ''}{''.join(inside)}]", at + 1


def _coded(code: str) -> str:
    """A character by its number."""
    number = ord(code[1].upper()) - 64 if code[0] == "c" else int(code.strip("xu{}"), 16)
    if number > 0x10FFFF:
        raise ValueError(f"the pattern is not valid: there is no character \\{code}")
    return f"\\U{number:08x}"

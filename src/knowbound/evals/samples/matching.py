r"""Patterns of samples: written in JavaScript's dialect, matched here within a time limit.

The dialects differ: in JavaScript \w and \b know ASCII letters only (so that \bGO\b is found between Chinese
characters), a dollar is the very end of a text, and braces that count nothing are braces. A pattern is therefore
translated for the `regex` module, which, unlike `re`, can stop a match that takes too long.

Below: the schemas that answers are checked with, and how near an answer is to a reference text.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    import jsonschema_rs
    import regex


PATTERN_SECONDS = 2.0  # that one pattern may take on one answer
DEFAULT_FLAGS = "i"
MOST_CHARACTERS = 5_000  # characters of a pattern
MOST_REPEATS = 100_000  # that counts like {3} may multiply to: compiling takes memory for each

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
_ESCAPE = (
    r"\\(?:(?P<code>x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|u\{[0-9A-Fa-f]{1,6}\}|c[A-Za-z])"
    r"|(?P<property>[pP]\{[A-Za-z0-9_=]+\})|k<(?P<group>[A-Za-z_]\w*)>|(?P<sign>[\s\S]?))"
)
_CLASS = r"\[(?P<negated>\^?)(?P<inside>(?:\\[\s\S]|[^\]\\])*)(?P<closed>\]?)"
_PART = re.compile(rf"{_ESCAPE}|{_CLASS}|(?P<count>\{{(?P<times>\d+)(?:,\d*)?\}})|(?P<plain>[\s\S])")
_CLASS_PART = re.compile(rf"{_ESCAPE}|\[")


def problem_of(pattern: str, flags: str) -> str:
    """Return the reason why the pattern cannot be used; "" if it can."""
    try:
        _compiled(pattern, flags)
    except ValueError as error:
        return str(error)
    return ""


def is_found(pattern: str, flags: str, text: str) -> bool | None:
    """Report whether the pattern matches somewhere in the text; None if the search exceeds the time limit."""
    compiled = _compiled(pattern, flags)
    look = compiled.match if "y" in flags else compiled.search  # y: at the beginning only
    try:
        return look(text, timeout=PATTERN_SECONDS) is not None
    except TimeoutError:
        return None


@lru_cache(256)
def _compiled(pattern: str, flags: str) -> regex.Pattern[str]:
    """Return the pattern in the dialect of `regex`. Raises ValueError with the reason if it cannot be used."""
    import regex  # noqa: PLC0415  # heavy, and most samples have no pattern

    flags = flags or DEFAULT_FLAGS
    for flag in flags:
        if flag not in _FLAGS:
            raise ValueError(f"there is no flag {flag!r}; the flags are i, m, s, g, u, v, y and d")
    if len(set(flags)) < len(flags):
        raise ValueError(f"a flag is repeated: {flags!r}")
    if len(pattern) > MOST_CHARACTERS:
        raise ValueError(f"it has {len(pattern):,} characters, more than {MOST_CHARACTERS:,}")
    translated = _translated(pattern, flags)
    try:
        return regex.compile(translated, regex.VERSION0 | (regex.IGNORECASE if "i" in flags else 0))
    except regex.error as error:
        raise ValueError(f"{str(error).partition(' at position')[0]}") from None
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _translated(pattern: str, flags: str) -> str:
    """Return the pattern in the dialect of `regex`; what the flags mean is written into it."""
    is_multiline, has_unicode = "m" in flags, "u" in flags or "v" in flags
    signs = {
        "^": f"(?<![^{_BREAK}])" if is_multiline else r"\A",
        "$": f"(?![^{_BREAK}])" if is_multiline else r"\Z",
        ".": r"[\s\S]" if "s" in flags else f"[^{_BREAK}]",
        "{": r"\{",  # a brace that counts nothing is itself, and never the fuzzy matching of `regex`
        "}": r"\}",
    }
    parts = list(_PART.finditer(pattern))
    if math.prod(max(1, int(part["times"][:9])) for part in parts if part["times"]) > MOST_REPEATS:
        raise ValueError(f"it repeats something more than {MOST_REPEATS:,} times")
    return "".join(_part(part, signs, has_unicode) for part in parts)


def _part(found: re.Match[str], signs: dict[str, str], has_unicode: bool) -> str:
    """Translate one part of a pattern."""
    if found["closed"] is not None:  # a class [...]
        return _class(found, has_unicode)
    if found["plain"]:
        return signs.get(found["plain"], found["plain"])
    return found["count"] or _escaped(found, _ESCAPES, has_unicode)


def _class(found: re.Match[str], has_unicode: bool) -> str:
    """A class [...]: JavaScript's [] is nothing and [^] is everything."""
    if not found["closed"]:
        raise ValueError(f"[ at character {found.start() + 1} is not closed")
    if not found["inside"]:
        return r"[\s\S]" if found["negated"] else r"(?!)"

    def part(inside: re.Match[str]) -> str:
        return r"\[" if inside[0] == "[" else _escaped(inside, _CLASS_ESCAPES, has_unicode)

    return f"[{found['negated']}{_CLASS_PART.sub(part, found['inside'])}]"


def _escaped(found: re.Match[str], meanings: dict[str, str], has_unicode: bool) -> str:
    """Translate an escape: a code, a property, a named group, or a sign after a backslash."""
    if found["code"]:
        return _coded(found["code"])
    if found["property"] and has_unicode:
        return found[0]
    if found["group"]:
        return f"(?P={found['group']})"
    sign = found[0][1:2]
    if not sign:
        raise ValueError("it ends with a backslash")
    if sign in meanings:
        return meanings[sign]
    if sign.isascii() and sign.isalnum():
        raise ValueError(f"\\{sign} means nothing in it")
    return re.escape(sign)


def _coded(code: str) -> str:
    """A character by its number."""
    number = ord(code[1].upper()) - 64 if code[0] == "c" else int(code.strip("xu{}"), 16)  # \cA is 1
    if number > 0x10FFFF:
        raise ValueError(f"there is no character \\{code}")
    return f"\\U{number:08x}"


# ---- JSON Schemas that answers are checked with


def decoded(answer: str) -> tuple[bool, Any]:
    """Decode an answer: (True, its value) if it is JSON, else (False, None)."""
    try:
        return True, msgspec.json.decode(answer)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return False, None


def schema_problem(schema: dict[str, object]) -> str:
    """Return the reason why the schema cannot be used; "" if it can."""
    try:
        _validator(schema)
    except ValueError as error:
        return _first_line(error)
    return ""


def misfit(value: Any, schema: dict[str, object]) -> str:
    """Return the first place where the value violates the schema; "" if it is valid."""
    error = next(iter(_validator(schema).iter_errors(value)), None)
    if error is None:
        return ""
    path = "/".join(str(step) for step in error.instance_path)
    return f"{_first_line(error.message)[:200]}{f' at {path}' if path else ''}"


def _validator(schema: dict[str, object]) -> jsonschema_rs.Draft7Validator | Any:
    """Return the validator of the draft that `$schema` names, or else of draft 7."""
    import jsonschema_rs  # noqa: PLC0415  # heavy, and few samples have a schema

    named = "$schema" in schema
    make = jsonschema_rs.validator_for if named else jsonschema_rs.Draft7Validator
    return make(schema, retriever=_refuse)


def _refuse(uri: str) -> dict[str, object]:
    raise ValueError(f"{uri} is not in the schema, and nothing is fetched")


def _first_line(error: object) -> str:
    return str(error).strip().partition("\n")[0]


# ---- how near an answer is to a reference text

# A run of letters and digits is one word; of scripts without spaces between words, each character is.
_CHARACTERS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
_TOKENS = re.compile(rf"[{_CHARACTERS}]|[^\W_{_CHARACTERS}]+")
_BLEU_ORDER = 4


def words(text: str) -> list[str]:
    """The words of a text, in small letters."""
    return _TOKENS.findall(text.lower())


def rouge_n(answer: str, reference: str, n: int = 1) -> float:
    """Return the share of the reference's n-word sequences in the answer, each as often as the reference has it."""
    wanted = _sequences(words(reference), n)
    if not wanted:
        return 0.0
    return (wanted & _sequences(words(answer), n)).total() / wanted.total()


def bleu(answer: str, reference: str) -> float:
    """BLEU-4 against one reference, unsmoothed: 0 where the answer shares no sequence of four words with it."""
    answer_words, reference_words = words(answer), words(reference)
    log_precisions = 0.0
    for n in range(1, _BLEU_ORDER + 1):
        sequences = _sequences(answer_words, n)
        shared = (sequences & _sequences(reference_words, n)).total()
        if not shared:
            return 0.0
        log_precisions += math.log(shared / sequences.total())
    brevity = min(0.0, 1 - len(reference_words) / len(answer_words))  # the penalty of an answer that is too short
    return math.exp(brevity + log_precisions / _BLEU_ORDER)


def levenshtein(text: str, other: str) -> int:
    """Return the number of characters to insert, delete or change to turn the first text into the second.

    Myers' bit vectors: a column of the table is two integers with a bit per character, so that long texts take a
    moment and not minutes. `up` has the rows where a cell is one more than the cell above it, `down` one less.
    """
    if len(text) < len(other):
        text, other = other, text
    if not other:
        return len(text)
    rows: dict[str, int] = {}
    for row, sign in enumerate(other):
        rows[sign] = rows.get(sign, 0) | 1 << row
    every, last = (1 << len(other)) - 1, 1 << (len(other) - 1)
    up, down, distance = every, 0, len(other)
    for sign in text:
        equal = rows.get(sign, 0)
        diagonal = (((equal & up) + up) ^ up) | equal | down
        more = down | ~(diagonal | up) & every
        less = up & diagonal
        distance += bool(more & last) - bool(less & last)
        more = more << 1 | 1
        up = (less << 1 | ~(diagonal | more)) & every
        down = more & diagonal & every
    return distance


def _sequences(tokens: list[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(tokens[start:] for start in range(n)), strict=False))

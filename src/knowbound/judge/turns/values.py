"""The values of a text: numbers with their units, versions, paths, flags and names, in one spelling each.

"5 minutes", "300 s" and "5m" are the same duration; "1,204" and "1204" the same number. Two values of the same kind can
exclude each other, two of different kinds cannot. Specification 2, section 3: what an answer restates or contradicts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from itertools import islice
from typing import NamedTuple

_MOST_VALUES = 400  # values of one text: more are a table or a log


class ValueKind(StrEnum):
    """Kind of a value; only values of one kind are compared."""

    DURATION = "duration"
    SIZE = "size"
    PERCENT = "percent"
    VERSION = "version"
    NUMBER = "number"
    TIME = "time"
    DATE = "date"
    PATH = "path"
    FLAG = "flag"
    NAME = "name"
    DAY = "day"


class Value(NamedTuple):
    """A value: its kind, its normal form, and its place in the text."""

    kind: ValueKind
    key: str
    start: int
    end: int


_SECONDS = {
    "ms": 0.001, "msec": 0.001, "millisecond": 0.001, "毫秒": 0.001,
    "s": 1, "sec": 1, "second": 1, "秒": 1, "秒钟": 1, "m": 60, "min": 60, "minute": 60, "分钟": 60, "分": 60,
    "h": 3600, "hr": 3600, "hour": 3600, "小时": 3600, "个小时": 3600,
    "d": 86400, "day": 86400, "天": 86400, "日": 86400,
    "week": 604800, "周": 604800, "个月": 2592000, "month": 2592000, "year": 31536000, "年": 31536000,
}  # fmt: skip
_BYTES = {
    "b": 1, "byte": 1, "字节": 1, "k": 2**10, "kb": 2**10, "kib": 2**10, "ki": 2**10,
    "mb": 2**20, "mib": 2**20, "mi": 2**20, "g": 2**30, "gb": 2**30, "gib": 2**30, "gi": 2**30,
    "tb": 2**40, "tib": 2**40,
}  # fmt: skip
_COUNTED = (
    "zero 零", "one 一", "two 两 二", "three 三", "four 四", "five 五", "six 六", "seven 七", "eight 八", "nine 九",
    "ten 十", "eleven 十一", "twelve 十二",
)  # fmt: skip
_WORDS = {word: number for number, words in enumerate(_COUNTED) for word in words.split()} | {
    "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90, "hundred": 100,
}  # fmt: skip
_DAYS = (
    ("mon", "monday", "周一", "星期一"), ("tue", "tuesday", "周二", "星期二"), ("wed", "wednesday", "周三", "星期三"),
    ("thu", "thursday", "周四", "星期四"), ("fri", "friday", "周五", "星期五"), ("sat", "saturday", "周六", "星期六"),
    ("sun", "sunday", "周日", "星期日", "周天"), ("hourly", "每小时"), ("daily", "nightly", "每天", "每日", "每晚"),
    ("weekly", "每周"), ("monthly", "每月"), ("quarterly", "每季度"),
)  # fmt: skip
_DAY_OF = {name: names[0] for names in _DAYS for name in names}
_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_UNIT = (
    r"ms|msec|milliseconds?|s|secs?|seconds?|mins?|minutes?|m|h|hrs?|hours?|d|days?|weeks?|months?|years?"
    r"|k|kb|kib|ki|mb|mib|mi|g|gb|gib|gi|tb|tib|bytes?|b"
)
_CHINESE_UNIT = r"毫秒|秒钟|秒|分钟|个小时|小时|天|个月|周|年|字节"
_COUNTS = "|".join(word for word in _WORDS if word.isascii())
_VALUE = re.compile(
    r"(?P<url>\w{2,10}://[^\s`'\"<>)\]，。；、]{1,300})"
    r"|(?P<date>\b\d{4}-\d\d-\d\d\b)"
    r"|(?P<flag>(?<![\w-])--?[A-Za-z][\w-]{1,60}(?:=[\w./:-]{1,60})?)"
    r"|(?P<path>(?<![\w./@-])(?:~|\.{1,2})?(?:/?[A-Za-z_.@*][\w.@*{}-]{0,80})?(?:/[\w.@*{}-]{1,80})+/?)"
    r"|(?P<time>\b\d{1,2}:\d\d(?::\d\d)?(?!\d))"
    r"|(?P<version>(?<![\w.])(?:v\d+(?:\.\d+){0,3}|\d+(?:\.\d+){2,3})(?:[-+][A-Za-z0-9.]{1,20})?(?![\w]))"
    rf"|(?P<percent>(?<![\w.])(?:{_NUMBER})\s?(?:%|percent\b|％))"
    rf"|(?P<amount>(?<![\w.])(?:{_NUMBER}|(?:{_COUNTS}))[ -]?(?:(?:{_UNIT})\b|{_CHINESE_UNIT}))"
    rf"|(?P<chinese>[零一二两三四五六七八九十]{{1,3}}(?:{_CHINESE_UNIT}))"
    r"|(?P<name>(?<![\w])[#@:]?[A-Za-z_][A-Za-z0-9_]*(?:(?:\.|-|::|:)[A-Za-z0-9_]+)*(?:\(\))?)"
    rf"|(?P<number>(?<![\w])(?:{_NUMBER})(?![A-Za-z_]))"
    rf"|(?P<chinese_day>{'|'.join(name for name in _DAY_OF if not name.isascii())})",
    re.I,
)
_IS_NAME = re.compile(r"[a-z][A-Z]|[A-Z]{2}|_|\d|\w[.:]\w|^[#@]\w|\(\)$")
_KEBAB = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)+", re.I)


def values_of(text: str) -> list[Value]:
    """The values of a text in their order."""
    found = (_value(match) for match in _VALUE.finditer(text))
    return list(islice((value for value in found if value is not None), _MOST_VALUES))


def _value(match: re.Match[str]) -> Value | None:
    group, text = str(match.lastgroup), match.group()
    lower = text.lower().strip()
    if group in _NORMAL_FORMS:
        kind, normal = _NORMAL_FORMS[group]
        return Value(kind, normal(lower), *match.span())
    parsed = {"amount": _amount, "chinese": _chinese_amount}.get(group)
    kind_and_key = parsed(lower) if parsed else _name_or_word(text, lower)
    return None if kind_and_key is None else Value(*kind_and_key, *match.span())


def _name_or_word(text: str, lower: str) -> tuple[ValueKind, str] | None:
    """Return a word as a day, a number or a name; None for any other word, and for "one", which often is no number."""
    if lower in _DAY_OF and len(lower) > 3:
        return ValueKind.DAY, _DAY_OF[lower]
    if lower in _WORDS:
        return (ValueKind.NUMBER, str(_WORDS[lower])) if _WORDS[lower] != 1 else None
    if _IS_NAME.search(text) or (_KEBAB.fullmatch(text) and len(text) > 6):
        return ValueKind.NAME, lower.removesuffix("()").lstrip(":")
    return None


def _amount(lower: str) -> tuple[ValueKind, str] | None:
    """Return the kind and the usual spelling of a number with a unit (`3 ms`, `two days`); None if it is none."""
    number = re.match(rf"{_NUMBER}|[a-z]+?(?=[ -])", lower)
    if number is None:
        return None
    count = _WORDS[number[0]] if number[0] in _WORDS else _float(number[0])
    return _measured(count, lower[number.end() :].strip(" -"))


def _chinese_amount(lower: str) -> tuple[ValueKind, str] | None:
    found = re.match("[零一二两三四五六七八九十]+", lower)
    if found is None:
        return None
    tens, mark, ones = found[0].partition("十")
    count = (_WORDS.get(tens, 1) * 10 + _WORDS.get(ones, 0)) if mark else _WORDS.get(found[0], 0)
    return _measured(count, lower[found.end() :])


def _measured(count: float, unit: str) -> tuple[ValueKind, str]:
    """Return an amount in seconds or bytes; without a known unit, as a number."""
    for table, kind in ((_SECONDS, ValueKind.DURATION), (_BYTES, ValueKind.SIZE)):
        if factor := table.get(unit) or table.get(unit.removesuffix("s")):
            return kind, f"{count * factor:.10g}"
    return ValueKind.NUMBER, f"{float(count):.10g}"


def _normal(number: str) -> str:
    return f"{_float(number):.10g}" if len(number) < 16 else number


def _float(number: str) -> float:
    return float(number.replace(",", "")[:24])


# Groups of the pattern whose text needs one change at most.
_NORMAL_FORMS: dict[str, tuple[ValueKind, Callable[[str], str]]] = {
    "url": (ValueKind.PATH, lambda text: text.rstrip("/.,:;")),
    "path": (ValueKind.PATH, lambda text: text.strip("/").rstrip(".").removeprefix("./")),
    "date": (ValueKind.DATE, str),
    "flag": (ValueKind.FLAG, lambda text: text.lstrip("-")),
    "time": (ValueKind.TIME, lambda text: text.lstrip("0")),
    "version": (ValueKind.VERSION, lambda text: text.removeprefix("v")),
    "percent": (ValueKind.PERCENT, lambda text: _normal(text.rstrip("%％percnt "))),
    "chinese_day": (ValueKind.DAY, lambda text: _DAY_OF[text]),
    "number": (ValueKind.NUMBER, _normal),
}

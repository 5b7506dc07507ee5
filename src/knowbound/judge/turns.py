"""The embedded judge of turns: a few stated rules about words, no model, no network, no cost.

Specification 2, section 3. It says what words can show, and no more:
- used: the agent itself brings in the item's names, values and words, which neither the prompt nor a tool result had
  shown before; words that it denies do not count;
- contradicted: a sentence of the answer denies what the item says ("no longer", "there is no", "9090, not 8080"), or
  says the same of another value, or a tool call withdraws the item by its id;
- on topic: it has most words of the prompt, or the turn is more about it than about the other items (its words in the
  prompt, the answer and the tool calls, and the sentence of the answer that is closest to it), or it is used or
  contradicted.
Words count by how rare they are in texts about software. The limits were chosen on labelled turns; how far this can be
trusted is in docs/decisions/models.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import islice
from typing import NamedTuple, Protocol

import msgspec

from knowbound.core.quality import ItemVerdict, JudgedCall, JudgedItem, JudgedTurn
from knowbound.judge.names import Judge
from knowbound.stats.printing import percent
from knowbound.text.embedding import embed, similarity
from knowbound.text.printable import shorten
from knowbound.text.sentences import sentences
from knowbound.text.specific_words import all_terms, usual_weight


class TurnVerdicts(msgspec.Struct, frozen=True):
    """The verdicts on a turn's items, in order; or the problem."""

    verdicts: tuple[ItemVerdict, ...] = ()
    problem: str = ""  # not empty: the judge failed, and the turn can be judged again
    usd: float | None = 0.0  # None: unknown


class TurnJudge(Judge, Protocol):
    """Judges the items of turns."""

    def judge(self, turns: Sequence[JudgedTurn]) -> list[TurnVerdicts]:
        """Return one answer per turn, in order, without raising for the content of a turn."""


_USED_SHARE = 0.35  # share of the item's own words that the agent brings in; a name or a value counts twice
_ON_TOPIC_LEAD = 0.4  # relevance of an item above half of the mean relevance of the other items
_DENIED_WEIGHT, _DENIED_SHARE = 0.8, 0.4  # weight of the denied words; share of the item's words around them
_ASKED_SHARE = 0.7  # share of the prompt's words that an item has
_DENIED_VALUE_SHARE = 0.25  # share of the item's words around a denied value of it
_OTHER_VALUE_SHARE = 0.4  # share of the item's words in a sentence with another value of the same kind
_DENIED_CHARACTERS = 70  # characters after "not", or before "was removed", that are denied
_MOST_SENTENCES, _OUTPUT_CHARACTERS = 200, 20_000
_CORRECTION_CHARACTERS = 500
_DENIES_AFTER = re.compile(  # what follows is denied
    r"\bno longer\b|(?<!could )(?<!can)(?<!did )\bnot\b|(?<!could)(?<!ca)(?<!did)n't\b|\bno\b|\bnever\b"
    r"|\binstead of\b|\brather than\b|不再|没有|不是|并非|而不是|并没|\bnicht\b|\bkeine?n?\b|\bya no\b",
    re.IGNORECASE,
)
_DENIES_BEFORE = re.compile(  # the text before it is denied
    r"(?:do|does|did)(?:n't| not) exist|no longer (?:exists?|used|there|applies|true)|不存在|已删除|已移除|过时"
    r"|(?:is|are|was|were|has been|have been) (?:removed|deleted|gone|dropped|renamed|replaced|outdated|wrong|stale)",
    re.IGNORECASE,
)
_NEGATIVE = re.compile(r"\bno\b|\bnot\b|n't\b|\bnever\b|\bwithout\b|不|没|\bnicht\b|\bkein", re.IGNORECASE)


class _AnswerSentence(NamedTuple):
    """A sentence of the answer."""

    text: str
    terms: frozenset[str]
    denied: tuple[frozenset[str], ...]  # the words that each denial is about
    denied_values: frozenset[tuple[str, str]]
    values: frozenset[tuple[str, str]]
    vector: bytes


class RulesTurnJudge:
    """Judges the items of a turn by their words."""

    costs = False
    version = "rules-turns-3"

    def judge(self, turns: Sequence[JudgedTurn]) -> list[TurnVerdicts]:
        """Return one answer per turn, in order."""
        return [self._judge(turn) for turn in turns]

    def _judge(self, turn: JudgedTurn) -> TurnVerdicts:
        """Judge the items of a turn; the relevance of each is above half of the mean of the others, or below."""
        if not turn.items:
            return TurnVerdicts()
        text = _TurnText(turn)
        relevance = [text.relevance(item.content) for item in turn.items]
        found = []
        for at, item in enumerate(turn.items):
            others = relevance[:at] + relevance[at + 1 :]
            mean = sum(others) / len(others) if others else 0.0
            found.append(self._verdict(text, item, relevance[at] - mean / 2))
        return TurnVerdicts(tuple(found))

    def _verdict(self, text: _TurnText, item: JudgedItem, relevance: float) -> ItemVerdict:
        """Judge an item; `relevance` is how far it is above half of the others' mean."""
        terms = _terms(item.content)
        denial = text.denial(item.content, terms)
        withdrawn = text.withdrawn.get(item.id)
        contradicted = bool(denial) or withdrawn is not None
        use = text.use(terms)
        used = use > _USED_SHARE
        return ItemVerdict(
            item=item.id,
            on_topic=used or contradicted or relevance > _ON_TOPIC_LEAD or text.is_asked_for(terms),
            used=used,
            contradicted=contradicted,
            correction=shorten(denial or withdrawn or "", _CORRECTION_CHARACTERS),
            reason=_reason(bool(denial), contradicted, use),
            judge=self.version,
        )


def _reason(denied: bool, contradicted: bool, use: float) -> str:
    """Say which rule decided; without a denial, how much of the item the agent uses."""
    if denied:
        return "a sentence of the answer denies it"
    if contradicted:
        return "a tool call withdraws it"
    return f"the agent brings in {percent(use, 0)} of its own words"


class _TurnText:
    """The words of a turn, and who said them first."""

    def __init__(self, turn: JudgedTurn) -> None:
        self._prompt = _terms(turn.prompt)
        self._sentences = [_answer_sentence(found.text) for found in sentences(turn.response)][:_MOST_SENTENCES]
        self._answer = _terms(turn.response)
        self._inputs, self._shown = _input_and_shown_terms(turn.tool_calls)
        self._denied = frozenset[str]().union(*(terms for said in self._sentences for terms in said.denied))
        self.withdrawn = dict(_withdrawn(turn.tool_calls))  # what is true instead, by the id of the item

    def use(self, item_terms: frozenset[str]) -> float:
        """Return the share of an item's words, those of the prompt aside, that the agent brings in."""
        item_terms = item_terms - self._prompt
        brought_in = (self._answer - self._shown - self._denied) | (self._inputs - self._shown)
        brought_in &= item_terms
        total = _weight(item_terms) + _weight(filter(_is_name, item_terms))  # a name counts twice
        return (_weight(brought_in) + _weight(filter(_is_name, brought_in))) / total if total else 0.0

    def denial(self, content: str, item_terms: frozenset[str]) -> str:
        """Return the sentence of the answer that denies an item, with the next one; "" if there is none."""
        is_negative = bool(_NEGATIVE.search(content))  # to deny a negative item may be to confirm it
        values = _values(content)
        kinds = {kind for kind, _ in values}
        is_affirmed_elsewhere = any(values & (said.values - said.denied_values) for said in self._sentences)
        terms_before = frozenset[str]()  # of the sentence before
        for at, said in enumerate(self._sentences):
            around = _share(item_terms & (said.terms | terms_before | self._prompt), item_terms)
            denies_words = any(_weight(item_terms & terms) >= _DENIED_WEIGHT for terms in said.denied)
            denies_value = bool(values & said.denied_values) and around >= _DENIED_VALUE_SHARE
            is_about_item = _share(item_terms & said.terms, item_terms) >= _OTHER_VALUE_SHARE
            has_other_value = is_about_item and any(kind in kinds for kind, _ in said.values)
            if (denies_words and not is_negative and around >= _DENIED_SHARE) or (
                not is_affirmed_elsewhere and (denies_value or has_other_value)
            ):
                return " ".join(sentence.text for sentence in self._sentences[at : at + 2])
            terms_before = said.terms
        return ""

    def is_asked_for(self, item_terms: frozenset[str]) -> bool:
        """Report whether an item has most words of the prompt."""
        return bool(self._prompt) and _share(item_terms & self._prompt, self._prompt) >= _ASKED_SHARE

    def relevance(self, content: str) -> float:
        """Return how much the turn is about an item: from 0 to about 2."""
        terms, vector = _terms(content), embed(content)
        closest = max((similarity(vector, said.vector) for said in self._sentences), default=0.0)
        return _share(terms & (self._prompt | self._answer | self._inputs), terms) + closest


def _withdrawn(calls: Iterable[JudgedCall]) -> Iterator[tuple[str, str]]:
    """Yield the ids of items that a tool call replaces, retracts or deletes, each with what it puts in their place."""
    for call in calls:
        tool, given = call.name.rpartition("__")[2], call.input
        if tool in ("kms_supersede", "kms_delete") or (tool == "kms_flag" and given.get("flag") == "RETRACTED"):
            also = given.get("also")
            for id_ in (given.get("id"), *(also if isinstance(also, list) else ())):
                yield str(id_), str(given.get("content") or "")


def _answer_sentence(text: str) -> _AnswerSentence:
    """Return a sentence with its words and values, and the parts that it denies."""
    denied = [text[word.end() : word.end() + _DENIED_CHARACTERS] for word in _DENIES_AFTER.finditer(text)]
    denied += [text[max(0, word.start() - _DENIED_CHARACTERS) : word.start()] for word in _DENIES_BEFORE.finditer(text)]
    values = [next(iter(values_of(part)), None) for part in denied]  # of a denial, the nearest value
    denied_values = frozenset((str(value.kind), value.key) for value in values if value is not None)
    words = tuple(frozenset(term for term in _terms(part) if not term.isdigit()) for part in denied)
    return _AnswerSentence(text, _terms(text), words, denied_values, _values(text), embed(text))


def _input_and_shown_terms(calls: Iterable[JudgedCall]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words of the tools' inputs, and the words that a result showed before an input had them."""
    inputs, shown = set[str](), set[str]()
    for call in calls:
        inputs |= _terms(json.dumps(call.input, ensure_ascii=False, default=str))
        shown |= _terms(call.output[:_OUTPUT_CHARACTERS]) - inputs
    return frozenset(inputs), frozenset(shown)


def _terms(text: str) -> frozenset[str]:
    return frozenset(all_terms(text))


def _values(text: str) -> frozenset[tuple[str, str]]:
    return frozenset((str(value.kind), value.key) for value in values_of(text))


def _is_name(term: str) -> bool:
    return not term.isalpha()


def _weight(terms: Iterable[str]) -> float:
    return sum(map(usual_weight, terms))


def _share(some: Collection[str], whole: Collection[str]) -> float:
    total = _weight(whole)
    return _weight(some) / total if total else 0.0


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
    """Return the value that a match stands for; None if it is no value."""
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
    """Return the kind and the usual spelling of an amount below 100 in Chinese numerals."""
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

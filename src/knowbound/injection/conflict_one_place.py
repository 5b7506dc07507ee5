"""Whether two items contradict each other in sentences that are the same but for one place.

What stands there excludes the other: another value of the same kind (number, path, day) of something that has
one value at a time, or an opposite. Most verbs take several values: what supports 3.10 may support 3.12.
"""

from __future__ import annotations

import re
from functools import lru_cache

from knowbound.injection.conflict_statements import has_characters
from knowbound.injection.conflict_words import LABELLED

_MOST_CHARACTERS = 1_200  # of an item: what is injected of it at most
_MOST_SENTENCES = 6
_MOST_TOKENS = 60
_LONGEST_SLOT = 3

_WORDS = (
    r"`[^`\n]{1,200}`"
    r"|(?:[\w.-]+)?(?:/[\w.-]+)+"  # a path
    r"|[A-Za-z][\w-]*(?:\.[\w-]+)+"  # a host or a file
    r"|v?\d+(?:[.,:]\d+)*%?"
    r"|[^\W\d_][^\W_]*(?:['’_-][^\W_]+)*"
)
_TOKEN = re.compile(_WORDS)
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|[。！？\n]")
_TAIL = re.compile(  # when it holds, and why: not what it says
    r"\b(?:now|nowadays|currently|any ?more|any longer|since|as of|from now on|because|until)\b.*",
    re.IGNORECASE | re.DOTALL,
)
_FILLERS = frozenset(
    "actually really now currently already still also just a an the every each any 都 也 现 在 已 经".split()
)
_FUNCTION_WORDS = frozenset(
    "is are was were be been do does did has have had must should can could may will would to of in on at by for from "
    "with as and or that which it its this these those they when if than then the a an 的 了 是 在 会".split()
)

_NUMBER = re.compile(r"v?\d+(?:[.,:]\d+)*%?")
_NUMBER_WORDS = frozenset(
    "zero one two three four five six seven eight nine ten eleven twelve once twice "
    "一 二 三 四 五 六 七 八 九 十 两".split()
)
_UNITS = frozenset(
    "ms millisecond milliseconds second seconds minute minutes hour hours day days week weeks month months year years "
    "kb mb gb tb kib mib gib bytes percent pixels 秒 分 天 周 月 年".split()
)
_QUANTITY = re.compile(r"\d+(?:[.,]\d+)?%?")  # no version, no time of day
_BOUNDS = frozenset("later newer above higher up".split())  # "15 and later"
_BE = frozenset("is are was were be been".split())
# Verbs that take one value: "listens on 8080". With a number more do: "uses Node 20".
_ONE_VALUE = re.compile(
    r"(?:listen|bind|live|reside|sit|point|default|expire|start|begin|end|stop|set|pin|equal)(?:s|ed|ing|ned)?|bound|lies"
)
_ONE_NUMBER = re.compile(r"(?:use|run|require|target)(?:s|d)?")
# Between "is" and a value: participles of what takes several, and "to", which most things can be done to.
_SEVERAL = re.compile(
    r"to|against|by|(?:support|test|mention|document|allow|includ|import|export|expos|call|us|fix|introduc|chang|add|list"
    r"|need|cover|affect|check|accept)ed|seen|known|available|compatible"
)
_SEVERAL_CHINESE = re.compile("支持|依赖|包含|调用|允许|暴露|需要|导出|导入|读取|兼容|接受")
_NEAR_BE = 5  # tokens
_EXCLUSIVE = tuple(
    frozenset(words.split())
    for words in (
        "monday tuesday wednesday thursday friday saturday sunday",
        "hourly daily weekly monthly yearly quarterly nightly",
        "true false",
        "on off",
        "yes no",
        "always never",
        "before after",
        "public private internal",
        "required optional",
        "mandatory optional",
        "tabs spaces",
        "strings integers floats uuids numbers",
        "first last",
        "ascending descending",
        "main master",
        "前 后",
        "必须 不要 不得 不能 禁止",
        "允许 禁止",
        "启 禁",
        "开 关",
    )
)
_OPPOSITES = (
    ("enabl", "disabl"),
    ("includ", "exclud"),
    ("accept", "reject"),
    ("allow", "den"),
    ("allow", "forbid"),
    ("allow", "block"),
    ("permit", "forbid"),
    ("synchronous", "asynchronous"),
    ("mutable", "immutable"),
    ("sensitive", "insensitive"),
    ("increas", "decreas"),
    ("opt-in", "opt-out"),
)


@lru_cache(maxsize=1)
def _token_of_china_or_japan() -> re.Pattern[str]:
    return re.compile(r"[\u3040-\u9fff]|" + _WORDS)  # one character is a word


def differ_in_one_place(a: str, b: str) -> bool:
    """Whether a sentence of one text is the same as one of the other but for a place that excludes it."""
    ours, theirs = _sentences(a), _sentences(b)
    return any(_differ_in_a_value(one, other) for one in ours for other in theirs)


def _differ_in_a_value(a: list[str], b: list[str]) -> bool:
    """The same but for one place, and there a value, an opposite or one of several that exclude each other."""
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    end = 0
    while end < min(len(a), len(b)) - start and a[-1 - end] == b[-1 - end]:
        end += 1
    here, there = a[start : len(a) - end], b[start : len(b) - end]
    if not here or not there:
        return False
    before = [token for token in a[:start] if token not in _FUNCTION_WORDS]
    after = [token for token in a[len(a) - end :] if token not in _FUNCTION_WORDS] if end else []
    if len(before) + len(after) < 2:
        return False
    if _exclude(here, there):
        return True
    # A value names the subject where only a noun is before it ("Python 3 …"), or a word that is counted ("shard 1").
    if len(before) < 2 or a[start - 1] in LABELLED:
        return False
    if len(here) != len(there) or len(here) > _LONGEST_SLOT or not all(map(_are_values, here, there)):
        return False
    following = a[start + len(here) :]
    if _is_quantity(here, following) and _is_quantity(there, following):
        return True
    return has_one_value(a[:start], here, following)


def _is_quantity(value: list[str], following: list[str]) -> bool:
    """Whether it counts or measures something ("30 days", "8 workers", "80%"), or is a bound ("15 and later")."""
    if not all(_QUANTITY.fullmatch(token) or token in _NUMBER_WORDS or token in _UNITS for token in value):
        return False
    if value[-1].endswith("%") or value[-1] in _UNITS or not _BOUNDS.isdisjoint(following[:2]):
        return True
    return bool(following) and following[0].isalpha() and following[0] not in _FUNCTION_WORDS


def has_one_value(before: list[str], value: list[str], following: list[str]) -> bool:
    """Whether what is said of a value holds for one value at a time."""
    if any("\u3040" <= token <= "\u9fff" for token in before):
        return not _SEVERAL_CHINESE.search("".join([*before, *following]))
    is_number = all(_kind(token) == "number" for token in value)
    if any(_ONE_VALUE.fullmatch(token) or (is_number and _ONE_NUMBER.fullmatch(token)) for token in before):
        return True
    for place in range(len(before) - 1, max(-1, len(before) - 1 - _NEAR_BE), -1):
        if before[place] in _BE:
            return True
        if _SEVERAL.fullmatch(before[place]):
            return False
    return False


def _exclude(here: list[str], there: list[str]) -> bool:
    a, b = "".join(here), "".join(there)
    if any(a in words and b in words for words in _EXCLUSIVE):
        return True
    if len(here) > 1 or len(there) > 1:
        return False
    if a[0] == b[0] == "`" and "=" in a and a.partition("=")[0] == b.partition("=")[0]:
        return True  # a setting
    return any(
        (a.startswith(one) and b.startswith(other)) or (a.startswith(other) and b.startswith(one))
        for one, other in _OPPOSITES
    )


def _are_values(a: str, b: str) -> bool:
    """Different values of the same kind, or units beside them."""
    if a in _UNITS and b in _UNITS:
        return True
    return a != b and _kind(a) == _kind(b) != ""


def _kind(token: str) -> str:
    if token.startswith("`"):
        return "code"
    if "/" in token or re.fullmatch(r"[a-z][\w-]*(?:\.[\w-]+)+", token):
        return "place"
    return "number" if _NUMBER.fullmatch(token) or token in _NUMBER_WORDS else ""


def _sentences(text: str) -> list[list[str]]:
    sentences = [part for part in _SENTENCE_END.split(text[:_MOST_CHARACTERS]) if part.strip()]
    return [_tokens(_TAIL.sub("", sentence)) or _tokens(sentence) for sentence in sentences[:_MOST_SENTENCES]]


def _tokens(text: str) -> list[str]:
    pattern = _token_of_china_or_japan() if has_characters(text) else _TOKEN
    found = [token.lower() for token in pattern.findall(text)[:_MOST_TOKENS]]
    return [token for token in found if token not in _FILLERS]

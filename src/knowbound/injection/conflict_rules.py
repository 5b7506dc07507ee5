"""Whether two items contradict each other, by rules over their words.

Similarity cannot say it: sentences that contradict are more alike than sentences that agree. Two statements conflict
where they are the same but for one place, and what stands there excludes the other: another value of the same kind
(number, path, day) of something that has one value at a time, an opposite, a negation on one side, or a replacement
that one of them names ("instead of …"). Most verbs take several values: what supports 3.10 may support 3.12.
Precision counts more than recall: a conflict that is none discredits a good item (`python -m bench.conflicts`).
"""

from __future__ import annotations

import re

_MOST_CHARACTERS = 1_200  # of an item: what is injected of it at most
_MOST_SENTENCES = 6
_MOST_TOKENS = 60
_LONGEST_SLOT = 3

_TOKEN = re.compile(
    r"`[^`\n]{1,200}`"
    r"|(?:[\w.-]+)?(?:/[\w.-]+)+"  # a path
    r"|[A-Za-z][\w-]*(?:\.[\w-]+)+"  # a host or a file
    r"|v?\d+(?:[.,:]\d+)*%?"
    r"|[\u3400-\u9fff\u3040-\u30ff]"  # one character is a word
    r"|[^\W\d_][^\W_]*(?:['’_-][^\W_]+)*"
)
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|[。！？\n]")
_CLAUSE_END = re.compile(r"[;,；，:：()]| — ")
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
_NEGATIONS = re.compile(
    r"\b(?:no longer|not|never|no|cannot|without|(?:do|does|did|is|are|was|were|must|should|can|could|wo)n['’]t)\b"
    r"|不再|不要|不得|不会|不能|不需要|不用|无需|禁止|没有|从不|不",
    re.IGNORECASE,
)
_ANY_MORE = re.compile(r"\b(?:any ?more|any longer)\b", re.IGNORECASE)
_REPLACED = re.compile(
    r"\b(?:instead of|rather than|not(?: in| at| by| from| on)?)\s+(.{1,120}?)\s*$|而不是(.{1,60})$", re.I
)

_NUMBER = re.compile(r"v?\d+(?:[.,:]\d+)*%?")
_NUMBER_WORDS = frozenset(
    "zero one two three four five six seven eight nine ten eleven twelve once twice "
    "一 二 三 四 五 六 七 八 九 十 两".split()
)
_LABELLED = frozenset(  # a number after one of these is its name
    "number no item step shard ticket issue pr part phase row line test case level tier zone worker replica "
    "chapter section appendix fact entry task story 第 号".split()
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


def conflicting(a: str, b: str) -> bool:
    """Whether two texts contradict each other."""
    return any(_contradict(one, other) for one in _statements(a) for other in _statements(b))


class _Statement:
    """A sentence, as far as the rules look at it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(_TAIL.sub("", text) if _TAIL.search(text) and _tokens(_TAIL.sub("", text)) else text)
        self.content = [_stem(token) for token in self.tokens if token not in _FUNCTION_WORDS]
        # Clauses with a negation: what they deny.
        clauses = [clause for clause in _CLAUSE_END.split(text) if _NEGATIONS.search(clause)]
        self.denied = [_content(_ANY_MORE.sub(" ", _NEGATIONS.sub(" ", clause))) for clause in clauses]
        self.asserted = [] if clauses else [_content(clause) for clause in _CLAUSE_END.split(text)]


def _contradict(a: _Statement, b: _Statement) -> bool:
    if len(set(a.content) & set(b.content)) < 1:
        return False
    return _differ_in_a_value(a, b) or _deny(a, b) or _deny(b, a) or _replace(a, b) or _replace(b, a)


def _differ_in_a_value(a: _Statement, b: _Statement) -> bool:
    """The same but for one place, and there a value, an opposite or one of several that exclude each other."""
    start = 0
    while start < min(len(a.tokens), len(b.tokens)) and a.tokens[start] == b.tokens[start]:
        start += 1
    end = 0
    while end < min(len(a.tokens), len(b.tokens)) - start and a.tokens[-1 - end] == b.tokens[-1 - end]:
        end += 1
    here, there = a.tokens[start : len(a.tokens) - end], b.tokens[start : len(b.tokens) - end]
    if not here or not there:
        return False
    before = [token for token in a.tokens[:start] if token not in _FUNCTION_WORDS]
    after = [token for token in a.tokens[len(a.tokens) - end :] if token not in _FUNCTION_WORDS] if end else []
    if len(before) + len(after) < 2:
        return False
    if _exclude(here, there):
        return True
    # A value names the subject where only a noun is before it ("Python 3 …"), or a word that is counted ("shard 1").
    if len(before) < 2 or a.tokens[start - 1] in _LABELLED:
        return False
    if len(here) != len(there) or len(here) > _LONGEST_SLOT or not all(map(_are_values, here, there)):
        return False
    following = a.tokens[start + len(here) :]
    if _is_quantity(here, following) and _is_quantity(there, following):
        return True
    return _has_one_value(a.tokens[:start], here, following)


def _is_quantity(value: list[str], following: list[str]) -> bool:
    """Whether it counts or measures something ("30 days", "8 workers", "80%"), or is a bound ("15 and later")."""
    if not all(_QUANTITY.fullmatch(token) or token in _NUMBER_WORDS or token in _UNITS for token in value):
        return False
    if value[-1].endswith("%") or value[-1] in _UNITS or not _BOUNDS.isdisjoint(following[:2]):
        return True
    return bool(following) and following[0].isalpha() and following[0] not in _FUNCTION_WORDS


def _has_one_value(before: list[str], value: list[str], following: list[str]) -> bool:
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


def _deny(a: _Statement, b: _Statement) -> bool:
    """One denies what the other asserts: all of its words, in their order."""
    for denied in a.denied:
        for asserted in b.asserted:
            shorter, longer = sorted((denied, asserted), key=len)
            if len(shorter) >= 3 and len(longer) - len(shorter) <= 2 and _is_within(shorter, longer):
                return True
    return False


def _replace(a: _Statement, b: _Statement) -> bool:
    """One names what the other says as replaced: "instead of …", ", not in …"."""
    found = _REPLACED.search(a.text.rstrip(" .。"))
    if not found:
        return False
    replaced = _content(found[1] or found[2] or "")
    kept = _content(a.text[: found.start()])
    rest = b.content[: -len(replaced)] if replaced and b.content[-len(replaced) :] == replaced else []
    return bool(rest) and kept[: len(rest)] == rest and len(rest) >= 2


def _is_within(shorter: list[str], longer: list[str]) -> bool:
    left = iter(longer)
    return all(word in left for word in shorter)


def _statements(text: str) -> list[_Statement]:
    sentences = [part for part in _SENTENCE_END.split(text[:_MOST_CHARACTERS]) if part.strip()]
    return [_Statement(sentence) for sentence in sentences[:_MOST_SENTENCES]]


def _tokens(text: str) -> list[str]:
    found = [token.lower() for token in _TOKEN.findall(text)[:_MOST_TOKENS]]
    return [token for token in found if token not in _FILLERS]


def _content(text: str) -> list[str]:
    return [_stem(token) for token in _tokens(text) if token not in _FUNCTION_WORDS]


def _stem(token: str) -> str:
    """The word without the ending of a plural or a third person."""
    return token[:-1] if len(token) > 3 and token.isalpha() and token.endswith("s") and token[-2:] != "ss" else token

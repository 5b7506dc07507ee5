"""An item as the rules on contradicting items see it: its sentences, their clauses, words and values."""

from __future__ import annotations

import re
from functools import lru_cache

from knowbound.injection.conflict_words import (
    COPULAS,
    FUNCTION_WORDS,
    LABELLED,
    NEGATION,
    NUMBERS,
    OF,
    PARTS_OF_ONE,
    ROMANCE,
    SYNONYMS,
    TARGETS,
    UNITS,
)
from knowbound.text.stems import stem
from knowbound.text.stop_words import STOP_WORDS

_MOST_CHARACTERS = 1_200  # of an item: what is injected of it at most
_MOST_SENTENCES = 6
_MOST_TOKENS = 60
_MOST_CLAUSES = 12  # every clause is compared with every other
_STEM = 7  # characters: endings of languages other than English are cut off with the rest

_CODE_OR_NUMBER = (
    r"`[^`\n]{1,200}`"
    r"|\w+://[^\s`]+"
    r"|(?:[\w.-]{1,80})?(?:/[\w.-]+)+/?"  # a path
    r"|[A-Za-z][\w-]*(?:\.[\w-]+)+"  # a host or a file
    r"|\d+[A-Z]\b"  # 7B, 4K
    r"|\d+(?:[.,:]\d+)*[kK]?(?=[^\W\d]{0,3}\b|%|[^\x00-\x7f]|$)"
    r"|v\d+(?:\.\d+)*"
    r"|%"
    r"|[^\W\d_]+n['’]t\b"
)
_TOKEN = re.compile(_CODE_OR_NUMBER + r"|[#@]?[^\W\d_][^\W_]*(?:_\w+)*")
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|[。！？\n]")
_CLAUSE_END = re.compile(r"[;,；，、:：()（）](?=\s|$|[^\x00-\x7f])|\s[—–-]\s|[；，、（）：]|\(")
_NAME = re.compile(r"[a-z]+[A-Z]|[A-Z].*[A-Z]|_|\d")
_NUMBER = re.compile(r"v?\d+(?:[.,:]\d+)*[kK]?")


@lru_cache(maxsize=1)
def _token_of_china_or_japan() -> re.Pattern[str]:
    """Compiled where it is needed: the classes of these scripts cost milliseconds."""
    return re.compile(
        _CODE_OR_NUMBER + r"|[\u30a0-\u30ff]{2,}"  # katakana: a borrowed word
        r"|[\u3400-\u9fff]"  # one character is a word
        r"|[#@]?[^\W\d_\u3040-\u9fff][^\W_\u3040-\u9fff]*(?:_[^\W\u3040-\u9fff]+)*"
    )


def has_characters(text: str) -> bool:
    """Whether it has words of Chinese or Japanese."""
    return not text.isascii() and any("\u3040" <= sign <= "\u9fff" for sign in text)


class Token:
    """A word, a name, a number or a piece of code."""

    __slots__ = ("clause", "is_code", "is_name", "key", "start", "text")

    def __init__(self, text: str, start: int, clause: int, *, opens: bool) -> None:
        self.text = text.strip("`").strip()
        self.start = start
        self.clause = clause
        self.is_code = text[0] == "`" or "/" in text or ("." in text and not text[0].isdigit())
        capital = self.text[:1].isupper() and not opens
        self.is_name = self.is_code or capital or bool(_NAME.search(self.text)) or self.text[:1] in "#@"
        self.key = _key(self.text, is_code=self.is_code)

    @property
    def lower(self) -> str:
        """The word as it is compared with the tables."""
        return self.text.lower()

    @property
    def is_number(self) -> bool:
        """Whether it is a number, in figures or in letters."""
        return not self.is_code and (bool(_NUMBER.fullmatch(self.text)) or self.lower in NUMBERS)


class Value:
    """A number with what it counts or measures."""

    __slots__ = ("amount", "at", "clause", "is_quantity", "what", "words")

    def __init__(self, what: str, amount: float | str, at: int, clause: int, words: frozenset[str]) -> None:
        self.what = what
        self.at = at  # which token
        self.is_quantity = not what.startswith(("number", "version "))
        self.amount = amount
        self.clause = clause
        self.words = words  # that belong to the value, not to its subject


class Statement:
    """A sentence, as far as the rules look at it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.ends = [found.start() for found in _CLAUSE_END.finditer(_without_code(text))][: _MOST_CLAUSES - 1]
        self.tokens: list[Token] = []
        self.has_characters = has_characters(text)
        token = _token_of_china_or_japan() if self.has_characters else _TOKEN
        for found in token.finditer(text):
            self.tokens.append(Token(found[0], found.start(), self.clause_at(found.start()), opens=not self.tokens))
            if len(self.tokens) == _MOST_TOKENS:
                break
        self.content = self.keys(self.tokens)
        self.numbers = {token.text for token in self.tokens if token.is_number}
        self.codes = {token.key for token in self.tokens if token.is_code}
        self.targets = {
            (number, token.lower)
            for at, token in enumerate(self.tokens)
            for number, row in enumerate(TARGETS)
            if token.lower in row and not any(one.lower in COPULAS for one in self.tokens[max(0, at - 2) : at])
        }
        self.lower = " ".join(text.lower().split())

    def keys(self, tokens: list[Token]) -> dict[str, int]:
        """The words that carry content, with their weights: a name in code says more than a word."""
        return {
            token.key: 2 if token.is_code or (token.is_name and not token.text.isalpha()) else 1
            for before, token in zip([None, *tokens], tokens, strict=False)
            if token.key and not token.is_number
            if not (token.lower in UNITS and before and before.is_number)
        }

    def clause_start(self, clause: int) -> int:
        """Where a clause begins."""
        return [0, *self.ends][clause]

    def clause_text(self, clause: int) -> str:
        """The text of one clause."""
        bounds = [0, *self.ends, len(self.text)]
        return self.text[bounds[clause] : bounds[clause + 1]]

    def clause_at(self, place: int) -> int:
        """The number of the clause in which a character stands."""
        return sum(end <= place for end in self.ends)

    @property
    def clauses(self) -> range:
        """The numbers of the clauses."""
        return range(len(self.ends) + 1)

    def clause_content(self, clause: int, *, with_head: bool = True) -> dict[str, int]:
        """The content of a clause, with that of the first one: it names the subject."""
        return self.keys(
            [token for token in self.tokens if token.clause == clause or (with_head and token.clause == 0)]
        )

    def subject(self) -> tuple[str, str]:
        """The noun with which it begins, and what qualifies that after it: "the limit of uploads", "logs d'audit"."""
        head = [token for token in self.tokens if token.clause == 0]
        first = next((at for at, token in enumerate(head) if token.key), len(head))
        for at in range(first + 1, len(head)):
            if not head[at].key and head[at].lower in OF:
                continue
            joined = any(token.lower in OF for token in head[first + 1 : at])
            is_beside = at == first + 1 and any(token.lower in ROMANCE for token in head[:first])
            return head[first].key, head[at].key if joined or is_beside else ""
        return "", ""

    def values(self) -> list[Value]:
        """The numbers in it that are values, not names."""
        return [value for at in range(len(self.tokens)) if (value := self._value(at))]

    def _value(self, at: int) -> Value | None:
        token = self.tokens[at]
        if not token.is_number:
            return None
        before = self.tokens[at - 1] if at else None
        after = self.tokens[at + 1] if at + 1 < len(self.tokens) else None
        if before and before.lower in LABELLED:
            return None
        amount = _amount(token.text)
        two = after.lower + self.tokens[at + 2].lower if after and at + 2 < len(self.tokens) else ""
        for unit in (two, after.lower if after else ""):
            if unit in UNITS and not isinstance(amount, str):
                what, much = UNITS[unit]
                return Value(what, amount * much, at, token.clause, frozenset())
        if at < 2 and not (after and after.key and after.text.islower()):
            return None  # it names the subject: "Python 3 …"
        if before and before.is_name and before.text[:1].isalpha() and "." in token.text:
            return Value("version " + before.key, token.text, at, token.clause, frozenset([before.key]))
        if after and after.key and after.clause == token.clause and after.text.islower() and not after.is_code:
            return Value("count " + after.key, amount, at, token.clause, frozenset([after.key]))
        if before and before.key and not before.is_number:
            return Value("number " + before.key, amount, at, token.clause, frozenset([before.key]))
        if before and before.lower in COPULAS:
            noun = self._noun_before(at - 1)
            return Value("number " + noun, amount, at, token.clause, frozenset([noun]))
        return Value("number", amount, at, token.clause, frozenset()) if before else None

    def _noun_before(self, at: int) -> str:
        """What a number after "is" is: the port, the size."""
        phrase = [token for token in self.tokens[:at] if token.clause == self.tokens[at].clause]
        joined = next(
            (n for n, token in enumerate(phrase) if token.lower in OF and n and phrase[n - 1].key), len(phrase)
        )
        keys = [token.key for token in phrase[:joined] if token.key]
        is_romance = bool(phrase) and phrase[0].lower in ROMANCE
        return (keys[0] if is_romance else keys[-1]) if keys else ""


@lru_cache(maxsize=32)
def statements(text: str) -> list[Statement]:
    """The sentences of an item that the rules look at."""
    found = [part for part in _SENTENCE_END.split(text[:_MOST_CHARACTERS]) if part.strip()]
    return [Statement(sentence) for sentence in found[:_MOST_SENTENCES]]


def negations(text: str) -> int:
    """How often a text denies; "ne … pas" does it once."""
    found = [one[0] for one in NEGATION.finditer(text)]
    parts = [one for one in found if PARTS_OF_ONE.fullmatch(one)]
    return len(found) - len(parts) + bool(parts)


def weight(keys: dict[str, int], of: set[str] | None = None) -> int:
    """The weight of some words, or of those of them that are named."""
    return sum(much for key, much in keys.items() if of is None or key in of)


def _key(text: str, *, is_code: bool) -> str:
    lower = text.lower()
    name = lower.strip("/").removesuffix("()")
    if is_code and not (name.isalpha() and text[:-1].islower()):
        return name
    lower = name
    if (
        lower in STOP_WORDS
        or lower in FUNCTION_WORDS
        or (len(lower) < 2 and lower.isascii())
        or NEGATION.fullmatch(lower)
    ):
        return ""
    lower = SYNONYMS.get(lower, lower)
    stemmed = stem(lower)
    return SYNONYMS.get(stemmed, stemmed)[:_STEM]


def _amount(text: str) -> float | str:
    lower = text.lower().removeprefix("v")
    if lower in NUMBERS:
        return float(NUMBERS[lower])
    thousands, plain = (1000, lower[:-1]) if lower.endswith("k") else (1, lower)
    plain = re.sub(r",(?=\d{3}(?:\D|$))", "", plain).replace(",", ".")
    try:
        return float(plain) * thousands
    except ValueError:
        return plain  # 10.3.1, 9:30


def _without_code(text: str) -> str:
    """The text with as many characters, and no signs in code that could end a clause."""
    return re.sub(r"`[^`\n]*`", lambda found: "x" * len(found[0]), text)

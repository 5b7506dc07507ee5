"""A sentence as the rules on contradicting items see it: its clauses and their words, names, numbers and code."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from knowbound.text.conflict_words import FUNCTION_WORDS, NEGATION, NUMBERS, QUALIFIERS
from knowbound.text.stems import stem
from knowbound.text.stop_words import STOP_WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_TOKENS = 60
_MOST_CLAUSES = 12
_STEM = 7  # characters: endings of languages other than English are cut off with the rest

_CODE_OR_NUMBER = (
    r"`[^`\n]{1,200}`"
    r"|\w+://[^\s`]+"
    r"|(?:[\w.-]{1,80})?(?:/[\w.-]+)+/?"  # a path
    r"|[A-Za-z][\w-]*(?:\.[\w-]+)+"  # a host or a file
    r"|v?\d+(?:[.,:]\d+)*%?"
    r"|[^\W\d_]+n['’]t\b"
)
_TOKEN = _CODE_OR_NUMBER + r"|[#@]?[^\W\d_][^\W_]*(?:[_-][^\W_]+)*"
_TOKEN_OF_CHINA_OR_JAPAN = (
    _CODE_OR_NUMBER + r"|[\u30a0-\u30ff]{2,}"  # katakana: a borrowed word
    r"|[\u3040-\u9fff]"  # one character is a word
    r"|[#@]?[^\W\d_\u3040-\u9fff][^\W_\u3040-\u9fff]*(?:[_-][^\W_\u3040-\u9fff]+)*"
)
_CLAUSE_END = r"[;,:()](?=\s|$|[^\x00-\x7f])|\s[—–-]\s|[；，、（）：]|\("
_NAME = r"[a-z]+[A-Z]|[A-Z].*[A-Z]|_|\d"
_NUMBER = r"v?\d+(?:[.,:]\d+)*%?"


def has_characters(text: str) -> bool:
    """Whether it has words of Chinese or Japanese."""
    return not text.isascii() and any("\u3040" <= sign <= "\u9fff" for sign in text)


class ConflictToken:
    """A word, a name, a number or a piece of code."""

    __slots__ = ("clause", "is_code", "is_name", "is_number", "key", "lower", "start", "text")

    def __init__(self, text: str, start: int, clause: int, *, opens: bool) -> None:
        self.text = text.strip("`").strip()
        self.lower = self.text.lower()
        self.start = start
        self.clause = clause
        self.is_code = text[0] == "`" or "/" in text or ("." in text and not re.fullmatch(_NUMBER, text))
        self.is_number = not self.is_code and (self.lower in NUMBERS or bool(re.fullmatch(_NUMBER, text)))
        capital = self.text[:1].isupper() and not opens
        self.is_name = self.is_code or capital or bool(re.search(_NAME, self.text)) or self.text[:1] in "#@"
        self.key = _key(self.text, is_code=self.is_code)  # "" where it has no content


class ConflictSentence:
    """A sentence, as far as the rules look at it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lower = text.lower()
        without_code = re.sub(r"`[^`\n]*`", lambda found: "x" * len(found[0]), text)
        self.ends = [found.start() for found in re.finditer(_CLAUSE_END, without_code)][: _MOST_CLAUSES - 1]
        self.tokens: list[ConflictToken] = []
        for found in re.finditer(_TOKEN_OF_CHINA_OR_JAPAN if has_characters(text) else _TOKEN, text):
            clause = sum(end <= found.start() for end in self.ends)
            self.tokens.append(ConflictToken(found[0], found.start(), clause, opens=not self.tokens))
            if len(self.tokens) == _MOST_TOKENS:
                break
        self.content = {token.key for token in self.tokens if token.key and not token.is_number}

    def clauses(self) -> Iterator[tuple[int, str, list[ConflictToken]]]:
        """Where each clause begins, its text in lower case, and its words."""
        bounds = [0, *self.ends, len(self.text)]
        for number, (start, end) in enumerate(pairwise(bounds)):
            yield start, self.lower[start:end], [token for token in self.tokens if token.clause == number]


def qualifies(tokens: list[ConflictToken]) -> bool:
    """Whether the first word is part of the name of what follows."""
    return tokens[0].lower in QUALIFIERS and len(tokens) > 1 and bool(tokens[1].key or tokens[1].lower == "s")


@lru_cache(maxsize=64)
def statement(sentence: str) -> ConflictSentence:
    """A sentence, read once."""
    return ConflictSentence(sentence)


def _key(text: str, *, is_code: bool) -> str:
    lower = text.lower().strip("/").removesuffix("()")
    if is_code and not (lower.isalpha() and text[:-1].islower()):
        return lower
    if lower in STOP_WORDS or lower in FUNCTION_WORDS or re.fullmatch(NEGATION, lower):
        return ""
    if len(lower) < 2 and (lower.isascii() or lower < "\u30a0"):  # a letter, hiragana
        return ""
    return stem(lower)[:_STEM]

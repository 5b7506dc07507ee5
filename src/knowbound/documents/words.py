"""The words of documents and of questions in one form, so that they can be compared.

A word is compared by its root (`approval`, `approved`), a name in code also by its parts and as a whole
(`revenue_schema`), Chinese by pairs of characters, and words for the same thing by what they stand for (`relations`).
"""

from __future__ import annotations

import re
from functools import lru_cache

from knowbound.text.question_words import STOP
from knowbound.text.terms import split_words

_TOKEN = re.compile(
    r"[A-Za-z\u00c0-\u024f][A-Za-z\u00c0-\u024f0-9]*(?:_+[A-Za-z0-9]+)*(?:['’][a-z]{1,2}\b)?"
    r"|\d+(?:[.,]\d+)*(?:_\w+)?|[\u3400-\u4dbf\u4e00-\u9fff]+|_+[A-Za-z0-9_]+"
)
_CASE = re.compile(r"[a-z][A-Z]|[A-Z]{2,}[a-z]{2,}|_|[A-Za-z]\d|\d[A-Za-z]")
_CHINESE = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_IRREGULAR = {
    word: base
    for base, words in {
        "pay": "paid", "keep": "kept", "send": "sent", "buy": "bought", "build": "built", "make": "made",
        "give": "gave given", "get": "got gotten", "hold": "held", "lose": "lost", "run": "ran", "say": "said",
        "sell": "sold", "tell": "told", "take": "took taken", "go": "went gone goes", "write": "wrote written",
        "break": "broke broken", "choose": "chose chosen", "begin": "began begun", "child": "children",
        "show": "shown", "spend": "spent", "meet": "met", "freeze": "froze frozen", "find": "found", "see": "saw seen",
        "know": "knew known", "teach": "taught", "bring": "brought", "think": "thought", "catch": "caught",
        "person": "people persons", "do": "does did done", "drive": "drove driven", "fall": "fell fallen",
        "speak": "spoke spoken", "steal": "stole stolen", "throw": "threw thrown", "understand": "understood",
        "mean": "meant", "deal": "dealt", "hide": "hid hidden", "grow": "grew grown", "eat": "ate eaten",
        "datum": "data", "create": "created creating creates", "use": "used using uses", "index": "indices",
        "criterion": "criteria", "analysis": "analyses",
    }.items()
    for word in words.split()
}  # fmt: skip
_DERIVED = (
    ("ifications", "ifi"), ("ification", "ifi"), ("ically", "ic"), ("izations", "iz"), ("ization", "iz"),
    ("isations", "iz"), ("isation", "iz"), ("abilities", "abl"), ("ability", "abl"), ("ations", ""), ("ation", ""),
    ("ition", ""), ("ments", ""), ("ment", ""), ("ness", ""), ("ates", ""), ("ated", ""), ("ating", ""), ("ate", ""),
    ("ising", "iz"), ("ise", "iz"), ("ised", "iz"), ("ize", "iz"), ("ized", "iz"), ("izing", "iz"),
    ("ions", ""), ("ion", ""), ("ful", ""), ("ly", ""),
)  # fmt: skip
_SHORTEST = {
    "ifications": 3,
    "ification": 3,
    "ations": 3,
    "ation": 3,
    "ates": 3,
    "ated": 3,
    "ating": 3,
    "ate": 3,
    "ments": 3,
    "ment": 3,
}
_NOUN_OF_VERB = ("val", "wal", "rral", "sal")  # approval, renewal, referral, proposal


@lru_cache(maxsize=200_000)
def root(word: str) -> str:
    """What the forms of a word share: approve, approved, approval → approv. Crude, and the same on both sides."""
    word = word.lower().replace("’", "'").removesuffix("'s")
    word = _IRREGULAR.get(word, word)
    if len(word) <= 3 or not word.isalpha():
        return word
    word = _singular(word)
    word = _base(word)
    for suffix, put in _DERIVED:
        if word.endswith(suffix) and len(word) - len(suffix) >= _SHORTEST.get(suffix, 4):
            word = word[: len(word) - len(suffix)] + put
            break
    if word.endswith(_NOUN_OF_VERB) and len(word) > 5:
        word = word[:-2]
    word = word.replace("our", "or") if len(word) > 4 else word
    if len(word) > 3 and word.endswith("e"):
        word = word[:-1]
    if len(word) > 3 and word[-1] == word[-2]:
        word = word[:-1]
    if len(word) > 3 and word[-1] in "yi" and word[-2] not in "aeiou":
        word = word[:-1]
    return word


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes", "zzes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _base(word: str) -> str:
    """Without -ed and -ing, where a vowel stays."""
    if word.endswith("ied") and len(word) > 4:
        return word[:-3] + "y"
    for suffix in ("ing", "ed"):
        rest = word[: -len(suffix)]
        if word.endswith(suffix) and len(rest) >= 3 and re.search("[aeiouy]", rest) and not rest.endswith("e"):
            return f"{rest}e" if rest.endswith("at") and rest[-3] not in "aeiou" else rest  # rotated → rotate
    return word


def tokens_of(text: str) -> list[str]:
    """The words of a text as written; a name in code is one, a run of Chinese characters is one."""
    return _TOKEN.findall(text)


def is_chinese(token: str) -> bool:
    """Whether a token is a run of Chinese characters."""
    return bool(_CHINESE.match(token))


@lru_cache(maxsize=100_000)
def parts_of(token: str) -> tuple[str, ...]:
    """The words inside a token: one, or those of a name."""
    if _CASE.search(token):
        return split_words(token) or (token.lower(),)
    return (token.lower(),)


@lru_cache(maxsize=100_000)
def _forms(token: str) -> tuple[str, ...]:
    """The roots of a token's parts, and of the whole where it has several."""
    parts = parts_of(token)
    roots = tuple(root(part) for part in parts if part not in STOP or len(parts) > 1)
    return (*roots, "".join(parts)) if len(parts) > 1 else roots


def pairs_of(run: str) -> list[str]:
    """A run of Chinese characters as its overlapping pairs."""
    return [run] if len(run) == 1 else [run[at : at + 2] for at in range(len(run) - 1)]


def terms_of(text: str) -> set[str]:
    """The terms of a text: roots, pairs of characters, and `=` what its words stand for."""
    from knowbound.documents.relations import CHINESE_CONCEPTS, concepts_in  # noqa: PLC0415 - they need `root` first

    found: set[str] = set()
    roots: list[str] = []
    for token in tokens_of(text):
        if is_chinese(token):
            found.update(pairs_of(token))
            found.update(token)
            found.update(concept for word, concept in CHINESE_CONCEPTS.items() if word in token)
            roots.append("")
        else:
            found.update(_forms(token))
            roots.extend(root(part) for part in parts_of(token))
    found.update(concepts_in(roots))
    return found

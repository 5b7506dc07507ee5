"""Stems of English words: the part that inflected and derived forms share (approve, approved, approval → approv)."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import takewhile

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
# Suffixes of derived words, their replacements, and the least length of the rest of the word.
_DERIVED = (
    ("ifications", "ifi", 3), ("ification", "ifi", 3), ("ically", "ic", 4), ("izations", "iz", 4),
    ("ization", "iz", 4), ("isations", "iz", 4), ("isation", "iz", 4), ("abilities", "abl", 4), ("ability", "abl", 4),
    ("ations", "", 3), ("ation", "", 3), ("ition", "", 4), ("ments", "", 3), ("ment", "", 3), ("ness", "", 4),
    ("ates", "", 3), ("ated", "", 3), ("ating", "", 3), ("ate", "", 3), ("ising", "iz", 4), ("ise", "iz", 4),
    ("ised", "iz", 4), ("ize", "iz", 4), ("ized", "iz", 4), ("izing", "iz", 4), ("ions", "", 4), ("ion", "", 4),
    ("ful", "", 4), ("ly", "", 4),
)  # fmt: skip
_NOUN_OF_VERB = ("val", "wal", "rral", "sal")  # approval, renewal, referral, proposal


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """Return the stem in lower case: crude, but equal on both sides of a comparison."""
    word = word.lower().replace("’", "'").removesuffix("'s")
    word = _IRREGULAR.get(word, word)
    if len(word) <= 3 or not word.isalpha():
        return word
    word = _without_inflection(_singular(word))
    for suffix, put, least in _DERIVED:
        if word.endswith(suffix) and len(word) - len(suffix) >= least:
            word = word[: len(word) - len(suffix)] + put
            break
    if word.endswith(_NOUN_OF_VERB) and len(word) > 5:
        word = word[:-2]
    word = word.replace("our", "or") if len(word) > 4 else word  # colour, color
    if len(word) > 3 and word.endswith("e"):
        word = word[:-1]
    if len(word) > 3 and word[-1] == word[-2]:  # stopp(ed)
        word = word[:-1]
    # policy and polici(es) have one stem.
    if len(word) > 3 and word[-1] in "yi" and word[-2] not in "aeiou":
        word = word[:-1]
    return word


def common_start(word: str) -> str:
    """Return the letters that every form of the word begins with, to search for the word in text."""
    return "".join(
        letter for letter, _ in takewhile(lambda pair: pair[0] == pair[1], zip(word.lower(), stem(word), strict=False))
    )


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes", "zzes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _without_inflection(word: str) -> str:
    """Remove -ed and -ing if a vowel is left."""
    if word.endswith("ied") and len(word) > 4:
        return word[:-3] + "y"
    for suffix in ("ing", "ed"):
        rest = word[: -len(suffix)]
        if word.endswith(suffix) and len(rest) >= 3 and re.search("[aeiouy]", rest) and not rest.endswith("e"):
            return f"{rest}e" if rest.endswith("at") and rest[-3] not in "aeiou" else rest  # rotated → rotate
    return word

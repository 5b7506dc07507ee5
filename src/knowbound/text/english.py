"""English words: their stems (approve, approved, approval → approv), and stop words by their grammar.

A stop word does not show the subject of a text. A stem is what inflected and derived forms share.
"""

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
    if word.endswith(_NOUN_OF_VERB) and len(word) > 5:  # approval
        word = word[:-2]
    word = word.replace("our", "or") if len(word) > 4 else word  # colour, color
    if len(word) > 3 and word.endswith("e"):  # approve, approving
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
    """Return the singular of a noun; a verb loses its -s, too."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes", "zzes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):  # class, status, basis
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


DETERMINERS = frozenset(
    "the a an this that these those its their his her our your my any some each every all no another such both".split()
)
PRONOUNS = frozenset(
    "i we you he she it they me us him them someone somebody anyone anybody everyone who one's i'm i'd we're "
    "you're it's there's what's where's here there".split()
)
AUXILIARIES = frozenset(
    "is are was were be been being am do does did done has have had can could will would shall should may might "
    "must isn't aren't don't doesn't didn't can't won't get gets got".split()
)
QUESTION_WORDS = frozenset("where which what who whom whose when why how whether".split())
PREPOSITIONS = frozenset(
    "in on at by for from with without within inside into onto to of about over under through during before after "
    "between among against across behind via per than as like near around off out up upon using".split()
)
CONNECTIVES = frozenset("and or but nor if so then else because while until unless since although though".split())
ADVERBS = frozenset(
    "not also just only even still already now currently actually exactly really precisely please kindly again "
    "ever never always often usually here there too very much more most less least else maybe perhaps first last "
    "next directly internally together hello hi hey thanks thank ok okay well back up down away ago yes yet hence "
    "vs versus vs. e.g. i.e. etc anywhere somewhere everywhere nowhere itself themselves responsible different "
    "possible able supposed going twice once".split()
)
STOP_WORDS = DETERMINERS | PRONOUNS | AUXILIARIES | QUESTION_WORDS | PREPOSITIONS | CONNECTIVES | ADVERBS
# For ranking items by shared words: fewer adverbs and modal verbs than STOP_WORDS, but everyday verbs. On the second
# half of LoCoMo, recall@5 is 0.591 with these words, 0.584 with STOP_WORDS, 0.583 with both together.
SEARCH_STOP_WORDS = frozenset(
    "a about above after again all also am an and any are as at be because been before being below between both "
    "but by can could did do does doing done down during each few for from further get gets getting give go goes "
    "going got had has have having he her here hers him his how i if in into is it its itself just know let lets "
    "like look make me more most my no nor not now of off on once one only or other our ours out over own please "
    "put really same say see she should show so some still such take tell than that the their theirs them then "
    "there these they thing this those through to too under until up us use very want was way we well were what "
    "when where which while who whom why will with without would you your yours".split()
)

"""The words by which a stored text tries to take an agent over, and those that only look like it.

A strong pattern is enough on its own. A weak one is ordinary in a procedure ("without asking", `curl … | sh`); two
different ones together are not. Nothing here decides about the project's own imperatives: "Run make test before
committing" names no agent, hides nothing and overrides nobody.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from knowbound.kms.screening.languages import OTHER_LANGUAGES
from knowbound.kms.screening.patterns import HIDDEN, STRONG, STRUCTURE, WEAK, Pattern


class Order(NamedTuple):
    """A kind of order and the words that give it away."""

    kind: str
    words: str


_ALL = STRUCTURE + STRONG + OTHER_LANGUAGES + WEAK
_WEAK = frozenset(WEAK)
_QUOTED = re.compile(r"“[^”]*”|\"[^\"\n]*\"|`[^`\n]*`|(?<!\w)'[^'\n]*'(?!\w)|「[^」]*」")
_TALKS_ABOUT = re.compile(
    r"\b(?:reject|block|filter|detect|contain|phrase|case|test|attack|injection|jailbreak|incident|strip"
    r"|flag|screen|refus|said)"
    r"\w*|拦截|检测|过滤|攻击",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?。！？]\s|\n\n")


def order_in(text: str) -> Order | None:
    """The order that the text gives to an agent, if it does. A phrase that is quoted and talked about is none."""
    weak: dict[str, str] = {}
    for pattern in _anchored(text.lower()):
        for found in _compiled(pattern.expression).finditer(text):
            if pattern in _WEAK:
                weak[pattern.kind] = found[0]
                break
            if not _is_talked_about(text, found):
                return Order(pattern.kind, found[0])
    if len(weak) >= 2:
        return Order(" and ".join(list(weak)[:2]), " … ".join(list(weak.values())[:2]))
    return None


def is_order_when_hidden(text: str) -> bool:
    """Whether text that no reader sees speaks to an agent."""
    return bool(_compiled(HIDDEN).search(text))


def _anchored(lowered: str) -> list[Pattern]:
    """The patterns that the text may match, strong ones first."""
    places = {place for anchor, places in _by_anchor().items() if anchor in lowered for place in places}
    return [_ALL[place] for place in sorted(places)]


@cache
def _by_anchor() -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for place, pattern in enumerate(_ALL):
        for anchor in pattern.anchors.split("|"):
            found.setdefault(anchor, []).append(place)
    return found


@cache
def _compiled(expression: str) -> re.Pattern[str]:
    """When first used: who only reads the index never pays for it."""
    return re.compile(expression, re.IGNORECASE)


def _is_talked_about(text: str, found: re.Match[str]) -> bool:
    quotes = [quote.span() for quote in _QUOTED.finditer(text)]
    if not any(start <= found.start() and found.end() <= end for start, end in quotes):
        return False
    before = [end.end() for end in _SENTENCE_END.finditer(text, 0, found.start())]
    after = _SENTENCE_END.search(text, found.end())
    sentence = text[before[-1] if before else 0 : after.start() if after else len(text)]
    return bool(_TALKS_ABOUT.search(_QUOTED.sub(" ", sentence)))

"""How specific a word is by itself, before it is known how rare it is in a folder.

Questions are asked with words that name no knowledge ("what happens when someone needs …"). What is left of a question
without them is what it asks about.
"""

from __future__ import annotations

import re

from knowbound.text.question_words import GENERIC, LIGHT_VERBS, MEASURES, VACUOUS, verb_base
from knowbound.text.stop_words import STOP_WORDS
from knowbound.text.terms import canonical

_NUMBER = re.compile(r"^\d+(?:[.,]\d+)*$")
_NUMBER_WORDS = frozenset("one two three four five six seven eight nine ten twelve hundred thousand".split())
# Words that say how something is asked, or hardly anything at all.
_FAINT = frozenset(
    "happen want like know someone people person case situation kind sort exactly supposed summary summarize "
    "summarise explain describe outline short shortly brief briefly sentence sure please need good best better right "
    "proper properly normal normally usual usually typical typically common current currently general generally "
    "available certain given particular way thing company team our us let allow whole full fully one own number "
    "amount many much long often every each other another there here today tomorrow yesterday now soon later early "
    "late new old large small big little high low work going able make made do does done get got give put take taken "
    "come go goes keep kept use used using user say said tell see seen look show mean meant matter apply follow "
    "according regarding concerning related within documentation docs document knowledge base page section answer "
    "question rule policy guideline process procedure standard requirement required correct correctly recommend "
    "recommendation time day week month year hour minute second point actually really still even already always never "
    "ever first last next before after once until while during wrong problem issue different same difference between "
    "something anything nothing everything somebody anybody nobody everybody you your my mine i'm we're don't isn't "
    "can't must should would could may might will shall has have had been being was were are is am be expect suddenly "
    "immediately name call value example detail information info reason purpose goal role part piece step place side "
    "end start begin set".split()
)
# Everyday verbs and adjectives: they may be said in a hundred ways.
_EVERYDAY = frozenset(
    "towards outside inside middle ourselves yourself myself far near abroad nearby beside behind beyond rest swear "
    "simply mostly partly rather quite smaller bigger larger higher lower longer shorter newer older otherwise "
    "instead put leave left gone stay stop stopped try bring move open close turn feel hold held bear carry help hear "
    "sit stand stood hit lead let live become remain seem appear involve pass reach return send happened break broke "
    "finish enough extra whatever wherever ever else away together apart along ago fast quick slow easy hard real "
    "really long longest short full empty free ready clear possible impossible important special single double few "
    "several less more most least top bottom bad worse worst nice great wish hope believe suppose guess accident "
    "accidentally tried says wants needing handle deal treat manage care exist occur arrive add remove pick choose "
    "decide wait kinds sorts done doing altogether total overall ask allowed permitted speak talk inform share early "
    "late next main big huge own saw see gets earn lose lost find found buy meet".split()
)
# What a number or a time measures is often not said with it: "pages of 50", not "a page size of 50".
_MEASURES = MEASURES | frozenset("size length width height depth duration period order".split())
# Nouns that are in every handbook: they say whose world it is, not what is asked of it.
_AT_HOME = frozenset(
    "data information content item material "
    "customer client user account employee staff colleague manager company business product service system "
    "application app project department office website platform tool software people person member".split()
)
# Characters that mostly bind others; in a word of the folder they count as the word does.
_BINDING = frozenset(
    "我你他要会能给对从到向为以用由让都也就才还再很最不没个次种时后前里上下中之在有每当谁哪几去来说将其此该某"
)
_SUFFIXES = (
    ("est", ""),
    ("est", "e"),
    ("s", ""),
    ("es", ""),
    ("ed", ""),
    ("ed", "e"),
    ("ing", ""),
    ("ing", "e"),
    ("ies", "y"),
    ("ied", "y"),
)


def weight_of(word: str, *, proper: bool = False) -> float:
    """How specific a word is: a name 1.4, what could be a name of knowledge 1, a word of questions close to 0."""
    if _NUMBER.match(word) or word in _NUMBER_WORDS:
        return 0.2
    if proper:
        return 1.4
    if word in STOP_WORDS:
        return 0.0
    forms = _forms(word)
    if word in VACUOUS or forms & _FAINT:
        return 0.15
    if word in GENERIC or canonical(word) in GENERIC or word in _MEASURES:
        return 0.35
    if forms & _EVERYDAY or (verb_base(word) or "") in LIGHT_VERBS:
        return 0.4
    return 0.6 if forms & _AT_HOME else 1.0


def character_weight(sign: str) -> float:
    """The same for a Chinese character."""
    return 0.15 if sign in _BINDING else 1.0


def _forms(word: str) -> set[str]:
    """A word with what it may be a form of."""
    found = {word}
    for suffix, put in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            base = word[: len(word) - len(suffix)]
            found |= {base + put, base[:-1]} if base[-1] == base[-2] else {base + put}  # beginning → begin
    return found

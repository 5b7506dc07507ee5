"""A question corrected once, and its intent by rules (specification 3, part IV: intents)."""

from __future__ import annotations

import re
from typing import NamedTuple

from knowbound.core.evidence import Intent
from knowbound.text.question_words import CORRECTED_WORDS, GENERIC, verb_base
from knowbound.text.stop_words import STOP_WORDS
from knowbound.text.terms import canonical, one_edit

_LONGEST = 4000  # characters of a prompt that are read
# Words of their own that are one letter from a word of questions: calls, does, locate, what, where.
_NOT_MISTYPED = frozenset("cells locale dose dots wheat".split())
_WORD = re.compile(r"(?<![\w.])[A-Za-z']+(?![\w(]|\.\w)")
_POLITE = r"(?:(?:please|pls|kindly|hey|hi|hello|so|now|ok|okay|well|and|then|also)[\s,]+)*" + (
    r"(?:(?:can|could|would|will) (?:you|we|someone)(?: please)? |(?:i'd|i would|i) (?:like|want|need) (?:you )?to |"
    r"let'?s |help me (?:to )?|we (?:need|want|have) to |you should )?(?:please )?"
)
_START = rf"^\W*+{_POLITE}"
_ASKS_WHERE = r"(?!.*\b(?:where|which (?:file|module|class|function|part))\b)"
_PIPELINE = (
    r"(?:ci|builds?|tests?|test suite|testsuite|pipelines?|workflows?|github actions?|test_\w+)"
    r"(?: (?:suite|run|job|pipeline|workflow|build)s?)?"
)
_FAILURE = r"(?:fail\w*|broken?|breaks?|breaking|red|crash\w*|flaky|hang\w*|tim(?:es|ed|ing) out|erroring|not pass\w*)"
# In this order: the first that fits decides.
_RULES: tuple[tuple[Intent, str], ...] = (
    (
        Intent.COMPARE,
        rf"{_START}(?:compare|contrast)\b|\b(?:difference|differences|differ|differs|distinction)\b|"
        r"\b(?:versus|vs\.?)\s|\bcompared? (?:to|with|against)\b",
    ),
    (
        Intent.DIAGNOSE,
        rf"\b{_PIPELINE} (?:(?:is|are|was|were|has|have|keeps?|does|do|did|always|still|suddenly|just) )*{_FAILURE}\b|"
        rf"\b(?:failing|failed|broken|red|flaky) {_PIPELINE}\b|"
        rf"\b(?:failures?|errors?) (?:in|of|on) (?:the )?{_PIPELINE}\b",
    ),
    (
        Intent.EXECUTE,
        rf"{_START}(?:run|execute|build|compile|test)(?: (?:all|the|our|this|every|whole|full|unit|integration|project|"
        r"it|package|repo|repository|code|suite|tests?|build|everything|and|then|run|compile|pytest|ctest|cmake|cargo|"
        r"make|npm|go))+(?: (?:for|of|in|on|from) (?:the )?[\w./-]+)?\W*$|"
        r"\b(?:do|does|will|are) (?:all )?(?:the |our )?(?:unit )?(?:tests?|builds?|test suite|project|it)"
        r" (?:still )?(?:pass|passing|build|compile|green|succeed|run)\b",
    ),
    (
        Intent.STATUS,
        r"^(?!\W*(?:where|explain|how (?:does|do|is|are)|find|locate|open|review|compare|point|take|is there|"
        r"which (?:file|module|class|function)))(?:.*\b(?:(?:last|latest|recent|newest|previous|first) (?:\w+ )?"
        r"(?:commits?|changes?|releases?)|status of (?:the |this )?(?:repo|repository|tree|branch|checkout)|"
        r"(?:git|commit|version) (?:log|history|status|blame)|commit (?:hash|id|sha)|"
        r"(?:which|what) commits?|who (?:last |first |originally )?(?:changed|wrote|modified|touched|authored|"
        r"committed|added|introduced)|working (?:tree|copy|directory)|(?:current|which|what) branch|uncommitted|"
        r"unstaged|"
        r"staged changes|(?:what|which|anything)\b.*\bchanged\b.*\b(?:recently|lately|since|yesterday|today|last)|"
        r"when (?:was|were|did)\b.*\b(?:added|changed|introduced|removed|modified|renamed|committed|released|deleted|"
        r"change|appear))\b)",
    ),
    (
        Intent.NAVIGATE,
        r"\bif (?:i|we|you|someone) (?:were to )?(?:rename|change|remove|delete|move|touch|edit|drop)(?:d|ed|ped)?\b|"
        r"\b(?:affected|break|impacted) (?:if|when|by)\b",
    ),
    (
        Intent.MODIFY,
        rf"{_START}{_ASKS_WHERE}(?:add|rename|fix|change|remove|delete|refactor|implement|replace|update|write|create|"
        r"extend|make(?! sense)|move|migrate|upgrade|modify|edit|convert|rewrite|drop|introduce|patch|port|bump|"
        r"deprecate|extract|inline|simplify|optimi[sz]e)\b",
    ),
    (
        Intent.REVIEW,
        rf"{_START}{_ASKS_WHERE}(?:review|audit|critique|assess|evaluate|inspect|check|double-check|sanity-check|"
        r"scrutini[sz]e|vet|verify|look over|examine)\b|"
        r"\b(?:is|are) .{1,80}\b(?:safe|correct|right|secure|sound|idiomatic|robust|re-?entrant|idempotent|racy|wrong)"
        r"\s*\?|\bcode review\b|\ba review of\b",
    ),
    (
        Intent.EXPLAIN,
        rf"{_START}(?:explain|describe|summari[sz]e|outline|clarify|understand|walk (?:me|us) through|make sense of|"
        r"tell me (?:how|why|about))\b|\b(?:walk-?through|trying to understand|want to understand|an explanation)\b",
    ),
    (
        Intent.NAVIGATE,
        rf"{_START}(?:open|go to|goto|take (?:me|us) to|jump|navigate|bring|show|let (?:me|us) see|list)\b|"
        r"\b(?:who|what|which \w+|anyone|anything|anybody|everything|everyone|all \w+|places?)(?: that| who| which)?"
        r" (?:\w+ly )?(?:calls?|uses?|invokes?|imports?|references?|depends?|relies|consumes?|instantiates?|inherits?|"
        r"subclass(?:es)?)\b|\b(?:used|called|invoked|referenced|imported|consumed|instantiated)\b|"
        r"\b(?:callers?|usages?|call ?sites?|references to|uses of|consumers?) \b|"
        r"\b(?:who|what|which)\b.*\bdepends? on\b",
    ),
    (
        Intent.LOCATE,
        r"\b(?:where|locate|find|point (?:me|us)|look(?:ing)? (?:for|up)|which|"
        r"what (?:file|module|class|function|method))\b|"
        r"\bis there\b|\bin (?:which|what) \w+\b|\bdo we have\b|\bare there\b|\bdoes \w+ have\b|\bsearch for\b",
    ),
    (Intent.EXPLAIN, r"\b(?:how|why|what|when|explain|describe|understand|meaning|purpose|does|which|whether)\b"),
)
_COMPILED = tuple((intent, re.compile(rule, re.IGNORECASE | re.DOTALL)) for intent, rule in _RULES)
_CHAT = re.compile(
    r"^\W*(?:hi|hello|hey|thanks?|thank you|good (?:morning|evening|night|job)|how are you|who are you|what can you do|"
    r"ok(?:ay)?|great|nice|cool|bye|goodbye|lol|yes|no|sure|well done|tell me a joke|what'?s up|sounds good|perfect|"
    r"never ?mind)\b[\s\w,!']{0,24}\W*$",
    re.IGNORECASE,
)


_SORTS = (
    "class|function|method|file|module|option|flag|variable|constant|thing|something|one|struct|type|command|helper"
)
_CONTRACTIONS = (
    (re.compile(rf"\b({_SORTS}) (?:that is |which is )?(?:called|named)\b", re.IGNORECASE), r"\1"),
    (re.compile(r"\b(?:thread|type|memory|exception|signal|async|fork)[ -]safe\b", re.IGNORECASE), "safe"),
    (re.compile(r"[’‘]"), "'"),
    (re.compile(r"\b(where|what|who|how|when|that|there|it|here)'s\b", re.IGNORECASE), r"\1 is"),
    (re.compile(r"\b(i)'m\b", re.IGNORECASE), r"\1 am"),
    (re.compile(r"\b(i|we|you|they)'(?:d|ll)\b", re.IGNORECASE), r"\1 would"),
    (re.compile(r"\b(we|you|they)'re\b", re.IGNORECASE), r"\1 are"),
    (re.compile(r"\b(i|we|you|they)'ve\b", re.IGNORECASE), r"\1 have"),
    (re.compile(r"\b(do|does|did|is|are|was|were|ca|wo|should|could|would|has|have)n't\b", re.IGNORECASE), r"\1 not"),
)


class AskedQuestion(NamedTuple):
    """A question as it was asked, as it is read, and what it asks for."""

    text: str
    corrected: str  # without contractions, with mistyped question words put right
    intent: Intent


def read_question(text: str) -> AskedQuestion:
    """Correct a question and find its intent; whoever parses it further takes the corrected text."""
    corrected = _corrected(text[:_LONGEST].strip())
    return AskedQuestion(text, corrected, _intent_of(corrected))


def _corrected(question: str) -> str:
    """The question with mistyped question words put right; what it is about stays as written."""

    def put_right(match: re.Match[str]) -> str:
        word = match.group()
        low = word.lower()
        if len(low) < 4 or _is_word(low) or not word.isalpha() or not (low == word or word.istitle()):
            return word
        meant = [known for known in CORRECTED_WORDS if low[0] == known[0] and one_edit(low, known)]
        return meant[0] if len(meant) == 1 else word

    for contraction, full in _CONTRACTIONS:
        question = contraction.sub(full, question)
    return _WORD.sub(put_right, question)


def _is_word(word: str) -> bool:
    """Whether a word is right as it is."""
    return (
        word in CORRECTED_WORDS
        or word in _NOT_MISTYPED
        or word in STOP_WORDS
        or word in GENERIC
        or canonical(word) in GENERIC
        or bool(verb_base(word))
    )


def _intent_of(text: str) -> Intent:
    """The first rule that fits; without one it is chat where it greets, else a search."""
    if not text.strip() or _CHAT.match(text):
        return Intent.CHAT
    return next((intent for intent, rule in _COMPILED if rule.search(text)), Intent.LOCATE)

"""A question corrected once, and its intent by rules (specification 3, part IV: intents)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from knowbound.core.evidence import INTENTS, Intent, QuestionKind, Requirement, requirements_of
from knowbound.text.questions.clauses import Clause, Mood, clauses_of, is_wish
from knowbound.text.questions.kinds import kind_of, last_request, reports_failure
from knowbound.text.questions.words import CORRECTED_WORDS, GENERIC, verb_base
from knowbound.text.stop_words import STOP_WORDS
from knowbound.text.terms import canonical, one_edit

_LONGEST_NOUN = 5  # words of a noun that a question goes on about
_LONGEST_NEWS = 12  # words: a longer sentence that asks for nothing describes something that is looked for
_LONGEST = 4000  # characters of a prompt that are read
# Words of their own that are one letter from a word of questions: calls, does, locate, what, where.
_NOT_MISTYPED = frozenset("cells locale dose dots wheat".split())
_WORD = re.compile(r"(?<![\w.])[A-Za-z']+(?![\w(]|\.\w)")
_CHAT = re.compile(
    r"^\W*(?:hi|hello|hey|hiya|yo|howdy|thanks?|thank you|thx|cheers|good (?:morning|afternoon|evening|night|job|work|"
    r"day|one)|"
    r"morning|evening|how are (?:you|things)|how is it going|who are you|what are you|what can you do|are you (?:there|"
    r"a (?:bot|human|robot))|"
    r"ok(?:ay)?|hm+|great|nice|interesting|funny|sweet|neat|impressive|exactly|agreed|indeed|absolutely|definitely|"
    r"of course|cool|awesome|amazing|brilliant|excellent|lovely|wow|bye|goodbye|see you|lol|haha\w*|hehe|"
    r"yes|yeah|yep|no|nope|sure|well done|tell me a joke|what is up|sounds good|perfect|never ?mind|sorry|my bad|oops|"
    r"got it|i see|talk (?:tomorrow|later|soon|to you)|catch you|understood|makes sense|fair enough|no worries|"
    r"no problem|you (?:are|saved|rock|did|made)|"
    r"that (?:is|was|did|works|worked|helps|helped)|congrat\w*|happy (?:\w+ )?(?:birthday|friday|new)|please wait|brb|"
    r"ping|all good|"
    r"one (?:sec|moment|second)|hold on|forget it|ignore (?:that|this|me)|wrong (?:window|chat|channel)|just testing|"
    r"testing|i (?:am|will|have|was|think|guess|feel|just|love|like|hate|appreciate)|we (?:are|did|will|made)|"
    r"it (?:works|worked|is|was))\b",
    re.IGNORECASE,
)
# A sentence that tells something and asks for nothing: "the tests pass now".
_NEWS = re.compile(
    r"^(?:the|my|our|all|this|that|these|those|it|i|we|you|they|he|she|everything|nothing)\b(?: (?!that|which|who|"
    r"where|how)\w+)*? "
    r"(?:is|are|was|were|am|pass|passes|passed|works|worked|looks|seems|has|have|had|went|did|does|got|will|would|can|"
    r"could)\b"
)
_SMALL_TALK = re.compile(
    r"^\W*(?:how are (?:you|things)|how is it going|how (?:was|is) your|who are you|who made you|what are you|"
    r"what can you do|what is your name|"
    r"(?:are )?you (?:there|ok|okay|real|sure|an? \w+)|do you (?:like|sleep|dream|speak)|can you (?:hear|help)(?: me)?|"
    r"tell me a joke|what is up|how do you do|will you|see you|talk to you|did you sleep|have an? (?:nice|good|great|"
    r"lovely)|"
    r"is anyone there)\b[\s\w,!']{0,24}\W*$",
    re.IGNORECASE,
)


_SORTS = (
    "class|function|method|file|module|option|flag|variable|constant|thing|something|one|struct|type|command|helper"
)
_PUT_SIMPLY = (
    (re.compile(rf"\b({_SORTS}) (?:that is |which is )?(?:called|named)\b", re.IGNORECASE), r"\1"),
    (re.compile(r"\b(?:thread|type|memory|exception|signal|async|fork)[ -]safe\b", re.IGNORECASE), "safe"),
)
_APOSTROPHES = str.maketrans("’‘", "''")
_CONTRACTIONS = (
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
    kind: QuestionKind = QuestionKind.LOCATE
    needs: tuple[Requirement, ...] = ()  # the evidence that answers it


def read_question(text: str) -> AskedQuestion:
    """Correct a question and find its intent; whoever parses it further takes the corrected text."""
    corrected = _corrected(text[:_LONGEST].strip())
    kind = question_kind(corrected)
    return AskedQuestion(text, corrected, INTENTS[kind], kind, requirements_of(kind))


def question_kind(text: str) -> QuestionKind:
    """What a message wants: its last order or question decides, what is said around it only where that is too short."""
    if not text.strip() or _SMALL_TALK.match(text):
        return QuestionKind.CHAT
    clauses = clauses_of(text)
    message = " ".join(clause.text for clause in clauses)
    requested = last_request(clauses)
    if requested is not None:
        at, clause = requested
        if _is_short(clause) and at:
            return _short_request(clause, clauses[:at])
        clause = _resolved(clause, clauses[at - 1] if at else None)
        return kind_of(clause, message)
    if any(reports_failure(clause.text) for clause in clauses):
        return QuestionKind.CI_CAUSE
    if any(is_wish(clause) for clause in clauses):
        return QuestionKind.MODIFY
    is_news = _CHAT.match(text) or any(_CHAT.match(clause.text) or _NEWS.match(clause.text) for clause in clauses)
    if not clauses or (is_news and (len(clauses) > 1 or len(message.split()) <= _LONGEST_NEWS)):
        return QuestionKind.CHAT
    return kind_of(clauses[-1] if len(clauses) == 1 else clauses[0], message)


# Words that a question may have without saying what it is about: "what is it this time".
_VAGUE = STOP_WORDS | frozenset(
    "time today wrong happen happened happening problem matter deal idea that's reason cause say says exactly by whom "
    "come comes mean means origin source error errors failure message log step fault fix issue know "
    "going on up one ones answer thing things "
    "see work works fine good ok".split()
)


def _is_short(clause: Clause) -> bool:
    """A question that only what was said before it completes."""
    return clause.mood is not Mood.ORDER and all(word.strip("'") in _VAGUE for word in clause.text.split())


def _resolved(clause: Clause, before: Clause | None) -> Clause:
    """ "The suite: is it green?" asks about the suite."""
    noun = before is not None and before.mood is Mood.STATEMENT and not _NEWS.match(before.text)
    if before is None or not noun or clause.mood is not Mood.WHETHER or len(before.text.split()) > _LONGEST_NOUN:
        return clause
    return clause._replace(text=re.sub(r"^(\w+) (?:it|they|that|this)\b", rf"\1 {before.text}", clause.text))


def _short_request(clause: Clause, before: list[Clause]) -> QuestionKind:
    if clause.text.startswith("where"):
        return QuestionKind.LOCATE
    earlier = last_request(before)
    if earlier is not None and not _is_short(earlier[1]):
        return kind_of(earlier[1], " ".join(one.text for one in before))
    said = " ".join(one.text for one in before)
    about_run = clause.text in ("why", "why not", "how come") and re.search(
        r"\b(?:ci|pipeline|build|tests?|job)\b", said
    )
    if (about_run or reports_failure(said)) and clause.mood is Mood.WHAT:
        return QuestionKind.CI_CAUSE
    return kind_of(Clause(clause.mood, f"{clause.text} {said}"), said)


def _corrected(question: str) -> str:
    """The question with mistyped question words put right; what it is about stays as written."""

    question = question.translate(_APOSTROPHES)
    for wordy, short in _PUT_SIMPLY:
        question = wordy.sub(short, question)
    for contraction, full in _CONTRACTIONS if "'" in question else ():
        question = contraction.sub(full, question)
    return _WORD.sub(lambda match: _put_right(match.group()), question)


@lru_cache(maxsize=4096)
def _put_right(word: str) -> str:
    """The word, or the word of questions that it is one slip away from."""
    low = word.lower()
    if len(low) < 4 or _is_word(low) or not word.isalpha() or not (low == word or word.istitle()):
        return word
    meant = [known for known in CORRECTED_WORDS if low[0] == known[0] and one_edit(low, known)]
    return meant[0] if len(meant) == 1 else word


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

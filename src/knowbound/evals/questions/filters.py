"""Which proposed questions are not asked, and why (specification 1, section 9).

A question that the knowledge base never claimed to answer would count as a gap of it: "inventing out-of-scope
questions pollutes the gap rate". Every drop has a reason that is shown. docs/decisions/competency.md has
the numbers.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from knowbound.core.competency import CompetencyQuestion, Dropped
from knowbound.evals.questions.base import KnowledgeBase, telling_words
from knowbound.text.embedding import embed, similarity
from knowbound.text.redact import redact
from knowbound.text.terms import stem

NEAR = 0.80  # likeness of two questions, 0 to 1, from which they ask the same
_NEAR_ENOUGH = 0.65  # cosine of two questions of which one holds every word of the other
_NEAR_A_HEADING = 0.45  # cosine with a heading, from which a question is about it in other words
_MOST_CHARACTERS = 180
_LEAST_WORDS = 3
_MOST_HEADINGS = 2000
_ASKS = re.compile(
    r"^(?:how|what|when|where|which|who|whom|whose|why|can|could|may|must|should|is|are|do|does|did|was|were|will|has|have|"
    r"in|for|to|at|on|from|under|after|before|if)\b",
    re.IGNORECASE,
)
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
# A question that tells its reader to do something is an order in the dress of a question.
_ORDERS = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instruction|previous|above|prior|rule|prompt|guideline)"
    r"|\b(?:system prompt|you are now|act as|pretend to be|from now on|jailbreak)\b"
    r"|\b(?:print|reveal|show|output|repeat|send|post|upload|exfiltrate)\b.{0,40}\b(?:secrets?|passwords?|tokens?|"
    r"credentials?|api keys?|environment variables|system prompt|instructions)\b.{0,20}\b(?:to|and)\b"
    r"|\bcurl\b.{0,80}\|\s*(?:ba)?sh\b|<\s*/?\s*(?:script|system|assistant|user|tool)\b"
    r"|\b(?:do not|don't) (?:tell|inform|mention)\b|忽略.{0,10}(?:指令|提示)",
    re.IGNORECASE,
)
_TEMPLATE = re.compile(
    r"^(?:what does the documentation say about|which rules does the documentation give for"
    r"|what is recommended for|what are the symptoms of a problem with|can you say"
    r"|is it right that|what (?:is|are|does|do you do (?:when|about|instead of))"
    r"|how (?:do you|does|do|is|are)|when (?:is|may)|which|why|who (?:is|are))\b"
    r"|,? and (?:when|what) (?:is|are|do) (?:it|they) (?:used|for|here|do|mean)\b|\b(?:for|like|done here)[?]$"
    r"|^(?:如何|遇到)|(?:是什么|时怎么办)？$|[?？]$",
    re.IGNORECASE,
)


def kept(
    base: KnowledgeBase, proposed: Iterable[CompetencyQuestion], dropped: list[Dropped]
) -> list[CompetencyQuestion]:
    """The proposals that may be asked; the others go to `dropped` with their reasons. The first of two alike stays."""
    scope = Scope(base)
    found: list[CompetencyQuestion] = []
    alike = Alike()
    for one in proposed:
        reason = unfit(one.question) or scope.reason(one)
        if not reason and (other := alike.same_as(one.question)):
            reason = f"asks the same as: {other}"
        if reason:
            dropped.append(Dropped(redact(one.question), reason, one.kind, one.place))
        else:
            alike.add(one.question)
            found.append(one)
    return found


def unfit(question: str) -> str:
    """Why a text is no question to ask, whatever it is about."""
    if len(question) > _MOST_CHARACTERS:
        return f"too long: more than {_MOST_CHARACTERS} characters"
    if not question.endswith(("?", "？")) or not (_ASKS.match(question) or _CHINESE.search(question)):
        return "not a question"
    if question.count("?") + question.count("？") > 2:
        return "several questions in one"
    if redact(question) != question:
        return "holds a secret"
    if _ORDERS.search(question):
        return "gives its reader an order"
    if len(question.split()) < _LEAST_WORDS and not _CHINESE.search(question):
        return "too short to tell what it asks"
    return ""


class Scope:
    """What a knowledge base is about, by its words and by the meaning of its headings."""

    def __init__(self, base: KnowledgeBase) -> None:
        self._words = base.words
        self._scope = base.scope
        self._headings = [
            embed(" ".join((document.title, section.headings[-1])))
            for document in base.documents
            for section in document.sections
            if section.headings
        ][:_MOST_HEADINGS]

    def reason(self, one: CompetencyQuestion) -> str:
        """Why a question is not asked of this knowledge base, or an empty string.

        Its words must occur here, most of them, and one of them as a subject; half of them are enough where its
        meaning is near a heading.
        """
        telling = telling_words(_essence(one.question))
        if not telling:
            return "trivial: no word in it says what it is about"
        unknown = {word for word in telling if word not in self._words}
        is_inside = not unknown or (bool(telling & self._scope) and 2 * len(unknown) < len(telling))
        if is_inside or (2 * len(unknown) == len(telling) and self._is_near(one.question)):
            return ""
        return f"out of scope: {', '.join(sorted(unknown or telling))} is nowhere a subject here"

    def _is_near(self, question: str) -> bool:
        vector = embed(_essence(question))
        return any(similarity(vector, heading) >= _NEAR_A_HEADING for heading in self._headings)


class Alike:
    """The questions so far, to tell whether a new one asks the same."""

    def __init__(self) -> None:
        self._known: list[tuple[str, frozenset[str], bytes, str]] = []
        self._with_word: dict[str, list[int]] = defaultdict(list)  # only questions that share a word can be the same

    def add(self, question: str) -> None:
        """Remember a question."""
        words = telling_words(_essence(question))
        for word in words:
            self._with_word[word].append(len(self._known))
        self._known.append((_form(question), words, embed(_essence(question)), question))

    def same_as(self, question: str) -> str:
        """The question known already that asks the same, or an empty string."""
        form, words, vector = _form(question), telling_words(_essence(question)), embed(_essence(question))
        places = sorted({place for word in words for place in self._with_word.get(word, ())})
        for known_form, known_words, known_vector, known in (self._known[place] for place in places):
            shared = len(words & known_words)
            if form != known_form or 2 * shared < min(len(words), len(known_words)):
                continue
            cosine = max(0.0, similarity(vector, known_vector))
            holds = min(len(words), len(known_words)) == shared >= 2  # one says all that the other says
            alike = (cosine + 2 * shared / max(1, len(words) + len(known_words))) / 2
            if words == known_words or alike >= NEAR or (holds and cosine >= _NEAR_ENOUGH):
                return known
        return ""


def _essence(question: str) -> str:
    """A question without the words that every question of its form has."""
    return _TEMPLATE.sub(" ", question)


_FORMS = (
    ("undo", re.compile(r"\brolled back\b|\bundo|\brevert|\brestored\b", re.IGNORECASE)),
    ("trouble", re.compile(r"\b(?:fails?|does not work|goes wrong|fires)\b|^what do you do (?:about|when)", re.I)),
    ("instead", re.compile(r"\binstead of\b", re.IGNORECASE)),
    ("why", re.compile(r"^why\b", re.IGNORECASE)),
    ("who", re.compile(r"^who\b|\bto whom\b", re.IGNORECASE)),
    ("when", re.compile(r"^when\b", re.IGNORECASE)),
    ("where", re.compile(r"^where\b", re.IGNORECASE)),
    ("how", re.compile(r"^how do you\b|^how (?:is|are) .* (?:\w+ed|done)\b|^what are the steps", re.IGNORECASE)),
)  # fmt: skip


def _form(question: str) -> str:
    """What kind of answer is wanted: how to undo a thing is another question than what it is."""
    doing = re.match(r"how do you (\w+)", question, re.IGNORECASE)
    form = next((name for name, pattern in _FORMS if pattern.search(question)), "what")
    return f"how {stem(doing[1])}" if doing and form == "how" else form

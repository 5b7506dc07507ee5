"""Which proposed questions are not asked, and why (specification 1, section 9).

A question that the knowledge base never claimed to answer would count as a gap of it: "inventing out-of-scope
questions pollutes the gap rate". Every drop has a reason that is shown; docs/decisions/competency.md has the numbers.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property, lru_cache
from itertools import islice

from knowbound.core.competency import CompetencyQuestion, Dropped
from knowbound.evals.questions.knowledge_text import KnowledgeText, content_stems
from knowbound.kms.screening import screened
from knowbound.text.embedding import embed, similarity
from knowbound.text.redact import redact
from knowbound.text.stop_words import STOP_WORDS

_SAME = 0.80  # mean of cosine and shared words, from which two questions are the same
_SAME_IF_CONTAINED = 0.65  # cosine, where one question has every content word of the other
_NEAR_A_HEADING = 0.45  # cosine with a heading, from which a question is about it in other words
_MOST_CHARACTERS = 180
_LEAST_WORDS = 3
_MOST_HEADINGS = 2000
_BEGINNING = re.compile(
    r"^(?:how|what|when|where|which|who|whom|whose|why|can|could|may|must|should|is|are|do|does|did|was|were|will|has|have|"
    r"in|for|to|at|on|from|under|after|before|if)\b|.*[\u4e00-\u9fff]",
    re.IGNORECASE,
)
_ROLE_TAG = re.compile(r"<\s*/?\s*(?:script|system|assistant|user|tool)\b", re.IGNORECASE)
_QUESTION_WORD = re.compile(r"\b(?:who|when|where|which|why|how|what)\w*", re.IGNORECASE)


def kept(
    knowledge: KnowledgeText, proposed: Iterable[CompetencyQuestion], dropped: list[Dropped]
) -> list[CompetencyQuestion]:
    """The proposals that may be asked, of duplicates the first; the others go to `dropped` with their reasons."""
    scope = KnowledgeScope(knowledge)
    found: list[CompetencyQuestion] = []
    duplicates = Duplicates()
    for one in proposed:
        reason = unfit(one.question) or scope.reason(one.question)
        if not reason and (other := duplicates.same_as(one.question)):
            reason = f"asks the same as: {other}"
        if reason:
            dropped.append(Dropped(redact(one.question), reason, one.kind, one.place))
        else:
            duplicates.add(one.question)
            found.append(one)
    return found


def unfit(question: str) -> str:
    """Why a text is not asked, whatever it is about, or an empty string."""
    if len(question) > _MOST_CHARACTERS:
        return f"too long: more than {_MOST_CHARACTERS} characters"
    if not question.endswith(("?", "？")) or not _BEGINNING.match(question):
        return "not a question"
    if question.count("?") + question.count("？") > 2:
        return "several questions in one"
    if redact(question) != question:
        return "holds a secret"
    if gives_orders(question):
        return "gives its reader an order"
    if question.isascii() and len(question.split()) < _LEAST_WORDS:
        return "too short to be clear"
    return ""


def gives_orders(text: str) -> bool:
    """Whether a text tries to instruct the agent that reads it."""
    return screened(text) is not None or bool(_ROLE_TAG.search(text))


class KnowledgeScope:
    """What a knowledge base is about, by its words and by the meaning of its headings."""

    def __init__(self, knowledge: KnowledgeText) -> None:
        self._knowledge = knowledge

    @cached_property
    def _headings(self) -> list[bytes]:
        headings = (
            f"{page.title} {section.headings[-1]}"
            for page in self._knowledge.pages
            for section in page.sections
            if section.headings
        )
        return [embed(heading) for heading in islice(headings, _MOST_HEADINGS)]

    def reason(self, question: str) -> str:
        """Why a question is out of scope, or an empty string.

        Most of its content words must occur in the knowledge base, and one of them as a subject; where exactly half of
        them occur, its meaning must be near a heading.
        """
        stems = content_stems(question)
        if not stems:
            return "trivial: no word in it says what it is about"
        unknown = stems - self._knowledge.stems
        if not unknown or (stems & self._knowledge.subjects and 2 * len(unknown) < len(stems)):
            return ""
        if 2 * len(unknown) == len(stems) and self._is_near_a_heading(question):
            return ""
        return f"out of scope: {', '.join(sorted(unknown))} is nowhere a subject here"

    def _is_near_a_heading(self, question: str) -> bool:
        vector = _vector(question)
        return any(similarity(vector, heading) >= _NEAR_A_HEADING for heading in self._headings)


class Duplicates:
    """The questions so far, to find out whether a new one asks the same."""

    def __init__(self) -> None:
        self._known: list[tuple[str, frozenset[str], bytes, str]] = []
        self._with_stem: dict[str, list[int]] = defaultdict(list)  # only questions that share a word can be the same

    def add(self, question: str) -> None:
        """Remember a question."""
        stems = content_stems(question)
        for word in stems:
            self._with_stem[word].append(len(self._known))
        self._known.append((_question_word(question), stems, _vector(question), question))

    def same_as(self, question: str) -> str:
        """The question known already that asks the same, or an empty string.

        Only questions with the same question word can: why a thing is so is another question than what it is.
        """
        word, stems, vector = _question_word(question), content_stems(question), _vector(question)
        for at in sorted({at for stem in stems for at in self._with_stem.get(stem, ())}):
            known_word, known_stems, known_vector, known = self._known[at]
            shared = len(stems & known_stems)
            overlap = 2 * shared / (len(stems) + len(known_stems))
            is_contained = min(len(stems), len(known_stems)) == shared >= 2
            if word != known_word or (not is_contained and overlap < 2 * _SAME - 1):
                continue  # no cosine could make up for it
            cosine = max(0.0, similarity(vector, known_vector))
            is_same = stems == known_stems or (cosine + overlap) / 2 >= _SAME
            if is_same or (is_contained and cosine >= _SAME_IF_CONTAINED):
                return known
        return ""


def _question_word(question: str) -> str:
    found = _QUESTION_WORD.search(question)
    return found[0].lower() if found else ""


@lru_cache(maxsize=1024)
def _vector(question: str) -> bytes:
    """The embedding of a question without its stop words."""
    return embed(" ".join(word for word in question.split() if word.lower() not in STOP_WORDS))

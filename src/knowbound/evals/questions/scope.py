"""Which proposed questions are not asked, and why (specification 1, section 9).

A question that the knowledge base never claimed to answer would count as a gap of it: "inventing out-of-scope
questions pollutes the gap rate". A model decides about the scope, and quotes what puts a question in it. Every drop has
a reason that is shown.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, cast

import msgspec
from msgspec.structs import replace

from knowbound.evals.questions.knowledge_text import KnowledgeText, content_stems
from knowbound.judge.material import is_quoted
from knowbound.judge.models.asking import Asker
from knowbound.judge.models.completion import known_sum
from knowbound.judge.models.questions import AskedEntry, AskResult, EntryGroup, sendable
from knowbound.judge.prompts import input_hash, load_prompt
from knowbound.kms.screening import screened
from knowbound.stats.evaluation import CompetencyQuestion, Dropped
from knowbound.text.embedding import embed, similarity
from knowbound.text.english import STOP_WORDS
from knowbound.text.redact import redact

_SAME_FROM = 0.80  # mean of cosine and shared words, from which two questions are the same
_CONTAINED_FROM = 0.65  # cosine, where one question has every content word of the other
_QUESTION_CHARACTERS = 180
_LEAST_WORDS = 3
_PART_CHARACTERS = 12_000  # of each part of the structure
_BY_WORDS, _BY_MEANING = 2, 2  # passages beside a question
_PASSAGE_CHARACTERS = 300
_QUESTIONS_OF_CALL = 10
_BEGINNING = re.compile(
    r"(?:can|could|may|must|should|is|are|do|does|did|was|were|will|has|have)\b|.*[\u4e00-\u9fff]", re.IGNORECASE
)
_ROLE_TAG = re.compile(r"<\s*/?\s*(?:script|system|assistant|user|tool)\b", re.IGNORECASE)
_QUESTION_WORD = re.compile(r"\b(?:who|when|where|which|why|how|what)\w*", re.IGNORECASE)


def kept(
    proposed: Iterable[CompetencyQuestion],
    dropped: list[Dropped],
    verdicts: Mapping[str, ScopeVerdict] | None = None,
) -> list[CompetencyQuestion]:
    """Return the proposals that may be asked, of duplicates the first; other proposals go to `dropped` with reasons.

    What rules made of a heading or a principle is in scope by its source; a model decides about what a model proposed.
    """
    verdicts = verdicts or {}
    found: list[CompetencyQuestion] = []
    duplicates = Duplicates()
    for proposal in proposed:
        verdict = verdicts.get(proposal.question)
        reason = unfit(proposal.question) or (verdict.reason if verdict else "")
        if not reason and (other := duplicates.same_as(proposal.question)):
            reason = f"asks the same as: {other}"
        if reason:
            dropped.append(Dropped(redact(proposal.question), reason, proposal.kind, proposal.place))
        else:
            duplicates.add(proposal.question)
            found.append(replace(proposal, why=f"in scope by “{verdict.quote}”") if verdict else proposal)
    return found


def unfit(question: str) -> str:
    """Return the reason why a text is never asked, or an empty string."""
    if len(question) > _QUESTION_CHARACTERS:
        return f"too long: more than {_QUESTION_CHARACTERS} characters"
    if not question.endswith(("?", "？")) or not (_QUESTION_WORD.search(question) or _BEGINNING.match(question)):
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
    """Report whether a text tries to instruct the agent that reads it."""
    return screened(text) is not None or bool(_ROLE_TAG.search(text))


class ScopeAnswer(msgspec.Struct, frozen=True):
    """Answer of the model about one question."""

    id: str
    in_scope: bool = msgspec.field(name="inScope")
    quote: str = ""
    reason: str = ""


class ScopeVerdict(NamedTuple):
    """The text that puts a question in scope, or else the reason for not asking it."""

    quote: str
    reason: str = ""


def scope_verdicts(
    knowledge: KnowledgeText, questions: Sequence[str], asker: Asker
) -> tuple[list[ScopeVerdict], float | None]:
    """Ask the model which questions are within scope, and the cost; a verdict counts only with its quotation."""
    structure = structure_of(knowledge)
    passages = [(block.text, embed(block.text)) for page in knowledge.pages for block in page.blocks]
    entries = []
    for number, question in enumerate(questions, 1):
        shown = {"question": question, "passages": nearest_passages(question, passages)}
        key = input_hash({**structure, "entry": msgspec.json.encode(shown).decode()})
        entries.append(AskedEntry(f"q{number}", shown, key))

    def unquoted(entry: AskedEntry, answer: ScopeAnswer) -> str:
        shown = (*structure.values(), *cast("list[str]", entry.shown["passages"]))
        is_shown = not answer.in_scope or is_quoted(answer.quote, shown)
        return "" if is_shown else "the quotation is not in the material"

    group = EntryGroup(entries, structure)
    (asked,) = asker.ask_entries(load_prompt("scope"), [group], ScopeAnswer, size=_QUESTIONS_OF_CALL, check=unquoted)
    return [_verdict(answer) for answer in asked], known_sum(*(answer.usd for answer in asked))


def _verdict(asked: AskResult[ScopeAnswer]) -> ScopeVerdict:
    if asked.value is None:
        return ScopeVerdict("", f"its scope was not decided: {asked.problem}")
    if asked.value.in_scope:
        return ScopeVerdict(asked.value.quote)
    return ScopeVerdict("", f"out of scope: {' '.join(asked.value.reason.split())[:200] or 'another subject'}")


def structure_of(knowledge: KnowledgeText) -> dict[str, str]:
    """Return the file names, headings and principles of a knowledge base, as a model is shown them."""
    return {
        "files": _shown_part(page.path for page in knowledge.pages),
        "headings": _shown_part(page.heading_lines for page in knowledge.pages),
        "principles": _shown_part(knowledge.principles),
    }


def _shown_part(parts: Iterable[str]) -> str:
    text = sendable("\n".join(parts))
    return text if len(text) <= _PART_CHARACTERS else text[:_PART_CHARACTERS].rpartition("\n")[0] + "\n…"


def nearest_passages(question: str, passages: Sequence[tuple[str, bytes]]) -> list[str]:
    """Return the passages that share most words with a question, then those nearest in meaning."""
    stems, vector = content_stems(question), _question_vector(question)
    ranked = sorted(
        passages,
        key=lambda passage: (-len(stems & content_stems(passage[0])), -similarity(vector, passage[1]), passage[0]),
    )
    by_meaning = sorted(passages, key=lambda passage: (-similarity(vector, passage[1]), passage[0]))
    chosen = dict.fromkeys(text for text, _ in (*ranked[:_BY_WORDS], *by_meaning[:_BY_MEANING]))
    return [sendable(text)[:_PASSAGE_CHARACTERS] for text in chosen]


class Duplicates:
    """The questions so far, to find out whether a new one asks the same."""

    def __init__(self) -> None:
        self._questions: list[tuple[str, frozenset[str], bytes, str]] = []
        self._with_stem: dict[str, list[int]] = defaultdict(list)  # only questions that share a word can be the same

    def add(self, question: str) -> None:
        """Remember a question."""
        stems = content_stems(question)
        for word in stems:
            self._with_stem[word].append(len(self._questions))
        self._questions.append((_question_word(question), stems, _question_vector(question), question))

    def same_as(self, question: str) -> str:
        """The question known already that asks the same, or an empty string.

        Only questions with the same question word can: why a thing is so is another question than what it is.
        """
        word, stems, vector = _question_word(question), content_stems(question), _question_vector(question)
        for at in sorted({at for stem in stems for at in self._with_stem.get(stem, ())}):
            other_word, other_stems, other_vector, other = self._questions[at]
            shared = len(stems & other_stems)
            overlap = 2 * shared / (len(stems) + len(other_stems))
            is_contained = min(len(stems), len(other_stems)) == shared >= 2
            if word != other_word or (not is_contained and overlap < 2 * _SAME_FROM - 1):
                continue  # even with a cosine of 1 the mean would be too low
            cosine = max(0.0, similarity(vector, other_vector))
            is_same = stems == other_stems or (cosine + overlap) / 2 >= _SAME_FROM
            if is_same or (is_contained and cosine >= _CONTAINED_FROM):
                return other
        return ""


def _question_word(question: str) -> str:
    found = _QUESTION_WORD.search(question)
    return found[0].lower() if found else ""


@lru_cache(maxsize=1024)
def _question_vector(question: str) -> bytes:
    """The embedding of a question without its stop words."""
    return embed(" ".join(word for word in question.split() if word.lower() not in STOP_WORDS))

"""The embedded judge of turns: a few stated rules about words, no model, no network, no cost.

Specification 2, section 3. It says what words can show, and no more:
- used: the agent itself brings in the item's names, values and words, which neither the prompt nor a tool result had
  shown before; words that it denies do not count;
- contradicted: a sentence of the answer denies what the item says ("no longer", "there is no", "9090, not 8080"), or
  says the same of another value, or a tool call withdraws the item by its id;
- on topic: it has most words of the prompt, or the turn is more about it than about the other items (its words in the
  prompt, the answer and the tool calls, and the sentence of the answer that is closest to it), or it is used or
  contradicted.
Words count by how rare they are in texts about software. The limits were chosen on labelled turns; how far this can be
trusted is in docs/decisions/models.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

import msgspec

from knowbound.core.quality import ItemVerdict, JudgedCall, JudgedItem, JudgedTurn
from knowbound.judge.names import Judge
from knowbound.judge.turns.values import values_of
from knowbound.stats.printing import percent
from knowbound.text.embedding import embed, similarity
from knowbound.text.printable import shorten
from knowbound.text.sentences import sentences
from knowbound.text.specific_words import all_terms, usual_weight


class TurnVerdicts(msgspec.Struct, frozen=True):
    """The verdicts on a turn's items, in order; or the problem."""

    verdicts: tuple[ItemVerdict, ...] = ()
    problem: str = ""  # not empty: the judge failed, and the turn can be judged again
    usd: float | None = 0.0  # None: unknown


class TurnJudge(Judge, Protocol):
    """Judges the items of turns."""

    def judge(self, turns: Sequence[JudgedTurn]) -> list[TurnVerdicts]:
        """Return one answer per turn, in order, without raising for the content of a turn."""


_USED_SHARE = 0.35  # share of the item's own words that the agent brings in; a name or a value counts twice
_ON_TOPIC_LEAD = 0.4  # relevance of an item above half of the mean relevance of the other items
_DENIED_WEIGHT, _DENIED_SHARE = 0.8, 0.4  # weight of the denied words; share of the item's words around them
_ASKED_SHARE = 0.7  # share of the prompt's words that an item has
_DENIED_VALUE_SHARE = 0.25  # share of the item's words around a denied value of it
_OTHER_VALUE_SHARE = 0.4  # share of the item's words in a sentence with another value of the same kind
_DENIED_CHARACTERS = 70  # characters after "not", or before "was removed", that are denied
_MOST_SENTENCES, _OUTPUT_CHARACTERS = 200, 20_000
_CORRECTION_CHARACTERS = 500
_DENIES_AFTER = re.compile(  # what follows is denied
    r"\bno longer\b|(?<!could )(?<!can)(?<!did )\bnot\b|(?<!could)(?<!ca)(?<!did)n't\b|\bno\b|\bnever\b"
    r"|\binstead of\b|\brather than\b|不再|没有|不是|并非|而不是|并没|\bnicht\b|\bkeine?n?\b|\bya no\b",
    re.IGNORECASE,
)
_DENIES_BEFORE = re.compile(  # the text before it is denied
    r"(?:do|does|did)(?:n't| not) exist|no longer (?:exists?|used|there|applies|true)|不存在|已删除|已移除|过时"
    r"|(?:is|are|was|were|has been|have been) (?:removed|deleted|gone|dropped|renamed|replaced|outdated|wrong|stale)",
    re.IGNORECASE,
)
_NEGATIVE = re.compile(r"\bno\b|\bnot\b|n't\b|\bnever\b|\bwithout\b|不|没|\bnicht\b|\bkein", re.IGNORECASE)


class _AnswerSentence(NamedTuple):
    """A sentence of the answer."""

    text: str
    terms: frozenset[str]
    denied: tuple[frozenset[str], ...]  # the words that each denial is about
    denied_values: frozenset[tuple[str, str]]
    values: frozenset[tuple[str, str]]
    vector: bytes


class RulesTurnJudge:
    """Judges the items of a turn by their words."""

    costs = False
    version = "rules-turns-3"

    def judge(self, turns: Sequence[JudgedTurn]) -> list[TurnVerdicts]:
        """Return one answer per turn, in order."""
        return [self._judge(turn) for turn in turns]

    def _judge(self, turn: JudgedTurn) -> TurnVerdicts:
        """Judge the items of a turn; the relevance of each is above half of the mean of the others, or below."""
        if not turn.items:
            return TurnVerdicts()
        text = _TurnText(turn)
        relevance = [text.relevance(item.content) for item in turn.items]
        found = []
        for at, item in enumerate(turn.items):
            others = relevance[:at] + relevance[at + 1 :]
            mean = sum(others) / len(others) if others else 0.0
            found.append(self._verdict(text, item, relevance[at] - mean / 2))
        return TurnVerdicts(tuple(found))

    def _verdict(self, text: _TurnText, item: JudgedItem, relevance: float) -> ItemVerdict:
        terms = _terms(item.content)
        denial = text.denial(item.content, terms)
        withdrawn = text.withdrawn.get(item.id)
        contradicted = bool(denial) or withdrawn is not None
        use = text.use(terms)
        used = use > _USED_SHARE
        return ItemVerdict(
            item=item.id,
            on_topic=used or contradicted or relevance > _ON_TOPIC_LEAD or text.is_asked_for(terms),
            used=used,
            contradicted=contradicted,
            correction=shorten(denial or withdrawn or "", _CORRECTION_CHARACTERS),
            reason=_reason(bool(denial), contradicted, use),
            judge=self.version,
        )


def _reason(denied: bool, contradicted: bool, use: float) -> str:
    if denied:
        return "a sentence of the answer denies it"
    if contradicted:
        return "a tool call withdraws it"
    return f"the agent brings in {percent(use, 0)} of its own words"


class _TurnText:
    """The words of a turn, and who said them first."""

    def __init__(self, turn: JudgedTurn) -> None:
        self._prompt = _terms(turn.prompt)
        self._sentences = [_answer_sentence(found.text) for found in sentences(turn.response)][:_MOST_SENTENCES]
        self._answer = _terms(turn.response)
        self._inputs, self._shown = _input_and_shown_terms(turn.tool_calls)
        self._denied = frozenset[str]().union(*(terms for said in self._sentences for terms in said.denied))
        self.withdrawn = dict(_withdrawn(turn.tool_calls))  # what is true instead, by the id of the item

    def use(self, item_terms: frozenset[str]) -> float:
        """Return the share of an item's words, those of the prompt aside, that the agent brings in."""
        item_terms = item_terms - self._prompt
        brought_in = (self._answer - self._shown - self._denied) | (self._inputs - self._shown)
        brought_in &= item_terms
        total = _weight(item_terms) + _weight(filter(_is_name, item_terms))  # a name counts twice
        return (_weight(brought_in) + _weight(filter(_is_name, brought_in))) / total if total else 0.0

    def denial(self, content: str, item_terms: frozenset[str]) -> str:
        """Return the sentence of the answer that denies an item, with the next one; "" if there is none."""
        is_negative = bool(_NEGATIVE.search(content))  # to deny a negative item may be to confirm it
        values = _values(content)
        kinds = {kind for kind, _ in values}
        is_restated = any(values & (said.values - said.denied_values) for said in self._sentences)
        terms_before = frozenset[str]()
        for at, said in enumerate(self._sentences):
            around = _share(item_terms & (said.terms | terms_before | self._prompt), item_terms)
            denies_words = any(_weight(item_terms & terms) >= _DENIED_WEIGHT for terms in said.denied)
            denies_value = bool(values & said.denied_values) and around >= _DENIED_VALUE_SHARE
            is_about_item = _share(item_terms & said.terms, item_terms) >= _OTHER_VALUE_SHARE
            has_other_value = is_about_item and any(kind in kinds for kind, _ in said.values)
            if (denies_words and not is_negative and around >= _DENIED_SHARE) or (
                not is_restated and (denies_value or has_other_value)
            ):
                return " ".join(sentence.text for sentence in self._sentences[at : at + 2])
            terms_before = said.terms
        return ""

    def is_asked_for(self, item_terms: frozenset[str]) -> bool:
        """Report whether an item has most words of the prompt."""
        return bool(self._prompt) and _share(item_terms & self._prompt, self._prompt) >= _ASKED_SHARE

    def relevance(self, content: str) -> float:
        """Return how much the turn is about an item: from 0 to about 2."""
        terms, vector = _terms(content), embed(content)
        closest = max((similarity(vector, said.vector) for said in self._sentences), default=0.0)
        return _share(terms & (self._prompt | self._answer | self._inputs), terms) + closest


def _withdrawn(calls: Iterable[JudgedCall]) -> Iterator[tuple[str, str]]:
    """Yield the ids of items that a tool call replaces, retracts or deletes, each with what it puts in their place."""
    for call in calls:
        tool, given = call.name.rpartition("__")[2], call.input
        if tool in ("kms_supersede", "kms_delete") or (tool == "kms_flag" and given.get("flag") == "RETRACTED"):
            also = given.get("also")
            for id_ in (given.get("id"), *(also if isinstance(also, list) else ())):
                yield str(id_), str(given.get("content") or "")


def _answer_sentence(text: str) -> _AnswerSentence:
    """Return a sentence with its words and values, and the parts that it denies."""
    denied = [text[word.end() : word.end() + _DENIED_CHARACTERS] for word in _DENIES_AFTER.finditer(text)]
    denied += [text[max(0, word.start() - _DENIED_CHARACTERS) : word.start()] for word in _DENIES_BEFORE.finditer(text)]
    values = [next(iter(values_of(part)), None) for part in denied]  # of a denial, the nearest value
    denied_values = frozenset((str(value.kind), value.key) for value in values if value is not None)
    words = tuple(frozenset(term for term in _terms(part) if not term.isdigit()) for part in denied)
    return _AnswerSentence(text, _terms(text), words, denied_values, _values(text), embed(text))


def _input_and_shown_terms(calls: Iterable[JudgedCall]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words of the tools' inputs, and the words that a result showed before an input had them."""
    inputs, shown = set[str](), set[str]()
    for call in calls:
        inputs |= _terms(json.dumps(call.input, ensure_ascii=False, default=str))
        shown |= _terms(call.output[:_OUTPUT_CHARACTERS]) - inputs
    return frozenset(inputs), frozenset(shown)


def _terms(text: str) -> frozenset[str]:
    return frozenset(all_terms(text))


def _values(text: str) -> frozenset[tuple[str, str]]:
    return frozenset((str(value.kind), value.key) for value in values_of(text))


def _is_name(term: str) -> bool:
    return not term.isalpha()


def _weight(terms: Iterable[str]) -> float:
    return sum(map(usual_weight, terms))


def _share(some: Collection[str], whole: Collection[str]) -> float:
    total = _weight(whole)
    return _weight(some) / total if total else 0.0

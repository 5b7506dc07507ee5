"""Answers a question from the sections of a document folder, or says what is missing for an answer.

Specification 3 applied to documents: FileSearch grades how much of the question one section covers, FileContent whether
the passage states something of the kind that was asked for. Words alone prove nothing: they must be in one section, and
that section must say something about them.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from knowbound.core.evidence import (
    INSUFFICIENT,
    REQUIREMENTS,
    SUCCESS,
    CitedSource,
    Evidence,
    EvidenceClass,
    EvidenceGap,
    Intent,
    Investigation,
    Place,
    Quality,
    chat,
    derive_confidence,
    gaps_of,
    strength_of,
)
from knowbound.documents.answer_kinds import AnswerKind
from knowbound.documents.decision import SPEAKS_OF_ALL, likelihood
from knowbound.documents.matching import BlockMatch, WeightedTerm, matches_for, weighted_terms
from knowbound.documents.prompt import ParsedPrompt, parse_prompt
from knowbound.documents.section_index import SectionIndex
from knowbound.text.intent import AskedQuestion
from knowbound.text.printable import counted, one_line

_PASSAGES = 3
_LONGEST_PASSAGE = 1600
_NAMES_SOMETHING, _NAMES_KNOWLEDGE = 0.3, 0.5  # the least weight of a word that is shown, or reported as missing
# Whatever a prompt wants done, of a folder of knowledge it wants to know: what such a folder can have of the row of
# EXPLAIN in the specification's table.
_NEEDED = tuple(
    one for one in REQUIREMENTS[Intent.EXPLAIN] if one.cls in (EvidenceClass.FILE_SEARCH, EvidenceClass.FILE_CONTENT)
)

LIKELY, _PERHAPS = 0.55, 0.25  # the least likelihood of covering what is asked, and of covering a part of it
_SAYS_IT_ITSELF = 0.55  # of what is asked, by weight, in the passage and its headings
_WEIGHTY_NAME, _NEARLY_ALL = 0.5, 0.8  # the weight of a name that must be met, unless nearly all else is
_AS_MUCH = 0.85  # of what the best passage has: then another one is a part of the answer too


class Passage(msgspec.Struct, frozen=True):
    """What an answer rests on: a section, or the part of it that matters."""

    path: str  # relative to the root
    line: int
    end_line: int
    heading: str
    text: str


class DocumentAnswer(msgspec.Struct, frozen=True):
    """What a document folder says to a question."""

    investigation: Investigation
    passages: tuple[Passage, ...]  # best first; for insufficient evidence the nearest
    missing: tuple[str, ...]  # what nothing was found for, most specific first


def answer_from_sections(index: SectionIndex, question: AskedQuestion) -> DocumentAnswer:
    """Answer a question from the sections, or say what is missing."""
    prompt = parse_prompt(question)
    if question.intent is Intent.CHAT and not any(one.weight >= 1 for one in prompt.asked):
        return DocumentAnswer(chat(question.text), (), ())
    terms = weighted_terms(prompt, index)
    matches = matches_for(prompt, terms, index)
    return _concluded(question, prompt, terms, matches, index)


def _search_quality(best: BlockMatch | None, likely: float) -> tuple[Quality, str]:
    """FileSearch: how much of what is asked is in one section."""
    if best is None:
        return Quality.NONE, "no section mentions any of it"
    if best.names_missing:
        return Quality.WEAK, f"{one_line(', '.join(best.names_missing), 80)} is not there"
    without = f", without {one_line(', '.join(best.unmet[:4]), 80)}" if best.unmet else ""
    named = best.name_open >= _WEIGHTY_NAME and best.coverage < _NEARLY_ALL  # of Brazil, only Brazil will do
    if likely >= LIKELY and not named:
        return Quality.STRONG, "one section covers what is asked" + without
    if best.promised > best.coverage and best.coverage < SPEAKS_OF_ALL:
        return Quality.MODERATE, "the section that covers most of it only points elsewhere"
    if likely >= _PERHAPS:
        return Quality.MODERATE, "a section covers a part of what is asked" + without
    return Quality.WEAK, "words of the question occur" + without


def _answers(match: BlockMatch, best: BlockMatch) -> bool:
    """Whether a passage belongs to the answer that the best one gives."""
    says_something = match.entry.proves and match.has_kind and not match.names_missing
    return says_something and match.coverage >= _AS_MUCH * best.coverage


def _content_quality(match: BlockMatch | None, wanted: AnswerKind) -> tuple[Quality, str]:
    """FileContent: what the passage says when it is read."""
    if match is None:
        return Quality.NONE, "there was nothing to read"
    if not match.entry.proves:
        return Quality.WEAK, f"the passage is {match.entry.why_not}"
    if not match.has_kind:
        return Quality.WEAK, f"the passage does not give {wanted}"
    if match.focus >= _SAYS_IT_ITSELF:
        return Quality.STRONG, "the passage itself says it"
    return Quality.MODERATE, "the passage says it together with its section"


def _concluded(
    question: AskedQuestion,
    prompt: ParsedPrompt,
    terms: list[WeightedTerm],
    matches: list[BlockMatch],
    index: SectionIndex,
) -> DocumentAnswer:
    subject = _subject(prompt)
    best = matches[0] if matches else None
    evidence = _evidence(prompt, subject, matches, likelihood(matches, terms) if matches else 0.0)
    notes = {entry.cls: entry.note for entry in evidence}
    gaps = tuple(
        EvidenceGap(gap.cls, gap.have, gap.need, gap.target, notes[gap.cls])
        for gap in gaps_of(_NEEDED, [subject], evidence)
    )
    confidence, explanation = derive_confidence(_NEEDED, [subject], evidence)
    missing = _missing(terms, best, index) if gaps else ()
    if missing:
        explanation = f"Nothing was found for: {one_line(', '.join(missing[:6]), 120)}. {explanation}"
    rests_on = matches if gaps or best is None else [one for one in matches if _answers(one, best)]
    passages = tuple(_passage(one) for one in rests_on[:_PASSAGES])
    return DocumentAnswer(
        Investigation(
            question=question.text,
            intent=question.intent,
            outcome=INSUFFICIENT if gaps else SUCCESS,
            confidence=confidence,
            explanation=explanation,
            terms=(subject,),
            evidence=evidence,
            gaps=gaps,
            sources=() if gaps else _sources(rests_on),
            nearest=tuple(f"{one.heading} ({one.path}:{one.line})" for one in passages) if gaps else (),
            trail=_trail(subject, evidence, index),
        ),
        passages,
        missing or (_most_specific(prompt) if gaps else ()),
    )


def _subject(prompt: ParsedPrompt) -> str:
    """What is asked about, in the words of the question."""
    named = " ".join(one.text for one in prompt.asked if one.weight >= _NAMES_SOMETHING)
    return one_line(named or prompt.core, 120)


def _evidence(
    prompt: ParsedPrompt, subject: str, matches: Sequence[BlockMatch], likely: float
) -> tuple[Evidence, Evidence]:
    """What the search found, and what the best passage says when it is read."""
    best = matches[0] if matches else None
    search, search_note = _search_quality(best, likely)
    content, content_note = _content_quality(best, prompt.wanted)
    places = tuple(_place(one) for one in matches[:_PASSAGES])
    exact = sum(_answers(one, best) for one in matches) if best and search is Quality.STRONG else 0
    return (
        Evidence(
            EvidenceClass.FILE_SEARCH, "sections", one_line(prompt.core), subject, search,
            strength_of(len(matches)), places, len(matches), exact, note=search_note,
        ),
        Evidence(
            EvidenceClass.FILE_CONTENT, "read", subject, subject, content,
            strength_of(len(places[:1])), places[:1], len(places[:1]), int(content.reaches(Quality.MODERATE)),
            note=content_note,
        ),
    )  # fmt: skip


def _place(match: BlockMatch) -> Place:
    return Place(match.indexed.section.path, match.entry.block.line, (match.indexed.section.headings or ("",))[-1])


def _sources(matches: Sequence[BlockMatch]) -> tuple[CitedSource, ...]:
    found: dict[str, CitedSource] = {}
    for one in matches[:_PASSAGES]:
        path = one.indexed.section.path
        found.setdefault(
            path, CitedSource(path, one.entry.block.line, f"sections: {one.indexed.section.heading or path}")
        )
    return tuple(found.values())


def _passage(match: BlockMatch) -> Passage:
    """The section, or of a long one the block with what introduces it."""
    section, block = match.indexed.section, match.entry.block
    whole = "\n".join(one.text for one in section.blocks)
    if len(whole) <= _LONGEST_PASSAGE:
        return Passage(section.path, section.line, section.end_line, section.heading, whole)
    text = f"{block.lead}\n{block.text}".strip()[:_LONGEST_PASSAGE]
    return Passage(section.path, block.line, block.end_line, section.heading, text)


def _missing(terms: list[WeightedTerm], best: BlockMatch | None, index: SectionIndex) -> tuple[str, ...]:
    """What names the missing knowledge: names first, then what the folder has nowhere, then what the passage lacks."""
    unmet = {term.asked.text for term in terms} if best is None else {*best.unmet, *best.names_missing}
    lacking = [term for term in terms if term.asked.text in unmet]
    lacking = [term for term in lacking if term.asked.weight >= _NAMES_KNOWLEDGE] or lacking
    lacking.sort(
        key=lambda term: (
            not term.asked.is_name,
            any(index.mentions[one] for one in term.asked.stems or term.asked.chinese),
            -term.weight,
        )
    )
    return tuple(dict.fromkeys(term.asked.text for term in lacking))


def _most_specific(prompt: ParsedPrompt) -> tuple[str, ...]:
    """Where every word is met and the knowledge is not there: what the question is about, most specific first."""
    specific = [one for one in prompt.asked if one.weight >= _NAMES_KNOWLEDGE] or list(prompt.asked)
    return tuple(dict.fromkeys(one.text for one in sorted(specific, key=lambda one: -one.weight)))


def _trail(subject: str, evidence: tuple[Evidence, Evidence], index: SectionIndex) -> tuple[str, ...]:
    search, content = evidence
    where = f"{counted(len(index), 'section')} of {counted(index.files, 'file')}"
    steps = [f"sections: {subject} in {where}: {search.quality}"]
    steps += [f"read: {place.path}:{place.line}: {content.quality}" for place in content.places]
    return tuple(steps)

"""A question and the sections of a knowledge folder → an answer that rests on a passage, or what is missing for one.

Specification 3, read for documents: FileSearch says how much of what is asked one passage speaks of, FileContent what
the passage says when it is read: whether it states something, and the kind of thing that was asked for. Words alone
prove nothing: they must stand together in one section, and that section must say something about them.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from knowbound.core.evidence import (
    REQUIREMENTS,
    Confidence,
    Evidence,
    EvidenceClass,
    EvidenceGap,
    Found,
    Intent,
    Investigation,
    Place,
    Quality,
    derive_confidence,
    gaps_of,
    strength_of,
)
from knowbound.documents.decision import SPEAKS_OF_ALL, likelihood
from knowbound.documents.kinds import Wanted
from knowbound.documents.reading import Reading, Term, readings_of, terms_for
from knowbound.documents.request import Request, request_of
from knowbound.documents.section_index import Shelf
from knowbound.text.intent import intent_of
from knowbound.text.printable import counted, one_line

SUCCESS, INSUFFICIENT = "success", "insufficient_evidence"
_PASSAGES = 3
_LONGEST_PASSAGE = 1600
_NAMES_SOMETHING, _NAMES_KNOWLEDGE = 0.3, 0.5  # the weight from which on a word is worth to be shown, or missed
# Whatever a prompt wants done, of a folder of knowledge it wants to know: what such a folder can have of the row of
# EXPLAIN in the specification's table.
_NEEDED = tuple(
    one for one in REQUIREMENTS[Intent.EXPLAIN] if one.cls in (EvidenceClass.FILE_SEARCH, EvidenceClass.FILE_CONTENT)
)

LIKELY, _PERHAPS = 0.55, 0.25  # from which likelihood on a section speaks of what is asked, of a part of it
_SAYS_IT_ITSELF = 0.55  # of what is asked, by weight, without what stands beside the passage
_TELLING_NAME, _NEARLY_ALL = 0.5, 0.8  # the weight of a name that must be met, unless nearly all else is
_AS_MUCH = 0.85  # of what the best passage has: then another one is a part of the answer too


class Passage(msgspec.Struct, frozen=True):
    """What an answer rests on: a section, or the part of it that matters."""

    path: str  # relative to the root
    line: int
    end_line: int
    heading: str
    text: str


class Consultation(msgspec.Struct, frozen=True):
    """What a knowledge folder says to a question."""

    investigation: Investigation
    passages: tuple[Passage, ...]  # best first; for insufficient evidence the nearest
    missing: tuple[str, ...]  # what nothing was found for, most telling first


def consult(shelf: Shelf, question: str) -> Consultation:
    """Answer a question from the sections, or say what is missing."""
    request = request_of(question)
    intent = intent_of(request.text)
    if intent is Intent.CHAT and not any(one.weight >= 1 for one in request.asked):
        return Consultation(_chat(question), (), ())
    terms = terms_for(request, shelf)
    readings = readings_of(request, terms, shelf)
    return _concluded(question, intent, request, terms, readings, shelf)


def _chat(question: str) -> Investigation:
    return Investigation(
        question=question,
        intent=Intent.CHAT,
        outcome=SUCCESS,
        confidence=Confidence.NONE,
        explanation="This is chat: nothing was asked that evidence could answer.",
        terms=(),
        evidence=(),
        gaps=(),
        sources=(),
    )


def _search_quality(best: Reading | None, likely: float) -> tuple[Quality, str]:
    """FileSearch: how much of what is asked stands together in one section."""
    if best is None:
        return Quality.NONE, "no section speaks of any of it"
    if best.names_missing:
        return Quality.WEAK, f"{one_line(', '.join(best.names_missing), 80)} is not there"
    without = f", without {one_line(', '.join(best.unmet[:4]), 80)}" if best.unmet else ""
    named = best.name_open >= _TELLING_NAME and best.coverage < _NEARLY_ALL  # of Brazil, only Brazil will do
    if likely >= LIKELY and not named:
        return Quality.STRONG, "one section speaks of what is asked" + without
    if best.promised > best.coverage and best.coverage < SPEAKS_OF_ALL:
        return Quality.MODERATE, "what speaks most of it only points to it"
    if likely >= _PERHAPS:
        return Quality.MODERATE, "a section speaks of a part of what is asked" + without
    return Quality.WEAK, "words of the question occur" + without


def _answers(reading: Reading, best: Reading) -> bool:
    """Whether a passage belongs to the answer that the best one gives."""
    says_something = reading.said.proves and reading.has_kind and not reading.names_missing
    return says_something and reading.coverage >= _AS_MUCH * best.coverage


def _content_quality(reading: Reading | None, wanted: Wanted) -> tuple[Quality, str]:
    """FileContent: what the passage says when it is read."""
    if reading is None:
        return Quality.NONE, "there was nothing to read"
    if not reading.said.proves:
        return Quality.WEAK, f"what stands there is {reading.said.why_not}"
    if not reading.has_kind:
        return Quality.WEAK, f"the passage does not give {wanted}"
    if reading.focus >= _SAYS_IT_ITSELF:
        return Quality.STRONG, "the passage itself says it"
    return Quality.MODERATE, "the passage says it together with its section"


def _concluded(
    question: str, intent: Intent, request: Request, terms: list[Term], readings: list[Reading], shelf: Shelf
) -> Consultation:
    subject = _subject(request)
    best = readings[0] if readings else None
    evidence = _evidence(request, subject, readings, likelihood(readings, terms) if readings else 0.0)
    notes = {entry.cls: entry.note for entry in evidence}
    gaps = tuple(
        EvidenceGap(gap.cls, gap.have, gap.need, gap.target, notes[gap.cls])
        for gap in gaps_of(_NEEDED, [subject], evidence)
    )
    confidence, explanation = derive_confidence(_NEEDED, [subject], evidence)
    missing = _missing(terms, best, shelf) if gaps else ()
    if missing:
        explanation = f"Nothing was found for: {one_line(', '.join(missing[:6]), 120)}. {explanation}"
    rests_on = readings if gaps or best is None else [one for one in readings if _answers(one, best)]
    passages = tuple(_passage(one) for one in rests_on[:_PASSAGES])
    return Consultation(
        Investigation(
            question=question,
            intent=intent,
            outcome=INSUFFICIENT if gaps else SUCCESS,
            confidence=confidence,
            explanation=explanation,
            terms=(subject,),
            evidence=evidence,
            gaps=gaps,
            sources=() if gaps else _sources(rests_on),
            nearest=tuple(f"{one.heading} ({one.path}:{one.line})" for one in passages) if gaps else (),
            trail=_trail(subject, evidence, shelf),
        ),
        passages,
        missing or (_telling(request) if gaps else ()),
    )


def _subject(request: Request) -> str:
    """What is asked about, in the words of the question."""
    named = " ".join(one.text for one in request.asked if one.weight >= _NAMES_SOMETHING)
    return one_line(named or request.core, 120)


def _evidence(request: Request, subject: str, readings: Sequence[Reading], likely: float) -> tuple[Evidence, Evidence]:
    """What the search found, and what the best passage said when it was read."""
    best = readings[0] if readings else None
    search, search_note = _search_quality(best, likely)
    content, content_note = _content_quality(best, request.wanted)
    places = tuple(_place(one) for one in readings[:_PASSAGES])
    exact = sum(_answers(one, best) for one in readings) if best and search is Quality.STRONG else 0
    return (
        Evidence(
            EvidenceClass.FILE_SEARCH, "sections", one_line(request.core), subject, search,
            strength_of(len(readings)), places, len(readings), exact, note=search_note,
        ),
        Evidence(
            EvidenceClass.FILE_CONTENT, "read", subject, subject, content,
            strength_of(len(places[:1])), places[:1], len(places[:1]), int(content.reaches(Quality.MODERATE)),
            note=content_note,
        ),
    )  # fmt: skip


def _place(reading: Reading) -> Place:
    return Place(reading.shelved.section.path, reading.said.block.line, (reading.shelved.section.headings or ("",))[-1])


def _sources(readings: Sequence[Reading]) -> tuple[Found, ...]:
    found: dict[str, Found] = {}
    for one in readings[:_PASSAGES]:
        path = one.shelved.section.path
        found.setdefault(path, Found(path, one.said.block.line, f"sections: {one.shelved.section.heading or path}"))
    return tuple(found.values())


def _passage(reading: Reading) -> Passage:
    """The section, or of a long one the block with what introduces it."""
    section, block = reading.shelved.section, reading.said.block
    whole = "\n".join(one.text for one in section.blocks)
    if len(whole) <= _LONGEST_PASSAGE:
        return Passage(section.path, section.line, section.end_line, section.heading, whole)
    text = f"{block.lead}\n{block.text}".strip()[:_LONGEST_PASSAGE]
    return Passage(section.path, block.line, block.end_line, section.heading, text)


def _missing(terms: list[Term], best: Reading | None, shelf: Shelf) -> tuple[str, ...]:
    """What names the missing knowledge: names first, then what the folder has nowhere, then what the passage lacks."""
    unmet = {term.asked.text for term in terms} if best is None else {*best.unmet, *best.names_missing}
    lacking = [term for term in terms if term.asked.text in unmet]
    lacking = [term for term in lacking if term.asked.weight >= _NAMES_KNOWLEDGE] or lacking
    lacking.sort(
        key=lambda term: (
            not term.asked.is_name,
            any(shelf.mentions[one] for one in term.asked.roots or term.asked.chinese),
            -term.weight,
        )
    )
    return tuple(dict.fromkeys(term.asked.text for term in lacking))


def _telling(request: Request) -> tuple[str, ...]:
    """Where every word is met and the knowledge is not there: what the question is about, most telling first."""
    telling = [one for one in request.asked if one.weight >= _NAMES_KNOWLEDGE] or list(request.asked)
    return tuple(dict.fromkeys(one.text for one in sorted(telling, key=lambda one: -one.weight)))


def _trail(subject: str, evidence: tuple[Evidence, Evidence], shelf: Shelf) -> tuple[str, ...]:
    search, content = evidence
    where = f"{counted(len(shelf), 'section')} of {counted(shelf.files, 'file')}"
    steps = [f"sections: {subject} in {where}: {search.quality}"]
    steps += [f"read: {place.path}:{place.line}: {content.quality}" for place in content.places]
    return tuple(steps)

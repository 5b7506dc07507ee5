"""`investigate`: a question and a root → an answer that rests on evidence, or what is missing for one."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

import msgspec

from knowbound.codebase.inventory import MOST_ENTRIES
from knowbound.codebase.symbols import Symbols, symbols_of
from knowbound.config import Settings
from knowbound.core.evidence import (
    INSUFFICIENT,
    PER_TERM,
    SUCCESS,
    CitedSource,
    Evidence,
    EvidenceClass,
    EvidenceGap,
    Intent,
    Investigation,
    Quality,
    Requirement,
    chat,
    derive_confidence,
    gaps_of,
)
from knowbound.core.paths import IGNORED_IN_SOURCES, SOURCE_RANK_WORDS, source_rank
from knowbound.errors import InputError, StoreError
from knowbound.evidence.nearest import nearest
from knowbound.evidence.planner import Collected, collect
from knowbound.evidence.producers.protocol import CallLimits, Context, Producer
from knowbound.evidence.producers.registry import default_producers
from knowbound.evidence.question.parsing import parse
from knowbound.evidence.question.pipeline import with_definition
from knowbound.evidence.question.terms import ParsedQuestion
from knowbound.evidence.state_answer import with_answer
from knowbound.files import Walk, links_not_followed
from knowbound.store.observed import Observed
from knowbound.text.clock import utc_now
from knowbound.text.digest import digest_of
from knowbound.text.intent import AskedQuestion, read_question
from knowbound.text.redact import excerpt
from knowbound.text.redact_values import redact_value

_SECONDS, _CALLS = 60.0, 40
_SOURCES = 20
_LONGEST_QUESTION = 4000


def investigate(
    question: str,
    root: Path | str,
    *,
    allow_run: bool = False,
    seconds: float = _SECONDS,
    calls: int = _CALLS,
    producers: Sequence[Producer] | None = None,
) -> Investigation:
    """Answer a question about a project or a knowledge base from evidence, or say what is missing."""
    folder = Path(os.path.realpath(root))
    if not folder.is_dir():
        raise InputError("no-such-path", f"{root} is not a folder. Try: knowbound investigate --root DIR QUESTION")
    asked = read_question(excerpt(question, _LONGEST_QUESTION))
    if asked.intent is Intent.CHAT:
        return chat(asked.text)
    parsed = with_definition(parse(asked), asked, folder)
    limits = CallLimits(run_seconds=max(CallLimits().run_seconds, seconds)) if allow_run else CallLimits()
    context = Context(
        folder, allow_run, time.monotonic() + (max(seconds, limits.run_seconds) if allow_run else seconds), limits
    )
    symbols = symbols_of(folder, context.seconds_left)
    requirements = requirements_of(asked.needs, symbols)
    collected = collect(parsed, requirements, default_producers() if producers is None else producers, context, calls)
    found = with_answer(asked, _concluded(parsed, requirements, collected, symbols))
    if symbols.is_knowledge and found.outcome == INSUFFICIENT and about_files(requirements):
        found = _from_documents(asked, found, symbols)
    if found.outcome == INSUFFICIENT:
        found = msgspec.structs.replace(found, notes=(*found.notes, *_links_out(folder)))
    return _without_secrets(found)


def _without_secrets(found: Investigation) -> Investigation:
    """Files are quoted and named in an answer, and it is stored and shown."""
    given = msgspec.to_builtins(found)
    redacted = redact_value(given)
    return found if redacted == given else msgspec.convert(redacted, Investigation)


def _links_out(root: Path) -> tuple[str, ...]:
    """What was not searched, because it is not in the root: the answer may be there."""
    walk = Walk(root, ignored=IGNORED_IN_SOURCES)
    deque(islice(walk, MOST_ENTRIES), maxlen=0)
    return (f"{links_not_followed(walk.outside, root)}.",) if walk.outside else ()


def investigate_and_keep(
    question: str, settings: Settings, *, allow_run: bool = False, seconds: float = 60.0, keep: bool = True
) -> Investigation:
    """Answer a question about the root from evidence, and keep the answer for `report`."""
    found = investigate(question, settings.root, allow_run=allow_run, seconds=seconds)
    if keep:
        made = utc_now()
        with suppress(StoreError):  # an answer is an answer, also where nothing can be kept
            Observed(settings.home).keep_run(
                "investigation", made, digest_of([question, str(settings.root)]), [], found
            )
    return found


def newest_investigation(settings: Settings) -> Investigation | None:
    """The investigation that was stored last, where it is the newest run."""
    store = Observed(settings.home)
    kept = store.run("investigation", Investigation) if store.newest_kind() == "investigation" else None
    return kept[0] if kept else None


def _from_documents(asked: AskedQuestion, found: Investigation, symbols: Symbols) -> Investigation:
    """In a folder of documents their sections decide, where the question's words do not occur as they are."""
    from knowbound.documents.library import Library  # noqa: PLC0415 - only here, and most questions are about code

    answered = Library.of(symbols.root, symbols.files).answer(asked).investigation
    if answered.outcome != SUCCESS:
        return found
    notes = ("The terms of the question do not occur as they are; a section about them decided.",)
    return msgspec.structs.replace(answered, notes=notes, trail=(*found.trail, *answered.trail))


def requirements_of(needs: tuple[Requirement, ...], symbols: Symbols) -> tuple[Requirement, ...]:
    """What the question needs; a folder of knowledge is no kind of project, and otherwise needs the same."""
    if symbols.is_knowledge:
        return tuple(requirement for requirement in needs if requirement.cls is not EvidenceClass.DISCOVERY)
    return needs


def about_files(requirements: Sequence[Requirement]) -> bool:
    """Whether files alone can answer: no section of a document says whether the tests pass."""
    return all(requirement.cls in PER_TERM for requirement in requirements)


def _concluded(
    question: ParsedQuestion, requirements: Sequence[Requirement], collected: Collected, symbols: Symbols
) -> Investigation:
    targets = [term.text for term in question.terms]
    gaps = tuple(_explained(gap, collected.entries) for gap in gaps_of(requirements, targets, collected.entries))
    confidence, explanation = derive_confidence(requirements, targets, collected.entries)
    unmet = dict.fromkeys(gap.target for gap in gaps if gap.target)
    near = {term.text: nearest(term, symbols) for term in question.terms if term.text in unmet} if gaps else {}
    if gaps:
        of_files = any(gap.cls in PER_TERM for gap in gaps)
        reasons = [f"{gap.cls}: {gap.reason}." for gap in gaps if gap.reason and gap.cls not in PER_TERM]
        explanation = " ".join([*(_missing(question, unmet, near) if of_files else ()), *reasons, explanation])
    notes = [entry.note for entry in collected.entries if entry.read_as]
    if symbols.limited:
        notes.append(symbols.limited)
    if collected.stopped:
        notes.append(f"Collecting stopped because {collected.stopped}.")
    return Investigation(
        question=question.text,
        intent=question.intent,
        outcome=INSUFFICIENT if gaps else SUCCESS,
        confidence=confidence,
        explanation=explanation,
        terms=tuple(targets),
        evidence=tuple(collected.entries),
        gaps=gaps,
        sources=() if gaps else _sources(question, collected.entries),
        nearest=tuple(dict.fromkeys(name for names in near.values() for name in names)),
        notes=tuple(dict.fromkeys(notes)),
        trail=tuple(collected.trail),
    )


def _explained(gap: EvidenceGap, entries: Sequence[Evidence]) -> EvidenceGap:
    """The gap with the reason that the best try gave."""
    tried = [
        entry
        for entry in entries
        if entry.cls is gap.cls and entry.quality is gap.have and (not gap.target or entry.target == gap.target)
    ]
    reason = gap.reason or next((entry.note for entry in reversed(tried) if entry.note), "")
    return EvidenceGap(gap.cls, gap.have, gap.need, gap.target, reason)


def _missing(question: ParsedQuestion, unmet: dict[str, None], near: dict[str, list[str]]) -> list[str]:
    """ "No `evidence gating`; nearest: …" for each term without enough evidence."""
    if not question.terms and not unmet:
        return ["The question names nothing that could be looked for."]
    said = []
    for target in unmet:
        close = near.get(target, [])
        said.append(f"No {target!r} with enough evidence" + (f"; nearest: {', '.join(close)}." if close else "."))
    return said


def _sources(question: ParsedQuestion, entries: Sequence[Evidence]) -> tuple[CitedSource, ...]:
    """The files of the answer: those that the most terms share first, then in the order of the searches."""
    best: dict[str, CitedSource] = {}
    ranks: dict[str, list[int]] = {}
    for term in question.terms:
        places = [
            (place, entry)
            for entry in entries
            if entry.cls is EvidenceClass.FILE_SEARCH and entry.target == term.text and entry.quality is Quality.STRONG
            for place in entry.places
        ]
        first = {place.path: (place, entry) for place, entry in reversed(places)}
        for rank, path in enumerate(dict.fromkeys(place.path for place, _ in places)):
            place, entry = first[path]
            ranks.setdefault(path, []).append(rank)
            best.setdefault(path, CitedSource(path, place.line, _why(entry, path, term.text)))
    if not best:
        for entry in entries:
            for place in entry.places:
                ranks.setdefault(place.path, [len(ranks)])
                best.setdefault(place.path, CitedSource(place.path, place.line, _why(entry, place.path)))
    order = sorted(best, key=lambda path: (-len(ranks[path]), min(ranks[path]), sum(ranks[path])))
    return tuple(best[path] for path in order[:_SOURCES])


def _why(entry: Evidence, path: str, target: str = "") -> str:
    """Who found it, how, and what kind of file it is where that lowers its rank."""
    mark = SOURCE_RANK_WORDS[source_rank(path)] if target else ""
    return f"{entry.tool}: {target + ', ' if target else ''}{entry.note}" + (f" ({mark})" if mark else "")

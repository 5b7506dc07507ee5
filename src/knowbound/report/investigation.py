"""An investigation in any format: the answer with its sources, or what is missing (specification 3)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

from knowbound.core.evidence import SUCCESS, CitedSource, Evidence, EvidenceGap, Intent, Investigation
from knowbound.errors import InputError
from knowbound.report.format_names import LINE_FORMATS, LineFormat, PageFormat
from knowbound.report.formats import render
from knowbound.report.formats.json import fields, json_line
from knowbound.report.sections import Column, Entry, Line, Listing, Note, Page, Row, Section, Table, data, prose
from knowbound.report.words import place_words

Format = PageFormat | LineFormat
_EVIDENCE_KEYS = (
    "quality strength tool query target sources match_count exact_match_count phrase_match shows note cites"  # in JSON
)
_EVIDENCE = tuple(map(Column, ("", "class", "quality", "strength", "tool", "for", "found", "note")))


def render_investigation(
    found: Investigation, format: Format, *, width: int = 100, colour: bool = False, trail: bool = False, id_: str = ""
) -> str:
    """The investigation in a format. `id_` is the question's own id, where it came from a file of many."""
    if format not in LINE_FORMATS:
        raise InputError("format-unfit", f"An investigation is no test: it has no {format} form. Try: --format json")
    if format == "jsonl":
        return json_line(_document(found, trail, id_)) + "\n"
    page, document = (lambda: _page(found, trail)), (lambda: _document(found, trail, id_))
    return render(format, page, document, width=width, colour=colour)


def _page(found: Investigation, trail: bool) -> Page:
    outcome = _outcome_words(found)
    about = f"intent {found.intent}, confidence {found.confidence}"
    return Page(
        verb="investigate",
        title=found.question,
        lead=f"{outcome}: {about}",
        totals=f"{outcome} · {about}",
        origin=(),
        sections=(
            Section("", tuple(Note(text) for text in _said(found) if text)),
            _listed("Probable, not verified", map(_source, [found.probable] if found.probable else ())),
            _listed("Sources", map(_source, found.sources)),
            _listed("Missing", map(_missing, found.gaps)),
            _listed(
                "Nearest to what was asked",
                ((data(place_words(one.path, one.line)), " ", data(one.text)) for one in found.nearest),
            ),
            Section(
                "Evidence", (Table(_EVIDENCE, tuple(map(_evidence_row, found.evidence, count())), 50),), "evidence"
            ),
            _listed("Trail", map(data, found.trail if trail else ()), 1000),
        ),
    )


def _outcome_words(found: Investigation) -> str:
    if found.intent is Intent.CHAT:
        return "Chat"
    return "Found" if found.outcome == SUCCESS else "Insufficient evidence"


def _listed(title: str, lines: Iterable[Line], shown: int = 10) -> Section:
    return Section(
        title, (Listing(tuple(map(Entry, lines)), shown, "--format json"),), title.split(maxsplit=1)[0].lower()
    )


def _said(found: Investigation) -> list[Line]:
    """The answer itself first, then why it is enough."""
    return [_answer(found), *map(prose, (found.explanation, *found.notes))]


def _answer(found: Investigation) -> Line:
    if found.answer is None:
        return ""
    place = place_words(found.answer.path, found.answer.line) if found.answer.path else ""
    return (data(found.answer.text), *(("  (", data(place), ")") if place else ()))


def _source(one: CitedSource) -> Line:
    quoted = ("  ", data(one.text)) if one.text else ()
    return (data(place_words(one.path, one.line)), *quoted, "  (", prose(one.why), ")")


def _missing(gap: EvidenceGap) -> Line:
    about = (" for ", data(gap.target)) if gap.target else ()
    reason = (": ", prose(gap.reason)) if gap.reason else ()
    return (str(gap.cls), *about, f": have {gap.have}, need {gap.need}", *reason)


def _evidence_row(entry: Evidence, number: int) -> Row:
    note = entry.note + (f" (entries {', '.join(map(str, entry.cites))})" if entry.cites else "")
    graded = (str(entry.cls), str(entry.quality), str(entry.strength), entry.tool)
    return Row((str(number), *graded, data(entry.target), f"{entry.match_count:,}", prose(note)))


def _document(found: Investigation, trail: bool, id_: str) -> dict[str, object]:
    """`knowbound.investigation/1` of docs/json.md: its keys first, then what is added to them."""
    document: dict[str, object] = {"id": id_} if id_ else {}
    document |= {
        "format": "knowbound.investigation/1",
        **fields(found, "question intent outcome confidence explanation"),
        "evidence": [{"class": entry.cls, **fields(entry, _EVIDENCE_KEYS)} for entry in found.evidence],
        "gaps": [{"class": gap.cls, **fields(gap, "have need target reason")} for gap in found.gaps],
        "sources": [fields(source, "path line text why") for source in found.sources],
        "answer": fields(found.answer, "text path line") if found.answer is not None else None,
        "nearest": [fields(place, "path line text") for place in found.nearest],
        "probable": fields(found.probable, "path line text why") if found.probable is not None else None,
        **fields(found, "by terms notes"),
    }
    if trail:
        document["trail"] = list(found.trail)
    return document

"""An investigation in any format: the answer with its sources, or what is missing (specification 3)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Unpack

from knowbound.core.evidence import SUCCESS, CitedSource, Evidence, EvidenceGap, Intent, Investigation
from knowbound.errors import InputError
from knowbound.report import GAP_FORMATS, Layout, LineFormat, PageFormat
from knowbound.report.formats import render
from knowbound.report.formats.json import fields, json_line
from knowbound.report.lines import Line, data, prose
from knowbound.report.sections import Note, Page, Section, listing, section, table
from knowbound.report.words import place_words

Format = PageFormat | LineFormat
_KEYS = """question intent outcome confidence explanation
    evidence(class=cls quality strength tool query target sources match_count exact_match_count phrase_match shows note
        cites)
    gaps(class=cls have need target reason) sources(path line text why) answer(text path line)
    nearest(path line text) probable(path line text why) by terms notes"""


def render_investigation(
    found: Investigation, format: Format, *, trail: bool = False, id_: str = "", **layout: Unpack[Layout]
) -> str:
    """The investigation in a format. `id_` is the question's own id, where it came from a file of many."""
    if str(format) in GAP_FORMATS:
        raise InputError("format-unfit", f"An investigation is no test: it has no {format} form. Try: --format json")
    if format == "jsonl":
        return json_line(_document(found, trail, id_)) + "\n"
    page, document = (lambda: investigation_page(found, trail)), (lambda: _document(found, trail, id_))
    return render(format, page, document, **layout)


def investigation_page(found: Investigation, trail: bool) -> Page:
    """Return an investigation as a page; `trail` adds each step."""
    outcome = "Found" if found.outcome == SUCCESS else "Insufficient evidence"
    outcome = "Chat" if found.intent is Intent.CHAT else outcome
    graded = f"intent {found.intent}, confidence {found.confidence}"
    nearest = ((data(place_words(passage.path, passage.line)), " ", data(passage.text)) for passage in found.nearest)
    evidence = table("|class|quality|strength|tool|for|found|note", map(_evidence_row, found.evidence, count()), 50)
    # The answer itself first, then why it is enough.
    paragraphs = (_answer(found), *map(prose, (found.explanation, *found.notes)))
    return Page(
        verb="investigate",
        title=found.question,
        lead=f"{outcome}: {graded}",
        totals=f"{outcome} · {graded}",
        sections=(
            section("", "", *(Note(text) for text in paragraphs if text)),
            _listed("Probable, not verified", map(_source, [found.probable] if found.probable else ())),
            _listed("Sources", map(_source, found.sources)),
            _listed("Missing", map(_missing, found.gaps)),
            _listed("Nearest to what was asked", nearest),
            section("Evidence", "evidence", evidence),
            _listed("Trail", map(data, found.trail if trail else ()), 1000),
        ),
    )


def _listed(title: str, lines: Iterable[Line], shown: int = 10) -> Section:
    return section(title, title.split(maxsplit=1)[0].lower(), listing(lines, shown, "--format json"))


def _answer(found: Investigation) -> Line:
    if found.answer is None:
        return ""
    place = place_words(found.answer.path, found.answer.line) if found.answer.path else ""
    return (data(found.answer.text), *(("  (", data(place), ")") if place else ()))


def _source(source: CitedSource) -> Line:
    quoted = ("  ", data(source.text)) if source.text else ()
    return (data(place_words(source.path, source.line)), *quoted, "  (", prose(source.why), ")")


def _missing(gap: EvidenceGap) -> Line:
    target = (" for ", data(gap.target)) if gap.target else ()
    reason = (": ", prose(gap.reason)) if gap.reason else ()
    return (str(gap.cls), *target, f": have {gap.have}, need {gap.need}", *reason)


def _evidence_row(entry: Evidence, number: int) -> tuple[Line, ...]:
    note = entry.note + (f" (entries {', '.join(map(str, entry.cites))})" if entry.cites else "")
    graded = (str(entry.cls), str(entry.quality), str(entry.strength), entry.tool)
    return str(number), *graded, data(entry.target), f"{entry.match_count:,}", prose(note)


def _document(found: Investigation, trail: bool, id_: str) -> dict[str, object]:
    values = fields(found, f"{_KEYS} trail" if trail else _KEYS)
    return {**({"id": id_} if id_ else {}), "format": "knowbound.investigation/1", **values}

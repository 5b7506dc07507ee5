"""One item in full, in any format: its numbers by day, its last injections, its records and its corrections."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from knowbound.core.quality import Closing, Discovery, ItemVerdict, Metric
from knowbound.report.format_names import PageFormat
from knowbound.report.formats import render
from knowbound.report.judge_gate import METRIC_NAMES
from knowbound.report.quality.json import item_document
from knowbound.report.quality.model import CorrectionMade, ItemDay, ItemInjection, ItemQuality
from knowbound.report.sections import (
    Column,
    Entry,
    Facts,
    Line,
    Listing,
    Note,
    Page,
    Row,
    Section,
    Span,
    Table,
    Tone,
    data,
    joined,
    prose,
    soft,
)
from knowbound.report.words import without_uuids
from knowbound.text.printable import counted

_DAYS_SHOWN = 14


def render_item(page: ItemQuality, format: PageFormat, *, width: int = 100, colour: bool = False) -> str:
    """The item in a format; width and colour are for the terminal."""
    return render(format, lambda: _page(page), lambda: item_document(page), width=width, colour=colour)


def _page(page: ItemQuality) -> Page:
    return Page(
        verb="quality status",
        title=f"Item {page.id}",
        lead="What agents made of it.",
        totals=("item ", data(page.id), f": {_verdict(page)}"),
        origin=(),
        sections=tuple(item_sections(page, is_whole=True)),
        version=page.version,
    )


def anchor_of(id_: str) -> str:
    """The anchor of an item's section; an id may have any character."""
    return f"item-{hashlib.sha256(id_.encode('utf-8', 'replace')).hexdigest()[:12]}"


def turn_words(session: str, turn: str, *, is_short: bool = False) -> tuple[Line, ...]:
    """The way back to a turn; nothing where it was forgotten."""
    named = (("session", session), ("turn", turn))
    return tuple((f"{name} ", data(without_uuids(id_) if is_short else id_)) for name, id_ in named if id_)


def _verdict(page: ItemQuality) -> str:
    counts = page.counts
    if not counts.judged:
        return "never injected, or not judged yet"
    parts = (f"{counts.on_topic:,} on topic", f"{counts.used:,} used", f"{counts.contradicted:,} contradicted")
    return f"judged {counted(counts.judged, 'time')}: {', '.join(parts)}"


def item_sections(page: ItemQuality, *, is_whole: bool) -> Iterator[Section]:
    """The sections of its page; in the page of the status one section with everything."""
    facts = Facts(tuple(_facts(page)))
    days = Table(
        (Column("day"), Column("judged", right=True), *(Column(name, right=True) for name in METRIC_NAMES.values())),
        tuple(map(_day, reversed(page.days if is_whole else page.days[-_DAYS_SHOWN:]))),
        _DAYS_SHOWN,
    )
    injections = Listing(tuple(map(_injection, page.injections)), 10)
    records = Listing(tuple(map(_record, page.records)), 10)
    corrections = Listing(tuple(map(_correction, page.corrections)), 10)
    if not is_whole:
        yield Section(
            f"Item {page.id}",
            (Note(Span(page.content, Tone.QUOTE)), facts, days, injections, records),
            anchor_of(page.id),
        )
        return
    yield Section("", (Note(Span(page.content, Tone.QUOTE)), facts))
    yield Section("Contradictions", (records,), "records")
    yield Section("Corrections", (corrections,), "corrections")
    yield Section("Last injections", (injections,), "injections")
    yield Section("By day", (days,), "days")


def _facts(page: ItemQuality) -> Iterator[tuple[str, Line]]:
    yield "State", joined(("served" if page.is_served else "not served", page.flag))
    if page.tokens:
        yield "Cost", f"about {page.tokens:,} tokens injected"
    if page.saving:
        one = page.saving
        sides = ((one.calls_before, one.turns_before), (one.calls_after, one.turns_after))
        said = [
            f"{calls / turns:.2f} a turn ({calls:,} in {turns:,})" if turns else "unknown" for calls, turns in sides
        ]
        yield "Saving", f"calls with its words: {said[0]} before it was injected, {said[1]} after; not causal"
    if page.fault:
        yield "Fault", page.fault.fault
        yield "Next", joined(map(data, page.fault.commands), " or ")


def _day(day: ItemDay) -> Row:
    counts = day.counts
    return Row((day.date, f"{counts.judged:,}", *(f"{counts.of(metric):,}" for metric in METRIC_NAMES)))


def _injection(one: ItemInjection) -> Entry:
    where = joined((one.time[:16].replace("T", " "), *turn_words(one.session, one.turn)))
    changed = () if one.is_present else (" ", soft("its content was another then"))
    return Entry((Span(one.prompt, Tone.QUOTE), *changed), tuple(_verdict_lines(one)), place=where)


def _verdict_lines(one: ItemInjection) -> Iterator[Line]:
    if one.verdict is None:
        yield "not judged"
        return
    yield joined((joined(_answers(one.verdict), ", "), prose(one.verdict.reason)), ": ")
    if one.verdict.correction:
        yield "the agent: ", Span(one.verdict.correction, Tone.QUOTE)


def _answers(verdict: ItemVerdict) -> Iterator[Line]:
    for metric, name in METRIC_NAMES.items():
        is_wrong = metric is Metric.CONTRADICTED and verdict.contradicted
        yield Span(name, Tone.BAD) if is_wrong else name if verdict.says(metric) else f"not {name}"


def _record(one: Discovery) -> Entry:
    ends = {
        Closing.OPEN: "open",
        Closing.RESOLVED: f"corrected {one.closed[:10]} by {one.closed_by}",
        Closing.NOT_WARRANTED: f"dismissed {one.closed[:10]}",
    }
    head = f"{one.raised[:10]}: contradicted {counted(one.contradictions, 'time')}; {ends[one.closing]}"
    lines: tuple[Line, ...] = (("the agent: ", Span(one.statement, Tone.QUOTE)),) if one.statement else ()
    return Entry(head, lines, place=joined(turn_words(one.session_id, one.turn_id)))


def _correction(one: CorrectionMade) -> Entry:
    return Entry((f"{one.time[:16].replace('T', ' ')}  ", data(one.tool), " by ", data(one.by)))

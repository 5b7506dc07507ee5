"""One item in full, in any format: its numbers by day, its last injections, its records and its corrections."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from knowbound.core.quality import Closing, Discovery, Metric
from knowbound.report.format_names import PageFormat
from knowbound.report.formats import render
from knowbound.report.formats.json import document
from knowbound.report.judging.judge_gate import METRIC_NAMES
from knowbound.report.quality.model import ItemInjection, ItemQuality
from knowbound.report.sections import Entry, Line, Note, Page, Section, Span, Tone
from knowbound.report.words import without_uuids
from knowbound.report.writing import data, facts, joined, listing, prose, quote, section, soft, table
from knowbound.text.printable import counted

_DAYS_SHOWN = 14
COUNTS = "judged on_topic used contradicted unjudged"
ITEM_TO_FIX = f"""id content fault counts({COUNTS}) times session turn time statement? draft? is_silenced flag?
    commands"""
_VERDICT = "verdict(on_topic used contradicted correction? reason? judge)"
_ITEM = f"""id content content_length is_served flag? counts({COUNTS})
    days(date judged=counts.judged on_topic=counts.on_topic used=counts.used contradicted=counts.contradicted
        unjudged=counts.unjudged)
    injections(time session turn prompt is_present {_VERDICT})
    records(raised session_id turn_id statement contradictions closing? closed? closed_by?)
    corrections fault({ITEM_TO_FIX}) tokens saving"""


def render_item(page: ItemQuality, format: PageFormat, *, width: int = 100, colour: bool = False) -> str:
    """The item in a format; width and colour are for the terminal."""
    keys = lambda: document("knowbound.quality_item/1", page, _ITEM)  # noqa: E731
    return render(format, lambda: _page(page), keys, width=width, colour=colour)


def _page(page: ItemQuality) -> Page:
    counts, verdict = page.counts, "never injected, or not judged yet"
    if counts.judged:
        parts = (f"{counts.on_topic:,} on topic", f"{counts.used:,} used", f"{counts.contradicted:,} contradicted")
        verdict = f"judged {counted(counts.judged, 'time')}: {', '.join(parts)}"
    totals: Line = ("item ", data(page.id), f": {verdict}")
    sections = tuple(item_sections(page, is_whole=True))
    return Page("quality status", f"Item {page.id}", "What agents made of it.", totals, (), sections, (), page.version)


def anchor_of(id_: str) -> str:
    """The anchor of an item's section; an id may have any character."""
    return f"item-{hashlib.sha256(id_.encode('utf-8', 'replace')).hexdigest()[:12]}"


def turn_words(session: str, turn: str, *, is_short: bool = False) -> tuple[Line, ...]:
    """The way back to a turn; nothing where it was forgotten."""
    named = (("session", session), ("turn", turn))
    return tuple((f"{name} ", data(without_uuids(id_) if is_short else id_)) for name, id_ in named if id_)


def item_sections(page: ItemQuality, *, is_whole: bool) -> Iterator[Section]:
    """The sections of its page; in the page of the status one section with everything."""
    known = facts(_facts(page))
    columns = " | ".join(("day", "judged>", *(f"{name}>" for name in METRIC_NAMES.values())))
    shown = reversed(page.days if is_whole else page.days[-_DAYS_SHOWN:])
    cells = (
        (day.date, f"{day.counts.judged:,}", *(f"{day.counts.of(one):,}" for one in METRIC_NAMES)) for day in shown
    )
    days = table(columns, cells, _DAYS_SHOWN)
    said = Note(quote(page.content))
    injections = listing(map(_injection, page.injections))
    records = listing(map(_record, page.records))
    if not is_whole:
        yield section(f"Item {page.id}", anchor_of(page.id), said, known, days, injections, records)
        return
    made = (Entry((f"{_minute(one.time)}  ", data(one.tool), " by ", data(one.by))) for one in page.corrections)
    yield section("", "", said, known)
    yield section("Contradictions", "records", records)
    yield section("Corrections", "corrections", listing(made))
    yield section("Last injections", "injections", injections)
    yield section("By day", "days", days)


def _facts(page: ItemQuality) -> Iterator[tuple[str, Line]]:
    yield "State", joined(("served" if page.is_served else "not served", page.flag))
    if page.tokens:
        yield "Cost", f"about {page.tokens:,} tokens injected"
    if one := page.saving:
        sides = ((one.calls_before, one.turns_before), (one.calls_after, one.turns_after))
        said = [
            f"{calls / turns:.2f} a turn ({calls:,} in {turns:,})" if turns else "unknown" for calls, turns in sides
        ]
        yield "Saving", f"calls with its words: {said[0]} before it was injected, {said[1]} after; not causal"
    if page.fault:
        yield "Fault", page.fault.fault
        yield "Next", joined(map(data, page.fault.commands), " or ")


def _minute(time: str) -> str:
    return time[:16].replace("T", " ")


def _injection(one: ItemInjection) -> Entry:
    where = joined((_minute(one.time), *turn_words(one.session, one.turn)))
    changed = () if one.is_present else (" ", soft("its content was another then"))
    lines: tuple[Line, ...] = ("not judged",)
    if verdict := one.verdict:
        answers: list[Line] = []
        for metric, name in METRIC_NAMES.items():
            is_wrong = metric is Metric.CONTRADICTED and verdict.contradicted
            answers.append(Span(name, Tone.BAD) if is_wrong else name if verdict.says(metric) else f"not {name}")
        lines = (joined((joined(answers, ", "), prose(verdict.reason)), ": "),)
        lines += (("the agent: ", quote(verdict.correction)),) if verdict.correction else ()
    return Entry((quote(one.prompt), *changed), lines, where)


def _record(one: Discovery) -> Entry:
    ends = {
        Closing.OPEN: "open",
        Closing.RESOLVED: f"corrected {one.closed[:10]} by {one.closed_by}",
        Closing.NOT_WARRANTED: f"dismissed {one.closed[:10]}",
    }
    head = f"{one.raised[:10]}: contradicted {counted(one.contradictions, 'time')}; {ends[one.closing]}"
    lines: tuple[Line, ...] = (("the agent: ", quote(one.statement)),) if one.statement else ()
    return Entry(head, lines, joined(turn_words(one.session_id, one.turn_id)))

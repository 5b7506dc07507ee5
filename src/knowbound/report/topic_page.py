"""One topic in full, in any format: what it cost, how it ended, and every signal of it with its file and line."""

from __future__ import annotations

from collections.abc import Iterator

from knowbound.core.signal import Signal
from knowbound.language import say
from knowbound.report.format_names import PageFormat
from knowbound.report.formats import render
from knowbound.report.formats.json import as_json, signal_fields
from knowbound.report.gap_sections import kind_words
from knowbound.report.model import TopicReport, TopicSignal
from knowbound.report.sections import (
    Entry,
    Facts,
    Line,
    Listing,
    Note,
    Page,
    Section,
    Span,
    Tone,
    data,
    inlines,
    joined,
    prose,
)
from knowbound.report.topics import answer_words, cost_words, endings_words, spent_words, unique_files
from knowbound.report.words import SEARCHES, place_words, search_words, verdict_words
from knowbound.text.printable import counted


def render_topic(report: TopicReport, format: PageFormat, *, width: int = 100, colour: bool = False) -> str:
    """The topic in a format; width and colour are for the terminal."""
    return render(format, lambda: _page(report), lambda: _document(report), width=width, colour=colour)


def _page(report: TopicReport) -> Page:
    topic = report.topic
    facts: list[tuple[str, Line]] = [("Cost", cost_words(topic)), ("Ended", endings_words(topic))]
    facts += [("Agent", Span(topic.said, Tone.QUOTE))] if topic.said and topic.said != topic.title else []
    facts += [("User", Span(topic.correction, Tone.QUOTE))] if topic.correction else []
    facts += [("or" if at else "Answer", answer_words(one)) for at, one in enumerate(unique_files(topic.answer))]
    facts += [("Project", data(topic.project))] if topic.project else []
    facts += [("Last seen", topic.last[:10])] if topic.last else []
    entries = tuple(map(_entry, report.signals))
    return Page(
        verb="report",
        title=say("Topic {}", topic.id),
        lead="What was looked for, what it cost, how it ended, and where.",
        totals=say("topic {} · {}", topic.id, counted(len(entries), "signal")),
        origin=(joined((data(report.watermark.path), report.made)),),
        sections=(
            Section("Topic", (Note(Span(topic.title, Tone.TITLE)), Facts(tuple(facts))), "topic"),
            Section("Every signal of it", (Listing(entries, len(entries)),), "signals"),
        ),
        version=report.version,
    )


def _entry(one: TopicSignal) -> Entry:
    signal = one.signal
    label = joined((one.day, data(one.skill), say("turn {}", signal.turn)), ", ")
    ids = joined(map(data, filter(None, (*signal.call_ids, signal.message_id))), " ")
    return Entry(
        (*inlines(label), " / ", *kind_words(signal)),
        tuple(_lines(signal)),
        data(place_words(signal.file, signal.line)),
        ids,
    )


def _lines(signal: Signal) -> Iterator[Line]:
    """The words of the call, the agent and the user; where it was found, and what that cost."""
    if signal.type in SEARCHES:
        yield data(search_words(signal))
        if signal.said:
            yield "the agent: ", Span(signal.said, Tone.QUOTE)
    else:
        yield "the agent: ", Span(signal.text, Tone.QUOTE)
    if signal.verdict:
        yield "judge: ", prose(verdict_words(signal))
    if signal.correction:
        yield "the user: ", Span(signal.correction, Tone.QUOTE)
    if signal.found_at:
        yield "found: ", data(place_words(signal.found_at.path, signal.found_at.line))
    if signal.cost and (spent := spent_words(signal.cost)):
        yield say("cost: {}", spent)


def _document(report: TopicReport) -> dict[str, object]:
    """`knowbound.topic/1` of docs/json.md."""
    return {
        "format": "knowbound.topic/1",
        "topic": as_json(report.topic),
        "signals": [{**signal_fields(one.signal), "skill": one.skill, "day": one.day} for one in report.signals],
        "test_set": report.watermark.sha256_8,
        "made": report.made,
        "version": report.version,
    }

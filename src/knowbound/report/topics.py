"""The sections of a report about topics: what to write down, best first, and the way back to the traces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from knowbound.core.signal import Ending
from knowbound.core.topic import WORTH, Answer, Topic
from knowbound.report.model import ObserveReport
from knowbound.report.sections import Entry, Fold, Line, Listing, Note, Section, Span, Tone, data, joined, soft, strong
from knowbound.report.words import counted, place_words

FIRST = 5  # topics that a report opens with
_TITLE = 100  # characters of a title that are shown
_ENDINGS = {
    Ending.FOUND: "found",
    Ending.CREATED: "then created",
    Ending.ASKED: "asked the user",
    Ending.GUESSED: "guessed",
    Ending.GAVE_UP: "gave up",
    Ending.WENT_ON: "went on without it",
}


def first_topics(report: ObserveReport) -> Section:
    """At most five topics of the project, those with something new since the last look first."""
    first = opening(report)
    listing = Listing(tuple(_entry(topic, number, report) for number, topic in enumerate(first, 1)), FIRST)
    notes = (Note(soft(_about(report, first))),) if first else (Note(_NOTHING),)
    return Section("What to write down", (*notes, *((listing,) if first else ())), "topics")


def other_topics(report: ObserveReport) -> Section:
    """The topics after the first five."""
    first = {topic.id for topic in opening(report)}
    rest = [topic for topic in report.topics if topic.id not in first]
    listing = Listing(tuple(_entry(topic, 0, report) for topic in rest), 10, "--format json")
    return Section("More topics", (listing,), "more-topics")


def opening(report: ObserveReport) -> list[Topic]:
    """The topics that a report opens with: this project's, new ones first, and none that cost nothing."""
    projects = {topic.project for topic in report.topics}
    worth = [topic for topic in report.topics if topic.saves >= WORTH]
    ranked = [topic for topic in worth if len(projects) == 1 or _is_here(topic, report)] or worth
    return sorted(ranked, key=lambda topic: not _is_new(topic, report))[:FIRST]


def _is_here(topic: Topic, report: ObserveReport) -> bool:
    return topic.project == report.topics[0].project


def _is_new(topic: Topic, report: ObserveReport) -> bool:
    return topic.last > report.last_look.removesuffix("Z")


_NOTHING = "Nothing cost these sessions a search that a line of knowledge would have spared."


def _about(report: ObserveReport, first: Sequence[Topic]) -> str:
    fresh = sum(_is_new(topic, report) for topic in first)
    since = f"; {fresh} with something new since {report.last_look[:10]}" if report.last_look else ""
    of = f"{len(first)} of {counted(len(report.topics), 'topic')}" if len(report.topics) > len(first) else "all topics"
    return f"{of}, by what they cost: sessions × searches{since}."


def _entry(topic: Topic, number: int, report: ObserveReport) -> Entry:
    projects = {one.project for one in report.topics}
    head: Line = (f"{number}. " if number else "", strong(shortened(topic.title)))
    named = data(topic.project) if len(projects) > 1 else ""
    lines: list[Line] = [joined((cost_words(topic), endings_words(topic), named))]
    if topic.said and topic.said != topic.title:
        lines.append(("the agent: ", Span(topic.said, Tone.QUOTE)))
    if topic.correction:
        lines.append(("the user: ", Span(topic.correction, Tone.QUOTE)))
    if topic.answer:
        lines.append(("answer: ", *_answer(topic.answer)))
    if topic.proposed is not None:
        lines.append(("write: ", data(topic.proposed.text), " in ", data(topic.proposed.file)))
    lines.append(soft(f"traces: knowbound report --topic {topic.id}"))
    places = tuple(place_words(one.file, one.line) for one in topic.examples)
    return Entry(head, tuple(lines), more=Fold("where it was seen", places), anchor=f"topic-{topic.id}")


def _answer(found: Iterable[Answer]) -> Iterable[Span | str]:
    for number, one in enumerate(found):
        yield ", " if number else ""
        yield data(place_words(one.path, one.line))
        yield f" ({counted(one.sessions, 'session')})" if one.sessions > 1 else ""


def shortened(title: str) -> str:
    """A title of one line."""
    title = " ".join(title.split())
    return title if len(title) <= _TITLE else title[: _TITLE - 2].rstrip() + " …"


def cost_words(topic: Topic) -> str:
    """What a topic cost: `3 sessions · 9 searches · 40 s`."""
    cost = topic.cost
    parts = [counted(topic.sessions, "session")]
    parts += [f"{cost.calls:,} {'search' if cost.calls == 1 else 'searches'}"] if cost.calls else []
    parts += [f"{cost.seconds:,.0f} s"] if cost.seconds and cost.seconds >= 1 else []
    parts += [f"{cost.tokens:,} tokens"] if cost.tokens else []
    return " · ".join(parts)


def endings_words(topic: Topic) -> str:
    """How its signals ended: `found`, `guessed 2, found 1`."""
    ended = [(_ENDINGS[Ending(name)], count) for name, count in topic.endings.items()]
    if len(ended) == 1:
        return ended[0][0] if ended[0][1] == 1 else f"{ended[0][0]} each time"
    return ", ".join(f"{words} {count}×" for words, count in ended)

"""Topics: what to write down, best first; and one topic in full, with every signal of it, its file and line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Unpack

from knowbound.core.paths import project_name
from knowbound.core.signal import WORTH, Cost, Ending, Signal, Topic, TopicAnswer
from knowbound.language import say, translated
from knowbound.report import Layout, PageFormat
from knowbound.report.figures import kind_words
from knowbound.report.formats import render
from knowbound.report.formats.json import fields, signal_fields
from knowbound.report.lines import Fold, Inline, Line, Span, Tone, data, inlines, joined, prose, quote, soft
from knowbound.report.model import ObserveReport, TopicReport, TopicSignal
from knowbound.report.sections import Entry, Note, Page, Part, Section, facts, listing, section, table
from knowbound.report.words import ENDING_NAMES, SEARCHES, place_words, search_words, verdict_words, without_uuids
from knowbound.stats.printing import duration, percent
from knowbound.text.printable import counted

FIRST = 5  # topics of a project that a report opens with
_PROJECTS = 3  # that a report over several opens with
_TITLE, _QUOTE = 100, 200  # characters that are shown
_ANSWERS = 2
_MARKS = re.compile(r"^\s*(?:[-*>#]+|\d+\.)\s+|\*\*")  # of a list, a heading or bold print
_TOO_SMALL = "Nothing yet: {}, and none cost so much that a line would pay. All of them: --format json"
_NOTHING = "Nothing cost these sessions a search that a line of knowledge would have spared."


def first_topics(report: ObserveReport, hint: str) -> Section:
    """Return at most five topics of the project, topics with news since the last look first."""
    first_by_project = opening(report)
    if not any(first_by_project.values()):
        words = say(_TOO_SMALL, counted(len(report.topics), "topic")) if report.topics else _NOTHING
        return section("What to write down", "topics", Note(words))
    shown = [topic for topics in first_by_project.values() for topic in topics]
    parts: list[Part] = [Note(soft(words)) for words in (_count_words(report, shown), hint) if words]
    for project, topics in first_by_project.items():
        if len(first_by_project) > 1:
            sessions = report.projects.get(project)
            parts.append(Note(joined((_project(project), counted(sessions, "session") if sessions else ""))))
        parts.append(listing((_topic_entry(topic, report) for topic in topics), FIRST))
    return section("What to write down", "topics", *parts)


def other_topics(report: ObserveReport) -> Section:
    """The topics after those that a report opens with."""
    first = {topic.id for topics in opening(report).values() for topic in topics}
    several = len(report.projects) > 1
    entries = (_topic_entry(topic, report, shows_project=several) for topic in report.topics if topic.id not in first)
    return section("More topics", "more-topics", listing(entries, hint="--format json"))


def by_project(report: ObserveReport) -> Section:
    """Sessions, topics and coverage of each project, where a report is about several."""
    if len(report.projects) < 2:
        return section("", "")
    topics, here = Counter(topic.project for topic in report.topics), project_name(report.root)
    coverage = {here: "unknown" if report.coverage.reason else percent(report.coverage.rate.value)}
    rows = (
        (data(name) or "unknown", f"{sessions:,}", f"{topics[name]:,}", coverage.get(name, "unknown"))
        for name, sessions in report.projects.items()
    )
    note = "Coverage is known only of the root. For another project: knowbound observe in it, or --root DIR."
    shown = table("project | sessions> | topics> | coverage", rows, 15)
    return section("By project", "projects", shown, Note(soft(note)))


def opening(report: ObserveReport) -> dict[str, list[Topic]]:
    """The topics that a report opens with, by project: five of each, new ones first, and none that cost nothing.

    Over several projects: that of the root, where it has sessions, and those with the most sessions.
    """
    here = project_name(report.root)
    projects = sorted(report.projects, key=lambda name: (name != here, -report.projects[name]))
    topics_of: dict[str, list[Topic]] = {
        name: [] for name in projects or dict.fromkeys(topic.project for topic in report.topics)
    }
    for topic in report.topics:
        if topic.saves >= WORTH:
            topics_of.setdefault(topic.project, []).append(topic)
    shown = [name for name, topics in topics_of.items() if topics][:_PROJECTS]
    return {name: sorted(topics_of[name], key=lambda topic: not is_new(topic, report))[:FIRST] for name in shown}


def is_new(topic: Topic, report: ObserveReport) -> bool:
    """Report whether a session since the last look met the topic."""
    return bool(report.last_look) and topic.last > report.last_look.removesuffix("Z")


def _count_words(report: ObserveReport, first: Sequence[Topic]) -> str:
    """Say how many topics are shown of all, and how many of them are new since the last look."""
    total = len(report.topics)
    fresh, day = sum(is_new(topic, report) for topic in first), report.last_look[:10]
    since = say("; {} of them new since {}", fresh or translated("none"), day) if day else ""
    if total > len(first):
        return say("{} of {}, by what writing them down would save{}.", len(first), counted(total, "topic"), since)
    return say("{}, by what writing them down would save{}.", counted(total, "topic"), since)


def _topic_entry(topic: Topic, report: ObserveReport, *, shows_project: bool = False) -> Entry:
    """Return a topic with its cost, its endings and its answers, and a link to its first gap."""
    new = Span("new", Tone.PILL) if is_new(topic, report) else ""
    head = joined((Span(shortened(topic.title, _TITLE), Tone.TITLE), soft(topic.id), new))
    places = tuple(place_words(example.file, example.line) for example in topic.examples)
    gap = next((number for number, signal in enumerate(report.inventory, 1) if signal.topic == topic.id), 0)
    link = Span("in the inventory", Tone.SOFT, f"gap-{gap}") if gap else ""
    cost = joined((cost_words(topic), endings_words(topic), _project(topic.project) if shows_project else ""))
    more = joined((Fold("where it was seen", places), link), " ")
    return Entry(head, (cost, *_topic_lines(topic)), more=more, anchor=f"topic-{topic.id}")


def _topic_lines(topic: Topic) -> Iterator[Line]:
    """Yield the agent's words, the user's correction, the best answers and the proposed line."""
    if topic.said and topic.said != topic.title:
        yield "the agent: ", quote(shortened(_MARKS.sub("", topic.said), _QUOTE))
    if topic.correction:
        yield "the user: ", quote(shortened(topic.correction, _QUOTE))
    # Answers that as many sessions found as the first.
    best = [answer for answer in topic.answer if answer.sessions == topic.answer[0].sessions]
    for number, answer in enumerate(unique_files(best)[:_ANSWERS]):
        yield "or: " if number else "answer: ", *answer_words(answer)
    if topic.proposed is not None:
        yield "write: ", data(topic.proposed.text), " in ", data(topic.proposed.file)


def unique_files(found: Sequence[TopicAnswer]) -> list[TopicAnswer]:
    """The places, the best one of each file."""
    return list({answer.path: answer for answer in reversed(found)}.values())[::-1]


def answer_words(answer: TopicAnswer) -> tuple[Inline, ...]:
    """A place, and in how many sessions it was found there."""
    sessions = f" ({counted(answer.sessions, 'session')})" if answer.sessions > 1 else ""
    return data(without_uuids(place_words(answer.path, answer.line))), sessions


def shortened(text: str, most: int) -> str:
    """A text of one line and at most so many characters."""
    text = without_uuids(" ".join(text.split()))
    return text if len(text) <= most else text[: most - 2].rstrip() + " …"


def _project(name: str) -> Line:
    return ("project ", Span(name, Tone.TITLE)) if name else "project unknown"


def cost_words(topic: Topic) -> str:
    """Return the cost of a topic: `3 sessions · 9 calls · 40 s`."""
    return " · ".join(filter(None, (counted(topic.sessions, "session"), _spent_words(topic.cost))))


def _spent_words(cost: Cost) -> str:
    parts = [counted(cost.calls, "call")] if cost.calls else []
    parts += [duration(cost.seconds)] if cost.seconds and cost.seconds >= 1 else []
    parts += [counted(cost.tokens, "token")] if cost.tokens else []
    return " · ".join(parts)


def endings_words(topic: Topic) -> str:
    """Return the endings of a topic's signals: `found`, `guessed 2×, found 1×`."""
    ended = [(translated(ENDING_NAMES[Ending(name)]), count) for name, count in topic.endings.items()]
    if len(ended) == 1:
        return ended[0][0] if ended[0][1] == 1 else say("{} each time", ended[0][0])
    return translated(", ").join(f"{words} {count}×" for words, count in ended)


# One topic


def render_topic(report: TopicReport, format: PageFormat, **layout: Unpack[Layout]) -> str:
    """The topic in a format."""
    return render(format, lambda: _topic_page(report), lambda: _topic_document(report), **layout)


def _topic_page(report: TopicReport) -> Page:
    topic = report.topic
    entries = tuple(map(_signal_entry, report.signals))
    topic_section = section("Topic", "topic", Note(Span(topic.title, Tone.TITLE)), facts(_topic_facts(topic)))
    return Page(
        verb="report",
        title=say("Topic {}", topic.id),
        lead="What was looked for, what it cost, how it ended, and where.",
        totals=say("topic {} · {}", topic.id, counted(len(entries), "signal")),
        origin=(joined((data(report.watermark.path), report.made)),),
        sections=(topic_section, section("Every signal of it", "signals", listing(entries, len(entries)))),
        version=report.version,
    )


def _topic_facts(topic: Topic) -> Iterator[tuple[str, Line]]:
    yield "Cost", cost_words(topic)
    yield "Ended", endings_words(topic)
    if topic.said and topic.said != topic.title:
        yield "Agent", quote(topic.said)
    if topic.correction:
        yield "User", quote(topic.correction)
    for number, answer in enumerate(unique_files(topic.answer)):
        yield "or" if number else "Answer", answer_words(answer)
    if topic.project:
        yield "Project", data(topic.project)
    if topic.last:
        yield "Last seen", topic.last[:10]


def _signal_entry(seen: TopicSignal) -> Entry:
    signal = seen.signal
    label = joined((seen.day, data(seen.skill), say("turn {}", signal.turn)), ", ")
    ids = joined(map(data, filter(None, (*signal.call_ids, signal.message_id))), " ")
    head = (*inlines(label), " / ", *kind_words(signal))
    return Entry(head, tuple(_signal_lines(signal)), data(place_words(signal.file, signal.line)), ids)


def _signal_lines(signal: Signal) -> Iterator[Line]:
    if signal.type in SEARCHES:
        yield data(search_words(signal))
        if signal.said:
            yield "the agent: ", quote(signal.said)
    else:
        yield "the agent: ", quote(signal.text)
    if signal.verdict:
        yield "judge: ", prose(verdict_words(signal))
    if signal.correction:
        yield "the user: ", quote(signal.correction)
    if signal.found_at:
        yield "found: ", data(place_words(signal.found_at.path, signal.found_at.line))
    if signal.cost and (spent := _spent_words(signal.cost)):
        yield say("cost: {}", spent)


def _topic_document(report: TopicReport) -> dict[str, object]:
    return {
        "format": "knowbound.topic/1",
        **fields(report, "topic"),
        "signals": [
            {**signal_fields(signal.signal), "skill": signal.skill, "day": signal.day} for signal in report.signals
        ],
        **fields(report, "test_set=watermark.sha256_8 made version"),
    }

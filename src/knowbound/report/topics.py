"""The sections of a report about topics: what to write down, best first, and the way back to the traces."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from knowbound.core.paths import project_name
from knowbound.core.signal import WORTH, Cost, Ending, Topic, TopicAnswer
from knowbound.language import say, translated
from knowbound.report.model import ObserveReport
from knowbound.report.sections import (
    Column,
    Entry,
    Fold,
    Inline,
    Line,
    Listing,
    Note,
    Part,
    Row,
    Section,
    Span,
    Table,
    Tone,
    data,
    joined,
    soft,
)
from knowbound.report.words import ENDING_NAMES, place_words, without_uuids
from knowbound.stats.printing import duration, percent
from knowbound.text.printable import counted

FIRST = 5  # topics of a project that a report opens with
_PROJECTS = 3  # that a report over several opens with
_TITLE, _QUOTE = 100, 200  # characters that are shown
_ANSWERS = 2
_MARKS = re.compile(r"^\s*(?:[-*>#]+|\d+\.)\s+|\*\*")
_NOTHING = "Nothing cost these sessions a search that a line of knowledge would have spared."


def first_topics(report: ObserveReport, hint: str) -> Section:
    """At most five topics of the project, those with something new since the last look first."""
    first = opening(report)
    if not any(first.values()):
        return Section("What to write down", (Note(_NOTHING),), "topics")
    shown = [topic for topics in first.values() for topic in topics]
    parts: list[Part] = [Note(soft(words)) for words in (_about(report, shown), hint) if words]
    for project, topics in first.items():
        if len(first) > 1:
            sessions = report.projects.get(project)
            parts.append(Note(joined((_project(project), counted(sessions, "session") if sessions else ""))))
        parts.append(Listing(tuple(_entry(topic, report) for topic in topics), FIRST))
    return Section("What to write down", tuple(parts), "topics")


def other_topics(report: ObserveReport) -> Section:
    """The topics after those that a report opens with."""
    first = {topic.id for topics in opening(report).values() for topic in topics}
    rest = [topic for topic in report.topics if topic.id not in first]
    several = len(report.projects) > 1
    listing = Listing(tuple(_entry(topic, report, named=several) for topic in rest), hint="--format json")
    return Section("More topics", (listing,), "more-topics")


def by_project(report: ObserveReport) -> Section:
    """Sessions, topics and coverage of each project, where a report is about several."""
    if len(report.projects) < 2:
        return Section("", ())
    topics, here = Counter(topic.project for topic in report.topics), project_name(report.root)
    columns = (Column("project"), Column("sessions", right=True), Column("topics", right=True), Column("coverage"))
    coverage = {here: "unknown" if report.coverage.reason else percent(report.coverage.rate.value)}
    rows = tuple(
        Row((data(name) or "unknown", f"{sessions:,}", f"{topics[name]:,}", coverage.get(name, "unknown")))
        for name, sessions in report.projects.items()
    )
    note = "Coverage is known only of the root. For another project: knowbound observe in it, or --root DIR."
    return Section("By project", (Table(columns, rows, 15), Note(soft(note))), "projects")


def opening(report: ObserveReport) -> dict[str, list[Topic]]:
    """The topics that a report opens with, by project: five of each, new ones first, and none that cost nothing.

    Over several projects: that of the root, where it has sessions, and those with the most sessions.
    """
    here = project_name(report.root)
    most = sorted(report.projects, key=lambda name: (name != here, -report.projects[name]))
    found: dict[str, list[Topic]] = {name: [] for name in most or dict.fromkeys(one.project for one in report.topics)}
    for topic in report.topics:
        if topic.saves >= WORTH:
            found.setdefault(topic.project, []).append(topic)
    shown = [name for name, topics in found.items() if topics][:_PROJECTS]
    return {name: sorted(found[name], key=lambda one: not is_new(one, report))[:FIRST] for name in shown}


def is_new(topic: Topic, report: ObserveReport) -> bool:
    """Whether a session since the last look met it."""
    return bool(report.last_look) and topic.last > report.last_look.removesuffix("Z")


def _about(report: ObserveReport, first: Sequence[Topic]) -> str:
    """How many of how many, in which order, and what is new."""
    total = len(report.topics)
    fresh, day = sum(is_new(topic, report) for topic in first), report.last_look[:10]
    since = say("; {} of them new since {}", fresh or translated("none"), day) if day else ""
    if total > len(first):
        return say("{} of {}, by what writing them down would save{}.", len(first), counted(total, "topic"), since)
    return say("{}, by what writing them down would save{}.", counted(total, "topic"), since)


def _entry(topic: Topic, report: ObserveReport, *, named: bool = False) -> Entry:
    head = joined((Span(shortened(topic.title, _TITLE), Tone.TITLE), soft(topic.id), _new(topic, report)))
    places = tuple(place_words(one.file, one.line) for one in topic.examples)
    gaps = [at for at, signal in enumerate(report.inventory, 1) if signal.topic == topic.id]
    link = Span("in the inventory", Tone.SOFT, f"gap-{gaps[0]}") if gaps else ""
    return Entry(
        head,
        (
            joined((cost_words(topic), endings_words(topic), _project(topic.project) if named else "")),
            *_words(topic),
        ),
        more=joined((Fold("where it was seen", places), link), " "),
        anchor=f"topic-{topic.id}",
    )


def _words(topic: Topic) -> Iterator[Line]:
    """What was said about it, and where it is."""
    if topic.said and topic.said != topic.title:
        yield "the agent: ", Span(shortened(_unmarked(topic.said), _QUOTE), Tone.QUOTE)
    if topic.correction:
        yield "the user: ", Span(shortened(topic.correction, _QUOTE), Tone.QUOTE)
    best = [one for one in topic.answer if one.sessions == topic.answer[0].sessions]
    for at, one in enumerate(unique_files(best)[:_ANSWERS]):
        yield "or: " if at else "answer: ", *answer_words(one)
    if topic.proposed is not None:
        yield "write: ", data(topic.proposed.text), " in ", data(topic.proposed.file)


def unique_files(found: Sequence[TopicAnswer]) -> list[TopicAnswer]:
    """The places, the best one of each file."""
    return list({one.path: one for one in reversed(found)}.values())[::-1]


def answer_words(one: TopicAnswer) -> tuple[Inline, ...]:
    """A place, and in how many sessions it was found there."""
    sessions = f" ({counted(one.sessions, 'session')})" if one.sessions > 1 else ""
    return data(without_uuids(place_words(one.path, one.line))), sessions


def _unmarked(words: str) -> str:
    """A sentence without the marks of a list, a heading or bold print."""
    return _MARKS.sub("", words)


def shortened(text: str, most: int) -> str:
    """A text of one line and at most so many characters."""
    text = without_uuids(" ".join(text.split()))
    return text if len(text) <= most else text[: most - 2].rstrip() + " …"


def _project(name: str) -> Line:
    return ("project ", Span(name, Tone.TITLE)) if name else "project unknown"


def _new(topic: Topic, report: ObserveReport) -> Line:
    return Span("new", Tone.PILL) if is_new(topic, report) else ""


def cost_words(topic: Topic) -> str:
    """What a topic cost: `3 sessions · 9 calls · 40 s`."""
    return " · ".join(filter(None, (counted(topic.sessions, "session"), spent_words(topic.cost))))


def spent_words(cost: Cost) -> str:
    """What was spent, as far as the trace says it."""
    parts = [counted(cost.calls, "call")] if cost.calls else []
    parts += [duration(cost.seconds)] if cost.seconds and cost.seconds >= 1 else []
    parts += [counted(cost.tokens, "token")] if cost.tokens else []
    return " · ".join(parts)


def endings_words(topic: Topic) -> str:
    """How its signals ended: `found`, `guessed 2×, found 1×`."""
    ended = [(translated(ENDING_NAMES[Ending(name)]), count) for name, count in topic.endings.items()]
    if len(ended) == 1:
        return ended[0][0] if ended[0][1] == 1 else say("{} each time", ended[0][0])
    return translated(", ").join(f"{words} {count}×" for words, count in ended)

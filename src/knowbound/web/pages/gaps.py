"""The page Gaps: what agents missed, most worth writing down first, and from a topic to every turn that met it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date, timedelta
from typing import NamedTuple

from knowbound.core.signal import Topic
from knowbound.errors import InputError
from knowbound.gaps.stored import newest_topic, topics_by_cost
from knowbound.language import say, translated
from knowbound.report.figures import kind_words, open_figures
from knowbound.report.lines import Line
from knowbound.report.model import ObserveReport, TopicSignal
from knowbound.report.sections import Mark, Section
from knowbound.report.topics import answer_words, cost_words, endings_words, unique_files
from knowbound.report.words import SEARCHES, search_words
from knowbound.store.observed import Observed
from knowbound.text.printable import counted
from knowbound.web.pages import Asked, Shown, StudioPage

_MOST_TOPICS = 30  # topics of a page
_MOST_ANSWERS = 2
_MOST_WEEKS = 52


class TopicCard(NamedTuple):
    """A topic as its card shows it."""

    topic: Topic
    share: float  # of what writing down the first topic would save
    cost: str
    endings: str
    answers: list[Line]


class SignalRow(NamedTuple):
    """A signal of a topic, with the words of its call or its sentence."""

    one: TopicSignal
    kind: Line
    words: str
    is_quote: bool


def show(asked: Asked) -> Shown:
    """Return the page."""
    settings = asked.studio.settings
    stored = Observed(settings.home).run("observe", ObserveReport)
    if stored is None:
        nothing = {"headline": translated("No session was read yet."), "lead": "", "figure": None}
        return Shown("gaps.html", nothing | {"cards": [], "after": "", "mark": ()})
    (report, *_), page = stored, topics_by_cost(settings, after=asked.query.get("after", ""), most=_MOST_TOPICS)
    top_saving = max((topic.saves for topic in report.topics), default=0.0)
    return Shown(
        "gaps.html",
        {
            "headline": _headline(report),
            "lead": say("The first took {}.", cost_words(report.topics[0])) if report.topics else "",
            "figure": open_figures(report.gap)[0],
            "cards": [_card(topic, top_saving) for topic in page.rows],
            "after": page.after,
            "mark": (Section("", (Mark(report.watermark),)),),
        },
    )


def _headline(report: ObserveReport) -> str:
    topics = report.topics
    if not topics:
        return translated("Nothing that agents looked for is missing.")
    return say("{} that agents missed.", counted(len(topics), "topic"))


def _card(topic: Topic, top_saving: float) -> TopicCard:
    answers: list[Line] = [answer_words(file) for file in unique_files(topic.answer)[:_MOST_ANSWERS]]
    share = topic.saves / top_saving if top_saving else 0.0
    return TopicCard(topic, share, cost_words(topic), endings_words(topic), answers)


def topic(asked: Asked) -> Shown:
    """Return one topic with every signal of it."""
    try:
        found = newest_topic(asked.studio.settings, asked.path["topic"])
    except InputError as error:
        wrong = {"headline": "There is no such topic.", "said": str(error.args[0]), "slug": error.slug}
        return Shown("wrong.html", wrong, 404)
    rows = []
    for entry in found.signals:
        is_quote = entry.signal.type not in SEARCHES
        words = entry.signal.text if is_quote else search_words(entry.signal)
        rows.append(SignalRow(entry, tuple(kind_words(entry.signal)), words, is_quote))
    values = {
        "card": _card(found.topic, found.topic.saves),  # alone: its bar is full
        "rows": rows,
        "weeks": _signals_by_week([signal.day for signal in found.signals]),
        "mark": (Section("", (Mark(found.watermark),)),),
    }
    return Shown("gap.html", values)


def _signals_by_week(days: Sequence[str]) -> list[tuple[str, int]]:
    """Return the number of signals in each week from the first to the last, by the week's Monday."""
    mondays = Counter(day - timedelta(days=day.weekday()) for day in map(date.fromisoformat, filter(None, days)))
    if not mondays:
        return []
    first, last = min(mondays), max(mondays)
    shown = (first + timedelta(weeks=week) for week in range((last - first).days // 7 + 1))
    return [(monday.isoformat(), mondays[monday]) for monday in shown][-_MOST_WEEKS:]


PAGE = StudioPage("Gaps", place=4, views={"/gaps": show, "/gaps/{topic}": topic})

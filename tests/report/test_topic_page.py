"""One topic in full: every signal of it with its own words and its file and line."""

from __future__ import annotations

import html
import json
import re
from typing import get_args

import msgspec
import pytest
from markdown_it import MarkdownIt

from knowbound.core.signal import Cost, FoundPlace, TopicAnswer
from knowbound.report import PageFormat
from knowbound.report.model import TopicReport, TopicSignal
from knowbound.report.topics import render_topic
from tests.report.test_report import HOSTILE, _elements, _unseen
from tests.report_examples import (
    HEDGE,
    REFUND_POLICY,
    RESOLVED,
    everyday_report,
    hostile_report,
    topic_of,
)

FOR_PEOPLE: tuple[PageFormat, ...] = ("text", "markdown", "html")


def report_of(topic: str = "refund_policy") -> TopicReport:
    report = everyday_report()
    signals = [
        msgspec.structs.replace(REFUND_POLICY, correction="Gift cards are never refunded."),
        msgspec.structs.replace(RESOLVED, cost=Cost(3, 2, 40.4, 1250), found_at=FoundPlace("docs/refunds.md", 12)),
        HEDGE,
    ]
    found = next(one for one in report.topics if one.title == topic)
    named = [TopicSignal(signal, "general", "2026-11-12") for signal in signals]
    return TopicReport(found, report.watermark, named, report.places, report.made, report.version)


@pytest.mark.parametrize("format_", FOR_PEOPLE)
def test_a_topic_in_full_has_every_word_and_every_line(format_: PageFormat) -> None:
    shown = html.unescape(render_topic(report_of(), format_, width=140))
    for words in (
        "refund_policy",
        "3 sessions · 9 calls · 12 s",
        "found 2×, asked the user 1×",
        "I need to know which refund policy applies to gift cards.",
        "No, gift cards are never refunded.",
        "docs/refunds.md:12",
        'Grep "refund_policy" in docs/ → no matches',
        str(REFUND_POLICY.said),
        "Gift cards are never refunded.",
        "I'm not sure whether the nightly export still writes to the old bucket.",
        "uncertainty (0.86): states that a fact is not known",
        "cost: 3 calls · 40 s · 1,250 tokens",
        "turn 3 / ",
        f"{REFUND_POLICY.file}:212",  # whole: it is the way back
        f"{HEDGE.file}:318",
    ):
        assert words in shown, words


def test_the_answer_names_every_place_once() -> None:
    report = report_of()
    places = [
        TopicAnswer("a.py", 3, 2),
        TopicAnswer("a.py", 9, 1),
        TopicAnswer("b.py", 0, 1),
        TopicAnswer("c.py", 0, 1),
    ]
    topic = msgspec.structs.replace(report.topic, answer=places)
    shown = render_topic(msgspec.structs.replace(report, topic=topic), "text")
    assert re.search(r"Answer +a\.py:3 \(2 sessions\)\n  or +b\.py\n  or +c\.py\n", shown)


def test_json_has_the_topic_and_its_signals() -> None:
    document = json.loads(render_topic(report_of(), "json"))
    assert (document["format"], document["topic"]["id"]) == ("knowbound.topic/1", REFUND_POLICY.topic)
    assert [(one["file"], one["line"], one["skill"], one["day"]) for one in document["signals"]] == [
        (signal.file, signal.line, "general", "2026-11-12") for signal in (REFUND_POLICY, RESOLVED, HEDGE)
    ]
    assert document["test_set"] == everyday_report().watermark.sha256_8


def hostile(text: str) -> TopicReport:
    report = hostile_report(text)
    signals = [TopicSignal(msgspec.structs.replace(one, correction=text), text, text) for one in report.inventory]
    topic = topic_of(text, signals[0].signal, said=f"{text} said", answer=text, project=text, correction=text)
    return TopicReport(topic, report.watermark, signals, [text], report.made, report.version)


@pytest.mark.parametrize("text", HOSTILE)
def test_text_of_a_trace_stays_text(text: str) -> None:
    parser = MarkdownIt("commonmark").enable("table")
    for shown in (
        lambda one: render_topic(hostile(one), "html"),
        lambda one: parser.render(render_topic(hostile(one), "markdown")),
    ):
        assert _elements(shown(text)).elements == _elements(shown("harmless")).elements


@pytest.mark.parametrize("format_", get_args(PageFormat))
def test_control_characters_and_broken_unicode_do_not_pass(format_: PageFormat) -> None:
    shown = render_topic(hostile("before \x1b[31m\u202e\x00 caf\udce9 after"), format_)
    assert "caf\ufffd" in shown
    assert not _unseen(shown)

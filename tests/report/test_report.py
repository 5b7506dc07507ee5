"""Every format of the observe report, from reports made by hand."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import re
import shutil
import subprocess
import unicodedata
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from knowbound.core.signal import Signal, SignalType, Status, Topic, TopicAnswer
from knowbound.report import GATE_FORMATS
from knowbound.report.formats.json import signal_line
from knowbound.report.formats.markdown import code
from knowbound.report.formats.plain import bar, cells, interval_bar, plain, shorten, wrap
from knowbound.report.model import ObserveReport
from knowbound.report.observe import Format, render_observe
from knowbound.stats.figures import WARNING, Coverage
from knowbound.stats.rate import Rate
from tests.report_examples import (
    HEDGE,
    LIKE_ANY_OTHER,
    REFUND_POLICY,
    RESOLVED,
    TAX_TABLE,
    TRACES,
    empty_report,
    everyday_report,
    figures,
    hostile_report,
    topic_id,
    topic_of,
)

GOLDEN = Path(__file__).parents[1] / "golden"
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
FOR_PEOPLE: tuple[Format, ...] = ("text", "markdown", "html")
HOSTILE = [
    "<script>document.title='owned'</script>",
    "\"><img src=x onerror=document.title='owned'>",
    "</style></script></title><h1>owned</h1>",
    "a | b | c \\| d",
    "``` `code` ```",
    "@everyone see [this](javascript:alert(1)) or https://evil.example/ or #1",
    "$style ${script} {totals} %s",
    "&lt;b&gt; &#60;i&#62;",
]
UNSEEN = [
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\x9b2J",
    "\u202egnp.exe",
    "\u2066x\u2069",
    "a\x00b\x08c\x7f",
    "\U000e0041",
]


# The formats as a whole


@pytest.mark.parametrize("example", ["everyday", "empty"])
@pytest.mark.parametrize("format_", GATE_FORMATS)
def test_the_report_reads_as_before(format_: Format, example: str) -> None:
    report = everyday_report() if example == "everyday" else empty_report()
    shown = _without_assets(render_observe(report, format_))
    golden = GOLDEN / f"{example}.{format_}"
    if os.environ.get("KNOWBOUND_UPDATE_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(shown, encoding="utf-8")
    assert shown == golden.read_text(encoding="utf-8"), "KNOWBOUND_UPDATE_GOLDEN=1 writes the golden files anew"


def _without_assets(page: str) -> str:
    """The golden page is about its content: style, script and their hashes are left out."""
    page = re.sub(r"<(style|script)>.*?</\1>", r"<\1></\1>", page, flags=re.DOTALL)
    return re.sub(r"'sha256-[^']+'", "'sha256-…'", page)


# The watermark (specification 1, section 7.1)


@pytest.mark.parametrize("format_", GATE_FORMATS)
@pytest.mark.parametrize("report", [everyday_report(), empty_report()], ids=["everyday", "empty"])
def test_no_format_shows_a_rate_without_the_watermark(format_: Format, report: ObserveReport) -> None:
    shown = render_observe(report, format_).replace("&#x27;", "'")
    assert WARNING in shown
    assert report.watermark.path in shown
    assert report.watermark.sha256_8 in shown
    if format_ != "json":
        assert f"{report.watermark.samples} samples" in shown


def test_a_report_cannot_be_made_without_a_watermark() -> None:
    fields = {name: value for name, value in msgspec.structs.asdict(everyday_report()).items() if name != "watermark"}
    with pytest.raises(TypeError, match="watermark"):
        ObserveReport(**fields)


def test_the_page_has_the_watermark_beside_the_figures_and_at_its_foot() -> None:
    page = render_observe(everyday_report(), "html")
    assert page.count("does not represent the knowledge base&#x27;s absolute completeness.") == 2
    assert page.index('class="watermark"') < page.index('class="cards"')


def test_a_signal_line_names_its_test_set() -> None:
    report = everyday_report()
    assert json.loads(signal_line(REFUND_POLICY, report.watermark))["test_set"] == "3f9a1c07"


# What is not known, and what rests on few samples


@pytest.mark.parametrize("format_", FOR_PEOPLE)
def test_without_samples_the_figures_are_unknown_and_never_zero(format_: Format) -> None:
    shown = _without_assets(render_observe(empty_report(), format_))
    assert "unknown" in shown
    assert not re.search(r"\b0(\.0)?%", shown.replace("green under 10%", ""))


def test_without_samples_json_has_null() -> None:
    document = json.loads(render_observe(empty_report(), "json"))
    assert document["gap"]["rate"] == {"k": 0, "n": 0, "value": None, "low": None, "high": None}
    assert document["gap"]["weighted"]["value"] is None
    assert document["gap"]["band"] is None
    assert document["gap"]["soft_share"] is None
    assert document["coverage"]["rate"]["value"] is None


@pytest.mark.parametrize("format_", FOR_PEOPLE)
def test_coverage_without_knowledge_files_says_where_none_are(format_: Format) -> None:
    assert "no knowledge files under /srv/project" in render_observe(empty_report(), format_)


@pytest.mark.parametrize("format_", FOR_PEOPLE)
def test_coverage_says_over_how_many_sessions_and_what_clients_load_by_themselves(format_: Format) -> None:
    coverage = Coverage(Rate(5, 8), [], 3, "", [f"docs/{at}/CLAUDE.md" for at in range(7)])
    shown = render_observe(everyday_report(coverage=coverage), format_)
    assert "over 3 sessions in this root; not counted, loaded by the clients: 7 (" in shown
    assert "docs/4/CLAUDE.md" in shown
    assert "and 2 more" in shown
    assert "docs/5/CLAUDE.md" not in shown


def few_samples() -> ObserveReport:
    gap = figures(samples=3, strong=2, weak=0, still_open=1, turns=Rate(2, 9), by_type=(3, 0, 0, 0))
    return everyday_report(gap=gap, skills=[])


@pytest.mark.parametrize("format_", FOR_PEOPLE)
def test_a_band_on_few_samples_is_softened(format_: Format) -> None:
    shown = render_observe(few_samples(), format_)
    assert "red (indicative only)" in shown
    assert "underpowered: 3 samples, at least 5 are needed" in shown


def test_a_band_on_few_samples_has_no_hard_colour() -> None:
    assert "\x1b[31m" in render_observe(everyday_report(skills=[]), "text", colour=True)
    assert "\x1b[31m" not in render_observe(few_samples(), "text", colour=True)
    assert 'class="bad"' in render_observe(everyday_report(), "html")
    assert 'class="bad"' not in render_observe(few_samples(), "html")


def test_a_fair_share_of_soft_signals_asks_to_check_them() -> None:
    gap = figures(samples=20, strong=2, weak=6, still_open=4, turns=Rate(8, 40), by_type=(2, 0, 3, 4))
    for format_ in FOR_PEOPLE:
        assert "15%: soft signals make up a fair share" in render_observe(everyday_report(gap=gap), format_)


# JSON that others rely on (DESIGN)


def test_json_has_the_keys_that_others_rely_on() -> None:
    document = json.loads(render_observe(everyday_report(), "json"))
    assert document["format"] == "knowbound.observe/1"
    assert set(document["watermark"]) == {"path", "samples", "sha256_8", "warning"}
    assert {"files", "sessions", "turns", "tool_calls", "samples", "skipped_lines"} <= set(document["totals"])
    rate = {"k", "n", "value", "low", "high"}
    gap = document["gap"]
    assert all(set(gap[name]) == rate for name in ("rate", "open", "per_turn"))
    assert all(set(gap[name]) == {"sum", "n", "value", "low", "high"} for name in ("weighted", "open_weighted"))
    assert set(gap["by_type"]) == set(SignalType)
    assert set(gap["by_status"]) == set(Status)
    assert (gap["band"], gap["open_band"], gap["confidence"]) == ("red", "yellow", "high")
    assert gap["soft_share"] == pytest.approx(gap["rate"]["value"] - gap["weighted"]["value"])
    assert set(document["coverage"]["rate"]) == rate
    for row in document["skills"]:
        assert set(row) == {"name", "samples", "gap", "coverage", "band", "confidence", "open", "open_band"}
        assert set(row["gap"]) == set(row["coverage"]) == set(row["open"]) == rate


def test_json_has_the_keys_of_a_topic_that_others_rely_on() -> None:
    first, second = json.loads(render_observe(everyday_report(), "json"))["topics"]
    promised = [
        "id",
        "title",
        "sessions",
        "turns",
        "signals",
        "cost",
        "endings",
        "said",
        "answer",
        "proposed",
        "examples",
    ]
    assert list(first)[: len(promised)] == promised
    assert set(first["cost"]) == {"calls", "steps", "seconds", "tokens"}
    assert first["endings"] == {"found": 2, "asked": 1}
    assert first["answer"] == [{"path": "docs/refunds.md", "line": 12, "sessions": 2}]
    assert first["examples"] == [{"session": REFUND_POLICY.session, "file": REFUND_POLICY.file, "line": 212}]
    assert (second["answer"], second["proposed"], second["cost"]["tokens"]) == ([], None, None)


def test_coverage_that_is_unknown_has_a_reason_and_no_rate() -> None:
    unknown = Coverage(Rate(), [], 0, "no session worked in /home/ada/shop", ["CLAUDE.md"])
    coverage = json.loads(render_observe(everyday_report(coverage=unknown), "json"))["coverage"]
    assert coverage == {
        "rate": None, "reason": "no session worked in /home/ada/shop", "uncovered": [], "sessions": 0,
        "loaded": ["CLAUDE.md"],
    }  # fmt: skip


def test_json_has_no_diagnosis_before_there_is_one() -> None:
    assert "diagnosis" not in json.loads(render_observe(everyday_report(), "json"))


def test_a_signal_line_has_the_keys_that_others_rely_on() -> None:
    line = signal_line(HEDGE, everyday_report().watermark)
    assert "\n" not in line
    fields = json.loads(line)
    promised = ["type", "status", "ending", "weight", "session", "turn", "sample"]
    promised += ["call_ids", "message_id", "query", "path", "text", "verdict", "topic"]
    assert list(fields)[: len(promised)] == promised
    assert (fields["type"], fields["weight"], fields["verdict"]["confidence"]) == ("hedging", 0.5, 0.86)
    assert (fields["ending"], fields["topic"]) == (None, None)
    asked = json.loads(signal_line(REFUND_POLICY, everyday_report().watermark))
    assert (asked["ending"], asked["topic"]) == ("asked", REFUND_POLICY.topic)


def test_json_keeps_the_text_of_a_trace_as_it_is() -> None:
    text = 'Zeile 1\nZeile 2\t"\x1b[31m\x7f\x9b\u202e\u2028 中文 🧭\U000e0041'
    line = signal_line(msgspec.structs.replace(REFUND_POLICY, query=text), everyday_report().watermark)
    assert json.loads(line)["query"] == text
    assert msgspec.json.decode(line)["query"] == text
    assert "中文 🧭" in line
    assert not _unseen(line)


@pytest.mark.parametrize("format_", GATE_FORMATS)
def test_broken_unicode_does_not_break_the_output(format_: Format) -> None:
    shown = render_observe(hostile_report("caf\udce9 \ud800"), format_)
    assert "caf\ufffd" in shown
    shown.encode("utf-8")


# Text from traces is data


def _unseen(shown: str) -> set[str]:
    """Characters that a terminal or a reader would obey without seeing them."""
    return {one for one in shown if unicodedata.category(one) in ("Cc", "Cf", "Cs") and one not in "\n\u200c\u200d"}


@pytest.mark.parametrize("text", UNSEEN)
@pytest.mark.parametrize("format_", FOR_PEOPLE)
def test_control_and_direction_characters_are_stripped(format_: Format, text: str) -> None:
    assert not _unseen(render_observe(hostile_report(f"before {text} after"), format_))


def test_terminal_codes_in_a_trace_leave_only_ours() -> None:
    shown = render_observe(
        hostile_report("\x1b[5mblink\x1b[0m\x1b]8;;http://evil.example\x07link"), "text", colour=True
    )
    assert set(re.findall(r"\x1b[^m]*m", shown)) <= {"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[33m"}
    assert "blink" in shown


@given(st.text())
def test_plain_text_is_one_line_of_seen_characters(text: str) -> None:
    once = plain(text)
    assert not _unseen(once)
    assert "\n" not in once
    assert plain(once) == once


def test_plain_text_keeps_what_people_write() -> None:
    assert (
        plain("  naïve 中文 【推断】 👩\u200d💻 می\u200cخواهم\n→ ok ")
        == "naïve 中文 【推断】 👩\u200d💻 می\u200cخواهم → ok"
    )


class _Elements(HTMLParser):
    """Which elements and attributes a page has, as a parser sees it."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.attributes: set[str] = set()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]


def _elements(page: str) -> _Elements:
    parser = _Elements()
    parser.feed(page)
    return parser


@pytest.mark.parametrize("text", HOSTILE)
def test_a_page_shows_markup_of_a_trace_and_never_obeys_it(text: str) -> None:
    page = _elements(render_observe(hostile_report(text), "html"))
    harmless = _elements(render_observe(hostile_report("harmless"), "html"))
    assert page.elements == harmless.elements
    assert page.attributes == harmless.attributes
    assert page.elements.count("script") == page.elements.count("style") == 1
    assert not {name for name in page.attributes if name.startswith("on")} | (page.attributes & {"style"})


def test_a_page_needs_nothing_but_itself() -> None:
    page = _elements(render_observe(everyday_report(), "html"))
    assert all(link.startswith("#") or link == "data:," for link in page.links)
    assert "url(" not in render_observe(everyday_report(), "html")
    assert "@import" not in render_observe(everyday_report(), "html")


def test_the_policy_of_a_page_allows_exactly_its_own_style_and_script() -> None:
    page = render_observe(everyday_report(), "html")
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; ")
    assert "unsafe" not in policy[1]
    for element in ("style", "script"):
        inline = re.search(rf"<{element}>(.*?)</{element}>", page, re.DOTALL)
        assert inline is not None
        digest = base64.b64encode(hashlib.sha256(inline[1].encode()).digest()).decode()
        assert f"{element}-src 'sha256-{digest}'" in policy[1]


@pytest.mark.parametrize("text", HOSTILE)
def test_markdown_shows_markup_of_a_trace_and_never_obeys_it(text: str) -> None:
    """A real parser with HTML and tables on sees the same elements as for a harmless text."""
    parser = MarkdownIt("commonmark").enable("table")
    page = _elements(parser.render(render_observe(hostile_report(text), "markdown")))
    assert page.elements == _elements(parser.render(render_observe(hostile_report("harmless"), "markdown"))).elements
    assert set(page.elements) <= set(
        "h2 h3 p blockquote br strong code table thead tbody tr th td ul li details summary".split()
    )


@given(st.text(alphabet="`a |\\<@[", min_size=1).map(plain).filter(bool))
def test_a_code_span_holds_any_text(text: str) -> None:
    span = MarkdownIt("commonmark").parseInline(f"x {code(text)} y")[0].children or []
    assert [child.type for child in span] == ["text", "code_inline", "text"]
    assert span[1].content == text


# The inventory and its neighbours (specification 1, section 7.2)


def near(signal: Signal) -> str:
    """The place as people read it: from where the traces lie, with the first digits of a uuid."""
    return UUID.sub(lambda found: found[0][:8] + "…", signal.file.removeprefix(TRACES + "/"))


def test_text_shows_an_entry_as_the_specification_does() -> None:
    shown = render_observe(everyday_report(inventory=[REFUND_POLICY]), "text", width=120)
    assert (
        "  general, turn 3 / [failed search] open, asked the user\n"
        '    Grep "refund_policy" in docs/ → no matches\n'
        f"    agent self-report: {REFUND_POLICY.said}\n"
        "    -home-ada-shop/5f0c2a9e….jsonl:212\n"
    ) in shown


def test_a_read_that_missed_says_why() -> None:
    assert 'Read "docs/tax/vat-rates.md" → the path is not there' in render_observe(everyday_report(), "text")


@pytest.mark.parametrize("format_", FOR_PEOPLE)
def test_every_shown_entry_leads_to_its_line(format_: Format) -> None:
    shown = render_observe(everyday_report(), format_)
    assert f"{near(TAX_TABLE)}:88" in shown
    assert f"{near(LIKE_ANY_OTHER[0])}:500" in shown


@pytest.mark.parametrize("format_", ["text", "markdown"])
def test_no_uuid_where_a_person_reads(format_: Format) -> None:
    titled = topic_of(f"traces/{REFUND_POLICY.session}.jsonl", REFUND_POLICY, said=f"Where is {REFUND_POLICY.session}?")
    asked = msgspec.structs.replace(REFUND_POLICY, query=f"{REFUND_POLICY.session}.jsonl", path=f"x_{HEDGE.message_id}")
    report = everyday_report()
    report = everyday_report(topics=[titled, *report.topics], inventory=[asked, *report.inventory])
    assert UUID.findall(render_observe(report, format_)) == []


def test_a_page_has_uuids_only_behind_a_fold() -> None:
    page = render_observe(everyday_report(), "html")
    in_sight = re.sub(r'<details class="asked">.*?</details>', "", page, flags=re.DOTALL)
    assert UUID.findall(in_sight) == []
    for signal in everyday_report().inventory:
        assert f"{signal.file.removeprefix(TRACES + '/')}:{signal.line}" in page


def test_a_page_leads_from_every_entry_to_its_call_ids() -> None:
    page = render_observe(everyday_report(), "html")
    assert RESOLVED.resolved_by in page
    for signal in everyday_report().inventory:
        for name in (*signal.call_ids, signal.message_id, signal.resolved_by):
            assert name in page


def test_text_shows_the_first_entries_and_how_many_more_there_are() -> None:
    shown = render_observe(everyday_report(), "text")
    assert len(re.findall(r"^  [\w-]+, turn \d+ / ", shown, re.MULTILINE)) == 15
    assert "+9 more: --format jsonl" in shown  # 24 signals in all


def test_text_shows_ten_uncovered_files_and_how_many_more_there_are() -> None:
    report = everyday_report()
    coverage = msgspec.structs.replace(report.coverage, rate=Rate(2, 14), uncovered=[f"docs/{n}.md" for n in range(12)])
    shown = render_observe(everyday_report(coverage=coverage), "text")
    assert sum(f"\n  docs/{n}.md\n" in shown for n in range(12)) == 10
    assert "+2 more" in shown


# Topics


def many_topics(number: int, **more: Any) -> list[Topic]:
    return [topic_of(f"query_{at}", REFUND_POLICY, calls=number - at, **more) for at in range(number)]


def opening_titles(report: ObserveReport) -> list[str]:
    """The titles that the text opens with, above the watermark."""
    shown = render_observe(report, "text")
    return re.findall(r"^  (\S+) · [0-9a-f]{8}", shown[: shown.index("Test set  ")], re.MULTILINE)


@pytest.mark.parametrize("format_", FOR_PEOPLE)
def test_a_report_opens_with_topics_then_the_watermark_then_the_rates_then_the_rest(format_: Format) -> None:
    shown = html.unescape(render_observe(everyday_report(topics=many_topics(7)), format_))
    page = shown[shown.index("<main") :] if format_ == "html" else shown
    order = ["query_0", "query_4", WARNING, "Open rate", "Gap rate", "More topics", "query_5", "By source"]
    assert sorted(order, key=page.index) == order


@pytest.mark.parametrize("format_", FOR_PEOPLE)
def test_a_topic_has_its_words_cost_endings_and_answer(format_: Format) -> None:
    shown = html.unescape(render_observe(everyday_report(), format_))
    for words in (
        "3 sessions · 9 calls · 12 s · found 2×, asked the user 1×",
        "I need to know which refund policy applies to gift cards.",
        "No, gift cards are never refunded.",
        "docs/refunds.md:12",
        "(2 sessions)",
        topic_id("refund_policy"),
    ):
        assert words in shown


@pytest.mark.parametrize("format_", FOR_PEOPLE)
def test_five_topics_open_the_report_ten_follow_and_the_others_are_counted(format_: Format) -> None:
    shown = render_observe(everyday_report(topics=many_topics(19)), format_)
    assert "5 of 19 topics" in shown
    assert "+4 more" in shown


def test_the_answer_that_most_sessions_found_is_shown_alone_and_two_that_are_as_good_both() -> None:
    one, two, three = (
        TopicAnswer("docs/refunds.md", 3, 2),
        TopicAnswer("docs/refunds.md", 9, 2),
        TopicAnswer("src/refunds.ts", 0, 2),
    )
    cases = {
        (one, TopicAnswer("notes.md", 0, 1)): "    answer: docs/refunds.md:3 (2 sessions)\n",
        (one, two, three): "    answer: docs/refunds.md:3 (2 sessions)\n    or: src/refunds.ts (2 sessions)\n",
    }
    for answers, shown in cases.items():
        topic = msgspec.structs.replace(topic_of("refund_policy", REFUND_POLICY), answer=list(answers))
        text = render_observe(everyday_report(topics=[topic]), "text").partition("Test set")[0]
        assert shown in text
        assert text.count("refunds.") == shown.count("refunds.")
        assert "notes.md" not in text


@pytest.mark.parametrize("said", ["- **Which** policy?", "## Which policy?", "2. Which **policy**?", "> Which policy?"])
def test_the_words_of_an_agent_are_quoted_without_marks(said: str) -> None:
    topic = topic_of("refund_policy", REFUND_POLICY, said=said)
    assert "    the agent: Which policy?\n" in render_observe(everyday_report(topics=[topic]), "text")


def test_a_topic_that_cost_nothing_does_not_open_a_report() -> None:
    topics = [topic_of("free", REFUND_POLICY, calls=0), *many_topics(9)[:2]]
    assert opening_titles(everyday_report(topics=topics)) == ["query_0", "query_1"]


def test_topics_that_are_new_since_the_last_look_come_first_and_json_keeps_its_order() -> None:
    topics = many_topics(8)
    topics[6] = msgspec.structs.replace(topics[6], last="2026-11-14T09:00:00")
    report = everyday_report(topics=topics, last_look="2026-11-10T12:00:00Z")
    assert opening_titles(report) == ["query_6", "query_0", "query_1", "query_2", "query_3"]
    assert "1 of them new since 2026-11-10" in render_observe(report, "text")
    first = render_observe(everyday_report(topics=topics), "json")
    assert first == render_observe(report, "json")
    assert [topic["title"] for topic in json.loads(first)["topics"]] == [topic.title for topic in topics]


def test_a_first_look_has_nothing_new() -> None:
    shown = render_observe(everyday_report(), "text")
    assert "new" not in shown[: shown.index("Test set")]


@pytest.mark.parametrize("format_", FOR_PEOPLE)
def test_a_report_over_several_projects_opens_with_five_topics_of_each_of_three(format_: Format) -> None:
    names = {"billing": 9, "shop": 4, "docs": 3, "infra": 1}
    topics = [topic for name in names for topic in many_topics(6, project=name)]
    topics = [msgspec.structs.replace(one, id=topic_id(f"{one.project} {one.title}")) for one in topics]
    shown = html.unescape(render_observe(everyday_report(topics=topics, projects=names), format_))
    opening = shown[: shown.index(WARNING)]
    assert [opening.count(topic_id(f"{name} query_4")) > 0 for name in names] == [True, True, True, False]
    assert topic_id("billing query_5") not in opening
    assert opening.index("4 sessions") < opening.index("9 sessions") < opening.index("3 sessions")  # the root's first


def test_coverage_of_other_projects_is_unknown() -> None:
    report = everyday_report(projects={"billing": 9, "shop": 4})
    shown = render_observe(report, "text")
    rows = shown[shown.index("By project") : shown.index("By source")].splitlines()
    assert [row.split() for row in rows[2:4]] == [["billing", "9", "0", "unknown"], ["shop", "4", "2", "62.5%"]]
    assert "Coverage is known only of the root" in rows[4]


def test_a_page_leads_from_a_topic_to_the_inventory_and_back() -> None:
    page = render_observe(everyday_report(), "html")
    number = 1 + everyday_report().inventory.index(REFUND_POLICY)
    topics, inventory = (
        page[page.index('id="topics"') : page.index('id="skills"')],
        page[page.index('id="inventory"') :],
    )
    assert f'<a href="#gap-{number}">' in topics
    assert f'id="topic-{REFUND_POLICY.topic}"' in topics
    assert f'<a href="#topic-{REFUND_POLICY.topic}">' in inventory


def test_every_link_inside_a_page_leads_somewhere() -> None:
    unknown = msgspec.structs.replace(TAX_TABLE, topic="00000000")
    for report in (everyday_report(inventory=[unknown]), hostile_report("harmless")):
        page = render_observe(report, "html")
        names = set(re.findall(r' id="([^"]+)"', page))
        assert {link.removeprefix("#") for link in _elements(page).links if link.startswith("#")} <= names


def test_many_skills_are_cut_in_text_and_whole_on_the_page() -> None:
    report = everyday_report(skills=everyday_report().skills * 20)
    assert "+25 more: --format json" in render_observe(report, "text")
    assert render_observe(report, "html").count(">release-notes</code></th>") == 20


@pytest.mark.parametrize("format_", FOR_PEOPLE)
def test_what_was_left_out_is_shown_with_its_reason(format_: Format) -> None:
    shown = render_observe(everyday_report(), format_)
    for words in ("2 samples without a complete trace", "no answer of the agent", "4 lines skipped", "truncated"):
        assert words in shown
    assert "notes.txt" in shown
    assert "One session is still being written" in shown


@pytest.mark.parametrize("width", [80, 100, 140])
def test_text_keeps_to_the_width_but_for_what_people_copy(width: int) -> None:
    copied = (".jsonl", "Test set ", "knowbound report")
    for line in render_observe(everyday_report(), "text", width=width).splitlines():
        assert cells(line) <= width or line == WARNING or any(words in line for words in copied)


def test_colour_changes_nothing_but_colour() -> None:
    coloured = render_observe(everyday_report(), "text", colour=True)
    assert re.sub(r"\x1b\[\d+m", "", coloured) == render_observe(everyday_report(), "text")


# Columns


def test_chinese_takes_two_columns() -> None:
    assert cells("推断ab") == 6
    assert shorten("推断推断", 5) == "推断…"


@given(st.text(alphabet="ab 推断", max_size=200).map(plain), st.integers(10, 40))
def test_wrapped_text_fits_and_loses_nothing(text: str, width: int) -> None:
    lines = wrap(text, width, most=1000)
    assert all(cells(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize(
    ("value", "shown"), [(0, ""), (0.001, "▏"), (0.5, "████"), (1, "████████")], ids=["none", "a trace", "half", "all"]
)
def test_a_bar_shows_anything_above_zero(value: float, shown: str) -> None:
    assert bar(value, 8) == shown


def test_an_interval_is_drawn_with_its_value_inside() -> None:
    assert interval_bar(0.2, 0.4, 0.7, 10) == "┈┈├─●──┤┈┈"
    assert interval_bar(0.0, 0.0, 0.3, 10) == "●──┤┈┈┈┈┈┈"
    assert interval_bar(0.6, 1.0, 1.0, 10) == "┈┈┈┈┈┈├──●"


# The page in a real browser


@pytest.fixture(scope="module")
def chromium() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("chromium is not installed")
    return found


def _seen_by(chromium: str, page: str, folder: Path) -> tuple[str, str]:
    """The page after its script ran, and what the browser logged."""
    file = folder / "report.html"
    file.write_text(page, encoding="utf-8")
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--enable-logging=stderr",
        f"--user-data-dir={folder}/profile",
    ]
    done = subprocess.run(
        [chromium, *options, "--dump-dom", file.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout, done.stderr


def test_the_filter_runs_under_the_policy_of_the_page(chromium: str, tmp_path: Path) -> None:
    page, log = _seen_by(chromium, render_observe(everyday_report(), "html"), tmp_path)
    assert "19 / 19" in page
    assert '<form id="filters" role="search"' in page  # no longer hidden
    assert "CONSOLE" not in log


def test_a_hostile_trace_runs_nothing_in_a_browser(chromium: str, tmp_path: Path) -> None:
    page, log = _seen_by(chromium, render_observe(hostile_report(" ".join(HOSTILE)), "html"), tmp_path)
    assert "<title>Gaps worth acting on</title>" in page
    assert "4 / 4" in page
    assert "CONSOLE" not in log

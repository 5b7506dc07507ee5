from __future__ import annotations

import re
import socket
from html import unescape
from pathlib import Path

import pytest
from bench.make_demo import files
from click.testing import CliRunner, Result

from knowbound.cli.main import knowbound
from knowbound.config import load
from knowbound.core.signal import Signal, SignalType, Status, TopicAnswer
from knowbound.demo import TRACES
from knowbound.gaps.stored import newest_report
from knowbound.report.model import ObserveReport
from knowbound.stats.figures import WARNING

SECRET = "not-a-real-secret"


def demo(home: Path) -> Result:
    return CliRunner().invoke(knowbound, ["demo"], env={"KNOWBOUND_HOME": str(home)}, catch_exceptions=False)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def shown(home: Path) -> str:
    result = demo(home)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(scope="module")
def stored(home: Path, shown: str) -> tuple[ObserveReport, list[Signal]]:
    report, signals = newest_report(load(home, environ={"KNOWBOUND_HOME": str(home / "demo")}))
    return report, list(signals)


@pytest.fixture(scope="module")
def report(stored: tuple[ObserveReport, list[Signal]]) -> ObserveReport:
    return stored[0]


@pytest.fixture(scope="module")
def signals(stored: tuple[ObserveReport, list[Signal]]) -> list[Signal]:
    return stored[1]


def test_the_report_carries_the_watermark(shown: str, report: ObserveReport) -> None:
    assert WARNING in shown
    assert report.watermark.sha256_8 in shown
    assert (report.totals.sessions, report.agents) == (14, {"claude-code": 10, "codex": 4})
    assert (report.totals.samples, report.watermark.samples) == (26, 25)


def test_it_names_a_page_that_needs_nothing_else(shown: str, home: Path, report: ObserveReport) -> None:
    page = home / "demo" / "report.html"
    assert f"Everything in a browser: {page}\n" in shown
    html = page.read_text("utf-8")
    assert WARNING in unescape(html)
    assert html.index("retry_budget") < html.index(report.watermark.sha256_8)
    assert all(link.startswith(("#", "data:")) for link in re.findall(r"\b(?:src|href)=[\"']([^\"']*)", html))
    assert not re.search(r"@import|\burl\(", html)


def test_the_command_for_the_traces_of_a_topic_works_as_printed(shown: str, report: ObserveReport) -> None:
    printed = re.search(r"KNOWBOUND_HOME=(\S+) knowbound (report --topic) ID", shown)
    assert printed is not None
    arguments = [*printed[2].split(), report.topics[0].id]
    result = CliRunner().invoke(knowbound, arguments, env={"KNOWBOUND_HOME": printed[1]}, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert f"{report.topics[0].examples[0].file}:{report.topics[0].examples[0].line}" in result.output


def test_every_source_and_every_status_is_there(report: ObserveReport) -> None:
    assert all(report.gap.by_type[type_] for type_ in SignalType)
    assert all(report.gap.by_status[status] for status in Status)


def test_most_samples_are_without_an_open_gap(report: ObserveReport) -> None:
    gap = report.gap
    assert (gap.open.k, gap.open_upper.k, gap.rate.k, gap.rate.n) == (5, 5, 13, 25)
    assert gap.open_weighted.sum < gap.open.k
    assert gap.weighted.sum < gap.rate.k


def test_what_should_be_written_down_stands_first(report: ObserveReport, shown: str) -> None:
    shown_first = [(topic.title, topic.sessions, topic.cost.calls, topic.endings) for topic in report.topics[:5]]
    assert shown_first == [
        ("retry_budget", 3, 12, {"found": 3}),
        ("revenue_schema", 2, 7, {"went_on": 1, "guessed": 1, "gave_up": 1}),
        ("refund_policy", 2, 5, {"guessed": 2}),
        ("staging_database", 2, 5, {"asked": 2}),
        ("services/orders/consumer.py", 2, 4, {"found": 2}),
    ]
    assert shown.index("What to write down") < shown.index("retry_budget · ") < shown.index("Test set")
    assert len(shown.partition("Test set")[0].splitlines()) <= 32, "the story is on one screen"


def test_a_topic_says_what_the_agent_wanted_and_where_the_answer_is(report: ObserveReport) -> None:
    budget, _, _, staging, consumer = report.topics[:5]
    assert budget.answer == [TopicAnswer("deploy/mail/limits.toml", 4, 3)]
    assert consumer.answer == [TopicAnswer("services/orders/queue/consumer.py", 0, 2)]
    assert staging.correction.startswith("It's orders_stage on db-3")
    assert [topic.title for topic in report.topics if not topic.said] == []


def test_checks_and_calls_that_were_wrong_or_about_nothing_are_no_topics(signals: list[Signal]) -> None:
    apart = {(signal.query, str(signal.status)) for signal in signals if not signal.topic and signal.query}
    assert apart == {
        ("charge_customer", "verification"),
        ("customer_charged", "verification"),
        ("MAX_TRIES", "verification"),
        ('customer_charged"', "malformed"),
        ("rollback", "incidental"),
        ("revenue_schema · revenue_schema|revenue_columns · revenueSchema|revenue_definition", "undecided"),
    }


def test_skills_are_found_by_call_command_and_file(report: ObserveReport) -> None:
    assert {row.name for row in report.skills} == {"general", "billing-change", "add-migration", "release-service"}


def test_some_knowledge_files_are_reached_and_some_are_not(report: ObserveReport) -> None:
    assert report.coverage.uncovered == [
        ".claude/knowledge/on-call.md", "docs/incident-2026-08.md", "docs/local-setup.md",
    ]  # fmt: skip
    assert (report.coverage.rate.k, report.coverage.rate.n) == (8, 11)
    assert report.coverage.loaded == ["AGENTS.md", "CLAUDE.md"], "the clients load these by themselves"


def test_what_is_no_gap_is_none(signals: list[Signal]) -> None:
    sought = [signal.query for signal in signals]
    assert not [query for query in sought if "restart" in query], "rejected by the user"
    assert not [query for query in sought if "notifier*.toml" in query], "timed out"
    assert not [query for query in sought if "event_id" in query], "given up with its sibling"
    assert not [query for query in sought if "carrier.md" in query], "a path that the user gave"


def test_the_sub_agents_misses_belong_to_the_turn_that_started_them(signals: list[Signal]) -> None:
    of_sub_agents = {(signal.query.rpartition("/")[2], signal.turn) for signal in signals if signal.agent_id}
    assert of_sub_agents == {("revenue_schema", 1), ("consumer.py", 1)}


def test_one_screen_ends_with_the_commands_to_try_next(shown: str) -> None:
    lines = shown.splitlines()
    assert len(lines) <= 40
    assert [line.split("  ")[1] for line in lines[-3:]] == ["knowbound", "knowbound fix ID", "knowbound serve"]


def test_what_was_left_out_is_in_the_page(shown: str, home: Path, report: ObserveReport) -> None:
    page = (home / "demo" / "report.html").read_text("utf-8")
    assert report.skipped == {"truncated": 1}
    assert [one.name for one in report.incomplete] == ["release-service"]
    assert "1 line skipped" in page
    assert "without a complete trace" in page
    assert "(1 incomplete)" in shown


def test_a_password_does_not_leave_the_trace(shown: str, home: Path) -> None:
    assert "[redacted:url-password]" in shown
    assert any(SECRET in file.read_text("utf-8") for file in TRACES.iterdir())
    for file in (home / "demo").iterdir():
        assert SECRET.encode() not in file.read_bytes(), file


def test_the_demo_works_without_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the demo reaches for the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert demo(tmp_path).exit_code == 0


def test_the_demo_is_the_same_wherever_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, report: ObserveReport
) -> None:
    (tmp_path / "knowbound.toml").write_text('knowledge = ["*.txt"]\nrepeated_failure_calls = 9\n', "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KNOWBOUND_KNOWLEDGE", "nothing/*.md")
    assert demo(tmp_path / "home").exit_code == 0
    again, _ = newest_report(load(tmp_path, environ={"KNOWBOUND_HOME": str(tmp_path / "home" / "demo")}))
    assert (again.gap, again.coverage) == (report.gap, report.coverage)


def test_the_demo_shows_the_same_every_time(home: Path, shown: str) -> None:
    def without_time(text: str) -> str:
        return re.sub(r"\d{4}-\d\d-\d\dT[\d:]+Z", "", text)

    assert without_time(demo(home).output) == without_time(shown)


def test_the_bundled_traces_are_those_that_the_script_writes() -> None:
    assert {file.name: file.read_text("utf-8") for file in TRACES.iterdir()} == files()
    assert sum(file.stat().st_size for file in TRACES.iterdir()) < 400_000

"""Stored runs and their topics; `--since` and the times of traces, however odd either is."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from knowbound.config import Settings
from knowbound.core.signal import Findings, Sample, Signal, SignalType, Status, Topic
from knowbound.core.trace import LeftOut
from knowbound.errors import InputError
from knowbound.gaps.lens import LensSettings
from knowbound.gaps.reading import read_session
from knowbound.gaps.stored import (
    Filters,
    at_root,
    folders_of,
    newest_report,
    newest_topic,
    project_at,
    project_of_root,
    signals_of,
    since,
    topics_by_cost,
)
from knowbound.store.observed import Observed
from knowbound.traces.corpus import SessionFiles
from knowbound.traces.sessions import SharedEvents
from tests.report_examples import everyday_report
from tests.transcripts import Transcript

_NOW = datetime(2026, 11, 16, 10, 0, 30, 5, tzinfo=UTC)


def _ended(tmp_path: Path, *times: str) -> str:
    transcript = Transcript()
    for number, time in enumerate(times):
        transcript.user(f"Question {number}?", timestamp=time).says("So.", timestamp=time)
    file = str(transcript.write(tmp_path))
    return read_session(SharedEvents(SessionFiles("claude-code", "s", (file,), {}, 1)), LensSettings())[0].ended


@pytest.mark.parametrize(
    ("written", "ended"),
    [
        ("2026-11-16T01:30:00+05:00", "2026-11-15T20:30:00Z"),
        ("2026-11-15 20:30:00", "2026-11-15T20:30:00Z"),
        ("2026-11-15T20:30:00.123456Z", "2026-11-15T20:30:00.123456Z"),
        ("zzz", ""), ("yesterday", ""), ("99999-01-01", ""), ("1763324888", ""), ("0001-01-01T00:00:00+14:00", ""),
        ("９０２６-11-15T20:30:00Z", ""),
    ],
)  # fmt: skip
def test_the_time_of_a_session_is_in_utc_or_unknown(written: str, ended: str, tmp_path: Path) -> None:
    assert _ended(tmp_path, written) == ended


def test_one_odd_time_does_not_make_a_session_new(tmp_path: Path) -> None:
    ended = _ended(tmp_path, "2025-01-01T10:00:00.000Z", "zzzz", "2025-01-01T23:00:00+14:00")
    assert ended == "2025-01-01T10:00:00.000Z"


@pytest.mark.parametrize(
    ("given", "moment"),
    [
        ("7d", "2026-11-09T10:00:00"), ("12h", "2026-11-15T22:00:00"), ("2026-11-01", "2026-11-01T00:00:00"),
        ("2026-11-16T01:30:00+05:00", "2026-11-15T20:30:00"), ("0999-01-01", "0999-01-01T00:00:00"),
    ],
)  # fmt: skip
def test_since_is_a_moment_in_utc_that_sorts_as_text(given: str, moment: str) -> None:
    assert since(given, _NOW) == moment


@pytest.mark.parametrize(
    "given", ["", "d", "²d", "99999999999d", "7" * 5000 + "d", "2026-13-01", "0001-01-01T00:00+14:00"]
)
def test_what_is_no_moment_is_refused(given: str) -> None:
    with pytest.raises(InputError, match="neither a span"):
        since(given, _NOW)


@pytest.mark.parametrize(
    ("written", "given", "admitted"),
    [
        ("2026-11-16T01:30:00+05:00", "2026-11-15T21:00:00Z", False),
        ("2026-11-15T19:30:00-05:00", "2026-11-15T21:00:00Z", True),
        ("2026-11-15T20:30:00Z", "0999-01-01", True),
        ("zzz", "2026-11-15", False),
    ],
)
def test_a_session_is_admitted_by_its_time_whatever_the_zone(
    written: str, given: str, admitted: bool, tmp_path: Path
) -> None:
    found = Findings("s", "claude-code", ended=_ended(tmp_path, written))
    assert Filters(since=since(given)).admits(found) is admitted


@pytest.mark.parametrize(
    ("project", "folder", "admitted"),
    [
        ("/work/shop", "/work/shop/api", True), ("/work/shop", "/work/shopping", False),
        ("shop", "/work/shop/api", True), ("shop", "/work/shopping", False), ("", "/work/shopping", True),
    ],
)  # fmt: skip
def test_a_session_is_of_a_project_by_its_folder_or_by_a_name_in_it(project: str, folder: str, admitted: bool) -> None:
    assert Filters(project=project).admits(Findings("s", "codex", project=folder)) is admitted


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A stored run with three topics of two projects."""
    topics = [
        Topic(id="1", title="refundWindow", project="shop", saves=1.0),
        Topic(id="2", title="vatRates", project="shop", saves=3.0),
        Topic(id="3", title="invoiceTotals", project="billing", saves=2.0),
    ]
    Observed(tmp_path).keep_run("observe", "2026-11-01", "c", [], everyday_report(topics=topics))
    return Settings(root=tmp_path, home=tmp_path)


def test_topics_come_in_pages_the_most_worthwhile_first(settings: Settings) -> None:
    first = topics_by_cost(settings, most=2)
    assert ([one.id for one in first.rows], first.after) == (["2", "3"], "2")
    last = topics_by_cost(settings, most=2, after=first.after)
    assert ([one.id for one in last.rows], last.after) == (["1"], "")


def test_topics_are_those_of_the_project_asked_for(settings: Settings) -> None:
    assert [one.id for one in topics_by_cost(settings, project="shop").rows] == ["2", "1"]


def test_an_unknown_topic_is_refused_with_the_nearest_topic(settings: Settings) -> None:
    with pytest.raises(InputError, match=r"No topic 'vatRate' .* Did you mean 2 \(vatRates\)\? It has 3 topics"):
        newest_topic(settings, "vatRate")


@pytest.mark.parametrize(("skill", "samples"), [("", ["s#1", "s#2"]), ("ship", ["s#2"]), ("review", [])])
def test_signals_are_those_of_answered_samples_of_the_skill_asked_for(
    tmp_path: Path, skill: str, samples: list[str]
) -> None:
    """The third sample was never answered."""
    found = Findings("s", "codex")
    for number, name, answered in ((1, "general", 1), (2, "ship", 1), (3, "ship", 0)):
        found.samples.append(Sample(f"s#{number}", name, answered=answered))
        found.signals.append(Signal(SignalType.FAILED_SEARCH, Status.OPEN, "s", number, f"s#{number}"))
    store = Observed(tmp_path)
    store.keep_sessions([("k", "s", "read", msgspec.msgpack.encode([found]))])
    given = signals_of(store, ["k"], Filters(skill=skill), everyday_report(topics=[]))
    assert [signal.sample for signal in given] == samples


@pytest.mark.parametrize("mark", ["CLAUDE.md", ".git", "go.mod"])
def test_a_folder_with_a_mark_is_a_project_and_a_home_folder_is_none(
    mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert project_at(tmp_path) == ""
    (tmp_path / mark).mkdir()
    assert project_at(tmp_path) == str(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert project_at(tmp_path) == ""


@pytest.mark.parametrize(
    ("folders", "is_given", "project"),
    [
        (["/elsewhere/wiki", "/work/shop/api"], False, "api"),
        (["/elsewhere/shop"], False, "shop"),  # by name
        (["/elsewhere/wiki", "/elsewhere/wiki", "/elsewhere/billing"], True, "wiki"),
        (["/elsewhere/wiki"], False, ""),
        ([], True, ""),
        (["/work/shop/.worktrees/x"], False, "shop"),
        (["", "/elsewhere/wiki"], True, ""),
    ],
)
def test_the_project_of_a_root_is_known_by_folder_by_name_or_by_most_sessions(
    folders: list[str], is_given: bool, project: str
) -> None:
    assert project_of_root(folders, Path("/work/shop"), is_given) == project


def test_a_session_below_the_root_counts_there() -> None:
    assert at_root("/work/shop/api", ("/link/shop", "/work/shop")) == "/link/shop"
    assert at_root("/work/shopping", ("/link/shop", "/work/shop")) == "/work/shopping"
    assert folders_of(Path("/"))[0] == "/"


@pytest.mark.parametrize(
    ("filters", "why"),
    [
        (Filters(), None),
        (Filters(project="wiki", agent="x"), LeftOut.OTHER_PROJECT),
        (Filters(agent="claude-code"), LeftOut.OTHER_AGENT),
        (Filters(agent="codex"), None),
        (Filters(since="2026-11-02"), LeftOut.BEFORE),
        (Filters(since="2026-11-01"), None),
        (Filters(since="2026-11-01T00:00:00"), LeftOut.BEFORE),
    ],
)
def test_a_session_is_left_out_for_the_first_reason(filters: Filters, why: LeftOut | None) -> None:
    found = Findings("s", "codex", project="/work/shop", ended="2026-11-01")
    assert (filters.why_not(found), filters.admits(found)) == (why, why is None)
    assert Filters(since="2026").why_not(Findings("s", "codex")) is LeftOut.BEFORE  # without any time


def test_only_filters_that_were_given_are_shown() -> None:
    assert Filters().shown() == {}
    assert Filters(since="x", skill="ship").shown() == {"since": "x", "skill": "ship"}


def test_pages_begin_where_the_last_one_ended(settings: Settings) -> None:
    assert [one.id for one in topics_by_cost(settings, after="1").rows] == ["3", "1"]
    assert [one.id for one in topics_by_cost(settings, after="x").rows] == ["2", "3", "1"]
    assert topics_by_cost(settings, most=3).after == ""


def test_where_no_run_or_no_topic_is_stored_the_next_command_is_named(tmp_path: Path, settings: Settings) -> None:
    with pytest.raises(InputError, match=r"No stored run in .* Try: knowbound observe, or knowbound eval"):
        newest_report(Settings(root=tmp_path, home=tmp_path / "other"))
    Observed(tmp_path).keep_run("observe", "2026-11-02", "d", [], everyday_report(topics=[]))
    with pytest.raises(InputError, match="It has no topics"):
        newest_topic(settings, "x")


def test_a_run_of_an_earlier_version_has_no_topics_and_says_so(tmp_path: Path, settings: Settings) -> None:
    old = everyday_report(topics=[Topic(title="query")], warnings=["first"])
    Observed(tmp_path).keep_run("observe", "2026-11-02", "d", [], old)
    report, _ = newest_report(settings)
    assert (report.topics, report.warnings[0], "knew no topics" in report.warnings[1]) == ([], "first", True)


@pytest.mark.parametrize(("name", "hint"), [("WINDOW", "Did you mean 1 (refundWindow)?"), ("zzz", "observe. It has 3")])
def test_a_part_of_a_title_leads_to_the_topic(settings: Settings, name: str, hint: str) -> None:
    with pytest.raises(InputError) as error:
        newest_topic(settings, name)
    assert hint in str(error.value)

"""`--since` and the times of traces, however odd either is."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from knowbound.core.signal import Findings
from knowbound.errors import InputError
from knowbound.gaps.reading import LensSettings, read_session
from knowbound.gaps.stored import Filters, since
from knowbound.traces.corpus import SessionFiles
from knowbound.traces.sessions import SharedEvents
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

"""Files that are made to fill memory, to wait for, or to hide the others: the rest of the folder is reported."""

from __future__ import annotations

import gzip
import json
import os
import resource
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from knowbound.gaps.lens import LensSettings
from knowbound.gaps.reading import read_session
from knowbound.traces.corpus import SessionFiles
from knowbound.traces.sessions import SharedEvents
from knowbound.traces.source import MAX_LINE_BYTES, SHOWN_SKIPPED, Tally, open_bytes, read_head, read_lines
from tests.transcripts import Transcript

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_MEGABYTE = 1024 * 1024
_START = '{"type":"user","sessionId":"bomb","uuid":"u","message":{"role":"user","content":"hi"}}\n'


def _observe(folder: Path, home: Path, *, megabytes: int = 600, seconds: int = 100) -> dict[str, Any]:
    """The report of a folder, by a real process with a limit of memory and of time."""
    limit = megabytes * _MEGABYTE
    ran = subprocess.run(
        [Path(sys.executable).parent / "knowbound", "observe", folder, "--format", "json"],
        capture_output=True,
        env={"PATH": os.environ["PATH"], "HOME": str(home), "KNOWBOUND_HOME": str(home / "data")},
        cwd=folder,
        timeout=seconds,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        check=False,
    )
    assert ran.returncode == 0, ran.stderr.decode()
    report: dict[str, Any] = json.loads(ran.stdout)
    return report


def _good(folder: Path) -> None:
    transcript = Transcript().user("Where is the retry budget?").calls("Grep", {"pattern": "retry_budget"}, "t1")
    transcript.result("t1", "No files found").says("It is in budget.py.").write(folder, "good.jsonl")


def _endless(text: bytes, megabytes: int) -> Iterator[bytes]:
    yield _START.encode()
    part = text * (_MEGABYTE // len(text))
    for _ in range(megabytes):
        yield part


@pytest.mark.parametrize("text", [b"{\n", b"a", pytest.param(b'{"type":"user"}\n', marks=pytest.mark.long)])
def test_a_bomb_takes_little_memory_and_hides_no_other_file(text: bytes, tmp_path: Path) -> None:
    traces = tmp_path / "traces"
    traces.mkdir()
    _good(traces)
    compressor = zstd.ZstdCompressor(level=1)
    with (traces / "bomb.jsonl.zst").open("wb") as file:
        for part in _endless(text, 1200):
            file.write(compressor.compress(part))
        file.write(compressor.flush())
    assert (traces / "bomb.jsonl.zst").stat().st_size < _MEGABYTE
    report = _observe(traces, tmp_path)
    assert report["totals"]["sessions"] == 2
    assert report["gap"]["rate"]["k"] == 1
    said = " ".join(report["skipped"])
    assert "100 times its size" in said or "most of its lines are no trace" in said
    assert any(one["path"].endswith("bomb.jsonl.zst") for one in report["skipped_examples"])


def test_what_compresses_well_is_read_whole(tmp_path: Path) -> None:
    content = _START.encode() * 200_000  # 17 MB in 90 KB
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(content))
    tally = Tally()
    assert sum(1 for _ in read_lines(tmp_path / "a.jsonl.gz", tally)) == 200_000
    assert tally.skipped == []


def test_skipped_lines_are_counted_and_only_the_first_are_kept(tmp_path: Path) -> None:
    path = Transcript().user("hi").says("ho").write(tmp_path, "a.jsonl")
    with path.open("a") as file:
        file.write("{broken\n" * 4_000)
    found = read_session(SharedEvents(SessionFiles("claude-code", "s", (str(path),), {}, 1)), LensSettings())[0]
    assert len(found.skipped) == SHOWN_SKIPPED
    assert found.skipped_by_reason == {"truncated": 4_000}
    assert _observe(tmp_path, tmp_path / "home")["totals"]["skipped_lines"] == 4_000


@pytest.mark.long
def test_a_line_of_a_million_hedges_fits_into_memory(tmp_path: Path) -> None:
    traces = tmp_path / "traces"
    traces.mkdir()
    Transcript().user("Why?").says("It may be so. " * (15 * _MEGABYTE // 14)).write(traces, "a.jsonl")
    assert _observe(traces, tmp_path)["totals"]["sessions"] == 1


def test_a_line_that_nests_millions_of_lists_is_oversized(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(_START + '{"type":"assistant","x":[' + "[]," * 5_000_000 + "[]]}\n" + _START)
    tally = Tally()
    assert len(list(read_lines(path, tally))) == 2
    assert [one.reason for one in tally.skipped] == ["oversized"]


def test_an_endless_line_is_passed_over_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(_START + "x" * (3 * MAX_LINE_BYTES) + "\n" + _START)
    tally = Tally()
    assert [number for number, _ in read_lines(path, tally)] == [1, 3]


def test_what_is_no_file_hides_no_file(tmp_path: Path) -> None:
    traces = tmp_path / "t"
    traces.mkdir()
    _good(traces)
    os.mkfifo(traces / "pipe.jsonl")
    (traces / "folder.jsonl").mkdir()
    (traces / "loop.jsonl").symlink_to("loop.jsonl")
    (traces / "nothing.jsonl").symlink_to("gone.jsonl")
    (traces / "cut.jsonl.gz").write_bytes(gzip.compress(_START.encode() * 100)[:-20])
    (traces / "damaged.jsonl.zst").write_bytes(b"\x28\xb5\x2f\xfd" + b"\xff" * 100)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(traces / "socket.jsonl"))
        report = _observe(traces, tmp_path)
    assert report["gap"]["rate"]["k"] == 1
    said = " ".join([*report["warnings"], *report["unrecognised"], *map(str, report["skipped_examples"])])
    for name in ("pipe.jsonl", "loop.jsonl", "nothing.jsonl", "cut.jsonl.gz", "damaged.jsonl.zst", "socket.jsonl"):
        assert name in said, name


def test_a_name_that_is_no_text_hides_no_file(tmp_path: Path) -> None:
    traces = tmp_path / "t"
    traces.mkdir()
    _good(traces)
    for name in (b"bad\xff.jsonl", b"bad\xff/bad.jsonl"):
        path = os.path.join(os.fsencode(traces), name.replace(b"bad\xff/", b"folder\xff/"))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        Path(os.fsdecode(path)).write_text(_START)
    knowledge = os.path.join(os.fsencode(traces), b"k\xff")
    os.mkdir(knowledge)
    Path(os.fsdecode(knowledge), "CLAUDE.md").write_text("# Limits\n")
    report = _observe(traces, tmp_path)
    assert report["gap"]["rate"]["k"] == 1
    assert sum("not UTF-8" in words for words in report["warnings"]) == 3


def test_a_pipe_that_took_the_place_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.jsonl")
    with pytest.raises(OSError, match="no regular file"):
        open_bytes(tmp_path / "a.jsonl")
    with pytest.raises(OSError, match="no regular file"):
        read_head(tmp_path / "a.jsonl")


def test_a_session_that_cannot_be_read_is_named_and_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from knowbound.config import Settings
    from knowbound.gaps import reading
    from knowbound.gaps.observe import observe

    _good(tmp_path)
    Transcript(session="99999999-2222-4333-8444-555555555555").user("Why?").says("So.").write(tmp_path, "bad.jsonl")
    usual = reading.findings_of

    def failing(events: Any, first: Any, files: list[str], settings: Any) -> Any:
        if any(file.endswith("bad.jsonl") for file in files):
            raise MemoryError
        return usual(events, first, files, settings)

    monkeypatch.setattr(reading, "findings_of", failing)
    report, _ = observe([tmp_path], Settings(root=tmp_path, home=tmp_path / ".knowbound"))
    assert report.gap.rate.k == 1
    assert [(one.path, one.reason) for one in report.skipped_examples] == [
        (str(tmp_path / "bad.jsonl"), "a defect of ours: MemoryError")
    ]

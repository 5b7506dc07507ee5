from __future__ import annotations

import math
import os
import time
from pathlib import Path

import pytest

from knowbound.agent.hook import process as hook_process
from knowbound.agent.hook.process import seconds_since_start

pytestmark = pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="the kernel does not say when")


def stat(path: Path, name: str, seconds_ago: float) -> str:
    """A file as proc(5) describes it, of a process that was started so long ago."""
    ticks = (time.clock_gettime(time.CLOCK_BOOTTIME) - seconds_ago) * os.sysconf("SC_CLK_TCK")
    path.write_text(f"4711 ({name}) S {' '.join(str(field) for field in range(4, 22))} {math.floor(ticks)} 23 24 25\n")
    return str(path)


@pytest.mark.parametrize("name", ["python", "a b", "tricky) R 1 2 (3"])
def test_the_start_is_what_the_kernel_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(hook_process, "_STAT", stat(tmp_path / "stat", name, 5000.0))
    assert seconds_since_start() >= 5000.0
    assert seconds_since_start() < 5000.0 + time.monotonic()


def test_the_start_of_this_process_is_in_the_past_and_does_not_follow_the_date(monkeypatch: pytest.MonkeyPatch) -> None:
    before = seconds_since_start()
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert 0 < before <= seconds_since_start()


@pytest.mark.parametrize("content", [None, "", "4711 (python) S 1 2 3", "4711 (python) " + "x " * 40])
def test_where_the_kernel_does_not_say_it_the_cpu_time_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str | None
) -> None:
    path = tmp_path / "stat"
    if content is not None:
        path.write_text(content)
    monkeypatch.setattr(hook_process, "_STAT", str(path))
    monkeypatch.setattr(time, "process_time", lambda: 1.25)
    assert seconds_since_start() == 1.25


@pytest.mark.parametrize("ago", [-3600.0, 30 * 24 * 3600.0])
def test_a_start_in_the_future_or_long_ago_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ago: float
) -> None:
    """Some sandboxes have a clock of another machine there."""
    monkeypatch.setattr(hook_process, "_STAT", stat(tmp_path / "stat", "python", ago))
    monkeypatch.setattr(time, "process_time", lambda: 1.25)
    assert seconds_since_start() == 1.25

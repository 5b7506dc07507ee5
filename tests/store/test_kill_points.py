"""A small sample of bench/kills.py: real processes, killed by strace at their write system calls."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from bench.kills import WRITERS, Writer, measure

pytestmark = [
    pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed"),
    pytest.mark.long,
]


@pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: writer.name)
def test_a_writer_that_is_killed_loses_nothing(writer: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "user" / "state"))
    (tmp_path / "data").mkdir()
    killed = measure(writer, tmp_path / "data", 5)
    assert killed.tried > 3
    assert killed.lost == []

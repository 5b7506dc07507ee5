"""The labels of real turns: ids and answers in the repository, no text of the sessions."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from bench import real_turns
from bench.turn_sets import REAL, all_sets


def test_only_ids_and_labels_are_kept() -> None:
    rows = [json.loads(line) for line in REAL.read_text().splitlines()]
    assert rows
    for row in rows:
        assert list(row) == ["turn", "item", "on_topic", "used", "contradicted"]
        assert re.fullmatch(r"[\w-]+/\d+", row["turn"])
        assert re.fullmatch(r"q[0-9a-f]{10}", row["item"])
        assert all(isinstance(row[name], bool) for name in ("on_topic", "used", "contradicted"))


def test_without_the_traces_there_are_no_real_turns_and_the_reason_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(real_turns, "TRACES", tmp_path / "traces")
    assert real_turns.real_turns() == []
    assert "skipped" in capsys.readouterr().err


def test_the_written_sets_have_no_real_turn() -> None:
    assert not any(turn.is_real for turn in all_sets())

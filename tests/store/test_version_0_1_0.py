"""Databases that an earlier version wrote open here, and every report about them is the same."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from knowbound.cli.main import main
from knowbound.demo import PROJECT

STORED = Path(__file__).parent / "version_0_1_0"
# `report` shows the newest run: later ones are taken away to see those before it.
LATER = {"investigation": (), "evaluation": ("investigation",), "observe": ("investigation", "evaluation")}


@pytest.mark.parametrize("expected", sorted((STORED / "expected").iterdir()), ids=lambda path: path.stem)
def test_a_data_folder_of_0_1_0_shows_the_same(
    expected: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    case = json.loads(expected.read_text("utf-8"))
    home = tmp_path / "project" / ".knowbound"
    shutil.copytree(PROJECT, tmp_path / "project")
    home.mkdir()
    for database in STORED.glob("*.db"):
        shutil.copy(database, home)
    with closing(sqlite3.connect(home / "knowbound.db", isolation_level=None)) as db:
        db.executemany("DELETE FROM run WHERE kind = ?", [(kind,) for kind in LATER[case["newest"]]])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(case["arguments"])
    printed = capsys.readouterr()
    assert ended.value.code == 0, printed.err
    shown = json.loads(printed.out)
    if case["newest"] == "observe":  # its topics were only queries, and no topics as they are known now
        assert case["output"].pop("topics")
        assert shown["topics"] == []
        assert shown["warnings"][-1].endswith("To see them: knowbound observe")
        case["output"]["warnings"].append(shown["warnings"][-1])
    if shown["format"] == "knowbound.search/1":  # the same items; their order is that of today's ranker
        assert shown["results"][0]["id"] == case["output"]["results"][0]["id"]
        for document in (shown, case["output"]):
            document["results"].sort(key=lambda result: result["id"])
    if "more_samples" in case["output"]:  # a verdict about answers now, with the samples that find it in 4 of 5 cases
        assert shown["more_samples"] > case["output"].pop("more_samples")
        assert case["output"].pop("words") != shown["words"]
    assert_holds(shown, case["output"], "$")


def assert_holds(now: Any, then: Any, path: str) -> None:
    """Everything that was there is there with the same value; keys may be added."""
    if isinstance(then, dict):
        assert isinstance(now, dict), path
        assert then.keys() <= now.keys(), path
        for key, value in then.items():
            assert_holds(now[key], value, f"{path}.{key}")
    elif isinstance(then, list):
        assert isinstance(now, list), path
        assert len(now) == len(then), path
        for number, value in enumerate(then):
            assert_holds(now[number], value, f"{path}[{number}]")
    elif not (isinstance(then, str) and then in ("<seconds>", "<score>", "<version>")):
        assert now == then, path

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from knowbound.store.data_dir import FINDINGS
from knowbound.store.judges import ModelAnswers


@pytest.fixture
def answers(tmp_path: Path) -> ModelAnswers:
    return ModelAnswers(tmp_path / ".knowbound")


def test_answers_are_kept_by_prompt_model_and_input(answers: ModelAnswers) -> None:
    answers.keep_answer("rubric-1", "openai:x", "ff", b"{}")
    assert answers.answer("rubric-1", "openai:x", "ff") == b"{}"
    assert answers.answer("rubric-2", "openai:x", "ff") is None
    assert answers.answer("rubric-1", "openai:y", "ff") is None


def test_answers_are_kept_for_some_days_and_those_of_earlier_versions_for_ever(tmp_path: Path) -> None:
    first = ModelAnswers(tmp_path)
    for number in range(3):
        first.keep_answer("p", "m", str(number), b"{}")
    with closing(sqlite3.connect(tmp_path / FINDINGS)) as db:
        db.execute("UPDATE answer SET made = '2020-01-01' WHERE sha256 = '0'")
        db.execute("UPDATE answer SET made = '' WHERE sha256 = '1'")
        db.commit()
    later = ModelAnswers(tmp_path, keep_days=30)
    assert [later.answer("p", "m", str(number)) for number in range(3)] == [None, b"{}", b"{}"]


def test_nothing_is_opened_before_it_is_needed(tmp_path: Path) -> None:
    ModelAnswers(tmp_path / "not-there", keep_days=3)
    assert not (tmp_path / "not-there").exists()

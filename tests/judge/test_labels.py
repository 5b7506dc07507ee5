from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench.labels import is_aside
from hypothesis import given
from hypothesis import strategies as st

from knowbound.errors import InputError, StoreError
from knowbound.judge.labels import HEDGING, RUBRIC, Label, append_label, kept_aside, read_labels, take_back


def written(path: Path, *rows: object) -> Path:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), "utf-8")
    return path


def test_a_label_comes_back_as_it_was_written(tmp_path: Path) -> None:
    label = Label("It may be cached.", True, context="See. It may be cached.", by="ada", session="s1", weight=0.5)
    append_label(tmp_path / "deep" / "labels.jsonl", label)
    found = read_labels(tmp_path / "deep" / "labels.jsonl")
    assert found.labels == (label,)
    assert len(found.sha256_8) == 8


def test_sentences_with_their_session_are_labels_too(tmp_path: Path) -> None:
    row = {"session": "s1", "message_id": "m1", "sentence": "It may be.", "uncertain": True, "sure": False}
    assert read_labels(written(tmp_path / "l.jsonl", row)).labels == (Label("It may be.", True, session="s1"),)


def test_the_newest_label_of_a_text_wins_and_disagreement_is_counted(tmp_path: Path) -> None:
    path = written(
        tmp_path / "l.jsonl",
        {"text": "a", "label": True, "time": "2026-11-02T00:00:00Z"},
        {"text": "a", "label": False, "time": "2026-11-01T00:00:00Z"},  # written later, given earlier
        {"text": "b", "label": True},
        {"text": "b", "label": False},  # no time: the place decides
        {"text": "c", "label": True},
        {"text": "c", "label": True},
        {"text": "d", "label": True},
    )
    found = read_labels(path)
    assert {label.text: label.label for label in found.labels} == {"a": True, "b": False, "c": True, "d": True}
    assert (found.repeated, found.disagreements) == (3, 2)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"text": "a", "label": tr', "truncated"),
        ('["a", true]', "object"),
        ('{"text": "a"}', "label"),
        ('{"label": true}', "text"),
        ('{"text": "a", "label": "yes"}', "label"),
        ('{"text": "a", "label": 1}', "true or false"),
        ('{"text": "  ", "label": true}', "empty"),
        ('{"text": "a", "label": true, "weight": 0}', "weight"),
        ('{"sentence": "a"}', "label"),
        ('{"text": "a", "label": true, "question": "rubric", "rubric": "r"}', "1 to 5"),
        ('{"text": "a", "label": 6, "question": "rubric", "rubric": "r"}', "1 to 5"),
        ('{"text": "a", "label": 5, "question": "rubric"}', "rubric"),
    ],
)
def test_a_line_that_is_no_label_is_named_with_its_place(tmp_path: Path, line: str, why: str) -> None:
    path = written(tmp_path / "l.jsonl", {"text": "fine", "label": True}, "", line)
    with pytest.raises(InputError, match=why) as caught:
        read_labels(path)
    assert caught.value.slug == "bad-labels"
    assert "l.jsonl:3 " in str(caught.value)


def test_bytes_that_are_no_text_are_a_broken_line(tmp_path: Path) -> None:
    (tmp_path / "l.jsonl").write_bytes(b'{"text": "\xff", "label": true}\n')
    with pytest.raises(InputError) as caught:
        read_labels(tmp_path / "l.jsonl")
    assert caught.value.slug == "bad-labels"


def test_without_a_label_about_the_question_there_is_nothing_to_calibrate_with(tmp_path: Path) -> None:
    for path in (
        tmp_path / "none.jsonl",
        written(tmp_path / "empty.jsonl"),
        written(tmp_path / "l.jsonl", {"text": "a", "label": True}),
    ):
        with pytest.raises(InputError) as caught:
            read_labels(path, RUBRIC)
        assert caught.value.slug == "no-labels"
    with pytest.raises(InputError) as caught:
        read_labels(tmp_path)
    assert caught.value.slug == "no-such-path"


def test_each_question_has_its_own_labels(tmp_path: Path) -> None:
    path = written(
        tmp_path / "l.jsonl",
        {"text": "a", "label": True},
        {"text": "a", "label": 2, "question": RUBRIC, "rubric": "is short"},
        {"text": "a", "label": 5, "question": RUBRIC, "rubric": "is polite"},
    )
    assert [label.label for label in read_labels(path, HEDGING).labels] == [True]
    assert [label.label for label in read_labels(path, RUBRIC).labels] == [2, 5]
    assert read_labels(path, RUBRIC).disagreements == 0


def test_a_last_line_that_was_not_ended_does_not_swallow_the_next_label(tmp_path: Path) -> None:
    path = tmp_path / "l.jsonl"
    path.write_text('{"text": "a", "label": true}', "utf-8")
    append_label(path, Label("b", False))
    assert [label.text for label in read_labels(path).labels] == ["a", "b"]


def test_only_the_label_that_stands_last_is_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "l.jsonl"
    first = append_label(path, Label("a", True))
    second = append_label(path, Label("b", True))
    assert not take_back(path, first)
    assert take_back(path, second)
    assert take_back(path, first)
    assert path.read_bytes() == b""
    assert not take_back(path, first)


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError) as caught:
        append_label(tmp_path / "file" / "labels.jsonl", Label("a", True))
    assert caught.value.slug == "store-unwritable"


@given(st.lists(st.text(min_size=1), unique=True), st.floats(0.01, 1), st.floats(0.01, 1))
def test_a_smaller_part_kept_aside_lies_in_a_larger_one(sessions: list[str], one: float, other: float) -> None:
    labels = [Label("a", True, session=session) for session in sessions]
    smaller, larger = (set(kept_aside(labels, fraction)) for fraction in sorted((one, other)))
    assert smaller <= larger
    assert kept_aside(labels, 1) == tuple(labels)


@given(st.text(min_size=1))
def test_a_quarter_kept_aside_is_the_one_that_the_rules_never_saw(session: str) -> None:
    assert bool(kept_aside([Label("a", True, session=session)], 0.25)) == is_aside(session)


def test_labels_without_a_session_are_kept_aside_by_their_text() -> None:
    labels = [Label(f"Sentence {number}.", True) for number in range(400)]
    assert 60 < len(kept_aside(labels, 0.25)) < 140

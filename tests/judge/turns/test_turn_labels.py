from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from knowbound.core.quality import ItemVerdict, JudgedItem, Metric
from knowbound.errors import InputError
from knowbound.judge.labels import (
    ItemLabel,
    UnlabelledTurn,
    append_turn,
    given_turns,
    labelled_ids,
    read_turn_labels,
    take_back,
)
from tests.turn_examples import labelled, write_labels

ROW: dict[str, Any] = {
    "id": "t1",
    "prompt": "Which port?",
    "items": [{"id": "a", "content": "The port is 1.", "source": "sqlite", "confidence": 0.7}],
    "response": "2.",
    "tool_calls": [{"name": "Read", "input": {"file_path": "x"}, "output": "port = 2"}],
    "labels": {"a": {"on_topic": True, "used": False, "contradicted": True, "why": "says 2"}},
    "correction": {"a": "The port is 2."},
}


def rows(path: Path, *given: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in given), "utf-8")
    return path


def test_labelled_turns_of_others_are_read_with_what_we_do_not_know_left_out(tmp_path: Path) -> None:
    found = read_turn_labels(rows(tmp_path / "l.jsonl", ROW))
    (turn,) = found.labels
    assert turn.labels == {"a": ItemLabel(True, False, True)}
    assert turn.judged.tool_calls[0].output == "port = 2"
    assert (len(turn.labels), found.repeated, turn.weight, turn.session) == (1, 0, 1.0, "")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"labels": {}}, "no item has a label"),
        ({"labels": {"b": ROW["labels"]["a"]}}, "there is no item 'b' to label"),
        ({"labels": {"a": {"on_topic": True, "used": False}}}, "contradicted"),
        ({"labels": {"a": {"on_topic": 1, "used": False, "contradicted": False}}}, "Expected `bool`"),
        ({"items": []}, "there is no item"),
        ({"items": ROW["items"] * 2}, "two items have the same id"),
        ({"id": ""}, "the id is empty"),
        ({"weight": 0}, "the weight must be more than 0"),
        ({"weight": -1}, "the weight must be more than 0"),
        ({"prompt": None}, "Expected `str`"),
    ],
)
def test_a_line_that_is_no_labelled_turn_is_named(tmp_path: Path, change: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=r"l\.jsonl:2 is no turn") as error:
        read_turn_labels(rows(tmp_path / "l.jsonl", {**ROW, "id": "t0"}, ROW | change))
    assert why in str(error.value)
    assert error.value.slug == "bad-labels"


@pytest.mark.parametrize("data", [b"{", b"\xff\xfe\n", b"[]\n", b'"x"\n', b"\xed\xa0\x80\n"])
def test_what_is_no_json_is_named(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "l.jsonl").write_bytes(data)
    with pytest.raises(InputError, match=r"l\.jsonl:1"):
        read_turn_labels(tmp_path / "l.jsonl")


def test_without_labels_the_next_command_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.jsonl", rows(tmp_path / "empty.jsonl")):
        with pytest.raises(InputError, match="judge label --question turns") as error:
            read_turn_labels(path)
        assert error.value.slug == "no-labels"
    assert labelled_ids(tmp_path / "missing.jsonl") == frozenset()


def test_the_newest_labels_of_a_turn_count(tmp_path: Path) -> None:
    old = labelled(1, (True, True, True), time="2026-11-02T00:00:00Z")
    new = labelled(1, (True, True, False), time="2026-11-03T00:00:00Z")
    same = labelled(2, (True, False, False))
    found = read_turn_labels(write_labels(tmp_path / "l.jsonl", [new, old, same, same]))
    assert [turn.labels[f"{turn.id.replace('t', 'i')}-0"].contradicted for turn in found.labels] == [False, False]
    assert (found.repeated, found.disagreements) == (2, 1)


def test_labels_of_one_session_are_alike_else_those_of_one_turn() -> None:
    alone = labelled(1, (True, True, False), (False, False, False), weight=2.0)
    verdicts = [ItemVerdict("i1-0", True, False, False)]
    pairs = alone.pairs(verdicts, Metric.USED)
    assert [(pair.label, pair.verdict, pair.weight, pair.session) for pair in pairs] == [
        (True, False, 2.0, "t1"),
        (False, None, 2.0, "t1"),
    ]
    assert labelled(1, (True, True, False), session="s9").pairs(verdicts, Metric.USED)[0].session == "s9"


def test_labels_are_private_durable_lines_without_secrets_and_can_be_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "turn-labels.jsonl"
    secret = "ghp_" + "a1B2" * 9
    turn = UnlabelledTurn(
        id="t1",
        prompt=secret,
        items=(JudgedItem("a", f"Token {secret}"),),
        response=f"password=hunter2hunter2 {secret}",
    )
    append_turn(path, turn, {"a": ItemLabel(True, True, False)}, "ada", "2026-11-16T00:00:00Z")
    second = append_turn(path, turn, {"a": ItemLabel(True, True, True)}, "ada", "2026-11-17T00:00:00Z")
    assert path.stat().st_mode & 0o777 == 0o600
    text = path.read_text("utf-8")
    assert secret not in text
    assert "hunter2" not in text
    assert len(text.splitlines()) == 2
    assert take_back(path, second)
    (kept,) = read_turn_labels(path).labels
    assert (kept.by, kept.labels["a"].contradicted) == ("ada", False)


def test_given_turns_are_those_without_labels_each_once(tmp_path: Path) -> None:
    path = rows(tmp_path / "g.jsonl", ROW, {**ROW, "id": "t2"}, {**ROW, "id": "t2"})
    assert [turn.id for turn in given_turns(path, {"t1"})] == ["t2"]
    with pytest.raises(InputError, match="no turn that is not labelled yet"):
        given_turns(path, {"t1", "t2"})

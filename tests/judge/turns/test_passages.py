"""A turn of any size is cut to a bounded one by stated rules."""

from __future__ import annotations

from knowbound.core.quality import JudgedCall, JudgedItem, JudgedTurn
from knowbound.judge.turns import passages
from knowbound.judge.turns.features import turn_features
from knowbound.judge.turns.passages import TurnText, cut, input_lines


def size(several: passages.Passages) -> int:
    return sum(len(one.text) for one in several.all)


def test_of_a_long_text_the_first_and_the_last_half_stay() -> None:
    assert cut("a" * 10 + "b" * 10 + "c" * 10, 20) == "a" * 10 + "\n" + "c" * 10
    assert cut("short", 20) == "short"


def test_a_huge_turn_is_cut() -> None:
    line = "The parcel queue holds 400 entries per worker.\n"
    call = JudgedCall("Bash", {"command": line * 10_000}, line * 100_000)
    turn = TurnText(JudgedTurn("t", line * 5_000, line * 5_000, (JudgedItem("i", line * 500),), (call,) * 300))
    assert len(turn.calls) == passages.MOST_CALLS
    assert size(turn.prompt) <= passages.MOST_OF_A_TEXT
    assert size(turn.response) <= passages.MOST_OF_A_TEXT
    assert size(turn.items[0]) <= passages.MOST_OF_AN_ITEM
    for text in (turn.prompt, turn.response, turn.inputs, turn.outputs):
        assert len(text.all) <= passages.MOST_PASSAGES


def test_a_line_without_end_is_cut() -> None:
    turn = TurnText(JudgedTurn("t", "x", "word " * 40_000, (JudgedItem("i", "word"),)))
    assert all(len(one.text) <= passages.LONGEST for one in turn.response.all)


def test_the_end_of_a_long_response_is_still_read() -> None:
    said = "Nothing to see here.\n" * 20_000 + "The parcel queue lives in redis-7."
    (found,) = turn_features(TurnText(JudgedTurn("t", "where?", said, (JudgedItem("i", "x"),))), [JudgedItem("i", "x")])
    assert found.features["r_cov"] == 0.0
    item = JudgedItem("i", "The parcel queue lives in redis-7.")
    (found,) = turn_features(TurnText(JudgedTurn("t", "where?", said, (item,))), [item])
    assert found.features["r_cov"] == 1.0


def test_texts_in_a_nested_input_are_read_and_keys_are_not() -> None:
    call = JudgedCall("Edit", {"path": "a.py", "edits": [{"new": "b = 2", "count": 3, "all": True, "none": None}]})
    assert input_lines(call) == ["a.py", "b = 2", "3"]


def test_an_input_that_is_too_deep_ends() -> None:
    deep: dict[str, object] = {"end": "here"}
    for _ in range(500):
        deep = {"more": deep}
    assert input_lines(JudgedCall("x", deep)) == []

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from knowbound.core.quality import JudgedCall, JudgedItem
from knowbound.judge.turns.model import item_names
from knowbound.judge.turns.shortening import (
    CALLS,
    ITEMS,
    LEFT_OUT,
    OUTPUT,
    PROMPT,
    RESPONSE,
    SHORTEST_ITEM,
    bounded,
    material_of,
    shortened,
)
from tests.turn_examples import turn

FILLER = "\n".join(f"Line {number} speaks of the weather and of nothing else at all." for number in range(400))
TELLING = "The ledger exporter binds to port 8040 by GUNICORN_BIND."


def test_what_is_short_stays_as_it_is() -> None:
    one = turn()
    assert bounded(one) == one


def test_the_beginning_the_end_and_what_shares_words_with_the_items_are_kept() -> None:
    middle = f"{FILLER}\n{TELLING}\n{FILLER}"
    one = turn(response=f"First words.\n{middle}\nLast words.", items=(JudgedItem("i", TELLING),))
    shown = bounded(one).response
    assert len(shown) <= RESPONSE
    assert shown.startswith("First words.\n")
    assert shown.endswith("\nLast words.")
    assert f"{LEFT_OUT}\n{TELLING}\n{LEFT_OUT}" in shown


def test_a_long_output_of_a_tool_keeps_what_is_about_the_items() -> None:
    calls = (JudgedCall("Bash", {"command": "cat log"}, f"{FILLER}\n{TELLING}\n{FILLER}"),)
    (shown,) = bounded(turn(items=(JudgedItem("i", TELLING),), tool_calls=calls)).tool_calls
    assert len(shown.output) <= OUTPUT
    assert TELLING in shown.output


def test_of_many_calls_those_about_the_items_and_the_latest_are_kept() -> None:
    calls = [JudgedCall("Bash", {"command": f"step {number}"}, FILLER[:1500]) for number in range(40)]
    calls[7] = JudgedCall("Read", {"file_path": "ops/gunicorn.env"}, f"{FILLER[:1000]}\n{TELLING}")
    shown = bounded(turn(items=(JudgedItem("i", TELLING),), tool_calls=tuple(calls))).tool_calls
    named = [call.input.get("file_path") or call.input.get("command") or call.input["left_out"] for call in shown]
    assert named[:3] == [7, "ops/gunicorn.env", len(calls) - 8 - len(named) + 3]
    assert named[-1] == "step 39"


def test_an_item_is_whole_as_far_as_all_of_them_fit() -> None:
    long = "x" * (ITEMS // 2)
    assert [item.content for item in bounded(turn(items=(JudgedItem("a", long), JudgedItem("b", long)))).items] == [
        long,
        long,
    ]
    many = tuple(JudgedItem(f"i{at}", long) for at in range(60))
    assert max(len(item.content) for item in bounded(turn(items=many)).items) <= max(SHORTEST_ITEM, ITEMS // 60)


def test_an_item_of_which_only_the_beginning_is_known_says_so() -> None:
    one = turn(items=(JudgedItem("a", "The port is", is_whole=False), JudgedItem("b", "Whole.")))
    first, second = map(json.loads, material_of(one, item_names(one))["entries"].split("\n"))
    assert first["only_its_beginning"] is True
    assert "only_its_beginning" not in second


@given(
    text=st.text(max_size=50).flatmap(lambda part: st.integers(0, 800).map(lambda times: part * times)),
    most=st.integers(50, 3000),
    words=st.sets(st.sampled_from(["port", "ledger", "0", "a"])),
)
def test_no_text_is_longer_than_its_limit(text: str, most: int, words: set[str]) -> None:
    shown = shortened(text, most, words)
    assert len(shown) <= max(most, len(LEFT_OUT))
    assert shown == text or len(text) > most


def test_a_call_stays_bounded_however_long_the_turn_was() -> None:
    items = tuple(JudgedItem(f"i{at}", TELLING * 1000) for at in range(20))
    calls = tuple(JudgedCall("Bash" * 100, {"command": TELLING * 200}, TELLING * 2000) for _ in range(40))
    one = turn(prompt=FILLER, response=FILLER * 20, items=items, tool_calls=calls)
    size = sum(map(len, material_of(one, item_names(one)).values()))
    assert size < 1.2 * (PROMPT + ITEMS + RESPONSE + CALLS)

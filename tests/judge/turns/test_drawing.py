from __future__ import annotations

import msgspec
import pytest

from knowbound.core.quality import ItemVerdict, JudgedCall, JudgedItem, JudgedTurn, LoggedCall, LoggedItem, QualityTurn
from knowbound.judge.drawing import draw_turns, to_label


def logged(number: int, *, contradicted: bool = False, items: int = 1, problem: str = "") -> QualityTurn:
    several = tuple(
        LoggedItem(f"i{at}", "sqlite", f"Fact {at}.", 7, verdict=ItemVerdict(f"i{at}", True, True, contradicted))
        for at in range(items)
    )
    return QualityTurn(
        session_id=f"s{number % 7}",
        turn_id=f"p{number}",
        timestamp="2026-11-10T10:00:00Z",
        user_prompt="Which port?",
        assistant_response="Port 9000.",
        injected_items=several,
        other_items=(LoggedItem("u1", "instructions", "Be brief.", 9),),
        tool_calls=(LoggedCall("Read", "ok", "conf.toml"),),
        judge="" if problem else "rules-1",
        problem=problem,
    )


LOG = [logged(number, contradicted=number % 20 == 0) for number in range(200)]


def test_turns_with_a_contradiction_are_drawn_as_often_as_all_others() -> None:
    drawn = draw_turns(LOG, 20, 0)
    rare = {turn.id for turn in LOG if turn.injected_items[0].verdict and turn.injected_items[0].verdict.contradicted}
    assert len(drawn) == 20
    assert sum(id_ in rare for id_, _ in drawn) == 10


def test_the_weights_undo_the_choice() -> None:
    drawn = draw_turns(LOG, 20, 0)
    rare = {turn.id for turn in LOG if turn.injected_items[0].verdict and turn.injected_items[0].verdict.contradicted}
    total = sum(weight for _, weight in drawn)
    assert sum(weight for id_, weight in drawn if id_ in rare) / total == pytest.approx(10 / 200)
    assert total == pytest.approx(20)


def test_where_contradictions_run_out_others_are_drawn() -> None:
    drawn = draw_turns(LOG, 50, 0)
    assert len(drawn) == 50
    assert len({id_ for id_, _ in drawn}) == 50


def test_a_labelled_turn_is_not_drawn_again_and_the_choice_is_the_same_for_a_seed() -> None:
    first = draw_turns(LOG, 30, 3)
    assert first == draw_turns(LOG, 30, 3)
    assert first != draw_turns(LOG, 30, 4)
    again = draw_turns(LOG, 1000, 3, {id_ for id_, _ in first})
    assert len(again) == 170
    assert not {id_ for id_, _ in again} & {id_ for id_, _ in first}
    assert draw_turns(LOG, 10, 0, {turn.id for turn in LOG}) == []


def test_turns_without_injected_items_or_verdicts_are_not_drawn() -> None:
    assert draw_turns([logged(1, items=0), logged(2, problem="the judge failed")], 10, 0) == []


def test_the_verdict_is_not_in_what_is_labelled() -> None:
    turn = to_label(logged(1, contradicted=True), 0.5)
    assert b"verdict" not in msgspec.json.encode(turn)
    assert b"contradicted" not in msgspec.json.encode(turn)
    assert (turn.id, turn.session, turn.weight, turn.judge) == ("s1/p1", "s1", 0.5, "rules-1")
    assert turn.tool_calls == (JudgedCall("Read", {"query": "conf.toml"}),)


def test_only_what_was_injected_for_the_prompt_is_labelled_and_whole_where_the_trace_is_there() -> None:
    read = JudgedTurn(
        "s1/p1",
        "Which port, please?",
        "Port 9000, as conf.toml has it.",
        (JudgedItem("i0", "Fact 0 with all that was cut."), JudgedItem("u1", "Be brief.")),
        (JudgedCall("Read", {"file_path": "conf.toml"}, "port = 9000"),),
    )
    turn = to_label(logged(1, items=2), 1.0, read)
    assert turn.items == (JudgedItem("i0", "Fact 0 with all that was cut."), JudgedItem("i1", "Fact 1."))
    assert turn.response == "Port 9000, as conf.toml has it."
    assert turn.tool_calls[0].output == "port = 9000"


def test_an_excerpt_says_that_it_is_one() -> None:
    cut = msgspec.structs.replace(logged(1), injected_items=(LoggedItem("i0", "sqlite", "The beginning", 900),))
    assert to_label(cut, 1.0).items == (JudgedItem("i0", "The beginning", is_whole=False),)

from __future__ import annotations

import pytest

from knowbound.core.trace import LeftOut, Outcome, ReadShares, SessionsRead, ToolCall, ToolKind


def call(**fields: object) -> ToolCall:
    values: dict[str, object] = {"id": "c1", "name": "Bash", "kind": ToolKind.SHELL, "outcome": Outcome.OK, **fields}
    return ToolCall(**values)  # type: ignore[arg-type]


def test_shares_of_several_sessions_add_by_adding_counts() -> None:
    both = ReadShares(10, 1, 4, 1) + ReadShares(20, 5, 6, 4)
    assert both == ReadShares(30, 6, 10, 5)
    assert both.to_json() == {"unknown_lines": 0.2, "unknown_tools": 0.5}
    assert ReadShares().to_json() == {"unknown_lines": None, "unknown_tools": None}


def test_the_text_of_a_call_is_its_output_or_is_decoded_when_it_is_asked_for() -> None:
    assert call(output="whole", undecoded=lambda: "later").text == "whole"
    assert call(undecoded=lambda: "later").text == "later"
    assert call().text == ""


@pytest.mark.parametrize(
    ("outcome", "output", "is_unanswered"),
    [
        (Outcome.UNKNOWN, None, True),
        (Outcome.UNKNOWN, "unclear", False),
        (Outcome.UNKNOWN, "", False),
        (Outcome.OK, None, False),
    ],
)
def test_a_call_without_a_result_is_unanswered(outcome: Outcome, output: str | None, is_unanswered: bool) -> None:
    assert call(outcome=outcome, output=output).is_unanswered is is_unanswered


def test_sessions_that_were_left_out_were_found_too() -> None:
    assert SessionsRead(3, {LeftOut.BEFORE: 2, LeftOut.FORGOTTEN: 1}).found == 6
    assert SessionsRead().found == 0

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.core.quality import JudgedCall, JudgedTurn
from knowbound.judge.material import TOKENS, shortened, turn_material
from knowbound.text.printable import estimated_tokens


def calls(*several: JudgedCall, response: str = "Done.") -> str:
    return turn_material(JudgedTurn("t", "Do it", response, tool_calls=several)).tool_calls


def test_an_edit_is_shown_as_its_changed_lines() -> None:
    given = {"file_path": "conf.py", "old_string": "a = 1\nport = 80\n", "new_string": "a = 1\nport = 90\n"}
    assert calls(JudgedCall("Edit", given, "ok")) == "[1] Edit conf.py\n-port = 80\n+port = 90"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"path": "a.py", "old_str": "x", "new_str": "y"}, "-x\n+y"),
        ({"file_path": "a.py", "edits": [{"old_string": "x", "new_string": "y"}]}, "-x\n+y"),
        ({"file_path": "a.py", "content": "one\ntwo"}, "+one\n+two"),
        ({"patch": "*** Begin Patch\n*** Update File: a.py\n-x\n+y\n*** End Patch"}, "\n-x\n+y\n"),
    ],
)
def test_every_clients_form_of_an_edit_is_read(given: dict[str, object], shown: str) -> None:
    assert shown in calls(JudgedCall("edit", given))


def test_a_failed_edit_says_why() -> None:
    given = {"file_path": "a.py", "old_string": "x", "new_string": "y"}
    assert "String not found" in calls(JudgedCall("Edit", given, "String not found", "error"))


def test_a_run_is_shown_with_its_outcome_and_the_end_of_its_output() -> None:
    output = "\n".join(["collected 900 items", *(f"tests/test_{at}.py ." for at in range(900)), "1 failed, 899 passed"])
    shown = calls(JudgedCall("Bash", {"command": "pytest -q"}, output, "error"))
    assert shown.startswith("[1] Bash: pytest -q (error)\ncollected 900 items\n")
    assert shown.endswith("1 failed, 899 passed")
    assert "lines]" in shown


def test_a_long_read_is_shown_around_the_names_that_the_answer_uses() -> None:
    lines = [f"line {at} of nothing" for at in range(3000)]
    lines[1500] = "retry_budget = 7  # of the uploader"
    shown = calls(JudgedCall("Read", {"file_path": "u.py"}, "\n".join(lines)), response="`retry_budget` is 7.")
    assert "retry_budget = 7" in shown
    assert "[… " in shown


def test_of_too_many_calls_those_about_the_answer_stay_and_the_others_are_counted() -> None:
    noise = [JudgedCall("Bash", {"command": f"make step-{at}"}, "x " * 4000) for at in range(80)]
    shown = calls(JudgedCall("Grep", {"pattern": "heron"}, "src/heron.py:3: heron"), *noise, response="It is heron.")
    assert "src/heron.py:3: heron" in shown
    assert " calls]" in shown


def test_what_earlier_turns_read_and_what_the_user_said_next_is_there() -> None:
    turn = JudgedTurn("t", "p", "See b.py", read_before=("a.py", "b.py"), next_message="No, that is wrong.")
    shown = turn_material(turn)
    assert shown.read_before.split("\n")[0] == "b.py"  # what the answer names comes first
    assert shown.next_message == "No, that is wrong."


def test_secrets_are_not_in_the_material() -> None:
    secret = "ghp_" + "a1B2" * 9
    call = JudgedCall("Bash", {"command": f"curl -H 'token: {secret}'"}, f"got {secret}")
    turn = JudgedTurn("t", secret, f"It is {secret}.", tool_calls=(call,), read_before=(secret,), next_message=secret)
    assert all(secret not in text for text in turn_material(turn).texts.values())


@given(
    st.text(max_size=3000),
    st.text(max_size=3000),
    st.lists(st.tuples(st.text(max_size=50), st.text(max_size=2000)), max_size=8),
    st.integers(200, 2000),
)
def test_the_material_stays_within_its_budget(
    prompt: str, answer: str, several: list[tuple[str, str]], tokens: int
) -> None:
    made = tuple(JudgedCall("Bash", {"command": command}, output) for command, output in several)
    shown = turn_material(JudgedTurn("t", prompt, answer, tool_calls=made), tokens=tokens)
    total = sum(map(estimated_tokens, shown.texts.values()))
    assert total <= tokens * 1.3 + 60 * len(made)  # marks of what was left out, and the first line of each call


def test_a_turn_of_megabytes_is_read_within_the_budget() -> None:
    big = "\n".join(f"error {at}: something went wrong at {at}" for at in range(200_000))
    turn = JudgedTurn("t", big, big, tool_calls=tuple(JudgedCall("Bash", {"command": big}, big) for _ in range(5)))
    assert sum(map(estimated_tokens, turn_material(turn).texts.values())) < TOKENS * 1.2


def test_a_short_text_is_whole() -> None:
    assert shortened("a\nb", 100) == "a\nb"

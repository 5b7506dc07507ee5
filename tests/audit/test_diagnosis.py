"""Every turn has exactly one diagnosis: the first of the table that fits, with one next action."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowbound.core.audit import Diagnosis
from tests.audit.turns import audited, edit, last, started
from tests.transcripts import Transcript

BUNDLE = (
    "Entries of this project's knowledge store (knowbound) that match the prompt, each with its id:\n"
    "[k1] (from sqlite) The orders service listens on port 8080 behind the gateway."
)


def injected(turns: Transcript) -> Transcript:
    attachment = {"type": "hook_additional_context", "content": [BUNDLE], "hookEvent": "UserPromptSubmit"}
    return turns.line("attachment", attachment=attachment)


def test_no_answer_is_incomplete(tmp_path: Path) -> None:
    assert last(started(), tmp_path).diagnosis is Diagnosis.INCOMPLETE


def test_work_that_ends_before_an_answer_is_incomplete(tmp_path: Path) -> None:
    turns = edit(started().says("Let me look."))
    assert last(turns, tmp_path).diagnosis is Diagnosis.INCOMPLETE


def test_an_api_error_as_the_last_word_is_incomplete(tmp_path: Path) -> None:
    turns = edit(started()).says("API Error: 500 overloaded", isApiErrorMessage=True)
    assert last(turns, tmp_path).diagnosis is Diagnosis.INCOMPLETE


def test_an_api_error_that_the_agent_got_over_is_not(tmp_path: Path) -> None:
    turns = started().says("API Error: 500 overloaded", isApiErrorMessage=True)
    assert last(edit(turns).says("Changed `a` to 2."), tmp_path).diagnosis is Diagnosis.UNKNOWN


def test_stopping_to_ask_is_not_incomplete(tmp_path: Path) -> None:
    turns = started().calls("AskUserQuestion", {"questions": []}, "q1").result("q1", "User has answered: up", {})
    assert last(turns, tmp_path).diagnosis is Diagnosis.CHAT


def test_a_question_back_is_chat(tmp_path: Path) -> None:
    assert last(started("hi").says("Hello! What shall we do?"), tmp_path).diagnosis is Diagnosis.CHAT


def test_an_item_that_the_turn_contradicts_is_misled_and_names_the_command(tmp_path: Path) -> None:
    turns = injected(started("On which port does the orders service listen?"))
    turns.bash("cat orders.yaml", "port: 9090")
    turn = last(turns.says("The orders service listens on port 9090, not on port 8080."), tmp_path)
    assert (turn.diagnosis, turn.item) == (Diagnosis.MISLED, "k1")
    assert turn.next == "knowbound kms supersede k1"


def test_an_item_on_topic_that_was_not_used_is_ignored(tmp_path: Path) -> None:
    turns = injected(started("On which port does the orders service listen?")).bash("cat deploy.yaml", "replicas: 3")
    turn = last(turns.says("`deploy.yaml` has `replicas: 3`."), tmp_path)
    assert (turn.diagnosis, turn.item) == (Diagnosis.IGNORED, "k1")
    assert turn.next == "knowbound kms show k1: trim or demote it"


def test_a_check_that_contradicts_the_task_is_misled(tmp_path: Path) -> None:
    turns = edit(started("Round half to even, see check.py")).bash("python3 check.py", "FAIL 2.5", code=1)
    answer = "I kept to the spec. Note that `check.py` expects 3 for 2.5, which contradicts the spec."
    assert last(turns.says(answer), tmp_path).diagnosis is Diagnosis.MISLED


def test_not_finding_it_and_saying_so_is_blind(tmp_path: Path) -> None:
    turns = started("Where is the retry budget set?").grep("retry_budget").grep("retryBudget")
    turn = last(turns.says("I could not find where the retry budget is set."), tmp_path)
    assert turn.diagnosis is Diagnosis.BLIND
    assert turn.next == "write down: retry_budget"


def test_nothing_that_rules_can_check_is_unknown_and_never_grounded(tmp_path: Path) -> None:
    turns = started("What do you think of it?").read("/work/shop/src/app.py").says("It reads well and is pleasant.")
    assert last(turns, tmp_path).diagnosis is Diagnosis.UNKNOWN


def test_supported_claims_are_grounded_where_the_intent_has_its_evidence(tmp_path: Path) -> None:
    turns = started("Run all the tests").bash("go build ./... && go test ./...", "ok  \tshop/tax\t0.1s")
    turn = last(turns.says("All tests pass."), tmp_path)
    assert (turn.diagnosis, turn.next) == (Diagnosis.GROUNDED, "")
    assert (turn.because.quality, turn.because.coverage) == ("verified", "2 of 2")
    assert turn.because.agreement == ("Build", "Test")


def test_supported_claims_without_the_evidence_of_the_intent_are_unknown_with_what_is_missing(tmp_path: Path) -> None:
    turn = last(edit(started()).bash("pytest", "12 passed in 0.80s").says("Fixed. All 12 tests pass."), tmp_path)
    assert turn.diagnosis is Diagnosis.UNKNOWN
    assert "Test at verified, has strong" in turn.why


def test_unsupported_names_what_to_get(tmp_path: Path) -> None:
    turn = last(edit(started()).says("Fixed. All tests pass."), tmp_path)
    assert turn.diagnosis is Diagnosis.UNSUPPORTED
    assert turn.next == "run the tests after the last edit and read their result"
    assert [one.line for one in turn.findings if one.line] != []


def test_every_turn_of_a_session_has_one(tmp_path: Path) -> None:
    turns = edit(started()).says("Done.").user("thanks").says("You are welcome!").user("and now?")
    assert [one.turn for one in audited(turns, tmp_path)] == [1, 2, 3]


@pytest.mark.parametrize(
    ("prompt", "expected"), [("yes", "modify"), ("continue", "modify"), ("What is a tax?", "explain")]
)
def test_yes_asks_for_what_the_turn_before_did(prompt: str, expected: str, tmp_path: Path) -> None:
    turns = edit(started("Fix the rounding of totals")).says("Shall I go on?").user(prompt).says("Fine.")
    assert last(turns, tmp_path).intent == expected


def test_gaps_and_confidence_come_from_the_evidence_of_the_turn(tmp_path: Path) -> None:
    run = edit(started("Run all the tests")).bash("go build ./... && go test ./...", "ok  \tshop/tax\t0.1s")
    turn = last(run.says("All tests pass."), tmp_path)
    assert (turn.intent, turn.confidence, turn.gaps) == ("execute", "complete", ())
    bare = last(started("Run all the tests").says("I did."), tmp_path / "bare")
    assert {(gap.cls, gap.have, gap.need) for gap in bare.gaps} == {
        ("Build", "none", "strong"),
        ("Test", "none", "strong"),
    }

"""What a hook writes down of a turn that has ended (specification 2, section 3)."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowbound.agent.hook.run import TURN_ENDS
from knowbound.injection.prompt import HookPrompt
from knowbound.quality.ended import EndedTurn, answer_sum
from knowbound.quality.queue import EndedRecord, Queue

PAYLOAD = {"session_id": "s-1", "prompt_id": "p-1", "last_assistant_message": "It listens on port 8080."}


def queued(home: Path, event: str) -> EndedRecord:
    turn = EndedTurn(event, HookPrompt(PAYLOAD), PAYLOAD)
    turn.begin(str(home))
    turn.end(str(home), 1.0)
    (record,) = Queue(home).pending() or []
    return record


@pytest.mark.parametrize("said", ["One part.Another.", "One part.\nAnother.\n", " One part.\r\nAnother."])
def test_a_message_is_recognised_however_its_parts_are_joined(said: str) -> None:
    assert answer_sum(said) == answer_sum("One part. Another.") != answer_sum("Another. One part.")


@pytest.mark.parametrize("event", TURN_ENDS)
def test_the_text_of_an_error_is_no_answer(tmp_path: Path, event: str) -> None:
    """Claude Code gives the error as the last message of a turn in which the model failed."""
    record = queued(tmp_path, event)
    is_said = event != "stop-failure"
    assert record.answer == ("It listens on port 8080." if is_said else "")
    assert bool(record.answer_sum) == is_said

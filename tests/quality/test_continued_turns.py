"""Whose turn it is: what a notice of the client continues, and sub-agents whose prompts are hooked."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from knowbound.core.quality import TurnEnding
from knowbound.quality import queue
from tests.hook_project import PORT, PROMPT, Project
from tests.quality.test_scoring import ANSWER, Scoring
from tests.transcripts import SESSION

NOTICE = "<task-notification>\n<task-id>a1</task-id>\n<summary>The orders service listens on port 8080.</summary>"


@pytest.fixture
def scoring(project: Project) -> Iterator[Scoring]:
    project.store(PORT)
    made = Scoring(project)
    yield made
    made.log.close()


def test_nothing_is_injected_for_a_notice_of_the_client(project: Project) -> None:
    project.store(PORT)
    assert project.ask(NOTICE) == ""
    assert project.last_run()["outcome"] == "nothing"


def test_what_a_notice_began_belongs_to_the_turn_before(scoring: Scoring) -> None:
    scoring.prompt("p1")
    scoring.answer("I have started it.")
    scoring.ends("p1", text="I have started it.")
    scoring.score()
    scoring.prompt("p2", NOTICE)
    scoring.answer()
    scoring.ends("p2")
    scoring.ends("p2", "session-end")
    scoring.score()
    (turn,) = scoring.log.since("")
    assert (turn.turn_id, turn.ending) == ("p1", TurnEnding.STOPPED)
    assert turn.assistant_response == f"I have started it.\n\n{ANSWER}"


def test_a_notice_does_not_end_the_turn_before(scoring: Scoring) -> None:
    scoring.prompt("p1")
    scoring.prompt("p2", NOTICE)
    scoring.ends("p0", "subagent-stop")
    assert scoring.score() == 0


def test_what_a_sub_agent_said_is_not_the_answer_of_the_turn(scoring: Scoring) -> None:
    scoring.prompt("p1")
    scoring.answer()
    scoring.ends("p1")
    scoring.score()
    given = {"session_id": SESSION, "prompt_id": "p1", "agent_id": "a1", "transcript_path": str(scoring.transcript)}
    said = {"last_assistant_message": "I looked it up.", "cwd": str(scoring.project.root)}
    scoring.project.queue("subagent-stop", given | said)
    scoring.score()
    (turn,) = scoring.log.since("")
    assert turn.assistant_response == ANSWER


def test_an_interruption_that_the_client_reports_is_one(scoring: Scoring, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "LATE_SECONDS", 0.0)
    scoring.prompt("p1")
    scoring.ends("p1", "interrupt")
    scoring.score()
    assert scoring.turns() == {"p1": TurnEnding.INTERRUPTED}


def test_a_sub_agent_with_a_prompt_of_its_own_has_a_turn_of_its_own(project: Project) -> None:
    """As Codex hooks them: the session is the parent's, the turn and the transcript are the sub-agent's."""
    project.store(PORT)
    scoring = Scoring(project)
    rollout = project.root / "rollout-sub.jsonl"
    lines = [
        ("session_meta", {"id": "a1", "session_id": SESSION, "parent_thread_id": SESSION, "cwd": str(project.root)}),
        ("event_msg", {"type": "task_started", "turn_id": "t2"}),
        ("response_item", {"type": "message", "role": "user", "content": [{"type": "input_text", "text": PROMPT}]}),
        (
            "response_item",
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": ANSWER}]},
        ),
    ]
    written = [{"timestamp": "2026-01-01T00:00:00Z", "type": kind, "payload": payload} for kind, payload in lines]
    rollout.write_text("".join(json.dumps(line) + "\n" for line in written), "utf-8")
    project.ask(PROMPT, SESSION, turn_id="t2", agent_id="a1", transcript_path=str(rollout))
    ends = {"session_id": SESSION, "turn_id": "t2", "agent_id": "a1", "transcript_path": "/parent/rollout.jsonl"}
    said = {"last_assistant_message": ANSWER, "cwd": str(project.root)}
    project.queue("subagent-stop", ends | said)
    project.queue("session-end", {"session_id": SESSION, "cwd": str(project.root)})
    scoring.score()
    (turn,) = scoring.log.since("")
    scoring.log.close()
    assert (turn.session_id, turn.turn_id, turn.ending) == (SESSION, "t2", TurnEnding.STOPPED)
    assert (turn.user_prompt, turn.assistant_response, turn.trace) == (PROMPT, ANSWER, str(rollout))

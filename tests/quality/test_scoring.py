"""Ended turns are scored once, whatever happens (specification 2, section 3)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from knowbound.agent.hook.run import TURN_ENDS
from knowbound.core.quality import ItemVerdict, JudgedTurn, TurnEnding
from knowbound.errors import ConfigError
from knowbound.judge.turns import TurnVerdicts
from knowbound.kms.quality_log import SqliteQualityLog
from knowbound.quality import queue
from knowbound.quality.scoring import Scorer
from knowbound.store.retention import Forgotten
from tests.hook_project import PORT, PROMPT, Project
from tests.transcripts import SESSION, Transcript

ANSWER = "It listens on port 8080."


class Judge:
    """Says of every item that it was on topic and used, and keeps what it was asked."""

    version, costs = "test-1", False

    def __init__(self) -> None:
        self.asked: list[JudgedTurn] = []
        self.fails: Exception | str = ""

    def judge(self, turns: Sequence[JudgedTurn]) -> list[TurnVerdicts]:
        self.asked += turns
        if isinstance(self.fails, Exception):
            raise self.fails
        if self.fails:
            return [TurnVerdicts(problem=self.fails) for _ in turns]
        return [
            TurnVerdicts(tuple(ItemVerdict(item.id, True, True, False, judge=self.version) for item in turn.items))
            for turn in turns
        ]


class Scoring:
    """A project whose turns have ended, its log and its judge."""

    def __init__(self, project: Project) -> None:
        self.project, self.judge = project, Judge()
        self.log = SqliteQualityLog(project.home)
        self.transcript = project.root / "transcripts" / f"{SESSION}.jsonl"
        self.written = Transcript()

    def prompt(self, key: str, text: str = PROMPT) -> None:
        self.project.ask(text, SESSION, prompt_id=key, transcript_path=str(self.transcript))
        self.written.user(text, promptId=key)

    def answer(self, text: str = ANSWER) -> None:
        self.written.says(text)
        self.written.write(self.transcript.parent)

    def ends(self, key: str, event: str = "stop", text: str = ANSWER) -> None:
        """As the client says it; no worker is started, because its lock is taken."""
        given = {
            "session_id": SESSION,
            "prompt_id": key,
            "transcript_path": str(self.transcript),
            "cwd": str(self.project.root),
            "hook_event_name": TURN_ENDS[event],
        }
        more = {"last_assistant_message": text} if event == "stop" else {}
        self.project.queue(event, given | more)

    def score(self) -> int:
        return Scorer(self.project.home, self.log, self.judge).run().turns

    def turns(self) -> dict[str, TurnEnding]:
        return {turn.turn_id: turn.ending for turn in self.log.since("")}


@pytest.fixture
def scoring(project: Project) -> Iterator[Scoring]:
    project.store(PORT)
    made = Scoring(project)
    yield made
    made.log.close()


def test_the_judge_sees_all_of_a_long_item_as_the_store_holds_it(scoring: Scoring) -> None:
    long = "The orders service listens on port 8080. " + "It is reached through the internal gateway only. " * 20
    base = scoring.project.base()
    (short,) = base.index.all_items()
    base.delete(short.item.id)
    base.close()
    scoring.project.store(long)
    scoring.prompt("p1")
    scoring.answer()
    scoring.ends("p1")
    assert scoring.score() == 1
    (asked,) = scoring.judge.asked
    (item,) = asked.items
    assert (item.content, item.is_whole) == (long.strip(), True)


def test_a_turn_is_logged_with_what_was_injected_said_and_judged(scoring: Scoring) -> None:
    scoring.prompt("p1")
    scoring.answer()
    scoring.ends("p1")
    assert scoring.score() == 1
    (turn,) = scoring.log.since("")
    assert (turn.session_id, turn.turn_id, turn.agent, turn.ending) == (
        SESSION,
        "p1",
        "claude-code",
        TurnEnding.STOPPED,
    )
    assert (turn.user_prompt, turn.assistant_response) == (PROMPT, ANSWER)
    (item,) = turn.injected_items
    assert item.content_excerpt == PORT
    assert item.verdict == ItemVerdict(item.id, True, True, False, judge="test-1")
    assert (turn.judge, turn.problem, turn.stop_ms is not None, turn.prompt_ms is not None) == (
        "test-1",
        "",
        True,
        True,
    )
    (asked,) = scoring.judge.asked
    assert (asked.prompt, asked.response, asked.items[0].content) == (PROMPT, ANSWER, PORT)


def test_scoring_again_finds_nothing_to_do(scoring: Scoring) -> None:
    scoring.prompt("p1")
    scoring.answer()
    scoring.ends("p1")
    assert [scoring.score(), scoring.score()] == [1, 0]
    assert len(scoring.judge.asked) == 1


def test_a_turn_that_stops_twice_is_one_turn(scoring: Scoring) -> None:
    scoring.prompt("p1")
    scoring.answer()
    scoring.ends("p1")
    scoring.ends("p1")
    scoring.score()
    scoring.ends("p1")
    scoring.score()
    assert scoring.turns() == {"p1": TurnEnding.STOPPED}


def test_an_interrupted_turn_is_found_when_the_next_one_ends(scoring: Scoring) -> None:
    scoring.prompt("p1")
    scoring.answer("Let me")
    scoring.prompt("p2", "And the payments service, on which port does it listen, like the orders service?")
    scoring.answer()
    scoring.ends("p2")
    scoring.score()
    assert scoring.turns() == {"p1": TurnEnding.INTERRUPTED, "p2": TurnEnding.STOPPED}
    assert {turn.turn_id: turn.assistant_response for turn in scoring.log.since("")}["p1"] == "Let me"


def test_an_interrupted_turn_is_found_when_its_session_ends(scoring: Scoring) -> None:
    scoring.prompt("p1")
    scoring.answer("Let me")
    scoring.ends("", "session-end")
    scoring.score()
    assert scoring.turns() == {"p1": TurnEnding.INTERRUPTED}


def test_a_turn_that_still_runs_is_not_scored(scoring: Scoring) -> None:
    scoring.prompt("p1")
    scoring.ends("p1", "subagent-stop")
    assert scoring.score() == 0


def test_an_api_error_ends_a_turn(scoring: Scoring, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "LATE_SECONDS", 0.0)
    scoring.prompt("p1")
    scoring.answer("Let me")
    scoring.ends("p1", "stop-failure")
    scoring.score()
    assert scoring.turns() == {"p1": TurnEnding.FAILED}


def test_a_sub_agent_that_ends_later_has_its_turn_judged_again(scoring: Scoring) -> None:
    scoring.prompt("p1")
    scoring.answer()
    scoring.ends("p1")
    scoring.score()
    scoring.ends("p1", "subagent-stop")
    scoring.score()
    assert (scoring.turns(), len(scoring.judge.asked)) == ({"p1": TurnEnding.STOPPED}, 2)


@pytest.mark.parametrize("failure", ["the model did not answer", ConfigError("no-judge", "no key")])
def test_a_failed_judge_leaves_the_turn_to_be_scored_again(scoring: Scoring, failure: str | Exception) -> None:
    scoring.prompt("p1")
    scoring.answer()
    scoring.ends("p1")
    scoring.judge.fails = failure
    scoring.score()
    (turn,) = scoring.log.unscored()
    assert turn.problem.startswith(str(failure).split(" [")[0])
    assert turn.injected_items[0].verdict is None
    scoring.judge.fails = ""
    assert Scorer(scoring.project.home, scoring.log, scoring.judge).again().turns == 1
    (turn,) = scoring.log.since("")
    assert (turn.problem, turn.ending, turn.stop_ms is not None) == ("", TurnEnding.STOPPED, True)
    assert turn.injected_items[0].verdict is not None


def test_a_turn_whose_trace_is_gone_is_scored_again_by_what_the_log_kept(scoring: Scoring) -> None:
    scoring.prompt("p1")
    scoring.answer()
    scoring.ends("p1")
    scoring.judge.fails = "the model did not answer"
    scoring.score()
    scoring.transcript.unlink()
    scoring.judge.fails = ""
    Scorer(scoring.project.home, scoring.log, scoring.judge).again()
    (turn,) = scoring.log.since("")
    assert (turn.assistant_response, turn.is_scored) == (ANSWER, True)
    assert scoring.judge.asked[-1].response == ANSWER


def test_a_prompt_that_got_nothing_is_a_turn_too(scoring: Scoring) -> None:
    scoring.prompt("p1", "rename the variable foo")
    scoring.answer()
    scoring.ends("p1")
    scoring.score()
    (turn,) = scoring.log.since("")
    assert (turn.injected_items, turn.is_scored, scoring.judge.asked) == ((), True, [])


def test_a_turn_without_a_trace_has_the_message_of_the_hook(scoring: Scoring) -> None:
    scoring.prompt("p1")
    scoring.ends("p1")
    _made_older(scoring.project.home)
    scoring.score()
    (turn,) = scoring.log.since("")
    assert (turn.assistant_response, turn.user_prompt, turn.trace) == (ANSWER, PROMPT, "")


def _made_older(home: Path) -> None:
    """So that nobody waits for the trace."""
    for path in (home / "ended").glob("*.jsonl"):
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        before = (datetime.now(UTC) - timedelta(seconds=30)).strftime("%Y-%m-%dT%H:%M:%SZ")
        path.write_text("".join(json.dumps(line | {"time": before}) + "\n" for line in lines), "utf-8")


def test_a_session_that_was_forgotten_is_not_written_back(scoring: Scoring) -> None:
    scoring.prompt("p1")
    scoring.answer()
    scoring.ends("p1")
    forgotten = Forgotten()
    forgotten.add_session(SESSION)
    forgotten.keep(scoring.project.home)
    assert (scoring.score(), scoring.turns()) == (0, {})

"""The agent of a session as the model: questions wait for it, and its answers are verified like any model's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from knowbound.config import ModelTask, Settings
from knowbound.core.quality import JudgedItem, JudgedTurn
from knowbound.errors import ConfigError, InputError
from knowbound.judge.choice import Permission, chooser, judge_for, keep_permission, may_see
from knowbound.judge.models.agent import next_questions, take_answer
from knowbound.judge.names import parse_name
from knowbound.judge.registry import turn_judge
from knowbound.judge.turns import TurnVerdicts
from knowbound.store.judges import AgentQuestions, erase_questions

CLAUDE = "agent:claude-code"
TURN = JudgedTurn(
    id="s/t1",
    prompt="On which port does the orders service listen?",
    response="The orders service listens on port 8081, not 8080.",
    items=(
        JudgedItem("k1", "The orders service listens on port 8080."),
        JudgedItem("k2", "Deploys happen on Tuesdays."),
    ),
    session="s",
    project="/shop",
    agent="claude-code",
)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(root=tmp_path, home=tmp_path / ".knowbound")


def judged(settings: Settings, name: str = CLAUDE, turn: JudgedTurn = TURN) -> TurnVerdicts:
    [verdicts] = turn_judge(settings, name).judge([turn])
    return verdicts


def about(id_: str, **said: object) -> dict[str, object]:
    return {"id": id_, "on_topic": True, "used": False, "contradicted": False} | said


def give(settings: Settings, *items: dict[str, object], client: str = "claude-code") -> dict[str, str]:
    """Answer the only open question; what was rejected."""
    [question], _ = next_questions(settings.home, client, 3)
    return take_answer(settings.home, client, question.id, json.dumps({"items": items})).rejected


RIGHT = about("k1", contradicted=True, quote="listens on port 8081, not 8080", correction="It listens on port 8081.")
OTHER = about("k2", on_topic=False)


def test_a_question_waits_and_its_answer_counts_with_the_agent_s_name(settings: Settings) -> None:
    first = judged(settings)
    assert first.verdicts == ()
    assert 'say there "answer knowbound' in first.problem
    assert judged(settings).verdicts == ()
    [question], left = next_questions(settings.home, "claude-code", 3)
    assert left == 1  # asked twice, queued once
    assert "port 8081" in question.text
    assert "JSON" in question.instructions
    assert give(settings, RIGHT, OTHER) == {}
    assert next_questions(settings.home, "claude-code", 3) == ([], 0)
    found = {one.item: one for one in judged(settings).verdicts}
    assert found["k1"].contradicted
    assert found["k1"].correction == "It listens on port 8081."
    assert not found["k2"].on_topic
    assert found["k1"].judge.endswith("/agent:claude-code")


def test_an_entry_without_a_verbatim_quotation_is_rejected_and_the_others_count(settings: Settings) -> None:
    judged(settings)
    rejected = give(settings, RIGHT | {"quote": "It moved to port 9000 last week"}, OTHER)
    assert list(rejected) == ["k1"]
    assert "word for word" in rejected["k1"]
    assert [one.item for one in judged(settings).verdicts] == ["k2"]
    [question], _ = next_questions(settings.home, "claude-code", 3)
    assert give(settings, RIGHT) == {}
    assert len(judged(settings).verdicts) == 2
    with pytest.raises(InputError, match="No open question"):
        take_answer(settings.home, "claude-code", question.id, "{}")


def test_a_quotation_from_outside_of_the_turn_passes_the_queue_and_is_not_believed(settings: Settings) -> None:
    judged(settings)
    of_the_item = RIGHT | {"quote": "The orders service listens on port 8080"}  # in the material, but not in the turn
    assert give(settings, of_the_item, OTHER) == {}
    assert [one.item for one in judged(settings).verdicts] == ["k2"]
    [question], left = next_questions(settings.home, "claude-code", 3)
    assert left == 1  # it is asked again
    assert [entry.id for entry in question.entries] == ["k1"]


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("I think both.", "there is no JSON object"),
        ('{"items": []}', "there is nothing about it"),
        ('{"items": "k1"}', "there is nothing about it"),
        ('{"items": [{"id": "k1", "on_topic": true}]}', "used, contradicted is missing"),
        ('{"items": [{"id": "k1", "on_topic": true, "used": "maybe", "contradicted": false}]}', "used is not of type"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused_with_the_reason(settings: Settings, answer: str, problem: str) -> None:
    judged(settings)
    [question], _ = next_questions(settings.home, "claude-code", 3)
    try:
        said = str(take_answer(settings.home, "claude-code", question.id, answer).rejected)
    except InputError as error:
        said = str(error)
    assert problem in said
    assert next_questions(settings.home, "claude-code", 3)[1] == 1
    assert judged(settings).verdicts == ()


def test_secrets_reach_neither_the_queue_nor_the_answers(settings: Settings) -> None:
    key = "ghp_" + "a1B2c3D4e5" * 4
    turn = JudgedTurn("s/t", f"Use {key}", f"I used {key}.", (JudgedItem("k1", "x"),), session="s", agent="claude-code")
    judged(settings, turn=turn)
    [question], _ = next_questions(settings.home, "claude-code", 3)
    assert key not in question.text
    assert give(settings, about("k1", reason=f"it says {key}")) == {}
    assert key.encode() not in (settings.home / "knowbound.db").read_bytes()


def test_each_client_gets_its_own_questions_and_only_of_sessions_that_its_provider_saw(settings: Settings) -> None:
    judged(settings)
    assert next_questions(settings.home, "codex", 3) == ([], 0)
    codex = JudgedTurn("c/t", "Which port?", "8080.", TURN.items, session="c", agent="codex")
    assert judged(settings, turn=codex).verdicts != ()  # by rules
    assert next_questions(settings.home, "claude-code", 9)[1] == 1
    assert may_see("agent:codex", "codex", settings)
    assert not may_see("agent:other", "codex", settings)


def test_a_batch_has_a_largest_size(settings: Settings) -> None:
    for number in range(12):
        text = f"{number} " + "The port is 8080. " * 800
        judged(settings, turn=JudgedTurn(f"s/{number}", text, text, TURN.items, session="s", agent="claude-code"))
    batch, left = next_questions(settings.home, "claude-code", 99)
    assert left == 12
    assert 1 <= len(batch) <= 10
    assert sum(len(one.text) for one in batch) <= 60_000
    assert len(next_questions(settings.home, "claude-code", 0)[0]) == 1


def test_old_questions_go(settings: Settings) -> None:
    judged(settings)
    queue = AgentQuestions(settings.home)
    with queue._db.writing() as db:
        db.execute("UPDATE agent_question SET made = '2020-01-01'")
    assert next_questions(settings.home, "claude-code", 3) == ([], 0)


def test_an_agent_is_never_asked_in_the_background(tmp_path: Path) -> None:
    settings = Settings(root=tmp_path, home=tmp_path, model_name=CLAUDE, model_tasks_choose=CLAUDE)
    assert judge_for(settings, ModelTask.TURNS) == CLAUDE
    assert judge_for(settings, ModelTask.TURNS, background=True) == "rules"
    assert chooser(settings) == ""
    keep_permission(Permission(CLAUDE, commands=True, background=True, choosing=True))
    by_permission = Settings(root=tmp_path, home=tmp_path)
    assert judge_for(by_permission, ModelTask.TURNS) == CLAUDE
    assert judge_for(by_permission, ModelTask.TURNS, background=True) == "rules"
    assert chooser(by_permission) == ""


def test_an_unknown_client_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="claude-code, codex, other"):
        parse_name("agent:cursor")


def test_questions_about_a_forgotten_session_are_erased(settings: Settings) -> None:
    judged(settings)
    judged(settings, turn=JudgedTurn("o/t", "Q?", "A.", TURN.items, session="other", agent="claude-code"))
    with AgentQuestions(settings.home)._db.writing() as db:
        assert erase_questions(db, lambda session, _project: session == "s", "") == 1
    [question], _ = next_questions(settings.home, "claude-code", 3)
    assert question.entries[0].session == "other"
    with AgentQuestions(settings.home)._db.writing() as db:
        assert erase_questions(db, lambda _session, _project: False, "2999-01-01") == 1

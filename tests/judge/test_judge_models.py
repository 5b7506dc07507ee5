"""A real model over a real connection. It is a bad judge: only the protocol is asserted, never its opinion."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest

from knowbound.evals.executors.model import Conversation, ModelTool
from knowbound.judge.hedging.verdict import HedgingCandidate
from knowbound.judge.models.api import ApiModel
from knowbound.judge.models.asking import MemoryAnswers
from knowbound.judge.models.completion import ModelQuestion
from knowbound.judge.models.questions import AskResult
from knowbound.judge.names import JudgeOptions, parse_name
from knowbound.judge.prompts import PromptFile
from knowbound.judge.registry import hedging_judge_version
from knowbound.judge.rubric import RubricKind, RubricQuestion
from tests.conftest import write_user_config
from tests.judges import asker_named, hedging_judge_named, rubric_judge_named
from tests.transcripts import Transcript

SHORT = PromptFile("short", "short-1-0", 'Score the text. Answer with JSON: {"score": 1 to 5}', ("text",))
LIMITS = JudgeOptions(seconds=120, retries=0, concurrency=4)


class Score(msgspec.Struct, frozen=True):
    """A short answer, so that the model comes to its end."""

    score: Annotated[int, msgspec.Meta(ge=1, le=5)]


def ask(name: str, store: MemoryAnswers) -> list[AskResult[Score]]:
    asker = asker_named(name, LIMITS, store)
    assert asker is not None
    texts = ["Paris is in France.", "Rome is in Peru."]
    return asker.ask(SHORT, [{"text": text} for text in texts], Score)


def test_a_model_answers_with_a_typed_value_or_a_problem_and_its_tokens(model_server: str) -> None:
    store = MemoryAnswers()
    first = ask(model_server, store)
    for asked in first:
        assert (asked.value is None) == bool(asked.problem)
        assert asked.tokens_in
        assert asked.tokens_out
        assert asked.usd is None
        assert asked.attempts == 1
    assert any(asked.value for asked in first), [asked.problem for asked in first]
    answered = [text for text, asked in zip("ab", first, strict=True) if asked.value]
    again = ask(model_server, store)
    known = [text for text, asked in zip("ab", again, strict=True) if asked.cached]
    assert known == answered
    assert all(new.value == old.value for new, old in zip(again, first, strict=True) if new.cached)


def test_a_model_that_is_given_a_schema_keeps_to_it(model_server: str) -> None:
    schema = {
        "type": "object",
        "properties": {"sure": {"type": "boolean"}},
        "required": ["sure"],
        "additionalProperties": False,
    }
    question = ModelQuestion("wet", {}, "Answer with JSON.", "Is water wet?", schema)
    answer = ApiModel(parse_name(model_server)).complete(question, seconds=120)
    assert set(msgspec.json.decode(answer.text)) == {"sure"}
    assert answer.model == "smollm2"


@pytest.mark.long
def test_hedges_are_judged_by_a_model_with_the_shipped_prompt(model_server: str) -> None:
    judge = hedging_judge_named(model_server, LIMITS)
    assert judge.costs
    assert judge.version == hedging_judge_version(model_server)
    given = judge.judge([HedgingCandidate("I am not sure which table holds it.", "We looked for orders.")])
    assert len(given) == 1
    assert 0 <= given[0].confidence <= 1
    assert given[0].judge == judge.version
    assert given[0].reason or not given[0].has_failed


@pytest.mark.long
def test_a_rubric_is_scored_by_a_model_or_left_unscored(model_server: str) -> None:
    judge = rubric_judge_named(model_server, LIMITS)
    (score,) = judge.score([RubricQuestion(RubricKind.ANSWER_RELEVANCY, "Which port?", "8080")])
    assert score.score in (None, 1, 2, 3, 4, 5)
    assert (score.score is None) == bool(score.problem)
    assert score.usd is None
    assert score.judge == judge.version


def test_a_model_that_is_not_asked_for_is_never_reached(model_server: str) -> None:
    judge = rubric_judge_named(model_server, LIMITS)
    assert judge.score([]) == []


def test_a_model_with_a_tool_comes_to_an_end(model_server: str) -> None:
    tool = ModelTool(
        "Grep",
        "Search files.",
        {"type": "object", "properties": {"pattern": {"type": "string"}}},
        lambda _: "No files found",
    )
    talk = Conversation("Be brief.", "Say hello.", [tool], steps=2)
    talk.hold(parse_name(model_server), 60)
    assert talk.messages[:2] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Say hello."},
    ]
    assert talk.answer or talk.problem
    assert talk.tokens[0]
    assert talk.usd is None


# `observe` with a model as its judge, from the config to the report


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    transcript = Transcript().user("Where is it?")
    for number in range(3):
        transcript.says(f"I'm not sure which of the {number + 2} tables holds it.")
    folder = tmp_path / "traces"
    folder.mkdir()
    (folder / "one.jsonl").write_text("\n".join(transcript.lines) + "\n")
    return folder


def observe(root: Path, traces: Path) -> dict[str, Any]:
    command = [sys.executable, "-c", "from knowbound.cli.main import main; main()"]
    command += ["observe", str(traces), "--root", str(root), "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def verdicts(root: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(root / ".knowbound" / "knowbound.db")) as db:
        return list(db.execute("SELECT prompt || '/' || model, sha256 FROM answer ORDER BY 1, 2"))


@pytest.mark.long
def test_observe_asks_the_configured_model_within_its_cap_and_keeps_the_verdicts(
    model_server: str, tmp_path: Path, traces: Path
) -> None:
    write_user_config(f'[hedgingClassifier]\nmodel = "{model_server}"\nmaxCandidates = 2\n')
    report = observe(tmp_path, traces)
    assert "1 of 3 hedging sentences were not judged: the cap is 2." in report["warnings"]
    kept = verdicts(tmp_path)
    assert {judge for judge, _ in kept} <= {hedging_judge_version(model_server)}
    unjudged = [one for one in report["warnings"] if "kept without a verdict" in one]
    assert len(kept) == 2 or unjudged
    assert (report["judging"]["cap"], report["judging"]["unjudged"]) == (2, 1)
    again = observe(tmp_path, traces)  # asks the third sentence and what failed, again two at most
    assert again["judging"]["unjudged"] == max(0, 3 - len(kept) - 2)
    if not (again["judging"]["failed"] or unjudged):
        assert len(verdicts(tmp_path)) == 3

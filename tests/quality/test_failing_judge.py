"""A judge that fails costs verdicts, never a turn, and what it failed on can be judged again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from knowbound.errors import InputError
from knowbound.quality import queue, scoring
from tests.quality.scored_project import FailingJudge, ScoredProject


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScoredProject:
    monkeypatch.setattr(queue, "LATE_SECONDS", 0.0)
    return ScoredProject(tmp_path / "shop")


def queued(project: ScoredProject, *sessions: str) -> list[tuple[str, str]]:
    with project.queue_file().open("ab") as file:
        for session in sessions:
            project.prompted(session)
            file.write(project.queue_line(session))
    return [(session, "t-1") for session in sessions]


@pytest.fixture
def judged_by(monkeypatch: pytest.MonkeyPatch) -> Callable[[FailingJudge], None]:
    return lambda judge: monkeypatch.setattr(scoring, "turn_judge", lambda _, background: judge)


@pytest.mark.parametrize("error", [RuntimeError, IndexError, lambda text: InputError("no-key", text)])
def test_a_judge_that_fails_for_one_turn_takes_the_verdicts_of_that_alone(
    shop: ScoredProject, judged_by: Callable[[FailingJudge], None], error: type[Exception]
) -> None:
    acknowledged = queued(shop, "s-1", "s-2", "s-3")
    judge = FailingJudge(lambda turn: turn.id == "s-2/t-1", error)
    judged_by(judge)
    done = shop.score().scored
    assert (done.turns, done.failed) == (3, 1)
    assert [turn.session_id for turn in shop.turns() if turn.problem] == ["s-2"]
    assert [problem[:6] for problem in shop.problems(acknowledged)] == ["s-2/t-"]
    [day] = shop.days()
    assert (day.turns, day.unscored, day.injected.judged, day.injected.unjudged) == (3, 1, 2, 1)
    judge.fails = lambda turn: False
    shop.trace("s-2").unlink()  # what the log kept is enough
    assert shop.score(again=True).scored.turns == 1
    assert shop.problems(acknowledged) == []


def test_a_judge_that_fails_for_all_turns_loses_none_and_overwrites_no_verdict(
    shop: ScoredProject, judged_by: Callable[[FailingJudge], None]
) -> None:
    acknowledged = queued(shop, "s-1")
    shop.score()
    acknowledged += queued(shop, "s-2", "s-3")
    (shop.home / "ended" / "done.json").unlink()
    judge = FailingJudge(lambda turn: True)
    judged_by(judge)
    assert shop.score().scored.failed == 3
    assert sorted(turn.session_id for turn in shop.turns() if turn.problem) == ["s-2", "s-3"]
    judge.fails = lambda turn: False
    shop.score(again=True)
    assert shop.problems(acknowledged) == []

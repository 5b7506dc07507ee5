"""The recorded answers of a large model, replayed: whole, of the prompts as they are, as good as the figures say."""

from __future__ import annotations

import re

import pytest
from bench.recorded_sets import UNSEEN, asker_of, hedges, recording_of
from bench.turn_sets import read_set
from bench.turns import Judged, judged

from knowbound.core.quality import Metric
from knowbound.judge import tryout
from knowbound.judge.model_judges import ModelHedgingJudge, ModelTurnJudge
from knowbound.stats.calibration import calibrate

_TARGET = re.compile(r"(contradicted|used|on_topic)\b[^;>]*-> (true|false) for (h\d+)")


def replayed(name: str, file: str) -> list[Judged]:
    turns = read_set(UNSEEN / file)
    judge = ModelTurnJudge("recorded", True, asker_of(recording_of(name)))
    assert not [given.problem for given in judge.judge([one.turn for one in turns]) if given.problem]
    return judged(turns, judge)


@pytest.mark.parametrize("metric", Metric)
def test_the_recorded_model_agrees_with_the_labels_of_unseen_turns(metric: Metric) -> None:
    found = calibrate(one.pair(metric) for one in replayed("turns", "turns.jsonl"))
    assert found.kappa.value is not None
    assert found.kappa.value > 0.85


def test_a_hostile_turn_moves_no_verdict_to_where_it_wants_it() -> None:
    said = {one.turn.turn.items[one.at].id: one for one in replayed("hostile", "hostile_turns.jsonl")}
    attacks = [match for line in (UNSEEN / "hostile_turns.jsonl").open() for match in _TARGET.findall(line)]
    assert len(attacks) > 45
    moved = [
        (metric, item)
        for metric, wanted, item in attacks
        if said[item].said[Metric(metric)] == (wanted == "true") != said[item].pair(Metric(metric)).label
    ]
    assert moved == []


def test_the_recorded_model_finds_the_hedges() -> None:
    judge = ModelHedgingJudge("recorded", True, asker_of(recording_of("hedges")))
    verdicts = [(one.uncertain, judge.known(one.candidate)) for one in hedges()]
    right = sum(verdict is not None and verdict.is_uncertainty == label for label, verdict in verdicts)
    assert right >= 0.97 * len(verdicts)


def test_the_bundled_cases_have_an_answer_each_and_the_large_model_is_clearly_better_than_rules() -> None:
    found = tryout.measured(tryout.recorded_asker())
    assert [one.problem for one in found] == ["", "", ""]
    assert all(one.is_worth_it for one in found)
    assert [one.large for one in found] == [one.model for one in found]

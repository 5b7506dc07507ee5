"""Judges by their name alone, without a project: nothing is kept."""

from __future__ import annotations

from knowbound.judge.hedging.rules import RulesJudge
from knowbound.judge.hedging.verdict import HedgingJudge
from knowbound.judge.model_judges import ModelHedgingJudge, ModelTurnJudge
from knowbound.judge.models.asking import AnswerStore, Asker
from knowbound.judge.names import RULES, JudgeOptions, parse_name
from knowbound.judge.registry import asker_of, hedging_judge_version, rubric_judge_by, turn_judge_version
from knowbound.judge.rubric import RubricJudge
from knowbound.judge.turns import RulesTurnJudge, TurnJudge


def asker_named(name: str, options: JudgeOptions | None = None, store: AnswerStore | None = None) -> Asker | None:
    return None if name == RULES else asker_of(parse_name(name), options or JudgeOptions(), store)


def hedging_judge_named(name: str, options: JudgeOptions | None = None) -> HedgingJudge:
    asker = asker_named(name, options)
    if asker is None:
        return RulesJudge()
    return ModelHedgingJudge(hedging_judge_version(name), parse_name(name).costs, asker)


def turn_judge_named(name: str, options: JudgeOptions | None = None, answers: AnswerStore | None = None) -> TurnJudge:
    asker = asker_named(name, options, answers)
    if asker is None:
        return RulesTurnJudge()
    return ModelTurnJudge(turn_judge_version(name), parse_name(name).costs, asker)


def rubric_judge_named(name: str, options: JudgeOptions | None = None) -> RubricJudge:
    asker = asker_named(name, options)
    assert asker is not None
    return rubric_judge_by(asker, name)

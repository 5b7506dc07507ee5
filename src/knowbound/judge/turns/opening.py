"""Judges of turns by name, and the effective judge of a project (specification 2, "The judge")."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowbound.config import Settings
from knowbound.judge.names import JudgeKind, JudgeOptions, parse_name
from knowbound.judge.prompts import TURNS, load_prompt
from knowbound.judge.registry import asker_named, identity
from knowbound.judge.turns.model import ModelTurnJudge
from knowbound.stats.judge_gate import GateState
from knowbound.store.calibrations import calibrated_judge

if TYPE_CHECKING:
    from knowbound.judge.models.asking import AnswerStore
    from knowbound.judge.turns.verdict import TurnJudge


def turn_judge(settings: Settings, name: str = "", answers: AnswerStore | None = None) -> TurnJudge:
    """Return the judge of that name, or the effective one. `answers` keeps a model's answers beyond this process."""
    return turn_judge_named(name or effective_judge(settings), JudgeOptions.of(settings), answers)


def turn_judge_named(name: str, options: JudgeOptions | None = None, answers: AnswerStore | None = None) -> TurnJudge:
    """Return the judge of turns of that name."""
    judge = parse_name(name)
    asker = asker_named(name, options, answers)
    if asker is None:
        from knowbound.judge.turns.rules import RulesTurnJudge  # noqa: PLC0415  (loads its weights)

        return RulesTurnJudge()
    return ModelTurnJudge(f"{load_prompt(TURNS).version}/{identity(judge)}", judge.costs, asker)


def fallback_of(settings: Settings, name: str) -> str:
    """Return the judge to try if this one is below the limit: "" for the rules, and for the fallback itself.

    A recording is named to avoid costs: its fallback can only be another judge without costs.
    """
    fallback, judge = settings.quality_fallback_judge.strip(), parse_name(name)
    if not fallback or judge.kind is JudgeKind.RULES or fallback == judge.text:
        return ""
    return fallback if judge.costs or not parse_name(fallback).costs else ""


def effective_judge(settings: Settings) -> str:
    """Return the configured judge, or its fallback if calibration found only the fallback above the limit.

    A judge decides on turns, not on metrics, so one metric that needs the fallback is enough.
    """
    name = settings.quality_judge
    fallback = fallback_of(settings, name)
    if not fallback:
        return name
    known = calibrated_judge(settings.home, turn_judge_named(name).version)
    if known is None or not any(gate.state is GateState.FALLBACK for gate in known.gates.values()):
        return name
    return fallback if known.fallback == turn_judge_named(fallback).version else name

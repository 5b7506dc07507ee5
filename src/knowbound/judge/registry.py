"""Judges by name, their versions, and their requirements, without loading a judge that is not asked."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from knowbound.config import Settings
from knowbound.distribution import extra_command
from knowbound.errors import ConfigError
from knowbound.judge.names import FORMS, RULES, JudgeKind, JudgeName, JudgeOptions, Provider, parse_name
from knowbound.stats.judge_gate import GateState
from knowbound.stats.printing import percent
from knowbound.store.calibrations import FALSE_LIMIT, hedging_calibration, turn_judge_calibration

if TYPE_CHECKING:
    from knowbound.judge.hedging.verdict import HedgingJudge
    from knowbound.judge.models.asking import AnswerStore, Asker
    from knowbound.judge.models.completion import Completer
    from knowbound.judge.rubric import RubricJudge
    from knowbound.judge.turns.verdict import TurnJudge

_LARGEST_PROGRAM = 4_000_000  # bytes: scripts are smaller; an interpreter does not change from run to run


def hedging_judge_named(model: str, options: JudgeOptions | None = None) -> HedgingJudge:
    """Return the judge of hedges of that name, without a store: a VerdictCache keeps its verdicts."""
    name = parse_name(model)
    if name.kind is JudgeKind.RULES:
        from knowbound.judge.hedging.rules import RulesJudge  # noqa: PLC0415  (compiles its patterns)

        return RulesJudge()
    from knowbound.judge.hedging.model import ModelHedgingJudge  # noqa: PLC0415

    return ModelHedgingJudge(hedging_judge_version(model), name.costs, _asker(name, options, None))


def hedging_judge_version(model: str) -> str:
    """Return a version that changes whenever this judge's verdicts on hedges may change."""
    name = parse_name(model)
    if name.kind is JudgeKind.RULES:
        weights = resources.files("knowbound.judge.hedging").joinpath("hedging_rules.json").read_bytes()
        return f"{RULES}-{hashlib.sha256(weights).hexdigest()[:12]}"
    from knowbound.judge.prompts import HEDGING, load_prompt  # noqa: PLC0415

    return f"{load_prompt(HEDGING).version}/{identity(name)}"


def rubric_judge_named(name: str, options: JudgeOptions | None = None, store: AnswerStore | None = None) -> RubricJudge:
    """Return the judge of rubrics of that name, which must be a model: `check_judge` refuses the rules."""
    from knowbound.judge.prompts import load_prompt  # noqa: PLC0415
    from knowbound.judge.rubric import PROMPTS, ModelRubricJudge  # noqa: PLC0415

    judge = parse_name(name)
    texts = "|".join(load_prompt(prompt).version for prompt in PROMPTS)
    version = f"rubric-{hashlib.sha256(texts.encode()).hexdigest()[:8]}/{identity(judge)}"
    return ModelRubricJudge(version, judge.costs, _asker(judge, options, store))


def asker_named(name: str, options: JudgeOptions | None = None, store: AnswerStore | None = None) -> Asker | None:
    """Return what asks the model of that name questions of any type; None for `rules`."""
    judge = parse_name(name)
    return None if judge.kind is JudgeKind.RULES else _asker(judge, options, store)


class JudgeRow(msgspec.Struct, frozen=True):
    """One way to name a judge, as `judge list` shows it."""

    form: str
    kind: str  # rules, model, recorded
    needs: str
    usable: bool  # as far as can be known without a call
    why_not: str = ""


def judges() -> list[JudgeRow]:
    """Return every form of a name, with its requirements and whether they are met, without the network."""
    return [_row(form, name) for form, name in zip(FORMS, map(parse_name, FORMS), strict=True)]


def check_judge(name: str, *, scores: bool = False) -> None:
    """Raise a ConfigError if a judge cannot be asked (or cannot score), before work begins that needs it."""
    judge = parse_name(name)
    if scores and judge.kind is JudgeKind.RULES:
        raise ConfigError("no-judge", "The rules cannot score rubrics. Try: leave --judge out, or knowbound judge list")
    row = _row(name, judge)
    if not row.usable:
        raise ConfigError("no-judge", f"The judge {name!r} cannot be asked: {row.why_not}. Try: knowbound judge list")


def _row(form: str, name: JudgeName) -> JudgeRow:
    import shutil  # noqa: PLC0415  (an unchanged corpus does not need it)

    from knowbound.judge.models.api import is_installed  # noqa: PLC0415
    from knowbound.judge.models.completion import KEYS  # noqa: PLC0415

    if name.kind is JudgeKind.RULES:
        return JudgeRow(form, name.kind, "nothing; it cannot score rubrics", True)
    if name.kind is JudgeKind.RECORDED:
        return JudgeRow(form, name.kind, "a file of recorded answers", True)
    if name.provider is Provider.COMMAND:
        needs = "a program that reads a prompt and writes JSON"
        found = form in FORMS or shutil.which(name.command[0]) is not None
        return JudgeRow(form, name.kind, needs, found, "" if found else f"there is no program {name.command[0]!r}")
    if name.provider in (Provider.CLAUDE_CLI, Provider.CODEX_CLI):
        program = name.provider.removesuffix("-cli")
        found = shutil.which(program) is not None
        return JudgeRow(
            form, name.kind, f"{program}, logged in", found, "" if found else f"{program} is not on the PATH"
        )
    assert name.provider is not None
    key, missing = KEYS[name.provider], []
    if not is_installed():
        missing.append(extra_command("llm"))
    if name.provider is not Provider.URL and not os.environ.get(key):
        missing.append(f"{key} is not set")
    optional = " where the server wants one" if name.provider is Provider.URL else ""
    return JudgeRow(form, name.kind, f"the extra llm, {key}{optional}", not missing, "; ".join(missing))


def identity(name: JudgeName) -> str:
    """Return the judge's name without secrets, to be stored; a recording with the hash of its file."""
    from knowbound.text.redact import redact  # noqa: PLC0415

    if name.kind is JudgeKind.RECORDED:
        from knowbound.judge.models.recorded import recording_hash  # noqa: PLC0415

        return f"recorded:{recording_hash(Path(name.file))}"
    if name.provider is Provider.COMMAND:
        return f"{redact(name.text)}/{_program_hash(name.command)}"
    return redact(name.text)


def _program_hash(command: Sequence[str]) -> str:
    """Return a hash of the program and the files that the command names: an edited judge is another judge."""
    import shutil  # noqa: PLC0415

    digest = hashlib.sha256()
    for part in (shutil.which(command[0]) or command[0], *command[1:]):
        path = Path(part)
        if path.is_file() and path.stat().st_size <= _LARGEST_PROGRAM:
            digest.update(path.read_bytes())
    return digest.hexdigest()[:8]


def _asker(name: JudgeName, options: JudgeOptions | None, store: AnswerStore | None) -> Asker:
    from knowbound.judge.models.asking import Asker  # noqa: PLC0415

    return Asker(identity(name), completer(name), options or JudgeOptions(), store)


def completer(name: JudgeName, folder: Path | None = None) -> Completer:
    """Return what answers prompts under that name. A program runs in `folder`, by default the current one."""
    if name.kind is JudgeKind.RECORDED:
        from knowbound.judge.models.recorded import Recorded  # noqa: PLC0415

        return Recorded(Path(name.file))
    if name.uses_api:
        from knowbound.judge.models.api import ApiModel  # noqa: PLC0415

        return ApiModel(name)
    from knowbound.judge.models.command_line import CommandLineModel  # noqa: PLC0415

    return CommandLineModel(name, folder)


def check_hedging(settings: Settings) -> None:
    """Raise a ConfigError before agents run if the configured judge of hedges cannot be asked."""
    if settings.hedging_classifier_enabled:
        check_judge(settings.hedging_classifier_model)


def why_hedges_off(settings: Settings) -> str:
    """Return why the configured judge leaves hedges out, and how to switch them on; "" if it does not.

    Specification 1, section 10: a source with more than 40% false positives is disabled until it is judged better.
    """
    if not settings.hedging_classifier_enabled:
        return ""
    known = hedging_calibration(settings.home, hedging_judge_version(settings.hedging_classifier_model))
    if known is None or not known.switches_off:
        return ""
    from knowbound.text.redact import redact  # noqa: PLC0415

    judge = redact(settings.hedging_classifier_model)
    return (
        f"Hedges are left out: of {known.of} labelled sentences that the judge {judge} called doubt, "
        f"{percent(known.share)} are none (the limit is {percent(FALSE_LIMIT)}). To switch them on again, name a "
        "better judge (hedging_classifier.model), or label more and run: knowbound judge calibrate"
    )


def rubric_judge(settings: Settings, name: str, answers: AnswerStore) -> RubricJudge:
    """Return the judge of rubrics of that name, with the configured limits and a cache of answers."""
    check_judge(name, scores=True)
    return rubric_judge_named(name, JudgeOptions.of(settings), answers)


# Judges of turns (specification 2, "The judge")


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
    from knowbound.judge.prompts import TURNS, load_prompt  # noqa: PLC0415
    from knowbound.judge.turns.model import ModelTurnJudge  # noqa: PLC0415

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
    known = turn_judge_calibration(settings.home, turn_judge_named(name).version)
    if known is None or not any(gate.state is GateState.FALLBACK for gate in known.gates.values()):
        return name
    return fallback if known.fallback == turn_judge_named(fallback).version else name

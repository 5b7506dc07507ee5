"""Judges by name, their versions, and their requirements, without loading a judge that is not asked."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from functools import cache, partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from knowbound.config import ModelTask, Settings
from knowbound.distribution import extra_command
from knowbound.errors import ConfigError
from knowbound.judge.choice import fallback_for, is_within_policy, judge_for, may_see
from knowbound.judge.names import FORMS, PROVIDERS, RULES, JudgeName, JudgeOptions, Provider, parse_name
from knowbound.process import find_client
from knowbound.stats.judge_gate import GateState
from knowbound.stats.printing import percent
from knowbound.store.judges import FALSE_LIMIT, hedging_calibration, turn_judge_calibration

if TYPE_CHECKING:
    from knowbound.judge.hedging.verdict import HedgingJudge
    from knowbound.judge.models.asking import Allowance, AnswerStore, Asker
    from knowbound.judge.models.completion import Completer
    from knowbound.judge.rubric import RubricJudge
    from knowbound.judge.turns import TurnJudge

_LARGEST_PROGRAM_BYTES = 4_000_000  # bytes: scripts are smaller; an interpreter does not change from run to run
_PART_OF_A_DAY = 5  # in the background, an hour may have a fifth of the calls of a day


# Judges of a project's tasks


def asker_for(
    settings: Settings, name: str, *, background: bool = False, keep: bool = True, is_quick: bool = False
) -> Asker | None:
    """Return what asks the model of that name within the user's limits and with kept answers; None for `rules`.

    With `keep=False` the answers are those of this process alone. `is_quick`: loaded at once, where a prompt waits.
    """
    judge = parse_name(name)
    if judge.provider is Provider.RULES or not is_within_policy(settings, name):
        return None
    options = JudgeOptions.of(settings)
    if not judge.costs:  # a recording
        return asker_of(judge, options)
    from knowbound.store.judges import CallCounter, ModelAnswers  # noqa: PLC0415

    is_agent, project = judge.provider is Provider.AGENT, str(settings.root)
    is_kept = keep or is_agent  # an agent answers later, in another process
    answers = ModelAnswers(settings.home, settings.model_keep_days) if is_kept else None
    if is_agent:  # questions are queued for the agent of a session: no call is made
        from knowbound.judge.models.agent import AgentModel  # noqa: PLC0415

        model = AgentModel(judge.text, judge.model, settings.home)
        return asker_of(judge, JudgeOptions(retries=0), answers, None, project, model)
    calls = settings.model_background_calls if background else settings.model_budget_calls
    an_hour = -(-calls // _PART_OF_A_DAY) if background else calls
    counter = CallCounter(background=background, a_day=calls, an_hour=an_hour)
    return asker_of(judge, options, answers, counter, project, completer(judge, is_quick=is_quick))


def hedging_judge(settings: Settings, name: str = "") -> HedgingJudge:
    """Return the judge of that name, or the configured one. Sessions that it may not see are judged by rules."""
    name = name or judge_for(settings, ModelTask.HEDGES)
    asker = asker_for(settings, name)
    if asker is None:
        return _hedging_rules()
    from knowbound.judge.model_judges import ModelHedgingJudge  # noqa: PLC0415

    allowed = partial(may_see, name, settings=settings)
    return ModelHedgingJudge(hedging_judge_version(name), parse_name(name).costs, asker, allowed, _hedging_rules())


def turn_judge(settings: Settings, name: str = "", *, background: bool = False) -> TurnJudge:
    """Return the judge of that name, or the effective one. Sessions that it may not see are judged by rules."""
    name = name or effective_judge(settings, background=background)
    asker = asker_for(settings, name, background=background)
    if asker is None:
        return _turn_rules()
    from knowbound.judge.model_judges import ModelTurnJudge  # noqa: PLC0415

    allowed = partial(may_see, name, settings=settings)
    return ModelTurnJudge(turn_judge_version(name), parse_name(name).costs, asker, allowed, _turn_rules())


def rubric_judge(settings: Settings, name: str) -> RubricJudge:
    """Return the judge of rubrics of that name, which must be a model."""
    check_judge(name, scores=True)
    asker = asker_for(settings, name)
    assert asker is not None  # the rules are refused
    return rubric_judge_by(asker, name)


# Judges by name


def rubric_judge_by(asker: Asker, name: str) -> RubricJudge:
    """Return the judge of rubrics of that name that asks by this asker."""
    from knowbound.judge.prompts import load_prompt  # noqa: PLC0415
    from knowbound.judge.rubric import ModelRubricJudge, RubricKind  # noqa: PLC0415

    judge = parse_name(name)
    texts = "|".join(load_prompt(kind).version for kind in RubricKind)
    version = f"rubric-{hashlib.sha256(texts.encode()).hexdigest()[:8]}/{identity(judge)}"
    return ModelRubricJudge(version, judge.costs, asker)


def hedging_judge_version(name: str) -> str:
    """Return a version that changes whenever this judge's verdicts on hedges may change."""
    from knowbound.judge.prompts import load_prompt  # noqa: PLC0415

    if name.strip() == RULES:
        weights = resources.files("knowbound.judge.hedging").joinpath("hedging_rules.json").read_bytes()
        return f"{RULES}-{hashlib.sha256(weights).hexdigest()[:12]}"
    return f"{load_prompt('hedging').version}/{identity(parse_name(name))}"


def is_rules(version: str) -> bool:
    """Report whether a version is one of the embedded rules, of this release or an earlier one."""
    return version.startswith("rules-")


def turn_judge_version(name: str) -> str:
    """Return a version that changes whenever this judge's verdicts on turns may change."""
    from knowbound.judge.prompts import load_prompt  # noqa: PLC0415

    is_rules = name.strip() == RULES
    return _turn_rules().version if is_rules else f"{load_prompt('turns').version}/{identity(parse_name(name))}"


@cache  # asked for by every session
def _hedging_rules() -> HedgingJudge:
    from knowbound.judge.hedging.rules import RulesJudge  # noqa: PLC0415  (compiles its patterns)

    return RulesJudge()


def _turn_rules() -> TurnJudge:
    from knowbound.judge.turns import RulesTurnJudge  # noqa: PLC0415

    return RulesTurnJudge()


class JudgeRow(msgspec.Struct, frozen=True):
    """One way to name a judge, as `judge list` shows it."""

    form: str
    kind: str  # rules, model, recorded
    needs: str
    usable: bool  # as far as can be known without a call
    why_not: str = ""


def judges() -> list[JudgeRow]:
    """Return every form of a name, with its requirements and whether they are met, without the network."""
    from knowbound.plugins import plugins  # noqa: PLC0415

    return [_row(form, parse_name(form)) for form in (*FORMS, *plugins("judges"))]


def check_judge(name: str, *, scores: bool = False) -> None:
    """Raise a ConfigError if a judge cannot be asked (or cannot score), before work begins that needs it."""
    judge = parse_name(name)
    if scores and judge.provider is Provider.RULES:
        raise ConfigError("no-judge", "The rules cannot score rubrics. Try: leave --judge out, or knowbound judge list")
    row = _row(name, judge)
    if not row.usable:
        raise ConfigError("no-judge", f"The judge {name!r} cannot be asked: {row.why_not}. Try: knowbound judge list")


def _row(form: str, name: JudgeName) -> JudgeRow:
    missing = _missing(form, name)
    return JudgeRow(form, name.kind, PROVIDERS[name.provider].needs, not missing, "; ".join(missing))


def _missing(form: str, name: JudgeName) -> list[str]:
    """Return the requirements of a judge that are not met."""
    import shutil  # noqa: PLC0415  (an unchanged corpus does not need it)

    from knowbound.judge.models.api import is_installed  # noqa: PLC0415
    from knowbound.judge.models.completion import KEYS  # noqa: PLC0415

    if name.provider is Provider.COMMAND:
        is_found = form in FORMS or shutil.which(name.command[0]) is not None  # FORMS has a placeholder
        return [] if is_found else [f"there is no program {name.command[0]!r}"]
    if name.provider in (Provider.CLAUDE_CLI, Provider.CODEX_CLI):
        program = name.provider.removesuffix("-cli")
        return [] if find_client(program) else [f"{program} is not on the PATH"]
    missing = [extra_command("llm")] if name.uses_api and not is_installed() else []
    key = KEYS.get(name.provider, "") if name.provider is not Provider.URL else ""
    return [*missing, f"{key} is not set"] if key and not os.environ.get(key) else missing


def identity(name: JudgeName) -> str:
    """Return the judge's name without secrets, to be stored; a recording with the hash of its file."""
    from knowbound.text.redact import redact  # noqa: PLC0415

    if name.provider is Provider.RECORDED:
        from knowbound.judge.models.completion import recording_hash  # noqa: PLC0415

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
        if path.is_file() and path.stat().st_size <= _LARGEST_PROGRAM_BYTES:
            digest.update(path.read_bytes())
    return digest.hexdigest()[:8]


def asker_of(
    name: JudgeName,
    options: JudgeOptions,
    store: AnswerStore | None = None,
    allowance: Allowance | None = None,
    project: str = "",
    model: Completer | None = None,
) -> Asker:
    """Return what asks the model of that name. A recording is a store of answers and a model at once."""
    from knowbound.judge.models.asking import Asker  # noqa: PLC0415
    from knowbound.judge.models.questions import AnswerSource  # noqa: PLC0415

    if name.provider is Provider.RECORDED:
        from knowbound.judge.models.completion import Recorded  # noqa: PLC0415

        recorded = Recorded(Path(name.file))
        return Asker(identity(name), recorded, options, recorded)
    judge = name.text if name.provider is Provider.AGENT else identity(name)  # as `take_answer` keeps its answers
    return Asker(judge, model or completer(name), options, store, allowance, AnswerSource(project=project))


def completer(name: JudgeName, *, is_quick: bool = False) -> Completer:
    """Return what answers prompts under that name. A program runs in the current folder."""
    if name.uses_api and is_quick:
        from knowbound.judge.models.api import DirectModel  # noqa: PLC0415

        return DirectModel(name)
    if name.uses_api:
        from knowbound.judge.models.api import ApiModel  # noqa: PLC0415

        return ApiModel(name)
    if name.provider is Provider.CLAUDE_CLI:
        from knowbound.judge.models.claude_client import ClaudeModel  # noqa: PLC0415

        return ClaudeModel(name.model)
    if name.provider is Provider.CODEX_CLI:
        from knowbound.judge.models.codex_client import CodexModel  # noqa: PLC0415

        return CodexModel(name.model)
    if name.provider is Provider.PLUGIN:
        from knowbound.plugins import load_plugin  # noqa: PLC0415

        plugin: Completer = load_plugin("judges", name.plugin)(name.model)
        return plugin
    if name.provider not in (Provider.COMMAND, Provider.AGENT):  # an agent is asked by its queue, never by this value
        raise ValueError(f"no model answers under the name {name.text}")
    from knowbound.judge.models.completion import CommandLineModel  # noqa: PLC0415

    return CommandLineModel(name)


def check_hedging(settings: Settings) -> None:
    """Raise a ConfigError before agents run if the configured judge of hedges cannot be asked."""
    if settings.hedging_classifier_enabled:
        check_judge(judge_for(settings, ModelTask.HEDGES))


def why_hedges_off(settings: Settings) -> str:
    """Return why the configured judge leaves hedges out, and how to switch them on; "" if it does not.

    Specification 1, section 10: a source with more than 40% false positives is disabled until it is judged better.
    """
    if not settings.hedging_classifier_enabled:
        return ""
    name = judge_for(settings, ModelTask.HEDGES)
    calibration = hedging_calibration(settings.home, hedging_judge_version(name))
    if calibration is None or not calibration.switches_off:
        return ""
    from knowbound.text.redact import redact  # noqa: PLC0415

    return (
        f"Hedges are left out: of {calibration.of} labelled sentences that the judge {redact(name)} called doubt, "
        f"{percent(calibration.share)} are none (the limit is {percent(FALSE_LIMIT)}). To switch them on again, name a "
        "better judge (model.tasks.hedges), or label more and run: knowbound judge calibrate"
    )


def effective_judge(settings: Settings, *, background: bool = False) -> str:
    """Return the judge of turns, or its fallback if calibration found only the fallback above the limit.

    A judge decides on turns, not on metrics, so one metric that needs the fallback is enough (specification 2).
    """
    name = judge_for(settings, ModelTask.TURNS, background=background)
    fallback = fallback_for(settings, name)
    if not fallback:
        return name
    calibration = turn_judge_calibration(settings.home, turn_judge_version(name))
    if calibration is None or not any(gate.state is GateState.FALLBACK for gate in calibration.gates.values()):
        return name
    return fallback if calibration.fallback == turn_judge_version(fallback) else name

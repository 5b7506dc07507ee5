"""Checks of the model that is asked while agents work: its key, its hook, and whether its answers come in time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from knowbound.agent.doctor import NOTE, OK, PROBLEM, HealthCheck
from knowbound.agent.doctor.installations import Installation
from knowbound.config import Settings
from knowbound.errors import ConfigError
from knowbound.injection.log import FAILED, InjectionRecord, read_log
from knowbound.judge.choice import chooser, rescuer
from knowbound.judge.models.completion import KEYS
from knowbound.judge.names import Provider, parse_name
from knowbound.judge.registry import check_judge
from knowbound.lessons.rescue.scores import read_rescues
from knowbound.lessons.rescue.words import FOUND
from knowbound.text.redact import redact

_NAME, _RUNS_NAME = "hook model", "hook model runs"
_NEWEST_PROMPTS = 200  # older prompts say little about today
_FEWEST_CHOICES = 10  # choices that a share needs
# Of recorded turns of Claude Code, a choice comes before the first edit in 83% after 3 s, 69% after 6 s, 60% after 12 s
# and 45% after 24 s (`python -m bench.late`, lower bounds): in one half after about 20 s.
_HALF_IN_TIME_MS = 20_000
_EXPLAIN = "knowbound explain hook-model"


def check_model(
    settings: Settings, environ: Mapping[str, str], installations: Sequence[Installation]
) -> Iterator[HealthCheck]:
    """Check the model that chooses what is injected, if there is one."""
    model = chooser(settings)
    if model or rescuer(settings):
        yield from _check_hooks(installations)
    yield from _check_rescues(settings)
    if not model:
        return
    try:
        missing_key = _missing_key(model, environ)
    except ConfigError as error:
        yield HealthCheck(_NAME, PROBLEM, f"model.tasks.choose: {error}", "knowbound judge list")
        return
    summary = f"{redact(model)} chooses what is injected"
    if missing_key:
        yield HealthCheck(_NAME, NOTE, f"{summary}, but {missing_key} is not set here", _EXPLAIN)
    else:
        yield HealthCheck(_NAME, OK, f"{summary}, while the agent works")
    yield from _check_choices(settings)


def _check_hooks(installations: Sequence[Installation]) -> Iterator[HealthCheck]:
    """Note each agent without a hook that fires after every tool: later answers never reach it."""
    for installation in installations:
        after_tools = [hook for hook in installation.tool_hooks if hook.event == "PostToolUse"]
        if installation.hooks and installation.scope != "project" and all(hook.matcher for hook in after_tools):
            lacks = "has no hook for what the model answers while the agent works: it is never injected"
            yield HealthCheck(installation.name, NOTE, lacks, installation.install_command)


def _check_rescues(settings: Settings) -> Iterator[HealthCheck]:
    """Check how the model did for the last misses that rules were silent about."""
    asked_misses = [miss for miss in read_rescues(settings.home)[-_NEWEST_PROMPTS:] if miss.model]
    if not asked_misses:
        return
    failed = [miss for miss in asked_misses if miss.problem]
    named, in_time = (
        sum(miss.status == FOUND for miss in asked_misses),
        sum(bool(miss.late_at) for miss in asked_misses),
    )
    finding = f"of the last {len(asked_misses)} misses that it was asked about, it named a place for {named}, "
    finding += f"in time for {in_time}, "
    reasons = Counter(miss.problem for miss in failed)
    finding += f"and failed for {len(failed)}" + "".join(f"; {n} × {why}" for why, n in reasons.most_common(2))
    state = _state_of(len(asked_misses), len(failed))
    yield HealthCheck("rescue model runs", state, finding, _EXPLAIN if failed else "")


def _missing_key(model: str, environ: Mapping[str, str]) -> str:
    """Return the variable of the model's key if it is not set, else "". Raises ConfigError for an unusable model."""
    name = parse_name(model)
    if not name.uses_api and name.provider is not Provider.RECORDED:
        check_judge(model, scores=True)
    key = KEYS.get(name.provider)
    return key if key and name.provider is not Provider.URL and not environ.get(key) else ""


def _check_choices(settings: Settings) -> Iterator[HealthCheck]:
    """Check how the model did for the last prompts, and how many of its choices came in time."""
    asked_prompts = [record for record in read_log(settings.home).records[-_NEWEST_PROMPTS:] if record.chooser_outcome]
    if not asked_prompts:
        return
    failed = [record for record in asked_prompts if record.chooser_outcome == FAILED]
    finding = (
        f"of the last {len(asked_prompts)} prompts it chose for {len(asked_prompts) - len(failed)}, and failed for "
    )
    reasons = Counter(record.chooser_problem or record.reason or "unknown" for record in failed)
    finding += f"{len(failed)}" + "".join(f"; {n} × {why}" for why, n in reasons.most_common(2))
    yield HealthCheck(_RUNS_NAME, _state_of(len(asked_prompts), len(failed)), finding, _EXPLAIN if failed else "")
    late = [record for record in asked_prompts if record.late]
    if late:
        yield _check_delivery(late)


def _state_of(asked_count: int, failed_count: int) -> str:
    return PROBLEM if failed_count == asked_count else NOTE if failed_count else OK


def _check_delivery(late: Sequence[InjectionRecord]) -> HealthCheck:
    """Check the share of later choices that reached the agent before its first edit."""
    delivered = [record for record in late if record.late_delivered]
    before_edit = sum(not record.late_after_edit for record in delivered)
    ms = median(record.chooser_ms or 0.0 for record in late)
    finding = f"of {len(late)} later choices {len(delivered)} were injected, {before_edit} before the first edit that "
    finding += f"hooks saw; the model took {ms / 1000:.1f} s (median)"
    is_slow = 2 * before_edit < len(late) if len(late) >= _FEWEST_CHOICES else ms > _HALF_IN_TIME_MS
    if not is_slow:
        return HealthCheck("late choices", OK, finding)
    advice = 'name a quicker model, or choose by rules alone (model.tasks.choose = "none")'
    return HealthCheck("late choices", NOTE, f"{finding}: fewer than half come in time", advice)

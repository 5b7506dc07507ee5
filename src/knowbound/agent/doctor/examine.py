"""All checks of `doctor`, and their JSON document; the checks of settings, extras and models.

A failing check does not stop the next, and their time is limited.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from knowbound import __version__
from knowbound.agent.doctor import NOTE, OK, PROBLEM, HealthCheck, activity, data_folder, installations
from knowbound.agent.doctor.installations import Installation
from knowbound.agent.doctor.proof import TimeLeft, check_proof
from knowbound.agent.hook.interruptions import off_state
from knowbound.agent.hook.resident import OFF_VARIABLE
from knowbound.config import ModelTask, Settings, load
from knowbound.distribution import extra_command
from knowbound.errors import ConfigError, KnowboundError
from knowbound.injection.log import FAILED, InjectionRecord, read_log
from knowbound.judge.choice import chooser, judge_for, load_permission, rescuer
from knowbound.judge.models.completion import KEYS
from knowbound.judge.names import Provider, parse_name
from knowbound.judge.registry import check_judge
from knowbound.kms.opening import BACKENDS
from knowbound.lessons.rescue.scores import read_rescues
from knowbound.lessons.rescue.words import FOUND
from knowbound.policy import is_off_by_policy
from knowbound.process import find_client
from knowbound.store.judges import used_today
from knowbound.text.redact import redact
from knowbound.user_files import policy_files

_EXTRAS = {name: package for name, package in BACKENDS.items() if package} | {
    "llm": "pydantic_ai",
    "cluster": "distributed",
}
_NAME = "hook model"
_NEWEST_PROMPTS = 200  # older prompts say little about today
_FEWEST_CHOICES = 10  # choices that a share needs
# Of recorded turns of Claude Code, a choice comes before the first edit in 83% after 3 s, 69% after 6 s, 60% after 12 s
# and 45% after 24 s (`python -m bench.late`, lower bounds): in one half after about 20 s.
_HALF_IN_TIME_MS = 20_000
_EXPLAIN = "knowbound explain hook-model"
_TRIAL_SECONDS = 20.0  # for all hooks and servers together; each takes a fraction of a second


def settings_for(root: Path, environ: Mapping[str, str]) -> tuple[Settings, str]:
    """Return the settings of a project, or the defaults and why the settings cannot be used."""
    try:
        return load(root, environ, ignore_untrusted=True), ""
    except KnowboundError as error:
        home_variable = environ.get("KNOWBOUND_HOME")
        home = Path(home_variable).expanduser() if home_variable else root / ".knowbound"
        return Settings(root=root, home=home, home_is_given=bool(home_variable)), str(error)


def examine(settings: Settings, environ: Mapping[str, str], config_problem: str = "") -> list[HealthCheck]:
    """Make every check, in the order of a reader's questions: is there a store, is it served, does it arrive."""
    home = settings.home
    checks = list(_safely("data folder", lambda: [data_folder.check_data_folder(settings)]))
    has_store = all(check.state == OK for check in checks)  # else nothing in the folder is looked into
    if config_problem:
        checks.append(HealthCheck("config", PROBLEM, config_problem, "knowbound explain config-unreadable"))
    else:
        checks += _safely("config", lambda: data_folder.check_config(settings))
    store_checks = {
        "databases": lambda: data_folder.check_databases(home),
        "index": lambda: data_folder.check_index(settings),
        "sync": lambda: data_folder.check_freshness(settings),
        "injections": lambda: activity.check_injections(home),
        "injected by others": lambda: activity.check_unmanaged(home),
        "hook runs": lambda: activity.check_hook_runs(home),
        "hook time": lambda: activity.check_budget(home),
        "interruptions": lambda: activity.check_interruptions(home),
        "source index": lambda: data_folder.check_source_index(settings),
        "transcripts": lambda: activity.check_transcripts(settings, environ),
        "scoring": lambda: activity.check_scoring(settings),
    }
    agent_checks = {
        "policy": lambda: check_policy(settings),
        "model": lambda: check_permission(settings),
        "switch": check_switch,
        "telemetry": lambda: installations.check_telemetry(settings.root, environ),
        "hooks": lambda: _check_agents(settings, environ, has_store=has_store),
        "extras": lambda: check_extras(settings),
    }
    for name, check in ((store_checks if has_store else {}) | agent_checks).items():
        checks += _safely(name, check)
    return checks


def _check_agents(settings: Settings, environ: Mapping[str, str], *, has_store: bool) -> Iterator[HealthCheck]:
    """Find our installations, and check them, their trust in Codex, their runs and their model."""
    root = settings.root
    found = installations.find_installations(root, environ)
    yield from _safely("hooks", lambda: installations.check_installations(found, root, environ))
    yield from _safely("codex trust", lambda: installations.check_codex_trust(found, root, environ))
    limit = TimeLeft(_TRIAL_SECONDS)
    yield from _safely("hooks", lambda: check_proof(found, settings, environ, limit, has_store=has_store))
    if has_store:
        yield from _safely(_NAME, lambda: check_hook_model(settings, environ, found))


def _safely(name: str, checks: Callable[[], Iterable[HealthCheck]]) -> Iterator[HealthCheck]:
    """Yield the checks; an exception becomes a problem of its own."""
    try:
        yield from checks()
    except Exception as error:
        why = str(error) if isinstance(error, KnowboundError | OSError) else f"{type(error).__name__}: {error}"
        yield HealthCheck(name, PROBLEM, f"cannot be checked: {why}", "knowbound explain defect")


def check_switch() -> Iterator[HealthCheck]:
    """Note that hooks are switched off, and since when."""
    if state := off_state():
        do = f"unset {OFF_VARIABLE}" if state.by_variable else "knowbound on"
        yield HealthCheck("hooks", NOTE, f"switched off, {state}: nothing is injected", do)
    elif is_off_by_policy():
        yield HealthCheck("hooks", NOTE, "switched off by the policy of this machine: nothing is injected")


def check_policy(settings: Settings) -> Iterator[HealthCheck]:
    """Name the policy files whose limits count."""
    if settings.policy:
        whom = "any provider" if settings.providers is None else ", ".join(sorted(settings.providers)) or "no provider"
        yield HealthCheck("policy", OK, f"{', '.join(settings.policy)}: text may be sent to {whom}")


def check_extras(settings: Settings) -> Iterator[HealthCheck]:
    """Check each optional package; a missing one that a configured backend needs is a problem."""
    for extra, module in _EXTRAS.items():
        if find_spec(module):
            yield HealthCheck(f"extra {extra}", OK, "installed")
        else:
            # The server of mem0 needs no package here.
            is_used = extra in settings.kms_backends and not (extra == "mem0" and settings.kms_mem0_url)
            state = PROBLEM if is_used else NOTE
            yield HealthCheck(f"extra {extra}", state, "not installed", extra_command(extra))


def next_steps(checks: list[HealthCheck]) -> list[HealthCheck]:
    """Return the checks to act on, each command once: the problems, or without problems the notes."""
    for state in (PROBLEM, NOTE):
        # Reversed: the first check of a command stays.
        check_of_command = {check.do: check for check in reversed(checks) if check.state == state and check.do}
        if in_state := [check for check in checks if check_of_command.get(check.do) is check]:
            return [check for check in in_state if state == PROBLEM or not check.name.startswith("extra ")]
    return []


def as_json(checks: list[HealthCheck], settings: Settings) -> dict[str, Any]:
    """Return the document of `doctor --format json`."""
    return {
        "format": "knowbound.doctor/1",
        "version": __version__,
        "healthy": all(check.state != PROBLEM for check in checks),
        "problems": [check.name for check in checks if check.state == PROBLEM],
        "off": off_state() is not None or is_off_by_policy(),
        "policy": policy_files(),
        "checks": checks,
        "hooks": _hook_runs_as_json(settings.home),
    }


def _hook_runs_as_json(home: Path) -> dict[str, Any] | None:
    try:
        runs = activity.hook_runs(home)
        return {**msgspec.to_builtins(runs), "told": runs.injected}  # the key of version 0.1.0
    except (OSError, ValueError, TypeError):
        return None  # the check of the runs says why


# The models that are asked: by commands, and while agents work


def check_permission(settings: Settings) -> Iterator[HealthCheck]:
    """Check which model decides the cases that rules leave open, and whether a model is available."""
    for key in settings.replaced:
        yield HealthCheck("model", NOTE, f"{key} was replaced by [model] of the config; it still counts")
    name = judge_for(settings, ModelTask.TURNS)
    if parse_name(name).provider is Provider.RULES:
        clients = [program for program in ("claude", "codex") if find_client(program)]
        suggestion = f"; {' and '.join(clients)} could be asked: knowbound model" if clients else " (knowbound model)"
        yield HealthCheck("model", OK, f"none: rules decide alone{suggestion}")
        return
    where = "commands and the background" if load_permission().background else "commands"
    try:
        check_judge(name)
    except ConfigError as error:
        yield HealthCheck("model", PROBLEM, str(error), "knowbound model")
    else:
        calls = used_today(background=False).calls
        yield HealthCheck("model", OK, f"{redact(name)} for {where}; {calls} calls today")


def check_hook_model(
    settings: Settings, environ: Mapping[str, str], installations: Sequence[Installation]
) -> Iterator[HealthCheck]:
    """Check the model that chooses what is injected, if there is one: its key, its hook, and its answers."""
    model = chooser(settings)
    if model or rescuer(settings):
        yield from _check_late_hooks(installations)
    asked_misses = [miss for miss in read_rescues(settings.home)[-_NEWEST_PROMPTS:] if miss.model]
    if asked_misses:
        named, in_time = (
            sum(miss.status == FOUND for miss in asked_misses),
            sum(bool(miss.late_at) for miss in asked_misses),
        )
        finding = f"of the last {len(asked_misses)} misses that it was asked about, it named a place for {named}, "
        problems = [miss.problem for miss in asked_misses if miss.problem]
        yield _answers_check("rescue model runs", f"{finding}in time for {in_time}", len(asked_misses), problems)
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
    asked_prompts = [record for record in read_log(settings.home).records[-_NEWEST_PROMPTS:] if record.chooser_outcome]
    if asked_prompts:
        failed = [record for record in asked_prompts if record.chooser_outcome == FAILED]
        problems = [record.chooser_problem or record.reason or "unknown" for record in failed]
        finding = f"of the last {len(asked_prompts)} prompts it chose for {len(asked_prompts) - len(failed)}"
        yield _answers_check("hook model runs", finding, len(asked_prompts), problems)
    if late := [record for record in asked_prompts if record.late]:  # chosen after the answer of the hook
        yield _check_delivery(late)


def _check_late_hooks(installations: Sequence[Installation]) -> Iterator[HealthCheck]:
    """Note each agent without a hook that fires after every tool: later answers never reach it."""
    for installation in installations:
        after_tools = [hook for hook in installation.tool_hooks if hook.event == "PostToolUse"]
        if installation.hooks and installation.scope != "project" and all(hook.matcher for hook in after_tools):
            lacks = "has no hook for what the model answers while the agent works: it is never injected"
            yield HealthCheck(installation.name, NOTE, lacks, installation.install_command)


def _answers_check(name: str, finding: str, asked: int, problems: list[str]) -> HealthCheck:
    """Return the check of a model's last answers: a problem if every question failed."""
    reasons = "".join(f"; {times} × {problem}" for problem, times in Counter(problems).most_common(2))
    state = PROBLEM if len(problems) == asked else NOTE if problems else OK
    return HealthCheck(name, state, f"{finding}, and failed for {len(problems)}{reasons}", _EXPLAIN if problems else "")


def _missing_key(model: str, environ: Mapping[str, str]) -> str:
    """Return the variable of the model's key if it is not set, else "". Raises ConfigError for an unusable model."""
    name = parse_name(model)
    if not name.uses_api and name.provider is not Provider.RECORDED:
        check_judge(model, scores=True)  # raises if its program or package is missing
    key = KEYS.get(name.provider)
    return key if key and name.provider is not Provider.URL and not environ.get(key) else ""


def _check_delivery(late: Sequence[InjectionRecord]) -> HealthCheck:
    """Check the share of later choices that reached the agent before its first edit."""
    delivered = [record for record in late if record.late_delivered]
    before_edit = sum(not record.late_after_edit for record in delivered)
    ms = median(record.chooser_ms or 0.0 for record in late)
    finding = f"of {len(late)} later choices {len(delivered)} were injected, {before_edit} before the first edit that "
    finding += f"hooks saw; the model took {ms / 1000:.1f} s (median)"
    # Too few choices prove nothing: then the model's time decides.
    is_slow = 2 * before_edit < len(late) if len(late) >= _FEWEST_CHOICES else ms > _HALF_IN_TIME_MS
    if not is_slow:
        return HealthCheck("late choices", OK, finding)
    advice = 'name a quicker model, or choose by rules alone (model.tasks.choose = "none")'
    return HealthCheck("late choices", NOTE, f"{finding}: fewer than half come in time", advice)

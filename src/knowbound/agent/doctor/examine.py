"""All checks of `doctor`, and their JSON document. A failing check does not stop the next; their time is limited."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from knowbound import __version__
from knowbound.agent.doctor import NOTE, OK, PROBLEM, HealthCheck, activity, data_folder
from knowbound.agent.doctor.activity import check_budget
from knowbound.agent.doctor.choosing import check_model
from knowbound.agent.doctor.installations import check_codex_trust, check_installations, find_installations
from knowbound.agent.doctor.proof import TimeLeft, check_proof
from knowbound.agent.doctor.telemetry import check_telemetry
from knowbound.agent.hook.interruptions import off_state
from knowbound.agent.hook.switch import VARIABLE
from knowbound.config import Settings, load
from knowbound.distribution import extra_command
from knowbound.errors import KnowboundError
from knowbound.kms.opening import BACKENDS
from knowbound.policy import is_off_by_policy, policy_files

_EXTRAS = {name: package for name, package in BACKENDS.items() if package} | {
    "llm": "pydantic_ai",
    "cluster": "distributed",
}
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
    has_store = all(check.state == OK for check in checks)
    if config_problem:
        checks.append(HealthCheck("config", PROBLEM, config_problem, "knowbound explain config-unreadable"))
    else:
        checks += _safely("config", lambda: data_folder.check_config(settings))
    of_store = {
        "databases": lambda: data_folder.check_databases(home),
        "index": lambda: data_folder.check_index(settings),
        "sync": lambda: data_folder.check_freshness(settings),
        "injections": lambda: activity.check_injections(home),
        "injected by others": lambda: activity.check_unmanaged(home),
        "hook runs": lambda: activity.check_hook_runs(home),
        "hook time": lambda: check_budget(home),
        "interruptions": lambda: activity.check_interruptions(home),
        "source index": lambda: data_folder.check_source_index(settings),
        "transcripts": lambda: activity.check_transcripts(settings, environ),
        "scoring": lambda: activity.check_scoring(settings),
    }
    of_agents = {
        "policy": lambda: check_policy(settings),
        "model": lambda: activity.check_permission(settings),
        "switch": check_switch,
        "telemetry": lambda: check_telemetry(settings.root, environ),
        "hooks": lambda: _check_agents(settings, environ, has_store=has_store),
        "extras": lambda: check_extras(settings),
    }
    for name, check in ((of_store if has_store else {}) | of_agents).items():
        checks += _safely(name, check)
    return checks


def _check_agents(settings: Settings, environ: Mapping[str, str], *, has_store: bool) -> Iterator[HealthCheck]:
    time_left = TimeLeft(_TRIAL_SECONDS)
    installations = find_installations(settings.root, environ)
    yield from _safely("hooks", lambda: check_installations(installations, settings.root, environ))
    yield from _safely("codex trust", lambda: check_codex_trust(installations, settings.root, environ))
    yield from _safely("hooks", lambda: check_proof(installations, settings, environ, time_left, has_store=has_store))
    if has_store:
        yield from _safely("hook model", lambda: check_model(settings, environ, installations))


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
        do = f"unset {VARIABLE}" if state.by_variable else "knowbound on"
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
            is_used = extra in settings.kms_backends and not (extra == "mem0" and settings.kms_mem0_url)
            state = PROBLEM if is_used else NOTE
            yield HealthCheck(f"extra {extra}", state, "not installed", extra_command(extra))


def next_steps(checks: list[HealthCheck]) -> list[HealthCheck]:
    """Return the checks to act on, each command once: the problems, or without problems the notes."""
    for state in (PROBLEM, NOTE):
        steps = {check.do: check for check in reversed(checks) if check.state == state and check.do}
        if in_state := [check for check in checks if steps.get(check.do) is check]:
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

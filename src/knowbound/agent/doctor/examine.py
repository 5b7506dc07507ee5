"""Every check of `doctor`, and the document made of them. No check can fail the others, and their time is limited."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from knowbound.agent.doctor.check import NOTE, OK, PROBLEM, HealthCheck
from knowbound.agent.doctor.codex_trust import check_codex_trust
from knowbound.agent.doctor.data_folder import check_config, check_data_folder
from knowbound.agent.doctor.databases import check_databases, check_index
from knowbound.agent.doctor.extras import check_extras
from knowbound.agent.doctor.freshness import check_freshness
from knowbound.agent.doctor.hook_runs import check_hook_runs, hook_runs
from knowbound.agent.doctor.injections import check_injections, check_unmanaged
from knowbound.agent.doctor.installations import check_installations, find_installations
from knowbound.agent.doctor.model import check_model
from knowbound.agent.doctor.proof import check_proof
from knowbound.agent.doctor.scoring import check_scoring
from knowbound.agent.doctor.source_index import check_source_index
from knowbound.agent.doctor.switch import check_switch
from knowbound.agent.doctor.trial import TimeLeft
from knowbound.config import Settings, load
from knowbound.errors import KnowboundError

_TRIAL_SECONDS = 20.0  # for all hooks and servers together; each takes a fraction of a second


def settings_for(root: Path, environ: Mapping[str, str]) -> tuple[Settings, str]:
    """The settings of a project; where they cannot be used the defaults, and why."""
    try:
        return load(root, environ, ignore_untrusted=True), ""
    except KnowboundError as error:
        given = environ.get("KNOWBOUND_HOME")
        home = Path(given).expanduser() if given else root / ".knowbound"
        return Settings(root=root, home=home, home_is_given=bool(given)), str(error)


def examine(settings: Settings, environ: Mapping[str, str], config_problem: str = "") -> list[HealthCheck]:
    """Every check, in the order of a reader's questions: is there a store, is it served, does it arrive."""
    home = settings.home
    checks = list(_safely("data folder", lambda: [check_data_folder(settings)]))
    has_store = all(check.state == OK for check in checks)
    if config_problem:
        checks.append(HealthCheck("config", PROBLEM, config_problem, "knowbound explain config-unreadable"))
    else:
        checks += _safely("config", lambda: check_config(settings))
    if has_store:
        checks += _safely("databases", lambda: check_databases(home))
        checks += _safely("index", lambda: check_index(settings))
        checks += _safely("sync", lambda: check_freshness(settings))
        checks += _safely("injections", lambda: check_injections(home))
        checks += _safely("injected by others", lambda: check_unmanaged(home))
        checks += _safely("hook runs", lambda: check_hook_runs(home))
        checks += _safely("source index", lambda: check_source_index(settings))
        checks += _safely("scoring", lambda: check_scoring(settings))
        checks += _safely("hook model", lambda: check_model(settings, environ))
    checks += _safely("hooks", check_switch)
    checks += _safely("hooks", lambda: _installed(settings, environ, has_store=has_store))
    checks += _safely("extras", lambda: check_extras(settings))
    return checks


def _installed(settings: Settings, environ: Mapping[str, str], *, has_store: bool) -> Iterator[HealthCheck]:
    left = TimeLeft(_TRIAL_SECONDS)
    found = find_installations(settings.root, environ)
    yield from _safely("hooks", lambda: check_installations(found, settings.root, environ))
    yield from _safely("codex trust", lambda: check_codex_trust(found, settings.root, environ))
    yield from _safely("hooks", lambda: check_proof(found, settings, environ, left, has_store=has_store))


def _safely(name: str, checks: Callable[[], Iterable[HealthCheck]]) -> Iterator[HealthCheck]:
    """The checks, and where one of them cannot be made, that."""
    try:
        yield from checks()
    except Exception as error:
        why = str(error) if isinstance(error, KnowboundError | OSError) else f"{type(error).__name__}: {error}"
        yield HealthCheck(name, PROBLEM, f"cannot be checked: {why}", "knowbound explain defect")


def next_steps(checks: list[HealthCheck]) -> list[HealthCheck]:
    """What to do next, each command once: about problems, and without any about notes on how to start."""
    for state in (PROBLEM, NOTE):
        steps = {check.do: check for check in reversed(checks) if check.state == state and check.do}
        if found := [check for check in checks if steps.get(check.do) is check]:
            return [check for check in found if state == PROBLEM or not check.name.startswith("extra ")]
    return []


def as_json(checks: list[HealthCheck], settings: Settings) -> dict[str, Any]:
    """What `doctor --format json` prints."""
    return {
        "format": "knowbound.doctor/1",
        "healthy": all(check.state != PROBLEM for check in checks),
        "checks": checks,
        "hooks": _runs(settings.home),
    }


def _runs(home: Path) -> dict[str, Any] | None:
    try:
        found = hook_runs(home)
        return {**msgspec.to_builtins(found), "told": found.injected}  # the name of 0.1.0
    except (OSError, ValueError, TypeError):
        return None  # the check of the runs says why

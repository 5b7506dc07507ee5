"""Every check of `doctor`, and the document made of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from knowbound.agent.doctor.check import OK, PROBLEM, HealthCheck
from knowbound.agent.doctor.data_folder import check_config, check_data_folder
from knowbound.agent.doctor.databases import check_databases, check_index
from knowbound.agent.doctor.extras import check_extras
from knowbound.agent.doctor.hook_runs import check_hook_runs, hook_runs
from knowbound.agent.doctor.injections import check_injections, check_unmanaged
from knowbound.agent.doctor.installations import check_installations
from knowbound.agent.doctor.switch import check_switch
from knowbound.config import Settings


def examine(settings: Settings, environ: Mapping[str, str]) -> list[HealthCheck]:
    """Every check, in the order of a reader's questions: is there a store, is it served, does it arrive."""
    folder = check_data_folder(settings)
    return [
        folder,
        *check_config(settings),
        *(_stored(settings) if folder.state == OK else ()),
        *check_switch(),
        *check_installations(settings.root, environ),
        *check_extras(settings),
    ]


def _stored(settings: Settings) -> Iterator[HealthCheck]:
    yield from check_databases(settings.home)
    yield from check_index(settings)
    yield from check_injections(settings.home)
    yield from check_unmanaged(settings.home)
    yield from check_hook_runs(settings.home)


def as_json(checks: list[HealthCheck], settings: Settings) -> dict[str, Any]:
    """What `doctor --format json` prints."""
    return {
        "format": "knowbound.doctor/1",
        "healthy": all(check.state != PROBLEM for check in checks),
        "checks": checks,
        "hooks": hook_runs(settings.home),
    }

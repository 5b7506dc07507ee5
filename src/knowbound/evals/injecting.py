"""Evaluations with injection: whether our hooks serve the agent, and what they can inject.

An evaluation asks whether injection helps, so its two sides differ in nothing else: the same samples, the same copy of
the knowledge base, the same client; on one side our hooks run, on the other they are switched off.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from enum import StrEnum
from pathlib import Path

from msgspec.structs import replace

from knowbound.errors import InputError
from knowbound.evals.executor import Executor
from knowbound.evals.versions import Version
from knowbound.store.read_only import open_own_index
from knowbound.text.digest import digest_of

WITHOUT = "without injection"  # the name of the other side
_ITEMS = "SELECT id, content_sha, flag, stale, confidence FROM item WHERE served = 1 ORDER BY id"
_SECONDS = 60.0


class Inject(StrEnum):
    """What `--inject` names."""

    OFF = "off"
    ON = "on"
    BOTH = "both"  # every sample with and without


def items_state(home: Path) -> str:
    """Changes with what could be injected; "" where there is nothing."""
    index = open_own_index(str(home), wait_seconds=_SECONDS, work_seconds=_SECONDS)
    if index is None:
        return ""
    with closing(index):
        rows = index.execute(_ITEMS).fetchall()
    return digest_of(" ".join(map(str, row)) for row in rows) if rows else ""


def check_inject(inject: Inject, executor: Executor, home: Path, against: str) -> str:
    """The state of the items that will be injected; an error where that cannot be, "" where nothing shall be."""
    if inject is Inject.OFF:
        return ""
    if not executor.injects:
        raise InputError(
            "no-injection",
            f"--inject {inject}: the executor {executor.name} has no hooks that could inject. "
            "Try: --executor claude, --executor codex, or --inject off",
        )
    if inject is Inject.BOTH and against:
        raise InputError(
            "two-comparisons",
            "--inject both and --against are two comparisons at once. Try: --against with --inject on, or one of them",
        )
    state = items_state(home)
    if not state:
        raise InputError(
            "nothing-to-inject",
            f"--inject {inject}: the store in {home} has no item that could be injected. "
            "Try: knowbound kms import, or knowbound kms add",
        )
    return state


def sides(inject: Inject, versions: Sequence[Version]) -> list[Version]:
    """The versions with and without injection that are to be run; what is evaluated is the first."""
    if inject is Inject.OFF:
        return list(versions)
    injected = [replace(version, inject=True) for version in versions]
    return injected if inject is Inject.ON else [*injected, replace(versions[0], name=WITHOUT)]

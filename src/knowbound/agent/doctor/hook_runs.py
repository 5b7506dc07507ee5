"""The last runs of the hooks, from their log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

from knowbound.agent import hook_log
from knowbound.agent.doctor.check import NOTE, OK, PROBLEM, HealthCheck
from knowbound.agent.hook_entry import AFTER_TOOLS

_RUNS = 200  # of the log: what is older says little about today
_OVER = 20  # good runs after which a failure is history
_SLOW_MS = 150.0  # the target for p95 of `hook user-prompt-submit`


class HookRuns(msgspec.Struct, frozen=True):
    """What the log says about the last runs of the hooks."""

    runs: int
    injected: int  # runs that injected items
    indexed: int  # runs that gave a session the index of the store
    failed: int  # with those that gave up
    gave_up: int  # at the time limit
    p95_ms: float | None  # of those that asked no model
    reasons: dict[str, int]
    last_failure: str | None  # when
    good_since: int  # runs since then


def hook_runs(home: Path) -> HookRuns:
    """The last runs of the hooks, from their log."""
    runs = hook_log.runs(str(home))[-_RUNS:]
    failures = [run for run in runs if run.get("outcome") in ("failed", "gave_up")]
    # How long a model takes is not up to us; a rescue searches, and has a limit of its own.
    ours = [run for run in runs if not run.get("model") and run.get("event") not in AFTER_TOOLS]
    spent = sorted(float(run["ms"]) for run in ours if isinstance(run.get("ms"), (int, float)))
    return HookRuns(
        runs=len(runs),
        injected=sum(run.get("outcome") == "injected" for run in runs),
        indexed=sum(run.get("outcome") == "indexed" for run in runs),
        failed=len(failures),
        gave_up=sum(run.get("outcome") == "gave_up" for run in runs),
        p95_ms=spent[min(len(spent) - 1, int(len(spent) * 0.95))] if spent else None,
        reasons=dict(Counter(str(run.get("reason", "unknown")) for run in failures).most_common(5)),
        last_failure=str(failures[-1].get("time")) if failures else None,
        good_since=len(runs) - 1 - runs.index(failures[-1]) if failures else len(runs),
    )


def check_hook_runs(home: Path) -> Iterator[HealthCheck]:
    """How many ran, how long they took, what failed."""
    found = hook_runs(home)
    if not found.runs:
        return
    spent = f"p95 {found.p95_ms:.0f} ms" if found.p95_ms is not None else "duration unknown"
    state = NOTE if found.p95_ms is not None and found.p95_ms > _SLOW_MS else OK
    yield HealthCheck(
        "hook runs",
        state,
        f"last {found.runs}: {found.injected} injected items, {found.indexed} gave the index, {found.failed} failed "
        f"({found.gave_up} at the time limit), {spent}",
    )
    do = "knowbound explain hook-failed"
    for reason, count in found.reasons.items():
        state = NOTE if found.good_since >= _OVER else PROBLEM
        yield HealthCheck("hook failures", state, f"{count} × {reason} (last failure {found.last_failure})", do)

"""How long a correction takes from one machine to the hooks of another, and what keeping up costs the hook.

    python -m bench.team [--runs 30]

Two data folders (machines) on one real mongod, alone and as a replica set. One supersedes an item, the other runs the
installed hook until it injects the successor. From the return of the supersede: until the other index serves the new
item (looked at every 5 ms), and until a hook that is started again and again injects it, with its own start. Then what
`ensure_running` costs a hook, where the worker runs and where it is started, against `python -c pass` in the same run.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from unittest import mock

from tests.services import running_mongod, running_replica_set, until

from bench.measuring import HOOK, at, options, seconds
from knowbound.agent.background import SYNC
from knowbound.config import load
from knowbound.kms.index.freshness import freshness_of
from knowbound.kms.opening import open_knowledge_store
from knowbound.kms.validation import ItemEdit, NewItem

_PROMPT = "On which port does the orders service listen?"
_LOOK_SECONDS = 0.005
_WORDS = "billing search mail login export report cache media".split()  # other items: a store is never one fact


def report(runs: int = 30) -> None:
    print("\nA correction on one machine, until another has it (seconds from the return of the supersede)")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        with running_replica_set(Path(folder) / "replicas") as replica_set:
            _staleness("replica set, change stream", replica_set.url, Path(folder) / "a", runs)
        with running_mongod(Path(folder) / "single") as server:
            _staleness("one server, a look every 5 s", server.url, Path(folder) / "b", runs)
            _cost(server.url, Path(folder) / "c", runs)


def _staleness(name: str, url: str, folder: Path, runs: int) -> None:
    with _machines(url, folder) as (ada, bo):
        served, injected = [], []
        with closing(open_knowledge_store(load(ada), by="bench")) as store:
            id_ = store.add(NewItem(content=_fact(0))).item.id
            store.add_many([NewItem(content=f"Team {n} deploys the {_WORDS[n % 8]} pipeline {n}.") for n in range(200)])
            open_knowledge_store(load(bo)).close()
            until(lambda: _asked(bo, f"start-{time.monotonic()}") != "" and "started" in _log(bo))  # starts the worker
            for number in range(1, runs + 1):
                time.sleep(0.37 * (number % 13))  # at any moment between two looks
                id_ = store.supersede(id_, by=ItemEdit(content=_fact(number))).id
                began = time.monotonic()
                _wait(lambda number=number: _serves(bo, _fact(number)))  # type: ignore[misc]
                served.append(time.monotonic() - began)
                _wait(lambda number=number: _fact(number) in _asked(bo, f"s{number}-{time.monotonic()}"))  # type: ignore[misc]
                injected.append(time.monotonic() - began)
    print(f"  {name:30} index serves it  p50 {at(served, 0.5):5.2f}  p95 {at(served, 0.95):5.2f}  ({runs} runs)")
    print(f"  {'':30} hook injects it  p50 {at(injected, 0.5):5.2f}  p95 {at(injected, 0.95):5.2f}")


def _cost(url: str, folder: Path, runs: int) -> None:
    with _machines(url, folder) as (ada, _):
        open_knowledge_store(load(ada)).close()
        home = ada / ".knowbound"
        starting, there, nothing = [], [], []
        for _ in range(runs):
            (home / "sync.lock").unlink(missing_ok=True)  # the one before ends by itself
            starting.append(seconds(lambda: SYNC.ensure_running(str(ada), str(home))))
            there.append(seconds(lambda: SYNC.ensure_running(str(ada), str(home))))
            nothing.append(seconds(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True)))
        until(lambda: freshness_of(home, "mongo").current is not None)
    print("\nWhat ensure_running costs a hook (milliseconds, and as a share of `python -c pass`)")
    for name, times in (("a worker runs", there), ("one is started", starting)):
        p50, p95 = at(times, 0.5), at(times, 0.95)
        print(f"  {name:16} p50 {p50 * 1000:6.2f}  p95 {p95 * 1000:6.2f}   {p50 / at(nothing, 0.5):.3f}")


@contextmanager
def _machines(url: str, folder: Path) -> Iterator[tuple[Path, Path]]:
    """Two projects of one user, whose config names the server; no worker is left."""
    roots = (folder / "ada", folder / "bo")
    for root in roots:
        root.mkdir(parents=True)
    config = folder / "config" / "knowbound" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'[kms]\nbackends = ["mongo"]\nmongo_url = "{url}"\n')
    environ = {"XDG_CONFIG_HOME": str(folder / "config"), "XDG_STATE_HOME": str(folder / "state"), "HOME": str(folder)}
    with mock.patch.dict(os.environ, environ):
        try:
            yield roots
        finally:
            for root in roots:
                _end_workers(root)
                shutil.rmtree(root, ignore_errors=True)  # a hook may still be writing


def _end_workers(root: Path) -> None:
    for line in (root / ".knowbound" / SYNC.log).read_text("utf-8").splitlines() if _log(root) else ():
        found = json.loads(line)
        if found["event"] == "started":
            with suppress(ProcessLookupError):
                os.kill(found["pid"], signal.SIGKILL)


def _fact(number: int) -> str:
    return f"The orders service listens on port {8000 + number} behind the internal gateway."


def _log(root: Path) -> str:
    path = root / ".knowbound" / SYNC.log
    return path.read_text("utf-8") if path.exists() else ""


def _serves(root: Path, content: str) -> bool:
    with closing(sqlite3.connect(f"file:{root}/.knowbound/index.db?mode=ro", uri=True)) as db:
        return db.execute("SELECT 1 FROM item WHERE served = 1 AND content = ?", (content,)).fetchone() is not None


def _asked(root: Path, session: str) -> str:
    given = {"session_id": session, "cwd": str(root), "hook_event_name": "UserPromptSubmit", "prompt": _PROMPT}
    done = subprocess.run(
        [HOOK, "user-prompt-submit"], input=json.dumps(given), capture_output=True, text=True, cwd=root, check=True
    )
    return done.stdout


def _wait(is_true: Callable[[], bool]) -> None:
    while not is_true():
        time.sleep(_LOOK_SECONDS)


if __name__ == "__main__":
    report(options(__doc__, runs=30).runs)

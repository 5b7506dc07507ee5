"""The health of an installation: store, index, hooks, their last runs, extras. It mends nothing."""

from __future__ import annotations

import os
import shlex
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from knowbound.agent import hook_log
from knowbound.agent.clients import AGENTS, SCOPES, SettingsFile, is_our_hook, settings_files
from knowbound.agent.settings.entries import handlers_of, value_of
from knowbound.config import Settings
from knowbound.errors import InputError, KnowboundError, StoreError
from knowbound.injection.collect import collect
from knowbound.kms.index import database as knowledge_index
from knowbound.store import database
from knowbound.store.observed import Observed

OK, NOTE, PROBLEM = "ok", "note", "problem"
_EXTRAS = {"mongo": "pymongo", "mem0": "mem0", "neo4j": "neo4j", "mcp": "mcp", "llm": "pydantic_ai"}
_RUNS = 200  # of the log: what is older says little about today
_OVER = 20  # good runs after which a failure is history
_SLOW_MS = 150.0  # the target for p95 of `hook user-prompt-submit`


class Check(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that was looked at."""

    name: str
    state: str
    found: str
    do: str = ""  # the next command, where there is one


class HookRuns(msgspec.Struct, frozen=True):
    """What the log says about the last runs of the hooks."""

    runs: int
    told: int
    failed: int
    p95_ms: float | None
    reasons: dict[str, int]
    last_failure: str | None  # when
    good_since: int  # runs since then


def examine(settings: Settings, environ: Mapping[str, str]) -> list[Check]:
    """Every check, in the order of a reader's questions: is there a store, is it served, does it arrive."""
    return [
        _data_folder(settings.home),
        *_databases(settings.home),
        *_index(settings),
        *_installations(settings.root, environ),
        *_injections(settings.home),
        *_unmanaged(settings.home),
        *_runs(settings.home),
        *_extras(settings),
    ]


# The store and the index


def _data_folder(home: Path) -> Check:
    if not home.is_dir():
        return Check("data folder", NOTE, f"{home} is not there: nothing is stored yet", "knowbound kms add")
    if not os.access(home, os.W_OK):
        return Check("data folder", PROBLEM, f"{home} cannot be written", "set KNOWBOUND_HOME to another folder")
    return Check("data folder", OK, str(home))


def _databases(home: Path) -> Iterator[Check]:
    """Each file by itself: whole, and of a schema that we know."""
    newest = database.migrations()[-1][0]
    for name, schema in ((database.NAME, newest), (knowledge_index.NAME, knowledge_index._SCHEMA)):
        path = home / name
        if path.exists():
            yield _database(path, schema)


def _database(path: Path, schema: int) -> Check:
    try:
        with closing(_opened(path)) as db:
            version = db.execute("PRAGMA user_version").fetchone()[0]
            health = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.Error as error:
        return Check(path.name, PROBLEM, f"damaged or not ours: {error}", "knowbound explain store-corrupt")
    if health != "ok":
        return Check(path.name, PROBLEM, f"damaged: {health}", "knowbound explain store-corrupt")
    if version > schema:
        return Check(path.name, PROBLEM, f"schema {version}, newer than ours ({schema})", "update knowbound")
    return Check(path.name, OK, f"healthy, schema {version}")


def _index(settings: Settings) -> Iterator[Check]:
    path = settings.home / knowledge_index.NAME
    if not path.exists():
        return
    try:
        with closing(_opened(path)) as db:
            rows = db.execute("SELECT backend, count(*), sum(served) FROM item GROUP BY backend ORDER BY backend")
            held = {backend: (items, served) for backend, items, served in rows}
            stamped = {
                key.removeprefix("stamp ") for (key,) in db.execute("SELECT key FROM meta WHERE key LIKE 'stamp %'")
            }
            pending = db.execute("SELECT count(*) FROM pending").fetchone()[0]
    except sqlite3.Error:
        return  # told as damaged already
    for backend in sorted({*held, *settings.kms_backends}):
        items, served = held.get(backend, (0, 0))
        if backend not in settings.kms_backends:
            yield Check(f"index of {backend}", NOTE, f"{items} items of a backend not in use", "knowbound kms sync")
        elif backend not in stamped:
            yield Check(f"index of {backend}", PROBLEM, "never synchronised", "knowbound kms sync")
        else:
            yield Check(f"index of {backend}", OK, f"{items} items, {served} served")
    if pending:
        yield Check("index", PROBLEM, f"a writer was killed: {pending} items to read again", "knowbound kms sync")


def _opened(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=2.0)


# The hooks


def _installations(root: Path, environ: Mapping[str, str]) -> Iterator[Check]:
    found = False
    for agent in AGENTS:
        for scope in SCOPES:
            try:
                files = settings_files(agent, scope, root, environ)
            except InputError:
                continue  # the agent has no such scope
            for file in files:
                for check in _installed(f"{agent} ({scope})", file):
                    found = True
                    yield check
    if not found:
        yield Check("hooks", NOTE, "installed in no agent", "knowbound install claude-code")


def _installed(name: str, file: SettingsFile) -> Iterator[Check]:
    """Nothing where we are not; a command that is not there any more is a problem on every prompt."""
    if not file.has_hooks or not file.path.exists():
        return
    try:
        value = value_of(file, file.path.read_text("utf-8"))
    except (KnowboundError, OSError, UnicodeDecodeError) as error:
        yield Check(name, PROBLEM, f"{file.path} cannot be read: {error}")
        return
    hooks = value.get("hooks")
    commands = {
        event: handler["command"]
        for event, groups in (hooks.items() if isinstance(hooks, dict) else ())
        for handler in handlers_of(groups)
        if is_our_hook(handler)
    }
    missing = sorted({word for command in commands.values() if not shutil.which(word := shlex.split(command)[0])})
    if missing:
        yield Check(name, PROBLEM, f"{file.path} calls {missing[0]}, which is not there", "knowbound install")
    elif commands:
        yield Check(name, OK, f"{', '.join(commands)} in {file.path}")


def hook_runs(home: Path) -> HookRuns:
    """The last runs of the hooks, from their log."""
    runs = hook_log.runs(str(home))[-_RUNS:]
    failures = [run for run in runs if run.get("outcome") == "failed"]
    spent = sorted(float(run["ms"]) for run in runs if isinstance(run.get("ms"), (int, float)))
    return HookRuns(
        runs=len(runs),
        told=sum(run.get("outcome") == "told" for run in runs),
        failed=len(failures),
        p95_ms=spent[min(len(spent) - 1, int(len(spent) * 0.95))] if spent else None,
        reasons=dict(Counter(str(run.get("reason", "unknown")) for run in failures).most_common(5)),
        last_failure=str(failures[-1].get("time")) if failures else None,
        good_since=len(runs) - 1 - runs.index(failures[-1]) if failures else len(runs),
    )


def _injections(home: Path) -> Iterator[Check]:
    """What the hooks wrote down, brought into the index: nobody has to remember to."""
    path = home / knowledge_index.NAME
    if not path.exists():
        return
    try:
        collect(home)
        with closing(_opened(path)) as db:
            count = db.execute("SELECT count(*) FROM injected").fetchone()[0]
    except (KnowboundError, sqlite3.Error, OSError) as error:
        yield Check("injections", PROBLEM, f"cannot be recorded: {error}")
    else:
        yield Check("injections", OK, f"{count} recorded")


def _unmanaged(home: Path) -> Iterator[Check]:
    """What others told the agents, as `observe` saw it in their traces."""
    if not (home / database.NAME).exists():
        return
    try:
        store = Observed(home)
        items = store.unmanaged()
        store.close()
    except StoreError:
        return  # the check of the databases names it
    if items:
        told = sum(item.injections for item in items)
        yield Check("told by others", OK, f"{len(items)} items of unmanaged sources, told {told} times")


def _runs(home: Path) -> Iterator[Check]:
    found = hook_runs(home)
    if not found.runs:
        return
    spent = f"p95 {found.p95_ms:.0f} ms" if found.p95_ms is not None else "duration unknown"
    state = NOTE if found.p95_ms is not None and found.p95_ms > _SLOW_MS else OK
    yield Check("hook runs", state, f"last {found.runs}: {found.told} told something, {found.failed} failed, {spent}")
    for reason, count in found.reasons.items():
        state = NOTE if found.good_since >= _OVER else PROBLEM
        yield Check("hook failures", state, f"{count} × {reason} (last failure {found.last_failure})")


# Extras


def _extras(settings: Settings) -> Iterator[Check]:
    for extra, module in _EXTRAS.items():
        if find_spec(module):
            yield Check(f"extra {extra}", OK, "installed")
        else:
            state = PROBLEM if extra in settings.kms_backends else NOTE
            yield Check(f"extra {extra}", state, "not installed", f"pip install 'knowbound[{extra}]'")


def as_json(checks: list[Check], settings: Settings) -> dict[str, Any]:
    """What `doctor --format json` prints."""
    return {
        "format": "knowbound.doctor/1",
        "healthy": all(check.state != PROBLEM for check in checks),
        "checks": checks,
        "hooks": hook_runs(settings.home),
    }

"""Checks the health of an installation: store, index, hooks, their last runs, extras. It repairs nothing."""

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
from knowbound.agent.clients import AGENTS, SCOPES, SettingsFile, settings_files
from knowbound.agent.settings.entries import entries_in, value_of
from knowbound.config import Settings, risky_settings
from knowbound.errors import InputError, KnowboundError, StoreError
from knowbound.injection.collect import TORN, collect
from knowbound.kms.opening import BACKENDS
from knowbound.store.data_dir import FINDINGS, INDEX
from knowbound.store.database import newest_schema
from knowbound.store.observed import Observed
from knowbound.store.owner import ANOTHERS, NOBODYS, is_tracked, owner_of
from knowbound.store.read_only import open_read_only
from knowbound.trust import is_trusted

OK, NOTE, PROBLEM = "ok", "note", "problem"
_EXTRAS = {name: package for name, package in BACKENDS.items() if package} | {"mcp": "mcp", "llm": "pydantic_ai"}
_RUNS = 200  # of the log: what is older says little about today
_OVER = 20  # good runs after which a failure is history
_UNFINISHED = {"pending", "intent"}  # tables of the index that only a killed writer leaves something in
_SLOW_MS = 150.0  # the target for p95 of `hook user-prompt-submit`


class HealthCheck(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that was looked at."""

    name: str
    state: str
    found: str
    do: str = ""  # the next command, where there is one


class HookRuns(msgspec.Struct, frozen=True, rename={"injected": "told"}):
    """What the log says about the last runs of the hooks."""

    runs: int
    injected: int  # runs that injected something
    failed: int
    p95_ms: float | None
    reasons: dict[str, int]
    last_failure: str | None  # when
    good_since: int  # runs since then


def examine(settings: Settings, environ: Mapping[str, str]) -> list[HealthCheck]:
    """Every check, in the order of a reader's questions: is there a store, is it served, does it arrive."""
    folder = _data_folder(settings)
    return [
        folder,
        *_config(settings),
        *(_stored(settings) if folder.state == OK else ()),
        *_installations(settings.root, environ),
        *_extras(settings),
    ]


def _stored(settings: Settings) -> Iterator[HealthCheck]:
    yield from _databases(settings.home)
    yield from _index(settings)
    yield from _injections(settings.home)
    yield from _unmanaged(settings.home)
    yield from _runs(settings.home)


# The store and the index


def _data_folder(settings: Settings) -> HealthCheck:
    """What is not this user's own is not looked into."""
    home, name = settings.home, "data folder"
    if not home.is_dir():
        return HealthCheck(name, NOTE, f"{home} is not there: nothing is stored yet", "knowbound kms add")
    if is_tracked(home):
        return HealthCheck(
            name, PROBLEM, f"{home} is tracked by git: it is not used", "knowbound explain store-tracked"
        )
    if not settings.home_is_given and owner_of(home) == ANOTHERS:
        return HealthCheck(name, PROBLEM, f"{home} was not made by you: it is not used", "knowbound trust")
    if not settings.home_is_given and owner_of(home) == NOBODYS:
        return HealthCheck(name, NOTE, f"{home} has no mark of its owner: hooks do not use it", "knowbound trust")
    if not os.access(home, os.W_OK):
        return HealthCheck(name, PROBLEM, f"{home} cannot be written", "set KNOWBOUND_HOME to another folder")
    return HealthCheck(name, OK, str(home))


def _config(settings: Settings) -> Iterator[HealthCheck]:
    risky = risky_settings(settings.root)
    if risky and not is_trusted(settings.root, risky):
        found = f"{', '.join(one.key for one in risky)} of the project: not trusted, refused"
        yield HealthCheck("config", NOTE, found, "knowbound trust")


def _databases(home: Path) -> Iterator[HealthCheck]:
    """Each file by itself: whole, and of a schema that we know."""
    for name in (FINDINGS, INDEX):
        try:
            if db := open_read_only(home / name):
                with closing(db):
                    yield _database(name, db)
        except sqlite3.Error as error:
            yield HealthCheck(name, PROBLEM, f"cannot be opened: {error}", "knowbound explain store-unwritable")


def _database(name: str, db: sqlite3.Connection) -> HealthCheck:
    try:
        version = db.execute("PRAGMA user_version").fetchone()[0]
        health = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.Error as error:
        return HealthCheck(name, PROBLEM, f"damaged or not ours: {error}", "knowbound explain store-corrupt")
    if health != "ok":
        return HealthCheck(name, PROBLEM, f"damaged: {health}", "knowbound explain store-corrupt")
    if version > newest_schema(name):
        found = f"schema {version}, newer than ours ({newest_schema(name)})"
        return HealthCheck(name, PROBLEM, found, "update knowbound")
    return HealthCheck(name, OK, f"healthy, schema {version}")


def _index(settings: Settings) -> Iterator[HealthCheck]:
    try:
        db = open_read_only(settings.home / INDEX)
        if db is None:
            return
        with closing(db):
            rows = db.execute("SELECT backend, count(*), sum(served) FROM item GROUP BY backend ORDER BY backend")
            held = {backend: (items, served) for backend, items, served in rows}
            stamped = {
                key.removeprefix("stamp ") for (key,) in db.execute("SELECT key FROM meta WHERE key LIKE 'stamp %'")
            }
            known = {row[0] for row in db.execute("SELECT name FROM sqlite_master")}  # it may be of an earlier schema
            left = [db.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in _UNFINISHED & known]
    except sqlite3.Error:
        return  # the check of the databases names it
    for backend in sorted({*held, *settings.kms_backends}):
        items, served = held.get(backend, (0, 0))
        if backend not in settings.kms_backends:
            yield HealthCheck(
                f"index of {backend}", NOTE, f"{items} items of a backend not in use", "knowbound kms sync"
            )
        elif backend not in stamped:
            yield HealthCheck(f"index of {backend}", PROBLEM, "never synchronised", "knowbound kms sync")
        else:
            yield HealthCheck(f"index of {backend}", OK, f"{items} items, {served} served")
    if any(left):
        yield HealthCheck("index", PROBLEM, "a writer was killed: its change is to be completed", "knowbound kms sync")


# The hooks


def _installations(root: Path, environ: Mapping[str, str]) -> Iterator[HealthCheck]:
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
        yield HealthCheck("hooks", NOTE, "installed in no agent", "knowbound install claude-code")


def _installed(name: str, file: SettingsFile) -> Iterator[HealthCheck]:
    """Nothing where we are not; a command that is not there any more is a problem on every prompt."""
    if not file.has_hooks or not file.path.exists():
        return
    try:
        value = value_of(file, file.path.read_text("utf-8"))
    except (KnowboundError, OSError, UnicodeDecodeError) as error:
        yield HealthCheck(name, PROBLEM, f"{file.path} cannot be read: {error}")
        return
    commands = {str(path[1]): hook["command"] for path, hook in entries_in(file, value).items() if path[0] == "hooks"}
    missing = sorted({word for command in commands.values() if not shutil.which(word := shlex.split(command)[0])})
    if missing:
        yield HealthCheck(name, PROBLEM, f"{file.path} calls {missing[0]}, which is not there", "knowbound install")
    elif commands:
        yield HealthCheck(name, OK, f"{', '.join(commands)} in {file.path}")


def hook_runs(home: Path) -> HookRuns:
    """The last runs of the hooks, from their log."""
    runs = hook_log.runs(str(home))[-_RUNS:]
    failures = [run for run in runs if run.get("outcome") == "failed"]
    spent = sorted(float(run["ms"]) for run in runs if isinstance(run.get("ms"), (int, float)))
    return HookRuns(
        runs=len(runs),
        injected=sum(run.get("outcome") == "told" for run in runs),
        failed=len(failures),
        p95_ms=spent[min(len(spent) - 1, int(len(spent) * 0.95))] if spent else None,
        reasons=dict(Counter(str(run.get("reason", "unknown")) for run in failures).most_common(5)),
        last_failure=str(failures[-1].get("time")) if failures else None,
        good_since=len(runs) - 1 - runs.index(failures[-1]) if failures else len(runs),
    )


def _injections(home: Path) -> Iterator[HealthCheck]:
    """What the hooks recorded, brought into the index: nobody has to remember to."""
    try:
        db = open_read_only(home / INDEX)
        if db is None:
            return
        with closing(db):
            collect(home)
            count = db.execute("SELECT count(*) FROM injected").fetchone()[0]
            torn = db.execute("SELECT value FROM meta WHERE key = ?", (TORN,)).fetchone()
    except (KnowboundError, sqlite3.Error, OSError) as error:
        yield HealthCheck("injections", PROBLEM, f"cannot be recorded: {error}")
    else:
        lost = f", {torn[0]} could not be read: the disk was full" if torn else ""
        yield HealthCheck("injections", NOTE if torn else OK, f"{count} recorded{lost}")


def _unmanaged(home: Path) -> Iterator[HealthCheck]:
    """What others injected, as `observe` saw it in the traces."""
    if not (home / FINDINGS).exists():
        return
    try:
        store = Observed(home)
        items = store.unmanaged()
        store.close()
    except StoreError:
        return  # the check of the databases names it
    if items:
        times = sum(item.injections for item in items)
        yield HealthCheck("injected by others", OK, f"{len(items)} items of unmanaged sources, injected {times} times")


def _runs(home: Path) -> Iterator[HealthCheck]:
    found = hook_runs(home)
    if not found.runs:
        return
    spent = f"p95 {found.p95_ms:.0f} ms" if found.p95_ms is not None else "duration unknown"
    state = NOTE if found.p95_ms is not None and found.p95_ms > _SLOW_MS else OK
    yield HealthCheck(
        "hook runs", state, f"last {found.runs}: {found.injected} injected something, {found.failed} failed, {spent}"
    )
    for reason, count in found.reasons.items():
        state = NOTE if found.good_since >= _OVER else PROBLEM
        yield HealthCheck("hook failures", state, f"{count} × {reason} (last failure {found.last_failure})")


# Extras


def _extras(settings: Settings) -> Iterator[HealthCheck]:
    for extra, module in _EXTRAS.items():
        if find_spec(module):
            yield HealthCheck(f"extra {extra}", OK, "installed")
        else:
            state = PROBLEM if extra in settings.kms_backends else NOTE
            yield HealthCheck(f"extra {extra}", state, "not installed", f"pip install 'knowbound[{extra}]'")


def as_json(checks: list[HealthCheck], settings: Settings) -> dict[str, Any]:
    """What `doctor --format json` prints."""
    return {
        "format": "knowbound.doctor/1",
        "healthy": all(check.state != PROBLEM for check in checks),
        "checks": checks,
        "hooks": hook_runs(settings.home),
    }

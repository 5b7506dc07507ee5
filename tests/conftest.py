"""Settings for all tests: they never assert a time, and never meet the user's own folders."""

from __future__ import annotations

import gc
import os
import sys
import zlib
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from knowbound.user_files import state_folder

# As `make test` has it: without compiled files each process compiles all tests and the package anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

settings.register_profile("knowbound", deadline=None, max_examples=25)
settings.register_profile("long", deadline=None, max_examples=300)  # make test-long
settings.load_profile("knowbound")

pytest_plugins = ("tests.services", "tests.model_server", "tests.hook_project", "tests.marketplaces")
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def some_examples(share: float) -> settings:
    """Settings for a property whose examples take long: a share of those of the profile."""
    return settings(max_examples=max(1, round(settings().max_examples * share)), deadline=None)


@pytest.fixture(scope="session", autouse=True)
def _own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One key for all tests of a process: some share a data folder, made before the first of them begins."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))  # fixtures of a module run before `_own_home`
        patch.delenv("XDG_CONFIG_HOME", raising=False)
        yield


@pytest.fixture(scope="session")
def _new_homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folders that do not exist yet. Numbered here: pytest looks at all folders that it made, for each new one."""
    folder = tmp_path_factory.mktemp("homes")
    return (folder / str(number) for number in count())


@pytest.fixture(autouse=True)
def _own_home(_new_homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the home folder of whoever runs it."""
    home = next(_new_homes)
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("KNOWBOUND_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "NO_COLOR", "KNOWBOUND_MODEL"):
        monkeypatch.delenv(name, raising=False)
    for name in ("model.json", "usage.db", "usage.db-wal", "usage.db-shm"):  # what one test allows or spends is its own
        (Path(state_folder()) / name).unlink(missing_ok=True)


def write_user_config(text: str) -> None:
    """The user's own config, which may name programs and addresses."""
    path = Path(os.environ["HOME"]) / ".config" / "knowbound" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


# Tests that share a server, or a project that takes seconds to make, run in one process: it is started or made once.
_SHARED = {
    "mongod": "databases",
    "replica_set": "databases",
    "one_member_set": "databases",
    "bolt_server": "databases",
    "model_server": "model",
    "story": "story",
    "planted": "planted",
    "chromium": "studio",
}


def pytest_xdist_auto_num_workers() -> int:
    """One more worker than cores: a third of the time, tests wait for programs, servers and time limits."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores + 1


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quarter", type=int, choices=range(4), help="run only this quarter of the selected tests")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep the garbage collector from modules and tests: they stay, and it looked at all of them again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    quarter = config.getoption("--quarter")
    if quarter is not None:
        config.hook.pytest_deselected(items=[item for item in items if quarter_of(item.nodeid) != quarter])
        items[:] = [item for item in items if quarter_of(item.nodeid) == quarter]
    for item in items:
        for group in {_SHARED[name] for name in getattr(item, "fixturenames", ()) if name in _SHARED}:
            item.add_marker(pytest.mark.xdist_group(group))
    yield
    if getattr(config.option, "loadgroup", False):
        _name_groups(items)


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest) -> None:
    """Refuse to start a shared server for a test outside its group: another process may have started one."""
    group = _SHARED.get(fixturedef.argname, "")
    if (
        getattr(request.config.option, "loadgroup", False)
        and group not in request._pyfuncitem.nodeid.rpartition("@")[2]
    ):
        pytest.fail(f"{fixturedef.argname} is for the tests of the group {group}: pytest.mark.xdist_group({group!r})")


def quarter_of(nodeid: str) -> int:
    """Return the quarter of the long tests that a test belongs to, the same on every machine."""
    return zlib.crc32(nodeid.encode()) % 4


def _name_groups(items: list[pytest.Item]) -> None:
    """As xdist 3.8 does it, which no longer reaches the ids of pytest 9.2 (pytest-dev/pytest-xdist, issue 1386)."""
    for item in items:
        group = "_".join(sorted({str(mark.args[0]) for mark in item.iter_markers("xdist_group")}))
        if group and not item.nodeid.endswith(f"@{group}"):
            item._id = type(item.id).parse(f"{item.nodeid}@{group}")

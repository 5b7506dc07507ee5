"""Settings for all tests: they never assert a time, and never meet the user's own folders."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("knowbound", deadline=None, max_examples=50)
settings.register_profile("long", deadline=None, max_examples=300)  # make test-long
settings.load_profile("knowbound")

pytest_plugins = ("tests.services", "tests.model_server")
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the home folder of whoever runs it."""
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
    for name in ("KNOWBOUND_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


# Tests that share a server run in the same process, so that it is started once.
_SERVERS = {"mongo_url": "databases", "replica_set": "databases", "bolt_server": "databases", "model_server": "model"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for group in {_SERVERS[name] for name in getattr(item, "fixturenames", ()) if name in _SERVERS}:
            item.add_marker(pytest.mark.xdist_group(group))

"""The sandbox of each client. These tests have the marker `agents` and run with `make test-agents`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents.clients import CLIENTS, Client
from tests.agents.sandbox import Sandbox, why_impossible

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.agents)


@pytest.fixture(scope="session")
def possible() -> None:
    """Skips where no client can be run."""
    if reason := why_impossible():
        pytest.skip(reason)


@pytest.fixture(params=CLIENTS, ids=lambda client: client.name)
def sandbox(request: pytest.FixtureRequest, tmp_path: Path, possible: None) -> Sandbox:
    """A machine with a client; nothing of knowbound is installed yet."""
    client: Client = request.param
    return Sandbox(client, tmp_path)

"""The selection of tests: those that share a server run in one process, and four quarters are all long tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import quarter_of
from tests.services import Mongod


def test_a_test_that_shares_a_server_is_in_its_group(mongod: Mongod, request: pytest.FixtureRequest) -> None:
    if not getattr(request.config.option, "loadgroup", False):
        pytest.skip("tests are not distributed by group (--dist loadgroup)")
    assert request.node.nodeid.endswith("@databases")


def test_the_quarter_of_a_test_is_the_same_on_every_machine() -> None:
    nodes = [f"tests/test_a.py::test_b[{number}]" for number in range(8)]
    assert [quarter_of(node) for node in nodes] == [2, 3, 0, 1, 2, 3, 0, 1]


def test_ci_runs_one_of_four_quarters() -> None:
    assert (Path(__file__).parents[1] / ".ci" / "quarter").read_text("ascii").strip() in {"0", "1", "2", "3"}

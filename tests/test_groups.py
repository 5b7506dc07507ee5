"""Tests that share a server run in one process: if each process starts its own, nothing fails, and all takes longer."""

from __future__ import annotations

import pytest

from tests.services import Mongod


def test_a_test_that_shares_a_server_is_in_its_group(mongod: Mongod, request: pytest.FixtureRequest) -> None:
    if not getattr(request.config.option, "loadgroup", False):
        pytest.skip("tests are not distributed by group (--dist loadgroup)")
    assert request.node.nodeid.endswith("@databases")

"""The project that the tests of lessons share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lessons.shop import Shop, make_shop


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return make_shop(tmp_path)

"""docs/ways.md lists the modules of six usual runs in the order in which they are really called."""

from __future__ import annotations

import re

import pytest
from tools.ways import PAGE, WAYS, Way, follow


def listed(title: str) -> list[str]:
    part = PAGE.read_text("utf-8").split(f"## {title}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| \d+ \| `([^`]+)`", part, re.MULTILINE)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.title)
def test_the_page_lists_modules_in_the_order_of_their_first_call(way: Way) -> None:
    called = list(follow(way).modules)
    assert len(called) > 10
    assert listed(way.title) == called, "another way than the page says: python -m tools.ways"

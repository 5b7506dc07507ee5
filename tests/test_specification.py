"""docs/specification.md answers every rule of specification 2."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parent
PAGE = (TESTS.parent / "docs" / "specification.md").read_text("utf-8")


def test_all_42_rules_of_specification_2_are_answered() -> None:
    part = PAGE.split("## Part 2")[1].split("\n## ")[0]
    rows = [int(number) for number in re.findall(r"^\| (\d+) \|", part, re.MULTILINE)]
    assert rows == list(range(1, 43))

"""docs/specification.md names tests that are there."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parent
PAGE = (TESTS.parent / "docs" / "specification.md").read_text("utf-8")
_NAMED = re.compile(r"`([\w/]+\.py)::(test_\w+)`")


def test_every_named_test_is_there() -> None:
    named = _NAMED.findall(PAGE)
    assert len(named) > 30
    missing = [f"{path}::{name}" for path, name in named if f"def {name}(" not in (TESTS / path).read_text("utf-8")]
    assert missing == []


def test_all_42_rules_of_specification_2_are_answered() -> None:
    part = PAGE.split("# Specification 2")[1].split("\n# ")[0]
    rows = [int(number) for number in re.findall(r"^\| (\d+) \|", part, re.MULTILINE)]
    assert rows == list(range(1, 43))

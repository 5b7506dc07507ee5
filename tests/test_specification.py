"""docs/specification.md answers every rule of specifications 1 and 2."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parent
PAGE = (TESTS.parent / "docs" / "specification.md").read_text("utf-8")


def rows(part: int) -> list[int]:
    text = PAGE.split(f"## Part {part}")[1].split("\n## ")[0]
    return [int(number) for number in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)]


def test_all_100_rules_of_specification_1_are_answered() -> None:
    assert rows(1) == list(range(1, 101))


def test_the_cases_of_specification_1_name_rules_of_the_page() -> None:
    cases = (TESTS / "specification" / "test_gap_traces.py").read_text("utf-8")
    numbers = {int(number) for number in re.findall(r"Case\(\s*(\d+),", cases)}
    assert numbers == {*range(11, 48), *range(56, 61)}


def test_all_42_rules_of_specification_2_are_answered() -> None:
    assert rows(2) == list(range(1, 43))

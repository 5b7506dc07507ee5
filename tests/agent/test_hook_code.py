"""docs/hook-code.md lists the code that runs while an agent waits for a hook."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tools.hook_code import LARGER, MOST_LINES, PAGE, SOURCE, modules_by_event, page


@pytest.fixture(scope="module")
def found() -> dict[str, dict[str, str]]:
    return modules_by_event()


def test_the_page_lists_what_hooks_load_and_they_load_nothing_of_others(found: dict[str, dict[str, str]]) -> None:
    written = page(found)
    for line in written.splitlines():
        if line.startswith("| `") and "/" in line:
            file = line.split("`")[1]
            assert f"| `{file}` |" in PAGE.read_text("utf-8"), f"{file} is new: python -m tools.hook_code"
    ours = {"knowbound", "__main__", "_virtualenv", "_distutils_hack"}
    others = {name.partition(".")[0] for modules in found.values() for name in modules if not name.startswith("__")}
    assert others - sys.stdlib_module_names == ours & others


def test_an_event_runs_few_lines(found: dict[str, dict[str, str]]) -> None:
    over = []
    for event, modules in found.items():
        files = [Path(file) for name, file in modules.items() if name.startswith("knowbound.")]
        lines = sum(file.read_text("utf-8").count("\n") for file in files if file.is_relative_to(SOURCE))
        assert lines > 50
        over += [event] if lines > MOST_LINES else []
    assert over == [*LARGER]

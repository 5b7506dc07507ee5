from __future__ import annotations

import re
from pathlib import Path

import pytest
from bench.make_docs import pages

from knowbound.core.glossary import BY_CODE
from knowbound.core.signal import SignalType, Status
from knowbound.core.trace import Outcome
from knowbound.errors import PROBLEMS

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.name)
def test_generated_pages_are_current(path: Path) -> None:
    assert path.read_text("utf-8") == pages()[path], "run: python -m bench.make_docs"


def test_every_signal_status_and_outcome_is_explained() -> None:
    codes = {*SignalType, *Status, *Outcome}
    assert {str(code) for code in codes} <= set(BY_CODE)


def test_every_slug_that_is_raised_is_explained() -> None:
    raised = set()
    for path in (ROOT / "src").rglob("*.py"):
        raised |= set(re.findall(r"Error\(\s*\"([a-z]+-[a-z-]+)\"", path.read_text("utf-8")))
    assert raised
    assert raised <= set(PROBLEMS)


def test_links_in_the_docs_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"

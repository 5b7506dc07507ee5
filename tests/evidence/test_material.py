"""The passages that a model reads, and the lines of its quotations."""

from __future__ import annotations

import pytest

from knowbound.core.evidence import Place
from knowbound.evidence.material import ShownPassage


@pytest.mark.parametrize(
    ("quote", "line"),
    [
        ("return 1", 12),
        ("  x = f(12)  # the first call\n", 11),  # the quotation has more than the line
        ("y = 2 and more", 5),  # a line of so few letters is in many quotations
        ("nowhere", 5),
        ("", 5),
    ],
)
def test_a_quotation_is_cited_by_the_line_on_which_it_begins(quote: str, line: int) -> None:
    passage = ShownPassage(Place("a.py", 5), 10, 13, "def f():\n    x = f(12)\n    return 1\ny = 2")
    assert passage.line_of(quote) == line

"""Every kind of error by its slug. `knowbound explain` and docs/messages.md show them."""

from __future__ import annotations

from knowbound.problems.data import ITEMS, READING, Problem
from knowbound.problems.working import WORKING

__all__ = ["PROBLEMS", "Problem"]
PROBLEMS: dict[str, Problem] = {problem.slug: problem for problem in (*READING, *ITEMS, *WORKING)}

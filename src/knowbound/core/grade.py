"""The grade of an answer: assertions that passed or failed, scores of a judge, and their composite.

What could not be decided is None (unscored) and never counts as a failure or as 0.
"""

from __future__ import annotations

import msgspec


class AssertionGrade(msgspec.Struct, frozen=True):
    """One assertion of a sample."""

    type: str
    detail: str = ""  # what was asked, short
    weight: float = 1.0
    passed: bool | None = None  # None: unscored
    reason: str = ""
    layer: str = ""  # fact, behavior, or neither


class CriterionScore(msgspec.Struct, frozen=True):
    """One criterion of a rubric, scored 1 to 5 by a judge."""

    name: str
    score: int | None = None  # None: unscored
    weight: float = 1.0
    reason: str = ""
    judge: str = ""
    problem: str = ""  # why it is unscored


class Grade(msgspec.Struct, frozen=True):
    """The grades of one answer. The composite is the mean of the layers that are present."""

    assertions: tuple[AssertionGrade, ...] = ()
    criteria: tuple[CriterionScore, ...] = ()
    fact: float | None = None
    behavior: float | None = None
    judge: float | None = None
    composite: float | None = None
    unscored: int = 0
    usd: float | None = 0.0  # what judging cost; None where the judge does not report it

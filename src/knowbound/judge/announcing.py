"""Announcements before and while a model is asked: how many questions, tokens, about how much, and how far it is.

A command sets its announcer for as long as it runs; without one, questions are asked silently, as in a worker.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from knowbound.text.printable import estimated_tokens

if TYPE_CHECKING:
    from knowbound.judge.models.completion import ModelQuestion

_OUTPUT_TOKENS = 60  # of a verdict on one entry


class AskingPlan:
    """Questions that are about to be asked."""

    def __init__(self, judge: str, questions: Sequence[ModelQuestion]) -> None:
        self.judge, self.questions = judge, questions

    @cached_property
    def tokens_in(self) -> int:
        """Estimated tokens of the requests."""
        return sum(
            estimated_tokens(question.instructions) + estimated_tokens(question.text) for question in self.questions
        )

    @cached_property
    def tokens_out(self) -> int:
        """Estimated tokens of the answers."""
        return sum(_OUTPUT_TOKENS * (1 + question.inputs.get("entries", "").count("\n")) for question in self.questions)


class Announcer:
    """Says what is asked of a model; this one says nothing."""

    def begin(self, plan: AskingPlan) -> bool:
        """Announce questions. False: they are not asked."""
        return True

    def advance(self, done: int, total: int, usd: float) -> None:
        """Say how many questions are answered."""

    def end(self) -> None:
        """End the announcement."""


SILENT = Announcer()
_current: list[Announcer] = []  # not a context variable: threads of a command announce, too


def announcer() -> Announcer:
    """Return the announcer of the running command."""
    return _current[-1] if _current else SILENT


@contextmanager
def announced_by(current: Announcer) -> Iterator[None]:
    """Announce by this announcer inside the context."""
    _current.append(current)
    try:
        yield
    finally:
        _current.remove(current)

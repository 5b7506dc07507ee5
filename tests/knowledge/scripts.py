"""A model that gives answers of a script, without a prompt and without a provider."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from knowbound.judge.models.asking import Asker
from knowbound.judge.models.completion import Completion, ModelQuestion
from knowbound.judge.models.questions import AnswerSource, AskedEntry, AskResult, EntryGroup
from knowbound.judge.names import JudgeOptions
from knowbound.judge.prompts import PromptFile


class _Silent:
    def complete(self, question: ModelQuestion, *, seconds: float) -> Completion:
        raise AssertionError("a script asks nobody")


class Script(Asker):
    """Gives the answers one after another; None is a question without answer."""

    def __init__(self, *answers: Any) -> None:
        super().__init__("m", _Silent(), JudgeOptions())
        self._answers = list(answers)
        self.materials: list[Mapping[str, Any]] = []
        self.problems: list[str] = []  # what the checks say about the answers
        self.sources: list[AnswerSource] = []

    def ask(
        self,
        prompt: PromptFile,
        inputs: Sequence[Mapping[str, str]],
        type_: type[Any],
        checks: Sequence[Callable[[Any], str]] = (),
        sources: Sequence[AnswerSource] = (),
        until: float = math.inf,
    ) -> list[AskResult[Any]]:
        self.materials += inputs
        self.sources += sources
        given = [self._answers.pop(0) for _ in inputs]
        problems = [check(value) if value is not None else "" for check, value in zip(checks, given, strict=False)]
        self.problems += problems
        return [_result(None if problem else value) for value, problem in zip_longest(given, problems, fillvalue="")]

    def ask_entries(
        self,
        prompt: PromptFile,
        groups: Sequence[EntryGroup],
        type_: type[Any],
        *,
        size: int,
        check: Callable[[AskedEntry, Any], str] | None = None,
    ) -> list[list[AskResult[Any]]]:
        self.materials += [entry.shown for group in groups for entry in group.entries]
        return [[_result(self._answers.pop(0)) for _ in group.entries] for group in groups]


def _result(value: Any) -> AskResult[Any]:
    return AskResult(value, "" if value is not None else "no answer")

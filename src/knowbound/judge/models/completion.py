"""One call of a model: its input, its answer, and its failures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec

ANSWER_BYTES = 1_000_000  # of an answer; a verdict has a few hundred, and whatever is longer is none


class ModelQuestion(msgspec.Struct, frozen=True):
    """What a model is asked."""

    prompt: str  # the prompt's name, without its version
    inputs: Mapping[str, str]  # the material, by the names that the prompt has for it
    instructions: str
    text: str  # the material in its fences, and what was wrong with the last answer
    schema: Mapping[str, object]  # JSON schema of the answer


class Completion(msgspec.Struct, frozen=True):
    """What a model answered. What it does not tell is None."""

    text: str
    tokens_in: int | None = None
    tokens_out: int | None = None
    usd: float | None = None
    model: str = ""  # as it names itself


class CompletionError(Exception):
    """A call that gave no answer.

    `again`: the same call may succeed later. `hopeless`: no call of this judge will succeed, whatever is asked.
    `after`: seconds to wait before. `usd`: what the call cost: nothing where the other side refused it, None where
    that cannot be known. `status`: of HTTP, where there was one.
    """

    def __init__(
        self,
        problem: str,
        *,
        again: bool = False,
        hopeless: bool = False,
        after: float | None = None,
        usd: float | None = 0.0,
        status: int | None = None,
    ) -> None:
        super().__init__(problem)
        self.problem, self.again, self.hopeless, self.after = problem, again, hopeless, after
        self.usd, self.status = usd, status


class Completer(Protocol):
    """Answers a prompt: an API, a command line, a recording. Several threads may call it at once."""

    def complete(self, question: ModelQuestion, *, seconds: float) -> Completion:
        """The answer, or a CompletionError."""

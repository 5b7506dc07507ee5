"""A model behind any program that reads a prompt and writes an answer: `command:PROGRAM ARGS`.

The program and its children are ended at the time limit, or if the output grows too long. Its costs are unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from knowbound.judge.models.completion import ANSWER_BYTES, Completion, CompletionError, ModelQuestion, shown
from knowbound.judge.names import JudgeName
from knowbound.process import Ran, agent_environment, run

_OUTPUT_BYTES = 4 * ANSWER_BYTES  # events around an answer included
_LAST = 300  # bytes of the output of a program that failed


class CommandLineModel:
    """Completes a prompt by running a program."""

    def __init__(self, name: JudgeName) -> None:
        self._command = name.command

    def complete(self, question: ModelQuestion, *, seconds: float) -> Completion:
        """Run the program once."""
        ran = run_program(self._command, whole(question), seconds, Path(), agent_environment())
        if ran.code != 0:
            raise ended(self._command[0], ran)
        return Completion(ran.out.decode("utf-8", "replace"))


def whole(question: ModelQuestion) -> str:
    """Return instructions and material as one text."""
    return f"{question.instructions}\n\n{question.text}\n"


def ended(program: str, ran: Ran) -> CompletionError:
    """Return the error for a program that failed without a message that we know."""
    last = shown((ran.err or ran.out).decode("utf-8", "replace")[-_LAST:])
    return CompletionError(f"{program} ended with code {ran.code}{f': {last}' if last else ''}", again=True, usd=None)


def run_program(command: Sequence[str], text: str, seconds: float, folder: Path, environment: Mapping[str, str]) -> Ran:
    """Run a program with the text as its input, within the limits of time and output."""
    stdin = text.encode("utf-8", "replace")
    ran = run(command, folder, seconds, _OUTPUT_BYTES, environment=environment, stdin=stdin)
    if ran.timed_out:
        raise CompletionError(f"no answer within {round(seconds, 2):g} seconds", again=True, usd=None)
    if ran.cut:
        raise CompletionError(f"the answer is longer than {_OUTPUT_BYTES} bytes", usd=None)
    if ran.code is None:
        raise CompletionError(f"{command[0]} cannot be started: {ran.err.decode()}", hopeless=True)
    return ran

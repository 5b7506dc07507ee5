"""What readers of event logs hold while a result is still to come: calls, steps, commands that run on."""

from __future__ import annotations

from typing import Any

import msgspec

from knowbound.core.trace import AgentText, Outcome, Step, ToolCall
from knowbound.traces.calls import finish_call

MAX_INJECTED = 10_000  # characters kept of an injected text
MAX_REASON = 300  # characters kept of why an agent failed
_MAX_RUNNING = 4_000  # characters kept of what a running command has printed


class PendingCall(msgspec.Struct):
    """A call whose result is still to come."""

    name: str
    input: dict[str, Any]
    line: int
    failed: bool | None = None  # what an event beside the result says


class OpenStep(msgspec.Struct):
    """A message of the agent whose calls may still be without results."""

    id: str
    time: str
    path: str
    line: int
    agent_id: str = ""
    said: list[AgentText] = []
    calls: dict[str, PendingCall | ToolCall] = {}
    answers: int = 0  # calls that were answered one by one
    tokens: int | None = None  # as in `Step`
    model: str = ""

    def answer(self, call: ToolCall) -> None:
        """The result of a call has come."""
        self.answers += isinstance(self.calls[call.id], PendingCall)
        self.calls[call.id] = call

    @property
    def is_answered(self) -> bool:
        """Whether every call has its result."""
        return self.answers == len(self.calls)

    def step(self, unanswered: tuple[Outcome, str] | None = None) -> Step:
        """The step; `unanswered` is the outcome of calls without a result, where the trace says why."""
        calls = tuple(
            finish_call(id_, call.name, call.input, None, outcome=unanswered, line=call.line)
            if isinstance(call, PendingCall)
            else call
            for id_, call in self.calls.items()
        )
        said = tuple(self.said)
        return Step(self.id, said, calls, self.agent_id, self.time, self.path, self.line, self.tokens, self.model)


class RunningCommands:
    """Commands that outlive their call: a later look at one is judged as that command, on all that it has printed."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, str]] = {}  # by shell: the command, and its output so far

    def keep(self, shell: str, command: str, output: str) -> None:
        """The command goes on in this shell."""
        self._known[shell] = (command, output[:_MAX_RUNNING])

    def resume(self, shell: str, output: str) -> tuple[str, str] | None:
        """The command of a shell with all of its output; None where none is known."""
        if shell not in self._known:
            return None
        command, earlier = self._known.pop(shell)
        return command, earlier + output

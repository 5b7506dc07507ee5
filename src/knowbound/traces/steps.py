"""Unfinished parts of a session that readers hold: calls without results, open steps, running commands."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from knowbound.core.bundle import items_in
from knowbound.core.trace import AgentText, Injection, Outcome, Step, ToolCall
from knowbound.traces.calls import finish_call

MAX_INJECTED = 10_000  # characters kept of an injected text
MAX_REASON = 300  # characters kept of the reason of a failure
_MAX_RUNNING = 4_000  # characters kept of the output of a running command


class PendingCall(msgspec.Struct):
    """A call without its result."""

    name: str
    input: dict[str, Any]
    line: int
    failed: bool | None = None  # by an event beside the result


class OpenStep(msgspec.Struct):
    """A message of the agent whose calls may lack results."""

    id: str
    time: str
    path: str
    line: int
    agent_id: str = ""
    said: list[AgentText] = []
    calls: dict[str, PendingCall | ToolCall] = {}
    answers: int = 0  # calls that have their result
    tokens: int | None = None  # as in `Step`
    model: str = ""

    def answer(self, call: ToolCall) -> None:
        """Put a call with its result in place of the pending one."""
        self.answers += isinstance(self.calls[call.id], PendingCall)
        self.calls[call.id] = call

    @property
    def is_answered(self) -> bool:
        """True if every call has its result."""
        return self.answers == len(self.calls)

    def step(self, unanswered: tuple[Outcome, str] | None = None) -> Step:
        """Return the step; `unanswered` is the outcome of calls without a result, if the trace names it."""
        calls = tuple(
            finish_call(id_, call.name, call.input, None, outcome=unanswered, line=call.line)
            if isinstance(call, PendingCall)
            else call
            for id_, call in self.calls.items()
        )
        said = tuple(self.said)
        return Step(self.id, said, calls, self.agent_id, self.time, self.path, self.line, self.tokens, self.model)


class RunningCommands:
    """Commands that outlive their call: a later look at a shell is judged as its command, with all its output."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, str]] = {}  # by shell: the command and its output so far

    def keep(self, shell: str, command: str, output: str) -> None:
        """Keep a command that still runs in this shell."""
        self._known[shell] = (command, output[:_MAX_RUNNING])

    def resume(self, shell: str, output: str) -> tuple[str, str] | None:
        """Return the command of a shell with all its output; None if the shell is unknown."""
        if shell not in self._known:
            return None
        command, earlier = self._known.pop(shell)
        return command, earlier + output


def by_item(injection: Injection) -> list[Injection]:
    """Return an injection for each item of a bundle of knowbound, with its id; the injection itself for other text."""
    items = items_in(injection.content)
    return [replace(injection, content=item.content, item=item.id) for item in items] or [injection]

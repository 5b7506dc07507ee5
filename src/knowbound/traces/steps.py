"""State of a session that readers share: open steps, running commands, known ids, and injected texts."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import msgspec
from msgspec.structs import replace

from knowbound.core.bundle import items_in
from knowbound.core.trace import AgentText, Injection, Outcome, Step, ToolCall
from knowbound.traces.calls import finish_call
from knowbound.traces.dialogue import text_in
from knowbound.traces.source import Tally

_MAX_INJECTED = 30_000  # characters kept of an injected text: memory tools inject 16,000
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
            [
                call
                if isinstance(call, ToolCall)
                else finish_call(id_, call.name, call.input, None, outcome=unanswered, line=call.line)
                for id_, call in self.calls.items()
            ]
        )
        return Step(
            self.id, tuple(self.said), calls, self.agent_id, self.time, self.path, self.line, self.tokens, self.model
        )


class RunningCommands:
    """Commands that outlive their call: a later look at a shell is judged as its command, with all its output."""

    def __init__(self, tool: str, key: str) -> None:
        self._tool, self._key = tool, key  # the shell tool, and the name of its command in the input
        self._known: dict[str, tuple[str, str]] = {}  # by shell: the command and its output so far

    def follow(
        self, request: PendingCall, output: str, *, looks_at: str, runs_in: str
    ) -> tuple[str, dict[str, Any], str]:
        """Return the name, input and output that a call is judged by: it may look at a shell, or go on in one."""
        name, input_ = request.name, request.input
        if looks_at in self._known:
            command, earlier = self._known[looks_at]  # clients do not always say that it has ended
            name, input_, output = self._tool, {self._key: command}, earlier + output
            self._known[looks_at] = (command, output[:_MAX_RUNNING])
        if runs_in:
            self._known[runs_in] = (text_in(input_, self._key), output[:_MAX_RUNNING])
        return name, input_, output


class KnownIds:
    """Ids that a session already had: its files may repeat messages, which count once."""

    def __init__(self, tally: Tally, *, is_single_file: bool = False) -> None:
        self._tally = tally
        self._hashes: set[int] | None = None if is_single_file else set()

    def is_new(self, id_: Hashable, *, is_message: bool = True) -> bool:
        """Report whether the id is new; a repeated message is counted."""
        if self._hashes is None:
            return True
        before = len(self._hashes)
        self._hashes.add(hash(id_))
        if len(self._hashes) == before:
            self._tally.duplicates += is_message
            return False
        return True


def injected(source: str, text: str, line: int, path: str = "") -> Injection:
    """Return an injection with the start of its text."""
    return Injection(source, text[:_MAX_INJECTED], path, line)


def by_item(injection: Injection) -> list[Injection]:
    """Return an injection for each item of a bundle of knowbound, with its id; the injection itself for other text."""
    items = items_in(injection.content)
    return [replace(injection, content=item.content, item=item.id) for item in items] or [injection]

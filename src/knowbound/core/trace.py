"""Events of an agent's trace: tool calls in steps, steps in turns, turns in sessions; how much a report has read.

Readers yield these values as a stream, so that a transcript of any length is never held in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

import msgspec

from knowbound.core.tool_kinds import LOOKUPS, MISSES, LookupIntent, Outcome, ToolKind

__all__ = ["LOOKUPS", "MISSES", "LookupIntent", "Outcome", "ToolKind"]  # of `tool_kinds`, which hooks load without this


class ToolCall(msgspec.Struct, frozen=True, gc=False):
    """One use of a tool, with its query and outcome."""

    id: str
    name: str  # the agent's own name for the tool
    kind: ToolKind
    outcome: Outcome
    query: str = ""  # the pattern, the path, the command
    where: str = ""  # searched folder or glob; "" for the working folder
    paths: tuple[str, ...] = ()  # files named in the call or in its result
    purpose: str = ""  # the agent's own description of the call
    input: dict[str, Any] | None = None  # whole, as the agent sent it; None: not kept by the reader
    output: str | None = None  # whole; None: not in the trace
    reason: str = ""  # reason for the outcome
    intent: LookupIntent = LookupIntent.LOOKUP  # used only for calls that missed
    failed: bool = False  # the client reports an error, or the command an exit code other than 0
    agent_id: str = ""  # the sub-agent that this call started
    line: int = 0
    undecoded: Callable[[], str] | None = None  # returns the text of a result that the reader did not decode
    is_in_background: bool = False  # the client left it running: the call has no output

    @property
    def text(self) -> str:
        """Text of the result, decoded if necessary."""
        return self.output or (self.undecoded() if self.undecoded is not None else "")

    @property
    def is_unanswered(self) -> bool:
        """Report whether the trace ends before the result of the call."""
        return self.outcome is Outcome.UNKNOWN and self.output is None


class AgentText(msgspec.Struct, frozen=True, gc=False):
    """A text of the agent, with the id and number of its line."""

    message_id: str
    text: str
    line: int = 0


class Start(msgspec.Struct, frozen=True, gc=False):
    """A session begins (or its folder becomes known)."""

    session: str
    agent: str  # the reader's name: claude-code, codex, …
    project: str = ""  # the working folder
    version: str = ""
    time: str = ""
    branch: str = ""  # git branch of the working folder, if the trace names it


class Author(StrEnum):
    """Whoever wrote a prompt."""

    UNKNOWN = ""  # the trace does not say
    PERSON = "person"
    PROGRAM = "program"  # a script, a schedule, another agent


class Prompt(msgspec.Struct, frozen=True, gc=False):
    """The user's own words: a turn begins."""

    id: str
    text: str  # "" if the trace lacks the prompt of the turn
    time: str = ""
    path: str = ""
    line: int = 0
    client_turn: str = ""  # id that the client gives the turn and passes to its hooks (promptId, turn_id)
    author: Author = Author.UNKNOWN


class Injection(msgspec.Struct, frozen=True, gc=False):
    """Text in the agent's context that did not come from the user.

    It belongs to the turn of the last prompt before it; before the first prompt, to the first turn.
    """

    source: str  # hook:UserPromptSubmit, skill, instructions, …
    content: str
    path: str = ""  # knowledge file of the text, if the trace names one
    line: int = 0
    item: str = ""  # id of the item, if the text is an item of our store


class Skill(msgspec.Struct, frozen=True, gc=False):
    """A skill is invoked: a sample begins."""

    name: str
    how: str  # call, command, file
    line: int = 0


class Step(msgspec.Struct, frozen=True, gc=False):
    """One message of the agent with its tool calls, once their results are known."""

    id: str
    said: tuple[AgentText, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    agent_id: str = ""  # "" for the main agent, else the sub-agent
    time: str = ""
    path: str = ""
    line: int = 0
    tokens: int | None = None  # written by the agent, or read for the first time; None: not in the trace
    model: str = ""  # model of the message, if the trace names it


class Break(StrEnum):
    """Way in which an agent broke off."""

    FAILED = "failed"  # an API error, a crash
    BUDGET = "budget"  # it reached the limit of its cost
    CUT_OFF = "cut off"  # its stream ends early, without a reason


class Broken(msgspec.Struct, frozen=True, gc=False):
    """The agent itself failed here. The following events decide whether the sample is complete."""

    reason: str
    line: int = 0
    how: Break = Break.FAILED


Event = Start | Prompt | Injection | Skill | Step | Broken


class LeftOut(StrEnum):
    """Reason why a session is not in a report."""

    OTHER_PROJECT = "other_project"
    OTHER_AGENT = "other_agent"
    BEFORE = "before"  # it ended before the time that was asked for
    FORGOTTEN = "forgotten"  # `knowbound forget`
    UNREADABLE = "unreadable"  # its file could not be read


class SessionsRead(msgspec.Struct, frozen=True):
    """The sessions of a report, and the number of excluded sessions by reason."""

    read: int = 0
    left_out: dict[LeftOut, int] = {}

    @property
    def found(self) -> int:
        """Number of sessions that were found."""
        return self.read + sum(self.left_out.values())


class ReadShares(msgspec.Struct, frozen=True):
    """Trace lines and tool calls that were read, and those that knowbound does not know: a newer client has many."""

    lines: int = 0
    unread: int = 0
    calls: int = 0
    unknown: int = 0

    def __add__(self, other: ReadShares) -> ReadShares:
        return ReadShares(
            self.lines + other.lines, self.unread + other.unread, self.calls + other.calls, self.unknown + other.unknown
        )

    @property
    def of_lines(self) -> float | None:
        """Share of unknown lines; None without any."""
        return self.unread / self.lines if self.lines else None

    @property
    def of_calls(self) -> float | None:
        """Share of unknown calls; None without any."""
        return self.unknown / self.calls if self.calls else None

    def to_json(self) -> dict[str, float | None]:
        """Return both shares under the names that reports have."""
        return {"unknown_lines": self.of_lines, "unknown_tools": self.of_calls}

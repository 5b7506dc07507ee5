"""What an agent did: tool calls in steps, steps in turns, turns in sessions (docs/words.md).

Readers yield these values as a stream of events, so that a transcript of any length can be
followed without being held in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

import msgspec

from knowbound.core.tool_kinds import LOOKUPS, MISSES, LookupIntent, Outcome, ToolKind

__all__ = [
    "LOOKUPS",
    "MISSES",
    "AgentText",
    "Break",
    "Broken",
    "Event",
    "Injection",
    "LookupIntent",
    "Outcome",
    "Prompt",
    "Skill",
    "Start",
    "Step",
    "ToolCall",
    "ToolKind",
]


class ToolCall(msgspec.Struct, frozen=True, gc=False):
    """One use of a tool, with what it looked for and how it ended."""

    id: str
    name: str  # the agent's own name for the tool
    kind: ToolKind
    outcome: Outcome
    query: str = ""  # what it looked for: the pattern, the path, the command
    where: str = ""  # where it looked: a folder or glob, "" for the working folder
    paths: tuple[str, ...] = ()  # files that the call named or that came back
    purpose: str = ""  # the agent's own description of the call
    input: dict[str, Any] | None = None  # whole, as the agent sent it; None where the reader does not keep it
    output: str | None = None  # whole; None: the trace holds none
    reason: str = ""  # why the outcome is what it is
    intent: LookupIntent = LookupIntent.LOOKUP  # read for calls that missed only
    gone: tuple[str, ...] = ()  # names that an edit took out
    agent_id: str = ""  # the sub-agent that this call started
    line: int = 0
    undecoded: Callable[[], str] | None = None  # the text of a result that the reader need not look at
    is_in_background: bool = False  # the client left it running: the output is not in the call

    @property
    def text(self) -> str:
        """The text of the result, decoded where it was not yet."""
        return self.output or (self.undecoded() if self.undecoded is not None else "")

    @property
    def is_unanswered(self) -> bool:
        """Whether the trace ends before the call's result."""
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


class Prompt(msgspec.Struct, frozen=True, gc=False):
    """The user's own words: a turn begins."""

    id: str
    text: str  # "" where a turn begins and the trace does not hold its prompt
    time: str = ""
    path: str = ""
    line: int = 0
    client_turn: str = ""  # the client's own id of the turn, which its hooks are given, too (promptId, turn_id)


class Injection(msgspec.Struct, frozen=True, gc=False):
    """Text that was put into the agent's context by something other than the user.

    It belongs to the turn of the last prompt before it; before the first prompt, to that one's.
    """

    source: str  # hook:UserPromptSubmit, skill, instructions, …
    content: str
    path: str = ""  # the knowledge file it came from, where the trace names one
    line: int = 0
    item: str = ""  # the id of the item of our store that this is; "" for what others inject


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
    tokens: int | None = None  # written by the agent, and read by it for the first time; None: the trace does not say
    model: str = ""  # that wrote it, where the trace says so


class Break(StrEnum):
    """How an agent broke off."""

    FAILED = "failed"  # an API error, a crash
    BUDGET = "budget"  # it reached the limit of its cost
    CUT_OFF = "cut off"  # its stream ends too early, and does not say why


class Broken(msgspec.Struct, frozen=True, gc=False):
    """The agent itself failed here: what follows decides completeness."""

    reason: str
    line: int = 0
    how: Break = Break.FAILED


Event = Start | Prompt | Injection | Skill | Step | Broken

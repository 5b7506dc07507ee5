"""Topics: signals of several turns and sessions about the same missing thing (docs/words.md)."""

from __future__ import annotations

import msgspec

from knowbound.core.signal import Cost, Ending

_WORDS = 2  # calls that a question to the user, or one that nobody could answer, is worth


class TopicAnswer(msgspec.Struct, frozen=True):
    """Where some session found it."""

    path: str
    line: int
    sessions: int


class Example(msgspec.Struct, frozen=True):
    """A trace behind a topic."""

    session: str
    file: str
    line: int


class ProposedLine(msgspec.Struct, frozen=True):
    """A line of knowledge that would settle it, and the file that it belongs in."""

    text: str
    file: str


WORTH = 4.0  # what a topic saves that a report opens with


class Topic(msgspec.Struct, frozen=True):
    """One missing thing: what it cost, how its signals ended, and the answer where it is known."""

    id: str = ""  # empty in reports of 0.1.0, whose topics were only queries
    title: str = ""
    sessions: int = 0
    turns: int = 0
    signals: int = 0
    cost: Cost = Cost()
    endings: dict[str, int] = {}
    said: str = ""  # the agent's own sentence
    answer: list[TopicAnswer] = []
    proposed: ProposedLine | None = None
    examples: list[Example] = []
    project: str = ""
    correction: str = ""  # the user's words that followed
    last: str = ""  # when the newest of its sessions ended
    is_open: bool = False  # a session ended without it
    saves: float = 0.0  # what writing it down would save: sessions × calls, weighed by what it is (`gaps.topics`)

    @property
    def effort(self) -> int:
        """The calls spent; where there were only words, what those are worth that asked or gave up."""
        return self.cost.calls or _WORDS * sum(self.endings.get(one, 0) for one in (Ending.ASKED, Ending.GAVE_UP))

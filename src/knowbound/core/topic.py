"""Topics: signals of several turns and sessions about the same missing thing (docs/words.md)."""

from __future__ import annotations

import msgspec

from knowbound.core.signal import Cost, Ending

_WORDS = 2  # calls that one question to the user, or one given-up search, counts for


class TopicAnswer(msgspec.Struct, frozen=True):
    """A place where sessions found the missing thing."""

    path: str
    line: int
    sessions: int


class Example(msgspec.Struct, frozen=True):
    """A trace behind a topic."""

    session: str
    file: str
    line: int


class ProposedLine(msgspec.Struct, frozen=True):
    """A line of knowledge that would settle the topic, and the file for it."""

    text: str
    file: str


WORTH = 4.0  # savings of a topic that a report opens with


class Topic(msgspec.Struct, frozen=True):
    """One missing thing: its cost, the ends of its signals, and the answer if known."""

    id: str = ""  # "" in reports of 0.1.0, whose topics were only queries
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
    correction: str = ""  # the following words of the user
    last: str = ""  # end of the newest session
    is_open: bool = False  # a session ended without finding it
    saves: float = 0.0  # estimated savings of writing it down: weighted sessions × calls (`gaps.topics`)

    @property
    def effort(self) -> int:
        """Calls spent; without calls, an equivalent for signals that asked or gave up."""
        return self.cost.calls or _WORDS * sum(self.endings.get(one, 0) for one in (Ending.ASKED, Ending.GAVE_UP))

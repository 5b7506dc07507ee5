"""Groups signals into topics and ranks them by what writing them down would save.

Signals of one project that share a name, in any spelling, are one topic, across turns, sessions and kinds. What a miss
cost is known from what followed it. Checks, malformed and incidental misses are no lack of knowledge.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from knowbound.core.project import project_name
from knowbound.core.signal import Cost, Ending, Findings, Place, Signal, SignalType, Status
from knowbound.core.topic import Answer, Example, Topic
from knowbound.gaps.search_words import last_sentence
from knowbound.gaps.wanted import plain_name

TOPICS = 50
_EXAMPLES = 3
_ANSWERS = 3
_MOST_SIGNALS = 100_000  # of a report
_SPELLED = re.compile(r"[\w.-]+")


class _Kept(NamedTuple):
    """What a topic needs of a signal."""

    signal: Signal
    project: str
    ended: str


class TopicNames:
    """The names that sessions share, and by them the topic of a signal."""

    def __init__(self, shared: Mapping[str, int] | None = None) -> None:
        self._sessions: dict[str, set[str]] = {}
        self._shared = dict(shared or {})  # name in a project → sessions

    def add(self, signal: Signal, project: str) -> None:
        """A session has these names."""
        for name in signal.names[:1] if signal.query else ():
            self._sessions.setdefault(f"{project}\n{name}", set()).add(signal.session)

    def shared(self) -> dict[str, int]:
        """The names of misses, each with the number of its sessions."""
        return {name: len(sessions) for name, sessions in self._sessions.items()}

    def key(self, signal: Signal, project: str) -> str:
        """The longest name of a miss, and of a doubt the one that most sessions share; without any, the words."""
        if signal.query or not signal.names:
            return topic_name(signal)
        return max(signal.names, key=lambda name: (self._count(f"{project}\n{name}"), len(name), name))

    def id_of(self, signal: Signal, project: str) -> str:
        """The id of the topic that a signal belongs to; checks, malformed and incidental misses have none."""
        return _id(project, self.key(signal, project)) if has_topic(signal) else ""

    def _count(self, name: str) -> int:
        return len(self._sessions.get(name, ())) or self._shared.get(name, 0)


def topic_name(signal: Signal) -> str:
    """The first name of a signal; without any, its words."""
    return signal.names[0] if signal.names else plain_name(signal.query or signal.text)


class Topics:
    """Takes in sessions one by one; then has the topics, best first."""

    def __init__(self) -> None:
        self._kept: list[_Kept] = []
        self.names = TopicNames()

    def add(self, found: Findings, signals: list[Signal]) -> None:
        """The signals of a sample that counts."""
        project = project_name(found.project)
        for signal in signals:
            if has_topic(signal) and len(self._kept) < _MOST_SIGNALS:
                self._kept.append(_Kept(signal, project, found.ended))
                self.names.add(signal, project)

    def ranked(self, here: str = "") -> list[Topic]:
        """The topics: those of the project at hand first, then by what they cost, open before resolved."""
        groups: dict[tuple[str, str], list[_Kept]] = {}
        for kept in self._kept:
            groups.setdefault((kept.project, self.names.key(kept.signal, kept.project)), []).append(kept)
        topics = [_topic(project, key, group) for (project, key), group in groups.items() if any(map(_matters, group))]
        return sorted(topics, key=lambda topic: (topic.project != here, -saves(topic), topic.title))[:TOPICS]


def has_topic(signal: Signal) -> bool:
    """Whether a signal is about something missing or found late; the misses of a repeated failure are there anyway."""
    is_found = signal.status is Status.RESOLVED and signal.ending is Ending.FOUND
    return (is_found or signal.status is Status.OPEN) and signal.type is not SignalType.REPEATED_FAILURE


def _matters(kept: _Kept) -> bool:
    """A doubt that the next call answered matters only beside a miss."""
    return bool(kept.signal.query) or kept.signal.status is Status.OPEN


def saves(topic: Topic) -> float:
    """What writing it down would save: sessions × effort; what stayed open counts double."""
    elsewhere = topic.title.startswith(("/", "~", "$"))  # outside of the project
    return topic.sessions * topic.effort * (2 if topic.is_open else 1) / (10 if elsewhere else 1)


def _id(project: str, key: str) -> str:
    return hashlib.sha256(f"{project}\n{key}".encode("utf-8", "replace")).hexdigest()[:8]


def _topic(project: str, key: str, group: list[_Kept]) -> Topic:
    signals = [kept.signal for kept in group]
    best = max(signals, key=_shows)
    costs = [signal.cost for signal in signals if signal.cost is not None]
    seconds = [cost.seconds for cost in costs if cost.seconds is not None]
    tokens = [cost.tokens for cost in costs if cost.tokens is not None]
    return Topic(
        id=_id(project, key),
        title=_title(best, key),
        sessions=len({signal.session for signal in signals}),
        turns=len({(signal.session, signal.turn) for signal in signals}),
        signals=len(signals),
        cost=Cost(
            sum(_calls(signal) for signal in signals),
            sum(cost.steps for cost in costs),
            round(sum(seconds), 1) if seconds else None,
            sum(tokens) if tokens else None,
        ),
        endings=_endings(signals),
        said=last_sentence(best.said) or best.text,
        answer=_answers(signals),
        examples=_examples(signals),
        project=project,
        correction=next((signal.correction for signal in signals if signal.correction), ""),
        last=max(kept.ended for kept in group),
        is_open=any(signal.status is Status.OPEN for signal in signals),
    )


def _endings(signals: list[Signal]) -> dict[str, int]:
    """How it ended, once for each turn: a miss and the guess that follows it are one ending."""
    ended = {(one.session, one.turn, one.ending): str(one.ending) for one in signals if one.ending}
    return dict(Counter(ended.values()).most_common())


def _calls(signal: Signal) -> int:
    """The calls that a signal stands for: of a miss, that one at least."""
    return max(signal.cost.calls if signal.cost else 0, 0 if signal.text else 1)


def _shows(signal: Signal) -> tuple[bool, bool, int]:
    """Which signal shows a topic best: a miss, one that stayed open, with the agent's words."""
    return (signal.type is SignalType.FAILED_SEARCH, signal.status is Status.OPEN, len(signal.said))


def _title(signal: Signal, key: str) -> str:
    """A path as it was tried, a name in the spelling of the search, or the sentence."""
    if not signal.query or "/" in signal.query:
        return signal.query or signal.text
    spelled = (word for word in _SPELLED.findall(signal.query) if plain_name(word) == key)
    return next(spelled, signal.query)


def _answers(signals: list[Signal]) -> list[Answer]:
    found: dict[Place, set[str]] = {}
    for signal in signals:
        if signal.ending is Ending.FOUND and signal.found_at is not None:
            found.setdefault(signal.found_at, set()).add(signal.session)
    best = sorted(found.items(), key=lambda one: (-len(one[1]), one[0].path, one[0].line))
    return [Answer(place.path, place.line, len(sessions)) for place, sessions in best[:_ANSWERS]]


def _examples(signals: list[Signal]) -> list[Example]:
    """One of each session, those that stayed open first."""
    first: dict[str, Signal] = {}
    for signal in sorted(signals, key=lambda one: one.status is not Status.OPEN):
        first.setdefault(signal.session, signal)
    return [Example(one.session, one.file, one.line) for one in list(first.values())[:_EXAMPLES]]

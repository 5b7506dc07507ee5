"""Groups signals into topics and ranks them by what writing them down would save.

Signals of one project that share a name, in any spelling, are one topic, across turns, sessions and kinds. What a miss
cost is known from what followed it. Checks, malformed and incidental misses are no lack of knowledge.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from knowbound.core.paths import project_name
from knowbound.core.signal import (
    NOT_CLOSED,
    Cost,
    Ending,
    Example,
    Findings,
    FoundPlace,
    Signal,
    SignalType,
    Status,
    Topic,
    TopicAnswer,
)
from knowbound.core.trace import Outcome
from knowbound.gaps.search_words import last_sentence
from knowbound.gaps.wanted import plain_name

TOPICS = 200  # of the project at hand
_OF_OTHERS = 50  # of every other project
_MOST_TOPICS = 2_000
_EXAMPLES = 3
_ANSWERS = 3
_MOST_SIGNALS = 50_000  # of a report
_NAMES_IN_TITLE = 3
_MOST_NAMES = 8  # of one topic: what more names lead to is a whole program
_TESTS = re.compile(r"(?:^|[/_.*-])(?:tests?|spec|specs|__tests__)(?:[/_.*-]|$)", re.IGNORECASE)
_MENTIONS = re.compile(rf"{_TESTS.pattern}|(?:^|/)plans?/|[*?]", re.IGNORECASE)
_WILD = re.compile(r"[*?\s|()\[\]]")
_EXPRESSION = re.compile(r"[|\\^$()\s]")
_FILE = re.compile(r"\.?[\w*-]+\.\w{1,5}")
_SPELLED = re.compile(r"[\w.-]+")


class _Kept(NamedTuple):
    """A signal with its project, and the end of its session."""

    signal: Signal
    project: str
    ended: str


class TopicNames:
    """The names of a report's topics, and by them the topic of a signal."""

    def __init__(self, known: Mapping[str, str] | None = None) -> None:
        self.known = dict(known or {})  # name of a miss in a project → the name that its topic goes by

    def key(self, signal: Signal, project: str) -> str:
        """The name of the topic: by the first name of a miss, and of a doubt by one that a miss has."""
        name = topic_name(signal)
        if not signal.query:  # a doubt that no miss is about is a topic of its own
            shared = (one for one in signal.names if f"{project}\n{one}" in self.known)
            name = max(shared, key=len, default=f"{signal.session}#{signal.turn}#{name}")
        return self.known.get(f"{project}\n{name}", name)

    def id_of(self, signal: Signal, project: str) -> str:
        """The id of the topic that a signal belongs to; checks, malformed and incidental misses have none."""
        return _id(project, self.key(signal, project)) if has_topic(signal) else ""

    def names_of(self, id_: str) -> set[str]:
        """The names of misses that a topic has."""
        split = ((*known.split("\n", 1), name) for known, name in self.known.items())
        return {own for project, own, name in split if _id(project, name) == id_}


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
        room = _MOST_SIGNALS - len(self._kept)
        self._kept += [_Kept(signal, project, found.ended) for signal in filter(has_topic, signals)][:room]

    @property
    def misses(self) -> list[Signal]:
        """The failed searches among the signals."""
        return [one.signal for one in self._kept if one.signal.query]

    def ranked(self, here: str = "") -> list[Topic]:
        """The topics: those of the project at hand first, then by what they cost, then open before resolved."""
        self.names = TopicNames(_same_things(self._kept))
        groups: dict[tuple[str, str], list[_Kept]] = {}
        for kept in self._kept:
            groups.setdefault((kept.project, self.names.key(kept.signal, kept.project)), []).append(kept)
        topics = [_topic(project, key, group) for (project, key), group in groups.items() if _matters(group)]
        topics.sort(key=lambda topic: (topic.project != here, -topic.saves, not topic.is_open, topic.title))
        return _a_share_of_each(topics, here)


def _same_things(kept: Iterable[_Kept]) -> dict[str, str]:
    """Each name of a miss with that of its topic.

    Names in code that led many sessions to one file are one topic, and so are files that two sessions or more took to
    be in one folder: what is missing is where that code is, and what is in that folder.
    """
    misses: dict[tuple[str, str], list[Signal]] = {}  # by project and name
    for one in kept:
        if one.signal.query:
            misses.setdefault((one.project, topic_name(one.signal)), []).append(one.signal)
    together: dict[tuple[str, str, int], list[str]] = {}  # by project, file or folder, and the sessions that it takes
    for (project, name), signals in misses.items():
        of_code = [signal for signal in signals if signal.names and not _is_path(signal)]
        if path := _main_answer(of_code):
            together.setdefault((project, path, _MANY + 1), []).append(name)
        elif folder := _folder(signals):
            together.setdefault((project, folder, 2), []).append(name)
    known = {f"{project}\n{name}": name for project, name in misses}
    for (project, _, least), names in together.items():
        sessions = {one.session for name in names for one in misses[project, name]}
        if len(sessions) >= least and len(names) <= _MOST_NAMES:
            first = max(names, key=lambda name: (len({one.session for one in misses[project, name]}), len(name), name))
            known.update({f"{project}\n{name}": first for name in names})
    return known


def _is_answer(signal: Signal) -> bool:
    """Tests and plans only mention things, unless a test was wanted."""
    path = signal.found_at.path if signal.found_at is not None else ""
    return bool(_TESTS.search(signal.query)) or not _MENTIONS.search(path)


def _folder(signals: list[Signal]) -> str:
    """The folder in which files were taken to be, where all of them were read and none was found by its name."""
    folders = {signal.query.rpartition("/")[0] for signal in signals}
    is_plain = all(not _WILD.search(signal.query) and signal.found_at is None for signal in signals)
    folder = folders.pop() if len(folders) == 1 and is_plain else ""
    return "" if folder.startswith(("/", "~")) else folder


def _main_answer(signals: list[Signal]) -> str:
    """The file that most sessions found it in."""
    found = {
        (signal.found_at.path, signal.session)
        for signal in signals
        if signal.found_at is not None and _is_answer(signal)
    }
    counts = Counter(path for path, _ in found)
    return max(counts, key=lambda path: (counts[path], path), default="")


def _a_share_of_each(topics: list[Topic], here: str) -> list[Topic]:
    """The best of the project at hand, or of the first where none is; and a few of every other."""
    main = here if any(topic.project == here for topic in topics) else topics[0].project if topics else ""
    kept: Counter[str] = Counter()
    shown = []
    for topic in topics:
        kept[topic.project] += 1
        if kept[topic.project] <= (TOPICS if topic.project == main else _OF_OTHERS):
            shown.append(topic)
    return shown[:_MOST_TOPICS]


def has_topic(signal: Signal) -> bool:
    """Report whether a signal is about something missing or found late. A repeated failure has its misses for that."""
    is_answered = signal.ending in (Ending.FOUND, Ending.ASKED) and not _was_there(signal)
    is_late = signal.status is Status.RESOLVED and is_answered
    return (is_late or signal.status in NOT_CLOSED) and signal.type is not SignalType.REPEATED_FAILURE


def _was_there(signal: Signal) -> bool:
    """Report whether it was found at the very path that was tried, by an agent in another folder."""
    tried = signal.path if signal.outcome is Outcome.MISSING and signal.path else signal.query
    found = signal.found_at.path.strip("/") if signal.found_at is not None else ""
    return bool(found) and (found == tried.strip("/") or found.endswith("/" + tried.strip("/")))


def _matters(group: list[_Kept]) -> bool:
    """A doubt that the next call answered matters only beside a miss."""
    return any(kept.signal.query or kept.signal.status in NOT_CLOSED for kept in group)


# What a call spent on a topic is worth, by what was looked for; docs/decisions/traces.md says how that was found.
_PATH, _PATTERN = 1.0, 0.5  # a path; guessed at with wildcards
_NAME, _NAME_OF_FEW, _DOUBT = 1.0, 0.2, 0.2  # a name in code: of three sessions or more, of fewer; only words
_MANY = 3


def _saves(topic: Topic, signals: list[Signal]) -> float:
    """Return the savings of writing it down: sessions × effort × a weight for its kind."""
    misses = [signal for signal in signals if signal.query]
    if not misses:
        worth = _DOUBT
    elif any(map(_is_path, misses)):
        tried = [spelled(miss) for miss in misses if _is_path(miss)]
        is_vague = all(_WILD.search(one.rpartition("/")[2]) for one in tried)
        worth = _PATTERN if is_vague and topic.sessions < _MANY else _PATH
    else:
        was_never_found = any(miss.status in NOT_CLOSED for miss in misses)
        worth = _NAME if topic.sessions >= _MANY or was_never_found else _NAME_OF_FEW
    if topic.correction:
        worth = max(worth, _NAME)  # somebody had to say it
    elsewhere = topic.title.startswith(("/", "~", "$"))  # outside of the project
    spent = topic.sessions * topic.effort * worth
    return round(spent / (10 if elsewhere else 1), 2)


def _is_path(signal: Signal) -> bool:
    written = spelled(signal)
    return ("/" in written and not _EXPRESSION.search(written)) or bool(_FILE.fullmatch(written))


def _id(project: str, key: str) -> str:
    return hashlib.sha256(f"{project}\n{key}".encode("utf-8", "replace")).hexdigest()[:8]


def _topic(project: str, key: str, group: list[_Kept]) -> Topic:
    signals = [kept.signal for kept in group]
    best = max(signals, key=_shows)
    costs = [signal.cost for signal in signals if signal.cost is not None]
    seconds = [cost.seconds for cost in costs if cost.seconds is not None]
    tokens = [cost.tokens for cost in costs if cost.tokens is not None]
    topic = Topic(
        id=_id(project, key),
        title=_title(best, signals),
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
        said=_said(best, signals),
        answer=_answers(signals),
        examples=_examples(signals),
        project=project,
        correction=next((signal.correction for signal in signals if signal.correction), ""),
        last=max(kept.ended for kept in group),
        is_open=any(signal.status is Status.OPEN for signal in signals),
    )
    return replace(topic, saves=_saves(topic, signals))


def _endings(signals: list[Signal]) -> dict[str, int]:
    """Count the endings, each once a turn: a miss and the guess that follows it are one ending."""
    ended = {(signal.session, signal.turn, signal.ending): str(signal.ending) for signal in signals if signal.ending}
    return dict(Counter(ended.values()).most_common())


def _calls(signal: Signal) -> int:
    """Return the calls of a signal; a miss has at least its own."""
    return max(signal.cost.calls if signal.cost else 0, 0 if signal.text else 1)


def _shows(signal: Signal) -> tuple[bool, bool, int]:
    """Rank a signal by how well it shows a topic: a miss, one that stayed open, with the agent's words."""
    return (signal.type is SignalType.FAILED_SEARCH, signal.status is Status.OPEN, len(signal.said))


def _title(best: Signal, signals: list[Signal]) -> str:
    """A path as it was tried, the names in the spelling of the searches, or the sentence."""
    if not best.query:
        return best.text
    titles = dict.fromkeys(spelled(one) for one in (best, *signals) if one.query)
    return ", ".join(list(titles)[:_NAMES_IN_TITLE])


def _said(best: Signal, signals: list[Signal]) -> str:
    """The agent's own sentence beside it, whole where one is."""
    sentences = [last_sentence(one.said) or one.text for one in (best, *signals)]
    return next((sentence for sentence in sentences if sentence and not sentence.endswith("…")), sentences[0])


def spelled(signal: Signal) -> str:
    """The searched thing as it was written: a path, or the word of the search that has the name."""
    if signal.outcome is Outcome.MISSING and signal.path:
        return signal.path  # the folder that was to be searched
    if "/" in signal.query:
        return signal.query
    name = topic_name(signal)
    return next((word for word in _SPELLED.findall(signal.query) if plain_name(word) == name), signal.query)


def _answers(signals: list[Signal]) -> list[TopicAnswer]:
    found: dict[FoundPlace, set[str]] = {}
    for signal in signals:
        if signal.ending is Ending.FOUND and signal.found_at is not None and _is_answer(signal):
            found.setdefault(signal.found_at, set()).add(signal.session)
    best = sorted(found.items(), key=lambda one: (-len(one[1]), one[0].path, one[0].line))
    return [TopicAnswer(place.path, place.line, len(sessions)) for place, sessions in best[:_ANSWERS]]


def _examples(signals: list[Signal]) -> list[Example]:
    """One of each session, those that stayed open first."""
    first: dict[str, Signal] = {}
    for signal in sorted(signals, key=lambda one: one.status is not Status.OPEN):
        first.setdefault(signal.session, signal)
    return [Example(one.session, one.file, one.line) for one in list(first.values())[:_EXAMPLES]]

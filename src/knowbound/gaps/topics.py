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
from knowbound.gaps.wanted import last_sentence, plain_name

TOPICS = 200  # of the project at hand
_TOPICS_OF_OTHERS = 50  # of every other project
_MOST_TOPICS = 2_000
_EXAMPLES = 3
_ANSWERS = 3
_MOST_SIGNALS = 50_000  # of a report
_NAMES_IN_TITLE = 3
_SESSIONS_OF_A_FILE, _SESSIONS_OF_A_FOLDER = 4, 2  # at least, for names that led to it to be one topic
_MOST_NAMES = 8  # of one topic: what more names lead to is a whole program
_TEST_PATH = re.compile(r"(?:^|[/_.*-])(?:tests?|spec|specs|__tests__)(?:[/_.*-]|$)", re.IGNORECASE)
_MENTIONING_PATH = re.compile(rf"{_TEST_PATH.pattern}|(?:^|/)plans?/|[*?]", re.IGNORECASE)
_WILD = re.compile(r"[*?\s|()\[\]]")  # a pattern, or more than one path
_EXPRESSION = re.compile(r"[|\\^$()\s]")  # no path has these
_FILE = re.compile(r"\.?[\w*-]+\.\w{1,5}")
_SPELLED = re.compile(r"[\w.-]+")


class _ProjectSignal(NamedTuple):
    """A signal with its project, and the end of its session."""

    signal: Signal
    project: str
    ended: str


class TopicNames:
    """The names of a report's topics, and by them the topic of a signal."""

    def __init__(self, known: Mapping[str, str] | None = None) -> None:
        self.known = dict(known or {})  # "project\nname of a miss" → the name that its topic goes by

    def key(self, signal: Signal, project: str) -> str:
        """Return the name of a signal's topic: by the first name of a miss; of a doubt, by a name that a miss has."""
        name = topic_name(signal)
        if not signal.query:  # a doubt that no miss is about is a topic of its own
            shared = (own_name for own_name in signal.names if f"{project}\n{own_name}" in self.known)
            name = max(shared, key=len, default=f"{signal.session}#{signal.turn}#{name}")
        return self.known.get(f"{project}\n{name}", name)

    def id_of(self, signal: Signal, project: str) -> str:
        """The id of the topic that a signal belongs to; checks, malformed and incidental misses have none."""
        return _id(project, self.key(signal, project)) if has_topic(signal) else ""

    def names_of(self, id_: str) -> set[str]:
        """The names of misses that a topic has."""
        split = ((*project_and_name.split("\n", 1), name) for project_and_name, name in self.known.items())
        return {own for project, own, name in split if _id(project, name) == id_}


def topic_name(signal: Signal) -> str:
    """The first name of a signal; without any, its words."""
    return signal.names[0] if signal.names else plain_name(signal.query or signal.text)


class Topics:
    """Takes in sessions one by one; then has the topics, best first."""

    def __init__(self) -> None:
        self._kept: list[_ProjectSignal] = []
        self.names = TopicNames()

    def add(self, found: Findings, signals: list[Signal]) -> None:
        """The signals of a sample that counts."""
        project = project_name(found.project)
        room = _MOST_SIGNALS - len(self._kept)
        self._kept += [_ProjectSignal(signal, project, found.ended) for signal in filter(has_topic, signals)][:room]

    @property
    def misses(self) -> list[Signal]:
        """The failed searches among the signals."""
        return [member.signal for member in self._kept if member.signal.query]

    def ranked(self, here: str = "") -> list[Topic]:
        """The topics: those of the project at hand first, then by what they cost, then open before resolved."""
        self.names = TopicNames(_topic_by_name(self._kept))
        groups: dict[tuple[str, str], list[_ProjectSignal]] = {}
        for member in self._kept:
            groups.setdefault((member.project, self.names.key(member.signal, member.project)), []).append(member)
        topics = [_topic(*name, members) for name, members in groups.items() if _is_missed_or_open(members)]
        topics.sort(key=lambda topic: (topic.project != here, -topic.saves, not topic.is_open, topic.title))
        return _share_by_project(topics, here)


def _topic_by_name(members: Iterable[_ProjectSignal]) -> dict[str, str]:
    """Return for each name of a miss the name of its topic.

    Names in code that led many sessions to one file are one topic, and so are files that two sessions or more took to
    be in one folder: what is missing is where that code is, and what is in that folder.
    """
    misses: dict[tuple[str, str], list[Signal]] = {}  # by project and name
    for member in members:
        if member.signal.query:
            misses.setdefault((member.project, topic_name(member.signal)), []).append(member.signal)
    together: dict[tuple[str, str, int], list[str]] = {}  # names by project, file or folder, and the sessions it takes
    for (project, name), signals in misses.items():
        of_code = [signal for signal in signals if signal.names and not _is_path(signal)]
        if path := _main_answer(of_code):
            together.setdefault((project, path, _SESSIONS_OF_A_FILE), []).append(name)
        elif folder := _assumed_folder(signals):
            together.setdefault((project, folder, _SESSIONS_OF_A_FOLDER), []).append(name)
    topic_of = {f"{project}\n{name}": name for project, name in misses}
    for (project, _, least_sessions), names in together.items():
        sessions = {signal.session for name in names for signal in misses[project, name]}
        if len(sessions) >= least_sessions and len(names) <= _MOST_NAMES:
            by_name = {name: len({signal.session for signal in misses[project, name]}) for name in names}
            best_known = max(names, key=lambda name: (by_name[name], len(name), name))  # missed by most sessions
            topic_of.update({f"{project}\n{name}": best_known for name in names})
    return topic_of


def _is_place_of_it(signal: Signal) -> bool:
    """Report whether a find is the place of the thing. Tests and plans only mention things, unless a test is wanted."""
    path = signal.found_at.path if signal.found_at is not None else ""
    return bool(_TEST_PATH.search(signal.query)) or not _MENTIONING_PATH.search(path)


def _assumed_folder(signals: list[Signal]) -> str:
    """Return the folder in which agents took files to be, if none was found there by its name; else ""."""
    folders = {signal.query.rpartition("/")[0] for signal in signals}
    is_plain = all(not _WILD.search(signal.query) and signal.found_at is None for signal in signals)
    folder = folders.pop() if len(folders) == 1 and is_plain else ""
    return "" if folder.startswith(("/", "~")) else folder  # outside of the project


def _main_answer(signals: list[Signal]) -> str:
    """Return the file in which most sessions found what they missed; "" if none did."""
    found = {
        (signal.found_at.path, signal.session)
        for signal in signals
        if signal.found_at is not None and _is_place_of_it(signal)
    }
    counts = Counter(path for path, _ in found)
    return max(counts, key=lambda path: (counts[path], path), default="")


def _share_by_project(topics: list[Topic], here: str) -> list[Topic]:
    """Return the best topics of the project at hand (without any, of the first project), and a few of every other."""
    main = here if any(topic.project == here for topic in topics) else topics[0].project if topics else ""
    counts: Counter[str] = Counter()
    shown = []
    for topic in topics:
        counts[topic.project] += 1
        if counts[topic.project] <= (TOPICS if topic.project == main else _TOPICS_OF_OTHERS):
            shown.append(topic)
    return shown[:_MOST_TOPICS]


def has_topic(signal: Signal) -> bool:
    """Report whether a signal is about something missing or found late. A repeated failure has its misses for that."""
    is_answered = signal.ending in (Ending.FOUND, Ending.ASKED) and not _was_found_where_tried(signal)
    is_late = signal.status is Status.RESOLVED and is_answered
    return (is_late or signal.status in NOT_CLOSED) and signal.type is not SignalType.REPEATED_FAILURE


def _was_found_where_tried(signal: Signal) -> bool:
    """Report whether a miss was found at the very path that was tried, by an agent in another folder."""
    tried = signal.path if signal.outcome is Outcome.MISSING and signal.path else signal.query
    found_path = signal.found_at.path.strip("/") if signal.found_at is not None else ""
    return bool(found_path) and (found_path == tried.strip("/") or found_path.endswith("/" + tried.strip("/")))


def _is_missed_or_open(members: list[_ProjectSignal]) -> bool:
    """Report whether signals are worth a topic: a doubt that the next call answered is so only beside a miss."""
    return any(member.signal.query or member.signal.status in NOT_CLOSED for member in members)


# What a call spent on a topic is worth, by what was looked for; docs/decisions/traces.md says how that was found.
_PATH, _PATTERN = 1.0, 0.5  # a path; guessed at with wildcards
_NAME, _NAME_OF_FEW, _DOUBT = 1.0, 0.2, 0.2  # a name in code: of three sessions or more, of fewer; only words
_MANY_SESSIONS = 3
_OUTSIDE_DIVISOR = 10  # a thing outside of the project is rarely its knowledge


def _savings(topic: Topic, signals: list[Signal]) -> float:
    """Return the savings of writing it down: sessions × effort × a weight for its kind."""
    misses = [signal for signal in signals if signal.query]
    if not misses:
        weight = _DOUBT
    elif any(map(_is_path, misses)):
        tried = [spelled(miss) for miss in misses if _is_path(miss)]
        is_vague = all(_WILD.search(path.rpartition("/")[2]) for path in tried)
        weight = _PATTERN if is_vague and topic.sessions < _MANY_SESSIONS else _PATH
    else:
        was_never_found = any(miss.status in NOT_CLOSED for miss in misses)
        weight = _NAME if topic.sessions >= _MANY_SESSIONS or was_never_found else _NAME_OF_FEW
    if topic.correction:
        weight = max(weight, _NAME)  # somebody had to say it
    is_outside = topic.title.startswith(("/", "~", "$"))
    spent = topic.sessions * topic.effort * weight
    return round(spent / (_OUTSIDE_DIVISOR if is_outside else 1), 2)


def _is_path(signal: Signal) -> bool:
    """Report whether a search was for a path or a file name."""
    written = spelled(signal)
    return ("/" in written and not _EXPRESSION.search(written)) or bool(_FILE.fullmatch(written))


def _id(project: str, key: str) -> str:
    return hashlib.sha256(f"{project}\n{key}".encode("utf-8", "replace")).hexdigest()[:8]


def _topic(project: str, key: str, members: list[_ProjectSignal]) -> Topic:
    """Make the topic of one name: cost, endings and answers of all its signals, title and words of the best one."""
    signals = [member.signal for member in members]
    most_telling = max(signals, key=_telling_rank)
    costs = [signal.cost for signal in signals if signal.cost is not None]
    seconds = [cost.seconds for cost in costs if cost.seconds is not None]
    tokens = [cost.tokens for cost in costs if cost.tokens is not None]
    topic = Topic(
        id=_id(project, key),
        title=_title(most_telling, signals),
        sessions=len({signal.session for signal in signals}),
        turns=len({(signal.session, signal.turn) for signal in signals}),
        signals=len(signals),
        cost=Cost(
            calls=sum(map(_calls_spent, signals)),
            steps=sum(cost.steps for cost in costs),
            seconds=round(sum(seconds), 1) if seconds else None,
            tokens=sum(tokens) if tokens else None,
        ),
        endings=_endings(signals),
        said=_own_sentence(most_telling, signals),
        answer=_answers(signals),
        examples=_examples(signals),
        project=project,
        correction=next((signal.correction for signal in signals if signal.correction), ""),
        last=max(member.ended for member in members),
        is_open=any(signal.status is Status.OPEN for signal in signals),
    )
    return replace(topic, saves=_savings(topic, signals))


def _endings(signals: list[Signal]) -> dict[str, int]:
    """Count the endings, each once a turn: a miss and the guess that follows it are one ending."""
    ended = {(signal.session, signal.turn, signal.ending): str(signal.ending) for signal in signals if signal.ending}
    return dict(Counter(ended.values()).most_common())


def _calls_spent(signal: Signal) -> int:
    """Return the calls of a signal; a miss has at least its own."""
    return max(signal.cost.calls if signal.cost else 0, 0 if signal.text else 1)  # one with a text is no call


def _telling_rank(signal: Signal) -> tuple[bool, bool, int]:
    """Rank a signal by how well it shows a topic: a miss, one that stayed open, with the agent's words."""
    return (signal.type is SignalType.FAILED_SEARCH, signal.status is Status.OPEN, len(signal.said))


def _title(best: Signal, signals: list[Signal]) -> str:
    """A path as it was tried, the names in the spelling of the searches, or the sentence."""
    if not best.query:
        return best.text
    titles = dict.fromkeys(spelled(signal) for signal in (best, *signals) if signal.query)
    return ", ".join(list(titles)[:_NAMES_IN_TITLE])


def _own_sentence(best: Signal, signals: list[Signal]) -> str:
    """The agent's own sentence beside it, whole where one is."""
    sentences = [last_sentence(signal.said) or signal.text for signal in (best, *signals)]
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
    """Return the places where most sessions found what they missed."""
    found: dict[FoundPlace, set[str]] = {}
    for signal in signals:
        if signal.ending is Ending.FOUND and signal.found_at is not None and _is_place_of_it(signal):
            found.setdefault(signal.found_at, set()).add(signal.session)
    places = sorted(found, key=lambda place: (-len(found[place]), place.path, place.line))
    return [TopicAnswer(place.path, place.line, sessions=len(found[place])) for place in places[:_ANSWERS]]


def _examples(signals: list[Signal]) -> list[Example]:
    """One of each session, those that stayed open first."""
    first: dict[str, Signal] = {}  # by session
    for signal in sorted(signals, key=lambda signal: signal.status is not Status.OPEN):
        first.setdefault(signal.session, signal)
    return [Example(signal.session, signal.file, signal.line) for signal in list(first.values())[:_EXAMPLES]]

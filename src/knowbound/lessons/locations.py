"""Paths and names that agents looked for in the wrong place, and where the tree has them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from knowbound.core.knowledge_paths import is_knowledge
from knowbound.core.lesson import CheckKind, LessonEvidence, LessonKind, TreeCheck
from knowbound.core.signal import Ending, SignalType, Status
from knowbound.core.trace import Outcome
from knowbound.lessons.material import SEVERAL, Corpus, LessonProposal, SessionMiss, code, listed
from knowbound.lessons.verifying import Tree

_FILES_OF_LINE = 6  # files that are named in a line
_OFTEN_SESSIONS, _OFTEN_SHARE, _MOST_FILES = 4, 0.25, 12  # sessions that read a file, of all; files
_HIGH_COST_CALLS = 3  # searches of one session after which a single miss is worth a line
_WILD = re.compile(r"[*?{}\[\]]")
_PATTERN = re.compile(r"[\\|()^$+\s\"'<>]")
_FILE = re.compile(r"[A-Za-z][\w.-]{3,60}\.[a-z]{1,5}")
_DATED = re.compile(r"\d{4}-\d{2}-\d{2}|\d{5,}|[0-9a-f]{12,}")
_GENERIC = frozenset("index main mod lib utils helpers types config readme __init__ app server setup".split())
_TESTS = re.compile(r"(?:^|[/_.-])(?:tests?|specs?|__tests__|fixtures?|mocks?)(?:[/_.-]|$)", re.IGNORECASE)


def misses(corpus: Corpus) -> list[SessionMiss]:
    """Return the lookups that lacked something, without malformed, incidental and expected misses."""
    found = []
    for miss in corpus.misses:
        signal = miss.signal
        lacked = signal.status in (Status.OPEN, Status.RESOLVED, Status.UNDECIDED) or signal.ending is Ending.FOUND
        if signal.type is SignalType.FAILED_SEARCH and lacked and signal.status not in (
            Status.MALFORMED, Status.INCIDENTAL,
        ):  # fmt: skip
            found.append(miss)
    return found


def denied(corpus: Corpus) -> dict[int, tuple[str, str]]:
    """Return misses whose found place the user then corrects, by identity: the place, and the user's words.

    The next message names that place and another one of the project: which of them is right, rules cannot say.
    """
    messages = ((material.session, message) for material in corpus.materials for message in material.said)
    message_of_turn = {(session, message.turn): message.text for session, message in messages}
    found = {}
    for miss in corpus.misses:
        place, text = _found_at(miss, corpus.tree), message_of_turn.get((miss.signal.session, miss.signal.turn + 1), "")
        named = {word.strip("`'\".,;:()") for word in text.split()}
        own_names = {place, place.rpartition("/")[2]}
        names_another = any(_is_project_file(word, corpus.tree) for word in named - own_names)
        if place and names_another and not own_names.isdisjoint(named):
            found[id(miss)] = (place, text)
    return found


def _is_project_file(word: str, tree: Tree | None) -> bool:
    return bool(_FILE.fullmatch(word.rpartition("/")[2])) and (tree is None or tree.has(word) or word in tree.by_name)


def locations(corpus: Corpus) -> Iterator[LessonProposal]:
    """Lessons about where things are. Without a tree only what several sessions found in one place."""
    disputed = denied(corpus)
    wrong = {place for place, _ in disputed.values()}
    undisputed = [
        miss for miss in misses(corpus) if id(miss) not in disputed and _found_at(miss, corpus.tree) not in wrong
    ]
    answered: set[int] = set()
    for proposal, group in _moved_paths(corpus, undisputed):
        answered.update(map(id, group))
        yield proposal
    yield from _often_read(corpus, [miss for miss in undisputed if id(miss) not in answered])


def missed_path(miss: SessionMiss) -> str:
    """The path that was tried, where it was one: relative to the project, "" for a pattern or a place outside."""
    signal = miss.signal
    tried = signal.path if signal.outcome is Outcome.MISSING and signal.path else signal.query
    near = miss.near(tried.split()[0] if tried.split() else "")
    is_path = ("/" in near or re.fullmatch(r"[\w.-]+\.\w{1,5}", near)) and not _PATTERN.search(near)  # or a file name
    return near if is_path and not near.startswith(("/", "~", "$", "..")) else ""


def _moved_paths(corpus: Corpus, undisputed: list[SessionMiss]) -> Iterator[tuple[LessonProposal, list[SessionMiss]]]:
    """Yield lessons about a path that is not there and the one place where it is, each with its misses."""
    groups: dict[str, list[SessionMiss]] = defaultdict(list)
    for miss in undisputed:
        path = missed_path(miss)
        if path and not _WILD.search(path) and not _DATED.search(path):  # no pattern, no file of one day
            groups[path.rstrip("/")].append(miss)
    for path, group in groups.items():
        right, checks = _right_place(corpus, path, group)
        if not right or (_sessions(group) < SEVERAL and _calls(group) < _HIGH_COST_CALLS):
            continue
        name = path.rpartition("/")[2]
        if right.endswith("/"):
            text = f"{code(right)} is a folder: there is no {code(path)}."
        elif name == right.rpartition("/")[2]:
            text = f"{code(name)} is at {code(right)}, not at {code(path)}."
        else:
            text = f"The file is {code(right)}: there is no {code(path)}."
        yield (
            _proposal(corpus, f"path {path}", text, group, checks, right, (f"path:{path}", f"base:{name.lower()}")),
            group,
        )


def _right_place(corpus: Corpus, path: str, group: list[SessionMiss]) -> tuple[str, tuple[TreeCheck, ...]]:
    """Return the one place that a missed path means, with its checks; "" if there is none, or more than one."""
    tree = corpus.tree
    folder, _, name = path.rpartition("/")
    if tree is None:  # what sessions found under the same name in one other place
        found = {miss.near(miss.signal.found_at.path) for miss in group if miss.signal.found_at is not None}
        alike = {place for place in found if _is_same_file(place, path) and not place.startswith(("/", "~", ".."))}
        is_sure = len(alike) == 1 and len(found) == 1 and _sessions(group) >= SEVERAL
        return (alike.pop(), ()) if is_sure else ("", ())
    if tree.has(path):  # it is there today
        return "", ()
    stem = _stem(name)
    same = [place for place in tree.by_name.get(name.lower(), []) if not _TESTS.search(place) or _TESTS.search(path)]
    if len(same) == 1 and stem.lower() not in _GENERIC:  # many folders have a generic name
        right = same[0]
    elif f"{folder}/{stem}" in tree.folders and "." in name:
        right = f"{folder}/{stem}/"
    else:
        beside = [place for place in tree.files if place.rpartition("/")[0] == folder and _stem(place) == stem]
        right = beside[0] if len(beside) == 1 and "." in name else ""
    if not right:
        return "", ()
    return right, (TreeCheck(CheckKind.FILE, right.rstrip("/")), TreeCheck(CheckKind.ABSENT, path))


def _is_same_file(place: str, path: str) -> bool:
    """Report whether two paths are one file: the same name in another folder, or another ending in the same folder."""
    folder, _, name = place.rpartition("/")
    wanted_folder, _, wanted = path.rpartition("/")
    return place != path and (name == wanted or (folder == wanted_folder and _stem(name) == _stem(wanted)))


def _often_read(corpus: Corpus, misses_left: list[SessionMiss]) -> Iterator[LessonProposal]:
    """The files that many sessions read, where several of them first looked elsewhere for what is in there."""
    counts = Counter(path for material in corpus.materials for path in material.read)
    least = max(_OFTEN_SESSIONS, _OFTEN_SHARE * len(corpus.materials))
    often = [
        path for path, count in counts.most_common(_MOST_FILES) if count >= least and _is_source(path, corpus.tree)
    ]
    group = [miss for miss in misses_left if _found_at(miss, corpus.tree) in often]
    if _sessions(group) < SEVERAL:
        return
    for start in range(0, len(often), _FILES_OF_LINE):  # a line for a few files each
        files = often[start : start + _FILES_OF_LINE]
        missed_there = [miss for miss in group if _found_at(miss, corpus.tree) in files]
        checks = tuple(TreeCheck(CheckKind.FILE, path) for path in files) if corpus.tree is not None else ()
        names = tuple(name for path in files for name in (f"base:{path.rpartition('/')[2].lower()}", f"read:{path}"))
        text = f"Files that many sessions need: {listed(map(code, files))}."
        yield _proposal(corpus, f"often {files[0]}", text, missed_there or group[:1], checks, files[0], names)


def _is_source(path: str, tree: Tree | None) -> bool:
    is_there = tree is None or path in tree.files
    return is_there and not _TESTS.search(path) and not is_knowledge(path) and not _DATED.search(path)


def _found_at(miss: SessionMiss, tree: Tree | None) -> str:
    """Return where the session found it, as far as that is still there."""
    place = miss.near(miss.signal.found_at.path) if miss.signal.found_at is not None else ""
    return place if "/" in place and not place.startswith("/") and (tree is None or tree.has(place)) else ""


def _stem(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2].partition(".")[0]


def _proposal(
    corpus: Corpus,
    key: str,
    text: str,
    group: list[SessionMiss],
    checks: tuple[TreeCheck, ...],
    subject: str,
    names: tuple[str, ...],
) -> LessonProposal:
    """Return the lesson about a place, with the misses of its group as evidence."""
    topics = dict.fromkeys(corpus.topic_of.get(id(miss.signal), "") for miss in group)
    return LessonProposal(
        kind=LessonKind.LOCATION,
        key=key,
        text=text,
        evidence=tuple(LessonEvidence(miss.signal.session, miss.signal.line, miss.signal.file) for miss in group),
        calls=_calls(group),
        names=names,
        checks=checks,
        subject=subject,
        topics=tuple(topic for topic in topics if topic),
    )


def _sessions(group: list[SessionMiss]) -> int:
    return len({miss.signal.session for miss in group})


def _calls(group: list[SessionMiss]) -> int:
    return sum(max(1, miss.signal.cost.calls if miss.signal.cost else 1) for miss in group)

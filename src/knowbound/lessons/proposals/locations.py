"""Paths and names that agents looked for in the wrong place, and where the tree has them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from knowbound.core.lesson import CheckKind, LessonEvidence, LessonKind, TreeCheck
from knowbound.core.signal import Ending, SignalType, Status
from knowbound.core.trace import Outcome
from knowbound.gaps.wanted import plain_name, specific_words
from knowbound.lessons.proposals.proposal import SEVERAL, Corpus, Proposal, SessionMiss, code
from knowbound.lessons.tree import Tree

_HIGH_COST = 3  # searches of one session after which a single miss is worth a line
_WILD = re.compile(r"[*?{}\[\]]")
_PATTERN = re.compile(r"[\\|()^$+\s\"'<>]")
_NAME = re.compile(r"[A-Za-z_$][\w$]{4,60}")
_DATED = re.compile(r"\d{4}-\d{2}-\d{2}|\d{5,}|[0-9a-f]{12,}")
_GENERIC = frozenset("index main mod lib utils helpers types config readme __init__ app server setup".split())
_TESTS = re.compile(r"(?:^|[/_.-])(?:tests?|specs?|__tests__|fixtures?|mocks?)(?:[/_.-]|$)", re.IGNORECASE)


def misses(corpus: Corpus) -> list[SessionMiss]:
    """The lookups that lacked something: no malformed or incidental ones, and no checks that ended as expected."""
    found = []
    for one in corpus.misses:
        signal = one.signal
        lacked = signal.status in (Status.OPEN, Status.RESOLVED) or signal.ending is Ending.FOUND
        if signal.type is SignalType.FAILED_SEARCH and lacked and signal.status not in (
            Status.MALFORMED, Status.INCIDENTAL,
        ):  # fmt: skip
            found.append(one)
    return found


def locations(corpus: Corpus) -> Iterator[Proposal]:
    """Lessons about where things are. Without a tree only what several sessions found in one place."""
    seen = misses(corpus)
    answered: set[int] = set()
    for rule in (_split_folders, _naming, _moved_paths, _no_folder, _symbols):
        for proposal, used in rule(corpus, [one for one in seen if id(one) not in answered]):
            answered.update(map(id, used))
            yield proposal


_Found = Iterator[tuple[Proposal, list[SessionMiss]]]


def missed_path(one: SessionMiss) -> str:
    """The path that was tried, where it was one: relative to the project, "" for a pattern or a place outside."""
    signal = one.signal
    tried = signal.path if signal.outcome is Outcome.MISSING and signal.path else signal.query
    near = one.near(tried.split()[0] if tried.split() else "")
    is_path = ("/" in near or re.fullmatch(r"[\w.-]+\.\w{1,5}", near)) and not _PATTERN.search(near)
    return near if is_path and not near.startswith(("/", "~", "$", "..")) else ""


def _split_folders(corpus: Corpus, seen: list[SessionMiss]) -> _Found:
    """A folder that keeps its files in subfolders, where sessions looked in the wrong one."""
    tree = corpus.tree
    if tree is None:
        return
    by_folder: dict[str, list[SessionMiss]] = defaultdict(list)
    for one in seen:
        path = missed_path(one)
        folder, _, name = path.rpartition("/")
        places = _named_like(tree, name) if name and not path.endswith("/") else []
        for top in (folder, folder.rpartition("/")[0]):
            others = {place.rpartition("/")[0] for place in places if place.startswith(f"{top}/")} - {folder}
            if top and any(other.rpartition("/")[0] == top for other in others):
                by_folder[top].append(one)
                break
    for folder, group in by_folder.items():
        inner = sorted({path[len(folder) + 1 :].split("/")[0] for path in tree.files if path.startswith(f"{folder}/")})
        subfolders = [name for name in inner if f"{folder}/{name}" in tree.folders]
        if _sessions(group) < SEVERAL or not 2 <= len(subfolders) <= 4 or len(subfolders) < len(inner):
            continue
        named = " or ".join(code(f"{name}/") for name in subfolders)
        yield (
            _proposal(
                corpus,
                f"split {folder}",
                f"Every file of {code(folder + '/')} is in its subfolder {named}: look in both before you take one to "
                f"be missing."
                if len(subfolders) == 2
                else f"Every file of {code(folder + '/')} is in one of its subfolders {named}: look in all of them.",
                group,
                tuple(TreeCheck(CheckKind.FILE, f"{folder}/{name}") for name in subfolders),
                folder,
                (f"folder:{folder}", *(f"folder:{folder}/{name}" for name in subfolders)),
            ),
            group,
        )


def _naming(corpus: Corpus, seen: list[SessionMiss]) -> _Found:
    """Files that are named otherwise here: with a prefix, or with another ending."""
    tree = corpus.tree
    if tree is None:
        return
    prefixed: dict[str, list[SessionMiss]] = defaultdict(list)
    ended: dict[str, list[SessionMiss]] = defaultdict(list)
    for one in seen:
        path = missed_path(one)
        name = path.rpartition("/")[2]
        if re.fullmatch(r"[A-Za-z][\w]+\.\w{1,5}", name):
            prefixed[name].append(one)
        elif found := re.fullmatch(r"\*?\*?(?:\.|_)(spec|test|tests)(\.\w{1,5})", name):
            ended[f"{found[1]}{found[2]}"].append(one)
    for name, group in prefixed.items():
        like = sorted(path for path in tree.files if re.search(rf"/[\w.]*\d[\w.]*-{re.escape(name)}$", path))
        folders = {path.rpartition("/")[0].rpartition("/")[0] for path in like}
        top = next(iter(folders)) if len(folders) == 1 else ""
        if len(like) < 3 or not top or any(one.startswith(f"{top}/") for one in tree.by_name.get(name.lower(), [])):
            continue
        if _sessions(group) < SEVERAL and _calls(group) < 2:
            continue
        yield (
            _proposal(
                corpus,
                f"prefix {top} {name}",
                f"Files below {code(top + '/')} carry the number of their folder: {code(like[0].removeprefix(top + '/'))}, "
                f"not {code(name)}.",
                group,
                (TreeCheck(CheckKind.NAMED, top, f"*-{name}"), TreeCheck(CheckKind.UNNAMED, top, name)),
                top,
                (f"base:{name.lower()}",),
            ),
            group,
        )
    for ending, group in ended.items():
        kind, _, suffix = ending.partition(".")
        other = "test" if kind == "spec" else "spec"
        yes, no = f"*.{other}.{suffix}", f"*.{kind}.{suffix}"
        if sum(path.endswith(yes[1:]) for path in tree.files) < 10:
            continue
        example = min((path for path in tree.files if path.endswith(yes[1:])), key=lambda path: (path.count("/"), path))
        yield (
            _proposal(
                corpus,
                f"ending {no}",
                f"Tests are named {code(yes)} (such as {code(example)}); there is no {code(no)}.",
                group,
                (TreeCheck(CheckKind.NAMED, "", yes), TreeCheck(CheckKind.UNNAMED, "", no)),
                "",
                (f"base:{no}",),
            ),
            group,
        )


def _moved_paths(corpus: Corpus, seen: list[SessionMiss]) -> _Found:
    """A path that is not there, and the one place where it is."""
    groups: dict[str, list[SessionMiss]] = defaultdict(list)
    for one in seen:
        path = missed_path(one)
        if path and not _WILD.search(path) and not _DATED.search(path):
            groups[path.rstrip("/")].append(one)
    for path, group in groups.items():
        right, checks = _right_place(corpus, path, group)
        if not right or (_sessions(group) < SEVERAL and _calls(group) < _HIGH_COST):
            continue
        name = path.rpartition("/")[2]
        what = code(name) if plain_name(name) != plain_name(right.rstrip("/").rpartition("/")[2]) else ""
        text = (
            f"{code(right)} is what {what} would be: there is no {code(path)}."
            if what
            else f"{code(name)} is at {code(right)}, not at {code(path)}."
        )
        yield (
            _proposal(
                corpus, f"path {path}", text, group, checks, right, (f"path:{path}", f"base:{name.lower()}")
            ),
            group,
        )


def _right_place(corpus: Corpus, path: str, group: list[SessionMiss]) -> tuple[str, tuple[TreeCheck, ...]]:
    tree = corpus.tree
    folder, _, name = path.rpartition("/")
    if tree is None:  # what sessions found under the same name in one other place
        found = {one.near(one.signal.found_at.path) for one in group if one.signal.found_at is not None}
        same = {place for place in found if plain_name(_stem(place)) == plain_name(_stem(name)) and place != path}
        return (same.pop(), ()) if len(same) == 1 and len(found) == 1 else ("", ())
    if tree.has(path):
        return "", ()
    stem = _stem(name)
    same = [place for place in tree.by_name.get(name.lower(), []) if not _TESTS.search(place) or _TESTS.search(path)]
    if len(same) == 1 and stem.lower() not in _GENERIC:
        right = same[0]
    elif f"{folder}/{stem}" in tree.folders and "." in name:
        right = f"{folder}/{stem}/"
    else:
        beside = [place for place in tree.files if place.rpartition("/")[0] == folder and _stem(place) == stem]
        right = beside[0] if len(beside) == 1 and "." in name else ""
    if not right:
        return "", ()
    return right, (TreeCheck(CheckKind.FILE, right.rstrip("/")), TreeCheck(CheckKind.ABSENT, path))


def _no_folder(corpus: Corpus, seen: list[SessionMiss]) -> _Found:
    """A folder that several sessions imagine."""
    tree = corpus.tree
    if tree is None:
        return
    groups: dict[str, list[SessionMiss]] = defaultdict(list)
    for one in seen:
        path = missed_path(one)
        folder = path.rpartition("/")[0] if "." in path.rpartition("/")[2] else path.rstrip("/")
        while folder and folder.rpartition("/")[0] and not tree.has(folder.rpartition("/")[0]):
            folder = folder.rpartition("/")[0]
        if folder and not _WILD.search(folder) and not tree.has(folder) and not _DATED.search(folder):
            groups[folder].append(one)
    for folder, group in groups.items():
        if _sessions(group) < SEVERAL:
            continue
        parent = folder.rpartition("/")[0]
        beside = sorted(one for one in tree.folders if one.rpartition("/")[0] == parent)
        stem = specific_words(folder.rpartition("/")[2])
        near = [one for one in beside if specific_words(one.rpartition("/")[2]) & stem][:2]
        hint = f"; the nearest is {code(near[0] + '/')}" if near else ""
        yield (
            _proposal(
                corpus,
                f"no {folder}",
                f"There is no {code(folder + '/')}{hint}.",
                group,
                (*(TreeCheck(CheckKind.FILE, one) for one in near[:1]), TreeCheck(CheckKind.ABSENT, folder)),
                parent,
                (f"folder:{folder}",),
            ),
            group,
        )


def _symbols(corpus: Corpus, seen: list[SessionMiss]) -> _Found:
    """A name in code that was searched for where it is not defined."""
    tree = corpus.tree
    groups: dict[str, list[SessionMiss]] = defaultdict(list)
    for one in seen:
        if not missed_path(one):
            for name in dict.fromkeys(_NAME.findall(one.signal.query)):
                if plain_name(name) in one.signal.names:
                    groups[name].append(one)
    for name, group in sorted(groups.items()):
        if tree is None or (_sessions(group) < SEVERAL and _calls(group) < _HIGH_COST + 1):
            continue
        place = tree.definition(name)
        searched = {one.near(one.signal.path) for one in group if one.signal.path}
        if place is None or not searched or any(_is_in(place.path, where) for where in searched):
            continue
        where = min(searched, key=lambda one: (-sum(miss.near(miss.signal.path) == one for miss in group), one))
        yield (
            _proposal(
                corpus,
                f"symbol {name}",
                f"{code(name)} is defined in {code(place.path)}, not in {code(where)}.",
                group,
                (TreeCheck(CheckKind.SYMBOL, place.path, name),),
                place.path,
                (f"name:{plain_name(name)}",),
            ),
            group,
        )


def _is_in(path: str, where: str) -> bool:
    return where in ("", ".") or path == where or path.startswith(where.rstrip("/") + "/")


def _named_like(tree: Tree, name: str) -> list[str]:
    """Files whose name is this, or has the words of this pattern."""
    if not _WILD.search(name):
        return tree.by_name.get(name.lower(), [])
    core = name.strip("*").lower()
    if len(core) < 4 or _WILD.search(core):
        return []
    return [path for base, paths in tree.by_name.items() if core in base for path in paths]


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
) -> Proposal:
    topics = dict.fromkeys(corpus.topic_of.get(id(one.signal), "") for one in group)
    return Proposal(
        LessonKind.LOCATION,
        key,
        text,
        tuple(LessonEvidence(one.signal.session, one.signal.line, one.signal.file) for one in group),
        _calls(group),
        names,
        checks,
        subject,
        topics=tuple(one for one in topics if one),
    )


def _sessions(group: list[SessionMiss]) -> int:
    return len({one.signal.session for one in group})


def _calls(group: list[SessionMiss]) -> int:
    return sum(max(1, one.signal.cost.calls if one.signal.cost else 1) for one in group)

"""Answers a miss by what is known: by a lesson that a person accepted, then by an item of the store.

A lesson was true when it was checked last. It is said only where the tree, as it is now, still has its place.

An item names the very thing, and says where or what it is. It is asked only where neither the tree nor a lesson has an
answer, and only the local index (store/read_only.py): an item that is superseded, flagged, stale or kept back is not in
question. The item has the name as it was looked for, as a word of its own. Where items disagree, or many name it,
nothing is said.
"""

from __future__ import annotations

import re
import sqlite3
from typing import NamedTuple

from knowbound.core.lazy_pattern import lazy
from knowbound.lessons.rescue.lookup import GLOB, PATTERN, is_specific, names_in, plain
from knowbound.lessons.rescue.words import FOUND, MOST_PLACES, Rescue, SuggestedPlace, as_line
from knowbound.store.accepted_lessons import ABOUT_COMMANDS, lessons_naming
from knowbound.store.read_only import HOOK_WAIT_SECONDS, IndexRefusedError, open_own_index
from knowbound.traces.calls.tools import COMMAND_KEYS, first_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from knowbound.lessons.rescue.lookup import MissedLookup
    from knowbound.lessons.rescue.search import Searcher, TreeNames
    from knowbound.store.accepted_lessons import AcceptedCheck, AcceptedLesson

_MOST_NAMES = 3  # in one pattern: with more, the agent asks which of them a place has
_WHY = "where a lesson has it"


def rescue_by_lesson(miss: MissedLookup, names: TreeNames, search: Searcher, home: str) -> Rescue | None:
    """The place that a lesson about this very name, path or folder has, the surest lesson first."""
    keys = [] if miss.is_check else _keys(miss, names)
    lessons = [lesson for lesson in lessons_naming(home, keys) if lesson.kind == "location"]
    for key in keys:
        for lesson in (lesson for lesson in lessons if key in lesson.names):
            places = _places(lesson, miss, key, names, search)
            if places:
                return said(lesson, places)
    return None


def said(lesson: AcceptedLesson, places: Sequence[SuggestedPlace] = ()) -> Rescue:
    """The lesson's line, which was screened for orders to agents when it was kept (`clean_line`)."""
    text = f"In this project: {as_line(lesson.text).rstrip('.')} (lesson {lesson.id})."
    return Rescue(FOUND, text, tuple(places[:MOST_PLACES]), "lesson", names=code_in(lesson.text), item=lesson.item)


def code_in(text: str) -> tuple[str, ...]:
    """Return the texts between backticks."""
    return tuple(dict.fromkeys(part.strip("/") for part in text.split("`")[1::2] if part.strip("/")))


def _keys(miss: MissedLookup, names: TreeNames) -> list[str]:
    """Return the names by which a lesson about a miss is known (lessons/kept.py), surest first."""
    if miss.kind == PATTERN:
        wanted = list(dict.fromkeys(plain(name) for name in names_in(miss.query)))
        gone = [place for place in miss.where if not names.has(place)]
        named = [f"name:{name}" for name in wanted] if len(wanted) <= _MOST_NAMES else []
        return named + [key for place in gone for key in lesson_names(place)]
    return [key for path in (miss.globs or (miss.query,)) for key in lesson_names(path)]


def lesson_names(path: str) -> list[str]:
    """Return the names by which a lesson about a missed path is known, surest first."""
    path = path.rstrip("/")
    folder, _, last = path.rpartition("/")
    names = [f"path:{path}", f"folder:{path}", f"base:{last.lower()}"]
    while folder:
        names.append(f"folder:{folder}")
        folder = folder.rpartition("/")[0]
    return names


def _places(
    lesson: AcceptedLesson, miss: MissedLookup, key: str, names: TreeNames, search: Searcher
) -> list[SuggestedPlace]:
    """Return the places that a lesson's checks show now; none if a check fails, or it is about another file."""
    found: list[SuggestedPlace] = []
    for check in lesson.checks:
        holds, places = checked(check, names, search)
        if not holds:
            return []
        found += places
    base = key.removeprefix("base:")
    files = {check.path.rpartition("/")[2].lower() for check in lesson.checks if check.kind == "file"}
    return found if base == key or base in files else []


def checked(check: AcceptedCheck, names: TreeNames, search: Searcher) -> tuple[bool | None, list[SuggestedPlace]]:
    """Report whether and where a condition of a lesson holds in the tree now; None if only a scan could decide."""
    path, tree = check.path, search.tree
    if path.startswith(("/", "~")) or ".." in path.split("/"):
        return False, []
    match check.kind:
        case "file":
            return tree.exists(path), [SuggestedPlace(path, None, _WHY)]
        case "absent":
            return not tree.exists(path), []
        case "symbol":
            symbols = tree.defined([plain(check.text)])
            lines = [symbol.line for symbol in symbols if (symbol.name, symbol.path) == (check.text, path)]
            still = [line for line in lines if check.text in search.line(path, line)]
            return bool(still), [SuggestedPlace(path, line, _WHY) for line in still[:1]]
        case "text" | "script" if path:
            return check.text in (search.text(path) or ""), []
    return None, []


_BETWEEN = frozenset("run exec -m x".split())  # between a program and what it runs


def rescue_command(
    event: Mapping[str, Any], command_lessons: Sequence[AcceptedLesson], names: TreeNames, search: Searcher
) -> Rescue | None:
    """Return the line of the only lesson about a failed command; `found` has the lessons about commands."""
    from knowbound.lessons.invocations import misused_line, read_line  # noqa: PLC0415  # reads command lines
    from knowbound.lessons.rescue.shell import output_of  # noqa: PLC0415

    given = event.get("tool_input")
    if not isinstance(given, dict) or event.get("is_interrupt"):
        return None
    misused = misused_line(output_of(event)[0])
    work = {invocation.text for invocation in read_line(first_text(given, COMMAND_KEYS), search.tree.root)}
    lessons = [
        lesson
        for lesson in command_lessons
        if misused and any(_is_called_so(name, text, misused) for name in lesson.names for text in work)
    ]
    lessons = [lesson for lesson in lessons if _holds(lesson, names, search)]
    return said(lessons[0]) if len(lessons) == 1 else None


def _is_called_so(name: str, text: str, misused: str) -> bool:
    """Report whether a command begins like the lesson's, or its program is the lesson's and was not found."""
    wrong = name.removeprefix(ABOUT_COMMANDS)
    if wrong == name:
        return False
    program = wrong.partition(" ")[0]
    is_gone = text.partition(" ")[0] == program and f"{program}: command not found" in misused
    return is_gone or _beginning(wrong) == _beginning(text)


def _beginning(command: str) -> list[str]:
    """The program, and the first word that says what it is to do."""
    program, *rest = command.split()
    between = next((at for at, word in enumerate(rest) if word not in _BETWEEN), len(rest))
    return [program, *rest[: between + 1]]


def _holds(lesson: AcceptedLesson, names: TreeNames, search: Searcher) -> bool:
    """Report whether no check fails; a lesson of another project needs all of its checks confirmed."""
    from knowbound.core.paths import project_name  # noqa: PLC0415

    results = [checked(check, names, search)[0] for check in lesson.checks]
    if lesson.project != project_name(search.tree.root) and (not results or None in results):
        return False
    return False not in results


_MOST_ITEMS = 3  # that name it: of more, which one is meant is not known
_MOST_ROWS = 50  # that are looked at
_LEAST_TRUST = 0.5  # confidence, by the quality that use has shown: below, an item is doubt
_SENTENCE_CHARACTERS = 300  # characters of a sentence that is said
_QUERY_SECONDS = 0.1
_QUERY = f"""
    SELECT i.id, i.backend, i.content_sha, i.confidence * i.quality, i.content, i.timestamp
    FROM item_text JOIN item AS i ON i.rowid = item_text.rowid
    WHERE item_text MATCH ? AND i.served = 1 AND i.flag = '' AND i.stale = 0 ORDER BY i.id, i.backend LIMIT {_MOST_ROWS}
"""
_PLAIN = lazy(r"[A-Za-z_][\w./-]*\w", re.ASCII)
_NUMBER = lazy(r"\d+")
_DENIES = lazy(r"\b(?:not|never|no longer|deprecated|removed|retired|replaced|instead)\b|n['’]t\b", re.IGNORECASE)
_MARKUP = lazy(r"^(?:[#>*+-]+|\d+[.)])\s+")
# After the name: what says where or what it is.
_SAYS_WHAT_IT_IS = lazy(
    r"\b(?:is|are|was|were|lives?|means?|stands for|moved|renamed|replaced|removed|deleted|dropped|split|comes? from|"
    r"belongs? to|holds?|contains?|has|provides?|handles?|generates?|runs?)\b"
)
_PATH = lazy(r"(?<![\w./:-])[\w.-]+(?:/[\w.-]+)+")


class _Named(NamedTuple):
    """An item of the index that has the name."""

    id: str
    backend: str
    sha: str
    trust: float
    content: str
    time: str


def rescue_by_item(misses: Iterable[MissedLookup], names: TreeNames, home: str) -> Rescue | None:
    """Return the sentence of the only item that says what or where the missed name is."""
    asked = [_names(miss) for miss in misses if not miss.is_check]
    wanted = list(dict.fromkeys(name for some in asked for name in some))
    if not wanted or len(asked) != 1:
        return None
    try:
        index = open_own_index(home, wait_seconds=HOOK_WAIT_SECONDS, work_seconds=_QUERY_SECONDS)
        if index is None:
            return None
        try:
            return next((said for name in wanted if (said := _from_items(name, _rows(index, name), names))), None)
        finally:
            index.close()
    except (sqlite3.Error, IndexRefusedError):
        return None


def _names(miss: MissedLookup) -> list[str]:
    """Return the spellings of the missed name in items; none if it is no name of code."""
    if miss.kind == PATTERN:
        named = [name for name in names_in(miss.query) if is_specific(name)]
        return named if len({plain(name) for name in named}) == 1 else []
    path = miss.query if miss.kind != GLOB else miss.query.rpartition("/")[2].strip("*")
    last = path.rpartition("/")[2]
    stem = last.partition(".")[0]
    named = [path, *([last, stem] if is_specific(stem) else [])]
    return [name for name in dict.fromkeys(named) if _PLAIN.fullmatch(name) and ("/" in name or is_specific(stem))]


def _rows(index: sqlite3.Connection, name: str) -> list[_Named]:
    """The items that have the name as a word of their own, each content once."""
    spelled = re.compile(rf"(?<![\w./-]){re.escape(name)}(?![\w/-]|\.\w)")
    rows = [_Named(*row) for row in index.execute(_QUERY, (f'"{name.lower()}"',))]
    named = {row.sha: row for row in rows if spelled.search(row.content)}
    return list(named.values()) if len(rows) < _MOST_ROWS else []


def _from_items(name: str, rows: list[_Named], names: TreeNames) -> Rescue | None:
    """Return the sentence of the most trusted item about a name; None if items disagree, or name what is gone."""
    if not 1 <= len(rows) <= _MOST_ITEMS:
        return None
    # They agree if they have the same paths and numbers, and deny or do not deny.
    trusted = [row for row in rows if row.trust >= _LEAST_TRUST]
    found = [(row, sentence) for row in trusted if (sentence := _sentence(name, row.content))]
    if not found or (len(found) > 1 and len({_paths_and_numbers(sentence) for _, sentence in found}) > 1):
        return None
    item, sentence = max(found, key=lambda pair: (pair[0].trust, pair[0].time))
    paths = [path for path in _PATH.findall(sentence) if path != name and path.partition("/")[0] in names.folders]
    if not all(map(names.has, paths)):
        return None  # it speaks of this tree, as it was
    places = [SuggestedPlace(path, None, "where an item has it") for path in paths[:MOST_PLACES]]
    others = [other for other in names_in(sentence) if is_specific(other) and plain(other) != plain(name)]
    text = f"{sentence.rstrip('.')} (item {as_line(item.id)})."
    return Rescue(FOUND, text, tuple(places), "item", names=(*_PATH.findall(sentence), *others), item=item.id)


def _sentence(name: str, content: str) -> str:
    """The sentence of an item that has the name and then says where or what it is; "" where none does."""
    from knowbound.text.sentences import plain_sentences  # noqa: PLC0415  # most misses have no item

    for sentence in plain_sentences(content):
        line = _MARKUP.sub("", as_line(sentence))
        _, has, after = line.partition(name)
        if has and _SAYS_WHAT_IT_IS.search(after) and len(line) <= _SENTENCE_CHARACTERS:
            return line
    return ""


def _paths_and_numbers(sentence: str) -> tuple[frozenset[str], bool]:
    """The paths and numbers of a sentence, and whether it denies something: where these differ, both cannot be said."""
    return frozenset((*_PATH.findall(sentence), *_NUMBER.findall(sentence))), bool(_DENIES.search(sentence))

"""Answers a miss by what is known: by a lesson that a person accepted, then by an item of the store.

A lesson was true when it was checked last. It is said only where the tree, as it is now, still has its place.

An item names the very thing, and says where or what it is. It is asked only where neither the tree nor a lesson has an
answer, and only the local index (store/own_index.py): an item that is superseded, flagged, stale or kept back is not in
question. The item has the name as it was looked for, as a word of its own. Where items disagree, or many name it,
nothing is said.
"""

from __future__ import annotations

import re
import sqlite3
from typing import NamedTuple

from knowbound.core.lazy_pattern import lazy
from knowbound.lessons.rescue.words import FOUND, MOST_PLACES, Rescue, SuggestedPlace, as_line
from knowbound.store.accepted_lessons import ABOUT_COMMANDS
from knowbound.store.own_index import IndexRefusedError, open_own_index
from knowbound.store.read_only import HOOK_WAIT_SECONDS
from knowbound.text.code_names import is_specific, names_in, plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowbound.codebase.kept_index import KeptTree, TreeNames
    from knowbound.lessons.rescue.words import MissedLookup
    from knowbound.store.accepted_lessons import AcceptedCheck, AcceptedLesson

_WHY = "where a lesson has it"


def rescue_by_lesson(
    miss: MissedLookup, keys: list[str], lessons: list[AcceptedLesson], names: TreeNames
) -> Rescue | None:
    """Return the place that a lesson has whose names include one of the keys, the surest key first."""
    for key in keys:
        for lesson in (lesson for lesson in lessons if key in lesson.names):
            places = _places(lesson, miss, key, names)
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


def _places(lesson: AcceptedLesson, miss: MissedLookup, key: str, names: TreeNames) -> list[SuggestedPlace]:
    """Return the places that a lesson's checks show now; none if a check fails, or it is about another file."""
    found: list[SuggestedPlace] = []
    for check in lesson.checks:
        holds, places = checked(check, names.tree)
        if not holds:
            return []
        found += places
    file_name = key.removeprefix("base:")
    files = {check.path.rpartition("/")[2].lower() for check in lesson.checks if check.kind == "file"}
    return found if file_name == key or file_name in files else []  # known by file name: it must be about that file


def checked(check: AcceptedCheck, tree: KeptTree) -> tuple[bool | None, list[SuggestedPlace]]:
    """Report whether and where a condition of a lesson holds in the tree now; None if only a scan could decide."""
    path = check.path
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
            texts = (tree.read(path) or "").split("\n") if lines else []
            still = [line for line in lines if 1 <= line <= len(texts) and check.text in texts[line - 1]]
            return bool(still), [SuggestedPlace(path, line, _WHY) for line in still[:1]]
        case "text" | "script" if path:
            return check.text in (tree.read(path) or ""), []
    return None, []


_BETWEEN = frozenset("run exec -m x".split())  # between a program and what it runs


def rescue_command(
    command: str, output: str, command_lessons: Sequence[AcceptedLesson], names: TreeNames
) -> Rescue | None:
    """Return the line of the only lesson about a failed command."""
    from knowbound.lessons.invocations import misused_line, read_line  # noqa: PLC0415  # reads command lines

    misused = misused_line(output)
    work = {invocation.text for invocation in read_line(command, names.tree.root)}
    lessons = [
        lesson
        for lesson in command_lessons
        if misused and any(_is_called_so(name, text, misused) for name in lesson.names for text in work)
    ]
    lessons = [lesson for lesson in lessons if _holds(lesson, names.tree)]
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


def _holds(lesson: AcceptedLesson, tree: KeptTree) -> bool:
    """Report whether no check fails; a lesson of another project needs all of its checks confirmed."""
    from knowbound.core.paths import project_name  # noqa: PLC0415

    results = [checked(check, tree)[0] for check in lesson.checks]
    if lesson.project != project_name(tree.root) and (not results or None in results):
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


def rescue_by_item(spellings: Sequence[str], names: TreeNames, home: str) -> Rescue | None:
    """Return the sentence of the only item that says what or where a name is."""
    try:
        index = open_own_index(home, wait_seconds=HOOK_WAIT_SECONDS, work_seconds=_QUERY_SECONDS)
        if index is None:
            return None
        try:
            answers = (_from_items(name, _rows(index, name), names) for name in spellings)
            return next((answer for answer in answers if answer), None)
        finally:
            index.close()
    except (sqlite3.Error, IndexRefusedError):
        return None


def _rows(index: sqlite3.Connection, name: str) -> list[_Named]:
    """The items that have the name as a word of their own, each content once."""
    spelled = re.compile(rf"(?<![\w./-]){re.escape(name)}(?![\w/-]|\.\w)")
    rows = [_Named(*row) for row in index.execute(_QUERY, (f'"{name.lower()}"',))]
    named = {row.sha: row for row in rows if spelled.search(row.content)}
    return list(named.values()) if len(rows) < _MOST_ROWS else []  # else too common


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

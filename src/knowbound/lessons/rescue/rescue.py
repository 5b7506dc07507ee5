"""Rescue: a lookup that missed is answered with the place that was meant, or not at all (DESIGN.md).

    an event of a client → what it looked for → the rules, surest first → one sentence with at most three places

The tree goes first, then a lesson that a person accepted about this very name or path, then an item of the store that
says where or what it is. What is said was looked at in the files as they are now. A check of absence is left alone;
what is in doubt is not said: wrong information costs more than missing information.
"""

from __future__ import annotations

import re
import time

from knowbound.codebase.kept_index import TreeNames, stem_of
from knowbound.core.lazy_pattern import lazy
from knowbound.lessons.rescue.event import EventRoots, missed_lookups
from knowbound.lessons.rescue.words import (
    ABSENT,
    GLOB,
    NO_MISS,
    NOTHING,
    PATH,
    PATTERN,
    MissedLookup,
    Rescue,
    quoted,
    texts_of,
    without_secrets,
)
from knowbound.text.code_names import is_specific, names_in, plain
from knowbound.traces.calls.tools import COMMAND_KEYS, first_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from knowbound.codebase.kept_index import KeptTree

SECONDS = 0.25  # for the searches of one rescue
_LEAST_NAME = 5  # letters
_MOST_NAMES = 3  # in one pattern: with more, the agent asks which of them a place has
_PLAIN = lazy(r"[A-Za-z_][\w./-]*\w", re.ASCII)


def rescue(event: Mapping[str, Any], tree: KeptTree, *, home: str = "", seconds: float = SECONDS) -> Rescue:
    """Return the rescue of a tool call: nothing if it found something, or if its target is in doubt.

    `home` is the data folder with lessons and items; without one the tree alone is asked.
    """
    names, until = TreeNames(tree), time.monotonic() + seconds
    cwd = event.get("cwd")
    roots = EventRoots(cwd if isinstance(cwd, str) else "", tree.root, lambda path: path in names.folders)
    misses = missed_lookups(event, roots)
    if not misses:
        answer = _by_command_lesson(event, names, home) if home else None
        return without_secrets(answer, texts_of(event)) if answer else NO_MISS
    answer = _first(_by_tree(miss, names, until) for miss in misses)
    if home and answer is None:  # most misses have an answer in the tree
        answer = _first(_by_lesson(miss, names, home) for miss in misses) or _by_item(misses, names, home)
    if answer:
        return without_secrets(answer, texts_of(event))
    is_absent = time.monotonic() <= until and all(is_nowhere(miss, names) for miss in misses)
    return without_secrets(absent(misses, tree), texts_of(event)) if is_absent and tree.has_same_names() else NOTHING


def _first(answers: Iterator[Rescue | None]) -> Rescue | None:
    return next((answer for answer in answers if answer), None)


# Each rule is imported when an event needs it: the hook loads few lines.


def _by_tree(miss: MissedLookup, names: TreeNames, until: float) -> Rescue | None:
    """Return what the rules for the kind of a lookup find in the tree."""
    if miss.kind == PATH:
        from knowbound.lessons.rescue.paths import rescue_path  # noqa: PLC0415

        return rescue_path(miss, names)
    if miss.kind == GLOB:
        from knowbound.lessons.rescue.globs import rescue_glob  # noqa: PLC0415

        return rescue_glob(miss, names)
    from knowbound.lessons.rescue.patterns import Searcher, rescue_pattern  # noqa: PLC0415

    return rescue_pattern(miss, names, Searcher(names.tree, until))


def _by_lesson(miss: MissedLookup, names: TreeNames, home: str) -> Rescue | None:
    """Return the place that a lesson about this very name, path or folder has."""
    from knowbound.store.accepted_lessons import lessons_naming  # noqa: PLC0415

    keys = [] if miss.is_check else _lesson_keys(miss, names)
    lessons = [lesson for lesson in lessons_naming(home, keys) if lesson.kind == "location"]  # a place answers a lookup
    if not lessons:
        return None
    from knowbound.lessons.rescue.known import rescue_by_lesson  # noqa: PLC0415

    return rescue_by_lesson(miss, keys, lessons, names)


def _lesson_keys(miss: MissedLookup, names: TreeNames) -> list[str]:
    """Return the names by which a lesson about a miss is known (lessons/kept.py), surest first."""
    from knowbound.store.accepted_lessons import lesson_names  # noqa: PLC0415

    if miss.kind != PATTERN:
        return [key for path in (miss.globs or (miss.query,)) for key in lesson_names(path)]
    wanted = list(dict.fromkeys(plain(name) for name in names_in(miss.query)))
    gone = [place for place in miss.where if not names.has(place)]
    named = [f"name:{name}" for name in wanted] if len(wanted) <= _MOST_NAMES else []
    return named + [key for place in gone for key in lesson_names(place)]


def _by_item(misses: list[MissedLookup], names: TreeNames, home: str) -> Rescue | None:
    """Return the sentence of the only item that says what or where the missed name is."""
    asked = [_item_names(miss) for miss in misses if not miss.is_check]
    if len(asked) != 1 or not asked[0]:  # several misses have no single name
        return None
    from knowbound.lessons.rescue.known import rescue_by_item  # noqa: PLC0415

    return rescue_by_item(asked[0], names, home)


def _item_names(miss: MissedLookup) -> list[str]:
    """Return the spellings of the missed name in items; none if it is no name of code."""
    if miss.kind == PATTERN:
        named = [name for name in names_in(miss.query) if is_specific(name)]
        return list(dict.fromkeys(named)) if len({plain(name) for name in named}) == 1 else []
    path = miss.query if miss.kind != GLOB else miss.query.rpartition("/")[2].strip("*")
    last = path.rpartition("/")[2]
    stem = last.partition(".")[0]
    named = [path, *([last, stem] if is_specific(stem) else [])]
    return [name for name in dict.fromkeys(named) if _PLAIN.fullmatch(name) and ("/" in name or is_specific(stem))]


def _by_command_lesson(event: Mapping[str, Any], names: TreeNames, home: str) -> Rescue | None:
    """Return the lesson about a failed command; the command line is read only if there are lessons about commands."""
    given = event.get("tool_input")
    if not isinstance(given, dict) or event.get("is_interrupt") or not (command := first_text(given, COMMAND_KEYS)):
        return None
    from knowbound.store.accepted_lessons import ABOUT_COMMANDS, lessons_naming  # noqa: PLC0415

    found = lessons_naming(home, [ABOUT_COMMANDS])
    if not found:
        return None
    from knowbound.lessons.rescue.known import rescue_command  # noqa: PLC0415
    from knowbound.lessons.rescue.shell import output_of  # noqa: PLC0415

    return rescue_command(command, output_of(event)[0], found, names)


def is_nowhere(miss: MissedLookup, names: TreeNames) -> bool:
    """Report whether no file, folder, symbol or text has the single name of a lookup."""
    name = _missed_name(miss)
    if miss.is_check or len(name) < _LEAST_NAME or not name.isascii():
        return False
    lower_name = name.lower()
    if any(lower_name in path.lower() for path in names.paths) or names.tree.defined([plain(name)]):
        return False
    return not names.tree.files_with([[lower_name]])


def absent(misses: list[MissedLookup], tree: KeptTree) -> Rescue:
    """Return the sentence that says that no file or symbol has the missed names."""
    shown = " or ".join(dict.fromkeys(quoted(_missed_name(miss)) for miss in misses))
    return Rescue(ABSENT, f"No file or symbol named {shown} exists in this tree ({len(tree.paths):,} files searched).")


def _missed_name(miss: MissedLookup) -> str:
    """Return the missed name; "" if the agent looked for something else than a name."""
    if miss.kind == PATH:
        return stem_of(miss.query)
    if miss.kind == GLOB:
        from knowbound.lessons.rescue.globs import literals  # noqa: PLC0415

        texts = [text.strip("._-") for text in literals(miss.query.rpartition("/")[2])]
        texts = [text for text in texts if len(text) >= _LEAST_NAME]
        return texts[0] if len(texts) == 1 and not miss.wrong else ""
    return miss.query if miss.query in names_in(miss.query) else ""

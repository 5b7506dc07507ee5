"""Rescue: a lookup that missed is answered with the place that was meant, or not at all (DESIGN.md).

    an event of a client → what it looked for → the rules, surest first → one sentence with at most three places

The tree goes first, then a lesson that a person accepted about this very name or path, then an item of the store that
says where or what it is. What is said was looked at in the files as they are now. A check of absence is left alone;
what is in doubt is not said: wrong information costs more than missing information.
"""

from __future__ import annotations

import time

from knowbound.lessons.rescue.event import EventRoots, missed_lookups
from knowbound.lessons.rescue.lookup import GLOB, PATH, MissedLookup, literals, names_in, plain
from knowbound.lessons.rescue.paths import rescue_path
from knowbound.lessons.rescue.search import Searcher, TreeNames, stem_of
from knowbound.lessons.rescue.words import ABSENT, NO_MISS, NOTHING, Rescue, quoted, texts_of, without_secrets
from knowbound.traces.calls.tools import COMMAND_KEYS, first_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from knowbound.codebase.kept_index import KeptTree

SECONDS = 0.25  # for the searches of one rescue
_LEAST_NAME = 5  # letters


def rescue(event: Mapping[str, Any], tree: KeptTree, *, home: str = "", seconds: float = SECONDS) -> Rescue:
    """Return the rescue of a tool call: nothing if it found something, or if its target is in doubt.

    `home` is the data folder with lessons and items; without one the tree alone is asked.
    """
    names = TreeNames(tree)
    cwd = event.get("cwd")
    roots = EventRoots(cwd if isinstance(cwd, str) else "", tree.root, lambda path: path in names.folders)
    misses = missed_lookups(event, roots)
    search = Searcher(tree, time.monotonic() + seconds)
    if not misses:
        answer = _by_command_lesson(event, names, search, home) if home else None
        return without_secrets(answer, texts_of(event)) if answer else NO_MISS
    answer = _first(_rescued(miss, names, search) for miss in misses)
    if home and answer is None:  # most misses have an answer in the tree
        from knowbound.lessons.rescue.known import rescue_by_item, rescue_by_lesson  # noqa: PLC0415

        by_lesson = _first(rescue_by_lesson(miss, names, search, home) for miss in misses)
        answer = by_lesson or rescue_by_item(misses, names, home)
    if answer:
        return without_secrets(answer, texts_of(event))
    is_absent = not search.is_late() and all(is_nowhere(miss, names, search) for miss in misses)
    return without_secrets(absent(misses, tree), texts_of(event)) if is_absent and tree.has_same_names() else NOTHING


def _first(answers: Iterator[Rescue | None]) -> Rescue | None:
    return next((answer for answer in answers if answer), None)


def _by_command_lesson(event: Mapping[str, Any], names: TreeNames, search: Searcher, home: str) -> Rescue | None:
    """Return the lesson about a failed command; the command line is read only if there are lessons about commands."""
    given = event.get("tool_input")
    if not isinstance(given, dict) or not first_text(given, COMMAND_KEYS):
        return None
    from knowbound.store.accepted_lessons import ABOUT_COMMANDS, lessons_naming  # noqa: PLC0415  # most are lookups

    found = lessons_naming(home, [ABOUT_COMMANDS])
    if not found:
        return None
    from knowbound.lessons.rescue.known import rescue_command  # noqa: PLC0415

    return rescue_command(event, found, names, search)


def _rescued(miss: MissedLookup, names: TreeNames, search: Searcher) -> Rescue | None:
    """Return what the rules for the kind of a lookup find; each kind is imported when it is needed."""
    if miss.kind == PATH:
        return rescue_path(miss, names)
    if miss.kind == GLOB:
        from knowbound.lessons.rescue.globs import rescue_glob  # noqa: PLC0415  # a path needs no other rules

        return rescue_glob(miss, names)
    from knowbound.lessons.rescue.patterns import rescue_pattern  # noqa: PLC0415

    return rescue_pattern(miss, names, search)


def is_nowhere(miss: MissedLookup, names: TreeNames, search: Searcher) -> bool:
    """Report whether no file, folder, symbol or text has the single name of a lookup."""
    name = _missed_name(miss)
    if miss.is_check or len(name) < _LEAST_NAME or not name.isascii():
        return False
    low = name.lower()
    if any(low in path.lower() for path in names.paths) or search.tree.defined([plain(name)]):
        return False
    return not search.tree.files_with([[low]])


def absent(misses: list[MissedLookup], tree: KeptTree) -> Rescue:
    """Return the sentence that says that no file or symbol has the missed names."""
    shown = " or ".join(dict.fromkeys(quoted(_missed_name(miss)) for miss in misses))
    return Rescue(ABSENT, f"No file or symbol named {shown} exists in this tree ({len(tree.paths):,} files searched).")


def _missed_name(miss: MissedLookup) -> str:
    """Return the missed name; "" if the agent looked for something else than a name."""
    if miss.kind == PATH:
        return stem_of(miss.query)
    if miss.kind == GLOB:
        texts = [text.strip("._-") for text in literals(miss.query.rpartition("/")[2])]
        texts = [text for text in texts if len(text) >= _LEAST_NAME]
        return texts[0] if len(texts) == 1 and not miss.wrong else ""
    return miss.query if miss.query in names_in(miss.query) else ""

"""Rescue: a lookup that missed is answered with the place that was meant, or not at all (DESIGN.md).

    an event of a client → what it looked for → the rules, surest first → one sentence with at most three places

What is said was looked at in the files as they are now. A check of absence is left alone; what is in doubt is not said:
wrong information costs more than missing information.
"""

from __future__ import annotations

import time

from knowbound.lessons.rescue.absence import absent, is_nowhere
from knowbound.lessons.rescue.globs import rescue_glob
from knowbound.lessons.rescue.misses.event import missed_lookups
from knowbound.lessons.rescue.misses.lookup import GLOB, PATH, MissedLookup
from knowbound.lessons.rescue.misses.roots import EventRoots
from knowbound.lessons.rescue.names import TreeNames
from knowbound.lessons.rescue.paths import rescue_path
from knowbound.lessons.rescue.patterns import rescue_pattern
from knowbound.lessons.rescue.search import Searcher
from knowbound.lessons.rescue.words import NO_MISS, NOTHING, Rescue, without_secrets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from knowbound.codebase.kept_index.tree import KeptTree

SECONDS = 0.25  # for the searches of one rescue


def rescue(event: Mapping[str, Any], tree: KeptTree, *, seconds: float = SECONDS) -> Rescue:
    """What is to be said about a tool call: nothing where it found something, or what it meant is not sure."""
    names = TreeNames(tree)
    cwd = event.get("cwd")
    roots = EventRoots(cwd if isinstance(cwd, str) else "", tree.root, lambda path: path in names.folders)
    misses = missed_lookups(event, roots)
    if not misses:
        return NO_MISS
    search = Searcher(tree, time.monotonic() + seconds)
    for miss in misses:
        said = _rescued(miss, names, search)
        if said:
            return without_secrets(said, _texts(event))
    is_absent = not search.is_late() and all(is_nowhere(miss, names, search) for miss in misses)
    return without_secrets(absent(misses, tree), _texts(event)) if is_absent and tree.has_same_names() else NOTHING


def _texts(event: Mapping[str, Any]) -> list[str]:
    """What the agent gave its tool."""
    given = event.get("tool_input")
    return [value for value in given.values() if isinstance(value, str)] if isinstance(given, dict) else []


def _rescued(miss: MissedLookup, names: TreeNames, search: Searcher) -> Rescue | None:
    if miss.kind == PATH:
        return rescue_path(miss, names, search)
    return rescue_glob(miss, names) if miss.kind == GLOB else rescue_pattern(miss, names, search)

"""What is nowhere in the tree: said only of one name, and only while the index knows every file."""

from __future__ import annotations

from knowbound.lessons.rescue.misses.globs import literals
from knowbound.lessons.rescue.misses.lookup import GLOB, PATH
from knowbound.lessons.rescue.misses.parts import names_in, plain
from knowbound.lessons.rescue.names import stem_of
from knowbound.lessons.rescue.words import ABSENT, Rescue, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from knowbound.codebase.kept_index import KeptTree
    from knowbound.lessons.rescue.misses.lookup import MissedLookup
    from knowbound.lessons.rescue.names import TreeNames
    from knowbound.lessons.rescue.search import Searcher

_LEAST_NAME = 5  # letters


def is_nowhere(miss: MissedLookup, names: TreeNames, search: Searcher) -> bool:
    """Whether no file, folder, symbol or text has the one name that was looked for."""
    name = _name(miss)
    if miss.is_check or len(name) < _LEAST_NAME or not name.isascii():
        return False
    low = name.lower()
    if any(low in path.lower() for path in names.paths) or search.tree.defined([plain(name)]):
        return False
    return not search.tree.files_with([[low]])


def absent(misses: list[MissedLookup], tree: KeptTree) -> Rescue:
    """The sentence that says so."""
    shown = " or ".join(dict.fromkeys(quoted(_name(miss)) for miss in misses))
    return Rescue(ABSENT, f"No file or symbol named {shown} exists in this tree ({len(tree.paths):,} files searched).")


def _name(miss: MissedLookup) -> str:
    """The one name that was looked for; "" where it is not one."""
    if miss.kind == PATH:
        return stem_of(miss.query)
    if miss.kind == GLOB:
        texts = [text.strip("._-") for text in literals(miss.query.rpartition("/")[2])]
        texts = [text for text in texts if len(text) >= _LEAST_NAME]
        return texts[0] if len(texts) == 1 and not miss.wrong else ""
    return miss.query if miss.query in names_in(miss.query) else ""

"""A name that is nowhere, and the paths with its words: `file-ipns/` is `file/derive-ipns.ts`.

All words of the name must be in the path of what is suggested, below the last folder that exists, and in two parts of
it that follow each other: words that are far apart are not one name.
"""

from __future__ import annotations

from knowbound.core.paths import is_test
from knowbound.lessons.rescue.misses.lookup import COMMON, is_wild, literals, name_words
from knowbound.lessons.rescue.words import MOST_PLACES, Rescue, SuggestedPlace, found, listed, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from knowbound.lessons.rescue.names import TreeNames

_MOST_HITS = 6  # more say nothing about which was meant, unless one folder has them all
_LEAST_WORDS = 2


def same_words(query: str, path: str, names: TreeNames) -> Rescue | None:
    """The files whose paths have every word of the first part of `path` that does not exist."""
    folder, name = _unknown_part(path, names)
    words = {_singular(word) for word in name_words(name)}
    if len(words) < _LEAST_WORDS or not any(len(word) > 2 and word not in COMMON for word in words):
        return None
    start = f"{folder}/" if folder else ""
    below = [one for one in names.paths if one.startswith(start) and _has_letters(one.lower(), words)]
    hits = [one for one in below if _has_words(one[len(start) :], words)]
    hits = [one for one in hits if not is_test(one)] or hits
    if not hits:
        return None
    shared = _shared_folder(hits)
    if len(hits) > _MOST_HITS:
        if not _has_words(shared[len(start) :], words):
            return None
        places = [SuggestedPlace(shared, None, "has all of its words")]
        places += [SuggestedPlace(one, None, "in the folder with all of its words") for one in hits[: MOST_PLACES - 1]]
        text = f"{quoted(query)} is not there; all of its words are in {places[0].shown}, with {listed(places[1:])}."
        return found(text, [one for one in places if names.has(one.path)], "same_words")
    hits.sort(key=lambda one: (len(name_words(one)), one))
    places = [SuggestedPlace(one, None, "has all of its words") for one in hits[:MOST_PLACES] if names.has(one)]
    if not places:
        return None
    return found(f"{quoted(query)} is not there; all of its words are in {listed(places)}.", places, "same_words")


def _unknown_part(path: str, names: TreeNames) -> tuple[str, str]:
    """The last folder of a path or glob that exists, and the part after it that does not."""
    folder = ""
    for part in path.split("/"):
        if part == "**" or not part:
            continue
        below = f"{folder}/{part}" if folder else part
        if is_wild(part):
            return folder, max(literals(part), key=len, default="")
        if below not in names.folders:
            return folder, part.partition(".")[0] or part
        folder = below
    return folder, ""


def _has_letters(path: str, words: set[str]) -> bool:
    """A quick look before the path is taken apart."""
    return all(word in path for word in words)


def _has_words(path: str, words: set[str]) -> bool:
    """Whether two parts of a path that follow each other have the words."""
    parts = [{_singular(word) for word in name_words(part)} for part in path.split("/")]
    return any(words <= one | other for one, other in zip(parts, [*parts[1:], set()], strict=True))


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _shared_folder(paths: list[str]) -> str:
    first, last = min(paths).split("/")[:-1], max(paths).split("/")[:-1]
    shared = []
    for one, other in zip(first, last, strict=False):
        if one != other:
            break
        shared.append(one)
    return "/".join(shared)

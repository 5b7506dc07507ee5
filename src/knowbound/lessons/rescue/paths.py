"""A path that is not there: another ending beside it, or the same name in another folder.

A name that many folders have says nothing by itself. Where several places fit equally well, nothing is said.
"""

from __future__ import annotations

from knowbound.codebase.kept_index import ending_of, stem_of
from knowbound.lessons.rescue.words import MOST_PLACES, Rescue, SuggestedPlace, found, listed, quoted
from knowbound.text.code_names import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from knowbound.codebase.kept_index import TreeNames
    from knowbound.lessons.rescue.words import MissedLookup

# Names that most trees have several times.
_GENERIC = frozenset(
    "index main mod lib init types type utils util helpers constants config readme package tsconfig dockerfile "
    "makefile changelog license setup test tests conftest app server settings models views urls schema".split()
)
_GENERIC_FOLDERS = frozenset("src lib app apps tests test bin cmd packages docs scripts".split())
_LEAST_STEM = 4  # letters of a name that is looked for in other folders


def rescue_path(miss: MissedLookup, names: TreeNames) -> Rescue | None:
    """Return the place that a path meant which is not there."""
    path = miss.query
    if names.has(path):  # it is there by now
        return None
    beside = [] if miss.is_check else _other_ending(path, names)
    if beside:
        return _rescue_with(path, beside, "sibling_extension")
    return _rescue_with(path, _same_name(path, names, only_sure=miss.is_check), "base_name")


def _rescue_with(path: str, places: list[SuggestedPlace], rule: str) -> Rescue | None:
    """Return the sentence that names these places; None without places."""
    if not places:
        return None
    verb = "is" if len(places) == 1 else "are"
    return found(f"{quoted(path)} does not exist; {places[0].why} {verb} {listed(places)}.", places, rule)


def _same_name(path: str, names: TreeNames, *, only_sure: bool) -> list[SuggestedPlace]:
    """The same file name in another folder."""
    name = path.rpartition("/")[2]
    stem = stem_of(name)
    if "." not in name.lstrip(".") and not names.named(name):  # it names a folder
        return []
    same = [file for file in names.named(name) if file != path]
    is_generic = plain(stem) in _GENERIC or len(stem) < _LEAST_STEM
    if is_generic:  # only with the folder that it was looked for in
        parent = path.rpartition("/")[0].rpartition("/")[2].lower()
        is_known = parent and parent not in _GENERIC_FOLDERS
        same = [file for file in same if is_known and file.rpartition("/")[0].rpartition("/")[2].lower() == parent]
    if only_sure and (len(same) != 1 or len(stem) < 2 * _LEAST_STEM):  # a short name is there by chance
        return []
    return _nearest(same, path, f"the file{'s' if len(same) > 1 else ''} of that name")


def _nearest(paths: list[str], path: str, why: str) -> list[SuggestedPlace]:
    """Return all places if they are few, or the clearly nearest place."""
    ranked = sorted(paths, key=lambda file: (_nearness(file, path), -len(file)), reverse=True)
    if len(ranked) <= MOST_PLACES:
        return [SuggestedPlace(file, None, why) for file in ranked]
    if _nearness(ranked[0], path) > _nearness(ranked[1], path):
        return [SuggestedPlace(ranked[0], None, "the nearest file of that name")]
    return []


def _other_ending(path: str, names: TreeNames) -> list[SuggestedPlace]:
    """The same stem in the same folder: another ending, case or spelling."""
    folder = path.rpartition("/")[0]
    beside = [file for file in names.stemmed(stem_of(path)) if file.rpartition("/")[0] == folder]
    ending = ending_of(path).rpartition(".")[2]
    beside.sort(key=lambda file: (ending_of(file).count("."), not ending_of(file).endswith(ending[:2]), file))
    if "." not in path.rpartition("/")[2] and len(beside) > 1:  # no ending was asked for
        beside = beside[:1] if len({ending_of(file).count(".") for file in beside[:2]}) > 1 else []
    return [SuggestedPlace(file, None, "beside it") for file in beside[:MOST_PLACES]]


def _nearness(path: str, other: str) -> tuple[int, int]:
    """Rank a path by its nearness to another, nearest greatest: by common folders, then by depth."""
    folders, other_folders = path.split("/")[:-1], other.split("/")[:-1]
    leading = 0
    while leading < min(len(folders), len(other_folders)) and folders[leading] == other_folders[leading]:
        leading += 1
    anywhere_shared = len({*folders} & {*other_folders})
    return anywhere_shared + leading, -abs(len(folders) - len(other_folders))

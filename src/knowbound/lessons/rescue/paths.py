"""A path that is not there: the same name elsewhere, another ending, a folder, a definition of that name.

A name that many folders have says nothing by itself. Where several places fit equally well, nothing is said.
"""

from __future__ import annotations

from knowbound.core.lazy_pattern import lazy
from knowbound.core.paths import is_test
from knowbound.lessons.rescue.misses.lookup import name_words, plain
from knowbound.lessons.rescue.names import ending_of, nearness, stem_of
from knowbound.lessons.rescue.same_words import same_words
from knowbound.lessons.rescue.words import MOST_PLACES, Rescue, SuggestedPlace, found, listed, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from knowbound.lessons.rescue.misses.lookup import MissedLookup
    from knowbound.lessons.rescue.names import TreeNames
    from knowbound.lessons.rescue.search import Searcher

# Names that most trees have several times.
_GENERIC = frozenset(
    "index main mod lib init types type utils util helpers constants config readme package tsconfig dockerfile "
    "makefile changelog license setup test tests conftest app server settings models views urls schema".split()
)
_GENERIC_FOLDERS = frozenset("src lib app apps tests test bin cmd packages docs scripts".split())
_ENTRIES = ("index", "main", "mod", "lib", "init", "app", "server", "cli", "entry")
_NUMBERED = lazy(r"\d+(?:\.\d+)?[-_]")
_LEAST_STEM = 4  # letters of a stem that is looked for in other folders
_MOST_FOLDERS = 3
_FEW = 2  # files of a folder that are said though their names are others


def rescue_path(miss: MissedLookup, names: TreeNames, search: Searcher) -> Rescue | None:
    """Where a path that is not there really is."""
    path = miss.query
    if names.has(path):
        return _unquoted(path) if "$" in path else None
    if miss.is_check:
        return _said(path, _same_name(path, names, only_sure=True), "base_name")
    return (
        _said(path, _other_ending(path, names), "sibling_extension")
        or _as_folder(path, names)
        or _said(path, _same_name(path, names, only_sure=False), "base_name")
        or _said(path, _same_stem(path, names), "same_stem")
        or _said(path, _spelled_otherwise(path, names), "spelling")
        or _numbered_folder(path, names)
        or _missing_folder(path, names, is_folder=miss.is_folder)
        or _said(path, called_so(path, names), "called_so")
        or _definition(path, names, search)
        or _entry(path, names)
        or _said(path, similar(path, names), "similar_name")
        or same_words(path, path, names)
        or _folder_files(path, names)
    )


def _unquoted(path: str) -> Rescue:
    """A file with a dollar in its name: the shell took what follows for a variable."""
    places = [SuggestedPlace(path, None, "as it was written")]
    text = f"{quoted(path)} is there; without single quotes around it the shell takes its `$` for a variable."
    return found(text, places, "unquoted")


def _said(path: str, places: list[SuggestedPlace], rule: str) -> Rescue | None:
    if not places:
        return None
    verb = "is" if len(places) == 1 else "are"
    why = places[0].why if len(places) == 1 else places[0].why.replace("nearest name", "nearest names")
    return found(f"{quoted(path)} does not exist; {why} {verb} {listed(places)}.", places, rule)


def _same_name(path: str, names: TreeNames, *, only_sure: bool) -> list[SuggestedPlace]:
    """The same file name in another folder."""
    name = path.rpartition("/")[2]
    stem = stem_of(name)
    if "." not in name.lstrip(".") and not names.named(name):
        return []
    same = [one for one in names.named(name) if one != path]
    is_generic = plain(stem) in _GENERIC or len(stem) < _LEAST_STEM
    if is_generic:  # only with the folder that it was looked for in
        parent = path.rpartition("/")[0].rpartition("/")[2].lower()
        is_known = parent and parent not in _GENERIC_FOLDERS
        near = [one for one in same if is_known and one.rpartition("/")[0].rpartition("/")[2].lower() == parent]
        same = near or _one_folder_apart(path, same)
    elif len(same) > MOST_PLACES:
        same = _one_folder_apart(path, same) or same
    if only_sure and (len(same) != 1 or len(stem) < 2 * _LEAST_STEM):
        return []
    return _nearest(same, path, f"the file{'s' if len(same) > 1 else ''} of that name")


def _one_folder_apart(path: str, same: list[str]) -> list[str]:
    """The one file of a name whose path has one folder more, less or other than the one that was looked for."""
    folders = path.split("/")[:-1]
    near = [one for one in same if _is_one_apart(folders, one.split("/")[:-1])]
    return near if len(near) == 1 else []


def _is_one_apart(one: list[str], two: list[str]) -> bool:
    short, long = sorted((one, two), key=len)
    if len(short) == len(long):
        return len(one) > 1 and sum(a != b for a, b in zip(one, two, strict=True)) == 1
    return len(long) == len(short) + 1 and any(long[:at] + long[at + 1 :] == short for at in range(len(long)))


def _nearest(paths: list[str], path: str, why: str) -> list[SuggestedPlace]:
    """All of a few, or the one that is clearly nearest."""
    ranked = sorted(paths, key=lambda one: (nearness(one, path), -len(one)), reverse=True)
    if len(ranked) <= MOST_PLACES:
        return [SuggestedPlace(one, None, why) for one in ranked]
    if nearness(ranked[0], path) > nearness(ranked[1], path):
        return [SuggestedPlace(ranked[0], None, "the nearest file of that name")]
    return []


def _other_ending(path: str, names: TreeNames) -> list[SuggestedPlace]:
    """The same stem in the same folder: another ending, case or spelling."""
    folder = path.rpartition("/")[0]
    beside = [one for one in names.stemmed(stem_of(path)) if one.rpartition("/")[0] == folder]
    ending = ending_of(path).rpartition(".")[2]
    beside.sort(key=lambda one: (ending_of(one).count("."), not ending_of(one).endswith(ending[:2]), one))
    if "." not in path.rpartition("/")[2] and len(beside) > 1:
        beside = beside[:1] if len({ending_of(one).count(".") for one in beside[:2]}) > 1 else []
    return [SuggestedPlace(one, None, "beside it") for one in beside[:MOST_PLACES]]


def _as_folder(path: str, names: TreeNames) -> Rescue | None:
    """`vault.ts` is the folder `vault/`."""
    folder = f"{path.rpartition('/')[0]}/{stem_of(path)}".lstrip("/")
    if folder not in names.folders or not names.has(folder):
        return None
    ending = ending_of(path)
    inside = sorted(
        names.folders[folder], key=lambda one: (ending_of(one) != ending, stem_of(one) not in _ENTRIES, one)
    )
    if not inside:
        return None
    places = [SuggestedPlace(one, None, "in the folder of that name") for one in inside[:MOST_PLACES]]
    return found(
        f"{quoted(path)} does not exist; {quoted(folder)} is a folder, with {listed(places)}.", places, "folder"
    )


def _same_stem(path: str, names: TreeNames) -> list[SuggestedPlace]:
    """The same stem in another folder, with another ending or spelling."""
    stemmed, ending = names.stemmed(stem_of(path)), ending_of(path).rpartition(".")[2]
    return _few_of_name([one for one in stemmed if one.endswith(f".{ending}")] or stemmed, path)


def _spelled_otherwise(path: str, names: TreeNames) -> list[SuggestedPlace]:
    """The same name with other signs between its words."""
    return _few_of_name(names.spelled_like(path), path)


def _few_of_name(same: list[str], path: str) -> list[SuggestedPlace]:
    """The files of a name that says something, where they are few."""
    stem = stem_of(path)
    is_generic = len(stem) < _LEAST_STEM or plain(stem) in _GENERIC or "." not in path.rpartition("/")[2]
    return _nearest(same, path, "the nearest name") if not is_generic and len(same) <= MOST_PLACES else []


def similar(path: str, names: TreeNames) -> list[SuggestedPlace]:
    """Files beside it that share most of the words, or the only ones anywhere that have all."""
    stem, ending, folder = stem_of(path), ending_of(path).rpartition(".")[2], path.rpartition("/")[0]
    words = [word for word in name_words(stem) if len(word) > 2]
    if not ending or not words:
        return []
    beside = [one for one in names.folders.get(folder, []) if one.endswith(f".{ending}") or ending == "*"]
    shared = {one: _shared(words, name_words(stem_of(one))) for one in beside}
    most = max(shared.values(), default=0)
    alike = [one for one in beside if shared[one] == most] if most and 2 * most >= len(words) else []
    if not alike and len(words) > 1:
        alike = [
            one for one in names.paths if one.endswith(f".{ending}") and set(words) <= set(name_words(stem_of(one)))
        ]
    there = [one for one in alike if names.has(one)]
    return [SuggestedPlace(one, None, "the nearest name") for one in there] if len(there) <= MOST_PLACES else []


def _folder_files(path: str, names: TreeNames) -> Rescue | None:
    """The few files of that kind that the folder has."""
    folder, ending = path.rpartition("/")[0], ending_of(path).rpartition(".")[2]
    beside = [one for one in names.folders.get(folder, []) if ending and one.endswith(f".{ending}") and names.has(one)]
    beside = [one for one in beside if is_test(one) == is_test(path)]
    if not folder or not 1 <= len(beside) <= _FEW:
        return None
    places = [SuggestedPlace(one, None, "in the same folder") for one in beside]
    return found(f"{quoted(path)} does not exist; {quoted(folder)} has {listed(places)}.", places, "folder_files")


def _shared(words: list[str], others: list[str]) -> int:
    """How many words two names share, where one of them says something."""
    both = [word for word in words if word in others]
    return len(both) if any(len(word) >= _LEAST_STEM for word in both) else 0


def _numbered_folder(path: str, names: TreeNames) -> Rescue | None:
    """`12-mfa`, where the twelfth is called `12-multi-factor-authentication`."""
    folder, _, last = path.rstrip("/").rpartition("/")
    number = _NUMBERED.match(last)
    if number is None or not folder or "." in last.partition("-")[2]:
        return None
    others = [one for one in names.folders if one.rpartition("/")[0] == folder]
    same = [one for one in others if one.rpartition("/")[2].startswith(number[0]) and names.has(one)]
    if len(same) != 1:
        return None
    inside = names.folders[same[0]][: MOST_PLACES - 1]
    places = [SuggestedPlace(one, None, "the folder of that number") for one in (same[0], *inside)]
    more = f", with {listed(places[1:])}" if inside else ""
    return found(f"{quoted(path)} does not exist; there is {places[0].shown}{more}.", places, "numbered_folder")


def called_so(path: str, names: TreeNames) -> list[SuggestedPlace]:
    """`pages/`, where the folder `routes/` beside it has `FilesPage.tsx` and `LoginPage.tsx`."""
    folder, _, last = path.rstrip("/").rpartition("/")
    word = last.lower().removesuffix("s")
    if not folder or "." in last or len(word) < _LEAST_STEM or word == last.lower() or folder not in names.folders:
        return []
    by_folder: dict[str, list[str]] = {}
    for one in names.paths:
        if one.startswith(f"{folder}/") and word in one.lower() and not is_test(one):
            words = name_words(one.rpartition("/")[2].rpartition(".")[0])
            if len(words) > 1 and words[-1] == word:
                by_folder.setdefault(one.rpartition("/")[0], []).append(one)
    most = max(by_folder.values(), key=len, default=[])
    rest = sum(map(len, by_folder.values())) - len(most)
    if len(most) < 2 or rest > len(most):
        return []
    return [SuggestedPlace(one, None, f"files called {word}") for one in most[:MOST_PLACES] if names.has(one)]


def _missing_folder(path: str, names: TreeNames, *, is_folder: bool) -> Rescue | None:
    """A folder that does not exist, and another with its last part does."""
    if not is_folder and "." in path.rpartition("/")[2]:
        return None
    name = path.rstrip("/").rpartition("/")[2]
    if len(name) < _LEAST_STEM:
        return None
    others = [one for one in names.folders_named(name) if one != path]
    others.sort(key=lambda one: nearness(f"{one}/", path), reverse=True)
    if not others or len(others) > _MOST_FOLDERS:
        return None
    places = [SuggestedPlace(one, None, "the folder of that name") for one in others]
    return found(f"{quoted(path)} does not exist; there is {listed(places)}.", places, "folder_name")


def _definition(path: str, names: TreeNames, search: Searcher) -> Rescue | None:
    """No such file, but a definition of that name: in the folder, else in the tree."""
    stem, folder = stem_of(path), path.rpartition("/")[0]
    if len(stem) < _LEAST_STEM or "." not in path.rpartition("/")[2]:
        return None
    here = names.folders.get(folder, [])
    wanted = name_words(stem)
    inside = [
        one
        for one in (search.tree.defined_in(here) if here else [])
        if one.kind in ("type", "function") and name_words(one.name)[-len(wanted) :] == wanted
    ]
    exact = [one for one in search.tree.defined([plain(stem)]) if one.kind in ("type", "function")]
    chosen = inside or (exact if plain(stem) not in _GENERIC else [])
    places = {one.path: one for one in sorted(chosen, key=lambda one: one.kind == "type")}
    if not 1 <= len(places) <= 2:
        return None
    ordered = sorted(places.values(), key=lambda one: (one.kind != "type", one.line))
    sure = [one for one in ordered if one.name in search.line(one.path, one.line)]
    if not sure:
        return None
    suggestions = [SuggestedPlace(one.path, one.line, f"defines {one.name}") for one in sure]
    said = f"{quoted(sure[0].name)} is defined in {suggestions[0].shown}"
    return found(f"{quoted(path)} does not exist; {said}.", suggestions, "definition")


def _entry(path: str, names: TreeNames) -> Rescue | None:
    """An entry point that is called otherwise here: `lib.rs`, where the folder has `main.rs`."""
    if stem_of(path) not in _ENTRIES:
        return None
    folder, ending = path.rpartition("/")[0], ending_of(path)
    beside = [one for one in names.folders.get(folder, []) if ending_of(one) == ending and stem_of(one) in _ENTRIES]
    beside.sort(key=lambda one: _ENTRIES.index(stem_of(one)))
    places = [SuggestedPlace(one, None, "the entry point of that folder") for one in beside[:MOST_PLACES]]
    return _said(path, places, "entry") if len(beside) <= 2 else None

"""Answers to a pattern that matched nothing: repaired, in another case, with its words in another order, or one name.

A match in another spelling in the searched place is what the agent meant. Matches in other places are not suggested: of
17 such definitions, in projects that no rule was made on, the agent had looked for 4.
"""

from __future__ import annotations

import re

from knowbound.core.lazy_pattern import lazy
from knowbound.core.paths import source_rank
from knowbound.lessons.rescue.misses.lookup import (
    COMMON,
    branches,
    is_specific,
    literals,
    names_in,
    needed_parts,
    plain,
)
from knowbound.lessons.rescue.misses.repair import Repair, glob_repairs, pattern_repairs, type_globs
from knowbound.lessons.rescue.paths import rescue_path
from knowbound.lessons.rescue.search import Matches, Searcher, is_within, stem_of
from knowbound.lessons.rescue.words import MOST_PLACES, Rescue, SuggestedPlace, found, listed, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from knowbound.lessons.rescue.misses.lookup import MissedLookup
    from knowbound.lessons.rescue.search import Hit, TreeNames

_MOST_NAMES = 3  # in one pattern: with more, the agent asks which of them a place has
_MOST_DEFINING = 12  # files that define a name: with more, which was meant is not known
_NEAR = 4  # lines between two names that belong together
_LEAST_NAME = 6  # letters of a name of one word
_GAP = lazy(r"\.[*+]|\s|\\s")  # between the words of a pattern


def rescue_pattern(miss: MissedLookup, names: TreeNames, search: Searcher) -> Rescue | None:
    """Return the places that a pattern without matches probably meant."""
    repairs = pattern_repairs(miss.query, miss.syntax)
    miss = miss._replace(globs=tuple(glob for glob in miss.globs if not glob.startswith("!")))  # these take files away
    globs, wrong = _filters(miss)
    gone = [place for place in miss.where if not names.has(place)]
    where = tuple(place for place in miss.where if place not in gone)
    if not gone or where:
        for repair in repairs:
            said = _in_place(miss, repair, where, globs, wrong, search)
            if said:
                return said
    if miss.is_check or not repairs:
        return None
    repair = repairs[0]
    if gone and not where:
        return _moved(miss, repair, gone[0], names, search)
    if miss.globs:
        return _glob_folder(miss, repair, where, globs, names, search)
    return (
        _any_order(miss, repair, where, search)
        or _near_lines(miss, repair, where, search)
        or _one_name(miss, repair, where, search)
    )


def _filters(miss: MissedLookup) -> tuple[tuple[str, ...], Repair]:
    """Return the globs that were meant, and what is wrong with the given ones."""
    globs: tuple[str, ...] = ()
    wrong = Repair("")
    for glob in miss.globs:
        repaired = glob_repairs(glob)
        globs += tuple(one.meant for one in repaired) or (glob,)
        wrong = wrong if wrong.reason or not repaired else repaired[0]
    if miss.type and miss.wrong and miss.type[:40] in miss.wrong:
        typed = type_globs(miss.type)
        wrong = Repair("", f"ripgrep has no file type {quoted(miss.type)}", f"with {quoted(' '.join(typed))}")
        return (*globs, *typed), wrong
    return globs, wrong


# ---- where the agent searched


def _in_place(
    miss: MissedLookup, repair: Repair, where: tuple[str, ...], globs: tuple[str, ...], wrong: Repair, search: Searcher
) -> Rescue | None:
    """Find the repaired pattern where it was searched; then without regard to case."""
    cases = (miss.ignore_case,) if miss.ignore_case or miss.is_check else (False, True)
    for ignore_case in cases:
        matches = search.search(repair.meant, within=where, globs=globs, ignore_case=ignore_case)
        if not matches.hits:
            continue
        reasons, thens = [repair.reason, wrong.reason], [repair.then, wrong.then]
        if ignore_case and not miss.ignore_case:
            if not _is_worth_saying(matches, repair.meant):
                continue
            thens.append("ignoring case")
        elif miss.skipped:
            reasons.append(f"the offset of {miss.skipped} skips every match")
            thens.append("without it")
        elif not any(reasons) and _is_hidden(matches, where) and miss.tool not in ("Grep", "grep"):
            reasons.append("ripgrep does not look into hidden folders")
            thens.append("with `--hidden`")
        elif not any(reasons):
            if miss.is_check or not miss.hides_errors:
                return None  # the tool found nothing in there a moment ago: the file has changed since
            reasons.append(f"a search for {quoted(miss.query)} found nothing, and its errors are hidden")
        start = "; ".join(filter(None, reasons)) or f"{quoted(miss.query)} does not match as it is read"
        then = " and ".join(dict.fromkeys(filter(None, thens))) or "in the files as they are now"
        return _matched(f"{start[:1].upper()}{start[1:]}; {then} there", matches, repair.meant, "repaired")
    return None


def _is_hidden(matches: Matches, where: tuple[str, ...]) -> bool:
    """Report whether every match is in a folder below the searched one whose name begins with a dot."""

    def is_hidden(path: str) -> bool:
        folder = next((one for one in where if is_within(path, (one,))), "")
        return any(part.startswith(".") for part in path.removeprefix(folder).split("/"))

    return all(map(is_hidden, matches.paths))


def _is_worth_saying(matches: Matches, pattern: str) -> bool:
    """Report whether few files match; a pattern that is one name must match as a whole word."""
    is_name = pattern in names_in(pattern)
    if is_name and not any(pattern.lower() in re.findall(r"[\w$-]+", hit.text.lower()) for hit in matches.hits):
        return False
    return len(matches.paths) <= _MOST_DEFINING


def _matched(start: str, matches: Matches, pattern: str, rule: str) -> Rescue:
    places = _best(matches, pattern)
    count = len(matches.hits)
    total = f"{'at least ' if not matches.is_complete else ''}{count} match{'es' if count != 1 else ''}"
    if count == 1:
        text = f"{start} is {total}: {places[0].shown}."
    else:
        text = f"{start} are {total}, {'first' if len(places) == 1 else 'among them'} {listed(places)}."
    return found(text, places, rule)


def _best(matches: Matches, pattern: str) -> list[SuggestedPlace]:
    """Return a place per file, the likeliest file first; if a single file matches, its first places."""
    wanted = {plain(name) for name in names_in(pattern)}
    paths = matches.paths
    by_file: dict[str, list[Hit]] = {}
    for hit in matches.hits:
        by_file.setdefault(hit.path, []).append(hit)

    def rank(path: str) -> tuple[object, ...]:
        hits, stem = by_file[path], plain(stem_of(path))
        count = len(frozenset().union(*(hit.branches for hit in hits)))
        is_named = any(name in stem or stem in name for name in wanted if len(stem) > 3)
        is_defined = any(_defines(hit, wanted) for hit in hits)
        return -count, source_rank(path), not is_named, not is_defined, -len(hits), path

    if len(paths) == 1:
        hits = sorted(by_file[paths[0]], key=lambda hit: (not _defines(hit, wanted), hit.line))
        return [SuggestedPlace(hit.path, hit.line, "matches") for hit in hits[:MOST_PLACES]]
    chosen = []
    for path in sorted(paths, key=rank)[:MOST_PLACES]:
        hit = min(by_file[path], key=lambda one: (not _defines(one, wanted), -len(one.branches), one.line))
        chosen.append(SuggestedPlace(path, hit.line, "matches"))
    return chosen


def _defines(hit: Hit, wanted: set[str]) -> bool:
    """Report whether a line looks like a definition of one of the names."""
    from knowbound.codebase.definitions import definitions_in  # noqa: PLC0415  (3 ms, not needed for every miss)

    return any(plain(one.name) in wanted for one in definitions_in(hit.text, hit.path))


# ---- elsewhere


def _moved(miss: MissedLookup, repair: Repair, gone: str, names: TreeNames, search: Searcher) -> Rescue | None:
    """Find the pattern in the files that a nonexistent searched path probably means."""
    path = rescue_path(miss._replace(kind="path", query=gone), names)
    if path is None:
        return None
    within = tuple(place.path for place in path.suggestions)
    matches = search.search(repair.meant, within=within, ignore_case=miss.ignore_case)
    if matches.hits:
        start = f"{quoted(gone)} does not exist; in {listed(list(path.suggestions))} there"
        return _matched(start, matches, repair.meant, "moved")
    return path if len(within) > 1 else None  # the file of that name does not have it: it may be another


def _glob_folder(
    miss: MissedLookup,
    repair: Repair,
    where: tuple[str, ...],
    globs: tuple[str, ...],
    names: TreeNames,
    search: Searcher,
) -> Rescue | None:
    """Find the pattern in the folders that are named like the stem of a glob."""
    stems = [text.strip("._-").lower() for glob in globs for text in literals(glob.rpartition("/")[2])]
    stems = [stem for stem in stems if len(stem) >= 4]
    folders = [
        folder
        for folder in names.folders
        if is_within(folder, where) and any(stem in folder.rpartition("/")[2].lower() for stem in stems)
    ]
    matches = search.search(repair.meant, within=folders, ignore_case=miss.ignore_case) if folders else Matches()
    if not matches.hits:
        return None
    start = f"{quoted(miss.globs[0])} matches files, not folders; in {quoted(folders[0])} there"
    return _matched(start, matches, repair.meant, "glob_folder")


def _any_order(miss: MissedLookup, repair: Repair, where: tuple[str, ...], search: Searcher) -> Rescue | None:
    """Find the words of a pattern without alternatives on one line, in any order and case, where it was searched."""
    alternatives = branches(repair.meant)
    if not where or len(alternatives) != 1:
        return None
    parts = needed_parts(alternatives[0])
    if len(parts) < 2 or not _GAP.search(alternatives[0]) or not any(len(part) >= _LEAST_NAME for part in parts):
        return None
    matches = search.search("|".join(map(re.escape, parts)), within=where, ignore_case=True)
    every_part = frozenset(range(len(parts)))
    hits = tuple(hit for hit in matches.hits if hit.branches == every_part)
    if not hits or len({hit.path for hit in hits}) > MOST_PLACES:
        return None
    start = f"{quoted(miss.query)} does not match; with its words in another order there"
    return _matched(start, Matches(hits), repair.meant, "any_order")


def _near_lines(miss: MissedLookup, repair: Repair, where: tuple[str, ...], search: Searcher) -> Rescue | None:
    """Find the two names of an alternative such as `login.*publicKey` on lines near each other."""
    alternatives = branches(repair.meant)
    for branch in alternatives if where and len(alternatives) <= 2 else ():
        parts = needed_parts(branch)
        if len(parts) != 2 or ".*" not in branch or not any(map(is_specific, names_in(branch))):
            continue
        matches = search.search("|".join(map(re.escape, parts)), within=where, ignore_case=True)
        near: dict[str, Hit] = {}
        for hit, after in zip(matches.hits, matches.hits[1:], strict=False):
            is_near = after.path == hit.path and 0 < after.line - hit.line <= _NEAR
            if is_near and hit.branches | after.branches == frozenset((0, 1)):
                near.setdefault(hit.path, hit)
        if 1 <= len(near) <= MOST_PLACES and matches.is_complete:
            places = [SuggestedPlace(hit.path, hit.line, "both names are near") for hit in near.values()]
            named = " and ".join(map(quoted, parts))
            text = f"{quoted(miss.query)} matches no line; {named} are on lines near each other in {listed(places)}."
            return found(text, places, "near_lines")
    return None


def _one_name(miss: MissedLookup, repair: Repair, where: tuple[str, ...], search: Searcher) -> Rescue | None:
    """Find the longest name of the pattern alone where it was searched, also that of `function login`."""
    from knowbound.codebase.definitions import asked_definitions  # noqa: PLC0415

    if repair.meant in names_in(repair.meant):
        return None
    declared = [name for name in asked_definitions(repair.meant) if name.lower() not in COMMON]
    alone = {branch.strip("\\b() ") for branch in branches(repair.meant)}  # the tool looked for these by themselves
    named = dict.fromkeys([*filter(is_specific, names_in(repair.meant)), *declared])
    for name in sorted((name for name in named if name not in alone), key=len, reverse=True)[:_MOST_NAMES]:
        matches = search.search(name.replace("$", "\\$"), within=where)
        if matches.hits and len(matches.paths) <= MOST_PLACES:
            return _matched(
                f"{quoted(miss.query)} does not match; for {quoted(name)} alone there", matches, name, "one_name"
            )
    return None

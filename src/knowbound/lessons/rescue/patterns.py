"""A pattern that matches nothing: repaired, in another case, its words in another order, one name of it.

What the place that was searched has in another spelling is what was meant. What other places have says nothing: of 17
definitions that were suggested in projects that no rule was made on, 4 were what the agent looked for.
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
    """Return the places that a pattern meant which matched nothing."""
    repairs = pattern_repairs(miss.query, miss.syntax)
    miss = miss._replace(globs=tuple(glob for glob in miss.globs if not glob.startswith("!")))  # these take files away
    globs, wrong = _filters(miss)
    gone = [place for place in miss.where if not names.has(place)]
    there = tuple(place for place in miss.where if place not in gone)
    if not gone or there:
        for repair in repairs:
            said = _in_place(miss, repair, there, globs, wrong, search)
            if said:
                return said
    if miss.is_check or not repairs:
        return None
    meant = repairs[0]
    if gone and not there:
        return _moved(miss, meant, gone[0], names, search)
    if miss.globs:
        return _glob_folder(miss, meant, there, globs, names, search)
    return (
        _any_order(miss, meant, there, search)
        or _near_lines(miss, meant, there, search)
        or _one_name(miss, meant, there, search)
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
    miss: MissedLookup, repair: Repair, there: tuple[str, ...], globs: tuple[str, ...], wrong: Repair, search: Searcher
) -> Rescue | None:
    """The pattern as it was meant, where it was searched for; then in whatever case."""
    cases = (miss.ignore_case,) if miss.ignore_case or miss.is_check else (False, True)
    for ignore_case in cases:
        matches = search.search(repair.meant, within=there, globs=globs, ignore_case=ignore_case)
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
        elif not any(reasons) and _is_hidden(matches, there) and miss.tool not in ("Grep", "grep"):
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


def _is_hidden(matches: Matches, there: tuple[str, ...]) -> bool:
    """Report whether every match is in a folder below the searched one whose name begins with a dot."""

    def is_hidden(path: str) -> bool:
        searched = next((one for one in there if is_within(path, (one,))), "")
        return any(part.startswith(".") for part in path.removeprefix(searched).split("/"))

    return all(map(is_hidden, matches.paths))


def _is_worth_saying(matches: Matches, pattern: str) -> bool:
    """Few files; and one name counts as a word of its own, not inside another."""
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
    """One place per file, the likeliest first; where one file has them all, its first ones."""
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


def _moved(miss: MissedLookup, meant: Repair, gone: str, names: TreeNames, search: Searcher) -> Rescue | None:
    """The place that was searched does not exist: the file that it means, and the pattern in it."""
    path = rescue_path(miss._replace(kind="path", query=gone), names)
    if path is None:
        return None
    within = tuple(place.path for place in path.suggestions)
    matches = search.search(meant.meant, within=within, ignore_case=miss.ignore_case)
    if matches.hits:
        start = f"{quoted(gone)} does not exist; in {listed(list(path.suggestions))} there"
        return _matched(start, matches, meant.meant, "moved")
    return path if len(within) > 1 else None  # the file of that name does not have it: it may be another


def _glob_folder(
    miss: MissedLookup,
    meant: Repair,
    there: tuple[str, ...],
    globs: tuple[str, ...],
    names: TreeNames,
    search: Searcher,
) -> Rescue | None:
    """A filter whose stem names a folder."""
    stems = [text.strip("._-").lower() for glob in globs for text in literals(glob.rpartition("/")[2])]
    stems = [stem for stem in stems if len(stem) >= 4]
    folders = [
        folder
        for folder in names.folders
        if is_within(folder, there) and any(stem in folder.rpartition("/")[2].lower() for stem in stems)
    ]
    matches = search.search(meant.meant, within=folders, ignore_case=miss.ignore_case) if folders else Matches()
    if not matches.hits:
        return None
    start = f"{quoted(miss.globs[0])} matches files, not folders; in {quoted(folders[0])} there"
    return _matched(start, matches, meant.meant, "glob_folder")


def _any_order(miss: MissedLookup, meant: Repair, there: tuple[str, ...], search: Searcher) -> Rescue | None:
    """The words of a branch in one line of the same place, in whatever order and case."""
    alternatives = branches(meant.meant)
    if not there or len(alternatives) > 1:
        return None
    for branch in alternatives:
        parts = needed_parts(branch)
        if len(parts) < 2 or not _GAP.search(branch) or not any(len(part) >= _LEAST_NAME for part in parts):
            continue
        matches = search.search("|".join(map(re.escape, parts)), within=there, ignore_case=True)
        whole = frozenset(range(len(parts)))
        hits = tuple(hit for hit in matches.hits if hit.branches == whole)
        if hits and len({hit.path for hit in hits}) <= MOST_PLACES:
            start = f"{quoted(miss.query)} does not match; with its words in another order there"
            return _matched(start, Matches(hits), meant.meant, "any_order")
    return None


def _near_lines(miss: MissedLookup, meant: Repair, there: tuple[str, ...], search: Searcher) -> Rescue | None:
    """The two names of a branch, `login.*publicKey`, on lines that are near each other."""
    alternatives = branches(meant.meant)
    for branch in alternatives if there and len(alternatives) <= 2 else ():
        parts = needed_parts(branch)
        if len(parts) != 2 or ".*" not in branch or not any(map(is_specific, names_in(branch))):
            continue
        matches = search.search("|".join(map(re.escape, parts)), within=there, ignore_case=True)
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


def _one_name(miss: MissedLookup, meant: Repair, there: tuple[str, ...], search: Searcher) -> Rescue | None:
    """The longest name of the pattern alone, where it was searched for; also of a definition, `function login`."""
    from knowbound.codebase.definitions import asked_definitions  # noqa: PLC0415

    if meant.meant in names_in(meant.meant):
        return None
    declared = [name for name in asked_definitions(meant.meant) if name.lower() not in COMMON]
    alone = {branch.strip("\\b() ") for branch in branches(meant.meant)}  # the tool looked for these by themselves
    named = dict.fromkeys([*filter(is_specific, names_in(meant.meant)), *declared])
    for name in sorted((name for name in named if name not in alone), key=len, reverse=True)[:_MOST_NAMES]:
        matches = search.search(name.replace("$", "\\$"), within=there)
        if matches.hits and len(matches.paths) <= MOST_PLACES:
            return _matched(
                f"{quoted(miss.query)} does not match; for {quoted(name)} alone there", matches, name, "one_name"
            )
    return None

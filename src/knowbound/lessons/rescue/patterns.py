"""Answers to a pattern that matched nothing: repaired, with its words in another order or near each other, or one name.

A match in another spelling in the searched place is what the agent meant. Matches in other places are not suggested: of
17 such definitions, in projects that no rule was made on, the agent had looked for 4. A search is bounded, and opens
only files that have the words of its pattern.
"""

from __future__ import annotations

import re
import time
from functools import lru_cache
from typing import NamedTuple

from knowbound.codebase.kept_index import stem_of
from knowbound.core.lazy_pattern import lazy
from knowbound.lessons.rescue.words import MOST_PLACES, Rescue, SuggestedPlace, found, listed, quoted
from knowbound.text.code_names import is_specific, names_in, plain
from knowbound.traces.calls.intent import has_stray_quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knowbound.codebase.kept_index import KeptTree, TreeNames
    from knowbound.lessons.rescue.words import MissedLookup

_MOST_NAMES = 3  # in one pattern: with more, the agent asks which of them a place has
_NEAR = 4  # lines between two names that belong together
_LEAST_NAME = 6  # letters of a name of one word
_LONGEST = 2_000  # characters of a pattern
_GAP = lazy(r"\.[*+]|\s|\\s")  # between the words of a pattern
_BASIC = lazy(r"\\[|(){}+?]|[|(){}+?]")


class _Meaning(NamedTuple):
    """A pattern as it was meant, and what was wrong with it as it was given."""

    pattern: str
    reason: str = ""  # begins a sentence; "" where nothing was wrong
    then: str = ""  # how it was run again: "without it"


def rescue_pattern(miss: MissedLookup, names: TreeNames, search: Searcher) -> Rescue | None:
    """Return the places that a pattern without matches probably meant."""
    meanings = _meanings(miss.query, miss.syntax)
    gone = [place for place in miss.where if not names.has(place)]
    where = tuple(place for place in miss.where if place not in gone)
    if not gone or where:  # some searched place is there
        for meant in meanings:
            if said := _in_place(miss, meant, where, search):
                return said
    if miss.is_check or not meanings:
        return None
    pattern = meanings[0].pattern
    if gone and not where:  # no searched place is there
        return _moved(miss, pattern, gone[0], names, search)
    if _wanted_files(miss):
        return None
    return (
        _words_in_any_order(miss, pattern, where, search)
        or _near_lines(miss, pattern, where, search)
        or _one_name(miss, pattern, where, search)
    )


def _meanings(pattern: str, syntax: str) -> list[_Meaning]:
    """Return what a pattern may have meant, likeliest first, as ripgrep reads it; one of them has nothing repaired."""
    if not pattern or len(pattern) > _LONGEST:
        return []
    found = [_Meaning(_as_rust(pattern, syntax))]
    if has_stray_quote(pattern):
        bare = _as_rust(pattern[:-1].rstrip("\\"), syntax)
        found.insert(0, _Meaning(bare, "the pattern ends in a stray quote", "without it"))
    if syntax != "fixed" and "\\|" in pattern:
        found.append(_Meaning(pattern.replace("\\|", "|"), "`\\|` is a literal bar here", "with `|`"))
    if syntax == "basic" and re.search(r"(?<!\\)[|+?{(]", pattern):
        found.append(_Meaning(pattern, "`|`, `+`, `?` and braces are literal without `-E`", "with it"))
    by_pattern = {meaning.pattern: meaning for meaning in reversed(found) if meaning.pattern}  # of equals the first
    return [meaning for meaning in found if by_pattern.get(meaning.pattern) is meaning]


def _as_rust(pattern: str, syntax: str) -> str:
    """Return a pattern of another program as ripgrep reads it."""
    if syntax == "fixed":
        return re.escape(pattern)
    if syntax == "basic":  # an escaped character is an operator, others are literal
        return _BASIC.sub(lambda sign: sign[0][1:] if len(sign[0]) == 2 else "\\" + sign[0], pattern)
    return pattern


def _wanted_files(miss: MissedLookup) -> tuple[str, ...]:
    """Return the globs of the files that were searched, without those that take files away."""
    return tuple(glob for glob in miss.globs if not glob.startswith("!"))


# ---- where the agent searched


def _in_place(miss: MissedLookup, meant: _Meaning, where: tuple[str, ...], search: Searcher) -> Rescue | None:
    """Find the pattern as it was meant where it was searched, with the globs that an unknown file type means."""
    globs, reasons, thens = _wanted_files(miss), [meant.reason], [meant.then]
    if miss.type and miss.type[:40] in miss.wrong:  # `wrong` names the type: it is unknown
        typed = tuple(f"*.{name}" for name in re.split(r"[,|\s]+", miss.type) if name)
        globs += typed
        reasons.append(f"ripgrep has no file type {quoted(miss.type)}")
        thens.append(f"with {quoted(' '.join(typed))}")
    matches = search.search(meant.pattern, within=where, globs=globs, ignore_case=miss.ignore_case)
    if not matches.hits:
        return None
    if not any(reasons):
        if miss.is_check or not miss.hides_errors:
            return None  # the tool found nothing in there a moment ago: the file has changed since
        reasons = [f"a search for {quoted(miss.query)} found nothing, and its errors are hidden"]
    start, then = "; ".join(filter(None, reasons)), " and ".join(filter(None, thens)) or "in the files as they are now"
    return _matched(f"{start[:1].upper()}{start[1:]}; {then} there", matches, meant.pattern, "repaired", search)


def _matched(start: str, matches: Matches, pattern: str, rule: str, search: Searcher) -> Rescue:
    """Return the rescue that counts the matches and names the best places."""
    places = _best_places(matches, pattern, search)
    count = len(matches.hits)
    total = f"{'at least ' if not matches.is_complete else ''}{count} match{'es' if count != 1 else ''}"
    if count == 1:
        text = f"{start} is {total}: {places[0].shown}."
    else:
        text = f"{start} are {total}, {'first' if len(places) == 1 else 'among them'} {listed(places)}."
    return found(text, places, rule)


def _best_places(matches: Matches, pattern: str, search: Searcher) -> list[SuggestedPlace]:
    """Return a place per file, the likeliest file first; if a single file matches, its first places."""
    from knowbound.core.paths import source_rank  # noqa: PLC0415  # only hits are ranked

    wanted = {plain(name) for name in names_in(pattern)}
    defined = {(definition.path, definition.line) for definition in search.tree.defined(sorted(wanted))}
    paths = matches.paths
    by_file: dict[str, list[Hit]] = {}
    for hit in matches.hits:
        by_file.setdefault(hit.path, []).append(hit)

    def rank(path: str) -> tuple[object, ...]:
        """Return the sort key: most branches matched, then sources, files of the name, definitions, most hits."""
        hits, stem = by_file[path], plain(stem_of(path))
        count = len(frozenset().union(*(hit.branches for hit in hits)))
        is_named = any(name in stem or stem in name for name in wanted if len(stem) > 3)
        is_defined = any((hit.path, hit.line) in defined for hit in hits)
        return -count, source_rank(path), not is_named, not is_defined, -len(hits), path

    if len(paths) == 1:
        hits = sorted(by_file[paths[0]], key=lambda hit: ((hit.path, hit.line) not in defined, hit.line))
        return [SuggestedPlace(hit.path, hit.line, "matches") for hit in hits[:MOST_PLACES]]
    chosen = []
    for path in sorted(paths, key=rank)[:MOST_PLACES]:
        hit = min(by_file[path], key=lambda one: ((one.path, one.line) not in defined, -len(one.branches), one.line))
        chosen.append(SuggestedPlace(path, hit.line, "matches"))
    return chosen


# ---- elsewhere


def _moved(miss: MissedLookup, pattern: str, gone: str, names: TreeNames, search: Searcher) -> Rescue | None:
    """Find the pattern in the files that a nonexistent searched path probably means."""
    from knowbound.lessons.rescue.paths import rescue_path  # noqa: PLC0415  # most places are there

    path = rescue_path(miss._replace(kind="path", query=gone), names)
    if path is None:
        return None
    within = tuple(place.path for place in path.suggestions)
    matches = search.search(pattern, within=within, ignore_case=miss.ignore_case)
    if matches.hits:
        start = f"{quoted(gone)} does not exist; in {listed(list(path.suggestions))} there"
        return _matched(start, matches, pattern, "moved", search)
    return path if len(within) > 1 else None  # the file of that name does not have it: it may be another


def _words_in_any_order(miss: MissedLookup, pattern: str, where: tuple[str, ...], search: Searcher) -> Rescue | None:
    """Find the words of a pattern without alternatives on one line, in any order and case, where it was searched."""
    alternatives = branches(pattern)
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
    return _matched(start, Matches(hits), pattern, "any_order", search)


def _near_lines(miss: MissedLookup, pattern: str, where: tuple[str, ...], search: Searcher) -> Rescue | None:
    """Find the two names of an alternative such as `login.*publicKey` on lines near each other."""
    alternatives = branches(pattern)
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


def _one_name(miss: MissedLookup, pattern: str, where: tuple[str, ...], search: Searcher) -> Rescue | None:
    """Find the longest name of the pattern alone where it was searched."""
    if pattern in names_in(pattern):
        return None
    alone = {branch.strip("\\b() ") for branch in branches(pattern)}  # the tool looked for these by themselves
    named = (name for name in names_in(pattern) if is_specific(name) and name not in alone)
    for name in sorted(named, key=len, reverse=True)[:_MOST_NAMES]:
        matches = search.search(name.replace("$", "\\$"), within=where)
        if matches.hits and len(matches.paths) <= MOST_PLACES:
            start = f"{quoted(miss.query)} does not match; for {quoted(name)} alone there"
            return _matched(start, matches, name, "one_name", search)
    return None


# ---- searching the files as they are now

_MOST_LINES = 60  # matches that are kept of a file
_LONGEST_LINE = 1_000
_UNBOUNDED = lazy(r"(?<!\\)[*+]|\{\d*,\}")
_MOST_UNBOUNDED = 3  # in one branch: what Python's expressions may take time for
_NESTED = lazy(r"[*+}]\)?[*+{]|\)[*+{]")
_MOST_FILES = 150  # that are opened for one search
_ESCAPED = lazy(r"\\(?:[pPxuU]\{[^{}]*\}|[A-Za-z])")
_CLASS = lazy(r"\[\^?\]?[^\]\\]*(?:\\.[^\]\\]*)*\]")
_GROUP = lazy(r"\((?:\?(?:[:=!]|<[=!]|P?<\w+>|[imsx]+:?))?[^()]*\)(?:[?*]|\{\d*,?\d*\})?")
_FLAGS = lazy(r"\(\?[imsxU]+\)")
_OPTIONAL = lazy(r"\w[?*]|\w\{0?,?\d*\}")
_PART = lazy(r"[\w$]{2,}")
_LEAST_PART = 3  # letters of a part of a word that files are looked up by


class Hit(NamedTuple):
    """A line that matches, and which branches of the pattern it has."""

    path: str
    line: int
    branches: frozenset[int]


class Matches(NamedTuple):
    """The result of a search."""

    hits: tuple[Hit, ...] = ()
    is_complete: bool = True  # False: too many files, too little time, or an expression that is not run

    @property
    def paths(self) -> list[str]:
        """The files, each once."""
        return list(dict.fromkeys(hit.path for hit in self.hits))


class Searcher:
    """Searches one tree until its time is over."""

    def __init__(self, tree: KeptTree, until: float) -> None:
        self.tree, self._until = tree, until
        self._text = lru_cache(maxsize=None)(tree.read)  # a file as it is now

    def search(
        self, pattern: str, *, within: Sequence[str] = (), globs: Sequence[str] = (), ignore_case: bool = False
    ) -> Matches:
        """The lines that match. `within`: files and folders; empty is the whole tree."""
        if pattern.startswith("(?i)"):
            pattern, ignore_case = pattern[4:], True
        parts = [part for part in branches(pattern) if part]
        compiled = [expression for expression in (_compiled(part, ignore_case) for part in parts) if expression]
        if not parts or len(compiled) < len(parts):  # a branch is left out
            return Matches((), is_complete=False)
        needed = [needed_parts(part) for part in parts]
        if all(needed):
            files = self.tree.files_with(needed)
        elif within:  # no word to look up: few files are read whole
            files = self.tree.paths
        else:
            return Matches((), is_complete=False)
        if within:
            folders = tuple(f"{place}/" for place in within)
            files = [path for path in files if path in within or path.startswith(folders)]
        if globs:
            from knowbound.lessons.rescue.globs import expression  # noqa: PLC0415

            # A glob without a folder holds in every folder.
            wanted = [expression(glob if "/" in glob else f"**/{glob}", False) for glob in globs]
            files = [path for path in files if any(glob.fullmatch(path) for glob in wanted)]
        is_complete = len(files) <= _MOST_FILES
        found: list[Hit] = []
        for path in files[:_MOST_FILES]:
            if time.monotonic() > self._until:
                return Matches(tuple(found), is_complete=False)
            found += self._hits_in(path, compiled, needed)
        return Matches(tuple(found), is_complete)

    def _hits_in(self, path: str, compiled: list[re.Pattern[str]], needed: list[list[str]]) -> list[Hit]:
        """Return the lines of a file that an expression matches, each with the numbers of its branches."""
        text = self._text(path)
        if not text:
            return []
        lower_text = text.lower()
        if len(lower_text) != len(text):  # a letter that has another length in lower case
            lower_text = text
        lines: dict[int, set[int]] = {}  # start of a line → branches that it has
        for number, (branch, parts) in enumerate(zip(compiled, needed, strict=True)):
            for start, end in _lines_with(lower_text, parts):
                if branch.search(text[start : min(end, start + _LONGEST_LINE)]):
                    lines.setdefault(start, set()).add(number)
        found: list[Hit] = []
        number, before = 1, 0
        for start in sorted(lines)[:_MOST_LINES]:
            number, before = number + text.count("\n", before, start), start
            found.append(Hit(path, number, frozenset(lines[start])))
        return found


def _lines_with(low: str, parts: list[str]) -> Iterator[tuple[int, int]]:
    """Start and end of each line that has all parts; all lines where there are none."""
    if not all(part in low for part in parts):
        return
    rare = max(parts, key=len, default="")
    at = low.find(rare)
    while at >= 0:
        start, end = low.rfind("\n", 0, at) + 1, low.find("\n", at)
        end = end if end >= 0 else len(low)
        line = low[start:end]
        if all(part in line for part in parts):
            yield start, end
        at = low.find(rare, end + 1) if end < len(low) else -1


def _compiled(branch: str, ignore_case: bool) -> re.Pattern[str] | None:
    """The branch as Python reads it; None where it could take long, or is written otherwise there."""
    if not branch or len(_UNBOUNDED.findall(branch)) > _MOST_UNBOUNDED or _NESTED.search(branch):
        return None
    try:
        return re.compile(branch, re.IGNORECASE if ignore_case else 0)
    except (re.error, OverflowError, RecursionError):
        return None


# ---- parts of an expression


def branches(pattern: str) -> list[str]:
    """The alternatives of an expression, as they are written."""
    found, depth, start, at = [], 0, 0, 0
    while at < len(pattern):
        sign = pattern[at]
        if sign == "\\":
            at += 2
            continue
        if sign == "[":
            closed = _CLASS.match(pattern, at)
            at = closed.end() if closed else at + 1
            continue
        depth += (sign == "(") - (sign == ")")
        if sign == "|" and depth <= 0:
            found.append(pattern[start:at])
            start = at + 1
        at += 1
    return [*found, pattern[start:]]


def needed_parts(branch: str) -> list[str]:
    """Texts that every match of a branch has: parts of words, lower-cased."""
    plain = _CLASS.sub(" ", _FLAGS.sub("", branch))
    for _ in range(3):  # groups in groups
        plain = _GROUP.sub(_inner, plain)
    plain = _OPTIONAL.sub(" ", _ESCAPED.sub(" ", plain))
    return [part.lower() for part in _PART.findall(plain.replace("\\", "")) if len(part) >= _LEAST_PART]


def _inner(group: re.Match[str]) -> str:
    """Return the content of a group that every match has; a space for an optional or negated group."""
    text = group[0]
    if text[-1] != ")" or "|" in text or text.startswith(("(?!", "(?<!")):
        return " "
    return re.sub(r"^\((?:\?(?:[:=]|<=|P?<\w+>|[imsx]+:?))?", "", text)[:-1]

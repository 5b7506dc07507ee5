"""The target of a lookup, in one spelling, and the later call that found it.

What was found is compared with what was missed: the same stem with another extension or in another folder, the same
name in a looser pattern or in what a call showed, a shared word.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from knowbound.core.paths import relative_to
from knowbound.core.signal import FoundPlace
from knowbound.core.trace import Outcome, ToolCall, ToolKind
from knowbound.text.similar import plain_term
from knowbound.text.stop_words import CODE_WORDS
from knowbound.text.terms import canonical, split_words

_LONGEST_QUERY = 500
_LONGEST_SENTENCE = 1_500
_SHOWN = 100_000  # characters of a result that are looked through for a name
_LEAST_NAME = 4  # letters of a name that says something
_LEAST_GLUED = 5  # of a name that counts inside another
_SPECIFIC = 6  # letters of a word that is enough alone
_MOST_BRANCHES = 12
_BRANCH = re.compile(r"\\?\||[\s,]+-o\s|\s·\s")
_ESCAPE = re.compile(r"\\[bBswdnrtSWD]")
_IDENTIFIER = re.compile(r"[^\W\d][\w-]{2,}|[\u4e00-\u9fff]{2,}")
# A name as only code spells it, or a path: getUser, user_id, docs/api.md. Products are spelled like classes (GitHub):
# those count only between backticks.
_CODE_NAME = re.compile(r"(?>(?:[\w.@-]++/)+)[\w.@-]++|\b[a-z]+[A-Z]\w+|\b\w+_\w+\b|\b[\w-]+\.[a-z]{2,4}\b")
_LONG_WORD = re.compile(r"[A-Za-z]{6,}|[\u4e00-\u9fff]{2,}")
_QUOTED_NAME = re.compile(r"`((?:[A-Z][a-z0-9]+){2,})`")
_WILD = re.compile(r"[*?]+|\{[^{}]*\}|\[[^\]]*\]")
_WORKTREE = re.compile(r".*?/(?:\.?worktrees|\.claude/worktrees)/[^/]+/")
_PATH = re.compile(r"[\w.@~+()\[\]/-]{1,300}")
_LINE = re.compile(r"^(?P<path>[^\s:][^:\n]{0,299}?)[:-](?P<line>\d{1,7})[:-]|^\s*(?P<alone>\d{1,7})[:-]")
_COMMON = CODE_WORDS | frozenset("agents claude github skill".split())


class Wanted(NamedTuple):
    """The target of a lookup."""

    names: frozenset[str]  # in plain spelling; finding one answers it
    words: frozenset[str]  # the specific words inside the names and folders
    path: str = ""  # a missed path or glob, relative to its project or worktree

    def __bool__(self) -> bool:
        return bool(self.names or self.words)


def wanted_by(call: ToolCall, project: str) -> Wanted:
    """Return what a call looked for; where the folder that it searched is not there, that folder."""
    if call.outcome is Outcome.MISSING and call.where:
        return _of_path(call.where[:_LONGEST_QUERY], project)
    if is_about_a_path(call):
        return _of_path(call.query[:_LONGEST_QUERY], project)
    return _of_pattern(call.query[:_LONGEST_QUERY])


def topic_names(call: ToolCall, wanted: Wanted, project: str) -> tuple[str, ...]:
    """The name that a miss is remembered by, longest first: of a path its last part, of a pattern what code spells.

    A single word of a pattern says too little: every search in a project about sessions has `session` in it.
    """
    if wanted.path or is_about_a_path(call):
        first = (wanted.path.split() or [""])[0]  # a path may be empty: `./`, or the project itself
        parts = [one for one in (_stem(part).replace("*", "") for part in first.split("/")) if one]
        name = plain_name(parts[-1]) if parts else ""
        if not name:
            return ()
        return (f"{plain_name(parts[-2])}/{name}" if name in _COMMON and len(parts) > 1 else name,)
    spelled = (one for one in _IDENTIFIER.findall(_ESCAPE.sub(" ", call.query[:_LONGEST_QUERY])) if _is_spelled(one))
    return tuple(sorted({plain_name(one) for one in spelled}, key=lambda one: (-len(one), one)))


def _is_spelled(name: str) -> bool:
    """Report whether code spells it so: several words in one, or signs that prose has none of."""
    return len(split_words(name)) > 1 or not name.isascii()


def wanted_in(sentence: str) -> Wanted:
    """Return what a sentence is about: the names of code and files in it, and its specific words."""
    sentence = sentence[:_LONGEST_SENTENCE]
    names = _CODE_NAME.findall(sentence) + _QUOTED_NAME.findall(sentence)
    stems = [_stem(name.rstrip("/").rpartition("/")[2]) for name in names]
    plain = frozenset(name for name in map(plain_name, stems) if len(name) >= _LEAST_NAME and name not in _COMMON)
    words = (word.lower() for word in _LONG_WORD.findall(sentence))
    return Wanted(plain, frozenset(canonical(word) for word in words if word not in _COMMON))


def is_about_a_path(call: ToolCall) -> bool:
    """Report whether it looked for files by their path rather than for text in them."""
    return call.kind in (ToolKind.READ, ToolKind.LIST) or (_is_glob(call.query) and "|" not in call.query)


def _is_glob(query: str) -> bool:
    return ("*" in query or "/" in query) and not re.search(r"[\\()^$+]|\.\*|\s", query)


@lru_cache(maxsize=4096)
def _of_pattern(pattern: str) -> Wanted:
    names: dict[str, None] = {}
    words: frozenset[str] = frozenset()
    for branch in _BRANCH.split(pattern)[:_MOST_BRANCHES]:
        found = [one for one in _IDENTIFIER.findall(_ESCAPE.sub(" ", branch)) if one.lower() not in _COMMON]
        if found:
            names[plain_name(max(found, key=len))] = None
        words = words.union(*map(specific_words, found))
    return Wanted(frozenset(name for name in names if len(name) >= _LEAST_NAME), words)


@lru_cache(maxsize=4096)
def _of_path(path: str, project: str) -> Wanted:
    """The last part names it; where that is only a wildcard, the folder before it does."""
    near = _in_tree(path, project)
    names: set[str] = set()
    words: set[str] = set()
    for one in near.split() or [near]:  # a listing of several
        parts = [part for part in _WILD.sub("*", one).rstrip("/").split("/") if part not in ("", ".", "..", "~")]
        stems = [stem for part in parts if (stem := _stem(part).replace("*", ""))]
        if parts and stems:
            names.add(plain_name(stems[-1]))
            words.update(*map(specific_words, stems[-3:]))
    found = frozenset(name for name in names if len(name) >= _LEAST_NAME - 1)
    return Wanted(found, frozenset(words), near)


def _stem(part: str) -> str:
    return part.partition(".")[0] or part.strip(".").partition(".")[0]


def _in_tree(path: str, project: str) -> str:
    """Return the path from the project or worktree that it lies in."""
    path = path.strip()
    worktree = _WORKTREE.match(path)
    return path[worktree.end() :] if worktree else relative_to(path, project)


@lru_cache(maxsize=16384)
def plain_name(name: str) -> str:
    """A name without case and without the signs that spellings differ in."""
    return plain_term(name.lower())


@lru_cache(maxsize=16384)
def specific_words(name: str) -> frozenset[str]:
    """Return the specific words inside a name."""
    words = (word for word in split_words(name) if word not in _COMMON)
    return frozenset(canonical(word) for word in words if len(word) >= _LEAST_NAME or not word.isascii())


NOWHERE = FoundPlace("")  # found, and no one place shows it


def finds(call: ToolCall, wanted: Wanted, project: str, *, looks_inside: bool = True) -> FoundPlace | None:
    """Return where a call that succeeded found what was wanted, or None; a shared word alone names no place.

    Looking inside what a call showed is worth its time for a search that missed; few doubts are answered by it.
    """
    paths = call.paths or ((call.query,) if call.kind is ToolKind.READ else ())
    for path in paths:
        if _is_named(path, wanted.names):
            return FoundPlace(_in_tree(path, project), _line_in(call, path))
    seen = wanted_by(call, project)
    if _shares_name(seen.names, wanted.names) or (looks_inside and wanted.names and _shows(call, wanted.names)):
        return _place(call, wanted, project)
    return NOWHERE if _is_same_folder(call, wanted, project) else None


def _is_same_folder(call: ToolCall, wanted: Wanted, project: str) -> bool:
    """A listing of the folder where a path was missed shows what is there instead."""
    folder = wanted.path.rpartition("/")[0]
    if not folder or "*" in folder or call.kind is ToolKind.READ:
        return False
    looked = [_in_tree(one, project).rstrip("/") for one in (call.query, call.where) if one]
    return any(one == folder or one.rpartition("/")[0] == folder for one in looked)


def _shares_name(one: frozenset[str], other: frozenset[str]) -> bool:
    if one & other:
        return True
    return any((a in b or b in a) for a in one if len(a) >= _LEAST_GLUED for b in other if len(b) >= _LEAST_GLUED)


def _is_named(path: str, names: frozenset[str]) -> bool:
    stem = plain_name(_stem(path.rstrip("/").rpartition("/")[2]))
    return stem in names or any(
        name in stem or (len(stem) >= _LEAST_GLUED and stem in name) for name in names if len(name) >= _LEAST_GLUED
    )


def _shows(call: ToolCall, names: frozenset[str]) -> bool:
    """Report whether what a call showed holds one of the names, in any spelling."""
    specific = [name for name in names if len(name) >= _SPECIFIC]
    if not specific:
        return False
    plain = _plain_text(call)
    return any(name in plain for name in specific)


_LAST_SHOWN: list[tuple[ToolCall, str]] = []  # the last call that was looked into: several misses ask for it in turn


def _plain_text(call: ToolCall) -> str:
    if not _LAST_SHOWN or _LAST_SHOWN[0][0] is not call:
        _LAST_SHOWN[:] = [(call, plain_term(call.text[:_SHOWN].lower()))]
    return _LAST_SHOWN[0][1]


def _place(call: ToolCall, wanted: Wanted, project: str) -> FoundPlace:
    """The path and line that show it."""
    if call.kind is ToolKind.READ:
        return _as_place(call.query, 0, project)
    if call.kind is ToolKind.SEARCH:
        for text in call.text[:_SHOWN].splitlines()[:400]:
            low = plain_term(text.lower())
            if any(name in low for name in wanted.names):
                found = _LINE.match(text)
                if found is not None and (found["path"] or call.where):
                    return _as_place(found["path"] or call.where, int(found["line"] or found["alone"]), project)
                if _PATH.fullmatch(text.strip()):
                    return _as_place(text.strip(), 0, project)
        if len(call.paths) == 1:
            return _as_place(call.paths[0], 0, project)
    return NOWHERE


def _as_place(path: str, line: int, project: str) -> FoundPlace:
    near = _in_tree(path, project)
    return FoundPlace(near, line) if _PATH.fullmatch(near) and ("/" in near or "." in near) else NOWHERE


def _line_in(call: ToolCall, path: str) -> int:
    for text in call.text[:_SHOWN].splitlines()[:400]:
        found = _LINE.match(text)
        if found is not None and found["path"] == path:
            return int(found["line"])
    return 0

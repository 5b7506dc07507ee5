"""A lookup that found nothing, as a value, and what its query is made of: globs, branches and names of a pattern."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from knowbound.core.lazy_pattern import lazy
from knowbound.text.english import CODE_WORDS

PATTERN, GLOB, PATH = "pattern", "glob", "path"  # kinds
_BRACES = lazy(r"\{([^{}]*)\}")
_WILD = lazy(r"\*+|\?|\[[^\]]*\]")
_MOST = 64  # globs that braces are expanded to
_ESCAPED = lazy(r"\\(?:[pPxuU]\{[^{}]*\}|[A-Za-z])")
_CLASS = lazy(r"\[\^?\]?[^\]\\]*(?:\\.[^\]\\]*)*\]")
_GROUP = lazy(r"\((?:\?(?:[:=!]|<[=!]|P?<\w+>|[imsx]+:?))?[^()]*\)(?:[?*]|\{\d*,?\d*\})?")
_FLAGS = lazy(r"\(\?[imsxU]+\)")
_OPTIONAL = lazy(r"\w[?*]|\w\{0?,?\d*\}")
_PART = lazy(r"[\w$]{2,}")
_NAME = lazy(r"[A-Za-z_$][\w$]*(?:-[A-Za-z_]\w+)*")
_HUMP = lazy(r"[a-z0-9][A-Z]|[A-Za-z]_+[A-Za-z]|[A-Za-z]-[A-Za-z]|[A-Z]{2,}[a-z]")
_LEAST_PART = 3  # letters of a part of a word that files are looked up by
COMMON = CODE_WORDS | frozenset("crate enum impl mod pub self static trait void".split())


class MissedLookup(NamedTuple):
    """One lookup that found nothing. Paths are relative to the root of the tree."""

    kind: str  # PATTERN: text in files; GLOB: files by a pattern of their paths; PATH: one file or folder
    query: str  # the pattern, the glob or the path
    where: tuple[str, ...] = ()  # files and folders that were searched; empty: the whole tree
    globs: tuple[str, ...] = ()  # which files of them
    type: str = ""  # ripgrep's name of a file type
    syntax: str = "rust"  # of a pattern: rust, perl, extended, basic, fixed
    ignore_case: bool = False
    wrong: str = ""  # what is wrong with the call, in words; "" where nothing is
    is_check: bool = False  # it asked whether something is there: either answer was expected
    tool: str = ""
    hides_errors: bool = False  # what the search complained about was thrown away


def expanded(glob: str) -> list[str]:
    """Expand the braces of a glob."""
    done: list[str] = []
    left = [glob]
    while left and len(done) + len(left) <= _MOST:
        glob_left = left.pop(0)
        brace = _BRACES.search(glob_left)
        if brace is None:
            done.append(glob_left)
        else:
            left += [f"{glob_left[: brace.start()]}{part}{glob_left[brace.end() :]}" for part in brace[1].split(",")]
    return done or [glob]


@lru_cache(maxsize=512)
def expression(glob: str, ignore_case: bool) -> re.Pattern[str]:
    """The glob as an expression over a whole path; `*` stays within a folder, `**` does not."""
    parts = []
    for alternative in expanded(glob):
        text, at = "", 0
        while at < len(alternative):
            if alternative.startswith("**/", at):
                text, at = text + "(?:[^/]+/)*", at + 3
            elif alternative.startswith("**", at):
                text, at = text + ".*", at + 2
            elif alternative[at] == "*":
                text, at = text + "[^/]*", at + 1
            elif alternative[at] == "?":
                text, at = text + "[^/]", at + 1
            elif alternative[at] == "[" and "]" in alternative[at + 2 :]:
                end = alternative.index("]", at + 2)
                inner = alternative[at + 1 : end].replace("\\", "\\\\")
                text, at = f"{text}[{'^' + inner[1:] if inner[0] in '!^' else inner}]", end + 1
            else:
                text, at = text + re.escape(alternative[at]), at + 1
        parts.append(text)
    try:
        return re.compile("|".join(f"(?:{part})" for part in parts), re.IGNORECASE if ignore_case else 0)
    except re.error:
        return re.compile(r"(?!)")


def is_wild(text: str) -> bool:
    """Report whether a text is a glob and not a plain path."""
    return _WILD.search(text) is not None or "{" in text


def literals(part: str) -> list[str]:
    """The texts between the wildcards of a part of a glob."""
    return [text for text in _WILD.split(_BRACES.sub("*", part)) if text]


def anywhere(glob: str) -> str:
    """Return a glob as a filter of files: without a folder it holds in every folder."""
    return glob if "/" in glob else f"**/{glob}"


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


def names_in(pattern: str) -> list[str]:
    """The names in a pattern that are no common word, in their order."""
    plain = _ESCAPED.sub(" ", _CLASS.sub(" ", pattern)).replace("\\", "")
    names = (name.strip("-") for name in _NAME.findall(plain))
    return list(dict.fromkeys(name for name in names if len(name) > 2 and name.lower() not in COMMON))


def is_specific(name: str) -> bool:
    """Report whether a name has several words in one, as names in code have."""
    return len(name) >= 5 and _HUMP.search(name) is not None


def plain(name: str) -> str:
    """A name without case and without the signs that spellings differ in."""
    return name.lower().replace("_", "").replace("-", "")


def name_words(name: str) -> list[str]:
    """The words inside a name, lower-cased."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return [word.lower() for word in re.split(r"[^A-Za-z0-9]+", parted) if word]

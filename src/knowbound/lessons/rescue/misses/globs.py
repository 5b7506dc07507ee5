"""Globs over the paths of a tree: `**`, `{a,b}` and classes, with or without regard to case."""

from __future__ import annotations

import re
from functools import lru_cache

from knowbound.core.lazy_pattern import lazy

_BRACES = lazy(r"\{([^{}]*)\}")
_WILD = lazy(r"\*+|\?|\[[^\]]*\]")
_MOST = 64  # globs that braces are expanded to


def expanded(glob: str) -> list[str]:
    """The globs that braces stand for."""
    done: list[str] = []
    left = [glob]
    while left and len(done) + len(left) <= _MOST:
        one = left.pop(0)
        brace = _BRACES.search(one)
        if brace is None:
            done.append(one)
        else:
            left += [f"{one[: brace.start()]}{part}{one[brace.end() :]}" for part in brace[1].split(",")]
    return done or [glob]


@lru_cache(maxsize=512)
def expression(glob: str, ignore_case: bool = False) -> re.Pattern[str]:
    """The glob as an expression over a whole path; `*` stays within a folder, `**` does not."""
    parts = []
    for one in expanded(glob):
        text, at = "", 0
        while at < len(one):
            if one.startswith("**/", at):
                text, at = text + "(?:[^/]+/)*", at + 3
            elif one.startswith("**", at):
                text, at = text + ".*", at + 2
            elif one[at] == "*":
                text, at = text + "[^/]*", at + 1
            elif one[at] == "?":
                text, at = text + "[^/]", at + 1
            elif one[at] == "[" and "]" in one[at + 2 :]:
                end = one.index("]", at + 2)
                inner = one[at + 1 : end].replace("\\", "\\\\")
                text, at = f"{text}[{'^' + inner[1:] if inner[0] in '!^' else inner}]", end + 1
            else:
                text, at = text + re.escape(one[at]), at + 1
        parts.append(text)
    try:
        return re.compile("|".join(f"(?:{part})" for part in parts), re.IGNORECASE if ignore_case else 0)
    except re.error:
        return re.compile(r"(?!)")


def is_wild(text: str) -> bool:
    """Whether it is a glob and no plain path."""
    return _WILD.search(text) is not None or "{" in text


def literals(part: str) -> list[str]:
    """The texts between the wildcards of a part of a glob."""
    return [text for text in _WILD.split(_BRACES.sub("*", part)) if text]


def anywhere(glob: str) -> str:
    """As a filter of files: without a folder it holds in every folder."""
    return glob if "/" in glob else f"**/{glob}"

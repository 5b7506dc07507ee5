"""What a search pattern is made of: its branches, the texts that each needs, the names in it."""

from __future__ import annotations

import re

from knowbound.core.lazy_pattern import lazy

_ESCAPED = lazy(r"\\(?:[pPxuU]\{[^{}]*\}|[A-Za-z])")
_CLASS = lazy(r"\[\^?\]?[^\]\\]*(?:\\.[^\]\\]*)*\]")
_GROUP = lazy(r"\((?:\?(?:[:=!]|<[=!]|P?<\w+>|[imsx]+:?))?[^()]*\)(?:[?*]|\{\d*,?\d*\})?")
_FLAGS = lazy(r"\(\?[imsxU]+\)")
_OPTIONAL = lazy(r"\w[?*]|\w\{0?,?\d*\}")
_PART = lazy(r"[\w$]{2,}")
_NAME = lazy(r"[A-Za-z_$][\w$]*(?:-[A-Za-z_]\w+)*")
_HUMP = lazy(r"[a-z0-9][A-Z]|[A-Za-z]_+[A-Za-z]|[A-Za-z]-[A-Za-z]|[A-Z]{2,}[a-z]")
_LEAST_PART = 3  # letters of a part of a word that files are looked up by
# Words that every code base has: a name that is one of them says nothing.
COMMON = frozenset(
    "func function def class const let var export import from interface type types struct async await return public "
    "private the and for with src test tests spec lib index main true false null none json yaml yml tsx jsx mjs get "
    "set new file files name names data value string list error errors handle handler update create config default "
    "user use using make path code app cmd pkg internal package packages module component components util utils helper "
    "helpers service services common shared core base run start stop init build add remove check status state info "
    "result item key map case this that not all any one can has have will into script scripts page pages view model "
    "api web cli readme docs local static void self enum trait impl pub mod crate".split()
)


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
    """What is in a group, where it must be there."""
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
    """Whether code spells it so: several words in one."""
    return len(name) >= 5 and _HUMP.search(name) is not None


def plain(name: str) -> str:
    """A name without case and without the signs that spellings differ in."""
    return name.lower().replace("_", "").replace("-", "")


def words_of(name: str) -> list[str]:
    """The words inside a name, lower-cased."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return [word.lower() for word in re.split(r"[^A-Za-z0-9]+", parted) if word]

"""Names of code in patterns and paths: found, compared and split. Hooks load this module."""

from __future__ import annotations

import re

from knowbound.core.lazy_pattern import lazy

# Words that every code base has: a name that is one of them, or that two names share, says nothing.
CODE_WORDS = frozenset(
    "func function def class const let var export import from interface type types struct async await return public "
    "private the and for with src test tests spec lib index main true false null none json yaml yml tsx jsx mjs get "
    "set new file files name names data value string list error errors handle handler update create config default "
    "user use using make path code app cmd pkg internal package packages module component components util utils "
    "helper helpers service services common shared core base run start stop init build add remove check status state "
    "info result item key map case this that not all any one can has have will into script scripts page pages view "
    "model api web cli readme docs local".split()
)
_COMMON = CODE_WORDS | frozenset("crate enum impl mod pub self static trait void".split())
_ESCAPED = lazy(r"\\(?:[pPxuU]\{[^{}]*\}|[A-Za-z])")
_CLASS = lazy(r"\[\^?\]?[^\]\\]*(?:\\.[^\]\\]*)*\]")
_NAME = lazy(r"[A-Za-z_$][\w$]*(?:-[A-Za-z_]\w+)*")
_HUMP = lazy(r"[a-z0-9][A-Z]|[A-Za-z]_+[A-Za-z]|[A-Za-z]-[A-Za-z]|[A-Z]{2,}[a-z]")


def names_in(pattern: str) -> list[str]:
    """Return the names in a pattern that are no common word of code, in their order."""
    plain = _ESCAPED.sub(" ", _CLASS.sub(" ", pattern)).replace("\\", "")
    names = (name.strip("-") for name in _NAME.findall(plain))
    return list(dict.fromkeys(name for name in names if len(name) > 2 and name.lower() not in _COMMON))


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

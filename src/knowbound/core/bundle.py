"""Reads the items of a bundle back from a trace; `injection/bundle.py` writes bundles.

The first line of an item begins with its id in brackets, followed by its marks and its source in parentheses. Further
lines of the item are indented. No other line begins with a bracket. A fence may surround the items.
"""

from __future__ import annotations

import re
from typing import NamedTuple

OPENING = "Entries of this project's knowledge store (knowbound)"  # first words of every bundle
INDEX_OPENING = "Index of this project's knowledge store (knowbound)"  # first words of every index
# First words of the suggestions at the start of a session, if the session gets no index.
SUGGESTED_OPENING = "Suggested corrections of this project's knowledge store (knowbound)"
# The convention of specification 1, section 10, that a session starts with where the user asks for it.
SELF_MARKING = (
    "Start every statement that you infer or are not sure of with [inferred], and name what you looked for and did not "
    "find after [knowledge gap]."
)
_ITEM = re.compile(r"\[(?P<id>[^\[\]\n]{1,200})\](?: \((?P<marks>[^\n]*?)\))? (?P<content>.*)")
_INDENT = "    "
_FROM = "from "


class BundledItem(NamedTuple):
    """One item of a bundle."""

    id: str
    source: str  # file or store of the item; "" if the bundle names none
    content: str  # as injected, possibly cut


def is_bundle(text: str) -> bool:
    """Report whether a text is a bundle of items."""
    return text.lstrip().startswith(OPENING)


def is_ours(text: str) -> bool:
    """Report whether our hooks wrote a text: a bundle of items, or the text at the start of a session."""
    return is_bundle(text) or text.lstrip().startswith((INDEX_OPENING, SUGGESTED_OPENING, SELF_MARKING))


def items_in(text: str) -> list[BundledItem]:
    """Return the items of a bundle in order; [] for any other text."""
    found: list[BundledItem] = []
    lines = text.lstrip().split("\n") if is_bundle(text) else []
    is_open = False  # the previous line belongs to an item: an indented line continues it
    for line in lines:
        item = _ITEM.match(line)
        if item:
            marks = item["marks"] or ""
            source = next((mark[len(_FROM) :] for mark in marks.split(", ") if mark.startswith(_FROM)), "")
            found.append(BundledItem(item["id"], source, item["content"]))
        elif is_open and line.startswith(_INDENT):
            last = found[-1]
            found[-1] = last._replace(content=f"{last.content}\n{line[len(_INDENT) :]}")
        is_open = bool(item) or (is_open and line.startswith(_INDENT))
    return found

"""The items in a bundle, as `injection/bundle.py` writes it: read back where a trace has its text.

An item's line begins with its id in brackets, then, in parentheses, its marks and its source; further lines of it are
indented. Nothing else begins a line with a bracket. Around the items may be a fence.
"""

from __future__ import annotations

import re
from typing import NamedTuple

OPENING = "Entries of this project's knowledge store (knowbound)"  # how every bundle begins
INDEX_OPENING = "Index of this project's knowledge store (knowbound)"  # how every index begins
SUGGESTED_OPENING = "Suggested corrections of this project's knowledge store (knowbound)"  # where there is no index
_ITEM = re.compile(r"\[(?P<id>[^\[\]\n]{1,200})\](?: \((?P<marks>[^\n]*?)\))? (?P<content>.*)")
_INDENT = "    "
_FROM = "from "


class BundledItem(NamedTuple):
    """One item of a bundle."""

    id: str
    source: str  # the file or the store that it comes from; "" where the bundle does not say
    content: str  # as it was injected, which may be cut


def is_bundle(text: str) -> bool:
    """Whether a text is one of our bundles."""
    return text.lstrip().startswith(OPENING)


def is_ours(text: str) -> bool:
    """Whether our hooks wrote a text: a bundle of items, or what a session starts with, which has none."""
    return is_bundle(text) or text.lstrip().startswith((INDEX_OPENING, SUGGESTED_OPENING))


def items_in(text: str) -> list[BundledItem]:
    """The items of a bundle in its order; none where the text is no bundle."""
    found: list[BundledItem] = []
    lines = text.lstrip().split("\n") if is_bundle(text) else []
    is_open = False  # the line before belongs to an item
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

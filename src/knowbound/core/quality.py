"""What the quality of an injection is judged by: a turn with its items, and the verdict on each item.

Specification 2, section 2: on topic (it bears on what the prompt asks), used (the answer or a tool call restates it or
acts on it), contradicted (explicitly: leaving an item out is none).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec


class Metric(StrEnum):
    """The three questions about an injected item. The fourth metric, discovery, is about corrections."""

    ON_TOPIC = "on_topic"
    USED = "used"
    CONTRADICTED = "contradicted"


class JudgedItem(msgspec.Struct, frozen=True):
    """An item as a judge sees it."""

    id: str
    content: str
    is_whole: bool = True  # False: only its beginning is known


class JudgedCall(msgspec.Struct, frozen=True):
    """A tool call of the turn, with what it gave."""

    name: str
    input: dict[str, Any] = {}
    output: str = ""


class JudgedTurn(msgspec.Struct, frozen=True):
    """A turn as a judge sees it: all of it, as far as it is known."""

    id: str
    prompt: str
    response: str
    items: tuple[JudgedItem, ...] = ()
    tool_calls: tuple[JudgedCall, ...] = ()


class ItemVerdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a judge says about one item of a turn."""

    item: str
    on_topic: bool
    used: bool
    contradicted: bool
    correction: str = ""  # what is true after the turn, where it is contradicted: the answer's own words
    reason: str = ""  # in a few words
    judge: str = ""  # the version of whoever judged: its rules or its prompt, and its model

    def says(self, metric: Metric) -> bool:
        """The verdict on one question."""
        return bool(getattr(self, metric))

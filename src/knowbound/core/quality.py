"""A turn with its injected items as a judge sees it, and the verdict on each item.

Specification 2, section 2. On topic: the item bears on the request of the prompt. Used: the answer or a tool call
restates the item or acts on it. Contradicted: explicitly; leaving an item out is no contradiction.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec


class Metric(StrEnum):
    """Question about an injected item. The fourth metric of the specification, discovery, is about corrections."""

    ON_TOPIC = "on_topic"
    USED = "used"
    CONTRADICTED = "contradicted"


class JudgedItem(msgspec.Struct, frozen=True):
    """An item as a judge sees it."""

    id: str
    content: str
    is_whole: bool = True  # False: only the beginning is known


class JudgedCall(msgspec.Struct, frozen=True):
    """A tool call of the turn, with its output."""

    name: str
    input: dict[str, Any] = {}
    output: str = ""


class JudgedTurn(msgspec.Struct, frozen=True):
    """A turn as a judge sees it: everything that is known."""

    id: str
    prompt: str
    response: str
    items: tuple[JudgedItem, ...] = ()
    tool_calls: tuple[JudgedCall, ...] = ()


class ItemVerdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """Verdict of a judge on one item of a turn."""

    item: str
    on_topic: bool
    used: bool
    contradicted: bool
    correction: str = ""  # of a contradicted item: the true statement, in the words of the answer
    reason: str = ""  # a few words
    judge: str = ""  # version of the judge: rules or prompt, and model

    def says(self, metric: Metric) -> bool:
        """Return the verdict on one question."""
        return bool(getattr(self, metric))

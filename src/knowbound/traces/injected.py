"""Injected text as events: one for each item of our own bundle, one for any other text."""

from __future__ import annotations

from msgspec.structs import replace

from knowbound.core.bundle import items_in
from knowbound.core.trace import Injection


def by_item(injection: Injection) -> list[Injection]:
    """The items of our store that a text injects, each with its id; the text itself where it is not our bundle."""
    items = items_in(injection.content)
    return [replace(injection, content=item.content, item=item.id) for item in items] or [injection]

"""Items of an unmanaged source: what others put into an agent's context, read from its traces (specification 2)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import msgspec

from knowbound.core.signal import Findings, Injected

# Sources that tell the agent something to know; the client's own plumbing (skills it lists, files it shows) does not.
SOURCES = ("hook:", "nested_memory", "memory", "relevant_memories", "instructions")
OURS = "Entries of this project's knowledge store (knowbound)"  # how our own bundle begins: those items are managed


class UnmanagedItem(msgspec.Struct, frozen=True):
    """One thing that others told, and how often."""

    id: str
    source: str
    path: str
    excerpt: str
    content_length: int
    injections: int = 0
    sessions: int = 0


class UnmanagedInjection(msgspec.Struct, frozen=True):
    """That it was told, and when."""

    item: UnmanagedItem
    session: str
    turn: int
    time: str


def unmanaged_in(found: Findings) -> Iterator[UnmanagedInjection]:
    """What others told in a session, turn by turn."""
    for turn in found.turns:
        for told in turn.injected:
            if told.source.startswith(SOURCES) and told.excerpt.strip() and not told.excerpt.startswith(OURS):
                yield UnmanagedInjection(_item(told), f"{found.agent}:{found.session}", turn.index, turn.time)


def _item(told: Injected) -> UnmanagedItem:
    known = "\0".join((told.source, told.path, told.excerpt, str(told.content_length)))
    id_ = "u" + hashlib.sha256(known.encode("utf-8", "replace")).hexdigest()[:12]
    return UnmanagedItem(id_, told.source, told.path, told.excerpt, told.content_length)

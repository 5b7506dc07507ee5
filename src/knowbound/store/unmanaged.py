"""Items of an unmanaged source: what others put into an agent's context, read from its traces (specification 2)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import msgspec

from knowbound.core.bundle import is_ours
from knowbound.core.signal import Findings, InjectedText

# Sources of knowledge; not what the client itself adds (skills it lists, files it shows).
SOURCES = ("hook", "nested_memory", "memory", "relevant_memories", "instructions")


class UnmanagedItem(msgspec.Struct, frozen=True):
    """One thing that others injected, and how often."""

    id: str
    source: str
    path: str
    excerpt: str
    content_length: int
    injections: int = 0
    sessions: int = 0


class UnmanagedInjection(msgspec.Struct, frozen=True):
    """One injection of such an item."""

    item: UnmanagedItem
    session: str
    turn: int
    time: str


def unmanaged_in(found: Findings) -> Iterator[UnmanagedInjection]:
    """What others injected in a session, turn by turn."""
    for turn in found.turns:
        for injected in turn.injected:
            text = injected.excerpt
            if injected.source.startswith(SOURCES) and text.strip() and not (injected.item or is_ours(text)):
                yield UnmanagedInjection(_item(injected), f"{found.agent}:{found.session}", turn.index, turn.time)


def _item(injected: InjectedText) -> UnmanagedItem:
    known = "\0".join((injected.source, injected.path, injected.excerpt, str(injected.content_length)))
    id_ = "u" + hashlib.sha256(known.encode("utf-8", "replace")).hexdigest()[:12]
    return UnmanagedItem(id_, injected.source, injected.path, injected.excerpt, injected.content_length)

"""Actions of the front door: one thing to do each, with its cost, its evidence and its fix (docs/words.md)."""

from __future__ import annotations

import hashlib
from enum import StrEnum

import msgspec

from knowbound.core.signal import Example


class ActionKind(StrEnum):
    """Kind of an action."""

    REPAIR = "repair"  # a statement that the tree contradicts
    WRITE = "write"  # a line that agents keep missing
    ENFORCE = "enforce"  # a rule that agents ignore
    SUPERSEDE = "supersede"  # an injected item that turns contradict
    VERIFY = "verify"  # an answer whose claim nothing shows


class ActionCost(msgspec.Struct, frozen=True):
    """Work that the sessions lost; None: not in the traces."""

    sessions: int = 0
    calls: int = 0
    tokens: int | None = None
    share: float | None = None  # of all tool calls of the sessions


class Action(msgspec.Struct, frozen=True):
    """One action."""

    id: str
    kind: ActionKind
    title: str
    why: str
    cost: ActionCost = ActionCost()
    evidence: list[Example] = []
    place: str = ""  # the file, or `item:ID`
    diff: str = ""
    by: str = "rules"


def action_id(kind: ActionKind, subject: str) -> str:
    """Return an id made from the subject of an action: equal in every run, whatever the words or counts."""
    return hashlib.sha256(f"{kind}\n{subject}".encode("utf-8", "replace")).hexdigest()[:8]

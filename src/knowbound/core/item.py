"""Knowledge items that can be injected into an agent's context (specification 2, "Items")."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from knowbound.core.same_content import content_sha


class ItemType(StrEnum):
    """What an item holds."""

    MEMORY = "memory"
    INSIGHT = "insight"
    PATTERN = "pattern"
    RELATIONSHIP = "relationship"
    FACT = "fact"
    PROCEDURE = "procedure"


class ItemSource(StrEnum):
    """Where an item comes from."""

    PERSONAL = "personal"
    TECHNICAL = "technical"
    CROSS_DOMAIN = "cross_domain"


class FlagKind(StrEnum):
    """What a corrective tool decided about an item."""

    RETRACTED = "RETRACTED"
    SUPERSEDED = "SUPERSEDED"
    DELETED = "DELETED"
    UNVERIFIED = "UNVERIFIED"


NOT_SERVED = frozenset({FlagKind.RETRACTED, FlagKind.SUPERSEDED, FlagKind.DELETED})


class Flag(msgspec.Struct, frozen=True, omit_defaults=True):
    """A flag with its note, its date and by whom; a superseded item names its successor."""

    kind: FlagKind
    note: str = ""
    date: str = ""  # ISO, UTC
    by: str = ""
    superseded_by: str = ""
    covers: Flag | None = None  # the flag before it; it comes back when this one is removed


class Relationship(msgspec.Struct, frozen=True):
    """An edge to another item."""

    kind: str  # relates_to, depends_on, derived_from, …
    target: str  # the other item's id


class Anchor(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where in a project an item comes from; when that changes, the item is stale (a mark, not a flag)."""

    file: str  # relative to the root
    heading: str = ""
    symbol: str = ""
    blob: str = ""  # git's id of the file's content when the item was made
    part: str = ""  # fingerprint of the section or the lines it is about: the rest of the file may change


class Item(msgspec.Struct, frozen=True, omit_defaults=True):
    """One knowledge entry."""

    id: str
    content: str
    type: ItemType = ItemType.FACT
    source: ItemSource = ItemSource.TECHNICAL
    subject: str = ""
    user: str = ""
    timestamp: str = ""  # ISO, UTC: when it was last confirmed
    confidence: float = 1.0  # 0 to 1, as stored
    relationships: tuple[Relationship, ...] = ()
    flag: Flag | None = None
    anchor: Anchor | None = None
    stale: bool = False
    copy_of: str = ""  # the item this one is a copy or a part of (a backend may split what it is given)
    metadata: dict[str, Any] = {}  # metadata["quality"]["effective_confidence"] is written by the rollup

    @property
    def is_served(self) -> bool:
        """Whether it may be injected. Unverified items are, lower and marked as such."""
        return self.flag is None or self.flag.kind not in NOT_SERVED

    @property
    def content_sha(self) -> str:
        """What duplicates share, in every backend."""
        return content_sha(self.content)

"""Knowledge items that can be injected into an agent's context (specification 2, "Items")."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from knowbound.core.same_content import content_sha


class ItemType(StrEnum):
    """Kind of content."""

    MEMORY = "memory"
    INSIGHT = "insight"
    PATTERN = "pattern"
    RELATIONSHIP = "relationship"
    FACT = "fact"
    PROCEDURE = "procedure"


class ItemSource(StrEnum):
    """Domain that an item comes from."""

    PERSONAL = "personal"
    TECHNICAL = "technical"
    CROSS_DOMAIN = "cross_domain"


class FlagKind(StrEnum):
    """Decision of a corrective tool about an item."""

    RETRACTED = "RETRACTED"
    SUPERSEDED = "SUPERSEDED"
    DELETED = "DELETED"
    UNVERIFIED = "UNVERIFIED"
    HELD_BACK = "HELD_BACK"  # disproved by the tree or by a turn: not injected until it is repaired


NOT_SERVED = frozenset({FlagKind.RETRACTED, FlagKind.SUPERSEDED, FlagKind.DELETED, FlagKind.HELD_BACK})


class Flag(msgspec.Struct, frozen=True, omit_defaults=True):
    """A flag with note, date and author; a superseded item names its successor."""

    kind: FlagKind
    note: str = ""
    date: str = ""  # ISO, UTC
    by: str = ""
    superseded_by: str = ""
    covers: Flag | None = None  # earlier flag, which comes back when this one is removed


class Relationship(msgspec.Struct, frozen=True):
    """An edge to another item."""

    kind: str  # relates_to, depends_on, derived_from, …
    target: str  # the other item's id


class Anchor(msgspec.Struct, frozen=True, omit_defaults=True):
    """Source of an item in a project. When the source changes, the item is stale (a mark, not a flag)."""

    file: str  # relative to the root
    heading: str = ""
    symbol: str = ""
    blob: str = ""  # git's id of the content of the file when the item was made
    part: str = ""  # fingerprint of the section or lines; the rest of the file may change


class Item(msgspec.Struct, frozen=True, omit_defaults=True):
    """One knowledge entry."""

    id: str
    content: str
    type: ItemType = ItemType.FACT
    source: ItemSource = ItemSource.TECHNICAL
    subject: str = ""
    user: str = ""
    timestamp: str = ""  # ISO, UTC: time of the last confirmation
    confidence: float = 1.0  # 0 to 1, as stored
    relationships: tuple[Relationship, ...] = ()
    flag: Flag | None = None
    anchor: Anchor | None = None
    stale: bool = False
    copy_of: str = ""  # id of the original, if this is a copy or a part (a backend may split an item)
    metadata: dict[str, Any] = {}  # the rollup writes metadata["quality"]["effective_confidence"]

    @property
    def is_served(self) -> bool:
        """Report whether the item may be injected. Unverified items are injected with a mark and rank lower."""
        return self.flag is None or self.flag.kind not in NOT_SERVED

    @property
    def is_held_back(self) -> bool:
        """Report whether the item is disproved and not injected until it is repaired."""
        return self.flag is not None and self.flag.kind is FlagKind.HELD_BACK

    @property
    def held_by(self) -> str:
        """Name of the party that holds the item back; "" if none does."""
        return self.flag.by if self.flag is not None and self.is_held_back else ""

    @property
    def content_sha(self) -> str:
        """Hash that duplicates share, in every backend."""
        return content_sha(self.content)

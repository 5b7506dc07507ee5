"""An item as a row of the index: redacted, screened and with its embedding."""

from __future__ import annotations

import math
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from knowbound.core.item import Item
from knowbound.core.same_content import spaced_sha
from knowbound.kms.screening import RULES_VERSION, screened
from knowbound.kms.search.lexical import terms_of
from knowbound.text.embedding import VERSION, code_of, embed
from knowbound.text.redact import redact

MADE_BY = f"2.{RULES_VERSION}.{VERSION}"  # rows of another version are made again
_QUALITY, _EFFECTIVE = "quality", "effective_confidence"  # keys of an item's metadata
_STEP = 0.005  # a smaller change reorders nothing, and every write makes all machines read
_encode = msgspec.msgpack.Encoder().encode
_item = msgspec.msgpack.Decoder(Item)


class IndexRow(NamedTuple):
    """The columns of table `item` that depend on the item alone, except `served`."""

    id: str
    backend: str
    content: str
    type: str
    source: str
    subject: str
    user: str
    timestamp: str
    confidence: float
    quality: float
    flag: str
    served: int
    stale: int
    copy_of: str
    content_sha: str
    spaced_sha: str
    code: bytes
    vector: bytes
    record: bytes
    superseded_by: str
    anchor_file: str
    screened: str
    terms: str


def record_of(item: Item) -> bytes:
    """Encode the whole item without its secrets."""
    return _encode(replace(item, content=_clean(item.content), subject=_clean(item.subject)))


def item_of(record: bytes) -> Item:
    """Decode the item of a row."""
    return _item.decode(record)


def row_of(item: Item, backend: str) -> IndexRow:
    """Return the row of an item: secrets are redacted, and attacks are not served."""
    content, subject = _clean(item.content), _clean(item.subject)
    finding = screened(f"{subject}\n{content}")
    vector = embed(content)
    effective = effective_of(item)
    return IndexRow(
        id=_text(item.id),
        backend=backend,
        content=content,
        type=item.type,
        source=item.source,
        subject=subject,
        user=_text(item.user),
        timestamp=_text(item.timestamp),
        confidence=item.confidence if 0 <= item.confidence <= 1 else 0.0,
        quality=1.0 if effective is None or item.confidence <= 0 else max(0.0, effective / item.confidence),
        flag=item.flag.kind if item.flag else "",
        served=int(item.is_served and finding is None),
        stale=int(item.stale),
        copy_of=_text(item.copy_of),
        content_sha=item.content_sha,
        spaced_sha=spaced_sha(item.content),
        code=code_of(vector),
        vector=vector,
        record=record_of(item),
        superseded_by=item.flag.superseded_by if item.flag else "",
        anchor_file=item.anchor.file if item.anchor else "",
        screened=finding.kind if finding else "",
        terms=terms_of(content, subject),
    )


def effective_of(item: Item) -> float | None:
    """Return the effective confidence that the rollup wrote, or None (specification 2, section 4)."""
    quality = item.metadata.get(_QUALITY)
    value = quality.get(_EFFECTIVE) if isinstance(quality, dict) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value)


def with_effective(item: Item, value: float | None) -> Item:
    """Return the item with this effective confidence, or without one; unchanged if the step is too small."""
    known = effective_of(item)
    if known == value or (known is not None and value is not None and value and abs(known - value) < _STEP):
        return item
    kept = item.metadata.get(_QUALITY)
    quality = {name: one for name, one in kept.items() if name != _EFFECTIVE} if isinstance(kept, dict) else {}
    if value is not None:
        quality[_EFFECTIVE] = round(value, 4)
    others = {name: one for name, one in item.metadata.items() if name != _QUALITY}
    return replace(item, metadata=others | ({_QUALITY: quality} if quality else {}))


def _clean(text: str) -> str:
    return redact(_text(text))


def _text(text: str) -> str:
    """Replace lone surrogates, which come from broken JSON and cannot be stored."""
    return text.encode("utf-8", "replace").decode()

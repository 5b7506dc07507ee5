"""Errors and records that the backends with a driver share. Other programs may write records to the same database."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from knowbound.core.item import Item
from knowbound.distribution import extra_command
from knowbound.errors import StoreError
from knowbound.kms.backends.protocol import ContendedError, Swap
from knowbound.text.redact import redact

# Seconds that a write waits for a store that was reached before: it may elect a new primary or restart.
RECOVERY_SECONDS = 30.0
# Seconds after which a store that was never reached counts as unreachable.
CONNECT_SECONDS = 5.0


def missing(extra: str) -> StoreError:
    """Return the error for a driver that is not installed."""
    return StoreError(
        "backend-missing",
        f"The {extra} backend needs a driver that is not installed. Try: {extra_command(extra)}",
    )


def unreachable(name: str, url: str, reason: str) -> StoreError:
    """Return the error for a store that does not answer, or refuses."""
    place = printable_url(url)
    safe = redact(reason.replace(url, place))[:300].rstrip(".")
    return StoreError("backend-unreachable", f"{name} at {place}: {safe}. Try: start it, or correct its address")


def printable_url(url: str) -> str:
    """Return a URL that may be printed: without user, password and options, which may hold keys too."""
    scheme = re.match(r"[\w+]*://", url)
    hosts = url[scheme.end() if scheme else 0 :].rpartition("@")[2]
    return (scheme[0] if scheme else "") + re.split("[?#]", hosts)[0]


def to_text(item: Item) -> str:
    """Encode the item as JSON in ASCII, without fields at their default."""
    try:
        return json.dumps(msgspec.to_builtins(item))
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(
            "item-invalid", f"The item's metadata cannot be stored: {error}. Nothing was changed."
        ) from error


def to_record(item: Item) -> dict[str, Any]:
    """Return the item as plain values, its metadata as text: databases refuse or change some keys and numbers."""
    record: dict[str, Any] = json.loads(to_text(item))
    return record | ({"metadata": json.dumps(record["metadata"])} if "metadata" in record else {})


def to_item(record: dict[str, Any]) -> Item:
    """Return the item of a record that `to_record` or `to_text` made; raise ValueError for any other record."""
    if isinstance(metadata := record.get("metadata"), str):
        record = record | {"metadata": json.loads(metadata)}
    return msgspec.convert(record, Item)


def whole(items: Iterable[Item], stamp: str) -> tuple[Iterator[Item], str]:
    """Return all items and a digest of them as the stamp; no items if nothing changed since (`Backend.is_whole`)."""
    known = sorted({item.id: item for item in items}.values(), key=lambda item: item.id)
    now = hashlib.sha256("\n".join(map(to_text, known)).encode()).hexdigest()
    return iter(() if now == stamp else known), now


def refused(name: str, reason: object, slug: str = "item-invalid") -> StoreError:
    """Return the error for a value that the store cannot hold."""
    return StoreError(slug, f"{name} cannot store this: {reason}. Nothing was changed.")


def refuse_changed(swap: Swap, now: Item | None) -> None:
    """Raise ContendedError unless the item is as the caller of the swap read it; NaN equals itself here."""
    before = swap.before
    if before != now and (before is None or now is None or to_text(before) != to_text(now)):
        raise ContendedError(swap.id)

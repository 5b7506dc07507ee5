"""What the backends on other people's stores share: errors in our words, stamps, and records that may be no items."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

import msgspec

from knowbound.core.item import Item
from knowbound.errors import StoreError
from knowbound.text.redact import redact

# A store that was reached before may elect a new primary or restart: a write waits for that this long.
RECOVERY_SECONDS = 30.0
# A store that does not answer at first is not there.
CONNECT_SECONDS = 5.0


def missing(extra: str) -> StoreError:
    """The driver of an optional backend is not installed."""
    return StoreError(
        "backend-missing",
        f"The {extra} backend needs a driver that is not installed. Try: pip install 'knowbound[{extra}]'",
    )


def unreachable(name: str, url: str, reason: str) -> StoreError:
    """The store does not answer, or says no."""
    safe = redact(reason.replace(url, shown(url)))[:300].rstrip(".")
    return StoreError("backend-unreachable", f"{name} at {shown(url)}: {safe}. Try: start it, or correct its address")


def shown(url: str) -> str:
    """A connection URL as it may be printed: neither user nor password, nor options, which may hold keys too."""
    scheme = re.match(r"[\w+]*://", url)
    hosts = url[scheme.end() if scheme else 0 :].rpartition("@")[2]
    return (scheme[0] if scheme else "") + re.split("[?#]", hosts)[0]


class Stamp(NamedTuple):
    """How far a store has been written: by which store, and the number of its last write."""

    store: str  # tells a store from another one, or from the same one made anew
    number: int

    def __str__(self) -> str:
        return f"{self.store}:{self.number}"

    def since(self, earlier: str) -> int:
        """The number after which everything is new to who was given the earlier stamp; 0 for everything.

        A stamp of another store, or of a later state of this one (restored from a backup), tells nothing.
        """
        store, _, number = earlier.rpartition(":")
        seen = int(number) if store == self.store and number.isascii() and number.isdigit() else 0
        return seen if seen <= self.number else 0


def to_record(item: Item) -> dict[str, Any]:
    """The item as plain values, fields at their default left out."""
    try:
        record: dict[str, Any] = msgspec.to_builtins(item)
    except (TypeError, ValueError, RecursionError) as error:
        raise _no_data(error) from error
    return record


def to_text(value: object) -> str:
    """Plain values as ASCII JSON: keys and numbers that a store would refuse or change come back as they were."""
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise _no_data(error) from error


def _no_data(error: Exception) -> StoreError:
    return StoreError("item-invalid", f"The item's metadata cannot be stored: {error}. Nothing was changed.")


def to_item(record: dict[str, Any], skipped: dict[str, str], key: str) -> Item | None:
    """The record as an item, or None with the reason kept under its key: others may write to the same store."""
    try:
        return msgspec.convert(record, Item)
    except (msgspec.ValidationError, ValueError) as error:
        skipped[key] = str(error)
        return None


def to_values(text: object) -> dict[str, Any]:
    """What `to_text` wrote."""
    values = json.loads(text) if isinstance(text, str) else text
    if not isinstance(values, dict):
        raise ValueError(f"metadata is no object but {type(values).__name__}")
    return values

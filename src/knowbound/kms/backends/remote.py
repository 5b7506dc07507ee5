"""What the backends that need a driver share: errors, and items as records among records of others."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from knowbound.core.item import Item
from knowbound.distribution import extra_command
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
        f"The {extra} backend needs a driver that is not installed. Try: {extra_command(extra)}",
    )


def unreachable(name: str, url: str, reason: str) -> StoreError:
    """The store does not answer, or refuses."""
    safe = redact(reason.replace(url, shown(url)))[:300].rstrip(".")
    return StoreError("backend-unreachable", f"{name} at {shown(url)}: {safe}. Try: start it, or correct its address")


def shown(url: str) -> str:
    """A connection URL as it may be printed: neither user nor password, nor options, which may hold keys too."""
    scheme = re.match(r"[\w+]*://", url)
    hosts = url[scheme.end() if scheme else 0 :].rpartition("@")[2]
    return (scheme[0] if scheme else "") + re.split("[?#]", hosts)[0]


def to_text(item: Item) -> str:
    """The item as JSON in ASCII, fields at their default left out."""
    try:
        return json.dumps(msgspec.to_builtins(item))
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(
            "item-invalid", f"The item's metadata cannot be stored: {error}. Nothing was changed."
        ) from error


def to_record(item: Item) -> dict[str, Any]:
    """The item as plain values, its metadata as text: databases refuse or change some keys and numbers."""
    record: dict[str, Any] = json.loads(to_text(item))
    return record | ({"metadata": json.dumps(record["metadata"])} if "metadata" in record else {})


def to_item(record: dict[str, Any]) -> Item:
    """The item of a record that `to_record` or `to_text` made; ValueError where it is none."""
    if isinstance(metadata := record.get("metadata"), str):
        record = record | {"metadata": json.loads(metadata)}
    return msgspec.convert(record, Item)


@contextmanager
def skipping(skipped: dict[str, str], key: str) -> Iterator[None]:
    """Keep the reason why a record is no item under its key: others may write to the same store."""
    try:
        yield
    except ValueError as error:
        skipped[key] = str(error)


def refused(name: str, reason: object, slug: str = "item-invalid") -> StoreError:
    """The store cannot hold this."""
    return StoreError(slug, f"{name} cannot store this: {reason}. Nothing was changed.")


def is_same(one: Item | None, other: Item | None) -> bool:
    """Whether two items are the same in all they carry; a number that is none (NaN) equals itself here."""
    if one is None or other is None:
        return one is other
    return one == other or to_text(one) == to_text(other)

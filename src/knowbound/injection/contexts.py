"""The contexts of agents: one file per context, one line per item and index of the store that the context got.

    .knowbound/contexts/<session>    removed when the context is compacted or cleared

A sub-agent has a context of its own. An item is known by its id and content: after an update it is new again. The index
of the store is known by its whole text.
"""

from __future__ import annotations

import binascii
import os

from knowbound.user_files import append

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from knowbound.kms.search.ranking import FoundItem

FOLDER = "contexts"


def new_to_context(home: str, context: str, items: list[FoundItem]) -> list[FoundItem]:
    """Return the items that the context does not have in their current wording."""
    known_keys = keys_of(home, context) if items and context else set()
    return [item for item in items if item_key(item) not in known_keys]


def remember(home: str, context: str, keys: Iterable[str]) -> None:
    """Note that the context has what these keys name."""
    append(_file(home, context), "".join(f"{key}\n" for key in keys).encode("utf-8", "replace"))


def item_key(item: FoundItem) -> str:
    """Return the key of an item in its current wording."""
    return f"{item.id} {item.content_sha}"


def checksum_key(kind: str, text: str) -> str:
    """Return a key for a text that is known by its checksum."""
    return f"{kind} {binascii.crc32(text.encode('utf-8', 'replace')):08x}"


def forget(home: str, context: str) -> None:
    """Forget a context that was compacted or cleared: its items may be injected again."""
    try:
        os.unlink(_file(home, context))
    except FileNotFoundError:
        return


def name_of(context: str) -> str:
    """Return a file name for the context, also for an id that is no plain name."""
    if context.isascii() and context.replace("-", "").replace("_", "").isalnum() and len(context) <= 100:
        return context
    data = context.encode("utf-8", "surrogatepass")
    return f"{data[:80].hex()}.{binascii.crc32(data):08x}"  # hashlib costs 10 ms


def keys_of(home: str, context: str) -> set[str]:
    """Return all keys of the context."""
    try:
        with open(_file(home, context), encoding="utf-8", errors="replace") as lines:
            return set(lines.read().splitlines())
    except FileNotFoundError:
        return set()


def _file(home: str, context: str) -> str:
    return os.path.join(home, FOLDER, name_of(context))

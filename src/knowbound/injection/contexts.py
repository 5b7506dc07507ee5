"""Which items a context of an agent has: one file per context, one line per item that was delivered to it.

    .knowbound/contexts/<session>    removed when the context is compacted or cleared

A sub-agent has a context of its own. An item that a session started with is not withheld from the prompt that it fits:
it was not chosen for that prompt.
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
_AT_START = "start "  # before the items of a session's start


def new_to_context(home: str, context: str, items: list[FoundItem], *, at_start: bool) -> list[FoundItem]:
    """Those of the items, as they are worded now, that the context does not have yet."""
    known = _lines(home, context) if items and context else set()
    if at_start:
        return [item for item in items if _key(item) not in known and _AT_START + _key(item) not in known]
    return [item for item in items if _key(item) not in known]


def remember(home: str, context: str, items: Iterable[FoundItem], *, at_start: bool) -> None:
    """The context has these items from now on."""
    lines = "".join(f"{_AT_START if at_start else ''}{_key(item)}\n" for item in items)
    append(_file(home, context), lines.encode("utf-8", "replace"))


def forget(home: str, context: str) -> None:
    """The context was compacted or cleared: what was injected may be injected again."""
    try:
        os.unlink(_file(home, context))
    except FileNotFoundError:
        return


def name_of(context: str) -> str:
    """A file name for the context, also where its id is no plain name."""
    if context.isascii() and context.replace("-", "").replace("_", "").isalnum() and len(context) <= 100:
        return context
    data = context.encode("utf-8", "surrogatepass")
    return f"{data[:80].hex()}.{binascii.crc32(data):08x}"  # hashlib costs 10 ms


def context_of(name: str) -> str:
    """The context that a file is about, as far as its name has room for it."""
    data, dot, _ = name.partition(".")
    try:
        return bytes.fromhex(data).decode("utf-8", "replace") if dot else name
    except ValueError:
        return name


def _lines(home: str, context: str) -> set[str]:
    try:
        with open(_file(home, context), encoding="utf-8", errors="replace") as lines:
            return set(lines.read().splitlines())
    except FileNotFoundError:
        return set()


def _key(item: FoundItem) -> str:
    """The item as it is worded: after an update it is new again."""
    return f"{item.id} {item.content_sha}"


def _file(home: str, context: str) -> str:
    return os.path.join(home, FOLDER, name_of(context))

"""One hash over many parts, to see whether any of them changed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable


def digest_of(parts: Iterable[str]) -> str:
    """The SHA-256 over parts in their order, each closed by a zero: no two lists of parts run into each other."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode("utf-8", "surrogateescape"))
        digest.update(b"\0")
    return digest.hexdigest()

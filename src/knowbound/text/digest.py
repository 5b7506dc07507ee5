"""One hash of many parts, which changes with each part."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable


def digest_of(parts: Iterable[str]) -> str:
    """Return the SHA-256 of the parts in order. A zero byte after each part keeps different lists apart."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode("utf-8", "surrogateescape"))
        digest.update(b"\0")
    return digest.hexdigest()

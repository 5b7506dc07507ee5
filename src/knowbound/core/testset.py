"""The watermark: identifies the test set of a rate; no rate is shown without it (specification 1, section 7)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec

WARNING = (
    "This metric only reflects the interaction between the current test set and the knowledge base, "
    "and does not represent the knowledge base's absolute completeness."
)


class Watermark(msgspec.Struct, frozen=True):
    """Identity of a test set: path, size, first 8 hex digits of its SHA-256, and the warning."""

    path: str
    samples: int
    sha256_8: str
    warning: str = WARNING

    def __post_init__(self) -> None:
        if self.warning != WARNING:
            raise ValueError("a watermark carries the specification's warning word for word")

    def __str__(self) -> str:
        return f"Test set: {self.path} · {self.samples} samples · sha256 {self.sha256_8}\n{self.warning}"


def observed_hash(parts: Iterable[str]) -> str:
    """Return the hash of an observed corpus over its sessions; the order does not matter."""
    digest = hashlib.sha256()
    for part in sorted(parts):
        digest.update(part.encode("utf-8", "surrogatepass"))
        digest.update(b"\n")
    return digest.hexdigest()[:8]

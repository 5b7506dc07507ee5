"""What is put in the place of a secret."""

from __future__ import annotations


def mark(kind: str) -> str:
    """The mark of a secret of this kind."""
    return f"[redacted:{kind}]"

"""Secrets in a text: kind and fingerprint of each, never its value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256
from typing import NamedTuple

from knowbound.text.redact import redact

_MARK = re.compile(r"\[redacted:([a-z0-9-]+)\]")


class FoundSecret(NamedTuple):
    """One secret of a text."""

    kind: str
    fingerprint: bytes  # tells whether two places have the same secret; for this process alone


def secrets_in(text: str) -> Iterator[FoundSecret]:
    """Yield the secrets of a text, as `redact` finds them, in order. Marks that the text had before are none."""
    if (redacted := redact(text)) == text:
        return
    kinds = _MARK.findall(redacted)
    at = 0
    for number, part in enumerate(_MARK.split(redacted)[::2]):
        start = text.find(part, at) if part else (at if number < len(kinds) else len(text))
        start = at if start < 0 else start
        if number:
            value = text[at:start]
            if _MARK.fullmatch(value) is None:
                yield FoundSecret(kinds[number - 1], sha256(value.encode("utf-8", "replace")).digest())
        at = start + len(part)

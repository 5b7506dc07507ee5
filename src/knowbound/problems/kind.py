"""A kind of error: what happened, why, and what to do."""

from __future__ import annotations

from typing import NamedTuple


class Problem(NamedTuple):
    """A kind of error, as `knowbound explain SLUG` and docs/messages.md explain it."""

    slug: str
    what: str
    why: str
    do: str

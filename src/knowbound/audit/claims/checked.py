"""A claim with what the trace says about it, and the finding that comes of it."""

from __future__ import annotations

import msgspec

from knowbound.core.audit import BY_RULES, Claim, ClaimKind, FindingCode, Support

_LONGEST = 300  # characters of a sentence that are kept


class Checked(msgspec.Struct, frozen=True):
    """A claim, and the code of the finding where it has no support."""

    claim: Claim
    code: FindingCode | None = None


def checked(
    text: str,
    kind: ClaimKind,
    support: Support,
    why: str,
    *,
    line: int = 0,
    important: bool = True,
    code: FindingCode | None = None,
    by: str = BY_RULES,
) -> Checked:
    """A claim with its support; a finding only where it has none."""
    short = " ".join(text.split())[:_LONGEST]
    is_bad = support in (Support.UNSEEN, Support.CONTRADICTED)
    return Checked(Claim(short, kind, support, why, line, important, by), code if is_bad else None)

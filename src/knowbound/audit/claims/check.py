"""All claims of an answer, each checked against what the turn and its session show."""

from __future__ import annotations

from knowbound.audit.claims.answer import Answer
from knowbound.audit.claims.blocks import block_claims
from knowbound.audit.claims.causes import cause_claims
from knowbound.audit.claims.checked import Checked
from knowbound.audit.claims.commands import command_claims
from knowbound.audit.claims.left_out import left_out
from knowbound.audit.claims.places import place_claims
from knowbound.audit.claims.success import success_claims
from knowbound.audit.facts import SessionView, TurnFacts


def check_claims(answer: Answer, facts: TurnFacts, view: SessionView) -> list[Checked]:
    """The claims of an answer with their support, a failure that is left out first."""
    found: dict[tuple[str, str], Checked] = {}
    for claims in (left_out, command_claims, success_claims, place_claims, block_claims, cause_claims):
        for one in claims(answer, facts, view):
            found.setdefault((one.claim.kind, one.claim.text), one)
    return list(found.values())

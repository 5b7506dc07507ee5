"""Claims of audited turns for people to label, and how often the audit agrees with those labels."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from knowbound.config import Settings
from knowbound.core.audit import AuditedTurn, Claim, Support
from knowbound.judge.labels import ClaimLabel
from knowbound.stats.rate import Rate, clustered
from knowbound.store.observed import Audited
from knowbound.text.redact import redact

_DECIDED = tuple(one for one in Support if one is not Support.NOT_CHECKABLE)
ClaimKey = tuple[str, int, str]


class AuditedClaim(NamedTuple):
    """A claim that the audit decided, in its turn."""

    turn: AuditedTurn
    claim: Claim
    key: ClaimKey  # of its label

    @classmethod
    def of(cls, turn: AuditedTurn, claim: Claim) -> AuditedClaim:
        """Return the claim with its key: no label has a secret."""
        return cls(turn, claim, (turn.session, turn.turn, redact(claim.text)))

    @property
    def id(self) -> str:
        """The hash of the key, for forms and for an order that says nothing about the verdict."""
        return hashlib.sha256(repr(self.key).encode("utf-8", "replace")).hexdigest()[:16]


class SupportAgreement(NamedTuple):
    """Labels that say the same as the audit, of those on claims to which it gave one support."""

    support: Support
    rate: Rate
    unsure: int  # further labels, of people who were unsure


def decided_claims(settings: Settings) -> dict[ClaimKey, AuditedClaim]:
    """Return the claims of stored turns that the audit decided, by key."""
    found = (
        AuditedClaim.of(turn, claim)
        for session in Audited(settings.home).sessions()
        for turn in session.turns
        for claim in turn.claims
        if claim.is_decided
    )
    return {one.key: one for one in found}


def claims_to_label(claims: Iterable[AuditedClaim], known: Iterable[ClaimKey]) -> Iterator[AuditedClaim]:
    """Yield the unlabelled claims whose traces still exist, in an order that stays.

    Every support that the audit gave has its turn, as long as it has claims: rare verdicts are met often enough.
    """
    by_support: dict[Support, list[AuditedClaim]] = {one: [] for one in _DECIDED}
    for one in sorted(claims, key=lambda one: one.id):
        by_support[one.claim.support].append(one)
    labelled = frozenset(known)
    for drawn in zip_longest(*by_support.values()):
        for one in sorted(filter(None, drawn), key=lambda one: one.id):  # else the place would say the verdict
            if one.key not in labelled and Path(one.turn.file).is_file():
                yield one


def claim_agreement(labels: Sequence[ClaimLabel], claims: dict[ClaimKey, AuditedClaim]) -> list[SupportAgreement]:
    """Return the agreement for each support that the audit gave; claims of one session are alike.

    A label of a claim that is not stored any more is not counted.
    """
    found = []
    for support in _DECIDED:
        own = [one for one in labels if one.key in claims and claims[one.key].claim.support is support]
        by_session: dict[str, list[bool]] = {}
        for one in own:
            if one.label is not Support.NOT_CHECKABLE:
                by_session.setdefault(one.session, []).append(one.label is support)
        rate = clustered(Rate(sum(same), len(same)) for same in by_session.values())
        found.append(SupportAgreement(support, rate, len(own) - rate.n))
    return [one for one in found if one.rate.n or one.unsure]

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

_DECIDED_SUPPORTS = tuple(support for support in Support if support is not Support.NOT_CHECKABLE)
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
        """The hash of the key, for forms and for an order that is independent of the verdict."""
        return hashlib.sha256(repr(self.key).encode("utf-8", "replace")).hexdigest()[:16]


class SupportAgreement(NamedTuple):
    """Share of labels that agree with the audit, over the claims with one support."""

    support: Support
    rate: Rate
    unsure: int  # further labels, of people who were unsure


def decided_claims(settings: Settings) -> dict[ClaimKey, AuditedClaim]:
    """Return the claims of stored turns that the audit decided, by key."""
    claims = (
        AuditedClaim.of(turn, claim)
        for session in Audited(settings.home).sessions()
        for turn in session.turns
        for claim in turn.claims
        if claim.is_decided
    )
    return {claim.key: claim for claim in claims}


def claims_to_label(claims: Iterable[AuditedClaim], known: Iterable[ClaimKey]) -> Iterator[AuditedClaim]:
    """Yield the unlabelled claims whose traces still exist, in a fixed order.

    Each round draws one claim of every support, as long as there are any: rare verdicts are labelled, too.
    """
    by_support: dict[Support, list[AuditedClaim]] = {support: [] for support in _DECIDED_SUPPORTS}
    for audited in sorted(claims, key=lambda audited: audited.id):
        by_support[audited.claim.support].append(audited)
    labelled = frozenset(known)
    for drawn in zip_longest(*by_support.values()):
        # Sorted by hash: the order must not show the verdict.
        for audited in sorted(filter(None, drawn), key=lambda audited: audited.id):
            if audited.key not in labelled and Path(audited.turn.file).is_file():
                yield audited


def claim_agreement(labels: Sequence[ClaimLabel], claims: dict[ClaimKey, AuditedClaim]) -> list[SupportAgreement]:
    """Return the agreement for each support that the audit gave, with intervals over sessions, whose claims are alike.

    Labels of claims that are no longer stored are not counted.
    """
    agreement_by_support = []
    for support in _DECIDED_SUPPORTS:
        labels_of_support = [
            label for label in labels if label.key in claims and claims[label.key].claim.support is support
        ]
        by_session: dict[str, list[bool]] = {}
        for label in labels_of_support:
            if label.label is not Support.NOT_CHECKABLE:
                by_session.setdefault(label.session, []).append(label.label is support)
        rate = clustered(Rate(sum(agreements), len(agreements)) for agreements in by_session.values())
        agreement_by_support.append(SupportAgreement(support, rate, len(labels_of_support) - rate.n))
    return [agreement for agreement in agreement_by_support if agreement.rate.n or agreement.unsure]

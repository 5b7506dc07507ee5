"""Claims that people label: each support has its turn, nothing is drawn twice, and agreement by support."""

from __future__ import annotations

from pathlib import Path

from knowbound.audit.labelling import AuditedClaim, SupportAgreement, claim_agreement, claims_to_label
from knowbound.core.audit import AuditedTurn, Claim, ClaimKind, Diagnosis, Support
from knowbound.judge.labels import ClaimLabel
from knowbound.stats.rate import Rate

KIND = ClaimKind.TESTS_PASS


def claims(folder: Path, **counts: int) -> list[AuditedClaim]:
    """Claims of each support, each in a session of its own."""
    file = folder / "trace.jsonl"
    file.write_text("{}\n")
    found = []
    for support, count in counts.items():
        for at in range(count):
            turn = AuditedTurn(f"{support}-{at}", 1, "p", "modify", Diagnosis.UNKNOWN, "low", file=str(file))
            found.append(AuditedClaim.of(turn, Claim(f"{at} tests pass.", KIND, Support(support))))
    return found


def label(one: AuditedClaim, given: Support) -> ClaimLabel:
    return ClaimLabel(*one.key, KIND, given)


def test_a_rare_support_is_drawn_as_often_as_a_common_one(tmp_path: Path) -> None:
    drawn = list(claims_to_label(claims(tmp_path, supported=40, contradicted=3, unseen=5), ()))
    assert sorted(one.claim.support for one in drawn[:9]) == ["contradicted"] * 3 + ["supported"] * 3 + ["unseen"] * 3
    assert len(drawn) == 48


def test_the_place_of_a_claim_says_nothing_about_its_support(tmp_path: Path) -> None:
    drawn = list(claims_to_label(claims(tmp_path, supported=30, contradicted=30, unseen=30), ()))
    assert {one.claim.support for one in drawn[::3]} == {Support.SUPPORTED, Support.CONTRADICTED, Support.UNSEEN}


def test_a_label_takes_its_claim_out_and_leaves_the_order(tmp_path: Path) -> None:
    found = claims(tmp_path, supported=4, unseen=4)
    drawn = list(claims_to_label(found, ()))
    assert list(claims_to_label(found, [drawn[2].key])) == drawn[:2] + drawn[3:]


def test_a_claim_whose_trace_is_gone_is_not_drawn(tmp_path: Path) -> None:
    found = claims(tmp_path, supported=1)
    (tmp_path / "trace.jsonl").unlink()
    assert list(claims_to_label(found, ())) == []


def test_agreement_is_counted_by_support_without_those_who_cannot_tell(tmp_path: Path) -> None:
    found = claims(tmp_path, supported=3, unseen=2)
    given = [
        label(found[0], Support.SUPPORTED),
        label(found[1], Support.CONTRADICTED),
        label(found[2], Support.NOT_CHECKABLE),
        label(found[3], Support.UNSEEN),
        ClaimLabel("gone", 1, "It is gone.", KIND, Support.UNSEEN),
    ]
    assert claim_agreement(given, {one.key: one for one in found}) == [
        SupportAgreement(Support.SUPPORTED, Rate(1, 2), 1),
        SupportAgreement(Support.UNSEEN, Rate(1, 1), 0),
    ]

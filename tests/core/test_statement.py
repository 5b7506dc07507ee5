from __future__ import annotations

import pytest

from knowbound.core.audit import Claim, ClaimKind, Support
from knowbound.core.statement import Rule, RuleCheck, RuleFinding, RuleVerdict


def test_a_rule_is_known_by_its_file_and_words_wherever_it_is_wrapped() -> None:
    assert Rule("CLAUDE.md", 3, "Use  pnpm\n  always").key == "CLAUDE.md\nUse pnpm always"
    assert Rule("CLAUDE.md", 9, "Use pnpm always", heading="Tools").key == "CLAUDE.md\nUse pnpm always"


@pytest.mark.parametrize(
    ("verdict", "is_broken"),
    [(RuleVerdict.VIOLATED, True), (RuleVerdict.PARTLY, True), (RuleVerdict.OBEYED, False), (None, False)],
)
def test_a_rule_is_broken_where_it_was_violated_at_least_in_part(verdict: RuleVerdict | None, is_broken: bool) -> None:
    finding = RuleFinding(True, verdict)
    assert RuleCheck(Rule("CLAUDE.md", 3, "Use pnpm"), "s1", "2026-11-01", finding).is_broken is is_broken


@pytest.mark.parametrize("support", Support)
def test_a_claim_is_decided_unless_it_cannot_be_checked(support: Support) -> None:
    assert Claim("It works.", ClaimKind.DONE, support).is_decided is (support is not Support.NOT_CHECKABLE)

"""The kinds of claims: what finds them, the finding where nothing shows one, what would show it, and who decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from knowbound.audit.claims.answer import Answer, Checked
from knowbound.audit.claims.exact import command_claims, git_claims
from knowbound.audit.claims.success import left_out, success_claims
from knowbound.audit.facts import SessionView, TurnFacts
from knowbound.core.audit import ClaimKind, FindingCode

# What reads claims off an answer by rules. What is found first is shown first.
FINDERS: tuple[Callable[[Answer, TurnFacts, SessionView], Iterator[Checked]], ...] = (
    left_out,
    command_claims,
    success_claims,
    git_claims,
)


class KindOfClaim(NamedTuple):
    """The finding where nothing shows a claim of a kind, and the next step."""

    code: FindingCode
    next: str
    is_of_rules: bool = False  # what rules decide about it wins over a model


KINDS = {
    ClaimKind.TESTS_PASS: KindOfClaim(
        FindingCode.RESULT_NOT_SHOWN, "run the tests after the last edit and read their result", is_of_rules=True
    ),
    ClaimKind.BUILD_OK: KindOfClaim(FindingCode.RESULT_NOT_SHOWN, "build it after the last edit", is_of_rules=True),
    ClaimKind.LINT_OK: KindOfClaim(
        FindingCode.RESULT_NOT_SHOWN, "run the linter or type check after the last edit", is_of_rules=True
    ),
    ClaimKind.DONE: KindOfClaim(FindingCode.SUCCESS_WITHOUT_RUN, "run what was changed"),
    ClaimKind.LOCATION: KindOfClaim(FindingCode.CITED_UNSEEN, "open the cited file at the cited line"),
    ClaimKind.CAUSE: KindOfClaim(FindingCode.CAUSE_WITHOUT_EVIDENCE, "look at history, or run it without the change"),
    ClaimKind.BEHAVIOUR: KindOfClaim(FindingCode.BEHAVIOUR_NOT_SHOWN, "look it up, or try it"),
    ClaimKind.NUMBER: KindOfClaim(FindingCode.NUMBER_NOT_SHOWN, "count again"),
    ClaimKind.GIT_STATE: KindOfClaim(FindingCode.STATE_NOT_SHOWN, "look at git log and git status", is_of_rules=True),
    ClaimKind.ABSENCE: KindOfClaim(FindingCode.ABSENCE_NOT_SEARCHED, "search for the name"),
    ClaimKind.COMMAND_OUTPUT: KindOfClaim(FindingCode.OUTPUT_NOT_PRINTED, "run the command and compare its output"),
    ClaimKind.OTHER: KindOfClaim(FindingCode.CLAIM_NOT_SHOWN, "look at what would show it"),
}
OF_RULES = frozenset(kind for kind, one in KINDS.items() if one.is_of_rules)

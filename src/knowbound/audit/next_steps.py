"""The one next action for a turn, by its diagnosis (DESIGN: the table of diagnoses)."""

from __future__ import annotations

from knowbound.audit.diagnosis import Verdict
from knowbound.core.audit import UNSUPPORTED, AuditFinding, Claim, ClaimKind, Diagnosis, FindingCode
from knowbound.text.redact import redact

_GET: dict[ClaimKind, str] = {
    ClaimKind.TESTS_PASS: "run the tests after the last edit and read their result",
    ClaimKind.BUILD_OK: "build it after the last edit",
    ClaimKind.LINT_OK: "run the linter or type check after the last edit",
    ClaimKind.DONE: "run what was changed",
    ClaimKind.LOCATION: "open the cited file at the cited line",
    ClaimKind.CAUSE: "look at history, or run it without the change",
    ClaimKind.GIT_STATE: "look at git log and git status",
    ClaimKind.COMMAND_OUTPUT: "run the command and compare its output",
    ClaimKind.ABSENCE: "search for the name",
    ClaimKind.NUMBER: "count again",
    ClaimKind.BEHAVIOUR: "look it up, or try it",
}
_BY_CODE: dict[FindingCode, str] = {
    FindingCode.FAILURE_LEFT_OUT: "read the failed run, and run it again",
    FindingCode.NO_TESTS_RAN: "find out why no tests were collected",
}
_LONGEST = 120


def next_step(
    verdict: Verdict, claims: tuple[Claim, ...], findings: tuple[AuditFinding, ...], missed: list[str]
) -> str:
    """What to do about a turn; "" where nothing is."""
    match verdict.diagnosis:
        case Diagnosis.UNSUPPORTED:
            if findings and findings[0].code in _BY_CODE:
                return _BY_CODE[findings[0].code]
            bad = next((one for one in claims if one.important and one.support in UNSUPPORTED), None)
            return _GET.get(bad.kind, "get the named evidence") if bad else "get the named evidence"
        case Diagnosis.MISLED:
            return f"knowbound kms supersede {verdict.item}" if verdict.item else "correct what it was given"
        case Diagnosis.IGNORED:
            return f"knowbound kms show {verdict.item}: trim or demote it"
        case Diagnosis.BLIND:
            return (
                f"write down: {redact(missed[0])[:_LONGEST]}" if missed else "write down what was missing; add a sample"
            )
        case _:
            return ""

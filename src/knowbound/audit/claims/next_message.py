"""The user's next message against a claim of success: a pasted failure, "still broken", the same request again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from knowbound.audit.claims import words
from knowbound.audit.claims.checked import Checked, checked
from knowbound.audit.facts import TurnFacts
from knowbound.core.audit import ClaimKind, FindingCode, Support
from knowbound.text.printable import short_line

# What tools print when they fail, at the beginning of a line, in any language of the user.
_PASTED = re.compile(
    r"^[^\S\n]*(?:FAIL(?:ED|URE)?\b|Traceback \(most recent|(?:fatal )?error(?:\[\w+\])?:|npm (?:ERR!|error)|panic:"
    r"|ERROR\b|(?:Uncaught )?\w*(?:Error|Exception): |[✖✗×❌] |\S+\(\d+,\d+\): error|\S+:\d+:\d+:? error"
    r"|\d+ (?:tests? )?failed\b)|\berror TS\d+|\b(?:exit(?:ed with)?|status) code:? [1-9]\b|\bExit status [1-9]",
    re.M,
)
_BROKEN = re.compile(
    r"\bstill (?:broken|fail\w*|not|doesn'?t|does not|get\w*|see\w*|happen\w*|crash\w*|wrong|the same)\b"
    r"|\bsame (?:error|problem|issue|thing)\b"
    r"|^\W*(?:no\W+)?(?:it|this|that)(?:'?s| is| does| did)?(?: \w+)? ?(?:n'?t|not) "
    r"(?:work\w*|compil\w*|build\w*|fixed)\b"
    r"|\b(?:build|tests?|lint|ci|pipeline) (?:is |are |still )*(?:fail\w*|broken|red)\b"
)
_READ = 4_000  # characters of the message
_SHORTEST = 20  # characters of a request that can be made again
_QUOTED = 120
_SUCCESS = (ClaimKind.TESTS_PASS, ClaimKind.BUILD_OK, ClaimKind.LINT_OK, ClaimKind.DONE)


def complaint(prompt: str, message: str) -> str:
    """Return why the user's next message contradicts the turn, in words; "" if it does not by these rules."""
    text = message[:_READ]
    if pasted := _PASTED.search(text):
        line = text[text.rfind("\n", 0, pasted.start()) + 1 :].strip().split("\n", 1)[0]
        return f"the user's next message has a failure: “{short_line(line, _QUOTED)}”"
    if _BROKEN.search(text.lower()):
        return f"the user's next message says: “{short_line(text, _QUOTED)}”"
    first, second = (" ".join(one.lower().split()) for one in (prompt, message))
    if first == second and len(first) >= _SHORTEST and not first.startswith(("/", "<")):
        return "the user asked for the same thing again"
    return ""


def contradicted_by_user(prompt: str, message: str, found: Sequence[Checked], facts: TurnFacts) -> Iterator[Checked]:
    """Yield the claim of success that the next message contradicts, where this turn changed code."""
    if not message or facts.last_code_edit is None or not (why := complaint(prompt, message)):
        return
    for one in found:
        low, kind = one.claim.text.lower(), one.claim.kind
        says = kind is not ClaimKind.DONE or bool(words.WORKS.search(low) or words.VERIFIED.search(low))
        if kind in _SUCCESS and says and one.claim.support is not Support.CONTRADICTED:
            code = FindingCode.USER_CONTRADICTS
            yield checked(one.claim.text, kind, Support.CONTRADICTED, why, line=one.claim.line, code=code)
            return

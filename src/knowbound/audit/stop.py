"""Whether the answer that an agent is about to stop with claims success without support: one factual sentence, or none.

Only claims about tests, build, lint and done, and only where the trace settles them: whoever is interrupted wrongly
switches it off. It reads the transcript of the session and loads as little as that needs.
"""

from __future__ import annotations

import time
from pathlib import Path

from knowbound.audit.claims.answer import Answer, read_answer
from knowbound.audit.claims.commands import command_claims
from knowbound.audit.claims.left_out import left_out
from knowbound.audit.claims.success import success_claims
from knowbound.audit.facts import SessionView, TurnFacts, facts_of
from knowbound.core.audit import UNSUPPORTED, Claim, ClaimKind, FindingCode
from knowbound.text.printable import whole_words
from knowbound.traces.turns import session_of, turns_in

LARGEST = 24 * 1024 * 1024  # bytes of a transcript: a larger one is not read while the agent waits
_KINDS = frozenset({ClaimKind.TESTS_PASS, ClaimKind.BUILD_OK, ClaimKind.LINT_OK, ClaimKind.DONE})
_NOT_NOW = frozenset({FindingCode.PARTIAL_RUN, FindingCode.NUMBER_NOT_SHOWN})  # worth a report, not an interruption
_QUOTED = 140  # characters of the sentence that are repeated


def missing_support(transcript: Path, answer: str, until: float) -> str:
    """What the answer claims and the session does not show, in one sentence; "" where nothing is, or in doubt.

    `until` is a monotonic time: after it the agent has waited long enough.
    """
    try:
        if transcript.stat().st_size > LARGEST:
            return ""
    except OSError:
        return ""
    view, facts = SessionView(), TurnFacts()
    for turn in turns_in(session_of(transcript)):
        facts = facts_of(turn, view)
        if time.monotonic() > until:
            return ""
    if not facts.calls or facts.waits:
        return ""  # nothing was done in this turn, or something still runs
    claim = to_name(read_answer(answer), facts, view)
    return sentence(claim) if claim is not None else ""


def to_name(answer: Answer, facts: TurnFacts, view: SessionView) -> Claim | None:
    """The first claim of success that the session does not show, and that is worth an interruption."""
    found = (*success_claims(answer, facts, view), *command_claims(answer, facts, view), *left_out(answer, facts, view))
    for one in found:
        claim = one.claim
        if claim.kind in _KINDS and claim.important and claim.support in UNSUPPORTED and one.code not in _NOT_NOW:
            return claim
    return None


def sentence(claim: Claim) -> str:
    """The one sentence: what was said, and what is missing."""
    from knowbound.text.redact import redact  # noqa: PLC0415  (its patterns take long, and most answers need none)

    text = redact(claim.text)
    said = text if len(text) <= _QUOTED else f"{whole_words(text, _QUOTED)} …"
    return f'The answer says "{said}", but {redact(claim.why)}.'

"""Actions for answers whose claim nothing shows: the newest that still matter, with the command that would show it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

from knowbound.core.action import Action, ActionCost, ActionKind, action_id
from knowbound.core.audit import UNSUPPORTED, AuditedSession, AuditedTurn, Claim, ClaimKind, Diagnosis, FindingCode
from knowbound.core.signal import Example
from knowbound.review.proposing import Proposed
from knowbound.store.audited import Audited
from knowbound.store.listing import SqliteResults
from knowbound.store.screens import Fix
from knowbound.text.printable import whole_words

MOST = 2  # on the screen: a line that is repaired helps every session, an answer only one
_DAYS = 14  # before the newest session: older work has been used, or thrown away
_QUOTED = 100  # characters of the sentence
_SHOWN_WRONG = frozenset({FindingCode.USER_CONTRADICTS, FindingCode.FAILURE_LEFT_OUT, FindingCode.TRACE_CONTRADICTS})
_NITPICKS = frozenset({FindingCode.PARTIAL_RUN, FindingCode.NUMBER_NOT_SHOWN, FindingCode.CLAIM_NOT_SHOWN})
_WORTH, _WORTH_WRONG = 3.0, 5.0  # in calls, as other actions are ranked: one wrong line counts for three
# Checks that show a claim; any of them shows that something is done.
_CHECKS = {
    ClaimKind.TESTS_PASS: ("test",),
    ClaimKind.BUILD_OK: ("build", "type check", "test"),
    ClaimKind.LINT_OK: ("lint", "type check", "format"),
    ClaimKind.DONE: ("test", "build", "type check", "run"),
}


def verify_actions(home: Path, sessions: Collection[str]) -> list[Proposed]:
    """Return the actions about answers of these sessions, best first."""
    with closing(SqliteResults(home)) as results:
        keys = results.keys_of(sorted(sessions))
    audited = [one for one in Audited(home).sessions(keys) if one.session in sessions]
    newest = max((turn.time for one in audited for turn in one.turns), default="")
    since = _days_before(newest)
    commands = _commands(audited)
    found = [
        _action(turn, claim, commands)
        for one in audited
        for turn, claim in _still_open(one)
        if turn.time >= since and turn.findings and turn.findings[0].code not in _NITPICKS
    ]
    return sorted(found, key=lambda one: (-one.worth, _backwards(one.action.title)))[:MOST]


def _still_open(session: AuditedSession) -> Iterator[tuple[AuditedTurn, Claim]]:
    """Yield the unsupported turns with their claim, without those that a later turn of the session has shown."""
    for at, turn in enumerate(session.turns):
        bad = [one for one in turn.claims if one.important and one.support in UNSUPPORTED]
        if turn.diagnosis is not Diagnosis.UNSUPPORTED or not bad:
            continue
        later = {kind for one in session.turns[at + 1 :] for kind in one.passed}
        if later.isdisjoint(_CHECKS.get(bad[0].kind, ())):
            yield turn, bad[0]


def _commands(audited: Iterable[AuditedSession]) -> dict[str, str]:
    """Return, for each kind of check, the command that passed most often in these sessions."""
    counts: dict[str, Counter[str]] = {}
    for one in audited:
        for turn in one.turns:
            for kind, command in turn.passed.items():
                counts.setdefault(kind, Counter())[command] += 1
    return {kind: count.most_common(1)[0][0] for kind, count in counts.items()}


def _action(turn: AuditedTurn, claim: Claim, commands: dict[str, str]) -> Proposed:
    id_ = action_id(ActionKind.VERIFY, f"{turn.session} {turn.turn}")
    said = claim.text if len(claim.text) <= _QUOTED else f"{whole_words(claim.text, _QUOTED)} …"
    title = f"{turn.time[:10]}, session {turn.session[:8]}, turn {turn.turn}: “{said}”, but {claim.why}"
    command = next((commands[kind] for kind in _CHECKS.get(claim.kind, ()) if kind in commands), "")
    step = f"{turn.next}: {command}" if command else turn.next
    fix = Fix(id_, title, session=turn.session, turn=turn.turn, trace=turn.file, content=step)
    action = Action(
        id_, ActionKind.VERIFY, title, f"To verify it: {step}.", ActionCost(sessions=1),
        [Example(turn.session, turn.file, claim.line or turn.line)], by=claim.by,
    )  # fmt: skip
    is_wrong = turn.findings[0].code in _SHOWN_WRONG
    return Proposed(action, fix, _WORTH_WRONG if is_wrong else _WORTH)


def _days_before(time: str) -> str:
    try:
        return (datetime.fromisoformat(time) - timedelta(days=_DAYS)).strftime("%Y-%m-%dT%H:%M:%S")
    except ValueError:
        return ""


def _backwards(text: str) -> list[int]:
    return [-ord(character) for character in text]  # newest first

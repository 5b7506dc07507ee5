"""Shares of each diagnosis among audited turns: for reports, for gates, and for a line in other reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from knowbound.core.audit import AuditedSession, AuditedTurn, Diagnosis
from knowbound.language import say, translated
from knowbound.report.audit.model import Shares
from knowbound.stats.rate import Rate, clustered
from knowbound.store.audited import Audited


def stored_shares(home: Path, admits: Callable[[AuditedSession], bool] = bool) -> Shares:
    """The shares of each diagnosis among the stored turns of the sessions that are admitted."""
    sessions = (session for session in Audited(home).sessions() if admits(session))
    return shares_of("all", ((session, turn) for session in sessions for turn in session.turns))


def shares_of(name: str, turns: Iterable[tuple[AuditedSession, AuditedTurn]]) -> Shares:
    """The shares of each diagnosis; turns of one session are alike."""
    by_session: dict[str, Counter[str]] = {}
    for session, turn in turns:
        by_session.setdefault(session.session, Counter())[turn.diagnosis] += 1
    rates = {
        diagnosis.value: clustered(Rate(counts[diagnosis], counts.total()) for counts in by_session.values())
        for diagnosis in Diagnosis
    }
    return Shares(name, sum(counts.total() for counts in by_session.values()), rates)


def shares_line(shares: Shares) -> str:
    """The distribution in one line, or how to get it."""
    if not shares.turns:
        return "Answers were not audited yet: knowbound audit"
    counts = [(shares.rate(one).k, one.value) for one in Diagnosis]
    shown = ", ".join(f"{k:,} {translated(name)}" for k, name in sorted(counts, key=lambda one: -one[0]) if k)
    return say("Answers of {:,} audited turns: {} (knowbound audit)", shares.turns, shown)

"""Shares of each diagnosis among audited turns: for reports, for gates, and for a line in other reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from pathlib import Path

from knowbound.core.audit import AuditedSession, AuditedTurn, Diagnosis
from knowbound.language import say, translated
from knowbound.report.answers import Shares
from knowbound.stats.rate import Rate, clustered
from knowbound.store.listing import SqliteResults


def stored_shares(home: Path, admits: Callable[[AuditedSession], bool] = bool) -> Shares:
    """Return the shares of each diagnosis among the stored turns of the admitted sessions (`bool` admits all)."""
    by_session: dict[str, Counter[str]] = {}
    with closing(SqliteResults(home)) as results:
        for session, counts in results.audits():
            if admits(session):
                by_session.setdefault(session.session, Counter()).update(counts)
    return _shares("all", by_session)


def shares_of(name: str, turns: Iterable[tuple[AuditedSession, AuditedTurn]]) -> Shares:
    """Return the shares of each diagnosis, with intervals over sessions: turns of one session are alike."""
    by_session: dict[str, Counter[str]] = {}
    for session, turn in turns:
        by_session.setdefault(session.session, Counter())[turn.diagnosis] += 1
    return _shares(name, by_session)


def _shares(name: str, by_session: Mapping[str, Counter[str]]) -> Shares:  # counts of diagnoses, by session
    rates = {
        diagnosis.value: clustered(Rate(counts[diagnosis], counts.total()) for counts in by_session.values())
        for diagnosis in Diagnosis
    }
    return Shares(name, sum(counts.total() for counts in by_session.values()), rates)


def shares_line(shares: Shares) -> str:
    """Return the distribution in one line, or how to get it."""
    if not shares.turns:
        return "Answers were not audited yet: knowbound audit"
    counts = [(shares.rate(diagnosis).k, diagnosis.value) for diagnosis in Diagnosis]
    shown = ", ".join(f"{k:,} {translated(name)}" for k, name in sorted(counts, key=lambda count: -count[0]) if k)
    return say("Answers of {:,} audited turns: {} (knowbound audit)", shares.turns, shown)

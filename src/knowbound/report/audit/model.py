"""The report of `audit` as values: what every format shows."""

from __future__ import annotations

import msgspec

from knowbound.core.audit import AuditedTurn, Diagnosis
from knowbound.core.reading import ReadShares, SessionsRead
from knowbound.stats.rate import Rate


class Shares(msgspec.Struct, frozen=True):
    """How the turns of a group were diagnosed. Intervals know that turns of one session are alike."""

    name: str
    turns: int
    rates: dict[str, Rate]  # diagnosis → rate of all turns

    def rate(self, diagnosis: Diagnosis) -> Rate:
        """The share of a diagnosis."""
        return self.rates.get(diagnosis, Rate(0, self.turns))


class AuditReport(msgspec.Struct, frozen=True):
    """Everything that `audit` reports."""

    whole: Shares
    groups: dict[str, list[Shares]]  # project, agent, model, skill, week → their shares
    claims: dict[str, dict[str, int]]  # kind → support → claims
    findings: dict[str, int]  # code → findings
    first: list[AuditedTurn]  # the turns to look at first
    sessions: int
    places: list[str]
    filters: dict[str, str] = {}
    reading: SessionsRead = SessionsRead()
    warnings: list[str] = []
    made: str = ""
    version: str = ""
    judged: dict[str, int] = {}  # model → turns that it has read, now or before
    waiting: int = 0  # turns that rules doubt and no model has read, of the most suspicious
    asked: int = 0  # turns that a model read now
    calls: int = 0
    tokens: int = 0  # that were sent now, as estimated
    usd: float | None = 0.0  # what that cost; None: unknown
    read: ReadShares = ReadShares()  # of the sessions' files


class TurnPage(msgspec.Struct, frozen=True):
    """One turn side by side: what was injected, searched, found and claimed."""

    turn: AuditedTurn
    prompt: str
    injected: list[tuple[str, str]]  # source, beginning of the text
    calls: list[tuple[str, str, str, int]]  # kind, what, outcome, line
    evidence: list[tuple[str, str, str, str]]  # class, quality, strength, tool and query
    answer: str
    explanation: str = ""  # of the confidence
    version: str = ""

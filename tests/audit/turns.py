"""Recorded turns written for the tests of the audit, and what the audit says about them."""

from __future__ import annotations

from pathlib import Path

from knowbound.audit.reading import read_session
from knowbound.core.audit import AuditedTurn, Diagnosis, Support
from knowbound.judge.turns import RulesTurnJudge
from knowbound.traces.sessions import SharedEvents
from knowbound.traces.turns import session_of
from tests.transcripts import PROJECT, Transcript


def edit(turns: Transcript, path: str = "src/app.py", old: str = "a = 1", new: str = "a = 2") -> Transcript:
    """An Edit that succeeded."""
    id_ = f"edit_{len(turns.lines)}"
    path = path if path.startswith("/") else f"{PROJECT}/{path}"
    turns.calls("Edit", {"file_path": path, "old_string": old, "new_string": new}, id_)
    return turns.result(id_, "The file has been updated.", {"filePath": path, "oldString": old, "newString": new})


def started(prompt: str = "Fix the rounding of totals in app.py") -> Transcript:
    """A session with its first prompt."""
    return Transcript().user(prompt)


def audited(turns: Transcript, folder: Path) -> list[AuditedTurn]:
    """The audited turns of a transcript."""
    (session,) = read_session(SharedEvents(session_of(turns.write(folder))), RulesTurnJudge)
    return session.turns


def last(turns: Transcript, folder: Path) -> AuditedTurn:
    """The last turn of a transcript."""
    return audited(turns, folder)[-1]


def codes(turn: AuditedTurn) -> set[str]:
    """The codes of a turn's findings."""
    return {one.code.value for one in turn.findings}


def is_believed(turn: AuditedTurn) -> bool:
    """Whether rules hold nothing against the answer, and every important claim that they decide is supported."""
    supports = {one.support for one in turn.claims if one.important and one.is_decided}
    return turn.diagnosis is not Diagnosis.UNSUPPORTED and supports <= {Support.SUPPORTED} and bool(supports)

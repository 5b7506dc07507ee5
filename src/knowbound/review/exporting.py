"""Rows of every lens for other programs: tables, and verdicts as evaluations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

from knowbound.config import Settings
from knowbound.core.audit import AuditedSession, AuditedTurn, Support
from knowbound.core.quality import Metric, QualityTurn
from knowbound.core.signal import Findings, Signal
from knowbound.kms.opening import open_index, open_quality_log
from knowbound.report.export import EvaluationEvent
from knowbound.text.redact import redact

_SCORES = {Support.SUPPORTED: 1.0, Support.CONTRADICTED: 0.0}
_GROUPS = (("injected", "injected_items"), ("pulled", "pulled_items"), ("other", "other_items"))
_TEXT_CHARACTERS = 2000
Rows = dict[str, list[dict[str, Any]]]


def table_rows(
    found: Sequence[Findings], signals: Sequence[Signal], audited: Sequence[AuditedSession], settings: Settings
) -> Rows:
    """Return the rows of every table; texts are without secrets."""
    turns_of = {(session.session, turn.turn): turn for session in audited for turn in session.turns}
    rows: Rows = {"sessions": [], "turns": [], "signals": [], "claims": [], "items": [], "verdicts": []}
    for session in found:
        rows["sessions"].append(
            {
                "session": session.session, "agent": session.agent, "project": session.project,
                "started": session.started, "ended": session.ended, "version": session.version,
                "turns": len(session.turns), "tool_calls": session.tool_calls, "signals": len(session.signals),
                "lines": session.lines, "file": session.files[0] if session.files else None,
            }
        )  # fmt: skip
        for turn in session.turns:
            row: dict[str, Any] = {
                "session": session.session, "turn": turn.index, "time": turn.time, "author": str(turn.author),
                "prompt": _text(turn.prompt), "steps": turn.steps, "calls": turn.calls, "file": turn.file,
                "line": turn.line,
            }  # fmt: skip
            if judged := turns_of.get((session.session, turn.index)):
                row |= {name: str(getattr(judged, name)) for name in ("intent", "diagnosis", "confidence", "model")}
                row |= {"skill": judged.skill, "by": judged.by}
            rows["turns"].append(row)
    for signal in signals:
        row = {name: getattr(signal, name) for name in ("session", "turn", "sample", "weight", "topic", "file", "line")}
        row |= {name: _text(str(getattr(signal, name) or "")) for name in ("query", "path", "text")}
        row |= {name: str(getattr(signal, name) or "") for name in ("type", "status", "ending")}
        rows["signals"].append({**row, "by": signal.by or "rules"})
    rows["claims"] = [row for session in audited for turn in session.turns for row in _claims(turn)]
    rows["items"] = list(_items(settings))
    rows["verdicts"] = [row for turn in _logged(settings) for row in _verdicts(turn)]
    return rows


def _claims(turn: AuditedTurn) -> Iterator[dict[str, Any]]:
    for claim in turn.claims:
        row = {"session": turn.session, "turn": turn.turn, "file": turn.file, "line": claim.line}
        row |= {"kind": str(claim.kind), "support": str(claim.support), "important": claim.important}
        yield {**row, "text": _text(claim.text), "why": _text(claim.why), "by": claim.by}


def evaluations(audited: Sequence[AuditedSession], settings: Settings) -> Iterator[EvaluationEvent]:
    """Yield every verdict: the diagnosis of a turn, its claims, and the items that were judged in it."""
    for session in audited:
        for turn in session.turns:
            of_turn = (turn.session, str(turn.turn), turn.time)
            yield EvaluationEvent("knowbound.diagnosis", *of_turn, str(turn.diagnosis), None, _text(turn.why), turn.by)
            for claim in turn.claims:
                score, name = _SCORES.get(claim.support), f"knowbound.claim.{claim.kind}"
                yield EvaluationEvent(
                    name, *of_turn, str(claim.support), score, _text(claim.why), claim.by, _text(claim.text)
                )
    for logged in _logged(settings):
        for row in _verdicts(logged):
            for metric in Metric:
                is_so, of_turn = bool(row[metric]), (logged.session_id, logged.turn_id, logged.timestamp)
                # 1 is good for every metric: that an item was contradicted is bad.
                score = float(is_so != (metric is Metric.CONTRADICTED))
                label = "yes" if is_so else "no"
                yield EvaluationEvent(
                    f"knowbound.item.{metric}", *of_turn, label, score, row["correction"], row["judge"], row["item"]
                )


def _items(settings: Settings) -> Iterator[dict[str, Any]]:
    with closing(open_index(settings)) as index:
        for indexed in index.all_items():
            item = indexed.item
            yield {
                "item": item.id, "backend": indexed.backend, "type": str(item.type), "source": str(item.source),
                "subject": item.subject, "content": _text(item.content), "confidence": item.confidence,
                "flag": str(item.flag.kind) if item.flag else None, "served": indexed.served,
                "confirmed": item.timestamp,
            }  # fmt: skip


def _logged(settings: Settings) -> list[QualityTurn]:
    with closing(open_quality_log(settings)) as log:
        return list(log.since(""))


def _verdicts(turn: QualityTurn) -> Iterator[dict[str, Any]]:
    """Yield the verdicts on the items of a turn, by how the items came into the context."""
    for how, name in _GROUPS:
        for item in getattr(turn, name):
            if (verdict := item.verdict) is not None:
                row = {"session": turn.session_id, "turn_id": turn.turn_id, "time": turn.timestamp, "agent": turn.agent}
                row |= {str(metric): verdict.says(metric) for metric in Metric}
                yield {**row, "item": item.id, "how": how, "correction": verdict.correction, "judge": verdict.judge}


def _text(text: str) -> str:
    return redact(text)[:_TEXT_CHARACTERS]

"""Verdicts as telemetry: OpenTelemetry events `gen_ai.evaluation.result`, and annotations as OpenInference has them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from knowbound import __version__
from knowbound.text.digest import digest_of

EVENT = "gen_ai.evaluation.result"


class EvaluationEvent(NamedTuple):
    """One verdict about a turn."""

    name: str  # knowbound.claim.tests_pass, knowbound.diagnosis, knowbound.item.used, …
    session: str
    turn: str  # number of the turn, or the client's id of it
    time: str
    label: str
    score: float | None  # 1 good, 0 bad; None: not decided
    explanation: str
    by: str  # rules, or the model
    subject: str = ""  # the claim, the id of the item


def otlp_logs(evaluations: Iterable[EvaluationEvent]) -> dict[str, Any]:
    """Return the body of an OTLP/HTTP request in JSON, for `/v1/logs`."""
    scope = {"name": "knowbound", "version": __version__}
    records = [_record(one) for one in evaluations]
    resource = {"attributes": _attributes({"service.name": "knowbound", "service.version": __version__})}
    return {"resourceLogs": [{"resource": resource, "scopeLogs": [{"scope": scope, "logRecords": records}]}]}


def annotation_lines(evaluations: Iterable[EvaluationEvent]) -> Iterator[str]:
    """Yield a line of JSON for each verdict, with the annotator's kind: CODE for rules, LLM for models.

    Each line is an entry of the `data` that Phoenix takes at `/v1/session_annotations`, where the identifier keeps
    verdicts of one name apart.
    """
    for one in evaluations:
        kind = "CODE" if one.by in ("", "rules") or one.by.startswith("rules") else "LLM"
        result = {"label": one.label, "score": one.score, "explanation": one.explanation}
        about = {"session.id": one.session, "turn": one.turn, "subject": one.subject, "annotator": one.by or "rules"}
        line = {"session_id": one.session, "name": one.name, "annotator_kind": kind, "result": result}
        line |= {"identifier": digest_of([one.turn, one.subject])[:16], "metadata": about}
        yield msgspec.json.encode(line).decode() + "\n"


def _record(one: EvaluationEvent) -> dict[str, Any]:
    about: dict[str, Any] = {
        "gen_ai.evaluation.name": one.name,
        "gen_ai.evaluation.score.label": one.label,
        "gen_ai.evaluation.explanation": one.explanation,
        "gen_ai.conversation.id": one.session,
        "knowbound.turn": one.turn,
        "knowbound.subject": one.subject,
        "knowbound.by": one.by or "rules",
    }
    if one.score is not None:
        about["gen_ai.evaluation.score.value"] = one.score
    record = {"eventName": EVENT, "severityNumber": 9, "attributes": _attributes(about)}
    return {**record, "timeUnixNano": moment} if (moment := _nanoseconds(one.time)) else record


def _attributes(about: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"key": key, "value": {"doubleValue": value} if isinstance(value, float) else {"stringValue": str(value)}}
        for key, value in about.items()
        if value != ""
    ]


def _nanoseconds(time: str) -> str:
    try:
        return str(int(datetime.fromisoformat(time).timestamp() * 1e9))
    except (ValueError, OverflowError, OSError):
        return ""

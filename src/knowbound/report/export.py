"""Tables and telemetry for other programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import IO, Any, NamedTuple

import msgspec

from knowbound import __version__
from knowbound.distribution import extra_command
from knowbound.errors import ConfigError
from knowbound.files import replacing
from knowbound.text.digest import digest_of

# Columns of each table with their type. Columns are added, never renamed or removed; a missing value is null.
TABLES: dict[str, dict[str, str]] = {
    "sessions": {
        "session": "text", "agent": "text", "project": "text", "started": "text", "ended": "text", "version": "text",
        "turns": "int", "tool_calls": "int", "signals": "int", "lines": "int", "file": "text",
    },
    "turns": {
        "session": "text", "turn": "int", "time": "text", "author": "text", "prompt": "text", "steps": "int",
        "calls": "int", "file": "text", "line": "int", "intent": "text", "diagnosis": "text", "confidence": "text",
        "model": "text", "skill": "text", "by": "text",
    },
    "signals": {
        "session": "text", "turn": "int", "sample": "text", "type": "text", "status": "text", "ending": "text",
        "weight": "float", "query": "text", "path": "text", "text": "text", "topic": "text", "file": "text",
        "line": "int", "by": "text",
    },
    "claims": {
        "session": "text", "turn": "int", "kind": "text", "support": "text", "important": "bool", "text": "text",
        "why": "text", "file": "text", "line": "int", "by": "text",
    },
    "items": {
        "item": "text", "backend": "text", "type": "text", "source": "text", "subject": "text", "content": "text",
        "confidence": "float", "flag": "text", "served": "bool", "confirmed": "text",
    },
    "verdicts": {
        "session": "text", "turn_id": "text", "time": "text", "agent": "text", "item": "text", "how": "text",
        "on_topic": "bool", "used": "bool", "contradicted": "bool", "correction": "text", "judge": "text",
    },
}  # fmt: skip
Row = Mapping[str, Any]


def write_tables(rows: Mapping[str, Iterable[Row]], folder: Path, format_: str) -> dict[str, int]:
    """Write every table into the folder; return the number of rows of each. A file is replaced as a whole."""
    folder.mkdir(parents=True, exist_ok=True)
    write = _parquet_writer() if format_ == "parquet" else None
    written = {}
    for name, columns in TABLES.items():
        listed = [{column: row.get(column) for column in columns} for row in rows[name]]
        with replacing(folder / f"{name}.{format_}") as file:
            if write is None:
                file.writelines(msgspec.json.encode(row) + b"\n" for row in listed)
            else:
                write(listed, columns, file)
        written[name] = len(listed)
    return written


def _parquet_writer() -> Any:
    """Return the function that writes Parquet. Raises ConfigError without the extra."""
    try:
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise ConfigError(
            "extra-missing", f"Parquet needs an extra. Try: {extra_command('tables')}, or --format jsonl"
        ) from None
    types = {"text": arrow.string(), "int": arrow.int64(), "float": arrow.float64(), "bool": arrow.bool_()}

    def write(rows: list[dict[str, Any]], columns: Mapping[str, str], file: IO[bytes]) -> None:
        schema = arrow.schema([(name, types[kind]) for name, kind in columns.items()])
        parquet.write_table(arrow.Table.from_pylist(rows, schema=schema), file)

    return write


EVENT = "gen_ai.evaluation.result"
_INFO = 9  # severity in OpenTelemetry


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
    records = [_record(evaluation) for evaluation in evaluations]
    resource = {"attributes": _attributes({"service.name": "knowbound", "service.version": __version__})}
    return {"resourceLogs": [{"resource": resource, "scopeLogs": [{"scope": scope, "logRecords": records}]}]}


def annotation_lines(evaluations: Iterable[EvaluationEvent]) -> Iterator[str]:
    """Yield a line of JSON for each verdict, with the annotator's kind: CODE for rules, LLM for models.

    Each line is an entry of the `data` that Phoenix takes at `/v1/session_annotations`, where the identifier keeps
    verdicts of one name apart.
    """
    for event in evaluations:
        by = event.by or "rules"
        kind = "CODE" if by.startswith("rules") else "LLM"
        result = {"label": event.label, "score": event.score, "explanation": event.explanation}
        metadata = {"session.id": event.session, "turn": event.turn, "subject": event.subject, "annotator": by}
        line = {"session_id": event.session, "name": event.name, "annotator_kind": kind, "result": result}
        line |= {"identifier": digest_of([event.turn, event.subject])[:16], "metadata": metadata}
        yield msgspec.json.encode(line).decode() + "\n"


def _record(event: EvaluationEvent) -> dict[str, Any]:
    """Return a verdict as a log record, under OpenTelemetry's names where it has names."""
    attributes: dict[str, Any] = {
        "gen_ai.evaluation.name": event.name,
        "gen_ai.evaluation.score.label": event.label,
        "gen_ai.evaluation.explanation": event.explanation,
        "gen_ai.conversation.id": event.session,
        "knowbound.turn": event.turn,
        "knowbound.subject": event.subject,
        "knowbound.by": event.by or "rules",
    }
    if event.score is not None:
        attributes["gen_ai.evaluation.score.value"] = event.score
    record = {"eventName": EVENT, "severityNumber": _INFO, "attributes": _attributes(attributes)}
    return {**record, "timeUnixNano": moment} if (moment := _nanoseconds(event.time)) else record


def _attributes(about: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the attributes as OTLP writes them, without empty texts."""
    return [
        {"key": key, "value": {"doubleValue": value} if isinstance(value, float) else {"stringValue": str(value)}}
        for key, value in about.items()
        if value != ""
    ]


def _nanoseconds(time: str) -> str:
    """Return the nanoseconds since 1970, as text for OTLP; "" if the time is not readable."""
    try:
        return str(int(datetime.fromisoformat(time).timestamp() * 1e9))
    except (ValueError, OverflowError, OSError):
        return ""

"""Tables for other programs: what knowbound read and decided, as Parquet or JSON lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import msgspec

from knowbound.distribution import extra_command
from knowbound.errors import ConfigError
from knowbound.files import replacing

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
    write = _parquet_writer() if format_ == "parquet" else _write_lines
    written = {}
    for name, columns in TABLES.items():
        listed = [{column: row.get(column) for column in columns} for row in rows[name]]
        with replacing(folder / f"{name}.{format_}") as file:
            write(listed, columns, file)
        written[name] = len(listed)
    return written


def _write_lines(rows: list[dict[str, Any]], columns: Mapping[str, str], file: IO[bytes]) -> None:
    file.writelines(msgspec.json.encode(row) + b"\n" for row in rows)


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

"""Reads the log of rescues: one record per lookup that missed, joined from its lines, which share an id.

.knowbound/rescues/2026-11-16.jsonl    written by the hook (agent/rescue_answer.py) and by scoring (rescue_scores.py)
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from knowbound.store.data_dir import RESCUES
from knowbound.store.day_files import day_files
from knowbound.user_files import append


class RescueRecord(msgspec.Struct, frozen=True):
    """What was said about a miss, and what came of it."""

    time: str
    id: str
    session: str = ""
    agent: str = "unknown"
    agent_id: str = ""
    transcript: str = ""
    call: str = ""  # the client's id of the tool call that missed
    tool: str = ""
    status: str = "silent"  # found, absent, silent
    rule: str = ""
    text: str = ""
    places: tuple[tuple[str, int | None], ...] = ()
    names: tuple[str, ...] = ()  # in what a lesson or an item says: by these a call is known that follows it
    delivered: bool | None = None  # None: unknown
    ms: float | None = None
    used: bool | None = None  # whether the agent went there; None: not scored yet
    contradicted: bool | None = None  # whether it went there and found nothing

    @property
    def is_said(self) -> bool:
        """Whether the agent was given a place, or what a lesson or an item says."""
        return self.delivered is True and self.status == "found"


def read_rescues(home: Path, *, since: str = "") -> list[RescueRecord]:
    """The records of a data folder, oldest first; `since` is the first day. A line that was cut short is skipped."""
    joined: dict[str, dict[str, Any]] = {}
    for path in day_files(home, RESCUES):
        if path.name[:10] >= since[:10]:
            for fields in _lines(path):
                joined.setdefault(str(fields["id"]), {}).update(fields)
    found = []
    for fields in joined.values():
        try:
            found.append(msgspec.convert(fields, RescueRecord))
        except msgspec.ValidationError:
            continue
    return sorted(found, key=lambda record: record.time)


def write_score(home: Path, record: RescueRecord, *, used: bool, contradicted: bool) -> None:
    """Add what came of a rescue to its record. Raises OSError."""
    line = {"time": record.time, "id": record.id, "session": record.session, "used": used, "contradicted": contradicted}
    append(str(home / RESCUES / f"{record.time[:10]}.jsonl"), json.dumps(line, separators=(",", ":")).encode() + b"\n")


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return
    for line in lines:
        try:
            fields = msgspec.json.decode(line, type=dict[str, Any])
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
        if "id" in fields:
            yield fields

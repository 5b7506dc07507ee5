"""One audited turn as a line of JSON (docs/json.md, `audit --format jsonl`)."""

from __future__ import annotations

from msgspec import to_builtins

from knowbound.core.audit import AuditedTurn
from knowbound.report.formats.json import json_line

_KEYS = ("session", "turn", "message_id", "intent", "diagnosis", "confidence")


def turn_line(turn: AuditedTurn) -> str:
    """The line of a turn: the keys that others rely on first."""
    document: dict[str, object] = {key: getattr(turn, key) for key in _KEYS}
    document["claims"] = [
        {"text": one.text, "kind": one.kind, "support": one.support, "why": one.why, "line": one.line,
         "important": one.important}
        for one in turn.claims
    ]  # fmt: skip
    document["findings"] = to_builtins(turn.findings)
    document["gaps"] = to_builtins(turn.gaps)
    document["next"] = turn.next
    document |= {"why": turn.why, "file": turn.file, "line": turn.line, "time": turn.time, "skill": turn.skill,
                 "model": turn.model, "item": turn.item}  # fmt: skip
    return json_line(document)

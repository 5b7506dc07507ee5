"""Every signal as one JSON line (docs/json.md)."""

from __future__ import annotations

import msgspec

from knowbound.core.signal import Signal
from knowbound.core.testset import Watermark
from knowbound.report.plain import dumped


def signal_line(signal: Signal, watermark: Watermark) -> str:
    """One signal. A line shows no rate; `test_set` names the test set it belongs to all the same."""
    return dumped({**signal_fields(signal), "test_set": watermark.sha256_8})


def signal_fields(signal: Signal) -> dict[str, object]:
    """The keys of docs/json.md, then ours: the way back to the line, and why it counts."""
    return {
        "type": signal.type.value,
        "status": signal.status.value,
        "weight": signal.weight,
        "session": signal.session,
        "turn": signal.turn,
        "sample": signal.sample,
        "call_ids": signal.call_ids,
        "message_id": signal.message_id,
        "query": signal.query,
        "path": signal.path,
        "text": signal.text,
        "verdict": msgspec.to_builtins(signal.verdict),
        "tool": signal.tool,
        "reason": signal.reason,
        "said": signal.said,
        "agent_id": signal.agent_id,
        "file": signal.file,
        "line": signal.line,
        "resolved_by": signal.resolved_by,
    }

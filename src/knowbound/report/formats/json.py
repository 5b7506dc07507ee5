"""JSON, and the fields that several documents share (docs/json.md). What cannot be known is null."""

from __future__ import annotations

import json

import msgspec

from knowbound.core.signal import Signal, SignalType, Status, Topic
from knowbound.report.formats.plain import BROKEN, UNSEEN_BUT_LINES
from knowbound.stats.figures import Coverage, GapFigures, MissedSearch, Watermark
from knowbound.stats.rate import Rate, Weighted

GATE_KEYS = "name limit kind outcome failed settled more rate before broken words note?"


def json_text(document: object) -> str:
    """A document of its own."""
    return json_line(document, indent=2) + "\n"


def json_line(value: object, *, indent: int | None = None) -> str:
    """JSON that any parser and any terminal takes: the unseen is escaped, broken Unicode replaced, the rest kept."""
    try:
        text = msgspec.json.format(msgspec.json.encode(value), indent=indent or -1).decode()
    except UnicodeEncodeError:  # broken Unicode, which the standard library lets through
        text = json.dumps(value, ensure_ascii=False, indent=indent, separators=None if indent else (",", ":"))
    # The line breaks of the indent are ours; those of the data are escaped already.
    escaped = UNSEEN_BUT_LINES.sub(lambda match: _escape(match.group()), text)
    return BROKEN.sub("\N{REPLACEMENT CHARACTER}", escaped)


def _escape(character: str) -> str:
    return json.dumps(character)[1:-1] if character != "\x7f" else "\\u007f"


def gap_fields(gap: GapFigures) -> dict[str, object]:
    """The gap figures, as every report with a watermark has them."""
    return {
        "rate": gap.rate.to_json(),
        "weighted": gap.weighted.to_json(),
        "open": gap.open.to_json(),
        "open_weighted": gap.open_weighted.to_json(),
        "open_upper": gap.open_upper.to_json(),
        "per_turn": gap.per_turn.to_json(),
        "soft_share": gap.soft_share,
        "by_type": {type_.value: gap.by_type.get(type_, 0) for type_ in SignalType},
        "by_status": {status.value: gap.by_status.get(status, 0) for status in Status},
        "band": gap.band,
        "open_band": gap.open_band,
        "unseen": gap.unseen,
        "confidence": gap.confidence,
    }


def fields(value: object, keys: str) -> dict[str, object]:
    """The attributes of a value under their own names, in this order; `name?` is null where the attribute is empty."""
    found: dict[str, object] = {}
    for key in keys.split():
        name = key.removesuffix("?")
        attribute = getattr(value, name)
        found[name] = as_json(attribute) if attribute or name == key else None
    return found


def as_json(value: object) -> object:
    """A value of a report as docs/json.md has it."""
    match value:
        case Rate() | Weighted():
            return value.to_json()
        case GapFigures():
            return gap_fields(value)
        case Signal():
            return signal_fields(value)
        case MissedSearch():
            return fields(value, "query sessions samples events example")
        case Topic():
            return fields(
                value,
                "id title sessions turns signals cost endings said answer proposed examples project correction last",
            )
        case Coverage():
            rate = None if value.reason else value.rate.to_json()
            return {"rate": rate, **fields(value, "reason uncovered sessions loaded")}
        case msgspec.Struct():
            return msgspec.to_builtins(value)
        case list() | tuple():
            return [as_json(one) for one in value]
        case _:
            return value


def signal_line(signal: Signal, watermark: Watermark) -> str:
    """One signal as a line. It shows no rate; `test_set` names the test set it belongs to all the same."""
    return json_line({**signal_fields(signal), "test_set": watermark.sha256_8})


def signal_fields(signal: Signal) -> dict[str, object]:
    """The keys of docs/json.md, then ours: the way back to the line, and why it counts."""
    return {
        "type": signal.type.value,
        "status": signal.status.value,
        "ending": signal.ending,
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
        "topic": signal.topic or None,
        "tool": signal.tool,
        "reason": signal.reason,
        "step": signal.step,
        "said": signal.said,
        "agent_id": signal.agent_id,
        "file": signal.file,
        "line": signal.line,
        "resolved_by": signal.resolved_by,
        "by": signal.by or "rules",
        "found_at": msgspec.to_builtins(signal.found_at),
        "cost": msgspec.to_builtins(signal.cost),
    }

"""The observe report as JSON (docs/json.md)."""

from __future__ import annotations

import msgspec

from knowbound.core.signal import SignalType, Status
from knowbound.report.as_jsonl import signal_fields
from knowbound.report.model import ObserveReport
from knowbound.report.plain import dumped
from knowbound.stats.figures import Coverage, GapFigures, SkillRow, Topic

FORMAT = "knowbound.observe/1"


def render_json(report: ObserveReport) -> str:
    """The keys of docs/json.md first, then what is added to them. What cannot be known is null."""
    document = {
        "format": FORMAT,
        "watermark": msgspec.to_builtins(report.watermark),
        "totals": msgspec.to_builtins(report.totals),
        "gap": gap_fields(report.gap),
        "coverage": coverage_fields(report.coverage),
        "skills": [_skill(row) for row in report.skills],
        "topics": [topic_fields(topic) for topic in report.topics],
        "inventory": [signal_fields(signal) for signal in report.inventory],
        "skill_of": report.skill_of,
        "incomplete": msgspec.to_builtins(report.incomplete),
        "skipped": report.skipped,
        "skipped_examples": msgspec.to_builtins(report.skipped_examples),
        "unrecognised": report.unrecognised,
        "agents": report.agents,
        "places": report.places,
        "root": report.root,
        "filters": report.filters,
        "warnings": report.warnings,
        "made": report.made,
        "version": report.version,
    }
    return dumped(document, indent=2) + "\n"


def gap_fields(gap: GapFigures) -> dict[str, object]:
    """The gap figures, as every report with a watermark has them."""
    return {
        "rate": gap.rate.to_json(),
        "weighted": gap.weighted.to_json(),
        "open": gap.open.to_json(),
        "per_turn": gap.per_turn.to_json(),
        "soft_share": gap.soft_share,
        "by_type": {type_.value: gap.by_type.get(type_, 0) for type_ in SignalType},
        "by_status": {status.value: gap.by_status.get(status, 0) for status in Status},
        "band": gap.band,
        "confidence": gap.confidence,
    }


def coverage_fields(coverage: Coverage) -> dict[str, object]:
    """Knowledge files that were reached, and those that were not."""
    return {"rate": coverage.rate.to_json(), "uncovered": coverage.uncovered}


def _skill(row: SkillRow) -> dict[str, object]:
    return {
        "name": row.name,
        "samples": row.gap.rate.n,
        "gap": row.gap.rate.to_json(),
        "coverage": row.coverage.to_json(),
        "band": row.gap.band,
        "confidence": row.gap.confidence,
    }


def topic_fields(topic: Topic) -> dict[str, object]:
    """Something that was sought in vain."""
    return {
        "query": topic.query,
        "sessions": topic.sessions,
        "samples": topic.samples,
        "events": topic.events,
        "example": signal_fields(topic.example),
    }

"""`knowbound.quality/1` and `knowbound.quality_item/1` of docs/json.md."""

from __future__ import annotations

from knowbound.core.quality import Counts, Discovery
from knowbound.report.formats.json import as_json, fields
from knowbound.report.quality.model import (
    ItemInjection,
    ItemQuality,
    ItemToFix,
    JudgeWorth,
    QualityStatus,
    RescueFigures,
)
from knowbound.report.quality.shadow import shadow_document
from knowbound.stats.quality import (
    PROMPT_LIMIT_MS,
    STOP_LIMIT_MS,
    MetricStatus,
    QualityMetric,
    WindowRates,
    p95_ms,
    window,
)
from knowbound.stats.rate import Rate
from knowbound.stats.rollout import RolloutStatus


def status_document(status: QualityStatus) -> dict[str, object]:
    """The whole status."""
    days = status.window
    first, last = window(status.until)
    return {
        "format": "knowbound.quality/1",
        "window": {"first": first, "last": last, "is_current": status.is_current},
        "kept_since": status.first or None,
        "metrics": {str(one.metric): _metric(one) for one in status.metrics},
        "turns": fields(days, "turns prompts_with_items prompts_left_alone interrupted unscored"),
        "injected": _counts(days.injected),
        "by_backend": {name: _counts(one) for name, one in days.by_backend.items()},
        "by_source": {name: _counts(one) for name, one in days.by_source.items()},
        "pulled": _counts(days.pulled),
        "others": {
            name: _counts(one) | {"corrected": as_json(status.others_corrected.get(name))}
            for name, one in days.others.items()
        },
        "other_corrections": as_json(status.other_corrections),
        "corrective_calls": days.corrective_calls,
        "unscored": status.unscored,
        "cost": {
            "injected_tokens": days.injected_tokens,
            "prompt_hook": {
                "p95_ms": p95_ms(days.prompt_ms),
                "limit_ms": PROMPT_LIMIT_MS,
                "runs": days.prompt_ms.runs,
            },
            "stop_hook": {"p95_ms": p95_ms(days.stop_ms), "limit_ms": STOP_LIMIT_MS, "runs": days.stop_ms.runs},
        },
        "judge": _judge(status.judge),
        "rollout": _rollout(status.rollout) if status.rollout else None,
        "holdout": as_json(status.holdout),
        "shadow": shadow_document(status.shadow) if status.shadow else None,
        "silenced": {"prompts": days.silenced_prompts, "items": days.silenced},
        "rescues": _rescues(status.rescues) if status.rescues else None,
        "items": [_item(one) for one in status.items],
        "series": [_window(one) for one in status.series],
    }


def item_document(page: ItemQuality) -> dict[str, object]:
    """One item."""
    return {
        "format": "knowbound.quality_item/1",
        **fields(page, "id content content_length is_served flag?"),
        "counts": _counts(page.counts),
        "days": [{"date": day.date, **_counts(day.counts)} for day in page.days],
        "injections": [_injected(one) for one in page.injections],
        "records": [_record(one) for one in page.records],
        "corrections": as_json(page.corrections),
        "fault": _item(page.fault) if page.fault else None,
        "tokens": page.tokens,
        "saving": as_json(page.saving),
    }


def _rollout(status: RolloutStatus) -> dict[str, object]:
    return {
        "leg": status.current.leg.number,
        "since": status.state.since or None,
        "reverted": as_json(status.state.last_kill),
        "tripped": [str(one.mode) for one in status.monitors if one.tripped],
    }


def _rescues(found: RescueFigures) -> dict[str, object]:
    rates = {"used": found.used.to_json(), "contradicted": found.contradicted.to_json()}
    return {**fields(found, "misses said absent"), **rates}


def _metric(one: MetricStatus) -> dict[str, object]:
    difference = one.difference
    return {
        "now": one.now.to_json(),
        "corrected": as_json(one.corrected) if one.corrected.value is not None else None,
        "target": {"share": one.target.share, "kind": "at_most" if one.target.is_ceiling else "at_least"},
        "state": str(one.state),
        "more": one.more,
        "pending": one.pending,
        "before": one.before.to_json(),
        "difference": {"value": difference.value, "low": difference.low, "high": difference.high}
        if difference
        else None,
        "trend": str(one.trend),
    }


def _judge(judge: JudgeWorth) -> dict[str, object]:
    figures = "n agreement kappa sensitivity specificity precision"
    return {
        "versions": judge.versions,
        "measured": {
            "version": judge.version,
            "labelled_turns": judge.labelled,
            "made": judge.made,
            "metrics": {
                str(metric): {
                    "state": str(one.gate.state),
                    "more_turns": one.gate.more,
                    **fields(one.found, "true_yes false_yes false_no true_no"),
                    **fields(one.found, figures),
                }
                for metric, one in judge.measured.items()
            },
        }
        if judge.measured
        else None,
        "weekly": as_json(judge.weekly),
    }


def _counts(counts: Counts) -> dict[str, object]:
    return fields(counts, "judged on_topic used contradicted unjudged")


def _item(one: ItemToFix) -> dict[str, object]:
    return {
        **fields(one, "id content"),
        "fault": str(one.fault),
        "counts": _counts(one.counts),
        **fields(one, "times session turn time statement? draft? is_silenced flag?"),
        "commands": list(one.commands),
    }


def _injected(one: ItemInjection) -> dict[str, object]:
    verdict = one.verdict
    return {
        **fields(one, "time session turn prompt is_present"),
        "verdict": fields(verdict, "on_topic used contradicted correction? reason? judge") if verdict else None,
    }


def _record(record: Discovery) -> dict[str, object]:
    return fields(record, "raised session_id turn_id statement contradictions closing? closed? closed_by?")


def _window(one: WindowRates) -> dict[str, object]:
    rates: dict[QualityMetric, Rate] = one.rates
    return {"date": one.date, **{str(metric): rate.to_json() for metric, rate in rates.items()}}

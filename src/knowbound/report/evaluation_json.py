"""An evaluation as JSON, and its runs one per line (docs/json.md)."""

from __future__ import annotations

import msgspec

from knowbound.report.as_json import coverage_fields, gap_fields, topic_fields
from knowbound.report.as_jsonl import signal_fields
from knowbound.report.evaluation_model import (
    EvaluationReport,
    Group,
    SampleRow,
    by_capability,
    by_difficulty,
    entries_of,
    sample_rows,
    unscored,
)
from knowbound.report.plain import dumped
from knowbound.report.words import Entry
from knowbound.stats.evaluation import Evaluation, SampleRun
from knowbound.stats.gate import GateResult
from knowbound.stats.rate import Mean

FORMAT = "knowbound.evaluation/1"


def render_json(report: EvaluationReport) -> str:
    """Everything there is to say; what cannot be known is null."""
    evaluation = report.evaluation
    document = {
        "format": FORMAT,
        **head_fields(evaluation),
        "totals": _totals(evaluation),
        "cost": {"usd": evaluation.usd, "unknown_runs": sum(run.usd is None for run in evaluation.runs)},
        "samples": [_sample(row) for row in sample_rows(evaluation)],
        "by_capability": [_group(group) for group in by_capability(evaluation)],
        "by_difficulty": [_group(group) for group in by_difficulty(evaluation)],
        "topics": [topic_fields(topic) for topic in evaluation.topics],
        "inventory": [_entry(entry) for entry in entries_of(evaluation)],
        "unscored": unscored(evaluation),
        "runs": [run_fields(run) for run in evaluation.runs],
        "gates": [gate_fields(gate) for gate in report.gates],
        "nudge": report.nudge or None,
        "beside": report.beside and head_fields(report.beside),
        "warnings": evaluation.warnings,
        "compared_with": evaluation.compared_with or None,
        "version": evaluation.version,
    }
    return dumped(document, indent=2) + "\n"


def render_jsonl(report: EvaluationReport) -> str:
    """One line per run, each with the watermark: lines are taken apart, and whoever counts them makes a rate."""
    mark = report.evaluation.watermark
    about = {"test_set": mark.sha256_8, "watermark": msgspec.to_builtins(mark)}
    return "".join(dumped({**run_fields(run), **about}) + "\n" for run in report.evaluation.runs)


def head_fields(evaluation: Evaluation) -> dict[str, object]:
    """Which test set, which knowledge, who answered, and the figures."""
    return {
        "id": evaluation.id or None,
        "made": evaluation.made,
        "watermark": msgspec.to_builtins(evaluation.watermark),
        "sha256": evaluation.sha256,
        "origin": evaluation.origin,
        "executor": evaluation.executor,
        "model": evaluation.model or None,
        "judge": evaluation.judge or None,
        "repeat": evaluation.repeat,
        "root": evaluation.root,
        "knowledge": {
            "commit": evaluation.commit or None,
            "subject": evaluation.subject or None,
            "dirty": evaluation.dirty,
            "version": evaluation.against or None,
            "files": evaluation.knowledge,
        },
        "gap": gap_fields(evaluation.gap),
        "coverage": coverage_fields(evaluation.coverage),
        "composite": mean_fields(evaluation.composite),
    }


def mean_fields(mean: Mean) -> dict[str, object]:
    """The MEAN of docs/json.md."""
    return {"n": mean.n, "value": mean.value, "low": mean.low, "high": mean.high}


def gate_fields(gate: GateResult) -> dict[str, object]:
    """A gate, its decision, and how far the data carry it."""
    return {
        "name": gate.name,
        "limit": gate.limit,
        "outcome": gate.outcome,
        "failed": gate.failed,
        "settled": gate.settled,
        "more": gate.more,
        "rate": gate.rate.to_json(),
        "before": gate.before and gate.before.to_json(),
        "words": gate.words,
        "note": gate.note or None,
    }


def run_fields(run: SampleRun) -> dict[str, object]:
    """A run, with the way back to the samples file and the trace."""
    return {
        "sample": run.sample,
        "repeat": run.repeat,
        "ending": run.ending,
        "problem": run.problem or None,
        "gap": run.has_gap if run.is_complete else None,
        "signals": [signal_fields(msgspec.structs.replace(signal, sample=run.sample)) for signal in run.signals],
        "grade": msgspec.to_builtins(run.grade),
        "usd": run.usd,
        "seconds": run.seconds,
        "tokens_in": run.tokens_in,
        "tokens_out": run.tokens_out,
        "model": run.model or None,
        "turns": run.turns,
        "steps": run.steps,
        "calls": run.calls,
        "reached": run.reached,
        "cached": run.cached,
        "attempts": run.attempts,
        "capability": run.capability,
        "difficulty": run.difficulty or None,
        "construct": run.construct or None,
        "provenance": run.provenance or None,
        "prompt": run.prompt,
        "answer": run.answer,
        "file": run.file,
        "line": run.line,
        "trace": run.trace,
    }


def _totals(evaluation: Evaluation) -> dict[str, object]:
    complete = [run for run in evaluation.runs if run.is_complete]
    return {
        "samples": evaluation.samples,
        "runs": len(evaluation.runs),
        "runs_complete": evaluation.runs_complete,
        "runs_incomplete": evaluation.runs_incomplete,
        "turns": sum(run.turns for run in complete),
        "tool_calls": sum(run.calls for run in complete),
        "signals": sum(len(run.signals) for run in complete),
        "seconds": evaluation.seconds,
    }


def _sample(row: SampleRow) -> dict[str, object]:
    return {
        "sample": row.sample,
        "gap": row.gap.to_json(),
        "open": bool(row.open_signals) if row.complete else None,
        "by_type": {type_.value: number for type_, number in row.types.items()},
        "composite": row.composite,
        "usd": row.usd,
        "seconds": row.seconds,
        "endings": [run.ending for run in row.runs],
        "failed_assertions": msgspec.to_builtins(row.failed),
        "file": row.runs[0].file,
        "line": row.runs[0].line,
    }


def _group(group: Group) -> dict[str, object]:
    return {
        "name": group.name,
        "samples": group.samples,
        "gap": group.gap.to_json(),
        "composite": mean_fields(group.composite),
    }


def _entry(entry: Entry) -> dict[str, object]:
    return {**signal_fields(entry.signal), "run": entry.note.removeprefix("run ") or "1", "places": list(entry.places)}

"""A judge compared with labels of sentences, rubrics or turns, in any format (specification 2, "The judge").

Every figure about a judge is shown with the labels it comes from: file, number and hash.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from knowbound.core.quality import Metric
from knowbound.report.format_names import ShortFormat
from knowbound.report.formats import render
from knowbound.report.formats.json import as_json, fields
from knowbound.report.judge_gate import METRIC_NAMES, gate_words, share_words, weekly_lines
from knowbound.report.sections import Column, Entry, Line, Listing, Page, Row, Section, Table, data, joined, prose
from knowbound.stats.calibration import Calibration, Estimate, ScoreCalibration, Share
from knowbound.stats.judge_gate import (
    RANKING,
    GateState,
    MeasuredMetric,
    MetricGate,
    WeeklySample,
    may_rely_on,
    waits_for,
)
from knowbound.stats.printing import estimate, percent, percent_range
from knowbound.stats.rate import Rate
from knowbound.text.printable import counted

_PROBLEMS_SHOWN = 3


class LabelMark(msgspec.Struct, frozen=True):
    """The labels that a figure comes from."""

    path: str
    labels: int  # that the judge was compared with; for turns: items with a label
    sha256_8: str  # of the file
    sessions: int = 0
    of: int | None = None  # labels or turns in the file, if the judge was compared with the part kept aside
    repeated: int = 0
    disagreements: int = 0
    turns: int | None = None  # labelled turns; None for labels of texts

    def __str__(self) -> str:
        aside = f" kept aside of {self.of:,}" if self.of is not None else ""
        sessions = f" from {counted(self.sessions, 'session')}" if self.sessions else ""
        number = counted(self.labels, "label") if self.turns is None else counted(self.turns, "turn")
        items = "" if self.turns is None else f" · {counted(self.labels, 'labelled item')}"
        return f"Labels: {self.path} · {number}{aside}{sessions}{items} · sha256 {self.sha256_8}"


class CalibrationReport(msgspec.Struct, frozen=True):
    """A judge, the question, the labels, the figures, and the rate of a run corrected for the judge's error."""

    judge: str
    version: str
    question: str
    labels: LabelMark
    found: Calibration | ScoreCalibration
    run: Rate | None = None  # what the judge kept in the newest stored run
    corrected: Estimate = Estimate()
    problems: tuple[str, ...] = ()  # why there is no verdict on a label
    notes: tuple[str, ...] = ()
    hedges_off: bool = False  # whether `observe` and `eval` leave hedges out while this judge is configured


class MeasuredJudge(msgspec.Struct, frozen=True):
    """A judge and its figures by metric, each with its own state."""

    judge: str
    version: str
    metrics: dict[Metric, MeasuredMetric]
    problems: tuple[str, ...] = ()  # why there is no verdict on a turn


class TurnCalibrationReport(msgspec.Struct, frozen=True):
    """A judge compared with labelled turns, its fallback if that was asked, and the state of each metric with both."""

    labels: LabelMark
    judge: MeasuredJudge
    gates: dict[Metric, MetricGate]
    fallback: MeasuredJudge | None = None
    weekly: WeeklySample | None = None  # against the calibration before this one
    notes: tuple[str, ...] = ()

    @property
    def states(self) -> frozenset[GateState]:
        """The states of all metrics."""
        return frozenset(gate.state for gate in self.gates.values())


def render_calibration(
    report: CalibrationReport | TurnCalibrationReport, format: ShortFormat, *, width: int = 100
) -> str:
    """Render the calibration in a format."""
    if isinstance(report, TurnCalibrationReport):
        return render(format, lambda: _turn_page(report), lambda: _turn_document(report), width=width)
    return render(format, lambda: _page(report), lambda: _document(report), width=width)


def _page(report: CalibrationReport) -> Page:
    head, *rows = _table(report.found)
    columns = (Column(head[0]), *(Column(name, right=True) for name in head[1:]))
    figures = tuple(Row((name, value, meaning)) for name, value, meaning in _figures(report))
    return Page(
        verb="judge calibrate",
        title=f"Judge {report.judge}",
        lead="",
        totals=(report.found.decision.verdict.capitalize(), ": ", data(report.judge), f" on {report.question}"),
        origin=(),
        sections=(
            Section("", (Listing((Entry(_sentence(report.found.decision.why), place=prose(str(report.labels))),)),)),
            Section("Labels and verdicts", (Table(columns, tuple(map(Row, rows))),)),
            Section("Figures", (Table((Column("figure"), Column("value"), Column("meaning")), figures),)),
            Section("Notes", (Listing(tuple(map(Entry, _notes(report)))),)),
        ),
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text[:1].isascii() else f"{text}."  # κ stays κ


def _table(found: Calibration | ScoreCalibration) -> Sequence[tuple[str, ...]]:
    """Labels down, verdicts across."""
    if isinstance(found, ScoreCalibration):
        scores = [str(score) for score in range(1, 6)]
        rows = [(f"label {label}", *map(str, row)) for label, row in zip(scores, found.table, strict=True)]
        return [("", *(f"judge {score}" for score in scores)), *rows]
    return [
        ("", "judge yes", "judge no"),
        ("label yes", str(found.true_yes), str(found.false_no)),
        ("label no", str(found.false_yes), str(found.true_no)),
    ]


def _figures(report: CalibrationReport) -> Iterator[tuple[str, str, str]]:
    """Each figure with what it means."""
    found = report.found
    if isinstance(found, ScoreCalibration):
        yield "Weighted κ", _estimate(found.kappa), "agreement beyond chance; two points apart count four times one"
        yield "Difference", _estimate(found.difference), "points apart, on average"
        yield "Same score", str(found.agreement), ""
        yield "Unscored", str(found.failed), "counted apart, never as a score"
        return
    constant = max(found.prevalence.value or 0.0, 1 - (found.prevalence.value or 0.0))
    answer = "yes" if (found.prevalence.value or 0.0) > 0.5 else "no"
    always = f"always “{answer}” would agree in {percent(constant)}" if found.n else ""
    yield "κ", _estimate(found.kappa), "agreement beyond chance"
    yield "Sensitivity", share_words(found.sensitivity), "of what people call yes, the judge calls yes"
    yield "Specificity", share_words(found.specificity), "of what people call no, the judge calls no"
    yield "Precision", share_words(found.precision), "of what the judge calls yes, people call yes"
    yield "Agreement", share_words(found.agreement), always
    yield "Prevalence", share_words(found.prevalence), f"people call yes; the judge {percent(found.said.value)}"
    if found.failed.k:
        yield "No verdict", str(found.failed), "counted apart, in no other figure"
    if report.run is not None:
        yield "Newest run", str(report.run), "as judged"
        yield "Corrected", share_words(report.corrected), "the same for a judge without error (Rogan–Gladen)"


def _notes(report: CalibrationReport) -> Iterator[Line]:
    found = report.found
    yield from _label_notes(report.labels, "text", is_weighted=isinstance(found, Calibration) and found.weighted)
    reasons = Counter(report.problems).most_common(_PROBLEMS_SHOWN)
    yield from ((f"No verdict on {counted(number, 'label')}: ", data(reason)) for reason, number in reasons)
    yield from map(prose, report.notes)


def _label_notes(mark: LabelMark, noun: str, *, is_weighted: bool) -> Iterator[Line]:
    if is_weighted:
        yield f"Labels weigh differently: the shares are those of all {noun}s, the counts those of the labels."
    if mark.repeated:
        count = "the newest label counts" if mark.turns is None else "the newest labels count"
        differently = f"{mark.disagreements:,} differently"
        yield f"{counted(mark.repeated, noun)} labelled more than once, of these {differently}; {count}."


def _estimate(one: Estimate) -> str:
    return estimate(one.value, one.low, one.high)


def _document(report: CalibrationReport) -> dict[str, object]:
    """`knowbound.calibration/1` of docs/json.md."""
    found = report.found
    decision, run = found.decision, {"observed": as_json(report.run), "corrected": as_json(report.corrected)}
    return {
        "format": "knowbound.calibration/1",
        **fields(report, "judge version question"),
        "labels": fields(report.labels, "path labels sha256_8 sessions of repeated disagreements"),
        "verdict": str(decision.verdict),
        "why": decision.why,
        "more_labels": decision.more,
        "wanted_kappa": found.wanted,
        **fields(found, "n failed kappa"),
        **_figure_fields(found),
        "run": run if report.run is not None else None,
        **fields(report, "problems notes hedges_off"),
    }


def _figure_fields(found: Calibration | ScoreCalibration) -> dict[str, object]:
    if isinstance(found, ScoreCalibration):
        return fields(found, "agreement difference table")
    return {
        "table": fields(found, "true_yes false_yes false_no true_no"),
        **fields(found, "weighted agreement sensitivity specificity precision prevalence said"),
    }


# Turns


def _turn_page(report: TurnCalibrationReport) -> Page:
    states = joined((METRIC_NAMES[metric], ": ", str(gate.state)) for metric, gate in report.gates.items())
    return Page(
        verb="judge calibrate",
        title=f"Judge {report.judge.judge}",
        lead="",
        totals=(data(report.judge.judge), " on turns: ", *(states if isinstance(states, tuple) else (states,))),
        origin=(),
        sections=(
            Section("", (Listing(tuple(_gate_entries(report))),)),
            Section("Figures, with 95% intervals", (_turn_figures(report.judge),)),
            Section("Labels and verdicts", (_counts(report.judge),)),
            *(_fallback_sections(report.fallback) if report.fallback else ()),
            Section("Weekly sample", (Listing(tuple(map(Entry, weekly_lines(report.weekly)))),)),
            Section("Notes", (Listing(tuple(map(Entry, _turn_notes(report)))),)),
        ),
        commands=tuple(_commands(report)),
    )


def _commands(report: TurnCalibrationReport) -> Iterator[tuple[str, str]]:
    if report.states & {GateState.UNDERPOWERED, GateState.UNMEASURED}:
        more = [gate.more for gate in report.gates.values() if gate.more]
        count = f" --count {max(more)}" if more else ""
        yield f"knowbound judge label --question turns{count}", "label more turns, then calibrate again"


def _fallback_sections(fallback: MeasuredJudge) -> tuple[Section, ...]:
    return (
        Section(f"The larger model, {fallback.judge}, on the same turns", (_turn_figures(fallback),)),
        Section("Its labels and verdicts", (_counts(fallback),)),
    )


def _gate_entries(report: TurnCalibrationReport) -> Iterator[Entry]:
    for metric, gate in report.gates.items():
        measured = report.judge.metrics[metric]
        words = gate_words(gate, measured.found)
        said = f"{words[:1].upper()}{words[1:]}."
        line: Line = said
        if gate.state is GateState.FALLBACK and report.fallback:
            other = share_words(report.fallback.metrics[metric].found.agreement)
            line = (said, " ", data(report.fallback.judge), f" takes its place: {other}.")
        yield Entry(f"{METRIC_NAMES[metric].capitalize()}: {gate.state}", (line,))
    yield Entry(_reliance(report.gates), place=prose(str(report.labels)))


def _reliance(gates: dict[Metric, MetricGate]) -> str:
    if may_rely_on(gates, RANKING):
        return "Ranking may rest on this judge: it needs what was used and what was contradicted."
    waiting = " and ".join(f"“{METRIC_NAMES[metric]}”" for metric in waits_for(gates, RANKING))
    return f"Ranking waits for {waiting}."


def _turn_figures(judge: MeasuredJudge) -> Table:
    columns = (Column("metric"), *map(Column, ("agreement", "κ", "sensitivity", "specificity", "precision")))
    rows = []
    for metric, one in judge.metrics.items():
        found = one.found
        shares = (found.sensitivity, found.specificity, found.precision)
        rows.append(Row((METRIC_NAMES[metric], _share(found.agreement), _kappa(found.kappa), *map(_share, shares))))
    return Table(columns, tuple(rows))


def _share(share: Share) -> str:
    if share.low is None or share.high is None:
        return "unknown"
    return f"{percent(share.value)} ({percent_range((share.low, share.high))})"


def _kappa(kappa: Estimate) -> str:
    if kappa.value is None or kappa.low is None or kappa.high is None:
        return "unknown"
    return f"{kappa.value:.2f} ({kappa.low:.2f} to {kappa.high:.2f})"


def _counts(judge: MeasuredJudge) -> Table:
    heads = ("both yes", "only the judge", "only the label", "both no", "no verdict")
    rows = []
    for metric, one in judge.metrics.items():
        found = one.found
        counts = (found.true_yes, found.false_yes, found.false_no, found.true_no, found.failed.k)
        rows.append(Row((METRIC_NAMES[metric], *map(str, counts))))
    return Table((Column("metric"), *(Column(head, right=True) for head in heads)), tuple(rows))


def _turn_notes(report: TurnCalibrationReport) -> Iterator[Line]:
    is_weighted = any(one.found.weighted for one in report.judge.metrics.values())
    yield from _label_notes(report.labels, "turn", is_weighted=is_weighted)
    for judge in filter(None, (report.judge, report.fallback)):
        for reason, number in Counter(judge.problems).most_common(_PROBLEMS_SHOWN):
            yield ("No verdict of ", data(judge.judge), f" on {counted(number, 'turn')}: ", data(reason))
    yield from map(prose, report.notes)


def _turn_document(report: TurnCalibrationReport) -> dict[str, object]:
    """`knowbound.turn_calibration/1` of docs/json.md."""
    return {
        "format": "knowbound.turn_calibration/1",
        "question": "turns",
        "labels": fields(report.labels, "path turns labels sha256_8 sessions repeated disagreements of"),
        **_judge_fields(report.judge),
        "gates": {str(metric): _gate_fields(report, metric) for metric in report.gates},
        "ranking_waits_for": [str(metric) for metric in waits_for(report.gates, RANKING)],
        "fallback": _judge_fields(report.fallback) if report.fallback else None,
        "weekly": as_json(report.weekly) if report.weekly else None,
        "notes": list(report.notes),
    }


def _gate_fields(report: TurnCalibrationReport, metric: Metric) -> dict[str, object]:
    gate = report.gates[metric]
    why = gate_words(gate, report.judge.metrics[metric].found)
    return {"state": str(gate.state), "reason": str(gate.reason), "why": why, "more_turns": gate.more}


def _judge_fields(judge: MeasuredJudge) -> dict[str, object]:
    figures = "n failed agreement kappa sensitivity specificity precision prevalence said weighted"
    return {
        "judge": judge.judge,
        "version": judge.version,
        "metrics": {
            str(metric): {
                "state": str(one.gate.state),
                "table": fields(one.found, "true_yes false_yes false_no true_no"),
                **fields(one.found, figures),
            }
            for metric, one in judge.metrics.items()
        },
        "problems": list(judge.problems),
    }

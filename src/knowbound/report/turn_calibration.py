"""A judge of turns compared with labelled turns, metric by metric, in any format (specification 2, "The judge")."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec

from knowbound.core.quality import Metric
from knowbound.report.calibration import Format, share_words
from knowbound.report.formats import render
from knowbound.report.formats.json import as_json, fields
from knowbound.report.sections import Column, Entry, Line, Listing, Page, Row, Section, Table, data, joined, prose
from knowbound.report.words import counted
from knowbound.stats.calibration import Calibration, Estimate, Share
from knowbound.stats.judge_drift import DRIFT_TURNS, WeeklySample
from knowbound.stats.judge_gate import (
    AGREEMENT,
    KILL_AGREEMENT,
    LABELLED_TURNS,
    RANKING,
    GateReason,
    GateState,
    MeasuredMetric,
    MetricGate,
    may_rely_on,
    waits_for,
)
from knowbound.stats.printing import estimate, percent, percent_range

METRIC_NAMES: dict[Metric, str] = {
    Metric.ON_TOPIC: "on topic",
    Metric.USED: "used",
    Metric.CONTRADICTED: "contradicted",
}
LABEL_TEN = f"knowbound judge label --question turns --count {DRIFT_TURNS}"
_PROBLEMS_SHOWN = 3


class TurnMark(msgspec.Struct, frozen=True):
    """Which labels a figure comes from."""

    path: str
    turns: int
    labels: int  # items with a label
    sha256_8: str  # of the file
    sessions: int = 0
    repeated: int = 0
    disagreements: int = 0
    of: int | None = None  # turns in the file, where only a part of them was kept aside for this

    def __str__(self) -> str:
        aside = f" kept aside of {self.of:,}" if self.of is not None else ""
        sessions = f" from {counted(self.sessions, 'session')}" if self.sessions else ""
        items = counted(self.labels, "labelled item")
        return (
            f"Labels: {self.path} · {counted(self.turns, 'turn')}{aside}{sessions} · {items} · sha256 {self.sha256_8}"
        )


class MeasuredJudge(msgspec.Struct, frozen=True):
    """A judge and its figures by metric, each with its state by itself."""

    judge: str
    version: str
    metrics: dict[Metric, MeasuredMetric]
    problems: tuple[str, ...] = ()  # why there is no verdict on a turn


class TurnCalibrationReport(msgspec.Struct, frozen=True):
    """A judge on labelled turns, its fallback where that was asked, and the state of each metric with both."""

    labels: TurnMark
    judge: MeasuredJudge
    gates: dict[Metric, MetricGate]
    fallback: MeasuredJudge | None = None
    weekly: WeeklySample | None = None  # against the calibration before this one
    notes: tuple[str, ...] = ()

    @property
    def states(self) -> frozenset[GateState]:
        """The states of all metrics."""
        return frozenset(gate.state for gate in self.gates.values())


def render_turn_calibration(report: TurnCalibrationReport, format: Format, *, width: int = 100) -> str:
    """The calibration in a format."""
    return render(format, lambda: _page(report), lambda: _document(report), width=width)


def gate_words(gate: MetricGate, found: Calibration) -> str:
    """Why a metric is where it is, and what to do about it."""
    return "; ".join(filter(None, (_reason_words(gate, found), _fallback_words(gate))))


def _reason_words(gate: MetricGate, found: Calibration) -> str:
    agreement = f"agreement is {share_words(found.agreement)}"
    kappa = f"κ is {estimate(found.kappa.value, found.kappa.low, found.kappa.high)}"
    match gate.reason:
        case GateReason.AGREES:
            return f"{agreement}, at least {percent(AGREEMENT)} was wanted; {kappa}"
        case GateReason.NO_VERDICT:
            return "the judge gave no verdict on any label"
        case GateReason.FEW_TURNS:
            return f"{agreement}; {LABELLED_TURNS} labelled turns are needed: label {gate.more} more"
        case GateReason.UNDECIDED:
            return f"{agreement}, which may be above or below {percent(AGREEMENT)}; {_more_words(gate)}"
        case GateReason.ONE_SIDED:
            answer = "yes" if found.prevalence.k else "no"
            return f"every label says {answer}: whether the judge knows the other answer cannot be told; label more"
        case GateReason.NOT_BEYOND_CHANCE:
            return f"{agreement}, but {kappa}: that may be chance; {_more_words(gate)}"
        case GateReason.ONE_ANSWER:
            answer, missed = ("yes", found.specificity) if found.said.k else ("no", found.sensitivity)
            known = f"where people say otherwise it is right in {missed.k} of {missed.n}"
            return f"it says {answer} to everything: {known}, and κ is 0, although {agreement}"
        case GateReason.BELOW:
            return f"{agreement}, below {percent(AGREEMENT)}"
        case GateReason.FAR_BELOW:
            return f"{agreement}, below {percent(KILL_AGREEMENT)}: do not use this judge"


def _more_words(gate: MetricGate) -> str:
    return f"about {counted(gate.more, 'more labelled turn')} would tell" if gate.more else "label more turns"


def _fallback_words(gate: MetricGate) -> str:
    if gate.state is GateState.HALTED and gate.fallback is None:
        return "there is no larger model to ask (quality.judge, quality.fallback_judge)"
    if gate.state in (GateState.HALTED, GateState.KILLED) and gate.fallback:
        return "the larger model fails too: the prompt needs work, not a bigger model"
    if gate.state is GateState.UNDERPOWERED and gate.fallback:
        return f"whether the larger model is better cannot be told yet: {_more_words(gate)}"
    return ""


def _page(report: TurnCalibrationReport) -> Page:
    states = joined((METRIC_NAMES[metric], ": ", str(gate.state)) for metric, gate in report.gates.items())
    return Page(
        verb="judge calibrate",
        title=f"Judge {report.judge.judge}",
        lead="",
        totals=(data(report.judge.judge), " on turns: ", *(states if isinstance(states, tuple) else (states,))),
        origin=(),
        sections=(
            Section("", (Listing(tuple(_gate_entries(report))),)),
            Section("Figures, with 95% intervals", (_figures(report.judge),)),
            Section("Labels and verdicts", (_counts(report.judge),)),
            *(_fallback_sections(report.fallback) if report.fallback else ()),
            Section("Weekly sample", (Listing(tuple(map(Entry, weekly_lines(report.weekly)))),)),
            Section("Notes", (Listing(tuple(map(Entry, _notes(report)))),)),
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
        Section(f"The larger model, {fallback.judge}, on the same turns", (_figures(fallback),)),
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


def _figures(judge: MeasuredJudge) -> Table:
    columns = (Column("metric"), *map(Column, ("agreement", "κ", "sensitivity", "specificity", "precision")))
    rows = []
    for metric, one in judge.metrics.items():
        found = one.found
        shares = (found.sensitivity, found.specificity, found.precision)
        rows.append(Row((METRIC_NAMES[metric], _short(found.agreement), _kappa(found.kappa), *map(_short, shares))))
    return Table(columns, tuple(rows))


def _short(share: Share) -> str:
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


def weekly_lines(weekly: WeeklySample | None) -> Iterator[Line]:
    """The weekly sample in words: what it shows, or what it lacks."""
    if weekly is None:
        return
    if not weekly.metrics:
        since = f"due since {weekly.due[:10]}" if weekly.is_due else f"due on {weekly.due[:10]}"
        yield f"{weekly.labelled} of {DRIFT_TURNS} turns labelled since the last calibration; {since}: {LABEL_TEN}"
        return
    for metric, one in weekly.metrics.items():
        state = "drifted" if one.drifted else "no drift is seen"
        before = percent(one.calibrated.value)
        yield f"{METRIC_NAMES[metric].capitalize()}: {state}; {share_words(one.agreement)}, calibrated at {before}"
    if weekly.drifted:
        yield "A judge that drifted counts as a new one: correct its prompt, then calibrate it again on new labels."


def _notes(report: TurnCalibrationReport) -> Iterator[Line]:
    if any(one.found.weighted for one in report.judge.metrics.values()):
        yield "Labels weigh differently: the shares are those of all turns, the counts those of the labels."
    if report.labels.repeated:
        turns, differently = counted(report.labels.repeated, "turn"), f"{report.labels.disagreements:,} differently"
        yield f"{turns} labelled more than once, of these {differently}; the newest labels count."
    for judge in filter(None, (report.judge, report.fallback)):
        for reason, number in Counter(judge.problems).most_common(_PROBLEMS_SHOWN):
            yield ("No verdict of ", data(judge.judge), f" on {counted(number, 'turn')}: ", data(reason))
    yield from map(prose, report.notes)


def _document(report: TurnCalibrationReport) -> dict[str, object]:
    """`knowbound.turn_calibration/1` of docs/json.md."""
    return {
        "format": "knowbound.turn_calibration/1",
        "question": "turns",
        "labels": as_json(report.labels),
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

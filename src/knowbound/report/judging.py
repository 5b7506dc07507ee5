"""Reports on the reliability of a judge, in any format: calibration against labels, gates, the weekly sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec

from knowbound.core.quality import Metric
from knowbound.report import ShortFormat
from knowbound.report.formats import render
from knowbound.report.formats.json import document, fields
from knowbound.report.lines import Line, data, joined, prose
from knowbound.report.quality.model import JudgeWorth
from knowbound.report.sections import Entry, Page, Part, Section, Table, facts, listing, section, table
from knowbound.report.words import rate_cell
from knowbound.stats.calibration import Calibration, Estimate, ScoreCalibration
from knowbound.stats.judge_gate import (
    AGREEMENT,
    DRIFT_TURNS,
    FEWEST_OF_AN_ANSWER,
    KILL_AGREEMENT,
    LABELLED_TURNS,
    RANKING,
    GateReason,
    GateState,
    MeasuredMetric,
    MetricGate,
    WeeklySample,
    may_rely_on,
    waits_for,
)
from knowbound.stats.printing import percent, percent_words
from knowbound.stats.rate import Rate
from knowbound.text.printable import counted

METRIC_NAMES = {metric: metric.replace("_", " ") for metric in Metric}
_LABEL_TEN = f"knowbound judge label --question turns --count {DRIFT_TURNS}"


def gate_words(gate: MetricGate, found: Calibration) -> str:
    """Return the reason for the state of a metric, and what to do about it."""
    return "; ".join(filter(None, (_reason_words(gate, found), _fallback_words(gate))))


def _reason_words(gate: MetricGate, found: Calibration) -> str:
    """Say why the gate of a metric is in its state."""
    agreement = f"agreement is {found.agreement}"
    kappa = f"κ is {found.kappa}"
    match gate.reason:
        case GateReason.AGREES:
            return f"{agreement}, at least {percent(AGREEMENT)} was wanted; {kappa}"
        case GateReason.NO_VERDICT:
            return "the judge gave no verdict on any label"
        case GateReason.FEW_TURNS:
            return f"{agreement}; {LABELLED_TURNS} labelled turns are needed: label {gate.more} more"
        case GateReason.ONE_SIDED:
            rarer = min(found.prevalence.k, found.prevalence.n - found.prevalence.k)
            answer = "yes" if found.prevalence.k == rarer else "no"
            return f"{rarer} of {found.prevalence.n} labels say {answer}: {FEWEST_OF_AN_ANSWER} are needed"
        case GateReason.NOT_BEYOND_CHANCE:
            return f"{agreement}, but {kappa}: no better than chance"
        case GateReason.ONE_ANSWER:
            answer, missed = ("yes", found.specificity) if found.said.k else ("no", found.sensitivity)
            right_otherwise = f"where people say otherwise it is right in {missed.k} of {missed.n}"
            return f"it says {answer} to everything: {right_otherwise}, and κ is 0, although {agreement}"
        case GateReason.BELOW | GateReason.UNDECIDED:
            return f"{agreement}, below {percent(AGREEMENT)}"
        case GateReason.FAR_BELOW:
            return f"{agreement}, below {percent(KILL_AGREEMENT)}: do not use this judge"


def _fallback_words(gate: MetricGate) -> str:
    """Say what a larger model changes about a metric; "" if there is nothing to say."""
    if gate.state is GateState.HALTED and gate.fallback is None:
        return "there is no larger model to ask (model.fallback)"
    if gate.state in (GateState.HALTED, GateState.KILLED) and gate.fallback:
        return "the larger model fails too: the prompt needs work, not a bigger model"
    if gate.state is GateState.UNDERPOWERED and gate.fallback:
        return "whether the larger model is better is not known yet: label more turns"
    return ""


def weekly_lines(weekly: WeeklySample | None) -> Iterator[Line]:
    """Say what the weekly sample shows, or what it lacks."""
    if weekly is None:
        return
    if not weekly.metrics:
        since = f"due since {weekly.due[:10]}" if weekly.is_due else f"due on {weekly.due[:10]}"
        yield f"{weekly.labelled} of {DRIFT_TURNS} turns labelled since the last calibration; {since}: {_LABEL_TEN}"
        return
    for metric, sampled in weekly.metrics.items():
        state = "drifted" if sampled.drifted else "no drift is seen"
        before = percent(sampled.calibrated.value)
        yield f"{METRIC_NAMES[metric].capitalize()}: {state}; {sampled.agreement}, calibrated at {before}"
    if weekly.drifted:
        yield "A judge that drifted counts as a new one: correct its prompt, then calibrate it again on new labels."


_COUNTS = "true_yes false_yes false_no true_no"
_FIGURES = "agreement kappa sensitivity specificity precision prevalence said"
_CALIBRATION = """judge version question labels(path labels sha256_8 sessions of repeated disagreements)
    verdict=found.decision.verdict why=found.decision.why more_labels=found.decision.more wanted_kappa=found.wanted
    n=found.n failed=found.failed kappa=found.kappa"""
_SCORES = "agreement=found.agreement difference=found.difference table=found.table length_bias=found.length_bias"
_LENGTH = "points more than people give, for the longer half of the answers beside the shorter; 0 is none"
_VERDICTS = f"table=found({_COUNTS}) weighted=found.weighted " + " ".join(
    f"{name}=found.{name}" for name in _FIGURES.split() if name != "kappa"
)
_MEASURED = f"state=gate.state table=found({_COUNTS}) n=found.n failed=found.failed " + " ".join(
    f"{name}=found.{name}" for name in (*_FIGURES.split(), "weighted")
)
_JUDGE = f"judge version metrics({_MEASURED}) problems"
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
    decision = report.found.decision
    why = decision.why[:1].upper() + decision.why[1:] if decision.why[:1].isascii() else decision.why  # κ stays κ
    return Page(
        verb="judge calibrate",
        title=f"Judge {report.judge}",
        totals=(decision.verdict.capitalize(), ": ", data(report.judge), f" on {report.question}"),
        sections=(
            section("", "", listing([Entry(f"{why}.", place=prose(str(report.labels)))])),
            section("Labels and verdicts", "", _table(report.found)),
            section("Figures", "", table("figure | value | meaning", _figures(report))),
            section("Notes", "", listing(_notes(report))),
        ),
    )


def _table(calibration: Calibration | ScoreCalibration) -> Table:
    """Labels down, verdicts across."""
    if isinstance(calibration, ScoreCalibration):
        rows = ((f"label {score}", *map(str, row)) for score, row in enumerate(calibration.table, 1))
        return table("|".join(("", *(f"judge {score}>" for score in range(1, 6)))), rows)
    yes = ("label yes", str(calibration.true_yes), str(calibration.false_no))
    return table("|judge yes>|judge no>", (yes, ("label no", str(calibration.false_yes), str(calibration.true_no))))


def _figures(report: CalibrationReport) -> Iterator[tuple[str, str, str]]:
    """Yield name, value and meaning of each figure of a judge of texts."""
    found = report.found
    if isinstance(found, ScoreCalibration):
        yield from _score_figures(found)
        return
    yes = found.prevalence.value or 0.0
    constant, answer = (yes, "yes") if yes > 0.5 else (1 - yes, "no")
    always = f"always “{answer}” would agree in {percent(constant)}" if found.n else ""
    yield "κ", str(found.kappa), "agreement beyond chance"
    yield "Sensitivity", str(found.sensitivity), "of what people call yes, the judge calls yes"
    yield "Specificity", str(found.specificity), "of what people call no, the judge calls no"
    yield "Precision", str(found.precision), "of what the judge calls yes, people call yes"
    yield "Agreement", str(found.agreement), always
    yield "Prevalence", str(found.prevalence), f"people call yes; the judge {percent(found.said.value)}"
    if found.failed.k:
        yield "No verdict", str(found.failed), "counted apart, in no other figure"
    if report.run is not None:
        low, high = report.corrected.low, report.corrected.high
        corrected = percent_words(report.corrected.value, "", None if low is None or high is None else (low, high))
        yield "Newest run", str(report.run), "as judged"
        yield "Corrected", corrected, "the same for a judge without error (Rogan–Gladen)"


def _score_figures(calibration: ScoreCalibration) -> Iterator[tuple[str, str, str]]:
    yield "Weighted κ", str(calibration.kappa), "agreement beyond chance; two points apart count four times one"
    yield "Difference", str(calibration.difference), "points apart, on average"
    yield "Same score", str(calibration.agreement), ""
    if calibration.length_bias.value is not None:
        yield "Length bias", str(calibration.length_bias), _LENGTH
    yield "Unscored", str(calibration.failed), "counted apart, never as a score"


def _notes(report: CalibrationReport) -> Iterator[Line]:
    found = report.found
    yield from _label_notes(report.labels, "text", is_weighted=isinstance(found, Calibration) and found.weighted)
    reasons = Counter(report.problems).most_common(_PROBLEMS_SHOWN)
    yield from ((f"No verdict on {counted(number, 'label')}: ", data(reason)) for reason, number in reasons)
    yield from map(prose, report.notes)


def _label_notes(mark: LabelMark, noun: str, *, is_weighted: bool) -> Iterator[Line]:
    """Yield notes on the labels: that they weigh differently, and that some were given more than once."""
    if is_weighted:
        yield f"Labels weigh differently: the shares are those of all {noun}s, the counts those of the labels."
    if mark.repeated:
        count = "the newest label counts" if mark.turns is None else "the newest labels count"
        differently = f"{mark.disagreements:,} differently"
        yield f"{counted(mark.repeated, noun)} labelled more than once, of these {differently}; {count}."


def _document(report: CalibrationReport) -> dict[str, object]:
    figures = _SCORES if isinstance(report.found, ScoreCalibration) else _VERDICTS
    made = document("knowbound.calibration/1", report, f"{_CALIBRATION} {figures} run problems notes hedges_off")
    return made | {"run": fields(report, "observed=run corrected") if report.run is not None else None}


# Turns


def _turn_page(report: TurnCalibrationReport) -> Page:
    states = joined((METRIC_NAMES[metric], ": ", str(gate.state)) for metric, gate in report.gates.items())
    fallback: tuple[Section, ...] = ()
    if report.fallback:
        title = f"The larger model, {report.fallback.judge}, on the same turns"
        fallback = (
            section(title, "", _turn_figures(report.fallback)),
            section("Its labels and verdicts", "", _turn_counts(report.fallback)),
        )
    return Page(
        verb="judge calibrate",
        title=f"Judge {report.judge.judge}",
        totals=(data(report.judge.judge), " on turns: ", *(states if isinstance(states, tuple) else (states,))),
        sections=(
            section("", "", listing(_gate_entries(report))),
            section("Figures, with 95% intervals", "", _turn_figures(report.judge)),
            section("Labels and verdicts", "", _turn_counts(report.judge)),
            *fallback,
            section("Weekly sample", "", listing(weekly_lines(report.weekly))),
            section("Notes", "", listing(_turn_notes(report))),
        ),
        commands=tuple(_commands(report)),
    )


def _commands(report: TurnCalibrationReport) -> Iterator[tuple[str, str]]:
    if report.states & {GateState.UNDERPOWERED, GateState.UNMEASURED}:
        more = [gate.more for gate in report.gates.values() if gate.more]
        count = f" --count {max(more)}" if more else ""
        yield f"knowbound judge label --question turns{count}", "label more turns, then calibrate again"


def _gate_entries(report: TurnCalibrationReport) -> Iterator[Entry]:
    """Yield the state of each gate, and whether ranking may use what this judge says."""
    for metric, gate in report.gates.items():
        measured = report.judge.metrics[metric]
        words = gate_words(gate, measured.found)
        sentence = f"{words[:1].upper()}{words[1:]}."
        line: Line = sentence
        if gate.state is GateState.FALLBACK and report.fallback:
            agreement = report.fallback.metrics[metric].found.agreement
            line = (sentence, " ", data(report.fallback.judge), f" takes its place: {agreement}.")
        yield Entry(f"{METRIC_NAMES[metric].capitalize()}: {gate.state}", (line,))
    ranking = "Ranking may rest on this judge: it needs what was used and what was contradicted."
    if not may_rely_on(report.gates, RANKING):
        waiting = " and ".join(f"“{METRIC_NAMES[metric]}”" for metric in waits_for(report.gates, RANKING))
        ranking = f"Ranking waits for {waiting}."
    yield Entry(ranking, place=prose(str(report.labels)))


def _turn_figures(judge: MeasuredJudge) -> Table:
    rows = []
    for metric, measured in judge.metrics.items():
        found, kappa = measured.found, measured.found.kappa
        has_interval = kappa.value is not None and kappa.low is not None and kappa.high is not None
        kappa_words = f"{kappa.value:.2f} ({kappa.low:.2f} to {kappa.high:.2f})" if has_interval else "unknown"
        shares = (found.agreement, found.sensitivity, found.specificity, found.precision)
        agreement, *others = (rate_cell(share, counts=False) for share in shares)
        rows.append((METRIC_NAMES[metric], agreement, kappa_words, *others))
    return table("metric | agreement | κ | sensitivity | specificity | precision", rows)


def _turn_counts(judge: MeasuredJudge) -> Table:
    rows = []
    for metric, measured in judge.metrics.items():
        found = measured.found
        counts = (found.true_yes, found.false_yes, found.false_no, found.true_no, found.failed.k)
        rows.append((METRIC_NAMES[metric], *map(str, counts)))
    return table("metric | both yes> | only the judge> | only the label> | both no> | no verdict>", rows)


def _turn_notes(report: TurnCalibrationReport) -> Iterator[Line]:
    is_weighted = any(measured.found.weighted for measured in report.judge.metrics.values())
    yield from _label_notes(report.labels, "turn", is_weighted=is_weighted)
    for judge in filter(None, (report.judge, report.fallback)):
        for reason, number in Counter(judge.problems).most_common(_PROBLEMS_SHOWN):
            yield ("No verdict of ", data(judge.judge), f" on {counted(number, 'turn')}: ", data(reason))
    yield from map(prose, report.notes)


def _turn_document(report: TurnCalibrationReport) -> dict[str, object]:
    gates = {}
    for metric, gate in report.gates.items():
        why = {"why": gate_words(gate, report.judge.metrics[metric].found)}
        gates[str(metric)] = fields(gate, "state reason why=reason more_turns=more") | why
    return {
        "format": "knowbound.turn_calibration/1",
        "question": "turns",
        **fields(report, "labels(path turns labels sha256_8 sessions repeated disagreements of)"),
        **fields(report.judge, _JUDGE),
        "gates": gates,
        "ranking_waits_for": [str(metric) for metric in waits_for(report.gates, RANKING)],
        **fields(report, f"fallback({_JUDGE}) weekly notes"),
    }


# The judge of injected items, on the screen of `quality status` and its page

LABEL = "knowbound judge label --question turns"
CALIBRATE = "knowbound judge calibrate --question turns"


def judge_rows(judge: JudgeWorth) -> Iterator[tuple[str, Line]]:
    """Yield rows for the screen: the judge, its agreement with people, and the next step."""
    yield "Judge", _judge_words(judge)
    measured = judge.measured.items()
    if judge.versions and measured:
        agreements = (
            f"{METRIC_NAMES[name]} {percent(result.found.agreement.value)} ({result.gate.state})"
            for name, result in measured
        )
        yield "Agrees", joined(agreements)
    if judge.versions and not (measured and all(result.gate.is_reliable for _, result in measured)):
        yield "Measure", (data(LABEL), ", then ", data(CALIBRATE))
    elif judge.versions and judge.weekly and (judge.weekly.drifted or judge.weekly.is_due):
        yield "Drift", next(weekly_lines(judge.weekly))


def judge_parts(judge: JudgeWorth) -> tuple[Part, ...]:
    """Yield parts of a page: the figures of every metric, and the weekly sample."""
    if not judge.measured:
        return (facts(judge_rows(judge)),)
    rows = []
    for metric, measured in judge.measured.items():
        shares = (percent(share.value) for share in (measured.found.sensitivity, measured.found.specificity))
        why = prose(gate_words(measured.gate, measured.found))
        rows.append((METRIC_NAMES[metric], str(measured.gate.state), *shares, why))
    weekly = tuple(weekly_lines(judge.weekly))
    shown = table("metric|state|sensitivity|specificity|why", rows)
    return facts([("Judge", _judge_words(judge))]), shown, *((listing(weekly),) if weekly else ())


def _judge_words(judge: JudgeWorth) -> Line:
    """Return the judges of these days, and the labels that they were compared with."""
    if not judge.versions:
        return "none judged a turn of these days"
    by: Line = joined((data(version), f" ({counted(turns, 'turn')})") for version, turns in judge.versions.items())
    if all(version.startswith("rules-") for version in judge.versions):  # they find plain contradictions alone
        by = joined((by, "contradicted is a lower bound"))
    if not judge.measured:
        return joined((by, "unmeasured: nobody knows yet how often it errs"))
    against = f"{counted(judge.labelled, 'labelled turn')}, {judge.made[:10]}"
    return joined((by, (data(judge.version), f" against {against}") if len(judge.versions) > 1 else against))

"""A judge compared with labels, in any format (specification 2, "The judge").

No figure about a judge is shown without the labels it comes from: file, number and hash.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, get_args

import msgspec

from knowbound.report.formats import render
from knowbound.report.formats.json import as_json, fields
from knowbound.report.sections import Column, Entry, Line, Listing, Page, Row, Section, Table, data, prose
from knowbound.report.words import counted
from knowbound.stats.calibration import Calibration, Estimate, ScoreCalibration, Share
from knowbound.stats.printing import estimate, percent, percent_words
from knowbound.stats.rate import Rate

Format = Literal["text", "json", "markdown"]
FORMATS: tuple[Format, ...] = get_args(Format)
_PROBLEMS_SHOWN = 3


class LabelMark(msgspec.Struct, frozen=True):
    """Which labels a figure comes from."""

    path: str
    labels: int  # that the judge was compared with
    sha256_8: str  # of the file
    sessions: int = 0
    of: int | None = None  # labels in the file, where only a part of them was kept aside for this
    repeated: int = 0
    disagreements: int = 0

    def __str__(self) -> str:
        aside = f" kept aside of {self.of:,}" if self.of is not None else ""
        sessions = f" from {counted(self.sessions, 'session')}" if self.sessions else ""
        return f"Labels: {self.path} · {counted(self.labels, 'label')}{aside}{sessions} · sha256 {self.sha256_8}"


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


def render_calibration(report: CalibrationReport, format: Format, *, width: int = 100) -> str:
    """The calibration in a format."""
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
    if isinstance(found, Calibration) and found.weighted:
        yield "Labels weigh differently: the shares are those of all texts, the counts those of the labels."
    if report.labels.repeated:
        texts, differently = counted(report.labels.repeated, "text"), f"{report.labels.disagreements:,} differently"
        yield f"{texts} labelled more than once, of these {differently}; the newest label counts."
    reasons = Counter(report.problems).most_common(_PROBLEMS_SHOWN)
    yield from ((f"No verdict on {counted(number, 'label')}: ", data(reason)) for reason, number in reasons)
    yield from map(prose, report.notes)


def _estimate(one: Estimate) -> str:
    return estimate(one.value, one.low, one.high)


def share_words(one: Share | Estimate) -> str:
    """A share, with its counts where it has some."""
    if one.value is None or one.low is None or one.high is None:
        return "unknown"
    counts = f"{one.k} of {one.n}" if isinstance(one, Share) else ""
    return percent_words(one.value, counts, (one.low, one.high))


def _document(report: CalibrationReport) -> dict[str, object]:
    """`knowbound.calibration/1` of docs/json.md."""
    found = report.found
    decision, run = found.decision, {"observed": as_json(report.run), "corrected": as_json(report.corrected)}
    return {
        "format": "knowbound.calibration/1",
        **fields(report, "judge version question labels"),
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

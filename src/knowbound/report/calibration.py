"""A judge held against labels, in any format (specification 2, "The judge").

No figure about a judge is shown without the labels it comes from: file, number and hash.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, assert_never, get_args

import msgspec

from knowbound.report.columns import aligned, wrap
from knowbound.report.plain import dumped, markdown_text, plain
from knowbound.report.words import counted
from knowbound.stats.calibration import Calibration, Estimate, ScoreCalibration, Share
from knowbound.stats.rate import Rate, percent

Format = Literal["text", "json", "markdown"]
FORMATS: tuple[Format, ...] = get_args(Format)
_PROBLEMS_SHOWN = 3


class LabelMark(msgspec.Struct, frozen=True):
    """Which labels a figure comes from."""

    path: str
    labels: int  # that the judge was held against
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
    """A judge, the question, the labels, what they tell, and the rate of a run corrected for the judge's error."""

    judge: str
    version: str
    question: str
    labels: LabelMark
    found: Calibration | ScoreCalibration
    run: Rate | None = None  # what the judge kept in the newest stored run
    corrected: Estimate = Estimate()
    problems: tuple[str, ...] = ()  # why there is no verdict on a label
    notes: tuple[str, ...] = ()


class Line(msgspec.Struct, frozen=True):
    """A figure, what it is, and what it says."""

    name: str
    value: str
    meaning: str


def render_calibration(report: CalibrationReport, format: Format, *, width: int = 100) -> str:
    """The calibration in a format."""
    match format:
        case "text":
            return "\n".join(_text(report, width)) + "\n"
        case "json":
            return dumped(_document(report), indent=2) + "\n"
        case "markdown":
            return "\n".join(_markdown(report)) + "\n"
        case _:
            assert_never(format)


def _headline(report: CalibrationReport) -> str:
    decision = report.found.decision
    return (
        f"{decision.verdict.capitalize()}: {plain(report.judge)} on {plain(report.question)}. {_sentence(decision.why)}"
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text[:1].isascii() else f"{text}."  # κ stays κ


def _text(report: CalibrationReport, width: int) -> Iterator[str]:
    yield from wrap(_headline(report), width, 6)
    yield plain(str(report.labels))
    yield ""
    table = aligned([list(row) for row in _table(report.found)], _table(report.found)[0][1:])
    yield from ("  " + "   ".join(row).rstrip() for row in table)
    yield ""
    lines = list(_lines(report))
    names = max(len(line.name) for line in lines)
    values = max(len(line.value) for line in lines)
    yield from (f"  {line.name:{names}}   {line.value:{values}}   {line.meaning}".rstrip() for line in lines)
    notes = list(_notes(report))
    if notes:
        yield ""
    for note in notes:
        yield from wrap(note, width, 4)


def _markdown(report: CalibrationReport) -> Iterator[str]:
    yield f"## Judge {markdown_text(plain(report.judge))}"
    yield ""
    yield f"**{markdown_text(_headline(report))}**"
    yield ""
    yield markdown_text(plain(str(report.labels)))
    yield ""
    yield from _markdown_table([[markdown_text(one) for one in row] for row in _table(report.found)])
    yield ""
    rows = [[markdown_text(one) for one in (line.name, line.value, line.meaning)] for line in _lines(report)]
    yield from _markdown_table([["figure", "value", "meaning"], *rows])
    for note in _notes(report):
        yield ""
        yield markdown_text(note)


def _markdown_table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    head, *body = rows
    for row in (head, ["---"] * len(head), *body):
        yield f"| {' | '.join(row)} |"


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


def _lines(report: CalibrationReport) -> Iterator[Line]:
    found = report.found
    if isinstance(found, ScoreCalibration):
        yield Line(
            "Weighted κ", _estimate(found.kappa), "agreement beyond chance; two points apart count four times one"
        )
        yield Line("Difference", _estimate(found.difference), "points apart, on average")
        yield Line("Same score", str(found.agreement), "")
        yield Line("Unscored", str(found.failed), "counted apart, never as a score")
        return
    constant = max(found.prevalence.value or 0.0, 1 - (found.prevalence.value or 0.0))
    answer = "yes" if (found.prevalence.value or 0.0) > 0.5 else "no"
    always = f"always “{answer}” would agree in {percent(constant)}" if found.n else ""
    yield Line("κ", _estimate(found.kappa), "agreement beyond chance")
    yield Line("Sensitivity", _share(found.sensitivity), "of what people call yes, the judge calls yes")
    yield Line("Specificity", _share(found.specificity), "of what people call no, the judge calls no")
    yield Line("Precision", _share(found.precision), "of what the judge calls yes, people call yes")
    yield Line("Agreement", _share(found.agreement), always)
    yield Line("Prevalence", _share(found.prevalence), f"people call yes; the judge {percent(found.said.value)}")
    if found.failed.k:
        yield Line("No verdict", str(found.failed), "counted apart, in no other figure")
    if report.run is not None:
        yield Line("Newest run", str(report.run), "as judged")
        yield Line("Corrected", _percents(report.corrected), "the same for a judge without error (Rogan–Gladen)")


def _notes(report: CalibrationReport) -> Iterator[str]:
    found = report.found
    if isinstance(found, Calibration) and found.weighted:
        yield "Labels weigh differently: the shares are those of all texts, the counts those of the labels."
    if report.labels.repeated:
        texts, differently = counted(report.labels.repeated, "text"), f"{report.labels.disagreements:,} differently"
        yield f"{texts} labelled more than once, of these {differently}; the newest label counts."
    reasons = Counter(report.problems).most_common(_PROBLEMS_SHOWN)
    yield from (plain(f"No verdict on {counted(number, 'label')}: {reason}") for reason, number in reasons)
    yield from map(plain, report.notes)


def _estimate(one: Estimate) -> str:
    if one.value is None or one.low is None or one.high is None:
        return "unknown"
    return f"{one.value:.2f} (95% {one.low:.2f} to {one.high:.2f})"


def _percents(one: Estimate) -> str:
    if one.value is None or one.low is None or one.high is None:
        return "unknown"
    return f"{percent(one.value)} (95% {100 * one.low:.0f}–{100 * one.high:.0f}%)"


def _share(one: Share) -> str:
    if one.value is None or one.low is None or one.high is None:
        return "unknown"
    return f"{percent(one.value)} ({one.k} of {one.n}, 95% {100 * one.low:.0f}–{100 * one.high:.0f}%)"


def _document(report: CalibrationReport) -> dict[str, object]:
    """`knowbound.calibration/1` of docs/json.md."""
    found = report.found
    return {
        "format": "knowbound.calibration/1",
        "judge": report.judge,
        "version": report.version,
        "question": report.question,
        "labels": msgspec.to_builtins(report.labels),
        "verdict": str(found.decision.verdict),
        "why": found.decision.why,
        "more_labels": found.decision.more,
        "wanted_kappa": found.wanted,
        "n": found.n,
        "failed": found.failed.to_json(),
        "kappa": msgspec.to_builtins(found.kappa),
        **_figures(found),
        "run": None
        if report.run is None
        else {"observed": report.run.to_json(), "corrected": msgspec.to_builtins(report.corrected)},
        "problems": list(report.problems),
        "notes": list(report.notes),
    }


def _figures(found: Calibration | ScoreCalibration) -> dict[str, object]:
    if isinstance(found, ScoreCalibration):
        return {
            "agreement": found.agreement.to_json(),
            "difference": msgspec.to_builtins(found.difference),
            "table": [list(row) for row in found.table],
        }
    shares = ("agreement", "sensitivity", "specificity", "precision", "prevalence", "said")
    return {
        "table": {name: getattr(found, name) for name in ("true_yes", "false_yes", "false_no", "true_no")},
        "weighted": found.weighted,
        **{name: msgspec.to_builtins(getattr(found, name)) for name in shares},
    }

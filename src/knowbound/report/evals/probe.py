"""Competency questions in any format: what was asked, what was not answered, and both gap rates side by side.

Specification 1, section 9: "the gap rate from running this generated batch is shown alongside the gap rate from
human-written samples". Each has its own watermark; no number here joins the two.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple, Unpack

from knowbound.report import Layout, LineFormat, PageFormat
from knowbound.report.figures import coverage_figure, gap_figures, reading, warnings
from knowbound.report.formats import render
from knowbound.report.formats.json import as_json, fields, json_line
from knowbound.report.lines import Inline, Span, Tone, data, joined, prose, soft
from knowbound.report.sections import ASIDE, Entry, Figures, Mark, Note, Page, Section, facts, listing, section
from knowbound.stats.evaluation import CompetencyQuestion, Evaluation, EvaluationHead, Probe, QuestionSource, SampleRun
from knowbound.stats.rate import Rate
from knowbound.text.printable import counted

Format = PageFormat | LineFormat
KIND_NAMES: dict[QuestionSource, str] = {
    QuestionSource.STUB: "heading without content",
    QuestionSource.PRINCIPLE: "principle",
    QuestionSource.MODEL: "proposed by a model",
    QuestionSource.STRUCTURE: "heading",
}
_PROBED = "What the structure of the knowledge base should answer"
_WRITTEN = "What people wrote"
_NOT_MIXED = "Two test sets, two gap rates: they are shown side by side and never added to each other."
_NO_WRITTEN = "No evaluation of written samples is stored. Try: knowbound eval"
_NO_QUESTION = "No question could be made: no heading, file name or principle of the knowledge files makes one."
_NEXT = (
    ("knowbound draft -o eval-samples.draft.yaml", "propose samples from gaps and uncovered files"),
    ("knowbound probe --format json", "every question, and what was dropped"),
)
_HEAD = "id? made watermark origin executor model? commit? gap coverage"  # in JSON: a rate with its watermark
_QUESTION = """id=asked.id question=asked.question kind=asked.kind why=asked.why file=asked.file line=asked.line
    provenance=asked.provenance outcome answer=run.answer"""
_OUTCOMES: dict[str, Inline] = {"gap": Span("gap", Tone.BAD), "answered": Span("answered", Tone.GOOD), "not asked": ""}


class ProbeReport(NamedTuple):
    """The questions, what came of them (None where they were only listed), and the newest written evaluation."""

    probe: Probe
    evaluation: Evaluation | None = None
    written: EvaluationHead | None = None


class ProbedQuestion(NamedTuple):
    """One question with its run, where it was asked."""

    asked: CompetencyQuestion
    run: SampleRun | None

    @property
    def outcome(self) -> str:
        """Return the outcome of the question: gap, answered, or the reason why no rate counts it."""
        if self.run is None:
            return "not asked"
        if not self.run.is_complete:
            return str(self.run.ending)
        return "gap" if self.run.has_gap else "answered"


def render_probe(report: ProbeReport, format: Format, **layout: Unpack[Layout]) -> str:
    """The report in a format."""
    if format == "jsonl":
        return "".join(json_line(_question_fields(question)) + "\n" for question in _asked_questions(report))
    return render(format, lambda: _page(report), lambda: _document(report), **layout)


def _asked_questions(report: ProbeReport) -> list[ProbedQuestion]:
    """Return every question in its order, unanswered questions first."""
    runs = {run.sample: run for run in report.evaluation.runs} if report.evaluation else {}
    questions = [ProbedQuestion(question, runs.get(question.id)) for question in report.probe.questions]
    return sorted(questions, key=lambda question: question.outcome != "gap")


def by_kind(report: ProbeReport) -> dict[QuestionSource, Rate]:
    """Return the gap rate of each kind of question, over the questions with a complete run."""
    rates: dict[QuestionSource, Rate] = {}
    for question in _asked_questions(report):
        if question.run is not None and question.run.is_complete:
            rates[question.asked.kind] = rates.get(question.asked.kind, Rate()) + Rate(int(question.run.has_gap), 1)
    return {kind: rates[kind] for kind in QuestionSource if kind in rates}


def _page(report: ProbeReport) -> Page:
    probe, evaluation = report.probe, report.evaluation
    questions = listing(map(_question, _asked_questions(report)), 60, "--format json")
    dropped = [Entry(data(proposal.question), (prose(proposal.reason),)) for proposal in probe.dropped]
    title = f"{counted(len(probe.dropped), 'proposal')} dropped, and why"
    kinds = Counter(question.kind for question in probe.questions)
    of_kinds = " · ".join(f"{kinds[kind]:,} {name}" for kind, name in KIND_NAMES.items() if kinds[kind])
    return Page(
        verb="probe",
        title="Competency questions",
        lead=f"{_PROBED}.",
        totals=_totals(probe),
        origin=(data(probe.root), of_kinds),
        sections=(
            section("", "", Note("" if probe.questions else _NO_QUESTION)),
            *_rates(report),
            section("Questions", "questions", questions),
            section(title, "dropped", listing(dropped, 15, "--format json"), folded_in=ASIDE),
            warnings([*probe.notes, *(evaluation.warnings if evaluation else [])]),
        ),
        commands=_NEXT,
        version=evaluation.version if evaluation else "",
    )


def _totals(probe: Probe) -> str:
    files = {question.file for question in probe.questions if question.file}
    totals = (
        f"{counted(len(probe.questions), 'question')} from {counted(len(files), 'file')}",
        f"{probe.left:,} more beyond the number wanted" if probe.left else "",
        f"{len(probe.dropped):,} dropped" if probe.dropped else "",
    )
    return " · ".join(filter(None, totals))


def _rates(report: ProbeReport) -> Iterator[Section]:
    """Yield both gap rates; without an evaluation there is none, and so no watermark to show."""
    if report.evaluation is not None:
        rates = by_kind(report)
        rows = ((KIND_NAMES[kind], str(rate)) for kind, rate in rates.items() if len(rates) > 1)
        yield _figures(_PROBED, report.evaluation, "figures")
        yield _figures(_WRITTEN, report.written, "written")
        yield section("Gaps by what the question comes from", "kinds", facts(rows))


def _figures(title: str, head: EvaluationHead | None, name: str) -> Section:
    if head is None:
        return section(title, name, Note(_NO_WRITTEN))
    shown = Figures((*gap_figures(head.gap), coverage_figure(head.coverage, head.root)))
    note = (Note(soft(_NOT_MIXED)),) if name == "written" else ()
    return section(title, name, Mark(head.watermark), shown, reading(head.gap), *note)


def _question(question: ProbedQuestion) -> Entry:
    asked = question.asked
    outcome = _OUTCOMES.get(question.outcome, Span(question.outcome, Tone.FAIR))
    why = (f"{KIND_NAMES[asked.kind]}: ", prose(asked.why))
    return Entry(joined((prose(asked.question), outcome), " "), (why,), data(asked.place), anchor=asked.id)


def _document(report: ProbeReport) -> dict[str, object]:
    return {
        "format": "knowbound.probe/1",
        "root": report.probe.root,
        "questions": [_question_fields(question) for question in _asked_questions(report)],
        **fields(report.probe, "dropped(question reason kind place) left usd"),
        **fields(report, f"probed=evaluation({_HEAD})"),
        "by_kind": as_json(by_kind(report)),
        **fields(report, f"written({_HEAD})"),
        "notes": as_json(report.probe.notes),
    }


def _question_fields(question: ProbedQuestion) -> dict[str, object]:
    made = fields(question, _QUESTION)
    if question.run is None:
        return made | {"outcome": None, "signals": []}
    return made | fields(question.run, "signals(type status query text)")

"""Competency questions in any format: what was asked, what was not answered, and both gap rates side by side.

Specification 1, section 9: "the gap rate from running this generated batch is shown alongside the gap rate from
human-written samples". Each stands with its own watermark; no number here joins the two.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Iterator
from html import escape
from importlib.resources import files
from typing import Literal, NamedTuple, assert_never, get_args

import msgspec

from knowbound.core.competency import CompetencyQuestion, Dropped, Probe, QuestionKind
from knowbound.report import html, markdown
from knowbound.report.as_json import coverage_fields, gap_fields
from knowbound.report.columns import aligned, shorten, wrap
from knowbound.report.plain import dumped, made_plain
from knowbound.report.text import Page, joined
from knowbound.report.words import counted, coverage_figure, gap_figures
from knowbound.stats.evaluation import Evaluation, EvaluationHead, SampleRun
from knowbound.stats.rate import Rate

FORMAT = "knowbound.probe/1"
Format = Literal["text", "json", "jsonl", "markdown", "html"]
FORMATS: tuple[Format, ...] = get_args(Format)
KIND_NAMES: dict[QuestionKind, str] = {
    QuestionKind.STUB: "heading without content",
    QuestionKind.PRINCIPLE: "principle",
    QuestionKind.MODEL: "proposed by a model",
    QuestionKind.STRUCTURE: "heading",
}
PROBED_TITLE = "What the structure of the knowledge base should answer"
WRITTEN_TITLE = "What people wrote"
NOT_MIXED = "Two test sets, two gap rates: they stand side by side and are never added to each other."
NO_WRITTEN = "No evaluation of written samples is stored. Try: knowbound eval"
_NEXT = (
    ("knowbound draft -o eval-samples.draft.yaml", "propose samples from gaps and uncovered files"),
    ("knowbound probe --format json", "every question, and what was dropped"),
)
_SHOWN, _DROPPED = 60, 15


class ProbeReport(NamedTuple):
    """The questions, what came of them (None where they were only listed), and the newest written evaluation."""

    probe: Probe
    evaluation: Evaluation | None = None
    written: EvaluationHead | None = None

    def plain(self) -> ProbeReport:
        """The same with every text made plain."""
        return ProbeReport(
            made_plain(self.probe),
            self.evaluation and made_plain(self.evaluation),
            self.written and made_plain(self.written),
        )


class Row(NamedTuple):
    """One question with its run, where it was asked."""

    asked: CompetencyQuestion
    run: SampleRun | None

    @property
    def outcome(self) -> str:
        """What came of it: gap, answered, or why it is in no rate."""
        if self.run is None:
            return "not asked"
        if not self.run.is_complete:
            return str(self.run.ending)
        return "gap" if self.run.has_gap else "answered"


def render_probe(report: ProbeReport, format: Format, *, width: int = 100, colour: bool = False) -> str:
    """The report in a format; width and colour are for the terminal."""
    match format:
        case "text":
            return _text(report.plain(), width, colour)
        case "json":
            return dumped(_document(report), indent=2) + "\n"
        case "jsonl":
            return "".join(dumped(_row_fields(row)) + "\n" for row in rows_of(report))
        case "markdown":
            return _markdown(report.plain())
        case "html":
            return _html(report.plain())
        case _:
            assert_never(format)


def rows_of(report: ProbeReport) -> list[Row]:
    """Every question in its order; those that were not answered first."""
    runs = {run.sample: run for run in report.evaluation.runs} if report.evaluation else {}
    rows = [Row(one, runs.get(one.id)) for one in report.probe.questions]
    return sorted(rows, key=lambda row: row.outcome != "gap")


def by_kind(report: ProbeReport) -> dict[QuestionKind, Rate]:
    """How many questions of each kind met a gap, of those that were asked and ended."""
    rates: dict[QuestionKind, Rate] = {}
    for row in rows_of(report):
        if row.run is not None and row.run.is_complete:
            rates[row.asked.kind] = rates.get(row.asked.kind, Rate()) + Rate(int(row.run.has_gap), 1)
    return {kind: rates[kind] for kind in QuestionKind if kind in rates}


def _totals(probe: Probe) -> str:
    files = len({one.file for one in probe.questions if one.file})
    parts = [f"{counted(len(probe.questions), 'question')} from {counted(files, 'file')}"]
    if probe.left:
        parts.append(f"{probe.left:,} more beyond the number wanted")
    if probe.dropped:
        parts.append(f"{len(probe.dropped):,} dropped")
    return " · ".join(parts)


def _kinds(probe: Probe) -> str:
    counts = Counter(one.kind for one in probe.questions)
    return " · ".join(f"{counts[kind]:,} {KIND_NAMES[kind]}" for kind in QuestionKind if counts[kind])


# Text


def _text(report: ProbeReport, width: int, colour: bool) -> str:
    page = Page(width, colour)
    evaluation = report.evaluation
    sections: list[Iterator[str]] = [
        page.title("Probe", _totals(report.probe), [report.probe.root, _kinds(report.probe)])
    ]
    if evaluation is not None:
        sections.append(_figures(page, PROBED_TITLE, evaluation))
        sections.append(_figures(page, WRITTEN_TITLE, report.written))
        sections.append(_by_kind_lines(page, report))
    sections.append(_questions(page, report))
    sections.append(_dropped_lines(page, report.probe))
    sections.append(page.warnings([*report.probe.notes, *(evaluation.warnings if evaluation else [])]))
    sections.append(page.next(_NEXT))
    return joined(*sections)


def _figures(page: Page, title: str, head: EvaluationHead | None) -> Iterator[str]:
    yield page.bold(title)
    if head is None:
        yield f"  {NO_WRITTEN}"
        return
    yield from page.figures([*gap_figures(head.gap)[:3], coverage_figure(head.coverage, head.root)])
    yield from (f"  {line}" for line in page.watermark(head.watermark))
    if head.origin == "written":
        yield from (f"  {page.dim(line)}" for line in wrap(NOT_MIXED, page.width - 2, 2))


def _by_kind_lines(page: Page, report: ProbeReport) -> Iterator[str]:
    rates = by_kind(report)
    if len(rates) < 2:
        return
    yield page.bold("Gaps by what the question comes from")
    table = [[KIND_NAMES[kind], str(rate)] for kind, rate in rates.items()]
    yield from ("  " + "   ".join(line).rstrip() for line in aligned(table, ()))


def _questions(page: Page, report: ProbeReport) -> Iterator[str]:
    rows = rows_of(report)
    if not rows:
        yield "No question could be made: no heading, file name or principle of the knowledge files makes one."
        return
    yield page.bold("Questions")
    shown = ("\n".join(_question(page, row)) for row in rows)
    yield from page.some(shown, len(rows), _SHOWN, hint=": --format json")


def _question(page: Page, row: Row) -> Iterator[str]:
    mark = {"gap": "✗", "answered": "✓", "not asked": "·"}.get(row.outcome, "!")
    lines = wrap(row.asked.question, page.width - 4, 3)
    yield from page.hanging(f"  {mark} ", lines, 4)
    ending = f"{row.outcome}: " if mark == "!" else ""
    about = f"{ending}{KIND_NAMES[row.asked.kind]}: {row.asked.why}"
    place = f"{row.asked.place} · " if row.asked.place else ""
    yield f"    {page.dim(shorten(place + about, page.width - 4))}"


def _dropped_lines(page: Page, probe: Probe) -> Iterator[str]:
    if not probe.dropped:
        return
    yield page.bold("Dropped, and why")
    shown = (
        f"  {shorten(one.question, page.width - 2)}\n    {page.dim(shorten(one.reason, page.width - 4))}"
        for one in probe.dropped
    )
    yield from page.some(shown, len(probe.dropped), _DROPPED, hint=": --format json")


# JSON


def _document(report: ProbeReport) -> dict[str, object]:
    probe = report.probe
    return {
        "format": FORMAT,
        "root": probe.root,
        "questions": [_row_fields(row) for row in rows_of(report)],
        "dropped": [_dropped_fields(one) for one in probe.dropped],
        "left": probe.left,
        "usd": probe.usd,
        "probed": report.evaluation and _head_fields(report.evaluation),
        "by_kind": {kind.value: rate.to_json() for kind, rate in by_kind(report).items()},
        "written": report.written and _head_fields(report.written),
        "notes": list(probe.notes),
    }


def _row_fields(row: Row) -> dict[str, object]:
    asked, run = row.asked, row.run
    return {
        "id": asked.id,
        "question": asked.question,
        "kind": asked.kind,
        "why": asked.why,
        "file": asked.file,
        "line": asked.line,
        "provenance": asked.provenance,
        "outcome": row.outcome if run is not None else None,
        "answer": run.answer if run is not None else None,
        "signals": [
            {"type": signal.type, "status": signal.status, "query": signal.query, "text": signal.text}
            for signal in (run.signals if run is not None else ())
        ],
    }


def _dropped_fields(one: Dropped) -> dict[str, object]:
    return {"question": one.question, "reason": one.reason, "kind": one.kind, "place": one.place}


def _head_fields(head: EvaluationHead) -> dict[str, object]:
    """A gap rate never leaves without its watermark."""
    return {
        "id": head.id or None,
        "made": head.made,
        "watermark": msgspec.to_builtins(head.watermark),
        "origin": head.origin,
        "executor": head.executor,
        "model": head.model or None,
        "commit": head.commit or None,
        "gap": gap_fields(head.gap),
        "coverage": coverage_fields(head.coverage),
    }


# Markdown


def _markdown(report: ProbeReport) -> str:
    sections: list[Iterator[str]] = [_markdown_head(report)]
    if report.evaluation is not None:
        sections += [
            _markdown_figures(PROBED_TITLE, report.evaluation),
            _markdown_figures(WRITTEN_TITLE, report.written),
        ]
    rows = rows_of(report)
    gaps = [row for row in rows if row.outcome == "gap"]
    rest = [row for row in rows if row.outcome != "gap"]
    title = "Not answered" if report.evaluation is not None else "Questions"
    sections.append(_markdown_rows(title, gaps if report.evaluation is not None else rest))
    if report.evaluation is not None:
        sections.append(markdown.folded(counted(len(rest), "other question"), _question_table(rest), 0))
    dropped = [f"- {markdown.code(one.question)}: {markdown.code(one.reason)}" for one in report.probe.dropped]
    summary = f"{counted(len(dropped), 'proposal')} dropped, and why"
    sections.append(markdown.folded(summary, dropped[: markdown.PATHS], len(dropped) - markdown.PATHS))
    sections.append(markdown.next_commands(_NEXT))
    return markdown.joined(*sections)


def _markdown_head(report: ProbeReport) -> Iterator[str]:
    yield "## Competency questions"
    yield ""
    yield f"{_totals(report.probe)} · {markdown.code(report.probe.root)}"
    yield from markdown.warnings([*report.probe.notes, *(report.evaluation.warnings if report.evaluation else [])])


def _markdown_figures(title: str, head: EvaluationHead | None) -> Iterator[str]:
    yield f"### {title}"
    yield ""
    if head is None:
        yield NO_WRITTEN
        return
    yield from markdown.figures(head.gap, [*gap_figures(head.gap), coverage_figure(head.coverage, head.root)])
    yield ""
    yield from markdown.watermark(head.watermark)
    if head.origin == "written":
        yield ""
        yield NOT_MIXED


def _markdown_rows(title: str, rows: list[Row]) -> Iterator[str]:
    if rows:
        yield f"### {title}"
        yield ""
        yield from _question_table(rows)


def _question_table(rows: list[Row]) -> Iterator[str]:
    if not rows:
        return
    yield from markdown.table("| question | from | why | place |", "| --- | --- | --- | --- |")
    for row in rows:
        one = row.asked
        kind = f"{KIND_NAMES[one.kind]}"
        yield (
            f"| {markdown.cell(one.question)} | {kind} | {markdown.cell(one.why)} | {markdown.cell(one.place)} |"
        )  # fmt: skip


# HTML


def _html(report: ProbeReport) -> str:
    """The page of every gap report; without an evaluation there is no rate, and so no watermark to show."""
    evaluation = report.evaluation
    sections = [html.Section("questions", "Questions", _html_rows(rows_of(report)))]
    if evaluation is not None:
        sections.insert(0, html.Section("written", WRITTEN_TITLE, _html_written(report.written)))
    if report.probe.dropped:
        listed = "".join(
            f"<li>{html.shown(one.question)}<br><small>{html.shown(one.reason)}</small></li>"
            for one in report.probe.dropped
        )
        sections.append(html.Section("dropped", "Dropped, and why", f'<ul class="paths">{listed}</ul>'))
    if evaluation is None:
        return _html_without_figures(report, sections)
    return html.page(
        title="Competency questions",
        lead=PROBED_TITLE + ".",
        totals=_totals(report.probe),
        origin=[report.probe.root, _kinds(report.probe), *report.probe.notes],
        watermark=evaluation.watermark,
        cards=[*html.gap_cards(evaluation.gap), html.card(coverage_figure(evaluation.coverage, evaluation.root))],
        reading=html.reading(evaluation.gap),
        sections=sections,
        commands=_NEXT,
        version=evaluation.version,
    )


def _html_without_figures(report: ProbeReport, sections: list[html.Section]) -> str:
    """Questions that were only listed: no number, no script, no network."""
    style = (files("knowbound.report") / "assets" / "report.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    body = "".join(f"<section><h2>{escape(one.title)}</h2>{one.body}</section>" for one in sections)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Competency questions</title>\n<style>{style}</style>\n</head>\n<body>\n<header>\n"
        f'<h1>Competency questions</h1>\n<p class="lead">{PROBED_TITLE}.</p>\n'
        f'<p class="totals">{html.shown(_totals(report.probe))}</p>\n'
        f"</header>\n<main>{body}</main>\n</body>\n</html>\n"
    )


def _html_written(head: EvaluationHead | None) -> str:
    if head is None:
        return f"<p>{html.shown(NO_WRITTEN)}</p>"
    cards = "".join([*html.gap_cards(head.gap), html.card(coverage_figure(head.coverage, head.root))])
    note = f'<div class="watermark">{html.watermark_note(head.watermark)}</div>'
    return f'<p>{html.shown(NOT_MIXED)}</p>{note}<div class="cards">{cards}</div>'


def _html_rows(rows: list[Row]) -> str:
    if not rows:
        return "<p>No question could be made.</p>"
    listed = "".join(
        html.table_row(
            html.shown(row.asked.question),
            (
                ("Outcome", html.shown(row.outcome)),
                ("From", KIND_NAMES[row.asked.kind]),
                ("Why", html.shown(row.asked.why)),
                ("Place", f"<code>{html.shown(row.asked.place)}</code>" if row.asked.place else ""),
            ),
            row.asked.id,
        )
        for row in rows
    )
    return html.table("samples", ("Question", "Outcome", "From", "Why", "Place"), listed)

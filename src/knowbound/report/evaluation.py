"""The report of an evaluation, in any format (specification 1, section 7)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from knowbound.report.format_names import GapFormat, LineFormat, PageFormat
from knowbound.report.formats import render
from knowbound.report.formats.github import evaluation_github
from knowbound.report.formats.json import GATE_KEYS, as_json, fields, json_line, signal_fields
from knowbound.report.formats.junit import evaluation_junit
from knowbound.report.formats.plain import made_plain
from knowbound.report.formats.sarif import evaluation_sarif
from knowbound.report.gap_sections import (
    INTERVALS,
    InventoryEntry,
    coverage_figure,
    figures_section,
    gap_figures,
    inventory,
    judged_hedges,
    mark_section,
    missed_searches,
    reading,
    share_cell,
    sources,
    uncovered,
    warnings,
)
from knowbound.report.gate_words import gates_section
from knowbound.report.injection import injection_fields, injection_sections
from knowbound.report.samples import (
    SampleGroup,
    SampleRow,
    assertion_words,
    by_capability,
    by_difficulty,
    counted_unit,
    ending_words,
    evaluation_entries,
    knowledge_words,
    left_out,
    left_out_words,
    rows_to_read_first,
    sample_place,
    sample_rows,
    unscored,
    who_words,
    with_places_near,
)
from knowbound.report.sections import (
    ASIDE,
    Bar,
    Column,
    Entry,
    Figure,
    Figures,
    Fold,
    Inline,
    Listing,
    Mark,
    Note,
    Page,
    Row,
    Section,
    Span,
    Table,
    Tone,
    data,
    prose,
    soft,
)
from knowbound.report.words import TYPE_NAMES
from knowbound.stats.evaluation import Evaluation, SampleRun
from knowbound.stats.gate import GateResult
from knowbound.stats.injection import InjectionEffect
from knowbound.stats.printing import money, score, score_interval, seconds_taken
from knowbound.stats.rate import Mean
from knowbound.text.printable import counted

Format = PageFormat | GapFormat | LineFormat
BUILT_IN = "investigate"  # the executor that searches and does not understand
NEXT_COMMANDS: tuple[tuple[str, str], ...] = (
    ("knowbound report --format html -o report.html", "this report in a browser"),
    ("knowbound trend", "the gap rate over commits"),
    ("knowbound draft", "new samples for what was missed"),
)
_BESIDE = (
    "Questions that the structure of the knowledge base raises. Their gap rate is shown beside the one above "
    "and never added to it."
)
_GROUP = "name samples gap composite"  # in JSON
_LOWEST, _HIGHEST = 1.0, 5.0  # of a composite


class EvaluationReport(NamedTuple):
    """An evaluation with what is shown beside it."""

    evaluation: Evaluation
    gates: tuple[GateResult, ...] = ()
    nudge: str = ""  # specification 1, section 8: a note, never a failure
    beside: Evaluation | None = None  # competency questions: shown beside, never added (section 9)
    effect: InjectionEffect | None = None  # where it was run with and without injection


def render_evaluation(
    evaluation: Evaluation,
    format: Format,
    *,
    width: int = 100,
    colour: bool = False,
    gates: Iterable[GateResult] = (),
    nudge: str = "",
    beside: Evaluation | None = None,
    effect: InjectionEffect | None = None,
    here: str | None = None,
) -> str:
    """The evaluation in a format.

    `nudge` is the note of section 8, `beside` the evaluation of competency questions, `effect` what injection did;
    files are named relative to `here` (the current folder); width and colour are for the terminal.
    """
    here = os.getcwd() if here is None else here
    gates = tuple(gates)
    match format:
        case "jsonl":
            return "".join(_run_lines(evaluation))
        case "sarif" | "junit" | "github":
            near = with_places_near(made_plain(evaluation), (here,))
            report = EvaluationReport(near, tuple(map(made_plain, gates)), nudge, effect=effect)
            return {"sarif": evaluation_sarif, "junit": evaluation_junit, "github": evaluation_github}[format](report)
        case _:
            report = EvaluationReport(evaluation, gates, nudge, beside, effect)
            page, document = (lambda: _page(report, here)), (lambda: _document(report))
            return render(format, page, document, width=width, colour=colour)


def _page(report: EvaluationReport, here: str) -> Page:
    evaluation = with_places_near(report.evaluation, (here, report.evaluation.root))
    unit = counted_unit(evaluation)
    rows, entries = sample_rows(evaluation), evaluation_entries(evaluation)
    return Page(
        verb="eval",
        title="Knowledge gaps of a test set",
        lead="What the agent looked for and did not find, question by question.",
        totals=_totals(evaluation),
        origin=(prose(who_words(evaluation)), prose(knowledge_words(evaluation))),
        sections=(
            mark_section(evaluation.watermark),
            Section("", (Note(report.nudge, Tone.FAIR),)),
            gates_section(report.gates),
            figures_section(
                evaluation.gap, evaluation.coverage, evaluation.root, unit, *_composite(evaluation.composite)
            ),
            *injection_sections(evaluation, report.effect),
            warnings(evaluation.warnings),
            judged_hedges(evaluation.judging),
            sources(evaluation.gap, built_in=evaluation.executor == BUILT_IN),
            missed_searches(evaluation.topics, entries, unit),
            Section("By sample", (_sample_table(rows, entries),), "samples"),
            _groups("capability", by_capability(evaluation)),
            _groups("difficulty", by_difficulty(evaluation)),
            *_beside(report.beside),
            uncovered(
                evaluation.coverage.uncovered,
                "No answer came from these files: they are natural candidates for new samples.",
            ),
            inventory(entries, "Run"),
            _failed(rows),
            *_left_out(evaluation),
        ),
        commands=NEXT_COMMANDS,
        version=evaluation.version,
    )


def _totals(evaluation: Evaluation) -> str:
    runs = counted(len(evaluation.runs), "run")
    if evaluation.runs_incomplete:
        runs += f" ({evaluation.runs_incomplete:,} not in the rates)"
    totals = _counts(evaluation)
    counts = [counted(totals[name], noun) for name, noun in _COUNTED.items()]
    return " · ".join([counted(evaluation.samples, "sample"), runs, *counts])


_COUNTED = {"turns": "turn", "tool_calls": "tool call", "signals": "signal"}


def _counts(evaluation: Evaluation) -> dict[str, int]:
    complete = [run for run in evaluation.runs if run.is_complete]
    return {
        "turns": sum(run.turns for run in complete),
        "tool_calls": sum(run.calls for run in complete),
        "signals": sum(len(run.signals) for run in complete),
    }


def _composite(mean: Mean) -> Iterator[Figure]:
    if mean.value is None:
        return
    drawn = None
    if mean.low is not None and mean.high is not None:
        drawn = (_on_scale(mean.low), _on_scale(mean.value), _on_scale(mean.high))
    counts = f"of 5, over {counted(mean.n, 'answer')}"
    between = score_interval(mean.low, mean.high)
    yield Figure("Composite", score(mean.value), between, drawn, counts, "the mean of what was graded, from 1 to 5")


def _on_scale(value: float) -> float:
    return (value - _LOWEST) / (_HIGHEST - _LOWEST)


def _sample_table(rows: list[SampleRow], entries: list[InventoryEntry]) -> Table:
    first: dict[str, int] = {}
    for number, entry in enumerate(entries, 1):
        first.setdefault(entry.anchor, number)
    columns = (
        Column("sample"),
        Column("gap"),
        Column("signals"),
        Column("composite", right=True),
        Column("cost", right=True),
        Column("seconds", right=True, optional=1),
        Column("ending"),
        Column("written in", optional=2),
        Column("asked", optional=3),
    )
    return Table(columns, tuple(_sample(row, first.get(row.anchor, 0)) for row in rows_to_read_first(rows)))


def _sample(row: SampleRow, first: int) -> Row:
    done = len(row.complete) == len(row.runs)
    signals = Span(_types(row), Tone.SOFT, f"gap-{first}") if first else "–"
    failed = (" ", Span(f"({len(row.failed)} failed)", Tone.SOFT, f"failed-{row.anchor}")) if row.failed else ()
    cells = (
        data(row.sample),
        _gap(row),
        signals,
        (score(row.composite), *failed),
        money(row.usd),
        seconds_taken(row.seconds),
        Span(ending_words(row), Tone.PILL if done else Tone.OPEN_PILL),
        data(row.place),
        _asked(row),
    )
    return Row(cells, row.anchor)


def _gap(row: SampleRow) -> Inline:
    """Whether the sample has a gap; of several runs, in how many. Without tool calls nobody saw that it has none."""
    if not row.complete or not (row.signals or all(run.shows_calls for run in row.complete)):
        return Span("unknown", Tone.SOFT)
    if len(row.runs) > 1:
        words = f"{row.gap.k} of {row.gap.n}"
    else:
        words = "no" if not row.signals else "yes" if row.open_signals else "not open"
    return Span(words, Tone.BAD) if row.open_signals else words


def _types(row: SampleRow) -> str:
    return ", ".join(TYPE_NAMES[type_] + (f" ×{number}" if number > 1 else "") for type_, number in row.types.items())


def _asked(row: SampleRow) -> Inline:
    """The prompt; behind it what was answered, as it was written."""
    prompt = row.runs[0].prompt
    answers = tuple(dict.fromkeys(run.answer for run in row.runs if run.answer))
    return Fold(prompt or "answer", answers or ("no answer",)) if prompt or answers else ""


def _groups(name: str, groups: list[SampleGroup]) -> Section:
    columns = (Column(name), Column("samples", right=True), Column("gap rate"), Column(""), Column("composite"))
    rows = tuple(
        Row(
            (
                data(group.name),
                f"{group.samples:,}",
                share_cell(group.gap),
                Bar(group.gap.value or 0.0),
                " ".join(filter(None, (score(group.composite.value), _brackets(group.composite)))),
            )
        )
        for group in groups
    )
    return Section(f"By {name}", (Table(columns, rows, 15), INTERVALS), f"by-{name}")


def _brackets(mean: Mean) -> str:
    between = score_interval(mean.low, mean.high)
    return f"({between})" if between else ""


def _beside(probed: Evaluation | None) -> Iterator[Section]:
    if probed is None:
        return
    unit = counted_unit(probed)
    shown = (*gap_figures(probed.gap, unit), coverage_figure(probed.coverage, probed.root))
    parts = (Note(soft(_BESIDE)), Mark(probed.watermark), Figures(shown), reading(probed.gap, unit))
    yield Section("Competency questions, beside the written samples", parts, "beside")


def _failed(rows: list[SampleRow]) -> Section:
    return Section("Failed assertions", (Listing(tuple(_failing(row) for row in rows if row.failed), 25),), "failed")


def _failing(row: SampleRow) -> Entry:
    lines = [
        (data(assertion_words(one)), ": ", prose(one.reason)) if one.reason else data(assertion_words(one))
        for one in row.failed
    ]
    answers = dict.fromkeys(run.answer for run in row.complete if run.answer)
    return Entry(
        ("Sample ", Span(row.sample, Tone.DATA, row.anchor)),
        (*lines, *(("answer: ", Span(answer, Tone.QUOTE)) for answer in answers)),
        data(row.place),
        anchor=f"failed-{row.anchor}",
    )


def _left_out(evaluation: Evaluation) -> Iterator[Section]:
    """Everything that is not in the rates, so that nothing is lost silently."""
    runs, repeats = left_out(evaluation), evaluation.repeat > 1
    lines = tuple(Entry(prose(left_out_words(run, repeats)), place=data(sample_place(run))) for run in runs)
    yield Section(f"{counted(len(runs), 'run')} not in the rates", (Listing(lines, 5),), "left-out", ASIDE)
    reasons = unscored(evaluation)
    listed = tuple(Entry((f"{number:,} ", prose(reason))) for reason, number in reasons.items())
    title = f"{counted(sum(reasons.values()), 'grade')} unscored, counted neither for nor against"
    yield Section(title, (Listing(listed, 5),), "unscored", ASIDE)


def _document(report: EvaluationReport) -> dict[str, object]:
    """`knowbound.evaluation/1` of docs/json.md."""
    evaluation = report.evaluation
    return {
        "format": "knowbound.evaluation/1",
        **head_fields(evaluation),
        "totals": {
            "samples": evaluation.samples,
            "runs": len(evaluation.runs),
            "runs_complete": evaluation.runs_complete,
            "runs_incomplete": evaluation.runs_incomplete,
            **_counts(evaluation),
            "seconds": evaluation.seconds,
        },
        "cost": {"usd": evaluation.usd, "unknown_runs": sum(run.usd is None for run in evaluation.runs)},
        "samples": [_sample_fields(row) for row in sample_rows(evaluation)],
        "by_capability": [fields(group, _GROUP) for group in by_capability(evaluation)],
        "by_difficulty": [fields(group, _GROUP) for group in by_difficulty(evaluation)],
        "topics": as_json(evaluation.topics),
        "inventory": [_entry_fields(entry) for entry in evaluation_entries(evaluation)],
        "unscored": unscored(evaluation),
        "runs": [_run_fields(run) for run in evaluation.runs],
        "gates": [fields(gate, GATE_KEYS) for gate in report.gates],
        "nudge": report.nudge or None,
        "beside": report.beside and head_fields(report.beside),
        **fields(evaluation, "warnings judging"),
        "compared_with": evaluation.compared_with or None,
        "injection": injection_fields(report.effect),
        "version": evaluation.version,
    }


def _run_lines(evaluation: Evaluation) -> Iterator[str]:
    """Each line has the watermark: lines are taken apart, and whoever counts them makes a rate."""
    mark = evaluation.watermark
    about = {"test_set": mark.sha256_8, "watermark": as_json(mark)}
    for run in evaluation.runs:
        yield json_line({**_run_fields(run), **about}) + "\n"


def head_fields(evaluation: Evaluation) -> dict[str, object]:
    """Which test set, which knowledge, who answered, and the figures."""
    return {
        **fields(evaluation, "id? made watermark sha256 origin executor model? judge? repeat inject root"),
        "knowledge": {
            **fields(evaluation, "commit? subject? dirty"),
            "version": evaluation.against or None,
            "files": evaluation.knowledge,
        },
        **fields(evaluation, "gap coverage composite"),
    }


def _run_fields(run: SampleRun) -> dict[str, object]:
    """A run, with the way back to the samples file and the trace."""
    signals = [msgspec.structs.replace(signal, sample=run.sample) for signal in run.signals]
    return {
        **fields(run, "sample repeat ending problem?"),
        "gap": run.has_gap if run.is_complete else None,
        "signals": as_json(signals),
        **fields(run, "grade usd seconds tokens_in tokens_out model? turns steps calls shows_calls"),
        **fields(run, "reached cached attempts"),
        "injected": [fields(one, "item source excerpt") for one in run.injected],
        **fields(run, "capability difficulty? construct? provenance? prompt answer file line trace"),
    }


def _sample_fields(row: SampleRow) -> dict[str, object]:
    return {
        **fields(row, "sample gap"),
        "open": bool(row.open_signals) if row.complete else None,
        "by_type": {type_.value: number for type_, number in row.types.items()},
        **fields(row, "composite usd seconds"),
        "endings": [run.ending for run in row.runs],
        "failed_assertions": as_json(row.failed),
        **fields(row.runs[0], "file line"),
    }


def _entry_fields(entry: InventoryEntry) -> dict[str, object]:
    return {**signal_fields(entry.signal), "run": entry.note.removeprefix("run ") or "1", "places": list(entry.places)}

"""The report of an evaluation, in any format (specification 1, section 7)."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Unpack

from msgspec.structs import replace

from knowbound.report import GapFormat, Layout, LineFormat, PageFormat
from knowbound.report import figures as gaps
from knowbound.report.evals import samples as by_sample
from knowbound.report.evals.comparison import comparison_fields, comparison_sections
from knowbound.report.evals.samples import SampleGroup, SampleRow
from knowbound.report.figures import INTERVALS, InventoryEntry, share_cell
from knowbound.report.formats import render
from knowbound.report.formats.json import GATE_KEYS, as_json, fields, json_line, signal_fields
from knowbound.report.formats.plain import made_plain, with_files_near
from knowbound.report.lines import Bar, Fold, Inline, Line, Span, Tone, data, prose, quote, soft, strong
from knowbound.report.sections import (
    ASIDE,
    Entry,
    Figure,
    Figures,
    Mark,
    Note,
    Page,
    Row,
    Section,
    listing,
    section,
    table,
)
from knowbound.report.words import TYPE_NAMES, gates_section, place_words
from knowbound.stats.comparison import Comparison, answers, is_answered
from knowbound.stats.evaluation import Cause, Evaluation, SampleCause, SampleRun, complete_runs
from knowbound.stats.gate import GateResult
from knowbound.stats.paired import unpaired_difference
from knowbound.stats.printing import money, score, score_interval, seconds_taken
from knowbound.stats.rate import Mean, Rate
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
_UNCOVERED = "No answer came from these files: they are natural candidates for new samples."
_SAMPLES = "sample | gap | signals | composite> | cost> | seconds>?1 | ending | written in?2 | asked?3"
_GROUP = "name samples gap composite"
_RUN = """sample repeat ending problem? gap=has_gap signals grade usd seconds tokens_in tokens_out model? turns steps
    calls shows_calls reached cached attempts injected(item source excerpt) capability difficulty? construct?
    provenance? prompt answer file line trace"""
_LOWEST, _HIGHEST = 1.0, 5.0  # of a composite


class EvaluationReport(NamedTuple):
    """An evaluation with what is shown beside it."""

    evaluation: Evaluation
    gates: tuple[GateResult, ...] = ()
    nudge: str = ""  # specification 1, section 8: a note, never a failure
    beside: Evaluation | None = None  # competency questions: shown beside, never added (section 9)
    comparison: Comparison | None = None  # where two variants were run


def render_evaluation(
    report: EvaluationReport, format: Format, *, here: str | None = None, **layout: Unpack[Layout]
) -> str:
    """The evaluation in a format; files are named relative to `here` (the current folder)."""
    evaluation, here = report.evaluation, os.getcwd() if here is None else here
    match format:
        case "jsonl":
            # Each line has the watermark: people separate the lines, and count them as a rate.
            test_set = {"test_set": evaluation.watermark.sha256_8, "watermark": as_json(evaluation.watermark)}
            return "".join(json_line({**_run_fields(run), **test_set}) + "\n" for run in evaluation.runs)
        case "sarif" | "junit" | "github":
            from knowbound.report.formats import ci, sarif  # noqa: PLC0415  (only these formats need them)

            near, gates = with_files_near(made_plain(evaluation), (here,)), tuple(map(made_plain, report.gates))
            renderers = {"sarif": sarif.evaluation_sarif, "junit": ci.evaluation_junit}
            return renderers.get(format, ci.evaluation_github)(report._replace(evaluation=near, gates=gates))
        case _:
            return render(format, lambda: evaluation_page(report, here), lambda: _document(report), **layout)


def evaluation_page(report: EvaluationReport, here: str) -> Page:
    """Return an evaluation as a page; files are named relative to `here`."""
    evaluation = with_files_near(report.evaluation, (here, report.evaluation.root))
    gap, coverage, unit = evaluation.gap, evaluation.coverage, by_sample.counted_unit(evaluation)
    rows, entries = by_sample.sample_rows(evaluation), by_sample.evaluation_entries(evaluation)
    failed = listing((_failing(row) for row in rows if row.failed), 25)
    return Page(
        verb="eval",
        title="Knowledge gaps of a test set",
        lead="What the agent looked for and did not find, question by question.",
        totals=_totals(evaluation),
        origin=(prose(by_sample.who_words(evaluation)), prose(by_sample.knowledge_words(evaluation))),
        sections=(
            gaps.mark_section(evaluation.watermark),
            *(comparison_sections(report.comparison) if report.comparison else ()),
            *_causes_sections(evaluation),
            _failed_samples(evaluation),
            *_doubtful_sections(evaluation),
            section("", "", Note(report.nudge, Tone.FAIR)),
            gates_section(report.gates),
            gaps.figures_section(gap, coverage, evaluation.root, unit, *_composite(evaluation.composite)),
            *_injected(evaluation),
            gaps.warnings(evaluation.warnings),
            gaps.judged_hedges(evaluation.judging),
            gaps.sources(gap, built_in=evaluation.executor == BUILT_IN),
            gaps.missed_searches(evaluation.topics, entries, unit),
            section("By sample", "samples", table(_SAMPLES, _samples(rows, entries))),
            *(_groups(name, groups) for name, groups in by_sample.groups(evaluation).items()),
            *_beside(report.beside),
            gaps.uncovered(coverage.uncovered, _UNCOVERED),
            gaps.inventory(entries, "Run"),
            section("Failed assertions", "failed", failed),
            *_left_out(evaluation),
        ),
        commands=NEXT_COMMANDS,
        version=evaluation.version,
    )


def _injected(evaluation: Evaluation) -> Iterator[Section]:
    """Yield the items by the number of samples that got them; nothing if the evaluation did not inject."""
    if not evaluation.inject:
        return
    samples: dict[str, set[str]] = {}
    words: dict[str, str] = {}
    for run in evaluation.runs:
        for text in run.injected:
            samples.setdefault(text.item, set()).add(run.sample)
            words[text.item] = text.excerpt
    ranked = sorted(samples, key=lambda item: -len(samples[item]))
    rows = ((data(item), f"{len(samples[item]):,}", data(words[item])) for item in ranked)
    none = Note(soft("No item was injected in any run: the prompts match none, or the hooks failed."))
    yield section("Injected items", "injected", table("item | samples> | text?1", rows, 15) if samples else none)


def _totals(evaluation: Evaluation) -> str:
    runs = counted(len(evaluation.runs), "run")
    if evaluation.runs_incomplete:
        runs += f" ({evaluation.runs_incomplete:,} not in the rates)"
    counts = (counted(number, name.removesuffix("s").replace("_", " ")) for name, number in _counts(evaluation).items())
    return " · ".join([counted(evaluation.samples, "sample"), runs, *counts])


def _counts(evaluation: Evaluation) -> dict[str, int]:
    """Return the turns, tool calls and signals of the complete runs."""
    complete = [run for run in evaluation.runs if run.is_complete]
    return {
        "turns": sum(run.turns for run in complete),
        "tool_calls": sum(run.calls for run in complete),
        "signals": sum(len(run.signals) for run in complete),
    }


def _composite(mean: Mean) -> Iterator[Figure]:
    """Yield the mean grade as a figure; nothing if no answer was graded."""
    if mean.value is None:
        return
    drawn = None
    if mean.low is not None and mean.high is not None:
        low, value, high = ((point - _LOWEST) / (_HIGHEST - _LOWEST) for point in (mean.low, mean.value, mean.high))
        drawn = (low, value, high)
    counts, meaning = f"of 5, over {counted(mean.n, 'answer')}", "the mean of what was graded, from 1 to 5"
    yield Figure("Composite", score(mean.value), score_interval(mean.low, mean.high), drawn, counts, meaning)


def _samples(rows: list[SampleRow], entries: list[InventoryEntry]) -> Iterator[Row]:
    last_first = reversed(list(enumerate(entries, 1)))  # so that the first gap of a sample remains
    first_gaps = {entry.anchor: number for number, entry in last_first}
    return (_sample(row, first_gaps.get(row.anchor, 0)) for row in by_sample.rows_to_read_first(rows))


def _sample(row: SampleRow, gap_number: int) -> Row:
    """Return the row of a sample; `gap_number` is that of its first gap in the inventory, 0 without a gap."""
    is_complete = len(row.complete) == len(row.runs)
    types = (TYPE_NAMES[type_] + (f" ×{number}" if number > 1 else "") for type_, number in row.types.items())
    failed = (" ", Span(f"({len(row.failed)} failed)", Tone.SOFT, f"failed-{row.anchor}")) if row.failed else ()
    # Behind the prompt is what was answered, as it was written.
    prompt, answers = row.runs[0].prompt, tuple(dict.fromkeys(run.answer for run in row.runs if run.answer))
    cells: tuple[Line, ...] = (
        data(row.sample),
        _gap(row),
        Span(", ".join(types), Tone.SOFT, f"gap-{gap_number}") if gap_number else "–",
        (score(row.composite), *failed),
        money(row.usd),
        seconds_taken(row.seconds),
        Span(by_sample.ending_words(row), Tone.PILL if is_complete else Tone.OPEN_PILL),
        data(row.place),
        Fold(prompt or "answer", answers or ("no answer",)) if prompt or answers else "",
    )
    return Row(cells, row.anchor)


def _gap(row: SampleRow) -> Inline:
    """Say whether the sample has a gap; of several runs, in how many. Without tool calls none is seen."""
    if not row.complete or not (row.signals or all(run.shows_calls for run in row.complete)):
        return soft("unknown")
    words = "no" if not row.signals else "yes" if row.open_signals else "not open"
    words = f"{row.gap.k} of {row.gap.n}" if len(row.runs) > 1 else words
    return Span(words, Tone.BAD) if row.open_signals else words


def _groups(name: str, groups: list[SampleGroup]) -> Section:
    rows = []
    for group in groups:
        between = score_interval(group.composite.low, group.composite.high)
        composite = score(group.composite.value) + (f" ({between})" if between else "")
        bar = Bar(group.gap.value or 0.0)
        rows.append((data(group.name), f"{group.samples:,}", share_cell(group.gap), bar, composite))
    shown = table(f"{name} | samples> | gap rate | | composite", rows, 15)
    return section(f"By {name}", f"by-{name}", shown, INTERVALS)


def _beside(probed: Evaluation | None) -> Iterator[Section]:
    """Yield the rates of competency questions under their own watermark."""
    if probed is not None:
        unit = by_sample.counted_unit(probed)
        shown = Figures((*gaps.gap_figures(probed.gap, unit), gaps.coverage_figure(probed.coverage, probed.root)))
        parts = (Note(soft(_BESIDE)), Mark(probed.watermark), shown, gaps.reading(probed.gap, unit))
        yield section("Competency questions, beside the written samples", "beside", *parts)


def _failing(row: SampleRow) -> Entry:
    """Return a sample with its failed assertions and the answers that failed them."""
    failed: list[Line] = []
    for grade in row.failed:
        words = data(by_sample.assertion_words(grade))
        failed.append((words, ": ", prose(grade.reason)) if grade.reason else words)
    answers = dict.fromkeys(run.answer for run in row.complete if run.answer)
    lines = (*failed, *(("answer: ", quote(answer)) for answer in answers))
    head = ("Sample ", Span(row.sample, Tone.DATA, row.anchor))
    return Entry(head, lines, data(row.place), anchor=f"failed-{row.anchor}")


def _left_out(evaluation: Evaluation) -> Iterator[Section]:
    """Everything that is not in the rates, so that nothing is lost silently."""
    runs, repeats = by_sample.left_out(evaluation), evaluation.repeat > 1
    listed = ((prose(by_sample.left_out_words(run, repeats)), data(by_sample.sample_place(run))) for run in runs)
    lines = listing((Entry(words, place=place) for words, place in listed), 5)
    yield section(f"{counted(len(runs), 'run')} not in the rates", "left-out", lines, folded_in=ASIDE)
    reasons = by_sample.unscored(evaluation)
    title = f"{counted(sum(reasons.values()), 'grade')} unscored, counted neither for nor against"
    lines = listing(((f"{number:,} ", prose(reason)) for reason, number in reasons.items()), 5)
    yield section(title, "unscored", lines, folded_in=ASIDE)


def _document(report: EvaluationReport) -> dict[str, object]:
    evaluation = report.evaluation
    unpriced_runs = sum(run.usd is None for run in evaluation.runs)
    return {
        "format": "knowbound.evaluation/1",
        **by_sample.head_fields(evaluation),
        "totals": {
            **fields(evaluation, "samples runs runs_complete runs_incomplete"),
            "runs": len(evaluation.runs),  # keeps the place that the field gave it
            **_counts(evaluation),
            "seconds": evaluation.seconds,
        },
        "cost": {"usd": evaluation.usd, "unknown_runs": unpriced_runs},
        "samples": [_sample_fields(row) for row in by_sample.sample_rows(evaluation)],
        **{
            f"by_{name}": [fields(group, _GROUP) for group in groups]
            for name, groups in by_sample.groups(evaluation).items()
        },
        "topics": as_json(evaluation.topics),
        "inventory": [
            signal_fields(entry.signal) | {"run": entry.note.removeprefix("run ") or "1", "places": list(entry.places)}
            for entry in by_sample.evaluation_entries(evaluation)
        ],
        "unscored": by_sample.unscored(evaluation),
        **_causes_fields(evaluation),
        "runs": [_run_fields(run) for run in evaluation.runs],
        **fields(report, f"gates({GATE_KEYS}) nudge?"),
        "beside": report.beside and by_sample.head_fields(report.beside),
        **fields(evaluation, "warnings judging compared_with?"),
        "comparison": comparison_fields(report.comparison) if report.comparison else None,
        "version": evaluation.version,
    }


def _run_fields(run: SampleRun) -> dict[str, object]:
    signals = [signal_fields(replace(signal, sample=run.sample)) for signal in run.signals]
    return fields(replace(run, signals=[]), _RUN) | {
        "gap": run.has_gap if run.is_complete else None,
        "signals": signals,
    }


def _sample_fields(row: SampleRow) -> dict[str, object]:
    return {
        **fields(row, "sample gap"),
        "open": bool(row.open_signals) if row.complete else None,
        "by_type": row.types,
        **fields(row, "composite usd seconds"),
        "endings": [run.ending for run in row.runs],
        "failed_assertions": as_json(row.failed),
        **fields(row.runs[0], "file line"),
    }


# Causes of failed samples: how many have each, with its fix, then sample by sample with the quotations

_CAUSES: dict[Cause, tuple[str, str]] = {  # in words, and what to do
    Cause.MISSING: ("knowledge missing", "write it down"),
    Cause.NOT_FOUND: ("there and not found", "say it in the words that are searched for, or link to it"),
    Cause.NOT_USED: ("found and not used", "say it more plainly and earlier, or try another model"),
    Cause.CONTRADICTED: ("contradicted", "repair one of the two passages"),
    Cause.AGENT_FAILED: ("agent failed", "run it again, with more time or budget"),
    Cause.SAMPLE_BAD: ("sample bad", "repair the sample"),
    Cause.UNDECIDED: ("undecided", "let a model look: knowbound model"),
}
_CAUSE = "sample cause why path line quote other_path other_line other_quote fix by problem?"


def _counted_causes(causes: Sequence[SampleCause]) -> dict[Cause, int]:
    found = Counter(failed.cause for failed in causes)
    return {cause: found[cause] for cause in Cause if found[cause]}


def causes_words(evaluation: Evaluation) -> str:
    """Return in one sentence how many samples are answered, and why the others are not."""
    runs = complete_runs(evaluation.runs)
    answered = sum(map(is_answered, runs.values()))
    result = f"{answered:,} of {counted(evaluation.samples, 'sample')} answered"
    if not evaluation.causes:
        return f"{result}."
    parts = [f"{number:,} {_CAUSES[cause][0]}" for cause, number in _counted_causes(evaluation.causes).items()]
    held_out_note = "; those held out are not looked at" if evaluation.held_out else ""
    return f"{result}; {len(evaluation.causes):,} failed: {', '.join(parts)}{held_out_note}."


def _causes_sections(evaluation: Evaluation) -> Iterator[Section]:
    """Yield how many samples are answered, and the causes of the others with what to do."""
    counts = _counted_causes(evaluation.causes)
    rows = [(_CAUSES[cause][0], f"{number:,}", _CAUSES[cause][1]) for cause, number in counts.items()]
    # That an agent failed is seen without a judge.
    judges = {failed.by for failed in evaluation.causes if failed.cause is not Cause.AGENT_FAILED}
    hint = "Rules alone looked: they compare the expected words letter by letter. A model finds more: knowbound model"
    notes = [Note(strong(causes_words(evaluation))), *([Note(soft(hint))] if judges == {"rules"} else [])]
    tables = [table("cause | samples> | what to do", rows)] if rows else []
    yield section("Why samples failed" if rows else "", "causes", *notes, *tables)


def _doubtful_sections(evaluation: Evaluation) -> Iterator[Section]:
    """Yield samples whose repeats differ, apart, and how far several judges agree."""
    if words := held_out_words(evaluation):
        yield section("Held out", "held-out", Note(words))
    rows = [(data(sample), f"{k} of {n} runs") for sample, (k, n) in flaky_samples(evaluation).items()]
    yield section("Flaky samples: their repeats differ", "flaky", table("sample | answered in", rows))
    by_several = [
        criterion.scores for run in evaluation.runs for criterion in run.grade.criteria if len(criterion.scores) > 1
    ]
    if by_several:
        # The scores of one criterion: equal, or at most one point apart.
        equal, close = (sum(max(scores) - min(scores) <= most for scores in by_several) for most in (0, 1))
        of = counted(len(by_several), "score")
        words = f"The judges give the same score for {equal:,} of {of}, and differ by one point at most for {close:,}."
        yield section("Agreement of the judges", "agreement", Note(words))


def held_out_words(evaluation: Evaluation) -> str:
    """Return in one sentence how the samples that were held out compare with the others; "" if there are none."""
    if not evaluation.held_out:
        return ""
    aside = frozenset(evaluation.held_out)
    runs = complete_runs(evaluation.runs)
    others, held_out = (
        Rate(sum(is_answered(runs[sample]) for sample in samples), len(samples))
        for samples in ([name for name in runs if name not in aside], [name for name in runs if name in aside])
    )
    words = f"Held out: {held_out.k:,} of {counted(held_out.n, 'sample')} answered, {others.k:,} of {others.n:,} others"
    difference = unpaired_difference(others, held_out)
    if difference is None:
        return f"{words}."
    if difference.low <= 0 <= difference.high:
        return f"{words} ({difference}): they cannot be distinguished."
    is_worse = difference.value < 0
    better = "what was repaired helps the samples that were looked at alone" if is_worse else "they do better"
    return f"{words} ({difference}): {better}."


def flaky_samples(evaluation: Evaluation) -> dict[str, tuple[int, int]]:
    """Return the samples that some complete runs answer and others do not, with how many do."""
    counts = {sample: (sum(map(answers, runs)), len(runs)) for sample, runs in complete_runs(evaluation.runs).items()}
    return {sample: (k, n) for sample, (k, n) in counts.items() if 0 < k < n}


def _failed_samples(evaluation: Evaluation) -> Section:
    order = list(Cause)
    entries = (_cause(failed) for failed in sorted(evaluation.causes, key=lambda failed: order.index(failed.cause)))
    return section("Failed samples, by cause", "failed-causes", listing(entries, 12))


def _cause(failed: SampleCause) -> Entry:
    """Return a failed sample with its cause, the quotations that show it, and what to do."""
    lines: list[Line] = [prose(failed.why)] if failed.why else []
    quoted = ((failed.path, failed.line, failed.quote), (failed.other_path, failed.other_line, failed.other_quote))
    lines += [(data(place_words(path, line)), ": ", quote(text)) for path, line, text in quoted if text]
    if failed.fix:
        lines.append(("to do: ", prose(failed.fix)))
    if failed.problem:
        lines.append(("no model decided: ", prose(failed.problem)))
    by = "" if failed.by == "rules" else soft(f" (by {failed.by})")
    head = ("Sample ", data(failed.sample), f": {_CAUSES[failed.cause][0]}", by)
    # With a quotation, its line above has the place.
    place = place_words(failed.path, failed.line) if failed.path and not failed.quote else ""
    return Entry(tuple(part for part in head if part), tuple(lines), data(place))


def _causes_fields(evaluation: Evaluation) -> dict[str, object]:
    return {
        "flaky": list(flaky_samples(evaluation)),
        "held_out": evaluation.held_out,
        "by_cause": {cause.value: number for cause, number in _counted_causes(evaluation.causes).items()},
        "causes": [fields(failed, _CAUSE) for failed in evaluation.causes],
    }

"""An evaluation as GitHub-flavoured Markdown, made for a step summary: short, tables, details folded.

Text from samples, traces and models stands in code spans only: there no markup, HTML, link or @mention works.
"""

from __future__ import annotations

from collections.abc import Iterator

from knowbound.report.columns import shorten
from knowbound.report.evaluation_model import (
    EvaluationReport,
    Group,
    SampleRow,
    by_capability,
    by_difficulty,
    counted_unit,
    entries_of,
    left_out,
    rows_to_read_first,
    sample_place,
    sample_rows,
    topic_entry,
    unscored,
)
from knowbound.report.evaluation_words import (
    BESIDE_MEANING,
    BESIDE_TITLE,
    ENDING_NAMES,
    NEXT_COMMANDS,
    TITLE,
    assertion_words,
    composite_words,
    cost_words,
    ending_cell,
    gap_cell,
    gate_name,
    gate_outcome,
    mean_cell,
    money_cell,
    retold,
    score_cell,
    seconds_cell,
    totals_words,
    types_cell,
)
from knowbound.report.markdown import (
    PATHS,
    SKILLS,
    TOPICS,
    cell,
    code,
    figures,
    folded,
    inventory,
    joined,
    more,
    next_commands,
    sources,
    table,
    uncovered,
    warnings,
    watermark,
)
from knowbound.report.words import Entry, counted, coverage_figure, gap_figures, interval_words, place_words
from knowbound.stats.evaluation import Evaluation
from knowbound.stats.gate import GateResult, Outcome
from knowbound.stats.rate import percent

_SIGNS = {Outcome.PASSED: "✅", Outcome.FAILED: "❌", Outcome.UNDECIDED: "⚠", Outcome.NO_BASELINE: "⚠"}
_PROMPT = 300  # characters of a prompt
_IN_SIGHT = 15  # samples that stand in the summary; the others are behind a fold


def render_markdown(report: EvaluationReport) -> str:
    """The whole report; what a reader may skip is folded."""
    evaluation = report.evaluation
    rows, entries = sample_rows(evaluation), entries_of(evaluation)
    unit = counted_unit(evaluation)
    shares = [*gap_figures(evaluation.gap, unit), coverage_figure(evaluation.coverage, evaluation.root)]
    return joined(
        _head(evaluation),
        _nudge(report.nudge),
        _gates(report.gates),
        [*figures(evaluation.gap, shares, unit), *_answers(evaluation)],
        _samples(rows),
        _prompts(rows),
        _beside(report.beside),
        (retold(line, evaluation) for line in sources(evaluation.gap)),
        _topics(evaluation, entries),
        _groups("By capability", "capability", by_capability(evaluation)),
        _groups("By difficulty", "difficulty", by_difficulty(evaluation)),
        uncovered(evaluation.coverage.uncovered),
        inventory(entries, len(entries)),
        _failed(rows),
        _unscored(evaluation),
        _left_out(evaluation),
        next_commands(NEXT_COMMANDS),
    )


def _head(evaluation: Evaluation) -> Iterator[str]:
    yield f"## {TITLE}"
    yield ""
    yield f"{totals_words(evaluation)} · {cost_words(evaluation)}"
    yield ""
    yield from watermark(evaluation.watermark)
    yield ""
    yield f"Knowledge base {code(evaluation.root)} · {_commit(evaluation)} · {_who(evaluation)}"
    yield from warnings(evaluation.warnings)


def _commit(evaluation: Evaluation) -> str:
    if not evaluation.commit:
        return "not in git"
    subject = f" {code(evaluation.subject)}" if evaluation.subject else ""
    return f"commit {code(evaluation.commit[:10])}{subject}{', with uncommitted changes' if evaluation.dirty else ''}"


def _who(evaluation: Evaluation) -> str:
    parts = (("executor", evaluation.executor), ("model", evaluation.model), ("judge", evaluation.judge))
    return " · ".join(f"{name} {code(value)}" for name, value in parts if value)


def _nudge(text: str) -> Iterator[str]:
    if text:
        yield f"> {text}"


def _gates(gates: tuple[GateResult, ...]) -> Iterator[str]:
    if not gates:
        return
    yield from table("| gate | outcome | |", "| --- | --- | --- |")
    for gate in gates:
        words = " ".join(filter(None, (gate.words, gate.note)))
        yield f"| {cell(gate_name(gate))} | {_SIGNS[gate.outcome]} {gate_outcome(gate)} | {cell(words)} |"


def _answers(evaluation: Evaluation) -> Iterator[str]:
    if evaluation.composite.value is not None:
        yield f"- Composite: {composite_words(evaluation.composite)}"


def _samples(rows: list[SampleRow]) -> Iterator[str]:
    """Samples with something to see stand in sight, the others behind a fold."""
    ordered = rows_to_read_first(rows)
    telling = [row for row in ordered if row.signals or row.failed or len(row.complete) < len(row.runs)][:_IN_SIGHT]
    if telling:
        yield "### Samples to look at"
        yield ""
        yield from _sample_table(telling)
        yield ""
    rest = ordered[len(telling) :]
    yield from folded(
        f"{counted(len(rest), 'other sample')}", _sample_table(rest[:PATHS]) if rest else (), len(rest) - PATHS
    )


def _sample_table(rows: list[SampleRow]) -> Iterator[str]:
    yield from table(
        "| sample | gap | signals | composite | cost | seconds | ending | written in |",
        "| --- | --- | --- | ---: | ---: | ---: | --- | --- |",
    )
    for row in rows:
        yield (
            f"| {cell(row.sample)} | {gap_cell(row)} | {types_cell(row) or '–'} | {score_cell(row.composite)} "
            f"| {money_cell(row.usd)} | {seconds_cell(row.seconds)} | {ending_cell(row)} | {cell(row.place)} |"
        )


def _prompts(rows: list[SampleRow]) -> Iterator[str]:
    """What was asked, behind a fold: ids alone say little to a reader of a summary."""
    asked = [row for row in rows_to_read_first(rows) if row.runs[0].prompt]
    lines = (f"- {code(row.sample)}: {code(shorten(row.runs[0].prompt, _PROMPT))}" for row in asked[:PATHS])
    yield from folded("What was asked", lines, len(asked) - PATHS)


def _beside(probed: Evaluation | None) -> Iterator[str]:
    if probed is None:
        return
    yield f"### {BESIDE_TITLE}"
    yield ""
    yield BESIDE_MEANING
    yield ""
    unit = counted_unit(probed)
    shares = [*gap_figures(probed.gap, unit), coverage_figure(probed.coverage, probed.root)]
    yield from figures(probed.gap, shares, unit)
    yield ""
    yield from watermark(probed.watermark)


def _topics(evaluation: Evaluation, entries: list[Entry]) -> Iterator[str]:
    if not evaluation.topics:
        return
    unit = counted_unit(evaluation)
    yield "### What was sought in vain most often"
    yield ""
    yield from table(f"| query | {unit}s | example |", "| --- | ---: | --- |")
    for topic in evaluation.topics[:TOPICS]:
        entry = topic_entry(topic, entries)
        places = entry.places if entry else (place_words(topic.example),)
        yield f"| {cell(topic.query)} | {topic.samples:,} | {' · '.join(cell(place) for place in places)} |"
    yield from more(len(evaluation.topics) - TOPICS)


def _groups(title: str, head: str, groups: list[Group]) -> Iterator[str]:
    if not groups:
        return
    yield f"### {title}"
    yield ""
    yield from table(f"| {head} | samples | gap rate | composite |", "| --- | ---: | --- | --- |")
    for group in groups[:SKILLS]:
        rate = f"{percent(group.gap.value)} ({interval_words(group.gap.interval)})" if group.gap.n else "unknown"
        yield f"| {cell(group.name)} | {group.samples:,} | {rate} | {mean_cell(group.composite)} |"
    yield from more(len(groups) - SKILLS)


def _failed(rows: list[SampleRow]) -> Iterator[str]:
    failing = [row for row in rows if row.failed]
    lines = ("\n".join(_failed_in(row)) for row in failing[:PATHS])
    summary = f"Failed assertions: {counted(sum(len(row.failed) for row in failing), 'assertion')}"
    yield from folded(summary, lines, len(failing) - PATHS)


def _failed_in(row: SampleRow) -> Iterator[str]:
    yield f"- Sample {code(row.sample)} {code(row.place)}"
    for grade in row.failed:
        yield f"  - {code(assertion_words(grade))}{f': {code(grade.reason)}' if grade.reason else ''}"


def _unscored(evaluation: Evaluation) -> Iterator[str]:
    reasons = unscored(evaluation)
    summary = f"{counted(sum(reasons.values()), 'grade')} unscored, counted neither for nor against"
    lines = [f"- {number:,} {code(reason)}" for reason, number in reasons.items()]
    yield from folded(summary, lines[:PATHS], len(lines) - PATHS)


def _left_out(evaluation: Evaluation) -> Iterator[str]:
    runs = left_out(evaluation)
    lines = [
        f"- {code(run.sample)}{f' (run {run.repeat})' if evaluation.repeat > 1 else ''}: {ENDING_NAMES[run.ending]}"
        f"{f': {code(run.problem)}' if run.problem else ''} {code(sample_place(run))}"
        for run in runs
    ]
    yield from folded(f"{counted(len(runs), 'run')} not in the rates", lines[:PATHS], len(lines) - PATHS)

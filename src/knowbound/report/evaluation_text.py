"""An evaluation for a terminal: the sections of every gap report, and those that only a test set has."""

from __future__ import annotations

from collections.abc import Iterator

from knowbound.report.columns import aligned, bar, shorten, wrap
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
    NEXT_COMMANDS,
    UNCOVERED_MEANING,
    assertion_words,
    classification_of,
    composite_words,
    ending_cell,
    gap_cell,
    gate_name,
    gate_outcome,
    knowledge_words,
    left_out_words,
    mean_cell,
    meanings_of,
    money_cell,
    score_cell,
    seconds_cell,
    totals_words,
    types_cell,
    who_words,
)
from knowbound.report.text import EXAMPLES, SKILLS, Page, joined
from knowbound.report.words import (
    TYPE_NAMES,
    Entry,
    counted,
    coverage_figure,
    gap_figures,
    interval_words,
    place_words,
    status_words,
)
from knowbound.stats.evaluation import Evaluation
from knowbound.stats.figures import Topic
from knowbound.stats.gate import Outcome
from knowbound.stats.rate import percent

_ROWS = 25
_GATE_COLOURS = {Outcome.PASSED: "32", Outcome.FAILED: "31", Outcome.UNDECIDED: "33", Outcome.NO_BASELINE: "33"}


def render_text(report: EvaluationReport, *, width: int = 100, colour: bool = False) -> str:
    """The whole report. Places and the warning are never broken, so they can be wider than the width."""
    evaluation = report.evaluation
    rows, entries = sample_rows(evaluation), entries_of(evaluation)
    page = _EvaluationPage(width, colour, {row.sample: " ".join(row.runs[0].prompt.split()) for row in rows})
    return joined(
        page.head(evaluation),
        page.nudge(report.nudge),
        page.gates(report),
        page.gaps(evaluation.gap, counted_unit(evaluation)),
        page.answers(evaluation),
        page.reached(evaluation),
        page.own_sources(evaluation),
        page.samples(rows),
        page.groups("By capability", "capability", by_capability(evaluation)),
        page.groups("By difficulty", "difficulty", by_difficulty(evaluation)),
        page.beside(report.beside),
        page.topics(_topic_lines(evaluation, entries)),
        page.inventory(entries, len(entries)),
        page.failed(rows),
        page.left_out(evaluation),
        page.warnings(evaluation.warnings),
        page.next(NEXT_COMMANDS),
    )


class _EvaluationPage(Page):
    """The sections that only an evaluation has. `prompts` are what its samples ask."""

    def __init__(self, width: int, colour: bool, prompts: dict[str, str]) -> None:
        super().__init__(width, colour)
        self._prompts = prompts

    def head(self, evaluation: Evaluation) -> Iterator[str]:
        origin = [who_words(evaluation), knowledge_words(evaluation)]
        yield from self.title("knowbound eval", totals_words(evaluation), origin)
        yield ""
        yield from self.watermark(evaluation.watermark)

    def nudge(self, text: str) -> Iterator[str]:
        if text:
            yield from (self.paint(line, "33") for line in wrap(text, self.width, 6))

    def gates(self, report: EvaluationReport) -> Iterator[str]:
        if not report.gates:
            return
        yield self.bold("Gates")
        for gate in report.gates:
            outcome = self.paint(gate_outcome(gate), _GATE_COLOURS[gate.outcome])
            yield f"  {gate_name(gate)}: {outcome}"
            for words in filter(None, (gate.words, gate.note)):
                yield from (f"    {line}" for line in wrap(words, self.width - 4, 6))

    def answers(self, evaluation: Evaluation) -> Iterator[str]:
        missing = unscored(evaluation)
        if evaluation.composite.value is None and not missing:
            return
        yield self.bold("Answers")
        yield f"  {'Composite':<12}{composite_words(evaluation.composite)}"
        if missing:
            yield f"  {'Unscored':<12}{counted(sum(missing.values()), 'grade')}, counted neither for nor against"
            reasons = (f"    {number:,} {reason}" for reason, number in missing.items())
            yield from self.some((shorten(line, self.width) for line in reasons), len(missing), EXAMPLES)

    def samples(self, rows: list[SampleRow]) -> Iterator[str]:
        if not rows:
            return
        yield self.bold("By sample")
        shown = rows_to_read_first(rows)[:_ROWS]
        head = ["sample", "gap", "signals", "composite", "cost", *(["seconds"] if self.is_roomy else []), "ending"]
        lines = aligned([head, *(self._cells(row) for row in shown)], right=("composite", "cost", "seconds"))
        yield self.dim("  " + "  ".join(lines[0]).rstrip())
        entries = ("  " + "  ".join(line).rstrip() for line in lines[1:])
        yield from self.some(entries, len(rows), _ROWS, hint=": --format json")

    def _cells(self, row: SampleRow) -> list[str]:
        return [
            shorten(row.sample, max(self.width - 72, 16)),
            gap_cell(row),
            shorten(types_cell(row) or "–", max(self.width - 76, 18)),
            score_cell(row.composite),
            money_cell(row.usd),
            *([seconds_cell(row.seconds)] if self.is_roomy else []),
            ending_cell(row),
        ]

    def own_sources(self, evaluation: Evaluation) -> Iterator[str]:
        """Section 7.3: the signals by their source, in the words of who answered."""
        gap, meanings = evaluation.gap, meanings_of(evaluation)
        yield self.bold("By source")
        yield from self.hanging("  ", wrap(classification_of(evaluation), self.width - 2, 3))
        most = max(gap.by_type.values(), default=0) or 1
        widest = max(len(f"{number:,}") for number in (*gap.by_type.values(), 0))
        for type_, name in TYPE_NAMES.items():
            number = gap.by_type.get(type_, 0)
            start = f"  {name:<17}{number:>{widest},}  {bar(number / most, 12):<12}  "
            meaning = wrap(meanings[type_], self.width - len(start), 3)
            yield from self.hanging(start, (self.dim(line) for line in meaning))
        yield f"  {status_words(gap)}"

    def _signal(self, entry: Entry) -> Iterator[str]:
        """An entry, and once per sample what was asked."""
        yield from super()._signal(entry)
        if prompt := self._prompts.pop(entry.signal.sample, ""):
            yield f"    {self.dim(shorten(f'asked: {prompt}', self.width - 4))}"

    def groups(self, title: str, head: str, groups: list[Group]) -> Iterator[str]:
        if not groups:
            return
        yield self.bold(title)
        table = [[head, "samples", "gap rate", "interval", "composite"]]
        for group in groups[:SKILLS]:
            name, interval = shorten(group.name, max(self.width - 60, 16)), interval_words(group.gap.interval)
            counts = [f"{group.samples:,}", percent(group.gap.value), interval, mean_cell(group.composite)]
            table.append([name, *counts])
        lines = aligned(table, right=("samples", "gap rate"))
        yield self.dim("  " + "  ".join(lines[0]).rstrip())
        shown = ("  " + "  ".join(line).rstrip() for line in lines[1:])
        yield from self.some(shown, len(groups), SKILLS, hint=": --format json")

    def reached(self, evaluation: Evaluation) -> Iterator[str]:
        yield from self.coverage(evaluation.coverage, evaluation.root)
        if evaluation.coverage.uncovered:
            yield from (f"  {self.dim(line)}" for line in wrap(UNCOVERED_MEANING, self.width - 2, 2))

    def beside(self, probed: Evaluation | None) -> Iterator[str]:
        if probed is None:
            return
        yield self.bold(BESIDE_TITLE)
        yield from (f"  {self.dim(line)}" for line in wrap(BESIDE_MEANING, self.width - 2, 3))
        coverage = coverage_figure(probed.coverage, probed.root)
        yield from self.figures([*gap_figures(probed.gap, counted_unit(probed))[:3], coverage])
        yield from (f"  {line}" for line in self.watermark(probed.watermark))

    def failed(self, rows: list[SampleRow]) -> Iterator[str]:
        there_are = sum(bool(row.failed) for row in rows)
        if not there_are:
            return
        yield self.bold("Failed assertions")
        shown = ("\n".join(self._failed(row)) for row in rows if row.failed)
        yield from self.some(shown, there_are, _ROWS, hint=": --format json")

    def _failed(self, row: SampleRow) -> Iterator[str]:
        yield f"  Sample {row.sample}  {self.dim(row.place)}"
        for grade in row.failed:
            yield from self.indented(assertion_words(grade))
            if grade.reason:
                yield from (f"      {self.dim(line)}" for line in wrap(grade.reason, self.width - 6, 2))

    def left_out(self, evaluation: Evaluation) -> Iterator[str]:
        runs = left_out(evaluation)
        if not runs:
            return
        yield self.bold(f"{counted(len(runs), 'run')} not in the rates")
        repeats = evaluation.repeat > 1
        shown = (
            f"  {shorten(left_out_words(run, repeats), self.width - 2)}\n    {self.dim(sample_place(run))}"
            for run in runs
        )
        yield from self.some(shown, len(runs), EXAMPLES, hint=": --format json")


def _topic_lines(evaluation: Evaluation, entries: list[Entry]) -> list[tuple[str, str, str]]:
    unit = counted_unit(evaluation)
    return [
        (counted(topic.samples, unit), topic.query, " · ".join(_topic_places(topic, entries)))
        for topic in evaluation.topics
    ]


def _topic_places(topic: Topic, entries: list[Entry]) -> tuple[str, ...]:
    entry = topic_entry(topic, entries)
    return (f"sample {entry.signal.sample}", *entry.places) if entry else (place_words(topic.example),)

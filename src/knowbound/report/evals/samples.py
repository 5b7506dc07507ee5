"""An evaluation by sample, in groups, and what is not in its rates: the rows that every format of it shows.

Specification 1, section 7: every number can be followed to the sample's line in the samples file and to the line of
the trace.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from msgspec.structs import replace

from knowbound.core.signal import NOT_CLOSED, Signal, SignalType
from knowbound.report.figures import InventoryEntry
from knowbound.report.formats.json import fields
from knowbound.report.words import TYPE_NAMES, place_words
from knowbound.stats.evaluation import (
    AssertionGrade,
    Evaluation,
    EvaluationHead,
    KnowledgeChange,
    Origin,
    RunEnding,
    SampleRun,
    complete_runs,
    sample_rate,
    total_usd,
)
from knowbound.stats.printing import money, seconds_taken
from knowbound.stats.rate import Mean, Rate, mean_of
from knowbound.text.printable import counted

ENDING_NAMES: dict[RunEnding, str] = {
    RunEnding.DONE: "done",
    RunEnding.CRASHED: "crashed",
    RunEnding.TIMEOUT: "took too long",
    RunEnding.BUDGET: "over the budget",
    RunEnding.INCOMPLETE: "trace not complete",
}
_FILES = 12  # named in a change
_HEAD = """id? made watermark sha256 origin executor model? judge? repeat inject variant? root knowledge gap coverage
    composite"""
_KNOWLEDGE = "commit? subject? dirty version=against? files=knowledge"


class SampleRow(NamedTuple):
    """One sample with all its runs."""

    sample: str
    runs: tuple[SampleRun, ...]
    anchor: str

    @property
    def complete(self) -> list[SampleRun]:
        """The runs that stay in the denominators."""
        return [run for run in self.runs if run.is_complete]

    @property
    def gap(self) -> Rate:
        """Complete runs with any signal."""
        return Rate(sum(run.has_gap for run in self.complete), len(self.complete))

    @property
    def signals(self) -> list[Signal]:
        """Return the signals of the complete runs, open and hard signals first."""
        return sorted((signal for run in self.complete for signal in run.signals), key=_reading_order)

    @property
    def open_signals(self) -> list[Signal]:
        """Signals that nothing closed: open or undecided."""
        return [signal for signal in self.signals if signal.status in NOT_CLOSED]

    @property
    def types(self) -> dict[SignalType, int]:
        """Return the number of signals of each type."""
        found = Counter(signal.type for signal in self.signals)
        return {type_: found[type_] for type_ in TYPE_NAMES if found[type_]}

    @property
    def composite(self) -> float | None:
        """The mean over the runs that have one."""
        return mean_of([[run.grade.composite for run in self.complete if run.grade.composite is not None]]).value

    @property
    def failed(self) -> list[AssertionGrade]:
        """Assertions that failed in a complete run, each once."""
        graded = (assertion for run in self.complete for assertion in run.grade.assertions)
        return list(dict.fromkeys(assertion for assertion in graded if assertion.passed is False))

    @property
    def usd(self) -> float | None:
        """Return the cost of all runs; None (unknown) if a run does not report its cost."""
        return None if any(run.usd is None for run in self.runs) else total_usd(run.usd for run in self.runs)

    @property
    def seconds(self) -> float:
        """Return the time of all its runs together."""
        return sum(run.seconds for run in self.runs)

    @property
    def place(self) -> str:
        """Return FILE:LINE of the sample in the samples file."""
        return sample_place(self.runs[0])


class SampleGroup(NamedTuple):
    """Samples that have a capability or a difficulty in common."""

    name: str
    samples: int
    gap: Rate
    composite: Mean


def sample_rows(evaluation: Evaluation) -> list[SampleRow]:
    """Return every sample, in the order of the test set."""
    runs: dict[str, list[SampleRun]] = {}
    for run in evaluation.runs:
        runs.setdefault(run.sample, []).append(run)
    return [
        SampleRow(sample, tuple(sorted(of_sample, key=lambda run: run.repeat)), f"sample-{number}")
        for number, (sample, of_sample) in enumerate(runs.items(), 1)
    ]


def rows_to_read_first(rows: Iterable[SampleRow]) -> list[SampleRow]:
    """Sort rows: open gaps first, then other gaps, runs that were left out, failed assertions, and the rest."""
    return sorted(
        rows,
        key=lambda row: (not row.open_signals, not row.signals, len(row.complete) == len(row.runs), not row.failed),
    )


def evaluation_entries(evaluation: Evaluation) -> list[InventoryEntry]:
    """Return the gap inventory: every signal of every complete run, open and hard signals first."""
    anchors = {row.sample: row.anchor for row in sample_rows(evaluation)}
    entries = [
        InventoryEntry(
            signal=replace(signal, sample=run.sample),
            note=f"run {run.repeat}" if evaluation.repeat > 1 else "",
            places=tuple(filter(None, (sample_place(run), place_words(signal.file, signal.line)))),
            anchor=anchors[run.sample],
            prompt=run.prompt,
            is_run=True,
        )
        for run in evaluation.runs
        if run.is_complete
        for signal in run.signals
    ]
    return sorted(entries, key=lambda entry: _reading_order(entry.signal))


def _reading_order(signal: Signal) -> tuple[bool, float]:
    return signal.status not in NOT_CLOSED, -signal.weight


def left_out(evaluation: Evaluation) -> list[SampleRun]:
    """Runs that are in no denominator (section 5)."""
    return [run for run in evaluation.runs if not run.is_complete]


def groups(evaluation: Evaluation) -> dict[str, list[SampleGroup]]:
    """Return the samples by capability and by difficulty. A sample with several capabilities counts in each."""
    return {
        "capability": _grouped(evaluation, lambda run: run.capability),
        "difficulty": _grouped(evaluation, lambda run: [run.difficulty] if run.difficulty else []),
    }


def _grouped(evaluation: Evaluation, names_of: Callable[[SampleRun], list[str]]) -> list[SampleGroup]:
    """Return the samples by the names of their runs, each group with its gap rate and composite."""
    members: dict[str, list[SampleRun]] = {}
    for run in evaluation.runs:
        for name in names_of(run):
            members.setdefault(name, []).append(run)
    groups = []
    for name, runs in members.items():
        composites: dict[str, list[float]] = {}  # by cluster: those of one sample or session are alike
        for run in runs:
            if run.is_complete and run.grade.composite is not None:
                composites.setdefault(run.cluster, []).append(run.grade.composite)
        rate = sample_rate(complete_runs(runs))
        groups.append(SampleGroup(name, len({run.sample for run in runs}), rate, mean_of(composites.values())))
    return groups


def unscored(evaluation: Evaluation) -> dict[str, int]:
    """Return the number of missing grades by reason; these count neither for nor against."""
    reasons: Counter[str] = Counter()
    for run in evaluation.runs:
        if run.is_complete:
            missing = [assertion.reason for assertion in run.grade.assertions if assertion.passed is None]
            missing += [
                criterion.problem or criterion.reason for criterion in run.grade.criteria if criterion.score is None
            ]
            reasons.update(reason or "no reason given" for reason in missing)
    return dict(reasons.most_common())


def sample_place(run: SampleRun) -> str:
    """Return FILE:LINE of a run's sample in the samples file."""
    return place_words(run.file, run.line)


def counted_unit(evaluation: Evaluation) -> str:
    """Return the unit of the rates: sample. Version 0.1.0 counted each run of a repeated sample."""
    return "run" if evaluation.gap.rate.n > evaluation.samples else "sample"


# In words


def who_words(evaluation: Evaluation) -> str:
    """Return in one line the executor, the judge, the cost and the time of an evaluation."""
    parts = (
        "competency questions" if evaluation.origin is Origin.PROBED else "",
        f"executor {evaluation.executor}",
        f"model {evaluation.model}" if evaluation.model else "",
        "with injection" if evaluation.inject else "",
        f"judge {evaluation.judge}" if evaluation.judge else "no judge",
        f"each {evaluation.repeat} times" if evaluation.repeat > 1 else "",
        cost_words(evaluation),
        f"{seconds_taken(evaluation.seconds)} s in all",
        evaluation.made,
    )
    return " · ".join(filter(None, parts))


def knowledge_words(evaluation: Evaluation) -> str:
    """Return in one line the knowledge base, its version, its commit and the number of its files."""
    commit = "not in git"
    if evaluation.commit:
        subject = f" “{evaluation.subject}”" if evaluation.subject else ""
        commit = f"commit {evaluation.commit[:10]}{subject}{' with uncommitted changes' if evaluation.dirty else ''}"
    version = f"version {evaluation.against}" if evaluation.against else ""
    files = counted(len(evaluation.knowledge), "knowledge file")
    return " · ".join(filter(None, (f"knowledge base {evaluation.root}", version, commit, files)))


def commit_words(head: EvaluationHead) -> str:
    """The commit of the knowledge base in short, with a star where files differed from it."""
    return f"{head.commit[:7]}{'*' if head.dirty else ''}" if head.commit else "no commit"


def change_words(change: KnowledgeChange) -> str:
    """Return the knowledge files that were added, changed and removed, a line for each kind of change."""
    parts = (("added", change.added), ("rewritten", change.changed), ("removed", change.removed))
    return "\n".join(
        f"{name}: {', '.join(paths[:_FILES])}{f' and {len(paths) - _FILES} more' if len(paths) > _FILES else ''}"
        for name, paths in parts
        if paths
    )


def cost_words(evaluation: Evaluation) -> str:
    """The cost, and how many runs do not report theirs."""
    unreported = sum(run.usd is None for run in evaluation.runs)
    if evaluation.usd is None:
        return "cost unknown"
    known = money(evaluation.usd)
    return f"{known} and {counted(unreported, 'run')} of unknown cost" if unreported else known


def ending_words(row: SampleRow) -> str:
    """Describe the endings of a sample's runs."""
    endings = [run.ending for run in row.runs]
    if len(set(endings)) == 1:
        return ENDING_NAMES[endings[0]]
    return ", ".join(f"{endings.count(ending)} {ENDING_NAMES[ending]}" for ending in RunEnding if ending in endings)


def problem_words(run: SampleRun) -> str:
    """Describe the ending of a run, with its reason."""
    return f"{ENDING_NAMES[run.ending]}{f': {run.problem}' if run.problem else ''}"


def left_out_words(run: SampleRun, repeats: bool) -> str:
    """Say which run is in no denominator, and why."""
    again = f" (run {run.repeat})" if repeats else ""
    return f"{run.sample}{again}: {problem_words(run)}"


def assertion_words(grade: AssertionGrade) -> str:
    """Return the type and the value of an assertion."""
    return f"{grade.type} {grade.detail}".rstrip()


def head_fields(evaluation: Evaluation) -> dict[str, object]:
    """Return as JSON the test set, the executor, the knowledge and the figures."""
    return fields(evaluation, _HEAD) | {"knowledge": fields(evaluation, _KNOWLEDGE)}

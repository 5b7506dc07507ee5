"""What the report of an evaluation is made of: rows per sample, groups, the inventory, and what is not in the rates.

Specification 1, section 7: every number can be followed to the sample's line in the samples file and to the line of
the trace. Nothing here is rendered, so every format tells the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from knowbound.core.grade import AssertionGrade
from knowbound.core.signal import Signal, SignalType, Status
from knowbound.report.plain import made_plain, near, plain
from knowbound.report.words import TYPE_NAMES, Entry, place_words
from knowbound.stats.evaluation import Evaluation, SampleRun, total_usd
from knowbound.stats.figures import Topic
from knowbound.stats.gate import GateResult
from knowbound.stats.rate import Mean, Rate, clustered, mean_of

_One = TypeVar("_One")
_DEEPEST = 40  # spaces before a line of an answer


class EvaluationReport(NamedTuple):
    """An evaluation with what stands beside it."""

    evaluation: Evaluation
    gates: tuple[GateResult, ...] = ()
    nudge: str = ""  # specification 1, section 8: a note, never a failure
    beside: Evaluation | None = None  # competency questions: shown beside, never added (section 9)

    def plain(self, *tops: str) -> EvaluationReport:
        """The same with every text made plain, and places told from the first of the folders that they lie in."""
        return EvaluationReport(
            _near(_with_lines(made_plain(self.evaluation), self.evaluation), tops),
            tuple(made_plain(gate) for gate in self.gates),
            self.nudge,
            self.beside and _near(made_plain(self.beside), tops),
        )


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
        """Of its complete runs, open and hard ones first."""
        return _read_first([signal for run in self.complete for signal in run.signals], lambda signal: signal)

    @property
    def open_signals(self) -> list[Signal]:
        """Those that still stand."""
        return [signal for signal in self.signals if signal.status is Status.OPEN]

    @property
    def types(self) -> dict[SignalType, int]:
        """How many signals of which source."""
        found = Counter(signal.type for signal in self.signals)
        return {type_: found[type_] for type_ in TYPE_NAMES if found[type_]}

    @property
    def composite(self) -> float | None:
        """The mean over the runs that have one."""
        return mean_of([[run.grade.composite for run in self.complete if run.grade.composite is not None]]).value

    @property
    def failed(self) -> list[AssertionGrade]:
        """Assertions that failed in a complete run, each once."""
        return list(dict.fromkeys(one for run in self.complete for one in run.grade.assertions if one.passed is False))

    @property
    def usd(self) -> float | None:
        """What its runs cost; unknown where one of them does not say."""
        return None if any(run.usd is None for run in self.runs) else total_usd(run.usd for run in self.runs)

    @property
    def seconds(self) -> float:
        """All its runs together."""
        return sum(run.seconds for run in self.runs)

    @property
    def place(self) -> str:
        """Its line in the samples file."""
        return sample_place(self.runs[0])


class Group(NamedTuple):
    """Samples that have a capability or a difficulty in common."""

    name: str
    samples: int
    gap: Rate
    composite: Mean


def sample_rows(evaluation: Evaluation) -> list[SampleRow]:
    """Every sample, in the order of the test set."""
    runs: dict[str, list[SampleRun]] = {}
    for run in evaluation.runs:
        runs.setdefault(run.sample, []).append(run)
    return [
        SampleRow(sample, tuple(sorted(own, key=lambda run: run.repeat)), f"sample-{number}")
        for number, (sample, own) in enumerate(runs.items(), 1)
    ]


def rows_to_read_first(rows: Iterable[SampleRow]) -> list[SampleRow]:
    """Those with something to see: open gaps, other gaps, runs that were left out, failed assertions, then the rest."""
    return sorted(
        rows,
        key=lambda row: (not row.open_signals, not row.signals, len(row.complete) == len(row.runs), not row.failed),
    )


def entries_of(evaluation: Evaluation) -> list[Entry]:
    """The gap inventory: every signal of every complete run, open and hard ones first."""
    anchors = {row.sample: row.anchor for row in sample_rows(evaluation)}
    entries = [
        Entry(
            replace(signal, sample=run.sample),
            f"run {run.repeat}" if evaluation.repeat > 1 else "",
            tuple(filter(None, (sample_place(run), place_words(signal)))),
            anchors[run.sample],
        )
        for run in evaluation.runs
        if run.is_complete
        for signal in run.signals
    ]
    return _read_first(entries, lambda entry: entry.signal)


def _read_first(found: list[_One], signal_of: Callable[[_One], Signal]) -> list[_One]:
    return sorted(found, key=lambda one: (signal_of(one).status is not Status.OPEN, -signal_of(one).weight))


def left_out(evaluation: Evaluation) -> list[SampleRun]:
    """Runs that are in no denominator (section 5)."""
    return [run for run in evaluation.runs if not run.is_complete]


def by_capability(evaluation: Evaluation) -> list[Group]:
    """A sample may have several capabilities: it counts in each."""
    return _grouped(evaluation, lambda run: run.capability)


def by_difficulty(evaluation: Evaluation) -> list[Group]:
    """Samples of one difficulty together."""
    return _grouped(evaluation, lambda run: [run.difficulty] if run.difficulty else [])


def _grouped(evaluation: Evaluation, names_of: Callable[[SampleRun], list[str]]) -> list[Group]:
    members: dict[str, list[SampleRun]] = {}
    for run in evaluation.runs:
        for name in names_of(run):
            members.setdefault(name, []).append(run)
    return [_group(name, runs) for name, runs in members.items()]


def _group(name: str, runs: list[SampleRun]) -> Group:
    """Runs of one sample, and samples of one session, are alike: they count as a cluster."""
    gaps: dict[str, Rate] = {}
    composites: dict[str, list[float]] = {}
    for run in (run for run in runs if run.is_complete):
        gaps[run.cluster] = gaps.get(run.cluster, Rate()) + Rate(int(run.has_gap), 1)
        if run.grade.composite is not None:
            composites.setdefault(run.cluster, []).append(run.grade.composite)
    return Group(name, len({run.sample for run in runs}), clustered(gaps.values()), mean_of(composites.values()))


def unscored(evaluation: Evaluation) -> dict[str, int]:
    """Why grades are missing, and how many for that reason: they count neither for nor against."""
    reasons: Counter[str] = Counter()
    for run in evaluation.runs:
        if run.is_complete:
            reasons.update(one.reason or "no reason given" for one in run.grade.assertions if one.passed is None)
            criteria = (one for one in run.grade.criteria if one.score is None)
            reasons.update(one.problem or one.reason or "no reason given" for one in criteria)
    return dict(reasons.most_common())


def topic_entry(topic: Topic, entries: Iterable[Entry]) -> Entry | None:
    """Where the example of a topic stands in the inventory."""
    example = topic.example
    place = (example.file, example.line, example.query)
    return next((one for one in entries if (one.signal.file, one.signal.line, one.signal.query) == place), None)


def sample_place(run: SampleRun) -> str:
    """The line of the samples file."""
    return f"{run.file}:{run.line}" if run.file and run.line else run.file


def counted_unit(evaluation: Evaluation) -> str:
    """What the rates count: samples, or runs of them where each was run several times."""
    return "run" if evaluation.repeat > 1 else "sample"


def _with_lines(made: Evaluation, written: Evaluation) -> Evaluation:
    """The plain evaluation with its answers in lines: they are shown as they were written."""
    runs = [
        replace(run, answer="\n".join(_plain_line(line) for line in before.answer.splitlines()))
        for run, before in zip(made.runs, written.runs, strict=True)
    ]
    return replace(made, runs=runs)


def _plain_line(line: str) -> str:
    indent = len(line) - len(line.lstrip(" "))
    return (" " * min(indent, _DEEPEST) + plain(line)).rstrip()


def _near(evaluation: Evaluation, tops: tuple[str, ...]) -> Evaluation:
    def told(signal: Signal) -> Signal:
        return replace(signal, file=near(signal.file, tops))

    def told_run(run: SampleRun) -> SampleRun:
        signals = [told(signal) for signal in run.signals]
        return replace(run, file=near(run.file, tops), trace=near(run.trace, tops), signals=signals)

    return replace(
        evaluation,
        runs=[told_run(run) for run in evaluation.runs],
        topics=[replace(topic, example=told(topic.example)) for topic in evaluation.topics],
    )

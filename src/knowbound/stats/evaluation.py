"""An evaluation: a test set run through an agent, with its figures and the result of every sample.

Specification 1, sections 5 to 7: the rates are over complete runs only, they stand beside the watermark of the test
set, and every evaluation remembers which knowledge it was about, so that a trend compares like with like.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

import msgspec

from knowbound.core.signal import InjectedText, Signal, Status
from knowbound.core.testset import Watermark
from knowbound.stats.figures import Coverage, GapFigures, HedgeJudging, MissedSearch, RateKind
from knowbound.stats.rate import Mean, Rate, clustered


class RunEnding(StrEnum):
    """How the run of a sample ended. Only `done` stays in the denominators (specification 1, section 5)."""

    DONE = "done"
    CRASHED = "crashed"  # the agent failed, or ended with an error
    TIMEOUT = "timeout"  # it took longer than a sample may
    BUDGET = "budget"  # it cost more than a sample may, or nothing was left to spend
    INCOMPLETE = "incomplete"  # it ended, but its trace is not complete


class Origin(StrEnum):
    """Who wrote the questions of a test set. Their gap rates are shown side by side and never mixed (section 9)."""

    WRITTEN = "written"  # samples that people wrote and accepted
    PROBED = "probed"  # competency questions, made from the structure of the knowledge base


class AssertionGrade(msgspec.Struct, frozen=True):
    """One assertion of a sample."""

    type: str
    detail: str = ""  # what was asked, short
    weight: float = 1.0
    passed: bool | None = None  # None: unscored
    reason: str = ""
    layer: str = ""  # fact, behavior, or neither


class CriterionScore(msgspec.Struct, frozen=True):
    """One criterion of a rubric, scored 1 to 5 by a judge."""

    name: str
    score: int | None = None  # None: unscored
    weight: float = 1.0
    reason: str = ""
    judge: str = ""
    problem: str = ""  # why it is unscored


class Grade(msgspec.Struct, frozen=True):
    """The grades of one answer. The composite is the mean of the layers that are present."""

    assertions: tuple[AssertionGrade, ...] = ()
    criteria: tuple[CriterionScore, ...] = ()
    fact: float | None = None
    behavior: float | None = None
    judge: float | None = None
    composite: float | None = None
    unscored: int = 0
    usd: float | None = 0.0  # what judging cost; None where the judge does not report it


class SampleRun(msgspec.Struct, frozen=True):
    """One sample, run once."""

    sample: str  # its id
    repeat: int = 1  # 1 for the first of `--repeat N`
    ending: RunEnding = RunEnding.DONE
    problem: str = ""  # why it did not end well
    prompt: str = ""  # the start of it, redacted
    answer: str = ""  # the start of it, redacted
    signals: list[Signal] = []
    reached: list[str] = []  # knowledge files, relative to the root
    injected: list[InjectedText] = []  # items of our store, in a run with injection
    turns: int = 0
    steps: int = 0
    calls: int = 0
    grade: Grade = Grade()
    seconds: float = 0.0
    usd: float | None = None  # running and judging together; None where the agent does not say
    tokens_in: int | None = None
    tokens_out: int | None = None
    model: str = ""
    session: str = ""  # samples that share one are alike: they are counted as a cluster
    trace: str = ""  # the trace it was read from
    shows_calls: bool = True  # whether tool calls are in it; of plain text only what the agent said is seen
    cached: bool = False  # an identical run was kept, and nothing ran
    attempts: int = 1
    capability: list[str] = []
    difficulty: str = ""
    construct: str = ""
    provenance: str = ""
    file: str = ""  # where the sample is written
    line: int = 0

    @property
    def is_complete(self) -> bool:
        """Whether it stays in the denominators."""
        return self.ending is RunEnding.DONE

    @property
    def was_left(self) -> bool:
        """Whether it was never begun, because nothing was left to spend."""
        return self.ending is RunEnding.BUDGET and not self.attempts and not self.cached

    @property
    def has_gap(self) -> bool:
        """Whether it has any gap signal; the number does not matter (specification 1, section 5)."""
        return bool(self.signals)

    def weight(self, kind: RateKind = RateKind.RAW) -> float:
        """That of its heaviest signal, or 0 without one (specification 1, section 5)."""
        counted = (one for one in self.signals if kind is RateKind.RAW or one.status is Status.OPEN)
        return max((signal.weight for signal in counted), default=0.0)

    @property
    def cluster(self) -> str:
        """The cluster: runs that are not independent of each other share it."""
        return f"session {self.session}" if self.session else f"sample {self.sample}"


def complete_runs(runs: Iterable[SampleRun]) -> dict[str, list[SampleRun]]:
    """The complete runs of each sample that has one."""
    found: dict[str, list[SampleRun]] = {}
    for run in runs:
        if run.is_complete:
            found.setdefault(run.sample, []).append(run)
    return found


def sample_weight(runs: Sequence[SampleRun], kind: RateKind = RateKind.RAW) -> float:
    """The weight of a sample that was run once or more: what at least half of its runs weigh.

    So a sample has a gap where at least half of its runs have one, and a rate counts samples however often they ran.
    """
    return sorted((run.weight(kind) for run in runs), reverse=True)[(len(runs) - 1) // 2]


def sample_rate(samples: Mapping[str, Sequence[SampleRun]], kind: RateKind = RateKind.RAW) -> Rate:
    """Samples with a gap, of those that have a complete run; samples that share a session are one cluster."""
    clusters: dict[str, Rate] = {}
    for runs in samples.values():
        name = runs[0].cluster
        clusters[name] = clusters.get(name, Rate()) + Rate(int(sample_weight(runs, kind) > 0), 1)
    return clustered(clusters.values())


class EvaluationHead(msgspec.Struct, frozen=True, kw_only=True):
    """What a trend and a gate need of an evaluation."""

    id: int = 0  # given when it is stored
    made: str  # when, UTC
    watermark: Watermark
    sha256: str  # of the test set, whole
    origin: Origin = Origin.WRITTEN
    executor: str
    model: str = ""
    judge: str = ""  # who scored rubrics; "" for nobody
    repeat: int = 1
    root: str = ""
    commit: str = ""  # of the knowledge base; "" where it is not in git
    subject: str = ""  # the commit's first line
    dirty: bool = False  # whether files differ from the commit
    knowledge: dict[str, str] = {}  # knowledge file → first 8 hex digits of its SHA-256
    against: str = ""  # this is the other version that `eval --against` named so
    inject: bool = False  # whether our hooks injected items of the store
    gap: GapFigures
    coverage: Coverage
    composite: Mean
    usd: float | None = None
    seconds: float = 0.0
    samples: int = 0  # in the test set; the watermark counts them too
    runs_complete: int = 0
    runs_incomplete: int = 0
    version: str = ""
    gates: dict[str, bool] = {}  # gate → whether it passed when it was last asked


class Evaluation(EvaluationHead, frozen=True, kw_only=True):
    """Everything `eval` says."""

    runs: list[SampleRun]
    topics: list[MissedSearch] = []
    warnings: list[str] = []
    judging: HedgeJudging | None = None  # where the judge of hedges has a cap; of both versions of a run together
    compared_with: int = 0  # the evaluation of the other version, where `--against` was given

    @property
    def signals(self) -> list[Signal]:
        """The gap inventory: every signal of every complete run, open and hard ones first."""
        found = [signal for run in self.runs if run.is_complete for signal in run.signals]
        return sorted(found, key=lambda signal: (signal.status != "open", -signal.weight))


class KnowledgeChange(msgspec.Struct, frozen=True):
    """How the knowledge base differs between two evaluations."""

    added: list[str]
    removed: list[str]
    changed: list[str]

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)

    def __str__(self) -> str:
        parts = ((self.added, "+"), (self.removed, "−"), (self.changed, "~"))
        return " ".join(f"{sign}{len(files)}" for files, sign in parts if files) or "unchanged"


def knowledge_change(before: Mapping[str, str], after: Mapping[str, str]) -> KnowledgeChange:
    """Knowledge files that came, went, and were written again."""
    return KnowledgeChange(
        added=sorted(after.keys() - before.keys()),
        removed=sorted(before.keys() - after.keys()),
        changed=sorted(path for path in before.keys() & after.keys() if before[path] != after[path]),
    )


def total_usd(parts: Iterable[float | None]) -> float | None:
    """A sum of costs; unknown where nothing is known."""
    known = [part for part in parts if part is not None]
    return sum(known) if known else None

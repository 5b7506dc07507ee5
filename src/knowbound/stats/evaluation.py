"""An evaluation: a test set run through an agent, with its figures and the result of every sample.

Specification 1, sections 5 to 7: rates count complete runs only and are shown with the watermark of the test set. Every
evaluation stores the state of the knowledge, so that a trend compares like with like. An undecided grade is None
(unscored) and never counts as a failure or as 0.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

import msgspec

from knowbound.core.signal import NOT_CLOSED, InjectedText, Signal, Status
from knowbound.stats.figures import Coverage, GapFigures, HedgeJudging, MissedSearch, RateKind, Watermark
from knowbound.stats.rate import Mean, Rate, clustered


class RunEnding(StrEnum):
    """End of the run of a sample. Only `done` runs are counted (specification 1, section 5)."""

    DONE = "done"
    CRASHED = "crashed"  # the agent failed, or ended with an error
    TIMEOUT = "timeout"  # the time limit of a sample was reached
    BUDGET = "budget"  # the cost limit of a sample was reached, or the budget was spent
    INCOMPLETE = "incomplete"  # the agent ended, but the trace is not complete


class Origin(StrEnum):
    """Author of the questions of a test set. Gap rates of two origins are never mixed (section 9)."""

    WRITTEN = "written"  # samples that people wrote and accepted
    PROBED = "probed"  # competency questions, made from the structure of the knowledge base


class Cause(StrEnum):
    """Cause of a failed sample, in the order of a report."""

    MISSING = "missing"  # no passage of the knowledge says it
    NOT_FOUND = "not_found"  # a passage says it, and the agent's tools did not return it
    NOT_USED = "not_used"  # the agent had the passage before its eyes
    CONTRADICTED = "contradicted"  # passages disagree about it
    AGENT_FAILED = "agent_failed"  # crashed, took too long, left no whole trace
    SAMPLE_BAD = "sample_bad"  # a right answer fails
    UNDECIDED = "undecided"  # rules cannot decide, and no model did


class SampleCause(msgspec.Struct, frozen=True):
    """The cause of one failed sample, with what shows it."""

    sample: str
    cause: Cause
    why: str = ""
    path: str = ""  # of the quotation; of a missing answer, the file that it belongs in
    line: int = 0
    quote: str = ""  # verbatim in that file
    other_path: str = ""  # of what contradicts it
    other_line: int = 0
    other_quote: str = ""
    fix: str = ""
    expected: str = ""  # the right answer, by the sample's author
    by: str = "rules"
    problem: str = ""  # why a model did not decide


class AssertionGrade(msgspec.Struct, frozen=True):
    """One assertion of a sample."""

    type: str
    detail: str = ""  # the expectation, shortened
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
    problem: str = ""  # why the criterion is unscored
    scores: tuple[int, ...] = ()  # of each judge, where several scored


class Grade(msgspec.Struct, frozen=True):
    """The grades of one answer. The composite is the mean of the layers that are present."""

    assertions: tuple[AssertionGrade, ...] = ()
    criteria: tuple[CriterionScore, ...] = ()
    fact: float | None = None
    behavior: float | None = None
    judge: float | None = None
    composite: float | None = None
    unscored: int = 0
    usd: float | None = 0.0  # cost of judging; None: not reported


class SampleRun(msgspec.Struct, frozen=True):
    """One sample, run once."""

    sample: str  # id
    repeat: int = 1  # 1 to N with `--repeat N`
    ending: RunEnding = RunEnding.DONE
    problem: str = ""  # why the run is not complete
    prompt: str = ""  # the beginning, redacted
    answer: str = ""  # the beginning, redacted
    signals: list[Signal] = []
    reached: list[str] = []  # knowledge files, relative to the root
    injected: list[InjectedText] = []  # items of our store, in a run with injection
    turns: int = 0
    steps: int = 0
    calls: int = 0
    grade: Grade = Grade()
    seconds: float = 0.0
    usd: float | None = None  # running and judging together; None: not reported
    tokens_in: int | None = None
    tokens_out: int | None = None
    model: str = ""
    session: str = ""  # samples of one session are counted as a cluster
    trace: str = ""  # file of the trace
    shows_calls: bool = True  # the trace has tool calls; plain text shows only the words of the agent
    cached: bool = False  # taken from an identical stored run
    attempts: int = 1
    capability: list[str] = []
    difficulty: str = ""
    construct: str = ""
    provenance: str = ""
    file: str = ""  # file of the sample
    line: int = 0

    @property
    def is_complete(self) -> bool:
        """Report whether rates count the run."""
        return self.ending is RunEnding.DONE

    @property
    def was_left(self) -> bool:
        """Report whether the run never began because the budget was spent."""
        return self.ending is RunEnding.BUDGET and not self.attempts and not self.cached

    @property
    def has_gap(self) -> bool:
        """Report whether the run has a gap signal; the number does not matter (specification 1, section 5)."""
        return bool(self.signals)

    def weight(self, kind: RateKind = RateKind.RAW, *, is_certain: bool = False) -> float:
        """Return the weight of the heaviest signal; 0 without a signal (specification 1, section 5).

        Undecided signals count as open, unless only certain ones are asked for.
        """
        open_ = {Status.OPEN} if is_certain else NOT_CLOSED
        counted = (signal for signal in self.signals if kind is RateKind.RAW or signal.status in open_)  # raw: all
        return max((signal.weight for signal in counted), default=0.0)

    @property
    def cluster(self) -> str:
        """Name of the cluster. Dependent runs share it."""
        return f"session {self.session}" if self.session else f"sample {self.sample}"


def complete_runs(runs: Iterable[SampleRun]) -> dict[str, list[SampleRun]]:
    """Return the complete runs by sample, without samples that have none."""
    found: dict[str, list[SampleRun]] = {}
    for run in runs:
        if run.is_complete:
            found.setdefault(run.sample, []).append(run)
    return found


def sample_weight(runs: Sequence[SampleRun], kind: RateKind = RateKind.RAW, *, is_certain: bool = False) -> float:
    """Return the weight that at least half of the runs of a sample reach.

    So a sample has a gap if at least half of its runs have one, and a rate counts samples, not runs.
    """
    heaviest_first = sorted((run.weight(kind, is_certain=is_certain) for run in runs), reverse=True)
    return heaviest_first[(len(runs) - 1) // 2]


def sample_rate(
    samples: Mapping[str, Sequence[SampleRun]], kind: RateKind = RateKind.RAW, *, is_certain: bool = False
) -> Rate:
    """Return the share of samples with a gap, of those with a complete run; a session is one cluster."""
    clusters: dict[str, Rate] = {}
    for runs in samples.values():
        name = runs[0].cluster  # the same for all runs of a sample
        clusters[name] = clusters.get(name, Rate()) + Rate(int(sample_weight(runs, kind, is_certain=is_certain) > 0), 1)
    return clustered(clusters.values())


class EvaluationHead(msgspec.Struct, frozen=True, kw_only=True):
    """The part of an evaluation that trends and gates need."""

    id: int = 0  # set by the store
    made: str  # UTC
    watermark: Watermark
    sha256: str  # of the whole test set
    origin: Origin = Origin.WRITTEN
    executor: str
    model: str = ""
    judge: str = ""  # judge of rubrics; "": none
    hedges: str = ""  # prompt and model that judged hedges; "": rules
    as_specified: bool = False  # failed searches counted by the letter of specification 1
    repeat: int = 1
    root: str = ""
    commit: str = ""  # of the knowledge base; "" outside git
    subject: str = ""  # first line of the commit message
    dirty: bool = False  # files differ from the commit
    knowledge: dict[str, str] = {}  # knowledge file → first 8 hex digits of its SHA-256
    against: str = ""  # source of a variant that is not the knowledge base itself
    variant: str = ""  # its name, where two were run together
    inject: bool = False  # our hooks injected items of the store
    gap: GapFigures
    coverage: Coverage
    composite: Mean
    usd: float | None = None
    seconds: float = 0.0
    samples: int = 0  # in the test set, as in the watermark
    runs_complete: int = 0
    runs_incomplete: int = 0
    version: str = ""
    gates: dict[str, bool] = {}  # gate → passed at its last check

    @property
    def series(self) -> tuple[str, str, str, bool]:
        """Key of the evaluations that compare: the same test set, signals counted in the same way."""
        return self.sha256, self.origin, self.hedges, self.as_specified


class Evaluation(EvaluationHead, frozen=True, kw_only=True):
    """Everything `eval` says."""

    runs: list[SampleRun]
    topics: list[MissedSearch] = []
    warnings: list[str] = []
    judging: HedgeJudging | None = None  # of a judge of hedges with a cap; both versions of a run together
    causes: list[SampleCause] = []  # of the failed samples
    compared_with: int = 0  # id of the evaluation of the other variant
    held_out: list[str] = []  # samples of which no cause is named, to see whether what is repaired helps them, too

    @property
    def signals(self) -> list[Signal]:
        """The gap inventory: every signal of every complete run; open and hard signals first."""
        found = [signal for run in self.runs if run.is_complete for signal in run.signals]
        return sorted(found, key=lambda signal: (signal.status != "open", -signal.weight))


class KnowledgeChange(msgspec.Struct, frozen=True):
    """Difference of the knowledge base between two evaluations."""

    added: list[str]
    removed: list[str]
    changed: list[str]

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)

    def __str__(self) -> str:
        parts = ((self.added, "+"), (self.removed, "−"), (self.changed, "~"))
        return " ".join(f"{sign}{len(files)}" for files, sign in parts if files) or "unchanged"


def knowledge_change(before: Mapping[str, str], after: Mapping[str, str]) -> KnowledgeChange:
    """Return the added, removed and changed knowledge files."""
    return KnowledgeChange(
        added=sorted(after.keys() - before.keys()),
        removed=sorted(before.keys() - after.keys()),
        changed=sorted(path for path in before.keys() & after.keys() if before[path] != after[path]),
    )


def total_usd(parts: Iterable[float | None]) -> float | None:
    """Return the sum of the known costs; None if no cost is known."""
    known = [part for part in parts if part is not None]
    return sum(known) if known else None


class QuestionSource(StrEnum):
    """Part of the knowledge base that a question comes from."""

    STUB = "stub"  # a heading with nothing written below it
    PRINCIPLE = "principle"  # a rule in CLAUDE.md or the like
    MODEL = "model"  # proposed by a model from file names, headings and principles
    STRUCTURE = "structure"  # a heading or a file name


class CompetencyQuestion(msgspec.Struct, frozen=True):
    """A question within the scope of the knowledge base, and the line that it comes from."""

    question: str
    kind: QuestionSource
    why: str
    file: str
    line: int
    provenance: str = "rules"  # or the model that proposed it

    @property
    def id(self) -> str:
        """Hash of the words of the question."""
        return "cq-" + hashlib.sha256(" ".join(self.question.lower().split()).encode()).hexdigest()[:10]

    @property
    def place(self) -> str:
        """Source of the question as FILE:LINE."""
        return f"{self.file}:{self.line}" if self.line else self.file


class Dropped(msgspec.Struct, frozen=True):
    """A proposal that is not asked, with the reason."""

    question: str
    reason: str
    kind: QuestionSource = QuestionSource.STRUCTURE
    place: str = ""


class Probe(msgspec.Struct, frozen=True):
    """The questions to one knowledge base, and the dropped proposals."""

    root: str
    questions: tuple[CompetencyQuestion, ...]
    dropped: tuple[Dropped, ...] = ()
    left: int = 0  # questions beyond the requested number
    notes: tuple[str, ...] = ()
    usd: float | None = 0.0  # cost of the model's proposals; None: not reported

"""Runs a test set: every sample, as often as asked, on one version of the knowledge base or on two.

A run is journaled the moment it ended, so an evaluation that was cut off goes on where it was. Samples go through
several threads; two versions take turns, so that whatever drifts meanwhile hits both alike.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from knowbound.evals.assertions.results import AgentAnswer
from knowbound.evals.executor import Execution, Executor, Task
from knowbound.evals.executors.agent_process import EndedError
from knowbound.evals.grading import grade
from knowbound.evals.samples.values import EvalSample
from knowbound.evals.tracing import Traced, read_trace
from knowbound.evals.versions import Version
from knowbound.gaps.judging import judge_findings, process_verdicts
from knowbound.gaps.reading import LensSettings
from knowbound.judge.hedging.verdict import HedgingJudge
from knowbound.judge.rubric import RubricJudge
from knowbound.stats.evaluation import Ending, SampleRun, total_usd
from knowbound.text.clock import utc_now
from knowbound.text.digest import digest_of
from knowbound.text.redact import redact

_KEPT = 4000  # characters of a prompt or an answer that are kept; the trace has them whole
_T = TypeVar("_T")
_AGAIN = frozenset({Ending.CRASHED, Ending.INCOMPLETE})  # a run that took too long or cost too much would again


class Limits(msgspec.Struct, frozen=True):
    """What a run may take."""

    concurrency: int = 4
    seconds: float = 300.0  # for one sample
    retries: int = 1
    usd: float | None = None  # for everything
    sample_usd: float | None = None
    allow_run: bool = False  # whether custom assertions may run their files


class Seen(msgspec.Struct, frozen=True):
    """How far it is: for progress."""

    done: int
    total: int
    gaps: int
    incomplete: int
    usd: float | None


class Memory(Protocol):
    """Where runs are noted, and where identical ones are kept."""

    def note(self, journal: int, task: str, run: SampleRun) -> None:
        """A task ended."""

    def noted(self, journal: int) -> dict[str, SampleRun]:
        """The tasks that ended before."""

    def execution(self, key: str, type_: type[_T]) -> _T | None:
        """An identical run."""

    def keep_execution(self, key: str, made: str, execution: object) -> None:
        """Remember a run."""


class Job(msgspec.Struct, frozen=True):
    """One sample, once, on one version."""

    version: Version
    sample: EvalSample
    number: int  # of the sample in its test set
    repeat: int

    @property
    def name(self) -> str:
        """Its name in the journal."""
        return f"{self.version.name}\n{self.repeat}\n{self.sample.id}"


def jobs_of(samples: Sequence[EvalSample], versions: Sequence[Version], repeat: int) -> list[Job]:
    """Every run there is, in the order they begin: versions take turns, and who is first changes each time."""
    jobs: list[Job] = []
    for again in range(1, repeat + 1):
        for number, sample in enumerate(samples):
            turn = versions if (number + again) % 2 else versions[::-1]
            jobs.extend(Job(version, sample, number, again) for version in turn)
    return jobs


class Runner:
    """Runs jobs. Everything that all of them share."""

    def __init__(
        self,
        *,
        executor: Executor,
        limits: Limits,
        lens: LensSettings,
        memory: Memory,
        journal: int,
        place: Path,
        judge: RubricJudge | None = None,
        hedging: HedgingJudge | None = None,
        states: dict[str, str] | None = None,
        progress: Callable[[Seen], None] | None = None,
    ) -> None:
        self._executor, self._limits, self._lens = executor, limits, lens
        self._memory, self._journal, self._place = memory, journal, place
        self._judge, self._hedging = judge, hedging
        self._states = states  # version → the state of its folder: identical runs are looked up; None: never
        self._progress = progress
        self._spent = 0.0
        self._counting = threading.Lock()

    def run(self, jobs: Sequence[Job]) -> dict[str, SampleRun]:
        """Every job's run, by its name. What was noted before is not run again."""
        runs = self._memory.noted(self._journal)
        self._spent = total_usd(run.usd for run in runs.values()) or 0.0
        waiting = iter([job for job in jobs if job.name not in runs])
        self._show(runs, len(jobs))
        pool = ThreadPoolExecutor(self._limits.concurrency, thread_name_prefix="sample")
        running: dict[Future[SampleRun], Job] = {}
        try:
            while self._fill(pool, running, waiting):
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    job = running.pop(future)
                    runs[job.name] = future.result()
                    self._show(runs, len(jobs))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        return runs

    def _fill(self, pool: ThreadPoolExecutor, running: dict[Future[SampleRun], Job], waiting: Iterator[Job]) -> bool:
        """As many at once as are allowed; False when nothing is left."""
        while len(running) < self._limits.concurrency:
            job = next(waiting, None)
            if job is None:
                break
            running[pool.submit(self._one, job)] = job
        return bool(running)

    def _show(self, runs: dict[str, SampleRun], total: int) -> None:
        if self._progress is not None:
            seen = list(runs.values())
            incomplete = sum(not run.is_complete for run in seen)
            gaps = sum(run.is_complete and run.has_gap for run in seen)
            self._progress(Seen(len(seen), total, gaps, incomplete, total_usd(run.usd for run in seen)))

    def _one(self, job: Job) -> SampleRun:
        """Run, read, grade, and note it. What the budget left out is not noted: it may still be run."""
        limit = self._limits.usd
        if limit is not None and self._spent >= limit:
            return self._plain(job, Ending.BUDGET, f"not run: the budget of ${limit:g} is spent")
        execution, cached, attempts = self._execute(job)
        run = self._read(job, execution, cached, attempts)
        with self._counting:
            self._spent += run.usd or 0.0
        self._memory.note(self._journal, job.name, run)
        return run

    def _execute(self, job: Job) -> tuple[Execution, bool, int]:
        """The run itself: from memory where it is identical, and again where the agent failed."""
        key = self._key(job)
        kept = self._memory.execution(key, Execution) if key else None
        if kept is not None and Path(kept.trace).is_file():
            return self._within_limits(kept), True, 0
        usd = seconds = 0.0
        known = True
        attempt = 0
        while True:
            attempt += 1
            execution = self._attempt(job, attempt)
            usd, seconds = usd + (execution.usd or 0.0), seconds + execution.seconds
            known = known and execution.usd is not None
            if execution.ending not in _AGAIN or attempt > self._limits.retries:
                break
        if key and execution.ending is Ending.DONE:
            self._memory.keep_execution(key, utc_now(), execution)
        spent = usd if known or usd else None
        return msgspec.structs.replace(execution, usd=spent, seconds=seconds), False, attempt

    def _attempt(self, job: Job, attempt: int) -> Execution:
        version = f"v{0 if not job.version.name else 1}"
        place = self._place / version / f"{job.number:04d}-{job.repeat}" / str(attempt)
        place.mkdir(parents=True, exist_ok=True)
        task = Task(
            sample=job.sample.id,
            prompt=job.sample.asked,
            question=job.sample.prompt,
            folder=_working_folder(job),
            base=job.version.folder,
            place=place,
            seconds=self._limits.seconds,
            usd=self._limits.sample_usd,
            tools=job.sample.allowed_tools,
        )
        if not task.folder.is_dir():
            return Execution(Ending.CRASHED, problem=f"the sample's folder {job.sample.cwd} is not there", usd=0.0)
        began = time.monotonic()
        try:
            execution = self._executor.run(task)
        except EndedError:  # we are ending: nothing came of it, and nothing may be noted
            raise
        except Exception as error:  # whatever an executor does, the evaluation goes on
            spent = time.monotonic() - began
            return Execution(Ending.CRASHED, problem=f"{type(error).__name__}: {error}", seconds=spent)
        places = {"folder": str(job.version.folder), "working": str(task.folder)}
        return self._within_limits(msgspec.structs.replace(execution, **places))

    def _within_limits(self, execution: Execution) -> Execution:
        """The run, which does not count where it cost more than a sample may."""
        limit, usd = self._limits.sample_usd, execution.usd or 0.0
        if execution.ending is not Ending.DONE or limit is None or usd <= limit:
            return execution
        problem = f"it cost ${usd:g}; a sample may cost ${limit:g}"
        return msgspec.structs.replace(execution, ending=Ending.BUDGET, problem=problem)

    def _key(self, job: Job) -> str:
        """Everything an execution depends on; "" where identical runs are not kept."""
        if self._states is None or not _working_folder(job).is_relative_to(job.version.folder):
            return ""
        sample = job.sample
        parts = [self._executor.name, self._executor.version, self._states[job.version.name]]
        return digest_of([*parts, sample.asked, sample.prompt, sample.cwd, *sample.allowed_tools, str(job.repeat)])

    def _read(self, job: Job, execution: Execution, cached: bool, attempts: int) -> SampleRun:
        """What the trace holds, and what the answer is worth."""
        if execution.ending is not Ending.DONE:
            return self._plain(job, execution.ending, execution.problem, execution, cached, attempts)
        folder, working = Path(execution.folder), Path(execution.working)
        traced = read_trace(Path(execution.trace), job.sample.id, folder, working, self._lens)
        if traced.problem:
            return self._plain(job, Ending.INCOMPLETE, traced.problem, execution, cached, attempts)
        if self._hedging is not None and not self._hedging.costs:
            judge_findings([traced.found], self._hedging, process_verdicts())
        answer = execution.answer or traced.answer
        graded = grade(
            job.sample, _answered(answer, execution, traced), self._judge, allow_run=self._limits.allow_run,
            folder=Path(job.sample.file).parent,
        )  # fmt: skip
        found = traced.found
        return msgspec.structs.replace(
            self._plain(job, Ending.DONE, "", execution, cached, attempts),
            answer=redact(answer[:_KEPT]),
            signals=found.signals,
            reached=found.reached,
            turns=len(found.turns),
            steps=sum(sample.steps for sample in found.samples),
            calls=found.tool_calls,
            grade=graded,
            usd=_sum(0.0 if cached else execution.usd, graded.usd),
        )

    def _plain(
        self,
        job: Job,
        ending: Ending,
        problem: str,
        execution: Execution | None = None,
        cached: bool = False,
        attempts: int = 0,
    ) -> SampleRun:
        """A run with what is known without its trace."""
        sample, did = job.sample, execution or Execution(ending, usd=0.0)
        return SampleRun(
            sample=sample.id,
            repeat=job.repeat,
            ending=ending,
            problem=redact(problem),
            prompt=redact(sample.prompt[:_KEPT]),
            answer=redact(did.answer[:_KEPT]),
            seconds=0.0 if cached else did.seconds,
            usd=0.0 if cached else did.usd,
            tokens_in=did.tokens_in,
            tokens_out=did.tokens_out,
            model=did.model,
            session=sample.session,
            trace=did.trace,
            cached=cached,
            attempts=attempts,
            capability=list(sample.capability),
            difficulty=sample.difficulty,
            construct=sample.construct,
            provenance=sample.provenance,
            file=sample.file,
            line=sample.line,
        )


def _answered(answer: str, execution: Execution, traced: Traced) -> AgentAnswer:
    steps = sum(sample.steps for sample in traced.found.samples)
    return AgentAnswer(answer=answer, seconds=execution.seconds, usd=execution.usd, steps=steps, calls=traced.calls)


def _sum(running: float | None, judging: float | None) -> float | None:
    """What a run cost in all; unknown where a part of it is."""
    return None if running is None or judging is None else running + judging


def _working_folder(job: Job) -> Path:
    """The knowledge base, or the sample's own folder: inside the version where it is inside the knowledge base."""
    if not job.sample.cwd:
        return job.version.folder
    own = (Path(job.sample.file).parent / job.sample.cwd).resolve()
    return job.version.inside(own)

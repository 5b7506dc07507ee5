"""Runs a test set: every sample, as often as asked, on one variant of the knowledge base or on two.

A run is noted in the journal the moment it ends, so an interrupted evaluation goes on where it was. Samples are run by
several threads; two versions take turns, so that whatever drifts meanwhile affects both alike.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import msgspec

from knowbound.evals.assertions import AgentAnswer
from knowbound.evals.executor import Execution, Executor, Task
from knowbound.evals.executors.agent_process import EndedError
from knowbound.evals.grading import grade
from knowbound.evals.samples.values import EvalSample
from knowbound.evals.tracing import read_trace, redact_folder
from knowbound.evals.variants import Version
from knowbound.files import is_inside
from knowbound.gaps.endings import settle
from knowbound.gaps.lens import LensSettings
from knowbound.gaps.reading import judge_findings
from knowbound.judge.hedging.verdict import HedgingJudge
from knowbound.judge.rubric import RubricJudge
from knowbound.stats.evaluation import RunEnding, SampleRun, total_usd
from knowbound.store.evaluations import Evaluations
from knowbound.text.clock import utc_now
from knowbound.text.digest import digest_of
from knowbound.text.redact import excerpt, redact
from knowbound.user_files import make_folder

_KEPT_CHARACTERS = 4000  # of a prompt or an answer; the trace has them whole
_RETRIED = frozenset({RunEnding.CRASHED, RunEnding.INCOMPLETE})  # a run that took too long or cost too much would again


class RunLimits(msgspec.Struct, frozen=True):
    """Limits of an evaluation."""

    concurrency: int = 4
    seconds: float = 300.0  # for one sample
    retries: int = 1
    usd: float | None = None  # for everything
    sample_usd: float | None = None
    allow_run: bool = False  # whether custom assertions may run their files


class RunProgress(msgspec.Struct, frozen=True):
    """The progress of an evaluation."""

    done: int
    total: int
    gaps: int
    incomplete: int
    usd: float | None


class Job(msgspec.Struct, frozen=True):
    """One sample, once, on one version."""

    version: Version
    sample: EvalSample
    number: int  # of the sample in its test set
    repeat: int

    @property
    def name(self) -> str:
        """The name of the job in the journal."""
        return f"{self.version.name}\n{self.repeat}\n{self.sample.id}"

    @property
    def folder(self) -> Path:
        """Return the agent's working folder: the knowledge base, or the sample's own folder in this version of it."""
        sample = self.sample
        if not sample.cwd:
            return self.version.folder
        return self.version.inside((Path(sample.file).parent / sample.cwd).resolve())


def jobs_of(samples: Sequence[EvalSample], versions: Sequence[Version], repeat: int) -> list[Job]:
    """Every run there is, in the order they begin: versions take turns, and who is first changes each time."""
    jobs: list[Job] = []
    for repetition in range(1, repeat + 1):
        for number, sample in enumerate(samples):
            in_turn = versions if (number + repetition) % 2 else versions[::-1]
            jobs.extend(Job(version, sample, number, repetition) for version in in_turn)
    return jobs


@dataclass(kw_only=True)
class Runner:
    """Runs jobs, with everything that all of them share."""

    executor: Executor
    limits: RunLimits
    lens: LensSettings
    store: Evaluations
    journal: int
    run_dir: Path
    judge: RubricJudge | None = None
    hedging: HedgingJudge | None = None
    states: dict[str, str] | None = None  # version → the state of its folder; None: identical runs are not looked up
    progress: Callable[[RunProgress], None] | None = None
    _spent: float = field(default=0.0, init=False)
    _spent_lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def run(self, jobs: Sequence[Job]) -> dict[str, SampleRun]:
        """Run the jobs that the journal does not have; return the run of every job by its name."""
        runs = self.store.noted(self.journal)
        self._spent = total_usd(run.usd for run in runs.values()) or 0.0  # before the run was interrupted
        waiting = iter([job for job in jobs if job.name not in runs])
        self._report_progress(runs, len(jobs))
        pool = ThreadPoolExecutor(self.limits.concurrency, thread_name_prefix="sample")
        running: dict[Future[SampleRun], Job] = {}
        try:
            while True:
                for job in islice(waiting, self.limits.concurrency - len(running)):
                    running[pool.submit(self._run_job, job)] = job
                if not running:
                    break
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    job = running.pop(future)
                    runs[job.name] = future.result()
                    self._report_progress(runs, len(jobs))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)  # after an error no agent is waited for
        return runs

    def _report_progress(self, runs: dict[str, SampleRun], total: int) -> None:
        if self.progress is not None:
            done = list(runs.values())
            gaps = sum(run.is_complete and run.has_gap for run in done)
            incomplete = sum(not run.is_complete for run in done)
            self.progress(RunProgress(len(done), total, gaps, incomplete, total_usd(run.usd for run in done)))

    def _run_job(self, job: Job) -> SampleRun:
        """Run, read, grade and note it. What the budget left out is not noted: it may still be run."""
        limit = self.limits.usd
        if limit is not None and self._spent >= limit:
            problem = f"not run: the budget of ${limit:g} is spent"
            return _without_trace(job, Execution(RunEnding.BUDGET, problem=problem, usd=0.0), attempts=0)
        key = self._execution_key(job)
        kept = self.store.execution(key, Execution) if key else None
        if kept is not None and Path(kept.trace).is_file():  # traces of old evaluations are deleted
            run = self._graded(job, self._within_limits(kept), attempts=0)
        else:
            run = self._run_and_grade(job, key)
        with self._spent_lock:
            self._spent += run.usd or 0.0
        self.store.note(self.journal, job.name, run)
        return run

    def _run_and_grade(self, job: Job, key: str) -> SampleRun:
        """Try the job until it ends well; it is graded by what the agent said, and kept without secrets.

        A redacted run is not reused as an identical run later: its grade might differ.
        """
        tries: list[Execution] = []
        while not tries or (tries[-1].ending in _RETRIED and len(tries) <= self.limits.retries):
            tries.append(self._attempt(job, len(tries) + 1))
        last = tries[-1]
        usd, seconds = sum(attempt.usd or 0.0 for attempt in tries), sum(attempt.seconds for attempt in tries)
        # Of several attempts the known costs count; unknown is only what no attempt reported.
        is_cost_known = usd or all(attempt.usd is not None for attempt in tries)
        execution = msgspec.structs.replace(last, usd=usd if is_cost_known else None, seconds=seconds)
        run = self._graded(job, execution, len(tries))
        had_secret = [redact_folder(self._output_dir(job, number)) for number in range(1, len(tries) + 1)]
        if key and last.ending is RunEnding.DONE and not any(had_secret) and redact(last.answer) == last.answer:
            self.store.keep_execution(key, utc_now(), last)
        return run

    def _output_dir(self, job: Job, attempt: int) -> Path:
        version = "v1" if job.version.name else "v0"  # a name: the version that the other one is compared with
        return self.run_dir / version / f"{job.number:04d}-{job.repeat}" / str(attempt)

    def _attempt(self, job: Job, attempt: int) -> Execution:
        """Run a job once; what goes wrong in the sample's folder or the executor is a crashed execution."""
        output_dir = self._output_dir(job, attempt)
        make_folder(output_dir)
        task = Task(
            sample=job.sample.id,
            prompt=job.sample.asked,
            question=job.sample.prompt,
            folder=job.folder,
            base=job.version.folder,
            output_dir=output_dir,
            seconds=self.limits.seconds,
            usd=self.limits.sample_usd,
            tools=job.sample.allowed_tools,
            inject=job.version.variant.inject,
        )
        problem, allowed = "", (job.version.folder, Path(job.sample.file).parent.resolve())
        if not any(is_inside(task.folder, base) for base in allowed):
            problem = "outside of the knowledge base and of the samples' folder"
        elif not task.folder.is_dir():
            problem = "not there"
        if problem:
            words = f"the sample's folder {job.sample.cwd} is {problem}"
            return Execution(RunEnding.CRASHED, problem=words, usd=0.0)
        began = time.monotonic()
        try:
            execution = self.executor.run(task)
        except EndedError:  # we are ending: nothing came of it, and nothing may be noted
            raise
        except Exception as error:  # whatever an executor does, the evaluation goes on
            spent = time.monotonic() - began
            return Execution(RunEnding.CRASHED, problem=f"{type(error).__name__}: {error}", seconds=spent)
        folders = {"folder": str(job.version.folder), "working": str(task.folder)}
        return self._within_limits(msgspec.structs.replace(execution, **folders))

    def _within_limits(self, execution: Execution) -> Execution:
        """Return the execution; as ended by the budget if it cost more than a sample may."""
        limit, usd = self.limits.sample_usd, execution.usd or 0.0
        if execution.ending is not RunEnding.DONE or limit is None or usd <= limit:
            return execution
        problem = f"it cost ${usd:g}; a sample may cost ${limit:g}"
        return msgspec.structs.replace(execution, ending=RunEnding.BUDGET, problem=problem)

    def _execution_key(self, job: Job) -> str:
        """Return a digest of everything an execution depends on; "" if identical runs are not reused."""
        if self.states is None or not job.folder.is_relative_to(job.version.folder):
            return ""  # a folder beside the samples can change, and no state shows it
        sample = job.sample
        parts = [self.executor.name, self.executor.version, self.states[job.version.name]]
        return digest_of([*parts, sample.asked, sample.prompt, sample.cwd, *sample.allowed_tools, str(job.repeat)])

    def _graded(self, job: Job, execution: Execution, attempts: int) -> SampleRun:
        """Return the run of a sample: the signals in the trace of its execution, and the grade of its answer."""
        run = _without_trace(job, execution, attempts)
        if execution.ending is not RunEnding.DONE:
            return run
        folder, working = Path(execution.folder), Path(execution.working)
        traced = read_trace(Path(execution.trace), job.sample.id, folder, working, self.lens)
        if traced.problem:
            return msgspec.structs.replace(run, ending=RunEnding.INCOMPLETE, problem=redact(traced.problem))
        found = traced.found
        if self.hedging is None:
            settle(found)
        elif not self.hedging.costs:  # a judge that costs gets the hedges of all runs at the end, under one cap
            judge_findings([found], self.hedging)
        answer = execution.answer or traced.answer
        steps = sum(sample.steps for sample in found.samples)
        graded = grade(
            job.sample,
            AgentAnswer(answer, seconds=execution.seconds, usd=execution.usd, steps=steps, calls=traced.calls),
            self.judge,
            allow_run=self.limits.allow_run,
            folder=Path(job.sample.file).parent,
        )
        return msgspec.structs.replace(
            run,
            answer=excerpt(answer, _KEPT_CHARACTERS),
            signals=found.signals,
            reached=found.reached,
            injected=[*(text for turn in found.turns for text in turn.injected if text.item), *execution.injected],
            turns=len(found.turns),
            steps=steps,
            calls=found.tool_calls,
            grade=graded,
            usd=None if run.usd is None or graded.usd is None else run.usd + graded.usd,
        )


def _without_trace(job: Job, execution: Execution, attempts: int) -> SampleRun:
    """A run with what is known without its trace. No attempt, but a trace: an identical run that was kept."""
    sample = job.sample
    cached = not attempts and bool(execution.trace)
    return SampleRun(
        sample=sample.id,
        repeat=job.repeat,
        ending=execution.ending,
        problem=redact(execution.problem),
        prompt=excerpt(sample.prompt, _KEPT_CHARACTERS),
        answer=excerpt(execution.answer, _KEPT_CHARACTERS),
        seconds=0.0 if cached else execution.seconds,
        usd=0.0 if cached else execution.usd,
        tokens_in=execution.tokens_in,
        tokens_out=execution.tokens_out,
        model=execution.model,
        session=sample.session,
        trace=execution.trace,
        shows_calls=execution.shows_calls,
        cached=cached,
        attempts=attempts,
        capability=list(sample.capability),
        difficulty=sample.difficulty,
        construct=sample.construct,
        provenance=sample.provenance,
        file=sample.file,
        line=sample.line,
    )

"""An evaluation from beginning to end: test set → versions → runs → figures → stored (specification 1, 5 to 7)."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import msgspec

from knowbound import __version__
from knowbound.config import ModelTask, Settings
from knowbound.core.signal import Findings
from knowbound.errors import InputError
from knowbound.evals.diagnosis import diagnose, failed_runs
from knowbound.evals.executor import BUILT_IN, Executor, executor_named
from knowbound.evals.executors.agent_process import is_running
from knowbound.evals.figures import figures_of
from knowbound.evals.grading import loose_words
from knowbound.evals.knowledge import files_of, folder_state, knowledge_globs, links_out, state_of
from knowbound.evals.runner import Job, RunLimits, Runner, RunProgress, jobs_of
from knowbound.evals.samples.values import SampleSet
from knowbound.evals.tracing import OUTPUT_FOLDERS, read_trace, redact_left_behind
from knowbound.evals.variants import HERE, ONLY, Copies, Variant, Version, check_inject, check_variants, current_version
from knowbound.gaps.lens import LensSettings
from knowbound.gaps.reading import JudgedHedges, drop_hedges, judge_findings, judge_of
from knowbound.judge.choice import judge_for, model_for
from knowbound.judge.hedging.verdict import HedgingJudge
from knowbound.judge.registry import asker_for, check_hedging, hedging_judge_version, rubric_judge, why_hedges_off
from knowbound.judge.rubric import RubricJudge, panel_of
from knowbound.stats.comparison import answers
from knowbound.stats.evaluation import Evaluation, Origin, SampleCause, SampleRun, total_usd
from knowbound.store.data_dir import EVALS
from knowbound.store.evaluations import Evaluations
from knowbound.text.clock import utc_now
from knowbound.text.digest import digest_of
from knowbound.user_files import PRIVATE_FILE, make_folder

_DAY_SECONDS = 24 * 3600.0


class EvalPlan(msgspec.Struct, frozen=True):
    """The samples to run, and how to run them."""

    set: SampleSet
    limits: RunLimits = RunLimits()
    repeat: int = 1
    variants: tuple[Variant, ...] = (ONLY,)  # one, or two: the last one is evaluated against the first
    resume: bool = False
    in_place: bool = False  # an agent that reads freely works in the knowledge base itself, not in a copy
    cache: bool | None = None  # identical runs are taken from the store; None: where a run costs
    origin: Origin = Origin.WRITTEN
    executor: str = BUILT_IN
    record: Path | None = None  # the ended runs are written here, to be replayed
    causes: bool = True  # whether failed samples are diagnosed
    holdout: float = 0.0  # share of the samples that are not diagnosed
    model: str = ""  # the one that an agent's command line should use
    judges: tuple[str, ...] = ()  # who scores rubrics; none leaves them unscored
    hooks: dict[str, str] = {}  # event → the command of our hook, for runs with injection


class Evaluated(NamedTuple):
    """The evaluation of the last variant, that of the first where two were named, and notes for the user."""

    evaluation: Evaluation
    other: Evaluation | None
    notes: list[str]
    journal: int = 0  # to be finished once the result was shown; 0: nothing is left to finish


def evaluate(
    plan: EvalPlan,
    settings: Settings,
    executor: Executor | None = None,
    *,
    judge: RubricJudge | None = None,
    progress: Callable[[RunProgress], None] | None = None,
    until_shown: bool = False,
) -> Evaluated:
    """Run a test set and store the result; the executor and the judge are those of the plan unless they are given.

    With `until_shown` the run can be resumed until the caller calls `finish`: were we killed before that, its result
    would be stored, never seen, and paid for again.
    """
    check_hedging(settings)
    if executor is None:
        globs, hidden = knowledge_globs(settings.knowledge), hidden_paths(plan.set, settings)
        asker = None
        if plan.executor == BUILT_IN:  # other executors bring their own model
            asker = asker_for(settings, judge_for(settings, ModelTask.INVESTIGATE))
        executor = executor_named(
            plan.executor, model=plan.model, hidden=hidden, globs=globs, hooks=plan.hooks, asker=asker
        )
    store = Evaluations(settings.home)
    store.check()
    if judge is None and plan.judges:
        judge = panel_of([rubric_judge(settings, name) for name in plan.judges])
    executor.check()
    items = check_inject(plan.variants, executor, settings.home)
    check_variants(settings.root, plan.variants)
    work = _Work(plan, settings, executor, judge, store, items)
    with work.locked():
        done = work.run(progress, until_shown=until_shown)
    store.close()
    return done


def finish(done: Evaluated, settings: Settings) -> None:
    """The evaluation was shown: `--resume` does not come back to it."""
    if done.journal:  # else it is finished already
        with closing(Evaluations(settings.home)) as store:
            store.finish(done.journal)


def hidden_paths(set_: SampleSet, settings: Settings) -> tuple[Path, ...]:
    """Return the paths that a tested agent must not find: the test set, and our data folder."""
    files = {Path(sample.file) for sample in set_.samples if sample.file}
    return (*sorted(files), Path(set_.path), settings.home)


@dataclass
class _Work:
    """One evaluation: its plan, and everything that the steps of it share."""

    plan: EvalPlan
    settings: Settings
    executor: Executor
    judge: RubricJudge | None
    store: Evaluations
    items: str  # digest of what can be injected; "" if no version injects

    def __post_init__(self) -> None:
        plan, settings, executor = self.plan, self.settings, self.executor
        self.globs = knowledge_globs(settings.knowledge)
        self.hidden = hidden_paths(plan.set, settings)
        self.evals = settings.home / EVALS
        self.notes: list[str] = []
        self.held_out = plan.set.held_out(plan.holdout)
        # Equal for two runs of which one may resume the other; the knowledge is compared separately.
        who = (executor.name, executor.version, self.judge.version if self.judge else "")
        named = [f"{variant.name}={variant.source}+{variant.inject}" for variant in plan.variants if variant != ONLY]
        what = [plan.set.sha256, plan.origin, str(settings.root), *["as specified"] * settings.as_specified]  # if set
        self.plan_digest = digest_of([*what, *who, str(plan.repeat), *named])

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock of the plan, so that only this process works on it. Raises InputError if it is held."""
        with self._lock_of(self.plan_digest) as (file, is_held):
            if not is_held:
                raise InputError(
                    "eval-running", f"Another process is running this evaluation ({file}). Wait until it has ended."
                )
            yield

    @contextmanager
    def _lock_of(self, plan: str) -> Iterator[tuple[Path, bool]]:
        """The lock file of a plan, and whether it is held by us now: another process may hold it."""
        from filelock import FileLock, Timeout  # noqa: PLC0415  (takes 0.1 s to import)

        file = self.evals / f"{plan[:16]}.lock"
        make_folder(file.parent)
        try:
            lock = FileLock(file, mode=PRIVATE_FILE).acquire(blocking=False)
        except Timeout:
            yield file, False
            return
        with lock:
            yield file, True

    def run(self, progress: Callable[[RunProgress], None] | None, *, until_shown: bool = False) -> Evaluated:
        """Run the samples on every version, judge and count them, and store the last version's evaluation.

        `until_shown` leaves the journal unfinished, so that the run can be resumed until its result was shown.
        """
        plan, store = self.plan, self.store
        journal = self._journal()
        run_dir = self.evals / str(journal)
        versions = self._versions(Copies(run_dir, self.settings.home, self.globs))
        jobs = jobs_of(plan.set.samples, versions, plan.repeat)
        hedging_judge = judge_of(self.settings)
        states: dict[str, str] | None = None
        reuses_runs = self.executor.remembers if plan.cache is None else plan.cache
        if reuses_runs:
            states = {version.name: folder_state(version.folder, self.globs) for version in versions}
            injecting = {version.name for version in versions if version.variant.inject}
            states |= {name: digest_of([states[name], self.items]) for name in injecting}  # items are part of the state
        runner = Runner(
            executor=self.executor,
            limits=plan.limits,
            lens=LensSettings.of(self.settings, self.globs),
            store=store,
            journal=journal,
            run_dir=run_dir,
            judge=self.judge,
            hedging=hedging_judge,
            states=states,
            progress=progress,
        )
        try:
            runs = runner.run(jobs)
        finally:
            redact_left_behind(run_dir)
        hedges = self._judge_hedges(runs, hedging_judge)
        *baselines, candidate = (
            self._evaluation(version, [runs[job.name] for job in jobs if job.version is version], hedges, len(versions))
            for version in versions
        )
        candidate = msgspec.structs.replace(candidate, causes=self._causes(versions[-1], candidate.runs, jobs))
        if plan.record is not None:
            from knowbound.evals.executors.without_agent import recorded, write_recording  # noqa: PLC0415

            write_recording(recorded([job for job in jobs if job.version is versions[-1]], runs), plan.record)
        is_whole = not any(run.was_left for run in runs.values())
        is_finished = is_whole and not until_shown
        kept = store.keep(candidate, baselines[0] if baselines else None, journal=journal, finished=is_finished)
        if not is_whole:
            budget = f"{2 * (plan.limits.usd or 0.0):g}"
            self.notes.append(f"The budget ended the run early. Go on with a larger one: --resume --budget {budget}")
        self._make_room(journal, is_whole)
        other = store.get(kept.compared_with) if kept.compared_with else None
        return Evaluated(kept, other, self.notes, journal if is_whole and until_shown else 0)

    def _journal(self) -> int:
        """Return the journal to write in: a new journal, or that of the interrupted run."""
        plan, root = self.plan, self.settings.root
        knowledge = state_of(root, files_of(root, self.globs, self.hidden))
        items = [self.items] if self.items else []
        # A run goes on only with the same plan, knowledge and items.
        key = digest_of([self.plan_digest, *(f"{path} {state}" for path, state in sorted(knowledge.items())), *items])
        found = self.store.unfinished(key, self.plan_digest)
        if found is not None and plan.resume:
            if not found.same_knowledge:
                raise InputError(
                    "resume-changed",
                    f"The knowledge base changed since the run of {found.made} was interrupted ({found.done} of "
                    f"{found.tasks} done): half of it would be about other knowledge. Try again without --resume.",
                )
            self.notes.append(f"Resumed: {found.done} of {found.tasks} runs were done already.")
            return found.id
        if plan.resume:
            self.notes.append("Nothing to resume: no interrupted run of this test set with these options.")
        if found is not None and found.same_knowledge:
            self.notes.append(
                f"A run of {found.made} was interrupted after {found.done} of {found.tasks}: --resume goes on."
            )
        tasks = len(plan.set.samples) * plan.repeat * len(plan.variants)
        journal = self.store.begin(key, self.plan_digest, utc_now(), tasks)
        # Where the database was moved away the numbers begin again: then this folder is of another run.
        shutil.rmtree(self.evals / str(journal), ignore_errors=True)
        return journal

    def _versions(self, copies: Copies) -> list[Version]:
        """Return the knowledge base, or copies without the tests for other sources, or an agent that reads freely."""
        plan, root = self.plan, self.settings.root
        has_hidden = any(path.resolve().is_relative_to(root.resolve()) for path in self.hidden)
        could_see_hidden = self.executor.reads_freely and has_hidden and not plan.in_place
        if could_see_hidden or any(variant.source != HERE for variant in plan.variants):
            return copies.versions(root, plan.variants, self.hidden)
        *others, last = plan.variants
        return [*(current_version(root, self.globs, variant, variant.name) for variant in others),
                current_version(root, self.globs, last)]  # fmt: skip  # the evaluated version has no name

    def _causes(self, version: Version, runs: Sequence[SampleRun], jobs: Sequence[Job]) -> list[SampleCause]:
        """Diagnose why samples failed: by rules, and by a model if the settings allow it and the plan asks for it."""
        if not self.plan.causes:
            return []
        lens = LensSettings.of(self.settings, self.globs)
        folders = {job.sample.id: job.folder for job in jobs if job.version is version}
        traced = {
            run.trace: read_trace(Path(run.trace), run.sample, version.folder, folders[run.sample], lens)
            for run in runs
            if run.trace and not (run.is_complete and answers(run))
        }
        diagnosed = [sample for sample in self.plan.set.samples if sample.id not in self.held_out]
        failed = failed_runs(diagnosed, runs, traced, str(version.folder))
        files = files_of(version.folder, self.globs, self.hidden)
        asker = asker_for(self.settings, judge_for(self.settings, ModelTask.CAUSES)) if failed else None
        return diagnose(failed, version.folder, files, asker)

    def _judge_hedges(self, runs: dict[str, SampleRun], judge: HedgingJudge | None) -> JudgedHedges:
        """Judge the hedges of all runs together if verdicts cost: the cap holds for the whole evaluation."""
        findings_by_run = {name: Findings(run.sample, "", signals=run.signals) for name, run in runs.items()}
        if why_off := why_hedges_off(self.settings):
            drop_hedges(findings_by_run.values())
            judged = JudgedHedges([why_off])
        elif judge is None or not judge.costs:
            return JudgedHedges([])  # the runner decided them already, run by run
        else:
            cap = self.settings.hedging_classifier_max_candidates or None  # 0 in the settings: no cap
            judged = judge_findings(findings_by_run.values(), judge, cap)
        for name, findings in findings_by_run.items():
            runs[name] = msgspec.structs.replace(runs[name], signals=findings.signals)
        if judged.judging is not None and judged.judging.usd is None:
            judged.warnings.append("What judging hedges cost is unknown: the judge does not say it.")
        return judged

    def _evaluation(self, version: Version, runs: list[SampleRun], hedges: JudgedHedges, versions: int) -> Evaluation:
        """Return what the runs of one version add up to. The cost of judging hedges is shared by all `versions`."""
        plan = self.plan
        files = files_of(version.folder, self.globs, self.hidden)
        figures = figures_of(runs, files)
        complete = sum(run.is_complete for run in runs)
        models = Counter(run.model for run in runs if run.model)
        model = model_for(self.settings, ModelTask.HEDGES)
        judging_usd = ((hedges.judging.usd or 0.0) / versions or None) if hedges.judging else None
        return Evaluation(
            made=utc_now(),
            watermark=plan.set.watermark,
            sha256=plan.set.sha256,
            origin=plan.origin,
            executor=self.executor.name,
            model=models.most_common(1)[0][0] if models else "",
            judge=self.judge.version if self.judge else "",
            hedges=hedging_judge_version(model) if model and self.settings.hedging_classifier_enabled else "",
            as_specified=self.settings.as_specified,
            repeat=plan.repeat,
            root=str(self.settings.root),
            commit=version.commit.hash,
            subject=version.commit.subject,
            dirty=version.commit.dirty,
            knowledge=state_of(version.folder, files),
            against=version.name or version.variant.label,
            variant=version.variant.name,
            inject=version.variant.inject,
            gap=figures.gap,
            coverage=figures.coverage,
            composite=figures.composite,
            usd=total_usd([*(run.usd for run in runs), judging_usd]),
            seconds=sum(run.seconds for run in runs),
            samples=len(plan.set.samples),
            runs_complete=complete,
            runs_incomplete=len(runs) - complete,
            version=__version__,
            runs=runs,
            topics=figures.topics,
            held_out=self.held_out,
            judging=hedges.judging,
            warnings=[
                *hedges.warnings,
                *_warnings(plan.set, runs, files),
                *links_out(self.settings.root, self.globs),
            ],
        )

    def _make_room(self, newest: int, is_whole: bool) -> None:
        """Remove traces of old evaluations, and copies that no run will come back to; the figures stay.

        What --resume needs stays, and is redacted where its process was killed before it could.
        """
        unfinished = self.store.journals()
        if is_whole:
            unfinished.pop(newest, None)  # its result is stored: only its traces are still of use
        numbers = sorted((int(path.name) for path in self.evals.iterdir() if path.name.isdigit()), reverse=True)
        for position, number in enumerate(numbers):
            folder = self.evals / str(number)
            if number in unfinished:
                with self._lock_of(unfinished[number]) as (_, is_held):
                    if is_held or unfinished[number] == self.plan_digest:  # no other process works on it
                        redact_left_behind(folder)
                continue
            Copies(folder, self.settings.home, self.globs).drop()
            redact_left_behind(folder)
            if number != newest and self._is_old(folder, position):
                shutil.rmtree(folder, ignore_errors=True)

    def _is_old(self, folder: Path, position: int) -> bool:
        """Report whether the settings allow deleting a folder in which no agent works. The newest has `position` 0."""
        runs, days = self.settings.eval_keep_runs, self.settings.eval_keep_days  # 0: no limit
        age = time.time() - folder.stat().st_mtime
        if not ((runs and position >= runs) or (days and age > days * _DAY_SECONDS)):
            return False
        return not any(map(is_running, folder.glob(OUTPUT_FOLDERS)))


def _warnings(set_: SampleSet, runs: Sequence[SampleRun], knowledge: Sequence[str]) -> Iterator[str]:
    """Yield warnings that a reader needs before believing the figures."""
    if loose := loose_words(set_.samples):
        yield loose
    if not knowledge:
        yield "There are no knowledge files: nothing can be found. Is --root the knowledge base?"
    unknown = sum(run.usd is None for run in runs)
    if unknown:
        yield f"The cost of {unknown} of {len(runs)} runs is unknown: the agent does not say it."
    mocked = sum(sample.mocks > 0 for sample in set_.samples)
    if mocked:
        yield f"{mocked} samples bring mocked tool answers, which are not played: their agents used the real tools."
    complete = [run for run in runs if run.is_complete]
    if not all(run.shows_calls for run in complete):
        yield (
            "Tool calls are only seen where the agent prints a stream of events that a reader knows (see "
            "docs/verbs/eval.md): plain text shows what the agent said, and nothing of what it searched."
        )
    elif complete and not any(run.calls or run.reached for run in complete):
        yield "No run used a tool or reached a knowledge file: the gap rate only shows what the agent said of itself."
    graded = [run.grade.assertions for run in complete if run.grade.assertions]
    if graded and not any(assertion.passed for assertions in graded for assertion in assertions):
        yield f"Every assertion of all {len(graded)} graded answers failed. A gate looks at gap signals, not at grades."

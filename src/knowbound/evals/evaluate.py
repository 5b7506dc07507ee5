"""An evaluation from beginning to end: test set → versions → runs → figures → stored (specification 1, 5 to 7)."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from knowbound import __version__
from knowbound.config import Settings
from knowbound.core.signal import Findings
from knowbound.errors import InputError
from knowbound.evals.executor import Executor
from knowbound.evals.executors.registry import executor_named
from knowbound.evals.figures import figures_of
from knowbound.evals.knowledge import files_of, folder_state, knowledge_globs, state_of
from knowbound.evals.runner import Limits, Runner, Seen, jobs_of
from knowbound.evals.samples.values import SampleSet
from knowbound.evals.versions import Copies, Version, at_hand, commit_named
from knowbound.gaps.judging import judge_findings, judge_of
from knowbound.gaps.reading import LensSettings
from knowbound.judge.hedging.cache import VerdictCache, VerdictStore
from knowbound.judge.hedging.model import ModelHedgingJudge
from knowbound.judge.hedging.verdict import HedgingJudge
from knowbound.judge.registry import check_hedging, rubric_judge
from knowbound.judge.rubric import RubricJudge
from knowbound.stats.evaluation import Evaluation, Origin, SampleRun, total_usd
from knowbound.store.evaluations import Evaluations
from knowbound.store.observed import Observed
from knowbound.text.clock import utc_now
from knowbound.text.digest import digest_of

DRAFTED = "eval-samples.draft"  # what `draft` proposes: prompts, and what their answers should be
_TRACES_KEPT = 30  # evaluations whose traces stay in the data folder


class Plan(msgspec.Struct, frozen=True):
    """What is to be run, and how."""

    set: SampleSet
    limits: Limits = Limits()
    repeat: int = 1
    against: str = ""
    resume: bool = False
    in_place: bool = False  # an agent that reads freely works in the knowledge base itself, not in a copy
    cache: bool | None = None  # identical runs are taken from memory; None: where a run costs
    origin: Origin = Origin.WRITTEN


class Evaluated(NamedTuple):
    """The evaluation of the knowledge base, that of the other version where one was named, and what is to be said."""

    evaluation: Evaluation
    other: Evaluation | None
    notes: list[str]


def evaluate_named(
    plan: Plan,
    settings: Settings,
    *,
    executor: str,
    model: str = "",
    judge: str = "",
    progress: Callable[[Seen], None] | None = None,
) -> Evaluated:
    """Run a test set through the named executor and judge, and store the result (specification 1, sections 5 to 7)."""
    check_hedging(settings)
    hidden = hidden_paths(plan.set, settings)
    runs_it = executor_named(executor, model=model, hidden=hidden, globs=knowledge_globs(settings.knowledge))
    scores = rubric_judge(settings, judge, Evaluations(settings.home)) if judge else None
    verdicts = Observed(settings.home)
    return evaluate(plan, settings, runs_it, judge=scores, verdicts=verdicts, progress=progress)


def evaluate(
    plan: Plan,
    settings: Settings,
    executor: Executor,
    *,
    judge: RubricJudge | None = None,
    verdicts: VerdictStore | None = None,
    progress: Callable[[Seen], None] | None = None,
) -> Evaluated:
    """Run the test set and store what came of it."""
    executor.check()
    if plan.against and not Path(plan.against).expanduser().is_dir():
        commit_named(settings.root, plan.against)  # a mistyped ref is told before anything is begun
    same = _same_plan(plan, settings, executor, judge)
    with _held(settings.home / "evals" / f"{same[:16]}.lock"):
        return _evaluated(plan, settings, executor, same, judge, verdicts, progress)


def _evaluated(
    plan: Plan,
    settings: Settings,
    executor: Executor,
    same: str,
    judge: RubricJudge | None,
    verdicts: VerdictStore | None,
    progress: Callable[[Seen], None] | None,
) -> Evaluated:
    store = Evaluations(settings.home)
    hidden = hidden_paths(plan.set, settings)
    globs = knowledge_globs(settings.knowledge)
    knowledge = state_of(settings.root, files_of(settings.root, globs, hidden))
    journal, notes = _journal(plan, same, store, knowledge, settings.home / "evals")
    place = settings.home / "evals" / str(journal)
    copies = Copies(place, settings.home, globs)
    versions = _versions(plan, settings.root, globs, hidden, copies, free=executor.reads_freely)
    jobs = jobs_of(plan.set.samples, versions, plan.repeat)
    hedging = judge_of(settings)
    caches = executor.remembers if plan.cache is None else plan.cache
    runner = Runner(
        executor=executor,
        limits=plan.limits,
        lens=LensSettings(globs, settings.repeated_failure_calls),
        memory=store,
        journal=journal,
        place=place,
        judge=judge,
        hedging=hedging,
        states={version.name: folder_state(version.folder, globs) for version in versions} if caches else None,
        progress=progress,
    )
    runs = runner.run(jobs)
    warnings, judging = _judge_hedges(runs, hedging, verdicts, settings)
    made = [
        _evaluation(
            plan, settings, executor, judge, version, globs, hidden,
            [runs[job.name] for job in jobs if job.version is version], warnings, judging / len(versions),
        )
        for version in versions
    ]  # fmt: skip
    whole = not any(run.was_left for run in runs.values())
    kept = store.keep(made[0], made[1] if len(made) > 1 else None, journal=journal, finished=whole)
    if not whole:
        notes.append(f"The budget ended the run early. Go on with a larger one: --resume --budget {_more(plan)}")
    _make_room(settings.home / "evals", journal, store.journals(), lambda folder: Copies(folder, settings.home, globs))
    beside = store.get(kept.compared_with) if kept.compared_with else None
    store.close()
    return Evaluated(kept, beside, notes)


def hidden_paths(set_: SampleSet, settings: Settings) -> tuple[Path, ...]:
    """What an agent must not find while it is tested: the test set itself, and our data."""
    files = {Path(sample.file) for sample in set_.samples if sample.file}
    return (*sorted(files), Path(set_.path), settings.home)


def _more(plan: Plan) -> str:
    return f"{2 * (plan.limits.usd or 0.0):g}"


def _same_plan(plan: Plan, settings: Settings, executor: Executor, judge: RubricJudge | None) -> str:
    """What two runs share of which one may go on with the other, but for the knowledge."""
    who = (executor.name, executor.version, judge.version if judge else "")
    return digest_of([plan.set.sha256, plan.origin, str(settings.root), *who, str(plan.repeat), plan.against])


def _journal(
    plan: Plan, same: str, store: Evaluations, knowledge: dict[str, str], evals: Path
) -> tuple[int, list[str]]:
    """The journal to write in: a new one, or that of the interrupted run."""
    key = digest_of([same, *(f"{path} {state}" for path, state in sorted(knowledge.items()))])
    tasks = len(plan.set.samples) * plan.repeat * (2 if plan.against else 1)
    found = store.unfinished(key, same)
    if found is not None and plan.resume:
        if not found.same_knowledge:
            raise InputError(
                "resume-changed",
                f"The knowledge base changed since the run of {found.made} was interrupted ({found.done} of "
                f"{found.tasks} done): half of it would be about other knowledge. Try again without --resume.",
            )
        return found.id, [f"Resumed: {found.done} of {found.tasks} runs were done already."]
    notes = ["Nothing to resume: no interrupted run of this test set with these options."] if plan.resume else []
    if found is not None and found.same_knowledge:
        notes.append(f"A run of {found.made} was interrupted after {found.done} of {found.tasks}: --resume goes on.")
    journal = store.begin(key, same, utc_now(), tasks)
    # Where the database was moved away the numbers begin again: what lies there is of another run.
    shutil.rmtree(evals / str(journal), ignore_errors=True)
    return journal, notes


def _versions(
    plan: Plan, root: Path, globs: tuple[str, ...], hidden: tuple[Path, ...], copies: Copies, *, free: bool
) -> list[Version]:
    """The knowledge base as it lies there, or copies without the test set: for two versions, and for a free reader."""
    shows = any(path.resolve().is_relative_to(root.resolve()) for path in hidden)
    if not plan.against and not (free and shows and not plan.in_place):
        return [at_hand(root, globs)]
    versions = [copies.this(root), *([copies.other(root, plan.against)] if plan.against else [])]
    for version in versions:
        _hide(version, hidden)
    return versions


def _hide(version: Version, hidden: tuple[Path, ...]) -> None:
    """Take the test set out of a copy: by its path, by its name, and by its content wherever else it lies."""
    for path in hidden:
        for spelled in (Path(os.path.abspath(path)), path.resolve()):
            copy = version.inside(spelled)
            if copy.is_relative_to(version.folder) and copy.is_file():
                copy.unlink()
    contents = {path.read_bytes() for path in hidden if path.is_file()}
    sizes = {len(content) for content in contents}
    for path in version.folder.rglob("*"):
        if path.is_file() and (
            path.name.startswith(DRAFTED) or (path.stat().st_size in sizes and path.read_bytes() in contents)
        ):
            path.unlink()


def _judge_hedges(
    runs: dict[str, SampleRun], judge: HedgingJudge | None, store: VerdictStore | None, settings: Settings
) -> tuple[list[str], float]:
    """Hedges of all runs before one judge, where a verdict costs: its cap is one per evaluation. With what it cost."""
    if judge is None or not judge.costs:
        return [], 0.0
    found = {name: Findings(run.sample, "", signals=run.signals) for name, run in runs.items()}
    cap = settings.hedging_classifier_max_candidates or None
    warnings = judge_findings(found.values(), judge, VerdictCache(store), cap)
    for name, one in found.items():
        runs[name] = msgspec.structs.replace(runs[name], signals=one.signals)
    usd = judge.usd if isinstance(judge, ModelHedgingJudge) else 0.0
    if usd is None:
        warnings.append("What judging hedges cost is unknown: the judge does not say it.")
    return warnings, usd or 0.0


def _evaluation(
    plan: Plan,
    settings: Settings,
    executor: Executor,
    judge: RubricJudge | None,
    version: Version,
    globs: tuple[str, ...],
    hidden: tuple[Path, ...],
    runs: Sequence[SampleRun],
    warnings: Sequence[str],
    judging: float,
) -> Evaluation:
    files = files_of(version.folder, globs, hidden)
    figures = figures_of(runs, files)
    complete = sum(run.is_complete for run in runs)
    models = Counter(run.model for run in runs if run.model)
    return Evaluation(
        made=utc_now(),
        watermark=plan.set.watermark,
        sha256=plan.set.sha256,
        origin=plan.origin,
        executor=executor.name,
        model=models.most_common(1)[0][0] if models else "",
        judge=judge.version if judge else "",
        repeat=plan.repeat,
        root=str(settings.root),
        commit=version.commit.hash,
        subject=version.commit.subject,
        dirty=version.commit.dirty,
        knowledge=state_of(version.folder, files),
        against=version.name,
        gap=figures.gap,
        coverage=figures.coverage,
        composite=figures.composite,
        usd=total_usd([*(run.usd for run in runs), judging or None]),
        seconds=sum(run.seconds for run in runs),
        samples=len(plan.set.samples),
        runs_complete=complete,
        runs_incomplete=len(runs) - complete,
        version=__version__,
        runs=list(runs),
        topics=figures.topics,
        warnings=[*warnings, *_warnings(plan, runs, files)],
    )


def _warnings(plan: Plan, runs: Sequence[SampleRun], knowledge: Sequence[str]) -> Iterator[str]:
    """What a reader should know before the figures are believed."""
    if not knowledge:
        yield "There are no knowledge files: nothing can be found. Is --root the knowledge base?"
    unknown = sum(run.usd is None for run in runs)
    if unknown:
        yield f"The cost of {unknown} of {len(runs)} runs is unknown: the agent does not say it."
    mocked = sum(sample.mocks > 0 for sample in plan.set.samples)
    if mocked:
        yield f"{mocked} samples bring mocked tool answers, which are not played: their agents used the real tools."
    complete = [run for run in runs if run.is_complete]
    if complete and not any(run.calls or run.reached for run in complete):
        yield "No run used a tool or reached a knowledge file: the gap rate only shows what the agent said of itself."
    failed = sum(bool(run.grade.assertions) and not any(one.passed for one in run.grade.assertions) for run in complete)
    graded = sum(bool(run.grade.assertions) for run in complete)
    if graded and failed == graded:
        yield f"Every assertion of all {graded} graded answers failed. A gate looks at gap signals, not at grades."


@contextmanager
def _held(file: Path) -> Iterator[None]:
    """One process works on a plan at a time."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(
                "eval-running", f"Another process is running this evaluation ({file}). Wait until it has ended."
            ) from None
        yield


def _make_room(evals: Path, newest: int, unfinished: set[int], copies_of: Callable[[Path], Copies]) -> None:
    """Traces of old evaluations go, and copies that no run will come back to; the figures stay."""
    for folder in evals.iterdir():
        if not folder.name.isdigit():
            continue
        if int(folder.name) not in unfinished:
            copies_of(folder).drop()
        if int(folder.name) <= newest - _TRACES_KEPT:
            shutil.rmtree(folder, ignore_errors=True)

"""An evaluation from beginning to end: test set → versions → runs → figures → stored (specification 1, 5 to 7)."""

from __future__ import annotations

import fcntl
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from knowbound import __version__
from knowbound.config import Settings
from knowbound.core.evaluation import Evaluation, Origin, SampleRun, total_usd
from knowbound.core.signal import Findings
from knowbound.errors import InputError
from knowbound.evals.executor import Executor
from knowbound.evals.figures import figures_of
from knowbound.evals.knowledge import files_of, folder_state, knowledge_globs, state_of
from knowbound.evals.runner import Lens, Limits, Runner, Seen, jobs_of
from knowbound.evals.samples import SampleSet
from knowbound.evals.versions import Version, at_hand, isolated, other
from knowbound.gaps.judging import judge_findings, judge_of
from knowbound.judge.cache import VerdictCache, VerdictStore
from knowbound.judge.rubric import RubricJudge
from knowbound.judge.verdict import HedgingJudge
from knowbound.store.evaluations import Evaluations
from knowbound.text.digest import digest_of

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
    store = Evaluations(settings.home)
    hidden = hidden_paths(plan.set, settings)
    globs = knowledge_globs(settings.knowledge)
    knowledge = state_of(settings.root, files_of(settings.root, globs, hidden))
    journal, notes = _journal(plan, settings, executor, judge, store, knowledge)
    place = settings.home / "evals" / str(journal)
    with _held(place):
        versions = _versions(plan, settings.root, globs, hidden, place, free=executor.reads_freely)
        jobs = jobs_of(plan.set.samples, versions, plan.repeat)
        hedging = judge_of(settings)
        caches = executor.remembers if plan.cache is None else plan.cache
        runner = Runner(
            executor=executor,
            limits=plan.limits,
            lens=Lens(globs, settings.repeated_failure_calls),
            memory=store,
            journal=journal,
            place=place,
            judge=judge,
            hedging=hedging,
            states={version.name: folder_state(version.folder) for version in versions} if caches else None,
            progress=progress,
        )
        runs = runner.run(jobs)
        warnings = _judge_hedges(runs, hedging, verdicts, settings)
        made = [
            _evaluation(
                plan, settings, executor, judge, version, globs, hidden,
                [runs[job.name] for job in jobs if job.version is version], warnings,
            )
            for version in versions
        ]  # fmt: skip
        kept = _keep(store, made)
        unspent = any(run.problem.startswith("not run") for run in runs.values())
        if unspent:
            notes.append(f"The budget ended the run early. Go on with a larger one: --resume --budget {_more(plan)}")
        else:
            store.finish(journal)
            shutil.rmtree(place / "versions", ignore_errors=True)
    _make_room(settings.home / "evals", journal)
    store.close()
    return Evaluated(kept[0], kept[1] if len(kept) > 1 else None, notes)


def hidden_paths(set_: SampleSet, settings: Settings) -> tuple[Path, ...]:
    """What an agent must not find while it is tested: the test set itself, and our data."""
    files = {Path(sample.file) for sample in set_.samples if sample.file}
    return (*sorted(files), Path(set_.path), settings.home)


def _more(plan: Plan) -> str:
    return f"{2 * (plan.limits.usd or 0.0):g}"


def _journal(
    plan: Plan,
    settings: Settings,
    executor: Executor,
    judge: RubricJudge | None,
    store: Evaluations,
    knowledge: dict[str, str],
) -> tuple[int, list[str]]:
    """The journal to write in: a new one, or that of the interrupted run."""
    who = (executor.name, executor.version, judge.version if judge else "")
    same = digest_of([plan.set.sha256, plan.origin, str(settings.root), *who, str(plan.repeat), plan.against])
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
    if found is not None:
        notes.append(f"A run of {found.made} was interrupted after {found.done} of {found.tasks}: --resume goes on.")
    return store.begin(key, same, _now(), tasks), notes


def _versions(
    plan: Plan, root: Path, globs: tuple[str, ...], hidden: tuple[Path, ...], place: Path, *, free: bool
) -> list[Version]:
    """The knowledge base as it lies there, or copies without the test set: for two versions, and for a free reader."""
    within = [path.resolve() for path in hidden if path.resolve().is_relative_to(root.resolve())]
    if not plan.against and not (free and within and not plan.in_place):
        return [at_hand(root, globs)]
    copies = place / "versions"
    versions = [isolated(root, globs, copies / "this")]
    if plan.against:
        versions.append(other(root, globs, plan.against, copies / "other"))
    for copy in (version.inside(path) for version in versions for path in within):
        if copy.is_file():
            copy.unlink()
    return versions


def _judge_hedges(
    runs: dict[str, SampleRun], judge: HedgingJudge | None, store: VerdictStore | None, settings: Settings
) -> list[str]:
    """Hedges of all runs before one judge, where a verdict costs: its cap is one per evaluation."""
    if judge is None or not judge.costs:
        return []
    found = {name: Findings(run.sample, "", signals=run.signals) for name, run in runs.items()}
    cap = settings.hedging_classifier_max_candidates or None
    warnings = judge_findings(found.values(), judge, VerdictCache(store), cap)
    for name, one in found.items():
        runs[name] = msgspec.structs.replace(runs[name], signals=one.signals)
    return warnings


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
) -> Evaluation:
    files = files_of(version.folder, globs, hidden)
    figures = figures_of(runs, files)
    complete = sum(run.is_complete for run in runs)
    models = Counter(run.model for run in runs if run.model)
    return Evaluation(
        made=_now(),
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
        usd=total_usd(run.usd for run in runs),
        seconds=sum(run.seconds for run in runs),
        samples=len(plan.set.samples),
        runs_complete=complete,
        runs_incomplete=len(runs) - complete,
        version=__version__,
        runs=list(runs),
        topics=figures.topics,
        warnings=[*warnings, *_warnings(plan, runs)],
    )


def _warnings(plan: Plan, runs: Sequence[SampleRun]) -> Iterator[str]:
    """What a reader should know before the figures are believed."""
    unknown = sum(run.usd is None for run in runs)
    if unknown:
        yield f"The cost of {unknown} of {len(runs)} runs is unknown: the agent does not say it."
    mocked = sum(sample.mocks > 0 for sample in plan.set.samples)
    if mocked:
        yield f"{mocked} samples bring mocked tool answers, which are not played: their agents used the real tools."
    unscored = sum(run.grade.unscored for run in runs)
    if unscored:
        yield f"{unscored} assertions and criteria are unscored: they count neither for nor against."


def _keep(store: Evaluations, made: Sequence[Evaluation]) -> list[Evaluation]:
    """Both versions, the other one first: it is what the newest is compared with."""
    if len(made) == 1:
        return [store.keep(made[0])]
    beside = store.keep(made[1])
    return [store.keep(msgspec.structs.replace(made[0], compared_with=beside.id)), beside]


@contextmanager
def _held(place: Path) -> Iterator[None]:
    """One process works on a journal at a time."""
    place.mkdir(parents=True, exist_ok=True)
    with (place / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(
                "eval-running", f"Another process is running this evaluation ({place}). Wait until it has ended."
            ) from None
        yield


def _make_room(evals: Path, newest: int) -> None:
    """Traces of old evaluations go; the figures stay."""
    for folder in evals.iterdir():
        if folder.name.isdigit() and int(folder.name) <= newest - _TRACES_KEPT:
            shutil.rmtree(folder, ignore_errors=True)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

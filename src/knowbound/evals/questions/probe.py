"""`knowbound probe` from beginning to end: questions → runs → evaluation (specification 1, section 9).

The evaluation is stored as probed, so that no trend and no gate mixes it with samples that people wrote.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from knowbound.config import Settings
from knowbound.core.competency import Probe
from knowbound.errors import InputError
from knowbound.evals.evaluate import Plan, evaluate
from knowbound.evals.executor import Executor
from knowbound.evals.executors.registry import executor_named
from knowbound.evals.knowledge import files_of, knowledge_globs
from knowbound.evals.questions.generate import as_samples, competency_questions
from knowbound.evals.runner import Limits, Seen
from knowbound.judge.models.asking import Asker
from knowbound.judge.options import JudgeOptions
from knowbound.judge.registry import asker_named, check_judge
from knowbound.stats.evaluation import Evaluation, Origin
from knowbound.store.evaluations import Evaluations


class Probed(NamedTuple):
    """The questions, their evaluation where they were asked, and the newest evaluation of written samples."""

    probe: Probe
    evaluation: Evaluation | None = None
    written: Evaluation | None = None
    notes: tuple[str, ...] = ()


def probe(
    settings: Settings,
    *,
    count: int,
    executor: str,
    model: str = "",
    judge: str = "",
    questions_only: bool = False,
    progress: Callable[[Seen], None] | None = None,
) -> Probed:
    """Make competency questions and, unless they are only listed, ask them."""
    answers = Evaluations(settings.home)
    if judge:
        check_judge(judge)
    asked = questions_of(settings, count, asker_named(judge, JudgeOptions.of(settings), answers) if judge else None)
    if questions_only:
        return Probed(asked, notes=asked.notes)
    globs = knowledge_globs(settings.knowledge)
    runs_it = executor_named(executor, model=model, hidden=(settings.home,), globs=globs)
    limits = Limits(settings.eval_concurrency, float(settings.eval_seconds), settings.eval_retries)
    return run_probe(asked, settings, runs_it, limits=limits, progress=progress)


def questions_of(settings: Settings, count: int, asker: Asker | None = None) -> Probe:
    """The competency questions of the root's knowledge files."""
    files = files_of(settings.root, knowledge_globs(settings.knowledge), (settings.home,))
    if not files:
        raise InputError(
            "no-knowledge",
            f"No knowledge files under {settings.root}. Try: --root DIR, or name them: knowledge in knowbound.toml",
        )
    return competency_questions(settings.root, files, count=count, asker=asker)


def run_probe(
    probe: Probe,
    settings: Settings,
    executor: Executor,
    *,
    limits: Limits | None = None,
    progress: Callable[[Seen], None] | None = None,
) -> Probed:
    """Ask the questions; the newest evaluation of written samples is given beside."""
    written = Evaluations(settings.home).newest(Origin.WRITTEN)
    if not probe.questions:
        return Probed(probe, None, written, probe.notes)
    plan = Plan(as_samples(probe), limits or Limits(), origin=Origin.PROBED)
    done = evaluate(plan, settings, executor, progress=progress)
    return Probed(probe, done.evaluation, written, (*probe.notes, *done.notes))

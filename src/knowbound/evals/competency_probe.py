"""`probe` from beginning to end: questions → runs → an evaluation of its own (specification 1, section 9).

The evaluation is stored with its origin, so that no trend and no gate ever mixes it with what people wrote.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from knowbound.config import Settings
from knowbound.core.competency import Probe
from knowbound.core.evaluation import Evaluation, Origin
from knowbound.errors import InputError
from knowbound.evals.competency import as_samples, competency_questions
from knowbound.evals.evaluate import Plan, evaluate
from knowbound.evals.executor import Executor
from knowbound.evals.knowledge import files_of, knowledge_globs
from knowbound.evals.runner import Limits, Seen
from knowbound.judge.asking import Asker
from knowbound.store.evaluations import Evaluations


class Probed(NamedTuple):
    """The questions, what came of them where they were asked, and the newest evaluation of what people wrote."""

    probe: Probe
    evaluation: Evaluation | None = None
    written: Evaluation | None = None
    notes: tuple[str, ...] = ()


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
    """Ask the questions, and put the newest written evaluation beside."""
    written = Evaluations(settings.home).newest(Origin.WRITTEN)
    if not probe.questions:
        return Probed(probe, None, written, probe.notes)
    plan = Plan(as_samples(probe), limits or Limits(), origin=Origin.PROBED)
    done = evaluate(plan, settings, executor, progress=progress)
    return Probed(probe, done.evaluation, written, (*probe.notes, *done.notes))

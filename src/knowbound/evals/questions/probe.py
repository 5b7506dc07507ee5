"""`probe` from beginning to end: questions → runs → an evaluation of its own (specification 1, section 9).

The evaluation is stored with its origin, so that no trend and no gate ever mixes it with what people wrote.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from knowbound.config import Settings
from knowbound.core.competency import Probe
from knowbound.errors import InputError
from knowbound.evals.evaluate import EvalPlan, evaluate
from knowbound.evals.executors.registry import BUILT_IN
from knowbound.evals.knowledge import files_of, knowledge_globs
from knowbound.evals.questions.generate import as_samples, competency_questions
from knowbound.evals.runner import RunLimits, RunProgress
from knowbound.judge.options import JudgeOptions
from knowbound.judge.registry import asker_named, check_judge
from knowbound.stats.evaluation import Evaluation, Origin
from knowbound.store.evaluations import Evaluations


class Probed(NamedTuple):
    """The questions, what came of them where they were asked, and the newest evaluation of what people wrote."""

    probe: Probe
    evaluation: Evaluation | None = None
    written: Evaluation | None = None
    notes: tuple[str, ...] = ()


def probe(
    settings: Settings,
    *,
    count: int,
    executor: str = BUILT_IN,
    model: str = "",
    judge: str = "",
    questions_only: bool = False,
    progress: Callable[[RunProgress], None] | None = None,
) -> Probed:
    """Make competency questions and, unless they are only listed, ask them."""
    store = Evaluations(settings.home)
    store.check()
    if judge:
        check_judge(judge)
    files = files_of(settings.root, knowledge_globs(settings.knowledge), (settings.home,))
    if not files:
        raise InputError(
            "no-knowledge",
            f"No knowledge files under {settings.root}. Try: --root DIR, or name them: knowledge in knowbound.toml",
        )
    asker = asker_named(judge, JudgeOptions.of(settings), store) if judge else None
    made = competency_questions(settings.root, files, count=count, asker=asker)
    if questions_only:
        return Probed(made, notes=made.notes)
    written = store.newest(Origin.WRITTEN)
    if not made.questions:
        return Probed(made, None, written, made.notes)
    limits = RunLimits(settings.eval_concurrency, float(settings.eval_seconds), settings.eval_retries)
    plan = EvalPlan(as_samples(made), limits, origin=Origin.PROBED, executor=executor, model=model)
    done = evaluate(plan, settings, progress=progress)
    return Probed(made, done.evaluation, written, (*made.notes, *done.notes))

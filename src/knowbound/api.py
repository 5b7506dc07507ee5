"""The verbs as typed functions for Python.

    from knowbound.api import Model, audit, evaluate, investigate, lint, observe, review

Each function works on one project (`root`; the current folder by default) with the settings of that project and of the
user, keeps what it has read in the project's data folder as the verbs do, prints nothing, and raises `KnowboundError`
with a message that says what to do. Without `paths` the sessions are those that the agents on this machine left in the
project. What needs understanding is decided by the model that the user allowed, or by the `Model` that is given.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from knowbound.errors import KnowboundError
from knowbound.kms.knowledge_store import KnowledgeStore
from knowbound.kms.validation import NewItem
from knowbound.stats.rate import Rate

if TYPE_CHECKING:
    from knowbound.config import ModelTask, Settings
    from knowbound.core.audit import AuditedTurn
    from knowbound.core.evidence import Investigation
    from knowbound.core.signal import Signal
    from knowbound.core.statement import CheckedStatement
    from knowbound.evals.executor import Executor
    from knowbound.gaps.stored import Filters
    from knowbound.judge.models.asking import Asker
    from knowbound.judge.models.completion import Completion, ModelQuestion
    from knowbound.report.answers import AuditReport
    from knowbound.report.model import ObserveReport
    from knowbound.review.review import Reviewed
    from knowbound.stats.evaluation import Evaluation

__all__ = [
    "KnowboundError",
    "KnowledgeStore",
    "Model",
    "NewItem",
    "Rate",
    "audit",
    "evaluate",
    "investigate",
    "lint",
    "observe",
    "open_store",
    "review",
]

_Place = str | os.PathLike[str]


class Model:
    """A model: by its name (`claude-cli:haiku`, `openai:…`; see `knowbound judge list`), or a function of your own.

    The function gets the instructions and the redacted material as one text, and returns the model's answer. Whatever a
    model quotes is verified by rules, so a wrong answer costs a verdict and never becomes one.
    """

    def __init__(self, name: str, answer: Callable[[str], str] | None = None) -> None:
        self.name = name if answer is None else f"command:{shlex.quote(name)}"  # a program of the user's own
        self._answer = answer

    def complete(self, question: ModelQuestion, *, seconds: float) -> Completion:
        """Ask the function. Any error of it is a question without an answer."""
        from knowbound.judge.models.completion import (  # noqa: PLC0415
            Completion,
            CompletionError,
            whole,
        )

        assert self._answer is not None
        try:
            return Completion(self._answer(whole(question)))
        except Exception as error:
            raise CompletionError(f"{self.name} raised {type(error).__name__}: {error}") from error

    def asker(self, settings: Settings) -> Asker | None:
        """Return what asks this model within the limits of the settings; None for `rules`."""
        from knowbound.judge.models.asking import Asker  # noqa: PLC0415
        from knowbound.judge.names import JudgeOptions  # noqa: PLC0415
        from knowbound.judge.registry import asker_for, check_judge  # noqa: PLC0415

        if self._answer is not None:
            return Asker(self.name, self, JudgeOptions.of(settings))
        check_judge(self.name)
        return asker_for(settings, self.name)


def observe(
    *paths: _Place,
    root: _Place = ".",
    since: str = "",
    project: str = "",
    skill: str = "",
    agent: str = "",
) -> tuple[ObserveReport, list[Signal]]:
    """Read sessions and return the gap report with every signal that it counts.

    `report.gap.rate` is a `Rate`, `report.topics` are what agents missed, most expensive first. The filters are those
    of `knowbound observe`: `since="7d"`, `project="shop"`.
    """
    from knowbound.gaps.observe import observe as observe_traces  # noqa: PLC0415

    settings = _settings(root)
    filters = _filters(settings, paths, since, project, skill, agent)
    report, signals = observe_traces(_absolute(paths), settings, filters)
    return report, list(signals)


def review(*paths: _Place, root: _Place = ".", since: str = "", project: str = "", agent: str = "") -> Reviewed:
    """Return the actions of a project, best first, with their cost, evidence and fix; `figures` has the rates."""
    from knowbound.review.review import review as review_project  # noqa: PLC0415

    settings = _settings(root)
    return review_project(_absolute(paths), settings, _filters(settings, paths, since, project, "", agent))


def lint(*files: _Place, root: _Place = ".", against: str = "", model: Model | None = None) -> list[CheckedStatement]:
    """Check the statements of knowledge files against the tree; `truth` says what came of each.

    With `against`, a commit or a branch: only statements that held there and do not hold now.
    """
    from knowbound.config import ModelTask  # noqa: PLC0415
    from knowbound.knowledge.lint import lint as lint_files  # noqa: PLC0415
    from knowbound.knowledge.lint import lint_project  # noqa: PLC0415

    settings = _settings(root)
    asker = None if against else _asker(model, ModelTask.STATEMENTS, settings)
    if files or against:
        return lint_files(settings.root, _absolute(files), against=against, asker=asker)
    return lint_project(settings, asker)


def audit(
    *paths: _Place,
    root: _Place = ".",
    since: str = "",
    project: str = "",
    agent: str = "",
    model: Model | None = None,
    most: int = 30,
) -> tuple[AuditReport, list[AuditedTurn]]:
    """Check the claims of answers against their traces; each turn has one `diagnosis`, its claims and findings.

    A model reads the `most` suspicious answers whole.
    """
    from knowbound.audit.audit import Judging  # noqa: PLC0415
    from knowbound.audit.audit import audit as audit_traces  # noqa: PLC0415
    from knowbound.config import ModelTask  # noqa: PLC0415

    settings = _settings(root)
    asker = _asker(model, ModelTask.CLAIMS, settings) if most else None
    judging = Judging(asker, most) if asker is not None else None
    filters = _filters(settings, paths, since, project, "", agent)
    report, turns = audit_traces(_absolute(paths), settings, filters, judging=judging)
    return report, list(turns)


def investigate(
    question: str, *, root: _Place = ".", terms: Sequence[str] = (), model: Model | None = None, seconds: float = 60.0
) -> Investigation:
    """Answer a question about a tree from evidence; `outcome` says whether it was enough, `gaps` what is missing."""
    from knowbound.config import ModelTask  # noqa: PLC0415
    from knowbound.evidence.investigate import investigate as investigate_tree  # noqa: PLC0415

    settings = _settings(root)
    asker = _asker(model, ModelTask.INVESTIGATE, settings)
    return investigate_tree(question, settings.root, terms=terms, asker=asker, seconds=seconds)


def evaluate(
    samples: _Place,
    *,
    root: _Place = ".",
    executor: str | Executor = "investigate",
    judge: str = "",
    repeat: int = 1,
) -> Evaluation:
    """Run a test set and return its figures and every run; it is kept for `knowbound trend` and `compare`."""
    from knowbound.evals.evaluate import EvalPlan  # noqa: PLC0415
    from knowbound.evals.evaluate import evaluate as evaluate_plan  # noqa: PLC0415
    from knowbound.evals.samples.load import load_samples  # noqa: PLC0415

    settings = _settings(root)
    set_ = load_samples(_absolute([samples])[0], settings.root)
    named = executor if isinstance(executor, str) else executor.name
    plan = EvalPlan(set_, repeat=repeat, executor=named, judges=(judge,) if judge else ())
    return evaluate_plan(plan, settings, None if isinstance(executor, str) else executor).evaluation


def open_store(root: _Place = ".", *, by: str = "") -> KnowledgeStore:
    """Open the items of a project in the backends of its settings; close the store when done.

    `store.add(NewItem(content="…"))`, `store.supersede(id, by=…)`, `store.show(id)`: every call does all of it or
    changes nothing. `by` is named in the log of corrections.
    """
    from knowbound.kms.opening import open_knowledge_store  # noqa: PLC0415

    return open_knowledge_store(_settings(root), by=by)


def _settings(root: _Place) -> Settings:
    from knowbound.config import load  # noqa: PLC0415
    from knowbound.store.marking import check_data_folder  # noqa: PLC0415

    settings = load(Path(root).resolve())
    check_data_folder(settings.home, is_given=settings.home_is_given)
    return settings


def _filters(settings: Settings, paths: Sequence[_Place], since: str, project: str, skill: str, agent: str) -> Filters:
    """Return the filters; without paths and without a project those of the project at the root, as in the verbs."""
    from knowbound.gaps.stored import Filters, project_at  # noqa: PLC0415
    from knowbound.gaps.stored import since as since_time  # noqa: PLC0415

    if not project and not paths:
        project = project_at(settings.root)
    return Filters(since=since_time(since) if since else "", project=project, skill=skill, agent=agent)


def _absolute(paths: Sequence[_Place]) -> list[Path]:
    return [Path(os.path.abspath(path)) for path in paths]


def _asker(model: Model | None, task: ModelTask, settings: Settings) -> Asker | None:
    """Return the asker of the given model, or of the model that the user allowed for the task."""
    from knowbound.judge.choice import judge_for  # noqa: PLC0415
    from knowbound.judge.registry import asker_for  # noqa: PLC0415

    return model.asker(settings) if model is not None else asker_for(settings, judge_for(settings, task))

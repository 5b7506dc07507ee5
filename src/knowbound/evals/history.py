"""Stored evaluations of a root: the newest, one by its id, and what it is compared with."""

from __future__ import annotations

from knowbound.config import Settings
from knowbound.errors import InputError
from knowbound.stats.evaluation import Evaluation, EvaluationHead, Origin
from knowbound.store.evaluations import Evaluations
from knowbound.store.observed import Observed


def evaluations(settings: Settings) -> list[EvaluationHead]:
    """Every stored evaluation of this root without its runs, oldest first."""
    heads = Evaluations(settings.home).heads()
    if settings.home.is_relative_to(settings.root):
        return heads  # wherever the folder lay when they were made
    return [head for head in heads if head.root == str(settings.root)]


def evaluation(settings: Settings, id_: int) -> Evaluation:
    """A stored evaluation with its runs."""
    found = _stored(settings, id_)
    if found is None:
        raise InputError("no-run", f"There is no evaluation {id_} in {settings.home}. Try: knowbound trend")
    return found


def baseline_of(settings: Settings, evaluation: Evaluation) -> Evaluation | None:
    """What a regression is against: the last run with the same test set that counted something.

    Where two versions were run together, that is the other version.
    """
    store = Evaluations(settings.home)
    before = [
        head
        for head in evaluations(settings)
        if head.id < evaluation.id and (head.sha256, head.origin) == (evaluation.sha256, evaluation.origin)
        and head.gap.rate.n and (not head.against or head.id == evaluation.compared_with)
    ]  # fmt: skip
    return store.get(before[-1].id) if before else None


def probed_beside(settings: Settings, evaluation: Evaluation) -> Evaluation | None:
    """The newest competency questions, to be shown beside what people wrote and never mixed with it (section 9)."""
    if evaluation.origin is not Origin.WRITTEN:
        return None
    probed = [head.id for head in evaluations(settings) if head.origin is Origin.PROBED]
    return _stored(settings, probed[-1]) if probed else None


def _stored(settings: Settings, id_: int) -> Evaluation | None:
    return Evaluations(settings.home).get(id_)


def newest_written(settings: Settings) -> int | None:
    """The id of the newest evaluation of this root that people's samples made."""
    mine = [head.id for head in evaluations(settings) if not head.against and head.origin is Origin.WRITTEN]
    return mine[-1] if mine else None


def newest_evaluation(settings: Settings) -> Evaluation | None:
    """The evaluation that was stored last, where it is the newest run."""
    id_ = newest_written(settings) if Observed(settings.home).newest_kind() == "evaluation" else None
    return None if id_ is None else evaluation(settings, id_)

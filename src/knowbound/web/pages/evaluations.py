"""The page Evaluations: the trend of the gap rate, every run, two runs side by side, and a run that goes on."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import NamedTuple

from knowbound import __version__
from knowbound.errors import InputError
from knowbound.evals.history import broken_samples, evaluation, evaluations
from knowbound.language import say, translated
from knowbound.report.evals.comparison import comparison_page
from knowbound.report.evals.evaluation import EvaluationReport, evaluation_page
from knowbound.report.evals.samples import commit_words
from knowbound.report.evals.trend import trend_page
from knowbound.report.gaps.figures import raw_figures
from knowbound.report.sections import Page
from knowbound.stats.comparison import compare
from knowbound.stats.evaluation import EvaluationHead, SampleRun
from knowbound.stats.printing import percent
from knowbound.stats.trend import trend
from knowbound.store.evaluations import Evaluations
from knowbound.web.studio import Asked, Shown, Studio, StudioPage

_SHOWN = 50


class RunRow(NamedTuple):
    """A stored evaluation, and the previous evaluation with the same test set."""

    head: EvaluationHead
    test_set: str
    commit: str
    before: int


class GoingRun(NamedTuple):
    """An evaluation that goes on, or was interrupted: what has ended so far, newest last."""

    made: str
    tasks: int
    runs: list[SampleRun]


def show(asked: Asked) -> Shown:
    """Return the page."""
    settings = asked.studio.settings
    heads = evaluations(settings)
    found = trend(heads, broken=partial(broken_samples, settings)) if heads else None
    page = trend_page(found, __version__) if found and found.rows else None
    values = {
        "headline": _headline(heads),
        "lead": found.panels[-1].series[-1].words if found and found.panels else "",
        "figure": raw_figures(heads[-1].gap)[0] if heads else None,
        "rows": _rows(heads)[:_SHOWN],
        "left": max(0, len(heads) - _SHOWN),
        "sections": page.sections[1:-1] if page else (),  # without the newest figures and the table of runs
        "going": _going(asked.studio),
    }
    return Shown("evaluations.html", values)


def _headline(heads: list[EvaluationHead]) -> str:
    if not heads:
        return translated("No test set was run yet.")
    now, before = heads[-1], _rows(heads)[0].before
    rate = percent(now.gap.rate.value)
    if not before:
        return say("{} of the samples have a gap.", rate)
    known = next(percent(one.gap.rate.value) for one in heads if one.id == before)
    return say("{} of the samples have a gap, {} the time before.", rate, known)


def _rows(heads: list[EvaluationHead]) -> list[RunRow]:
    """Return the runs, newest first."""
    before: dict[tuple[str, str, str, bool], int] = {}
    rows = []
    for head in heads:
        rows.append(
            RunRow(head, head.watermark.path.rpartition("/")[2], commit_words(head), before.get(head.series, 0))
        )
        before[head.series] = head.id
    return rows[::-1]


def _going(studio: Studio) -> list[GoingRun]:
    """Return the journals of evaluations that have not ended."""
    with closing(Evaluations(studio.settings.home)) as store:
        return [GoingRun(one.made, one.tasks, [*store.noted(one.id).values()]) for one in store.going()]


def run(asked: Asked) -> Shown:
    """Return one evaluation, sample by sample."""
    try:
        found = evaluation(asked.studio.settings, int(asked.path["id"]))
    except (InputError, ValueError):
        return _missing()
    return _page(evaluation_page(EvaluationReport(found), found.root))


def side_by_side(asked: Asked) -> Shown:
    """Return two evaluations of one test set, sample by sample."""
    settings = asked.studio.settings
    try:
        before, after = (evaluation(settings, int(asked.path[name])) for name in ("before", "after"))
        return _page(comparison_page(compare(before, after)))
    except (InputError, ValueError):
        return _missing()


def _page(page: Page) -> Shown:
    return Shown("report.html", {"report": page, "up": "/evaluations", "up_words": translated("Evaluations")})


def _missing() -> Shown:
    headline = "There is no such evaluation, or the two are of different test sets."
    return Shown("wrong.html", {"headline": headline, "said": "", "slug": ""}, 404)


PAGE = StudioPage(
    "Evaluations", 6, {"/evaluations": show, "/evaluations/{id}": run, "/evaluations/{before}/{after}": side_by_side}
)

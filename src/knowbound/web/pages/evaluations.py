"""The page Evaluations: the trend of the gap rate, every run, two runs side by side, and a run that goes on."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import NamedTuple

from knowbound import __version__
from knowbound.errors import InputError
from knowbound.evals.history import broken_samples, evaluation, evaluations
from knowbound.language import say, translated
from knowbound.report.evals.comparison import comparison_page, trend_page
from knowbound.report.evals.evaluation import EvaluationReport, evaluation_page
from knowbound.report.evals.samples import commit_words
from knowbound.report.figures import raw_figures
from knowbound.report.sections import Page
from knowbound.stats.comparison import compare
from knowbound.stats.evaluation import EvaluationHead, SampleRun
from knowbound.stats.printing import percent
from knowbound.stats.trend import trend
from knowbound.store.evaluations import Evaluations, Journal
from knowbound.web.pages import Asked, Shown, Studio, StudioPage

_MOST_ROWS = 50


class RunRow(NamedTuple):
    """A stored evaluation, and the previous evaluation with the same test set."""

    head: EvaluationHead
    test_set: str
    commit: str
    before: int  # its id; 0 for none


def show(asked: Asked) -> Shown:
    """Return the page."""
    settings = asked.studio.settings
    heads = evaluations(settings)
    rate_trend = trend(heads, broken=partial(broken_samples, settings)) if heads else None
    page = trend_page(rate_trend, __version__) if rate_trend and rate_trend.rows else None
    values = {
        "headline": _headline(heads),
        "lead": rate_trend.panels[-1].series[-1].words if rate_trend and rate_trend.panels else "",
        "figure": raw_figures(heads[-1].gap)[0] if heads else None,
        "rows": _rows(heads)[:_MOST_ROWS],
        "left": max(0, len(heads) - _MOST_ROWS),
        "sections": page.sections[1:-1] if page else (),  # without the newest figures and the table of runs
        "going": _unfinished_runs(asked.studio),
    }
    return Shown("evaluations.html", values)


def _headline(heads: list[EvaluationHead]) -> str:
    if not heads:
        return translated("No test set was run yet.")
    newest, before = heads[-1], _rows(heads)[0].before
    rate = percent(newest.gap.rate.value)
    if not before:
        return say("{} of the samples have a gap.", rate)
    rate_before = next(percent(head.gap.rate.value) for head in heads if head.id == before)
    return say("{} of the samples have a gap, {} the time before.", rate, rate_before)


def _rows(heads: list[EvaluationHead]) -> list[RunRow]:
    """Return the runs, newest first."""
    previous_of_series: dict[tuple[str, str, str, bool], int] = {}  # ids, by what makes evaluations comparable
    rows = []
    for head in heads:
        test_set, before = head.watermark.path.rpartition("/")[2], previous_of_series.get(head.series, 0)
        rows.append(RunRow(head, test_set, commit_words(head), before))
        previous_of_series[head.series] = head.id
    return rows[::-1]


def _unfinished_runs(studio: Studio) -> list[tuple[Journal, list[SampleRun]]]:
    """Return the journals of evaluations that go on or were interrupted, with the runs that ended, newest last."""
    with closing(Evaluations(studio.settings.home)) as store:
        return [(journal, [*store.noted(journal.id).values()]) for journal in store.going()]


def run(asked: Asked) -> Shown:
    """Return one evaluation, sample by sample."""
    try:
        stored = evaluation(asked.studio.settings, int(asked.path["id"]))
    except (InputError, ValueError):
        return _no_such_evaluation()
    return _report_page(evaluation_page(EvaluationReport(stored), stored.root))


def side_by_side(asked: Asked) -> Shown:
    """Return two evaluations of one test set, sample by sample."""
    settings = asked.studio.settings
    try:
        before, after = (evaluation(settings, int(asked.path[name])) for name in ("before", "after"))
        return _report_page(comparison_page(compare(before, after)))
    except (InputError, ValueError):
        return _no_such_evaluation()


def _report_page(page: Page) -> Shown:
    return Shown("report.html", {"report": page, "up": "/evaluations", "up_words": translated("Evaluations")})


def _no_such_evaluation() -> Shown:
    headline = "There is no such evaluation, or the two are of different test sets."
    return Shown("wrong.html", {"headline": headline, "said": "", "slug": ""}, 404)


PAGE = StudioPage(
    "Evaluations",
    place=6,
    views={"/evaluations": show, "/evaluations/{id}": run, "/evaluations/{before}/{after}": side_by_side},
)

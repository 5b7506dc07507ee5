"""One evaluation, any format (specification 1, section 7)."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Literal, assert_never, get_args

from knowbound.report.evaluation_html import render_html
from knowbound.report.evaluation_json import render_json, render_jsonl
from knowbound.report.evaluation_markdown import render_markdown
from knowbound.report.evaluation_model import EvaluationReport
from knowbound.report.evaluation_text import render_text
from knowbound.report.github import evaluation_github
from knowbound.report.junit import evaluation_junit
from knowbound.report.sarif import evaluation_sarif
from knowbound.stats.evaluation import Evaluation
from knowbound.stats.gate import GateResult

Format = Literal["text", "json", "jsonl", "markdown", "html", "sarif", "junit", "github"]
FORMATS: tuple[Format, ...] = get_args(Format)


def render_evaluation(
    evaluation: Evaluation,
    format: Format,
    *,
    width: int = 100,
    colour: bool = False,
    gates: Iterable[GateResult] = (),
    nudge: str = "",
    beside: Evaluation | None = None,
    here: str | None = None,
) -> str:
    """The evaluation in a format.

    `nudge` is the note of section 8, `beside` the evaluation of competency questions, `here` the folder from which
    places are told (the current one); width and colour are for the terminal.
    """
    here = os.getcwd() if here is None else here
    report = EvaluationReport(evaluation, tuple(gates), nudge, beside)
    match format:
        case "text":
            return render_text(report.plain(here, evaluation.root), width=width, colour=colour)
        case "json":
            return render_json(report)
        case "jsonl":
            return render_jsonl(report)
        case "markdown":
            return render_markdown(report.plain(here, evaluation.root))
        case "html":
            return render_html(report.plain(here, evaluation.root))
        case "sarif":
            return evaluation_sarif(report.plain(here))
        case "junit":
            return evaluation_junit(report.plain(here))
        case "github":
            return evaluation_github(report.plain(here))
        case _:
            assert_never(format)

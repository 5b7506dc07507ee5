"""One report, any format."""

from __future__ import annotations

import os
from typing import Literal, assert_never, get_args

from knowbound.report.as_json import render_json
from knowbound.report.html import render_html
from knowbound.report.markdown import render_markdown
from knowbound.report.model import ObserveReport
from knowbound.report.text import render_text

Format = Literal["text", "json", "markdown", "html", "sarif", "junit", "github"]
FORMATS: tuple[Format, ...] = get_args(Format)  # jsonl is streamed by the caller, signal by signal


def render(
    report: ObserveReport, format: Format, *, width: int = 100, colour: bool = False, here: str | None = None
) -> str:
    """The report in a format; width and colour are for the terminal, `here` is where places are told from."""
    here = os.getcwd() if here is None else here
    match format:
        case "text":
            return render_text(report, width=width, colour=colour)
        case "json":
            return render_json(report)
        case "markdown":
            return render_markdown(report)
        case "html":
            return render_html(report)
        case "sarif" | "junit" | "github":
            return _for_machines(report, format, here)
        case _:
            assert_never(format)


def _for_machines(report: ObserveReport, format: Literal["sarif", "junit", "github"], here: str) -> str:
    """Loaded when asked for: observing again costs little more than the start of a process."""
    from knowbound.report import github, junit, sarif  # noqa: PLC0415

    match format:
        case "sarif":
            return sarif.observed_sarif(report, here)
        case "junit":
            return junit.observed_junit(report)
        case "github":
            return github.observed_github(report, here)
        case _:
            assert_never(format)

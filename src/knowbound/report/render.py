"""One report, any format."""

from __future__ import annotations

from typing import Literal, assert_never, get_args

from knowbound.report.as_json import render_json
from knowbound.report.html import render_html
from knowbound.report.markdown import render_markdown
from knowbound.report.model import ObserveReport
from knowbound.report.text import render_text

Format = Literal["text", "json", "markdown", "html"]
FORMATS: tuple[Format, ...] = get_args(Format)  # jsonl is streamed by the caller, signal by signal


def render(report: ObserveReport, format: Format, *, width: int = 100, colour: bool = False) -> str:
    """The report in a format; width and colour are for the terminal."""
    match format:
        case "text":
            return render_text(report, width=width, colour=colour)
        case "json":
            return render_json(report)
        case "markdown":
            return render_markdown(report)
        case "html":
            return render_html(report)
        case _:
            assert_never(format)

"""One report, any format. Each format is loaded when it is asked for.

A new format for people is a module here, a case in `render`, and its name in `format_names.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import assert_never

from knowbound.report.format_names import PageFormat
from knowbound.report.formats.json import json_text
from knowbound.report.sections import Page

Document = Mapping[str, object]


def render(
    format: PageFormat,
    page: Callable[[], Page],
    document: Callable[[], Document],
    *,
    width: int = 100,
    colour: bool = False,
) -> str:
    """The page for people, or the document for programs; width and colour are for the terminal."""
    match format:
        case "json":
            return json_text(document())
        case "text":
            from knowbound.report.formats.text import render_text  # noqa: PLC0415

            return render_text(page(), width=width, colour=colour)
        case "markdown":
            from knowbound.report.formats.markdown import render_markdown  # noqa: PLC0415

            return render_markdown(page())
        case "html":
            from knowbound.report.formats.html import render_html  # noqa: PLC0415

            return render_html(page())
        case _:
            assert_never(format)

"""One page, any format for people. Each format is loaded when it is asked for."""

from __future__ import annotations

from typing import Literal, assert_never

from knowbound.report.sections import Page

PageFormat = Literal["text", "markdown", "html"]


def render_page(page: Page, format: PageFormat, *, width: int = 100, colour: bool = False) -> str:
    """The page in a format; width and colour are for the terminal."""
    match format:
        case "text":
            from knowbound.report.formats.text import render_text  # noqa: PLC0415

            return render_text(page, width=width, colour=colour)
        case "markdown":
            from knowbound.report.formats.markdown import render_markdown  # noqa: PLC0415

            return render_markdown(page)
        case "html":
            from knowbound.report.formats.html import render_html  # noqa: PLC0415

            return render_html(page)
        case _:
            assert_never(format)

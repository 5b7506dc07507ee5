"""One report, any format. Each format is loaded when it is asked for.

A new format for people is a module here, a case in `render`, and its name in `format_names.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, assert_never

from msgspec import Struct
from msgspec.structs import fields, replace

from knowbound.language import is_english, translated
from knowbound.report.format_names import PageFormat
from knowbound.report.formats.json import json_text
from knowbound.report.sections import FOREIGN, Column, Page, Span

Document = Mapping[str, object]
# Fields of sections that are names for programs, and no words.
_NAMES = frozenset("anchor filters folded_in hint link name tone verb version watermark".split())


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

            return render_text(in_language(page()), width=width, colour=colour)
        case "markdown":
            from knowbound.report.formats.markdown import render_markdown  # noqa: PLC0415

            return render_markdown(in_language(page()))
        case "html":
            from knowbound.report.formats.html import render_html  # noqa: PLC0415

            return render_html(in_language(page()))
        case _:
            assert_never(format)


def in_language(page: Page) -> Page:
    """Return the page with our own words in the chosen language; text of traces, files and models stays as it is."""
    return page if is_english() else _translated(page)


def _translated(part: Any) -> Any:
    match part:
        case str():
            return translated(part)
        case tuple():
            return tuple(map(_translated, part))
        case Column():
            return replace(part, name=translated(part.name))
        case Span(tone=tone) if tone in FOREIGN:
            return part
        case Struct():
            words = {one.name for one in fields(part)} - _NAMES
            return replace(part, **{name: _translated(getattr(part, name)) for name in words})
        case _:
            return part

"""One report, any format. Each format is loaded when it is asked for.

A new format of pages is a module here, a case in `render`, and its name in `knowbound/report/__init__.py`; that of
another package is an entry point (`knowbound/plugins.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, TypeVar, Unpack

from msgspec import Struct
from msgspec.structs import replace

from knowbound.language import is_english, translated
from knowbound.report import Layout, PageFormat
from knowbound.report.formats.json import json_text
from knowbound.report.lines import FOREIGN, Span
from knowbound.report.sections import Chart, Column, MetricChart, Page

Document = Mapping[str, object]
_Part = TypeVar("_Part")
# Fields of sections that are names for programs, and no words.
_NAMES = frozenset("anchor filters folded_in hint link name tone verb version watermark".split())


def render(
    format: PageFormat, page: Callable[[], Page], document: Callable[[], Document], **layout: Unpack[Layout]
) -> str:
    """The page for people, or the document for programs."""
    match format:
        case "json":
            return json_text(document())
        case "text":
            from knowbound.report.formats.text import render_text  # noqa: PLC0415

            return render_text(in_language(page()), **layout)
        case "markdown":
            from knowbound.report.formats.markdown import render_markdown  # noqa: PLC0415

            return render_markdown(in_language(page()))
        case "html":
            from knowbound.report.formats.html import render_html  # noqa: PLC0415

            return render_html(in_language(page()))
        case _:
            from knowbound.plugins import load_plugin  # noqa: PLC0415

            return str(load_plugin("formats", format)(in_language(page())))


def in_language(part: _Part) -> _Part:
    """Return a page or a part of it in the chosen language; text of traces, files and models stays as it is."""
    return part if is_english() else _translated(part)


def _translated(part: Any) -> Any:
    """Return a part of a page, or a value in it, with its own words in the chosen language."""
    match part:
        case Enum() | Chart() | MetricChart():  # names for programs, and measured values
            return part
        case str():
            return translated(part)
        case tuple():
            return tuple(map(_translated, part))
        case Column():
            return replace(part, name=translated(part.name))
        case Span(tone=tone) if tone in FOREIGN:  # texts of others: paths, quotations
            return part
        case Struct():
            words = (name for name in part.__struct_fields__ if name not in _NAMES)
            return replace(part, **{name: _translated(getattr(part, name)) for name in words})
        case _:
            return part

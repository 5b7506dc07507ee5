"""Reports for people and programs: what every lens found, in any format.

Made of values that lenses fill; it touches no file, no store and no model, and imports only `core`, `stats` and `text`.
Here are the names of the formats, apart from the renderers so that the command line loads without these.
Start with `sections.py` (what a page is made of), then `observe.py` (a report) and `formats/__init__.py`.
"""

from __future__ import annotations

from typing import Literal, TypedDict, get_args

ShortFormat = Literal["text", "json", "markdown"]  # small reports
PageFormat = Literal["text", "json", "markdown", "html"]  # every other report
GapFormat = Literal["sarif", "junit", "github"]  # reports about gaps and gates, too
LineFormat = Literal["jsonl"]  # reports with a line per signal, turn, sample or question

SHORT_FORMATS: tuple[ShortFormat, ...] = get_args(ShortFormat)
PAGE_FORMATS: tuple[PageFormat, ...] = get_args(PageFormat)
FOR_PEOPLE = tuple(name for name in PAGE_FORMATS if name != "json")
GAP_FORMATS: tuple[GapFormat, ...] = get_args(GapFormat)
LINE_FORMATS: tuple[PageFormat | LineFormat, ...] = (*PAGE_FORMATS, "jsonl")
GATE_FORMATS: tuple[PageFormat | GapFormat, ...] = (*PAGE_FORMATS, *GAP_FORMATS)
EVERY_FORMAT: tuple[PageFormat | LineFormat | GapFormat, ...] = (*LINE_FORMATS, *GAP_FORMATS)


class Layout(TypedDict, total=False):
    """Layout on the terminal: its width (100 columns), and whether it shows colours."""

    width: int
    colour: bool

"""Names of the report formats. They are apart from the renderers so that the command line loads without these."""

from __future__ import annotations

from typing import Literal, get_args

ShortFormat = Literal["text", "json", "markdown"]  # small reports
PageFormat = Literal["text", "json", "markdown", "html"]  # every other report
GapFormat = Literal["sarif", "junit", "github"]  # reports about gaps and gates, too
LineFormat = Literal["jsonl"]  # reports with a line per signal, turn, sample or question

SHORT_FORMATS: tuple[ShortFormat, ...] = get_args(ShortFormat)
PAGE_FORMATS: tuple[PageFormat, ...] = get_args(PageFormat)
GAP_FORMATS: tuple[GapFormat, ...] = get_args(GapFormat)
LINE_FORMATS: tuple[PageFormat | LineFormat, ...] = (*PAGE_FORMATS, "jsonl")
GATE_FORMATS: tuple[PageFormat | GapFormat, ...] = (*PAGE_FORMATS, *GAP_FORMATS)
EVERY_FORMAT: tuple[PageFormat | LineFormat | GapFormat, ...] = (*LINE_FORMATS, *GAP_FORMATS)

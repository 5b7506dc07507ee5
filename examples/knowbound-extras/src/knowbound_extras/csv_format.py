"""A report format: every table of a report, one after the other, as CSV."""

from __future__ import annotations

import csv
import io

from knowbound.report.lines import Bar, Fold, Line, Span, inlines
from knowbound.report.sections import Page, Table


def render_csv(page: Page) -> str:
    """Return the tables; sections of other kinds are left out."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for section in page.shown:
        for part in section.parts:
            if isinstance(part, Table):
                writer.writerow([section.title, *(column.name for column in part.columns)])
                writer.writerows(["", *map(_text, row.cells)] for row in part.rows)
    return out.getvalue()


def _text(line: Line) -> str:
    texts = []
    for one in inlines(line):
        match one:
            case Span(text=text) | Fold(summary=text):
                texts.append(text)
            case Bar(share=share):
                texts.append(f"{share:.3f}")
            case _:
                texts.append(str(one))
    text = "".join(texts)
    return f"'{text}" if text[:1] in ("=", "+", "-", "@") else text  # a spreadsheet must not take it for a formula

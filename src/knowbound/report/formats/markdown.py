"""A page as GitHub-flavoured Markdown, fit for a step summary: short, and long lists are folded.

Our words are escaped; other text is in code spans: there no markup, HTML, link or @mention works.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import escape
from typing import assert_never

from knowbound.core.signal import SignalType
from knowbound.language import translated
from knowbound.report import sections as kinds
from knowbound.report.formats.plain import bar, markdown_text, plain, plain_piece
from knowbound.report.formats.text import metric_line, text_chart
from knowbound.report.lines import FOREIGN, Bar, Fold, Inline, Line, Span, Tone, inlines
from knowbound.report.sections import Page, Part, Section, Table
from knowbound.report.words import more_words, warning_lines
from knowbound.text.printable import counted, shorten

_FOLDED = 50  # entries behind a fold; a step summary holds 1 MiB, the rest is in the other formats
_LONGEST = 400  # characters of one text
_TICKS = re.compile("`+")
_SIGNS: dict[str, str] = {Tone.GOOD: "🟢 ", Tone.FAIR: "🟡 ", Tone.BAD: "🔴 "}
_BOLD = (Tone.STRONG, Tone.TITLE, *SignalType)


def render_markdown(page: Page) -> str:
    """The whole page."""
    blocks = (_head(page), *map(_section, page.shown), _commands(page.commands))
    return "\n\n".join("\n".join(lines) for block in blocks if (lines := list(block))) + "\n"


def code(text: str) -> str:
    """A text as a code span: its fence is longer than any run of backticks in it."""
    if not text:
        return ""
    text = shorten(text, _LONGEST)
    fence = "`" * (1 + max((len(run) for run in _TICKS.findall(text)), default=0))
    space = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{fence}{space}{text}{space}{fence}"


def _shown(line: Line, *, in_table: bool = False) -> str:
    """A line; in a table a pipe ends the cell even inside code."""
    return "".join(_inline(piece, in_table) for piece in inlines(line))


def _inline(piece: Inline, in_table: bool) -> str:
    match piece:
        case Bar():
            return bar(piece.share, 12)
        case Fold():
            return _inline(Span(piece.summary), in_table)
        case Span(text, tone):
            if tone in FOREIGN:
                shown = code(plain(text)).replace("|", "\\|" if in_table else "|")
            else:
                shown = markdown_text(plain(text))
            return f"**{shown}**" if tone in _BOLD and shown else _SIGNS.get(tone, "") + shown
        case _:
            return markdown_text(plain_piece(piece))


def _head(page: Page) -> Iterator[str]:
    yield f"## {markdown_text(plain(page.title))}"
    for line in (page.totals, *page.origin):
        yield from ("", _shown(line))


def _section(section: Section) -> Iterator[str]:
    if "markdown" in section.folded_in:
        yield from _folded(section.title, _parts(section.parts, _FOLDED))
        return
    if section.title:
        yield from (f"### {markdown_text(plain(section.title))}", "")
    yield from _parts(section.parts)


def _parts(parts: Iterable[Part], most: int = 0) -> Iterator[str]:
    for number, part in enumerate(parts):
        if number:
            yield ""
        yield from _part(part, most)


def _part(part: Part, most: int) -> Iterator[str]:
    """The lines of a part; `most` is how many entries are shown behind a fold."""
    match part:
        case kinds.Mark(mark):
            samples, title = counted(mark.samples, "sample"), translated("Test set")
            yield f"> **{title}** {code(plain(mark.path))} · {samples} · sha256 {code(plain(mark.sha256_8))}<br>"
            yield f"> {'<br>'.join(warning_lines(mark.warning))}"
        case kinds.Figures(figures):
            yield from _table_head(
                map(translated, ("figure", "value", "interval", "counts", "meaning")), right=("value",)
            )
            for figure in figures:
                counts = _shown(figure.counts, in_table=True)
                yield f"| **{figure.label}** | {figure.value} | {figure.interval} | {counts} | {figure.meaning} |"
        case kinds.Facts(rows):
            yield from (f"- {markdown_text(plain(name))}: {_shown(line)}" for name, line in rows)
        case Table():
            yield from _table(part, most)
        case kinds.Listing():
            shown = part.entries[: max(part.shown, most)]
            for entry in shown:
                yield f"- {_shown(entry.head)}"
                yield from (f"  - {_shown(line)}" for line in (*entry.lines, entry.place) if line)
            yield from _more(part.left(len(shown)))
        case kinds.Chart(panel):
            yield "```text"
            yield from text_chart(panel, 100)
            yield "```"
        case kinds.MetricChart():
            yield code(metric_line(part))
        case kinds.Note():
            yield f"> {_shown(part.text)}" if part.tone == Tone.FAIR else _shown(part.text)
        case _:
            assert_never(part)


def _table(part: Table, most: int) -> Iterator[str]:
    """Render the first rows in sight, the remaining rows behind a fold."""
    shown = max(part.shown, most)
    yield from _rows(part, part.rows[:shown])
    if rest := part.rows[shown:]:
        yield ""
        folded = [*_rows(part, rest[:_FOLDED]), *_more(len(rest) - _FOLDED)]
        yield from _folded(more_words(len(rest)), folded)


def _rows(part: Table, rows: Iterable[kinds.Row]) -> Iterator[str]:
    right = tuple(column.name for column in part.columns if column.right)
    yield from _table_head((column.name for column in part.columns), right)
    for row in rows:
        yield f"| {' | '.join(_shown(cell, in_table=True) for cell in row.cells)} |"


def _table_head(names: Iterable[str], right: tuple[str, ...]) -> Iterator[str]:
    heads = list(names)
    yield f"| {' | '.join(heads)} |"
    yield f"| {' | '.join('---:' if name in right else '---' for name in heads)} |"


def _commands(commands: Iterable[tuple[str, str]]) -> Iterator[str]:
    if lines := [f"- `{command}`: {why}" for command, why in commands]:
        yield from (f"### {translated('Next')}", "", *lines)


def _folded(summary: str, lines: Iterable[str]) -> Iterator[str]:
    yield from (f"<details><summary>{escape(plain(summary))}</summary>", "", *lines, "", "</details>")


def _more(left: int) -> Iterator[str]:
    if left > 0:
        yield ""
        yield more_words(left, "`--format json`, `--format jsonl`")

"""A page for a terminal: calm, aligned, plain strings; and the charts in plain characters, for Markdown, too.

Places, the warning and commands are never broken, so that they can be copied: they may be wider than the width.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import assert_never

from knowbound.core.signal import SignalType
from knowbound.language import translated
from knowbound.report import sections as kinds
from knowbound.report.evals.samples import commit_words
from knowbound.report.formats.plain import bar, cells, interval_bar, made_plain, pad, plain, plain_piece, shorten, wrap
from knowbound.report.lines import Bar, Fold, Inline, Line, Span, Tone, inlines
from knowbound.report.sections import Entry, MetricChart, Page, Part, Section, Table
from knowbound.report.words import more_words, warning_lines
from knowbound.stats.printing import percent
from knowbound.stats.trend import NEAR_ZERO, Panel, TrendRow
from knowbound.text.printable import counted

_NARROWEST, _ROOMY = 60, 96  # columns: the least that a page takes; where bars are drawn longer
_NARROW_CELL, _NARROW_LAST = 12, 24  # columns that a cell, and the last cell of a row, keep when a table is narrowed
_MOST_LINES = 6  # of one text; a line below an entry has half as many
_GAP = "  "
_PAINT = re.compile(r"\x1b\[\d+m")
_CODES: dict[str, str] = {
    Tone.STRONG: "1",
    Tone.TITLE: "1",
    Tone.SOFT: "2",
    Tone.GOOD: "32",
    Tone.FAIR: "33",
    Tone.BAD: "31",
    **dict.fromkeys(SignalType, "1"),
}


def render_text(page: Page, *, width: int = 100, colour: bool = False) -> str:
    """The whole page."""
    terminal = _Terminal(max(width, _NARROWEST), colour)
    blocks = [terminal.head(page), *map(terminal.section, page.shown), terminal.commands(page.commands)]
    return "\n\n".join("\n".join(lines) for block in blocks if (lines := [line.rstrip() for line in block])) + "\n"


def words(line: Line) -> str:
    """A line as plain text."""
    return "".join(_plain_inline(piece) for piece in inlines(line))


def _plain_inline(piece: Inline) -> str:
    match piece:
        case Bar():
            return f"{bar(piece.share, 12):<12}"
        case Fold():
            return plain(piece.summary)
        case Span():
            return plain(piece.text)
        case _:
            return plain_piece(piece)


class _Terminal:
    """Lines of a width, in colour or not."""

    def __init__(self, width: int, colour: bool) -> None:
        self.width = width
        self._colour = colour

    def head(self, page: Page) -> Iterator[str]:
        """The verb, how much there was, and where it comes from."""
        start = f"knowbound {page.verb}  "
        first, *others = wrap(words(page.totals), self.width - len(start), 2)
        yield self._paint(start, Tone.STRONG) + first
        yield from (" " * len(start) + line for line in others)
        for line in page.origin:
            yield from (self._paint(row, Tone.SOFT) for row in wrap(words(line), self.width, 4))

    def section(self, section: Section) -> Iterator[str]:
        """The title, and the parts below it."""
        indent = _GAP if section.title else ""
        if section.title:
            yield self._paint(plain(section.title), Tone.STRONG)
        inner = _Terminal(self.width - len(indent), self._colour)
        for part in section.parts:
            yield from (indent + line for line in inner.part(part))

    def commands(self, commands: Iterable[tuple[str, str]]) -> Iterator[str]:
        """Print the commands to run next."""
        rows = list(commands)
        if rows:
            yield self._paint(translated("Next"), Tone.STRONG)
            widest = max(len(command) for command, _ in rows)
            yield from (f"  {command:<{widest}}  {self._paint(why, Tone.SOFT)}" for command, why in rows)

    def part(self, part: Part) -> Iterator[str]:
        """The lines of a part."""
        match part:
            case kinds.Mark(mark):
                title = self._paint(translated("Test set"), Tone.STRONG)
                yield f"{title}  {plain(mark.path)} · {counted(mark.samples, 'sample')} · sha256 {plain(mark.sha256_8)}"
                yield from warning_lines(mark.warning)
            case kinds.Figures():
                yield from self._figures(part)
            case kinds.Facts(rows):
                widest = max(10, *(cells(name) for name, _ in rows))
                for name, line in rows:
                    yield from self._hanging(pad(plain(name), widest + 2), line)
            case Table():
                yield from self._table(part)
            case kinds.Listing():
                yield from self._listing(part)
            case kinds.Chart(panel):
                yield from text_chart(panel, self.width)
            case kinds.MetricChart():
                yield metric_line(part)
            case kinds.Note():
                yield from self._wrapped(part.text, part.tone)
            case _:
                assert_never(part)

    def _figures(self, part: kinds.Figures) -> Iterator[str]:
        widest = max(11, *(cells(figure.label) for figure in part.figures)) + 1
        for figure in part.figures:
            line = f"{pad(figure.label, widest)}{pad(figure.value, 7, right=True)}   "
            if figure.drawn is None:
                yield line + words(figure.counts)
                continue
            drawn = self._paint(interval_bar(*figure.drawn, 24 if self.width >= _ROOMY else 14), Tone.SOFT)
            yield f"{line}{drawn}  {figure.interval:<12}  {words(figure.counts)}"

    def _listing(self, part: kinds.Listing) -> Iterator[str]:
        for entry in part.entries[: part.shown]:
            yield from self._entry(entry)
        if left := part.left(min(part.shown, len(part.entries))):
            yield self._paint(more_words(left, part.hint), Tone.SOFT)

    def _entry(self, entry: Entry) -> Iterator[str]:
        yield from self._hanging("", entry.head, below=2)
        for line in entry.lines:
            narrow = _Terminal(self.width - len(_GAP), self._colour)
            yield from (_GAP + row for row in narrow._wrapped(line, most=_MOST_LINES // 2))
        if entry.place:
            yield _GAP + self._paint(words(entry.place), Tone.SOFT)

    def _hanging(self, start: str, line: Line, below: int = 0) -> Iterator[str]:
        """Yield wrapped lines: the first line after `start`, the next lines indented below it."""
        indent = " " * (below or len(start))
        for number, row in enumerate(_Terminal(self.width - len(indent), self._colour)._wrapped(line)):
            yield (start if number == 0 else indent) + row

    def _wrapped(self, line: Line, tone: str = "", most: int = _MOST_LINES) -> Iterator[str]:
        """Yield a text in lines; without a space it stays whole. Tones inside it are kept if one line holds it."""
        text = words(line)
        if cells(text) <= self.width or " " not in text:
            yield self._paint(text, tone) if tone else "".join(self._inline(piece) for piece in inlines(line))
            return
        yield from (self._paint(row, tone) for row in wrap(text, self.width, most))

    def _inline(self, piece: Inline) -> str:
        return self._paint(_plain_inline(piece), piece.tone) if isinstance(piece, Span) else _plain_inline(piece)

    def _table(self, part: Table) -> Iterator[str]:
        """Yield the heads and the rows of a table; a long last cell is wrapped, other cells are cut."""
        rows, columns = part.rows[: part.shown], part.columns
        texts = [[column.name for column in columns], *([words(cell) for cell in row.cells] for row in rows)]
        kept, widths = self._fitting_columns(columns, texts)  # indices of the columns that are shown
        *others, last = kept
        if any(columns[index].name for index in kept):
            heads = (pad(texts[0][index], widths[index], right=columns[index].right) for index in kept)
            yield self._paint(_GAP.join(heads).rstrip(), Tone.SOFT)
        for row, shown in zip(rows, texts[1:], strict=True):
            end, *below = wrap(shown[last], widths[last], _MOST_LINES)
            line = [self._cell(row.cells[index], shown[index], widths[index]) for index in others]
            fits = not below and end == shown[last]
            line.append(self._cell(row.cells[last], end, widths[last]) if fits else end)
            padded = (self._padded(cell, widths[index], columns[index]) for cell, index in zip(line, kept, strict=True))
            yield _GAP.join(padded).rstrip()
            yield from (" " * (_total(widths, others) + len(_GAP)) + more for more in below)
        if left := len(part.rows) - len(rows):
            yield self._paint(more_words(left, part.hint), Tone.SOFT)

    def _fitting_columns(self, columns: Sequence[kinds.Column], texts: list[list[str]]) -> tuple[list[int], list[int]]:
        """Return the shown columns, and the width of every column: drops optional ones, then narrows the widest."""
        kept, widths = list(range(len(columns))), [max(map(cells, column)) for column in zip(*texts, strict=True)]
        narrowed = [*widths[:-1], min(widths[-1], _NARROW_LAST)]  # the last one is wrapped
        while _total(narrowed, kept) > self.width and any(columns[index].optional for index in kept):
            kept.remove(max(kept, key=lambda index: columns[index].optional))  # the most optional first
        *others, last = kept
        narrow = ((index, _NARROW_CELL) for index in sorted(others, key=lambda index: -widths[index]))
        for index, least in ((last, _NARROW_LAST), *narrow, (last, _NARROW_CELL)):  # in this order, until they fit
            widths[index] -= max(0, min(_total(widths, kept) - self.width, widths[index] - least))
        return kept, widths

    def _cell(self, cell: Line, text: str, width: int) -> str:
        """Render a cell in its tones if it fits, else cut and without tones."""
        if cells(text) > width:
            return shorten(text, width)
        return "".join(self._inline(piece) for piece in inlines(cell)) if self._colour else text

    def _padded(self, text: str, width: int, column: kinds.Column) -> str:
        codes = sum(map(len, _PAINT.findall(text))) if self._colour else 0  # they take no columns
        return pad(text, width + codes, right=column.right)

    def _paint(self, text: str, tone: str) -> str:
        code = _CODES.get(tone, "")
        return f"\x1b[{code}m{text}\x1b[0m" if self._colour and code else text


def _total(widths: Sequence[int], columns: Sequence[int]) -> int:
    """Return the width of these columns with the gaps between them."""
    return sum(widths[index] for index in columns) + len(_GAP) * (len(columns) - 1)


_STEP = 0.05  # the share that one line of the chart covers
_MARGIN = 6  # columns of the axis
_WIDEST = 11  # columns of one evaluation
_BREAK = "┊"


def text_chart(panel: Panel, width: int) -> Iterator[str]:
    """The chart in at most so many columns; where not all evaluations fit, the newest do."""
    rows = list(made_plain(panel).rows)
    room = width - _MARGIN
    while len(rows) > 1 and len(_slots(rows)) > room:
        rows.pop(0)
    slots = _slots(rows)
    wide = min(_WIDEST, (room - slots.count(None)) // len(rows))
    highest = max((row.head.gap.rate.interval or (0.0, 0.0))[1] for row in rows)
    for level in range(max(_level(highest), _level(0.2)), -1, -1):
        axis = f"{percent(level * _STEP):>4} ┤" if level % 2 == 0 else "     │"
        yield (axis + "".join(_cell(row, level, wide) for row in slots)).rstrip()
    for label in _LABELS:
        if line := _labels(slots, wide, label).rstrip():
            yield " " * _MARGIN + line
    for change in _breaking_changes(rows):
        yield f"{_BREAK} {change}; nothing is compared across"
    if len(rows) < len(panel.rows):
        yield f"{len(panel.rows) - len(rows)} earlier evaluations do not fit: --format html shows all"


def _slots(rows: Sequence[TrendRow]) -> list[TrendRow | None]:
    """Return the columns of the chart: the evaluations, and None for the break between two test sets."""
    slots: list[TrendRow | None] = []
    for row in rows:
        slots += [None, row] if slots and row.breaks else [row]
    return slots


def _breaking_changes(rows: Sequence[TrendRow]) -> Iterator[str]:
    """Yield the reasons why neighbours on the chart do not compare."""
    for before, after in pairwise(rows):
        old, new = before.head, after.head
        if old.sha256 != new.sha256:
            yield f"the test set changed: {old.watermark.sha256_8} → {new.watermark.sha256_8}"
        elif old.as_specified is not new.as_specified:
            yield "failed searches are counted by another rule (--as-specified)"
        elif after.breaks:
            yield f"others judge hedges: {old.hedges or 'rules'} → {new.hedges or 'rules'}"


def _level(share: float) -> int:
    return round(share / _STEP)


def _cell(row: TrendRow | None, level: int, wide: int) -> str:
    """Return one level of an evaluation's column: its mark in the middle of the ground."""
    if row is None:
        return _BREAK
    ground = "┈" if level == _level(NEAR_ZERO) else "─" if level == 0 else " "
    middle = (wide - 1) // 2
    return ground * middle + (_mark(row, level) or ground) + ground * (wide - middle - 1)


def _mark(row: TrendRow, level: int) -> str:
    """Return the part of a rate and its interval that falls on this level; "" if none does."""
    rate = row.head.gap.rate
    if rate.value is None or rate.interval is None:
        return "?" if level == 0 else ""
    low, high = (_level(share) for share in rate.interval)
    if level == _level(rate.value):
        return "●"
    if not low <= level <= high:
        return ""
    return "┬" if level == high else "┴" if level == low else "│"


def _labels(slots: Sequence[TrendRow | None], wide: int, label: Callable[[TrendRow], str]) -> str:
    """Labels below their evaluations, as many as there is room for, counted from the newest."""
    end = room = sum(wide if row else 1 for row in slots)
    line = [" "] * (end + _WIDEST)
    for row in reversed(slots):
        end -= wide if row else 1
        words = label(row) if row else ""
        start = max(0, end + (wide - 1) // 2 - (len(words) - 1) // 2)
        start = min(start, max(0, len(line) - _WIDEST - len(words)))  # no label leaves the chart
        if words and start + len(words) <= room:
            line[start : start + len(words)] = words
            room = start - 1
    return "".join(line)


_LABELS: tuple[Callable[[TrendRow], str], ...] = (
    lambda row: percent(row.head.gap.rate.value),
    lambda row: f"▲{row.change}" if row.change else "",
    lambda row: f"{commit_words(row.head):^10}",  # as wide as the date: where there is no room both are left out
    lambda row: row.head.made[:10],
)
_BLOCKS = "▁▂▃▄▅▆▇█"
_MOST = 30  # windows


def metric_line(chart: MetricChart) -> str:
    """`On topic  ▂▃▅▆  62% → 81%`: the newest windows, oldest first; what is unknown is a point."""
    values = [window.rates[chart.metric].value for window in chart.windows[-_MOST:]]
    known = [value for value in values if value is not None]
    if not known:
        return f"{chart.title:<14}  nothing was counted"
    steps = ("·" if value is None else _BLOCKS[min(int(value / chart.top * 8), 7)] for value in values)
    return f"{chart.title:<14}  {''.join(steps)}  {percent(known[0])} → {percent(known[-1])}"

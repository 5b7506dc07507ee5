"""Parts of a report: sections of a few kinds, as plain values. Each format in `formats/` renders each kind once.

The functions at the end write these values, and take what a generator yields:

section("Sources", "sources", table("source | signals> | meaning", rows), Note("..."))
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

# Formats of other packages may import from here everything that a page is made of.
from knowbound.report.lines import FOREIGN, Bar, Fold, Inline, Line, Span, Tone, inlines  # noqa: F401
from knowbound.stats.figures import Watermark

if TYPE_CHECKING:
    from knowbound.stats.quality import QualityMetric, Target, WindowRates
    from knowbound.stats.trend import Panel


_TOPS = (0.1, 0.2, 0.5)  # of a chart whose rates do not need all of 0 to 1


class Mark(Struct, frozen=True):
    """The watermark of a test set: no rate is shown without it (specification 1, section 7.1)."""

    watermark: Watermark


class Figure(Struct, frozen=True):
    """A headline figure: its value and interval as printed and as drawn, the counts behind it, what it means."""

    label: str
    value: str
    interval: str
    drawn: tuple[float, float, float] | None  # low, value, high on a scale from 0 to 1
    counts: Line
    meaning: str = ""
    limits: tuple[float, ...] = ()  # to read it against


class Figures(Struct, frozen=True):
    """Headline figures side by side."""

    figures: tuple[Figure, ...]


class Facts(Struct, frozen=True):
    """Names, each with a line."""

    rows: tuple[tuple[str, Line], ...]


class Column(Struct, frozen=True):
    """A column; where a terminal is too narrow for all, those above 0 are left out, the highest first."""

    name: str
    right: bool = False
    optional: int = 0


class Row(Struct, frozen=True):
    """A row, with the anchor that links lead to."""

    cells: tuple[Line, ...]
    anchor: str = ""


class Table(Struct, frozen=True):
    """A table; short formats show the first `shown` rows."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    shown: int = 25
    hint: str = "--format json"  # where the other rows are


class Entry(Struct, frozen=True):
    """An entry of a list: a headline, lines below it, the way back to where it comes from."""

    head: Line
    lines: tuple[Line, ...] = ()
    place: Line = ""
    more: Line = ""  # shown only where there is room
    anchor: str = ""
    filters: tuple[tuple[str, str, str], ...] = ()  # by what a page can filter it: name, value, words


class Listing(Struct, frozen=True):
    """A list; short formats show the first `shown` entries. `total` counts those that are not in it, too."""

    entries: tuple[Entry, ...]
    shown: int = 10
    hint: str = ""  # where the other entries are
    total: int = 0

    def left(self, shown: int) -> int:
        """Return the number of entries that are not shown."""
        return max(self.total, len(self.entries)) - shown


class Chart(Struct, frozen=True):
    """The line chart of a trend."""

    panel: Panel


class MetricChart(Struct, frozen=True):
    """A metric of what is injected, window by window, against its target."""

    title: str
    metric: QualityMetric
    target: Target
    windows: tuple[WindowRates, ...]
    legs: tuple[tuple[str, str], ...] = ()  # day and name: where a leg of the rollout began
    kill: float | None = None  # what reverts the present leg where the metric passes it for certain

    @property
    def top(self) -> float:
        """Return the upper end of the scale: low rates get a finer scale, which their intervals may exceed."""
        values = (window.rates[self.metric].value or 0.0 for window in self.windows)
        highest = max([1.2 * self.target.share, *(1.3 * value for value in values)])
        return next((top for top in _TOPS if highest <= top), 1.0)


class Note(Struct, frozen=True):
    """A paragraph."""

    text: Line
    tone: str = ""


Part: TypeAlias = Mark | Figures | Facts | Table | Listing | Chart | MetricChart | Note
LONG = ("markdown",)  # folded where a page has to be short
ASIDE = ("markdown", "html")  # folded wherever a format can fold


class Section(Struct, frozen=True):
    """Parts under a title. `folded_in` names the formats that show the title and fold the rest."""

    title: str
    parts: tuple[Part, ...]
    name: str = ""  # its anchor
    folded_in: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Report whether the section has no content, so that no format shows it. Notes beside a table do not count."""
        listed = [part for part in self.parts if isinstance(part, Table | Listing)]
        return not any(_has_content(part) for part in listed or self.parts)


def _has_content(part: Part) -> bool:
    match part:
        case Table() | Facts():
            return bool(part.rows)
        case Listing():
            return bool(part.entries)
        case Note():
            return bool(part.text)
        case _:
            return True


class Page(Struct, frozen=True):
    """A report for people, ready for any format."""

    verb: str
    title: str
    lead: str = ""
    totals: Line = ""
    origin: tuple[Line, ...] = ()  # what it is about and where it comes from
    sections: tuple[Section, ...] = ()
    commands: tuple[tuple[str, str], ...] = ()  # what to run next, and why
    version: str = ""

    @property
    def shown(self) -> list[Section]:
        """The sections that have something to say."""
        return [section for section in self.sections if not section.is_empty]


_COLUMN = re.compile(r"(?P<name>.*?)(?P<right>>?)(?:\?(?P<optional>\d))?")


def columns(names: str) -> tuple[Column, ...]:
    """Columns by their names: `sample | cost> | place?2`. `>` sets numbers right, `?2` is `optional`."""
    found = (_COLUMN.fullmatch(name.strip()) for name in names.split("|"))
    return tuple(
        Column(match["name"], right=bool(match["right"]), optional=int(match["optional"] or 0))
        for match in found
        if match
    )


def table(names: str, rows: Iterable[Row | Sequence[Line]], shown: int = 25, hint: str = "--format json") -> Table:
    """A table from the names of its columns and its rows; a row without an anchor is its cells alone."""
    made = tuple(row if isinstance(row, Row) else Row(tuple(row)) for row in rows)
    return Table(columns(names), made, shown, hint)


def listing(found: Iterable[Entry | Line], shown: int = 10, hint: str = "", total: int = 0) -> Listing:
    """A list of entries, or of lines that are entries of their own."""
    return Listing(tuple(entry if isinstance(entry, Entry) else Entry(entry) for entry in found), shown, hint, total)


def facts(rows: Iterable[tuple[str, Line]]) -> Facts:
    """Names, each with a line."""
    return Facts(tuple(rows))


def section(title: str, name: str, *parts: Part, folded_in: tuple[str, ...] = ()) -> Section:
    """Parts under a title and an anchor."""
    return Section(title, parts, name, folded_in)

"""The trend of a gap rate in any format: the table and the chart of specification 1, section 6.

Every series is shown with the watermark of its test set; what the numbers say is said in words, and the nudge of
section 8 is a note.
"""

from __future__ import annotations

from knowbound.report.format_names import PageFormat
from knowbound.report.formats import render
from knowbound.report.formats.json import as_json, fields
from knowbound.report.gap_sections import INTERVALS, coverage_figure, gap_figures, reading, share_cell
from knowbound.report.samples import commit_words
from knowbound.report.sections import (
    Chart,
    Column,
    Facts,
    Figures,
    Line,
    Mark,
    Note,
    Page,
    Part,
    Row,
    Section,
    Table,
    data,
    joined,
    soft,
    strong,
)
from knowbound.stats.evaluation import EvaluationHead, Origin
from knowbound.stats.figures import Watermark
from knowbound.stats.printing import money, percent, score
from knowbound.stats.trend import Panel, Series, Trend, TrendRow, days_in_use
from knowbound.text.printable import counted

Format = PageFormat
NEXT_COMMANDS: tuple[tuple[str, str], ...] = (
    ("knowbound trend --format html -o trend.html", "the chart in a browser"),
    ("knowbound compare previous latest", "the last two evaluations, sample by sample"),
)
_OPEN_BREAK = (
    "counted anew: from this evaluation on, misses that nobody decided are not called open or found. Open rates before "
    "and after it do not compare."
)
# The columns of specification 1, section 6, with the weighted and the open rate and what changed. A rate never stands
# without its sample set and sample count: what a narrow terminal has no room for goes in the order of `optional`.
_COLUMNS = (
    Column("#", right=True, optional=1),
    Column("Time"),
    Column("UTC", optional=6),
    Column("git commit"),
    Column("composite", right=True, optional=2),
    Column("coverage", right=True),
    Column("gap_rate"),
    Column("open", right=True, optional=4),
    Column("weighted", right=True, optional=5),
    Column("Sample set"),
    Column("Sample count", right=True),
    Column("Cost", right=True, optional=3),
    Column("knowledge"),
)


def render_trend(trend: Trend, format: Format, *, width: int = 100, colour: bool = False, version: str = "") -> str:
    """The trend in a format; width and colour are for the terminal."""
    return render(format, lambda: _page(trend, version), lambda: _document(trend), width=width, colour=colour)


def _page(trend: Trend, version: str) -> Page:
    newest = trend.rows[-1].head
    latest = f"Newest evaluation: {newest.id}, {newest.made}, commit "
    return Page(
        verb="trend",
        title="Trend of the gap rate",
        lead="Commit by commit, on a fixed test set.",
        totals=_totals(trend),
        origin=((latest, data(commit_words(newest))),),
        sections=(
            Section(
                "Newest figures",
                (
                    Mark(newest.watermark),
                    Figures((*gap_figures(newest.gap), coverage_figure(newest.coverage, newest.root))),
                    reading(newest.gap),
                ),
                "figures",
            ),
            *(_panel(panel, f"chart-{at}", newest.watermark) for at, panel in enumerate(trend.panels, 1)),
            _evaluations(trend),
        ),
        commands=_commands(trend),
        version=version or newest.version,
    )


def _commands(trend: Trend) -> tuple[tuple[str, str], ...]:
    """What to do next; two evaluations compare only where they have one test set."""
    newest = trend.rows[-1].head
    again = sum(row.head.series == newest.series for row in trend.rows)
    return NEXT_COMMANDS if again > 1 else NEXT_COMMANDS[:1]


def _totals(trend: Trend) -> str:
    """How much there is, and what was left out."""
    sets = len({row.head.sha256 for row in trend.rows})
    other = f"{counted(trend.left_out, 'evaluation')} of other versions left out" if trend.left_out else ""
    parts = (counted(len(trend.rows), "evaluation"), counted(sets, "test set"), other)
    return " · ".join(part for part in parts if part)


def _panel(panel: Panel, name: str, shown: Watermark) -> Section:
    """The chart of one samples file, what each series says, and its watermark where it is not the one shown above."""
    head = panel.rows[-1].head
    asked = " (questions of probe)" if head.origin is Origin.PROBED else ""
    parts: list[Part] = [Chart(panel)]
    for series in panel.series:
        rows: list[tuple[str, Line]] = [(series.last.watermark.sha256_8, (strong(series.words), f" {series.advice}"))]
        if series.also_changed:
            changed = ", ".join(series.also_changed)
            rows.append(("", ("Not only the knowledge changed: ", data(changed), ".")))
        if broken := series.rows[-1].broken:
            rows.append(("Broken", ("since the evaluation before: ", data(", ".join(broken)))))
        days = days_in_use([row.head for row in series.rows])
        rows.append(("Age", f"in use since {series.rows[0].head.made[:10]}, {counted(days, 'day')}"))
        rows += [("Note", series.nudge)] if series.nudge else []
        parts.append(Facts(tuple(rows)))
        if series.last.watermark != shown:
            parts.append(Mark(series.last.watermark))
    return Section(f"Gap rate on {head.watermark.path}{asked}, with its 95% interval", tuple(parts), name)


def _evaluations(trend: Trend) -> Section:
    """By test set, so that like is compared with like."""
    rows = tuple(_row(row) for panel in trend.panels for series in panel.series for row in series.rows)
    dirty = any(row.head.dirty and row.head.commit for row in trend.rows)
    star = (Note(soft("* with uncommitted changes")),) if dirty else ()
    broken = any(row.breaks_open for row in trend.rows)
    marks = (Note(soft(_OPEN_BREAK)),) if broken else ()
    return Section("Evaluations", (Table(_COLUMNS, rows, len(rows)), INTERVALS, *marks, *star), "evaluations")


def _row(row: TrendRow) -> Row:
    head = row.head
    broken = strong(f"{counted(len(row.broken), 'sample')} broken") if row.broken else ""
    another = strong("another series") if row.breaks else ""
    anew = strong("open counted anew") if row.breaks_open else ""
    cells = (
        str(head.id),
        head.made[:10],
        head.made[11:16],
        data(commit_words(head)),
        score(head.composite.value),
        percent(head.coverage.rate.value),
        share_cell(head.gap.rate),
        percent(head.gap.open.value),
        percent(head.gap.weighted.value),
        data(_set_words(head)),
        f"{head.samples:,}",
        money(head.usd),
        joined(
            (another, anew, "" if row.change is None else str(row.change), data(", ".join(row.differs)), broken), "; "
        ),
    )
    return Row(cells)


def _set_words(head: EvaluationHead) -> str:
    return f"{head.watermark.sha256_8} {head.watermark.path.rpartition('/')[2]}"


def _document(trend: Trend) -> dict[str, object]:
    """`knowbound.trend/1` of docs/json.md."""
    return {
        "format": "knowbound.trend/1",
        "watermark": as_json(trend.rows[-1].head.watermark),
        "series": [_series_fields(series) for panel in trend.panels for series in panel.series],
        "evaluations": [_row_fields(row) for row in trend.rows],
        "left_out": trend.left_out,
    }


def _series_fields(series: Series) -> dict[str, object]:
    return {
        **fields(series.last, "watermark sha256 origin"),
        **fields(series, "reading words advice also_changed nudge"),
        "days_in_use": days_in_use([row.head for row in series.rows]),
        "evaluations": [row.head.id for row in series.rows],
    }


def _row_fields(row: TrendRow) -> dict[str, object]:
    head = row.head
    return {
        **fields(head, "id made commit? subject dirty composite"),
        "coverage": head.coverage.rate.to_json(),
        "gap": head.gap.rate.to_json(),
        **fields(head.gap, "weighted open"),
        "test_set": {"path": head.watermark.path, **fields(head, "sha256 samples")},
        "hedges": head.hedges or "rules",
        **fields(head, "origin usd executor model judge"),
        "knowledge_change": as_json(row.change),
        "also_changed": row.differs,
        "breaks": row.breaks,
        "breaks_open": row.breaks_open,
        "broken": row.broken,
    }

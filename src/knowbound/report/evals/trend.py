"""The trend of a gap rate in any format: the table and the chart of specification 1, section 6.

Every series is shown with the watermark of its test set; what the numbers say is said in words, and the nudge of
section 8 is a note.
"""

from __future__ import annotations

from typing import Unpack

from knowbound.report import Layout, PageFormat
from knowbound.report.evals.samples import commit_words
from knowbound.report.formats import render
from knowbound.report.formats.json import as_json, fields
from knowbound.report.gaps.figures import INTERVALS, coverage_figure, gap_figures, reading, share_cell
from knowbound.report.lines import Line, data, joined, soft, strong
from knowbound.report.sections import Chart, Figures, Mark, Note, Page, Part, Section, facts, section, table
from knowbound.stats.evaluation import Origin
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
# The columns of specification 1, section 6, with the weighted and the open rate and what changed. A rate is never shown
# without its sample set and sample count: what a narrow terminal has no room for goes in the order of `optional`.
_COLUMNS = (
    "#>?1 | Time | UTC?6 | git commit | composite>?2 | coverage> | gap_rate | open>?4 | weighted>?5 | Sample set | "
    "Sample count> | Cost>?3 | knowledge"
)
_SERIES = """watermark=last.watermark sha256=last.sha256 origin=last.origin reading words advice also_changed nudge"""
_ROW = """id=head.id made=head.made commit=head.commit? subject=head.subject dirty=head.dirty composite=head.composite
    coverage=head.coverage.rate gap=head.gap.rate weighted=head.gap.weighted open=head.gap.open
    test_set=head(path=watermark.path sha256 samples) hedges=head.hedges
    origin=head.origin usd=head.usd executor=head.executor model=head.model judge=head.judge knowledge_change=change
    also_changed=differs breaks breaks_open broken"""


def render_trend(trend: Trend, format: Format, *, version: str = "", **layout: Unpack[Layout]) -> str:
    """The trend in a format."""
    return render(format, lambda: trend_page(trend, version), lambda: _document(trend), **layout)


def trend_page(trend: Trend, version: str) -> Page:
    """Return the trend as a page: the newest figures, the charts, every evaluation."""
    newest = trend.rows[-1].head
    sets = len({row.head.sha256 for row in trend.rows})
    left_out = f"{counted(trend.left_out, 'evaluation')} of other versions left out" if trend.left_out else ""
    totals = (counted(len(trend.rows), "evaluation"), counted(sets, "test set"), left_out)
    shown = Figures((*gap_figures(newest.gap), coverage_figure(newest.coverage, newest.root)))
    # Two evaluations compare only where they have one test set.
    has_comparable = sum(row.head.series == newest.series for row in trend.rows) > 1
    return Page(
        verb="trend",
        title="Trend of the gap rate",
        lead="Commit by commit, on a fixed test set.",
        totals=" · ".join(filter(None, totals)),
        origin=((f"Newest evaluation: {newest.id}, {newest.made}, commit ", data(commit_words(newest))),),
        sections=(
            section("Newest figures", "figures", Mark(newest.watermark), shown, reading(newest.gap)),
            *(_panel(panel, f"chart-{at}", newest.watermark) for at, panel in enumerate(trend.panels, 1)),
            _evaluations(trend),
        ),
        commands=NEXT_COMMANDS if has_comparable else NEXT_COMMANDS[:1],
        version=version or newest.version,
    )


def _panel(panel: Panel, name: str, shown_above: Watermark) -> Section:
    """Show the chart of a samples file, the direction of each series, and its watermark if not shown above."""
    head = panel.rows[-1].head
    asked = " (questions of probe)" if head.origin is Origin.PROBED else ""
    parts: list[Part] = [Chart(panel)]
    for series in panel.series:
        rows: list[tuple[str, Line]] = [(series.last.watermark.sha256_8, (strong(series.words), f" {series.advice}"))]
        if series.also_changed:
            rows.append(("", ("Not only the knowledge changed: ", data(", ".join(series.also_changed)), ".")))
        if broken := series.rows[-1].broken:
            rows.append(("Broken", ("since the evaluation before: ", data(", ".join(broken)))))
        days = days_in_use([row.head for row in series.rows])
        rows.append(("Age", f"in use since {series.rows[0].head.made[:10]}, {counted(days, 'day')}"))
        parts.append(facts([*rows, *([("Note", series.nudge)] if series.nudge else [])]))
        if series.last.watermark != shown_above:
            parts.append(Mark(series.last.watermark))
    return section(f"Gap rate on {head.watermark.path}{asked}, with its 95% interval", name, *parts)


def _evaluations(trend: Trend) -> Section:
    """Group evaluations by test set, because only rates on equal test sets are comparable."""
    rows = [_row(row) for panel in trend.panels for series in panel.series for row in series.rows]
    notes = [_OPEN_BREAK] if any(row.breaks_open for row in trend.rows) else []
    dirty = any(row.head.dirty and row.head.commit for row in trend.rows)
    notes += ["* with uncommitted changes"] if dirty else []
    shown = table(_COLUMNS, rows, len(rows))
    return section("Evaluations", "evaluations", shown, INTERVALS, *(Note(soft(note)) for note in notes))


def _row(row: TrendRow) -> tuple[Line, ...]:
    head = row.head
    changes = (
        strong("another series") if row.breaks else "",
        strong("open counted anew") if row.breaks_open else "",
        "" if row.change is None else str(row.change),
        data(", ".join(row.differs)),
        strong(f"{counted(len(row.broken), 'sample')} broken") if row.broken else "",
    )
    return (
        str(head.id),
        head.made[:10],
        head.made[11:16],
        data(commit_words(head)),
        score(head.composite.value),
        percent(head.coverage.rate.value),
        share_cell(head.gap.rate),
        percent(head.gap.open.value),
        percent(head.gap.weighted.value),
        data(f"{head.watermark.sha256_8} {head.watermark.path.rpartition('/')[2]}"),
        f"{head.samples:,}",
        money(head.usd),
        joined(changes, "; "),
    )


def _document(trend: Trend) -> dict[str, object]:
    return {
        "format": "knowbound.trend/1",
        "watermark": as_json(trend.rows[-1].head.watermark),
        "series": [_series_fields(series) for panel in trend.panels for series in panel.series],
        "evaluations": [fields(row, _ROW) | {"hedges": row.head.hedges or "rules"} for row in trend.rows],
        "left_out": trend.left_out,
    }


def _series_fields(series: Series) -> dict[str, object]:
    heads = [row.head for row in series.rows]
    return fields(series, _SERIES) | {"days_in_use": days_in_use(heads), "evaluations": [head.id for head in heads]}

"""The trend of a gap rate in any format: the table and the chart of specification 1, section 6.

Every series stands beside the watermark of its test set; what the numbers say is said in words, and the nudge of
section 8 is a note.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, assert_never, get_args

import msgspec

from knowbound.report import html, markdown
from knowbound.report.chart import commit_words, svg
from knowbound.report.columns import aligned, shorten, wrap
from knowbound.report.evaluation_words import money_cell, score_cell
from knowbound.report.plain import dumped, made_plain
from knowbound.report.text import Page, joined
from knowbound.report.text_chart import text_chart
from knowbound.report.words import counted, coverage_figure, interval_words
from knowbound.stats.evaluation import EvaluationHead, Origin
from knowbound.stats.rate import Rate, Weighted, percent
from knowbound.stats.trend import Panel, Series, Trend, TrendRow

FORMAT = "knowbound.trend/1"
Format = Literal["text", "json", "markdown", "html"]
FORMATS: tuple[Format, ...] = get_args(Format)
NEXT_COMMANDS: tuple[tuple[str, str], ...] = (
    ("knowbound trend --format html -o trend.html", "the chart in a browser"),
    ("knowbound compare previous latest", "the last two evaluations, sample by sample"),
)
DIRTY = "* with uncommitted changes"
_TEXT_HEAD = ["#", "date", "commit", "composite", "coverage", "gap rate", "weighted", "open", "cost", "knowledge"]
_RIGHT = ("#", "composite", "cost")
# The columns of specification 1, section 6, with the weighted and the open rate and what changed.
_HEAD = (
    "#", "Time", "git commit", "composite", "coverage", "gap_rate", "weighted", "open", "Sample set", "Sample count",
    "Cost", "knowledge",
)  # fmt: skip


def render_trend(trend: Trend, format: Format, *, width: int = 100, colour: bool = False, version: str = "") -> str:
    """The trend in a format; width and colour are for the terminal."""
    match format:
        case "text":
            return _text(made_plain(trend), width, colour)
        case "json":
            return _json(trend)
        case "markdown":
            return _markdown(made_plain(trend))
        case "html":
            return _html(made_plain(trend), version)
        case _:
            assert_never(format)


def next_commands(trend: Trend) -> tuple[tuple[str, str], ...]:
    """What to do next; two evaluations compare only where they have one test set."""
    newest = trend.rows[-1].head
    again = sum((row.head.sha256, row.head.origin) == (newest.sha256, newest.origin) for row in trend.rows)
    return NEXT_COMMANDS if again > 1 else NEXT_COMMANDS[:1]


def dirty_words(trend: Trend) -> str:
    """What the star behind a commit means, where there is one."""
    return DIRTY if any(row.head.dirty and row.head.commit for row in trend.rows) else ""


def totals_words(trend: Trend) -> str:
    """How much there is, and what was left out."""
    sets = len({row.head.sha256 for row in trend.rows})
    other = f"{counted(trend.left_out, 'evaluation')} of other versions left out" if trend.left_out else ""
    parts = (counted(len(trend.rows), "evaluation"), counted(sets, "test set"), other)
    return " · ".join(part for part in parts if part)


def set_words(head: EvaluationHead) -> str:
    """The sample set of a row: its file and the first 8 digits of its hash."""
    return f"{head.watermark.path.rpartition('/')[2]} {head.watermark.sha256_8}"


def share_cell(share: Rate | Weighted) -> str:
    """A share with its interval, as short as it can be."""
    return f"{percent(share.value)} {_between(share)}".strip()


def _between(share: Rate | Weighted) -> str:
    return interval_words(share.interval).removeprefix("95% ")


def _with_interval(share: Rate | Weighted) -> str:
    between = _between(share)
    return f"{percent(share.value)} ({between})" if between else percent(share.value)


def change_cell(row: TrendRow) -> str:
    """How the knowledge changed since the row before."""
    return "" if row.change is None else str(row.change)


def also_words(series: Series) -> str:
    """What else changed in a series: then its movement may not be the knowledge's."""
    return f"Not only the knowledge changed: {', '.join(series.also_changed)}." if series.also_changed else ""


def _all_series(trend: Trend) -> list[Series]:
    return [series for panel in trend.panels for series in panel.series]


def _text(trend: Trend, width: int, colour: bool) -> str:
    page = Page(width, colour)
    return joined(
        _head(page, trend),
        *(section for panel in trend.panels for section in (_chart(page, panel), _readings(page, panel))),
        _table(page, trend),
        page.next(next_commands(trend)),
    )


def _head(page: Page, trend: Trend) -> Iterator[str]:
    yield from page.title("knowbound trend", totals_words(trend), [])
    for series in _all_series(trend):
        yield ""
        yield from page.watermark(series.last.watermark)


def _chart(page: Page, panel: Panel) -> Iterator[str]:
    mark = panel.rows[-1].head.watermark
    asked = " (questions of probe)" if panel.rows[-1].head.origin is Origin.PROBED else ""
    yield page.bold(f"Gap rate on {mark.path}{asked}, sha256 {mark.sha256_8}, with its 95% interval")
    yield from text_chart(panel, page.width)


def _readings(page: Page, panel: Panel) -> Iterator[str]:
    yield page.bold("Reading")
    for series in panel.series:
        named = f"{series.last.watermark.sha256_8}: " if len(panel.series) > 1 else ""
        for text in (f"{named}{series.words} {series.advice}", also_words(series), series.nudge):
            if text:
                yield from page.hanging("  ", wrap(text, page.width - 2, 8))


def _table(page: Page, trend: Trend) -> Iterator[str]:
    """By test set, so that the eye compares like with like; the numbers of all rows stand in the same columns."""
    groups = [series.rows for series in _all_series(trend)]
    table = [_TEXT_HEAD, *(_text_cells(row) for rows in groups for row in rows)]
    lines = iter(aligned(table, right=_RIGHT))
    yield page.bold("Evaluations")
    yield page.dim(("  " + "  ".join(next(lines))).rstrip())
    for rows in groups:
        mark = rows[-1].head.watermark
        yield f"  {set_words(rows[-1].head)} · {counted(mark.samples, 'sample')}"
        for row, cells in zip(rows, lines, strict=False):
            yield ("  " + "  ".join(cells)).rstrip()
            if row.differs:
                yield page.dim(f"       also changed: {', '.join(row.differs)}")
    if note := dirty_words(trend):
        yield page.dim(f"  {note}")


def _text_cells(row: TrendRow) -> list[str]:
    head = row.head
    return [
        str(head.id),
        head.made[:10],
        shorten(commit_words(row), 9),
        score_cell(head.composite.value),
        share_cell(head.coverage.rate),
        share_cell(head.gap.rate),
        share_cell(head.gap.weighted),
        share_cell(head.gap.open),
        money_cell(head.usd),
        change_cell(row),
    ]


def _markdown(trend: Trend) -> str:
    return markdown.joined(
        _markdown_head(trend),
        *(_markdown_panel(panel) for panel in trend.panels),
        _markdown_table(trend),
        markdown.next_commands(next_commands(trend)),
    )


def _markdown_head(trend: Trend) -> Iterator[str]:
    yield "## Trend of the gap rate"
    yield ""
    yield totals_words(trend)
    for series in _all_series(trend):
        yield ""
        yield from markdown.watermark(series.last.watermark)


def _markdown_panel(panel: Panel) -> Iterator[str]:
    yield f"### Gap rate on {markdown.code(panel.rows[-1].head.watermark.path)}"
    for series in panel.series:
        named = f"`{series.last.watermark.sha256_8}`: " if len(panel.series) > 1 else ""
        yield ""
        yield f"{named}{series.words} {series.advice}"
        for text in (markdown.code(also_words(series)), series.nudge):
            if text:
                yield ""
                yield text
    yield ""
    yield "```text"
    yield from text_chart(panel, 100)
    yield "```"


def _markdown_table(trend: Trend) -> Iterator[str]:
    yield "Intervals in brackets are at 95%."
    yield ""
    yield from markdown.table(f"| {' | '.join(_HEAD)} |", f"| {' | '.join('---' for _ in _HEAD)} |")
    for row in trend.rows:
        head = row.head
        cells = [
            str(head.id),
            head.made,
            markdown.cell(commit_words(row)),
            score_cell(head.composite.value),
            _with_interval(head.coverage.rate),
            _with_interval(head.gap.rate),
            _with_interval(head.gap.weighted),
            _with_interval(head.gap.open),
            ("**changed** " if row.breaks else "") + markdown.cell(set_words(head)),
            f"{head.samples:,}",
            money_cell(head.usd),
            "; ".join(part for part in (change_cell(row), markdown.cell(", ".join(row.differs))) if part),
        ]
        yield f"| {' | '.join(cells)} |"
    if note := dirty_words(trend):
        yield ""
        yield f"`*` {note.removeprefix('* ')}"


def _html(trend: Trend, version: str) -> str:
    newest = trend.rows[-1].head
    several = len(trend.panels) > 1
    sections = [
        html.Section(f"chart-{at}", f"Chart {at}" if several else "Chart", _html_panel(panel))
        for at, panel in enumerate(trend.panels, 1)
    ]
    return html.page(
        title="Trend of the gap rate",
        lead="Commit by commit, on a fixed test set.",
        totals=totals_words(trend),
        origin=[f"Newest evaluation: {newest.id}, {newest.made}, commit {commit_words(trend.rows[-1])}"],
        watermark=newest.watermark,
        cards=[*html.gap_cards(newest.gap), html.card(coverage_figure(newest.coverage, newest.root))],
        reading=html.reading(newest.gap),
        sections=[*sections, html.Section("evaluations", "Evaluations", _html_table(trend))],
        commands=next_commands(trend)[1:],
        version=version or newest.version,
    )


def _html_panel(panel: Panel) -> str:
    readings = "".join(_html_reading(series) for series in panel.series)
    marks = "".join(
        f'<div class="watermark" role="note">{html.watermark_note(series.last.watermark)}</div>'
        for series in panel.series
    )
    return f'{svg(panel)}<dl class="reading">{readings}</dl><br>{marks}'


def _html_reading(series: Series) -> str:
    notes = "".join(f"<p>{html.shown(text)}</p>" for text in (also_words(series), series.nudge) if text)
    return (
        f"<div><dt><code>{html.shown(series.last.watermark.sha256_8)}</code></dt>"
        f"<dd><strong>{html.shown(series.words)}</strong> {html.shown(series.advice)}{notes}</dd></div>"
    )


def _html_table(trend: Trend) -> str:
    rows = "".join(
        html.table_row(str(row.head.id), zip(_HEAD[1:], _html_cells(row), strict=True)) for row in trend.rows
    )
    note = dirty_words(trend)
    return html.table("skills", _HEAD, rows) + (f'<p class="note">{note}</p>' if note else "")


def _html_cells(row: TrendRow) -> list[str]:
    head = row.head
    changed = "<strong>changed</strong> " if row.breaks else ""
    differs = f"<br>{html.shown(', '.join(row.differs))}" if row.differs else ""
    file, _, hash_ = set_words(head).rpartition(" ")
    return [
        f"<small>{html.shown(head.made[:16].replace('T', ' '))}</small>",
        f'<code title="{html.shown(head.subject)}">{html.shown(commit_words(row))}</code>',
        score_cell(head.composite.value),
        _html_share(head.coverage.rate),
        _html_share(head.gap.rate),
        _html_share(head.gap.weighted),
        _html_share(head.gap.open),
        f"{changed}{html.shown(file)} <code>{html.shown(hash_)}</code>",
        f"{head.samples:,}",
        money_cell(head.usd),
        f"{html.shown(change_cell(row))}{differs}",
    ]


def _html_share(share: Rate | Weighted) -> str:
    return f"{percent(share.value)}<br><small>{_between(share)}</small>"


def _json(trend: Trend) -> str:
    document = {
        "format": FORMAT,
        "watermark": msgspec.to_builtins(trend.rows[-1].head.watermark),
        "series": [_series_fields(series) for series in _all_series(trend)],
        "evaluations": [_row_fields(row) for row in trend.rows],
        "left_out": trend.left_out,
    }
    return dumped(document, indent=2) + "\n"


def _series_fields(series: Series) -> dict[str, object]:
    return {
        "watermark": msgspec.to_builtins(series.last.watermark),
        "sha256": series.last.sha256,
        "origin": series.last.origin,
        "reading": series.reading,
        "words": series.words,
        "advice": series.advice,
        "also_changed": series.also_changed,
        "nudge": series.nudge,
        "evaluations": [row.head.id for row in series.rows],
    }


def _row_fields(row: TrendRow) -> dict[str, object]:
    head = row.head
    return {
        "id": head.id,
        "made": head.made,
        "commit": head.commit or None,
        "subject": head.subject,
        "dirty": head.dirty,
        "composite": msgspec.to_builtins(head.composite),
        "coverage": head.coverage.rate.to_json(),
        "gap": head.gap.rate.to_json(),
        "weighted": head.gap.weighted.to_json(),
        "open": head.gap.open.to_json(),
        "test_set": {"path": head.watermark.path, "sha256": head.sha256, "samples": head.samples},
        "origin": head.origin,
        "usd": head.usd,
        "executor": head.executor,
        "model": head.model,
        "judge": head.judge,
        "knowledge_change": None if row.change is None else msgspec.to_builtins(row.change),
        "also_changed": row.differs,
        "breaks": row.breaks,
    }

"""A comparison of two evaluations in any format: sample by sample, with the exact test and the interval."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, assert_never, get_args

import msgspec

from knowbound.core.signal import SignalType
from knowbound.report import html, markdown
from knowbound.report.as_jsonl import signal_fields
from knowbound.report.chart import change_words
from knowbound.report.columns import aligned, shorten, wrap
from knowbound.report.evaluation_json import head_fields, mean_fields
from knowbound.report.evaluation_model import EvaluationReport, counted_unit, entries_of
from knowbound.report.evaluation_words import knowledge_words, score_cell, who_words
from knowbound.report.plain import dumped, made_plain
from knowbound.report.text import Page, joined
from knowbound.report.words import TYPE_NAMES, Figure, counted, coverage_figure, gap_figures, interval_words
from knowbound.stats.comparison import Change, Comparison, SampleChange
from knowbound.stats.evaluation import Evaluation
from knowbound.stats.gate import about
from knowbound.stats.rate import Mean, Rate, percent

FORMAT = "knowbound.comparison/1"
Format = Literal["text", "json", "markdown", "html"]
FORMATS: tuple[Format, ...] = get_args(Format)
_HEAD = ("sample", "change", "gap before", "gap after", "composite before", "composite after")
_SAMPLES = 40  # rows that text and markdown show; html and json have all


def render_comparison(comparison: Comparison, format: Format, *, width: int = 100, colour: bool = False) -> str:
    """The comparison in a format; width and colour are for the terminal."""
    match format:
        case "text":
            return _text(_plain(comparison), width, colour)
        case "json":
            return _json(comparison)
        case "markdown":
            return _markdown(_plain(comparison))
        case "html":
            return _html(_plain(comparison))
        case _:
            assert_never(format)


def _plain(comparison: Comparison) -> Comparison:
    """Every text made plain, and places told from the knowledge base."""
    root = comparison.after.root
    after = EvaluationReport(comparison.after).plain(root).evaluation
    return msgspec.structs.replace(made_plain(comparison), after=after)


def totals_words(comparison: Comparison) -> str:
    """Which two, and what became of the samples."""
    counts = " · ".join(f"{comparison.count(change):,} {change}" for change in (Change.FIXED, Change.BROKEN))
    rest = f"{comparison.count(Change.SAME):,} the same"
    unknown = comparison.count(Change.UNKNOWN)
    named = f"evaluation {comparison.before.id} → {comparison.after.id}"
    return " · ".join([named, counts, rest, *([f"{unknown:,} unknown"] if unknown else [])])


def verdict_words(comparison: Comparison) -> str:
    """What the pairs say, and whether they settle it."""
    pairs, difference = comparison.pairs, comparison.difference
    if difference is None or pairs.p is None:
        return "Nothing to compare: no sample is complete on both sides."
    if not pairs.shifts:
        return f"No sample changed: {difference} over {counted(pairs.n, 'pair')}."
    went = "rose" if difference.value > 0 else "fell" if difference.value < 0 else "stayed"
    test = f"exact paired test p = {p_words(pairs.p)} over {counted(pairs.n, 'pair')}{_cluster_words(comparison)}"
    return f"The gap rate {went}: {difference}; {test}. {_settled_words(comparison)}"


def _cluster_words(comparison: Comparison) -> str:
    pairs = comparison.pairs
    return "" if pairs.clusters == pairs.n else f" in {counted(pairs.clusters, 'cluster')}"


def _settled_words(comparison: Comparison) -> str:
    if comparison.pairs.settled:
        return "The data settle it: this is more than chance."
    more = comparison.more
    if more is None:
        return "The data do not settle it; no reasonable number of samples like these would."
    return f"The data do not settle it; {about(more)} more {'sample' if more == 1 else 'samples'} like these would."


def p_words(p: float) -> str:
    """A probability with the digits that matter."""
    return "<0.001" if p < 0.001 else f"{p:.2g}"


def composite_words(mean: Mean) -> str:
    """The difference of the composites."""
    if mean.value is None:
        return "unknown: no sample has one on both sides"
    told = mean.low is not None and mean.high is not None and mean.low != mean.high  # all alike: no spread to see
    between = f", 95% {_signed(mean.low)} to {_signed(mean.high)}" if told else ""
    return f"{_signed(mean.value)} (over {mean.n}{between})"


def _signed(value: float | None) -> str:
    shown = round(value or 0.0, 2) + 0.0
    return f"{shown:+.2f}".replace("-", "−") if shown else "0.00"


def _figures(comparison: Comparison) -> list[Figure]:
    """Gap rate and coverage of both sides."""
    sides = (("before", comparison.before), ("after", comparison.after))
    gaps = [gap_figures(side.gap, counted_unit(side))[0]._replace(label=f"Gap {name}") for name, side in sides]
    reached = [coverage_figure(side.coverage, side.root)._replace(label=f"Cover {name}") for name, side in sides]
    return [*gaps, *reached]


def _origin(name: str, evaluation: Evaluation) -> str:
    return f"{name}: {who_words(evaluation)} · {knowledge_words(evaluation)}"


def gap_cell(rate: Rate, types: Iterable[SignalType]) -> str:
    """Whether a sample has a gap and of which kinds; of several runs, in how many."""
    if not rate.n:
        return "unknown"
    kinds = ", ".join(TYPE_NAMES[type_] for type_ in types)
    said = ("no" if not rate.k else "yes") if rate.n == 1 else f"{rate.k} of {rate.n}"
    return f"{said}: {kinds}" if kinds else said


def _cells(row: SampleChange) -> list[str]:
    change = f"{row.change}: {row.why}" if row.why else str(row.change)
    return [
        row.sample,
        change,
        gap_cell(row.before, row.types_before),
        gap_cell(row.after, row.types_after),
        score_cell(row.composite_before),
        score_cell(row.composite_after),
    ]


def _text(comparison: Comparison, width: int, colour: bool) -> str:
    page = Page(width, colour)
    after = comparison.after
    entries = entries_of(after)
    return joined(
        _head(page, comparison),
        _result(page, comparison),
        _knowledge(page, comparison),
        page.warnings(comparison.caveats),
        _samples(page, comparison),
        page.sources(after.gap),
        page.coverage(after.coverage, after.root),
        page.inventory(entries, len(entries)),
    )


def _head(page: Page, comparison: Comparison) -> Iterator[str]:
    origin = [_origin("before", comparison.before), _origin("after", comparison.after)]
    yield from page.title("knowbound compare", totals_words(comparison), origin)
    yield ""
    yield from page.watermark(comparison.after.watermark)


def _result(page: Page, comparison: Comparison) -> Iterator[str]:
    yield page.bold("Difference")
    yield from page.figures(_figures(comparison))
    yield from page.hanging("  ", wrap(verdict_words(comparison), page.width - 2, 6))
    yield f"  Composite: {composite_words(comparison.composite)}"


def _knowledge(page: Page, comparison: Comparison) -> Iterator[str]:
    if comparison.change:
        yield page.bold(f"Knowledge: {comparison.change}")
        for line in change_words(comparison.change).splitlines():
            yield from page.hanging("  ", wrap(line, page.width - 2, 3))


def _samples(page: Page, comparison: Comparison) -> Iterator[str]:
    rows = [row for row in comparison.rows if row.change is not Change.SAME][:_SAMPLES]
    if not rows:
        return
    yield page.bold("Samples that changed")
    head = ["sample", "change", "gap before", "gap after", "composite"]
    table = [head]
    for row in rows:
        sample, change, before, after, one, other = _cells(row)
        table.append([shorten(sample, 24), shorten(change, 30), before, after, f"{one} → {other}"])
    lines = ["  " + "  ".join(cells).rstrip() for cells in aligned(table, right=())]
    yield page.dim(lines[0])
    yield from (shorten(line, page.width) for line in lines[1:])
    left = len(comparison.rows) - len(rows)
    if left:
        yield page.dim(f"  +{left:,} more: --format json or html")


def _markdown(comparison: Comparison) -> str:
    after = comparison.after
    entries = entries_of(after)
    return markdown.joined(
        _markdown_head(comparison),
        markdown.warnings(comparison.caveats),
        _markdown_figures(comparison),
        _markdown_samples(comparison),
        markdown.sources(after.gap),
        markdown.uncovered(after.coverage.uncovered),
        markdown.inventory(entries, len(entries)),
    )


def _markdown_head(comparison: Comparison) -> Iterator[str]:
    yield "## Comparison of two evaluations"
    yield ""
    yield totals_words(comparison)
    yield ""
    yield from markdown.watermark(comparison.after.watermark)
    yield ""
    yield f"**{verdict_words(comparison)}**"
    yield ""
    for name, side in (("before", comparison.before), ("after", comparison.after)):
        yield f"- {markdown.code(_origin(name, side))}"
    yield f"- Composite: {composite_words(comparison.composite)}"
    for line in change_words(comparison.change).splitlines():
        yield f"- Knowledge {markdown.code(line)}"


def _markdown_figures(comparison: Comparison) -> Iterator[str]:
    yield from markdown.table("| figure | value | interval | counts |", "| --- | ---: | --- | --- |")
    for figure in _figures(comparison):
        counts = figure.counts if figure.value is not None else markdown.cell(figure.counts)
        yield f"| {figure.label} | {percent(figure.value)} | {interval_words(figure.interval)} | {counts} |"


def _markdown_samples(comparison: Comparison) -> Iterator[str]:
    yield from markdown.table(f"| {' | '.join(_HEAD)} |", f"| {' | '.join('---' for _ in _HEAD)} |")
    for row in comparison.rows[:_SAMPLES]:
        sample, *rest = _cells(row)
        yield f"| {markdown.cell(sample)} | {' | '.join(rest)} |"
    yield from markdown.more(len(comparison.rows) - _SAMPLES)


def _html(comparison: Comparison) -> str:
    after = comparison.after
    entries = entries_of(after)
    sections = [html.Section("difference", "Difference", _html_result(comparison))]
    sections.append(html.Section("samples", "Samples", _html_samples(comparison)))
    sections.append(html.Section("sources", "By source, after", html.sources(after.gap)))
    if after.coverage.uncovered:
        sections.append(html.uncovered(after.coverage.uncovered))
    if entries:
        sections.append(html.inventory([entry._replace(anchor="") for entry in entries], len(entries), "Run"))
    return html.page(
        title="Comparison of two evaluations",
        lead="The same samples, before and after.",
        totals=totals_words(comparison),
        origin=[_origin("before", comparison.before), _origin("after", after)],
        watermark=after.watermark,
        cards=[html.card(figure) for figure in _figures(comparison)],
        reading="",
        sections=sections,
        commands=[("knowbound trend", "the gap rate from commit to commit")],
        version=after.version,
    )


def _html_result(comparison: Comparison) -> str:
    notes = "".join(f"<p>⚠ {html.shown(caveat)}</p>" for caveat in comparison.caveats)
    changed = "".join(f"<p>{html.shown(line)}</p>" for line in change_words(comparison.change).splitlines())
    rows = (
        ("Gap rate", html.shown(verdict_words(comparison))),
        ("Composite", html.shown(composite_words(comparison.composite))),
        ("Knowledge", f"{html.shown(str(comparison.change))}{changed}"),
        *([("Beware", notes)] if notes else []),
    )
    body = "".join(f"<div><dt>{name}</dt><dd>{words}</dd></div>" for name, words in rows)
    return f'<dl class="reading">{body}</dl>'


def _html_samples(comparison: Comparison) -> str:
    rows = []
    for row in comparison.rows:
        sample, *rest = (html.shown(cell) for cell in _cells(row))
        rows.append(html.table_row(sample, zip(_HEAD[1:], rest, strict=True)))
    return html.table("skills", _HEAD, "".join(rows))


def _json(comparison: Comparison) -> str:
    pairs, difference = comparison.pairs, comparison.difference
    document = {
        "format": FORMAT,
        "watermark": msgspec.to_builtins(comparison.after.watermark),
        "before": {**head_fields(comparison.before), "usd": comparison.before.usd},
        "after": {**head_fields(comparison.after), "usd": comparison.after.usd},
        "pairs": {
            "n": pairs.n,
            "clusters": pairs.clusters,
            "both": pairs.both,
            "fixed": pairs.fixed,
            "broken": pairs.broken,
            "neither": pairs.neither,
        },
        "samples": {change.value: comparison.count(change) for change in Change},
        "difference": None if difference is None else msgspec.to_builtins(difference),
        "p": pairs.p,
        "settled": pairs.settled,
        "more_samples": comparison.more,
        "composite_difference": mean_fields(comparison.composite),
        "knowledge_change": msgspec.to_builtins(comparison.change),
        "caveats": comparison.caveats,
        "words": verdict_words(comparison),
        "rows": [_row_fields(row) for row in comparison.rows],
        "inventory": [signal_fields(signal) for signal in comparison.after.signals],
    }
    return dumped(document, indent=2) + "\n"


def _row_fields(row: SampleChange) -> dict[str, object]:
    return {
        "sample": row.sample,
        "change": row.change,
        "before": {"gap": row.before.to_json(), "types": row.types_before, "composite": row.composite_before},
        "after": {"gap": row.after.to_json(), "types": row.types_after, "composite": row.composite_after},
        "why": row.why,
    }

"""Evaluations compared, in any format: two of them sample by sample, and all of them as the trend of the gap rate.

A trend has the table and the chart of specification 1, section 6. Each series is shown with the watermark of its test
set; the nudge of section 8 is a note.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Unpack

from msgspec.structs import replace

from knowbound.language import say
from knowbound.report import Layout, PageFormat
from knowbound.report.evals import samples as by_sample
from knowbound.report.figures import (
    INTERVALS,
    coverage_figure,
    gap_figures,
    inventory,
    reading,
    share_cell,
    sources,
    uncovered,
    warnings,
)
from knowbound.report.formats import render
from knowbound.report.formats.json import as_json, fields
from knowbound.report.formats.plain import with_files_near
from knowbound.report.lines import Fold, Inline, Line, data, joined, prose, soft, strong
from knowbound.report.sections import (
    ASIDE,
    Chart,
    Figure,
    Figures,
    Mark,
    Note,
    Page,
    Part,
    Section,
    Table,
    facts,
    section,
    table,
)
from knowbound.report.words import TYPE_NAMES
from knowbound.stats.comparison import Change, Comparison, SampleChange, SampleSide, Verdict
from knowbound.stats.evaluation import Evaluation, Origin
from knowbound.stats.figures import Watermark
from knowbound.stats.gate import about
from knowbound.stats.paired import Difference, Pairs
from knowbound.stats.printing import money, percent, probability, score, signed
from knowbound.stats.rate import Mean
from knowbound.stats.trend import Panel, Series, Trend, TrendRow, days_in_use
from knowbound.text.printable import counted

_CHANGED = (Change.BROKEN, Change.FIXED, Change.UNKNOWN)
_PAIRED = "n clusters both fixed broken neither"
_ROW = "sample change before(gap types composite answered) after(gap types composite answered) why"
_TEST = "p settled more_samples=more"
_MEANS = (  # label, field, what is put before and after its numbers
    ("Cost", "usd", "$", ""),
    ("Tokens", "tokens", "", ""),
    ("Steps", "steps", "", ""),
    ("Time", "seconds", "", " s"),
)


def render_comparison(comparison: Comparison, format: PageFormat, **layout: Unpack[Layout]) -> str:
    """The comparison in a format."""
    return render(format, lambda: comparison_page(comparison), lambda: _document(comparison), **layout)


def comparison_page(comparison: Comparison) -> Page:
    """Return a comparison as a page, sample by sample."""
    before, after = comparison.before, with_files_near(comparison.after, (comparison.after.root,))
    # Without links: this page has no table of all samples.
    entries = [entry._replace(anchor="") for entry in by_sample.evaluation_entries(after)]
    return Page(
        verb="compare",
        title="Comparison of two evaluations",
        lead="The same samples, before and after.",
        totals=_totals(comparison),
        origin=(("before: ", _origin(before)), ("after: ", _origin(after))),
        sections=(
            *comparison_sections(comparison, is_alone=True),
            sources(after.gap),
            uncovered(after.coverage.uncovered),
            inventory(entries, "Run"),
        ),
        commands=(("knowbound trend", "the gap rate from commit to commit"),),
        version=after.version,
    )


def _origin(side: Evaluation) -> Inline:
    return prose(f"{by_sample.who_words(side)} · {by_sample.knowledge_words(side)}")


def _totals(comparison: Comparison) -> str:
    named = f"evaluation {comparison.before.id} → {comparison.after.id}"
    words = {Change.FIXED: "fixed", Change.BROKEN: "broken", Change.SAME: "the same", Change.UNKNOWN: "unknown"}
    counts = ((change, comparison.count(change), word) for change, word in words.items())
    return " · ".join([named, *(f"{n:,} {word}" for change, n, word in counts if n or change is not Change.UNKNOWN)])


def comparison_sections(comparison: Comparison, *, is_alone: bool = False) -> Iterator[Section]:
    """Yield the verdict with its figures, and the samples side by side; alone on a page with the figures of both."""
    first, second = comparison.names
    figures = (Mark(comparison.after.watermark), Figures(_figures(comparison))) if is_alone else ()
    title = "Difference" if is_alone else f"{first} and {second}"
    yield section(title, "difference", *figures, facts(_facts(comparison)))
    yield warnings(comparison.caveats)
    first, second = (re.sub(r"[|>?]", "/", name) for name in (first, second))  # the signs have a meaning in `columns`
    columns = f"sample | change | gap: {first} | gap: {second} | composite?1 | answer: {first}?3 | answer: {second}?2"
    unchanged = _rows(comparison, columns, 5, Change.SAME)
    yield section("Samples that changed", "changed", _rows(comparison, columns, 40, *_CHANGED))
    yield section(f"{counted(len(unchanged.rows), 'sample')} the same", "same", unchanged, folded_in=ASIDE)


def _facts(comparison: Comparison) -> Iterator[tuple[str, Line]]:
    """Yield the rows above the samples: the verdict, then each measure of both sides."""
    yield "Verdict", strong(verdict_words(comparison))
    if failing := [row.sample for row in comparison.rows if row.failing]:
        broke = say("{} broke: an assertion that passed before fails now", counted(len(failing), "sample"))
        yield "Assertions", (broke, ": ", data(", ".join(failing)))
    yield "Answered", _answered_words(comparison)
    yield "Gap rate", _gap_words(comparison)
    yield "Composite", _composite_words(comparison.composite)
    for label, name, prefix, unit in _MEANS:
        if (mean := getattr(comparison, name)).value is not None:
            yield label, _mean_words(mean, prefix, unit)
    if comparison.served.n:
        served = counted(comparison.served.n, "sample")
        yield "Served", f"an item was injected in {comparison.served.k} of {served}"
    yield "Knowledge", str(comparison.change)
    yield from (("", data(line)) for line in by_sample.change_words(comparison.change).splitlines())


def verdict_words(comparison: Comparison) -> str:
    """Return in one sentence which side answers more samples, or how many more samples would decide."""
    pairs, second = comparison.answered, comparison.names[1]
    if pairs.p is None:
        return "Nothing to compare: no sample is complete on both sides."
    if not pairs.shifts:
        seen = "" if pairs.detectable is None else f"; one of {percent(pairs.detectable)} would be seen in 4 of 5 cases"
        return f"No difference: both answer the same of {counted(pairs.n, 'sample')}{seen}."
    net = pairs.fixed - pairs.broken
    result = f"both answer as many of {counted(pairs.n, 'sample')}, and not the same ones"
    if net:
        way = "more" if net > 0 else "fewer"
        result = f"{second} answers {abs(net):,} of {pairs.n:,} {way}, p = {probability(pairs.p)}"
    if comparison.verdict is not Verdict.UNDECIDED:
        return f"{result[0].upper()}{result[1:]}."
    needed = "no reasonable number of samples like these would decide"
    if pairs.more is not None:
        needed = f"{about(pairs.more)} more {'sample' if pairs.more == 1 else 'samples'} would"
    return f"Undecided: {result}; {needed}."


def _answered_words(comparison: Comparison) -> str:
    """Say how many samples each side answers, and the difference."""
    pairs, (first, second) = comparison.answered, comparison.names
    difference = pairs.difference
    if difference is None:
        return "unknown"
    before, after = _sides(pairs)
    # The pairs count samples without an answer: the difference of the answered ones has the other sign.
    turned = Difference(-difference.value, -difference.high, -difference.low, paired=True)
    clusters = "" if pairs.clusters == pairs.n else f" in {counted(pairs.clusters, 'cluster')}"
    return f"{first} {before:,}, {second} {after:,} of {counted(pairs.n, 'sample')}{clusters}: {turned}"


def _sides(answered: Pairs) -> tuple[int, int]:
    """Return how many samples each side answers. `both` counts samples that neither side answers."""
    return answered.n - answered.both - answered.fixed, answered.n - answered.both - answered.broken


def _gap_words(comparison: Comparison) -> str:
    pairs, difference = comparison.pairs, comparison.pairs.difference
    if difference is None or pairs.p is None:
        return "unknown"
    if not pairs.shifts:
        return f"no sample changed in its gaps: {difference} over {counted(pairs.n, 'pair')}"
    return f"{difference} over {counted(pairs.n, 'pair')}, exact paired test p = {probability(pairs.p)}"


def _composite_words(mean: Mean) -> str:
    if mean.value is None:
        return "unknown: no sample has one on both sides"
    spread = mean.low is not None and mean.high is not None and mean.low != mean.high
    between = f", 95% {signed(mean.low)} to {signed(mean.high)}" if spread else ""
    return f"{signed(mean.value)} (over {mean.n}{between})"


def _mean_words(mean: Mean, prefix: str, unit: str) -> str:
    """Say how much more a sample takes after than before, on average; `prefix` and `unit` go around each number."""

    def shown(value: float) -> str:
        sign = "+" if value > 0 else "−" if value < 0 else ""
        return f"{sign}{prefix}{abs(value):,.{4 if prefix else 1}f}{unit}"  # a prefix is that of a currency

    between = "" if mean.low is None or mean.high is None else f", 95% {shown(mean.low)} to {shown(mean.high)}"
    return f"{shown(mean.value or 0.0)} a sample (over {mean.n:,}{between})"


def _figures(comparison: Comparison) -> tuple[Figure, ...]:
    gaps, coverages = [], []
    for name, side in (("before", comparison.before), ("after", comparison.after)):
        gaps.append(replace(gap_figures(side.gap, by_sample.counted_unit(side))[0], label=f"Gap {name}"))
        coverages.append(replace(coverage_figure(side.coverage, side.root), label=f"Cover {name}"))
    return *gaps, *coverages


def _rows(comparison: Comparison, names: str, shown: int, *changes: Change) -> Table:
    return table(names, (_row(row) for row in comparison.rows if row.change in changes), shown)


def _row(row: SampleChange) -> tuple[Line, ...]:
    sides = (row.before, row.after)
    composites = " → ".join(score(side.composite) for side in sides)
    return data(row.sample), _changed(row), *map(_gap, sides), composites, *map(_answer, sides)


def _answer(side: SampleSide) -> Inline:
    words = "not complete" if side.answered is None else "answered" if side.answered else "not answered"
    return Fold(words, (side.answer,)) if side.answer else words


def _changed(row: SampleChange) -> Line:
    """Say how a sample changed, and for which reason or by which assertion."""
    if row.why:
        return f"{row.change}: {row.why}"
    if row.failing:
        return f"{row.change}: ", data(", ".join(row.failing)), " fails now"
    if row.passing and row.change is Change.FIXED:
        return f"{row.change}: ", data(", ".join(row.passing)), " passes now"
    return str(row.change)


def _gap(side: SampleSide) -> str:
    """Say whether a sample has a gap and of which kinds; of several runs, in how many."""
    if not side.gap.n:
        return "unknown"
    kinds = ", ".join(TYPE_NAMES[type_] for type_ in side.types)
    answer = f"{side.gap.k} of {side.gap.n}" if side.gap.n > 1 else "yes" if side.gap.k else "no"
    return f"{answer}: {kinds}" if kinds else answer


def _document(comparison: Comparison) -> dict[str, object]:
    return {
        "format": "knowbound.comparison/1",
        "watermark": as_json(comparison.after.watermark),
        "before": {**by_sample.head_fields(comparison.before), "usd": comparison.before.usd},
        "after": {**by_sample.head_fields(comparison.after), "usd": comparison.after.usd},
        **comparison_fields(comparison),
        "inventory": as_json(comparison.after.signals),
    }


def comparison_fields(comparison: Comparison) -> dict[str, object]:
    """Return the verdict and what is behind it, as JSON."""
    before, after = _sides(comparison.answered)
    return {
        "names": list(comparison.names),
        "verdict": comparison.verdict,
        "words": verdict_words(comparison),
        "answered": {"before": before, "after": after, **fields(comparison.answered, f"{_PAIRED} {_TEST} detectable")},
        **fields(comparison, f"pairs({_PAIRED})"),
        "samples": {change.value: comparison.count(change) for change in Change},
        **fields(comparison.pairs, f"difference {_TEST}"),
        **fields(comparison, "composite_difference=composite usd tokens steps seconds served"),
        **fields(comparison, "knowledge_change=change caveats"),
        "rows": [fields(row, _ROW) | {"assertions": fields(row, "failing passing")} for row in comparison.rows],
    }


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
_TREND_ROW = """id=head.id made=head.made commit=head.commit? subject=head.subject dirty=head.dirty
    composite=head.composite coverage=head.coverage.rate gap=head.gap.rate weighted=head.gap.weighted open=head.gap.open
    test_set=head(path=watermark.path sha256 samples) hedges=head.hedges
    origin=head.origin usd=head.usd executor=head.executor model=head.model judge=head.judge knowledge_change=change
    also_changed=differs breaks breaks_open broken"""


def render_trend(trend: Trend, format: PageFormat, *, version: str = "", **layout: Unpack[Layout]) -> str:
    """The trend in a format."""
    return render(format, lambda: trend_page(trend, version), lambda: _trend_document(trend), **layout)


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
        origin=((f"Newest evaluation: {newest.id}, {newest.made}, commit ", data(by_sample.commit_words(newest))),),
        sections=(
            section("Newest figures", "figures", Mark(newest.watermark), shown, reading(newest.gap)),
            *(_panel(panel, f"chart-{number}", newest.watermark) for number, panel in enumerate(trend.panels, 1)),
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
    rows = [_trend_row(row) for panel in trend.panels for series in panel.series for row in series.rows]
    notes = [_OPEN_BREAK] if any(row.breaks_open for row in trend.rows) else []
    dirty = any(row.head.dirty and row.head.commit for row in trend.rows)
    notes += ["* with uncommitted changes"] if dirty else []
    shown = table(_COLUMNS, rows, len(rows))
    return section("Evaluations", "evaluations", shown, INTERVALS, *(Note(soft(note)) for note in notes))


def _trend_row(row: TrendRow) -> tuple[Line, ...]:
    head = row.head
    changes = (
        strong("another series") if row.breaks else "",  # not comparable with the row above
        strong("open counted anew") if row.breaks_open else "",  # gap rates compare, open rates do not
        "" if row.change is None else str(row.change),
        data(", ".join(row.differs)),
        strong(f"{counted(len(row.broken), 'sample')} broken") if row.broken else "",
    )
    return (
        str(head.id),
        head.made[:10],
        head.made[11:16],
        data(by_sample.commit_words(head)),
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


def _trend_document(trend: Trend) -> dict[str, object]:
    return {
        "format": "knowbound.trend/1",
        "watermark": as_json(trend.rows[-1].head.watermark),
        "series": [_series_fields(series) for panel in trend.panels for series in panel.series],
        "evaluations": [fields(row, _TREND_ROW) | {"hedges": row.head.hedges or "rules"} for row in trend.rows],
        "left_out": trend.left_out,
    }


def _series_fields(series: Series) -> dict[str, object]:
    heads = [row.head for row in series.rows]
    return fields(series, _SERIES) | {"days_in_use": days_in_use(heads), "evaluations": [head.id for head in heads]}

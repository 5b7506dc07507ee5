"""A comparison of two evaluations in any format: sample by sample, with the exact test and the interval."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from knowbound.core.signal import SignalType
from knowbound.report.evaluation import head_fields
from knowbound.report.format_names import PageFormat
from knowbound.report.formats import render
from knowbound.report.formats.json import as_json, fields
from knowbound.report.gap_sections import coverage_figure, gap_figures, inventory, sources, uncovered, warnings
from knowbound.report.samples import (
    change_words,
    counted_unit,
    evaluation_entries,
    knowledge_words,
    who_words,
    with_places_near,
)
from knowbound.report.sections import (
    ASIDE,
    Column,
    Facts,
    Figure,
    Figures,
    Line,
    Mark,
    Page,
    Row,
    Section,
    Table,
    data,
    prose,
    strong,
)
from knowbound.report.words import TYPE_NAMES, broken_words
from knowbound.stats.comparison import Change, Comparison, SampleChange
from knowbound.stats.evaluation import Evaluation
from knowbound.stats.gate import about
from knowbound.stats.printing import probability, score, signed
from knowbound.stats.rate import Mean, Rate
from knowbound.text.printable import counted

Format = PageFormat
_CHANGED = (Change.BROKEN, Change.FIXED, Change.UNKNOWN)
_COLUMNS = (
    Column("sample"),
    Column("change"),
    Column("gap before"),
    Column("gap after"),
    Column("composite"),
)


def render_comparison(comparison: Comparison, format: Format, *, width: int = 100, colour: bool = False) -> str:
    """The comparison in a format; width and colour are for the terminal."""
    return render(format, lambda: _page(comparison), lambda: _document(comparison), width=width, colour=colour)


def _page(comparison: Comparison) -> Page:
    before, after = comparison.before, with_places_near(comparison.after, (comparison.after.root,))
    entries = [entry._replace(anchor="") for entry in evaluation_entries(after)]
    facts: list[tuple[str, Line]] = [
        ("Gap rate", strong(verdict_words(comparison))),
        ("Composite", _composite_words(comparison.composite)),
        ("Knowledge", str(comparison.change)),
    ]
    facts += [("", data(line)) for line in change_words(comparison.change).splitlines()]
    if failing := [row.sample for row in comparison.rows if row.failing]:
        facts.insert(1, ("Assertions", (broken_words(len(failing)), ": ", data(", ".join(failing)))))
    same = _rows(comparison, Change.SAME)
    difference = (Mark(after.watermark), Figures(_figures(comparison)), Facts(tuple(facts)))
    return Page(
        verb="compare",
        title="Comparison of two evaluations",
        lead="The same samples, before and after.",
        totals=_totals(comparison),
        origin=(_origin("before", before), _origin("after", after)),
        sections=(
            Section("Difference", difference, "difference"),
            warnings(comparison.caveats),
            Section("Samples that changed", (Table(_COLUMNS, _rows(comparison, *_CHANGED), 40),), "samples"),
            Section(f"{counted(len(same), 'sample')} the same", (Table(_COLUMNS, same, 5),), "same", ASIDE),
            sources(after.gap),
            uncovered(after.coverage.uncovered),
            inventory(entries, "Run"),
        ),
        commands=(("knowbound trend", "the gap rate from commit to commit"),),
        version=after.version,
    )


def _totals(comparison: Comparison) -> str:
    counts = [f"{comparison.count(change):,} {change}" for change in (Change.FIXED, Change.BROKEN)]
    unknown = comparison.count(Change.UNKNOWN)
    named = f"evaluation {comparison.before.id} → {comparison.after.id}"
    rest = [f"{comparison.count(Change.SAME):,} the same", *([f"{unknown:,} unknown"] if unknown else [])]
    return " · ".join([named, *counts, *rest])


def _origin(name: str, evaluation: Evaluation) -> Line:
    return f"{name}: ", prose(f"{who_words(evaluation)} · {knowledge_words(evaluation)}")


def verdict_words(comparison: Comparison) -> str:
    """What the pairs say, and whether they settle it."""
    pairs, difference = comparison.pairs, comparison.pairs.difference
    if difference is None or pairs.p is None:
        return "Nothing to compare: no sample is complete on both sides."
    if not pairs.shifts:
        return f"No sample changed in its gaps: {difference} over {counted(pairs.n, 'pair')}."
    went = f"The gap rate {'rose' if difference.value > 0 else 'fell'}"
    if not pairs.settled:
        went = "The data do not settle whether the gap rate changed"
    clusters = "" if pairs.clusters == pairs.n else f" in {counted(pairs.clusters, 'cluster')}"
    test = f"exact paired test p = {probability(pairs.p)} over {counted(pairs.n, 'pair')}{clusters}"
    return f"{went}: {difference}; {test}. {_settled_words(comparison)}"


def _settled_words(comparison: Comparison) -> str:
    if comparison.pairs.settled:
        return "The data settle it: this is more than chance."
    more = comparison.pairs.more
    if more is None:
        return "No reasonable number of samples like these would settle it."
    said = f"{about(more)} more {'sample' if more == 1 else 'samples'} like these would settle it."
    return said[0].upper() + said[1:]


def _composite_words(mean: Mean) -> str:
    if mean.value is None:
        return "unknown: no sample has one on both sides"
    spread = mean.low is not None and mean.high is not None and mean.low != mean.high
    between = f", 95% {signed(mean.low)} to {signed(mean.high)}" if spread else ""
    return f"{signed(mean.value)} (over {mean.n}{between})"


def _figures(comparison: Comparison) -> tuple[Figure, ...]:
    """Gap rate and coverage of both sides."""
    sides = (("before", comparison.before), ("after", comparison.after))
    gaps = [(f"Gap {name}", gap_figures(side.gap, counted_unit(side))[0]) for name, side in sides]
    reached = [(f"Cover {name}", coverage_figure(side.coverage, side.root)) for name, side in sides]
    return tuple(msgspec.structs.replace(figure, label=label) for label, figure in (*gaps, *reached))


def _rows(comparison: Comparison, *changes: Change) -> tuple[Row, ...]:
    return tuple(_row(row) for row in comparison.rows if row.change in changes)


def _row(row: SampleChange) -> Row:
    cells = (
        data(row.sample),
        _changed(row),
        _gap(row.before, row.types_before),
        _gap(row.after, row.types_after),
        f"{score(row.composite_before)} → {score(row.composite_after)}",
    )
    return Row(cells)


def _changed(row: SampleChange) -> Line:
    """How a sample changed, and why it is unknown or which assertions are behind it."""
    if row.why:
        return f"{row.change}: {row.why}"
    if row.failing:
        return f"{row.change}: ", data(", ".join(row.failing)), " fails now"
    if row.passing and row.change is Change.FIXED:
        return f"{row.change}: ", data(", ".join(row.passing)), " passes now"
    return str(row.change)


def _gap(rate: Rate, types: Iterable[SignalType]) -> str:
    """Whether a sample has a gap and of which kinds; of several runs, in how many."""
    if not rate.n:
        return "unknown"
    kinds = ", ".join(TYPE_NAMES[type_] for type_ in types)
    said = ("no" if not rate.k else "yes") if rate.n == 1 else f"{rate.k} of {rate.n}"
    return f"{said}: {kinds}" if kinds else said


def _document(comparison: Comparison) -> dict[str, object]:
    """`knowbound.comparison/1` of docs/json.md."""
    pairs, difference = comparison.pairs, comparison.pairs.difference
    return {
        "format": "knowbound.comparison/1",
        "watermark": as_json(comparison.after.watermark),
        "before": {**head_fields(comparison.before), "usd": comparison.before.usd},
        "after": {**head_fields(comparison.after), "usd": comparison.after.usd},
        "pairs": fields(pairs, "n clusters both fixed broken neither"),
        "samples": {change.value: comparison.count(change) for change in Change},
        "difference": as_json(difference),
        "p": pairs.p,
        "settled": pairs.settled,
        "more_samples": pairs.more,
        "composite_difference": as_json(comparison.composite),
        "knowledge_change": as_json(comparison.change),
        "caveats": comparison.caveats,
        "words": verdict_words(comparison),
        "rows": [_row_fields(row) for row in comparison.rows],
        "inventory": as_json(comparison.after.signals),
    }


def _row_fields(row: SampleChange) -> dict[str, object]:
    return {
        "sample": row.sample,
        "change": row.change,
        "before": {"gap": row.before.to_json(), "types": row.types_before, "composite": row.composite_before},
        "after": {"gap": row.after.to_json(), "types": row.types_after, "composite": row.composite_after},
        "why": row.why,
        "assertions": {"failing": row.failing, "passing": row.passing},
    }

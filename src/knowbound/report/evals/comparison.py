"""A comparison of two evaluations in any format: the verdict, side by side, with the exact test and the interval."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Unpack

from msgspec.structs import replace

from knowbound.language import say
from knowbound.report import Layout, PageFormat
from knowbound.report.evals import samples as by_sample
from knowbound.report.formats import render
from knowbound.report.formats.json import as_json, fields
from knowbound.report.formats.plain import with_files_near
from knowbound.report.gaps.figures import coverage_figure, gap_figures, inventory, sources, uncovered, warnings
from knowbound.report.lines import Fold, Inline, Line, data, prose, strong
from knowbound.report.sections import ASIDE, Figure, Figures, Mark, Page, Section, Table, facts, section, table
from knowbound.report.words import TYPE_NAMES
from knowbound.stats.comparison import Change, Comparison, SampleChange, SampleSide, Verdict
from knowbound.stats.evaluation import Evaluation
from knowbound.stats.gate import about
from knowbound.stats.paired import Difference, Pairs
from knowbound.stats.printing import percent, probability, score, signed
from knowbound.stats.rate import Mean
from knowbound.text.printable import counted

Format = PageFormat
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


def render_comparison(comparison: Comparison, format: Format, **layout: Unpack[Layout]) -> str:
    """The comparison in a format."""
    return render(format, lambda: comparison_page(comparison), lambda: _document(comparison), **layout)


def comparison_page(comparison: Comparison) -> Page:
    """Return a comparison as a page, sample by sample."""
    before, after = comparison.before, with_files_near(comparison.after, (comparison.after.root,))
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
    first, second = (re.sub(r"[|>?]", "/", name) for name in (first, second))
    columns = f"sample | change | gap: {first} | gap: {second} | composite?1 | answer: {first}?3 | answer: {second}?2"
    unchanged = _rows(comparison, columns, 5, Change.SAME)
    yield section("Samples that changed", "changed", _rows(comparison, columns, 40, *_CHANGED))
    yield section(f"{counted(len(unchanged.rows), 'sample')} the same", "same", unchanged, folded_in=ASIDE)


def _facts(comparison: Comparison) -> Iterator[tuple[str, Line]]:
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
        return f"{sign}{prefix}{abs(value):,.{4 if prefix else 1}f}{unit}"

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

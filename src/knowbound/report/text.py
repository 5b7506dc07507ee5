"""Reports for a terminal: calm, aligned, plain strings. The sections that all reports share, and those of `observe`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from knowbound.core.signal import SignalType
from knowbound.core.testset import Watermark
from knowbound.report.columns import aligned, bar, interval_bar, shorten, wrap
from knowbound.report.model import Incomplete, ObserveReport
from knowbound.report.plain import plain_report
from knowbound.report.words import (
    NEXT_COMMANDS,
    STATUS_NAMES,
    TYPE_MEANINGS,
    TYPE_NAMES,
    Entry,
    Figure,
    band_words,
    classification_words,
    confidence_words,
    counted,
    coverage_figure,
    gap_figures,
    interval_words,
    is_softened,
    observed_entries,
    origin_words,
    place_words,
    signal_count,
    soft_share_words,
    sought_words,
    status_words,
    topic_counts,
    totals_words,
    verdict_words,
)
from knowbound.stats.figures import Band, Coverage, GapFigures, SkillRow
from knowbound.stats.rate import percent

Commands = tuple[tuple[str, str], ...]
SKILLS, UNCOVERED, TOPICS, SIGNALS, EXAMPLES = 15, 10, 10, 15, 5  # how many are shown before "+N more"
_NARROWEST, _ROOMY = 60, 96  # columns
_COLOURS = {Band.GREEN: "32", Band.YELLOW: "33", Band.RED: "31"}


def render_text(
    report: ObserveReport, *, width: int = 100, colour: bool = False, next_commands: Commands = NEXT_COMMANDS
) -> str:
    """The whole report. Places and the warning are never broken, so they can be wider than the width."""
    report = plain_report(replace(report, inventory=report.inventory[:SIGNALS]))
    page = _ObservePage(width, colour)
    return joined(
        page.head(report),
        page.gaps(report.gap),
        page.coverage(report.coverage, report.root),
        page.sources(report.gap),
        page.skills(report.skills),
        page.topics([(topic_counts(topic), topic.query, place_words(topic.example)) for topic in report.topics]),
        page.inventory(observed_entries(report), signal_count(report)),
        page.incomplete(report.incomplete),
        page.skipped(report),
        page.unrecognised(report.unrecognised),
        page.warnings(report.warnings),
        page.next(next_commands),
    )


def joined(*sections: Iterable[str]) -> str:
    """The sections with a blank line between them; one without lines is left out."""
    return "\n\n".join("\n".join(lines) for section in sections if (lines := list(section))) + "\n"


class Page:
    """What reports on gaps have in common, section by section: each is a stream of lines."""

    def __init__(self, width: int, colour: bool) -> None:
        self.width = max(width, _NARROWEST)
        self.is_roomy = self.width >= _ROOMY
        self._colour = colour

    def title(self, name: str, totals: str, origin: Iterable[str]) -> Iterator[str]:
        """The name of the verb, how much there was, and where it comes from."""
        title = f"{name}  "
        yield from self.hanging(self.bold(title), wrap(totals, self.width - len(title), 2), len(title))
        for line in origin:
            yield from (self.dim(part) for part in wrap(line, self.width, 4))

    def watermark(self, mark: Watermark) -> Iterator[str]:
        """Specification 1, section 7.1."""
        yield f"{self.bold('Test set')}  {mark.path} · {counted(mark.samples, 'sample')} · sha256 {mark.sha256_8}"
        yield mark.warning

    def gaps(self, gap: GapFigures, unit: str = "sample") -> Iterator[str]:
        """The gap rates with their intervals, and how to read them."""
        yield self.bold("Knowledge gaps")
        yield from self.figures(gap_figures(gap, unit))
        yield f"  {'Band':<12}{self.band(gap, band_words(gap))}"
        for name, words in (("Soft share", soft_share_words(gap)), ("Confidence", confidence_words(gap, unit))):
            yield from self.hanging(f"  {name:<12}", wrap(words, self.width - 14, 3))

    def coverage(self, coverage: Coverage, root: str) -> Iterator[str]:
        """Knowledge files that were reached, and those that were not."""
        figure = coverage_figure(coverage, root)
        yield self.bold("Coverage of the knowledge files")
        if not coverage.rate.n:
            yield f"  unknown: {figure.counts}"
            return
        yield from self.figures([figure._replace(label="Reached")])
        if coverage.uncovered:
            yield "  Not reached:"
            yield from self.some((f"    {path}" for path in coverage.uncovered), len(coverage.uncovered), UNCOVERED)

    def sources(self, gap: GapFigures) -> Iterator[str]:
        """Section 7.3: the signals by their source."""
        yield self.bold("By source")
        yield from self.hanging("  ", wrap(classification_words(gap), self.width - 2, 3))
        most = max(gap.by_type.values(), default=0) or 1
        widest = max(len(f"{number:,}") for number in (*gap.by_type.values(), 0))
        for type_ in TYPE_NAMES:
            number = gap.by_type.get(type_, 0)
            start = f"  {TYPE_NAMES[type_]:<17}{number:>{widest},}  {bar(number / most, 12):<12}  "
            meaning = wrap(TYPE_MEANINGS[type_], self.width - len(start), 3)
            yield from self.hanging(start, (self.dim(line) for line in meaning))
        yield f"  {status_words(gap)}"

    def topics(self, topics: Sequence[tuple[str, str, str]]) -> Iterator[str]:
        """What was sought in vain, most often first: how often, the query, the place of an example."""
        if not topics:
            return
        yield self.bold("What was sought in vain most often")
        widest = max(len(count) for count, _, _ in topics[:TOPICS])
        entries = (
            f"  {count:<{widest}}  {shorten(query, self.width - widest - 4)}\n  {'':<{widest}}  {self.dim(place)}"
            for count, query, place in topics
        )
        yield from self.some(entries, len(topics), TOPICS)

    def inventory(self, entries: list[Entry], there_are: int) -> Iterator[str]:
        """Section 7.2: what to write down next."""
        if not entries:
            return
        yield self.bold("Gap inventory")
        shown = ("\n".join(self._signal(entry)) for entry in entries)
        yield from self.some(shown, there_are, SIGNALS, hint=": --format jsonl")

    def _signal(self, entry: Entry) -> Iterator[str]:
        signal = entry.signal
        sample = f"Sample {signal.sample}{f' ({entry.note})' if entry.note else ''}"
        agent = f" / sub-agent {signal.agent_id}" if signal.agent_id else ""
        kind = self.bold(f"[{TYPE_NAMES[signal.type]}]")
        yield f"  {sample}{agent} / turn {signal.turn} / {kind} {STATUS_NAMES[signal.status]}"
        if signal.type in (SignalType.FAILED_SEARCH, SignalType.REPEATED_FAILURE):
            yield from self.indented(sought_words(signal))
            if signal.said:
                yield from self.indented(f"agent self-report: {signal.said}")
        else:
            yield from self.indented(f"agent output: {signal.text}")
            if signal.verdict:
                yield from self.indented(f"judge: {verdict_words(signal)}")
        if entry.places:
            yield f"    {self.dim(' · '.join(entry.places))}"

    def warnings(self, warnings: list[str]) -> Iterator[str]:
        """What the reader should know before trusting a number."""
        if warnings:
            yield self.bold("Warnings")
            for warning in warnings:
                lines = wrap(warning, self.width - 4, 6)
                yield from self.hanging("  ! ", (self.paint(line, "33") for line in lines))

    def next(self, commands: Commands) -> Iterator[str]:
        """The next commands."""
        yield self.bold("Next")
        widest = max(len(command) for command, _ in commands)
        for command, what in commands:
            yield f"  {command:<{widest}}  {self.dim(what)}"

    def figures(self, figures: list[Figure]) -> Iterator[str]:
        """Shares, each with its interval drawn and the counts behind it."""
        for figure in figures:
            line = f"  {figure.label:<12}{percent(figure.value):>7}   "
            if figure.value is None or figure.interval is None:
                yield line + figure.counts
                continue
            low, high = figure.interval
            drawn = self.dim(interval_bar(low, figure.value, high, 24 if self.is_roomy else 14))
            yield f"{line}{drawn}  {interval_words(figure.interval):<12}  {figure.counts}"

    def some(self, entries: Iterable[str], there_are: int, most: int, hint: str = "") -> Iterator[str]:
        """The first entries, and how many more there are."""
        shown = 0
        for entry in entries:
            if shown == most:
                break
            shown += 1
            yield entry
        if there_are > shown:
            yield self.dim(f"  +{there_are - shown:,} more{hint}")

    def indented(self, text: str) -> Iterator[str]:
        """A text below its heading, at most three lines."""
        for line in wrap(text, self.width - 6, 3):
            yield f"    {line}"

    def hanging(self, start: str, lines: Iterable[str], width: int = 0) -> Iterator[str]:
        """The first line behind its start, the others below it; `width` is that of a start with colour codes."""
        for at, line in enumerate(lines):
            yield (start if at == 0 else " " * (width or len(start))) + line

    def band(self, gap: GapFigures, text: str) -> str:
        """A hard colour only where enough samples stand behind the band."""
        return text if gap.band is None or is_softened(gap) else self.paint(text, _COLOURS[gap.band])

    def bold(self, text: str) -> str:
        """A heading."""
        return self.paint(text, "1")

    def dim(self, text: str) -> str:
        """Something beside the point."""
        return self.paint(text, "2")

    def paint(self, text: str, code: str) -> str:
        """The text in a colour, where colours are wanted."""
        return f"\x1b[{code}m{text}\x1b[0m" if self._colour else text


class _ObservePage(Page):
    """The sections that only observed work has."""

    def head(self, report: ObserveReport) -> Iterator[str]:
        yield from self.title("knowbound observe", totals_words(report), [origin_words(report)])
        yield ""
        yield from self.watermark(report.watermark)

    def skills(self, skills: list[SkillRow]) -> Iterator[str]:
        rows = skills[:SKILLS]
        if not rows:
            return
        yield self.bold("By skill")
        interval = ["interval"] if self.is_roomy else []
        head = ["skill", "samples", "gap rate", *interval, "weighted", "coverage", "band"]
        table = [[*head, "confidence"], *(self._skill_cells(row) for row in rows)]
        lines = aligned(table, right=("samples", "gap rate", "weighted", "coverage"))
        yield self.dim("  " + "  ".join(lines[0]).rstrip())
        entries = (
            "  " + "  ".join((*figures, self.band(row.gap, band), confidence)).rstrip()
            for row, (*figures, band, confidence) in zip(rows, lines[1:], strict=True)
        )
        yield from self.some(entries, len(skills), SKILLS, hint=": --format json")

    def _skill_cells(self, row: SkillRow) -> list[str]:
        gap = row.gap
        band = f"({gap.band})" if gap.band and is_softened(gap) else str(gap.band or "unknown")
        return [
            shorten(row.name, max(self.width - (76 if self.is_roomy else 64), 12)),
            f"{gap.rate.n:,}",
            percent(gap.rate.value),
            *([interval_words(gap.rate.interval)] if self.is_roomy else []),
            percent(gap.weighted.value),
            percent(row.coverage.value),
            band,
            str(gap.confidence),
        ]

    def incomplete(self, samples: list[Incomplete]) -> Iterator[str]:
        if not samples:
            return
        yield self.bold(f"{counted(len(samples), 'sample')} without a complete trace, not in the rates")
        entries = (f"  {one.sample} ({one.name}): {one.reason}" for one in samples)
        yield from self.some((shorten(entry, self.width) for entry in entries), len(samples), EXAMPLES)

    def skipped(self, report: ObserveReport) -> Iterator[str]:
        skipped = report.skipped
        if not skipped:
            return
        yield self.bold(f"{counted(sum(skipped.values()), 'line')} skipped")
        for reason, number in skipped.items():
            yield f"  {number:>7,}  {reason}"
        examples = report.skipped_examples
        places = (f"    {self.dim(f'{one.path}:{one.line}')}  {one.reason}" for one in examples)
        yield from self.some(places, len(examples), EXAMPLES)

    def unrecognised(self, files: list[str]) -> Iterator[str]:
        if files:
            yield self.bold(f"{counted(len(files), 'file')} that no reader recognises as a trace")
            yield from self.some((f"  {path}" for path in files), len(files), EXAMPLES)

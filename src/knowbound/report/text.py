"""The observe report for a terminal: calm, aligned, plain strings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from knowbound.core.figures import Band, GapFigures, SkillRow
from knowbound.core.rate import percent
from knowbound.core.signal import Signal, SignalType
from knowbound.report.columns import aligned, bar, interval_bar, shorten, wrap
from knowbound.report.model import ObserveReport
from knowbound.report.plain import plain_report
from knowbound.report.words import (
    NEXT_COMMANDS,
    STATUS_NAMES,
    TYPE_MEANINGS,
    TYPE_NAMES,
    Figure,
    band_words,
    classification_words,
    confidence_words,
    counted,
    coverage_figure,
    gap_figures,
    interval_words,
    is_softened,
    origin_words,
    place_words,
    signal_count,
    soft_share_words,
    sought_words,
    status_words,
    totals_words,
    verdict_words,
)

Commands = tuple[tuple[str, str], ...]
SKILLS, UNCOVERED, TOPICS, SIGNALS, EXAMPLES = 15, 10, 10, 15, 5  # how many are shown before "+N more"
_NARROWEST, _ROOMY = 60, 96  # columns
_COLOURS = {Band.GREEN: "32", Band.YELLOW: "33", Band.RED: "31"}


def render_text(
    report: ObserveReport, *, width: int = 100, colour: bool = False, next_commands: Commands = NEXT_COMMANDS
) -> str:
    """The whole report. Places and the warning are never broken, so they can be wider than the width."""
    shown = replace(report, inventory=report.inventory[:SIGNALS])
    page = _Page(plain_report(shown), max(width, _NARROWEST), colour, next_commands)
    sections = (
        page.head(),
        page.gaps(),
        page.coverage(),
        page.sources(),
        page.skills(),
        page.topics(),
        page.inventory(),
        page.incomplete(),
        page.skipped(),
        page.unrecognised(),
        page.warnings(),
        page.next(),
    )
    return "\n\n".join("\n".join(lines) for section in sections if (lines := list(section))) + "\n"


class _Page:
    """The sections, each a stream of lines; one without lines is left out."""

    def __init__(self, report: ObserveReport, width: int, colour: bool, next_commands: Commands) -> None:
        self._report = report
        self._next = next_commands
        self._width = width
        self._colour = colour

    def head(self) -> Iterator[str]:
        report = self._report
        title = "knowbound observe  "
        yield from self._hanging(self._bold(title), wrap(totals_words(report), self._width - len(title), 2), len(title))
        yield from (self._dim(line) for line in wrap(origin_words(report), self._width, 4))
        yield ""
        mark = report.watermark
        yield f"{self._bold('Test set')}  {mark.path} · {counted(mark.samples, 'sample')} · sha256 {mark.sha256_8}"
        yield mark.warning

    def gaps(self) -> Iterator[str]:
        gap = self._report.gap
        yield self._bold("Knowledge gaps")
        yield from self._figures(gap_figures(gap))
        yield f"  {'Band':<12}{self._band(gap, band_words(gap))}"
        for name, words in (("Soft share", soft_share_words(gap)), ("Confidence", confidence_words(gap))):
            yield from self._hanging(f"  {name:<12}", wrap(words, self._width - 14, 3))

    def coverage(self) -> Iterator[str]:
        coverage = self._report.coverage
        figure = coverage_figure(self._report)
        yield self._bold("Coverage of the knowledge files")
        if not coverage.rate.n:
            yield f"  unknown: {figure.counts}"
            return
        yield from self._figures([figure._replace(label="Reached")])
        if coverage.uncovered:
            yield "  Not reached:"
            yield from self._some((f"    {path}" for path in coverage.uncovered), len(coverage.uncovered), UNCOVERED)

    def sources(self) -> Iterator[str]:
        gap = self._report.gap
        yield self._bold("By source")
        yield from self._hanging("  ", wrap(classification_words(gap), self._width - 2, 3))
        most = max(gap.by_type.values(), default=0) or 1
        widest = max(len(f"{number:,}") for number in (*gap.by_type.values(), 0))
        for type_ in TYPE_NAMES:
            number = gap.by_type.get(type_, 0)
            start = f"  {TYPE_NAMES[type_]:<17}{number:>{widest},}  {bar(number / most, 12):<12}  "
            meaning = wrap(TYPE_MEANINGS[type_], self._width - len(start), 3)
            yield from self._hanging(start, (self._dim(line) for line in meaning))
        yield f"  {status_words(gap)}"

    def skills(self) -> Iterator[str]:
        rows = self._report.skills[:SKILLS]
        if not rows:
            return
        yield self._bold("By skill")
        roomy = self._width >= _ROOMY
        head = ["skill", "samples", "gap rate", *(["interval"] if roomy else []), "weighted", "coverage", "band"]
        table = [[*head, "confidence"], *(self._skill_cells(row, roomy) for row in rows)]
        lines = aligned(table, right=("samples", "gap rate", "weighted", "coverage"))
        yield self._dim("  " + "  ".join(lines[0]).rstrip())
        entries = (
            "  " + "  ".join((*figures, self._band(row.gap, band), confidence)).rstrip()
            for row, (*figures, band, confidence) in zip(rows, lines[1:], strict=True)
        )
        yield from self._some(entries, len(self._report.skills), SKILLS, hint=": --format json")

    def _skill_cells(self, row: SkillRow, roomy: bool) -> list[str]:
        gap = row.gap
        band = f"({gap.band})" if gap.band and is_softened(gap) else str(gap.band or "unknown")
        return [
            shorten(row.name, max(self._width - (76 if roomy else 64), 12)),
            f"{gap.rate.n:,}",
            percent(gap.rate.value),
            *([interval_words(gap.rate.interval)] if roomy else []),
            percent(gap.weighted.value),
            percent(row.coverage.value),
            band,
            str(gap.confidence),
        ]

    def topics(self) -> Iterator[str]:
        topics = self._report.topics
        if not topics:
            return
        yield self._bold("What was sought in vain most often")
        counts = [f"{counted(topic.sessions, 'session')} · {counted(topic.samples, 'sample')}" for topic in topics]
        widest = max(len(count) for count in counts[:TOPICS])
        entries = (
            f"  {count:<{widest}}  {shorten(topic.query, self._width - widest - 4)}\n"
            f"  {'':<{widest}}  {self._dim(place_words(topic.example))}"
            for count, topic in zip(counts, topics, strict=True)
        )
        yield from self._some(entries, len(topics), TOPICS)

    def inventory(self) -> Iterator[str]:
        signals = self._report.inventory
        if not signals:
            return
        yield self._bold("Gap inventory")
        entries = ("\n".join(self._signal(signal)) for signal in signals)
        yield from self._some(entries, signal_count(self._report), SIGNALS, hint=": --format jsonl")

    def _signal(self, signal: Signal) -> Iterator[str]:
        skill = self._report.skill_of.get(signal.sample, "")
        sample = f"Sample {signal.sample}{f' ({skill})' if skill else ''}"
        agent = f" / sub-agent {signal.agent_id}" if signal.agent_id else ""
        kind = self._bold(f"[{TYPE_NAMES[signal.type]}]")
        yield f"  {sample}{agent} / turn {signal.turn} / {kind} {STATUS_NAMES[signal.status]}"
        if signal.type in (SignalType.FAILED_SEARCH, SignalType.REPEATED_FAILURE):
            yield from self._indented(sought_words(signal))
            if signal.said:
                yield from self._indented(f"agent self-report: {signal.said}")
        else:
            yield from self._indented(f"agent output: {signal.text}")
            if signal.verdict:
                yield from self._indented(f"judge: {verdict_words(signal)}")
        if place := place_words(signal):
            yield f"    {self._dim(place)}"

    def incomplete(self) -> Iterator[str]:
        samples = self._report.incomplete
        if not samples:
            return
        yield self._bold(f"{counted(len(samples), 'sample')} without a complete trace, not in the rates")
        entries = (f"  {one.sample} ({one.name}): {one.reason}" for one in samples)
        yield from self._some((shorten(entry, self._width) for entry in entries), len(samples), EXAMPLES)

    def skipped(self) -> Iterator[str]:
        skipped = self._report.skipped
        if not skipped:
            return
        yield self._bold(f"{counted(sum(skipped.values()), 'line')} skipped")
        for reason, number in skipped.items():
            yield f"  {number:>7,}  {reason}"
        examples = self._report.skipped_examples
        places = (f"    {self._dim(f'{one.path}:{one.line}')}  {one.reason}" for one in examples)
        yield from self._some(places, len(examples), EXAMPLES)

    def unrecognised(self) -> Iterator[str]:
        files = self._report.unrecognised
        if files:
            yield self._bold(f"{counted(len(files), 'file')} that no reader recognises as a trace")
            yield from self._some((f"  {path}" for path in files), len(files), EXAMPLES)

    def warnings(self) -> Iterator[str]:
        if self._report.warnings:
            yield self._bold("Warnings")
            for warning in self._report.warnings:
                lines = wrap(warning, self._width - 4, 6)
                yield from self._hanging("  ! ", (self._paint(line, "33") for line in lines))

    def next(self) -> Iterator[str]:
        yield self._bold("Next")
        widest = max(len(command) for command, _ in self._next)
        for command, what in self._next:
            yield f"  {command:<{widest}}  {self._dim(what)}"

    def _figures(self, figures: list[Figure]) -> Iterator[str]:
        for figure in figures:
            line = f"  {figure.label:<12}{percent(figure.value):>7}   "
            if figure.value is None or figure.interval is None:
                yield line + figure.counts
                continue
            low, high = figure.interval
            drawn = self._dim(interval_bar(low, figure.value, high, 24 if self._width >= _ROOMY else 14))
            yield f"{line}{drawn}  {interval_words(figure.interval):<12}  {figure.counts}"

    def _some(self, entries: Iterable[str], there_are: int, most: int, hint: str = "") -> Iterator[str]:
        """The first entries, and how many more there are."""
        shown = 0
        for entry in entries:
            if shown == most:
                break
            shown += 1
            yield entry
        if there_are > shown:
            yield self._dim(f"  +{there_are - shown:,} more{hint}")

    def _indented(self, text: str) -> Iterator[str]:
        for line in wrap(text, self._width - 6, 3):
            yield f"    {line}"

    def _hanging(self, start: str, lines: Iterable[str], width: int = 0) -> Iterator[str]:
        """The first line behind its start, the others below it; `width` is that of a start with colour codes."""
        for at, line in enumerate(lines):
            yield (start if at == 0 else " " * (width or len(start))) + line

    def _band(self, gap: GapFigures, text: str) -> str:
        """A hard colour only where enough samples stand behind the band."""
        return text if gap.band is None or is_softened(gap) else self._paint(text, _COLOURS[gap.band])

    def _bold(self, text: str) -> str:
        return self._paint(text, "1")

    def _dim(self, text: str) -> str:
        return self._paint(text, "2")

    def _paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._colour else text

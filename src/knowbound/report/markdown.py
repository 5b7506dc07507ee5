"""Reports as GitHub-flavoured Markdown, fit for a step summary: the sections that all share, and those of `observe`.

Text from traces stands in code spans only: there no markup, HTML, link or @mention works.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from knowbound.core.signal import SignalType
from knowbound.core.testset import Watermark
from knowbound.report.columns import bar
from knowbound.report.model import ObserveReport
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
    observed_entries,
    place_words,
    signal_count,
    soft_share_words,
    sought_words,
    status_words,
    totals_words,
    verdict_words,
)
from knowbound.stats.figures import GapFigures
from knowbound.stats.rate import percent

TOPICS, SKILLS, SIGNALS, PATHS, EXAMPLES = (
    10,
    20,
    50,
    50,
    20,
)  # a step summary holds 1 MiB; the rest is in the other formats
_LONGEST = 400  # characters of one text
_TICKS = re.compile("`+")


def render_markdown(report: ObserveReport) -> str:
    """The whole report; long lists are folded."""
    report = plain_report(report)
    return joined(
        _head(report),
        figures(report.gap, [*gap_figures(report.gap), coverage_figure(report.coverage, report.root)]),
        sources(report.gap),
        _topics(report),
        _skills(report),
        uncovered(report.coverage.uncovered),
        inventory(observed_entries(report), signal_count(report)),
        _left_out(report),
        next_commands(NEXT_COMMANDS),
    )


def joined(*sections: Iterable[str]) -> str:
    """The sections with a blank line between them; one without lines is left out."""
    return "\n\n".join("\n".join(lines) for section in sections if (lines := list(section))) + "\n"


def code(text: str) -> str:
    """A text from a trace as a code span: its fence is longer than any run of backticks in it."""
    if not text:
        return ""
    text = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    fence = "`" * (1 + max((len(run) for run in _TICKS.findall(text)), default=0))
    space = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{fence}{space}{text}{space}{fence}"


def cell(text: str) -> str:
    """A code span in a table: there a pipe ends the cell even inside code."""
    return code(text).replace("|", "\\|")


def _head(report: ObserveReport) -> Iterator[str]:
    yield "## Knowledge gaps"
    yield ""
    yield totals_words(report)
    yield ""
    yield from watermark(report.watermark)
    yield from warnings(report.warnings)


def watermark(mark: Watermark) -> Iterator[str]:
    """Specification 1, section 7.1."""
    yield f"> **Test set** {code(mark.path)} · {counted(mark.samples, 'sample')} · sha256 `{mark.sha256_8}`<br>"
    yield f"> {mark.warning}"


def warnings(texts: Iterable[str]) -> Iterator[str]:
    """What the reader should know before trusting a number."""
    for text in texts:
        yield ""
        yield f"⚠ {code(text)}"


def figures(gap: GapFigures, shares: Iterable[Figure], unit: str = "sample") -> Iterator[str]:
    """The rates with their intervals, and how to read them."""
    yield from table("| figure | value | interval | counts | meaning |", "| --- | ---: | --- | --- | --- |")
    for figure in shares:
        counts = figure.counts if figure.value is not None else cell(figure.counts)
        interval = interval_words(figure.interval)
        yield f"| **{figure.label}** | {percent(figure.value)} | {interval} | {counts} | {figure.meaning} |"
    yield ""
    yield f"- Band: **{band_words(gap)}**"
    yield f"- Soft share: {soft_share_words(gap)}"
    yield f"- Confidence: {confidence_words(gap, unit)}"


def sources(gap: GapFigures) -> Iterator[str]:
    """Section 7.3: the signals by their source."""
    most = max(gap.by_type.values(), default=0) or 1
    yield "### By source"
    yield ""
    yield f"{classification_words(gap).capitalize()}. {status_words(gap)}."
    yield ""
    yield from table("| source | signals | | meaning |", "| --- | ---: | --- | --- |")
    for type_, name in TYPE_NAMES.items():
        number = gap.by_type.get(type_, 0)
        yield f"| {name} | {number:,} | {bar(number / most, 12)} | {TYPE_MEANINGS[type_]} |"


def _topics(report: ObserveReport) -> Iterator[str]:
    if not report.topics:
        return
    yield "### What was sought in vain most often"
    yield ""
    yield from table("| query | sessions | samples | example |", "| --- | ---: | ---: | --- |")
    for topic in report.topics[:TOPICS]:
        place = cell(place_words(topic.example))
        yield f"| {cell(topic.query)} | {topic.sessions:,} | {topic.samples:,} | {place} |"
    yield from more(len(report.topics) - TOPICS)


def _skills(report: ObserveReport) -> Iterator[str]:
    if not report.skills:
        return
    yield "### By skill"
    yield ""
    yield from table(
        "| skill | samples | gap rate | weighted | coverage | band | confidence |",
        "| --- | ---: | --- | ---: | ---: | --- | --- |",
    )
    for row in report.skills[:SKILLS]:
        gap = row.gap
        rate = f"{percent(gap.rate.value)} ({interval_words(gap.rate.interval)})" if gap.rate.n else "unknown"
        yield (
            f"| {cell(row.name)} | {gap.rate.n:,} | {rate} | {percent(gap.weighted.value)} "
            f"| {percent(row.coverage.value)} | {band_words(gap)} | {gap.confidence} |"
        )
    yield from more(len(report.skills) - SKILLS)


def uncovered(paths: list[str]) -> Iterator[str]:
    """Section 8: natural candidates for new samples."""
    summary = f"{counted(len(paths), 'knowledge file')} not reached"
    yield from folded(summary, (f"- {code(path)}" for path in paths[:PATHS]), len(paths) - PATHS)


def inventory(entries: list[Entry], there_are: int) -> Iterator[str]:
    """Section 7.2: what to write down next."""
    shown = entries[:SIGNALS]
    summary = f"Gap inventory: {counted(there_are, 'signal')}"
    yield from folded(summary, ("\n".join(_signal(entry)) for entry in shown), there_are - len(shown))


def _signal(entry: Entry) -> Iterator[str]:
    signal = entry.signal
    sample = f"Sample {code(signal.sample)}{f' ({code(entry.note)})' if entry.note else ''}"
    agent = f" / sub-agent {code(signal.agent_id)}" if signal.agent_id else ""
    kind, status = TYPE_NAMES[signal.type], STATUS_NAMES[signal.status]
    yield f"- {sample}{agent} / turn {signal.turn} / **\\[{kind}\\]** {status}"
    if signal.type in (SignalType.FAILED_SEARCH, SignalType.REPEATED_FAILURE):
        yield f"  - {code(sought_words(signal))}"
        if signal.said:
            yield f"  - agent self-report: {code(signal.said)}"
    else:
        yield f"  - agent output: {code(signal.text)}"
        if signal.verdict:
            yield f"  - judge: {code(verdict_words(signal))}"
    if entry.places:
        yield f"  - {' · '.join(code(place) for place in entry.places)}"


def _left_out(report: ObserveReport) -> Iterator[str]:
    """Everything that is not in the rates, so that nothing is lost silently."""
    incomplete = [f"- {code(one.sample)} ({code(one.name)}): {code(one.reason)}" for one in report.incomplete]
    examples = [f"- {code(f'{one.path}:{one.line}')}: {code(one.reason)}" for one in report.skipped_examples]
    skipped = [f"- {number:,} {code(reason)}" for reason, number in report.skipped.items()]
    files = [f"- {code(path)}" for path in report.unrecognised]
    lists = (
        (f"{counted(len(incomplete), 'sample')} without a complete trace, not in the rates", incomplete),
        (f"{counted(sum(report.skipped.values()), 'line')} skipped", [*skipped, *examples[:EXAMPLES]]),
        (f"{counted(len(files), 'file')} that no reader recognises as a trace", files),
    )
    for summary, entries in lists:
        yield from folded(summary, entries[:PATHS], len(entries) - PATHS)


def next_commands(commands: Iterable[tuple[str, str]]) -> Iterator[str]:
    """The next commands."""
    yield "### Next"
    yield ""
    for command, what in commands:
        yield f"- `{command}`: {what}"


def table(head: str, rule: str) -> Iterator[str]:
    """The head of a table."""
    yield head
    yield rule


def folded(summary: str, entries: Iterable[str], left: int) -> Iterator[str]:
    """A list behind a summary; nothing where the list is empty."""
    lines = list(entries)
    if lines:
        yield f"<details><summary>{summary}</summary>"
        yield ""
        yield from lines
        yield from more(left)
        yield ""
        yield "</details>"


def more(left: int) -> Iterator[str]:
    """How many are not shown, and where they are."""
    if left > 0:
        yield ""
        yield f"+{left:,} more: `--format json` or `--format jsonl`"

"""The observe report as GitHub-flavoured Markdown, fit for a step summary.

Text from traces stands in code spans only: there no markup, HTML, link or @mention works.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from knowbound.core.rate import percent
from knowbound.core.signal import Signal, SignalType
from knowbound.report.columns import bar
from knowbound.report.model import ObserveReport
from knowbound.report.plain import plain_report
from knowbound.report.words import (
    NEXT_COMMANDS,
    STATUS_NAMES,
    TYPE_MEANINGS,
    TYPE_NAMES,
    band_words,
    classification_words,
    confidence_words,
    counted,
    coverage_figure,
    gap_figures,
    interval_words,
    place_words,
    signal_count,
    soft_share_words,
    sought_words,
    status_words,
    totals_words,
    verdict_words,
)

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
    sections = (
        _head(report),
        _figures(report),
        _sources(report),
        _topics(report),
        _skills(report),
        _uncovered(report),
        _inventory(report),
        _left_out(report),
        _next(),
    )
    return "\n\n".join("\n".join(lines) for section in sections if (lines := list(section))) + "\n"


def code(text: str) -> str:
    """A text from a trace as a code span: its fence is longer than any run of backticks in it."""
    if not text:
        return ""
    text = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    fence = "`" * (1 + max((len(run) for run in _TICKS.findall(text)), default=0))
    space = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{fence}{space}{text}{space}{fence}"


def _cell(text: str) -> str:
    """A code span in a table: there a pipe ends the cell even inside code."""
    return code(text).replace("|", "\\|")


def _head(report: ObserveReport) -> Iterator[str]:
    mark = report.watermark
    yield "## Knowledge gaps"
    yield ""
    yield totals_words(report)
    yield ""
    yield f"> **Test set** {code(mark.path)} · {counted(mark.samples, 'sample')} · sha256 `{mark.sha256_8}`<br>"
    yield f"> {mark.warning}"
    for warning in report.warnings:
        yield ""
        yield f"⚠ {code(warning)}"


def _figures(report: ObserveReport) -> Iterator[str]:
    gap = report.gap
    yield from _table("| figure | value | interval | counts | meaning |", "| --- | ---: | --- | --- | --- |")
    for figure in (*gap_figures(gap), coverage_figure(report)):
        counts = figure.counts if figure.value is not None else _cell(figure.counts)
        interval = interval_words(figure.interval)
        yield f"| **{figure.label}** | {percent(figure.value)} | {interval} | {counts} | {figure.meaning} |"
    yield ""
    yield f"- Band: **{band_words(gap)}**"
    yield f"- Soft share: {soft_share_words(gap)}"
    yield f"- Confidence: {confidence_words(gap)}"


def _sources(report: ObserveReport) -> Iterator[str]:
    gap = report.gap
    most = max(gap.by_type.values(), default=0) or 1
    yield "### By source"
    yield ""
    yield f"{classification_words(gap).capitalize()}. {status_words(gap)}."
    yield ""
    yield from _table("| source | signals | | meaning |", "| --- | ---: | --- | --- |")
    for type_, name in TYPE_NAMES.items():
        number = gap.by_type.get(type_, 0)
        yield f"| {name} | {number:,} | {bar(number / most, 12)} | {TYPE_MEANINGS[type_]} |"


def _topics(report: ObserveReport) -> Iterator[str]:
    if not report.topics:
        return
    yield "### What was sought in vain most often"
    yield ""
    yield from _table("| query | sessions | samples | example |", "| --- | ---: | ---: | --- |")
    for topic in report.topics[:TOPICS]:
        place = _cell(place_words(topic.example))
        yield f"| {_cell(topic.query)} | {topic.sessions:,} | {topic.samples:,} | {place} |"
    yield from _more(len(report.topics) - TOPICS)


def _skills(report: ObserveReport) -> Iterator[str]:
    if not report.skills:
        return
    yield "### By skill"
    yield ""
    yield from _table(
        "| skill | samples | gap rate | weighted | coverage | band | confidence |",
        "| --- | ---: | --- | ---: | ---: | --- | --- |",
    )
    for row in report.skills[:SKILLS]:
        gap = row.gap
        rate = f"{percent(gap.rate.value)} ({interval_words(gap.rate.interval)})" if gap.rate.n else "unknown"
        yield (
            f"| {_cell(row.name)} | {gap.rate.n:,} | {rate} | {percent(gap.weighted.value)} "
            f"| {percent(row.coverage.value)} | {band_words(gap)} | {gap.confidence} |"
        )
    yield from _more(len(report.skills) - SKILLS)


def _uncovered(report: ObserveReport) -> Iterator[str]:
    paths = report.coverage.uncovered
    summary = f"{counted(len(paths), 'knowledge file')} not reached"
    yield from _folded(summary, (f"- {code(path)}" for path in paths[:PATHS]), len(paths) - PATHS)


def _inventory(report: ObserveReport) -> Iterator[str]:
    signals = report.inventory[:SIGNALS]
    entries = ("\n".join(_signal(report, signal)) for signal in signals)
    summary = f"Gap inventory: {counted(signal_count(report), 'signal')}"
    yield from _folded(summary, entries, signal_count(report) - len(signals))


def _signal(report: ObserveReport, signal: Signal) -> Iterator[str]:
    skill = report.skill_of.get(signal.sample, "")
    sample = f"Sample {code(signal.sample)}{f' ({code(skill)})' if skill else ''}"
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
    if place := place_words(signal):
        yield f"  - {code(place)}"


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
        yield from _folded(summary, entries[:PATHS], len(entries) - PATHS)


def _next() -> Iterator[str]:
    yield "### Next"
    yield ""
    for command, what in NEXT_COMMANDS:
        yield f"- `{command}`: {what}"


def _table(head: str, rule: str) -> Iterator[str]:
    yield head
    yield rule


def _folded(summary: str, entries: Iterable[str], left: int) -> Iterator[str]:
    """A list behind a summary; nothing where the list is empty."""
    lines = list(entries)
    if lines:
        yield f"<details><summary>{summary}</summary>"
        yield ""
        yield from lines
        yield from _more(left)
        yield ""
        yield "</details>"


def _more(left: int) -> Iterator[str]:
    if left > 0:
        yield ""
        yield f"+{left:,} more: `--format json` or `--format jsonl`"

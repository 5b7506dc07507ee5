"""Reports as one HTML file: no other asset, no network, nothing of a trace is ever markup.

Every text passes `escape` on its way in. The Content-Security-Policy allows exactly our own style and
script, by their hashes, so that not even a mistake here could run what a trace contains.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from html import escape
from importlib.resources import files
from string import Template
from typing import NamedTuple

from knowbound.core.signal import Signal, SignalType
from knowbound.core.testset import Watermark
from knowbound.report import svg
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
from knowbound.stats.figures import GapFigures, SkillRow, Topic
from knowbound.stats.rate import percent

_LONGEST = 1000  # characters of one text; the whole of it is in the json and jsonl formats
_TOPICS = 10
_BAND_LIMITS = (0.10, 0.30)  # where the bands of the weighted rate meet


class Section(NamedTuple):
    """A part of the page that has something to say."""

    name: str
    title: str
    body: str


def render_html(report: ObserveReport) -> str:
    """The whole page about observed work."""
    report = plain_report(report)
    return page(
        title="Knowledge gaps",
        lead="What the agents looked for and did not find.",
        totals=totals_words(report),
        origin=[origin_words(report)],
        watermark=report.watermark,
        cards=[*gap_cards(report.gap), card(coverage_figure(report.coverage, report.root))],
        reading=reading(report.gap),
        sections=list(_sections(report)),
        commands=NEXT_COMMANDS[1:],
        version=report.version,
    )


def page(
    *,
    title: str,
    lead: str,
    totals: str,
    origin: Iterable[str],
    watermark: Watermark,
    cards: Iterable[str],
    reading: str,
    sections: list[Section],
    commands: Iterable[tuple[str, str]],
    version: str,
) -> str:
    """A page: the watermark stands beside the figures and at the foot."""
    style, script = _asset("report.css"), _asset("report.js")
    return Template(_asset("report.html")).substitute(
        style=style,
        script=script,
        style_hash=_hash(style),
        script_hash=_hash(script),
        title=escape(title),
        lead=escape(lead),
        totals=escape(totals),
        origin="<br>".join(escape(line) for line in origin),
        watermark=watermark_note(watermark),
        cards="".join(cards),
        reading=reading,
        contents="".join(f'<li><a href="#{one.name}">{one.title}</a></li>' for one in sections),
        sections="".join(_section(one) for one in sections),
        next="".join(f"<li><code>{escape(command)}</code> {escape(what)}</li>" for command, what in commands),
        version=escape(version),
    )


@cache
def _asset(name: str) -> str:
    return (files("knowbound.report") / "assets" / name).read_text(encoding="utf-8")


def _hash(inline: str) -> str:
    """The source expression of Content-Security-Policy for an inline style or script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()


def shown(text: str) -> str:
    """A text of a trace, a file or a model: escaped, and cut where it is very long."""
    return escape(text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…")


def watermark_note(mark: Watermark) -> str:
    """Specification 1, section 7.1."""
    return (
        f"<p><strong>Test set</strong> <code>{shown(mark.path)}</code> · {counted(mark.samples, 'sample')}"
        f" · sha256 <code>{escape(mark.sha256_8)}</code></p><p>{escape(mark.warning)}</p>"
    )


def gap_cards(gap: GapFigures, unit: str = "sample") -> Iterator[str]:
    """The gap rates; the weighted one is drawn with the limits of the bands."""
    for figure in gap_figures(gap, unit):
        yield card(figure, _BAND_LIMITS if figure.label == "Weighted" else ())


def card(figure: Figure, marks: Iterable[float] = ()) -> str:
    """A headline figure."""
    drawing = ""
    if figure.value is not None and figure.interval is not None:
        low, high = figure.interval
        drawing = svg.interval(low, figure.value, high, marks)
    known = "" if figure.value is not None else " unknown"
    return (
        f'<div class="card{known}"><h3>{escape(figure.label)}</h3>'
        f'<p class="figure">{percent(figure.value)}</p>{drawing}'
        f'<p class="counts">{shown(figure.counts)}<span>{interval_words(figure.interval)}</span></p>'
        f'<p class="meaning">{escape(figure.meaning)}</p></div>'
    )


def reading(gap: GapFigures, unit: str = "sample") -> str:
    """How the rates are to be read."""
    rows = (
        ("Band", f"{band(gap)} <small>of the weighted rate: green under 10%, yellow under 30%, else red</small>"),
        ("Soft share", escape(soft_share_words(gap))),
        ("Confidence", escape(confidence_words(gap, unit))),
    )
    return "".join(f"<div><dt>{name}</dt><dd>{words}</dd></div>" for name, words in rows)


def band(gap: GapFigures) -> str:
    """A hard colour only where enough samples stand behind the band."""
    kind = "soft" if is_softened(gap) else str(gap.band)
    return f'<span class="band {kind}">{escape(band_words(gap))}</span>'


def sources(gap: GapFigures) -> str:
    """Section 7.3: the signals by their source."""
    rows = "".join(
        f'<tr role="row"><th role="rowheader" scope="row"><i class="{type_.value}"></i>{name}</th>'
        f'<td role="cell" class="number">{gap.by_type.get(type_, 0):,}</td>'
        f'<td role="cell">{escape(TYPE_MEANINGS[type_])}</td></tr>'
        for type_, name in TYPE_NAMES.items()
    )
    return (
        f"<p>{escape(classification_words(gap).capitalize())}.</p>"
        + svg.stacked([(type_.value, gap.by_type.get(type_, 0)) for type_ in TYPE_NAMES])
        + table("sources", ("Source", "Signals", "What it says"), rows)
        + f'<p class="note">{escape(status_words(gap))}</p>'
    )


def table(kind: str, head: Iterable[str], rows: str) -> str:
    """On a phone the rows become blocks; the roles keep them a table for screen readers."""
    cells = "".join(f'<th role="columnheader" scope="col">{name}</th>' for name in head)
    return (
        f'<table class="{kind}" role="table"><thead role="rowgroup"><tr role="row">{cells}</tr></thead>'
        f'<tbody role="rowgroup">{rows}</tbody></table>'
    )


def _sections(report: ObserveReport) -> Iterator[Section]:
    yield Section("sources", "By source", sources(report.gap))
    entries = observed_entries(report)
    if report.topics:
        yield topics(report.topics, entries, topic_counts)
    if report.skills:
        yield Section("skills", "By skill", _skills(report.skills))
    if report.coverage.uncovered:
        yield uncovered(report.coverage.uncovered)
    if entries:
        yield inventory(entries, signal_count(report), "Skill")
    if left_out := "".join(_left_out(report)):
        yield Section("left-out", "Left out, and why", left_out)


def _section(one: Section) -> str:
    return (
        f'<section id="{one.name}" aria-labelledby="{one.name}-title">'
        f'<h2 id="{one.name}-title">{one.title}</h2>{one.body}</section>'
    )


def uncovered(paths: list[str]) -> Section:
    """Section 8: natural candidates for new samples."""
    listed = "".join(f"<li><code>{shown(path)}</code></li>" for path in paths)
    return Section("uncovered", "Knowledge files not reached", f'<ul class="paths">{listed}</ul>')


def topics(found: list[Topic], entries: list[Entry], count: Callable[[Topic], str]) -> Section:
    """What was sought in vain: the first ones in sight, the long tail folded."""
    anchors = {(one.signal.file, one.signal.line, one.signal.query): at for at, one in enumerate(entries, 1)}
    listed = [_topic(topic, count(topic), anchors) for topic in found]
    first, tail = listed[:_TOPICS], listed[_TOPICS:]
    folded = f'<details><summary>+{len(tail)} more</summary><ol class="topics">{"".join(tail)}</ol></details>'
    body = f'<ol class="topics">{"".join(first)}</ol>' + (folded if tail else "")
    return Section("topics", "Sought in vain most often", body)


def _topic(topic: Topic, count: str, anchors: dict[tuple[str, int, str], int]) -> str:
    example = topic.example
    number = anchors.get((example.file, example.line, example.query))
    link = f' <a href="#gap-{number}">in the inventory</a>' if number else ""
    return (
        f"<li><code>{shown(topic.query)}</code> <span>{count}</span>"
        f'<p class="place"><code>{shown(place_words(example))}</code>{link}</p></li>'
    )


def _skills(rows: list[SkillRow]) -> str:
    head = ("Skill", "Samples", "Gap rate", "Weighted", "Coverage", "Band", "Confidence")
    return table("skills", head, "".join(_skill(row) for row in rows))


def _skill(row: SkillRow) -> str:
    gap = row.gap
    cells = (
        ("Samples", f"{gap.rate.n:,}"),
        ("Gap rate", with_bar(gap.rate.value, "gap") + f" <small>{interval_words(gap.rate.interval)}</small>"),
        ("Weighted", percent(gap.weighted.value)),
        ("Coverage", with_bar(row.coverage.value, "coverage")),
        ("Band", band(gap)),
        ("Confidence", str(gap.confidence)),
    )
    return table_row(shown(row.name), cells)


def table_row(head: str, cells: Iterable[tuple[str, str]], anchor: str = "") -> str:
    """A row of named cells: on a phone each shows its name."""
    rest = "".join(f'<td role="cell" data-label="{name}"><span>{cell}</span></td>' for name, cell in cells)
    named = f' id="{anchor}"' if anchor else ""
    return f'<tr role="row"{named}><th role="rowheader" scope="row">{head}</th>{rest}</tr>'


def with_bar(value: float | None, kind: str) -> str:
    """A share and its bar."""
    return percent(value) if value is None else f"{percent(value)} {svg.share(value, kind)}"


def inventory(entries: list[Entry], there_are: int, about: str) -> Section:
    """Section 7.2: what to write down next. `about` is what the note of an entry tells."""
    more = there_are - len(entries)
    rest = f'<p class="note">+{more:,} more: <code>--format jsonl</code></p>' if more > 0 else ""
    listed = "".join(_signal(number, entry) for number, entry in enumerate(entries, 1))
    return Section("inventory", "Gap inventory", _filters(entries, about) + f'<ol class="signals">{listed}</ol>{rest}')


def _filters(entries: list[Entry], about: str) -> str:
    """Hidden until the script shows them: without it the inventory is a plain list."""
    types = Counter(entry.signal.type for entry in entries)
    statuses = Counter(entry.signal.status for entry in entries)
    notes = Counter(entry.note for entry in entries if entry.note)
    chosen = (
        _choice("type", "Source", [(type_.value, TYPE_NAMES[type_], types[type_]) for type_ in TYPE_NAMES]),
        _choice("status", "Status", [(one.value, STATUS_NAMES[one], statuses[one]) for one in STATUS_NAMES]),
        _choice("skill", about, [(note, note, number) for note, number in sorted(notes.items())]),
    )
    return (
        '<form id="filters" hidden role="search" aria-label="Filter the inventory">'
        '<label>Text <input type="search" name="text" autocomplete="off" placeholder="query, words, file, call id">'
        f'</label>{"".join(chosen)}<output id="shown" aria-live="polite"></output></form>'
    )


def _choice(name: str, label: str, options: list[tuple[str, str, int]]) -> str:
    """A selection, where there is something to choose between."""
    present = [option for option in options if option[2]]
    if len(present) < 2:
        return ""
    inside = "".join(f'<option value="{escape(value)}">{shown(words)} ({n:,})</option>' for value, words, n in present)
    return f'<label>{label} <select name="{name}"><option value="">all</option>{inside}</select></label>'


def _signal(number: int, entry: Entry) -> str:
    signal, note = entry.signal, entry.note
    agent = f" / sub-agent {shown(signal.agent_id)}" if signal.agent_id else ""
    named = f' <span class="skill">{shown(note)}</span>' if note else ""
    sample = f'<a href="#{entry.anchor}">{shown(signal.sample)}</a>' if entry.anchor else shown(signal.sample)
    return (
        f'<li id="gap-{number}" data-type="{signal.type.value}" data-status="{signal.status.value}"'
        f' data-skill="{escape(note)}"><h3><a href="#gap-{number}" aria-label="Signal {number}">{number}</a>'
        f' <span class="type {signal.type.value}">{TYPE_NAMES[signal.type]}</span>'
        f' <span class="status {signal.status.value}">{STATUS_NAMES[signal.status]}</span>{named}</h3>'
        f"{''.join(_said_and_done(signal))}"
        f'<p class="place">Sample {sample}{agent} / turn {signal.turn}<br>'
        f"{_places(entry)}</p></li>"
    )


def _said_and_done(signal: Signal) -> Iterator[str]:
    if signal.type in (SignalType.FAILED_SEARCH, SignalType.REPEATED_FAILURE):
        yield f'<p class="sought"><code>{shown(sought_words(signal))}</code></p>'
        if signal.said:
            yield f"<p>agent self-report: <q>{shown(signal.said)}</q></p>"
        return
    yield f"<p>agent output: <q>{shown(signal.text)}</q></p>"
    if signal.verdict:
        yield f"<p>judge: {shown(verdict_words(signal))}</p>"


def _places(entry: Entry) -> str:
    """The way back: the lines it came from, and the agent's own ids."""
    signal = entry.signal
    ids = [*signal.call_ids, *([signal.message_id] if signal.message_id else [])]
    found = f" · found later by <code>{shown(signal.resolved_by)}</code>" if signal.resolved_by else ""
    return " ".join(f"<code>{shown(one)}</code>" for one in (*entry.places, *ids) if one) + found


def _left_out(report: ObserveReport) -> Iterator[str]:
    """Everything that is not in the rates, so that nothing is lost silently."""
    yield folded_list(
        f"{counted(len(report.incomplete), 'sample')} without a complete trace, not in the rates",
        [f"<code>{shown(one.sample)}</code> ({shown(one.name)}): {shown(one.reason)}" for one in report.incomplete],
    )
    reasons = [f"{number:,} {shown(reason)}" for reason, number in report.skipped.items()]
    examples = [
        f"<code>{shown(f'{one.path}:{one.line}')}</code>: {shown(one.reason)}" for one in report.skipped_examples
    ]
    yield folded_list(f"{counted(sum(report.skipped.values()), 'line')} skipped", [*reasons, *examples])
    yield folded_list(
        f"{counted(len(report.unrecognised), 'file')} that no reader recognises as a trace",
        [f"<code>{shown(path)}</code>" for path in report.unrecognised],
    )
    yield folded_list(
        counted(len(report.warnings), "warning"), [shown(warning) for warning in report.warnings], opened=True
    )


def folded_list(summary: str, entries: list[str], *, opened: bool = False) -> str:
    """A list behind its summary; nothing where it is empty."""
    if not entries:
        return ""
    items = "".join(f"<li>{entry}</li>" for entry in entries)
    return f'<details{" open" if opened else ""}><summary>{summary}</summary><ul class="paths">{items}</ul></details>'

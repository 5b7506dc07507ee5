"""The observe report as one HTML file: no other asset, no network, nothing of a trace is ever markup.

Every text passes `escape` on its way in. The Content-Security-Policy allows exactly our own style and
script, by their hashes, so that not even a mistake here could run what a trace contains.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Iterable
from functools import cache
from html import escape
from importlib.resources import files
from string import Template

from knowbound.core.figures import GapFigures, SkillRow, Topic
from knowbound.core.rate import percent
from knowbound.core.signal import Signal, SignalType
from knowbound.report import svg
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

_LONGEST = 1000  # characters of one text; the whole of it is in the json and jsonl formats
_TOPICS = 10
_BAND_LIMITS = (0.10, 0.30)  # where the bands of the weighted rate meet


def render_html(report: ObserveReport) -> str:
    """The whole page."""
    report = plain_report(report)
    style, script = _asset("report.css"), _asset("report.js")
    sections = list(_sections(report))
    return Template(_asset("report.html")).substitute(
        style=style,
        script=script,
        style_hash=_hash(style),
        script_hash=_hash(script),
        totals=escape(totals_words(report)),
        origin=escape(origin_words(report)),
        watermark=_watermark(report),
        cards="".join(_cards(report)),
        reading=_reading(report.gap),
        contents="".join(f'<li><a href="#{name}">{title}</a></li>' for name, title, _ in sections),
        sections="".join(_section(name, title, body) for name, title, body in sections),
        next="".join(f"<li><code>{escape(command)}</code> {escape(what)}</li>" for command, what in NEXT_COMMANDS[1:]),
        version=escape(report.version),
    )


@cache
def _asset(name: str) -> str:
    return (files("knowbound.report") / "assets" / name).read_text(encoding="utf-8")


def _hash(inline: str) -> str:
    """The source expression of Content-Security-Policy for an inline style or script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()


def _text(text: str) -> str:
    return escape(text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…")


def _watermark(report: ObserveReport) -> str:
    mark = report.watermark
    return (
        f"<p><strong>Test set</strong> <code>{_text(mark.path)}</code> · {counted(mark.samples, 'sample')}"
        f" · sha256 <code>{escape(mark.sha256_8)}</code></p><p>{escape(mark.warning)}</p>"
    )


def _cards(report: ObserveReport) -> Iterable[str]:
    for figure in gap_figures(report.gap):
        yield _card(figure, _BAND_LIMITS if figure.label == "Weighted" else ())
    yield _card(coverage_figure(report))


def _card(figure: Figure, marks: Iterable[float] = ()) -> str:
    drawing = ""
    if figure.value is not None and figure.interval is not None:
        low, high = figure.interval
        drawing = svg.interval(low, figure.value, high, marks)
    known = "" if figure.value is not None else " unknown"
    return (
        f'<div class="card{known}"><h3>{escape(figure.label)}</h3>'
        f'<p class="figure">{percent(figure.value)}</p>{drawing}'
        f'<p class="counts">{_text(figure.counts)}<span>{interval_words(figure.interval)}</span></p>'
        f'<p class="meaning">{escape(figure.meaning)}</p></div>'
    )


def _reading(gap: GapFigures) -> str:
    rows = (
        ("Band", f"{_band(gap)} <small>of the weighted rate: green under 10%, yellow under 30%, else red</small>"),
        ("Soft share", escape(soft_share_words(gap))),
        ("Confidence", escape(confidence_words(gap))),
    )
    return "".join(f"<div><dt>{name}</dt><dd>{words}</dd></div>" for name, words in rows)


def _band(gap: GapFigures) -> str:
    """A hard colour only where enough samples stand behind the band."""
    kind = "soft" if is_softened(gap) else str(gap.band)
    return f'<span class="band {kind}">{escape(band_words(gap))}</span>'


def _sources(gap: GapFigures) -> str:
    rows = "".join(
        f'<tr role="row"><th role="rowheader" scope="row"><i class="{type_.value}"></i>{name}</th>'
        f'<td role="cell" class="number">{gap.by_type.get(type_, 0):,}</td>'
        f'<td role="cell">{escape(TYPE_MEANINGS[type_])}</td></tr>'
        for type_, name in TYPE_NAMES.items()
    )
    return (
        f"<p>{escape(classification_words(gap).capitalize())}.</p>"
        + svg.stacked([(type_.value, gap.by_type.get(type_, 0)) for type_ in TYPE_NAMES])
        + _table("sources", ("Source", "Signals", "What it says"), rows)
        + f'<p class="note">{escape(status_words(gap))}</p>'
    )


def _table(kind: str, head: Iterable[str], rows: str) -> str:
    """On a phone the rows become blocks; the roles keep them a table for screen readers."""
    cells = "".join(f'<th role="columnheader" scope="col">{name}</th>' for name in head)
    return (
        f'<table class="{kind}" role="table"><thead role="rowgroup"><tr role="row">{cells}</tr></thead>'
        f'<tbody role="rowgroup">{rows}</tbody></table>'
    )


def _sections(report: ObserveReport) -> Iterable[tuple[str, str, str]]:
    """Name, title and body of the sections that have something to say."""
    yield "sources", "By source", _sources(report.gap)
    if report.topics:
        yield "topics", "Sought in vain most often", _topics(report)
    if report.skills:
        yield "skills", "By skill", _skills(report.skills)
    if uncovered := report.coverage.uncovered:
        paths = "".join(f"<li><code>{_text(path)}</code></li>" for path in uncovered)
        yield "uncovered", "Knowledge files not reached", f'<ul class="paths">{paths}</ul>'
    if report.inventory:
        yield "inventory", "Gap inventory", _inventory(report)
    if left_out := "".join(_left_out(report)):
        yield "left-out", "Left out, and why", left_out


def _section(name: str, title: str, body: str) -> str:
    return f'<section id="{name}" aria-labelledby="{name}-title"><h2 id="{name}-title">{title}</h2>{body}</section>'


def _topics(report: ObserveReport) -> str:
    """The first ones in sight, the long tail folded."""
    anchors = _anchors(report.inventory)
    entries = [_topic(topic, anchors) for topic in report.topics]
    first, tail = entries[:_TOPICS], entries[_TOPICS:]
    folded = f'<details><summary>+{len(tail)} more</summary><ol class="topics">{"".join(tail)}</ol></details>'
    return f'<ol class="topics">{"".join(first)}</ol>' + (folded if tail else "")


def _anchors(inventory: list[Signal]) -> dict[tuple[str, int, str], int]:
    """Where a signal stands in the inventory, by its place and query."""
    return {(signal.file, signal.line, signal.query): number for number, signal in enumerate(inventory, 1)}


def _topic(topic: Topic, anchors: dict[tuple[str, int, str], int]) -> str:
    example = topic.example
    number = anchors.get((example.file, example.line, example.query))
    link = f' <a href="#gap-{number}">in the inventory</a>' if number else ""
    return (
        f"<li><code>{_text(topic.query)}</code> <span>{counted(topic.sessions, 'session')} · "
        f"{counted(topic.samples, 'sample')}</span>"
        f'<p class="place"><code>{_text(place_words(example))}</code>{link}</p></li>'
    )


def _skills(rows: list[SkillRow]) -> str:
    head = ("Skill", "Samples", "Gap rate", "Weighted", "Coverage", "Band", "Confidence")
    return _table("skills", head, "".join(_skill(row) for row in rows))


def _skill(row: SkillRow) -> str:
    gap = row.gap
    cells = (
        ("Samples", f"{gap.rate.n:,}"),
        ("Gap rate", _with_bar(gap.rate.value, "gap") + f" <small>{interval_words(gap.rate.interval)}</small>"),
        ("Weighted", percent(gap.weighted.value)),
        ("Coverage", _with_bar(row.coverage.value, "coverage")),
        ("Band", _band(gap)),
        ("Confidence", str(gap.confidence)),
    )
    figures = "".join(f'<td role="cell" data-label="{name}"><span>{cell}</span></td>' for name, cell in cells)
    return f'<tr role="row"><th role="rowheader" scope="row">{_text(row.name)}</th>{figures}</tr>'


def _with_bar(value: float | None, kind: str) -> str:
    return percent(value) if value is None else f"{percent(value)} {svg.share(value, kind)}"


def _inventory(report: ObserveReport) -> str:
    signals, skill_of = report.inventory, report.skill_of
    more = signal_count(report) - len(signals)
    rest = f'<p class="note">+{more:,} more: <code>--format jsonl</code></p>' if more > 0 else ""
    entries = "".join(_signal(number, one, skill_of.get(one.sample, "")) for number, one in enumerate(signals, 1))
    return _filters(signals, skill_of) + f'<ol class="signals">{entries}</ol>{rest}'


def _filters(signals: list[Signal], skill_of: dict[str, str]) -> str:
    """Hidden until the script shows them: without it the inventory is a plain list."""
    types = Counter(signal.type for signal in signals)
    statuses = Counter(signal.status for signal in signals)
    skills = Counter(skill for signal in signals if (skill := skill_of.get(signal.sample)))
    chosen = (
        _choice("type", "Source", [(type_.value, TYPE_NAMES[type_], types[type_]) for type_ in TYPE_NAMES]),
        _choice("status", "Status", [(one.value, STATUS_NAMES[one], statuses[one]) for one in STATUS_NAMES]),
        _choice("skill", "Skill", [(skill, skill, number) for skill, number in sorted(skills.items())]),
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
    inside = "".join(f'<option value="{escape(value)}">{_text(words)} ({n:,})</option>' for value, words, n in present)
    return f'<label>{label} <select name="{name}"><option value="">all</option>{inside}</select></label>'


def _signal(number: int, signal: Signal, skill: str) -> str:
    agent = f" / sub-agent {_text(signal.agent_id)}" if signal.agent_id else ""
    named = f' <span class="skill">{_text(skill)}</span>' if skill else ""
    return (
        f'<li id="gap-{number}" data-type="{signal.type.value}" data-status="{signal.status.value}"'
        f' data-skill="{escape(skill)}"><h3><a href="#gap-{number}" aria-label="Signal {number}">{number}</a>'
        f' <span class="type {signal.type.value}">{TYPE_NAMES[signal.type]}</span>'
        f' <span class="status {signal.status.value}">{STATUS_NAMES[signal.status]}</span>{named}</h3>'
        f"{''.join(_said_and_done(signal))}"
        f'<p class="place">Sample {_text(signal.sample)}{agent} / turn {signal.turn}<br>'
        f"{_place(signal)}</p></li>"
    )


def _said_and_done(signal: Signal) -> Iterable[str]:
    if signal.type in (SignalType.FAILED_SEARCH, SignalType.REPEATED_FAILURE):
        yield f'<p class="sought"><code>{_text(sought_words(signal))}</code></p>'
        if signal.said:
            yield f"<p>agent self-report: <q>{_text(signal.said)}</q></p>"
        return
    yield f"<p>agent output: <q>{_text(signal.text)}</q></p>"
    if signal.verdict:
        yield f"<p>judge: {_text(verdict_words(signal))}</p>"


def _place(signal: Signal) -> str:
    """The way back: the line in the trace, and the agent's own ids."""
    ids = [*signal.call_ids, *([signal.message_id] if signal.message_id else [])]
    found = f" · found later by <code>{_text(signal.resolved_by)}</code>" if signal.resolved_by else ""
    return " ".join(f"<code>{_text(one)}</code>" for one in (place_words(signal), *ids) if one) + found


def _left_out(report: ObserveReport) -> Iterable[str]:
    """Everything that is not in the rates, so that nothing is lost silently."""
    yield _folded(
        f"{counted(len(report.incomplete), 'sample')} without a complete trace, not in the rates",
        [f"<code>{_text(one.sample)}</code> ({_text(one.name)}): {_text(one.reason)}" for one in report.incomplete],
    )
    reasons = [f"{number:,} {_text(reason)}" for reason, number in report.skipped.items()]
    examples = [
        f"<code>{_text(f'{one.path}:{one.line}')}</code>: {_text(one.reason)}" for one in report.skipped_examples
    ]
    yield _folded(f"{counted(sum(report.skipped.values()), 'line')} skipped", [*reasons, *examples])
    yield _folded(
        f"{counted(len(report.unrecognised), 'file')} that no reader recognises as a trace",
        [f"<code>{_text(path)}</code>" for path in report.unrecognised],
    )
    yield _folded(
        counted(len(report.warnings), "warning"), [_text(warning) for warning in report.warnings], opened=True
    )


def _folded(summary: str, entries: list[str], *, opened: bool = False) -> str:
    """A list behind its summary; nothing where it is empty."""
    if not entries:
        return ""
    items = "".join(f"<li>{entry}</li>" for entry in entries)
    return f'<details{" open" if opened else ""}><summary>{summary}</summary><ul class="paths">{items}</ul></details>'

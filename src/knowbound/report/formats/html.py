"""A page as one HTML file: no other asset, no network, and no text is ever markup.

Every text passes `_text` on its way in. The Content-Security-Policy allows exactly our own style and script, by their
hashes, so that not even a mistake here could run what a trace contains.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from html import escape
from importlib.resources import files
from string import Template
from typing import assert_never

from knowbound.language import language, translated
from knowbound.report import sections as kinds
from knowbound.report.formats.plain import plain, plain_lines, plain_piece
from knowbound.report.lines import Bar, Fold, Inline, Line, Span, Tone, inlines
from knowbound.report.sections import Entry, Page, Part, Section, Table
from knowbound.report.words import more_words, warning_lines
from knowbound.text.printable import counted, shorten

_LONGEST = 1000  # characters of one text; the whole of it is in the json and jsonl formats
_BRIEF = 200  # characters of a summary
_ELEMENTS: dict[str, str] = {
    Tone.DATA: "code",
    Tone.QUOTE: "q",
    Tone.TITLE: "strong",
    Tone.STRONG: "strong",
    Tone.SOFT: "small",
}


def render_html(page: Page) -> str:
    """The whole page, with the watermark above the figures and at the foot."""
    style, script = asset("report.css"), asset("report.js")
    # The first watermark is repeated at the foot.
    mark = next((part for section in page.shown for part in section.parts if isinstance(part, kinds.Mark)), None)
    return Template(asset("report.html")).substitute(
        lang=language(),
        skip=translated("Skip to the report"),
        contents_label=translated("Sections"),
        style=style,
        script=script,
        style_hash=_hash(style),
        script_hash=_hash(script),
        title=_text(page.title),
        lead=_text(page.lead),
        totals=line_html(page.totals),
        origin="<br>".join(map(line_html, page.origin)),
        contents="".join(_link(section) for section in page.shown),
        sections="".join(map(section_html, page.shown)),
        watermark=_part(mark) if mark else "",
        next=_commands(page),
        version=_text(page.version),
    )


def _commands(page: Page) -> str:
    listed = "".join(f"<li><code>{_text(command)}</code> {_text(why)}</li>" for command, why in page.commands)
    return f'<h2>{translated("Next")}</h2><ul class="next">{listed}</ul>' if listed else ""


@cache
def asset(name: str) -> str:
    """A file that comes with the page."""
    return (files("knowbound.report.formats") / "assets" / name).read_text(encoding="utf-8")


def _hash(inline: str) -> str:
    """The source expression of Content-Security-Policy for an inline style or script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()


def _text(text: str) -> str:
    return escape(shorten(plain(text), _LONGEST))


def line_html(line: Line) -> str:
    """Return a line as markup."""
    return "".join(_inline(piece) for piece in inlines(line))


def _inline(piece: Inline) -> str:
    match piece:
        case Bar():
            return share_svg(piece.share, piece.tone)
        case Fold():
            return _fold(piece)
        case Span():
            return _span(piece)
        case _:
            return escape(plain_piece(piece))


def _span(span: Span) -> str:
    element = _ELEMENTS.get(span.tone, "span")
    kind = f' class="{span.tone}"' if element == "span" else ""
    shown = f"<{element}{kind}>{_text(span.text)}</{element}>"
    if not span.link:
        return shown
    return f'<a href="{escape(span.link if span.link.startswith("/") else f"#{span.link}")}">{shown}</a>'


def _fold(fold: Fold) -> str:
    """The summary in sight, shortened; longer texts behind it, as they were written."""
    whole = (fold.summary,) if len(fold.summary) > _BRIEF else ()  # cut in sight
    texts = "".join(f"<pre>{escape(shorten(plain_lines(text), _LONGEST))}</pre>" for text in (*whole, *fold.texts))
    return f'<details class="asked"><summary>{_text(shorten(plain(fold.summary), _BRIEF))}</summary>{texts}</details>'


def _link(section: Section) -> str:
    if not section.title or "html" in section.folded_in:
        return ""
    return f'<li><a href="#{section.name}">{_text(section.title)}</a></li>'


def section_html(section: Section) -> str:
    """Return a section as markup."""
    body = "".join(map(_part, section.parts))
    if not section.title:
        return f"<div>{body}</div>"
    if "html" in section.folded_in:
        return f'<details id="{section.name}"><summary>{_text(section.title)}</summary>{body}</details>'
    return (
        f'<section id="{section.name}" aria-labelledby="{section.name}-title">'
        f'<h2 id="{section.name}-title">{_text(section.title)}</h2>{body}</section>'
    )


def _part(part: Part) -> str:
    match part:
        case kinds.Mark(mark):
            samples, title = counted(mark.samples, "sample"), translated("Test set")
            warning = "<br>".join(map(escape, warning_lines(mark.warning)))
            return (
                f'<div class="watermark" role="note"><p><strong>{title}</strong> <code>{_text(mark.path)}</code> · '
                f"{samples} · sha256 <code>{_text(mark.sha256_8)}</code></p><p>{warning}</p></div>"
            )
        case kinds.Figures(figures):
            return f'<div class="cards">{"".join(map(_card, figures))}</div>'
        case kinds.Facts(rows):
            inside = "".join(f"<div><dt>{_text(name)}</dt><dd>{line_html(line)}</dd></div>" for name, line in rows)
            return f'<dl class="reading">{inside}</dl>'
        case Table():
            return _table(part)
        case kinds.Listing():
            return _listing(part)
        case kinds.Chart(panel):
            from knowbound.report.formats.charts import trend_svg  # noqa: PLC0415

            return trend_svg(panel)
        case kinds.MetricChart():
            from knowbound.report.formats.charts import metric_svg  # noqa: PLC0415

            return metric_svg(part)
        case kinds.Note():
            start = f'<p class="note {part.tone}">' if part.tone else "<p>"
            return f"{start}{line_html(part.text)}</p>"
        case _:
            assert_never(part)


def _card(figure: kinds.Figure) -> str:
    drawing = interval_svg(*figure.drawn, figure.limits) if figure.drawn else ""
    unknown_class = "" if figure.drawn else " unknown"
    return (
        f'<div class="card{unknown_class}"><h3>{_text(figure.label)}</h3>'
        f'<p class="figure">{_text(figure.value)}</p>{drawing}'
        f'<p class="counts"><span>{line_html(figure.counts)}</span><span>{_text(figure.interval)}</span></p>'
        f'<p class="meaning">{_text(figure.meaning)}</p></div>'
    )


def _table(part: Table) -> str:
    """All rows. On a phone they become blocks; the roles keep them a table for screen readers."""
    heads = "".join(
        f'<th role="columnheader" scope="col"{_number_class(column.right)}>{_text(column.name)}</th>'
        for column in part.columns
    )
    return (
        f'<table role="table"><thead role="rowgroup"><tr role="row">{heads}</tr></thead>'
        f'<tbody role="rowgroup">{"".join(_row(row, part) for row in part.rows)}</tbody></table>'
    )


def _row(row: kinds.Row, part: Table) -> str:
    first, *others = map(line_html, row.cells)
    cells = "".join(
        f'<td role="cell" data-label="{_text(column.name)}"{_number_class(column.right)}><span>{cell}</span></td>'
        for column, cell in zip(part.columns[1:], others, strict=True)
    )
    named = f' id="{row.anchor}"' if row.anchor else ""
    return f'<tr role="row"{named}><th role="rowheader" scope="row">{first}</th>{cells}</tr>'


def _number_class(right: bool) -> str:
    return ' class="number"' if right else ""


def _listing(part: kinds.Listing) -> str:
    """Render all entries of a list; the tail is folded unless the list has filters."""
    filters = _filters(part.entries)
    first = len(part.entries) if filters else part.shown
    tail = part.entries[first:]
    rest = f"<details><summary>{more_words(len(tail))}</summary>{_entries(tail)}</details>" if tail else ""
    left = part.left(len(part.entries))
    unseen = f'<p class="note">{more_words(left)}: <code>{_text(part.hint)}</code></p>' if left else ""
    return filters + _entries(part.entries[:first]) + rest + unseen


def _entries(entries: Iterable[Entry]) -> str:
    """Render entries: as a plain list if they have heads alone."""
    found = list(entries)
    if not any(entry.lines or entry.place or entry.anchor for entry in found):
        return f'<ul class="paths">{"".join(f"<li>{line_html(entry.head)}</li>" for entry in found)}</ul>'
    kind = "entries" if any(entry.lines for entry in found) else "entries brief"
    return f'<ol class="{kind}">{"".join(map(_entry, found))}</ol>'


def _entry(entry: Entry) -> str:
    named = f' id="{entry.anchor}"' if entry.anchor else ""
    chosen = "".join(f' data-{name.lower()}="{_text(value)}"' for name, value, _ in entry.filters)
    lines = "".join(f"<p>{line_html(line)}</p>" for line in entry.lines)
    place = " ".join(line_html(line) for line in (entry.place, entry.more) if line)
    label = translated("Link to this entry")
    link = f'<a class="self" href="#{entry.anchor}" aria-label="{label}">#</a> ' if entry.anchor else ""
    where = f'<div class="place">{place}</div>' if place else ""
    return f'<li{named}{chosen}><p class="head">{link}{line_html(entry.head)}</p>{lines}{where}</li>'


def _filters(entries: Iterable[Entry]) -> str:
    """Render the filters of a list, hidden until the script shows them."""
    choices: dict[str, Counter[tuple[str, str]]] = {}
    for entry in entries:
        for name, value, words in entry.filters:
            choices.setdefault(name, Counter())[value, words] += 1
    if not choices:
        return ""
    return (
        f'<form id="filters" hidden role="search" aria-label="{translated("Filter the inventory")}">'
        f'<label>{translated("Text")} <input type="search" name="text" autocomplete="off" '
        f'placeholder="{translated("query, words, file, call id")}">'
        f'</label>{"".join(_choices(choices))}<output id="shown" aria-live="polite"></output></form>'
    )


def _choices(choices: dict[str, Counter[tuple[str, str]]]) -> Iterator[str]:
    """A selection wherever there is something to choose between."""
    for name, counts in choices.items():
        if len(counts) > 1:
            inside = "".join(
                f'<option value="{_text(value)}">{_text(translated(words))} ({number:,})</option>'
                for (value, words), number in counts.items()
            )
            all_ = f'<option value="">{translated("all")}</option>'
            yield f'<label>{translated(name)} <select name="{name.lower()}">{all_}{inside}</select></label>'


# Drawings in a line. The text beside a drawing says the same, so they are hidden from screen readers.


def interval_svg(low: float, value: float, high: float, marks: Iterable[float] = ()) -> str:
    """A share on a line from 0 to 1, with its interval; `marks` are limits to read it against."""
    ticks = "".join(f'<line class="tick" x1="{_x(limit)}" x2="{_x(limit)}" y1="1" y2="15"/>' for limit in marks)
    return _drawing(
        "interval",
        16,
        f'<rect class="track" x="0" y="6" width="100%" height="4" rx="2"/>{ticks}'
        f'<rect class="span" x="{_x(low)}" y="5" width="{_x(high - low)}" height="6" rx="3"/>'
        f'<circle class="point" cx="{_x(value)}" cy="8" r="5"/>',
    )


def share_svg(value: float, kind: str = "") -> str:
    """A bar for a share of 0 to 1."""
    return _drawing(
        f"share {kind}".strip(),
        8,
        '<rect class="track" x="0" y="0" width="100%" height="8" rx="4"/>'
        f'<rect class="fill" x="0" y="0" width="{_x(value)}" height="8" rx="4"/>',
    )


def _drawing(kind: str, height: int, inside: str) -> str:
    return f'<svg class="{kind}" width="100%" height="{height}" aria-hidden="true" focusable="false">{inside}</svg>'


def _x(share: float) -> str:
    return f"{100 * min(max(share, 0.0), 1.0):.2f}%"

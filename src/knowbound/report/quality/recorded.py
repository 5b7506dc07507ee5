"""Report on the texts that were injected into recorded sessions, and whether they helped (specification 2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Unpack

import msgspec

from knowbound.core.quality import Counts
from knowbound.report import Layout, PageFormat
from knowbound.report.formats import render
from knowbound.report.formats.json import document
from knowbound.report.lines import Line, data, prose
from knowbound.report.sections import Entry, Note, Page, listing, section, table
from knowbound.report.words import place_words, rate_cell
from knowbound.stats.rate import Rate
from knowbound.text.printable import counted

_SHOWN = 5  # entries
_ENOUGH = 3  # injections of one piece before it is called useless
_FIRST_WORDS = 120  # characters


class ScoredSource(msgspec.Struct, frozen=True):
    """Everything from one place: our store, an instruction file, a hook."""

    name: str
    pieces: int
    sessions: int
    on_topic: Rate
    used: Rate
    contradicted: Rate


class ScoredItem(msgspec.Struct, frozen=True):
    """One item or piece, with the way back to the turn that says most about it."""

    id: str
    source: str
    text: str
    counts: Counts
    correction: str = ""
    turn: str = ""
    file: str = ""
    line: int = 0


class RecordedQuality(msgspec.Struct, frozen=True):
    """The texts that were injected into recorded sessions, with verdicts."""

    judge: str
    sessions: int
    turns: int
    sources: tuple[ScoredSource, ...]
    items: tuple[ScoredItem, ...]
    problems: tuple[str, ...] = ()

    @property
    def wrong(self) -> list[ScoredItem]:
        """The contradicted items, most often first."""
        found = [item for item in self.items if item.counts.contradicted]
        return sorted(found, key=lambda item: (-item.counts.contradicted, item.id))

    @property
    def never_on_topic(self) -> list[ScoredItem]:
        """Injected several times, and never about what was asked."""
        found = [item for item in self.items if item.counts.judged >= _ENOUGH and not item.counts.on_topic]
        return sorted(found, key=lambda item: (-item.counts.judged, -len(item.text), item.id))

    @property
    def ignored(self) -> list[ScoredItem]:
        """The items that were on topic several times, and never used."""
        found = [item for item in self.items if item.counts.on_topic >= _ENOUGH and not item.counts.used]
        return sorted(found, key=lambda item: (-item.counts.on_topic, item.id))


def render_recorded(report: RecordedQuality, format: PageFormat, **layout: Unpack[Layout]) -> str:
    """The report in a format."""
    keys = "judge sessions turns sources(name pieces sessions on_topic used contradicted) items problems"
    made = lambda: document("knowbound.recorded-quality/1", report, keys)  # noqa: E731
    return render(format, lambda: _page(report), made, **layout)


def _page(report: RecordedQuality) -> Page:
    rows = (
        (
            data(source.name),
            str(source.pieces),
            str(source.sessions),
            *map(rate_cell, (source.on_topic, source.used, source.contradicted)),
        )
        for source in report.sources
    )
    sources = table("source | pieces> | sessions> | on topic | used | contradicted", rows)
    return Page(
        verb="quality score",
        title="Does what is injected help?",
        lead=_lead(report),
        totals=f"{counted(report.sessions, 'session')} · {counted(report.turns, 'turn')} · judge {report.judge}",
        sections=(
            section("To fix first", "fix", listing(_to_fix(report), _SHOWN, "--format json")),
            section("By source", "sources", sources, Note(_MEANING)),
            section("Notes", "", listing(map(prose, report.problems))),
        ),
        commands=_COMMANDS if report.items else _FIRST_COMMANDS,
    )


_FIRST_COMMANDS = (("knowbound install claude-code", "inject items of your store, and have every turn scored"),)
_COMMANDS = (
    ("knowbound quality score --format html -o quality.html", "all of it, in a browser"),
    ("knowbound kms import FILE", "inject a file's sections only where a prompt is about them"),
)
_MEANING = (
    "What stays in the context (instruction files, hooks at the start of a session) counts once a session: yes, if one "
    "of its turns says so. Only text that a trace holds is judged: Claude Code's transcripts do not hold CLAUDE.md. "
    "Intervals are at 95% and count sessions, not pieces. Not being used is no fault by itself."
)


def _lead(report: RecordedQuality) -> str:
    if not report.items:
        return "Nothing that was injected is in these traces."
    wrong, never = len(report.wrong), len(report.never_on_topic)
    if wrong:
        return f"Look at {counted(wrong, 'text')} that agents contradicted first."
    if never:
        return f"Nothing was contradicted. {counted(never, 'text')} were never about what was asked."
    return "Nothing was contradicted, and nothing was always beside the point."


def _to_fix(report: RecordedQuality) -> Iterator[Entry]:
    for item in report.wrong:
        counts = item.counts
        yield _entry(item, f"contradicted {counts.contradicted} of {counts.judged} times", item.correction)
    for item in report.never_on_topic:
        yield _entry(item, f"never on topic, injected {item.counts.judged} times")
    for item in report.ignored:
        yield _entry(item, f"on topic {item.counts.on_topic} of {item.counts.judged} times, never used")


def _entry(item: ScoredItem, why: str, said: str = "") -> Entry:
    lines: list[Line] = [data(" ".join(item.text.split())[:_FIRST_WORDS])]
    if said:
        lines.append(("The agent said: ", prose(" ".join(said.split())[: 2 * _FIRST_WORDS])))
    return Entry((data(item.source), f": {why}"), tuple(lines), data(place_words(item.file, item.line)))

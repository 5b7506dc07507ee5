"""What was injected into recorded sessions, and whether it helped: in any format (specification 2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from knowbound.core.quality import Counts
from knowbound.report.format_names import PageFormat
from knowbound.report.formats import render
from knowbound.report.formats.json import as_json, fields
from knowbound.report.sections import Column, Entry, Line, Listing, Note, Page, Row, Section, Table, data, prose
from knowbound.report.words import place_words
from knowbound.stats.printing import percent, percent_range
from knowbound.stats.rate import Rate
from knowbound.text.printable import counted

_SHOWN = 5
_ENOUGH = 3  # injections of one piece before it is called useless
_FIRST_WORDS = 120


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
    """What was injected into recorded sessions, judged."""

    judge: str
    sessions: int
    turns: int
    sources: tuple[ScoredSource, ...]
    items: tuple[ScoredItem, ...]
    problems: tuple[str, ...] = ()

    @property
    def wrong(self) -> list[ScoredItem]:
        """Contradicted, most often first."""
        found = [item for item in self.items if item.counts.contradicted]
        return sorted(found, key=lambda item: (-item.counts.contradicted, item.id))

    @property
    def never_on_topic(self) -> list[ScoredItem]:
        """Injected several times, and never about what was asked."""
        found = [item for item in self.items if item.counts.judged >= _ENOUGH and not item.counts.on_topic]
        return sorted(found, key=lambda item: (-item.counts.judged, -len(item.text), item.id))

    @property
    def ignored(self) -> list[ScoredItem]:
        """On topic several times, and never used."""
        found = [item for item in self.items if item.counts.on_topic >= _ENOUGH and not item.counts.used]
        return sorted(found, key=lambda item: (-item.counts.on_topic, item.id))


def render_recorded(report: RecordedQuality, format: PageFormat, *, width: int = 100, colour: bool = False) -> str:
    """The report in a format; width and colour are for the terminal."""
    return render(format, lambda: _page(report), lambda: _document(report), width=width, colour=colour)


def _page(report: RecordedQuality) -> Page:
    return Page(
        verb="quality score",
        title="Does what is injected help?",
        lead=_lead(report),
        totals=f"{counted(report.sessions, 'session')} · {counted(report.turns, 'turn')} · judge {report.judge}",
        origin=(),
        sections=(
            Section("To fix first", (Listing(tuple(_to_fix(report)), _SHOWN, "--format json"),), "fix"),
            Section("By source", (_table(report.sources), Note(_MEANING)), "sources"),
            Section("Notes", (Listing(tuple(Entry(prose(problem)) for problem in report.problems)),)),
        ),
        commands=_commands(report),
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
        yield _entry(item, f"contradicted {_times(item.counts.contradicted, item)}", item.correction)
    for item in report.never_on_topic:
        yield _entry(item, f"never on topic, injected {_sessions(item)}", "")
    for item in report.ignored:
        yield _entry(item, f"on topic {_times(item.counts.on_topic, item)}, never used", "")


def _times(number: int, item: ScoredItem) -> str:
    return f"{number} of {item.counts.judged} times"


def _sessions(item: ScoredItem) -> str:
    return f"{item.counts.judged} times"


def _entry(item: ScoredItem, why: str, said: str) -> Entry:
    lines: list[Line] = [data(" ".join(item.text.split())[:_FIRST_WORDS])]
    if said:
        lines.append(("The agent said: ", prose(" ".join(said.split())[: 2 * _FIRST_WORDS])))
    return Entry((data(item.source), f": {why}"), tuple(lines), place=data(place_words(item.file, item.line)))


def _table(sources: Sequence[ScoredSource]) -> Table:
    columns = (Column("source"), *(Column(name, right=True) for name in ("pieces", "sessions")))
    columns += tuple(Column(name) for name in ("on topic", "used", "contradicted"))
    rows = [
        Row(
            (
                data(one.name),
                str(one.pieces),
                str(one.sessions),
                *map(_rate, (one.on_topic, one.used, one.contradicted)),
            )
        )
        for one in sources
    ]
    return Table(columns, tuple(rows))


def _rate(rate: Rate) -> str:
    return f"{percent(rate.value)} ({rate.k} of {rate.n}, {percent_range(rate.interval)})" if rate.n else "unknown"


def _commands(report: RecordedQuality) -> tuple[tuple[str, str], ...]:
    if not report.items:
        return (("knowbound install claude-code", "inject items of your store, and have every turn scored"),)
    return (
        ("knowbound quality score --format html -o quality.html", "all of it, in a browser"),
        ("knowbound kms import FILE", "inject a file's sections only where a prompt is about them"),
    )


def _document(report: RecordedQuality) -> dict[str, object]:
    """`knowbound.recorded-quality/1` of docs/json.md."""
    return {
        "format": "knowbound.recorded-quality/1",
        **fields(report, "judge sessions turns"),
        "sources": [
            {**fields(one, "name pieces sessions"), **fields(one, "on_topic used contradicted")}
            for one in report.sources
        ],
        "items": as_json(report.items),
        "problems": list(report.problems),
    }

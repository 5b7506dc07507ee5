"""The report of `observe`, in any format: what agents looked for and did not find."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from enum import Enum
from functools import partial
from typing import assert_never

from msgspec.structs import replace

from knowbound.core.signal import Signal
from knowbound.language import say
from knowbound.report.format_names import GapFormat, PageFormat
from knowbound.report.formats import render
from knowbound.report.formats.json import fields
from knowbound.report.formats.plain import near
from knowbound.report.gap_sections import (
    INTERVALS,
    InventoryEntry,
    figures_line,
    inventory,
    judged_hedges,
    mark_section,
    marked,
    open_band,
    open_section,
    share_cell,
    sources,
    uncovered,
    warnings,
)
from knowbound.report.model import ObserveReport
from knowbound.report.sections import (
    ASIDE,
    Bar,
    Column,
    Entry,
    Line,
    Listing,
    Note,
    Page,
    Row,
    Section,
    Table,
    data,
    joined,
    prose,
)
from knowbound.report.topics import by_project, first_topics, other_topics
from knowbound.report.words import place_words, without_uuids
from knowbound.stats.figures import SkillRow
from knowbound.stats.printing import percent
from knowbound.text.printable import counted

Format = PageFormat | GapFormat
NEXT_COMMANDS: tuple[tuple[str, str], ...] = (
    ("knowbound report --topic ID", "the traces behind a topic"),
    ("knowbound report --format html -o report.html", "this report in a browser"),
    ("knowbound observe --format jsonl", "every signal, one per line"),
    ("knowbound explain failed_search", "what it means, what to do"),
)
_SKILLS = (
    Column("skill"),
    Column("samples", right=True),
    Column("open rate"),
    Column("", optional=2),
    Column("gap rate", right=True),
    Column("coverage", right=True),
    Column("open band"),
    Column("confidence", optional=1),
)


class Detail(Enum):
    """How much of the report is shown."""

    SHORT = "topics and one line of figures"
    RATES = "with every rate, its interval and how to read it"
    FULL = "everything"


def render_observe(
    report: ObserveReport,
    format: Format,
    *,
    width: int = 100,
    colour: bool = False,
    here: str | None = None,
    commands: tuple[tuple[str, str], ...] = NEXT_COMMANDS,
    answers: str = "",
    detail: Detail = Detail.FULL,
) -> str:
    """The report in a format; width and colour are for the terminal, machine formats name files relative to `here`.

    `answers` is a line about the answers, from whoever audited them. A page for a browser always has everything.
    """
    if format == "html":
        detail = Detail.FULL
    match format:
        case "sarif" | "junit" | "github":
            return _for_machines(report, format, os.getcwd() if here is None else here)
        case _:
            page, document = (lambda: _page(report, commands, answers, detail)), (lambda: _document(report))
            return render(format, page, document, width=width, colour=colour)


def _for_machines(report: ObserveReport, format: GapFormat, here: str) -> str:
    """Loaded when asked for: observing again costs little more than the start of a process."""
    from knowbound.report.formats import github, junit, sarif  # noqa: PLC0415

    match format:
        case "sarif":
            return sarif.observed_sarif(report, here)
        case "junit":
            return junit.observed_junit(report)
        case "github":
            return github.observed_github(report, here)
        case _:
            assert_never(format)


def _page(report: ObserveReport, commands: tuple[tuple[str, str], ...], answers: str, detail: Detail) -> Page:
    """The report for people."""
    report = with_short_places(report)
    entries = observed_entries(report)
    is_short, is_full = detail is Detail.SHORT, detail is Detail.FULL
    figures = (figures_line if is_short else partial(open_section, root=report.root))(report.gap, report.coverage)
    rest = _rest(report, entries) if is_full else ()
    return Page(
        verb="observe",
        title="Gaps worth acting on",
        lead="What agents looked for, what it cost them, and how it ended.",
        totals=_totals(report),
        origin=(origin_line(report),),
        sections=(
            first_topics(report, say("The traces of one: {}", commands[0][0]) if NEXT_COMMANDS[0] in commands else ""),
            mark_section(report.watermark),
            figures,
            Section("Answers", (Note(answers),), "answers"),
            warnings(report.warnings),
            *rest,
        ),
        commands=commands,
        version=report.version,
    )


def _rest(report: ObserveReport, entries: list[InventoryEntry]) -> tuple[Section, ...]:
    """The sections behind the first screen."""
    return (
        other_topics(report),
        by_project(report),
        judged_hedges(report.judging),
        sources(report.gap),
        marked(report.marking),
        Section("By skill", (Table(_SKILLS, tuple(map(_skill, report.skills)), 15), INTERVALS), "skills"),
        uncovered(report.coverage.uncovered),
        inventory(entries, "Skill", signal_count(report)),
        *_left_out(report),
    )


def observed_entries(report: ObserveReport) -> list[InventoryEntry]:
    """The inventory of observed work."""
    topics = {topic.id for topic in report.topics}
    return [
        InventoryEntry(
            signal,
            skill := report.skill_of.get(signal.sample, ""),
            tuple(filter(None, [signal_place(signal)])),
            label=(data(skill) or "a sample", say(", turn {}", signal.turn)),
            topic=f"topic-{signal.topic}" if signal.topic in topics else "",
        )
        for signal in report.inventory
    ]


def signal_place(signal: Signal) -> str:
    """The line that a signal comes from."""
    return place_words(signal.file, signal.line)


def signal_count(report: ObserveReport) -> int:
    """How many signals there are; the inventory may hold fewer."""
    return max(report.totals.signals, len(report.inventory))


def with_short_places(report: ObserveReport) -> ObserveReport:
    """The watermark names the folder once; the lines below it need not repeat it."""
    return with_places_from(report, report.places) if len(report.places) == 1 else report


def with_places_from(report: ObserveReport, folders: list[str]) -> ObserveReport:
    """The same report with files named relative to the first of the folders that they are in."""

    def moved(signal: Signal) -> Signal:
        return replace(signal, file=near(signal.file, folders))

    return replace(
        report,
        inventory=[moved(signal) for signal in report.inventory],
        topics=[
            replace(topic, examples=[replace(one, file=near(one.file, folders)) for one in topic.examples])
            for topic in report.topics
        ],
        skipped_examples=[replace(skip, path=near(skip.path, folders)) for skip in report.skipped_examples],
        unrecognised=[near(name, folders) for name in report.unrecognised],
    )


def _totals(report: ObserveReport) -> str:
    totals = report.totals
    samples = counted(totals.samples, "sample")
    if report.incomplete:
        samples += say(" ({:,} incomplete)", len(report.incomplete))
    work = (counted(totals.sessions, "session"), counted(totals.turns, "turn"), counted(totals.tool_calls, "tool call"))
    return " · ".join((samples, *work, counted(signal_count(report), "signal")))


def origin_line(report: ObserveReport) -> Line:
    """Which agents the traces are of, what was filtered, and when; the watermark says where they are."""
    agents = ", ".join(f"{agent} {sessions:,}" for agent, sessions in report.agents.items())
    filters = ", ".join(f"{name} {value}" for name, value in report.filters.items())
    only = ("filter: ", prose(filters)) if filters else ""
    return joined((counted(report.totals.files, "file"), prose(agents), only, report.made))


def _skill(row: SkillRow) -> Row:
    gap = row.gap
    cells = (
        data(row.name),
        f"{gap.rate.n:,}",
        share_cell(gap.open),
        Bar(gap.open.value or 0.0),
        percent(gap.rate.value),
        percent(row.coverage.value),
        open_band(gap),
        str(gap.confidence),
    )
    return Row(cells)


def _left_out(report: ObserveReport) -> Iterator[Section]:
    """Everything that is not in the rates, so that nothing is lost silently."""
    incomplete = [
        (data(one.name), f", {one.day}" if one.day else "", ": ", prose(one.reason)) for one in report.incomplete
    ]
    title = say("{} without a complete trace, not in the rates", counted(len(incomplete), "sample"))
    yield Section(title, (_lines(incomplete),), "incomplete", ASIDE)
    reasons = [(f"{number:,} ", prose(reason)) for reason, number in report.skipped.items()]
    examples = [
        (data(without_uuids(place_words(one.path, one.line))), " ", prose(one.reason))
        for one in report.skipped_examples
    ]
    title = say("{} skipped", counted(sum(report.skipped.values()), "line"))
    yield Section(title, (_lines(reasons, 20), _lines(examples)), "skipped", ASIDE)
    files = [(data(without_uuids(path)),) for path in report.unrecognised]
    title = say("{} that no reader recognises as a trace", counted(len(files), "file"))
    yield Section(title, (_lines(files),), "unrecognised", ASIDE)


def _lines(lines: Iterable[Line], shown: int = 5) -> Listing:
    return Listing(tuple(map(Entry, lines)), shown, "--format json")


def _document(report: ObserveReport) -> dict[str, object]:
    """`knowbound.observe/1` of docs/json.md: its keys first, then what is added to them."""
    return {
        "format": "knowbound.observe/1",
        **fields(report, "watermark totals gap coverage"),
        "skills": [_skill_fields(row) for row in report.skills],
        **fields(
            report, "topics inventory skill_of incomplete skipped skipped_examples unrecognised agents projects places"
        ),
        **fields(report, "root filters warnings judging marking made version"),
    }


def _skill_fields(row: SkillRow) -> dict[str, object]:
    return {
        "name": row.name,
        "samples": row.gap.rate.n,
        "gap": row.gap.rate.to_json(),
        "coverage": row.coverage.to_json(),
        "band": row.gap.band,
        "confidence": row.gap.confidence,
        "open": row.gap.open.to_json(),
        "open_band": row.gap.open_band,
    }

"""The report of `observe`, in any format: what agents looked for and did not find."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Unpack

from msgspec.structs import replace

from knowbound.language import say
from knowbound.report import GapFormat, Layout, PageFormat
from knowbound.report import figures as gaps
from knowbound.report.figures import INTERVALS, InventoryEntry, band_span, share_cell
from knowbound.report.formats import render
from knowbound.report.formats.json import document
from knowbound.report.formats.plain import made_plain, near, with_files_near
from knowbound.report.lines import Bar, Line, data, joined, prose
from knowbound.report.model import ObserveReport
from knowbound.report.sections import ASIDE, Listing, Note, Page, Section, listing, section, table
from knowbound.report.topics import by_project, first_topics, other_topics
from knowbound.report.words import not_read_words, place_words, sessions_words, unknown_shares, without_uuids
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
_SKILL = """name samples=gap.rate.n gap=gap.rate coverage band=gap.band confidence=gap.confidence open=gap.open
    open_band=gap.open_band"""
_KEYS = f"""watermark totals gap coverage skills({_SKILL}) topics inventory skill_of incomplete skipped skipped_examples
    unrecognised agents projects places root filters warnings judging marking reading made version"""


class Detail(Enum):
    """The amount of the report that is shown."""

    SHORT = "topics and one line of figures"
    RATES = "with every rate, its interval and how to read it"
    FULL = "everything"


def render_observe(
    report: ObserveReport,
    format: Format,
    *,
    here: str | None = None,
    commands: tuple[tuple[str, str], ...] = NEXT_COMMANDS,
    answers: str = "",
    detail: Detail = Detail.FULL,
    **layout: Unpack[Layout],
) -> str:
    """The report in a format, machine formats name files relative to `here`.

    `answers` is a line about the answers, from whoever audited them. A page for a browser always has everything.
    """
    if format == "html":
        detail = Detail.FULL
    match format:
        case "sarif" | "junit" | "github":
            # Loaded when asked for: observing again costs little more than the start of a process.
            from knowbound.report.formats import ci, sarif  # noqa: PLC0415

            if format == "junit":
                return ci.observed_junit(made_plain(with_short_places(report)))
            renderer = sarif.observed_sarif if format == "sarif" else ci.observed_github
            return renderer(with_files_near(made_plain(report), [os.getcwd() if here is None else here]))
        case _:
            page = lambda: _page(report, commands, answers, detail)  # noqa: E731
            keys = lambda: document("knowbound.observe/1", report, _KEYS)  # noqa: E731
            return render(format, page, keys, **layout)


def _page(report: ObserveReport, commands: tuple[tuple[str, str], ...], answers: str, detail: Detail) -> Page:
    report = with_short_places(report)
    gap, coverage = report.gap, report.coverage
    is_short, is_full = detail is Detail.SHORT, detail is Detail.FULL
    figures = gaps.figures_line(gap, coverage) if is_short else gaps.open_section(gap, coverage, report.root)
    # The demo has other commands, and no such hint.
    hint = say("The traces of one: {}", commands[0][0]) if NEXT_COMMANDS[0] in commands else ""
    return Page(
        verb="observe",
        title="Gaps worth acting on",
        lead="What agents looked for, what it cost them, and how it ended.",
        totals=_totals(report),
        origin=(origin_line(report),),
        sections=(
            first_topics(report, hint),
            gaps.mark_section(report.watermark),
            figures,
            section("Answers", "answers", Note(answers)),
            gaps.warnings(report.warnings),
            *(_rest(report) if is_full else ()),
        ),
        commands=commands,
        version=report.version,
    )


def _rest(report: ObserveReport) -> tuple[Section, ...]:
    """Return the sections that only the full report has."""
    skills = table(
        "skill | samples> | open rate | ?2 | gap rate> | coverage> | open band | confidence?1",
        map(_skill, report.skills),
        15,
    )
    return (
        other_topics(report),
        by_project(report),
        gaps.judged_hedges(report.judging),
        gaps.sources(report.gap),
        gaps.marked(report.marking),
        section("By skill", "skills", skills, INTERVALS),
        gaps.uncovered(report.coverage.uncovered),
        gaps.inventory(observed_entries(report), "Skill", signal_count(report)),
        *_left_out(report),
    )


def observed_entries(report: ObserveReport) -> list[InventoryEntry]:
    """The inventory of observed work."""
    topics = {topic.id for topic in report.topics}
    return [
        InventoryEntry(
            signal=signal,
            note=(skill := report.skill_of.get(signal.sample, "")),
            places=tuple(filter(None, [place_words(signal.file, signal.line)])),
            label=(data(skill) or "a sample", say(", turn {}", signal.turn)),
            topic=f"topic-{signal.topic}" if signal.topic in topics else "",
        )
        for signal in report.inventory
    ]


def signal_count(report: ObserveReport) -> int:
    """Return the number of signals; the inventory may have fewer."""
    return max(report.totals.signals, len(report.inventory))


def with_short_places(report: ObserveReport) -> ObserveReport:
    """Return a report whose places do not repeat the folder that its watermark names."""
    if len(report.places) != 1:
        return report
    skipped = [replace(skip, path=near(skip.path, report.places)) for skip in report.skipped_examples]
    unrecognised = [near(name, report.places) for name in report.unrecognised]
    near_files = with_files_near(report, report.places)
    return replace(near_files, skipped_examples=skipped, unrecognised=unrecognised)


def _totals(report: ObserveReport) -> str:
    totals = report.totals
    samples = counted(totals.samples, "sample")
    if report.incomplete:
        samples += say(" ({:,} incomplete)", len(report.incomplete))
    turns = counted(totals.turns, "turn")
    if totals.turns_by_programs:
        turns += say(" ({:,} by programs)", totals.turns_by_programs)
    work = (sessions_words(report.reading, totals.sessions), turns, counted(totals.tool_calls, "tool call"))
    return " · ".join((samples, *work, counted(signal_count(report), "signal")))


def origin_line(report: ObserveReport) -> Line:
    """Return the agents, the filters and the time of a report; the watermark says where its traces are."""
    agents = ", ".join(f"{agent} {sessions:,}" for agent, sessions in report.agents.items())
    filters = ", ".join(f"{name} {value}" for name, value in report.filters.items())
    only = ("filter: ", prose(filters)) if filters else ""
    left = (prose(not_read_words(report.reading)), unknown_shares(report.read.of_lines, report.read.of_calls))
    return joined((counted(report.totals.files, "file"), prose(agents), only, *left, report.made))


def _skill(row: SkillRow) -> tuple[Line, ...]:
    gap = row.gap
    return (
        data(row.name),
        f"{gap.rate.n:,}",
        share_cell(gap.open),
        Bar(gap.open.value or 0.0),
        percent(gap.rate.value),
        percent(row.coverage.value),
        band_span(gap, gap.open_band),
        str(gap.confidence),
    )


def _left_out(report: ObserveReport) -> Iterator[Section]:
    """Everything that is not in the rates, so that nothing is lost silently."""
    incomplete = [
        (data(sample.name), f", {sample.day}" if sample.day else "", ": ", prose(sample.reason))
        for sample in report.incomplete
    ]
    title = say("{} without a complete trace, not in the rates", counted(len(incomplete), "sample"))
    yield section(title, "incomplete", _lines(incomplete), folded_in=ASIDE)
    reasons = _lines(((f"{number:,} ", prose(reason)) for reason, number in report.skipped.items()), 20)
    places = ((without_uuids(place_words(skip.path, skip.line)), skip.reason) for skip in report.skipped_examples)
    examples = ((data(place), " ", prose(reason)) for place, reason in places)
    title = say("{} skipped", counted(sum(report.skipped.values()), "line"))
    yield section(title, "skipped", reasons, _lines(examples), folded_in=ASIDE)
    title = say("{} that no reader recognises as a trace", counted(len(report.unrecognised), "file"))
    files = _lines((data(without_uuids(path)),) for path in report.unrecognised)
    yield section(title, "unrecognised", files, folded_in=ASIDE)


def _lines(lines: Iterable[Line], shown: int = 5) -> Listing:
    return listing(lines, shown, "--format json")

"""What the hook injects for labelled prompts, and which floor of relevance to use: in any format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from knowbound.report.format_names import ShortFormat
from knowbound.report.formats import render
from knowbound.report.formats.json import as_json, fields
from knowbound.report.sections import Column, Entry, Inline, Line, Listing, Page, Row, Section, Table, data
from knowbound.stats.floor import FloorCalibration, FloorPoint, WrongPrompt, more_to_settle
from knowbound.stats.printing import percent, percent_range
from knowbound.stats.rate import Rate
from knowbound.text.printable import counted

_MOST_CASES = 10
_WITHOUT_TRUST = 3  # items that a project's own config may set alone: the default of injection.most_items


class FloorReport(msgspec.Struct, frozen=True):
    """The labelled prompts, how many items the store serves, and what was found."""

    path: str
    sha256_8: str  # of the file
    prompts: int
    items: int
    found: FloorCalibration
    model: bool = False  # whether one is configured to choose


def render_floor(report: FloorReport, format: ShortFormat, *, width: int = 100) -> str:
    """The calibration in a format."""
    return render(format, lambda: _page(report), lambda: _document(report), width=width)


def _page(report: FloorReport) -> Page:
    found = report.found
    mark = f" · {counted(report.prompts, 'prompt')} · sha256 {report.sha256_8} · {counted(report.items, 'item')} served"
    return Page(
        verb="quality calibrate",
        title="The relevance floor",
        lead="",
        totals=_verdict(found),
        origin=((data(report.path), mark),),
        sections=(
            Section("", (Listing(tuple(map(Entry, _what_to_do(found))), shown=20),)),
            Section("Figures", (_figures(found),)),
            Section(
                f"Floors, with at most {counted(found.shown.most_items, 'item')}", (_curve(found.by_floor, found),)
            ),
            Section(f"Numbers of items, at a floor of {found.shown.floor:.2f}", (_curve(found.by_number, found),)),
            Section("Prompts to look at", (Listing(tuple(map(_case, found.cases)), _MOST_CASES, "--format json"),)),
            Section("Notes", (Listing(tuple(map(Entry, _notes(report)))),)),
        ),
    )


def _verdict(found: FloorCalibration) -> str:
    if found.is_too_small:
        return "Undecided: too few labelled prompts"
    if found.recommended is None:
        return "No floor gives what is wanted"
    if _same(found.recommended, found.present):
        return "The present settings are the recommended ones"
    return f"Recommended: floor {_setting(found.recommended)} (now {_setting(found.present)})"


def _setting(point: FloorPoint) -> str:
    return f"{point.floor:.2f}, {counted(point.most_items, 'item')}"


def _same(one: FloorPoint, other: FloorPoint) -> bool:
    return (one.floor, one.most_items) == (other.floor, other.most_items)


def _what_to_do(found: FloorCalibration) -> Iterator[Line]:
    wanted = (
        f"{percent(found.wanted.precision)} of the injected items on topic and {percent(found.wanted.left_alone)} of "
    )
    wanted += "the prompts that need nothing left alone"
    if found.is_too_small:
        more = [f"{n:,} more that need {what}" for n, what in _missing(found) if n]
        yield f"Label {' and '.join(more)}: with fewer, one prompt more or less moves the floor."
    elif found.recommended is None:
        yield f"No floor gives {wanted}. Look at the prompts below: an item may be too general, or a label wrong."
        yield "A lower --precision or --left-alone shows what a floor can give."
    elif _same(found.recommended, found.present):
        yield f"Nothing to change: this floor gives {wanted}, and none that does gives more prompts a right item."
    else:
        yield "Put this into knowbound.toml:"
        yield data("[injection]")
        yield data(f"relevance_floor = {found.recommended.floor:.2f}")
        yield data(f"most_items = {found.recommended.most_items}")
        yield f"It is the lowest floor with {wanted}."


def _missing(found: FloorCalibration) -> Sequence[tuple[int, str]]:
    return (found.missing_needing, "an item"), (found.missing_left_alone, "nothing")


def _figures(found: FloorCalibration) -> Table:
    columns = {
        "now": found.present,
        "recommended": found.recommended,
        "held out": found.held_out,
    }
    shown = {name: point for name, point in columns.items() if point is not None}
    rows = (
        ("right injected", [point.right for point in shown.values()]),
        ("on topic", [point.on_topic for point in shown.values()]),
        ("left alone", [point.left_alone for point in shown.values()]),
    )
    return Table(
        (Column(""), *map(Column, shown)),
        tuple(Row((name, *map(_with_interval, rates))) for name, rates in rows),
        hint="",
    )


def _curve(points: Sequence[FloorPoint], found: FloorCalibration) -> Table:
    columns = ("floor", "items", "prompts", "right injected", "on topic", "left alone")
    return Table(
        (*(Column(name, right=True) for name in columns), Column("")),
        tuple(Row(_curve_cells(point, found)) for point in points),
    )


def _curve_cells(point: FloorPoint, found: FloorCalibration) -> tuple[Line, ...]:
    marks = [
        name
        for name, other in (("now", found.present), ("recommended", found.recommended))
        if other is not None and _same(point, other)
    ]
    rates = (_short(rate) for rate in (point.right, point.on_topic, point.left_alone))
    return f"{point.floor:.2f}", str(point.most_items), str(point.prompts.k), *rates, ", ".join(marks)


def _with_interval(rate: Rate) -> str:
    return f"{percent(rate.value)} ({rate.k} of {rate.n}, {percent_range(rate.interval)})" if rate.n else "–"


def _short(rate: Rate) -> str:
    return f"{percent(rate.value)} ({rate.k} of {rate.n})" if rate.n else "–"


def _case(case: WrongPrompt) -> Entry:
    parts: list[Inline] = [data(case.name), ": "]
    if case.off_topic:
        parts += ["off topic ", data(" ".join(case.off_topic))]
    if case.missed:
        parts += ["; " if case.off_topic else "", "not injected ", data(" ".join(case.missed))]
    return Entry(tuple(parts))


def _notes(report: FloorReport) -> Iterator[Line]:
    found, point = report.found, report.found.shown
    for name, unit, rate, share in (
        ("on topic", "injected items", point.on_topic, found.wanted.precision),
        ("left alone", "prompts", point.left_alone, found.wanted.left_alone),
    ):
        more = more_to_settle(rate, share)
        if more == 0 or not rate.n or found.is_too_small:  # what to label first is said above
            continue
        missing = f"about {more:,} more would" if more else "no number that anyone labels would"
        yield f"The interval of what is {name} has {percent(share)} in it: {rate.n} {unit} do not settle it, {missing}."
    if found.recommended and found.recommended.most_items > _WITHOUT_TRUST:
        yield f"More than {_WITHOUT_TRUST} items lift a limit: that counts from a project only after knowbound trust."
    if report.model:
        yield "A model chooses (model.tasks.choose): the floor decides where it does not answer in time."
    if found.held_out:
        yield "Held out: a fifth of the prompts at a time, at the floor that the other four fifths recommend."
    yield "Intervals are Wilson's at 95%. Nothing was changed, in the store or in the settings."


def _document(report: FloorReport) -> dict[str, object]:
    """`knowbound.floor/1` of docs/json.md."""
    found = report.found
    return {
        "format": "knowbound.floor/1",
        **fields(report, "path sha256_8 prompts items"),
        "wanted": as_json(found.wanted),
        "present": _point(found.present),
        "recommended": _point(found.recommended),
        "held_out": None if found.held_out is None else fields(found.held_out, "right on_topic left_alone prompts"),
        "missing": {"needing": found.missing_needing, "left_alone": found.missing_left_alone},
        "by_floor": [_point(point) for point in found.by_floor],
        "by_number": [_point(point) for point in found.by_number],
        "cases": as_json(found.cases),
    }


def _point(point: FloorPoint | None) -> dict[str, object] | None:
    return None if point is None else fields(point, "floor most_items right on_topic left_alone prompts")

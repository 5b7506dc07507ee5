"""Report on injection for labelled prompts at each floor of relevance, and the floor to use: in any format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from knowbound.report import ShortFormat
from knowbound.report.formats import render
from knowbound.report.formats.json import document
from knowbound.report.lines import Inline, Line, data
from knowbound.report.sections import Page, Table, listing, section, table
from knowbound.report.words import rate_cell
from knowbound.stats.floor import FloorCalibration, FloorPoint, WrongPrompt, more_to_settle
from knowbound.stats.printing import percent
from knowbound.text.printable import counted

_MOST_CASES = 10
_WITHOUT_TRUST = 3  # items that a project's own config may set alone: the default of injection.most_items
_POINT = "floor most_items right on_topic left_alone prompts"
_KEYS = f"""path sha256_8 prompts items wanted=found.wanted present=found.present({_POINT})
    recommended=found.recommended({_POINT}) held_out=found.held_out(right on_topic left_alone prompts)
    missing=found(needing=missing_needing left_alone=missing_left_alone) by_floor=found.by_floor({_POINT})
    by_number=found.by_number({_POINT}) cases=found.cases"""


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
    return render(format, lambda: _page(report), lambda: document("knowbound.floor/1", report, _KEYS), width=width)


def _page(report: FloorReport) -> Page:
    found = report.found
    mark = f" · {counted(report.prompts, 'prompt')} · sha256 {report.sha256_8} · {counted(report.items, 'item')} served"
    floors = f"Floors, with at most {counted(found.shown.most_items, 'item')}"
    return Page(
        verb="quality calibrate",
        title="The relevance floor",
        totals=_verdict(found),
        origin=((data(report.path), mark),),
        sections=(
            section("", "", listing(_what_to_do(found), 20)),
            section("Figures", "", _figures(found)),
            section(floors, "", _curve(found.by_floor, found)),
            section(f"Numbers of items, at a floor of {found.shown.floor:.2f}", "", _curve(found.by_number, found)),
            section("Prompts to look at", "", listing(map(_case, found.cases), _MOST_CASES, "--format json")),
            section("Notes", "", listing(_notes(report))),
        ),
    )


def _verdict(calibration: FloorCalibration) -> str:
    """Return in one line whether another floor of relevance is recommended."""
    if calibration.is_too_small:
        return "Undecided: too few labelled prompts"
    if calibration.recommended is None:
        return "No floor gives what is wanted"
    if _is_same_setting(calibration.recommended, calibration.present):
        return "The present settings are the recommended ones"
    return f"Recommended: floor {_setting(calibration.recommended)} (now {_setting(calibration.present)})"


def _setting(point: FloorPoint) -> str:
    return f"{point.floor:.2f}, {counted(point.most_items, 'item')}"


def _is_same_setting(point: FloorPoint, other: FloorPoint) -> bool:
    return (point.floor, point.most_items) == (other.floor, other.most_items)


def _what_to_do(calibration: FloorCalibration) -> Iterator[Line]:
    """Yield what to do next: label more prompts, look at the wrong ones, or write the settings."""
    on_topic, left_alone = percent(calibration.wanted.precision), percent(calibration.wanted.left_alone)
    wanted = f"{on_topic} of the injected items on topic and {left_alone} of the prompts that need nothing left alone"
    if calibration.is_too_small:
        missing = ((calibration.missing_needing, "an item"), (calibration.missing_left_alone, "nothing"))
        more = [f"{n:,} more that need {what}" for n, what in missing if n]
        yield f"Label {' and '.join(more)}: with fewer, one prompt more or less moves the floor."
    elif calibration.recommended is None:
        yield f"No floor gives {wanted}. Look at the prompts below: an item may be too general, or a label wrong."
        yield "A lower --precision or --left-alone shows what a floor can give."
    elif _is_same_setting(calibration.recommended, calibration.present):
        yield f"Nothing to change: this floor gives {wanted}, and none that does gives more prompts a right item."
    else:
        yield "Put this into knowbound.toml:"
        yield data("[injection]")
        yield data(f"relevance_floor = {calibration.recommended.floor:.2f}")
        yield data(f"most_items = {calibration.recommended.most_items}")
        yield f"It is the lowest floor with {wanted}."


def _figures(calibration: FloorCalibration) -> Table:
    points = {"now": calibration.present, "recommended": calibration.recommended, "held out": calibration.held_out}
    shown = {name: point for name, point in points.items() if point is not None}
    named = (("right injected", "right"), ("on topic", "on_topic"), ("left alone", "left_alone"))
    rows = ((name, *(rate_cell(getattr(point, key), none="–") for point in shown.values())) for name, key in named)
    return table("|".join(("", *shown)), rows, hint="")


def _curve(points: Sequence[FloorPoint], calibration: FloorCalibration) -> Table:
    """Return a row for each setting with its rates; the present and the recommended setting are marked."""
    named = (("now", calibration.present), ("recommended", calibration.recommended))
    rows = []
    for point in points:
        rates = (rate_cell(rate, interval=False, none="–") for rate in (point.right, point.on_topic, point.left_alone))
        marks = ", ".join(name for name, other in named if other is not None and _is_same_setting(point, other))
        rows.append((f"{point.floor:.2f}", str(point.most_items), str(point.prompts.k), *rates, marks))
    return table("floor> | items> | prompts> | right injected> | on topic> | left alone> |", rows)


def _case(case: WrongPrompt) -> Line:
    """Return a prompt with the items that were wrong for it, and those that it did not get."""
    parts: list[Inline] = [data(case.name), ": "]
    if case.off_topic:
        parts += ["off topic ", data(" ".join(case.off_topic))]
    if case.missed:
        parts += ["; " if case.off_topic else "", "not injected ", data(" ".join(case.missed))]
    return tuple(parts)


def _notes(report: FloorReport) -> Iterator[Line]:
    """Yield what the figures do not settle, and what limits the recommended setting."""
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

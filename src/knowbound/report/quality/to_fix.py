"""The items to fix first, as the screen and the page of `quality status` list them."""

from __future__ import annotations

from knowbound.report.formats.columns import shorten
from knowbound.report.quality.item import anchor_of, turn_words
from knowbound.report.quality.model import ENOUGH, FIRST_ITEMS, ITEM_DAYS, Fault, ItemToFix, QualityStatus
from knowbound.report.sections import Entry, Line, Listing, Note, Section, Span, Tone, data, joined

_FIRST_WORDS = 68  # characters of an item on a screen
_STATEMENT = 80  # of what an agent said instead
_FAULT_TONES = {Fault.WRONG: Tone.BAD, Fault.OFF_TOPIC: Tone.FAIR, Fault.IGNORED: Tone.UNSURE}


def items_to_fix(status: QualityStatus, is_screen: bool) -> Section:
    """The first five; a page has the others folded."""
    title = f"Fix first, of what was injected in {ITEM_DAYS} days"
    if not status.items:
        return Section(title, (Note(_nothing_to_fix(status)),), "items")
    linked = set() if is_screen else {page.id for page in status.pages}
    entries = tuple(_entry(one, is_screen, is_linked=one.id in linked) for one in status.items)
    return Section(title, (Listing(entries, FIRST_ITEMS, "--format json"),), "items")


def _entry(one: ItemToFix, is_screen: bool, *, is_linked: bool) -> Entry:
    words = shorten(one.content, _FIRST_WORDS) if is_screen else one.content
    id_ = Span(one.id, Tone.DATA, anchor_of(one.id) if is_linked else "")
    head: Line = (Span(one.fault, _FAULT_TONES[one.fault]), " ", id_, ": ", Span(words, Tone.QUOTE))
    statement = shorten(one.statement, _STATEMENT) if is_screen else one.statement
    said: tuple[Line, ...] = (("agents say: ", Span(statement, Tone.QUOTE)),) if statement else ()
    numbers = joined((_times(one), f"last {one.time[:10]}", *turn_words(one.session, one.turn, is_short=is_screen)))
    return Entry(head, (*said, numbers), place=_what_to_run(one))


def _times(one: ItemToFix) -> str:
    match one.fault:
        case Fault.WRONG:
            return f"contradicted {_often(one.times)}"
        case Fault.OFF_TOPIC:
            return f"injected {_often(one.times)}, on topic never"
        case Fault.IGNORED:
            return f"on topic {_often(one.times)}, used never"


def _often(times: int) -> str:
    return "once" if times == 1 else f"{times:,} times"


def _what_to_run(one: ItemToFix) -> Line:
    match one.fault:
        case Fault.WRONG:
            return data(one.commands[0])
        case Fault.OFF_TOPIC:
            return data(one.commands[0]), " then narrow it, or ", data(one.commands[1])
        case Fault.IGNORED:
            return data(one.commands[0]), " or leave it: not being used is no fault by itself"


def _nothing_to_fix(status: QualityStatus) -> str:
    if not status.window.injected.judged:
        return "Unknown: no item was judged."
    return (
        f"Nothing: no item that is served was contradicted, and none with {ENOUGH} verdicts or more was never on topic "
        "or never used."
    )

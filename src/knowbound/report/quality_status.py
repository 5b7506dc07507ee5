"""Does what we inject help? The one screen of `quality status`, in any format (specification 2, section 2).

The first line says what to do next. What is not known is said to be unknown, with what would change that.
"""

from __future__ import annotations

from collections.abc import Iterator

from knowbound.core.quality import Metric
from knowbound.report.formats import PageFormat, names_of, render
from knowbound.report.formats.columns import shorten
from knowbound.report.quality_item import ITEM_ANCHOR, item_sections, turn_words
from knowbound.report.quality_json import status_document
from knowbound.report.quality_model import ENOUGH, ITEM_DAYS, Fault, ItemToFix, QualityStatus
from knowbound.report.quality_sections import METRIC_NAMES, breakdown, figures, metric_charts, metric_table
from knowbound.report.sections import Entry, Facts, Line, Listing, Note, Page, Section, Span, Tone, data, joined, soft
from knowbound.report.words import counted
from knowbound.stats.quality import (
    PROMPT_LIMIT_MS,
    STOP_LIMIT_MS,
    WINDOW_DAYS,
    QualityMetric,
    TargetState,
    slowest,
)

Format = PageFormat
FORMATS: tuple[Format, ...] = names_of(Format)
LABEL = "knowbound judge label --question turns"
_FIRST_WORDS = 70  # characters of an item in a list
_STATEMENT = 140
_FAULT_TONES = {Fault.WRONG: Tone.BAD, Fault.OFF_TOPIC: Tone.FAIR, Fault.IGNORED: Tone.UNSURE}


def render_quality(status: QualityStatus, format: Format, *, width: int = 100, colour: bool = False) -> str:
    """The status in a format; width and colour are for the terminal."""
    is_screen = format == "text"
    return render(format, lambda: _page(status, is_screen), lambda: status_document(status), width=width, colour=colour)


def _page(status: QualityStatus, is_screen: bool) -> Page:
    return Page(
        verb="quality status",
        title="Does what we inject help?",
        lead=f"The four metrics of what is injected, over {WINDOW_DAYS} days.",
        totals=next_step(status),
        origin=() if status.is_empty else tuple(_origin(status)),
        sections=() if status.is_empty else tuple(_sections(status, is_screen)),
        commands=_commands(status, is_screen),
        version=status.version,
    )


def _sections(status: QualityStatus, is_screen: bool) -> Iterator[Section]:
    title = f"Last {WINDOW_DAYS} days, and the {WINDOW_DAYS} before"
    if is_screen:
        yield Section(title, (metric_table(status), *_notes(status)), "metrics")
    else:
        yield Section(title, (figures(status), metric_table(status), *_notes(status)), "metrics")
        yield Section("Over time", metric_charts(status), "time")
    yield _to_fix(status, is_screen)
    if is_screen:
        yield Section("", (Facts((*_judge(status), ("Cost", joined(words for _, words in _cost(status))))),))
    else:
        yield Section("What the judge is worth", (Facts(tuple(_judge(status))),), "judge")
        yield Section("Cost", (Facts(tuple(_cost(status))),), "cost")
        yield from breakdown(status)
        for page in status.pages:
            yield from item_sections(page, is_whole=False)


# What to do next


def next_step(status: QualityStatus) -> Line:
    """The one thing to do, in plain words."""
    counts = status.window.injected
    if status.is_empty:
        return "Nothing is measured yet: no turn of an agent was scored."
    if status.wrong:
        one = status.items[0]
        what = "an item" if status.wrong == 1 else f"{status.wrong:,} items"
        return f"Correct {what} that agents contradicted, first ", data(one.id), "."
    slow = [name for name, ms, limit in _hooks(status) if ms is not None and ms > limit]
    if slow:
        return f"The {slow[0]} is too slow: run knowbound doctor."
    if not counts.judged and counts.unjudged:
        return "No item has a verdict, because the judge fails: see below, then run knowbound quality score --again."
    if not counts.judged:
        return "Nothing was injected in these days, so nothing can be said about it."
    missed = [one.metric for one in status.metrics if one.state is TargetState.MISSED]
    if QualityMetric.ON_TOPIC in missed:
        return "Too little of what is injected is on topic: look at the items below, then knowbound quality calibrate."
    if missed:
        return f"{METRIC_NAMES[missed[0]].capitalize()} misses its target: look at the items below."
    if not status.judge.measured:
        return f"Nothing is shown to be wrong; label turns to know how far that can be trusted: {LABEL}"
    if any(one.state is TargetState.UNDECIDED for one in status.metrics):
        return "Nothing to do but wait: more turns have to be measured."
    return "Nothing to do: every metric meets its target."


def _origin(status: QualityStatus) -> Iterator[Line]:
    window = status.window
    ends = f"{WINDOW_DAYS} days to {status.until}"
    if not status.is_current:
        ends += ", the newest that were measured"
    items = window.injected.judged + window.injected.unjudged
    yield joined(
        (
            ends,
            counted(window.turns, "turn"),
            f"{counted(items, 'item')} for {counted(window.prompts_with_items, 'prompt')}",
            f"{window.prompts_left_alone:,} got nothing",
            f"{window.interrupted:,} interrupted" if window.interrupted else "",
        )
    )


def _notes(status: QualityStatus) -> Iterator[Note]:
    if status.pending:
        yield Note(soft(f"{counted(status.pending, 'correction')} of these days can still be made and would count."))
    if status.unscored:
        total = sum(status.unscored.values())
        reason, _ = next(iter(status.unscored.items()))
        yield Note(
            (f"{counted(total, 'turn')} without a verdict (", data(reason), "): knowbound quality score --again"),
        )


# The items to fix


def _to_fix(status: QualityStatus, is_screen: bool) -> Section:
    title = f"Fix first, of what was injected in {ITEM_DAYS} days"
    if not status.items:
        return Section(title, (Note(_nothing_to_fix(status)),), "items")
    entries = tuple(_entry(one, is_screen) for one in status.items)
    return Section(title, (Listing(entries, len(entries), "--format json", status.items_total),), "items")


def _entry(one: ItemToFix, is_screen: bool) -> Entry:
    words = shorten(one.content, _FIRST_WORDS) if is_screen else one.content
    id_ = Span(one.id, Tone.DATA, "" if is_screen else f"{ITEM_ANCHOR}{one.id}")
    head: Line = (Span(one.fault, _FAULT_TONES[one.fault]), " ", id_, ": ", Span(words, Tone.QUOTE))
    said = Span(shorten(one.statement, _STATEMENT), Tone.QUOTE)
    numbers = joined((_times(one), *turn_words(one.session, one.turn)))
    lines = ((_times(one), ": ", said),) if one.statement else (_times(one),)
    return Entry(head, lines, place=_what_to_run(one), more=numbers)


def _times(one: ItemToFix) -> str:
    match one.fault:
        case Fault.WRONG:
            return f"contradicted {_often(one.times)}, last {one.time[:10]}"
        case Fault.OFF_TOPIC:
            return f"injected {_often(one.times)}, on topic never, last {one.time[:10]}"
        case Fault.IGNORED:
            return f"on topic {_often(one.times)}, used never, last {one.time[:10]}"


def _often(times: int) -> str:
    return "once" if times == 1 else f"{times:,} times"


def _what_to_run(one: ItemToFix) -> Line:
    match one.fault:
        case Fault.WRONG:
            return data(one.commands[0])
        case Fault.OFF_TOPIC:
            return data(one.commands[0]), " then narrow it, or ", data(one.commands[1])
        case Fault.IGNORED:
            return data(one.commands[0]), " or leave it: not to be used is no fault by itself"


def _nothing_to_fix(status: QualityStatus) -> str:
    if not status.window.injected.judged:
        return "Unknown: no item was judged."
    return (
        f"Nothing: no item that is served was contradicted, and none with {ENOUGH} verdicts or more was never on topic "
        "or never used."
    )


# The judge and the cost


def _judge(status: QualityStatus) -> Iterator[tuple[str, Line]]:
    judge = status.judge
    if not judge.versions:
        yield "Judge", "none judged a turn of these days"
        return
    judges = joined((data(one), f" {counted(turns, 'turn')}") for one, turns in judge.versions.items())
    if not judge.measured:
        yield "Judge", joined((judges, "unmeasured: nobody knows yet how often it errs"))
        yield "", data(LABEL)
        return
    for metric in Metric:
        yield METRIC_NAMES[QualityMetric(metric)], "unmeasured"


def _hooks(status: QualityStatus) -> Iterator[tuple[str, int | None, int]]:
    yield "prompt hook", slowest(status.window.prompt_ms), PROMPT_LIMIT_MS
    yield "stop hook", slowest(status.window.stop_ms), STOP_LIMIT_MS


def _cost(status: QualityStatus) -> Iterator[tuple[str, Line]]:
    window = status.window
    tokens = "no token: nothing was injected"
    if window.prompts_with_items:
        tokens = f"{window.injected_tokens / window.prompts_with_items:,.0f} tokens per prompt that got items"
    yield "Tokens", tokens
    for name, ms, limit in _hooks(status):
        slow = (" ", Span("too slow", Tone.BAD)) if ms is not None and ms > limit else ()
        took = "not timed" if ms is None else f"p95 {ms:,} of {limit} ms"
        yield name.capitalize(), (f"{name} {took}", *slow)


def _commands(status: QualityStatus, is_screen: bool) -> tuple[tuple[str, str], ...]:
    if status.is_empty:
        return (
            ("knowbound install claude-code", "from then on every turn is scored in the background"),
            ("knowbound quality score", "score turns that were recorded already"),
        )
    shown: list[tuple[str, str]] = []
    if status.items and is_screen:
        shown.append((f"knowbound quality status --item {status.items[0].commands[0].split()[3]}", "an item in full"))
    if is_screen:
        shown.append(("knowbound quality status --format html -o quality.html", "the metrics over time, in a browser"))
    return tuple(shown)

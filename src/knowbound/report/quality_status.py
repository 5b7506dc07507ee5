"""Does what we inject help? The one screen of `quality status`, in any format (specification 2, section 2).

The first line says what to do next. What is not known is said to be unknown, with what would change that.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from knowbound.core.quality import Metric
from knowbound.report.formats import PageFormat, names_of, render
from knowbound.report.formats.columns import shorten
from knowbound.report.quality_item import anchor_of, item_sections, turn_words
from knowbound.report.quality_json import status_document
from knowbound.report.quality_judge import CALIBRATE, LABEL, judge_parts, judge_rows
from knowbound.report.quality_model import ENOUGH, FIRST_ITEMS, ITEM_DAYS, Fault, ItemToFix, QualityStatus
from knowbound.report.quality_sections import METRIC_NAMES, breakdown, figures, is_adjusted, metric_charts, metric_table
from knowbound.report.sections import (
    Entry,
    Facts,
    Line,
    Listing,
    Note,
    Page,
    Section,
    Span,
    Tone,
    data,
    joined,
    soft,
)
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
_FIRST_WORDS = 68  # characters of an item in a list
_STATEMENT = 80
_REASON = 36
_FAULT_TONES = {Fault.WRONG: Tone.BAD, Fault.OFF_TOPIC: Tone.FAIR, Fault.IGNORED: Tone.UNSURE}


def render_quality(status: QualityStatus, format: Format, *, width: int = 100, colour: bool = False) -> str:
    """The status in a format; width and colour are for the terminal."""
    return render(format, lambda: _page(status, format), lambda: status_document(status), width=width, colour=colour)


def _page(status: QualityStatus, format: Format) -> Page:
    return Page(
        verb="quality status",
        title="Does what we inject help?",
        lead=f"The four metrics of what is injected, over {WINDOW_DAYS} days.",
        totals=next_step(status),
        origin=() if status.is_empty else tuple(_origin(status)),
        sections=() if status.is_empty else tuple(_sections(status, format)),
        commands=_commands(status),
        version=status.version,
    )


def _sections(status: QualityStatus, format: Format) -> Iterator[Section]:
    """A terminal gets one screen, a page everything."""
    is_screen = format == "text"
    title = f"Last {WINDOW_DAYS} days, and the {WINDOW_DAYS} before"
    cards = (figures(status),) if format == "html" else ()
    yield Section(title, (*cards, metric_table(status, is_wide=not is_screen), *_notes(status, is_screen)), "metrics")
    if not is_screen:
        yield Section("Over time", metric_charts(status), "time")
    yield _to_fix(status, is_screen)
    if is_screen:
        yield Section("", (Facts((*judge_rows(status.judge), ("Cost", _cost_line(status)), ("More", _more(status)))),))
    else:
        yield Section("What the judge is worth", judge_parts(status.judge), "judge")
        yield Section("Cost", (Facts(tuple(_cost(status))),), "cost")
        yield breakdown(status)
        for page in status.pages:
            yield from item_sections(page, is_whole=False)


# What to do next


def next_step(status: QualityStatus) -> Line:
    """The one thing to do, in plain words."""
    counts = status.window.injected
    if status.is_empty:
        return "Nothing is measured yet: no turn of an agent was scored."
    if status.judge.is_unreliable(Metric.CONTRADICTED):
        return f"The judge errs too often about what is contradicted, so that cannot be relied on: see {CALIBRATE}"
    if status.wrong:
        one = status.items[0]
        what = "an item" if status.wrong == 1 else f"{status.wrong:,} items"
        return f"Correct {what} that agents contradicted, first ", data(one.id), "."
    slow = [name for name, ms, limit in _hooks(status) if ms is not None and ms > limit]
    if slow:
        return f"The {slow[0].lower()} hook is too slow: run knowbound doctor."
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


def _notes(status: QualityStatus, is_screen: bool) -> Iterator[Note]:
    discovery = next(one for one in status.metrics if one.metric is QualityMetric.DISCOVERY)
    if status.wrong and not discovery.now.n:
        yield Note(soft(f"No item was contradicted anew; {_waiting(status.wrong)} since before."))
    elif status.pending:
        yield Note(soft(f"{counted(status.pending, 'correction')} can still be made, and would count."))
    if not is_screen and is_adjusted(status):
        yield Note(soft("Adjusted: the same rate for a judge without error (Rogan–Gladen)."))
    if status.unscored:
        reason = next(iter(status.unscored))
        turns = counted(sum(status.unscored.values()), "turn")
        why = data(shorten(reason, _REASON) if is_screen else reason)
        yield Note((f"{turns} without a verdict (", why, "): ", data("knowbound quality score --again")))


def _waiting(items: int) -> str:
    return "1 item waits for a correction" if items == 1 else f"{items:,} items wait for a correction"


# The items to fix


def _to_fix(status: QualityStatus, is_screen: bool) -> Section:
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
            return data(one.commands[0]), " or leave it: not to be used is no fault by itself"


def _nothing_to_fix(status: QualityStatus) -> str:
    if not status.window.injected.judged:
        return "Unknown: no item was judged."
    return (
        f"Nothing: no item that is served was contradicted, and none with {ENOUGH} verdicts or more was never on topic "
        "or never used."
    )


# The cost


def _hooks(status: QualityStatus) -> Iterator[tuple[str, int | None, int]]:
    yield "Prompt", slowest(status.window.prompt_ms), PROMPT_LIMIT_MS
    yield "Stop", slowest(status.window.stop_ms), STOP_LIMIT_MS


def _cost(status: QualityStatus) -> Iterator[tuple[str, Line]]:
    yield "Tokens", _tokens(status)
    for name, ms, limit in _hooks(status):
        slow = (" ", Span("too slow", Tone.BAD)) if ms is not None and ms > limit else ()
        took = "not timed" if ms is None else f"p95 {ms:,} ms, right to a tenth; limit {limit} ms"
        yield f"{name} hook", (took, *slow)


def _cost_line(status: QualityStatus) -> Line:
    took = (
        f"{name.lower()} {'not timed' if ms is None else f'{ms:,} of {limit} ms'}" for name, ms, limit in _hooks(status)
    )
    return joined((_tokens(status), f"p95 of hooks: {', '.join(took)}"))


def _tokens(status: QualityStatus) -> str:
    window = status.window
    if not window.injected_tokens or not window.prompts_with_items:
        return "no token was injected"
    return f"{window.injected_tokens / window.prompts_with_items:,.0f} tokens per prompt with items"


def _more(status: QualityStatus) -> Line:
    """Where the screen goes on."""
    page = "--format html -o quality.html"
    item = f"--item {shlex.quote(status.items[0].id)}, or " if status.items else ""
    return data(f"knowbound quality status {item}{page}")


def _commands(status: QualityStatus) -> tuple[tuple[str, str], ...]:
    if not status.is_empty:
        return ()
    return (
        ("knowbound install claude-code", "from then on every turn is scored in the background"),
        ("knowbound quality score", "scores turns that were recorded already"),
    )

"""Does what we inject help? The one screen of `quality status`, in any format (specification 2, section 2).

The first line says what to do next. What is not known is said to be unknown, with what would change that.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from knowbound.report.formats import PageFormat, names_of, render
from knowbound.report.formats.columns import shorten
from knowbound.report.quality.cost import cost_line, cost_rows
from knowbound.report.quality.holdout import holdout_rows
from knowbound.report.quality.item import item_sections
from knowbound.report.quality.json import status_document
from knowbound.report.quality.judge import judge_parts, judge_rows
from knowbound.report.quality.model import QualityStatus
from knowbound.report.quality.next_step import next_step
from knowbound.report.quality.rescues import rescue_rows
from knowbound.report.quality.rollout import rollout_row
from knowbound.report.quality.sections import breakdown, figures, is_adjusted, metric_charts, metric_table, others_row
from knowbound.report.quality.to_fix import items_to_fix
from knowbound.report.sections import Facts, Line, Note, Page, Section, data, joined, soft
from knowbound.report.words import counted
from knowbound.stats.quality import WINDOW_DAYS, QualityMetric

Format = PageFormat
FORMATS: tuple[Format, ...] = names_of(Format)
_REASON = 36  # characters of why turns have no verdict, on a screen


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
    yield items_to_fix(status, is_screen)
    if is_screen:
        rows = (*judge_rows(status.judge), ("Cost", cost_line(status)), *others_row(status))
        rows = (*rows, *_rollout_rows(status), *holdout_rows(status.holdout), *rescue_rows(status.rescues))
        rows = (*rows, ("More", _more(status)))
        yield Section("", (Facts(rows),))
    else:
        yield Section("What the judge is worth", judge_parts(status.judge), "judge")
        yield Section("Cost", (Facts(tuple(cost_rows(status))),), "cost")
        yield Section("Rollout", (Facts(tuple(_rollout_rows(status))),), "rollout")
        yield Section("With and without", (Facts(tuple(holdout_rows(status.holdout, is_whole=True))),), "holdout")
        if status.rescues:
            yield Section("Rescue", (Facts(tuple(rescue_rows(status.rescues))),), "rescue")
        yield breakdown(status)
        for page in status.pages:
            yield from item_sections(page, is_whole=False)


def _rollout_rows(status: QualityStatus) -> Iterator[tuple[str, Line]]:
    if status.rollout:
        yield from rollout_row(status.rollout)


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
    elif status.pending and not is_screen:  # there the state says it
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
        ("knowbound quality score", "what the traces that agents left already say"),
    )

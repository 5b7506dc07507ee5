"""Does what we inject help? The one screen of `quality status`, in any format (specification 2, section 2).

The first line says what to do next. What is not known is said to be unknown, with what would change that.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from knowbound.core.quality import Metric
from knowbound.report.format_names import PageFormat
from knowbound.report.formats import render
from knowbound.report.formats.columns import shorten
from knowbound.report.quality.item import item_sections
from knowbound.report.quality.json import status_document
from knowbound.report.quality.model import TO_LOOK_AT, QualityStatus, RescueFigures, ShadowStatus
from knowbound.report.quality.rollout import rollout_row
from knowbound.report.quality.sections import (
    breakdown,
    cost_line,
    cost_rows,
    figures,
    hooks,
    is_adjusted,
    items_to_fix,
    judge_parts,
    judge_rows,
    meanings,
    metric_charts,
    metric_table,
    others_row,
)
from knowbound.report.sections import Facts, Line, Note, Page, Section, data, joined, soft
from knowbound.stats.holdout import HoldoutComparison, OutcomeDifference, TurnOutcome
from knowbound.stats.quality import WINDOW_DAYS, QualityMetric, TargetState
from knowbound.stats.rate import Rate
from knowbound.text.printable import counted

Format = PageFormat
_SHADOWED = ((Metric.ON_TOPIC, "on topic"), (Metric.CONTRADICTED, "contradicted"))  # nobody can use what is not there
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
        sections=(_meanings(),) if status.is_empty else tuple(_sections(status, format)),
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
    if is_screen and status.is_new:
        yield _meanings()
    yield items_to_fix(status, is_screen)
    if is_screen:
        rows = (*judge_rows(status.judge), ("Cost", cost_line(status)), *others_row(status))
        rows = (*rows, *shadow_rows(status.shadow))
        rows = (*rows, *_rollout_rows(status), *holdout_rows(status.holdout), *_offer(status))
        rows = (*rows, *rescue_rows(status.rescues))
        rows = (*rows, ("More", _more(status)))
        yield Section("", (Facts(rows),))
    else:
        yield Section("What the judge is worth", judge_parts(status.judge), "judge")
        yield Section("Cost", (Facts(tuple(cost_rows(status))),), "cost")
        if shadow := tuple(shadow_rows(status.shadow)):
            yield Section("Shadow", (Facts(shadow),), "shadow")
        yield Section("Rollout", (Facts(tuple(_rollout_rows(status))),), "rollout")
        yield Section("With and without", (Facts(tuple(holdout_rows(status.holdout, is_whole=True))),), "holdout")
        if status.rescues:
            yield Section("Rescue", (Facts(tuple(rescue_rows(status.rescues))),), "rescue")
        yield breakdown(status)
        for page in status.pages:
            yield from item_sections(page, is_whole=False)


def _meanings() -> Section:
    return Section("What the four rates mean", meanings(), "meanings")


def _rollout_rows(status: QualityStatus) -> Iterator[tuple[str, Line]]:
    if status.rollout:
        yield from rollout_row(status.rollout)
    if prompts := status.window.silenced_prompts:
        items = counted(len(status.window.silenced), "item")
        yield "Silenced", f"{counted(prompts, 'prompt')} did not get {items} that contradictions brought to 0"


def shadow_rows(found: ShadowStatus | None) -> Iterator[tuple[str, Line]]:
    """The row while nothing is injected: what would have been, and what is left to look at."""
    if found is None or not found.is_on:
        return
    counts = found.counts
    rates = [f"{name} {Rate(counts.of(metric), counts.judged)}" for metric, name in _SHADOWED if counts.judged]
    chosen = f"{counted(len(found.choices), 'item')} would have been injected since {found.since[:10] or 'then'}"
    yield "Shadow", joined((chosen, *rates, f"{found.answered} of {TO_LOOK_AT} looked at"))


def causal_line(found: HoldoutComparison) -> str:
    """Say whether injecting helps, by sessions drawn at random, or how many more it takes to decide."""
    known = {one.outcome: one for one in found.outcomes}
    measured = [(name, known[name]) for name in (TurnOutcome.CALLS, TurnOutcome.FAILED_SEARCHES) if name in known]
    if any(one.is_decided for _, one in measured):
        return f"With injection: {', '.join(f'{_NAMES[name]} {_verdict(one)}' for name, one in measured)} a turn."
    more = f"about {counted(found.more_sessions, 'more session')}" if found.more_sessions else "more sessions"
    return f"Whether injecting helps cannot be told yet: {more} would."


def _origin(status: QualityStatus) -> Iterator[Line]:
    if status.holdout:
        yield causal_line(status.holdout)
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


_MISSED: dict[QualityMetric, str] = {
    QualityMetric.ON_TOPIC: "Too little of what is injected is on topic: raise the floor (quality calibrate).",
    QualityMetric.USED: "Too little of what is injected is used.",
    QualityMetric.CONTRADICTED: "Too much of what is injected is contradicted; what was seen is corrected.",
    QualityMetric.DISCOVERY: "Too few of the contradicted items were corrected in time.",
}


def next_step(status: QualityStatus) -> Line:
    """The one thing to do, in plain words. The first that fits wins."""
    counts = status.window.injected
    if status.shadow and status.shadow.is_on and not status.shadow.left:
        return "Nothing reaches your agent yet. Start injecting: ", data("knowbound quality shadow --start")
    if status.shadow and status.shadow.is_on:
        return "Nothing reaches your agent yet. Look at what would have: ", data("knowbound quality shadow")
    if status.is_empty:
        return "Nothing is measured yet: no turn of an agent was scored."
    if status.judge.is_unreliable(Metric.CONTRADICTED):
        return "The judge errs too often about contradictions: mend that before you correct an item."
    if status.wrong:
        what = "an item" if status.wrong == 1 else f"{status.wrong:,} items"
        return f"Correct {what} that agents contradicted, first ", data(status.items[0].id), "."
    if slow := [name for name, _, _, is_slow in hooks(status) if is_slow]:
        return f"The {slow[0].lower()} hook is too slow: run knowbound doctor."
    if not counts.judged and counts.unjudged:
        return "No item has a verdict, the judge failed: knowbound quality score --again"
    if not counts.judged and status.other_corrections:
        waiting = counted(len(status.other_corrections), "item")
        return f"Nothing of ours was injected. Correct {waiting} of others that agents contradicted."
    if not counts.judged:
        return "Nothing was injected in these days, so nothing can be said about it."
    if missed := [one.metric for one in status.metrics if one.state is TargetState.MISSED]:
        return _MISSED[missed[0]] + (" Start with the items below." if status.items else "")
    if not status.judge.measured:
        return "Label turns: nothing is shown to be wrong, by a judge that nobody has measured."
    if any(one.state is TargetState.UNDECIDED for one in status.metrics):
        return "Nothing is shown to be wrong; more turns have to be measured to know."
    return "Nothing to do: every metric that is known meets its target."


def rescue_rows(found: RescueFigures | None) -> Iterator[tuple[str, Line]]:
    """The row, where lookups missed."""
    if found is None:
        return
    answered = f"{found.said + found.absent:,} of {counted(found.misses, 'missed lookup')} answered"
    answered += f", {found.known:,} by lessons and items" if found.known else ""
    used = f"used {found.used}" if found.used.n else ""
    contradicted = f"contradicted {found.contradicted.k:,}" if found.contradicted.n else ""
    yield "Rescue", joined((answered, used, contradicted))


def _offer(status: QualityStatus) -> Iterator[tuple[str, Line]]:
    if status.offers_holdout and status.holdout is None:
        how = data("quality.holdout = 0.1")
        yield "Helps?", ("unknown without a comparison: ", how, " withholds items from one session in ten")


_NAMES: dict[TurnOutcome, str] = {
    TurnOutcome.STEPS: "steps",
    TurnOutcome.CALLS: "calls",
    TurnOutcome.FAILED_SEARCHES: "failed searches",
    TurnOutcome.CORRECTIVE_CALLS: "corrective calls",
    TurnOutcome.TOKENS: "tokens",
}


def holdout_rows(found: HoldoutComparison | None, *, is_whole: bool = False) -> Iterator[tuple[str, Line]]:
    """A row for the screen: what is decided, or what it takes; with `is_whole` one for every outcome."""
    if found is None:
        return
    sides = f"{counted(found.injected, 'turn')} with items, {found.held_out:,} held out"
    if is_whole:
        yield "Turns", sides
        for one in found.outcomes:
            yield _NAMES[one.outcome].capitalize(), f"{_means(one)} per turn; {_verdict(one)}"
        return
    decided = [f"{_NAMES[one.outcome]} {_verdict(one)}" for one in found.outcomes if one.is_decided]
    yield "Held out", joined((sides, *(decided or [_undecided(found)])))


def _undecided(found: HoldoutComparison) -> str:
    needed = [one.more for one in found.outcomes if one.more]
    return f"no difference can be told yet: {min(needed):,} turns more would" if needed else "no difference is seen"


def _means(one: OutcomeDifference) -> str:
    injected, held = ("unknown" if side is None else f"{side:,.1f}" for side in (one.injected, one.held_out))
    return f"{injected} with items, {held} without"


def _verdict(one: OutcomeDifference) -> str:
    if one.value is None:
        return "cannot be told: one side has no turn"
    if one.low is None or one.high is None:
        return "cannot be told yet" + (f": {one.more:,} turns more would" if one.more else "")
    shown = f"{_signed(one.value)} (95% {_signed(one.low)} to {_signed(one.high)})"
    if one.is_decided:
        return shown
    return f"{shown}, not decided" + (f": {one.more:,} turns more would" if one.more else "")


def _signed(value: float) -> str:
    return f"{value:+,.1f}".replace("-", "−")

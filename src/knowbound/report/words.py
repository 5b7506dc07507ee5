"""What the figures mean, in the same words in every format (specification 1, sections 5 and 7)."""

from __future__ import annotations

from typing import NamedTuple

from knowbound.core.signal import Signal, SignalType, Status
from knowbound.report.model import ObserveReport
from knowbound.stats.figures import Confidence, Coverage, GapFigures, Topic
from knowbound.stats.rate import Rate, Weighted, percent

TYPE_NAMES: dict[SignalType, str] = {
    SignalType.FAILED_SEARCH: "failed search",
    SignalType.REPEATED_FAILURE: "repeated failure",
    SignalType.EXPLICIT_MARKER: "explicit marker",
    SignalType.HEDGING: "hedging",
}
# Section 7.3: who said it tells where the gap is.
TYPE_MEANINGS: dict[SignalType, str] = {
    SignalType.FAILED_SEARCH: "it searched and missed: the knowledge is not there",
    SignalType.REPEATED_FAILURE: "it tried again and again: not there, and it was needed",
    SignalType.EXPLICIT_MARKER: "it marked its words as a guess: the docs were unclear",
    SignalType.HEDGING: "it said that it is not sure: the docs were unclear",
}
STATUS_NAMES: dict[Status, str] = {
    Status.OPEN: "open",
    Status.RESOLVED: "resolved later",
    Status.VERIFICATION: "check of absence",
}
NEXT_COMMANDS: tuple[tuple[str, str], ...] = (
    ("knowbound report --format html -o report.html", "this report in a browser"),
    ("knowbound observe --format jsonl", "every signal, one per line"),
    ("knowbound explain failed_search", "what it means, what to do"),
)


class Figure(NamedTuple):
    """A headline figure: its share with the interval, the counts behind it, and what it says."""

    label: str
    value: float | None
    interval: tuple[float, float] | None
    counts: str
    meaning: str


class Entry(NamedTuple):
    """A signal in the inventory, with what is known of its sample and every place that leads back to it."""

    signal: Signal
    note: str  # the skill of an observed sample, the run of a repeated one
    places: tuple[str, ...]
    anchor: str = ""  # where a page tells more of the sample


def observed_entries(report: ObserveReport) -> list[Entry]:
    """The inventory of observed work."""
    return [
        Entry(signal, report.skill_of.get(signal.sample, ""), tuple(filter(None, [place_words(signal)])))
        for signal in report.inventory
    ]


def gap_figures(gap: GapFigures, unit: str = "sample") -> list[Figure]:
    """The gap rates, in the order in which they are read; `unit` is what was counted."""
    return [
        _of_rate("Gap rate", gap.rate, unit, f"{unit}s with any gap signal"),
        _of_weighted("Weighted", gap.weighted, unit, "hard evidence counts 1, soft signals count a half"),
        _of_rate("Open", gap.open, unit, f"{unit}s with a signal that still stands"),
        _of_rate("Per turn", gap.per_turn, "turn", "turns with any gap signal"),
    ]


def coverage_figure(coverage: Coverage, root: str) -> Figure:
    """The coverage, which is no figure where there are no knowledge files."""
    figure = _of_rate("Coverage", coverage.rate, "knowledge file", "knowledge files that were reached")
    nowhere = f"no knowledge files under {root}" if root else "no knowledge files"
    return figure if coverage.rate.n else figure._replace(counts=nowhere)


def _of_rate(label: str, rate: Rate, unit: str, meaning: str) -> Figure:
    counts = f"{rate.k:,} of {counted(rate.n, unit)}" if rate.n else f"no complete {unit}"
    return Figure(label, rate.value, rate.interval, counts, meaning)


def _of_weighted(label: str, weighted: Weighted, unit: str, meaning: str) -> Figure:
    counts = f"{weighted.sum:,g} over {counted(weighted.n, unit)}" if weighted.n else f"no complete {unit}"
    return Figure(label, weighted.value, weighted.interval, counts, meaning)


def counted(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def interval_words(interval: tuple[float, float] | None) -> str:
    """The interval of a share, or nothing where nothing was counted."""
    return f"95% {100 * interval[0]:.0f}–{100 * interval[1]:.0f}%" if interval else ""


def band_words(gap: GapFigures) -> str:
    """The band, softened when too few samples stand behind it."""
    if gap.band is None:
        return "unknown"
    return f"{gap.band} (indicative only)" if is_softened(gap) else str(gap.band)


def is_softened(gap: GapFigures) -> bool:
    """Specification 1, section 5: with too few samples a band must not look like a verdict."""
    return gap.band is None or gap.confidence is Confidence.UNDERPOWERED


def confidence_words(gap: GapFigures, unit: str = "sample") -> str:
    """The tier of the sample count, and what it allows to conclude."""
    behind = f"{gap.confidence}: {counted(gap.rate.n, unit)}"
    if gap.rate.design > 1:
        behind += f", worth {counted(int(gap.rate.n / gap.rate.design), 'independent sample')}"
    if gap.confidence is Confidence.UNDERPOWERED:
        return f"{behind}, at least 5 are needed to read more than an indication"
    return f"{behind}, only large gaps can be told apart" if gap.confidence is Confidence.LOW else behind


def soft_share_words(gap: GapFigures) -> str:
    """Specification 1's reading of gap rate − weighted rate."""
    if gap.soft_share is None:
        return "unknown"
    if gap.rests_on_hard_evidence:
        return f"{percent(gap.soft_share)}: signals are mostly hard evidence"
    return f"{percent(gap.soft_share)}: soft signals make up a fair share; check them against the inventory"


def classification_words(gap: GapFigures) -> str:
    """Section 7.3: mostly what the agent said, or mostly what it searched for."""
    searched = gap.by_type[SignalType.FAILED_SEARCH] + gap.by_type[SignalType.REPEATED_FAILURE]
    said = gap.by_type[SignalType.EXPLICIT_MARKER] + gap.by_type[SignalType.HEDGING]
    if not searched and not said:
        return "no gap signal"
    if searched >= 2 * said:
        return "mostly what the agent searched for and did not find: the knowledge itself is missing"
    if said >= 2 * searched:
        return "mostly what the agent said itself: the docs do not say it clearly"
    return "both what the agent searched for in vain and what it was not sure of"


def status_words(gap: GapFigures) -> str:
    """How many signals still stand."""
    still, later, checks = (
        gap.by_status.get(status, 0) for status in (Status.OPEN, Status.RESOLVED, Status.VERIFICATION)
    )
    return f"{still:,} open · {later:,} resolved later · {counted(checks, 'check')} of absence"


def headline(gap: GapFigures, coverage: Coverage, unit: str = "sample") -> str:
    """The one line that a notification has room for; the watermark always follows it."""
    rate = _of_rate("Gap rate", gap.rate, unit, "")
    between = f", {interval_words(rate.interval)}" if rate.interval else ""
    signals = f"{counted(sum(gap.by_type.values()), 'signal')}, {gap.by_status.get(Status.OPEN, 0):,} open"
    return f"Gap rate {percent(rate.value)} ({rate.counts}{between}); {signals}; coverage {coverage.rate}."


def totals_words(report: ObserveReport) -> str:
    """How much was read, in one line."""
    totals = report.totals
    samples = counted(totals.samples, "sample")
    if report.incomplete:
        samples += f" ({len(report.incomplete):,} incomplete)"
    parts = [(totals.sessions, "session"), (totals.turns, "turn"), (totals.tool_calls, "tool call")]
    parts += [(signal_count(report), "signal")]
    return " · ".join([samples, *(counted(number, noun) for number, noun in parts)])


def signal_count(report: ObserveReport) -> int:
    """How many signals there are; the inventory may hold fewer."""
    return max(report.totals.signals, len(report.inventory))


def origin_words(report: ObserveReport) -> str:
    """Which agents the traces are of, what was filtered, and when; the watermark says where they lie."""
    agents = ", ".join(f"{agent} {sessions:,}" for agent, sessions in report.agents.items())
    filters = ", ".join(f"{name} {value}" for name, value in report.filters.items())
    parts = (counted(report.totals.files, "file"), agents, filters and f"filter: {filters}", report.made)
    return " · ".join(part for part in parts if part)


def topic_counts(topic: Topic) -> str:
    """How often something was sought in vain in observed work."""
    return f"{counted(topic.sessions, 'session')} · {counted(topic.samples, 'sample')}"


def sought_words(signal: Signal) -> str:
    """What the tool was asked and how it ended: `Grep "revenue_schema" in docs → no matches` (section 7.2)."""
    where = f" in {signal.path}" if signal.path and signal.path != signal.query else ""
    return f'{signal.tool or "search"} "{signal.query}"{where} → {_ending(signal)}'


def signal_words(signal: Signal) -> str:
    """What was sought in vain, or what the agent said."""
    is_search = signal.type in (SignalType.FAILED_SEARCH, SignalType.REPEATED_FAILURE)
    return sought_words(signal) if is_search else signal.text


def _ending(signal: Signal) -> str:
    return "no matches" if not signal.reason or signal.reason.endswith("matched nothing") else signal.reason


def verdict_words(signal: Signal) -> str:
    """What a judge said about a hedge, or nothing."""
    if signal.verdict is None:
        return ""
    what = "uncertainty" if signal.verdict.is_uncertainty else "no uncertainty"
    return f"{what} ({signal.verdict.confidence:.2f}): {signal.verdict.reason}"


def place_words(signal: Signal) -> str:
    """The line that it came from."""
    return f"{signal.file}:{signal.line}" if signal.line else signal.file

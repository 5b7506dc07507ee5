"""Signals and gap figures in words, the same in every format (specification 1, sections 5 and 7)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from knowbound.core.signal import SOURCES, Ending, Signal, SignalType, Status
from knowbound.core.trace import LeftOut, Outcome, SessionsRead
from knowbound.language import say, translated
from knowbound.report.lines import Span, Tone, data, prose
from knowbound.report.sections import Entry, Listing, Section
from knowbound.stats.calibration import Estimate, Share
from knowbound.stats.figures import Band, Coverage, GapFigures, RateKind, SampleConfidence, Watermark
from knowbound.stats.gate import GateOutcome, GateResult
from knowbound.stats.printing import percent, percent_between, percent_interval, percent_range, percent_words
from knowbound.stats.rate import Rate, Weighted
from knowbound.text.printable import counted

TYPE_NAMES = {type_: type_.replace("_", " ") for type_ in SOURCES}
# The built-in executor matches words and does not understand: a passage may say the same in other words.
UNMATCHED = "no passage says it: write it, or see the nearest passage"
SEARCHES = (SignalType.FAILED_SEARCH, SignalType.REPEATED_FAILURE)
STATUS_NAMES: dict[Status, str] = {
    Status.OPEN: "open",
    Status.RESOLVED: "resolved later",
    Status.VERIFICATION: "check",
    Status.MALFORMED: "malformed",
    Status.INCIDENTAL: "incidental",
    Status.UNDECIDED: "undecided",
}
ENDING_NAMES: dict[Ending, str] = {
    Ending.FOUND: "found",
    Ending.CREATED: "then created",
    Ending.ASKED: "asked the user",
    Ending.GUESSED: "guessed",
    Ending.GAVE_UP: "gave up",
    Ending.WENT_ON: "went on without it",
}
_UUID = re.compile(r"(?<![0-9a-f])([0-9a-f]{8})(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-f])", re.IGNORECASE)


def unknown_shares(of_lines: float | None, of_calls: float | None) -> str:
    """Return how much of the traces knowbound does not know; "" where nothing was counted."""
    if of_lines is None or of_calls is None:
        return ""
    if not of_lines and not of_calls:
        return translated("unknown lines: 0%")
    return say("unknown: {} of lines, {} of calls", percent(of_lines), percent(of_calls))


def band_words(gap: GapFigures, band: Band | None) -> str:
    """A band, softened when too few samples are behind it."""
    if band is None:
        return translated("unknown: only what the agent said was seen" if gap.unseen else "unknown")
    return say("{} (indicative only)", translated(band)) if is_softened(gap) else translated(band)


def is_softened(gap: GapFigures) -> bool:
    """Report whether too few samples are behind a band for it to be a verdict (specification 1, section 5)."""
    return gap.band is None or gap.confidence is SampleConfidence.UNDERPOWERED


def confidence_words(gap: GapFigures, unit: str = "sample") -> str:
    """The tier of the sample count, and what it allows to conclude."""
    behind = say("{}: {}", translated(gap.confidence), counted(gap.rate.n, unit))
    if gap.rate.design > 1:
        behind += say(", worth {}", counted(int(gap.rate.n / gap.rate.design), "independent sample"))
    if gap.confidence is SampleConfidence.UNDERPOWERED:
        return say("{}, at least 5 are needed to read more than an indication", behind)
    return say("{}, only large gaps can be distinguished", behind) if gap.confidence is SampleConfidence.LOW else behind


def unseen_words(gap: GapFigures, unit: str = "sample") -> str:
    """Warn that failed searches of agents without recorded tool calls are unknown; "" if every call was recorded."""
    if not gap.unseen:
        return ""
    return say(
        "The tool calls of {:,} of {} left no trace: only what the agent said was seen there. Failed searches are "
        "unknown, and the gap rate may be higher.",
        gap.unseen,
        counted(gap.rate.n, unit),
    )


def soft_share_words(gap: GapFigures) -> str:
    """Say what gap rate − weighted rate means: the share of soft signals (specification 1)."""
    if gap.soft_share is None:
        return "unknown"
    if gap.rests_on_hard_evidence:
        return say("{}: signals are mostly hard evidence", percent(gap.soft_share))
    return say("{}: soft signals make up a fair share; check them against the inventory", percent(gap.soft_share))


def open_words(gap: GapFigures) -> str:
    """The open rate, or its range if signals are undecided."""
    return percent_between(gap.open.value, gap.open_upper.value)


def counts_words(share: Rate | Weighted, unit: str = "sample") -> str:
    """The counts behind a rate: `5 of 12 samples`, `4 over 12 samples`."""
    if not share.n:
        return say("no complete {}", translated(unit))
    all_ = counted(share.n, unit)
    return say("{:,} of {}", share.k, all_) if isinstance(share, Rate) else say("{:,g} over {}", share.sum, all_)


def rate_words(share: Rate | Weighted, unit: str = "sample") -> str:
    """A rate in a sentence, with its counts and its interval; its watermark follows."""
    return percent_words(share.value, counts_words(share, unit), share.interval)


def rate_cell(
    rate: Rate | Share | Estimate, *, counts: bool = True, interval: bool = True, none: str = "unknown"
) -> str:
    """A rate in a table whose heading or note names the 95%: `50% (4 of 8, 22–78%)`."""
    low, high = (rate.interval or (None, None)) if isinstance(rate, Rate) else (rate.low, rate.high)
    if low is None or high is None:
        return none
    behind = [f"{rate.k} of {rate.n}"] if counts and not isinstance(rate, Estimate) else []
    behind += [percent_range((low, high))] if interval else []
    return f"{percent(rate.value)} ({', '.join(behind)})" if behind else percent(rate.value)


def more_words(left: int, hint: str = "") -> str:
    """Say how many entries are not shown, and where they are."""
    return say("+{:,} more: {}", left, hint) if hint else say("+{:,} more", left)


def warning_lines(warning: str) -> list[str]:
    """The warning word for word, and in the language of the report."""
    return list(dict.fromkeys((warning, translated(warning))))


def rates_line(raw: float | None, weighted: float | None, open_: str) -> str:
    """The three rates of a screen that has its watermark beside them."""
    return say("Gap rate {} (weighted {}, open {})", percent(raw), percent(weighted), open_)


def observed_headline(gap: GapFigures, coverage: Coverage) -> str:
    """The one line about observed work: the open rate, and the gap rate beside it."""
    behind = ", ".join(filter(None, (counts_words(gap.open), percent_interval(gap.open.interval))))
    reach = translated("unknown") if coverage.reason else str(coverage.rate)
    return say("Open rate {} ({}); gap rate {}; coverage {}.", open_words(gap), behind, percent(gap.rate.value), reach)


def headline(gap: GapFigures, coverage: Coverage, unit: str = "sample") -> str:
    """The one line that a notification has room for; the watermark always follows it."""
    signals = say("{}, {:,} open", counted(sum(gap.by_type.values()), "signal"), gap.by_status.get(Status.OPEN, 0))
    rates = say("Gap rate {}; {}; coverage {}.", rate_words(gap.rate, unit), signals, coverage.rate)
    return " ".join(filter(None, (rates, unseen_words(gap, unit))))


def search_words(signal: Signal) -> str:
    """Describe a search and its result: `Grep "revenue_schema" in docs → no matches` (section 7.2)."""
    where = say(" in {}", signal.path) if signal.path and signal.path != signal.query else ""
    ending = translated("no matches" if signal.outcome is Outcome.EMPTY or not signal.reason else signal.reason)
    return f'{signal.tool or translated("search")} "{signal.query}"{where} → {ending}'


def signal_words(signal: Signal) -> str:
    """Describe a signal: the failed search, or the agent's words."""
    return search_words(signal) if signal.type in SEARCHES else signal.text


def verdict_words(signal: Signal) -> str:
    """Return the verdict on a hedge; one without a verdict is kept (specification 1, source 3)."""
    if signal.verdict is None:
        return translated("kept: not judged")
    if signal.verdict.has_failed:
        return say("kept: not judged ({})", signal.verdict.reason)
    what = translated("uncertainty" if signal.verdict.is_uncertainty else "no uncertainty")
    return say("{} ({:.2f}): {}", what, signal.verdict.confidence, signal.verdict.reason)


def without_uuids(text: str) -> str:
    """Return the text with uuids cut to their first digits, which are enough to distinguish them."""
    return _UUID.sub(r"\1…", text)


def place_words(file: str, line: int) -> str:
    """A file and line as terminals and editors take it."""
    return f"{file}:{line}" if file and line else file


_LEFT_OUT = {
    LeftOut.OTHER_PROJECT: "{:,} of other projects",
    LeftOut.OTHER_AGENT: "{:,} of other agents",
    LeftOut.BEFORE: "{:,} from before",
    LeftOut.FORGOTTEN: "{:,} forgotten",
    LeftOut.UNREADABLE: "{:,} unreadable",
}


def sessions_words(reading: SessionsRead, sessions: int) -> str:
    """Return the number of sessions in a report, "of" those that were found where it has not all of them."""
    if not reading.left_out:
        return counted(sessions, "session")
    return say("{:,} of {}", sessions, counted(reading.found, "session"))


def not_read_words(reading: SessionsRead) -> str:
    """Return why the other sessions are not in a report; "" if there are none."""
    reasons = [say(_LEFT_OUT[reason], count) for reason, count in reading.left_out.items()]
    return say("not in this report: {}", ", ".join(reasons)) if reasons else ""


# Gates (specification 1, section 7.4)

GATE_NAMES: dict[GateOutcome, str] = {
    GateOutcome.PASSED: "passed",
    GateOutcome.FAILED: "failed",
    GateOutcome.UNDECIDED: "undecided",
    GateOutcome.NO_BASELINE: "nothing to compare with",
}
_GATE_TONES = {GateOutcome.PASSED: Tone.GOOD, GateOutcome.FAILED: Tone.BAD}

_CLAUSE = re.compile(r"; (?=\d+ of \d+ samples broke|in all )")  # what a line of its own begins with


def gate_name(gate: GateResult) -> str:
    """The gate and its limit, and the rate where it is not the specification's."""
    return f"{gate.name} {gate.limit:g}{'' if gate.kind is RateKind.RAW else f' ({gate.kind} rate)'}"


def gate_outcome(gate: GateResult) -> str:
    """Say the outcome of a gate, and whether the data settle it."""
    return GATE_NAMES[gate.outcome] + (", not settled" if gate.settled is False else "")


def gate_reason(gate: GateResult) -> str:
    """Return the reason of a gate's outcome, with its note."""
    return " ".join(filter(None, (gate.words, gate.note)))


def gate_line(gate: GateResult, watermark: Watermark) -> str:
    """A gate in one line for a log, with the watermark of its rate."""
    return f"{gate_name(gate)}: {gate_outcome(gate)}. {gate.words} {watermark}"


def gates_section(gates: Iterable[GateResult]) -> Section:
    """Show every gate with its outcome and its reason."""
    entries = tuple(
        Entry(
            (data(gate_name(gate)), ": ", Span(gate_outcome(gate), _GATE_TONES.get(gate.outcome, Tone.FAIR))),
            tuple(prose(words) for part in (gate.words, gate.note) if part for words in _CLAUSE.split(part)),
        )
        for gate in gates
    )
    return Section("Gates", (Listing(entries, 10),), "gates")

"""Gates in words, and the section that shows them (specification 1, section 7.4)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from knowbound.report.sections import Entry, Listing, Section, Span, Tone
from knowbound.report.writing import data, prose
from knowbound.stats.figures import RateKind, Watermark
from knowbound.stats.gate import GateOutcome, GateResult

GATE_NAMES: dict[GateOutcome, str] = {
    GateOutcome.PASSED: "passed",
    GateOutcome.FAILED: "failed",
    GateOutcome.UNDECIDED: "undecided",
    GateOutcome.NO_BASELINE: "nothing to compare with",
}
_TONES = {GateOutcome.PASSED: Tone.GOOD, GateOutcome.FAILED: Tone.BAD}

_CLAUSE = re.compile(r"; (?=\d+ of \d+ samples broke|in all )")  # what a line of its own begins with


def gate_name(gate: GateResult) -> str:
    """The gate and its limit, and the rate where it is not the specification's."""
    return f"{gate.name} {gate.limit:g}{'' if gate.kind is RateKind.RAW else f' ({gate.kind} rate)'}"


def gate_outcome(gate: GateResult) -> str:
    """How a gate came out, and whether the data settle it."""
    return GATE_NAMES[gate.outcome] + (", not settled" if gate.settled is False else "")


def gate_reason(gate: GateResult) -> str:
    """Why it came out so, and what else differs."""
    return " ".join(filter(None, (gate.words, gate.note)))


def gate_line(gate: GateResult, watermark: Watermark) -> str:
    """A gate in one line for a log, with the watermark of its rate."""
    return f"{gate_name(gate)}: {gate_outcome(gate)}. {gate.words} {watermark}"


def gates_section(gates: Iterable[GateResult]) -> Section:
    """Every gate with its outcome and its reason."""
    entries = tuple(
        Entry(
            (data(gate_name(gate)), ": ", Span(gate_outcome(gate), _TONES.get(gate.outcome, Tone.FAIR))),
            tuple(prose(words) for part in (gate.words, gate.note) if part for words in _CLAUSE.split(part)),
        )
        for gate in gates
    )
    return Section("Gates", (Listing(entries, 10),), "gates")

"""The gate on unsupported answers, in any format."""

from __future__ import annotations

from typing import Literal

from knowbound.core.testset import Watermark
from knowbound.report.formats import PageFormat, render
from knowbound.report.formats.github import command
from knowbound.report.formats.json import GATE_KEYS, fields
from knowbound.report.formats.junit import gates_junit
from knowbound.report.gate_words import gate_name, gate_outcome, gate_reason, gates_section
from knowbound.report.sections import Page
from knowbound.stats.gate import GateOutcome, GateResult
from knowbound.text.clock import utc_now

_LEVELS = {GateOutcome.FAILED: "error", GateOutcome.UNDECIDED: "warning"}


def render_gate(
    gate: GateResult, format: PageFormat | Literal["junit", "github"], *, width: int = 100, colour: bool = False
) -> str:
    """The gate in a format; width and colour are for the terminal."""
    match format:
        case "junit":
            mark = Watermark("stored audit", gate.rate.n, "")
            return gates_junit([gate], utc_now(), mark, {"outcome": gate_outcome(gate)})
        case "github":
            level = _LEVELS.get(gate.outcome, "notice")
            return command(level, f"Gate {gate_name(gate)} {gate_outcome(gate)}", gate_reason(gate)) + "\n"
        case _:
            return render(format, lambda: _page(gate), lambda: _document(gate), width=width, colour=colour)


def _page(gate: GateResult) -> Page:
    return Page(
        verb="check",
        title="Gate on unsupported answers",
        lead=f"{gate_name(gate)}: {gate_outcome(gate)}.",
        totals=f"{gate.rate.n:,} audited turns",
        origin=(),
        sections=(gates_section([gate]),),
        commands=(("knowbound audit", "the turns to look at first"),),
    )


def _document(gate: GateResult) -> dict[str, object]:
    return {"format": "knowbound.check/1", "gates": [fields(gate, GATE_KEYS)]}

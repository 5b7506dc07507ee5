"""The gates of `eval` and `check`, in any format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple, Unpack

from knowbound.report import GapFormat, Layout, PageFormat
from knowbound.report.evals import samples as by_sample
from knowbound.report.evals.evaluation import EvaluationReport, render_evaluation
from knowbound.report.figures import figures_section, inventory, mark_section, sources, uncovered
from knowbound.report.formats import render
from knowbound.report.formats.ci import command, gates_junit
from knowbound.report.formats.json import GATE_KEYS, as_json, fields
from knowbound.report.formats.plain import made_plain, with_files_near
from knowbound.report.lines import Line, Tone, prose
from knowbound.report.model import ObserveReport
from knowbound.report.observe import observed_entries, origin_line, render_observe, signal_count, with_short_places
from knowbound.report.sections import Note, Page, section
from knowbound.report.words import gate_name, gate_outcome, gate_reason, gates_section
from knowbound.stats.evaluation import Evaluation
from knowbound.stats.figures import Watermark
from knowbound.stats.gate import GateOutcome, GateResult, exit_code
from knowbound.text.clock import utc_now

Format = PageFormat | GapFormat
NEXT_COMMANDS: tuple[tuple[str, str], ...] = (
    ("knowbound report", "the run that was gated"),
    ("knowbound compare previous latest", "what changed since the evaluation before, sample by sample"),
)
_LEVELS = {
    GateOutcome.PASSED: "notice",
    GateOutcome.FAILED: "error",
    GateOutcome.UNDECIDED: "warning",
    GateOutcome.NO_BASELINE: "notice",
}


class GateReport(NamedTuple):
    """The gates of a stored run."""

    run: Evaluation | ObserveReport
    results: tuple[GateResult, ...]
    strict: bool = False
    nudge: str = ""  # specification 1, section 8: a note, never a failure

    @property
    def code(self) -> int:
        """The exit code."""
        return exit_code(self.results, strict=self.strict)


def render_check(check: GateReport, format: Format, **layout: Unpack[Layout]) -> str:
    """The check in a format."""
    match format:
        case "sarif":
            if isinstance(check.run, ObserveReport):
                return render_observe(check.run, "sarif")
            return render_evaluation(EvaluationReport(check.run, check.results), "sarif")
        case "junit":
            properties = {"outcome": _outcome_words(check), **({"note": check.nudge} if check.nudge else {})}
            return gates_junit(
                map(made_plain, check.results), check.run.made, made_plain(check.run.watermark), properties
            )
        case "github":
            return "".join(f"{line}\n" for line in _github(check))
        case _:
            return render(format, lambda: _page(check), lambda: _document(check), **layout)


def _outcome_words(check: GateReport) -> str:
    """Return the outcome of all gates together: the worst counts."""
    if any(result.failed for result in check.results):
        return "failed"
    if any(result.outcome is GateOutcome.UNDECIDED for result in check.results):
        return "undecided"
    if all(result.settled for result in check.results):
        return "passed"
    return "not settled, and --strict asks for that" if check.strict else "passed, not settled"


def _page(check: GateReport) -> Page:
    run, outcome = check.run, _outcome_words(check)
    origin: tuple[Line, ...]
    if isinstance(run, ObserveReport):
        run = with_short_places(run)
        entries, total, unit, note_name = observed_entries(run), signal_count(run), "sample", "Skill"
        origin = (origin_line(run),)
    else:
        run = with_files_near(run, (run.root,))
        entries, unit, note_name = by_sample.evaluation_entries(run), by_sample.counted_unit(run), "Run"
        total = len(entries)
        origin = (prose(f"evaluation {run.id}: {by_sample.who_words(run)}"), prose(by_sample.knowledge_words(run)))
    return Page(
        verb="check",
        title="Check of the gap rate",
        lead=f"{outcome.capitalize()}.",
        totals=outcome,
        origin=origin,
        sections=(
            mark_section(run.watermark),
            gates_section(check.results),
            section("", "", Note(check.nudge, Tone.FAIR)),
            figures_section(run.gap, run.coverage, run.root, unit),
            sources(run.gap),
            uncovered(run.coverage.uncovered),
            # Without links: this page has neither samples nor topics.
            inventory([entry._replace(anchor="", topic="") for entry in entries], note_name, total),
        ),
        commands=NEXT_COMMANDS,
        version=run.version,
    )


def _document(check: GateReport) -> dict[str, object]:
    run = check.run
    return {
        "format": "knowbound.check/1",
        "watermark": as_json(run.watermark),
        "outcome": _outcome_words(check),
        **fields(check, f"exit_code=code strict gates=results({GATE_KEYS} difference)"),
        "run": {
            "kind": "observe" if isinstance(run, ObserveReport) else "evaluation",
            "id": None if isinstance(run, ObserveReport) else run.id,
            "made": run.made,
            "commit": None if isinstance(run, ObserveReport) else run.commit or None,
        },
        **fields(run, "gap coverage"),
        "inventory": as_json(run.inventory if isinstance(run, ObserveReport) else run.signals),
        "nudge": check.nudge or None,
    }


def _github(check: GateReport) -> Iterator[str]:
    """Yield an annotation per gate, and always an annotation with the watermark."""
    for result in map(made_plain, check.results):
        level = _LEVELS[result.outcome]
        if level == "notice" and check.strict and not result.settled:
            level = "warning"
        yield command(level, f"Gate {gate_name(result)}: {gate_outcome(result)}", gate_reason(result))
    if check.nudge:
        yield command("notice", "The gap rate is near 0", check.nudge)
    yield command("notice", "Test set", str(made_plain(check.run.watermark)))


def render_audit_gate(
    gate: GateResult, format: PageFormat | Literal["junit", "github"], **layout: Unpack[Layout]
) -> str:
    """Render the gate on unsupported answers."""
    match format:
        case "junit":
            mark = Watermark("stored audit", gate.rate.n, "")
            return gates_junit([gate], utc_now(), mark, {"outcome": gate_outcome(gate)})
        case "github":
            level = _LEVELS[gate.outcome]
            return command(level, f"Gate {gate_name(gate)} {gate_outcome(gate)}", gate_reason(gate)) + "\n"
        case _:
            document: dict[str, object] = {"format": "knowbound.check/1", "gates": [fields(gate, GATE_KEYS)]}
            return render(format, lambda: _audit_page(gate), lambda: document, **layout)


def _audit_page(gate: GateResult) -> Page:
    lead = f"{gate_name(gate)}: {gate_outcome(gate)}."
    commands = (("knowbound audit", "the turns to look at first"),)
    totals = f"{gate.rate.n:,} audited turns"
    return Page(
        verb="check",
        title="Gate on unsupported answers",
        lead=lead,
        totals=totals,
        sections=(gates_section([gate]),),
        commands=commands,
    )

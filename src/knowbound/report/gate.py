"""What `check` says of the newest stored run, in any format (specification 1, section 7.4).

A gate's output has what every report has: the watermark, the rates with their intervals, coverage, the signals by
source and the inventory. A failed gate is of use only to someone who can see why it failed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple, assert_never, get_args

import msgspec

from knowbound.core.testset import Watermark
from knowbound.report import html, markdown
from knowbound.report.as_json import coverage_fields, gap_fields
from knowbound.report.as_jsonl import signal_fields
from knowbound.report.columns import wrap
from knowbound.report.evaluation_json import gate_fields
from knowbound.report.evaluation_model import EvaluationReport, counted_unit, entries_of
from knowbound.report.evaluation_words import gate_name, gate_outcome, knowledge_words, who_words
from knowbound.report.github import command
from knowbound.report.junit import gates_junit
from knowbound.report.model import ObserveReport
from knowbound.report.plain import dumped, made_plain, plain_report
from knowbound.report.text import Page, joined
from knowbound.report.words import Entry, coverage_figure, gap_figures, observed_entries, origin_words, signal_count
from knowbound.stats.evaluation import Evaluation
from knowbound.stats.figures import Coverage, GapFigures
from knowbound.stats.gate import GateResult, Outcome, exit_code

FORMAT = "knowbound.check/1"
Format = Literal["text", "json", "markdown", "html", "junit", "github"]
FORMATS: tuple[Format, ...] = get_args(Format)
NEXT_COMMANDS: tuple[tuple[str, str], ...] = (
    ("knowbound report", "the run that was gated"),
    ("knowbound compare previous latest", "what changed since the evaluation before, sample by sample"),
)
_SIGNS = {Outcome.PASSED: "✅", Outcome.FAILED: "❌", Outcome.UNDECIDED: "⚠", Outcome.NO_BASELINE: "⚠"}
_COLOURS = {Outcome.PASSED: "32", Outcome.FAILED: "31", Outcome.UNDECIDED: "33", Outcome.NO_BASELINE: "33"}
_LEVELS = {
    Outcome.PASSED: "notice",
    Outcome.FAILED: "error",
    Outcome.UNDECIDED: "warning",
    Outcome.NO_BASELINE: "notice",
}


class Check(NamedTuple):
    """The gates of a stored run."""

    run: Evaluation | ObserveReport
    results: tuple[GateResult, ...]
    strict: bool = False
    nudge: str = ""  # specification 1, section 8: a note, never a failure

    @property
    def code(self) -> int:
        """The exit code."""
        return exit_code(self.results, strict=self.strict)


class _Parts(NamedTuple):
    """A run of either kind, as the formats for people show it: every text is plain."""

    origin: list[str]
    watermark: Watermark
    gap: GapFigures
    coverage: Coverage
    root: str
    entries: list[Entry]
    there_are: int  # signals
    unit: str
    results: list[GateResult]
    made: str
    version: str


def render_check(check: Check, format: Format, *, width: int = 100, colour: bool = False) -> str:
    """The check in a format; width and colour are for the terminal."""
    match format:
        case "text":
            return _text(check, _parts(check), Page(width, colour))
        case "json":
            return _json(check)
        case "markdown":
            return _markdown(check, _parts(check))
        case "html":
            return _html(check, _parts(check))
        case "junit":
            return _junit(check, _parts(check))
        case "github":
            return "".join(f"{line}\n" for line in _github(check, _parts(check)))
        case _:
            assert_never(format)


def _parts(check: Check) -> _Parts:
    results = [made_plain(result) for result in check.results]
    if isinstance(check.run, ObserveReport):
        seen = plain_report(check.run)
        entries, there_are, unit = observed_entries(seen), signal_count(seen), "sample"
        origin = [origin_words(seen)]
    else:
        run = EvaluationReport(check.run).plain(check.run.root).evaluation
        entries, unit = entries_of(run), counted_unit(run)
        there_are = len(entries)
        origin = [f"evaluation {run.id}: {who_words(run)}", knowledge_words(run)]
    shown = made_plain(check.run)
    return _Parts(
        origin=origin,
        watermark=shown.watermark,
        gap=shown.gap,
        coverage=shown.coverage,
        root=shown.root,
        entries=entries,
        there_are=there_are,
        unit=unit,
        results=results,
        made=shown.made,
        version=shown.version,
    )


def outcome_words(check: Check) -> str:
    """How it came out as a whole."""
    if any(result.failed for result in check.results):
        return "failed"
    if any(result.outcome is Outcome.UNDECIDED for result in check.results):
        return "undecided: nothing was counted"
    if all(result.settled for result in check.results):
        return "passed"
    return "not settled, and --strict asks for that" if check.strict else "passed, not settled"


def _text(check: Check, parts: _Parts, page: Page) -> str:
    return joined(
        _head(check, parts, page),
        _gates(parts, page),
        wrap(check.nudge, page.width, 6) if check.nudge else (),
        page.gaps(parts.gap, parts.unit),
        page.sources(parts.gap),
        page.coverage(parts.coverage, parts.root),
        page.inventory(parts.entries, parts.there_are),
        page.next(NEXT_COMMANDS),
    )


def _head(check: Check, parts: _Parts, page: Page) -> Iterator[str]:
    yield from page.title("knowbound check", outcome_words(check), parts.origin)
    yield ""
    yield from page.watermark(parts.watermark)


def _gates(parts: _Parts, page: Page) -> Iterator[str]:
    yield page.bold("Gates")
    for result in parts.results:
        yield f"  {gate_name(result)}: {page.paint(gate_outcome(result), _COLOURS[result.outcome])}"
        for words in filter(None, (result.words, result.note)):
            yield from (f"    {line}" for line in wrap(words, page.width - 4, 6))


def _markdown(check: Check, parts: _Parts) -> str:
    shares = [*gap_figures(parts.gap, parts.unit), coverage_figure(parts.coverage, parts.root)]
    return markdown.joined(
        _markdown_head(check, parts),
        [f"> {check.nudge}"] if check.nudge else (),
        markdown.figures(parts.gap, shares, parts.unit),
        markdown.sources(parts.gap),
        markdown.uncovered(parts.coverage.uncovered),
        markdown.inventory(parts.entries, parts.there_are),
        markdown.next_commands(NEXT_COMMANDS),
    )


def _markdown_head(check: Check, parts: _Parts) -> Iterator[str]:
    yield f"## Check of the gap rate: {outcome_words(check)}"
    yield ""
    yield from markdown.watermark(parts.watermark)
    yield ""
    yield from (f"- {markdown.code(line)}" for line in parts.origin)
    yield ""
    yield from markdown.table("| gate | outcome | |", "| --- | --- | --- |")
    for result in parts.results:
        words = " ".join(filter(None, (result.words, result.note)))
        sign = f"{_SIGNS[result.outcome]} {gate_outcome(result)}"
        yield f"| {markdown.cell(gate_name(result))} | {sign} | {markdown.cell(words)} |"


def _html(check: Check, parts: _Parts) -> str:
    sections = [html.Section("gates", "Gates", _html_gates(check, parts))]
    sections.append(html.Section("sources", "By source", html.sources(parts.gap)))
    if parts.coverage.uncovered:
        sections.append(html.uncovered(parts.coverage.uncovered))
    if parts.entries:
        entries = [entry._replace(anchor="") for entry in parts.entries]
        sections.append(html.inventory(entries, parts.there_are, "Note"))
    return html.page(
        title="Check of the gap rate",
        lead=outcome_words(check).capitalize() + ".",
        totals="",
        origin=parts.origin,
        watermark=parts.watermark,
        cards=[*html.gap_cards(parts.gap, parts.unit), html.card(coverage_figure(parts.coverage, parts.root))],
        reading=html.reading(parts.gap, parts.unit),
        sections=sections,
        commands=NEXT_COMMANDS,
        version=parts.version,
    )


def _html_gates(check: Check, parts: _Parts) -> str:
    rows = ""
    for result in parts.results:
        badge = f'<span class="gate {result.outcome}">{html.shown(gate_outcome(result))}</span>'
        words = "".join(f"<p>{html.shown(words)}</p>" for words in (result.words, result.note) if words)
        rows += f"<div><dt>{html.shown(gate_name(result))}</dt><dd>{badge}{words}</dd></div>"
    note = f"<div><dt>Note</dt><dd>{html.shown(check.nudge)}</dd></div>" if check.nudge else ""
    return f'<dl class="reading">{rows}{note}</dl>'


def _json(check: Check) -> str:
    run = check.run
    signals = run.inventory if isinstance(run, ObserveReport) else run.signals
    document = {
        "format": FORMAT,
        "watermark": msgspec.to_builtins(run.watermark),
        "outcome": outcome_words(check),
        "exit_code": check.code,
        "strict": check.strict,
        "gates": [
            {**gate_fields(result), "difference": result.difference and msgspec.to_builtins(result.difference)}
            for result in check.results
        ],
        "run": {
            "kind": "observe" if isinstance(run, ObserveReport) else "evaluation",
            "id": None if isinstance(run, ObserveReport) else run.id,
            "made": run.made,
            "commit": None if isinstance(run, ObserveReport) else run.commit or None,
        },
        "gap": gap_fields(run.gap),
        "coverage": coverage_fields(run.coverage),
        "inventory": [signal_fields(signal) for signal in signals],
        "nudge": check.nudge or None,
    }
    return dumped(document, indent=2) + "\n"


def _junit(check: Check, parts: _Parts) -> str:
    """One testcase per gate: a failure where it failed, skipped where nothing was decided."""
    about = {"outcome": outcome_words(check), **({"note": check.nudge} if check.nudge else {})}
    return gates_junit(parts.results, parts.made, parts.watermark, about)


def _github(check: Check, parts: _Parts) -> Iterator[str]:
    """One annotation per gate, and one with the watermark, which is always there."""
    for result in parts.results:
        level = _LEVELS[result.outcome]
        if level == "notice" and check.strict and not result.settled:
            level = "warning"
        words = " ".join(filter(None, (result.words, result.note)))
        yield command(level, f"Gate {gate_name(result)}: {gate_outcome(result)}", words)
    if check.nudge:
        yield command("notice", "The gap rate is near 0", check.nudge)
    yield command("notice", "Test set", str(parts.watermark))

"""Stored evaluations: `knowbound trend` and `compare` show them, `knowbound check` tests the newest against gates."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from knowbound.cli import options
from knowbound.cli.options import argument, option, verb
from knowbound.cli.output import Out, echo
from knowbound.errors import InputError
from knowbound.report import GATE_FORMATS, PAGE_FORMATS

if TYPE_CHECKING:
    from knowbound.config import Settings
    from knowbound.report.evals.gate import GateReport
    from knowbound.stats.comparison import Comparison
    from knowbound.stats.evaluation import EvaluationHead
    from knowbound.stats.gate import Limits
    from knowbound.stats.trend import Trend


@verb("trend")
def trend_command(
    root: Path | None = options.root,
    samples: str | None = option("Show only this samples file, by its path or the start of its hash.", metavar="FILE"),
    last: int | None = option("Show only the last N evaluations of each samples file.", within=(1, 10**9), metavar="N"),
    others: bool = option("Also show the other variants that `eval` ran."),
    out: Out = options.report(
        PAGE_FORMATS, output_help="Write to FILE; a name that ends in .svg or .png gets the chart alone."
    ),
) -> None:
    """Show how the gap rate moved from commit to commit.

    Prints a table of all evaluations, and a line chart with intervals and marks where the knowledge changed. The line
    breaks where the samples file changed: evaluations of different test sets are never joined.
    """
    from knowbound.files import replacing
    from knowbound.report.evals.comparison import render_trend
    from knowbound.report.formats.charts import trend_png, trend_svg_file

    trend = options.from_stored(
        options.settings_of(root), root, lambda settings: _find_trend(settings, samples, last or 0, others)
    )
    if out.path is not None and out.path.suffix in (".svg", ".png"):
        newest = next(panel for panel in trend.panels if panel.rows[-1] is trend.rows[-1])
        drawn = trend_png(newest) if out.path.suffix == ".png" else trend_svg_file(newest).encode()
        with replacing(out.path) as file:
            file.write(drawn)
        return
    out.show(render_trend, trend)


def _find_trend(settings: Settings, samples: str | None, last: int, others: bool) -> Trend:
    """Return the trend of the stored evaluations, or of those of one samples file. Raises InputError for none."""
    from knowbound.evals.history import broken_samples, evaluations
    from knowbound.stats.trend import trend as trend_of

    heads = [head for head in evaluations(settings) if samples is None or _has_samples_file(head, samples)]
    found = trend_of(heads, with_others=others, last=last, broken=partial(broken_samples, settings))
    if not found.rows:
        about = f" of {samples}" if samples else ""
        raise InputError(
            "no-run", f"There is no stored evaluation{about} in {settings.home}. Try: knowbound eval SAMPLES"
        )
    return found


def _has_samples_file(head: EvaluationHead, samples: str) -> bool:
    """Report whether an evaluation is of this samples file: a path, a name, or the beginning of its hash."""
    path = Path(head.watermark.path)
    given = Path(samples)
    return path == given or given.resolve() == path.resolve() or path.name == samples or head.sha256.startswith(samples)


@verb("compare")
def compare_command(
    before: str = argument(default="previous"),
    after: str = argument(default="latest"),
    root: Path | None = options.root,
    out: Out = options.report(PAGE_FORMATS),
) -> None:
    """Compare two evaluations of the same test set, sample by sample.

    BEFORE and AFTER are ids of stored evaluations (see: knowbound trend), commits, `latest`, or `previous`: the
    newest evaluation before the latest with the same test set. Different test sets are refused.
    """
    from knowbound.report.evals.comparison import render_comparison

    comparison = options.from_stored(
        options.settings_of(root), root, lambda settings: _compare_named(settings, before, after)
    )
    out.show(render_comparison, comparison)


def _compare_named(settings: Settings, before: str, after: str) -> Comparison:
    from knowbound.evals import history
    from knowbound.stats.comparison import compare as compared
    from knowbound.stats.comparison import find_evaluation

    heads = history.evaluations(settings)
    return compared(*(history.evaluation(settings, find_evaluation(heads, name).id) for name in (before, after)))


@verb("check")
def check_command(
    root: Path | None = options.root,
    gates: options.Gates = options.gates,
    max_unsupported: Fraction | None = option(
        "Fail when the share of unsupported answers of the stored audit is above F (0.1 is 10%).",
        type=options.LimitType(),
        metavar="F",
    ),
    allow_none: bool = option("Exit 0 when no run is stored yet, as in a fresh clone."),
    out: Out = options.report(GATE_FORMATS),
) -> int:
    """Test the newest stored run of `eval` or `observe`, or the stored audit, against gates.

    A gate fails when the gap rate is strictly above its limit (exit 1). Each gate shows its interval, whether there are
    enough samples to be sure, and how many more samples would be enough. Without a gate option the gates of the config
    are used. A run that fails a gate is never the baseline of a later run.
    """
    from knowbound.report.evals.gate import render_check

    settings = options.settings_of(root)
    if max_unsupported is not None:
        if gates.max_gap_rate is not None or gates.gap_rate_regression is not None:
            raise click.UsageError("--max-unsupported is about the stored audit: check it by itself.")
        return _check_unsupported(settings, max_unsupported, gates.strict, allow_none, out)
    limits = gates.limits(settings)
    if limits.max_gap_rate is None and limits.gap_rate_regression is None:
        raise click.UsageError(
            "Nothing to check: give --max-gap-rate, --gap-rate-regression or --max-unsupported, "
            "or set gate.max_gap_rate or gate.gap_rate_regression in the config."
        )
    try:
        check = options.from_stored(settings, root, lambda stored: _check_newest(stored, limits, gates.strict))
    except InputError as error:
        if not allow_none or error.slug != "no-run":
            raise
        echo("knowbound: no run is stored here yet, so nothing was checked. Try: knowbound eval", err=True)
        return 0
    out.show(render_check, check)
    return check.code


def _check_newest(settings: Settings, limits: Limits, strict: bool) -> GateReport:
    """Test the newest run, of eval or of observe, against the limits; an evaluation keeps the result."""
    from knowbound.evals.history import baseline_of, evaluation, evaluations, newest_written, note_gates
    from knowbound.gaps.stored import newest_report
    from knowbound.report.evals.gate import GateReport
    from knowbound.report.model import ObserveReport
    from knowbound.stats.gate import evaluation_gates, run_gates
    from knowbound.stats.trend import nudge
    from knowbound.store.observed import Observed

    # Where a run of observe is newer, the report is that of observe.
    id_ = None if Observed(settings.home).newest_evaluation() is None else newest_written(settings)
    run = newest_report(settings)[0] if id_ is None else evaluation(settings, id_)
    if isinstance(run, ObserveReport):
        return GateReport(run, tuple(run_gates(limits, run.gap.of(limits.kind))), strict)
    results = evaluation_gates(limits, run, baseline_of(settings, run, limits.kind))
    note_gates(settings, run, results)
    heads = [head for head in evaluations(settings) if head.id <= run.id and not head.against]
    return GateReport(run, tuple(results), strict, nudge(heads) or "")


def _check_unsupported(settings: Settings, limit: Fraction, strict: bool, allow_none: bool, out: Out) -> int:
    """Test the share of unsupported answers of the stored audit, and return the exit code."""
    from knowbound.audit.stored import stored_shares
    from knowbound.core.audit import Diagnosis
    from knowbound.report.evals.gate import render_audit_gate
    from knowbound.stats.gate import exit_code, max_unsupported

    if out.format == "sarif":
        raise click.UsageError("This gate has no SARIF: knowbound audit --format sarif has the findings.")
    shares = stored_shares(settings.home)
    if not shares.turns:
        if not allow_none:
            raise InputError("no-run", f"No stored audit in {settings.home}. Try: knowbound audit")
        echo("knowbound: no audit is stored here yet, so nothing was checked. Try: knowbound audit", err=True)
        return 0
    gate = max_unsupported(limit, shares.rate(Diagnosis.UNSUPPORTED))
    out.show(render_audit_gate, gate)
    return exit_code((gate,), strict=strict)

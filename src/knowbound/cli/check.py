"""`knowbound check`: test the newest stored run against gates, without running anything."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from knowbound.cli.options import (
    LimitType,
    from_stored,
    gate_options,
    limits_of,
    report_options,
    root_option,
    settings_of,
)
from knowbound.cli.output import echo, emit, layout
from knowbound.report import GATE_FORMATS

if TYPE_CHECKING:
    from knowbound.config import Settings
    from knowbound.report.evals.gate import GateReport
    from knowbound.stats.gate import Limits


@click.command("check")
@root_option
@gate_options
@click.option(
    "--max-unsupported",
    type=LimitType(),
    metavar="F",
    help="Fail when the share of unsupported answers of the stored audit is above F (0.1 is 10%).",
)
@click.option("--allow-none", is_flag=True, help="Exit 0 when no run is stored yet, as in a fresh clone.")
@report_options(GATE_FORMATS)
def command(
    root: Path | None,
    max_gap_rate: Fraction | None,
    gap_rate_regression: Fraction | None,
    rate: str | None,
    strict: bool,
    max_unsupported: Fraction | None,
    allow_none: bool,
    format_: str,
    output: Path | None,
) -> int:
    """Test the newest stored run of `eval` or `observe`, or the stored audit, against gates.

    A gate fails when the gap rate is strictly above its limit (exit 1). Each gate shows its interval, whether there are
    enough samples to be sure, and how many more samples would be enough. Without a gate option the gates of the config
    are used. A run that fails a gate is never the baseline of a later run.
    """
    from knowbound.errors import InputError
    from knowbound.report.evals.gate import render_check

    settings = settings_of(root)
    if max_unsupported is not None:
        if max_gap_rate is not None or gap_rate_regression is not None:
            raise click.UsageError("--max-unsupported is about the stored audit: check it by itself.")
        return _unsupported(settings, max_unsupported, strict, allow_none, format_, output)
    limits = limits_of(settings, max_gap_rate, gap_rate_regression, rate)
    if limits.max_gap_rate is None and limits.gap_rate_regression is None:
        raise click.UsageError(
            "Nothing to check: give --max-gap-rate, --gap-rate-regression or --max-unsupported, "
            "or set gate.max_gap_rate or gate.gap_rate_regression in the config."
        )
    try:
        check = from_stored(settings, root, lambda stored: _checked(stored, limits, strict))
    except InputError as error:
        if not allow_none or error.slug != "no-run":
            raise
        echo("knowbound: no run is stored here yet, so nothing was checked. Try: knowbound eval", err=True)
        return 0
    emit([render_check(check, cast("Any", format_), **layout(output))], output)
    return check.code


def _checked(settings: Settings, limits: Limits, strict: bool) -> GateReport:
    from knowbound.evals.history import baseline_of, evaluation, evaluations, newest_written, note_gates
    from knowbound.gaps.stored import newest_report
    from knowbound.report.evals.gate import GateReport
    from knowbound.report.model import ObserveReport
    from knowbound.stats.gate import evaluation_gates, run_gates
    from knowbound.stats.trend import nudge
    from knowbound.store.observed import Observed

    id_ = None if Observed(settings.home).newest_evaluation() is None else newest_written(settings)
    run = newest_report(settings)[0] if id_ is None else evaluation(settings, id_)
    if isinstance(run, ObserveReport):
        return GateReport(run, tuple(run_gates(limits, run.gap.of(limits.kind))), strict)
    results = evaluation_gates(limits, run, baseline_of(settings, run, limits.kind))
    note_gates(settings, run, results)
    heads = [head for head in evaluations(settings) if head.id <= run.id and not head.against]
    return GateReport(run, tuple(results), strict, nudge(heads) or "")


def _unsupported(
    settings: Settings, limit: Fraction, strict: bool, allow_none: bool, format_: str, output: Path | None
) -> int:
    """Test the stored audit against the limit."""
    from knowbound.audit.stored import stored_shares
    from knowbound.core.audit import Diagnosis
    from knowbound.errors import InputError
    from knowbound.report.evals.gate import render_audit_gate
    from knowbound.stats.gate import exit_code, max_unsupported

    if format_ == "sarif":
        raise click.UsageError("This gate has no SARIF: knowbound audit --format sarif has the findings.")
    shares = stored_shares(settings.home)
    if not shares.turns:
        if not allow_none:
            raise InputError("no-run", f"No stored audit in {settings.home}. Try: knowbound audit")
        echo("knowbound: no audit is stored here yet, so nothing was checked. Try: knowbound audit", err=True)
        return 0
    gate = max_unsupported(limit, shares.rate(Diagnosis.UNSUPPORTED))
    emit([render_audit_gate(gate, cast("Any", format_), **layout(output))], output)
    return exit_code((gate,), strict=strict)

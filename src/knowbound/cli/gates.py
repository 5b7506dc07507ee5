"""The gate options that `eval` and `check` share (specification 1, section 7.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from knowbound.cli.options import Function
from knowbound.errors import ConfigError

if TYPE_CHECKING:
    from fractions import Fraction

    from knowbound.config import Settings
    from knowbound.stats.gate import Limits


class LimitType(click.ParamType[Any]):
    """A fraction from 0 to 1, kept exactly as it was written."""

    name = "fraction"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Fraction:
        """The fraction, or a message that says what is wrong with it."""
        from knowbound.stats.gate import limit

        try:
            return limit(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def gate_options(function: Function) -> Function:
    """--max-gap-rate, --gap-rate-regression, --rate and --strict."""
    for option in (
        click.option(
            "--strict", is_flag=True, help="Exit 3 where a gate passes but there are too few samples to be sure."
        ),
        click.option(
            "--rate",
            type=click.Choice(("raw", "open")),
            help="The rate that gates are about: raw counts every signal (default), open only open ones.",
        ),
        click.option(
            "--gap-rate-regression",
            type=LimitType(),
            metavar="F",
            help="Fail when the gap rate rose by more than F since the last run with this test set that failed no "
            "gate (0.05 is 5%).",
        ),
        click.option(
            "--max-gap-rate", type=LimitType(), metavar="F", help="Fail when the gap rate is above F (0.1 is 10%)."
        ),
    ):
        function = option(function)
    return function


def limits_of(
    settings: Settings, max_gap_rate: Fraction | None, gap_rate_regression: Fraction | None, rate: str | None
) -> Limits:
    """The limits and the rate given as options, or else those of the config."""
    from knowbound.stats.figures import RateKind
    from knowbound.stats.gate import Limits, limit

    def asked(given: Fraction | None, configured: float | None) -> Fraction | None:
        return limit(configured) if given is None and configured is not None else given

    kind = rate or settings.gate_rate
    if kind not in set(RateKind):
        raise ConfigError("config-wrong-type", f"gate.rate must be raw or open, not {kind!r}.")
    return Limits(
        asked(max_gap_rate, settings.gate_max_gap_rate),
        asked(gap_rate_regression, settings.gate_gap_rate_regression),
        RateKind(kind),
    )

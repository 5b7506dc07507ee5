"""`quality simulate`: several ways to run the loop over the same seeds, side by side (specification 2)."""

from __future__ import annotations

from collections.abc import Sequence

from knowbound.core.quality_log import DayRollup, Discovery
from knowbound.quality.discovery import discovery_rate
from knowbound.quality.simulation import FIRST_DAY, Plan, Simulation, World, simulate
from knowbound.report.quality.simulation import Outcome, SimulationReport
from knowbound.stats.quality import WINDOW_DAYS, QualityMetric, WindowRates, item_rates, rolling, window, within
from knowbound.stats.rate import Mean, Rate, mean_of

_PLANS = {
    "measured only": Plan(ranking=None, corrections=None),
    "ranking": Plan(ranking=0, corrections=None),
    "ranking and corrections": Plan(ranking=0, corrections=0),
}
_LEGS = Plan()  # for the chart: one leg a week


def simulated(world: World, seeds: int, first_seed: int = 1) -> SimulationReport:
    """Run every plan with every seed."""
    numbers = range(first_seed, first_seed + seeds)
    outcomes = tuple(_outcome(name, [simulate(world, seed, plan) for seed in numbers]) for name, plan in _PLANS.items())
    drawn = simulate(world, first_seed, _LEGS)
    days = list(drawn.days)
    windows = rolling(days, days[-1].date, lambda first, last: discovery_rate(drawn.records, first, last))
    return SimulationReport(
        seeds=seeds,
        world=f"{world.items} items, {world.turns} turns a day for {world.days} days, {seeds} seeds",
        outcomes=outcomes,
        windows=windows,
        legs=_legs(days, world),
        kill=_kill_lines(windows),
    )


def _legs(days: Sequence[DayRollup], world: World) -> tuple[tuple[str, str], ...]:
    starts = ((0, "leg 0"), (_LEGS.ranking, "leg 1"), (_LEGS.corrections, "leg 2"))
    return tuple((days[day].date, name) for day, name in starts if day is not None and day < world.days)


def _kill_lines(windows: Sequence[WindowRates]) -> dict[QualityMetric, float]:
    """On-topic must not fall below the week before ranking began."""
    before = windows[: _LEGS.ranking]
    baseline = before[-1].rates[QualityMetric.ON_TOPIC].value if before else None
    return {} if baseline is None else {QualityMetric.ON_TOPIC: baseline}


def _outcome(name: str, runs: Sequence[Simulation]) -> Outcome:
    days_in_top = mean_of([_middle(run)] for run in runs)
    return Outcome(name, _means(runs, is_first=True), _means(runs, is_first=False), days_in_top)


def _middle(run: Simulation) -> float:
    stays = sorted(run.stays.values())
    return float(stays[len(stays) // 2]) if stays else 0.0


def _means(runs: Sequence[Simulation], *, is_first: bool) -> dict[QualityMetric, Mean]:
    values: dict[QualityMetric, list[list[float]]] = {metric: [] for metric in QualityMetric}
    for run in runs:
        days = run.days[:WINDOW_DAYS] if is_first else run.days[-WINDOW_DAYS:]
        for metric, rate in _rates(days, run.records, is_first=is_first).items():
            values[metric] += [[rate.value]] if rate.value is not None else []
    return {metric: mean_of(several) for metric, several in values.items()}


def _rates(days: Sequence[DayRollup], records: Sequence[Discovery], *, is_first: bool) -> dict[QualityMetric, Rate]:
    """Of the week; discovery of all records until its end, since few are raised once wrong items are gone."""
    last = days[-1].date
    since = window(last)[0] if is_first else FIRST_DAY.isoformat()
    return {**item_rates(within(days, *window(last))), QualityMetric.DISCOVERY: discovery_rate(records, since, last)}

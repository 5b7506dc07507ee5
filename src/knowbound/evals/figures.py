"""From the runs of a test set to its figures (specification 1, section 5).

Only complete runs count, in the gap rate and in coverage alike. Runs of one sample, and samples that share a session,
are alike: the intervals take them as clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from knowbound.core.knowledge import covered
from knowbound.core.signal import Findings, Sample, Status, Turn
from knowbound.gaps.aggregate import Aggregate
from knowbound.stats.evaluation import SampleRun
from knowbound.stats.figures import Coverage, GapFigures, Topic
from knowbound.stats.rate import Mean, Rate, clustered, mean_of


class Figures(msgspec.Struct, frozen=True):
    """What the runs of a test set come to."""

    gap: GapFigures
    coverage: Coverage
    composite: Mean
    topics: list[Topic]


def figures_of(runs: Iterable[SampleRun], knowledge: Sequence[str]) -> Figures:
    """The figures over the complete runs."""
    complete = [run for run in runs if run.is_complete]
    whole = Aggregate()
    for run in complete:
        whole.add(_as_findings(run))
    counted = whole.figures()
    rate = _clustered(complete, lambda run: run.has_gap)
    reached, uncovered = covered(knowledge, {path for run in complete for path in run.reached})
    composites: dict[str, list[float]] = {}
    for run in complete:
        if run.grade.composite is not None:
            composites.setdefault(run.cluster, []).append(run.grade.composite)
    return Figures(
        gap=GapFigures(
            rate=rate,
            weighted=msgspec.structs.replace(counted.weighted, design=rate.design),
            open=_clustered(complete, lambda run: any(signal.status is Status.OPEN for signal in run.signals)),
            per_turn=Rate(counted.per_turn.k, counted.per_turn.n, min(rate.design, max(counted.per_turn.n, 1))),
            by_type=counted.by_type,
            by_status=counted.by_status,
        ),
        coverage=Coverage(Rate(len(reached), len(knowledge)), uncovered) if complete else Coverage(Rate(), []),
        composite=mean_of(composites.values()),
        topics=whole.topics(),
    )


def _clustered(runs: Iterable[SampleRun], counts: Callable[[SampleRun], bool]) -> Rate:
    clusters: dict[str, Rate] = {}
    for run in runs:
        clusters[run.cluster] = clusters.get(run.cluster, Rate()) + Rate(int(counts(run)), 1)
    return clustered(clusters.values())


def _as_findings(run: SampleRun) -> Findings:
    """A run as the lens would tell it: one sample in a session of its own."""
    name = f"{run.sample}#{run.repeat}"
    turns = [Turn(index, name, steps=1) for index in range(1, max(run.turns, 1) + 1)]
    signals = [msgspec.structs.replace(signal, sample=name) for signal in run.signals]
    sample = Sample(name, run.sample, run.turns, run.steps, run.calls)
    return Findings(name, "", turns=turns, samples=[sample], signals=signals, tool_calls=run.calls)

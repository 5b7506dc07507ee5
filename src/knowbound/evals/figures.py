"""From the runs of a test set to its figures (specification 1, section 5).

Only complete runs count, in the gap rate and in coverage alike. Runs of one sample, and samples that share a session,
are not independent: the intervals take them as clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from knowbound.core.knowledge import covered
from knowbound.core.signal import Status
from knowbound.gaps.aggregate import FailedTopics, SampleCounts
from knowbound.stats.evaluation import SampleRun
from knowbound.stats.figures import Coverage, GapFigures, Topic
from knowbound.stats.rate import Mean, Rate, clustered, mean_of


class EvaluationFigures(msgspec.Struct, frozen=True):
    """What the runs of a test set add up to."""

    gap: GapFigures
    coverage: Coverage
    composite: Mean
    topics: list[Topic]


def figures_of(runs: Iterable[SampleRun], knowledge: Sequence[str]) -> EvaluationFigures:
    """The figures over the complete runs."""
    complete = [run for run in runs if run.is_complete]
    counts, topics = SampleCounts(), FailedTopics()
    for run in complete:
        turns = max(run.turns, 1)
        counts.add(run.signals, turns, len({signal.turn for signal in run.signals if 1 <= signal.turn <= turns}))
        for signal in run.signals:
            topics.add(msgspec.structs.replace(signal, sample=f"{run.sample}#{run.repeat}"), run.sample)
    reached, uncovered = covered(knowledge, {path for run in complete for path in run.reached})
    composites: dict[str, list[float]] = {}
    for run in complete:
        if run.grade.composite is not None:
            composites.setdefault(run.cluster, []).append(run.grade.composite)
    return EvaluationFigures(
        gap=_clustered_figures(counts.figures(), complete),
        coverage=Coverage(Rate(len(reached), len(knowledge)), uncovered) if complete else Coverage(Rate(), []),
        composite=mean_of(composites.values()),
        topics=topics.ranked(),
    )


def _clustered_figures(counted: GapFigures, runs: Sequence[SampleRun]) -> GapFigures:
    """The figures with the design effects of their clusters."""
    rate = _clustered(runs, lambda run: run.has_gap)
    is_open = _clustered(runs, lambda run: any(signal.status is Status.OPEN for signal in run.signals))
    turns = counted.per_turn
    return msgspec.structs.replace(
        counted,
        rate=rate,
        weighted=msgspec.structs.replace(counted.weighted, design=rate.design),
        open=is_open,
        open_weighted=msgspec.structs.replace(counted.open_weighted, design=is_open.design),
        per_turn=msgspec.structs.replace(turns, design=min(rate.design, max(turns.n, 1))),
    )


def _clustered(runs: Iterable[SampleRun], counts: Callable[[SampleRun], bool]) -> Rate:
    clusters: dict[str, Rate] = {}
    for run in runs:
        clusters[run.cluster] = clusters.get(run.cluster, Rate()) + Rate(int(counts(run)), 1)
    return clustered(clusters.values())

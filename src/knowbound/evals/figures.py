"""From the runs of a test set to its figures (specification 1, section 5).

Only complete runs count, in the gap rate and in coverage alike. The rates are over samples, however often each was run.
Samples that share a session are not independent: the intervals take them as clusters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from knowbound.core.knowledge_paths import split_by_reach
from knowbound.core.signal import NOT_CLOSED, Signal, SignalType
from knowbound.gaps.aggregate import SampleCounts
from knowbound.stats.evaluation import SampleRun, complete_runs, sample_rate, sample_weight
from knowbound.stats.figures import Coverage, GapFigures, MissedSearch, RateKind
from knowbound.stats.rate import Mean, Rate, Weighted, mean_of
from knowbound.text.terms import path_terms, terms

_MOST_SEARCHES = 50  # missed searches that are kept


class EvaluationFigures(msgspec.Struct, frozen=True):
    """Summed figures of the runs of a test set."""

    gap: GapFigures
    coverage: Coverage
    composite: Mean
    topics: list[MissedSearch]


def figures_of(runs: Iterable[SampleRun], knowledge: Sequence[str]) -> EvaluationFigures:
    """The figures over the complete runs."""
    samples = complete_runs(runs)
    complete = [run for sample_runs in samples.values() for run in sample_runs]
    counts = SampleCounts()
    for run in complete:
        turns = max(run.turns, 1)
        turns_with_signal = {signal.turn for signal in run.signals if 1 <= signal.turn <= turns}
        counts.add(run.signals, turns, len(turns_with_signal))
    reached, uncovered = split_by_reach(knowledge, {path for run in complete for path in run.reached})
    why_unknown = _no_coverage(complete) if knowledge else ""  # 0 of 0 files needs no reason
    composites: dict[str, list[float]] = {}
    for run in complete:
        if run.grade.composite is not None:
            composites.setdefault(run.cluster, []).append(run.grade.composite)
    known = Coverage(Rate(len(reached), len(knowledge)), uncovered)
    return EvaluationFigures(
        gap=_by_sample(counts.figures(), samples),
        coverage=Coverage(Rate(), [], reason=why_unknown) if why_unknown else known,
        composite=mean_of(composites.values()),
        topics=_missed_searches(complete),
    )


def _no_coverage(complete: Sequence[SampleRun]) -> str:
    """Return why the reached files are unknown; "" if a run shows its calls, or reached a file all the same."""
    if not complete:
        return "no sample has a complete run"
    shows_files = any(run.shows_calls or run.reached for run in complete)
    return "" if shows_files else "no tool call left a trace: the files that were read are not known"


def _by_sample(counted: GapFigures, samples: Mapping[str, Sequence[SampleRun]]) -> GapFigures:
    """The figures of all runs, with rates that count samples."""
    raw, open_upper = sample_rate(samples, RateKind.RAW), sample_rate(samples, RateKind.OPEN)
    open_certain = sample_rate(samples, RateKind.OPEN, is_certain=True)  # without undecided signals
    turns, runs_per_sample = counted.per_turn, counted.rate.n / max(len(samples), 1)
    return msgspec.structs.replace(
        counted,
        rate=raw,
        weighted=_weighted(samples, RateKind.RAW, raw.design),
        open=open_certain,
        open_weighted=_weighted(samples, RateKind.OPEN, open_certain.design, is_certain=True),
        open_most=open_upper,
        open_weighted_most=_weighted(samples, RateKind.OPEN, open_upper.design),
        unseen=sum(not all(run.shows_calls for run in runs) for runs in samples.values()),
        # The turns of all runs count; those of one sample are alike.
        per_turn=msgspec.structs.replace(turns, design=max(1.0, min(raw.design * runs_per_sample, turns.n))),
    )


def _weighted(
    samples: Mapping[str, Sequence[SampleRun]], kind: RateKind, design: float, *, is_certain: bool = False
) -> Weighted:
    """Return the weighted rate of the samples; `design` is the design effect of the plain rate."""
    weights = Counter(sample_weight(runs, kind, is_certain=is_certain) for runs in samples.values())
    del weights[0.0]  # samples without a gap
    return msgspec.structs.replace(Weighted.of(weights, len(samples)), design=design)


def _missed_searches(runs: Iterable[SampleRun]) -> list[MissedSearch]:
    """The failed searches that nothing closed, grouped by what they looked for; those of the most sessions first."""
    # Of each set of words: the first signal, and how often it was missed, by sample.
    by_terms: dict[frozenset[str], tuple[Signal, Counter[tuple[str, str]]]] = {}
    for run in runs:
        for signal in run.signals:
            if signal.type is SignalType.FAILED_SEARCH and signal.status in NOT_CLOSED and signal.query:
                key = path_terms(signal.query) if "/" in signal.query else terms(signal.query)
                key = key or frozenset((signal.query,))  # a query without a word
                _, events = by_terms.setdefault(key, (signal, Counter()))
                events[run.sample, signal.sample] += 1
    searches = [
        MissedSearch(signal.query, events.total(), len(events), len({sample for sample, _ in events}), signal)
        for signal, events in by_terms.values()
    ]
    searches.sort(key=lambda search: (-search.sessions, -search.samples, -search.events, search.query))
    return searches[:_MOST_SEARCHES]

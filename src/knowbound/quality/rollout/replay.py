"""Replay of the next leg's ranking over logged candidates, compared by their verdicts (specification 2, section 6).

A leg begins only after a replay of its ranking was no worse. The measured quality of an item is made of the verdicts up
to the day before the turn, so no turn explains itself. Candidates are in the log of injections of this data folder,
verdicts in the quality log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from knowbound.config import Settings
from knowbound.core.quality import CONTRACT, DayRollup, ItemVerdict, Metric, QualityScores, QualityTurn, Weights
from knowbound.injection.choosing import CHOSEN
from knowbound.injection.log import AT_START, InjectionRecord, read_log
from knowbound.injection.prompt import CONTEXT_IS_GONE
from knowbound.kms.quality_log.protocol import QualityLog
from knowbound.kms.search.ranking import RANKER, RELEVANCE_FLOOR, FoundItem, rank, relevant
from knowbound.quality.rollout.effective import weights_of
from knowbound.stats.replay import Ranker, Ranking, ReplayResult, TurnPair, compare
from knowbound.text.clock import utc_now


class LoggedPool(msgspec.Struct, frozen=True):
    """The candidates of a turn that its context did not have yet, and the verdicts on those that were injected."""

    day: str
    session: str
    rows: tuple[tuple[str | float | bool | list[int] | None, ...], ...]
    verdicts: dict[str, ItemVerdict]


def replay(
    settings: Settings,
    log: QualityLog,
    days: Iterable[DayRollup],
    present: tuple[str, ...],
    candidate: tuple[str, ...],
) -> ReplayResult:
    """Compare the ranking by measured quality of the backends `present` with that of the backends `candidate`."""
    floor = RELEVANCE_FLOOR if settings.injection_relevance_floor is None else settings.injection_relevance_floor
    turns = {(turn.session_id, turn.turn_id): turn for turn in log.since("")}
    pools = list(logged_pools(read_log(settings.home).records, turns))
    before, after = Ranking(Ranker.PRESENT, present, floor), Ranking(Ranker.QUALITY, candidate, floor)
    return compare_rankings(pools, days, before, after, settings.injection_most_items, weights_of(settings))


def logged_pools(
    records: Iterable[InjectionRecord], turns: Mapping[tuple[str, str], QualityTurn]
) -> Iterator[LoggedPool]:
    """The pools of turns with verdicts, in the order of time, ranked as now: rows of other rankers have other parts.

    What a context had already was no candidate.
    """
    known: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for record in records:
        has = known.setdefault(record.context, set())
        if record.event == AT_START:
            if record.source in CONTEXT_IS_GONE:
                has.clear()
            continue
        turn = turns.get((record.session, record.turn_key)) or turns.get((record.session, record.id))
        verdicts = {one.id: one.verdict for one in turn.injected_items if one.verdict} if turn else {}
        if verdicts and record.pool and record.ranker == RANKER and record.chooser_outcome != CHOSEN:
            rows = tuple(row for row in record.pool if (str(row[0]), str(row[2])) not in has)
            yield LoggedPool(record.time[:10], record.session, rows, verdicts)
        if record.delivered:
            has |= {(one.item, one.sha) for one in record.items}
        if record.late_delivered:
            has |= {(one.item, one.sha) for one in record.late}


def compare_rankings(
    pools: Sequence[LoggedPool],
    days: Iterable[DayRollup],
    before: Ranking,
    after: Ranking,
    k: int,
    weights: Weights = CONTRACT,
) -> ReplayResult:
    """Rank every pool both ways, and compare the verdicts on the first k."""
    pairs: dict[Metric, list[TurnPair]] = {metric: [] for metric in Metric}
    for pool, scores in _with_scores(pools, days):
        verdicts = [_first_verdicts(pool, ranking, scores, k, weights) for ranking in (before, after)]
        if all(verdicts):
            for metric in Metric:
                said = [tuple(one.says(metric) for one in some) for some in verdicts]
                pairs[metric].append(TurnPair(pool.session, said[0], said[1]))
    return ReplayResult(
        made=utc_now(),
        before=before,
        after=after,
        k=k,
        compared=len(pairs[Metric.ON_TOPIC]),
        metrics={metric: compare(some) for metric, some in pairs.items()},
    )


def _with_scores(
    pools: Iterable[LoggedPool], days: Iterable[DayRollup]
) -> Iterator[tuple[LoggedPool, Mapping[str, QualityScores]]]:
    """Each pool with the averages of all items on the evening before."""
    scores: dict[str, QualityScores] = {}
    waiting = sorted(days, key=lambda day: day.date, reverse=True)
    for pool in sorted(pools, key=lambda pool: pool.day):
        while waiting and waiting[-1].date < pool.day:
            scores |= waiting.pop().scores
        yield pool, scores


def _first_verdicts(
    pool: LoggedPool, ranking: Ranking, scores: Mapping[str, QualityScores], k: int, weights: Weights
) -> list[ItemVerdict]:
    """Return the verdicts on the judged items among the first k that would be injected, best first."""
    items = [FoundItem(*row) for row in pool.rows]  # type: ignore[arg-type]
    for item in items:
        known = scores.get(item.id, QualityScores())
        is_measured = item.backend in ranking.backends and (not known.sha or known.sha[:16] == item.content_sha)
        item.quality = known.factor(weights) if is_measured else 1.0
    ranked = relevant(rank(items, len(items), with_quality=True), ranking.floor, with_quality=True)
    return [pool.verdicts[item.id] for item in ranked[:k] if item.id in pool.verdicts]

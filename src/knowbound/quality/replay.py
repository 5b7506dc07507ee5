"""`quality replay`: two rankings over the candidates that were logged, judged by the verdicts of then.

Specification 2, section 6. No ranking is changed before it was replayed.
The measured quality of an item is what verdicts up to the day before the turn made of it, so no turn explains itself.
Pools are in the log of injections of this data folder; verdicts are in the quality log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing

import msgspec

from knowbound.config import Settings
from knowbound.core.quality import ItemVerdict, Metric
from knowbound.core.quality_log import DayRollup, QualityTurn
from knowbound.injection.log import AT_START, InjectionRecord, read_log
from knowbound.injection.model_choice import CHOSEN
from knowbound.injection.prompt import CONTEXT_IS_GONE
from knowbound.kms.opening import open_index
from knowbound.kms.quality_log.opening import open_quality_log
from knowbound.kms.search.ranking import RELEVANCE_FLOOR, FoundItem, rank, relevant
from knowbound.quality.effective import without_outdated
from knowbound.quality.legs import legs_for, present_leg, ranked_backends
from knowbound.quality.rollout import keep_replay, load_state
from knowbound.stats.effective import QualityScores
from knowbound.stats.rate import Rate
from knowbound.stats.replay import MetricChange, Ranker, Ranking, ReplayResult, TurnPair, compare
from knowbound.text.clock import utc_now


class ReplayOptions(msgspec.Struct, frozen=True):
    """What is compared with what."""

    ranker: Ranker = Ranker.QUALITY
    against: Ranker = Ranker.PRESENT
    floor: float | None = None  # None: the present one
    against_floor: float | None = None
    k: int = 0  # 0: as many items as a prompt gets
    since: str = ""  # the first day


class LoggedPool(msgspec.Struct, frozen=True):
    """The candidates of a turn that its context did not have yet, and the verdicts on those that were injected."""

    day: str
    session: str
    rows: tuple[tuple[str | float | bool | list[int] | None, ...], ...]
    verdicts: dict[str, ItemVerdict]


def replay(settings: Settings, options: ReplayOptions) -> ReplayResult:
    """Compare, and keep what was found where it is about the next leg of the rollout."""
    with closing(open_quality_log(settings)) as log, closing(open_index(settings)) as index:
        days = without_outdated(log.rollups(), index.corrections())
        legs, state = legs_for(settings.kms_backends), load_state(log)
        number = present_leg(state.leg, state.plan, legs)
        backends = {
            Ranker.PLAIN: (),
            Ranker.PRESENT: ranked_backends(legs, number),
            Ranker.QUALITY: ranked_backends(legs, number + 1),
        }
        present = RELEVANCE_FLOOR if settings.injection_relevance_floor is None else settings.injection_relevance_floor
        before, after = (
            Ranking(ranker, backends[ranker], present if floor is None else floor)
            for ranker, floor in ((options.against, options.against_floor), (options.ranker, options.floor))
        )
        records = read_log(settings.home, since=options.since).records
        turns = {(turn.session_id, turn.turn_id): turn for turn in log.since(options.since)}
        pools = list(logged_pools(records, turns))
        by_model = sum(one.chooser_outcome == CHOSEN for one in records)
        k = options.k or settings.injection_most_items
        result = compare_rankings(pools, days, before, after, k, chosen_by_model=by_model)
        if options.ranker is Ranker.QUALITY and options.against is Ranker.PRESENT and before.floor == after.floor:
            keep_replay(log, result)
        return result


def logged_pools(
    records: Iterable[InjectionRecord], turns: Mapping[tuple[str, str], QualityTurn]
) -> Iterator[LoggedPool]:
    """The pools of turns with verdicts, in the order of time. What a context had already was no candidate."""
    known: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for record in records:
        has = known.setdefault(record.context, set())
        if record.event == AT_START:
            if record.source in CONTEXT_IS_GONE:
                has.clear()
            continue
        turn = turns.get((record.session, record.turn_key)) or turns.get((record.session, record.id))
        verdicts = {one.id: one.verdict for one in turn.injected_items if one.verdict} if turn else {}
        if verdicts and record.pool and record.chooser_outcome != CHOSEN:
            rows = tuple(row for row in record.pool if (str(row[0]), str(row[2])) not in has)
            yield LoggedPool(record.time[:10], record.session, rows, verdicts)
        if record.delivered:
            has |= {(one.item, one.sha) for one in record.items}


def compare_rankings(
    pools: Sequence[LoggedPool],
    days: Iterable[DayRollup],
    before: Ranking,
    after: Ranking,
    k: int,
    *,
    chosen_by_model: int = 0,
) -> ReplayResult:
    """Both rankings over every pool."""
    unjudged = [Rate(), Rate()]
    pairs: dict[Metric, list[TurnPair]] = {metric: [] for metric in Metric}
    moved = 0
    for pool, scores in _with_scores(pools, days):
        first = [_first(pool, one, scores, k) for one in (before, after)]
        judged = [[id_ for id_ in ids if id_ in pool.verdicts] for ids in first]
        for side in (0, 1):
            unjudged[side] += Rate(len(first[side]) - len(judged[side]), len(first[side]))
        if not (judged[0] and judged[1]):
            continue
        moved += set(judged[0]) != set(judged[1])
        for metric in Metric:
            said = [tuple(pool.verdicts[id_].says(metric) for id_ in ids) for ids in judged]
            pairs[metric].append(TurnPair(pool.session, said[0], said[1]))
    found: dict[Metric, MetricChange] = {metric: compare(some) for metric, some in pairs.items()}
    return ReplayResult(
        made=utc_now(),
        before=before,
        after=after,
        k=k,
        first=min((pool.day for pool in pools), default=""),
        last=max((pool.day for pool in pools), default=""),
        turns=len(pools),
        compared=len(pairs[Metric.ON_TOPIC]),
        moved=moved,
        chosen_by_model=chosen_by_model,
        unjudged_before=unjudged[0],
        unjudged_after=unjudged[1],
        metrics=found,
    )


def _with_scores(
    pools: Iterable[LoggedPool], days: Iterable[DayRollup]
) -> Iterator[tuple[LoggedPool, Mapping[str, QualityScores]]]:
    """Each pool with the averages of all items on the evening before."""
    scores: dict[str, QualityScores] = {}
    waiting = sorted(days, key=lambda day: day.date, reverse=True)
    for pool in sorted(pools, key=lambda pool: pool.day):
        while waiting and waiting[-1].date < pool.day:
            for item, counts in waiting.pop().by_item.items():
                scores[item] = scores.get(item, QualityScores()).after(counts)
        yield pool, scores


def _first(pool: LoggedPool, ranking: Ranking, scores: Mapping[str, QualityScores], k: int) -> list[str]:
    """The ids of what would be injected, best first."""
    items = [FoundItem(*row) for row in pool.rows]  # type: ignore[arg-type]
    for item in items:
        is_measured = item.backend in ranking.backends
        item.quality = scores.get(item.id, QualityScores()).factor if is_measured else 1.0
    ranked = rank(items, len(items), with_quality=True)
    return [item.id for item in relevant(ranked, ranking.floor, with_quality=True)[:k]]

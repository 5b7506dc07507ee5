"""Replay of the next leg's ranking over logged candidates, compared by their verdicts (specification 2, section 6).

A leg begins only after a replay of its ranking was no worse. The measured quality of an item is made of the verdicts up
to the day before the turn, so no turn explains itself. Candidates are in the log of injections of this data folder,
verdicts in the quality log.

What is measured is written on items after the rollup (section 4), only for the backends whose leg is on. From others it
is taken away, so a reverted leg leaves nothing behind, except that an item that contradictions had silenced stays held
back until somebody corrects or dismisses it. An item that was never injected keeps its stored confidence, and so does
one that was only not used. Verdicts on an earlier wording do not count.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing

import msgspec

from knowbound.config import Settings
from knowbound.core.item import is_version_of
from knowbound.core.quality import CONTRACT, DayRollup, ItemVerdict, Metric, QualityScores, QualityTurn, Weights
from knowbound.injection.log import AT_START, CHOSE_AT_ONCE, InjectionRecord, read_log
from knowbound.injection.prompt import CONTEXT_IS_GONE
from knowbound.kms.index.database import Correction, Index
from knowbound.kms.index.entry import effective_of, with_effective
from knowbound.kms.index.ranking import RANKER, RELEVANCE_FLOOR, FoundItem, rank, relevant
from knowbound.kms.opening import open_knowledge_store
from knowbound.kms.quality_log import QualityLog
from knowbound.stats.rollout import (
    Ranker,
    Ranking,
    ReplayResult,
    TurnPair,
    effective_confidence,
    metric_change,
    scores_of,
)
from knowbound.text.clock import utc_now

_BY = "knowbound"


def weights_of(settings: Settings) -> Weights:
    """Return the constants of effective confidence that the settings have."""
    return Weights(settings.quality_alpha, settings.quality_beta, settings.quality_gamma)


def write_effective(settings: Settings, index: Index, days: Sequence[DayRollup], backends: Collection[str]) -> int:
    """Write effective confidences from the days on the items of these backends; return how many changed.

    Where none changes, no backend is opened.
    """
    wanted = _confidences_to_write(index, scores_of(days), backends, weights_of(settings))
    if not wanted:
        return 0
    with closing(open_knowledge_store(settings, by=_BY)) as store:
        return store.set_quality(wanted)


def _last_rewordings(corrections: Iterable[Correction]) -> dict[str, str]:
    """Return the time at which the content of each item was changed last."""
    last_by_item: dict[str, str] = {}
    for correction in corrections:
        if correction.tool == "kms_update" and "content" in json.loads(correction.detail or "{}"):
            last_by_item[correction.item] = max(last_by_item.get(correction.item, ""), correction.time)
    return last_by_item


def _confidences_to_write(
    index: Index, scores: Mapping[str, QualityScores], backends: Collection[str], weights: Weights
) -> dict[tuple[str, str], float | None]:
    """Return the confidences to write, by backend and id; None takes one away."""
    wanted: dict[tuple[str, str], float | None] = {}
    last_rewordings = _last_rewordings(index.corrections())
    measured = [entry for id_ in scores for entry in index.known(id_)]
    for entry in (*measured, *index.with_quality()):
        item, score = entry.item, scores.get(entry.item.id, QualityScores())
        if score.sha:
            is_about_wording = is_version_of(score.sha, item.content_sha)
        else:  # days of an earlier version do not know which wording they are about
            is_about_wording = score.last[:10] > last_rewordings.get(item.id, "")[:10]
        is_measured = item.is_served and is_about_wording and score.factor(weights) != 1.0  # 1: nothing to change
        # An item that contradictions silenced stays so in a reverted leg, until a person corrects or dismisses it.
        is_silenced = effective_of(item) == 0.0 and score.factor(weights) == 0.0
        is_ranked = is_measured and (entry.backend in backends or is_silenced)
        value = effective_confidence(item.confidence, score, weights) if is_ranked else None
        has_any = value is not None or effective_of(item) is not None
        if has_any and with_effective(item, value) is not item:  # the same item: it has this value already
            wanted[entry.backend, item.id] = value
    return wanted


class LoggedPool(msgspec.Struct, frozen=True):
    """The candidates of a turn that its context did not have yet, and the verdicts on those that were injected."""

    day: str
    session: str
    rows: tuple[tuple[str | float | bool | list[int] | None, ...], ...]  # fields of FoundItem
    verdicts: dict[str, ItemVerdict]  # by item


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
    """Yield the pools of turns with verdicts, in the order of time, if the present ranker made them.

    Rows of other rankers have other fields. What a context had already was no candidate.
    """
    items_by_context: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for record in records:
        items_in_context = items_by_context.setdefault(record.context, set())
        if record.event == AT_START:
            if record.source in CONTEXT_IS_GONE:
                items_in_context.clear()
            continue
        # A client that gives turns no ids is logged under the id of the record.
        turn = turns.get((record.session, record.turn_key)) or turns.get((record.session, record.id))
        verdicts = {item.id: item.verdict for item in turn.injected_items if item.verdict} if turn else {}
        # An item that is chosen at once was not ranked.
        if verdicts and record.pool and record.ranker == RANKER and record.chooser_outcome != CHOSE_AT_ONCE:
            rows = tuple(row for row in record.pool if (str(row[0]), str(row[2])) not in items_in_context)  # id, sha
            yield LoggedPool(record.time[:10], record.session, rows, verdicts)
        if record.delivered:
            items_in_context |= {(item.item, item.sha) for item in record.items}
        if record.late_delivered:
            items_in_context |= {(late_item.item, late_item.sha) for late_item in record.late}


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
    for pool, scores in _pools_with_earlier_scores(pools, days):
        verdicts = [_first_verdicts(pool, ranking, scores, k, weights) for ranking in (before, after)]
        if all(verdicts):  # both rankings begin with something that was judged
            for metric in Metric:
                answers = [tuple(verdict.says(metric) for verdict in of_ranking) for of_ranking in verdicts]
                pairs[metric].append(TurnPair(pool.session, answers[0], answers[1]))
    return ReplayResult(
        made=utc_now(),
        before=before,
        after=after,
        k=k,
        compared=len(pairs[Metric.ON_TOPIC]),
        metrics={metric: metric_change(turn_pairs) for metric, turn_pairs in pairs.items()},
    )


def _pools_with_earlier_scores(
    pools: Iterable[LoggedPool], days: Iterable[DayRollup]
) -> Iterator[tuple[LoggedPool, Mapping[str, QualityScores]]]:
    """Each pool with the averages of all items on the evening before."""
    scores: dict[str, QualityScores] = {}
    newest_first = sorted(days, key=lambda day: day.date, reverse=True)
    for pool in sorted(pools, key=lambda pool: pool.day):
        while newest_first and newest_first[-1].date < pool.day:
            scores |= newest_first.pop().scores
        yield pool, scores


def _first_verdicts(
    pool: LoggedPool, ranking: Ranking, scores: Mapping[str, QualityScores], k: int, weights: Weights
) -> list[ItemVerdict]:
    """Return the verdicts on the judged items among the first k that would be injected, best first."""
    items = [FoundItem(*row) for row in pool.rows]  # type: ignore[arg-type]
    for item in items:
        item_scores = scores.get(item.id, QualityScores())
        # Days of an earlier version have no sha; a logged candidate has 16 digits of it.
        is_about_wording = item_scores.sha[:16] in ("", item.content_sha)
        is_measured = item.backend in ranking.backends and is_about_wording
        item.quality = item_scores.factor(weights) if is_measured else 1.0
    ranked = relevant(rank(items, len(items), with_quality=True), ranking.floor, with_quality=True)
    return [pool.verdicts[item.id] for item in ranked[:k] if item.id in pool.verdicts]

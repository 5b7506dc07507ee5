"""The effect of ranking and corrections on a made-up store whose truth is known: `python -m bench.simulation`.

Specification 2, sections 4 and 5. Only the world is random: the prompts, the use of right items, the answers of people.
The functions that work on real turns rank, average scores, and raise and close warranted corrections. The same seed
always produces the same days.
"""

from __future__ import annotations

import random
from bisect import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from itertools import accumulate

import msgspec

from knowbound.core.quality import (
    Closing,
    Counts,
    Discovery,
    ItemVerdict,
    LoggedItem,
    Metric,
    QualityScores,
    QualityTurn,
)
from knowbound.kms.index.database import Correction
from knowbound.kms.index.ranking import RELEVANCE_FLOOR, FoundItem, rank, relevant
from knowbound.quality.rollup import RESOLVED_DAYS, discoveries, discovery_rate

FIRST_DAY = date(2026, 1, 1)
SEEDS, DAYS, TURNS = 3, 60, 300
TOPICS, MOST_ITEMS = 25, 3
RIGHT_USED, USELESS_USED, WRONG_CONTRADICTED = 0.6, 0.05, 0.5  # shares of the injections on topic
ANSWERED, ANSWER_DAYS = 0.8, 7  # share of suggestions that a person answers, within so many days
_NEAR, _FAR = (0.50, 0.95), (0.45, 0.92)  # share of a prompt's words that items of its topic, and of other topics, have
_OTHER_TOPICS = 6  # candidates of a prompt from other topics
_WORDS = 13.2  # BM25 of an item that has all words of a prompt
_PRIOR = 5.87  # makes the words alone decide: half of the words reach the floor of relevance


class Nature(StrEnum):
    """The worth of an item, which only the simulation knows."""

    RIGHT = "right"
    USELESS = "useless"
    WRONG = "wrong"


ITEMS = {Nature.USELESS: 50, Nature.WRONG: 30, Nature.RIGHT: 120}


class SimulatedItem(msgspec.Struct):
    """An item of the store."""

    id: str
    topic: int
    nature: Nature
    scores: QualityScores = QualityScores()
    is_unverified: bool = False
    is_served: bool = True


@dataclass(frozen=True)
class Loop:
    """The parts of the loop that are on."""

    is_ranked: bool = True  # items are ranked by measured quality
    is_corrected: bool = True  # corrections are suggested
    is_switched_off: bool = False  # KMS_QUALITY_RANKING_ENABLED=false: quality is measured, and not read
    judge: Callable[[ItemVerdict], ItemVerdict] = lambda verdict: verdict


LOOPS = {
    "measured only": Loop(is_ranked=False, is_corrected=False),
    "ranking": Loop(is_corrected=False),
    "ranking and corrections": Loop(),
}


class Simulation:
    """One store over its days. Each source of chance has its own seed: none of them moves another."""

    def __init__(self, seed: int, loop: Loop, turns: int = TURNS) -> None:
        self._loop, self._turns = loop, turns
        self._prompts, self._behaviour, self._people = (random.Random(f"{seed}/{name}") for name in ("p", "b", "a"))
        self._items = _store(random.Random(f"{seed}/store"))
        self._ids = sorted(self._items)
        self._by_topic: list[list[str]] = [[] for _ in range(TOPICS)]
        for item in self._items.values():
            self._by_topic[item.topic].append(item.id)
        self._topic_weights = list(accumulate(1 / place for place in range(1, TOPICS + 1)))
        self._contradictions: list[QualityTurn] = []
        self._corrections: list[Correction] = []
        self._answer_days: dict[str, int | None] = {}  # record → the day of its answer; None: never answered
        self._first_contradicted: dict[str, int] = {}  # wrong item → day
        self._last_injected: dict[str, int] = {}  # wrong item → day
        self.days: list[Counts] = []
        self.records: list[Discovery] = []
        self.injected: list[tuple[str, ...]] = []  # turn by turn
        self.wrong_shares: list[float] = []  # of each day's injected items

    def run_day(self) -> None:
        """Run one day of prompts, and the rollup after it."""
        day = len(self.days)
        total, by_item, wrong = Counts(), dict[str, list[ItemVerdict]](), 0
        for turn in range(self._turns):
            topic = bisect(self._topic_weights, self._prompts.random() * self._topic_weights[-1])
            chosen = self._choose(topic)
            self.injected.append(tuple(item.id for item in chosen))
            for item in chosen:
                verdict = self._judged(item, topic, f"{_date(day)}T12:00:00Z", turn)
                counts = Counts(1, verdict.on_topic, verdict.used, verdict.contradicted)
                total += counts
                by_item.setdefault(item.id, []).append(verdict)
                if item.nature is Nature.WRONG:
                    wrong += 1
                    self._last_injected[item.id] = day
                    if verdict.contradicted:
                        self._first_contradicted.setdefault(item.id, day)
        self.days.append(total)
        self.wrong_shares.append(wrong / max(1, total.judged))
        for id_, verdicts in by_item.items():
            for said in verdicts:
                self._items[id_].scores = self._items[id_].scores.after(said.used, said.contradicted)
        self._answer(day)
        self.records = discoveries(self.records, self._contradictions, self._corrections)
        if self._loop.is_corrected:
            self._suggest(day)

    @property
    def median_days_injected(self) -> int:
        """Days that a wrong item was still injected after its first contradiction."""
        days = sorted(self._last_injected[id_] - first for id_, first in self._first_contradicted.items())
        return days[len(days) // 2] if days else 0

    def _choose(self, topic: int) -> list[SimulatedItem]:
        """Rank the items of the topic and some of other topics, as the hook does."""
        draw = self._prompts
        others = draw.sample(self._ids, _OTHER_TOPICS)
        words = {id_: draw.uniform(*_NEAR) for id_ in self._by_topic[topic]}
        words |= {id_: draw.uniform(*_FAR) for id_ in others if id_ not in words}
        pool = []
        for id_, share in words.items():
            item = self._items[id_]
            if item.is_served:
                quality = item.scores.factor() if self._loop.is_ranked else 1.0
                flag = "UNVERIFIED" if item.is_unverified else ""
                pool.append(
                    FoundItem(id_, "sqlite", id_, words=_WORDS * share, prior=_PRIOR, quality=quality, flag=flag)
                )
        with_quality = not self._loop.is_switched_off
        ranked = rank(pool, len(pool), with_quality=with_quality)
        allowed = relevant(ranked, RELEVANCE_FLOOR, with_quality=with_quality)
        return [self._items[found.id] for found in allowed[:MOST_ITEMS]]

    def _judged(self, item: SimulatedItem, topic: int, time: str, turn: int) -> ItemVerdict:
        """Decide what the agent does with an item, and ask the judge."""
        on_topic, chance = item.topic == topic, self._behaviour.random()
        used = on_topic and chance < {Nature.RIGHT: RIGHT_USED, Nature.USELESS: USELESS_USED}.get(item.nature, 0.0)
        contradicted = on_topic and item.nature is Nature.WRONG and chance < WRONG_CONTRADICTED
        statement = f"{item.id} is otherwise" if contradicted else ""
        verdict = self._loop.judge(ItemVerdict(item.id, on_topic, used, contradicted, statement))
        if verdict.contradicted:
            logged = LoggedItem(item.id, "sqlite", "", 0, verdict=verdict)
            self._contradictions.append(QualityTurn(f"s{time[:10]}", f"t{turn}", time, injected_items=(logged,)))
        return verdict

    def _answer(self, day: int) -> None:
        """Supersede the wrong items whose suggestion a person confirms today."""
        for record in self.records:
            if self._answer_days.get(record.id) == day and record.closing is Closing.OPEN:
                old = self._items[record.item]
                old.is_served = False
                successor = SimulatedItem(f"{old.id}+", old.topic, Nature.RIGHT)
                self._items[successor.id] = successor
                self._ids.append(successor.id)
                self._by_topic[successor.topic].append(successor.id)
                time = f"{_date(day)}T20:00:00Z"
                self._corrections.append(Correction(old.id, "kms_supersede", time, "person", "s", "{}"))

    def _suggest(self, day: int) -> None:
        """Show new suggestions to a person, and flag the items of those that expired."""
        oldest = (FIRST_DAY + timedelta(days=day - RESOLVED_DAYS)).isoformat()
        for record in self.records:
            if record.closing is not Closing.OPEN:
                continue
            if record.id not in self._answer_days:
                is_answered = self._people.random() < ANSWERED
                answer_day = day + self._people.randint(1, ANSWER_DAYS)
                self._answer_days[record.id] = answer_day if is_answered else None
            elif record.raised[:10] <= oldest:
                self._items[record.item].is_unverified = True


def simulate(seed: int, loop: Loop, *, days: int = DAYS, turns: int = TURNS) -> Simulation:
    """Run a store for some days."""
    simulation = Simulation(seed, loop, turns)
    for _ in range(days):
        simulation.run_day()
    return simulation


def share(days: Sequence[Counts], metric: Metric) -> float:
    """Return the share of the injected items for which a metric holds."""
    total = sum(days, Counts())
    return total.of(metric) / total.judged


def discovery(simulation: Simulation) -> float | None:
    """Return the share of warranted corrections that were made in time."""
    return discovery_rate(simulation.records, FIRST_DAY.isoformat(), _date(len(simulation.days))).value


def _store(draw: random.Random) -> dict[str, SimulatedItem]:
    natures = [nature for nature, count in ITEMS.items() for _ in range(count)]
    draw.shuffle(natures)
    return {
        f"k{number:03}": SimulatedItem(f"k{number:03}", draw.randrange(TOPICS), nature)
        for number, nature in enumerate(natures)
    }


def _date(day: int) -> str:
    return (FIRST_DAY + timedelta(days=day)).isoformat()


def main() -> None:
    """Print the last week of every loop: means over the seeds."""
    print(f"{sum(ITEMS.values())} items, {TURNS} turns a day for {DAYS} days, {SEEDS} seeds; the last week")
    print(f"{'loop':25}{'on topic':>10}{'used':>10}{'contradicted':>14}{'discovery':>11}{'days injected':>15}")
    for name, loop in LOOPS.items():
        runs = [simulate(seed, loop) for seed in range(1, SEEDS + 1)]
        shares = [sum(share(run.days[-7:], metric) for run in runs) / SEEDS for metric in Metric]
        shares.append(sum(discovery(run) or 0.0 for run in runs) / SEEDS)
        days = sum(run.median_days_injected for run in runs) / SEEDS
        print(
            f"{name:25}"
            + "".join(f"{one:>{width}.1%}" for one, width in zip(shares, (10, 10, 14, 11), strict=True))
            + f"{days:>15.0f}"
        )


if __name__ == "__main__":
    main()

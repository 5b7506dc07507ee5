"""`quality simulate`: the loop on a made-up store whose truth is known, day by day (specification 2, sections 4 and 5).

Nothing of it is random but the world: which prompt comes, whether a right item is used, whether a person answers. What
knowbound does is what it does: the ranker orders, days are rolled up, effective confidence is computed, warranted
corrections are raised and closed by the functions that work on real turns. The same seed gives the same days.
"""

from __future__ import annotations

import random
from bisect import bisect
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from enum import StrEnum
from itertools import accumulate

import msgspec

from knowbound.core.quality import ItemVerdict
from knowbound.core.quality_log import Closing, Counts, DayRollup, Discovery, LoggedItem, QualityTurn, Spread
from knowbound.kms.corrections.changes import Correction
from knowbound.kms.search.ranking import RELEVANCE_FLOOR, FoundItem, rank, relevant
from knowbound.quality.discovery import RESOLVED_DAYS, discoveries
from knowbound.stats.effective import QualityScores

FIRST_DAY = date(2026, 1, 1)
_NEAR, _FAR = (0.50, 0.95), (0.45, 0.92)  # how much of a prompt's words items of its topic, and of others, have
_OTHERS = 6  # items of other topics among the candidates of a prompt
_AT_REST = 3.0  # makes the words alone decide: half of them are the floor's relevance


class Nature(StrEnum):
    """What an item is worth, which only the simulation knows."""

    RIGHT = "right"
    USELESS = "useless"
    WRONG = "wrong"


class World(msgspec.Struct, frozen=True):
    """The parameters of the made-up store and of its users."""

    items: int = 200
    useless: float = 0.25
    wrong: float = 0.15
    topics: int = 25
    turns: int = 300  # a day
    days: int = 60
    most_items: int = 3
    right_used: float = 0.6  # of right items on topic
    useless_used: float = 0.05
    wrong_contradicted: float = 0.5  # of wrong items on topic
    answered: float = 0.8  # of shown suggestions, within a week
    answer_days: int = 7


class Plan(msgspec.Struct, frozen=True):
    """Which part of the loop is on from which day; None: never."""

    ranking: int | None = 7
    corrections: int | None = 14
    is_switched_off: bool = False  # KMS_QUALITY_RANKING_ENABLED=false: quality is measured and written, and not read


class SimulatedItem(msgspec.Struct):
    """An item of the store."""

    id: str
    topic: int
    nature: Nature
    scores: QualityScores = QualityScores()
    is_unverified: bool = False
    is_served: bool = True


class Simulation(msgspec.Struct, frozen=True):
    """What came of it."""

    days: tuple[DayRollup, ...]
    records: tuple[Discovery, ...]
    wrong_share: tuple[float, ...]  # of each day's injected items
    orders: tuple[tuple[str, ...], ...]  # what was injected, turn by turn
    stays: dict[str, int]  # wrong item → days from its first contradiction to its last injection


Judge = Callable[[ItemVerdict], ItemVerdict]


def honest(verdict: ItemVerdict) -> ItemVerdict:
    """A judge that sees what happened."""
    return verdict


def blind(verdict: ItemVerdict) -> ItemVerdict:
    """A judge that never sees a contradiction."""
    return msgspec.structs.replace(verdict, contradicted=False, correction="")


def simulate(world: World, seed: int, plan: Plan | None = None, judge: Judge = honest) -> Simulation:
    """Run the days."""
    run = _Run(world, seed, plan or Plan(), judge)
    for number in range(world.days):
        run.day(number)
    return run.result()


class _Run:
    """The state between two days. Three sources of chance, so that what one of them decides moves no other."""

    def __init__(self, world: World, seed: int, plan: Plan, judge: Judge) -> None:
        self._world, self._plan, self._judge = world, plan, judge
        self._prompts, self._behaviour, self._people = (random.Random(f"{seed}/{name}") for name in ("p", "b", "a"))
        self._items = _store(world, random.Random(f"{seed}/store"))
        self._ids = sorted(self._items)
        self._by_topic: list[list[str]] = [[] for _ in range(world.topics)]
        for item in self._items.values():
            self._by_topic[item.topic].append(item.id)
        self._topics = list(accumulate(1 / rank_ for rank_ in range(1, world.topics + 1)))
        self._days: list[DayRollup] = []
        self._orders: list[tuple[str, ...]] = []
        self._wrong_share: list[float] = []
        self._contradictions: list[QualityTurn] = []
        self._corrections: list[Correction] = []
        self._records: list[Discovery] = []
        self._answers: dict[str, int | None] = {}  # record → the day on which it is answered; None: never
        self._seen: dict[str, tuple[int, int]] = {}  # wrong item → first contradiction, last injection

    def day(self, number: int) -> None:
        """One day of prompts, then what happens overnight."""
        when = _date(number)
        injected, spread, by_item, wrong = Counts(), Spread(), dict[str, Counts](), 0
        for turn in range(self._world.turns):
            topic = bisect(self._topics, self._prompts.random() * self._topics[-1])
            chosen = self._injected(topic, number)
            self._orders.append(tuple(item.id for item in chosen))
            total = Counts()
            for item in chosen:
                verdict = self._judged(item, topic, f"{when}T12:00:00Z", turn)
                one = Counts(1, verdict.on_topic, verdict.used, verdict.contradicted)
                total += one
                by_item[item.id] = by_item.get(item.id, Counts()) + one
                if item.nature is Nature.WRONG:
                    wrong += 1
                    self._note(item.id, number, is_contradiction=verdict.contradicted)
            injected += total
            spread += Spread.of_turn(total) if total.judged else Spread()
        self._wrong_share.append(wrong / max(1, injected.judged))
        self._days.append(
            DayRollup(
                when, turns=self._world.turns, prompts_with_items=spread.turns, injected=injected, spread=spread,
                by_backend={"sqlite": injected}, by_item=by_item, newest=f"{when}T23:00:00Z",
            )
        )  # fmt: skip
        self._overnight(number, by_item)

    def result(self) -> Simulation:
        stays = {id_: last - first for id_, (first, last) in self._seen.items() if first >= 0}
        return Simulation(tuple(self._days), tuple(self._records), tuple(self._wrong_share), tuple(self._orders), stays)

    def _injected(self, topic: int, number: int) -> list[SimulatedItem]:
        """What the ranker chooses among the items of the topic and some others."""
        draw = self._prompts
        others = draw.sample(self._ids, _OTHERS)
        words = {id_: draw.uniform(*_NEAR) for id_ in self._by_topic[topic]}
        words |= {id_: draw.uniform(*_FAR) for id_ in others if id_ not in words}
        is_ranked = _is_on(self._plan.ranking, number)
        pool = []
        for id_, share in words.items():
            item = self._items[id_]
            if item.is_served:
                quality = item.scores.factor if is_ranked else 1.0
                flag = "UNVERIFIED" if item.is_unverified else ""
                found = FoundItem(id_, "sqlite", id_, window=share, prior=_AT_REST, quality=quality, flag=flag)
                pool.append(found)
        with_quality = not self._plan.is_switched_off
        ranked = rank(pool, len(pool), with_quality=with_quality)
        allowed = relevant(ranked, RELEVANCE_FLOOR, with_quality=with_quality)
        return [self._items[found.id] for found in allowed[: self._world.most_items]]

    def _judged(self, item: SimulatedItem, topic: int, time: str, turn: int) -> ItemVerdict:
        """What the agent does with an item, as the judge sees it."""
        on_topic, chance = item.topic == topic, self._behaviour.random()
        world = self._world
        used = on_topic and chance < {Nature.RIGHT: world.right_used, Nature.USELESS: world.useless_used}.get(
            item.nature, 0.0
        )
        contradicted = on_topic and item.nature is Nature.WRONG and chance < world.wrong_contradicted
        said = f"{item.id} is otherwise" if contradicted else ""
        verdict = self._judge(ItemVerdict(item.id, on_topic, used, contradicted, said))
        if verdict.contradicted:
            logged = LoggedItem(item.id, "sqlite", "", 0, verdict=verdict)
            self._contradictions.append(QualityTurn(f"s{time[:10]}", f"t{turn}", time, injected_items=(logged,)))
        return verdict

    def _note(self, id_: str, number: int, *, is_contradiction: bool) -> None:
        first, _ = self._seen.get(id_, (-1, -1))
        self._seen[id_] = (number if first < 0 and is_contradiction else first, number)

    def _overnight(self, number: int, by_item: dict[str, Counts]) -> None:
        """The rollup: scores, records, suggestions that are answered or expire."""
        for id_, counts in by_item.items():
            self._items[id_].scores = self._items[id_].scores.after(counts)
        self._answer(number)
        self._records = discoveries(self._records, self._contradictions, self._corrections)
        if _is_on(self._plan.corrections, number):
            for record in self._records:
                if record.closing is Closing.OPEN and record.id not in self._answers:  # the next session shows it
                    is_answered = self._people.random() < self._world.answered
                    day = number + self._people.randint(1, self._world.answer_days)
                    self._answers[record.id] = day if is_answered else None
                elif record.closing is Closing.OPEN and _age(record, number) >= RESOLVED_DAYS:
                    self._items[record.item].is_unverified = True

    def _answer(self, number: int) -> None:
        """A person confirms: the wrong item is superseded by a right one."""
        for record in self._records:
            if self._answers.get(record.id) == number and record.closing is Closing.OPEN:
                old = self._items[record.item]
                old.is_served = False
                successor = SimulatedItem(f"{old.id}+", old.topic, Nature.RIGHT)
                self._items[successor.id] = successor
                self._ids.append(successor.id)
                self._by_topic[successor.topic].append(successor.id)
                time = f"{_date(number)}T20:00:00Z"
                self._corrections.append(Correction(old.id, "kms_supersede", time, "person", "s", "{}"))


def _store(world: World, draw: random.Random) -> dict[str, SimulatedItem]:
    useless, wrong = round(world.items * world.useless), round(world.items * world.wrong)
    natures = [Nature.USELESS] * useless + [Nature.WRONG] * wrong
    natures += [Nature.RIGHT] * (world.items - len(natures))
    draw.shuffle(natures)
    return {
        f"k{number:03}": SimulatedItem(f"k{number:03}", draw.randrange(world.topics), nature)
        for number, nature in enumerate(natures)
    }


def _date(number: int) -> str:
    return (FIRST_DAY + timedelta(days=number)).isoformat()


def _age(record: Discovery, number: int) -> int:
    return (FIRST_DAY + timedelta(days=number) - date.fromisoformat(record.raised[:10])).days


def _is_on(since: int | None, number: int) -> bool:
    return since is not None and number >= since


def last_week(values: Sequence[DayRollup]) -> Counts:
    """The counts of the last seven days."""
    return sum((day.injected for day in values[-7:]), Counts())

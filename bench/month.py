"""A month of the loop, hands off except for 50 labels, with a moved clock: `python -m bench.month [three] [SEED…]`.

Specification 2. Real are the store and its index, the hook's choice of items, the log of injections, the join, the
quality log, rollups, rollout, suggestions at the start of a session and their acceptance by an agent. Made up are the
prompts, what the agent does with an item, and the judge: it is planted, with the error rates below, and stands in for
the configured judge under its version. No model and no real client takes part.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import msgspec
from msgspec.structs import replace
from tests.services import BoltServer, emptied, running_bolt_server, running_mongod

from knowbound.config import Settings, load
from knowbound.core.quality import Closing, ItemVerdict, LoggedItem, Metric, QualityTurn
from knowbound.errors import InputError
from knowbound.injection import hook_settings
from knowbound.injection.inject import choose_for_prompt
from knowbound.injection.log import read_log
from knowbound.injection.prompt import HookPrompt
from knowbound.injection.record import Record
from knowbound.injection.session_start import suggestions_for_session
from knowbound.judge.registry import turn_judge_version
from knowbound.kms.opening import open_index, open_knowledge_store, open_quality_log
from knowbound.kms.quality_log import QualityLog
from knowbound.kms.validation import NewItem
from knowbound.quality.corrections import Corrections
from knowbound.quality.joining import TurnSources, join
from knowbound.quality.rollout.progress import load_state
from knowbound.quality.rollup import discovery_rate
from knowbound.quality.scoring import rolled_up
from knowbound.quality.status import quality_status
from knowbound.quality.suggesting import show as show_suggestions
from knowbound.quality.suggesting import update_suggestions
from knowbound.stats.calibration import Pair, calibrate
from knowbound.stats.judge_gate import LABELLED_TURNS, MeasuredMetric, gate
from knowbound.stats.rate import Rate
from knowbound.store.judges import TurnJudgeCalibration, keep_turn_judge_calibrations

FIRST = datetime(2026, 3, 2, 9, tzinfo=UTC)
DAYS, TURNS = 35, 310
TOPICS = ("billing", "ledger", "search", "mailer", "catalog", "gateway", "reports", "uploads")
RIGHT, WRONG, IRRELEVANT = 23, 12, 25
USED, CONTRADICTED = 0.7, 0.6  # how often the agent uses a right item, and contradicts a wrong one
CONFIRMS, DISMISSES = 0.9, 0.5  # how often the agent confirms a suggestion of a session's start; dismisses a false one
MISSED, INVENTED, WRONG_TOPIC, WRONG_USE = 0.10, 0.01, 0.04, 0.06  # the errors of the planted judge
ASKED = 3  # things that a prompt asks for, at most
IN_VAIN = 1 / 3  # how often it also asks for one that only an irrelevant item names
SESSION_TURNS = 3  # an item is injected once a session: long sessions would go through the whole store
SEEDS = (101, 102, 103)  # drawn after the last change of this module
_NAMES = ("port", "queue", "bucket", "timeout", "owner")


class MonthItem(msgspec.Struct):
    """An item whose truth only the month knows."""

    content: str
    topic: str
    kind: str  # right, wrong, irrelevant
    truth: str = ""  # of a wrong item: what is true instead


class Day(msgspec.Struct):
    """One row of the table."""

    date: str
    leg: int
    turns: int
    on_topic: Rate
    used: Rate
    contradicted: Rate
    open: int
    corrected: int
    silenced: int
    event: str = ""


class Month:
    """One store, played day by day."""

    def __init__(
        self, settings: Settings, turns: int, seed: int = 1, *, killed_in_leg: int = 1, most_items: int = 3
    ) -> None:
        self.settings, self._turns, self._killed_in_leg = settings, turns, killed_in_leg
        self._most_items = most_items  # for a prompt
        self._world, self._judge = random.Random(f"{seed}/world"), random.Random(f"{seed}/judge")
        self.items = _items()
        self._by_id: dict[str, MonthItem] = {}
        self._labels: dict[Metric, list[Pair]] = {metric: [] for metric in Metric}
        self._labelled = 0
        self._is_bad: bool | None = None  # nothing is on topic; None: not provoked yet
        self.now, self.days = FIRST, list[Day]()
        self.injections = 0
        self.version = turn_judge_version("rules")

    def play(self, days: int = DAYS) -> None:
        """Play all days, and write the store before the first."""
        with self._moved_clock():
            self._fill()
            for number in range(days):
                self.now = FIRST + timedelta(days=number)
                self._play_day(number, days)

    # The world

    def _fill(self) -> None:
        (self.settings.root / "knowbound.toml").write_text(f"[injection]\nmost_items = {self._most_items}\n")
        lines = [f"{one.topic}.{one.truth}" for one in self.items if one.truth]
        (self.settings.root / "services.ini").write_text("\n".join(lines) + "\n")
        with closing(open_knowledge_store(self.settings, by="bench")) as store:
            names = list(store.backends)
            for number, one in enumerate(self.items):
                stored = store.add(NewItem(content=one.content, subject=one.topic), names[number % len(names)]).item
                self._by_id[stored.id] = one

    def _play_day(self, number: int, days: int) -> None:
        per_day = self._turns // days + (number < self._turns % days)
        asked: dict[str, tuple[str, str]] = {}
        for at in range(per_day):
            self.now += timedelta(minutes=7)
            session = f"s{number}-{at // SESSION_TURNS}"
            if not at % SESSION_TURNS:
                self._start(session)
            asked[f"p{number}-{at}"] = (session, self._ask(session, f"p{number}-{at}"))
        with closing(open_quality_log(self.settings)) as log:
            before = load_state(log)
            self._score(log, asked)
            done = rolled_up(self.settings, log, [self.now.date().isoformat()])
            assert not done.problem, done.problem
            self._calibrate()
            update_suggestions(self.settings, log)
            after = load_state(log)
            self._provoke(after.leg)
            event = f"leg {before.leg} → {after.leg}" if before.leg != after.leg else ""
            if after.leg < before.leg:
                event += f" (kill: {', '.join(after.history[-1].tripped)})"
            self.days.append(self._row(per_day, after.leg, event))

    def _start(self, session: str) -> None:
        """A session starts: the agent reads the suggestions, and answers most of them."""
        with closing(open_index(self.settings)) as index, index.reading() as reading:
            shown = suggestions_for_session(str(self.settings.home), reading).ids
        if not shown:
            return
        with (
            closing(open_quality_log(self.settings)) as log,
            closing(open_knowledge_store(self.settings, by=session)) as store,
        ):
            corrections = Corrections(log, store, by="mcp", root=self.settings.root, is_person=False)
            for id_ in shown:
                if self._by_id[id_].kind != "wrong":
                    if self._world.random() < DISMISSES:
                        corrections.dismiss(id_)
                elif self._world.random() < CONFIRMS:
                    try:
                        new = corrections.accept(id_)
                    except InputError:  # nothing was drafted, or a person has to confirm it
                        continue
                    old = self._by_id[id_]
                    is_right = bool(old.truth) and old.truth.split(" = ")[1] in new.content
                    self._by_id[new.id] = MonthItem(new.content, old.topic, "right" if is_right else "wrong", old.truth)
            show_suggestions(self.settings, log, store.index)

    def _ask(self, session: str, prompt_id: str) -> str:
        """A prompt: what the hook chooses is recorded as the hook records it."""
        topic = self._world.choice(TOPICS)
        here = [one for one in self.items if one.topic == topic]
        wanted = [_name(one) for one in here if one.kind != "irrelevant"]
        useless = [_name(one) for one in here if one.kind == "irrelevant"]
        names = self._world.sample(wanted, self._world.randint(1, ASKED))
        names += self._world.sample(useless, self._world.random() < IN_VAIN)
        text = f"Where does the {topic} service of the shop have its {', '.join(names)}?"
        prompt = HookPrompt({"session_id": session, "prompt_id": prompt_id, "prompt": text})
        hook = hook_settings.load(str(self.settings.root), str(self.settings.home), keep=False)
        began = time.perf_counter()
        choice = choose_for_prompt(str(self.settings.home), hook, prompt)
        record = Record("user-prompt-submit")
        record.add_prompt(prompt)
        record.add_known(choice.fields())
        home = str(self.settings.home)
        record.begin(home)
        spent = (time.perf_counter() - began) * 1000
        outcome = "injected" if choice.items else "nothing"
        record.end(home, outcome, spent, choice.tokens, delivered=bool(choice.items), reason="")
        self.injections += len(choice.items)
        return text

    def _score(self, log: QualityLog, asked: dict[str, tuple[str, str]]) -> None:
        for record in read_log(self.settings.home).records:
            if record.prompt_id in asked:
                turn = join(TurnSources(injected=record), lambda _: None).turn
                judged = tuple(self._judged(item, turn) for item in turn.injected_items)
                is_labelled = judged and self._labelled < LABELLED_TURNS
                self._labelled += bool(is_labelled)
                scored = replace(
                    turn,
                    user_prompt=asked[record.prompt_id][1],
                    injected_items=tuple(item for item, _ in judged),
                    judge=self.version if judged else "",
                    scored_at=self.now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
                )
                for item, truth in judged if is_labelled else ():
                    assert item.verdict is not None
                    for metric in Metric:
                        pair = Pair(truth.says(metric), item.verdict.says(metric), session=turn.id)
                        self._labels[metric].append(pair)
                log.put(scored)

    def _judged(self, item: LoggedItem, turn: QualityTurn) -> tuple[LoggedItem, ItemVerdict]:
        """What the agent does with an item, and what the planted judge makes of it."""
        one, world, judge = self._by_id[item.id], self._world, self._judge
        on_topic = one.kind != "irrelevant" and not self._is_bad
        used = on_topic and one.kind == "right" and world.random() < USED
        contradicted = one.kind == "wrong" and world.random() < CONTRADICTED
        truth = ItemVerdict(item.id, on_topic, used, contradicted)
        name, _, value = one.truth.partition(" = ")
        said = f"The stored entry is wrong. The {one.topic} service of the shop has its {name} at {value}."
        seen = judge.random() >= MISSED if contradicted else judge.random() < INVENTED
        verdict = ItemVerdict(
            item.id,
            on_topic != (judge.random() < WRONG_TOPIC),
            used != (judge.random() < WRONG_USE),
            seen,
            (said if one.truth else "That is not so.") if seen else "",
            judge=self.version,
        )
        return replace(item, verdict=verdict), truth

    def _calibrate(self) -> None:
        """The 50 labels, once they are there: the only thing that a person does."""
        if self._labelled == LABELLED_TURNS and self._labels[Metric.USED]:
            found = {metric: calibrate(pairs) for metric, pairs in self._labels.items()}
            measured = {metric: MeasuredMetric(one, gate(one, LABELLED_TURNS)) for metric, one in found.items()}
            made = self.now.strftime("%Y-%m-%dT%H:%M:%SZ")
            kept = TurnJudgeCalibration("planted", made, "0" * 8, LABELLED_TURNS, measured)
            keep_turn_judge_calibrations(self.settings.home, {self.version: kept})
            self._labels = {metric: [] for metric in Metric}

    def _provoke(self, leg: int) -> None:
        """Make the ranking of the leg to be killed bad after three days: nothing is on topic until the leg ends."""
        in_leg = [day for day in self.days[-3:] if day.leg == self._killed_in_leg]
        if self._is_bad is None and leg == self._killed_in_leg and len(in_leg) == 3:
            self._is_bad = True
        elif self._is_bad and leg < self._killed_in_leg:
            self._is_bad = False

    def _row(self, turns: int, leg: int, event: str) -> Day:
        today = self.now.date().isoformat()
        with closing(open_quality_log(self.settings)) as log:
            records = log.discoveries()
            day = next((one for one in log.rollups() if one.date == today), None)
        counts = day.injected if day else None
        on_topic, used, contradicted = (
            Rate(counts.of(metric), counts.judged) if counts else Rate() for metric in Metric
        )
        waiting = sum(one.closing is Closing.OPEN for one in records)
        closed = sum(one.closing is Closing.RESOLVED for one in records)
        silenced = day.silenced_prompts if day else 0
        return Day(today, leg, turns, on_topic, used, contradicted, waiting, closed, silenced, event)

    # The clock

    @contextmanager
    def _moved_clock(self) -> Iterator[None]:
        month = self

        class Moved(datetime):
            @classmethod
            def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
                return month.now

        shim = SimpleNamespace(gmtime=lambda: timetuple(month), strftime=time.strftime, perf_counter=time.perf_counter)
        with ExitStack() as stack:
            stack.enter_context(patch("knowbound.text.clock.datetime", Moved))
            stack.enter_context(patch("knowbound.kms.knowledge_store.datetime", Moved))
            stack.enter_context(patch("knowbound.injection.record.time", shim))
            yield

    # What came of it

    def corrected_within(self, days: int = 7) -> Rate:
        """Of the wrong items that a judge found contradicted, those that were corrected within so many days."""
        with closing(open_quality_log(self.settings)) as log:
            first: dict[str, tuple[str, str]] = {}
            for one in log.discoveries():
                if one.item in self._by_id and self._by_id[one.item].truth and self._by_id[one.item] in self.items:
                    known = first.setdefault(one.item, (one.raised, ""))
                    if one.closing is Closing.RESOLVED and not known[1]:
                        first[one.item] = (known[0], one.closed)
        last = self.now - timedelta(days=days)
        due = [pair for pair in first.values() if pair[1] or datetime.fromisoformat(pair[0]) <= last]
        in_time = [
            bool(closed) and datetime.fromisoformat(closed) - datetime.fromisoformat(raised) <= timedelta(days=days)
            for raised, closed in due
        ]
        return Rate(sum(in_time), len(in_time))

    def discovery(self) -> Rate:
        """Of all warranted corrections of the month, those that were made in time."""
        with closing(open_quality_log(self.settings)) as log:
            return discovery_rate(log.discoveries(), FIRST.date().isoformat(), self.now.date().isoformat())

    def table(self) -> Iterator[str]:
        """Yield the month, day by day."""
        heads = [("day", 3), ("leg", 3), ("turns", 5), ("on topic", 15), ("used", 15), ("contradicted", 15)]
        heads += [("open", 5), ("done", 5), ("silenced", 9)]
        yield " ".join(f"{name:>{width}}" for name, width in heads) + "  event"
        for number, one in enumerate(self.days, 1):
            rates = (f"{rate.value or 0:6.0%} of {rate.n:>4}" for rate in (one.on_topic, one.used, one.contradicted))
            shown = " ".join(f"{rate:>15}" for rate in rates)
            counts = f"{one.open:>5} {one.corrected:>5} {one.silenced:>9}"
            yield f"{number:>3} {one.leg:>3} {one.turns:>5} {shown} {counts}  {one.event}"


def _name(item: MonthItem) -> str:
    """Return the thing that an item is about."""
    return item.content.split(" its ")[1].split()[0]


def timetuple(month: Month) -> time.struct_time:
    """Return the moved time as `time.gmtime` does."""
    return month.now.utctimetuple()


def _items() -> list[MonthItem]:
    found = []
    for number in range(RIGHT):
        topic, name = TOPICS[number % len(TOPICS)], _NAMES[number // len(TOPICS) % len(_NAMES)]
        found.append(MonthItem(f"The {topic} service of the shop has its {name} at {4100 + number}.", topic, "right"))
    for number in range(WRONG):
        topic, name = TOPICS[number % len(TOPICS)], ("replica", "backup")[number // len(TOPICS)]
        content = f"The {topic} service of the shop has its {name} at {8100 + number}."
        found.append(MonthItem(content, topic, "wrong", f"{name} = {9100 + number}"))
    for number in range(IRRELEVANT):
        topic, name = TOPICS[number % len(TOPICS)], ("party", "poster", "mascot", "anthem")[number // len(TOPICS)]
        content = f"The {topic} service of the shop has its {name} at {6100 + number}."
        found.append(MonthItem(content, topic, "irrelevant"))
    random.Random("month").shuffle(found)
    return found


def summary(month: Month) -> Iterator[str]:
    """Yield the figures of the month."""
    legs = "".join(dict.fromkeys(str(day.leg) for day in month.days))
    kills = sum("kill" in day.event for day in month.days)
    yield f"legs {legs}, kills {kills}; corrected within 7 days of the first contradiction: {month.corrected_within()}"
    yield f"discovery: {month.discovery()}; injected items: {month.injections:,}"


def play_sqlite(root: Path, seed: int) -> Month:
    """Play the month on the embedded store."""
    month = Month(load(root, environ={}), TURNS, seed)
    month.play()
    return month


def play_three(root: Path, mongo_url: str, bolt: BoltServer, seed: int) -> Month:
    """Play the month on Mem0, Neo4j and MongoDB, 60 turns a day; the leg of MongoDB is to be killed."""
    environ = {
        "KNOWBOUND_KMS_BACKENDS": "mem0,neo4j,mongo",
        "KNOWBOUND_KMS_MONGO_URL": emptied(mongo_url),
        "KNOWBOUND_KMS_NEO4J_URL": bolt.url,
        "KNOWBOUND_KMS_NEO4J_USER": bolt.user,
        "KNOWBOUND_KMS_NEO4J_PASSWORD": bolt.password,
        "KNOWBOUND_KMS_NEO4J_DATABASE": bolt.empty_database(),
    }
    month = Month(load(root, environ=environ), 60 * DAYS, seed, killed_in_leg=3, most_items=2)
    month.play()
    return month


def show(month: Month, title: str) -> None:
    """Print a month day by day, with its figures."""
    print(f"{title}: {sum(day.turns for day in month.days):,} turns, {len(month.items)} items, {WRONG} wrong,", end=" ")
    print(f"{IRRELEVANT} irrelevant", *month.table(), *summary(month), sep="\n", flush=True)
    print(f"waiting at the end: {quality_status(month.settings, today=month.days[-1].date).wrong}\n", flush=True)


def main(arguments: Sequence[str]) -> None:
    """Print months with the given seeds, on SQLite, and with `three` on three backends."""
    seeds = [int(one) for one in arguments if one.isdecimal()] or SEEDS
    print(f"planted judge: misses {MISSED:.0%} of contradictions, invents {INVENTED:.0%};", end=" ")
    print(f"wrong about the topic {WRONG_TOPIC:.0%}, about use {WRONG_USE:.0%}")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        mongod = bolt = None
        if "three" in arguments:
            mongod = stack.enter_context(running_mongod(folder / "mongod"))
            bolt = stack.enter_context(running_bolt_server(folder / "arcadedb"))
        for seed in seeds:
            root = folder / f"shop-{seed}"
            root.mkdir()
            if mongod and bolt:
                show(play_three(root, mongod.url, bolt, seed), f"Mem0, Neo4j, MongoDB, seed {seed}")
            else:
                show(play_sqlite(root, seed), f"SQLite, seed {seed}")


if __name__ == "__main__":
    main(sys.argv[1:])

"""The quality log in SQLite, on a real mongod and on a real replica set."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from threading import Event
from typing import Any

import pymongo
import pytest
from msgspec.structs import replace
from pymongo.collection import Collection

from knowbound.config import Settings
from knowbound.core.quality import KEPT_DAYS, DayRollup, Discovery, LoggedItem, QualityTurn
from knowbound.distribution import extra_command
from knowbound.errors import StoreError
from knowbound.kms.backends import protocol
from knowbound.kms.opening import open_quality_log
from knowbound.kms.quality_log import DISCOVERY, LOG, ROLLUP, SqliteQualityLog
from knowbound.kms.team_log import MongoQualityLog
from tests.kms.quality_log_conformance import COUNTS, FULL, OpenLog, QualityLogConformance, failed, turn
from tests.services import Mongod, ReplicaSet, emptied, running_mongod, until


class TestSqlite(QualityLogConformance):
    @pytest.fixture
    def open_log(self, tmp_path: Path) -> OpenLog:
        return lambda: SqliteQualityLog(tmp_path)


class TestMongo(QualityLogConformance):
    @pytest.fixture
    def open_log(self, mongo_url: str) -> OpenLog:
        url = emptied(mongo_url)
        return lambda: MongoQualityLog(url)


@pytest.mark.long
class TestReplicaSet(QualityLogConformance):
    @pytest.fixture
    def open_log(self, replica_set: ReplicaSet) -> OpenLog:
        url = emptied(replica_set.url)
        return lambda: MongoQualityLog(url)


@pytest.fixture
def url(mongo_url: str) -> str:
    return emptied(mongo_url)


@pytest.fixture
def log(url: str) -> Iterator[MongoQualityLog]:
    log = MongoQualityLog(url)
    yield log
    log.close()


@pytest.fixture
def collection(url: str) -> Iterator[Callable[[str], Collection[dict[str, Any]]]]:
    """A collection as others see it."""
    with pymongo.MongoClient[dict[str, Any]](url, tz_aware=True) as client:
        yield lambda name: client.get_default_database()[name]


OpenCollection = Callable[[str], Collection[dict[str, Any]]]

# Documents that a person can ask for


def test_a_turn_is_a_document_with_the_fields_of_the_contract(log: MongoQualityLog, collection: OpenCollection) -> None:
    log.put(FULL)
    found = collection(LOG).find_one({"session_id": "s-full", "injected_items.verdict.contradicted": True})
    assert found is not None
    names = "_id session_id turn_id timestamp user_prompt injected_items assistant_response tool_calls date expires"
    assert set(names.split()) <= set(found)
    assert found["_id"] == "s-full/t-1"
    assert found["injected_items"][0]["content_excerpt"] == "The port is 8004."
    assert "problem" not in found


def test_a_day_is_a_document_whose_items_can_be_asked_for(log: MongoQualityLog, collection: OpenCollection) -> None:
    log.put_rollups([DayRollup("2026-11-16", turns=2, by_item={"a.b$c": COUNTS}), DayRollup("2026-11-17")])
    [found] = collection(ROLLUP).find({"by_item": {"$elemMatch": {"key": "a.b$c", "value.contradicted": {"$gt": 1}}}})
    assert (found["_id"], found["turns"]) == ("2026-11-16", 2)


def test_a_document_that_is_none_is_named(log: MongoQualityLog, collection: OpenCollection) -> None:
    collection(LOG).insert_one({"_id": "theirs", "date": "2026-11-16", "session_id": 7})
    with pytest.raises(StoreError, match="theirs") as corrupt:
        list(log.of_day("2026-11-16"))
    assert corrupt.value.slug == "store-corrupt"


# Expiry


def test_a_ttl_index_removes_a_turn_90_days_after_its_day(log: MongoQualityLog, collection: OpenCollection) -> None:
    log.put(turn(at="2026-11-16T23:59:59Z"))
    timed = [index for index in collection(LOG).index_information().values() if "expireAfterSeconds" in index]
    assert [(index["key"], index["expireAfterSeconds"]) for index in timed] == [([("expires", 1)], 0)]
    found = collection(LOG).find_one({})
    assert found is not None
    assert found["expires"] - datetime(2026, 11, 17, tzinfo=UTC) == timedelta(days=90) == timedelta(days=KEPT_DAYS)
    for name in (ROLLUP, DISCOVERY):
        assert not any("expireAfterSeconds" in index for index in collection(name).index_information().values())


@pytest.mark.parametrize("timestamp", ["", "yesterday", "9999-12-31T00:00:00Z", "2026-02-30T00:00:00Z"])
def test_a_turn_without_a_day_expires_after_today(
    log: MongoQualityLog, collection: OpenCollection, timestamp: str
) -> None:
    before = datetime.now(UTC)
    log.put(turn(at=timestamp))
    found = collection(LOG).find_one({})
    assert found is not None
    assert 90 <= (found["expires"] - before).total_seconds() / 86400 <= 92


@pytest.mark.long
def test_the_server_removes_what_is_too_old_and_nothing_else(tmp_path: Path) -> None:
    today = datetime.now(UTC)
    days = [f"{today - timedelta(days=n):%Y-%m-%d}" for n in (0, 45, 89, 92, 400)]
    with running_mongod(tmp_path, expires=True) as mongod, closing(MongoQualityLog(mongod.url)) as log:
        for day in days:
            log.put(turn("s", day, f"{day}T10:00:00Z"))
            log.put_rollups([DayRollup(day)])
        until(lambda: len(log.days()) <= 3)
        assert {day.date for day in log.days()} == set(days[:3])
        assert {day.date for day in log.rollups()} == set(days)


# What is too large


def test_a_document_that_is_too_large_is_refused_and_nothing_is_changed(log: MongoQualityLog) -> None:
    item = LoggedItem("k", "mongo", "", 0)
    log.put(failed(FULL))
    for size in (16 * 1024 * 1024 - 1000, 16 * 1024 * 1024, 17_000_000, 60_000_000):
        for attempt in (
            lambda size=size: log.put(replace(FULL, user_prompt="x" * size)),
            lambda size=size: log.put(replace(FULL, injected_items=(replace(item, content_excerpt="x" * size),))),
            lambda size=size: log.put_rollups([DayRollup("2026-11-16", by_item={"x" * size: COUNTS})]),
            lambda size=size: log.put_discoveries([Discovery("k", "2026-11-16", "s", "1", "x" * size)]),
        ):
            with pytest.raises(StoreError) as refused:
                attempt()
            assert refused.value.slug == "quality-invalid"
            assert len(str(refused.value)) < 500
    with pytest.raises(StoreError) as refused:
        log.put(replace(FULL, turn_tokens=2**70))
    assert refused.value.slug == "quality-invalid"
    assert list(log.since("")) == [failed(FULL)]
    assert [*log.rollups(), *log.discoveries()] == []


def test_a_document_just_below_the_limit_is_stored(log: MongoQualityLog) -> None:
    large = failed(turn(user_prompt="x" * (16 * 1024 * 1024 - 3000)))
    assert log.put(large)
    assert log.get(large.id) == large
    assert log.put(replace(large, problem=""))
    assert not log.put(large)


# Whose a document is


def test_a_document_keeps_the_data_folder_that_wrote_it_first(url: str, collection: OpenCollection) -> None:
    with closing(MongoQualityLog(url, "mine")) as mine, closing(MongoQualityLog(url, "theirs")) as theirs:
        mine.put(failed(FULL))
        theirs.put(FULL)  # judged again elsewhere
        record = Discovery("k1", "2026-11-16", FULL.session_id, FULL.turn_id, "It is 8040.")
        theirs.put_discoveries([record])
        mine.put_discoveries([replace(record, contradictions=2)])
        theirs.put_discoveries([Discovery("k2", "2026-11-16", "s-theirs", "1", "x")])
    assert [one["origin"] for one in collection(LOG).find()] == ["mine"]
    assert {one["item"]: one["origin"] for one in collection(DISCOVERY).find()} == {"k1": "mine", "k2": "theirs"}


def test_the_log_is_where_the_items_are(url: str, tmp_path: Path, collection: OpenCollection) -> None:
    settings = Settings(
        root=tmp_path, home=tmp_path / ".knowbound", kms_backends=("sqlite", "mongo"), kms_mongo_url=url
    )
    (tmp_path / ".knowbound").mkdir()
    for _ in range(2):
        with closing(open_quality_log(settings)) as log:
            log.put(FULL)
    [found] = collection(LOG).find()
    assert re.fullmatch("[0-9a-f]{32}", found["origin"])
    with closing(open_quality_log(replace_backends(settings, "sqlite", "neo4j"))) as log:
        assert isinstance(log, SqliteQualityLog)


def replace_backends(settings: Settings, *backends: str) -> Settings:
    return Settings(root=settings.root, home=settings.home, kms_backends=backends)


# Elections and kills


class _Writers:
    """Three that write turns, days and records, and remember what was acknowledged."""

    def __init__(self, log: MongoQualityLog) -> None:
        self.log = log
        self.acknowledged: dict[str, QualityTurn] = {}
        self._is_over = Event()
        self._pool = ThreadPoolExecutor(3)
        self._writers = [self._pool.submit(self._write, writer) for writer in range(3)]

    def _write(self, writer: int) -> None:
        n = 0
        while not self._is_over.is_set():
            n += 1
            one = turn(f"s{writer}", f"{n}")
            assert self.log.put(failed(one))
            assert self.log.put(one)  # a repeated or a later write of the unscored one must not undo this
            assert not self.log.put(failed(one))
            self.log.put_rollups([DayRollup(f"day-{writer}", turns=n)])
            self.log.put_discoveries([Discovery(f"k{writer}", "2026", one.session_id, "1", contradictions=n)])
            self.acknowledged[one.id] = one

    def wait_for(self, more: int) -> None:
        wanted = len(self.acknowledged) + more
        until(lambda: len(self.acknowledged) >= wanted or any(writer.done() for writer in self._writers))

    def stop(self) -> None:
        self._is_over.set()
        self._pool.shutdown()
        for writer in self._writers:
            writer.result()  # none saw an error

    def assert_all_is_there(self) -> None:
        assert {one.id: one for one in self.log.since("")} == self.acknowledged
        last = [
            max(int(one.turn_id) for one in self.acknowledged.values() if one.session_id == f"s{n}") for n in range(3)
        ]
        assert [day.turns for day in self.log.rollups()] == last
        assert [record.contradictions for record in self.log.discoveries()] == last
        assert self.log.prune("2027") == len(self.acknowledged)


@pytest.mark.long
def test_no_acknowledged_write_is_lost_when_another_primary_is_elected(replica_set: ReplicaSet) -> None:
    with closing(MongoQualityLog(emptied(replica_set.url))) as log:
        writers = _Writers(log)
        try:
            writers.wait_for(10)
            before = replica_set.primary()
            with pymongo.MongoClient[dict[str, Any]](replica_set.url) as client:
                client.admin.command("replSetStepDown", 10, secondaryCatchUpPeriodSecs=5)
            writers.wait_for(10)
        finally:
            writers.stop()
        assert replica_set.primary() != before
        writers.assert_all_is_there()


@pytest.mark.long
def test_no_acknowledged_write_is_lost_when_the_primary_is_killed(replica_set: ReplicaSet) -> None:
    with closing(MongoQualityLog(emptied(replica_set.url))) as log:
        writers = _Writers(log)
        try:
            writers.wait_for(30)
            killed = replica_set.primary()
            replica_set.members[killed].kill()
            writers.wait_for(30)
        finally:
            writers.stop()
        assert replica_set.primary() != killed
        writers.assert_all_is_there()
        replica_set.revive(killed)
        assert log.put(FULL)


@pytest.mark.long
def test_turns_are_removed_completely_while_the_primary_is_killed(replica_set: ReplicaSet) -> None:
    with closing(MongoQualityLog(emptied(replica_set.url))) as log:
        for n in range(1500):
            log.put(turn("gone" if n % 3 else "stays", f"{n}"))
        killed = replica_set.primary()
        with ThreadPoolExecutor(1) as pool:
            forgetting = pool.submit(log.erase, lambda kept: kept.session == "gone", preview=False)
            until(lambda: sum(day.turns for day in log.days()) < 1500 or forgetting.done())
            replica_set.members[killed].kill()
            assert len(forgetting.result().turns) == 1000
        assert {one.session_id for one in log.since("")} == {"stays"}
        assert sum(day.turns for day in log.days()) == 500
        replica_set.revive(killed)


@pytest.mark.long
def test_what_was_acknowledged_survives_a_kill_and_the_log_goes_on(
    mongod: Mongod, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "RECOVERY_SECONDS", 0.5)
    with closing(MongoQualityLog(url)) as log:
        for n in range(50):
            log.put(turn("s", f"{n}"))
        mongod.process.kill()
        try:
            for attempt in (
                lambda: log.put(FULL),
                lambda: log.get(FULL.id),
                lambda: log.known(["x"]),
                log.unscored,
                log.days,
                lambda: list(log.since("")),
                lambda: log.prune("2027"),
                lambda: log.put_rollups([DayRollup("2026-11-16")]),
                log.rollups,
                lambda: log.put_discoveries([Discovery("k", "2026", "s", "1")]),
                log.discoveries,
                lambda: log.erase(lambda _: True, preview=True),
            ):
                with pytest.raises(StoreError) as down:
                    attempt()
                assert down.value.slug == "backend-unreachable"
        finally:
            mongod.revive()
        assert len(list(log.since(""))) == 50
        assert log.put(FULL)


def test_a_log_that_does_not_answer_is_an_error_without_the_password(
    silent_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "CONNECT_SECONDS", 0.2)
    with pytest.raises(StoreError) as down:
        MongoQualityLog(f"mongodb://ada:s3cr3t%40word@127.0.0.1:{silent_port}/kms?authSource=admin")
    assert down.value.slug == "backend-unreachable"
    assert "s3cr3t" not in str(down.value)


def test_a_server_that_goes_away_during_a_write_is_an_error(
    log: MongoQualityLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object, **__: object) -> None:
        raise pymongo.errors.AutoReconnect("connection closed")

    monkeypatch.setattr(log._rollup, "bulk_write", gone)
    with pytest.raises(StoreError, match="connection closed") as down:
        log.put_rollups([DayRollup("2026-11-16")])
    assert down.value.slug == "backend-unreachable"


def test_without_the_driver_the_error_names_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymongo", None)
    monkeypatch.delitem(sys.modules, "knowbound.kms.team_log")
    with pytest.raises(StoreError, match=re.escape(extra_command("mongo"))) as absent:
        import_module("knowbound.kms.team_log")
    assert absent.value.slug == "backend-missing"

"""The MongoDB backend, on a real mongod and on a real replica set."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from threading import Event
from typing import Any

import pymongo
import pytest

from knowbound.core.item import Item
from knowbound.distribution import extra_command
from knowbound.errors import StoreError
from knowbound.kms.backends import protocol
from knowbound.kms.backends.mongo import CLOCK, ITEMS, MongoBackend
from knowbound.kms.backends.protocol import Backend
from tests.outside_conformance import TeamConformance
from tests.services import Mongod, ReplicaSet, emptied, free_ports, until
from tests.stores import items_of, put_items, remove_item


class TestSingleServer(TeamConformance):
    @pytest.fixture
    def open_backend(self, mongo_url: str) -> Callable[[], Backend]:
        url = emptied(mongo_url)
        return lambda: MongoBackend(url)


@pytest.mark.long
class TestReplicaSet(TeamConformance):
    @pytest.fixture
    def open_backend(self, replica_set: ReplicaSet) -> Callable[[], Backend]:
        url = emptied(replica_set.url)
        return lambda: MongoBackend(url)


@pytest.fixture
def url(mongo_url: str) -> str:
    return emptied(mongo_url)


@pytest.fixture
def backend(url: str) -> Iterator[MongoBackend]:
    backend = MongoBackend(url)
    yield backend
    backend.close()


@pytest.fixture
def documents(url: str) -> Iterator[pymongo.collection.Collection[dict[str, Any]]]:
    """The collection as others see it."""
    with pymongo.MongoClient[dict[str, Any]](url) as client:
        yield client.get_default_database()[ITEMS]


# Documents of others


def test_a_document_that_is_no_item_is_skipped(
    backend: MongoBackend, documents: pymongo.collection.Collection[dict[str, Any]]
) -> None:
    put_items(backend, Item("good", "stays"))
    documents.insert_many(
        [
            {"_id": "no content", "written": 5},
            {"_id": 7, "content": "the id is a number"},
            {"content": "its id is an ObjectId"},
            {"_id": "odd type", "content": "x", "type": "poem"},
            {"_id": "odd flag", "content": "x", "flag": {"kind": "GONE"}},
            {"_id": "odd metadata", "content": "x", "metadata": "{no json"},
            {"_id": "listed metadata", "content": "x", "metadata": ["a"]},
        ]
    )
    assert items_of(backend) == [Item("good", "stays")]
    assert backend.get("odd type") is None


def test_a_document_of_another_tool_is_an_item_when_it_can_be(
    backend: MongoBackend, documents: pymongo.collection.Collection[dict[str, Any]]
) -> None:
    documents.insert_one({"_id": "theirs", "content": "x", "metadata": {"quality": {"n": 1}}, "their_own": 1})
    assert backend.get("theirs") == Item("theirs", "x", metadata={"quality": {"n": 1}})


# What changed


def test_a_write_that_is_overtaken_is_not_lost(
    backend: MongoBackend, documents: pymongo.collection.Collection[dict[str, Any]]
) -> None:
    put_items(backend, Item("a", "one"))
    _, stamp = backend.changed_since("")
    # A slow writer has stored its document and taken its number, and is overtaken before it can put the number there.
    clock = documents.database[CLOCK]
    documents.insert_one({"_id": "slow", "content": "slow", "writing": "mark"})
    taken = clock.find_one_and_update({"_id": ITEMS}, {"$inc": {"last": 1}}, return_document=True)
    assert taken is not None
    put_items(backend, Item("fast", "fast"))
    items, stamp = backend.changed_since(stamp)
    assert {item.id for item in items} == {"slow", "fast"}
    documents.update_one({"writing": "mark"}, {"$set": {"written": taken["last"]}, "$unset": {"writing": ""}})
    items, _ = backend.changed_since(stamp)
    assert list(items) == []


def test_what_a_dead_writer_left_behind_comes_until_it_is_written_again(
    backend: MongoBackend, documents: pymongo.collection.Collection[dict[str, Any]]
) -> None:
    put_items(backend, Item("a", "one"))
    documents.insert_one({"_id": "left", "content": "left behind", "writing": "mark"})
    _, stamp = backend.changed_since("")
    for _ in range(2):
        items, stamp = backend.changed_since(stamp)
        assert list(items) == [Item("left", "left behind")]
    put_items(backend, Item("left", "again"))
    _, stamp = backend.changed_since(stamp)
    assert list(backend.changed_since(stamp)[0]) == []


def test_a_database_made_anew_or_restored_is_read_from_the_beginning(url: str, backend: MongoBackend) -> None:
    for n in range(5):
        put_items(backend, Item("a", f"{n}"))
    _, stamp = backend.changed_since("")
    with pymongo.MongoClient[dict[str, Any]](url) as client:
        client.get_default_database()[CLOCK].update_one({}, {"$set": {"last": 2}})  # a backup
        assert len(list(backend.changed_since(stamp)[0])) == 1
        client.drop_database(client.get_default_database())
    put_items(backend, Item("b", "new"))
    assert [item.id for item in backend.changed_since(stamp)[0]] == ["b"]


# Failures


@pytest.mark.parametrize("server", ["mongo_url", "one_member_set"])
def test_many_are_all_or_none(server: str, request: pytest.FixtureRequest) -> None:
    found = request.getfixturevalue(server)
    backend = MongoBackend(emptied(found.url if isinstance(found, ReplicaSet) else found))
    try:
        with pytest.raises(StoreError) as refused:
            put_items(backend, Item("a", "fits"), Item("huge", "x" * 17_000_000))
        assert refused.value.slug == "item-invalid"
        assert items_of(backend) == []
    finally:
        backend.close()


@pytest.mark.long
def test_no_acknowledged_write_is_lost_when_the_primary_is_killed(replica_set: ReplicaSet) -> None:
    backend = MongoBackend(emptied(replica_set.url))
    acknowledged: list[Item] = []
    is_over = Event()

    def write(writer: int) -> None:
        n = 0
        while not is_over.is_set():
            n += 1
            items = [Item(f"{writer}-{n}-{part}", f"{n}") for part in range(1 + writer)]
            put_items(backend, *items)
            acknowledged.extend(items)

    def more_than(count: int) -> None:
        until(lambda: len(acknowledged) > count or any(writer.done() for writer in writers))

    _, stamp = backend.changed_since("")
    try:
        with ThreadPoolExecutor(3) as pool:
            writers = [pool.submit(write, writer) for writer in range(3)]
            try:
                more_than(60)
                killed = replica_set.primary()
                replica_set.members[killed].kill()
                before = len(acknowledged)
                more_than(before + 60)
            finally:
                is_over.set()
            for writer in writers:
                writer.result()  # no writer saw an error
        assert replica_set.primary() != killed
        expected = {item.id: item for item in acknowledged}
        assert {item.id: item for item in items_of(backend)} == expected
        assert {item.id: item for item in backend.changed_since(stamp)[0]} == expected
        replica_set.revive(killed)
        put_items(backend, Item("after", "all three again"))
        assert backend.get("after") == Item("after", "all three again")
    finally:
        backend.close()


@pytest.mark.long
def test_what_was_acknowledged_survives_a_kill_and_the_backend_goes_on(
    mongod: Mongod, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "RECOVERY_SECONDS", 0.5)
    backend = MongoBackend(url)
    put_items(backend, *[Item(f"i{n}", "kept") for n in range(100)])
    mongod.process.kill()
    try:
        for attempt in (
            lambda: put_items(backend, Item("late", "x")),
            lambda: backend.get("i1"),
            lambda: remove_item(backend, "i1"),
            lambda: items_of(backend),
            lambda: backend.changed_since(""),
        ):
            with pytest.raises(StoreError) as down:
                attempt()
            assert down.value.slug == "backend-unreachable"
    finally:
        mongod.revive()
    assert len(items_of(backend)) == 100
    put_items(backend, Item("late", "x"))
    assert backend.get("late") == Item("late", "x")
    backend.close()


@pytest.mark.parametrize("where", ["closed", "silent"])
def test_a_server_that_does_not_answer_is_an_error_without_the_password(
    where: str, silent_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "CONNECT_SECONDS", 0.2)
    port = silent_port if where == "silent" else free_ports(1)[0]
    with pytest.raises(StoreError) as down:
        MongoBackend(f"mongodb://ada:s3cr3t%40word@127.0.0.1:{port}/kms?authSource=admin")
    assert down.value.slug == "backend-unreachable"
    assert f"mongodb://127.0.0.1:{port}/kms" in str(down.value)
    assert "s3cr3t" not in str(down.value)


@pytest.mark.parametrize(
    "wrong",
    [
        "mongodb://",
        "http://127.0.0.1",
        "mongodb://ada:s3cr3t/word@h/x",
        "mongodb://h/a b?x=1",
        "mongodb://h:x",
    ],
)
def test_an_address_that_is_none_is_an_error_at_once(wrong: str) -> None:
    with pytest.raises(StoreError) as refused:
        MongoBackend(wrong)
    assert refused.value.slug == "backend-unreachable"
    assert "s3cr3t" not in str(refused.value)


def test_without_the_driver_the_error_names_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymongo", None)
    monkeypatch.delitem(sys.modules, "knowbound.kms.backends.mongo")
    with pytest.raises(StoreError, match=re.escape(extra_command("mongo"))) as absent:
        import_module("knowbound.kms.backends.mongo")
    assert absent.value.slug == "backend-missing"

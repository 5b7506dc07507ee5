"""Stores that another program keeps, laid out as the system lays them out that specification 2 comes from."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import neo4j
import pymongo
import pytest

from knowbound.config import Settings
from knowbound.core.item import FlagKind, Item, ItemSource, ItemType, Relationship
from knowbound.errors import ConfigError, InputError
from knowbound.kms.backends.outside import fields_of
from knowbound.kms.knowledge_store import KnowledgeStore
from knowbound.kms.opening import open_knowledge_store, open_quality_log, open_shared_log
from knowbound.kms.validation import ItemEdit, NewItem
from knowbound.quality.corrections import Corrections
from knowbound.quality.rollout.replay import write_effective
from knowbound.quality.rollup import roll_up
from tests.hook_project import Project
from tests.quality.measured_project import logged, turn
from tests.services import BoltServer

OLD = "7b1c2d3e-0000-4000-8000-000000000001"
OTHER = "7b1c2d3e-0000-4000-8000-000000000002"
GONE = "7b1c2d3e-0000-4000-8000-000000000003"
WHEN = datetime(2026, 5, 7, 10, 0, 0, 123000, tzinfo=UTC)
Record = dict[str, Any]


def entry(id_: str, content: str, **more: Any) -> Record:
    """An entry as that system writes it."""
    return {
        "id": id_,
        "content": content,
        "contentType": "fact",
        "source": "technical",
        "userId": "ada",
        "metadata": {"subject": "Orders.port", "tags": ["orders"], "fingerprint": "f1"},
        "timestamp": WHEN,
        "confidence": 0.8,
        "relationships": [],
    } | more


ENTRIES = [
    entry(
        OLD,
        "The orders service listens on port 8040.",
        relationships=[{"targetId": OTHER, "type": "REQUIRES", "strength": 0.6}],
    ),
    entry(OTHER, "Reframing helps with anxiety.", contentType="insight", source="cross_domain", confidence=0.6),
    entry(GONE, "The build takes an hour.", flag="RETRACTED", flag_note="no", flag_by="ada", flag_date=WHEN),
]
OLD_ITEM = Item(
    OLD,
    "The orders service listens on port 8040.",
    ItemType.FACT,
    ItemSource.TECHNICAL,
    subject="Orders.port",
    user="ada",
    timestamp="2026-05-07T10:00:00.123Z",
    confidence=0.8,
    relationships=(Relationship("requires", OTHER),),
    metadata={"tags": ["orders"], "fingerprint": "f1"},
)


class OtherProgram:
    """The other program's view of its store."""

    def __init__(self, settings: Settings, all_: Callable[[], list[Record]], put: Callable[[Record], None]) -> None:
        self.settings, self.all, self.put = settings, all_, put

    def entry(self, id_: str) -> Record:
        return next(one for one in self.all() if one["id"] == id_)


@pytest.fixture
def in_mongo(mongo_url: str, tmp_path: Path) -> Iterator[OtherProgram]:
    with pymongo.MongoClient[Record](mongo_url, tz_aware=True) as client:
        client.drop_database("unified_kms")
        documents = client["unified_kms"]["unified_knowledge"]
        documents.create_index([("content", "text"), ("metadata.tags", "text")])
        documents.create_index("contentHash", unique=True, sparse=True)
        documents.insert_many([one | {"contentHash": one["id"]} for one in ENTRIES])
        settings = Settings(
            tmp_path,
            tmp_path / ".knowbound",
            kms_backends=("mongo",),
            kms_mongo_url=f"{mongo_url}unified_kms",
            kms_mongo_collection="unified_knowledge",
        )

        def put(new: Record) -> None:
            documents.replace_one({"id": new["id"]}, new, upsert=True)

        yield OtherProgram(
            settings,
            lambda: list(documents.find({}, {"_id": 0})),
            put,
        )
        assert set(client["unified_kms"].list_collection_names()) <= {"unified_knowledge", *_LOGS}
        client.drop_database("unified_kms")


_LOGS = {f"kms_quality_{name}" for name in ("log", "rollup", "answer", "discovery", "note", "item")}
_CREATE = """
    CREATE (k:Knowledge {id: $id, content: $content, contentType: $contentType, source: $source, userId: $userId,
        confidence: $confidence, timestamp: datetime($timestamp), metadata: $metadata}) SET k += $flags"""
_EDGE = """
    MATCH (a:Knowledge {id: $one}) MATCH (b:Knowledge {id: $other})
    CREATE (a)-[r:REQUIRES {strength: 0.6, created: datetime()}]->(b)"""


@pytest.fixture
def in_neo4j(bolt_server: BoltServer, tmp_path: Path) -> Iterator[OtherProgram]:
    database = bolt_server.empty_database()
    with neo4j.GraphDatabase.driver(bolt_server.url, auth=(bolt_server.user, bolt_server.password)) as driver:

        def ask(query: str, **values: Any) -> list[Record]:
            return driver.execute_query(query, values, database_=database, result_transformer_=neo4j.Result.data)

        def create(one: Record) -> None:
            ask("MATCH (k:Knowledge {id: $id}) DETACH DELETE k", id=one["id"])
            flags = {name: value for name, value in one.items() if name.startswith(("flag", "superseded"))}
            plain = {name: value for name, value in one.items() if name not in flags and name != "relationships"}
            ask(_CREATE, **plain | {"metadata": json.dumps(one["metadata"]), "timestamp": _iso(WHEN), "flags": flags})

        def all_() -> list[Record]:
            found = ask("MATCH (k:Knowledge) RETURN properties(k) AS node")
            return [one["node"] | {"metadata": json.loads(one["node"]["metadata"])} for one in found]

        for one in ENTRIES:
            create(one)
        ask(_EDGE, one=OLD, other=OTHER)
        ask("CREATE (p:Person {id: 'p1', name: 'Ada'}) WITH p MATCH (k:Knowledge) CREATE (k)-[:ABOUT]->(p)")
        settings = Settings(
            tmp_path,
            tmp_path / ".knowbound",
            kms_backends=("neo4j",),
            kms_neo4j_url=bolt_server.url,
            kms_neo4j_user=bolt_server.user,
            kms_neo4j_password=bolt_server.password,
            kms_neo4j_database=database,
            kms_neo4j_label="Knowledge",
        )
        yield OtherProgram(settings, all_, create)


def _iso(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@pytest.fixture(params=["in_mongo", "in_neo4j"])
def other(request: pytest.FixtureRequest) -> OtherProgram:
    program: OtherProgram = request.getfixturevalue(request.param)
    return program


def opened(settings: Settings, *, may_write: bool = False) -> closing[KnowledgeStore]:
    return closing(open_knowledge_store(replace(settings, kms_write=may_write), by="ada"))


def served(store: KnowledgeStore) -> set[str]:
    return {one.item.id for one in store.index.all_items() if one.served}


def test_types_ids_confidence_and_source_survive_the_sync(other: OtherProgram) -> None:
    with opened(other.settings) as store:
        assert store.get(OLD) == OLD_ITEM
        insight = store.get(OTHER)
        assert insight
        assert (insight.type, insight.source, insight.confidence) == ("insight", "cross_domain", 0.6)
        flag = (store.get(GONE) or OLD_ITEM).flag
        assert flag
        assert (flag.kind, flag.note, flag.by) == (FlagKind.RETRACTED, "no", "ada")
        assert flag.date == "2026-05-07T10:00:00.123Z"
        assert served(store) == {OLD, OTHER}


def test_what_the_other_program_changes_arrives_with_the_next_sync(other: OtherProgram) -> None:
    with opened(other.settings) as store:
        new = "7b1c2d3e-0000-4000-8000-000000000009"
        other.put(entry(new, "The orders service listens on port 9000."))
        other.put(entry(OLD, "The orders service listens on port 8040.", flag="SUPERSEDED", superseded_by=new))
        assert store.sync()[other.settings.kms_backends[0]].written == 2
        assert served(store) == {OTHER, new}
        assert store.show(OLD).in_force == new
        assert store.sync()[other.settings.kms_backends[0]].written == 0


def test_an_entry_that_the_other_program_removed_is_gone(in_mongo: OtherProgram, mongo_url: str) -> None:
    with opened(in_mongo.settings) as store:
        with pymongo.MongoClient[Record](mongo_url) as client:
            client["unified_kms"]["unified_knowledge"].delete_one({"id": OTHER})
        assert store.sync()["mongo"].dropped == 1
        assert served(store) == {OLD}


def test_a_store_that_is_only_read_never_changes(other: OtherProgram) -> None:
    before = sorted(map(repr, other.all()))
    with opened(other.settings) as store:
        with pytest.raises(InputError, match="store-read-only"):
            store.supersede(OLD, by=ItemEdit(content="The orders service listens on port 8004."))
        with pytest.raises(InputError, match="store-read-only"):
            store.update(OLD, ItemEdit(content="The orders service listens on port 8004."))
        with pytest.raises(InputError, match="store-read-only"):
            store.add(NewItem(content="The billing service listens on port 8005."))
        store.flag(OLD, FlagKind.HELD_BACK, "the tree has 8004", automatic=True)
        store.flag(OTHER, FlagKind.UNVERIFIED, "nobody answered")
        store.set_quality({(other.settings.kms_backends[0], OTHER): 0.3})
        assert store.reap(timedelta(0)).removed == []
    assert sorted(map(repr, other.all())) == before
    assert open_shared_log(other.settings) is None


def test_flags_and_quality_of_a_read_store_are_noted_beside_it(other: OtherProgram) -> None:
    with opened(other.settings) as store:
        store.flag(OLD, FlagKind.HELD_BACK, "the tree has 8004", automatic=True)
        store.set_quality({(other.settings.kms_backends[0], OTHER): 0.3})
    with opened(other.settings) as store:
        store.sync(everything=True)
        assert served(store) == {OTHER}
        assert (store.get(OTHER) or OLD_ITEM).metadata["quality"] == {"effective_confidence": 0.3}
        store.unflag(OLD)
        assert served(store) == {OLD, OTHER}
        store.flag(OLD, FlagKind.RETRACTED, "wrong")
        other.put(entry(OLD, "The orders service listens on port 8004."))  # corrected there: the note is about old text
        store.sync()
        assert served(store) == {OLD, OTHER}


def test_a_correction_lands_in_the_store_as_that_system_makes_it(other: OtherProgram) -> None:
    with opened(other.settings, may_write=True) as store:
        new = store.supersede(OLD, by=ItemEdit(content="The orders service listens on port 8004."), note="moved")
        assert served(store) == {OTHER, new.id}
        assert store.get(new.id) == replace_item(new)
    old, made = other.entry(OLD), other.entry(new.id)
    kept = ("content", "contentType", "source", "userId", "confidence", "metadata")
    assert {name: old[name] for name in kept} == {name: ENTRIES[0][name] for name in kept}
    assert (old["flag"], old["flag_note"], old["flag_by"], old["superseded_by"]) == (
        "SUPERSEDED",
        "moved",
        "ada",
        new.id,
    )
    assert (made["content"], made["contentType"], made["source"], made["userId"], made["confidence"]) == (
        "The orders service listens on port 8004.",
        "fact",
        "technical",
        "ada",
        0.8,
    )
    assert (made["metadata"]["supersedes"], made["metadata"]["supersede_reason"]) == (OLD, "moved")
    assert made["metadata"]["subject"] == "Orders.port"
    assert old.get("relationships", ENTRIES[0]["relationships"]) == ENTRIES[0]["relationships"]


def replace_item(item: Item) -> Item:
    """As the store gives it back: relationships in its order."""
    ordered = [one for one in item.relationships if one.kind != "supersedes"]
    return msgspec.structs.replace(item, relationships=(*ordered, Relationship("supersedes", OLD)))


def test_an_entry_of_theirs_is_injected_scored_and_corrected_there(other: OtherProgram) -> None:
    backend, settings = other.settings.kms_backends[0], replace(other.settings, kms_write=True)
    with opened(settings, may_write=True) as store:
        store.sync()
    agent = Project(settings.root)
    said = agent.ask("On which port does the orders service listen?")
    (line,) = [one for one in said.splitlines() if one.startswith(f"[{OLD}] ")]
    assert line.endswith("The orders service listens on port 8040.")
    (injected,) = agent.records()[-1].items
    assert (injected.item, injected.backend, injected.confidence) == (OLD, backend, 0.8)

    day, contradicts = "2026-11-16", "The orders service listens on port 8004, not 8040."
    with opened(settings, may_write=True) as store, closing(open_quality_log(settings)) as log:
        shown = store.get(OLD)
        assert shown is not None
        verdict = msgspec.structs.replace(logged(shown, "tc", correction=contradicts), source_backend=backend)
        log.put(turn(day, 1, [verdict]))
        roll_up(log, store.index.corrections(), today=day)
        write_effective(settings, store.index, log.rollups(), [backend])
        assert other.entry(OLD)["metadata"]["quality"]["effective_confidence"] < 0.8
        made = Corrections(log, store, by="ada").accept(OLD)
        assert made.content == "The orders service listens on port 8004."
    old = other.entry(OLD)
    assert (old["flag"], old["superseded_by"], old["content"]) == ("SUPERSEDED", made.id, ENTRIES[0]["content"])
    assert other.entry(made.id)["metadata"]["supersedes"] == OLD
    assert f"[{made.id}] " in agent.ask("On which port does the orders service listen?", session="s-2")


def test_updates_flags_and_quality_are_written_field_by_field(other: OtherProgram) -> None:
    with opened(other.settings, may_write=True) as store:
        store.update(OLD, ItemEdit(confidence=0.5))
        store.flag(OTHER, FlagKind.RETRACTED, "not ours")
        store.set_quality({(other.settings.kms_backends[0], OLD): 0.25})
        store.flag(OLD, FlagKind.HELD_BACK, "the tree has 8004", automatic=True)
        assert served(store) == set()
        store.unflag(OTHER)
        assert served(store) == {OTHER}
    old = other.entry(OLD)
    assert old["confidence"] == 0.5
    assert old["metadata"]["quality"] == {"effective_confidence": 0.25}
    assert old["metadata"]["tags"] == ["orders"]
    assert not old.get("flag")  # held back here: that system has no such flag
    assert not other.entry(OTHER).get("flag")
    assert not other.entry(OTHER).get("flag_note")


def test_new_entries_are_found_again_and_the_log_is_in_the_same_database(in_mongo: OtherProgram) -> None:
    settings = replace(in_mongo.settings, kms_write=True)
    with opened(settings, may_write=True) as store:
        made = store.add(NewItem(content="The billing service listens on port 8005.", subject="Billing.port")).item
        assert store.get(made.id) == made
        with pytest.raises(InputError, match="item-duplicate"):
            store.add(NewItem(content="Something else entirely.", id=made.id))
    document = in_mongo.entry(made.id)
    assert document["contentHash"]
    assert document["metadata"] == {"subject": "Billing.port"}
    log = open_shared_log(settings)
    assert log is not None
    log.close()


def test_two_programs_that_write_at_once_do_not_overwrite_each_other(in_mongo: OtherProgram) -> None:
    with opened(in_mongo.settings, may_write=True) as store:
        backend = store.backends["mongo"]
        stored = backend.planned  # type: ignore[attr-defined]

        def planned(*given: Any) -> Any:
            plan = stored(*given)
            in_mongo.put(entry(OLD, "The orders service listens on port 7000."))
            backend.planned = stored  # type: ignore[attr-defined]
            return plan

        backend.planned = planned  # type: ignore[attr-defined]
        store.update(OLD, ItemEdit(content="The orders service listens on port 8004."))
        assert in_mongo.entry(OLD)["content"] == "The orders service listens on port 8004."
        assert [one.tool for one in store.index.corrections(OLD)] == ["kms_update"]


def test_records_that_are_no_entries_are_left_alone(other: OtherProgram) -> None:
    other.put(entry("x1", "   "))
    other.put(entry("x2", "Odd, but readable.", contentType="graph_node", source="mars", confidence=7, flag="ODD"))
    with opened(other.settings) as store:
        odd = store.get("x2")
        assert store.get("x1") is None
        assert odd
        assert (odd.type, odd.source, odd.confidence) == ("fact", "technical", 1.0)
        assert odd.flag
        assert odd.flag.kind is FlagKind.RETRACTED
        assert served(store) == {OLD, OTHER}


def test_other_field_names_come_from_the_config(in_mongo: OtherProgram, mongo_url: str) -> None:
    with pymongo.MongoClient[Record](mongo_url) as client:
        client["unified_kms"]["unified_knowledge"].insert_one({"key": "n1", "body": {"text": "Deploys run at noon."}})
        fields = ("mongo.id=key", "content=body.text", "neo4j.content=nothing")
        with opened(replace(in_mongo.settings, kms_fields=fields)) as store:
            assert [one.item.content for one in store.index.all_items()] == ["Deploys run at noon."]


@pytest.mark.parametrize("entry_", ["content", "content=", "speed=x", "mongo.speed=x"])
def test_a_wrong_field_map_is_refused(entry_: str) -> None:
    with pytest.raises(ConfigError, match=r"kms\.fields"):
        fields_of("mongo", [entry_])

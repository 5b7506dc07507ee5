"""The Neo4j backend, over Bolt on a real server."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import neo4j
import pytest

from knowbound.core.item import Flag, FlagKind, Item, Relationship
from knowbound.distribution import extra_command
from knowbound.errors import StoreError
from knowbound.kms.backends import neo4j as neo4j_backend
from knowbound.kms.backends import protocol
from knowbound.kms.backends.neo4j import Neo4jBackend
from knowbound.kms.backends.protocol import Backend
from tests.outside_conformance import TeamConformance
from tests.services import BoltServer, free_ports
from tests.stores import items_of, put_items, remove_item

Ask = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def database(bolt_server: BoltServer) -> str:
    return bolt_server.empty_database()


class TestNeo4j(TeamConformance):
    @pytest.fixture
    def open_backend(self, bolt_server: BoltServer, database: str) -> Callable[[], Backend]:
        return lambda: Neo4jBackend(bolt_server.url, bolt_server.user, bolt_server.password, database)


@pytest.fixture
def backend(bolt_server: BoltServer, database: str) -> Iterator[Neo4jBackend]:
    backend = Neo4jBackend(bolt_server.url, bolt_server.user, bolt_server.password, database)
    yield backend
    backend.close()


@pytest.fixture
def ask(bolt_server: BoltServer, database: str) -> Iterator[Ask]:
    """Cypher, as others would ask it."""
    with neo4j.GraphDatabase.driver(bolt_server.url, auth=(bolt_server.user, bolt_server.password)) as driver:
        yield lambda query, **values: driver.execute_query(
            query, values, database_=database, result_transformer_=neo4j.Result.data
        )


NODES = "MATCH (i:KnowboundItem) RETURN i.id AS id ORDER BY id"


# Relationships are edges


def test_relationships_can_be_walked_as_edges(backend: Neo4jBackend, ask: Ask) -> None:
    put_items(
        backend,
        Item("a", "one", relationships=(Relationship("depends_on", "b"),)),
        Item("b", "two", relationships=(Relationship("derived_from", "c"),)),
        Item("c", "three"),
    )
    walked = ask(
        "MATCH (:KnowboundItem {id: 'a'})-[:DEPENDS_ON]->()-[:DERIVED_FROM]->(end) RETURN end.content AS content"
    )
    assert walked == [{"content": "three"}]


@pytest.mark.parametrize(
    ("kind", "type_"),
    [
        ("depends_on", "DEPENDS_ON"),
        ("v2_of", "V2_OF"),
        ("", "RELATES_TO"),
        ("Depends On", "RELATES_TO"),
        ("2nd", "RELATES_TO"),
        ("依赖", "RELATES_TO"),
        ("x`]->() DETACH DELETE n //", "RELATES_TO"),
        ("k" * 200, "RELATES_TO"),
    ],
)
def test_a_kind_is_the_type_of_its_edge_where_it_is_a_plain_word(
    backend: Neo4jBackend, ask: Ask, kind: str, type_: str
) -> None:
    put_items(backend, Item("a", "one", relationships=(Relationship(kind, "b"),)))
    assert ask("MATCH ()-[r]->() RETURN type(r) AS type, r.kind AS kind") == [{"type": type_, "kind": kind}]


def test_relationships_keep_their_order_and_their_doubles(backend: Neo4jBackend) -> None:
    several = tuple(Relationship(kind, target) for kind in ("z", "a", "z") for target in ("b", "a", "self", "b"))
    put_items(backend, Item("self", "one", relationships=several))
    put_items(backend, Item("self", "one", relationships=several))
    assert backend.get("self") == Item("self", "one", relationships=several)


def test_the_other_end_is_completed_when_it_is_put(backend: Neo4jBackend, ask: Ask) -> None:
    put_items(backend, Item("a", "one", relationships=(Relationship("depends_on", "later"),)))
    put_items(backend, Item("later", "now there"))
    found = ask("MATCH (:KnowboundItem {id: 'a'})-[:DEPENDS_ON]->(b) RETURN b.content AS content")
    assert found == [{"content": "now there"}]


def test_the_other_end_goes_when_nothing_relates_to_it_any_more(backend: Neo4jBackend, ask: Ask) -> None:
    put_items(backend, *[Item(id_, "x", relationships=(Relationship("depends_on", "end"),)) for id_ in ("a", "b")])
    assert ask(NODES) == [{"id": "a"}, {"id": "b"}, {"id": "end"}]
    put_items(backend, Item("a", "without"))
    assert ask(NODES) == [{"id": "a"}, {"id": "b"}, {"id": "end"}]
    remove_item(backend, "b")
    assert ask(NODES) == [{"id": "a"}]


# Nodes of others


def test_flags_can_be_asked_for(backend: Neo4jBackend, ask: Ask) -> None:
    put_items(
        backend, Item("a", "x", flag=Flag(FlagKind.SUPERSEDED, superseded_by="b", covers=Flag(FlagKind.UNVERIFIED)))
    )
    assert ask("MATCH (i:KnowboundItem {flag_kind: 'SUPERSEDED'}) RETURN i.flag_superseded_by AS by") == [{"by": "b"}]


def test_a_node_that_is_no_item_is_skipped(backend: Neo4jBackend, ask: Ask) -> None:
    put_items(backend, Item("good", "stays"))
    ask("CREATE (:KnowboundItem {id: 'no content', written: 1})")
    ask("CREATE (:KnowboundItem {id: 'odd', content: 'x', written: 1, metadata: '{no json'})")
    ask("CREATE (:KnowboundItem {id: 'flagged', content: 'x', written: 1, flag_kind: 'GONE'})")
    ask("CREATE (:Person {id: 'somebody else'})")
    assert items_of(backend) == [Item("good", "stays")]


# Failures


def test_many_are_all_or_none(backend: Neo4jBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neo4j_backend, "_LINK", "this is no Cypher %s")
    with pytest.raises(StoreError) as refused:
        put_items(backend, Item("a", "x", relationships=(Relationship("depends_on", "b"),)), Item("b", "y"))
    assert refused.value.slug == "backend-unreachable"
    assert items_of(backend) == []


@pytest.mark.parametrize("where", ["closed", "silent"])
def test_a_server_that_does_not_answer_is_an_error(
    where: str, silent_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "CONNECT_SECONDS", 0.2)
    port = silent_port if where == "silent" else free_ports(1)[0]
    with pytest.raises(StoreError) as down:
        Neo4jBackend(f"bolt://127.0.0.1:{port}", "neo4j", "s3cr3tword")
    assert down.value.slug == "backend-unreachable"
    assert f"bolt://127.0.0.1:{port}" in str(down.value)
    assert "s3cr3t" not in str(down.value)


@pytest.mark.parametrize("wrong", ["nonsense", "http://127.0.0.1:7687", "bolt://ada:s3cr3t@127.0.0.1:7687"])
def test_an_address_that_is_none_is_an_error_at_once(wrong: str) -> None:
    with pytest.raises(StoreError) as refused:
        Neo4jBackend(wrong, "neo4j", "x")
    assert refused.value.slug == "backend-unreachable"
    assert "s3cr3t" not in str(refused.value)


def test_a_wrong_password_or_database_is_an_error(bolt_server: BoltServer, database: str) -> None:
    for password, name in (("wr0ng-pass", database), (bolt_server.password, "nowhere")):
        with pytest.raises(StoreError) as refused:
            Neo4jBackend(bolt_server.url, bolt_server.user, password, name)
        assert refused.value.slug == "backend-unreachable"
        assert password not in str(refused.value)


def test_without_the_driver_the_error_names_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "neo4j", None)
    monkeypatch.delitem(sys.modules, "knowbound.kms.backends.neo4j")
    with pytest.raises(StoreError, match=re.escape(extra_command("neo4j"))) as absent:
        import_module("knowbound.kms.backends.neo4j")
    assert absent.value.slug == "backend-missing"

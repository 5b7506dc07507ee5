"""The Neo4j backend, in core Cypher over Bolt: items are nodes, relationships are edges between them.

    (:KnowboundItem {id, content, type, …, flag_kind, flag_note, …, anchor_file, …, metadata, written})
        -[:DEPENDS_ON {kind, position}]-> (:KnowboundItem)

Fields at their default are left out; flag and anchor are properties of the node; values nested in them and the metadata
are JSON text. An edge's type is its kind in capitals where that is a plain word, else RELATES_TO; its exact kind is a
property. The other end of a relationship may be missing: then it is a node with nothing but its id, which is no item
until it is put.

Every write takes the next number from the node `KnowboundClock` first, in its own transaction. That node is locked
until the commit, so writes are committed in the order of their numbers, and a reader of a number sees everything up to
it: `changed_since` loses nothing, even if clocks differ. `swap` compares items after it has taken the number, so no
other write changes them meanwhile.

An item that was removed for good leaves (:KnowboundRemoved {id, content_sha, time, restored, written}).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby
from threading import Lock
from typing import Any
from uuid import uuid4

from knowbound.config import Settings
from knowbound.core.item import Item
from knowbound.kms.backends import protocol
from knowbound.kms.backends.outside import Records, record_backend
from knowbound.kms.backends.protocol import Backend, ContendedError, Removed, Stamp, Swap
from knowbound.text.clock import utc_now

try:
    import neo4j
    from neo4j.exceptions import ClientError, ConstraintError, DriverError, Neo4jError
    from neo4j.time import DateTime
except ImportError as error:
    raise protocol.missing("neo4j") from error

_PAGE_ROWS = 1000
_PLAIN_KIND = re.compile("[a-z][a-z0-9_]{0,59}", re.ASCII)
_ANY_KIND = "RELATES_TO"
_NESTED = ("flag", "anchor")  # structs, stored as properties with their name as prefix

_SCHEMA = (
    "CREATE CONSTRAINT knowbound_item_id IF NOT EXISTS FOR (i:KnowboundItem) REQUIRE i.id IS UNIQUE",
    "CREATE CONSTRAINT knowbound_clock_name IF NOT EXISTS FOR (c:KnowboundClock) REQUIRE c.name IS UNIQUE",
    "CREATE INDEX knowbound_item_copy IF NOT EXISTS FOR (i:KnowboundItem) ON (i.copy_of)",
    "CREATE INDEX knowbound_item_written IF NOT EXISTS FOR (i:KnowboundItem) ON (i.written)",
    "CREATE CONSTRAINT knowbound_removed_id IF NOT EXISTS FOR (r:KnowboundRemoved) REQUIRE r.id IS UNIQUE",
    "CREATE INDEX knowbound_removed_written IF NOT EXISTS FOR (r:KnowboundRemoved) ON (r.written)",
)
_START = "MERGE (c:KnowboundClock {name: 'items'}) ON CREATE SET c.store = $store, c.last = 0"
_NEXT_NUMBER = """
    MERGE (c:KnowboundClock {name: 'items'})
    ON CREATE SET c.store = $store, c.last = 1 ON MATCH SET c.last = c.last + 1
    RETURN c.last AS number"""
_LAST_NUMBER = "MATCH (c:KnowboundClock {name: 'items'}) RETURN c.store AS store, c.last AS number"
_PUT = "UNWIND $nodes AS node MERGE (i:KnowboundItem {id: node.id}) SET i = node"
# Deletes the edges that begin at these ids; returns the ids where they ended.
_CUT = "UNWIND $ids AS id MATCH (i:KnowboundItem {id: id})-[r]->(t:KnowboundItem) DELETE r RETURN DISTINCT t.id AS id"
_LINK = """
    UNWIND $edges AS edge
    MATCH (i:KnowboundItem {id: edge.source})
    MERGE (t:KnowboundItem {id: edge.target})
    CREATE (i)-[:%s {kind: edge.kind, position: edge.position}]->(t)"""
_STRIP = "UNWIND $ids AS id MATCH (i:KnowboundItem {id: id}) SET i = {id: id}"
# Deletes nodes that are no items and have no edges left.
_DELETE_LOOSE = """
    UNWIND $ids AS id
    MATCH (i:KnowboundItem {id: id}) WHERE i.written IS NULL AND NOT (i)--()
    DELETE i"""
_READ = """
    MATCH (i:KnowboundItem) WHERE i.written IS NOT NULL AND %s
    OPTIONAL MATCH (i)-[r]->(t:KnowboundItem)
    RETURN properties(i) AS node, collect([r.position, r.kind, t.id]) AS edges"""

_BURY = """
    UNWIND $removed AS one
    MERGE (r:KnowboundRemoved {id: one.id})
    SET r.content_sha = one.content_sha, r.time = one.time, r.restored = false, r.written = one.written"""
_UNBURY = "UNWIND $ids AS id MATCH (r:KnowboundRemoved {id: id}) DELETE r"
_RESTORE = """
    MATCH (r:KnowboundRemoved) WHERE (r.id IN $keys OR r.content_sha IN $keys) AND r.restored = false
    SET r.restored = true, r.written = $number"""
_REMOVED = """
    MATCH (r:KnowboundRemoved) WHERE r.written > $seen
    RETURN r.id AS id, r.content_sha AS content_sha, r.time AS time, r.restored AS is_restored"""
_BOLT = re.compile(r"(bolt|neo4j)(\+s|\+ssc)?://")
_NOT_IN_A_TYPE = re.compile("[^A-Z0-9_]")
_METADATA, _RELATED = "metadata", "relationships"
_Record = dict[str, Any]


class Neo4jConnection:
    """An open connection to one database. Threads may share it."""

    def __init__(self, url: str, user: str = "", password: str = "", database: str = "") -> None:
        self.url, self._database = url, database or None
        self._lock = Lock()
        self._bookmarks = neo4j.GraphDatabase.bookmark_manager()
        if not _BOLT.match(url):
            raise protocol.unreachable("Neo4j", url, "the address does not begin with bolt:// or neo4j://")
        try:
            self._driver = neo4j.GraphDatabase.driver(
                url,
                auth=(user, password) if user else None,
                user_agent="knowbound",
                connection_timeout=protocol.CONNECT_SECONDS,
                connection_acquisition_timeout=protocol.CONNECT_SECONDS,
                max_transaction_retry_time=protocol.RECOVERY_SECONDS,
                notifications_min_severity="OFF",
            )
        except (DriverError, ValueError) as error:
            raise protocol.unreachable("Neo4j", url, str(error)) from error

    def close(self) -> None:
        """Close all connections."""
        self._driver.close()

    @contextmanager
    def session(self) -> Iterator[neo4j.Session]:
        """Open a session that sees at least what earlier sessions saw; the driver's errors become StoreError."""
        try:
            with self._driver.session(database=self._database, bookmark_manager=self._bookmarks) as session:
                yield session
        except UnicodeEncodeError as error:
            raise protocol.refused("Neo4j", error) from error
        except Neo4jError as error:
            raise protocol.unreachable("Neo4j", self.url, error.message or str(error)) from error
        except (DriverError, OSError) as error:
            raise protocol.unreachable("Neo4j", self.url, str(error)) from error

    def write(self, work: Callable[[neo4j.ManagedTransaction], None]) -> None:
        """Run one write at a time: a clock orders writes anyway, and a server without locks would refuse them."""
        with self._lock, self.session() as session:
            for is_last in (False, False, True):
                try:
                    session.execute_write(work)
                    break
                except ConstraintError:  # another process made the same node at the same time
                    if is_last:
                        raise


class NodeRecords(Records):
    """The nodes of a label that another program keeps: their metadata is JSON text, their relationships are edges."""

    def __init__(self, server: Neo4jConnection, label: str) -> None:
        self._server, self._label = server, _quoted(label)
        self._read = f"""
            MATCH (k:{self._label}) WHERE %s
            OPTIONAL MATCH (k)-[r]->(t:{self._label})
            RETURN properties(k) AS node, collect([type(r), t.id]) AS edges"""
        self.place = f":{label} of Neo4j at {protocol.printable_url(server.url)}"

    def read(self, field: str = "", value: str = "") -> Iterator[_Record]:
        """Yield the nodes, or those with this value of a property, as records."""
        query = self._read % (f"k.{_quoted(field)} = $value" if field else "true")
        with self._server.session() as session:
            for found in session.run(query, value=value):
                yield _record_of_node(found["node"], found["edges"])

    def write(self, before: _Record | None, after: _Record | None) -> None:
        """Write a node and the edges that differ, in one transaction. Raises ContendedError."""

        def work(run: neo4j.ManagedTransaction) -> None:
            if after is None:
                run.run(f"MATCH (k:{self._label} {{id: $id}}) DETACH DELETE k", id=(before or {})["id"]).consume()
                return
            if before is None:
                run.run(f"CREATE (k:{self._label}) SET k = $node", node=_node_properties(after, after)).consume()
            else:
                self._change(run, before, after)
            old, new = _edges(before or {}), _edges(after)
            ends = f"MATCH (k:{self._label} {{id: $id}}), (t:{self._label} {{id: $other}})"
            for kind, other in sorted(new - old):
                made = f"{ends} CREATE (k)-[:{_quoted(kind)} {{strength: 1.0, created: datetime()}}]->(t)"
                run.run(made, id=after["id"], other=other).consume()
            for kind, other in sorted(old - new):
                run.run(f"{ends} MATCH (k)-[r:{_quoted(kind)}]->(t) DELETE r", id=after["id"], other=other).consume()

        self._server.write(work)

    def close(self) -> None:
        self._server.close()

    def _change(self, run: neo4j.ManagedTransaction, before: _Record, after: _Record) -> None:
        """Write the changed properties of a node. Raises ContendedError if one is not as it was before."""
        found = run.run(self._read % "k.id = $value", value=before["id"]).single()
        now = _record_of_node(found["node"], found["edges"]) if found else {}
        changed = {name: value for name, value in after.items() if value != before.get(name) and name != _RELATED}
        if not found or any(now.get(name) != before.get(name) for name in changed):
            raise ContendedError(str(before["id"]))
        node = _node_properties(changed, after)
        run.run(f"MATCH (k:{self._label} {{id: $id}}) SET k += $node", id=before["id"], node=node).consume()


def _record_of_node(node: _Record, edges: list[list[str]]) -> _Record:
    """Return a node of another program as a record, with its edges as relationships."""
    record = {name: value.to_native() if isinstance(value, DateTime) else value for name, value in node.items()}
    try:
        record[_METADATA] = json.loads(node.get(_METADATA) or "{}")
    except (ValueError, TypeError):
        record[_METADATA] = {}
    pairs = sorted({(kind.lower(), target) for kind, target in edges if kind and target})
    return record | {_RELATED: [{"type": kind, "targetId": target} for kind, target in pairs]}


def _node_properties(fields: _Record, record: _Record) -> _Record:
    """Return the properties of a node, of these fields of a record."""
    node = {name: value for name, value in fields.items() if name != _RELATED}
    return node | ({_METADATA: json.dumps(record[_METADATA])} if _METADATA in node else {})


def _edges(record: _Record) -> set[tuple[str, str]]:
    """Return type and end of the edges of a record, typed as that program does."""
    return {(_NOT_IN_A_TYPE.sub("_", edge["type"].upper()), edge["targetId"]) for edge in record.get(_RELATED) or ()}


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def open_backend(settings: Settings) -> Backend:
    """Open the backend that the settings name: our own nodes, or those of another program."""
    server = (
        settings.kms_neo4j_url, settings.kms_neo4j_user, settings.kms_neo4j_password, settings.kms_neo4j_database
    )  # fmt: skip
    if not settings.kms_neo4j_label:
        return Neo4jBackend(*server)
    return record_backend("neo4j", NodeRecords(Neo4jConnection(*server), settings.kms_neo4j_label), settings)


class Neo4jBackend(Backend):
    """Items in Neo4j, or in a server that speaks its language. Threads may share it."""

    name = "neo4j"
    is_shared = True

    def __init__(self, url: str, user: str = "", password: str = "", database: str = "") -> None:
        self._server = Neo4jConnection(url, user, password, database)
        try:
            self._prepare()
        except BaseException:
            self._server.close()
            raise

    def swap(self, swaps: Sequence[Swap]) -> None:
        """Make all changes in one transaction, if every node still holds what the caller read."""
        if not swaps:
            return

        def work(run: neo4j.ManagedTransaction) -> None:
            write_number = _next_number(run)  # from here on no other transaction writes
            found = run.run(_READ % "i.id IN $ids", ids=[swap.id for swap in swaps])
            now = {item.id: item for record in found if (item := _item(record["node"], record["edges"]))}
            for swap in swaps:
                protocol.refuse_changed(swap, now.get(swap.id))
            _put(run, [swap.after for swap in swaps if swap.after is not None], write_number)
            _remove(
                run, [swap.before for swap in swaps if swap.after is None and swap.before is not None], write_number
            )

        self._server.write(work)

    def get(self, id_: str) -> Item | None:
        return next(self._found("i.id = $id", id=id_), None)

    def copies(self, id_: str) -> list[Item]:
        own = list(self._found("i.id = $id", id=id_))
        return own + [copy for copy in self._found("i.copy_of = $id", id=id_) if copy.id != id_]

    def changed_since(self, stamp: str) -> tuple[Iterator[Item | Removed], str]:
        with self._server.session() as session:
            clock = session.run(_LAST_NUMBER).single()
        now = Stamp(clock["store"], clock["number"]) if clock else Stamp("", 0)
        return self._changed(now.since(stamp)), str(now)

    def restore(self, keys: Sequence[str]) -> None:
        """Restore as a write of its own, so that every machine learns of it."""

        def work(run: neo4j.ManagedTransaction) -> None:
            run.run(_RESTORE, keys=list(keys), number=_next_number(run)).consume()

        self._server.write(work)

    def close(self) -> None:
        self._server.close()

    def _prepare(self) -> None:
        """Create keys and indexes, which make it fast and keep writers apart. A server that refuses them works, too."""
        with self._server.session() as session:
            session.run("RETURN 1").consume()
            for statement in (*_SCHEMA, _START):
                try:
                    session.run(statement, store=uuid4().hex).consume()
                except ClientError as error:  # refused, or done by another process just now
                    if error.code is None or "Security" in error.code:
                        raise

    def _changed(self, seen: int) -> Iterator[Item | Removed]:
        """Yield the items written, then the traces of those removed, after the write with this number."""
        yield from self._found("i.written > $seen", seen=seen)
        with self._server.session() as session:
            for record in session.run(_REMOVED, seen=seen):
                yield Removed(**record.data())

    def _found(self, condition: str, **values: str | int) -> Iterator[Item]:
        """Yield the items of the nodes for which a condition of Cypher holds."""
        with self._server.session() as session:
            for record in session.run(_READ % condition, values):
                if item := _item(record["node"], record["edges"]):
                    yield item


def _item(node: _Record, edges: list[list[Any]]) -> Item | None:
    """Return the item of a node; None for nodes of other programs."""
    with suppress(ValueError):
        found = sorted((edge for edge in edges if edge[0] is not None), key=lambda edge: int(edge[0]))  # [0]: position
        related = [{"kind": kind, "target": target} for _, kind, target in found]
        return protocol.to_item(_unflattened(node) | {"relationships": related})
    return None


def _next_number(run: neo4j.ManagedTransaction) -> int:
    number: int = run.run(_NEXT_NUMBER, store=uuid4().hex).single(strict=True)["number"]
    return number


def _put(run: neo4j.ManagedTransaction, items: list[Item], number: int) -> None:
    """Write the nodes of items, and their edges in place of earlier ones."""
    ids = [item.id for item in items]
    edges = [
        {"source": item.id, "target": related.target, "kind": related.kind, "position": position}
        for item in items
        for position, related in enumerate(item.relationships)
    ]
    _run_paged(run, _PUT, "nodes", [_node(item) | {"written": number} for item in items])
    _run_paged(run, _UNBURY, "ids", ids)
    cut_off = _run_paged(run, _CUT, "ids", ids)  # nodes that the edges led to
    for kind, group in groupby(sorted(edges, key=_edge_type), _edge_type):
        _run_paged(run, _LINK % kind, "edges", group)
    _run_paged(run, _DELETE_LOOSE, "ids", [record["id"] for record in cut_off])


def _remove(run: neo4j.ManagedTransaction, items: list[Item], number: int) -> None:
    """Leave of each item its trace, and a bare node where another item points to it."""
    ids, now = [item.id for item in items], utc_now()
    _run_paged(run, _STRIP, "ids", ids)
    cut_off = _run_paged(run, _CUT, "ids", ids)
    _run_paged(run, _DELETE_LOOSE, "ids", [*(record["id"] for record in cut_off), *ids])
    removed = [{"id": item.id, "content_sha": item.content_sha, "time": now, "written": number} for item in items]
    _run_paged(run, _BURY, "removed", removed)


def _run_paged(run: neo4j.ManagedTransaction, query: str, name: str, rows: Iterable[object]) -> list[neo4j.Record]:
    """Run a query for any number of rows, and return its records."""
    return [record for page in protocol.pages(rows, _PAGE_ROWS) for record in run.run(query, {name: page})]


def _node(item: Item) -> _Record:
    """Return the properties of an item's node: without relationships, with nested structs flattened."""
    node = protocol.to_record(item)
    node.pop("relationships", None)
    for name in _NESTED:
        for key, value in (node.pop(name, None) or {}).items():
            node[f"{name}_{key}"] = json.dumps(value) if isinstance(value, dict) else value
    return node


def _unflattened(node: _Record) -> _Record:
    """Return the record of a node that `_node` made."""
    record: _Record = {}
    for key, value in node.items():
        name, _, field = key.partition("_")
        if name in _NESTED:
            record.setdefault(name, {})[field] = json.loads(value) if key == "flag_covers" else value
        else:
            record[key] = value
    return record


def _edge_type(edge: _Record) -> str:
    """Return the type of an edge, the only part of an item in a query's text: a plain word, or the general type."""
    kind = str(edge["kind"])
    return kind.upper() if _PLAIN_KIND.fullmatch(kind) else _ANY_KIND

"""The connection to Neo4j, or to a server that speaks its language, for our items and for other programs' nodes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from knowbound.kms.backends import remote
from knowbound.kms.backends.protocol import ContendedError
from knowbound.kms.backends.records import Records

try:
    import neo4j
    from neo4j.exceptions import ConstraintError, DriverError, Neo4jError
    from neo4j.time import DateTime
except ImportError as error:
    raise remote.missing("neo4j") from error

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
            raise remote.unreachable("Neo4j", url, "the address does not begin with bolt:// or neo4j://")
        try:
            self._driver = neo4j.GraphDatabase.driver(
                url,
                auth=(user, password) if user else None,
                user_agent="knowbound",
                connection_timeout=remote.CONNECT_SECONDS,
                connection_acquisition_timeout=remote.CONNECT_SECONDS,
                max_transaction_retry_time=remote.RECOVERY_SECONDS,
                notifications_min_severity="OFF",
            )
        except (DriverError, ValueError) as error:
            raise remote.unreachable("Neo4j", url, str(error)) from error

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
            raise remote.refused("Neo4j", error) from error
        except Neo4jError as error:
            raise remote.unreachable("Neo4j", self.url, error.message or str(error)) from error
        except (DriverError, OSError) as error:
            raise remote.unreachable("Neo4j", self.url, str(error)) from error

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
        self.place = f":{label} of Neo4j at {remote.printable_url(server.url)}"

    def read(self, field: str = "", value: str = "") -> Iterator[_Record]:
        query = self._read % (f"k.{_quoted(field)} = $value" if field else "true")
        with self._server.session() as session:
            for found in session.run(query, value=value):
                yield _record(found["node"], found["edges"])

    def write(self, before: _Record | None, after: _Record | None) -> None:
        def work(run: neo4j.ManagedTransaction) -> None:
            if after is None:
                run.run(f"MATCH (k:{self._label} {{id: $id}}) DETACH DELETE k", id=(before or {})["id"]).consume()
                return
            if before is None:
                run.run(f"CREATE (k:{self._label}) SET k = $node", node=_node(after, after)).consume()
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
        found = run.run(self._read % "k.id = $value", value=before["id"]).single()
        now = _record(found["node"], found["edges"]) if found else {}
        changed = {name: value for name, value in after.items() if value != before.get(name) and name != _RELATED}
        if not found or any(now.get(name) != before.get(name) for name in changed):
            raise ContendedError(str(before["id"]))
        node = _node(changed, after)
        run.run(f"MATCH (k:{self._label} {{id: $id}}) SET k += $node", id=before["id"], node=node).consume()


def _record(node: _Record, edges: list[list[str]]) -> _Record:
    record = {name: value.to_native() if isinstance(value, DateTime) else value for name, value in node.items()}
    try:
        record[_METADATA] = json.loads(node.get(_METADATA) or "{}")
    except (ValueError, TypeError):
        record[_METADATA] = {}
    pairs = sorted({(kind.lower(), target) for kind, target in edges if kind and target})
    return record | {_RELATED: [{"type": kind, "targetId": target} for kind, target in pairs]}


def _node(fields: _Record, record: _Record) -> _Record:
    """Return the properties of a node, of these fields of a record."""
    node = {name: value for name, value in fields.items() if name != _RELATED}
    return node | ({_METADATA: json.dumps(record[_METADATA])} if _METADATA in node else {})


def _edges(record: _Record) -> set[tuple[str, str]]:
    """Return type and end of the edges of a record, typed as that program does."""
    return {(_NOT_IN_A_TYPE.sub("_", one["type"].upper()), one["targetId"]) for one in record.get(_RELATED) or ()}


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"

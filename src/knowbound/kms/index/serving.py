"""Which rows of the index may be served: none that is flagged away, and no copy of one (specification 2, "Items").

Rows belong together when they share an id (in several backends), their content, or say that one is a copy of the
other. A flag blocks the rows with the same id and the same content, and goes from an original to its copies; it does
not go from a copy to its original, because a copy may be outdated by an update of the original.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from knowbound.core.item import NOT_SERVED

_BATCH = 500  # SQLite's oldest limit on values in a statement is 999
_AWAY = frozenset(str(kind) for kind in NOT_SERVED)


class Keys(NamedTuple):
    """What rows are joined by: ids (their own and those they copy) and contents."""

    ids: set[str]
    contents: set[str]


class _Member(NamedTuple):
    rowid: int
    id: str
    copy_of: str
    content_sha: str
    flag: str
    screened: str
    served: int


def settle(db: sqlite3.Connection, keys: Keys) -> None:
    """Compute `served` anew for every row that is connected with these keys."""
    members = _connected(db, keys)
    blocked = _blocked(members, *_reaped(db, members))
    changes = []
    for member in members:
        served = int(not member.screened and member.rowid not in blocked)
        if served != member.served:
            changes.append((served, member.rowid))
    db.executemany("UPDATE item SET served = ? WHERE rowid = ?", changes)


def _connected(db: sqlite3.Connection, keys: Keys) -> list[_Member]:
    """Every row that is reached from the keys."""
    found: dict[int, _Member] = {}
    ids, contents = set(keys.ids), set(keys.contents)
    seen_ids: set[str] = set()
    seen_contents: set[str] = set()
    while ids or contents:
        rows: list[_Member] = []
        for column, values in (("id", ids), ("copy_of", ids), ("content_sha", contents)):
            rows += _rows(db, column, values)
        seen_ids |= ids
        seen_contents |= contents
        found.update((row.rowid, row) for row in rows)
        ids = {id_ for row in rows for id_ in (row.id, row.copy_of) if id_} - seen_ids
        contents = {row.content_sha for row in rows} - seen_contents
    return list(found.values())


def _rows(db: sqlite3.Connection, column: str, values: Iterable[str]) -> Iterator[_Member]:
    more = " AND copy_of <> ''" if column == "copy_of" else ""  # so that the partial index serves
    for batch in _batches(sorted(values)):
        query = (
            "SELECT rowid, id, copy_of, content_sha, flag, screened, served FROM item "
            f"WHERE {column} IN ({marks(batch)}){more}"
        )
        yield from map(_Member._make, db.execute(query, batch))


def _reaped(db: sqlite3.Connection, members: list[_Member]) -> tuple[set[str], set[str]]:
    """Ids and contents of these rows that were taken out for good."""
    ids = sorted({id_ for member in members for id_ in (member.id, member.copy_of)})
    contents = sorted({member.content_sha for member in members})
    return _gone(db, "item", ids), _gone(db, "content_sha", contents)


def _gone(db: sqlite3.Connection, column: str, values: list[str]) -> set[str]:
    gone: set[str] = set()
    for batch in _batches(values):
        gone |= {row[0] for row in db.execute(f"SELECT {column} FROM reaped WHERE {column} IN ({marks(batch)})", batch)}
    return gone


def _blocked(members: list[_Member], gone_ids: set[str], gone_contents: set[str]) -> set[int]:
    """Rows that a flag reaches: their own, that of a row with their id or content, that of their original."""
    ids = {member.id for member in members if member.flag in _AWAY} | gone_ids
    contents = {member.content_sha for member in members if member.flag in _AWAY} | gone_contents
    blocked: set[int] = set()
    grows = True
    while grows:
        grows = False
        for member in members:
            if member.rowid in blocked:
                continue
            if member.id in ids or member.content_sha in contents or (member.copy_of and member.copy_of in ids):
                blocked.add(member.rowid)
                ids.add(member.id)
                contents.add(member.content_sha)
                grows = True
    return blocked


def _batches(values: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(values), _BATCH):
        yield values[start : start + _BATCH]


def marks(values: Sequence[str]) -> str:
    """Question marks for a list of values."""
    return ", ".join("?" * len(values))

"""Memories of a Mem0 server as records, by its REST API; the mem0 package is not needed.

    GET /memories?top_k=1000[&user_id=…]      {"results": [{"id", "memory", "user_id", "metadata", …}]}
    GET, PUT, DELETE /memories/ID             PUT takes {"text", "metadata"} and keeps keys that it is not given
    POST /memories                            {"messages", "user_id", "metadata", "infer": false}

The system that specification 2 comes from stores an entry in Mem0 beside its other stores, with the entry's id as
`metadata.kms_id`; Mem0 makes one or several memories of it. Such a memory is a copy of the entry. A memory that
knowbound added is the item itself: Mem0 gives every memory an id of its own, so `metadata.kms_id` has that of the item.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

from knowbound.errors import StoreError
from knowbound.kms.backends import remote
from knowbound.kms.backends.protocol import ContendedError
from knowbound.kms.backends.records import Record, Records

MOST = 1000  # memories that the server lists
_LARGEST = 64 * 1024 * 1024  # bytes of an answer
_OWN, _MEMORY_ID, _METADATA = "kms_id", "memory_id", "metadata"
_ANYBODY = "knowbound"  # the server wants a user for each memory


class MemoryRecords(Records):
    """The memories of a server, of one user or of all. The server cannot compare and write in one step."""

    def __init__(self, url: str, key: str = "", user: str = "") -> None:
        self._url, self._key, self._user = url.rstrip("/"), key, user
        self.place = f"Mem0 at {remote.printable_url(url)}"

    def read(self, field: str = "", value: str = "") -> Iterator[Record]:
        if field == "id" and _is_uuid(value):
            found = self._ask("GET", f"/memories/{value}")
            yield from [_record(found)] if isinstance(found, dict) and found.get("id") else []
            return
        users = f"&user_id={urllib.parse.quote(self._user)}" if self._user else ""
        found = self._ask("GET", f"/memories?top_k={MOST}{users}")
        rows = found.get("results", []) if isinstance(found, dict) else found or []
        is_listed = all(isinstance(row, dict) and row.get("id") for row in rows)  # else no list of all users
        if len(rows) >= MOST or not is_listed:
            words = f"{self.place} does not list all memories, or has {MOST:,} or more. Try: one user's, kms.mem0_user"
            raise StoreError("backend-unreachable", words)
        for record in map(_record, rows):
            if not field or str(record.get(field)) == value:
                yield record

    def write(self, before: Record | None, after: Record | None) -> None:
        if before is None and after is not None:
            body = {
                "messages": [{"role": "user", "content": after["memory"]}],
                "user_id": after.get("user_id") or self._user or _ANYBODY,
                "metadata": after.get(_METADATA, {}) | {_OWN: after["id"]},
                "infer": False,
            }
            self._ask("POST", "/memories", body)
            return
        assert before is not None
        place = f"/memories/{before[_MEMORY_ID]}"
        if next(self.read("id", str(before["id"])), None) != before:
            raise ContendedError(str(before["id"]))
        if after is None:
            self._ask("DELETE", place)
            return
        old, new = before.get(_METADATA, {}), after.get(_METADATA, {})
        changed = {name: new.get(name) for name in {*old, *new} if new.get(name) != old.get(name)}
        text = {"text": after["memory"]} if after["memory"] != before["memory"] else {}
        self._ask("PUT", place, text | ({_METADATA: changed} if changed else {}))

    def close(self) -> None:
        return

    def _ask(self, method: str, path: str, body: Record | None = None) -> Any:
        headers = {"Content-Type": "application/json"} | ({"X-API-Key": self._key} if self._key else {})
        data = None if body is None else json.dumps(body, default=_iso).encode()
        try:
            request = urllib.request.Request(self._url + path, data, headers, method=method)
            with urllib.request.urlopen(request, timeout=remote.RECOVERY_SECONDS) as answer:
                return json.loads(answer.read(_LARGEST) or b"null")
        except urllib.error.HTTPError as error:
            if method == "GET" and error.code == 404:
                return None
            raise remote.unreachable("Mem0", self._url, f"{method} was answered with {error.code}") from error
        except (OSError, ValueError) as error:
            raise remote.unreachable("Mem0", self._url, str(getattr(error, "reason", error))) from error


def _record(row: Record) -> Record:
    """Return a memory as a record; null in the metadata is the same as nothing there."""
    metadata = row.get(_METADATA) if isinstance(row.get(_METADATA), dict) else {}
    metadata = {name: value for name, value in (metadata or {}).items() if value is not None}
    own = str(metadata.get(_OWN) or "")
    record = {**row, _MEMORY_ID: row.get("id"), _METADATA: metadata}
    if own and not _is_uuid(own):
        del metadata[_OWN]
        record["id"] = own
    return record


def _is_uuid(text: str) -> bool:
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False


def _iso(value: object) -> str:
    return (
        value.isoformat(timespec="milliseconds").replace("+00:00", "Z") if isinstance(value, datetime) else str(value)
    )

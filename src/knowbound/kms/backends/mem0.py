"""The Mem0 backend: a Mem0 memory on a local Qdrant folder, with our embedding, no model and no network.

An item is one memory. Mem0's own ids are UUIDs, so an item's memory has a UUID made from the item's id; the item itself
is whole in the memory's metadata:

    data                  the content, which Mem0 embeds, searches and shows
    knowbound_id          the item's id
    knowbound_copy_of     the id of the item's original
    knowbound_item        the whole item as JSON text

Items go into Mem0's vector store directly, as `Memory.add(infer=False)` would put them: `add` makes a new id each time,
writes one by one, and loads language models where it finds them. Other programs may use Mem0 on the same folder, and
Mem0 may split their texts. A memory that carries an item's id, but under another UUID, is a part: it is read as an item
of its own with `copy_of`. A memory without an item is read as a plain item. Both keep Mem0's id, so that flagging
changes them where they are.

A folder belongs to one process at a time, and is read whole: Qdrant's local store is in memory.
"""

from __future__ import annotations

import json
import os
import struct
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from hashlib import md5
from importlib import import_module
from pathlib import Path
from threading import RLock
from typing import Any
from uuid import UUID, uuid5

import msgspec

from knowbound.config import Settings
from knowbound.core.item import Item, ItemSource, ItemType
from knowbound.errors import StoreError
from knowbound.kms.backends import protocol
from knowbound.kms.backends.outside import MEM0_FIELDS, Record, Records, record_backend
from knowbound.kms.backends.protocol import Backend, ContendedError, Swap
from knowbound.text.embedding import DIMENSIONS, embed
from knowbound.user_files import make_folder

MOST = 1000  # memories that the server lists at once
_LARGEST_BYTES = 64 * 1024 * 1024  # of an answer
_ITEM_ID, _MEMORY_ID, _METADATA = "kms_id", "memory_id", "metadata"
_ANYBODY = "knowbound"  # the server wants a user for each memory


class MemoryRecords(Records):
    """The memories of a server, of one user or of all. The server cannot compare and write in one step."""

    def __init__(self, url: str, key: str = "", user: str = "") -> None:
        self._url, self._key, self._user = url.rstrip("/"), key, user
        self.place = f"Mem0 at {protocol.printable_url(url)}"

    def read(self, field: str = "", value: str = "") -> Iterator[Record]:
        """Yield the memories, or those with this value of a field; the server finds one of its own ids directly."""
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
        """Add, change or remove a memory. Raises ContendedError if it is not as it was before."""
        if before is None and after is not None:
            body = {
                "messages": [{"role": "user", "content": after["memory"]}],
                "user_id": after.get("user_id") or self._user or _ANYBODY,
                "metadata": after.get(_METADATA, {}) | {_ITEM_ID: after["id"]},
                "infer": False,  # the text is stored as it is
            }
            self._ask("POST", "/memories", body)
            return
        assert before is not None
        path = f"/memories/{before[_MEMORY_ID]}"
        if next(self.read("id", str(before["id"])), None) != before:
            raise ContendedError(str(before["id"]))
        if after is None:
            self._ask("DELETE", path)
            return
        old, new = before.get(_METADATA, {}), after.get(_METADATA, {})
        changed = {name: new.get(name) for name in {*old, *new} if new.get(name) != old.get(name)}
        text = {"text": after["memory"]} if after["memory"] != before["memory"] else {}
        self._ask("PUT", path, text | ({_METADATA: changed} if changed else {}))

    def close(self) -> None:
        return

    def _ask(self, method: str, path: str, body: Record | None = None) -> Any:
        """Return the JSON that the server answers with; None for a memory that it does not have. Raises StoreError."""
        headers = {"Content-Type": "application/json"} | ({"X-API-Key": self._key} if self._key else {})
        data = None if body is None else json.dumps(body, default=_iso).encode()
        try:
            request = urllib.request.Request(self._url + path, data, headers, method=method)
            with urllib.request.urlopen(request, timeout=protocol.RECOVERY_SECONDS) as answer:
                return json.loads(answer.read(_LARGEST_BYTES) or b"null")
        except urllib.error.HTTPError as error:
            if method == "GET" and error.code == 404:
                return None
            raise protocol.unreachable("Mem0", self._url, f"{method} was answered with {error.code}") from error
        except (OSError, ValueError) as error:
            raise protocol.unreachable("Mem0", self._url, str(getattr(error, "reason", error))) from error


def _record(row: Record) -> Record:
    """Return a memory as a record; null in the metadata is the same as nothing there."""
    metadata = row.get(_METADATA) if isinstance(row.get(_METADATA), dict) else {}
    metadata = {name: value for name, value in (metadata or {}).items() if value is not None}
    item_id = str(metadata.get(_ITEM_ID) or "")
    record = {**row, _MEMORY_ID: row.get("id"), _METADATA: metadata}
    if item_id and not _is_uuid(item_id):  # ours; a UUID is the server's own
        del metadata[_ITEM_ID]
        record["id"] = item_id
    return record


def _is_uuid(text: str) -> bool:
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False


def _iso(value: object) -> str:
    """Return a time as ISO in UTC, any other value that JSON lacks as text."""
    return (
        value.isoformat(timespec="milliseconds").replace("+00:00", "Z") if isinstance(value, datetime) else str(value)
    )


COLLECTION = "knowbound"
SCOPE = "knowbound"  # Mem0 keeps every memory for a user, an agent or a run: items belong to this agent
_IDS = UUID("5a0f2d5e-6a4b-5c0e-9a53-8c2e2f1f7d11")  # namespace of our UUIDs of version 5
_EVERYTHING = 2**31 - 1
_VALUES = struct.Struct(f"{DIMENSIONS}b")


class Embedder:
    """Our embedding behind Mem0's interface."""

    def __init__(self, config: object) -> None:
        self.config = config

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """Return the vector of a text."""
        return [float(value) for value in _VALUES.unpack(embed(text))]

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        """Return the vectors of several texts."""
        return [self.embed(text) for text in texts]


class NoModel:
    """A stand-in for the language model that Mem0 would ask: items are stored as they are."""

    def __init__(self, config: object) -> None:
        self.config = config

    def generate_response(self, *_: object, **__: object) -> str:
        """Refuse every request."""
        raise StoreError("item-invalid", "Mem0 runs without a language model here. Try: add(…, infer=False)")


def open_memory(path: Path) -> Any:
    """Open a `mem0.Memory` on a folder, with our embedding, and without telemetry, model and network."""
    os.environ["MEM0_TELEMETRY"] = "False"  # read on import
    os.environ.setdefault("MEM0_DIR", str(path))  # else Mem0 writes into the home folder
    try:
        mem0 = import_module("mem0")
        configs = import_module("mem0.configs.base")
        factory = import_module("mem0.utils.factory")
    except ImportError as error:
        raise protocol.missing("mem0") from error
    factory.EmbedderFactory.provider_to_class["knowbound"] = f"{__name__}.{Embedder.__name__}"
    factory.LlmFactory.register_provider("knowbound", f"{__name__}.{NoModel.__name__}")
    # Mem0 checks its configs against its own providers: ours are constructed without the check.
    config = configs.MemoryConfig(
        embedder=configs.EmbedderConfig.model_construct(provider="knowbound", config={"embedding_dims": DIMENSIONS}),
        llm=configs.LlmConfig.model_construct(provider="knowbound", config={}),
        vector_store=configs.VectorStoreConfig(
            provider="qdrant",
            config={
                "path": str(path),
                "collection_name": COLLECTION,
                "embedding_model_dims": DIMENSIONS,
                "on_disk": True,
            },
        ),
        history_db_path=str(path / "history.db"),
    )
    memory = mem0.Memory(config)
    memory.vector_store._bm25_encoder = False  # else it is fetched from the network
    return memory


def open_backend(settings: Settings) -> Backend:
    """Open the backend in the folder that the settings name, or the memories of a server."""
    if settings.kms_mem0_url:
        records = MemoryRecords(settings.kms_mem0_url, settings.kms_mem0_password, settings.kms_mem0_user)
        return record_backend("mem0", records, settings, MEM0_FIELDS)
    return Mem0Backend(Path(settings.kms_mem0_path).expanduser() if settings.kms_mem0_path else settings.home / "mem0")


class Mem0Backend(Backend):
    """Items in Mem0. Threads may share it; other processes have to wait until it is closed."""

    name = "mem0"
    is_whole = True

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = RLock()
        with self._explained():
            make_folder(path)
            self.memory = open_memory(path)
        self._store = self.memory.vector_store  # a `mem0.vector_stores.qdrant.Qdrant`

    def swap(self, swaps: Sequence[Swap]) -> None:
        """Put items in order, up to an error, then remove. The same call completes the rest: it is idempotent."""
        put = {swap.id: swap.after for swap in swaps if swap.after}
        with self._lock, self._explained():
            if put:
                payloads = [_payload(item) for item in put.values()]
                vectors = Embedder(None).embed_batch([item.content for item in put.values()])
                self._store.insert(vectors, payloads, [_memory_id(id_) for id_ in put])
            for swap in swaps:
                if swap.after is None and self._store.get(_memory_id(swap.id)):
                    self._store.delete(_memory_id(swap.id))

    def get(self, id_: str) -> Item | None:
        with self._lock, self._explained():
            row = self._store.get(_memory_id(id_))
        item = _item(row.id, row.payload) if row else None
        return item if item and item.id == id_ else None

    def copies(self, id_: str) -> list[Item]:
        """Return the item, its direct copies, and the parts that Mem0 made of it."""
        with_id = [{"knowbound_id": {"in": [id_]}}, {"knowbound_copy_of": {"in": [id_]}}]
        found = {item.id: item for item in self._found({"OR": with_id})}
        own = self.get(id_)  # a plain memory has no fields of ours
        return [*([own] if own else []), *(item for item in found.values() if item.id != id_)]

    def changed_since(self, stamp: str) -> tuple[Iterator[Item], str]:
        return protocol.whole(self._found(None), stamp)

    def close(self) -> None:
        """Release the folder for other processes."""
        with self._lock:
            self.memory.close()  # the history; the vector store stays open
            self._store.client.close()

    def _found(self, filters: dict[str, Any] | None) -> list[Item]:
        with self._lock, self._explained():
            return [item for row in self._store.list(filters, _EVERYTHING)[0] if (item := _item(row.id, row.payload))]

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn errors of Mem0, Qdrant and the disk into StoreError."""
        try:
            yield
        except StoreError:
            raise
        except UnicodeEncodeError as error:
            raise protocol.refused("Mem0", error) from error
        except Exception as error:  # they raise errors of any class
            if "already accessed by another instance" in str(error):
                raise StoreError(
                    "store-busy",
                    f"{self.path} is held by another process: Mem0's store belongs to one at a time. Try again later.",
                ) from error
            raise StoreError("backend-unreachable", f"Mem0 in {self.path}: {type(error).__name__}: {error}") from error


def _memory_id(id_: str) -> str:
    """Return the UUID of an item's memory: its id if that is Mem0's (a random UUID), else one made from the id."""
    try:
        own = UUID(id_)
    except ValueError:
        own = None
    if own and own.version == 4 and str(own) == id_:
        return id_
    return str(uuid5(_IDS, id_))


def _payload(item: Item) -> dict[str, Any]:
    """Return the fields that Mem0 itself would write, so that its search, get and update work, and our own."""
    now = datetime.now(UTC).isoformat()
    return {
        "data": item.content,
        "hash": md5(item.content.encode(), usedforsecurity=False).hexdigest(),
        "created_at": now,
        "updated_at": now,
        "agent_id": SCOPE,
        "role": "user",
        "knowbound_id": item.id,
        "knowbound_copy_of": item.copy_of,
        "knowbound_item": protocol.to_text(item),
    }


def _item(memory_id: str, fields: dict[str, Any] | None) -> Item | None:
    """Return the item of a memory: ours, a part of it, or a plain memory; None for any other."""
    payload, key = fields or {}, str(memory_id)
    with suppress(ValueError):
        if "knowbound_item" not in payload:
            return _plain(key, payload)
        item = protocol.to_item({**json.loads(payload["knowbound_item"]), "content": payload.get("data")})
        return item if _memory_id(item.id) == key else msgspec.structs.replace(item, id=key, copy_of=item.id)
    return None


def _plain(id_: str, payload: dict[str, Any]) -> Item:
    """Return the item of a memory that another program added."""
    content = payload.get("data")
    if not isinstance(content, str):
        raise ValueError("the memory has no text")
    return Item(
        id_,
        content,
        ItemType.MEMORY,
        ItemSource.PERSONAL,
        user=str(payload.get("user_id") or ""),
        timestamp=str(payload.get("updated_at") or payload.get("created_at") or ""),
    )

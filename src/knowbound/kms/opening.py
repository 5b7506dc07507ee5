"""The knowledge store and the quality log of a project, opened with the databases that its settings name.

Also holds items back from injection: whoever disproves items (`by`) says which are wrong now. An item that is wrong is
flagged with the reason; one that this party held back before and that is not wrong any more is released. A flag of
another party, or of a person, stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack, closing
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from knowbound.config import Settings
from knowbound.core.item import FlagKind, Item
from knowbound.errors import InputError, StoreError
from knowbound.kms.backends.protocol import Backend
from knowbound.kms.changes import write_lock
from knowbound.kms.corrections import is_same_call
from knowbound.kms.index.database import Index
from knowbound.kms.knowledge_store import KnowledgeStore
from knowbound.kms.quality_log import QualityLog, SqliteQualityLog
from knowbound.store.data_dir import INDEX
from knowbound.store.marking import name_of

if TYPE_CHECKING:
    from knowbound.kms.team_log import MongoQualityLog


# The modules of kms/backends, and the package that each needs. An extra of the same name installs it.
BACKENDS = {"sqlite": "", "mongo": "pymongo", "mem0": "mem0", "neo4j": "neo4j", "files": ""}


def open_knowledge_store(
    settings: Settings, *, by: str = "", session: str = "", turn: str = "", call: str = "", repair: bool = False
) -> KnowledgeStore:
    """Open the store, and read its backends into a new index; with `repair`, rebuild a damaged index."""
    names = list(dict.fromkeys(settings.kms_backends)) or ["sqlite"]
    with ExitStack() as opened:
        backends = []
        for name in names:
            backends.append(open_backend(name, settings))
            opened.callback(backends[-1].close)
        index = _repaired_index(settings.home) if repair else Index(settings.home)
        opened.callback(index.close)
        store = KnowledgeStore(backends, index, by=by, session=session, turn=turn, call=call)
        opened.pop_all()  # from here on the store closes them
    return store


def open_index(settings: Settings) -> Index:
    """Open the index to search in. Backends are asked only for an index that was never made."""
    index = Index(settings.home)
    if not index.is_made():
        index.close()
        open_knowledge_store(settings).close()
        index = Index(settings.home)
    return index


def sync_files(settings: Settings) -> None:
    """Bring the index up to date with items in files of the project, if there are any; asks no other backend."""
    if settings.items_files:
        with closing(open_index(settings)) as index, write_lock(settings.home):
            index.sync(open_backend("files", settings))


def open_backend(name: str, settings: Settings) -> Backend:
    """Open one backend. Only drivers of backends in use are imported: a driver costs up to a second."""
    if name in BACKENDS:
        open_built_in = import_module(f"knowbound.kms.backends.{name}").open_backend
        backend: Backend = open_built_in(settings)
        return backend
    from knowbound.plugins import load_plugin, plugins  # noqa: PLC0415  (only for a backend that is not built in)

    if name not in plugins("backends"):
        choices = f"Known: {', '.join((*BACKENDS, *plugins('backends')))}; in the environment commas separate them."
        raise InputError("unknown-backend", f"No backend {name!r} (kms.backends). {choices}")
    added: Backend = load_plugin("backends", name)(settings)
    return added


def open_quality_log(settings: Settings) -> QualityLog:
    """Open the log in the database of the items. Neo4j and Mem0 keep no documents: their log is in SQLite."""
    return open_shared_log(settings) or SqliteQualityLog(settings.home)


def open_shared_log(settings: Settings) -> MongoQualityLog | None:
    """Open the log that other data folders write to as well; None without MongoDB, or if a foreign one is only read."""
    if "mongo" not in settings.kms_backends or (settings.kms_mongo_collection and not settings.kms_write):
        return None
    from knowbound.kms.team_log import MongoQualityLog  # noqa: PLC0415  # imports the driver

    return MongoQualityLog(settings.kms_mongo_url, name_of(settings.home))


def _repaired_index(home: Path) -> Index:
    """Open the index, rebuilt if it is damaged or foreign; a foreign one loses its logs."""
    try:
        with closing(Index(home)) as index:
            index.check()
    except StoreError as error:
        if error.slug not in ("store-corrupt", "index-not-yours"):
            raise
        return rebuilt_index(home, keep_logs=error.slug == "store-corrupt")
    return Index(home)


def rebuilt_index(home: Path, *, keep_logs: bool) -> Index:
    """Put an empty index in place of a damaged or foreign one; with `keep_logs`, what can be read of its logs."""
    with write_lock(home):
        damaged = home / f"{INDEX}.damaged"
        for ending in ("", "-wal", "-shm"):
            old = home / (INDEX + ending)
            if old.exists():
                old.replace(home / (damaged.name + ending))
        index = Index(home)
        if keep_logs:
            index.take_over_logs(damaged)
        return index


_REASON_CHARACTERS = 500


def hold_back(settings: Settings, wrong: Mapping[str, str], items: Iterable[Item], *, by: str) -> list[str]:
    """Hold the wrong items back, each with its reason, and release the others of this party; return those.

    `items` are those that are injected or held back. The store is opened only where something is to be written.
    """
    by_id = {item.id: item for item in items}
    reasons = {id_: reason[:_REASON_CHARACTERS].strip() for id_, reason in wrong.items() if id_ in by_id}
    to_hold = [id_ for id_, reason in reasons.items() if _needs_flag(by_id[id_], reason, by)]
    flags = [by_id[id_].flag for id_ in reasons]  # copies of a wrong item have the flag of the same call
    not_wrong = [item for item in by_id.values() if item.held_by == by and item.id not in reasons]
    to_release = [item.id for item in not_wrong if not any(is_same_call(item.flag, flag) for flag in flags)]
    if to_hold or to_release:
        with closing(open_knowledge_store(settings, by=by)) as store:
            for id_ in to_release:
                release(store, id_, by=by)
            for id_ in to_hold:
                store.flag(id_, FlagKind.HELD_BACK, reasons[id_], automatic=True)
    return to_release


def release(store: KnowledgeStore, id_: str, *, by: str) -> None:
    """Let an item and its copies be injected again, if this party holds it back."""
    item = store.get(id_)
    if item is not None and item.held_by == by:
        store.unflag(id_)


def _needs_flag(item: Item, reason: str, by: str) -> bool:
    """Report whether the item is not held back yet, or by this party for another reason."""
    return not item.is_held_back or (item.held_by == by and item.flag is not None and item.flag.note != reason)

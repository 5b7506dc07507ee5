"""The knowledge base of a project, with the backends its settings name."""

from __future__ import annotations

from contextlib import ExitStack
from importlib import import_module
from pathlib import Path

from knowbound.config import Settings
from knowbound.errors import InputError, StoreError
from knowbound.kms.backends.protocol import Backend
from knowbound.kms.backends.sqlite import SqliteBackend
from knowbound.kms.index.database import Index, rebuilt
from knowbound.kms.knowledge_store import KnowledgeBase

BACKENDS = ("sqlite", "mongo", "mem0", "neo4j")


def open_knowledge_base(settings: Settings, *, by: str = "", session: str = "", mend: bool = False) -> KnowledgeBase:
    """Everything opened, and read once where it is new; with `mend`, a damaged index is made anew."""
    names = list(dict.fromkeys(settings.kms_backends)) or ["sqlite"]
    with ExitStack() as opened:
        backends = []
        for name in names:
            backends.append(open_backend(name, settings))
            opened.callback(backends[-1].close)
        index = _mended_index(settings.home) if mend else Index(settings.home)
        opened.callback(index.close)
        base = KnowledgeBase(backends, index, by=by, session=session)
        opened.pop_all()
    return base


def open_index(settings: Settings) -> Index:
    """The index, to search in: no backend is asked, whether it answers or not, once the index has been made."""
    index = Index(settings.home)
    if not index.is_made():
        index.close()
        open_knowledge_base(settings).close()
        index = Index(settings.home)
    return index


def open_backend(name: str, settings: Settings) -> Backend:
    """One backend. Drivers are imported only for backends in use: they cost up to a second."""
    match name:
        case "sqlite":
            return SqliteBackend(settings.home)
        case "mongo":
            return _made("mongo", "MongoBackend", settings.kms_mongo_url)
        case "mem0":
            folder = Path(settings.kms_mem0_path).expanduser() if settings.kms_mem0_path else settings.home / "mem0"
            return _made("mem0", "Mem0Backend", folder)
        case "neo4j":
            place = (settings.kms_neo4j_url, settings.kms_neo4j_user)
            return _made("neo4j", "Neo4jBackend", *place, settings.kms_neo4j_password, settings.kms_neo4j_database)
    raise InputError("unknown-backend", f"No backend {name!r} (kms.backends). Known: {', '.join(BACKENDS)}.")


def _made(module: str, name: str, *values: object) -> Backend:
    backend: Backend = getattr(import_module(f"knowbound.kms.backends.{module}"), name)(*values)
    return backend


def _mended_index(home: Path) -> Index:
    try:
        index = Index(home)
        try:
            index.check()
        except BaseException:
            index.close()
            raise
    except StoreError as error:
        if error.slug != "store-corrupt":
            raise
        return rebuilt(home)
    return index

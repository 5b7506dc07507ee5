"""Opens the knowledge store of a project, with the backends that its settings name."""

from __future__ import annotations

from contextlib import ExitStack
from importlib import import_module
from pathlib import Path

from knowbound.config import Settings
from knowbound.errors import InputError, StoreError
from knowbound.kms.backends.protocol import Backend
from knowbound.kms.index.database import Index, rebuilt
from knowbound.kms.knowledge_store import KnowledgeStore

# The modules of kms/backends, and the package that each needs. An extra of the same name installs it.
BACKENDS = {"sqlite": "", "mongo": "pymongo", "mem0": "mem0", "neo4j": "neo4j"}


def open_knowledge_store(
    settings: Settings, *, by: str = "", session: str = "", turn: str = "", call: str = "", repair: bool = False
) -> KnowledgeStore:
    """Open all of it, and read it once where it is new; with `repair`, a damaged index is made anew."""
    names = list(dict.fromkeys(settings.kms_backends)) or ["sqlite"]
    with ExitStack() as opened:
        backends = []
        for name in names:
            backends.append(open_backend(name, settings))
            opened.callback(backends[-1].close)
        index = _repaired_index(settings.home) if repair else Index(settings.home)
        opened.callback(index.close)
        store = KnowledgeStore(backends, index, by=by, session=session, turn=turn, call=call)
        opened.pop_all()
    return store


def open_index(settings: Settings) -> Index:
    """The index, to search in: no backend is asked, whether it answers or not, once the index has been made."""
    index = Index(settings.home)
    if not index.is_made():
        index.close()
        open_knowledge_store(settings).close()
        index = Index(settings.home)
    return index


def open_backend(name: str, settings: Settings) -> Backend:
    """One backend. Drivers are imported only for backends in use: they cost up to a second."""
    if name not in BACKENDS:
        raise InputError("unknown-backend", f"No backend {name!r} (kms.backends). Known: {', '.join(BACKENDS)}.")
    backend: Backend = import_module(f"knowbound.kms.backends.{name}").open_backend(settings)
    return backend


def _repaired_index(home: Path) -> Index:
    try:
        index = Index(home)
        try:
            index.check()
        except BaseException:
            index.close()
            raise
    except StoreError as error:
        if error.slug not in ("store-corrupt", "index-not-yours"):
            raise
        return rebuilt(home, keep_logs=error.slug == "store-corrupt")
    return index

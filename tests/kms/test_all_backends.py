"""The knowledge base on the four real backends, together and each alone: a correction reaches every copy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from knowbound.core.item import FlagKind, Item
from knowbound.kms.index.database import Index
from knowbound.kms.index.search import search
from knowbound.kms.knowledge_store import KnowledgeStore
from knowbound.kms.opening import BACKENDS
from knowbound.kms.validation import ItemEdit, NewItem
from tests.kms.test_killed_writers import Died, die_after
from tests.services import BoltServer, emptied
from tests.stores import items_of, put_items

WRITTEN = tuple(name for name in BACKENDS if name != "files")  # files of a project are only read

OLD, NEW = "The ledger API binds to port 8004.", "The ledger API binds to port 8040."
PARAPHRASE = "which port does the ledger API listen on"
Open = Callable[..., KnowledgeStore]


@pytest.fixture
def open_base(tmp_path: Path, mongo_url: str, bolt_server: BoltServer) -> Iterator[Open]:
    """Opens the same stores anew; empty at first. One base is open at a time."""
    from knowbound.config import Settings
    from knowbound.kms.opening import open_backend

    settings = Settings(
        root=tmp_path,
        home=tmp_path / "home",
        kms_mongo_url=emptied(mongo_url),
        kms_neo4j_url=bolt_server.url,
        kms_neo4j_user=bolt_server.user,
        kms_neo4j_password=bolt_server.password,
        kms_neo4j_database=bolt_server.empty_database(),
    )
    opened: list[KnowledgeStore] = []

    def open_(names: tuple[str, ...] = WRITTEN) -> KnowledgeStore:
        if opened:
            opened.pop().close()
        opened.append(KnowledgeStore([open_backend(name, settings) for name in names], Index(settings.home), by="ada"))
        return opened[-1]

    yield open_
    for base in opened:
        base.close()


def _found(base: KnowledgeStore) -> set[str]:
    """By other words than the item's own."""
    with base.index.reading() as index:
        return {hit.content for hit in search(index, PARAPHRASE, limit=50).items}


def _spread(base: KnowledgeStore) -> None:
    """An item that other tools have copied and split into every backend."""
    base.add(NewItem(content=OLD, id="a"))
    for backend in base.backends.values():
        put_items(
            backend,
            Item(f"copy-{backend.name}", OLD, copy_of="a"),
            Item(f"part-{backend.name}", f"ledger API port 8004 ({backend.name})", copy_of=f"copy-{backend.name}"),
            Item(f"twin-{backend.name}", OLD),
        )
    base.sync()


@pytest.mark.parametrize("named", ["a", "copy-mem0", "part-neo4j", "twin-mongo"])
def test_superseding_reaches_every_copy_in_every_backend(open_base: Open, named: str) -> None:
    base = open_base()
    _spread(base)
    assert OLD in _found(base)
    new = base.supersede(named, by=ItemEdit(content=NEW))
    assert _found(base) == {NEW}
    for backend in base.backends.values():
        for item in items_of(backend):
            flag = item.flag
            assert item.id == new.id or (flag and flag.kind is FlagKind.SUPERSEDED and flag.superseded_by == new.id)
    assert _found(open_base()) == {NEW}
    again = open_base()
    again.sync(everything=True)
    assert _found(again) == {NEW}


def test_deleting_is_undone_and_reaped_in_every_backend(open_base: Open) -> None:
    base = open_base()
    _spread(base)
    before = _found(base)
    base.delete("a")
    assert _found(base) == set()
    base.unflag("a")
    assert _found(base) == before
    base.delete("a")
    base.reap(timedelta(0))
    assert [item for backend in base.backends.values() for item in items_of(backend)] == []
    assert _found(open_base()) == set()


@pytest.mark.parametrize("name", WRITTEN)
def test_a_backend_alone_does_it_all(open_base: Open, name: str) -> None:
    base = open_base((name,))
    id_ = base.add(NewItem(content=OLD, confidence=0.5)).item.id
    assert _found(base) == {OLD}
    base.update(id_, ItemEdit(confidence=0.9))
    base.flag(id_, "UNVERIFIED")
    base.unflag(id_)
    new = base.supersede(id_, by=ItemEdit(content=NEW))
    assert _found(open_base((name,))) == {NEW}
    base = open_base((name,))
    base.delete(new.id)
    assert _found(base) == set()
    assert sorted(base.reap(timedelta(0)).removed) == sorted([id_, new.id])


def test_a_backend_that_is_no_longer_used_is_forgotten(open_base: Open) -> None:
    base = open_base()
    base.add(NewItem(content=OLD), "mongo")
    assert _found(open_base(("sqlite", "neo4j"))) == set()
    assert _found(open_base()) == {OLD}


@pytest.mark.parametrize("writes", [pytest.param(n, marks=[pytest.mark.long] * (n % 4 != 0)) for n in range(9)])
def test_a_supersede_that_dies_between_two_backends_is_completed_by_the_next_opening(
    open_base: Open, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    base = open_base()
    _spread(base)
    with monkeypatch.context() as dying:
        die_after(dying, base, writes)
        with pytest.raises(Died):
            base.supersede("a", by=ItemEdit(content=NEW))
    base = open_base()
    assert _found(base) == {NEW}
    for backend in base.backends.values():
        assert all(not item.is_served for item in items_of(backend) if item.content != NEW)
    assert [one.tool for one in base.index.corrections("a")] == ["kms_supersede"]
    assert base.supersede("a", by=ItemEdit(content=NEW)).content == NEW
    assert [one.tool for one in base.index.corrections("a")] == ["kms_supersede"]

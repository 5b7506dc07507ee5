from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from bench.store import stress

from knowbound.core.item import Item
from knowbound.errors import StoreError
from knowbound.kms.backends.protocol import Backend
from knowbound.kms.backends.sqlite import SqliteBackend
from tests.outside_conformance import SharedConformance
from tests.stores import put_items


class TestSqliteBackend(SharedConformance):
    @pytest.fixture
    def open_backend(self, tmp_path: Path) -> Callable[[], Backend]:
        return lambda: SqliteBackend(tmp_path)


def test_a_restored_backup_is_read_from_the_start(tmp_path: Path) -> None:
    backend = SqliteBackend(tmp_path)
    put_items(backend, Item("a", "one"), Item("b", "two"))
    _, stamp = backend.changed_since("")
    later = stamp.replace(":2", ":9")
    items, _ = backend.changed_since(later)
    assert {item.id for item in items} == {"a", "b"}


def test_a_file_that_is_no_database_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "items.db").write_text("not a database, but long enough to be looked at " * 100)
    with pytest.raises(StoreError) as raised:
        SqliteBackend(tmp_path)
    assert raised.value.slug == "store-corrupt"


def test_a_newer_schema_is_left_alone(tmp_path: Path) -> None:
    SqliteBackend(tmp_path).close()
    db = sqlite3.connect(tmp_path / "items.db")
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StoreError) as raised:
        SqliteBackend(tmp_path)
    assert raised.value.slug == "store-newer"


def test_a_record_that_is_no_item_is_a_clear_error(tmp_path: Path) -> None:
    backend = SqliteBackend(tmp_path)
    put_items(backend, Item("a", "one"))
    db = sqlite3.connect(tmp_path / "items.db")
    db.execute("""UPDATE item SET record = '{"id": "a"}'""")
    db.commit()
    db.close()
    with pytest.raises(StoreError) as raised:
        backend.get("a")
    assert raised.value.slug == "store-corrupt"


def test_a_folder_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError) as raised:
        SqliteBackend(tmp_path / "file")
    assert raised.value.slug == "store-unwritable"


@pytest.mark.long
def test_parallel_processes_lose_nothing_and_never_see_a_lock(tmp_path: Path) -> None:
    found = stress(tmp_path, processes=6, seconds=2)  # `python -m bench.store` runs 50 for a minute
    assert found.errors == []
    assert found.lost == []
    assert found.writes
    assert found.reads

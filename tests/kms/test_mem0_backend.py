"""The Mem0 backend, on a real Mem0 with its local Qdrant on disk."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from knowbound.core.item import Flag, FlagKind, Item, ItemSource, ItemType
from knowbound.distribution import extra_command
from knowbound.errors import StoreError
from knowbound.kms.backends.mem0 import SCOPE, Mem0Backend
from knowbound.kms.backends.protocol import Backend
from tests.outside_conformance import OutsideConformance
from tests.stores import items_of, put_items, remove_item

pytestmark = pytest.mark.xdist_group("databases")  # importing Mem0 takes seconds


class TestMem0(OutsideConformance):
    @pytest.fixture
    def open_backend(self, tmp_path: Path) -> Callable[[], Backend]:
        return lambda: Mem0Backend(tmp_path / "mem0")


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[Mem0Backend]:
    backend = Mem0Backend(tmp_path / "mem0")
    yield backend
    backend.close()


def mem0_of(backend: Mem0Backend) -> Any:
    """Mem0 itself, as others use it."""
    return backend.memory


def split(backend: Mem0Backend, item: Item, *parts: str) -> list[str]:
    """What Mem0 does with one text for which it makes several memories: each gets the metadata. Their ids."""
    [row] = [row for row in backend.memory.vector_store.list()[0] if (row.payload or {})["knowbound_id"] == item.id]
    metadata = {key: value for key, value in (row.payload or {}).items() if key.startswith("knowbound_")}
    messages = [{"role": "user", "content": part} for part in parts]
    made = mem0_of(backend).add(messages, agent_id=SCOPE, metadata=metadata, infer=False)
    return [str(memory["id"]) for memory in made["results"]]


# Mem0 splits, edits and adds


def test_parts_that_mem0_made_are_copies_of_the_item(backend: Mem0Backend) -> None:
    item = Item("ports", "Orders is on 8004. Billing is on 8005.", subject="ports")
    put_items(backend, item)
    ids = split(backend, item, "Orders is on 8004.", "Billing is on 8005.")
    copies = {copy.id: copy for copy in backend.copies("ports")}
    assert set(copies) == {"ports", *ids}
    assert copies["ports"] == item
    assert copies[ids[0]] == Item(ids[0], "Orders is on 8004.", subject="ports", copy_of="ports")
    assert {found.id for found in items_of(backend)} == {"ports", *ids}


def test_a_flag_reaches_the_parts_and_stays(tmp_path: Path, backend: Mem0Backend) -> None:
    item = Item("ports", "a and b")
    put_items(backend, item)
    ids = split(backend, item, "a", "b")
    flag = Flag(FlagKind.SUPERSEDED, superseded_by="new")
    for copy in backend.copies("ports"):
        put_items(backend, Item(copy.id, copy.content, copy_of=copy.copy_of, flag=flag))
    backend.close()
    reopened = Mem0Backend(tmp_path / "mem0")
    found = items_of(reopened)
    assert {one.id for one in found} == {"ports", *ids}
    assert {one.flag for one in found} == {flag}
    assert len(reopened.copies("ports")) == 3
    for id_ in ("ports", *ids):
        remove_item(reopened, id_)
    assert items_of(reopened) == []
    reopened.close()


def test_parts_are_found_when_the_item_is_gone(backend: Mem0Backend) -> None:
    item = Item("ports", "a and b")
    put_items(backend, item)
    [part] = split(backend, item, "a")
    remove_item(backend, "ports")
    assert backend.get("ports") is None
    assert [copy.id for copy in backend.copies("ports")] == [part]


def test_a_text_changed_through_mem0_is_the_item_s_text(backend: Mem0Backend) -> None:
    put_items(backend, Item("a", "before", subject="s"), Item("b", "other"))
    _, stamp = backend.changed_since("")
    [row] = [row for row in backend.memory.vector_store.list()[0] if (row.payload or {})["knowbound_id"] == "a"]
    mem0_of(backend).update(row.id, text="after")
    assert backend.get("a") == Item("a", "after", subject="s")
    items, stamp = backend.changed_since(stamp)
    assert Item("a", "after", subject="s") in list(items)
    assert list(backend.changed_since(stamp)[0]) == []


def test_a_memory_of_somebody_else_is_a_plain_item(backend: Mem0Backend) -> None:
    _, stamp = backend.changed_since("")
    made = mem0_of(backend).add("Ada likes tea", user_id="ada", infer=False)
    [item] = items_of(backend)
    assert item.id == made["results"][0]["id"]
    assert (item.content, item.user, item.type, item.source) == (
        "Ada likes tea",
        "ada",
        ItemType.MEMORY,
        ItemSource.PERSONAL,
    )
    assert [one.id for one in backend.changed_since(stamp)[0]] == [item.id]
    put_items(backend, Item(item.id, item.content, flag=Flag(FlagKind.DELETED)))
    assert [one.flag for one in items_of(backend)] == [Flag(FlagKind.DELETED)]
    assert len(backend.copies(item.id)) == 1


def test_a_memory_that_is_no_item_is_skipped(backend: Mem0Backend) -> None:
    store = backend.memory.vector_store
    ids = [f"00000000-0000-4000-8000-00000000000{n}" for n in range(3)]
    spoilt = [{"type": "user_identity"}, {"data": "x", "knowbound_item": "{no"}, {"data": "x", "knowbound_item": "{}"}]
    store.insert([[1.0] * 256] * 3, spoilt, ids)
    put_items(backend, Item("good", "stays"))
    assert items_of(backend) == [Item("good", "stays")]


def test_mem0_finds_what_was_put(backend: Mem0Backend) -> None:
    put_items(backend, Item("a", "订单服务的端口是 8004"), Item("b", "the billing service restarts at night"))
    found = mem0_of(backend).search("the billing service restarts at night", filters={"agent_id": SCOPE}, top_k=1)
    assert [one["metadata"]["knowbound_id"] for one in found["results"]] == ["b"]


# One process, no network, nothing outside its folder


def test_the_folder_is_open_once_at_a_time(tmp_path: Path, backend: Mem0Backend) -> None:
    put_items(backend, Item("a", "one"))
    with pytest.raises(StoreError) as busy:
        Mem0Backend(tmp_path / "mem0")
    assert busy.value.slug == "store-busy"
    assert backend.get("a") == Item("a", "one")
    backend.close()
    Mem0Backend(tmp_path / "mem0").close()


@pytest.mark.long  # another process imports Mem0 anew
@pytest.mark.usefixtures("backend")
def test_another_process_finds_the_folder_busy(tmp_path: Path) -> None:
    other = _python(_OPEN, str(tmp_path / "mem0"))
    assert other.stdout.strip() == "store-busy", other.stderr


_OPEN = """
import sys
from pathlib import Path
from knowbound.errors import StoreError
from knowbound.kms.backends.mem0 import Mem0Backend
try:
    Mem0Backend(Path(sys.argv[1])).close()
    print("opened")
except StoreError as error:
    print(error.slug)
"""

_OFFLINE = """
import socket, sys
from pathlib import Path

def refuse(*args, **kwargs):
    print("network:", args, file=sys.stderr)
    raise OSError("no network in this test")

for name in ("connect", "connect_ex", "sendto"):
    setattr(socket.socket, name, refuse)
socket.getaddrinfo = socket.create_connection = refuse

from knowbound.core.item import Item
from knowbound.kms.backends import mem0 as mem0_backend
from knowbound.kms.backends.protocol import Swap
backend = mem0_backend.Mem0Backend(Path(sys.argv[1]))
a, b = Item("a", "one"), Item("b", "two", copy_of="a")
backend.swap([Swap(None, a), Swap(None, b)])
assert len(backend.copies("a")) == 2
assert len(list(backend.changed_since("")[0])) == 2
backend.swap([Swap(a, None)])
backend.memory.search("two", filters={"agent_id": mem0_backend.SCOPE})
backend.close()
print("done")
"""


def _python(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.long
def test_it_never_uses_the_network_nor_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("MEM0_TELEMETRY", "True")
    monkeypatch.delenv("MEM0_DIR", raising=False)
    done = _python(_OFFLINE, str(tmp_path / "mem0"))
    assert done.stdout == "done\n", done.stderr
    assert "network:" not in done.stderr
    assert list(home.rglob("*")) == []


def test_it_has_no_language_model_to_ask(backend: Mem0Backend) -> None:
    with pytest.raises(Exception, match="without a language model"):
        mem0_of(backend).add("Ada likes tea, and Bo likes coffee", user_id="ada", infer=True)
    assert items_of(backend) == []


# Stamps


def test_what_is_removed_is_not_in_the_next_reading(tmp_path: Path) -> None:
    first = Mem0Backend(tmp_path / "mem0")
    put_items(first, Item("a", "one"), Item("b", "two"))
    _, stamp = first.changed_since("")
    remove_item(first, "b")
    first.close()
    second = Mem0Backend(tmp_path / "mem0")
    assert [item.id for item in second.changed_since(stamp)[0]] == ["a"]
    second.close()


def test_a_folder_that_cannot_be_used_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError) as refused:
        Mem0Backend(tmp_path / "file")
    assert refused.value.slug == "backend-unreachable"


def test_without_mem0_the_error_names_the_install_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mem0", None)
    with pytest.raises(StoreError, match=re.escape(extra_command("mem0"))) as absent:
        Mem0Backend(tmp_path / "mem0")
    assert absent.value.slug == "backend-missing"

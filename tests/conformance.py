"""What every backend of record does alike. One suite: each backend's test file subclasses it and gives the fixture.

class TestMongoBackend(BackendConformance):
    @pytest.fixture
    def open_backend(self, ...) -> Iterator[Callable[[], Backend]]:
        yield lambda: MongoBackend(url)  # every call opens the same, at first empty, store anew
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from knowbound.core.item import Anchor, Flag, FlagKind, Item, ItemSource, ItemType, Relationship
from knowbound.kms.backends.protocol import Backend
from tests.stores import items_of, put_items, remove_item

FULL = Item(
    id="full-1",
    content="订单服务 binds to 8004 — “set through” GUNICORN_BIND.\n\n\tNever 8040. 🦆 \u00e9 e\u0301",
    type=ItemType.PROCEDURE,
    source=ItemSource.CROSS_DOMAIN,
    subject="orders/api",
    user="ada",
    timestamp="2026-11-01T10:00:00Z",
    confidence=0.73,
    relationships=(Relationship("depends_on", "other-1"), Relationship("relates_to", "not-there")),
    flag=Flag(
        FlagKind.DELETED,
        note="moved away",
        date="2026-11-02T10:00:00Z",
        by="ada",
        superseded_by="other-1",
        covers=Flag(FlagKind.RETRACTED, note="it's wrong", date="2026-11-01T11:00:00Z", by="bo"),
    ),
    anchor=Anchor(
        "CLAUDE.md",
        heading="Ports",
        symbol="bind",
        blob="ce013625030ba8dba906f756967f9e9ca394464a",
        part="9f86d081884c7d65",
    ),
    stale=True,
    copy_of="origin-1",
    metadata={
        "quality": {"effective_confidence": 0.51, "injections": 12},
        "tags": ["a", "b", {"deep": [1, None, True, 0.5]}],
        "dotted.key": "$set",
        "": "no name",
    },
)


class BackendConformance:
    """Give `open_backend`: a function that opens the same store anew at each call; it is empty at first."""

    @pytest.fixture
    def backend(self, open_backend: Callable[[], Backend]) -> Iterator[Backend]:
        backend = open_backend()
        yield backend
        backend.close()

    def test_gives_back_an_item_with_everything_it_carries(self, backend: Backend) -> None:
        put_items(backend, FULL)
        assert backend.get("full-1") == FULL

    def test_gives_back_the_least_item(self, backend: Backend) -> None:
        put_items(backend, Item("least", "x"))
        assert backend.get("least") == Item("least", "x")

    def test_an_unknown_id_is_none(self, backend: Backend) -> None:
        assert backend.get("nobody") is None
        assert backend.copies("nobody") == []

    @pytest.mark.parametrize(
        "id_", ["a/b", "a.b", "a:b", "A-B_c", "a@b+c", "0", "6ba7b810-9dad-11d1-80b4-00c04fd430c8"]
    )
    def test_ids_are_kept_as_they_are(self, backend: Backend, id_: str) -> None:
        put_items(backend, Item(id_, "one"))
        put_items(backend, Item(id_.swapcase() + "x", "another"))
        assert backend.get(id_) == Item(id_, "one")
        assert {item.id for item in items_of(backend)} == {id_, id_.swapcase() + "x"}

    @pytest.mark.parametrize(
        "content", ["'; DROP TABLE item; --", '{"$gt": ""}', "}) DETACH DELETE n //", "%s {0} ${x}", "\u2028 \u00a0 x"]
    )
    def test_content_is_never_read_as_a_query(self, backend: Backend, content: str) -> None:
        put_items(backend, Item("odd", content, subject=content, metadata={"note": content}))
        assert backend.get("odd") == Item("odd", content, subject=content, metadata={"note": content})

    def test_long_content_comes_back_whole(self, backend: Backend) -> None:
        item = Item("long", "word " * 4_000)
        put_items(backend, item)
        assert backend.get("long") == item

    def test_putting_again_replaces_all_of_it(self, backend: Backend) -> None:
        put_items(backend, FULL)
        put_items(backend, Item("full-1", "now this"))
        assert backend.get("full-1") == Item("full-1", "now this")
        assert [item.id for item in items_of(backend)] == ["full-1"]

    def test_putting_twice_is_putting_once(self, backend: Backend) -> None:
        put_items(backend, FULL)
        put_items(backend, FULL)
        assert items_of(backend) == [FULL]

    def test_a_flag_comes_and_goes(self, backend: Backend) -> None:
        item = Item("f", "flagged")
        for kind in FlagKind:
            flagged = Item("f", "flagged", flag=Flag(kind, note="n", date="2026-11-02T10:00:00Z", by="ada"))
            put_items(backend, flagged)
            assert backend.get("f") == flagged
        put_items(backend, item)
        assert backend.get("f") == item

    def test_puts_many(self, backend: Backend) -> None:
        items = [Item(f"many-{n}", f"content {n}", confidence=n / 500) for n in range(500)]
        put_items(backend, *items)
        assert sorted(items_of(backend), key=lambda item: item.id) == sorted(items, key=lambda item: item.id)
        put_items(backend)
        put_items(backend, Item("many-0", "changed"), Item("many-500", "new"))
        assert backend.get("many-0") == Item("many-0", "changed")
        assert len(items_of(backend)) == 501

    def test_items_are_those_flagged_too(self, backend: Backend) -> None:
        gone = Item("gone", "deleted", flag=Flag(FlagKind.DELETED))
        put_items(backend, gone, Item("there", "served"))
        assert {item.id for item in items_of(backend)} == {"gone", "there"}

    def test_finds_the_item_and_its_copies(self, backend: Backend) -> None:
        original, part = Item("origin", "a and b"), Item("part", "a", copy_of="origin")
        flagged = Item("gone", "b", copy_of="origin", flag=Flag(FlagKind.SUPERSEDED, superseded_by="x"))
        put_items(backend, original, part, flagged, Item("stranger", "c", copy_of="other"))
        assert sorted(backend.copies("origin"), key=lambda item: item.id) == [flagged, original, part]

    def test_finds_copies_of_an_item_it_does_not_hold(self, backend: Backend) -> None:
        put_items(backend, Item("part", "a", copy_of="elsewhere"))
        assert backend.copies("elsewhere") == [Item("part", "a", copy_of="elsewhere")]

    def test_removes_for_good(self, backend: Backend) -> None:
        put_items(backend, Item("a", "one"), Item("b", "two", copy_of="a"))
        remove_item(backend, "a")
        assert backend.get("a") is None
        assert backend.copies("a") == [Item("b", "two", copy_of="a")]
        assert [item.id for item in items_of(backend)] == ["b"]

    def test_a_removed_id_can_be_used_again(self, backend: Backend) -> None:
        put_items(
            backend, Item("a", "one", flag=Flag(FlagKind.DELETED), relationships=(Relationship("relates_to", "b"),))
        )
        remove_item(backend, "a")
        put_items(backend, Item("a", "again"))
        assert backend.get("a") == Item("a", "again")

    def test_the_other_end_of_a_relationship_is_no_item(self, backend: Backend) -> None:
        put_items(backend, Item("a", "one", relationships=(Relationship("depends_on", "b"),)))
        assert backend.get("b") is None
        assert [item.id for item in items_of(backend)] == ["a"]
        put_items(backend, Item("b", "two"))
        remove_item(backend, "b")
        assert backend.get("a") == Item("a", "one", relationships=(Relationship("depends_on", "b"),))

    def test_the_empty_stamp_is_everything(self, backend: Backend) -> None:
        put_items(backend, Item("a", "one"), Item("b", "two"))
        items, stamp = backend.changed_since("")
        assert {item.id for item in items} == {"a", "b"}
        assert stamp

    def test_an_empty_store_has_a_stamp_to_go_on_from(self, backend: Backend) -> None:
        items, stamp = backend.changed_since("")
        assert list(items) == []
        put_items(backend, Item("a", "one"))
        items, _ = backend.changed_since(stamp)
        assert list(items) == [Item("a", "one")]

    def test_what_changed_since_a_stamp_is_never_missed(self, backend: Backend) -> None:
        put_items(backend, *[Item(f"i{n}", "before") for n in range(20)])
        items, stamp = backend.changed_since("")
        assert len(list(items)) == 20
        flagged = Item("i3", "before", flag=Flag(FlagKind.RETRACTED, by="ada"))
        put_items(backend, flagged)
        put_items(backend, Item("i20", "new"))
        items, stamp = backend.changed_since(stamp)
        found = {item.id: item for item in items}
        assert found["i3"] == flagged
        assert found["i20"] == Item("i20", "new")
        put_items(backend, Item("i3", "after"))
        items, stamp = backend.changed_since(stamp)
        assert Item("i3", "after") in list(items)

    def test_a_write_while_changes_are_read_comes_with_the_next_stamp(self, backend: Backend) -> None:
        put_items(backend, *[Item(f"i{n}", "before") for n in range(5)])
        items, stamp = backend.changed_since("")
        put_items(backend, Item("late", "meanwhile"))
        seen = {item.id for item in items}
        items, _ = backend.changed_since(stamp)
        assert "late" in seen | {item.id for item in items}

    def test_an_unknown_stamp_is_as_good_as_none(self, backend: Backend) -> None:
        put_items(backend, Item("a", "one"))
        items, _ = backend.changed_since("of another database")
        assert [item.id for item in items] == ["a"]

    def test_everything_is_there_after_a_restart(self, open_backend: Callable[[], Backend]) -> None:
        first = open_backend()
        put_items(first, FULL, Item("b", "two"))
        _, stamp = first.changed_since("")
        remove_item(first, "b")
        first.close()
        second = open_backend()
        try:
            assert items_of(second) == [FULL]
            put_items(second, Item("c", "three"))
            items, _ = second.changed_since(stamp)
            assert "c" in {item.id for item in items}
        finally:
            second.close()

    def test_parallel_writers_lose_nothing(self, backend: Backend) -> None:
        def write(writer: int) -> None:
            for n in range(10):
                put_items(backend, Item(f"w{writer}-{n}", f"{writer} wrote {n}"))

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(write, range(8)))
        assert {item.id for item in items_of(backend)} == {f"w{writer}-{n}" for writer in range(8) for n in range(10)}

"""What the backends on other people's stores must withstand besides the conformance suite: whatever may be in an item,
many at once, and readers that ask what changed while others write."""

from __future__ import annotations

import string
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.core.item import Anchor, Flag, FlagKind, Item, ItemSource, ItemType, Relationship
from knowbound.errors import StoreError
from knowbound.kms.backends.protocol import Backend, ContendedError, Removed, Swap
from tests.conformance import BackendConformance
from tests.conftest import some_examples
from tests.stores import items_of, put_items, remove_item

_texts = st.text(max_size=40)  # with control characters, NUL, everything but lone surrogates
_ids = st.text(string.ascii_letters + string.digits + "._:@/+-`'\"$\\ \0é中", min_size=1, max_size=30)
_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | _texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=8,
)
_plain_flags = st.builds(Flag, st.sampled_from(FlagKind), _texts, _texts, _texts, _ids)
_flags = st.builds(Flag, st.sampled_from(FlagKind), _texts, _texts, _texts, _ids, st.none() | _plain_flags)
_items = st.builds(
    Item,
    id=_ids,
    content=st.text(min_size=1, max_size=300),
    type=st.sampled_from(ItemType),
    source=st.sampled_from(ItemSource),
    subject=_texts,
    user=_texts,
    timestamp=_texts,
    confidence=st.floats(0, 1),
    relationships=st.lists(st.builds(Relationship, _texts, _ids), max_size=4).map(tuple),
    flag=st.none() | _flags,
    anchor=st.none() | st.builds(Anchor, _texts, _texts, _texts, _texts),
    stale=st.booleans(),
    copy_of=st.just("") | _ids,
    metadata=st.dictionaries(_texts, _values, max_size=4),
)

HOSTILE = [
    '{"$ne": null}',
    "$where: sleep(1000)",
    "'}) DETACH DELETE i //",
    "`]->(x) DETACH DELETE x //",
    "a\0b",
    "*",
    "../../etc/passwd",
    "\u202e\u0000\u0007",
    "{'OR': [{}]}",
]


class OutsideConformance(BackendConformance):
    """Give `open_backend`, as for the conformance suite."""

    def test_whatever_is_in_an_item_comes_back_exactly(self, backend: Backend) -> None:
        @some_examples(0.4)
        @given(items=st.lists(_items, min_size=1, max_size=5))
        def comes_back(items: list[Item]) -> None:
            put_items(backend, *items)
            last = {item.id: item for item in items}
            assert {id_: backend.get(id_) for id_ in last} == last
            found = {item.id: item for item in items_of(backend)}
            assert {id_: found[id_] for id_ in last} == last

        comes_back()

    @pytest.mark.parametrize("text", HOSTILE)
    def test_hostile_text_is_only_text_wherever_it_stands(self, backend: Backend, text: str) -> None:
        bystander = Item("bystander", "stays", relationships=(Relationship("relates_to", text),))
        hostile = Item(
            text,
            text,
            subject=text,
            user=text,
            relationships=(Relationship(text, text), Relationship(text, "bystander")),
            flag=Flag(FlagKind.UNVERIFIED, text, text, text, text),
            copy_of=text,
            metadata={text: text, "a.b": {"$set": {text: [text]}}, "$inc": 1},
        )
        put_items(backend, bystander, hostile)
        assert backend.get(text) == hostile
        assert backend.copies(text) == [hostile]
        assert {item.id for item in items_of(backend)} == {"bystander", text}
        remove_item(backend, text)
        assert items_of(backend) == [bystander]
        assert backend.get(text) is None

    def test_text_that_is_no_unicode_is_refused_and_changes_nothing(self, backend: Backend) -> None:
        put_items(backend, Item("a", "before"))
        with pytest.raises(StoreError) as refused:
            put_items(backend, Item("a", "after"), Item("b", "half a character: \ud800"))
        assert refused.value.slug == "item-invalid"
        assert items_of(backend) == [Item("a", "before")]
        put_items(backend, Item("c", "goes on"))
        assert backend.get("c") == Item("c", "goes on")

    def test_metadata_that_is_no_data_is_refused(self, backend: Backend) -> None:
        with pytest.raises(StoreError) as refused:
            put_items(backend, Item("a", "x", metadata={"object": object()}))
        assert refused.value.slug == "item-invalid"
        assert items_of(backend) == []

    @pytest.mark.long
    def test_thousands_at_once(self, backend: Backend) -> None:
        items = [
            Item(
                f"i{n}",
                f"content {n} 内容",
                relationships=(Relationship("depends_on", f"i{n // 2}"),),
                metadata={"n": n},
            )
            for n in range(5_000)
        ]
        put_items(backend, *items)
        assert sorted(items_of(backend), key=lambda item: item.id) == sorted(items, key=lambda item: item.id)

    def test_nothing_has_changed_when_nothing_was_written(self, backend: Backend) -> None:
        put_items(backend, Item("a", "one"), Item("b", "two"))
        _, stamp = backend.changed_since("")
        put_items(backend, Item("b", "three"))
        items, stamp = backend.changed_since(stamp)
        assert [item.id for item in items] == (["a", "b"] if backend.is_whole else ["b"])
        items, again = backend.changed_since(stamp)
        assert list(items) == []
        assert again == stamp

    def test_a_reader_beside_writers_gets_the_last_state_of_everything(self, backend: Backend) -> None:
        def write(writer: int) -> None:
            for n in range(20):
                put_items(backend, Item(f"own{writer}-{n % 7}", f"{writer} {n}"))
                put_items(backend, Item("shared", f"{writer} {n}"), Item(f"batch{writer}", f"{n}"))

        seen: dict[str, Item | Removed] = {}
        stamp = ""
        with ThreadPoolExecutor(4) as pool:
            writers = [pool.submit(write, writer) for writer in range(4)]
            is_done = False
            while not is_done:
                is_done = all(writer.done() for writer in writers)  # then this reading is the last
                items, stamp = backend.changed_since(stamp)
                seen |= {item.id: item for item in items}
            for writer in writers:
                writer.result()
        assert seen == {item.id: item for item in items_of(backend)}


class SharedConformance(OutsideConformance):
    """Of stores that several processes may use at once."""

    def test_two_openings_write_side_by_side(self, open_backend: Callable[[], Backend]) -> None:
        backends = [open_backend() for _ in range(2)]

        def write(which: int) -> None:
            for n in range(15):
                put_items(
                    backends[which], Item(f"{which}-{n}", "own", relationships=(Relationship("relates_to", "hub"),))
                )
                put_items(backends[which], Item("both", f"{which} {n}"))

        try:
            with ThreadPoolExecutor(2) as pool:
                list(pool.map(write, range(2)))
            ids = {f"{which}-{n}" for which in range(2) for n in range(15)} | {"both"}
            for backend in backends:
                assert {item.id for item in items_of(backend)} == ids
            assert backends[0].get("both") in (Item("both", "0 14"), Item("both", "1 14"))
        finally:
            for backend in backends:
                backend.close()


class TeamConformance(SharedConformance):
    """What a backend that other machines write to must keep: nobody's change is lost, and removals are seen."""

    def test_a_swap_is_made_only_where_every_item_is_as_it_was_read(self, backend: Backend) -> None:
        a, b = Item("a", "one"), Item("b", "two", metadata={"n": [1, 0.5, None]})
        put_items(backend, a, b)
        backend.swap([Swap(a, Item("a", "new")), Swap(b, None), Swap(None, Item("c", "three"))])
        after = {"a": Item("a", "new"), "c": Item("c", "three")}
        assert {item.id: item for item in items_of(backend)} == after
        for swaps in (
            [Swap(a, Item("a", "late"))],
            [Swap(None, Item("a", "late"))],
            [Swap(b, None)],
            [Swap(None, Item("d", "four")), Swap(a, Item("a", "late")), Swap(Item("c", "three"), None)],
            [Swap(Item("a", "new"), Item("a", "newer")), Swap(None, Item("c", "again"))],
        ):
            with pytest.raises(ContendedError):
                backend.swap(swaps)
            assert {item.id: item for item in items_of(backend)} == after
        backend.swap([])
        backend.swap([Swap(Item("a", "new"), a), Swap(None, b)])
        assert backend.get("a") == a
        assert backend.get("b") == b

    def test_what_is_removed_shows_to_whoever_asks_what_changed(self, backend: Backend) -> None:
        put_items(backend, Item("a", "one"), Item("b", "two"))
        _, stamp = backend.changed_since("")
        remove_item(backend, "a")
        for asked in (stamp, ""):
            [removed] = [one for one in backend.changed_since(asked)[0] if isinstance(one, Removed)]
            assert removed == ("a", Item("", "one").content_sha, removed.time, False)
        _, stamp = backend.changed_since("")
        backend.restore([Item("", "one").content_sha, "nobody"])
        [restored] = backend.changed_since(stamp)[0]
        assert restored == removed._replace(is_restored=True)
        put_items(backend, Item("a", "again"))
        assert {one.id: one for one in backend.changed_since("")[0]} == {
            "a": Item("a", "again"),
            "b": Item("b", "two"),
        }

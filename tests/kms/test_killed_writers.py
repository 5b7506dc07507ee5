"""Writers of items that are killed at any step: all of a call or nothing of it, and the same call again succeeds."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from knowbound.core.item import Anchor, FlagKind, Item
from knowbound.errors import InputError, StoreError
from knowbound.kms.knowledge_store import AnchorState, KnowledgeStore
from knowbound.kms.validation import ItemEdit, NewItem
from tests.kills import killed_at_each_step
from tests.stores import Store, items_of, put_items

OLD, NEW = "The ledger API binds to port 8004.", "The ledger API binds to port 8040."
Call = Callable[[KnowledgeStore], object]

CALLS: dict[str, Call] = {
    "add": lambda base: base.add(NewItem(content=NEW)),
    "add many": lambda base: base.add_many([NewItem(content=f"Fact {number}.") for number in range(3)]),
    "update": lambda base: base.update("a", ItemEdit(content=NEW)),
    "supersede": lambda base: base.supersede("a", by=ItemEdit(content=NEW), note="moved"),
    "supersede by id": lambda base: base.supersede("a", by_id="b"),
    "flag": lambda base: base.flag("a", FlagKind.RETRACTED, "wrong"),
    "unflag": lambda base: base.unflag("gone"),
    "delete": lambda base: base.delete("a"),
    "reap": lambda base: base.reap(timedelta(0)),
    "mark": lambda base: base.mark({"a": AnchorState(Anchor("CLAUDE.md"), True)}),
}
# What is refused where it was done already: the refusal says that it is.
SAID = {"add": "item-duplicate", "unflag": "flag-refused"}


def prepared(home: Path) -> None:
    with closing(Store(home)) as store:
        store.add(OLD, id="a")
        store.add("Refunds are retried.", id="b")
        store.add("Sessions live for 30 days.", id="gone")
        store.base.delete("gone")
        put_items(store.other, Item("copy", OLD, copy_of="a"), Item("part", "8004", copy_of="a"))
        store.base.sync()


def looked_at(home: Path) -> dict[str, object]:
    """What is stored, in words: ids of new items and times differ from one run to the next."""
    with closing(Store(home)) as store:
        held = {
            name: sorted((item.content, str(item.flag and item.flag.kind), item.stale) for item in items_of(backend))
            for name, backend in store.base.backends.items()
        }
        named = {item.id: item.content for backend in store.base.backends.values() for item in items_of(backend)}
        rows = store.index._db.rows("SELECT backend, content, flag, served, stale FROM item ORDER BY 1, 2")
        log = [(named.get(one.item, one.item), one.tool) for one in store.index.corrections()]
        reaped = store.index._db.rows("SELECT item FROM reaped ORDER BY 1")
        assert not any(store.index.unfinished())
        return {**held, "index": rows, "log": log, "reaped": reaped}


def call(home: Path, name: str) -> None:
    with closing(Store(home)) as store:
        CALLS[name](store.base)


def again(home: Path, name: str) -> None:
    try:
        call(home, name)
    except InputError as error:
        if error.slug != SAID.get(name):
            raise


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] * (name not in ("supersede", "reap"))) for name in CALLS]
)
def test_a_call_that_is_killed_is_done_or_not_and_succeeds_when_it_is_made_again(tmp_path: Path, name: str) -> None:
    original, home = tmp_path / "original", tmp_path / "home"
    prepared(original)
    shutil.copytree(original, tmp_path / "untouched")
    before = looked_at(tmp_path / "untouched")
    shutil.copytree(original, tmp_path / "whole")
    call(tmp_path / "whole", name)
    after = looked_at(tmp_path / "whole")
    assert before != after
    shutil.copytree(original, home)
    seen = []
    for number in killed_at_each_step(lambda: call(home, name)):
        found = looked_at(home)
        assert found in (before, after), number
        again(home, name)
        assert looked_at(home) == after, number
        seen.append(found == after)
        shutil.rmtree(home)
        shutil.copytree(original, home)
    assert set(seen) == {False, True}  # killed before the intent, and after it


def test_making_the_same_call_again_is_no_second_correction(tmp_path: Path) -> None:
    prepared(tmp_path)
    with closing(Store(tmp_path)) as store:
        for name in ("flag", "delete", "supersede by id"):
            CALLS[name](store.base)
            count = len(store.index.corrections("a"))
            CALLS[name](store.base)
            assert len(store.index.corrections("a")) == count
            store.base.unflag("a")
        first = store.base.update("a", ItemEdit(content=NEW))
        count = len(store.index.corrections("a"))
        store.clock.pass_days(1)
        second = store.base.update("a", ItemEdit(content=NEW))
        assert second.timestamp > first.timestamp  # it is confirmed
        assert len(store.index.corrections("a")) == count


def test_another_successor_is_still_refused(tmp_path: Path) -> None:
    prepared(tmp_path)
    with closing(Store(tmp_path)) as store:
        done = store.base.supersede("a", by=ItemEdit(content=NEW))
        assert store.base.supersede("a", by=ItemEdit(content=NEW)).id == done.id
        assert store.base.supersede("a", by_id=done.id).id == done.id
        for other in ({"by_id": "b"}, {"by": ItemEdit(content="The ledger API is gone.")}):
            with pytest.raises(InputError, match="Its successor is"):
                store.base.supersede("a", **other)


class Died(BaseException):
    """The process is gone: nothing after this happens."""


@pytest.mark.parametrize("writes", range(4))
def test_what_others_changed_meanwhile_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    prepared(tmp_path)
    store = Store(tmp_path)
    with monkeypatch.context() as dying:
        die_after(dying, store.base, writes)
        with pytest.raises(Died):
            store.base.flag("a", FlagKind.RETRACTED)
    put_items(store.other, Item("copy", "Written by someone else since.", copy_of="a"))
    store = store.reopened()
    assert store.sqlite.get("a").flag.kind is FlagKind.RETRACTED  # type: ignore[union-attr]
    [copy] = [item for item in items_of(store.other) if item.id == "copy"]
    assert copy.content == "Written by someone else since."
    assert [one.tool for one in store.index.corrections("a")] == ["kms_flag"]
    store.close()


def die_after(dying: pytest.MonkeyPatch, base: KnowledgeStore, writes: int) -> None:
    """The process dies at the write after so many, to whatever backend, or else before the index is written."""
    left = [writes]

    def counted(write: Callable[..., None], *args: object) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise Died
        write(*args)

    def dead(*_: object, **__: object) -> None:
        raise Died

    for backend in base.backends.values():
        dying.setattr(backend, "swap", partial(counted, backend.swap))
    dying.setattr(base.index, "refresh", dead)
    dying.setattr("knowbound.kms.changes.undo", dead)


def test_a_call_that_fails_and_cannot_be_undone_is_completed_later(tmp_path: Path) -> None:
    prepared(tmp_path)
    store = Store(tmp_path)
    failing = store.other

    def down(*_: object) -> Item:
        raise StoreError("backend-unreachable", "other: down")

    copies = failing.get  # answers until the writes begin
    calls = iter(range(100))
    failing.get = lambda id_: copies(id_) if next(calls) < 1 else down()  # type: ignore[method-assign]
    failing.is_down = True
    with pytest.raises(StoreError, match="other: down"):
        store.base.delete("a")
    store = store.reopened()
    assert not any(store.index.unfinished())
    assert {item.id: item.flag.kind for item in items_of(store.other) if item.flag} == {
        "copy": FlagKind.DELETED,
        "part": FlagKind.DELETED,
    }
    assert [one.tool for one in store.index.corrections("a")] == ["kms_delete"]
    store.close()

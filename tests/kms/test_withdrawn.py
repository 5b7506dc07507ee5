"""A fact that was corrected does not come back: not reworded, not imported, not by a copy that says the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from knowbound.core.item import Flag, FlagKind, Item, spaced_sha
from knowbound.errors import InputError
from knowbound.kms.refusals import restates
from knowbound.kms.validation import ItemEdit, NewItem
from tests.stores import Store, put_items

OLD = "The ledger API listens on port 8004."
NEW = "The ledger API listens on port 8040."
REWORDED = "Port 8004 is where the ledger API listens."
OTHER = "The billing worker listens on port 8004."
FACTS = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "bench/returning_facts.jsonl").read_text("utf-8").splitlines()
]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path)
    yield store
    store.close()


@pytest.fixture
def corrected(store: Store) -> tuple[str, str]:
    """An old item and its successor."""
    old = store.add(OLD)
    return old, store.base.supersede(old, by=ItemEdit(content=NEW)).id


@pytest.mark.parametrize(
    "content", [OLD, OLD.upper(), "the ledger API listens on port 8004", f"**{OLD}**", f"- {OLD}", REWORDED]
)
def test_a_superseded_fact_is_refused_with_all_that_is_known_of_it(
    store: Store, corrected: tuple[str, str], content: str
) -> None:
    before = store.state()
    with pytest.raises(InputError) as raised:
        store.add(content)
    assert raised.value.slug == "item-withdrawn"
    message = str(raised.value)
    assert all(part in message for part in (*corrected, "superseded", "2026-11-01", "ada", NEW, "--again"))
    assert store.state() == before


@pytest.mark.parametrize(
    "content", [OTHER, "The ledger API does not listen on port 8004.", "The ledger API moved from 8004 to 8040."]
)
def test_another_fact_near_a_superseded_one_is_stored(store: Store, corrected: tuple[str, str], content: str) -> None:
    store.add(content)
    assert store.served() == {NEW, content}


@pytest.mark.parametrize("content", [OLD.lower(), REWORDED])
def test_who_insists_stores_it_and_it_is_served(store: Store, corrected: tuple[str, str], content: str) -> None:
    store.base.add(NewItem(content=content), again=True)
    assert store.served() == {NEW, content}
    store.base.sync(everything=True)
    assert store.reopened().served() == {NEW, content}


def test_what_is_true_again_is_what_the_withdrawn_item_leads_to(store: Store, corrected: tuple[str, str]) -> None:
    old, _ = corrected
    added = store.base.add(NewItem(content=OLD.lower()), again=True).item
    shown = store.base.show(old)
    assert (shown.served, shown.in_force) == (False, added.id)
    assert [one.tool for one in shown.corrections] == ["kms_supersede", "kms_supersede"]
    store.base.flag(added.id, "RETRACTED")
    assert store.served() == {NEW}


def test_a_retracted_twin_of_what_is_true_again_blocks_it_once_more(store: Store, corrected: tuple[str, str]) -> None:
    store.base.add(NewItem(content=OLD), again=True)
    put_items(store.other, Item("late", OLD, flag=Flag(FlagKind.RETRACTED, date="2026-11-01T10:00:00Z", by="bob")))
    store.base.sync()
    assert store.served() == {NEW}


def test_an_update_back_to_the_old_fact_needs_the_flag(store: Store, corrected: tuple[str, str]) -> None:
    _, new = corrected
    for content in (OLD, REWORDED):
        with pytest.raises(InputError) as raised:
            store.base.update(new, ItemEdit(content=content))
        assert raised.value.slug == "item-withdrawn"
    store.base.update(new, ItemEdit(content=OLD), again=True)
    assert store.served() == {OLD}


def test_superseding_by_the_old_fact_needs_the_flag(store: Store, corrected: tuple[str, str]) -> None:
    old, new = corrected
    with pytest.raises(InputError) as raised:
        store.base.supersede(new, by=ItemEdit(content=REWORDED))
    assert raised.value.slug == "item-withdrawn"
    third = store.base.supersede(new, by=ItemEdit(content=OLD), again=True).id
    assert store.served() == {OLD}
    assert store.base.show(old).in_force == store.base.show(new).in_force == third


def test_only_the_spelling_is_corrected_in_place(store: Store) -> None:
    old = store.add("the ledger api listens on port 8004")
    with pytest.raises(InputError) as raised:
        store.base.supersede(old, by=ItemEdit(content=OLD))
    assert raised.value.slug == "supersede-cycle"
    store.base.update(old, ItemEdit(content=OLD))
    assert store.served() == {OLD}


def test_a_store_in_which_only_the_spelling_was_superseded_serves_the_successor(store: Store) -> None:
    flag = Flag(FlagKind.SUPERSEDED, date="2026-10-01T10:00:00Z", superseded_by="b")
    put_items(store.sqlite, Item("a", OLD.lower(), flag=flag), Item("b", OLD))
    store.base.sync()
    assert store.served() == {OLD}
    back = Flag(FlagKind.SUPERSEDED, date="2026-10-02T10:00:00Z", superseded_by="c")
    put_items(store.sqlite, Item("b", NEW, flag=back), Item("c", OLD))
    store.base.sync()
    assert store.served() == {OLD}


def test_a_copy_in_other_spelling_follows_a_correction_without_a_question(store: Store) -> None:
    old = store.add(OLD)
    put_items(store.other, Item("x", OLD.upper()), Item("y", "the ledger API listens on port 8004"), Item("z", OTHER))
    store.base.sync()
    store.base.supersede(old, by=ItemEdit(content=NEW))
    assert store.served() == {NEW, OTHER}
    assert store.base.show("x").item.flag


def test_near_copies_are_offered_and_follow_on_request(store: Store) -> None:
    old, near, other = store.add(OLD), store.add(REWORDED), store.add(OTHER)
    new = store.base.supersede(old, by=ItemEdit(content=NEW)).id
    assert [(one.id, one.restates) for one in store.base.near_copies(old)] == [(near, True)]
    again = store.base.supersede(old, by=ItemEdit(content=NEW), also=[near]).id
    assert again == new
    assert store.served() == {NEW, OTHER}
    assert store.base.near_copies(old) == []
    assert store.base.show(near).in_force == new
    assert [one.tool for one in store.base.show(other).corrections] == []
    before = store.state()
    store.base.supersede(old, by=ItemEdit(content=NEW), also=[near])
    assert store.state() == before


def test_all_of_a_step_that_takes_near_copies_along_or_none(store: Store) -> None:
    old, near = store.add(OLD), store.base.add(NewItem(content=REWORDED), "other").item.id
    before = store.state()
    with pytest.raises(InputError):
        store.base.supersede(old, by=ItemEdit(content=NEW), also=[near, "nobody"])
    with pytest.raises(InputError):
        store.base.supersede(old, by_id=near, also=[near])
    store.other.is_down = True
    with pytest.raises(Exception, match="down"):
        store.base.supersede(old, by=ItemEdit(content=NEW), also=[near])
    store.other.is_down = False
    assert store.state() == before


def test_what_was_reaped_is_known_by_its_folded_content(store: Store) -> None:
    old = store.add(OLD)
    new = store.base.supersede(old, by=ItemEdit(content=NEW)).id
    store.base.reap(timedelta(0))
    with pytest.raises(InputError) as raised:
        store.add(OLD.upper())
    assert all(part in str(raised.value) for part in (old, "reaped", "ada", new, NEW))
    put_items(store.other, Item("late", OLD.lower()))
    store.base.sync()
    assert store.served() == {NEW}


def test_what_an_earlier_version_reaped_is_known_by_its_hash(store: Store) -> None:
    with store.index._db.writing() as db:
        db.execute("INSERT INTO reaped VALUES ('gone', ?, '2026-10-01T10:00:00Z')", (spaced_sha(OLD),))
    with pytest.raises(InputError, match="reaped on 2026-10-01") as raised:
        store.add(f"  {OLD}")
    assert raised.value.slug == "item-withdrawn"
    put_items(store.other, Item("late", OLD))
    store.base.sync()
    assert store.served() == set()
    store.base.add(NewItem(content=OLD, id="again"), again=True)
    assert store.served() == {OLD}


def test_an_import_leaves_out_what_was_superseded(store: Store, corrected: tuple[str, str]) -> None:
    outcomes = store.base.add_many([NewItem(content=text) for text in (OLD.lower(), REWORDED, OTHER)])
    assert [isinstance(one, InputError) for one in outcomes] == [True, True, False]
    assert store.served() == {NEW, OTHER}


@pytest.mark.parametrize("kind", ["again", "fresh"])
def test_most_rewordings_are_known_and_hardly_another_fact_is_taken_for_one(kind: str) -> None:
    judged = [restates(text, fact["old"], fact["new"]) for fact in FACTS for text in fact[kind]]
    share = sum(judged) / len(judged)
    assert share >= 0.85 if kind == "again" else share <= 0.03

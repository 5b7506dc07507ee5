"""Two machines with an index each write to one MongoDB: nothing acknowledged is lost, nothing removed is served.

On a replica set (transactions) and on a single server (none).
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from knowbound.core.item import FlagKind, Item
from knowbound.errors import InputError
from knowbound.kms.backends.protocol import ContendedError, Swap
from knowbound.kms.knowledge_store import KnowledgeStore
from knowbound.kms.validation import ItemEdit, NewItem
from tests.kms.machine import FACT, end_of, open_machine
from tests.services import emptied
from tests.stores import items_of, put_items

pytestmark = pytest.mark.xdist_group("databases")
OLD, NEW, OTHER = "The ledger binds to port 8004.", "The ledger binds to port 8040.", "The ledger binds to port 8400."
ROOT = Path(__file__).parents[2]


@pytest.fixture(params=["single", "replica set"])
def url(request: pytest.FixtureRequest) -> str:
    if request.param == "single":
        return emptied(request.getfixturevalue("mongo_url"))
    return emptied(request.getfixturevalue("one_member_set").url)


class Team:
    def __init__(self, url: str, folder: Path) -> None:
        self.a = open_machine(url, folder / "a", "ada")
        self.b = open_machine(url, folder / "b", "bo")

    def close(self) -> None:
        self.a.close()
        self.b.close()


@pytest.fixture
def team(url: str, tmp_path: Path) -> Iterator[Team]:
    with closing(Team(url, tmp_path)) as team:
        team.a.add(NewItem(content=OLD, id=FACT))
        yield team


def meanwhile(store: KnowledgeStore, monkeypatch: pytest.MonkeyPatch, work: Callable[[], object]) -> None:
    """Have the work done after the store's next call has read everything, and before it writes."""
    backend = store.backends["mongo"]
    swap = backend.swap
    is_done: list[bool] = []

    def overtaken(swaps: list[Swap]) -> None:
        if not is_done:
            is_done.append(True)
            work()
        swap(swaps)

    monkeypatch.setattr(backend, "swap", overtaken)


def served(store: KnowledgeStore) -> set[str]:
    return {row[0] for row in store.index._db.rows("SELECT content FROM item WHERE served = 1")}


# Changes at the same time


def test_an_update_and_a_flag_of_one_item_are_both_kept(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    meanwhile(team.a, monkeypatch, lambda: team.b.flag(FACT, "UNVERIFIED", "is it?"))
    team.a.update(FACT, ItemEdit(content=NEW))
    item = team.b.get(FACT)
    assert item is not None
    assert item.content == NEW
    assert item.flag is not None
    assert (item.flag.kind, item.flag.by) == (FlagKind.UNVERIFIED, "bo")


def test_two_updates_of_different_fields_are_both_kept(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    meanwhile(team.a, monkeypatch, lambda: team.b.update(FACT, ItemEdit(confidence=0.5, metadata={"b": 1})))
    team.a.update(FACT, ItemEdit(subject="ledger", metadata={"a": 1}))
    item = team.a.get(FACT)
    assert item is not None
    assert (item.confidence, item.subject, item.metadata) == (0.5, "ledger", {"a": 1, "b": 1})


def test_of_two_successors_one_wins_and_the_other_call_names_it(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    won: list[Item] = []
    meanwhile(team.a, monkeypatch, lambda: won.append(team.b.supersede(FACT, by=ItemEdit(content=OTHER))))
    with pytest.raises(InputError, match="Its successor is") as refused:
        team.a.supersede(FACT, by=ItemEdit(content=NEW))
    assert won[0].id in str(refused.value)
    assert {item.content for item in items_of(team.a.backends["mongo"])} == {OLD, OTHER}
    assert served(team.a) == {OTHER}
    assert [one.tool for one in team.a.index.corrections()] == []


def test_the_same_successor_twice_is_one_item(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    first: list[Item] = []
    meanwhile(team.a, monkeypatch, lambda: first.append(team.b.supersede(FACT, by=ItemEdit(content=NEW))))
    assert team.a.supersede(FACT, by=ItemEdit(content=NEW)).id == first[0].id
    assert len(items_of(team.b.backends["mongo"])) == 2


def test_two_items_do_not_supersede_each_other(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    team.b.add(NewItem(content=NEW, id="new"))
    meanwhile(team.a, monkeypatch, lambda: team.b.supersede("new", by_id=FACT))
    with pytest.raises(InputError):
        team.a.supersede(FACT, by_id="new")
    assert served(team.a) == {OLD}
    team.b.sync()
    assert served(team.b) == {OLD}


def test_the_copies_of_an_item_follow_all_or_none(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = team.b.backends["mongo"]
    put_items(backend, Item("copy", OLD, copy_of=FACT), Item("part", "8004", copy_of=FACT))
    meanwhile(team.a, monkeypatch, lambda: put_items(backend, Item("part", "8004 and 8005", copy_of=FACT)))
    team.a.delete(FACT)
    assert {item.id: item.flag.kind for item in items_of(backend) if item.flag} == dict.fromkeys(
        (FACT, "copy", "part"), FlagKind.DELETED
    )
    part = backend.get("part")
    assert part is not None
    assert part.content == "8004 and 8005"


def test_what_is_stored_by_another_machine_is_refused_without_a_sync(team: Team) -> None:
    with pytest.raises(InputError) as refused:
        team.b.add(NewItem(content=OLD))
    assert refused.value.slug == "item-duplicate"


def test_the_same_content_added_at_the_very_same_time_acts_as_one_item(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    meanwhile(team.a, monkeypatch, lambda: team.b.add(NewItem(content=NEW)))
    item = team.a.add(NewItem(content=NEW)).item
    twins = {one.id for one in items_of(team.a.backends["mongo"]) if one.content == NEW}
    assert len(twins) == 2
    team.b.flag(item.id, "RETRACTED")
    for store in (team.a, team.b):
        store.sync()
        assert served(store) == {OLD}


def test_a_call_that_is_overtaken_every_time_says_so_and_changes_nothing(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = team.a.backends["mongo"]
    swap, count = backend.swap, iter(range(100))

    def overtaken(swaps: list[Swap]) -> None:
        team.b.update(FACT, ItemEdit(metadata={"n": next(count)}))
        swap(swaps)

    monkeypatch.setattr(backend, "swap", overtaken)
    monkeypatch.setattr("knowbound.kms.changes._PAUSE_SECONDS", 0.0)
    with pytest.raises(ContendedError, match="item-contended"):
        team.a.update(FACT, ItemEdit(content=NEW))
    assert served(team.a) == {OLD}
    assert not any(team.a.index.unfinished())


def test_a_claim_of_a_dead_writer_is_taken_over(
    team: Team, mongo_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("knowbound.kms.backends.mongo._PATIENCE_SECONDS", 0.05)
    backend = team.a.backends["mongo"]
    put_items(backend, Item("other", "another"))
    backend._items.update_one({"_id": FACT}, {"$set": {"writing": "dead"}, "$unset": {"written": ""}})  # type: ignore[attr-defined]
    item, other = backend.get(FACT), backend.get("other")
    team.b.backends["mongo"].swap([Swap(item, Item(FACT, NEW)), Swap(other, None)])
    assert items_of(backend) == [Item(FACT, NEW)]
    assert backend._items.count_documents({"writing": {"$exists": True}}) == 0  # type: ignore[attr-defined]


# What was removed


def test_what_was_removed_for_good_before_another_machine_looked_is_not_served_there(team: Team) -> None:
    team.b.sync()
    assert served(team.b) == {OLD}
    team.a.delete(FACT)
    team.a.reap(timedelta(0))
    assert items_of(team.a.backends["mongo"]) == []
    team.b.sync()
    assert served(team.b) == set()
    [refused] = team.b.add_many([NewItem(content=OLD)])
    assert isinstance(refused, InputError)
    put_items(team.b.backends["mongo"], Item("late", OLD))  # another tool brings a copy
    for store in (team.b, team.a):
        store.sync()
        assert served(store) == set()


def test_a_new_machine_learns_what_was_removed(team: Team, url: str, tmp_path: Path) -> None:
    team.a.delete(FACT)
    team.a.reap(timedelta(0))
    with closing(open_machine(url, tmp_path / "c", "cy")) as new:
        [refused] = new.add_many([NewItem(content=OLD)])
        assert isinstance(refused, InputError)
        assert "reaped on" in str(refused)


def test_what_is_added_again_on_purpose_is_served_by_all(team: Team) -> None:
    team.a.delete(FACT)
    team.a.reap(timedelta(0))
    team.b.sync()
    team.b.add(NewItem(content=OLD), again=True)
    for store in (team.a, team.b):
        store.sync()
        assert served(store) == {OLD}
        store.sync(everything=True)
        assert served(store) == {OLD}
    team.a.delete(team.a.index.same_content(Item("", OLD).content_sha)[0].item.id)
    team.a.reap(timedelta(0))
    team.b.sync(everything=True)
    assert served(team.b) == set()


def test_a_reaping_does_not_remove_what_another_machine_brings_back(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    team.a.delete(FACT)
    meanwhile(team.a, monkeypatch, lambda: team.b.unflag(FACT))
    assert team.a.reap(timedelta(0)).removed == []
    for store in (team.a, team.b):
        store.sync()
        assert served(store) == {OLD}


# Random calls, and kills


def start(url: str, home: Path, name: str, seed: int, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.kms.machine", url, str(home), name, str(seed), str(count)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def acknowledged_until(process: subprocess.Popen[str], lines: int) -> set[str]:
    """Kill it when it has acknowledged so many calls: it is somewhere in the next one."""
    assert process.stdout is not None
    read = [line for _, line in zip(range(lines), process.stdout, strict=False)]
    process.kill()
    rest, errors = process.communicate()
    assert not errors
    return {line.split()[1] for line in [*read, *rest.splitlines()] if line.startswith("key ")}


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1, 8))
def test_no_acknowledged_change_of_machines_that_are_killed_is_lost(
    team: Team, url: str, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    keys: set[str] = set()
    for turn in range(3):
        lines = {name: chance.randrange(3, 15) for name in "ab"}
        started = {name: start(url, tmp_path / name, f"{name}{turn}-", seed + turn, 30) for name in "ab"}
        for name, process in started.items():
            keys |= acknowledged_until(process, lines[name])
    stores = (team.a, team.b)
    for store in stores:  # completes what was begun
        store.sync()
    for store in stores:
        store.sync()
    items = {item.id: item for item in items_of(team.a.backends["mongo"])}
    assert keys
    assert keys <= end_of(team.a).metadata.keys()
    assert len([item for item in items.values() if item.is_served]) == 1
    for store in stores:
        assert not any(store.index.unfinished())
        assert {known.item.id: known.item for id_ in items for known in store.index.known(id_)} == items

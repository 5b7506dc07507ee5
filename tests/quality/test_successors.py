"""A successor starts fresh: nothing measured about the wording before it is copied (specification 2, section 4)."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from knowbound.core.item import Item
from knowbound.kms.importing import import_files
from knowbound.kms.index.entry import effective_of
from knowbound.kms.knowledge_store import KnowledgeStore
from knowbound.kms.quality_log import SqliteQualityLog
from knowbound.kms.validation import ItemEdit, NewItem
from knowbound.quality.corrections import Corrections
from knowbound.quality.rollup import roll_up
from knowbound.review.fixing import apply_fix
from knowbound.store.decisions import Fix
from tests.quality.measured_project import MeasuredProject, logged, turn

DAY = "2026-11-16"
PORT = Item("kport", "The API server listens on port 8080.")
TWIN = Item("ktwin", "Port 8080 is the one that the API server uses.")
SAID = "The server listens on port 9090, not 8080."
RIGHT = "The API server listens on port 9090."


class Silenced:
    """A project with an item that contradictions brought to an effective confidence of 0."""

    def __init__(self, root: Path) -> None:
        self.project = MeasuredProject(root, [PORT, TWIN])
        self.project.log([turn(DAY, 1, [logged(PORT, "tc", correction=SAID)])])
        with closing(self.open()) as store, closing(SqliteQualityLog(self.project.home)) as log:
            store.set_quality({("sqlite", PORT.id): 0.0, ("sqlite", TWIN.id): 0.4})
            roll_up(log, store.index.corrections(), today=DAY)

    def open(self) -> KnowledgeStore:
        return self.project.store()

    def effective(self, content: str) -> float | None:
        """That of the one served item with this content."""
        with closing(self.open()) as store:
            (found,) = (one.item for one in store.index.all_items() if one.served and one.item.content == content)
            return effective_of(found)


@pytest.fixture
def silenced(tmp_path: Path) -> Silenced:
    return Silenced(tmp_path)


def _supersede(silenced: Silenced) -> None:
    with closing(silenced.open()) as store:
        store.supersede(PORT.id, by=ItemEdit(content=RIGHT))


def _supersede_two(silenced: Silenced) -> None:
    with closing(silenced.open()) as store:
        store.supersede(PORT.id, by=ItemEdit(content=RIGHT), also=[TWIN.id])


def _update(silenced: Silenced) -> None:
    with closing(silenced.open()) as store:
        store.update(PORT.id, ItemEdit(content=RIGHT))


def _accept(silenced: Silenced, content: str = "") -> None:
    with closing(silenced.open()) as store, closing(SqliteQualityLog(silenced.project.home)) as log:
        Corrections(log, store).accept(PORT.id, content)


def _accept_edited(silenced: Silenced) -> None:
    _accept(silenced, RIGHT)


def _accept_again(silenced: Silenced) -> None:
    _accept(silenced)
    with closing(silenced.open()) as store, closing(SqliteQualityLog(silenced.project.home)) as log:
        Corrections(log, store).undo(PORT.id)
    _accept(silenced)


def _fix(silenced: Silenced) -> None:
    fix = Fix("f1", "t", item=PORT.id, content=RIGHT)
    apply_fix(fix, silenced.project.settings, "ada")


def _import(silenced: Silenced) -> None:
    export = silenced.project.root / "export.jsonl"
    export.write_text(json.dumps({"id": PORT.id, "content": RIGHT}) + "\n")
    with closing(silenced.open()) as store:
        import_files(store, silenced.project.root, [export])


WAYS = [_supersede, _supersede_two, _update, _accept, _accept_edited, _accept_again, _fix, _import]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__.strip("_"))
def test_the_new_wording_has_its_stored_confidence_at_once(silenced: Silenced, way: Callable[[Silenced], None]) -> None:
    assert silenced.effective(PORT.content) == 0.0
    way(silenced)
    assert silenced.effective(RIGHT) is None


def test_a_new_item_cannot_bring_a_measured_quality(silenced: Silenced) -> None:
    with closing(silenced.open()) as store:
        given = {"quality": {"effective_confidence": 0.0}, "team": "a"}
        item = store.add(NewItem(content="Refunds are paid out on Fridays.", metadata=given)).item
    assert (effective_of(item), item.metadata) == (None, {"team": "a"})


def test_an_update_that_keeps_the_wording_keeps_what_was_measured(silenced: Silenced) -> None:
    with closing(silenced.open()) as store:
        store.update(PORT.id, ItemEdit(subject="orders"))
    assert silenced.effective(PORT.content) == 0.0


def test_an_item_that_replaces_another_keeps_its_own(silenced: Silenced) -> None:
    with closing(silenced.open()) as store:
        store.supersede(PORT.id, by_id=TWIN.id)
    assert silenced.effective(TWIN.content) == 0.4

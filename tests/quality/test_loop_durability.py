"""Effective confidences and corrections are those of a clean run, whatever is killed meanwhile (specification 2)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from knowbound.config import load
from knowbound.core.item import Item
from knowbound.core.quality import Closing, DayRollup, QualityScores
from knowbound.kms.index.database import Index
from knowbound.kms.index.entry import effective_of
from knowbound.kms.opening import open_knowledge_store, open_quality_log
from knowbound.quality.corrections import Corrections
from knowbound.quality.rollout.replay import write_effective
from knowbound.quality.rollup import roll_up
from tests.kills import killed_at_each_step
from tests.quality.measured_project import MeasuredProject, logged, turn
from tests.services import ReplicaSet, emptied
from tests.stores import items_of, put_items

ITEMS = [Item(f"k{n}", f"The service number {n} listens on port {8000 + n}.", confidence=0.8) for n in range(30)]
USED = QualityScores().after(1, 0, last="2026-11-15")
DAYS = [
    DayRollup("2026-11-15", scores={item.id: USED for item in ITEMS[::2]}),
    DayRollup(
        "2026-11-16",
        scores={
            item.id: (USED if n % 6 == 0 else QualityScores()).after(0, 0.5, last="2026-11-16")
            for n, item in enumerate(ITEMS)
            if n % 3 == 0
        },
    ),
]


def effective(index: Index) -> dict[str, float | None]:
    return {one.item.id: effective_of(one.item) for one in index.all_items()}


@pytest.mark.long
def test_a_writer_that_is_killed_at_any_step_leaves_what_the_next_one_completes(tmp_path: Path) -> None:
    def made(name: str) -> MeasuredProject:
        return MeasuredProject(tmp_path / name, ITEMS)

    clean, project, kills = made("clean"), made("0"), 0
    with closing(Index(clean.home)) as index:
        assert write_effective(clean.settings, index, DAYS, ["sqlite"]) == 20
        wanted = effective(index)

    def work() -> None:
        with closing(Index(project.home)) as index:
            write_effective(project.settings, index, DAYS, ["sqlite"])

    for _ in killed_at_each_step(work):
        kills += 1
        with closing(open_knowledge_store(project.settings)) as store:  # completes what was begun
            write_effective(project.settings, store.index, DAYS, ["sqlite"])
            assert effective(store.index) == wanted
            assert store.index.corrections() == []
        project = made(str(kills))
    assert kills > 2


@pytest.mark.long
def test_a_failover_of_mongodb_loses_and_doubles_nothing(tmp_path: Path, replica_set: ReplicaSet) -> None:
    root = tmp_path / "shop"
    root.mkdir()
    url = emptied(replica_set.url)
    environ = {"KNOWBOUND_KMS_BACKENDS": "mongo", "KNOWBOUND_KMS_MONGO_URL": url}
    settings = load(root, environ=environ)
    with closing(open_knowledge_store(settings)) as store:
        put_items(store.backends["mongo"], *[replace(item) for item in ITEMS])
        store.sync()
        killed = replica_set.primary()
        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(write_effective, settings, store.index, DAYS, ["mongo"])
            replica_set.members[killed].kill()
            assert writing.result() == 20
        store.sync()
        found = effective(store.index)
        held = {item.id: effective_of(item) for item in items_of(store.backends["mongo"])}
        assert found == held
        assert [found["k0"], found["k2"]] == pytest.approx([0.644, 0.92])
        assert found["k1"] is None
        replica_set.revive(killed)


@pytest.mark.long
def test_a_correction_that_is_accepted_while_mongodb_fails_over_is_made_once(
    tmp_path: Path, replica_set: ReplicaSet
) -> None:
    root = tmp_path / "shop"
    root.mkdir()
    environ = {"KNOWBOUND_KMS_BACKENDS": "mongo", "KNOWBOUND_KMS_MONGO_URL": emptied(replica_set.url)}
    settings = load(root, environ=environ)
    wrong = ITEMS[0]
    said = "The service number 0 listens on port 9090, not 8000."
    with closing(open_knowledge_store(settings, by="ada")) as store, closing(open_quality_log(settings)) as log:
        put_items(store.backends["mongo"], *list(ITEMS))
        store.sync()
        log.put(turn("2026-11-16", 1, [logged(wrong, "tc", correction=said)]))
        roll_up(log, [], today="2026-11-16")
        corrections = Corrections(log, store, by="ada")
        killed = replica_set.primary()
        with ThreadPoolExecutor(1) as pool:
            accepting = pool.submit(corrections.accept, wrong.id)
            replica_set.members[killed].kill()
            accepting.result()
        corrections.finish()
        corrections.accept(wrong.id)  # the same call again
        roll_up(log, store.index.corrections(), today="2026-11-16")
        (record,) = log.discoveries()
        assert (record.closing, len(log.answers())) == (Closing.RESOLVED, 1)
        assert [one.tool for one in store.index.corrections(wrong.id)] == ["kms_supersede"]
        served = [item.content for item in items_of(store.backends["mongo"]) if item.is_served]
        assert (served.count("The service number 0 listens on port 9090."), wrong.content in served) == (1, False)
        replica_set.revive(killed)

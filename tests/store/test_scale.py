"""docs/scale.md and the plans of the store's queries."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from bench.fleet import PAGE, QUERIES, kept_rates, page

from knowbound.kms.index.database import Index
from knowbound.kms.listing import ItemFilter, items_page, predecessors_of
from knowbound.kms.quality_log import SqliteQualityLog
from knowbound.store.data_dir import FINDINGS
from knowbound.store.observed import Observed


def test_the_page_is_what_its_script_prints_from_the_kept_rates() -> None:
    assert PAGE.read_text("utf-8") == page(kept_rates())


@pytest.mark.parametrize("name", [name for name in QUERIES if name != "states of all sessions"])
def test_queries_of_the_store_use_an_index(name: str, tmp_path: Path) -> None:
    Observed(tmp_path).close()
    with closing(sqlite3.connect(tmp_path / FINDINGS)) as db:
        plan = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {QUERIES[name]}")]
    assert any(step.startswith("SEARCH") for step in plan), plan


@pytest.mark.parametrize("wanted", ItemFilter)
def test_pages_of_items_use_an_index_and_read_no_other_row(wanted: ItemFilter, tmp_path: Path) -> None:
    asked: list[str] = []
    with closing(Index(tmp_path)) as index, index.reading() as db:
        db.set_trace_callback(asked.append)
        items_page(db, wanted, "", "7", 50)
        predecessors_of(db, "k")
        db.set_trace_callback(None)
        plans = [" ".join(row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {query}")) for query in asked]
    assert len(plans) == 2
    assert all(plan.startswith("SEARCH item USING") for plan in plans), plans
    assert wanted is ItemFilter.ALL or "INDEX item_" in plans[0], plans


def test_questions_to_the_log_read_no_other_documents(tmp_path: Path) -> None:
    asked: list[str] = []
    with closing(SqliteQualityLog(tmp_path)) as log:
        log._db._connection.set_trace_callback(asked.append)
        log.days()
        log.unscored()
        list(log.of_day("2026-11-01"))
        list(log.corrective("2026-11-01"))
        log.rollups("2026-11-01")
        log.verdicts_on(["k"])
        log._db._connection.set_trace_callback(None)
        plans = {
            query: " ".join(row[3] for row in log._db.rows(f"EXPLAIN QUERY PLAN {query}"))
            for query in asked
            if "kms_quality" in query
        }
    assert len(plans) == 6
    scanned = {query: plan for query, plan in plans.items() if "SCAN" in plan}
    assert sorted(plan.partition("USING ")[2] for plan in scanned.values()) == [
        "COVERING INDEX kms_quality_log_days",
        "INDEX kms_quality_log_unscored",
    ]
    assert not [plan for plan in plans.values() if "TEMP B-TREE" in plan], plans

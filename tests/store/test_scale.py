"""docs/scale.md and the plans of the store's queries."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from bench.fleet import PAGE, QUERIES, kept_rates, page

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

"""A month of the loop with a moved clock, hands off except for 50 labels (specification 2).

The judge is planted with the error rates of `bench/month.py`; everything else that decides is real.
"""

from __future__ import annotations

from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest
from bench.month import DAYS, SEEDS, TURNS, Month, play_sqlite, play_three, summary

from knowbound.kms.opening import open_index, open_quality_log
from knowbound.quality.suggesting import for_sessions
from tests.services import BoltServer

pytestmark = [pytest.mark.long]


def check(month: Month) -> None:
    """What the contract wants of a month, and that nothing was lost."""
    table = "\n".join([*month.table(), *summary(month)])
    print(table)
    corrected, discovery = month.corrected_within(7), month.discovery()
    assert corrected.n >= 5, table  # wrong items that the hook injected and the judge saw contradicted
    assert (corrected.value or 0) >= 0.7, f"{corrected}\n{table}"
    assert (discovery.value or 0) >= 0.7, f"{discovery}\n{table}"
    assert sum("kill" in day.event for day in month.days) >= 1, table
    with closing(open_quality_log(month.settings)) as log, closing(open_index(month.settings)) as index:
        days = log.rollups()
        assert (len(days), sum(day.turns for day in days)) == (DAYS, sum(day.turns for day in month.days))
        assert sum(day.injected.judged for day in days) == month.injections
        known = {one.item.id for one in index.all_items()}
        assert len(known) >= len(month.items)  # a superseded item stays in the store
        assert sum(one.served or one.item.is_held_back for one in index.all_items()) == len(month.items)
        held = {one.item.id for one in index.all_items() if one.item.is_held_back}
        assert held == {one.item for one in for_sessions(month.settings, log, index)}  # nothing is left held back


@pytest.mark.parametrize("seed", SEEDS)
def test_a_month_on_sqlite_closes_the_loop(tmp_path: Path, seed: int) -> None:
    month = play_sqlite(tmp_path, seed)
    check(month)
    assert sum(day.turns for day in month.days) == TURNS
    legs = [day.leg for day in month.days]
    killed = next(at for at, day in enumerate(month.days) if "kill" in day.event)
    assert (legs[killed - 1], legs[killed]) == (1, 0)
    assert 1 in legs[killed:]  # it comes back by itself


def test_a_month_on_three_backends_goes_from_leg_0_to_leg_3(
    tmp_path: Path, mongo_url: str, bolt_server: BoltServer
) -> None:
    month = play_three(tmp_path, mongo_url, bolt_server, SEEDS[0])
    check(month)
    legs = [day.leg for day in month.days]
    assert set(legs) == {0, 1, 2, 3}
    killed = [(before, after) for before, after in pairwise(legs) if after < before]
    assert killed == [(3, 2)], legs  # the provoked one, and no other

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from knowbound.store.judges import FILE, CallCounter, used_today
from knowbound.user_files import state_folder


def counter(*, background: bool = False, a_day: int = 5, an_hour: int = 5) -> CallCounter:
    return CallCounter(background=background, a_day=a_day, an_hour=an_hour)


def test_no_more_calls_are_reserved_than_a_day_allows_however_many_ask_at_once() -> None:
    with ThreadPoolExecutor(8) as pool:
        given = list(pool.map(lambda _: counter().reserve(), range(20)))
    assert given.count("") == 5
    assert {one for one in given if one} == {"the 5 calls of today are used up (model.budget_calls)"}
    assert used_today(background=False).calls == 5


def test_commands_and_the_background_have_counts_of_their_own() -> None:
    assert [counter(a_day=1).reserve(), counter(background=True, a_day=1).reserve()] == ["", ""]
    assert counter(a_day=1).reserve()
    assert "model.background_calls" in counter(background=True, a_day=1).reserve()


def test_an_hour_has_its_own_limit() -> None:
    few = counter(background=True, a_day=100, an_hour=2)
    assert [few.reserve(), few.reserve()] == ["", ""]
    assert few.reserve() == "the 2 calls of this hour are used up (model.background_calls)"


def test_a_limit_of_the_plan_stops_the_background_and_not_the_user() -> None:
    counter().reserve()
    counter().record(None, "the plan's limit is reached")
    assert counter(background=True).reserve() == "the plan's limit is reached"
    assert counter().reserve() == ""
    with closing(sqlite3.connect(Path(state_folder()) / FILE)) as db:
        db.execute("UPDATE pause SET until = '2020-01-01T00:00:00Z'")
        db.commit()
    assert counter(background=True).reserve() == ""


def test_known_costs_add_up() -> None:
    counter().reserve()
    for usd in (0.25, None, 0.5):
        counter().record(usd)
    assert used_today(background=False).usd == 0.75

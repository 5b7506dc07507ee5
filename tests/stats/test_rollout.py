from __future__ import annotations

import pytest

from knowbound.stats.rollout import (
    CriterionName,
    CriterionState,
    EventKind,
    Leg,
    LegStatus,
    RolloutCriterion,
    RolloutEvent,
    RolloutState,
)


@pytest.mark.parametrize(
    ("backends", "name"), [((), "measure"), (("sqlite",), "sqlite"), (("sqlite", "mongo"), "sqlite+mongo")]
)
def test_a_leg_has_the_name_of_what_it_ranks(backends: tuple[str, ...], name: str) -> None:
    assert Leg(1, backends).name == name


def test_only_the_newest_change_of_the_leg_counts_as_its_last_kill() -> None:
    advanced = RolloutEvent("2026-11-01T00:00:00Z", EventKind.ADVANCED, 0, 1)
    killed = RolloutEvent("2026-11-02T00:00:00Z", EventKind.KILLED, 1, 0)
    assert RolloutState(history=(advanced, killed)).last_kill is killed
    assert RolloutState(history=(killed,)).last_kill is killed
    assert RolloutState(history=(killed, advanced)).last_kill is None
    assert RolloutState().last_kill is None


def test_a_leg_misses_what_is_not_met_and_tells_which_limits_tripped() -> None:
    met, tripped, unknown = (RolloutCriterion(CriterionName.DAYS, state) for state in (
        CriterionState.MET, CriterionState.TRIPPED, CriterionState.UNKNOWN
    ))  # fmt: skip
    status = LegStatus(Leg(1), leave=(met, unknown), kill=(met, tripped, unknown))
    assert status.missing == (unknown,)
    assert status.tripped == (tripped,)

from __future__ import annotations

import pytest

from knowbound.core.item import Flag, FlagKind, Item


@pytest.mark.parametrize(
    ("kind", "is_served", "held_by"),
    [
        (None, True, ""),
        (FlagKind.UNVERIFIED, True, ""),
        (FlagKind.HELD_BACK, False, "lint"),
        (FlagKind.RETRACTED, False, ""),
        (FlagKind.SUPERSEDED, False, ""),
        (FlagKind.DELETED, False, ""),
    ],
)
def test_a_flag_says_whether_an_item_is_served_and_who_holds_it_back(
    kind: FlagKind | None, is_served: bool, held_by: str
) -> None:
    item = Item("k1", "Use pnpm.", flag=Flag(kind, by="lint") if kind else None)
    assert (item.is_served, item.is_held_back, item.held_by) == (is_served, bool(held_by), held_by)

from __future__ import annotations

from knowbound.core.trace import ReadShares


def test_shares_of_several_sessions_add_by_adding_counts() -> None:
    both = ReadShares(10, 1, 4, 1) + ReadShares(20, 5, 6, 4)
    assert both == ReadShares(30, 6, 10, 5)
    assert both.to_json() == {"unknown_lines": 0.2, "unknown_tools": 0.5}
    assert ReadShares().to_json() == {"unknown_lines": None, "unknown_tools": None}

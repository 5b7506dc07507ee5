from __future__ import annotations

import pytest
from bench.fuzz import fuzz

from knowbound.traces.registry import readers


@pytest.mark.parametrize("seconds", [2.0, pytest.param(30.0, marks=pytest.mark.long)])
def test_no_reader_crashes_or_hangs_on_changed_recordings(seconds: float) -> None:
    tried = fuzz(seconds=seconds, seed=10)
    assert len(tried) == len(list(readers()))
    assert all(one.lines for one in tried)
    assert [(one.name, words) for one in tried for words in one.lost] == []

from __future__ import annotations

from bench.fuzz import fuzz


def test_no_reader_crashes_or_hangs_on_changed_recordings() -> None:
    tried = fuzz(seconds=6.0, seed=10)
    assert len(tried) == 9
    assert all(one.lines for one in tried)
    assert [(one.name, words) for one in tried for words in one.lost] == []

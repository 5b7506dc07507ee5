"""Sessions are read to their findings, with the configured sources."""

from __future__ import annotations

from pathlib import Path

from knowbound.core.signal import SignalType
from knowbound.gaps.reading import drop_hedges
from tests.gaps.test_lens import findings
from tests.transcripts import Transcript


def test_without_the_source_of_hedges_every_other_signal_stays(tmp_path: Path) -> None:
    transcript = Transcript().user("go").grep("refundLedger").says("I'm not sure which service owns the refund ledger.")
    found = findings(transcript, tmp_path)
    assert {one.type for one in found.signals} == {SignalType.FAILED_SEARCH, SignalType.HEDGING}
    drop_hedges([found])
    assert {one.type for one in found.signals} == {SignalType.FAILED_SEARCH}

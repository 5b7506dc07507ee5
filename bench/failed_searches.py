"""How well failed searches are found: precision and recall on hand-labelled tool calls, k of n.

Predicted: a `failed_search` whose status is not `verification`. True: the label `miss`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from bench.labels import SHARED, labels
from knowbound.config import Settings
from knowbound.core.signal import Signal, SignalType, Status
from knowbound.gaps import observe
from knowbound.stats.rate import Rate


class Measured(NamedTuple):
    """Of the calls called a miss, how many are; of those that are one, how many were called so."""

    precision: Rate
    recall: Rate
    wrong: list[str]


def observed_signals(folder: str = "traces/claude-code") -> list[Signal]:
    """Every signal of the shared traces in a folder, through the whole of `observe`."""
    with tempfile.TemporaryDirectory() as home:
        settings = Settings(root=Path(home), home=Path(home))
        _, signals = observe.observe([SHARED / folder], settings)
        return list(signals)


def measure(signals: Iterable[Signal], *, aside: bool) -> Measured:
    """The figures on the sessions to develop on, or on those kept aside."""
    predicted = {
        call
        for signal in signals
        if signal.type is SignalType.FAILED_SEARCH and signal.status is not Status.VERIFICATION
        for call in signal.call_ids
    }
    called = misses = right = 0
    wrong = []
    for row in labels("calls", aside=aside):
        is_miss, is_called = row["label"] == "miss", row["call_id"] in predicted
        called += is_called
        misses += is_miss
        right += is_called and is_miss
        if is_called != is_miss:
            wrong.append(f"{row['call_id']} {row['tool']} {row['label']}{'' if row['sure'] else ' (unsure)'}")
    return Measured(Rate(right, called), Rate(right, misses), wrong)

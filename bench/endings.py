"""Misses against hand labels: how many are found, which stay open, how many of those are gaps, how many gaps are kept.

`miss_labels.jsonl` holds ids and labels of 306 misses of the shared traces, given by readers who had not seen the code:
what the miss was (`kind`: found, check, malformed, incidental, open) and whether a maintainer would act on it (`gap`).
`python -m bench.endings` prints both halves: the sessions to develop on, and those kept aside.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from bench import labels
from bench.labels import SHARED
from bench.measuring import HALVES, rows
from knowbound.config import Settings
from knowbound.core.signal import Signal, SignalType, Status
from knowbound.gaps import observe
from knowbound.stats.rate import Rate

LABELS = Path(__file__).parent / "miss_labels.jsonl"
# The status that fits a kind; a check is answered by the empty result, or expected it.
FITTING = {
    "found": (Status.RESOLVED,),
    "check": (Status.RESOLVED, Status.VERIFICATION),
    "malformed": (Status.MALFORMED,),
    "incidental": (Status.INCIDENTAL,),
    "open": (Status.OPEN,),
}


class Label(NamedTuple):
    """What a reader says about a miss."""

    session: str
    call_id: str
    kind: str
    gap: bool
    sure: bool
    aside: bool


class Found(NamedTuple):
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


def measure_found(signals: Iterable[Signal], *, aside: bool) -> Found:
    """Precision and recall of failed searches; true is the label `miss`, predicted any but a `verification`."""
    predicted = {
        call
        for signal in signals
        if signal.type is SignalType.FAILED_SEARCH and signal.status is not Status.VERIFICATION
        for call in signal.call_ids
    }
    called = misses = right = 0
    wrong = []
    for row in labels.labels("calls", aside=aside):
        is_miss, is_called = row["label"] == "miss", row["call_id"] in predicted
        called += is_called
        misses += is_miss
        right += is_called and is_miss
        if is_called != is_miss:
            wrong.append(f"{row['call_id']} {row['tool']} {row['label']}{'' if row['sure'] else ' (unsure)'}")
    return Found(Rate(right, called), Rate(right, misses), wrong)


class Measured(NamedTuple):
    """How the statuses agree with the labels."""

    fitting: Rate  # of all labelled misses, those with a status that fits
    open_precision: Rate  # of the misses called open, those that are open or worth acting on
    open_recall: Rate  # of the misses that stayed open, those called so
    kinds: Counter[tuple[str, str]]


def measure(signals: Iterable[Signal], labelled: list[Label]) -> Measured:
    of_call = {call: one for one in signals if one.type is SignalType.FAILED_SEARCH for call in one.call_ids}
    kinds: Counter[tuple[str, str]] = Counter()
    fits = called = right = is_open = kept = 0
    for row in labelled:
        signal = of_call.get(row.call_id)
        status = signal.status if signal else None
        kinds[row.kind, str(status or "none")] += 1
        fits += status in FITTING[row.kind]
        called += status is Status.OPEN
        right += status is Status.OPEN and (row.kind == "open" or row.gap)
        is_open += row.kind == "open"
        kept += row.kind == "open" and status is Status.OPEN
    return Measured(Rate(fits, len(labelled)), Rate(right, called), Rate(kept, is_open), kinds)


def report() -> None:
    """Print the figures of both halves, with the plain baseline beside them: every miss stays open."""
    if not SHARED.is_dir():
        print("endings: not measured, the shared traces are not there")
        return
    signals = observed_signals("traces")
    known = [Label(**row) for row in rows(LABELS)]
    for name, aside in HALVES:
        half = [row for row in known if row.aside == aside]
        found = measure(signals, half)
        worth = sum(row.gap or row.kind == "open" for row in half)
        print(f"endings of misses, {name} ({len(half)} labelled)")
        print(f"  status fits              {found.fitting}")
        print(f"  open: worth acting on    {found.open_precision}   (every miss open: {Rate(worth, len(half))})")
        print(f"  open: kept               {found.open_recall}")
        for kind in FITTING:
            counts = {status: number for (label, status), number in found.kinds.items() if label == kind}
            print(f"    {kind:11} " + ", ".join(f"{status} {number}" for status, number in sorted(counts.items())))


if __name__ == "__main__":
    report()

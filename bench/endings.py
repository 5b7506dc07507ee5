"""What misses come to, against hand labels: which stay open, how many of those are gaps, and how many gaps are kept.

`miss_labels.jsonl` holds ids and labels of 306 misses of the shared traces, given by readers who had not seen the code:
what the miss was (`kind`: found, check, malformed, incidental, open) and whether a maintainer would act on it (`gap`).
`python -m bench.endings` prints both halves: the sessions to develop on, and those kept aside.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from bench.failed_searches import observed_signals
from bench.labels import SHARED
from knowbound.core.signal import Signal, SignalType, Status
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


def labels(*, aside: bool) -> list[Label]:
    """The labels of one half."""
    rows = [Label(**json.loads(line)) for line in LABELS.read_text().splitlines()]
    return [row for row in rows if row.aside == aside]


class Measured(NamedTuple):
    """How the statuses agree with the labels."""

    fitting: Rate  # of all labelled misses, those with a status that fits
    open_precision: Rate  # of the misses called open, those that are open or worth acting on
    open_recall: Rate  # of the misses that stayed open, those called so
    kinds: Counter[tuple[str, str]]


def measure(signals: Iterable[Signal], rows: list[Label]) -> Measured:
    """The figures of one half."""
    of_call = {call: one for one in signals if one.type is SignalType.FAILED_SEARCH for call in one.call_ids}
    kinds: Counter[tuple[str, str]] = Counter()
    fits = called = right = is_open = kept = 0
    for row in rows:
        signal = of_call.get(row.call_id)
        status = signal.status if signal else None
        kinds[row.kind, str(status or "none")] += 1
        fits += status in FITTING[row.kind]
        called += status is Status.OPEN
        right += status is Status.OPEN and (row.kind == "open" or row.gap)
        is_open += row.kind == "open"
        kept += row.kind == "open" and status is Status.OPEN
    return Measured(Rate(fits, len(rows)), Rate(right, called), Rate(kept, is_open), kinds)


def report() -> None:
    """Print the figures of both halves, with the plain baseline beside them: every miss stays open."""
    if not SHARED.is_dir():
        print("endings: not measured, the shared traces are not there")
        return
    signals = observed_signals("traces")
    for aside in (False, True):
        rows = labels(aside=aside)
        found = measure(signals, rows)
        worth = sum(row.gap or row.kind == "open" for row in rows)
        print(f"endings of misses, {'kept aside' if aside else 'developed on'} ({len(rows)} labelled)")
        print(f"  status fits              {found.fitting}")
        print(f"  open: worth acting on    {found.open_precision}   (every miss open: {Rate(worth, len(rows))})")
        print(f"  open: kept               {found.open_recall}")
        for kind in FITTING:
            counts = {status: number for (label, status), number in found.kinds.items() if label == kind}
            print(f"    {kind:11} " + ", ".join(f"{status} {number}" for status, number in sorted(counts.items())))


if __name__ == "__main__":
    report()

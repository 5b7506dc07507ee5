"""How well screening separates attacks from procedures: precision and recall on texts written for it, k of n.

`python -m bench.screening` shows the half that rules were developed on, with what is wrong; `--aside` the half kept for
measuring only. Real items (the shared turns) are all expected to pass.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import NamedTuple

from bench.labels import SHARED, injected_items
from bench.measuring import hashed, rows
from knowbound.kms.screening import screened
from knowbound.stats.rate import Rate

TEXTS = Path(__file__).with_name("screening_texts.jsonl")


class Text(NamedTuple):
    text: str
    attack: bool
    kind: str


class Measured(NamedTuple):
    """Of the texts kept back, how many are attacks; of the attacks, how many were kept back; and the mistakes."""

    precision: Rate
    recall: Rate
    passed: Rate  # of the procedures that sound like attacks
    wrong: list[Text]


def texts(*, aside: bool) -> list[Text]:
    """One half of the list, split by the hash of the text."""
    found = [Text(**row) for row in rows(TEXTS)]
    return [text for text in found if hashed(text.text, 2) == aside]


def measure(given: list[Text]) -> Measured:
    found = [row for row in given if screened(row.text)]
    right = sum(row.attack for row in found)
    attacks = sum(row.attack for row in given)
    fine = len(given) - attacks
    wrong = [row for row in given if (screened(row.text) is not None) != row.attack]
    return Measured(Rate(right, len(found)), Rate(right, attacks), Rate(fine - (len(found) - right), fine), wrong)


def report(*, aside: bool) -> None:
    found = measure(texts(aside=aside))
    print("kept aside" if aside else "developed on")
    print(f"  precision {found.precision}   recall {found.recall}   hard negatives passed {found.passed}")
    for row in found.wrong if not aside else ():
        print(f"    {'missed' if row.attack else 'kept back'} ({row.kind}): {row.text!r} {screened(row.text) or ''}")
    if SHARED.exists():
        items = injected_items()
        start = time.perf_counter()
        kept = [item for item in items if screened(item)]
        spent = (time.perf_counter() - start) / len(items)
        print(f"  real items passed {Rate(len(items) - len(kept), len(items))}, {spent * 1e6:.0f} µs each")
        for item in kept:
            print(f"    kept back: {item!r} {screened(item)}")


if __name__ == "__main__":
    report(aside="--aside" in sys.argv[1:])

"""Learns what the traits of a passage are worth for an answer: `python -m bench.train_consult [--write]`.

Ridge-regularised logistic regression on the bases of `bench/knowledge` that are developed on. The table shows each base
judged by weights that never saw it. `--write` ships the weights of all of them.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from bench.consult import KINDS, Row, rows, shelf_of
from knowbound.core.rate import Rate
from knowbound.evidence import decision
from knowbound.evidence.consult import LIKELY
from knowbound.evidence.decision import Weights, traits_of
from knowbound.evidence.reading import readings_of, terms_for
from knowbound.evidence.request import request_of

TARGET = Path(decision.__file__).with_name("consult_weights.json")
_RIDGE, _STEPS, _RATE = 5.0, 3000, 0.3
Floats = NDArray[np.float64]


def traits(row: Row) -> dict[str, float] | None:
    """The traits of the best passage for a question; None where nothing speaks of any of it."""
    shelf = shelf_of(row.base)
    request = request_of(row.question)
    terms = terms_for(request, shelf)
    readings = readings_of(request, terms, shelf)
    return traits_of(readings, terms) if readings else None


def learn(table: Floats, answered: Floats, names: list[str]) -> Weights:
    """The weights, for traits as they are."""
    mean, spread = table.mean(0), table.std(0) + 1e-6
    scaled = (table - mean) / spread
    slopes, bias = np.zeros(table.shape[1]), 0.0
    for _ in range(_STEPS):
        off = 1 / (1 + np.exp(-(scaled @ slopes + bias))) - answered
        slopes -= _RATE * (scaled.T @ off + _RIDGE * slopes) / len(answered)
        bias -= _RATE * float(off.mean())
    raw = slopes / spread
    return Weights(
        round(bias - float(raw @ mean), 4), {name: round(float(one), 4) for name, one in zip(names, raw, strict=True)}
    )


def says(weights: Weights, found: dict[str, float]) -> bool:
    """Whether these weights take the passage for an answer."""
    score = weights.bias + sum(weights.traits[name] * value for name, value in found.items())
    return bool(1 / (1 + np.exp(-score)) >= LIKELY)


def main() -> None:
    """Print the table; ship the weights where asked to."""
    parser = argparse.ArgumentParser(prog="bench.train_consult")
    parser.add_argument("--write", action="store_true", help="ship the weights")
    given = parser.parse_args()
    known = [(row, found) for row in rows(aside=False) if (found := traits(row)) is not None]
    names = list(known[0][1])
    table = np.array([[found[name] for name in names] for _, found in known])
    answered = np.array([float(row.kind in ("direct", "paraphrased")) for row, _ in known])
    right = dict.fromkeys(KINDS, Rate())
    for base in sorted({row.base for row, _ in known}):
        rest = np.array([row.base != base for row, _ in known])
        weights = learn(table[rest], answered[rest], names)
        for row, found in known:
            if row.base == base:
                good = says(weights, found) == (row.kind in ("direct", "paraphrased"))
                right[row.kind] += Rate(int(good), 1)
    print("Each base by weights that never saw it (whether it is answered; not from which file)")
    for kind, rate in right.items():
        print(f"  {kind:12} {rate}")
    if given.write:
        TARGET.write_bytes(msgspec.json.format(msgspec.json.encode(learn(table, answered, names)), indent=1) + b"\n")
        print(f"wrote {TARGET.name}")


if __name__ == "__main__":
    main()

"""Learns what the features of a passage are worth for an answer: `python -m bench.train_consult [--write]`.

Ridge-regularised logistic regression on the bases of `bench/knowledge` that are developed on. Every question that has
an answer is also asked of its base without the files that have it (then nothing answers it: what an agent meets before
the knowledge is written), and of small bases with and without them. The table shows each base judged by weights that
never saw it. `--write` ships the weights of all of them.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from bench.consult import Row, files_of, index_of, rows
from knowbound.documents import decision
from knowbound.documents.answer import LIKELY
from knowbound.documents.decision import AnswerWeights, features_of
from knowbound.documents.matching import matches_for, weighted_terms
from knowbound.documents.prompt import parse_prompt
from knowbound.stats.rate import Rate
from knowbound.text.intent import read_question

TARGET = Path(decision.__file__).with_name("answer_weights.json")
_RIDGE, _STEPS, _RATE = 5.0, 900, 0.4
_ANSWERABLE = frozenset({"direct", "paraphrased"})
_FEW = 2  # files beside the gold ones in a small base
# What an example counts, by where it comes from: those made from others count less than those that people wrote.
_WHOLE, _WITHOUT, _FEW_WITHOUT, _SMALL = 1.0, 0.6, 0.3, 0.5
Floats = NDArray[np.float64]


class Example(NamedTuple):
    """A question asked of some files of its base."""

    base: str
    kind: str  # as labelled; `removed` where the files that answer were taken away
    answered: bool
    weight: float
    features: dict[str, float]


def examples() -> Iterator[Example]:
    """Every question of the bases that are developed on, of the whole base and of parts of it."""
    for row in rows(aside=False):
        answers = row.kind in _ANSWERABLE
        yield from _example(row, files_of(row.base), row.kind, answers, _WHOLE)
        if answers:
            left = tuple(path for path in files_of(row.base) if path not in row.gold)
            few = tuple(random.Random(row.id).sample(left, min(_FEW, len(left))))
            yield from _example(row, left, "removed", False, _WITHOUT)
            yield from _example(row, few, "removed", False, _FEW_WITHOUT)
            yield from _example(row, (*row.gold, *few), row.kind, True, _SMALL)


def _example(row: Row, files: tuple[str, ...], kind: str, answered: bool, weight: float) -> Iterator[Example]:
    index = index_of(row.base, tuple(sorted(files)))
    prompt = parse_prompt(read_question(row.question))
    terms = weighted_terms(prompt, index)
    matches = matches_for(prompt, terms, index)
    # Where the best passage is not the one that answers, it is no example of an answer.
    if matches and (not answered or matches[0].indexed.section.path in row.gold):
        yield Example(row.base, kind, answered, weight, features_of(matches, terms))


def learn(known: list[Example]) -> AnswerWeights:
    """The weights, for features as they are; answers and refusals count the same in all."""
    names = list(known[0].features)
    table = np.array([[one.features[name] for name in names] for one in known])
    answered = np.array([float(one.answered) for one in known])
    weight = np.array([one.weight for one in known])
    weight[answered == 1] *= weight[answered == 0].sum() / weight[answered == 1].sum()
    mean, spread = table.mean(0), table.std(0) + 1e-6
    scaled = (table - mean) / spread
    slopes, bias = np.zeros(len(names)), 0.0
    for _ in range(_STEPS):
        off: Floats = (1 / (1 + np.exp(-(scaled @ slopes + bias))) - answered) * weight
        slopes -= _RATE * (scaled.T @ off + _RIDGE * slopes) / weight.sum()
        bias -= _RATE * float(off.sum() / weight.sum())
    raw = slopes / spread
    return AnswerWeights(
        round(bias - float(raw @ mean), 4), {name: round(float(one), 4) for name, one in zip(names, raw, strict=True)}
    )


def says(weights: AnswerWeights, found: dict[str, float]) -> bool:
    """Whether these weights take the passage for an answer."""
    score = weights.bias + sum(weights.features[name] * value for name, value in found.items())
    return bool(1 / (1 + np.exp(-score)) >= LIKELY)


def main() -> None:
    """Print the table; ship the weights where asked to."""
    parser = argparse.ArgumentParser(prog="bench.train_consult")
    parser.add_argument("--write", action="store_true", help="ship the weights")
    given = parser.parse_args()
    known = list(examples())
    right: dict[str, Rate] = {}
    for base in sorted({one.base for one in known}):
        weights = learn([one for one in known if one.base != base])
        for one in known:
            if one.base == base:
                good = says(weights, one.features) == one.answered
                right[one.kind] = right.get(one.kind, Rate()) + Rate(int(good), 1)
    print("Each base by weights that never saw it (whether it is answered, where the best passage could be right)")
    for kind, rate in right.items():
        print(f"  {kind:12} {rate}")
    if given.write:
        TARGET.write_bytes(msgspec.json.format(msgspec.json.encode(learn(known)), indent=1) + b"\n")
        print(f"wrote {TARGET.name}")


if __name__ == "__main__":
    main()

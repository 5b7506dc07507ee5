"""Fits what the parts of a score weigh and the prior (kms/index/ranking.py).

    python -m bench.fit_relevance SET… [--items 5 100 5000] [--filler DIR] [--padded] [--each]

For every prompt the hook's own search gives the candidates with their parts; an item that the prompt needs, or that
bears on it, is on topic. A logistic regression (Newton's method, a little ridge) turns the parts into the likelihood
that an item is on topic. Sets, sizes and filler are those of bench/injection.py. `--padded` adds every short prompt
again among ordinary sentences of a task, before or after it: what a prompt is about does not depend on what else is
said. `--each` fits each set alone too, to see how far the weights depend on the set.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.injection import SETTINGS, SIZES
from bench.injection_sets import LabelledSet, build, filler_of, read_set, stores
from knowbound.core.item import Item
from knowbound.injection.inject import choose_for_prompt
from knowbound.injection.prompt import HookPrompt
from knowbound.kms.index.ranking import ITEMS, prior_of

_RIDGE = 0.3
_STEPS = 30
_SHORT = 60  # characters
_SENTENCES = (
    "I have about an hour for this before the review.",
    "Please keep the change small and tell me what you touched.",
    "We talked about this in standup and everyone agreed it should be done this week.",
    "If something looks off on the way, note it but do not fix it now.",
    "Look at how the neighbouring module does it and stay consistent with that.",
    "Add a test that fails without the change.",
    "The last person who worked on this left, so there is nobody to ask.",
    "I already tried the obvious thing and it did not help.",
    "When you are done, summarise the result in two sentences.",
    "It used to be fine a month ago and nobody remembers a change.",
    "Take your time and read the surrounding code first.",
    "Half of the file is generated, so be careful what you edit.",
)

Array = npt.NDArray[np.float64]


def rows_of(one: LabelledSet, sizes: Sequence[int], filler: Sequence[Item], *, padded: bool) -> tuple[Array, Array]:
    """The parts of every candidate of every prompt, what its prior is made of, and whether it is on topic."""
    parts, labels = [], []
    for store in [store for size in sizes for store in stores(one, size, [], filler)]:
        with tempfile.TemporaryDirectory() as folder:
            build(Path(folder), store.items)
            items = prior_of(len(store.items)) / ITEMS
            for prompt in store.prompts:
                good = {*prompt.label.right, *prompt.label.on_topic}
                for text in _forms(prompt.label.prompt) if padded else [prompt.label.prompt]:
                    for item in choose_for_prompt(folder, SETTINGS, HookPrompt({"prompt": text})).pool:
                        parts.append([item.words, item.meaning, items])
                        labels.append(item.id in good)
    return np.array(parts), np.array(labels, float)


def _forms(prompt: str) -> Iterable[str]:
    yield prompt
    if len(prompt) <= _SHORT:
        chance = random.Random(prompt)
        around = chance.sample(_SENTENCES, 3)
        at = chance.randrange(4)
        yield " ".join([*around[:at], prompt if prompt.endswith((".", "?", "!")) else f"{prompt}.", *around[at:]])


def fitted(parts: Array, labels: Array) -> Array:
    """The weights, that of nothing first."""
    given = np.column_stack([np.ones(len(parts)), parts])
    weights = np.zeros(given.shape[1])
    held = np.full(given.shape[1], _RIDGE)
    held[0] = 0.0
    for _ in range(_STEPS):
        likely = 1 / (1 + np.exp(-given @ weights))
        slope = given.T @ (labels - likely) - held * weights
        bend = (given * (likely * (1 - likely))[:, None]).T @ given + np.diag(held)
        weights += np.linalg.solve(bend, slope)
    return weights


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.fit_relevance")
    parser.add_argument("sets", nargs="+", type=Path, metavar="SET")
    parser.add_argument("--items", type=int, nargs="+", default=SIZES)
    parser.add_argument("--filler", type=Path)
    parser.add_argument("--padded", action="store_true")
    parser.add_argument("--each", action="store_true")
    given = parser.parse_args()
    filler = filler_of(given.filler) if given.filler else []
    rows = {path.name: rows_of(read_set(path), given.items, filler, padded=given.padded) for path in given.sets}
    for name, (parts, labels) in rows.items() if given.each else ():
        _show(name, fitted(parts, labels))
    parts, labels = (np.concatenate([one[place] for one in rows.values()]) for place in (0, 1))
    print(f"{len(labels)} candidates, {int(labels.sum())} on topic")
    _show("all", fitted(parts, labels))


def _show(name: str, weights: Array) -> None:
    at_rest, words, meaning, items = weights
    print(f"{name:10} INTERCEPT {at_rest:.2f}, WORDS {words:.2f}, MEANING {meaning:.2f}, ITEMS {items:.2f}")


if __name__ == "__main__":
    main()

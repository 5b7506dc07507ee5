"""At which likeness two items say nearly the same: measured on pairs, half of them kept for measuring only.

`python -m bench.near_duplicates` prints, for meaning, words and their mean, the threshold that parts the pairs it is
chosen on best, and what it does to the pairs kept aside and to real items that were injected together.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bench.labels import SHARED
from knowbound.kms.duplicates import NEAR, likeness, stems
from knowbound.stats.rate import Rate
from knowbound.text.embedding import embed, similarity

PAIRS = Path(__file__).with_name("duplicate_pairs.jsonl")


class Pair(NamedTuple):
    """Two texts, and whether they say nearly the same."""

    one: str
    other: str
    same: bool


def pairs(*, aside: bool) -> list[Pair]:
    """One half of the pairs, split by the hash of the first text."""
    rows = [Pair(**json.loads(line)) for line in PAIRS.read_text("utf-8").splitlines()]
    return [row for row in rows if hashlib.sha256(row.one.encode()).digest()[0] % 2 == aside]


def meaning(pair: Pair) -> float:
    """The cosine alone."""
    return similarity(embed(pair.one), embed(pair.other))


def words(pair: Pair) -> float:
    """The words alone."""
    return 2 * likeness(0, stems(pair.one), stems(pair.other))


def both(pair: Pair) -> float:
    """As `kms add` compares."""
    return likeness(meaning(pair), stems(pair.one), stems(pair.other))


def found_and_false(rows: list[Pair], score: Callable[[Pair], float], threshold: float) -> tuple[Rate, Rate]:
    """Of the pairs that are the same, how many are found; of the others, how many are wrongly shown."""
    same = [row for row in rows if row.same]
    different = [row for row in rows if not row.same]
    return (
        Rate(sum(score(row) >= threshold for row in same), len(same)),
        Rate(sum(score(row) >= threshold for row in different), len(different)),
    )


def best_threshold(rows: list[Pair], score: Callable[[Pair], float]) -> float:
    """The middle of the range that parts the pairs best."""
    scores = [(score(row), row.same) for row in rows]
    marks = [step / 100 for step in range(101)]

    def right(mark: float) -> int:
        return sum((value >= mark) == same for value, same in scores)

    best = max(map(right, marks))
    good = [mark for mark in marks if right(mark) == best]
    return good[len(good) // 2]


def real_pairs() -> list[Pair]:
    """Items that were injected together: other facts about the same subject."""
    lines = (SHARED / "injection" / "turns.jsonl").read_text("utf-8").splitlines()
    turns = [[item["content"] for item in json.loads(line)["items"]] for line in lines]
    return [Pair(one, other, False) for turn in turns for one, other in itertools.combinations(turn, 2)]


def report() -> None:
    """Print the table."""
    chosen_on, aside = pairs(aside=False), pairs(aside=True)
    for name, score in (("meaning", meaning), ("words", words), ("mean of both", both)):
        threshold = best_threshold(chosen_on, score)
        for what, rows in (("chosen on", chosen_on), ("kept aside", aside)):
            found, false = found_and_false(rows, score, threshold)
            print(f"{name:13} ≥ {threshold:.2f}  {what:10}  found {found}   wrongly shown {false}")
    found, false = found_and_false(aside, both, NEAR)
    print(f"in use: ≥ {NEAR:.2f}  kept aside  found {found}   wrongly shown {false}")
    if SHARED.exists():
        rows = real_pairs()
        print(f"in use: real items injected together  shown {found_and_false(rows, both, NEAR)[1]}")
        for row in sorted(rows, key=both, reverse=True)[:5]:
            print(f"  {both(row):.2f}  {row.one!r}  {row.other!r}")


if __name__ == "__main__":
    report()

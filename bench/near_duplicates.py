"""When two items are the same, nearly the same, or one states again what the other no longer says; measured on pairs.

`python -m bench.near_duplicates` prints, for meaning, words and their mean, the threshold that parts the pairs it is
chosen on best, and what it does to the pairs kept aside and to real items that were injected together. Then which pairs
have the same content (core/item.py), and which rewordings of superseded facts are recognised
(kms/refusals.py), each beside the hash of 0.1.0, where only white space does not count.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bench.labels import SHARED, injected_items, injected_turns
from bench.measuring import hashed, rows
from knowbound.core.item import content_sha, spaced_sha
from knowbound.kms.refusals import NEAR, likeness, restates, stems
from knowbound.stats.rate import Rate
from knowbound.text.embedding import embed, similarity

PAIRS = Path(__file__).with_name("duplicate_pairs.jsonl")
SAME_CONTENT = Path(__file__).with_name("same_content_pairs.jsonl")
RETURNING = Path(__file__).with_name("returning_facts.jsonl")


class Pair(NamedTuple):
    """Two texts, and whether they say nearly the same."""

    one: str
    other: str
    same: bool


class Returning(NamedTuple):
    """A superseded fact, its successor, rewordings of the old one, and other facts near it."""

    old: str
    new: str
    again: list[str]
    fresh: list[str]
    late: bool = False  # written after the first measuring


def pairs(*, aside: bool, file: Path = PAIRS) -> list[Pair]:
    """One half of the pairs, split by the hash of the first text."""
    found = [Pair(**row) for row in rows(file)]
    return [pair for pair in found if is_aside(pair.one) == aside]


def is_aside(text: str) -> bool:
    """Whether what begins with this text is kept for measuring."""
    return bool(hashed(text, 2))


def returning() -> dict[str, list[Returning]]:
    """The superseded facts by what they are for."""
    facts = [Returning(**row) for row in rows(RETURNING)]
    return {
        "made on": [fact for fact in facts if not fact.late and not is_aside(fact.old)],
        "kept aside, seen once": [fact for fact in facts if not fact.late and is_aside(fact.old)],
        "written later, kept aside": [fact for fact in facts if fact.late],
    }


def meaning(pair: Pair) -> float:
    return similarity(embed(pair.one), embed(pair.other))


def words(pair: Pair) -> float:
    return 2 * likeness(0, stems(pair.one), stems(pair.other))


def both(pair: Pair) -> float:
    """As `kms add` compares."""
    return likeness(meaning(pair), stems(pair.one), stems(pair.other))


def found_and_false(given: list[Pair], score: Callable[[Pair], float], threshold: float) -> tuple[Rate, Rate]:
    """Of the pairs that are the same, how many are found; of the others, how many are wrongly shown."""
    same = [row for row in given if row.same]
    different = [row for row in given if not row.same]
    return (
        Rate(sum(score(row) >= threshold for row in same), len(same)),
        Rate(sum(score(row) >= threshold for row in different), len(different)),
    )


def best_threshold(given: list[Pair], score: Callable[[Pair], float]) -> float:
    """The middle of the range that parts the pairs best."""
    scores = [(score(row), row.same) for row in given]
    marks = [step / 100 for step in range(101)]

    def right(mark: float) -> int:
        return sum((value >= mark) == same for value, same in scores)

    best = max(map(right, marks))
    good = [mark for mark in marks if right(mark) == best]
    return good[len(good) // 2]


def real_pairs() -> list[Pair]:
    turns = [[item["content"] for item in turn["items"]] for turn in injected_turns()]
    return [Pair(one, other, False) for turn in turns for one, other in itertools.combinations(turn, 2)]


def same_content_report() -> None:
    for what, aside in (("made on", False), ("kept aside", True)):
        for name, sha in (("only white space folded", spaced_sha), ("in use", content_sha)):
            given = pairs(aside=aside, file=SAME_CONTENT)
            same = [sha(row.one) == sha(row.other) for row in given if row.same]
            other = [sha(row.one) == sha(row.other) for row in given if not row.same]
            found, wrong = Rate(sum(same), len(same)), Rate(sum(other), len(other))
            print(f"same content, {name:23}  {what:10}  found {found}   wrongly the same {wrong}")


def returning_report() -> None:
    """Print which texts are taken for a rewording of a superseded fact."""

    def by_hash(text: str, old: str, _: str) -> bool:
        return spaced_sha(text) == spaced_sha(old)

    for what, facts in returning().items():
        for name, rule in (("hash of 0.1.0", by_hash), ("in use", restates)):
            again = [rule(text, fact.old, fact.new) for fact in facts for text in fact.again]
            fresh = [rule(text, fact.old, fact.new) for fact in facts for text in fact.fresh]
            found, wrong = Rate(sum(again), len(again)), Rate(sum(fresh), len(fresh))
            print(f"rewordings, {name:13}  {what:25}  found {found}   other facts refused {wrong}")


def real_refused() -> Rate:
    """Every real item with a number superseded by the same with another: which other real items are then refused."""
    items = injected_items()
    vectors = {item: embed(item) for item in items}
    judged = [
        restates(other, old, f"{old[: number.start()]}{int(number[0]) + 7}{old[number.end() :]}")
        for old in items
        if (number := re.search(r"\d+", old))
        for other in items
        if other != old and similarity(vectors[old], vectors[other]) >= 2 * NEAR - 1
    ]
    return Rate(sum(judged), len(judged))


def report() -> None:
    same_content_report()
    returning_report()
    chosen_on, aside = pairs(aside=False), pairs(aside=True)
    for name, score in (("meaning", meaning), ("words", words), ("mean of both", both)):
        threshold = best_threshold(chosen_on, score)
        for what, given in (("chosen on", chosen_on), ("kept aside", aside)):
            found, false = found_and_false(given, score, threshold)
            print(f"{name:13} ≥ {threshold:.2f}  {what:10}  found {found}   wrongly shown {false}")
    found, false = found_and_false(aside, both, NEAR)
    print(f"in use: ≥ {NEAR:.2f}  kept aside  found {found}   wrongly shown {false}")
    if SHARED.exists():
        print(f"rewordings, in use: other real items near a superseded one  refused {real_refused()}")
        real = real_pairs()
        print(f"in use: real items injected together  shown {found_and_false(real, both, NEAR)[1]}")
        for row in sorted(real, key=both, reverse=True)[:5]:
            print(f"  {both(row):.2f}  {row.one!r}  {row.other!r}")


if __name__ == "__main__":
    report()

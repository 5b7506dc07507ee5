"""How well rules tell items that contradict each other, beside similarity: `python -m bench.conflicts`.

The pairs are our own (`tests/injection/conflict_pairs.jsonl`): facts in the style of items, worded alike
(`development`, `aside`) and as different people word them (`reworded`, `reworded aside`). The pairs kept aside were
written before the rules, which were made on the others; they have been looked at since, when rules were removed.
`several values` is what may have several values beside what has one at a time, `other cases` what holds for different
cases, both from somebody who had not seen the rules. A pair with a `kind` is one that the rules are for; the others
need a model.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.measuring import options, rows
from knowbound.injection.conflicts import conflicts_among
from knowbound.kms.search.ranking import FoundItem
from knowbound.text.embedding import embed, similarity

PAIRS = Path(__file__).parents[1] / "tests" / "injection" / "conflict_pairs.jsonl"
PARTS = ("development", "aside", "several values", "several values aside", "reworded", "reworded aside", "other cases")
_ALIKE = 0.9


def pairs(part: str) -> list[dict[str, Any]]:
    return [pair for pair in rows(PAIRS) if pair["part"] == part]


def conflicting(a: str, b: str) -> bool:
    """As the hook asks it."""
    return bool(conflicts_among([FoundItem("a", "", "a", content=a), FoundItem("b", "", "b", content=b)]))


def alike(a: str, b: str) -> bool:
    """The baseline: the embeddings are nearly the same."""
    return similarity(embed(a), embed(b)) >= _ALIKE


def report(*, shows_errors: bool = False) -> None:
    print("\nItems in conflict (precision counts more)")
    rules: dict[str, Callable[[str, str], bool]] = {"rules": conflicting, f"similarity ≥ {_ALIKE}": alike}
    for part in PARTS:
        for name, decide in rules.items():
            judged = [(pair, decide(pair["a"], pair["b"])) for pair in pairs(part)]
            right = sum(found and pair["conflict"] for pair, found in judged)
            said = sum(found for _, found in judged)
            there = sum(pair["conflict"] for pair, _ in judged)
            precision = f"{right}/{said}" if said else "none found"
            print(f"  {part:20} {name:18} {len(judged):3} pairs   precision {precision:8}  recall {right}/{there}")
            if shows_errors and "aside" not in part and decide is conflicting:
                for pair, found in judged:
                    if found != pair["conflict"]:
                        print(f"      {'false' if found else 'missed'}: {pair['a']} | {pair['b']}")


if __name__ == "__main__":
    report(shows_errors=options(__doc__, errors=False).errors)

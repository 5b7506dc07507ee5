"""What everyday phrasings want: the share read right, class by class, on `bench/questions/intents.jsonl`.

`python -m bench.intents [--wrong] [--developed-only]` shows both halves apart: the rows the rules were written with,
and those kept aside. `--wrong` lists the errors on the first half.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec

from bench.measuring import HALVES, options
from knowbound.core.evidence import QuestionKind
from knowbound.stats.rate import Rate
from knowbound.text.questions.intent import read_question

_ROWS = Path(__file__).parent / "questions/intents.jsonl"
# A label names what is needed; these kinds need the same.
_SAME = {QuestionKind.OPEN: "locate", QuestionKind.WORKS: "tests_pass", QuestionKind.EXECUTE: "run_tests"}


class Row(msgspec.Struct, frozen=True):
    """A phrasing with what it needs."""

    question: str
    need: str
    aside: bool
    id: str = ""


@cache
def rows() -> tuple[Row, ...]:
    lines = _ROWS.read_text(encoding="utf-8").splitlines()
    return tuple(msgspec.json.decode(line, type=Row) for line in lines if line)


def read_as(row: Row) -> str:
    """The need that the rules see."""
    kind = read_question(row.question).kind
    return _SAME.get(kind, kind.value)


def rates(some: list[Row]) -> dict[str, Rate]:
    """The share that is right by need, and of all."""
    found: dict[str, Rate] = {}
    for row in some:
        for name in (row.need, "all"):
            found[name] = found.get(name, Rate()) + Rate(int(read_as(row) == row.need), 1)
    return dict(sorted(found.items(), key=lambda one: (one[0] == "all", one[0])))


def report(*, wrong: bool = False, developed_only: bool = False) -> None:
    print("What a phrasing needs (aim on what is kept aside: 95%)")
    for name, aside in HALVES[: 1 if developed_only else 2]:
        half = [row for row in rows() if row.aside is aside]
        print(f"  {name}")
        for need, rate in rates(half).items():
            print(f"    {need:12} {rate}")
    for row in rows() if wrong else ():
        if not row.aside and read_as(row) != row.need:
            print(f"  {row.id}: {row.question}\n      needs {row.need}, read as {read_as(row)}")


if __name__ == "__main__":
    given = options(__doc__, wrong=False, developed_only=False)
    report(wrong=given.wrong, developed_only=given.developed_only)

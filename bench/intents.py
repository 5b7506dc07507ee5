"""What everyday phrasings want: the share read right, class by class, on `bench/questions/intents.jsonl`.

`python -m bench.intents [--wrong] [--developed-only]` shows both halves apart: the rows the rules were written with,
and those kept aside. `--wrong` lists the errors on the first half.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec

from bench.measuring import HALVES, options
from knowbound.core.evidence import Intent
from knowbound.stats.rate import Rate
from knowbound.text.intent import intent_of

_ROWS = Path(__file__).parent / "questions/intents.jsonl"
# The intent of each label, where it has another name.
_INTENTS = {
    "callers": Intent.NAVIGATE,
    "history": Intent.STATUS,
    "ci_state": Intent.STATUS,
    "ci_cause": Intent.DIAGNOSE,
    "compiles": Intent.EXECUTE,
    "tests_pass": Intent.EXECUTE,
    "run_build": Intent.EXECUTE,
    "run_tests": Intent.EXECUTE,
}


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


def is_right(row: Row) -> bool:
    """Report whether the table sees the intent of the label."""
    meant = _INTENTS[row.need] if row.need in _INTENTS else Intent(row.need)
    seen = intent_of(row.question)
    return seen is meant or {seen, meant} == {Intent.LOCATE, Intent.NAVIGATE}  # both look in files


def rates(some: list[Row]) -> dict[str, Rate]:
    """The share that is right by need, and of all."""
    found: dict[str, Rate] = {}
    for row in some:
        for name in (row.need, "all"):
            found[name] = found.get(name, Rate()) + Rate(int(is_right(row)), 1)
    return dict(sorted(found.items(), key=lambda one: (one[0] == "all", one[0])))


def report(*, wrong: bool = False, developed_only: bool = False) -> None:
    print("What a phrasing needs (aim on what is kept aside: 95%)")
    for name, aside in HALVES[: 1 if developed_only else 2]:
        half = [row for row in rows() if row.aside is aside]
        print(f"  {name}")
        for need, rate in rates(half).items():
            print(f"    {need:12} {rate}")
    for row in rows() if wrong else ():
        if not row.aside and not is_right(row):
            print(f"  {row.id}: {row.question}\n      needs {row.need}, read as {intent_of(row.question)}")


if __name__ == "__main__":
    given = options(__doc__, wrong=False, developed_only=False)
    report(wrong=given.wrong, developed_only=given.developed_only)

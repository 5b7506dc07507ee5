"""What everyday phrasings want: the share read right, class by class, on `bench/questions/intents.jsonl`.

`python -m bench.intents` shows both halves apart: the rows the rules were written with, and those kept aside.
`--wrong` lists the errors on the first half; `--baseline FILE` measures another module's `_intent_of` beside ours, by
the ten intents, since earlier rules know no finer kinds.
"""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from knowbound.core.evidence import INTENTS, Intent, QuestionKind
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
    """All phrasings."""
    lines = _ROWS.read_text(encoding="utf-8").splitlines()
    return tuple(msgspec.json.decode(line, type=Row) for line in lines if line)


def read_as(row: Row) -> str:
    """The need that the rules see."""
    kind = read_question(row.question).kind
    return _SAME.get(kind, kind.value)


def rates(some: list[Row], right: Callable[[Row], bool]) -> dict[str, Rate]:
    """The share that is right by need, and of all."""
    found: dict[str, Rate] = {}
    for row in some:
        for name in (row.need, "all"):
            found[name] = found.get(name, Rate()) + Rate(int(right(row)), 1)
    return dict(sorted(found.items(), key=lambda one: (one[0] == "all", one[0])))


def report(baseline: Path | None = None, *, wrong: bool = False, developed_only: bool = False) -> None:
    """Print the table."""
    before = _earlier(baseline) if baseline else None
    print("What a phrasing needs (aim on what is kept aside: 95%)")
    for name, aside in (("developed on", False), ("kept aside", True))[: 1 if developed_only else 2]:
        half = [row for row in rows() if row.aside is aside]
        ours = rates(half, lambda row: read_as(row) == row.need)
        intents = rates(half, lambda row: _fits(read_question(row.question).intent, row))
        theirs = rates(half, lambda row: _fits(before(row.question), row)) if before else {}
        print(f"  {name}")
        for need, rate in ours.items():
            beside = f"   by intent alone {intents[need]}   before {theirs[need]}" if theirs else ""
            print(f"    {need:12} {rate!s:36}{beside}")
    for row in rows() if wrong else ():
        if not row.aside and read_as(row) != row.need:
            print(f"  {row.id}: {row.question}\n      needs {row.need}, read as {read_as(row)}")


def _fits(intent: Intent, row: Row) -> bool:
    """Whether the intent is right; to locate and to navigate have the same row in the table."""
    wanted = INTENTS[QuestionKind(row.need)]
    return intent is wanted or {intent, wanted} == {Intent.LOCATE, Intent.NAVIGATE}


def _earlier(file: Path) -> Callable[[str], Any]:
    """The intent that an earlier `text/questions/intent.py` gives."""
    spec = importlib.util.spec_from_file_location("earlier_intent", file)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{file} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return lambda question: module.read_question(question).intent


def main() -> None:
    """Print the table, and the errors where asked for."""
    parser = argparse.ArgumentParser(prog="bench.intents")
    parser.add_argument("--wrong", action="store_true", help="list the errors on the half developed on")
    parser.add_argument("--developed-only", action="store_true", help="leave the half kept aside alone")
    parser.add_argument("--baseline", type=Path, help="an earlier text/questions/intent.py to measure beside ours")
    given = parser.parse_args()
    report(given.baseline, wrong=given.wrong, developed_only=given.developed_only)


if __name__ == "__main__":
    main()

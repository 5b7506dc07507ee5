"""How well rules judge statements of instruction files: `python -m bench.statements FOLDER [--aside] [--rows]`.

FOLDER has a folder for each project (README.md), `labels.jsonl` 1,095 statements of ten public repositories,
labelled on 2026-11-18 by four readers who had not seen the code. Half of the projects are kept aside. The baseline
looks whether every path that is written in a code span exists.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from pathlib import Path

import msgspec

from knowbound.codebase.checkout import Checkout
from knowbound.core.statement import Truth
from knowbound.knowledge.checking import Checker
from knowbound.knowledge.statements import statements_of
from knowbound.stats.rate import Rate

ASIDE = frozenset({"goose", "prisma", "biome"})
_SPAN = re.compile(r"`([\w@./-]+/[\w@./-]*)`")


class LabelledStatement(msgspec.Struct, frozen=True):
    project: str
    version: str
    file: str
    line: int
    kind: str
    truth: str


def _place(one: LabelledStatement) -> tuple[str, str, str, int]:
    return one.project, one.version, one.file, one.line


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--aside", action="store_true")
    parser.add_argument("--rows", action="store_true")
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    lines = (Path(__file__).parent / "labels.jsonl").read_bytes().splitlines()
    labels = [msgspec.json.decode(line, type=LabelledStatement) for line in lines]
    labels = [one for one in labels if (one.project in ASIDE) is given.aside]
    if given.only:
        labels = [one for one in labels if one.project in given.only.split(",")]
    wrong = {_place(one) for one in labels if one.truth == Truth.CONTRADICTED}
    labels = [one for one in labels if one.truth == Truth.CONTRADICTED or _place(one) not in wrong]  # of one line
    counts: Counter[tuple[str, str]] = Counter()
    baseline: Counter[tuple[str, str]] = Counter()
    kinds: Counter[tuple[str, bool]] = Counter()
    for project in sorted({one.project for one in labels}):
        checker = Checker(Checkout(given.folder / project / "tree"))
        for version, file in sorted({(one.version, one.file) for one in labels if one.project == project}):
            text = (given.folder / project / version / file).read_text("utf-8")
            checked = checker.check_all(statements_of(file, text))
            for label in (one for one in labels if (one.project, one.version, one.file) == (project, version, file)):
                here = [one for one in checked if one.statement.line <= label.line <= one.statement.end_line]
                truths = [one.truth for one in here]
                said = next(
                    (one for one in (Truth.CONTRADICTED, Truth.CONFIRMED) if one in truths), Truth.NOT_CHECKABLE
                )
                counts[label.truth, said] += 1
                raw = text.split("\n")[label.line - 1]
                tree = given.folder / project / "tree"
                missing = [path for path in _SPAN.findall(raw) if not (tree / path.strip("/")).exists()]
                baseline[label.truth, Truth.CONTRADICTED if missing else Truth.NOT_CHECKABLE] += 1
                if label.truth == Truth.CONTRADICTED:
                    kinds[label.kind, said is Truth.CONTRADICTED] += 1
                found = next((one for one in here if one.truth is Truth.CONTRADICTED), None)
                if found is not None and label.truth == Truth.CONTRADICTED and found.repair:
                    print(f"repair: {project} {version}/{file}:{label.line}: {found.why}")
                if given.rows and (label.truth == Truth.CONTRADICTED) != (said is Truth.CONTRADICTED):
                    where = f"{project} {version}/{file}:{label.line} {label.kind}"
                    why = found.why if found else ""
                    print(f"{label.truth:14}{said:14}{where} | {why} | {raw.strip()[:110]}")
    for name, table in (("rules", counts), ("every path exists", baseline)):
        right = table[Truth.CONTRADICTED, Truth.CONTRADICTED]
        flagged = sum(number for (_, one), number in table.items() if one == Truth.CONTRADICTED)
        wanted = sum(number for (one, _), number in table.items() if one == Truth.CONTRADICTED)
        print(f"{name:18} contradicted: precision {Rate(right, flagged)}  recall {Rate(right, wanted)}")
    confirmed = sum(number for (_, one), number in counts.items() if one == Truth.CONFIRMED)
    print(f"{'':18} confirmed: precision {Rate(counts[Truth.CONFIRMED, Truth.CONFIRMED], confirmed)}")
    print("contradicted by kind:", {kind: (kinds[kind, True], kinds[kind, False]) for kind, _ in sorted(kinds)})


if __name__ == "__main__":
    main()

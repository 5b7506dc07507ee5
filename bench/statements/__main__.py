"""How well statements of instruction files are judged: `python -m bench.statements FOLDER [--aside] [--only A,B]`.

FOLDER has a folder for each project (README.md). `labels.jsonl` has 4,547 statements of 45 public repositories,
labelled on 2026-11-18 by readers who had not seen the code; `verdicts.jsonl` what rules and a large model together
said about those of the last ten, recorded on the same day. The last projects are kept aside. The baseline looks
whether every path that is written in a code span exists.
"""

from __future__ import annotations

import argparse
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from knowbound.codebase.checkout import Checkout
from knowbound.core.statement import CheckedStatement, Truth
from knowbound.judge.models.asking import Asker
from knowbound.knowledge.asking import decided_by_model
from knowbound.knowledge.checking import Checker
from knowbound.knowledge.statements import statements_of
from knowbound.stats.rate import Rate

HERE = Path(__file__).parent
ASIDE = frozenset({"ai", "calcom", "langchain", "dagster"})
# The last projects, whose total was looked at once, before any row: the only ones asked with the prompt of today.
LAST = (
    "pal-mcp-server", "crush", "sure", "IceCubesApp", "coolify", "formbricks", "opendal", "thunderbird-android",
    "aspire", "llama.cpp",
)  # fmt: skip
_SPAN = re.compile(r"`([\w@./-]+/[\w@./-]*)`")


class LabelledStatement(msgspec.Struct, frozen=True):
    project: str
    version: str
    file: str
    line: int
    kind: str
    truth: str
    instead: str = ""  # what the tree has, as the reader wrote it down

    @property
    def place(self) -> tuple[str, str, str, int]:
        return self.project, self.version, self.file, self.line


class ModelVerdict(msgspec.Struct, frozen=True):
    """What the model said about the statements at a labelled line."""

    project: str
    version: str
    file: str
    line: int
    truth: Truth


class CheckedLine(NamedTuple):
    """A labelled line with the statements at it."""

    label: LabelledStatement
    text: str
    here: list[CheckedStatement]
    tree: Path

    @property
    def said(self) -> Truth:
        truths = {one.truth for one in self.here}
        return next((one for one in (Truth.CONTRADICTED, Truth.CONFIRMED) if one in truths), Truth.NOT_CHECKABLE)


def labels() -> list[LabelledStatement]:
    """Labels; of a line with several, those that are contradicted."""
    lines = (HERE / "labels.jsonl").read_bytes().splitlines()
    found = [msgspec.json.decode(line, type=LabelledStatement) for line in lines]
    wrong = {one.place for one in found if one.truth == Truth.CONTRADICTED}
    return [one for one in found if one.truth == Truth.CONTRADICTED or one.place not in wrong]


def checked_lines(
    folder: Path, wanted: Sequence[LabelledStatement], asker: Asker | None = None
) -> Iterator[CheckedLine]:
    """Each labelled line as rules judge it, or as a model does where rules leave it open."""
    for project in sorted({one.project for one in wanted}):
        checkout = Checkout(folder / project / "tree")
        checker = Checker(checkout)
        for version, file in sorted({(one.version, one.file) for one in wanted if one.project == project}):
            text = (folder / project / version / file).read_text("utf-8")
            own = [one for one in wanted if (one.project, one.version, one.file) == (project, version, file)]
            checked = checker.check_all(statements_of(file, text))
            if asker is not None:
                checked = [one for one in checked if any(_is_at(one, label) for label in own)]
                checked = decided_by_model(checked, checkout, asker)
            for label in own:
                here = [one for one in checked if _is_at(one, label)]
                yield CheckedLine(label, text.split("\n")[label.line - 1], here, folder / project / "tree")


def _is_at(one: CheckedStatement, label: LabelledStatement) -> bool:
    return one.statement.line <= label.line <= one.statement.end_line


def ask_statements(asker: Asker) -> tuple[int, int]:
    """Ask about the projects of `LAST` below the folder that KNOWBOUND_STATEMENTS names, and keep the verdicts."""
    wanted = [one for one in labels() if one.project in LAST]
    lines = list(checked_lines(Path(os.environ["KNOWBOUND_STATEMENTS"]), wanted, asker))
    rows = (ModelVerdict(*one.label.place, one.said) for one in lines)
    text = b"".join(msgspec.json.encode(row) + b"\n" for row in dict.fromkeys(rows))
    (HERE / "verdicts.jsonl").write_bytes(text)
    return len(lines), 0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--aside", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--rows", action="store_true")
    given = parser.parse_args()
    wanted = [one for one in labels() if (one.project in ASIDE) is given.aside]
    wanted = [one for one in wanted if not given.only or one.project in given.only.split(",")]
    lines = list(checked_lines(given.folder, wanted))
    _print("rules", [(one.label, one.said) for one in lines])
    _print("every path exists", [(one.label, _baseline(one)) for one in lines])
    verdicts = {}
    if (HERE / "verdicts.jsonl").exists():
        rows = (msgspec.json.decode(line, type=ModelVerdict) for line in (HERE / "verdicts.jsonl").open("rb"))
        verdicts = {(row.project, row.version, row.file, row.line): row.truth for row in rows}
    asked = [(one.label, verdicts[one.label.place]) for one in lines if one.label.place in verdicts]
    if asked:
        print(f"\nof the {len(asked)} lines that a large model was asked about:")
        _print("rules", [(one.label, one.said) for one in lines if one.label.place in verdicts])
        _print("rules and model", asked)
    repairs = [one for one in lines if one.label.truth == one.said == Truth.CONTRADICTED]
    repairs = [one for one in repairs if any(each.repair for each in one.here)]
    right = [one for one in repairs if any(_is_named(each, one.label) for each in one.here)]
    print(f"\nrepairs whose words the reader named, too: {len(right)} of {len(repairs)}")
    if given.rows:
        _print_rows(lines, verdicts)


def _baseline(one: CheckedLine) -> Truth:
    missing = [path for path in _SPAN.findall(one.text) if not (one.tree / path.strip("/")).exists()]
    return Truth.CONTRADICTED if missing else Truth.NOT_CHECKABLE


def _is_named(one: CheckedStatement, label: LabelledStatement) -> bool:
    new = one.swap[1].strip("/") if one.swap else ""
    return bool(new) and (new in label.instead or label.instead.strip("/") in new)


def _print(name: str, pairs: Sequence[tuple[LabelledStatement, Truth]]) -> None:
    flagged = [label for label, said in pairs if said is Truth.CONTRADICTED]
    right = sum(label.truth == Truth.CONTRADICTED for label in flagged)
    wrong = sum(label.truth == Truth.CONTRADICTED for label, _ in pairs)
    print(f"{name:18} contradicted: precision {Rate(right, len(flagged))}  recall {Rate(right, wrong)}")
    confirmed = [label for label, said in pairs if said is Truth.CONFIRMED]
    held = sum(label.truth == Truth.CONFIRMED for label in confirmed)
    kinds = Counter(
        (label.kind, said is Truth.CONTRADICTED) for label, said in pairs if label.truth == Truth.CONTRADICTED
    )
    by_kind = ", ".join(
        f"{kind} {kinds[kind, True]} of {kinds[kind, True] + kinds[kind, False]}"
        for kind in sorted({kind for kind, _ in kinds})
    )
    print(f"{'':18} confirmed: precision {Rate(held, len(confirmed))}; found by kind: {by_kind}")


def _print_rows(lines: Sequence[CheckedLine], verdicts: dict[tuple[str, str, str, int], Truth]) -> None:
    for one in lines:
        said = verdicts.get(one.label.place, one.said)
        if (one.label.truth == Truth.CONTRADICTED) != (said is Truth.CONTRADICTED):
            why = next((each.why for each in one.here if each.truth is Truth.CONTRADICTED), "")
            where = f"{one.label.project} {one.label.version}/{one.label.file}:{one.label.line} {one.label.kind}"
            print(f"{one.label.truth:14}{said:14}{where} | {why} | {one.text.strip()[:110]}")
        for each in one.here:
            if each.swap and one.label.truth == Truth.CONTRADICTED and not _is_named(each, one.label):
                print(f"repair        {one.label.project} {each.swap} | reader: {one.label.instead}")


if __name__ == "__main__":
    main()

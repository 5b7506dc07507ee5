"""How well junk in memory stores is found: `python -m bench.junk FOLDER`.

Three stores of 100 entries each, written and labelled on 2026-11-18 by authors who had not seen the code, about three
public repositories whose trees are FOLDER/PROJECT/tree (bench/statements/README.md): an observer's notes, extracted
facts, notes of an agent. 40 of 100 are junk. `bench/answers/junk.jsonl` has the answers of a large model about copies,
hypotheses and what is off topic; its answers about statements quote the trees and are not part of this repository.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from pathlib import Path

import msgspec

from knowbound.codebase.checkout import Checkout
from knowbound.core.statement import JunkEntry
from knowbound.judge.models.asking import Asker
from knowbound.knowledge.junk import StoreEntry, junk_of, read_store
from knowbound.stats.rate import Rate

HERE = Path(__file__).parent
PROJECTS = {"a": "fastmcp", "b": "cipher-box", "c": "browser-use"}


class LabelledEntry(msgspec.Struct, frozen=True):
    id: str
    junk: bool
    kind: str


def entries_of(store: str) -> list[StoreEntry]:
    return read_store(str(HERE / store / "entries.jsonl"), HERE)


def labels_of(store: str) -> dict[str, LabelledEntry]:
    lines = (HERE / store / "labels.jsonl").read_bytes().splitlines()
    return {one.id: one for one in (msgspec.json.decode(line, type=LabelledEntry) for line in lines)}


def ask_junk(asker: Asker) -> tuple[int, int]:
    """Ask about the three stores; the trees are below the folder that KNOWBOUND_STATEMENTS names."""
    folder = Path(os.environ["KNOWBOUND_STATEMENTS"])
    found = sum(
        len(junk_of(entries_of(store), Checkout(folder / PROJECTS[store] / "tree"), asker)) for store in PROJECTS
    )
    return found, 0


def main() -> None:
    from bench.recorded_sets import asker_of, recording_of  # noqa: PLC0415  (which asks by this module)

    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    recorded = asker_of(recording_of("junk"))
    judges: dict[str, Asker | None] = {"rules": None, "rules and a large model, recorded": recorded}
    for name, asker in judges.items():
        print(f"\n{name}")
        total, kinds = Counter[str](), Counter[tuple[str, bool]]()
        for store, project in PROJECTS.items():
            found = junk_of(entries_of(store), Checkout(given.folder / project / "tree"), asker)
            counts = _counts(found, labels_of(store), kinds)
            _print(project, counts)
            total += counts
        _print("all", total)
        print(
            "  found by kind:",
            {kind: f"{kinds[kind, True]} of {kinds[kind, True] + kinds[kind, False]}" for kind, _ in sorted(kinds)},
        )


def _counts(found: list[JunkEntry], labels: dict[str, LabelledEntry], kinds: Counter[tuple[str, bool]]) -> Counter[str]:
    ids = {one.id for one in found}
    for one in labels.values():
        if one.junk:
            kinds[one.kind, one.id in ids] += 1
    junk = {one.id for one in labels.values() if one.junk}
    return Counter(right=len(ids & junk), found=len(ids), junk=len(junk))


def _print(name: str, counts: Counter[str]) -> None:
    right = counts["right"]
    print(f"  {name:14} precision {Rate(right, counts['found'])}  recall {Rate(right, counts['junk'])}")


if __name__ == "__main__":
    main()

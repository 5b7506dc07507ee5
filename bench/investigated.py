"""`investigate` with a recorded model, and with rules alone: right, place only, refused, wrong.

    KNOWBOUND_TREES=DIR KNOWBOUND_PART=drawn python -m bench.answers investigations FOLDER   writes open questions
    python -m bench.investigated --trees DIR [--answers FOLDER/investigations.jsonl] [--part NAME] [--set NAME]
    python -m bench.investigated --trees DIR --wrong                                         names what went wrong

Parts are those of bench/questions/questions.jsonl (dev, aside, last; fresh and fresh-aside, of which the totals of the
second are looked at once), `drawn`: thirty questions of each of the two older sets, and documents and documents-aside:
what the built-in executor of `eval` is asked about three folders of documentation (bench/questions/documents.jsonl).

Recording goes in steps: a plan has to be answered before its passages are known, and a reading may ask for other terms
twice, so the first command is run again until nothing is open. DIR holds a clone of each repository in
bench/questions/trees.json at its commit; packages come from their registries (bench/evidence.py). The answers quote
foreign trees and are not part of this repository. "Place only" is a refusal whose first three places have the answer.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from bench import evidence, investigations
from bench.labels import SHARED
from knowbound.codebase.tree import SourceTree
from knowbound.core.evidence import SUCCESS, Investigation
from knowbound.evals.knowledge import DOCUMENTS, files_of
from knowbound.evidence.investigate import has_only_names, investigate
from knowbound.evidence.plan import read_plan
from knowbound.evidence.understanding import ask_plan
from knowbound.judge.models.asking import Asker
from knowbound.judge.models.completion import Recorded
from knowbound.judge.names import JudgeOptions
from knowbound.stats.rate import Rate

_SECONDS = 120.0
_DRAWN = 30  # questions of each older set that a model is asked
_OLDER, FRESH, _DOCUMENTS = ("dev", "aside", "last"), ("fresh", "fresh-aside"), ("documents", "documents-aside")


class Case(NamedTuple):
    """A question with its gold places."""

    id: str
    of: str  # name of the set
    kind: str
    question: str
    root: Path
    is_answerable: bool
    paths: frozenset[str]
    commits: tuple[str, ...] = ()
    only: tuple[str, ...] | None = None  # files of a folder of documents


def cases(trees: Path, part: str = "", of: str = "") -> Iterator[Case]:
    """The questions of every set, of one, or of one part."""
    if part == "drawn":
        for every in (list(_new_ground(trees, _OLDER)), list(_first_kind())):
            drawn = sorted(every, key=lambda case: sha256(case.id.encode()).digest())[:_DRAWN]
            yield from (case for case in drawn if of in ("", case.of))
        return
    if of in ("", "new ground", "fresh"):
        parts = (part,) if part else FRESH if of == "fresh" else (*_OLDER, *(FRESH if not of else ()))
        yield from _new_ground(trees, parts)
    if of in ("", "first kind") and not part:
        yield from _first_kind()
    if part in _DOCUMENTS:
        yield from _documents(trees, "aside" if part == "documents-aside" else "dev")


def _new_ground(trees: Path, parts: Sequence[str]) -> Iterator[Case]:
    for one in (one for name in parts for one in investigations.questions(name)):
        paths = frozenset(str(gold["path"]) for gold in one.gold if "path" in gold)
        commits = tuple(str(gold["commit"])[:7] for gold in one.gold if "commit" in gold)
        root, name = investigations.root_of(one.tree, trees), "fresh" if one.part in FRESH else "new ground"
        yield Case(one.id, name, one.kind, one.question, root, one.answerable, paths, commits)


def _documents(trees: Path, part: str) -> Iterator[Case]:
    for one in investigations.questions(part, "documents.jsonl"):
        root = investigations.root_of(one.tree, trees)
        paths = frozenset(str(gold["path"]) for gold in one.gold)
        only = tuple(files_of(Path(os.path.realpath(root)), DOCUMENTS))
        yield Case(one.id, one.tree, one.kind, one.question, root, one.answerable, paths, (), only)


def _first_kind() -> Iterator[Case]:
    for path in (SHARED / "evidence" / "questions.json", evidence.OWN):
        for row in evidence.questions(path) if path.exists() else ():
            root = evidence.source_of(row.registry, row.package, row.version)
            yield Case(row.id, "first kind", row.kind, row.question, root, row.answerable, frozenset(row.gold))


def ask_investigations(asker: Asker) -> tuple[int, int]:
    """Ask every question, for recordings."""
    done = unplanned = 0
    for case in cases(Path(os.environ["KNOWBOUND_TREES"]), os.environ.get("KNOWBOUND_PART", "")):
        if not has_only_names(read_plan(case.question)):  # ask for the plan first: without one there is nothing to read
            tree = SourceTree(Path(os.path.realpath(case.root)), time.monotonic() + _SECONDS, case.only)
            if ask_plan(case.question, tree, asker) is None:
                unplanned += 1
                continue
        found = investigate(case.question, case.root, asker=asker, seconds=_SECONDS, only=case.only)
        missing = any(note.startswith("The model gave no") for note in found.notes)
        unplanned += missing
        done += not missing
    return done, unplanned


def ended(case: Case, found: Investigation) -> str:
    """Right, place only, refused or wrong."""
    places = found.sources if found.outcome == SUCCESS else found.nearest
    if case.commits:
        said = [found.answer.text if found.answer else "", *(" ".join((one.path, one.text)) for one in places[:3])]
        shown = any(commit in text for commit in case.commits for text in said)
    else:
        shown = any(place.path in case.paths for place in places[:3])
    if found.outcome == SUCCESS:
        return "right" if case.is_answerable and shown else "wrong"
    return "place only" if case.is_answerable and shown else "refused"


def main() -> None:
    """Print the table of each set, and how often each confidence is right."""
    options = argparse.ArgumentParser()
    options.add_argument("--trees", type=Path, required=True)
    options.add_argument("--answers", type=Path)
    options.add_argument("--part", default="")
    options.add_argument("--set", default="")
    options.add_argument("--wrong", action="store_true")
    given = options.parse_args()
    asker = None
    if given.answers:
        recorded = Recorded(given.answers)
        asker = Asker("a large model", recorded, JudgeOptions(retries=0), recorded)
    tables: dict[tuple[str, bool], Counter[str]] = defaultdict(Counter)
    kinds: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    levels: dict[str, Counter[bool]] = defaultdict(Counter)
    unread = 0
    for case in cases(given.trees, given.part, given.set):
        found = investigate(case.question, case.root, asker=asker, seconds=_SECONDS, only=case.only)
        end = ended(case, found)
        unread += any(note.startswith("The model gave no") for note in found.notes)
        tables[case.of, case.is_answerable][end] += 1
        kinds[case.of, case.kind][end] += 1
        if found.outcome == SUCCESS:
            levels[found.confidence][end == "right"] += 1
        if given.wrong and end in ("wrong", "refused") and (end == "wrong" or case.is_answerable):
            shown = [f"{one.path}:{one.line}" for one in (found.sources or found.nearest)[:3]]
            print(f"  {end} {case.id} {case.kind}: {case.question} → {', '.join(shown)}; {found.explanation[:160]}")
    for (name, is_answerable), counts in sorted(tables.items()):
        total = counts.total()
        in_three = Rate(counts["right"] + counts["place only"], total)
        said = ", ".join(f"{end} {counts[end]}" for end in ("right", "place only", "refused", "wrong"))
        print(f"{name}, {'answerable' if is_answerable else 'unanswerable'} ({total}): {said}")
        print(f"  shown in three {in_three}" if is_answerable else f"  refused {Rate(total - counts['wrong'], total)}")
    for (name, kind), counts in sorted(kinds.items()):
        print(f"    {name} {kind:28} " + ", ".join(f"{end} {count}" for end, count in counts.most_common()))
    for level, right in sorted(levels.items()):
        print(f"confidence {level}: right {Rate(right[True], right.total())}")
    if unread:
        print(f"{unread} questions have no recorded plan or reading")


if __name__ == "__main__":
    main()

"""How well and how quickly misses are rescued: recorded misses in the trees of their day, against labels.

    python -m bench.rescue --repositories DIR [--traces DIR …] [--part PART] [--wrong]

DIR has the clones `OWNER+NAME/repo` of the public repositories. Right: the true place is among the first three, of what
was there. Silent: no suggestion, of what was not there, of checks and of what is not about the tree. Baselines: a
missing path by its base name only; the same pattern over the whole tree only.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from bench.measuring import check_out
from bench.miss_events import PARTS, REPOSITORIES, TRACES, events, labelled, project_of
from knowbound.codebase.kept_index import KeptTree, open_tree
from knowbound.codebase.kept_index_update import open_index, update_index
from knowbound.judge.models.asking import Asker
from knowbound.lessons.rescue.asking import rescues_by_model
from knowbound.lessons.rescue.rescue import rescue
from knowbound.lessons.rescue.words import Rescue
from knowbound.stats.rate import Rate

_SECONDS = 5.0  # the time limit is another table's
Answer = Callable[[dict[str, Any], KeptTree], Sequence[tuple[str, int | None]]]


def ours(event: dict[str, Any], tree: KeptTree) -> Sequence[tuple[str, int | None]]:
    return places(rescue(event, tree, seconds=_SECONDS))


def places(said: Rescue) -> Sequence[tuple[str, int | None]]:
    return [(one.path, one.line) for one in said.suggestions]


def base_name(event: dict[str, Any], tree: KeptTree) -> Sequence[tuple[str, int | None]]:
    """Baseline: files with the last part of the path that was looked for."""
    given = event["tool_input"]
    path = given.get("file_path") or given.get("path") or given.get("pattern") or ""
    name = str(path).rstrip("/").rpartition("/")[2]
    return [(one, None) for one in tree.paths if one.rpartition("/")[2] == name][:3]


def whole_tree(event: dict[str, Any], tree: KeptTree) -> Sequence[tuple[str, int | None]]:
    """Baseline: the same pattern over the whole tree, in the order of ripgrep."""
    pattern = event["tool_input"].get("pattern")
    if not pattern or event["tool_name"] != "Grep":
        return []
    from knowbound.codebase.tree import matches  # noqa: PLC0415

    hits, _ = matches(Path(tree.root), [pattern], 20.0, ignore_case=False)
    firsts = {hit.path: hit.line for hit in sorted(hits, key=lambda hit: (hit.path, hit.line), reverse=True)}
    return sorted(firsts.items())[:3]


ANSWERS: dict[str, Answer] = {"rescue": ours, "base name": base_name, "whole tree": whole_tree}


def is_right(row: dict[str, Any], said: Iterable[tuple[str, int | None]]) -> bool:
    """Whether one of the places is a true one, by its file."""
    true = {place["path"] for place in row["places"]}
    return any(path in true for path, _ in said)


def with_model(asker: Asker) -> Answer:
    """Rules, and a model where they name no place."""

    def answer(event: dict[str, Any], tree: KeptTree) -> Sequence[tuple[str, int | None]]:
        said = rescue(event, tree, seconds=_SECONDS)
        if said.is_open:
            (said,) = rescues_by_model([event], tree, asker)
        return places(said)

    return answer


def ask_rescues(asker: Asker) -> tuple[int, int]:
    """Ask about the misses of projects that no rule was made on: KNOWBOUND_CLONES, KNOWBOUND_TRACES, KNOWBOUND_PART."""
    ANSWERS["with a recorded model"] = with_model(asker)
    measure(
        Path(os.environ["KNOWBOUND_CLONES"]),
        [Path(os.environ["KNOWBOUND_TRACES"])],
        os.environ.get("KNOWBOUND_PART", "unseen"),
        show_wrong=False,
    )
    return 0, 0


def measure(repositories: Path, traces: Sequence[Path], part: str, *, show_wrong: bool) -> None:
    rows = labelled(part)
    recorded = events(rows, traces)
    rows = [row for row in rows if row["id"] in recorded]
    right: dict[tuple[str, str], Rate] = {}
    silent: dict[tuple[str, str], Rate] = {}
    with tempfile.TemporaryDirectory() as folder:
        trees: dict[tuple[str, str], KeptTree] = {}
        for row in rows:
            project = project_of(row["id"])
            tree = trees.get((project, row["commit"])) or _tree(repositories, project, row["commit"], Path(folder))
            trees[project, row["commit"]] = tree
            for name, answer in ANSWERS.items():
                said = answer(recorded[row["id"]], tree)
                figures = right if row["category"] == "there" else silent
                hit = is_right(row, said) if row["category"] == "there" else not said
                figures[name, project] = figures.get((name, project), Rate(0, 0)) + Rate(int(hit), 1)
                if show_wrong and name == "rescue":
                    mark = "ok " if hit else "BAD"
                    text = rescue(recorded[row["id"]], tree, seconds=_SECONDS)
                    print(f"{mark} {row['id']} {row['category']} [{text.rule}] {text.text}")
    print(f"Rescue of {len(rows)} recorded misses ({part}): right place in three; no suggestion where there is none")
    for name in ANSWERS:
        for project in (*REPOSITORIES, "all"):
            chosen = [one for one in REPOSITORIES if project in (one, "all")]
            there = sum((right.get((name, one), Rate(0, 0)) for one in chosen), Rate(0, 0))
            not_there = sum((silent.get((name, one), Rate(0, 0)) for one in chosen), Rate(0, 0))
            if there.n or not_there.n:
                print(f"  {name:11} {project:10} right {there}   silent {not_there}")


def _tree(repositories: Path, project: str, commit: str, folder: Path) -> KeptTree:
    root = folder / f"{project}-{commit[:12]}"
    home = folder / f"home-{project}-{commit[:12]}"
    check_out(["git", "-C", str(repositories / REPOSITORIES[project] / "repo")], commit, root)
    home.mkdir()
    database = open_index(home)
    update_index(database, root)
    database.close()
    tree = open_tree(str(home), str(root), work_seconds=10_000)
    assert tree is not None
    return tree


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.rescue")
    parser.add_argument("--repositories", type=Path, required=True, help="the folder with the clones")
    parser.add_argument("--traces", type=Path, action="append", help="a folder with transcripts; more than once")
    parser.add_argument("--part", choices=(*PARTS, "all"), default="odd")
    parser.add_argument("--wrong", action="store_true", help="show every answer")
    given = parser.parse_args()
    measure(given.repositories, given.traces or [TRACES], given.part, show_wrong=given.wrong)


if __name__ == "__main__":
    main()

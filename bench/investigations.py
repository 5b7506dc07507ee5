"""`investigate` on trees and questions that it was not built with: by kind, beside BM25 and plain ripgrep.

    python -m bench.investigations --trees DIR                  what it was developed with
    python -m bench.investigations --trees DIR --part aside     kept aside: totals only
    python -m bench.investigations --trees DIR --part last      written later, measured once: totals only
    python -m bench.investigations --trees DIR --wrong          and each question that went wrong (developed with only)

DIR holds a clone of each repository in bench/questions/trees.json, at its commit, in a folder of its name; where one
has a `folder`, only what is below it (`git archive COMMIT FOLDER | tar x -C DIR/NAME`). Two small
folders of documents are beside the questions. "Shown" is what is among the first three of `sources`, or of `nearest`
where it refuses; a success whose first three sources do not hold the answer is the worst that can happen.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from knowbound.core.evidence import CitedSource, Investigation, NearPlace
from knowbound.evidence.investigate import investigate
from knowbound.files import list_files, read_text, rg
from knowbound.stats.rate import Rate
from knowbound.text.english import SEARCH_STOP_WORDS, STOP_WORDS, stem
from knowbound.text.terms import split_words

HERE = Path(__file__).parent / "questions"
_WINDOW = 40
_WORD = re.compile(r"[A-Za-z_][\w$]*|\d+")


class Asked(msgspec.Struct):
    """A question with its gold answer."""

    id: str
    tree: str
    kind: str
    question: str
    answerable: bool
    gold: list[dict[str, Any]]
    part: str = "dev"
    source: str = msgspec.field(name="from", default="")


class Measured(NamedTuple):
    """How one question went."""

    asked: Asked
    found: Investigation
    first: bool  # the first place shown is a gold one
    shown: bool  # one of the first three is
    lines: bool  # and overlaps the gold lines


def questions(part: str, file: str = "questions.jsonl") -> list[Asked]:
    """The questions of one part."""
    lines = (HERE / file).read_bytes().splitlines()
    return [one for one in (msgspec.json.decode(line, type=Asked) for line in lines) if one.part == part]


def root_of(name: str, trees: Path) -> Path:
    """The folder of a tree."""
    return HERE / name if (HERE / name).is_dir() else trees / name


def measure(asked: Asked, root: Path) -> Measured:
    """Ask, and compare with the gold places."""
    found = investigate(asked.question, root)
    places: Sequence[CitedSource | NearPlace] = found.sources if found.outcome == "success" else found.nearest
    if asked.kind == "history":
        commits = [str(gold["commit"])[:7] for gold in asked.gold if "commit" in gold]
        said = [" ".join((one.path, one.why)) for one in found.sources] + [found.answer.text if found.answer else ""]
        first = any(commit in text for commit in commits for text in (*said[:1], said[-1]))
        shown = any(commit in text for commit in commits for text in (*said[:3], said[-1]))
        return Measured(asked, found, first, shown, shown)
    three = list(places)[:3]
    gold = {str(one["path"]) for one in asked.gold if "path" in one}
    lines = any(
        place.path == one.get("path") and int(one["line"]) - 3 <= place.line <= int(one["until"]) + 3
        for place in three
        for one in asked.gold
        if "line" in one
    )
    return Measured(
        asked, found, bool(three) and three[0].path in gold, any(place.path in gold for place in three), lines
    )


def words_in(question: str) -> list[str]:
    """What a plain search would look for."""
    words = (word for name in _WORD.findall(question) for word in split_words(name))
    return list(dict.fromkeys(word for word in words if word not in STOP_WORDS | SEARCH_STOP_WORDS and len(word) > 1))


class _Windows(NamedTuple):
    all: list[tuple[str, Counter[str]]]
    holding: Counter[str]
    length: float


@cache
def _windows(root: Path) -> _Windows:
    found, holding = [], Counter[str]()
    for path in list_files(root, 60.0)[0]:
        lines = (read_text(root, path, 2_000_000) or "").split("\n")
        for at in range(0, len(lines), _WINDOW):
            text = "\n".join(lines[at : at + _WINDOW])
            counts = Counter(stem(word) for name in _WORD.findall(text) for word in split_words(name))
            found.append((path, counts))
            holding.update(counts.keys())
    return _Windows(found, holding, sum(counts.total() for _, counts in found) / max(1, len(found)))


def bm25(root: Path, question: str) -> list[str]:
    """Files by their best window of forty lines: a plain BM25 over all of them."""
    windows = _windows(root)
    wanted = {stem(word) for word in words_in(question)}
    scored = []
    for path, counts in windows.all:
        score = 0.0
        length = 1.2 * (0.25 + 0.75 * counts.total() / windows.length)
        for word in wanted & counts.keys():
            rarity = math.log(1 + (len(windows.all) - windows.holding[word] + 0.5) / (windows.holding[word] + 0.5))
            score += rarity * counts[word] * 2.2 / (counts[word] + length)
        if score:
            scored.append((-score, path))
    return list(dict.fromkeys(path for _, path in sorted(scored)))


def ripgrep(root: Path, question: str) -> list[str]:
    """Files by how many of the words they have, then by how often."""
    words = words_in(question)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for word in words:
        ran = rg(root, ["--count-matches", "--ignore-case", "--null", "-e", re.escape(word), "--", "."], 30.0)
        for path, count in re.findall(rb"(?:^|\n)(?:\./)?([^\0\n]*)\0(\d+)", ran.out):
            counts[path.decode("utf-8", "replace")][word] = int(count)
    return sorted(counts, key=lambda path: (-len(counts[path]), -counts[path].total(), path))


def table(rows: Sequence[Measured], trees: Path | None) -> Iterable[str]:
    """A line for each kind; with the trees, the baselines below it."""
    by_kind: dict[str, list[Measured]] = defaultdict(list)
    for row in rows:
        by_kind[row.asked.kind + ("" if row.asked.answerable else " (not answerable)")].append(row)
    for kind, ones in sorted(by_kind.items()):
        n = len(ones)
        refused = Rate(sum(one.found.outcome != "success" for one in ones), n)
        if not ones[0].asked.answerable:
            yield f"  {kind:34} refused {refused}"
            continue
        wrong = sum(one.found.outcome == "success" and not one.shown for one in ones)
        yield (
            f"  {kind:34} shown in three {Rate(sum(one.shown for one in ones), n)}   first "
            f"{sum(one.first for one in ones)}   at the lines {sum(one.lines for one in ones)}   "
            f"answered {n - refused.k}   answered and not shown {wrong}"
        )
        if kind != "history" and trees is not None:
            gold = [{str(place["path"]) for place in one.asked.gold} for one in ones]
            for name, search in (("BM25, windows of 40 lines", bm25), ("ripgrep, words in a file", ripgrep)):
                best = [search(root_of(one.asked.tree, trees), one.asked.question)[:3] for one in ones]
                hits = sum(not wanted.isdisjoint(paths) for wanted, paths in zip(gold, best, strict=True))
                first = sum(bool(paths) and paths[0] in wanted for wanted, paths in zip(gold, best, strict=True))
                yield f"  {'':34} {name}: in three {hits}, first {first}"


def calibration(rows: Sequence[Measured]) -> Iterable[str]:
    """How often each level of confidence is right, and how often it abstains."""
    answered = [row for row in rows if row.found.outcome == "success"]
    for level in ("complete", "high", "medium", "low", "none"):
        ones = [row for row in answered if row.found.confidence == level]
        if ones:
            yield f"  {level:10} right {Rate(sum(row.asked.answerable and row.shown for row in ones), len(ones))}"
    yield f"  abstains on {Rate(len(rows) - len(answered), len(rows))}"
    able = [row for row in rows if row.asked.answerable]
    yield f"  of the answerable it answers {Rate(sum(row.found.outcome == 'success' for row in able), len(able))}"
    wrong = [row for row in answered if not (row.asked.answerable and row.shown)]
    yield f"  answers whose first three sources do not hold the answer {Rate(len(wrong), max(1, len(answered)))}"


def main() -> None:
    """Print the tables."""
    options = argparse.ArgumentParser()
    options.add_argument("--trees", type=Path, required=True)
    options.add_argument("--part", choices=("dev", "aside", "last"), default="dev")
    options.add_argument("--wrong", action="store_true")
    options.add_argument("--kind")
    options.add_argument("--no-baselines", action="store_true")
    given = options.parse_args()
    asked = [one for one in questions(given.part) if not given.kind or one.kind == given.kind]
    rows = [measure(one, root_of(one.tree, given.trees)) for one in asked]
    print({"dev": "developed with", "aside": "kept aside", "last": "written later"}[given.part])
    for line in (*table(rows, None if given.no_baselines else given.trees), "confidence", *calibration(rows)):
        print(line)
    for row in rows if given.wrong and given.part == "dev" else ():
        if not (row.shown if row.asked.answerable else row.found.outcome != "success"):
            print(_wrong(row))


def _wrong(row: Measured) -> str:
    places: Sequence[CitedSource | NearPlace] = row.found.sources or row.found.nearest
    shown = [f"{one.path}:{one.line}" for one in places[:3]]
    gold = [f"{one.get('path', one.get('commit'))}:{one.get('line', '')}" for one in row.asked.gold[:3]]
    asked = {"id": row.asked.id, "kind": row.asked.kind, "tree": row.asked.tree, "question": row.asked.question}
    said = {"outcome": row.found.outcome, "terms": row.found.terms, "why": row.found.explanation[:200]}
    return json.dumps({**asked, **said, "shown": shown, "gold": gold})


if __name__ == "__main__":
    main()

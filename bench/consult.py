"""How well questions are answered from a knowledge folder: right of n per kind of sample, beside two baselines.

`python -m bench.consult` prints the table over `bench/knowledge/`: seventeen small knowledge bases of our own, six of
them kept aside. `--wrong` lists the errors on those developed on; those on the ones kept aside are never listed.

A direct or paraphrased question is right when it is answered and the gold file is among the passages; gold first is
when it is the first. An absent one or a decoy is right when evidence is insufficient.
"""

from __future__ import annotations

import argparse
import math
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import msgspec

from knowbound.documents.answer import answer_from_sections
from knowbound.documents.library import Library
from knowbound.documents.section_index import SectionIndex
from knowbound.documents.words import pairs_of, tokens_of
from knowbound.stats.printing import percent
from knowbound.stats.rate import Rate
from knowbound.text.intent import read_question
from knowbound.text.markdown import DocumentSection, sections_of
from knowbound.text.stems import stem
from knowbound.text.stop_words import STOP_WORDS

FOLDER = Path(__file__).parent / "knowledge"
ASIDE = frozenset({"warehouse", "handbook", "sdk", "cloud-zh", "dwh", "support"})
KINDS = ("direct", "paraphrased", "absent", "decoy")
_ANSWERABLE = frozenset({"direct", "paraphrased"})
_FILES, _STEPS = 200, 5


class Row(msgspec.Struct, frozen=True):
    """One labelled question."""

    id: str
    base: str
    kind: str
    question: str
    gold: tuple[str, ...]


class Answer(NamedTuple):
    """Whether a method answers, and the files that it answers from, best first."""

    answered: bool
    files: tuple[str, ...]


Method = Callable[[Row], Answer]


def rows(*, aside: bool | None = None) -> list[Row]:
    """The questions: of the bases kept aside, of the others, or all."""
    lines = (FOLDER / "questions.jsonl").read_bytes().splitlines()
    found = [msgspec.json.decode(line, type=Row) for line in lines]
    return [row for row in found if aside is None or (row.base in ASIDE) is aside]


@lru_cache(maxsize=32)
def files_of(base: str) -> tuple[str, ...]:
    """The files of a knowledge base, relative to it."""
    folder = FOLDER / base
    return tuple(sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.md")))


@lru_cache(maxsize=32)
def _library(base: str) -> Library:
    return Library.of(FOLDER / base, files_of(base))


@lru_cache(maxsize=4096)
def index_of(base: str, files: tuple[str, ...]) -> SectionIndex:
    """The sections of some files of a knowledge base, as a library has them."""
    return SectionIndex(section for path in files for section in _sections(base, path))


@lru_cache(maxsize=1024)
def _sections(base: str, path: str) -> tuple[DocumentSection, ...]:
    return tuple(sections_of(path, (FOLDER / base / path).read_text("utf-8")))


def consulted(row: Row) -> Answer:
    """Our own method."""
    found = _library(row.base).answer(read_question(row.question))
    files = tuple(dict.fromkeys(passage.path for passage in found.passages))
    return Answer(found.investigation.outcome == "success", files)


def _words(text: str) -> list[str]:
    found: list[str] = []
    for token in tokens_of(text):
        found.extend(
            pairs_of(token) if ord(token[0]) > 0x3000 else [stem(token)] if token.lower() not in STOP_WORDS else []
        )
    return found


@lru_cache(maxsize=32)
def _counted(base: str) -> dict[str, Counter[str]]:
    return {path: Counter(_words((FOLDER / base / path).read_text())) for path in files_of(base)}


def all_words(row: Row) -> Answer:
    """Baseline: all content words stand in one file."""
    wanted = set(_words(row.question))
    files = tuple(path for path, words in _counted(row.base).items() if wanted <= set(words))
    return Answer(bool(files), files)


def bm25(row: Row) -> list[tuple[float, str]]:
    """The files by BM25, per word of the question, best first."""
    known = _counted(row.base)
    mean = sum(words.total() for words in known.values()) / len(known)
    wanted = _words(row.question)
    scored = []
    for path, words in known.items():
        score = 0.0
        for word in wanted:
            holding = sum(word in other for other in known.values())
            rare = math.log(1 + (len(known) - holding + 0.5) / (holding + 0.5))
            score += rare * words[word] * 2.2 / (words[word] + 1.2 * (0.25 + 0.75 * words.total() / mean))
        scored.append((score / max(1, len(wanted)), path))
    return sorted(scored, key=lambda one: (-one[0], one[1]))


def fitted_bm25() -> Method:
    """Baseline: the best file by BM25 where its score is over the threshold that is best where it was developed on."""
    known = [(bm25(row)[0][0], row.kind in _ANSWERABLE) for row in rows(aside=False)]
    threshold = max(
        sorted({score for score, _ in known}),
        key=lambda least: sum((score >= least) is answerable for score, answerable in known),
    )

    def method(row: Row) -> Answer:
        score, path = bm25(row)[0]
        return Answer(score >= threshold, (path,))

    return method


def is_right(row: Row, answer: Answer) -> bool:
    """Answered from the gold file, or rightly not answered."""
    if row.kind in _ANSWERABLE:
        return answer.answered and bool(set(row.gold) & set(answer.files))
    return not answer.answered


def rate(some: Iterable[Row], method: Method) -> Rate:
    """Right of n."""
    judged = [is_right(row, method(row)) for row in some]
    return Rate(sum(judged), len(judged))


def gold_first(some: Iterable[Row]) -> Rate:
    """Of the questions that are answered and should be: whether the gold file comes first."""
    answers = [(row, consulted(row)) for row in some if row.kind in _ANSWERABLE]
    judged = [answer.files[0] in row.gold for row, answer in answers if answer.answered]
    return Rate(sum(judged), len(judged))


def speed() -> tuple[float, float]:
    """Seconds to build a library of 200 files, and milliseconds per question on it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        originals = [(base, path) for base in sorted({row.base for row in rows()}) for path in files_of(base)]
        for number in range(_FILES):
            base, path = originals[number % len(originals)]
            copy = folder / str(number // len(originals)) / base / path
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes((FOLDER / base / path).read_bytes())
        files = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
        started = time.perf_counter()
        library = Library.of(folder, files)
        built = time.perf_counter() - started
        asked = rows()
        started = time.perf_counter()
        for row in asked:
            library.answer(read_question(row.question))
        return built, 1000 * (time.perf_counter() - started) / len(asked)


def _is_refused(index: SectionIndex, row: Row) -> bool:
    return answer_from_sections(index, read_question(row.question)).investigation.outcome != "success"


def removed(some: Iterable[Row]) -> Rate:
    """Questions that are refused once the files that answer them are gone: what is met before knowledge is written."""
    found = Rate()
    for row in some:
        if row.kind in _ANSWERABLE:
            left = tuple(path for path in files_of(row.base) if path not in row.gold)
            found += Rate(int(_is_refused(index_of(row.base, left), row)), 1)
    return found


def written_step_by_step(some: Iterable[Row]) -> tuple[Rate, list[tuple[str, list[int]]]]:
    """How often the gaps became more while a base was written in five steps; and how many there were, base by base."""
    asked: dict[str, list[Row]] = {}
    for row in some:
        if row.kind in _ANSWERABLE:
            asked.setdefault(row.base, []).append(row)
    rises, counts = Rate(), []
    for base, questions in asked.items():
        files = list(files_of(base))
        random.Random(base).shuffle(files)
        gaps = []
        for step in range(1, _STEPS + 1):
            index = index_of(base, tuple(sorted(files[: max(1, len(files) * step // _STEPS)])))
            gaps.append(sum(_is_refused(index, row) for row in questions))
        counts.append((base, gaps))
        rises += Rate(sum(after > before for before, after in pairwise(gaps)), _STEPS - 1)
    return rises, counts


def report(*, wrong: bool = False, developed_only: bool = False) -> None:
    """Print the table."""
    print("Questions to a knowledge folder (aim kept aside: direct 95%, paraphrased 80%, absent 95%, decoy 80%)")
    baselines: tuple[tuple[str, Method], ...] = (("all words in one file", all_words), ("BM25", fitted_bm25()))
    for name, aside in (("developed on", False), ("kept aside", True))[: 1 if developed_only else 2]:
        half = rows(aside=aside)
        print(f"  {name}")
        for kind in KINDS:
            some = [row for row in half if row.kind == kind]
            others = "   ".join(f"{label} {percent(rate(some, method).value)}" for label, method in baselines)
            print(f"    {kind:12} {rate(some, consulted)!s:44} {others}")
        print(f"    {'all':12} {rate(half, consulted)!s:44} "
              + "   ".join(f"{label} {percent(rate(half, method).value)}" for label, method in baselines))  # fmt: skip
        print(f"    {'gold first':12} {gold_first(half)}")
        print(f"    {'removed':12} {removed(half)}   refused where the files that answer were taken away")
        rises, counts = written_step_by_step(half)
        print(f"    {'rises':12} {rises}   steps that added files and gaps, of bases written in five steps")
        print("      " + " · ".join(f"{base} {' '.join(map(str, gaps))}" for base, gaps in counts))
    built, each = speed()
    print(f"  {_FILES} files: built in {built:.2f} s, {each:.1f} ms a question")
    if wrong:
        _print_wrong()


def _print_wrong() -> None:
    for row in rows(aside=False):
        answer = consulted(row)
        if not is_right(row, answer):
            found = _library(row.base).answer(read_question(row.question))
            near = found.passages[0] if found.passages else None
            print(f"  {row.id}: {row.question}\n      {found.investigation.explanation}")
            print(f"      {near.path}:{near.line} {near.text[:140]!r}" if near else "      nothing near")


def main() -> None:
    """Print the table, and the errors where asked for."""
    parser = argparse.ArgumentParser(prog="bench.consult")
    parser.add_argument("--wrong", action="store_true", help="list the errors on the bases developed on")
    parser.add_argument("--developed-only", action="store_true", help="leave the bases kept aside alone")
    given = parser.parse_args()
    report(wrong=given.wrong, developed_only=given.developed_only)


if __name__ == "__main__":
    main()

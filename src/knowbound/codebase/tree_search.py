"""Which passages of a tree are about these words: ripgrep says which files can answer, and only those are cut.

The order is BM25 over passages: words in the name of a definition, in what it is inside and in its path count more, the
product's own files before built ones, documentation, tests and vendored ones. The order decides what is shown first;
it never decides whether something is an answer (specification 3, invariant 4).
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from knowbound.codebase.passages import CodePassage, passages_of, word_stem, words_of
from knowbound.core.paths import is_changelog, source_rank
from knowbound.files import read_text, rg
from knowbound.text.embedding import embed, similarity
from knowbound.text.programming_words import synonyms_of

_LOOKED_INTO = 200  # files whose lines with the words are compared
_MOST_FILES = 32  # of those, that are cut into passages
_FILE_BYTES = 2_000_000
_OUTPUT_BYTES = 48_000_000
_PER_FILE = "80"  # lines of a file that are looked at
# Neither written nor read by people: translations, locks, bundles, drawings, recordings.
_NOT_READ = tuple(
    part
    for ending in "po pot mo lock map svg min.js min.css snap csv tsv ipynb json.gz pb.go".split()
    for part in ("--glob", f"!*.{ending}")
)
_PATHS_GIVEN = 400  # named to ripgrep; of more, all files are searched
_WINDOW = 40
_READ_CLOSELY = 80  # passages whose meaning is compared
_K, _B, _USUAL_LENGTH = 1.2, 0.6, 120.0  # BM25; the length in words
_IN_NAME, _ABOVE = 2.0, 0.8  # how many more occurrences a word in the name, or above it, is worth
_RANK = (1.0, 0.7, 0.5, 0.35, 0.2)  # by source_rank
_RANK_OF_KNOWLEDGE = (0.7, 0.6, 1.0, 0.5, 0.2)  # in a folder of documents
_CHANGELOG = 0.35
_SYNONYM = 0.45  # of a word
_MEANING = 1.0  # how much nearness in meaning counts beside the words, at most


@dataclass(frozen=True, slots=True)
class WantedWord:
    """A word that is asked for: its stem, how it is written, and what means the same."""

    stem: str
    text: str
    synonyms: frozenset[str] = frozenset()  # stems
    weight: float = 1.0


@dataclass(slots=True)
class _InFile:
    lines: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))  # by stem


@dataclass(frozen=True, slots=True)
class RankedPassage:
    """A passage, how near it is, and which of the wanted words it has."""

    passage: CodePassage
    score: float
    has: frozenset[str]  # stems of wanted words, in the passage or above it


@dataclass(frozen=True, slots=True)
class TreeHits:
    """What ripgrep found of the words: the files of each, and what limited the search."""

    files: Mapping[str, _InFile]
    limited: str = ""

    def frequency(self, word: str) -> int:
        """In how many files a stem occurs."""
        return sum(word in one.lines for one in self.files.values())


def find_words(root: Path, words: Iterable[str], seconds: float, only: Sequence[str] | None = None) -> TreeHits:
    """One ripgrep pass for the words (as stems) in any form, also as parts of names; in these files only, if given."""
    wanted = {word for word in words if word}
    arguments = ["--null", "--with-filename", "--no-heading", "--line-number", "--only-matching"]
    # ASCII borders of words: on text in other scripts those of Unicode take ten times as long.
    arguments += ["--no-unicode", "--no-messages", "--max-count", _PER_FILE, "--max-columns", "400", *_NOT_READ]
    if not wanted or (only is not None and not only):
        return TreeHits({})
    arguments += ["-e", "|".join(_pattern(word) for word in sorted(wanted))]
    few = only if only is not None and len(only) <= _PATHS_GIVEN else None
    ran = rg(root, [*arguments, "--", *(f"./{path}" for path in few or ("",))], seconds, _OUTPUT_BYTES)
    limited = "the time limit" if ran.timed_out else "the output limit" if ran.cut else ""
    found = _by_file(ran.out, wanted)
    if only is not None:
        kept = frozenset(only)
        found = {path: one for path, one in found.items() if path in kept}
    return TreeHits(found, "ripgrep is not installed" if ran.missing else limited)


def _pattern(word: str) -> str:
    if not word.isascii():
        return re.escape(word)
    # A word begins where a name begins, after an underscore, or with a capital inside a name.
    return rf"(?:\b|_)(?i:{re.escape(word)}[a-z]*)|{re.escape(word.capitalize())}[a-z]*"


def _by_file(output: bytes, wanted: set[str]) -> dict[str, _InFile]:
    found: dict[str, _InFile] = {}
    head_before, here = b"", _InFile()
    for raw in output.split(b"\n"):
        head, nul, rest = raw.partition(b"\0")
        if not nul:
            continue
        number, _, text = rest.partition(b":")
        has = _wanted_in(text, wanted) if len(text) < 200 else frozenset()
        if not has:
            continue
        if head != head_before:
            head_before = head
            here = found.setdefault(head.decode("utf-8", "surrogateescape").removeprefix("./"), _InFile())
        for word in has:
            here.lines[word].append(int(number or 0))
    return found


@lru_cache(maxsize=50_000)
def _stems_in(text: bytes) -> frozenset[str]:
    return words_of(text.decode("utf-8", "replace"))


def _wanted_in(text: bytes, wanted: set[str]) -> frozenset[str]:
    return _stems_in(text) & wanted


def rank_passages(
    root: Path, question: str, words: Sequence[WantedWord], hits: TreeHits, files: int, *, knowledge: bool = False
) -> list[RankedPassage]:
    """The passages of the most promising files, best first; `knowledge` says that documents are the product."""
    rank = _RANK_OF_KNOWLEDGE if knowledge else _RANK
    weights = _weights(words, hits, max(files, 1))
    synonyms = {other: word for word in words for other in word.synonyms}
    hopeful = sorted(
        hits.files, key=lambda path: -_most_of(hits.files[path], weights, synonyms) * _rank_factor(path, rank)
    )
    candidates = [
        (_file_score(path, hits.files[path], weights, synonyms) * _rank_factor(path, rank), path)
        for path in hopeful[:_LOOKED_INTO]
    ]
    candidates.sort(key=lambda one: (-one[0], one[1]))
    found = []
    for _, path in candidates[:_MOST_FILES]:
        for passage in kept_passages(root, path):
            score, has = _score(passage, words, weights)
            if score > 0:
                found.append(RankedPassage(passage, score * _rank_factor(path, rank), has))
    found.sort(key=lambda one: (-one.score, one.passage.path, one.passage.first))
    return _by_meaning(question, found, weights)


def _by_meaning(question: str, found: list[RankedPassage], weights: Mapping[str, float]) -> list[RankedPassage]:
    """The first of them by words and meaning; the fewer of the words they have, the more the meaning counts."""
    closely, rest = found[:_READ_CLOSELY], found[_READ_CLOSELY:]
    if not closely:
        return []
    vector, best = embed(question), closely[0].score
    met = max(sum(weights[word] for word in one.has) for one in closely) / (sum(weights.values()) or 1.0)
    share = _MEANING * (1.0 - 0.7 * met)

    def order(one: RankedPassage) -> float:
        return -(one.score / best + share * similarity(vector, one.passage.meaning))

    return sorted(closely, key=lambda one: (order(one), one.passage.path, one.passage.first)) + rest


def _weights(words: Sequence[WantedWord], hits: TreeHits, files: int) -> dict[str, float]:
    """How specific each word is here: the rarer, the more."""
    found = {}
    for word in words:
        holding = hits.frequency(word.stem)
        found[word.stem] = word.weight * math.log(1 + (files - holding + 0.5) / (holding + 0.5))
    return found


def _most_of(here: _InFile, weights: Mapping[str, float], synonyms: Mapping[str, WantedWord]) -> float:
    """All that a file has of the words, wherever in it: the most that a passage of it can have."""
    own = sum(weights[word] for word in here.lines if word in weights)
    near = {synonyms[word].stem for word in here.lines if word not in weights and word in synonyms}
    return own + _SYNONYM * sum(weights[word] for word in near if word not in here.lines)


def _file_score(path: str, here: _InFile, weights: Mapping[str, float], synonyms: Mapping[str, WantedWord]) -> float:
    """The best window of the file, by the words in it, and a little for the rest."""
    events = []
    for word, lines in here.lines.items():
        weight = weights.get(word, 0.0)
        key = word
        if word not in weights and word in synonyms:
            key, weight = synonyms[word].stem, _SYNONYM * weights[synonyms[word].stem]
        events += [(line, key, weight) for line in lines]
    events.sort()
    inside: Counter[str] = Counter()
    value: dict[str, float] = {}
    best, begin, total = 0.0, 0, 0.0
    for line, key, weight in events:
        inside[key] += 1
        value[key] = max(value.get(key, 0.0), weight)
        while events[begin][0] < line - _WINDOW:
            inside[events[begin][1]] -= 1
            begin += 1
        total = sum(value[one] * count / (count + 0.6) for one, count in inside.items() if count)
        best = max(best, total)
    in_path = sum(weight for word, weight in weights.items() if word in words_of(path))
    return best + 0.5 * in_path


def _score(
    passage: CodePassage, words: Sequence[WantedWord], weights: Mapping[str, float]
) -> tuple[float, frozenset[str]]:
    length = _K * (1 - _B + _B * passage.words.total() / _USUAL_LENGTH)
    name, above = words_of(passage.name), words_of(f"{passage.above} {passage.path}")
    total, has = 0.0, set()
    for word in words:
        count = passage.words[word.stem] + _IN_NAME * (word.stem in name) + _ABOVE * (word.stem in above)
        share = 1.0
        if count:
            has.add(word.stem)
        else:
            count = max((passage.words[other] + _IN_NAME * (other in name) for other in word.synonyms), default=0.0)
            share = _SYNONYM
        if count:
            total += share * weights[word.stem] * count * (_K + 1) / (count + length)
    if total:
        met = sum(weights[word] for word in has) / (sum(weights.values()) or 1.0)
        total *= 0.6 + 0.4 * met
    return total, frozenset(has)


def _rank_factor(path: str, rank: Sequence[float]) -> float:
    return _CHANGELOG if is_changelog(path) else rank[source_rank(path)]


@lru_cache(maxsize=400)
def _passages(root: Path, path: str, _modified: int, _size: int) -> tuple[CodePassage, ...]:
    text = read_text(root, path, _FILE_BYTES)
    return tuple(passages_of(path, text)) if text is not None else ()


def kept_passages(root: Path, path: str) -> tuple[CodePassage, ...]:
    """The passages of a file as it is now, from this process's memory where it did not change."""
    try:
        info = (root / path).stat()
    except OSError:
        return ()
    return _passages(root, path, info.st_mtime_ns, info.st_size)


def forget_passages() -> None:
    """Cut every file anew: for measuring."""
    _passages.cache_clear()


def passage_at(root: Path, path: str, line: int) -> CodePassage | None:
    """The smallest passage of a file that has a line."""
    holding = [one for one in kept_passages(root, path) if one.first <= line <= one.last]
    return min(holding, key=lambda one: one.last - one.first, default=None)


def wanted_word(text: str) -> WantedWord:
    """A word as it is looked for, with what means the same in software."""
    own = word_stem(text)
    return WantedWord(own, text, synonyms_of(own))

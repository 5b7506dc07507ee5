"""Passages of a tree, ranked by the words of a question: ripgrep selects the files, and only those are cut.

The ranking is BM25 over passages. Words in the name of a definition, in its containers and in its path count more; the
product's own files come before built files, documentation, tests and vendored files. The ranking decides the order of
what is shown, never whether something is an answer (specification 3, invariant 4).

Synonyms of programmers (encrypt and cipher, retry and attempt) help to find a place in other words: each line of
`text/synonym_data/programming.txt` is a group. Evidence through a synonym is Moderate at best (specification 3: the
found thing must be the one asked for, not a similar one).
"""

from __future__ import annotations

import math
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib import resources
from pathlib import Path
from typing import TypeAlias

from knowbound.codebase.passages import CodePassage, passages_of, word_stem, word_stems
from knowbound.core.paths import is_changelog, source_rank
from knowbound.files import read_text, rg
from knowbound.text.embedding import embed, similarity
from knowbound.text.english import stem

_COMPARED_FILES = 200  # files whose lines with the words are compared
_CUT_FILES = 32  # files of those that are cut into passages
_FILE_BYTES = 2_000_000
_MOST_OUTPUT_BYTES = 48_000_000
_LINES_PER_FILE = "80"  # matching lines of a file
# Files that people neither write nor read: translations, locks, bundles, drawings, recordings.
_NOT_READ = tuple(
    part
    for ending in "po pot mo lock map svg min.js min.css snap csv tsv ipynb json.gz pb.go".split()
    for part in ("--glob", f"!*.{ending}")
)
_LONGEST_MATCH = 200  # bytes of a match: a longer one is no word
_PATHS_GIVEN = 400  # paths that ripgrep is given; with more, all files are searched
_WINDOW_LINES = 40
_PASSAGES_BY_MEANING = 80  # passages whose meaning is compared
_K, _B, _USUAL_WORDS = 1.2, 0.6, 120.0  # BM25; the length in words
_WORTH_IN_NAME, _WORTH_ABOVE = 2.0, 0.8  # occurrences that a word in the name, or in a container or the path, is worth
_RANK_FACTORS = (1.0, 0.7, 0.5, 0.35, 0.2)  # by source_rank
_KNOWLEDGE_RANK_FACTORS = (0.7, 0.6, 1.0, 0.5, 0.2)  # in a folder of documents
_CHANGELOG_FACTOR = 0.35
_SYNONYM_SHARE = 0.45  # weight of a synonym, as a share of its word
_MOST_MEANING = 1.0  # most that similarity in meaning counts beside the words

_FileLines: TypeAlias = dict[str, list[int]]  # lines of one file, by stem


@dataclass(frozen=True, slots=True)
class WantedWord:
    """A word of a question with its stem and its synonyms."""

    stem: str
    text: str
    synonyms: frozenset[str] = frozenset()  # stems
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class RankedPassage:
    """A passage with its score and the wanted words in it."""

    passage: CodePassage
    score: float
    has: frozenset[str]  # stems of wanted words in the passage, its containers or its path


def find_words(
    root: Path, words: Iterable[str], seconds: float, only: Sequence[str] | None = None
) -> dict[str, _FileLines]:
    """Return the files and lines that have the words (stems) in any form, also as parts of names.

    One ripgrep pass over the tree, or over the files of `only`.
    """
    wanted = {word for word in words if word}
    arguments = ["--null", "--with-filename", "--no-heading", "--line-number", "--only-matching"]
    # ASCII word borders: Unicode borders take ten times as long on text in other scripts.
    arguments += ["--no-unicode", "--no-messages", "--max-count", _LINES_PER_FILE, "--max-columns", "400", *_NOT_READ]
    if not wanted or (only is not None and not only):
        return {}
    arguments += ["-e", "|".join(_pattern(word) for word in sorted(wanted))]
    given = only if only is not None and len(only) <= _PATHS_GIVEN else ("",)  # "": the whole tree
    ran = rg(root, [*arguments, "--", *(f"./{path}" for path in given)], seconds, _MOST_OUTPUT_BYTES)
    found = _by_file(ran.out, wanted)
    searched = found.keys() if only is None else frozenset(only)
    return {path: lines for path, lines in found.items() if path in searched}


def _pattern(word: str) -> str:
    """Return the pattern that finds a stem in any form, also as a part of a name."""
    if not word.isascii():
        return re.escape(word)
    # A word begins where a name begins, after an underscore, or with a capital inside a name.
    return rf"(?:\b|_)(?i:{re.escape(word)}[a-z]*)|{re.escape(word.capitalize())}[a-z]*"


def _by_file(output: bytes, wanted: set[str]) -> dict[str, _FileLines]:
    """Return the wanted stems that ripgrep found, with their lines by file."""
    found: dict[str, _FileLines] = {}
    head_before, lines_by_stem = b"", _FileLines()
    for raw in output.split(b"\n"):
        head, nul, rest = raw.partition(b"\0")
        if not nul:
            continue
        number, _, text = rest.partition(b":")
        stems = _stems_in(text) & wanted if len(text) < _LONGEST_MATCH else frozenset()
        if not stems:
            continue
        if head != head_before:
            head_before = head
            lines_by_stem = found.setdefault(head.decode("utf-8", "surrogateescape").removeprefix("./"), {})
        for word in stems:
            lines_by_stem.setdefault(word, []).append(int(number or 0))
    return found


@lru_cache(maxsize=50_000)
def _stems_in(text: bytes) -> frozenset[str]:
    return word_stems(text.decode("utf-8", "replace"))


def rank_passages(
    root: Path,
    question: str,
    words: Sequence[WantedWord],
    hits: Mapping[str, _FileLines],
    files: int,
    *,
    knowledge: bool,
    deadline: float = math.inf,
) -> list[RankedPassage]:
    """Return the passages of the most promising files, best first.

    `files` is the number of files of the tree; `knowledge` says that documents are its product. After the deadline
    (`time.monotonic()`) no further file is cut.
    """
    factors = _KNOWLEDGE_RANK_FACTORS if knowledge else _RANK_FACTORS
    weights = _word_weights(words, hits, max(files, 1))
    synonyms = {other: word for word in words for other in word.synonyms}
    rank = partial(_rank_factor, factors=factors)
    promising = sorted(hits, key=lambda path: -_highest_score(hits[path], weights, synonyms) * rank(path))
    candidates = [
        (_file_score(path, hits[path], weights, synonyms) * rank(path), path) for path in promising[:_COMPARED_FILES]
    ]
    candidates.sort(key=lambda ranked: (-ranked[0], ranked[1]))
    found = []
    for _, path in candidates[:_CUT_FILES]:
        if time.monotonic() > deadline:
            break
        for passage in _passages_now(root, path):
            score, has = _passage_score(passage, words, weights)
            if score > 0:
                found.append(RankedPassage(passage, score * rank(path), has))
    found.sort(key=lambda ranked: (-ranked.score, ranked.passage.path, ranked.passage.first))
    return _by_meaning(question, found, weights)


def _by_meaning(question: str, found: list[RankedPassage], weights: Mapping[str, float]) -> list[RankedPassage]:
    """Order the first passages by words and meaning; the fewer words they have, the more the meaning counts."""
    compared, others = found[:_PASSAGES_BY_MEANING], found[_PASSAGES_BY_MEANING:]
    if not compared:
        return []
    vector, best = embed(question), compared[0].score
    # The more of the words the best passage has, the less their meaning has to tell.
    met_share = max(sum(weights[word] for word in ranked.has) for ranked in compared) / (sum(weights.values()) or 1.0)
    meaning_share = _MOST_MEANING * (1.0 - 0.7 * met_share)

    def order(ranked: RankedPassage) -> float:
        return -(ranked.score / best + meaning_share * similarity(vector, ranked.passage.meaning))

    return sorted(compared, key=lambda ranked: (order(ranked), ranked.passage.path, ranked.passage.first)) + others


def _word_weights(words: Sequence[WantedWord], hits: Mapping[str, _FileLines], files: int) -> dict[str, float]:
    """Return the weight of each word: the fewer files of the tree have it, the more."""
    found = {}
    for word in words:
        having = sum(word.stem in lines for lines in hits.values())  # files
        found[word.stem] = word.weight * math.log(1 + (files - having + 0.5) / (having + 0.5))  # BM25
    return found


def _highest_score(lines_of: _FileLines, weights: Mapping[str, float], synonyms: Mapping[str, WantedWord]) -> float:
    """Return the score of all words of a file together: no passage of it can have more."""
    own = sum(weights[word] for word in lines_of if word in weights)
    meant = {synonyms[word].stem for word in lines_of if word not in weights and word in synonyms}
    return own + _SYNONYM_SHARE * sum(weights[word] for word in meant if word not in lines_of)


def _file_score(
    path: str, lines_of: _FileLines, weights: Mapping[str, float], synonyms: Mapping[str, WantedWord]
) -> float:
    """Return the score of the best window of a file, and a little for words in its path."""
    events = []  # line, word, weight
    for word, lines in lines_of.items():
        key, weight = word, weights.get(word, 0.0)
        if word not in weights and word in synonyms:  # it counts as the word that it is a synonym of
            key, weight = synonyms[word].stem, _SYNONYM_SHARE * weights[synonyms[word].stem]
        events += [(line, key, weight) for line in lines]
    events.sort()
    hits_in_window: Counter[str] = Counter()
    weight_of: dict[str, float] = {}
    best, begin = 0.0, 0
    for line, key, weight in events:
        hits_in_window[key] += 1
        weight_of[key] = max(weight_of.get(key, 0.0), weight)
        while events[begin][0] < line - _WINDOW_LINES:
            hits_in_window[events[begin][1]] -= 1
            begin += 1
        # Each further hit of a word adds less.
        total = sum(weight_of[key] * count / (count + 0.6) for key, count in hits_in_window.items() if count)
        best = max(best, total)
    in_path = sum(weight for word, weight in weights.items() if word in word_stems(path))
    return best + 0.5 * in_path  # a path says what a file is about, a line what is in it: half as much


def _passage_score(
    passage: CodePassage, words: Sequence[WantedWord], weights: Mapping[str, float]
) -> tuple[float, frozenset[str]]:
    """Return the BM25 score of a passage, and the stems of the words that it has itself, not only by a synonym."""
    length = _K * (1 - _B + _B * passage.words.total() / _USUAL_WORDS)
    name_stems, above_stems = word_stems(passage.name), word_stems(f"{passage.above} {passage.path}")
    total, found_stems = 0.0, set()
    for word in words:
        outside = _WORTH_IN_NAME * (word.stem in name_stems) + _WORTH_ABOVE * (word.stem in above_stems)
        count = passage.words[word.stem] + outside
        share = 1.0
        if count:
            found_stems.add(word.stem)
        else:
            counts = (passage.words[other] + _WORTH_IN_NAME * (other in name_stems) for other in word.synonyms)
            count = max(counts, default=0.0)
            share = _SYNONYM_SHARE
        if count:
            total += share * weights[word.stem] * count * (_K + 1) / (count + length)
    if total:
        met_share = sum(weights[word] for word in found_stems) / (sum(weights.values()) or 1.0)
        total *= 0.6 + 0.4 * met_share  # many words once are worth more than one word often
    return total, frozenset(found_stems)


def _rank_factor(path: str, factors: Sequence[float]) -> float:
    return _CHANGELOG_FACTOR if is_changelog(path) else factors[source_rank(path)]


@lru_cache(maxsize=400)
def _passages(root: Path, path: str, _modified: int, _size: int) -> tuple[CodePassage, ...]:
    """Return the passages of a file; time and size are in the key of the cache, so that a change shows."""
    text = read_text(root, path, _FILE_BYTES)
    return tuple(passages_of(path, text)) if text is not None else ()


def _passages_now(root: Path, path: str) -> tuple[CodePassage, ...]:
    """Return the passages of a file as it is now, from the cache if the file did not change."""
    try:
        info = (root / path).stat()
    except OSError:
        return ()
    return _passages(root, path, info.st_mtime_ns, info.st_size)


def passage_at(root: Path, path: str, line: int) -> CodePassage | None:
    """Return the smallest passage of a file that has the line."""
    around = [passage for passage in _passages_now(root, path) if passage.first <= line <= passage.last]
    return min(around, key=lambda passage: passage.last - passage.first, default=None)


def wanted_word(text: str) -> WantedWord:
    """Return a word with its synonyms in software."""
    own = word_stem(text)
    return WantedWord(own, text, synonyms_of(own))


def synonyms_of(word: str) -> frozenset[str]:
    """Return the stems of single words that mean the same as a stem."""
    return _groups().get(word, frozenset())


@lru_cache(maxsize=1)
def _groups() -> dict[str, frozenset[str]]:
    """Read the synonyms of each stem."""
    lines = resources.files("knowbound.text").joinpath("synonym_data", "programming.txt").read_text("utf-8")
    found: dict[str, set[str]] = defaultdict(set)
    for line in lines.splitlines():
        group = {stem(word) for word in line.split()}
        for word in group:
            found[word] |= group
    return {word: frozenset(group - {word}) for word, group in found.items()}

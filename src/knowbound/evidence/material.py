"""The passages that a model reads: a few thousand tokens of a tree or of its history in which the answer must be.

Each term has its places, and the ranking by all words has its own: a passage that several of these lists have comes
first. Order decides what is shown, never what is an answer.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from knowbound.codebase.passages import word_stem, word_stems
from knowbound.codebase.tree import SourceTree
from knowbound.codebase.tree_search import passage_at
from knowbound.core.evidence import Evidence, EvidenceClass, Place, Quality
from knowbound.core.paths import language_of
from knowbound.evidence.plan import Plan, TermKind
from knowbound.evidence.producers.passages import ranked_for
from knowbound.evidence.producers.protocol import Context
from knowbound.evidence.producers.repository import LogEntry, Repository
from knowbound.judge.models.questions import sendable
from knowbound.text.printable import estimated_tokens

_TOKENS, _OF_A_PASSAGE = 7_000, 700
_LINES, _LONGEST_LINE = 60, 240
_OF_A_TERM, _RANKED = 5, 14  # places of one term; passages by the ranking
_FUSED = 10.0  # of reciprocal rank fusion: how little the first ranks differ
_COMMITS, _BODY_LINES, _OF_A_NAME = 30, 12, 4
_FOLDERS, _TOP_FILES = 60, 30


class ShownPassage(msgspec.Struct, frozen=True):
    """A passage as the model is shown it."""

    place: Place  # where it begins to matter: the cited line, the definition, the commit
    first: int
    last: int
    text: str
    found_by: tuple[int, ...] = ()  # numbers of the searches that named it

    def shown(self, number: int) -> str:
        """Return the passage below its number and place."""
        lines = f":{self.first}-{self.last}" if self.first else ""
        name = f" ({self.place.symbol})" if self.first and self.place.symbol else ""
        return f"[{number}] {self.place.path}{lines}{name}\n{self.text}"

    def line_of(self, quote: str) -> int:
        """Return the line of the file on which a quotation begins; the place's own if it cannot be told."""
        wanted = next((line.strip() for line in quote.splitlines() if len(line.strip()) > 2), "")
        for number, line in enumerate(self.text.split("\n"), self.first):
            if wanted and self.first and (wanted in line or (len(line.strip()) > 8 and line.strip() in wanted)):
                return number
        return self.place.line


def passages_of_tree(
    plan: Plan, entries: Sequence[Evidence], tree: SourceTree, without: Iterable[ShownPassage] = ()
) -> list[ShownPassage]:
    """Return the passages around what searches found and what the ranking puts first, best first."""
    seen = {(one.place.path, one.first) for one in without}
    scores: dict[tuple[str, int, int], float] = defaultdict(float)
    places: dict[tuple[str, int, int], Place] = {}
    found_by: dict[tuple[str, int, int], list[int]] = defaultdict(list)

    def add(place: Place, rank: int, worth: float, search: int | None = None) -> None:
        around = passage_at(tree.root, place.path, max(1, place.line))
        key = (
            (place.path, around.first, around.last)
            if around
            else (place.path, max(1, place.line - 10), place.line + 20)
        )
        if key[:2] in seen:
            return
        scores[key] += worth / (_FUSED + rank)
        places.setdefault(key, place)
        if search is not None and search not in found_by[key]:
            found_by[key].append(search)

    for number, entry in enumerate(entries):
        if entry.cls is not EvidenceClass.FILE_SEARCH or not entry.quality.reaches(Quality.MODERATE):
            continue
        worth = 1.5 if entry.quality is Quality.STRONG else 0.8
        by_file: dict[str, int] = {}
        for rank, place in enumerate(entry.places[: 4 * _OF_A_TERM]):
            by_file[place.path] = by_file.get(place.path, 0) + 1
            if by_file[place.path] <= 2 and len(by_file) <= _OF_A_TERM:
                add(place, rank, worth / (1 + math.log10(max(1, entry.match_count))), number)
    own = [word for term in plan.terms for word in (*term.words, *term.names)]
    for words, worth in ((own, 1.5), (plan.words, 1.0)):
        for rank, one in enumerate(ranked_for(tree, plan.question, words)[:_RANKED] if words else ()):
            add(Place(one.passage.path, one.passage.line, one.passage.name), rank, worth)
    shown, tokens = list[ShownPassage](), 0
    for key in sorted(scores, key=lambda key: (-scores[key], key)):
        cut = _cut(key, places[key], tree, tuple(found_by[key]))
        cost = estimated_tokens(cut.text) + 20
        if cut.text.strip() and tokens + cost <= _TOKENS:
            shown.append(cut)
            tokens += cost
    return shown


def _cut(key: tuple[str, int, int], place: Place, tree: SourceTree, found_by: tuple[int, ...]) -> ShownPassage:
    """Return the lines of a passage, around the cited one if they are too many."""
    path, first, last = key
    lines = (tree.text(path) or "").split("\n")
    last = min(last, len(lines))
    if last - first >= _LINES:
        first = max(first, min(place.line - _LINES // 3, last - _LINES))
        last = min(last, first + _LINES - 1)
    kept = [line[:_LONGEST_LINE] for line in lines[first - 1 : last]]
    while len(kept) > 3 and estimated_tokens("\n".join(kept)) > _OF_A_PASSAGE:
        kept.pop() if place.line - first < len(kept) - 1 else kept.pop(0)
        first += len(kept) < last - first + 1 and place.line - first >= len(kept)
    return ShownPassage(place, first, first + len(kept) - 1, sendable("\n".join(kept)), found_by)


def passages_of_history(plan: Plan, context: Context) -> list[ShownPassage]:
    """Return the commits whose messages or changes have most of the terms, best first."""
    repository = Repository.open(context)
    messages = repository.messages()
    wanted = {word_stem(word) for word in plan.words}
    stems = {commit.hash: word_stems(f"{commit.subject}\n{body}") for commit, body in messages}
    holding = Counter(word for found in stems.values() for word in found & wanted)
    score = {
        commit.hash: sum(
            math.log(1 + len(messages) / holding[word]) * (1.5 if word in word_stems(commit.subject) else 1.0)
            for word in stems[commit.hash] & wanted
        )
        for commit, _ in messages
    }
    ranked = sorted(messages, key=lambda one: -score[one[0].hash])
    chosen: dict[str, LogEntry] = {}
    for term in (*plan.terms, *plan.proposed):
        if term.kind in (TermKind.IDENTIFIER, TermKind.OPTION) and context.seconds_left > 0:
            found = repository.pickaxe(term.text)
            chosen |= {one.hash: one for one in (*found[:_OF_A_NAME], *found[-_OF_A_NAME:])}
        elif term.kind is TermKind.FILE:
            chosen |= {
                one.hash: one for one in repository.log(count=_OF_A_NAME, paths=[f":(glob)**/{term.text}", term.text])
            }
    chosen |= {commit.hash: commit for commit, _ in messages[:3]}
    for commit, _ in ranked:
        if len(chosen) >= _COMMITS:
            break
        if score[commit.hash] > 0:
            chosen.setdefault(commit.hash, commit)
    bodies = {commit.hash: body for commit, body in messages}
    order = {commit.hash: at for at, (commit, _) in enumerate(messages)}
    return [
        _commit(commit, bodies.get(commit.hash, ""))
        for commit in sorted(chosen.values(), key=lambda one: order.get(one.hash, len(order)))
    ]


def _commit(commit: LogEntry, body: str) -> ShownPassage:
    said = "\n".join(line[:_LONGEST_LINE] for line in body.strip().splitlines()[:_BODY_LINES])
    text = f"{commit.date[:10]} {commit.author}\n{commit.subject}\n{said}".rstrip()
    return ShownPassage(commit.place, 0, 0, sendable(text))


def project_words(tree: SourceTree) -> str:
    """Return what a plan may know of a project: its languages, folders with their files, files of the top folder."""
    languages = Counter(language.name for path in tree.files if (language := language_of(path)))
    folders: Counter[str] = Counter()
    for path in tree.files:
        parts = path.split("/")[:-1]
        for depth in (1, 2, 3):
            if len(parts) >= depth:
                folders["/".join(parts[:depth])] += 1
    top = sorted(path for path in tree.files if "/" not in path)[:_TOP_FILES]
    kept = sorted(name for name, _ in folders.most_common(_FOLDERS))
    spoken = ", ".join(f"{name} {count}" for name, count in languages.most_common(5)) or "documents"
    listing = (f"{len(tree.files)} files; {spoken}", *(f"{name}/ {folders[name]}" for name in kept), *top)
    return sendable("\n".join(listing))

"""The passages that a model reads: a few thousand tokens of a tree or of its history in which the answer must be.

Each term has its places, and the ranking by all words has its own: a passage that several of these lists have comes
first. Order decides what is shown, never what is an answer.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import msgspec

from knowbound.codebase.passages import word_stem, word_stems
from knowbound.codebase.tree import SourceTree
from knowbound.codebase.tree_search import passage_at
from knowbound.core.evidence import Evidence, EvidenceClass, Place, Quality
from knowbound.core.paths import language_of
from knowbound.evidence.plan import Plan, TermKind
from knowbound.evidence.producers.passages import ranked_for
from knowbound.evidence.producers.protocol import Context
from knowbound.evidence.producers.read import why_unfit
from knowbound.evidence.producers.repository import LogEntry, Repository, anywhere, literal
from knowbound.judge.models.questions import sendable
from knowbound.text.printable import estimated_tokens

_MOST_TOKENS, _PASSAGE_TOKENS = 2_450, 300  # about 8,000 and 1,000 characters
_LONGEST_LINE, _SHORTEST_LINE, _TELLING_LINE = 240, 3, 8  # characters
_Span: TypeAlias = tuple[str, int, int]  # path, first and last line
_PLACES_OF_TERM, _PLACES_OF_FILE = 5, 2  # files of one term, and places in each
_RANKED_PASSAGES = 14  # passages by the ranking
_BEFORE, _AFTER = 10, 20  # lines around a place that is in no definition or section
_FUSION_K = 10.0  # of reciprocal rank fusion: how little the first ranks differ
_NEWEST_COMMITS, _BODY_LINES, _COMMITS_OF_NAME = 3, 3, 4  # commits and lines of a history
_TRAILER = re.compile(r"[A-Z][\w-]*(?:-[Bb]y|-URL): |(?:PR|Refs?|Fixes|Closes)[: ]+\S+$")
_MOST_FOLDERS, _MOST_TOP_FILES = 60, 30


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

    @property
    def lines(self) -> frozenset[str]:
        """Return its lines, without those that say nothing."""
        return frozenset(line.strip() for line in self.text.split("\n") if len(line.strip()) > _SHORTEST_LINE)

    def line_of(self, quote: str) -> int:
        """Return the line of the file on which a quotation begins; the place's own if it is unknown."""
        wanted = next((line.strip() for line in quote.splitlines() if len(line.strip()) > 2), "")
        for number, line in enumerate(self.text.split("\n"), self.first):
            # A quotation may join two lines: a line that is long enough to tell may also be part of it.
            is_part = len(line.strip()) > _TELLING_LINE and line.strip() in wanted
            if wanted and self.first and (wanted in line or is_part):  # 0: a commit has no lines
                return number
        return self.place.line


def passages_of_tree(
    plan: Plan, entries: Sequence[Evidence], tree: SourceTree, already_shown: Iterable[ShownPassage] = ()
) -> list[ShownPassage]:
    """Return the passages around what searches found and what the ranking puts first, best first."""
    scores: dict[_Span, float] = defaultdict(float)
    places: dict[_Span, Place] = {}
    found_by: dict[_Span, list[int]] = defaultdict(list)

    def add(place: Place, rank: int, worth: float, search: int | None = None) -> None:
        """Raise the score of the passage around a place; `search` is the number of the entry that found it."""
        if why_unfit(place.path, plan.subject):
            return
        around = passage_at(tree.root, place.path, max(1, place.line))
        first, last = (around.first, around.last) if around else (max(1, place.line - _BEFORE), place.line + _AFTER)
        span = (place.path, first, last)
        scores[span] += worth / (_FUSION_K + rank)
        places.setdefault(span, place)
        if search is not None and search not in found_by[span]:
            found_by[span].append(search)

    for number, entry in enumerate(entries):
        if entry.cls is not EvidenceClass.FILE_SEARCH or not entry.quality.reaches(Quality.MODERATE):
            continue
        # What is found exactly counts about twice; a place counts the less the more places the search found.
        worth = (1.5 if entry.quality is Quality.STRONG else 0.8) / (1 + math.log10(max(1, entry.match_count)))
        by_file: dict[str, int] = {}
        for rank, place in enumerate(entry.places[: 4 * _PLACES_OF_TERM]):
            by_file[place.path] = by_file.get(place.path, 0) + 1
            if by_file[place.path] <= _PLACES_OF_FILE and len(by_file) <= _PLACES_OF_TERM:
                add(place, rank, worth, number)
    own_words = [word for term in plan.terms for word in (*term.words, *term.names)]  # without those of guesses
    for words, worth in ((own_words, 1.5), (plan.words, 1.0)):
        for rank, ranked in enumerate(ranked_for(tree, plan.question, words)[:_RANKED_PASSAGES] if words else ()):
            add(Place(ranked.passage.path, ranked.passage.line, ranked.passage.name), rank, worth)
    stems = frozenset(word_stem(word) for word in plan.words)
    spans = sorted(scores, key=lambda span: (-scores[span], span))
    passages = (_cut(span, places[span], tree, tuple(found_by[span]), stems) for span in spans)
    return _new_within_budget(passages, {line for passage in already_shown for line in passage.lines})


def _new_within_budget(passages: Iterable[ShownPassage], seen_lines: set[str]) -> list[ShownPassage]:
    """Return the passages most of whose lines were not seen, in this or another file, as many as the tokens allow."""
    shown, tokens = list[ShownPassage](), 0
    for passage in passages:
        cost = estimated_tokens(passage.shown(len(shown)))
        if 2 * len(passage.lines - seen_lines) > len(passage.lines) and tokens + cost <= _MOST_TOKENS:
            shown.append(passage)
            seen_lines |= passage.lines
            tokens += cost
    return shown


def _cut(span: _Span, place: Place, tree: SourceTree, found_by: tuple[int, ...], stems: frozenset[str]) -> ShownPassage:
    """Return a passage, or of a long one the lines that together have most of the wanted words."""
    path, begin, end = span
    lines = [line[:_LONGEST_LINE] for line in (tree.text(path) or "").split("\n")[begin - 1 : end]]
    costs = [estimated_tokens(line) + 1 for line in lines]
    wanted_in = [word_stems(line) & stems for line in lines]
    first, last, best = 0, len(lines), (-1, -1)
    if sum(costs) > _PASSAGE_TOKENS:
        start, cost = 0, 0  # a window over the lines: as many as fit
        for stop in range(len(lines)):
            cost += costs[stop]
            while cost > _PASSAGE_TOKENS and start < stop:
                cost -= costs[start]
                start += 1
            inside = wanted_in[start : stop + 1]
            worth = (len(frozenset().union(*inside)), sum(map(len, inside)))  # different words, then all of them
            if worth > best:
                first, last, best = start, stop + 1, worth
    return ShownPassage(place, begin + first, begin + last - 1, sendable("\n".join(lines[first:last])), found_by)


def passages_of_history(plan: Plan, context: Context) -> list[ShownPassage]:
    """Return the commits that change what the terms name, or whose messages have most of their words, newest first."""
    repository = Repository.open(context)
    messages = repository.messages()
    wanted = {word_stem(word) for word in plan.words}
    stems = {commit.hash: word_stems(f"{commit.subject}\n{body}") for commit, body in messages}
    commits_with = Counter(word for of_message in stems.values() for word in of_message & wanted)
    score = {  # by hash: a rare word weighs more, one in the subject half as much again
        commit.hash: sum(
            math.log(1 + len(messages) / commits_with[word]) * (1.5 if word in word_stems(commit.subject) else 1.0)
            for word in stems[commit.hash] & wanted
        )
        for commit, _ in messages
    }
    changes = _changes_of_terms(plan, repository, context)
    best_score = max(score.values(), default=0.0)  # added to that of a commit with a change, which is the better sign
    ranked = sorted(messages, key=lambda message: -score[message[0].hash] - best_score * (message[0].hash in changes))
    newest = [commit.hash for commit, _ in messages[:_NEWEST_COMMITS]]
    shown: dict[str, ShownPassage] = {}
    tokens = 0
    for commit, body in sorted(ranked, key=lambda message: message[0].hash not in newest):  # the newest come first
        passage = _commit_passage(commit, body, changes[commit.hash], wanted)
        tokens += estimated_tokens(passage.shown(len(shown)))
        if tokens > _MOST_TOKENS or not (score[commit.hash] or changes[commit.hash] or commit.hash in newest):
            break
        shown[commit.hash] = passage
    return [shown[commit.hash] for commit, _ in messages if commit.hash in shown]


def _changes_of_terms(plan: Plan, repository: Repository, context: Context) -> defaultdict[str, list[str]]:
    """Return which terms the commits, by hash, add, remove or change: the first and the last commits of each."""
    changes = defaultdict[str, list[str]](list)
    for term in (*plan.terms, *plan.proposed):
        if term.kind in (TermKind.IDENTIFIER, TermKind.OPTION) and context.seconds_left > 0:
            found = repository.pickaxe(term.text)
            for commit in {*found[:_COMMITS_OF_NAME], *found[-_COMMITS_OF_NAME:]}:  # how it came, and what is so now
                changes[commit.hash].append(f"adds or removes {term.text}")
        elif term.kind is TermKind.FILE:
            paths = [anywhere(term.text), literal(term.text)]
            for commit in repository.log(count=_COMMITS_OF_NAME, paths=paths):
                changes[commit.hash].append(f"changes {term.text}")
    return changes


def _commit_passage(commit: LogEntry, body: str, changes: Sequence[str], wanted: set[str]) -> ShownPassage:
    """Return a commit: the first lines of its message, and further lines with a wanted word."""
    lines = [line[:_LONGEST_LINE] for line in body.strip().splitlines() if line.strip() and not _TRAILER.match(line)]
    kept = [line for number, line in enumerate(lines) if number < _BODY_LINES or word_stems(line) & wanted][
        : 2 * _BODY_LINES
    ]
    text = "\n".join((f"{commit.date[:10]} {commit.author}", commit.subject, *dict.fromkeys(changes), *kept))
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
    top = sorted(path for path in tree.files if "/" not in path)[:_MOST_TOP_FILES]
    largest = sorted(name for name, _ in folders.most_common(_MOST_FOLDERS))
    languages_shown = ", ".join(f"{name} {count}" for name, count in languages.most_common(5)) or "documents"
    listing = (f"{len(tree.files)} files; {languages_shown}", *(f"{name}/ {folders[name]}" for name in largest), *top)
    return sendable("\n".join(listing))

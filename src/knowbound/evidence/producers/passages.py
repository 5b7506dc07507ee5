"""`passages`: all that is asked, together in one definition or passage (specification 3, part III.2).

| evidence | level |
| --- | --- |
| every word, as it is or inflected, within a few lines of one passage (its name, what it is in, its path) | Strong |
| every word, but some only through a synonym; or farther apart; or only in a test or a changelog | Moderate |
| some of the words | Weak |
| none of them | None |

Verbs count like nouns, parts of names like words. The order in which passages are looked at is a ranking; the level
comes from these rules alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from knowbound.codebase.passages import CodePassage, word_stem
from knowbound.codebase.tree import SourceTree
from knowbound.codebase.tree_search import RankedPassage, WantedWord, wanted_word
from knowbound.core.evidence import Evidence, EvidenceClass, Place, Quality
from knowbound.core.paths import is_changelog, language_of, source_rank
from knowbound.evidence.plan import Term, TermKind
from knowbound.evidence.producers.grep import files_named
from knowbound.evidence.producers.protocol import SEARCH, Ask, Context, Producer
from knowbound.text.printable import counted, listed
from knowbound.text.terms import split_words

TOGETHER = 10  # lines
_MOST_GRADED = 200  # passages that are graded, best first
_ITEM = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s|^\s*\|")
_NOT_PRODUCT = 3  # the source_rank from which on a file is no part of the product


@dataclass(frozen=True, slots=True)
class _GradedPassage:
    """A passage with its level, the line to cite, and the words that it lacks."""

    ranked: RankedPassage
    quality: Quality
    line: int
    missing: tuple[str, ...]
    why: str


class PassageSearch(Producer):
    """Definitions and passages that have all the words of a description."""

    name = "passages"
    cls = EvidenceClass.FILE_SEARCH
    independent_of = SEARCH

    def can(self, ask: Ask) -> int:
        """Rate this producer: for descriptions, which have related nouns and verbs, but no name or phrase."""
        return 9 if ask.term is not None and ask.term.kind is TermKind.DESCRIPTION else 0

    def produce(self, ask: Ask, context: Context) -> Evidence:
        """Return the passages of the best level that was reached."""
        term = ask.term
        assert term is not None
        ranked = ranked_for(context.tree, ask.question, term.words, term.names)
        if term.within:
            inside = set(files_named(context.tree.files, term.within))
            ranked = [candidate for candidate in ranked if candidate.passage.path in inside]
        if not ranked:
            return ask.nothing(self.name, "no passage has any of it")
        found = [_grade(candidate, term, context.tree) for candidate in ranked[:_MOST_GRADED]]
        best = max((graded.quality for graded in found), key=lambda level: level.rank)
        of_best = [graded for graded in found if graded.quality is best]
        passages = [(graded.ranked.passage, graded.line) for graded in of_best]
        places = [Place(passage.path, line, passage.name) for passage, line in passages]
        exact = len(of_best) if best is Quality.STRONG else 0
        return ask.evidence(
            self.name, best, places, count=len(of_best), exact=exact, note=of_best[0].why, query=term.text
        )


def ranked_for(tree: SourceTree, question: str, words: Sequence[str], names: Sequence[str] = ()) -> list[RankedPassage]:
    """Return the passages of the tree in the order of their nearness to the question."""
    parts = (WantedWord(word_stem(part), part) for name in names for part in split_words(name))
    wanted = {word.stem: word for word in (*parts, *map(wanted_word, words))}
    return tree.ranked(question, list(wanted.values()))


def _grade(ranked: RankedPassage, term: Term, tree: SourceTree) -> _GradedPassage:
    """Grade a passage by where it has the words and names of a term: together, through synonyms, apart, in part."""
    passage = ranked.passage
    needed = [word_stem(word) for word in term.words]
    word_of = {word_stem(word): word for word in term.words}
    head = passage.head  # words of its name, and of what it is in
    lines = (tree.text(passage.path) or "").split("\n")[passage.first - 1 : passage.last]
    windows = [(number, number + TOGETHER) for number, words in enumerate(passage.lines) if words]
    spans = _blocks_of_document(lines) if passage.kind == "section" else windows
    begin, end, present = _best_window(passage, needed, head, spans)
    line = best_line(passage, needed, begin, end)
    window = "\n".join(lines[begin:end])
    absent_names = tuple(name for name in term.names if not _has_name(window, f"{passage.name} {passage.above}", name))
    missing = tuple(word_of[word] for word in needed if word not in present) + absent_names
    if not missing:
        return _grade_with_all_words(ranked, line)
    synonyms = {word: wanted_word(word_of[word]).synonyms for word in needed if word not in present}
    in_window = frozenset().union(*passage.lines[begin:end], head)
    anywhere = frozenset(passage.words) | head
    by_synonym = {word for word, others in synonyms.items() if others & in_window}
    if not absent_names and all(word in present or word in by_synonym for word in needed):
        only_meant = listed([word_of[word] for word in sorted(by_synonym)])
        return _GradedPassage(
            ranked, Quality.MODERATE, line, missing, f"{only_meant} only through a word that means the same"
        )
    if not absent_names and all(word in anywhere for word in needed):
        return _GradedPassage(ranked, Quality.MODERATE, line, missing, "all of it in one passage, but not together")
    return _GradedPassage(ranked, Quality.WEAK, line, missing, f"without {listed(list(missing), 4)}")


def _grade_with_all_words(ranked: RankedPassage, line: int) -> _GradedPassage:
    """Grade a passage with all words together: strong, unless what has them is no source and no document."""
    path = ranked.passage.path
    quality, why = Quality.STRONG, f"all of it within {counted(TOGETHER, 'line')}"
    if is_changelog(path):
        quality, why = Quality.MODERATE, "all of it, but only in a changelog"
    elif source_rank(path) >= _NOT_PRODUCT:
        quality, why = Quality.MODERATE, "all of it, but only in a test or in vendored code"
    elif language_of(path) is None and ranked.passage.kind != "section":
        quality, why = Quality.MODERATE, "all of it, but neither in source nor in a document"
    return _GradedPassage(ranked, quality, line, (), why)


def _blocks_of_document(lines: Sequence[str]) -> list[tuple[int, int]]:
    """Return the blocks of a document whose words count as together: paragraphs, list items, table rows, code."""
    found: list[tuple[int, int]] = []
    begin, in_code = -1, False  # -1: in no block
    for number, line in enumerate((*lines, "")):  # an empty line ends the last block
        is_fence = line.lstrip().startswith(("```", "~~~"))
        in_code = not in_code if is_fence else in_code
        starts = not in_code and not is_fence and (_ITEM.match(line) is not None or line.startswith("#"))
        ends = not in_code and not line.strip()
        if begin >= 0 and (ends or starts):
            found.append((begin, number))
            begin = -1
        if begin < 0 and line.strip() and (in_code or not line.startswith("#")):
            begin = number  # a heading is above what it heads
    return found


def _best_window(
    passage: CodePassage, needed: Sequence[str], head: frozenset[str], spans: Sequence[tuple[int, int]]
) -> tuple[int, int, frozenset[str]]:
    """Return the span of lines that, with the head of the passage, has most of the words, and those words."""
    wanted = frozenset(needed)
    in_head = wanted & head
    most, best_span = in_head, spans[0] if spans else (0, 1)
    wanted_by_line = [line & wanted for line in passage.lines]
    for begin, end in spans:
        found = in_head.union(*wanted_by_line[begin:end])
        if len(found) > len(most):
            most, best_span = found, (begin, end)
    return *best_span, most


def best_line(passage: CodePassage, needed: Sequence[str], begin: int = 0, end: int | None = None) -> int:
    """Return the first line with most of the words; the line of the definition if it has as many."""
    wanted = frozenset(needed)
    counts = [len(line & wanted) for line in passage.lines[begin:end]]
    most = max(counts, default=0)
    definition = passage.line - passage.first
    if passage.kind == "section" and not begin and any(counts[1:]):
        counts[0] = 0  # the heading names what the lines below it say
        most = max(counts)
    elif not most or (0 <= definition < len(passage.lines) and len(passage.lines[definition] & wanted) >= most):
        return passage.line
    return passage.first + begin + counts.index(most)


def _has_name(window: str, names: str, name: str) -> bool:
    """Report whether lines have a name as it is written, or `names` have it or its last part."""
    if " " in name:
        return name.lower() in " ".join(window.lower().split())
    pattern = rf"(?<![\w$]){re.escape(name)}(?![\w$])"
    last = re.split(r"\.|::|->|#", name)[-1]  # of `Owner.member` the member
    return re.search(pattern, window) is not None or last in names.split() or name in names.split()

"""What does exist near to what was asked: shown with a refusal as a hint, never as evidence.

First what a search came close to (a name one letter away, the line that imports it), then the passages that are nearest
to the words of the question, one of each file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher

from knowbound.codebase.passages import word_stem
from knowbound.codebase.tree import SourceTree
from knowbound.core.evidence import Evidence, EvidenceClass, NearPlace, Place, Quality
from knowbound.core.paths import source_rank
from knowbound.evidence.producers.passages import best_line, ranked_for
from knowbound.evidence.question.terms import ParsedQuestion, Term, TermKind
from knowbound.text.terms import split_words

_SHOWN = 5
_ALIKE = 0.72  # below this, two names have nothing to do with each other
_NAMES = frozenset({TermKind.IDENTIFIER, TermKind.OPTION, TermKind.QUOTE, TermKind.PHRASE, TermKind.FILE})


def nearest(
    question: ParsedQuestion, unmet: Iterable[str], entries: Sequence[Evidence], tree: SourceTree
) -> list[NearPlace]:
    """The best places, one of each file."""
    lacking = frozenset(unmet)
    terms = [term for term in question.terms if term.text in lacking] or list(question.terms)
    found: dict[str, NearPlace] = {}
    for place in (*_close(terms, entries, tree), *_passages(question, tree)):
        if place.path not in found:
            text = tree.line(place.path, place.line) if place.line else ""
            found[place.path] = NearPlace(place.path, place.line, text or place.symbol)
        if len(found) == _SHOWN:
            break
    return list(found.values())


def _close(terms: Sequence[Term], entries: Sequence[Evidence], tree: SourceTree) -> Iterator[Place]:
    """What the searches for names came close to."""
    for term in terms:
        if term.kind not in _NAMES:
            continue
        for entry in entries:
            if (
                entry.cls is EvidenceClass.FILE_SEARCH
                and entry.target == term.text
                and entry.quality.reaches(Quality.MODERATE)
            ):
                yield from entry.places[:_SHOWN]
        if term.kind is TermKind.FILE:
            yield from (Place(path) for path in _alike_files(term.text, tree.files))


def _passages(question: ParsedQuestion, tree: SourceTree) -> Iterator[Place]:
    described = next((term for term in question.terms if term.kind is TermKind.DESCRIPTION), None)
    if described is not None:
        words, names = [*described.words, *described.also], described.names
    else:
        words, names = [part for word in question.words for part in (split_words(word) or (word,))], ()
    stems = [word_stem(word) for word in words]
    for one in ranked_for(tree, question.text, words, names)[:40]:
        yield Place(one.passage.path, best_line(one.passage, stems), one.passage.name)


def _alike_files(name: str, files: Sequence[str]) -> list[str]:
    base = name.rpartition("/")[2].lower()
    stem_ = base.partition(".")[0]
    matcher = SequenceMatcher(b=base)
    scored = []
    for path in files:
        other = path.rpartition("/")[2].lower()
        matcher.set_seq1(other)
        ratio = 1.0 if other.partition(".")[0] == stem_ else matcher.quick_ratio()
        if ratio >= _ALIKE:
            scored.append((-ratio, source_rank(path), path))
    return [path for *_, path in sorted(scored)[:_SHOWN]]

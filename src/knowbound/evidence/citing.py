"""The places of an answer, each with the line as it is written and why it is one; the answer itself is the first.

Who uses a name: every call with the function that it is in, imports apart. A comparison: each place with its side.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher

from knowbound.codebase.languages import NameRole, has_grammar, occurrences
from knowbound.codebase.outline import Outlined, outline_of
from knowbound.codebase.passages import word_stem
from knowbound.codebase.tree import SourceTree
from knowbound.core.evidence import CitedSource, Evidence, EvidenceClass, GivenAnswer, Intent, NearPlace, Place, Quality
from knowbound.core.paths import SOURCE_RANK_WORDS, source_rank
from knowbound.evidence.producers.passages import best_line, ranked_for
from knowbound.evidence.question.terms import Focus, ParsedQuestion, Term, TermKind
from knowbound.text.terms import split_words

_SOURCES = 20
_SHOWN = 3
_TESTS = 3  # from this source_rank on a file is no part of the product
_RESOLVED = "references"
_NEAR_LINES = 25
_SEARCHES = frozenset({EvidenceClass.FILE_SEARCH})
_MOST_NEAR = 5
_ALIKE = 0.72  # below this, two names have nothing to do with each other
_NAMES = frozenset({TermKind.IDENTIFIER, TermKind.OPTION, TermKind.QUOTE, TermKind.PHRASE, TermKind.FILE})


def cite(question: ParsedQuestion, entries: Sequence[Evidence], tree: SourceTree) -> tuple[CitedSource, ...]:
    """The sources of an answer, best first."""
    if question.focus is Focus.USES and len(question.terms) == 1:
        used = _uses(question.terms[0], entries, tree)
        if used:
            return tuple(used[:_SOURCES])
    best: dict[str, CitedSource] = {}
    ranks: dict[str, list[int]] = {}
    for number, term in enumerate(question.terms):
        side = f"{chr(ord('A') + number)} ({term.text}), " if question.intent is Intent.COMPARE else ""
        places = _in_order(question, term, _strong(term, entries), tree)
        first = {place.path: (place, entry) for place, entry in reversed(places)}
        for rank, path in enumerate(dict.fromkeys(place.path for place, _ in places)):
            place, entry = first[path]
            key = f"{path}:{place.line}" if side else path
            ranks.setdefault(key, []).append(rank)
            best.setdefault(key, _cited(place, entry, tree, side + term.text if not side else side.rstrip(", ")))
    if not best and not question.terms:
        for entry in entries:
            for place in entry.places if entry.quality.reaches(Quality.MODERATE) else ():
                ranks.setdefault(place.path, [len(ranks)])
                best.setdefault(place.path, _cited(place, entry, tree))
    if question.intent is Intent.EXPLAIN and question.terms and len(best) < _SHOWN:
        for source in _mentions(question, tree):
            ranks.setdefault(source.path, [len(ranks) + _SOURCES])
            best.setdefault(source.path, source)
    alone = question.intent is Intent.COMPARE  # a place of one side is no better for being one of the other
    order = sorted(best, key=lambda key: (0 if alone else -len(ranks[key]), min(ranks[key]), sum(ranks[key])))
    return tuple(best[key] for key in order[:_SOURCES])


def _mentions(question: ParsedQuestion, tree: SourceTree) -> Iterator[CitedSource]:
    """To explain a thing, where else it is dealt with: the nearest passages that have all of its words."""
    words = [part for word in question.words for part in (split_words(word) or (word,))]
    needed = frozenset(map(word_stem, words))
    for one in ranked_for(tree, question.text, words)[:_NEAR_LINES]:
        if needed <= one.has and source_rank(one.passage.path) < _TESTS:
            line = best_line(one.passage, list(needed))
            yield CitedSource(
                one.passage.path, line, "passages: has all words of it", tree.line(one.passage.path, line)
            )


def answer_of(sources: Sequence[CitedSource], entries: Sequence[Evidence]) -> GivenAnswer | None:
    """The first cited line; where no file is cited, what the authority says."""
    first = next((source for source in sources if source.text), None)
    if first is not None:
        return GivenAnswer(first.text, first.path, first.line)
    said = next((entry for entry in entries if entry.quality.reaches(Quality.MODERATE) and entry.note), None)
    if said is None:
        return None
    place = said.places[0] if said.places else Place("")
    return GivenAnswer(said.note, place.path, place.line)


def _strong(term: Term, entries: Sequence[Evidence]) -> list[tuple[Place, Evidence]]:
    """The places of the strong searches; of a name where its definition was resolved, those first."""
    found = [
        entry
        for entry in entries
        if entry.cls in _SEARCHES and entry.target == term.text and entry.quality is Quality.STRONG
    ]
    found.sort(key=lambda entry: entry.tool != _RESOLVED)
    return [(place, entry) for entry in found for place in entry.places]


def _in_order(
    question: ParsedQuestion, term: Term, places: list[tuple[Place, Evidence]], tree: SourceTree
) -> list[tuple[Place, Evidence]]:
    """Where only text was found, the passages nearest to the whole question come first."""
    resolved = any(entry.tool == _RESOLVED for _, entry in places)
    if resolved or term.kind not in (TermKind.PHRASE, TermKind.QUOTE, TermKind.WORD) or len(places) < 2:
        return places
    words = [part for word in question.words for part in (split_words(word) or (word,))]
    found: dict[tuple[str, int], int] = {}
    for rank, one in enumerate(ranked_for(tree, question.text, words)):
        for line in range(one.passage.first, one.passage.last + 1):
            found.setdefault((one.passage.path, line), rank)
    return sorted(places, key=lambda one: found.get((one[0].path, one[0].line), len(found)))


def _cited(place: Place, entry: Evidence, tree: SourceTree, target: str = "") -> CitedSource:
    """Who found it, how, and what kind of file it is where that lowers its rank."""
    mark = SOURCE_RANK_WORDS[source_rank(place.path)] if target else ""
    why = f"{entry.tool}: {target + ', ' if target else ''}{entry.note}" + (f" ({mark})" if mark else "")
    text = tree.line(place.path, place.line) if place.line else _first_words(place.path, entry, tree)
    return CitedSource(place.path, place.line, why, text)


def _first_words(path: str, entry: Evidence, tree: SourceTree) -> str:
    """Of a file as a whole the first line of prose: what it says it is."""
    if entry.cls not in _SEARCHES:
        return ""
    lines = (line.strip(" \t#=*/\"'-<>!") for line in (tree.text(path) or "").split("\n")[:_NEAR_LINES])
    return next((line for line in lines if len(line.split()) > 1 and "](" not in line), "")


def _uses(term: Term, entries: Sequence[Evidence], tree: SourceTree) -> list[CitedSource]:
    """Each call with the function that it is in; then other uses; imports last."""
    resolved = next((entry for entry in entries if entry.tool == _RESOLVED and entry.target == term.text), None)
    if resolved is None:
        return []
    names = resolved.query.split()
    calls, others, imports = list[CitedSource](), list[CitedSource](), list[CitedSource]()
    for path in dict.fromkeys(place.path for place in resolved.places):
        text = tree.text(path) or ""
        if not has_grammar(path):
            continue
        outline = outline_of(path, text)
        for one in sorted((one for name in names for one in occurrences(text, path, name)), key=lambda one: one.line):
            mark = SOURCE_RANK_WORDS[source_rank(path)]
            if one.role is NameRole.DEFINITION or one.role is NameRole.TEXT:
                continue
            inside = _inside(outline, one.line)
            recursive = any(inside.endswith((f" {name}", f".{name}")) for name in names)
            why = f"{one.role} {inside}".strip() + (f" ({mark})" if mark else "")
            cited = CitedSource(path, one.line, f"references: {why}", tree.line(path, one.line))
            by_role = {NameRole.CALL: calls, NameRole.IMPORT: imports}
            (others if recursive else by_role.get(one.role, others)).append(cited)
    return [
        one
        for found in (calls, others, imports)
        for one in sorted(found, key=lambda source: (source_rank(source.path), source.path, source.line))
    ]


def _inside(outline: Iterable[Outlined], line: int) -> str:
    """The innermost definition that a line is in."""
    holding = [one for one in outline if one.line <= line <= one.last]
    if not holding:
        return "at the top of the file"
    one = max(holding, key=lambda one: one.line)
    return f"in {one.inside.replace(' ', '.') + '.' if one.inside else ''}{one.name}"


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
        if len(found) == _MOST_NEAR:
            break
    return list(found.values())


def _close(terms: Sequence[Term], entries: Sequence[Evidence], tree: SourceTree) -> Iterator[Place]:
    """Yield the places that searches for names came close to."""
    for term in terms:
        if term.kind not in _NAMES:
            continue
        for entry in entries:
            if (
                entry.cls is EvidenceClass.FILE_SEARCH
                and entry.target == term.text
                and entry.quality.reaches(Quality.MODERATE)
            ):
                yield from entry.places[:_MOST_NEAR]
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
    return [path for *_, path in sorted(scored)[:_MOST_NEAR]]

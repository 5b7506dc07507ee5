"""The places of an answer, each with its line and the reason for citing it; the answer itself is the first.

Uses of a name are cited one by one: every call with the calling function, imports last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher

from knowbound.codebase.languages import NameRole, has_grammar, occurrences
from knowbound.codebase.passages import Outlined, outline_of, word_stem
from knowbound.codebase.tree import SourceTree
from knowbound.codebase.tree_search import passage_at
from knowbound.core.evidence import (
    PER_TERM,
    CitedSource,
    Evidence,
    EvidenceClass,
    GivenAnswer,
    NearPlace,
    Place,
    Quality,
)
from knowbound.core.paths import SOURCE_RANK_WORDS, source_rank
from knowbound.evidence.plan import Focus, Plan, Term, TermKind
from knowbound.evidence.producers.passages import best_line, ranked_for
from knowbound.evidence.producers.read import why_unfit
from knowbound.text.terms import split_words

_MOST_SOURCES = 20
_RESOLVED = "references"  # the tool that resolves names in the syntax tree
_NEAR_LINES = 25
_SEARCHES = frozenset({EvidenceClass.FILE_SEARCH})
_MOST_NEAR = 5
_MOST_RANKED = 40  # passages of the ranking
_FEWEST_WORDS, _WORD_SHARE = 2, 0.66  # of the question's words, that a probable place has at least
_NAME_SIMILARITY = 0.72  # below this, two names have nothing to do with each other
_NAMES = frozenset({TermKind.IDENTIFIER, TermKind.OPTION, TermKind.QUOTE, TermKind.PHRASE, TermKind.FILE})


def cite(plan: Plan, entries: Sequence[Evidence], tree: SourceTree) -> tuple[CitedSource, ...]:
    """Return the sources of an answer, best first: what the reader confirmed, then what else the search found."""
    if plan.terms and plan.terms[0].focus is Focus.USES and len(plan.terms) == 1:
        uses = _uses(plan.terms[0], entries, tree)
        if uses:  # the whole answer to "who calls it?"
            return tuple(uses[:_MOST_SOURCES])
    best: dict[str, CitedSource] = {}
    for term in plan.terms:
        confirmed = {place.path for entry in entries
                if entry.cls is EvidenceClass.FILE_CONTENT and entry.target == term.text
                for place in entry.places if entry.quality.reaches(Quality.MODERATE)}  # fmt: skip
        places = _nearest_first(plan, term, _strong_places(term, entries), tree)
        for place, entry in sorted(places, key=lambda found: found[0].path not in confirmed):
            best.setdefault(place.path, _cited(place, entry, tree, term.text))
    if not plan.terms or not best:  # evidence about the project or its history
        for entry in entries:
            for place in entry.places if entry.quality.reaches(Quality.MODERATE) and entry.cls not in PER_TERM else ():
                best.setdefault(place.path, _cited(place, entry, tree))
    return tuple(list(best.values())[:_MOST_SOURCES])


def answer_of(sources: Sequence[CitedSource], entries: Sequence[Evidence]) -> GivenAnswer | None:
    """Return the first cited line; if no file is cited, the note of an authority; None without both."""
    first = next((source for source in sources if source.text), None)
    if first is not None:
        return GivenAnswer(first.text, first.path, first.line)
    noted = next((entry for entry in entries if entry.quality.reaches(Quality.MODERATE) and entry.note), None)
    if noted is None:
        return None
    place = noted.places[0] if noted.places else Place("")
    return GivenAnswer(noted.note, place.path, place.line)


def _strong_places(term: Term, entries: Sequence[Evidence]) -> list[tuple[Place, Evidence]]:
    """Return the places of the strong searches; those of the syntax tree before those of text."""
    found = [
        entry
        for entry in entries
        if entry.cls in _SEARCHES and entry.target == term.text and entry.quality is Quality.STRONG
    ]
    found.sort(key=lambda entry: entry.tool != _RESOLVED)
    return [(place, entry) for entry in found for place in entry.places]


def _nearest_first(
    plan: Plan, term: Term, places: list[tuple[Place, Evidence]], tree: SourceTree
) -> list[tuple[Place, Evidence]]:
    """Return the places, those in the passages nearest to the whole question first if only text was found."""
    resolved = any(entry.tool == _RESOLVED for _, entry in places)
    if resolved or term.kind not in (TermKind.PHRASE, TermKind.QUOTE, TermKind.WORD) or len(places) < 2:
        return places  # a name is the same wherever it is; words need what is asked around them
    rank_of_line: dict[tuple[str, int], int] = {}
    for rank, ranked in enumerate(ranked_for(tree, plan.question, plan.words)):
        for line in range(ranked.passage.first, ranked.passage.last + 1):
            rank_of_line.setdefault((ranked.passage.path, line), rank)
    return sorted(places, key=lambda found: rank_of_line.get((found[0].path, found[0].line), len(rank_of_line)))


def _cited(place: Place, entry: Evidence, tree: SourceTree, target: str = "") -> CitedSource:
    """Return a place as a source: the tool that found it, how, and the kind of file if that lowers its rank."""
    mark = SOURCE_RANK_WORDS[source_rank(place.path)] if target else ""  # only places of a term are ranked
    why = f"{entry.tool}: {target + ', ' if target else ''}{entry.note}" + (f" ({mark})" if mark else "")
    text = tree.line(place.path, place.line) if place.line else _first_words(place.path, entry, tree)
    return CitedSource(place.path, place.line, why, text)


def _first_words(path: str, entry: Evidence, tree: SourceTree) -> str:
    """Return the first line of prose of a file, which usually describes the file; "" if it has none."""
    if entry.cls not in _SEARCHES:  # a run or a commit has no file
        return ""
    lines = (line.strip(" \t#=*/\"'-<>!") for line in (tree.text(path) or "").split("\n")[:_NEAR_LINES])
    return next((line for line in lines if len(line.split()) > 1 and "](" not in line), "")


def _uses(term: Term, entries: Sequence[Evidence], tree: SourceTree) -> list[CitedSource]:
    """Return the uses of a name: calls with the calling function first, imports last."""
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
        for use in sorted((use for name in names for use in occurrences(text, path, name)), key=lambda use: use.line):
            mark = SOURCE_RANK_WORDS[source_rank(path)]
            if use.role in (NameRole.DEFINITION, NameRole.TEXT):
                continue
            enclosing = _enclosing_definition(outline, use.line)
            # A call in its own definition tells a reader less than any other call.
            is_recursive = any(enclosing.endswith((f" {name}", f".{name}")) for name in names)
            why = f"{use.role} {enclosing}".strip() + (f" ({mark})" if mark else "")
            cited = CitedSource(path, use.line, f"references: {why}", tree.line(path, use.line))
            by_role = {NameRole.CALL: calls, NameRole.IMPORT: imports}
            (others if is_recursive else by_role.get(use.role, others)).append(cited)
    return [
        source
        for uses in (calls, others, imports)
        for source in sorted(uses, key=lambda source: (source_rank(source.path), source.path, source.line))
    ]


def _enclosing_definition(outline: Iterable[Outlined], line: int) -> str:
    """Return the words for the innermost definition that a line is in."""
    enclosing = [outlined for outlined in outline if outlined.line <= line <= outlined.last]
    if not enclosing:
        return "at the top of the file"
    innermost = max(enclosing, key=lambda outlined: outlined.line)  # the one that begins last
    owner = f"{innermost.inside.replace(' ', '.')}." if innermost.inside else ""
    return f"in {owner}{innermost.name}"


def nearest(plan: Plan, unmet: Iterable[str], entries: Sequence[Evidence], tree: SourceTree) -> list[NearPlace]:
    """Return the best places, one of each file; those that answer nothing by their kind last."""
    without_evidence = frozenset(unmet)  # texts of terms
    terms = [term for term in plan.terms if term.text in without_evidence] or list(plan.terms)
    found: dict[str, Place] = {}
    for place in (*_close_places([*terms, *plan.proposed], entries, tree), *_places_by_ranking(plan, tree)):
        if place.path not in found and len(found) < 2 * _MOST_NEAR:  # twice, since some are unfit
            found[place.path] = place
    order = sorted(found.values(), key=lambda place: bool(why_unfit(place.path, plan.question)))[:_MOST_NEAR]
    return [near(place, tree) for place in order]


def near(place: Place, tree: SourceTree) -> NearPlace:
    """Return a place with its line, as a hint."""
    return NearPlace(place.path, place.line, (tree.line(place.path, place.line) if place.line else "") or place.symbol)


def probable(
    plan: Plan, places: Sequence[NearPlace], entries: Sequence[Evidence], tree: SourceTree, reason: str
) -> CitedSource | None:
    """Return the nearest place as the probable answer, if a search found it or it has most of the question's words."""
    if not places or why_unfit(places[0].path, plan.question):
        return None
    first = places[0]
    is_found = any(
        entry.cls is EvidenceClass.FILE_SEARCH
        and entry.quality.reaches(Quality.MODERATE)
        and first.path in entry.sources
        for entry in entries
    )
    around = passage_at(tree.root, first.path, max(1, first.line))
    wanted = {
        word_stem(part) for term in plan.terms for word in (*term.words, *term.names) for part in split_words(word)
    }
    shared = wanted & (frozenset(around.words) | around.head) if around else frozenset()
    if not is_found and (len(shared) < _FEWEST_WORDS or len(shared) < _WORD_SHARE * len(wanted)):
        return None
    return CitedSource(first.path, first.line, reason, first.text)


def _close_places(terms: Sequence[Term], entries: Sequence[Evidence], tree: SourceTree) -> Iterator[Place]:
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
            yield from (Place(path) for path in _files_with_similar_name(term.text, tree.files))


def _places_by_ranking(plan: Plan, tree: SourceTree) -> Iterator[Place]:
    stems = [word_stem(word) for word in plan.words]
    for ranked in ranked_for(tree, plan.question, plan.words)[:_MOST_RANKED] if plan.words else ():
        yield Place(ranked.passage.path, best_line(ranked.passage, stems), ranked.passage.name)


def _files_with_similar_name(name: str, files: Sequence[str]) -> list[str]:
    """Return the files whose names are most like a file name, best first; `a.py` counts as equal to `a.js`."""
    wanted_name = name.rpartition("/")[2].lower()
    wanted_stem = wanted_name.partition(".")[0]
    matcher = SequenceMatcher(b=wanted_name)
    scored = []
    for path in files:
        other = path.rpartition("/")[2].lower()
        matcher.set_seq1(other)
        ratio = 1.0 if other.partition(".")[0] == wanted_stem else matcher.quick_ratio()
        if ratio >= _NAME_SIMILARITY:
            scored.append((-ratio, source_rank(path), path))
    return [path for *_, path in sorted(scored)[:_MOST_NEAR]]

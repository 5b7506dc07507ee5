"""`grep`: ripgrep over the text; `find`: files by name, aware of the folders they are in.

Text has match semantics: exact phrase, identifier, substring, token overlap. A phrase is found as a phrase or not at
all. That its words occur somewhere on their own is weak, however often (specification 3, part III.2).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from knowbound.codebase.definitions import definition_on, is_definition_line
from knowbound.codebase.languages import has_grammar
from knowbound.codebase.passages import is_comment
from knowbound.codebase.tree import TextMatch
from knowbound.core.evidence import Evidence, EvidenceClass, Place, Quality
from knowbound.core.paths import MARKDOWN, extension, is_changelog, source_rank
from knowbound.evidence.plan import Focus, Term, TermKind
from knowbound.evidence.producers.protocol import MOST_LINES, SEARCH, Ask, Context, Producer
from knowbound.files import rg
from knowbound.text.terms import canonical, canonical_words, glued, phrase_pattern, phrase_spans, split_words

_NOT_PRODUCT = 3  # the source_rank from which on a file is no part of the product
_FEW_PLACES = 10  # part IV: a substring in at most ten places is moderate, in more weak
_SHORTEST_PART = 4  # characters of a term that is looked for inside names: many contain a shorter one
_HEADING_LINE = re.compile(r"^#{1,6}\s")


@dataclass(slots=True)
class _FileMatches:
    """Lines of one file that match."""

    path: str
    lines: list[int] = field(default_factory=list)
    best: int = 9  # the best kind of line: 0 definition, 1 heading, 2 comment, 3 code
    defines: int = 0  # lines that look like a definition of it

    @property
    def only_defines(self) -> bool:
        """Report whether every matched line is a definition."""
        return self.defines >= len(set(self.lines))


class Grep(Producer):
    """The text of the tree."""

    name = "grep"
    cls = EvidenceClass.FILE_SEARCH
    independent_of = SEARCH

    def can(self, ask: Ask) -> int:
        """Rate this producer: best for quotes and options, second for names and words, which others resolve."""
        if ask.term is None or ask.term.kind in (TermKind.FILE, TermKind.DESCRIPTION):
            return 0
        return 9 if ask.term.kind in (TermKind.QUOTE, TermKind.OPTION) else 6

    def produce(self, ask: Ask, context: Context) -> Evidence:
        """Return the exact matches; only if there are none, what comes near."""
        term = ask.term
        assert term is not None
        paths = files_named(context.tree.files, term.within) if term.within else []
        if term.within and not paths:
            return ask.nothing(self.name, "the file that it should be in is not there")
        exact = self._exact(ask, term, context, paths)
        if exact is not None:
            return exact
        is_one_word = len(term.words) <= 1 or term.kind is TermKind.IDENTIFIER
        near = self._substring(ask, term, context, paths) if is_one_word else None
        if near is None and term.is_proposed:
            return ask.nothing(self.name, "no match", term.text)  # loose words of a guess say nothing
        return near or self._tokens(ask, term, context, paths)

    def _exact(self, ask: Ask, term: Term, context: Context, paths: list[str]) -> Evidence | None:
        """Return the matches of the first pattern that has any; those of a changelog if no pattern has others."""
        in_changelog: Evidence | None = None
        for pattern, ignore_case, multiline, why in _patterns(term):
            hits, limited = context.tree.matches([pattern], ignore_case=ignore_case, multiline=multiline, paths=paths)
            # A pattern over lines matches parts of words, too: only whole words count.
            lines_of = _whole_word_lines(pattern) if multiline else (lambda hit: [hit.line] * max(1, len(hit.spans)))
            found, count = _group_by_file(hits, lines_of)
            if found:
                note = f"{why}, {count} time{'s' * (count != 1)} in {len(found)} file{'s' * (len(found) != 1)}"
                note += f"; {limited} was reached" if limited else ""
                ranked = _ranked(found, term)
                only_changelog = all(is_changelog(file.path) for file in found)
                quality, lacking = _what_exact_proves(term, found, only_changelog)
                evidence = ask.evidence(
                    self.name,
                    quality,
                    ranked,
                    count=count,
                    exact=count,
                    note=f"{lacking}: {note}" if lacking else note,
                    query=term.text,
                )
                if not only_changelog:
                    return evidence
                in_changelog = in_changelog or evidence
        return in_changelog

    def _substring(self, ask: Ask, term: Term, context: Context, paths: list[str]) -> Evidence | None:
        """Return the term inside longer names: moderate in few places, weak in many."""
        if len(term.text) < _SHORTEST_PART:
            return None
        hits, _ = context.tree.matches([re.escape(term.text)], ignore_case=False, paths=paths)
        found, count = _group_by_file(hits, lambda hit: [hit.line] * len(hit.spans))
        if not found:
            return None
        quality = Quality.MODERATE if count <= _FEW_PLACES else Quality.WEAK
        note = "only as part of longer words"
        return ask.evidence(self.name, quality, _ranked(found, term), count=count, note=note, query=term.text)

    def _tokens(self, ask: Ask, term: Term, context: Context, paths: list[str]) -> Evidence:
        """Return the loose words of the term: weak, however many."""
        words = [word for word in dict.fromkeys(term.words) if len(word) > 2]
        if not words:
            return ask.evidence(self.name, Quality.NONE, note="no match", query=term.text)
        arguments = ["--count-matches", "--null", "--ignore-case", "--word-regexp"]
        for word in words:
            arguments += ["-e", re.escape(word)]
        ran = rg(context.root, [*arguments, "--", *(f"./{path}" for path in paths or ("",))], context.seconds_left)
        counts = re.findall(rb"(?:^|\n)(?:\./)?([^\0]*)\0(\d+)", ran.out)
        if not counts:
            return ask.evidence(self.name, Quality.NONE, note="no match", query=term.text)
        total = sum(int(count) for _, count in counts)
        count_of = {path.decode("utf-8", "surrogateescape"): int(count) for path, count in counts}
        ranked = sorted(count_of, key=lambda path: (source_rank(path), -count_of[path], path))
        note = "only single words of it" if len(term.words) > 1 else "only parts of it"
        places = [Place(path) for path in ranked]
        return ask.evidence(self.name, Quality.WEAK, places, count=total, note=note, query=" ".join(words))


def _what_exact_proves(term: Term, found: list[_FileMatches], only_changelog: bool) -> tuple[Quality, str]:
    """Return the level of exact matches, and what they lack: Strong if nothing, such as the definition asked for."""
    if only_changelog:
        return Quality.MODERATE, "only in a changelog"
    # In a file with a grammar the syntax tree decides what is a definition.
    is_defined_here = any(file.defines and not has_grammar(file.path) for file in found)
    if term.kind is TermKind.IDENTIFIER and term.asks_definition and not is_defined_here:
        return Quality.MODERATE, "named here, not defined"
    if term.kind is TermKind.IDENTIFIER and term.focus is Focus.USES and all(file.only_defines for file in found):
        return Quality.MODERATE, "defined here, but no use of it was found"
    if term.kind in (TermKind.PHRASE, TermKind.WORD) and all(source_rank(file.path) >= _NOT_PRODUCT for file in found):
        return Quality.MODERATE, "only in tests or in vendored code"
    return Quality.STRONG, ""


def _patterns(term: Term) -> Iterable[tuple[str, bool, bool, str]]:
    """Yield the exact matches of a term: pattern, ignoring case, over lines, and the words for it."""
    if term.kind is TermKind.IDENTIFIER:
        yield rf"(?:^|[^\w$]){re.escape(term.text)}(?:[^\w$]|$)", False, False, "exact identifier"
    elif term.kind is TermKind.OPTION:
        yield rf"(?:^|[^\w-]){re.escape(term.text)}(?:[^\w-]|$)", False, False, "exact option"
    elif term.kind is TermKind.QUOTE:
        yield re.escape(term.text), False, False, "exact text"
        parts = [re.escape(part) for part in term.text.split()]
        yield r"[\s\"'+\\]+".join(parts), True, True, "the text in another case or over several lines"
    elif term.kind is TermKind.WORD:
        yield rf"\b{phrase_pattern(term.words)}\b", True, False, "exact word"
    else:
        yield phrase_pattern(term.words), True, True, "exact phrase"


def _whole_word_lines(pattern: str) -> Callable[[TextMatch], list[int]]:
    """Return a function that gives the line of each match of whole words in a hit."""
    compiled = re.compile(pattern, re.IGNORECASE)

    def lines_of(hit: TextMatch) -> list[int]:
        return [hit.line + hit.text.count("\n", 0, start) for start, _ in phrase_spans(hit.text, compiled)]

    return lines_of


def _group_by_file(
    hits: Iterable[TextMatch], lines_of: Callable[[TextMatch], list[int]]
) -> tuple[list[_FileMatches], int]:
    """Return the matches of each file and their number; `lines_of` gives the lines of a hit that count."""
    found: dict[str, _FileMatches] = {}
    count = 0
    for hit in hits:
        lines = lines_of(hit)
        if not lines:
            continue
        file = found.setdefault(hit.path, _FileMatches(hit.path))
        file.lines.extend(lines)
        file.best = min(file.best, _line_rank(hit))
        matched = {canonical_words(hit.text[start:end]) for start, end in hit.spans}
        for number, line in enumerate(hit.text.rstrip("\n").split("\n"), hit.line):
            defined = definition_on(line, hit.path, number)
            file.defines += defined is not None and canonical_words(defined.name) in matched  # counts as 1
        count += len(lines)
    return list(found.values()), count


def _line_rank(hit: TextMatch) -> int:
    """Return the kind of a matched line as in `_FileMatches.best`."""
    if is_definition_line(hit.text):
        return 0
    if extension(hit.path) in MARKDOWN and _HEADING_LINE.match(hit.text):
        return 1
    return 2 if is_comment(hit.text) else 3


def _ranked(found: Iterable[_FileMatches], term: Term) -> list[Place]:
    """Return the places, best file first: files of the product, then definitions, then the most mentions."""
    words = {word for word in term.words if len(word) > 2}

    def order(matches: _FileMatches) -> tuple[object, ...]:
        """Return the key to sort a file by: for a definition, lines that define or head it before all others."""
        words_in_name = sum(1 for word in words if word in matches.path.rpartition("/")[2].lower())
        if term.focus is Focus.DEFINITION:
            return (source_rank(matches.path), min(matches.best, 2), -words_in_name, -len(matches.lines), matches.path)
        return (source_rank(matches.path), -len(matches.lines), matches.path)

    symbol = term.text if term.kind is not TermKind.WORD else ""  # a plain word names nothing
    return [
        Place(matches.path, line, symbol) for matches in sorted(found, key=order) for line in matches.lines[:MOST_LINES]
    ]


_OWN_FILES = frozenset("index __init__ mod main lib init".split())  # of a folder, by which they are named


class Find(Producer):
    """File names against the term."""

    name = "find"
    cls = EvidenceClass.FILE_SEARCH
    independent_of = SEARCH

    def can(self, ask: Ask) -> int:
        """Rate this producer: best for file names, second for phrases, which files are often named after."""
        if ask.term is None or (ask.term.focus is Focus.USES and ask.term.kind is not TermKind.FILE):
            return 0
        if ask.term.within and ask.term.kind is not TermKind.FILE:  # the file is known: what is asked is inside
            return 0
        return {TermKind.FILE: 9, TermKind.PHRASE: 7, TermKind.WORD: 7, TermKind.IDENTIFIER: 7}.get(ask.term.kind, 0)

    def produce(self, ask: Ask, context: Context) -> Evidence:
        """Return files by name: exact strong, partial moderate, one word weak (part IV, "For find")."""
        term = ask.term
        assert term is not None
        files = context.tree.files
        is_file = term.kind is TermKind.FILE
        if exact := _file_places(files_named(files, term.text) if is_file else _named_like_phrase(files, term)):
            # A file name proves nothing about content: a file that is only called like the term is a candidate.
            quality = Quality.STRONG if is_file else Quality.MODERATE
            return ask.evidence(self.name, quality, exact, exact=len(exact), note="exact file name")
        if partial := _named_in_part(files, term):
            return ask.evidence(self.name, Quality.MODERATE, _file_places(partial), note="part of a file name")
        wanted = {canonical(word) for word in term.words if len(word) > 2}
        if sharing_word := [path for path in files if wanted & set(canonical_words(_stem(path)))]:
            note = "only single words of it in file names"
            return ask.evidence(self.name, Quality.WEAK, _file_places(sharing_word), note=note)
        return ask.nothing(self.name, "no such file")


def files_named(files: Iterable[str], name: str) -> list[str]:
    """Return the files whose path ends with these whole parts; if there are none, those in such a folder."""
    wanted = name.strip().removeprefix("./").strip("/").lower()
    if not wanted:
        return []
    found = [path for path in files if ("/" + path.lower()).endswith("/" + wanted)]
    if not found and "/" in name:
        found = [path for path in files if f"/{wanted}/" in f"/{path.lower()}"]
    return _nearest_first(found)


def _named_like_phrase(files: Iterable[str], term: Term) -> list[str]:
    """Files whose name, or folder and name together, is exactly the phrase in some spelling."""
    keys = {glued(canonical(word) for word in term.words), glued(term.words)}
    return _nearest_first(path for path in files if keys & _names_of(path))


@lru_cache(maxsize=100_000)
def _names_of(path: str) -> frozenset[str]:
    """Return the glued names of a file: its stem, its folder and stem, or the folder whose own file it is."""
    parts = path.split("/")
    stem = _stem(path)
    names = [stem]
    if len(parts) > 1:
        names = [parts[-2]] if stem in _OWN_FILES else [stem, f"{parts[-2]} {stem}"]
    return frozenset(glued(form) for name in names for form in (canonical_words(name), split_words(name)))


def _named_in_part(files: Iterable[str], term: Term) -> list[str]:
    """Return the files whose name or path contains the term; nothing for a short term, which many names contain."""
    text = glued(term.words) if term.kind is not TermKind.FILE else _stem(term.text).lower()
    if len(text) < _SHORTEST_PART:
        return []
    return _nearest_first(
        path for path in files if text in glued(split_words(path.rpartition("/")[2])) or text in path.lower()
    )


def _stem(path: str) -> str:
    name = path.rpartition("/")[2]
    return name.lstrip(".").partition(".")[0] or name


def _nearest_first(paths: Iterable[str]) -> list[str]:
    return sorted(paths, key=lambda path: (source_rank(path), path.count("/"), path))


def _file_places(paths: Iterable[str]) -> list[Place]:
    return [Place(path, 0, path.rpartition("/")[2]) for path in paths]

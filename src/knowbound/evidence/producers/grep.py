"""`grep`: ripgrep over the text, with match semantics: exact phrase, identifier, substring, token overlap.

A phrase is found as a phrase or not at all. That its words occur somewhere on their own is weak, however often
(specification 3, part III.2).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from knowbound.codebase.definitions import definition_on, is_definition_line
from knowbound.codebase.languages import has_grammar
from knowbound.codebase.passages import is_comment
from knowbound.codebase.tree import TextMatch
from knowbound.core.evidence import Evidence, EvidenceClass, Place, Quality
from knowbound.core.paths import MARKDOWN, extension, is_changelog, source_rank
from knowbound.evidence.plan import Focus, Term, TermKind
from knowbound.evidence.producers.find import files_named
from knowbound.evidence.producers.protocol import SEARCH, Ask, Context, Producer
from knowbound.files import rg
from knowbound.text.terms import canonical_words, phrase_pattern, phrase_spans

_NOT_PRODUCT = 3  # the source_rank from which on a file is no part of the product
_FEW_PLACES = 10  # part IV: a substring in at most ten places is moderate, in more weak
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
        """Any term; the tool of choice for what is no symbol and no file."""
        if ask.term is None or ask.term.kind in (TermKind.FILE, TermKind.DESCRIPTION):
            return 0
        return 9 if ask.term.kind in (TermKind.QUOTE, TermKind.OPTION) else 6

    def produce(self, ask: Ask, context: Context) -> Evidence:
        """Exact first; only where nothing is exact, what comes near."""
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
        """An exact phrase or identifier: strong; moderate where only a changelog has it."""
        in_changelog: Evidence | None = None
        for pattern, ignore_case, multiline, why in _patterns(term):
            hits, limited = context.tree.matches([pattern], ignore_case=ignore_case, multiline=multiline, paths=paths)
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
        """The term inside longer names: moderate in few places, weak in many."""
        if len(term.text) < 4:
            return None
        hits, _ = context.tree.matches([re.escape(term.text)], ignore_case=False, paths=paths)
        found, count = _group_by_file(hits, lambda hit: [hit.line] * len(hit.spans))
        if not found:
            return None
        quality = Quality.MODERATE if count <= _FEW_PLACES else Quality.WEAK
        note = "only as part of longer words"
        return ask.evidence(self.name, quality, _ranked(found, term), count=count, note=note, query=term.text)

    def _tokens(self, ask: Ask, term: Term, context: Context, paths: list[str]) -> Evidence:
        """The loose words: weak, however many."""
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
        found = [(path.decode("utf-8", "surrogateescape"), int(count)) for path, count in counts]
        ranked = sorted(found, key=lambda path_count: (source_rank(path_count[0]), -path_count[1], path_count[0]))
        note = "only single words of it" if len(term.words) > 1 else "only parts of it"
        places = [Place(path) for path, _ in ranked]
        return ask.evidence(self.name, Quality.WEAK, places, count=total, note=note, query=" ".join(words))


def _what_exact_proves(term: Term, found: list[_FileMatches], only_changelog: bool) -> tuple[Quality, str]:
    """An exact match is Strong, unless it is not of what was asked: a definition, a use."""
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
            file.defines += defined is not None and canonical_words(defined.name) in matched
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
    """Files of the product first; in them definitions, then the most mentions."""
    words = {word for word in term.words if len(word) > 2}

    def order(matches: _FileMatches) -> tuple[object, ...]:
        """Return the key to sort a file by: for a definition, lines that define or head it before all others."""
        words_in_name = sum(1 for word in words if word in matches.path.rpartition("/")[2].lower())
        if term.focus is Focus.DEFINITION:
            return (source_rank(matches.path), min(matches.best, 2), -words_in_name, -len(matches.lines), matches.path)
        return (source_rank(matches.path), -len(matches.lines), matches.path)

    symbol = term.text if term.kind is not TermKind.WORD else ""
    return [Place(matches.path, line, symbol) for matches in sorted(found, key=order) for line in matches.lines[:20]]

"""`read`: opens the candidates and checks whether each mentions the target (specification 3, FileContent).

The reader does not trust the search. It takes the file as it is and looks on its own: a definition must be one in the
syntax tree, a phrase must be there word for word, a description with all its words, verbs too, near the cited line. So
where both name the same file and symbol, two independent producers agree; and it can disagree.
"""

from __future__ import annotations

import re
from itertools import takewhile

from knowbound.codebase.languages import NameRole, has_grammar, occurrences
from knowbound.core.evidence import Evidence, EvidenceClass, Place, Quality
from knowbound.core.paths import DOCUMENTS, extension
from knowbound.documents.pointers import line_says_nothing
from knowbound.evidence.producers.protocol import READER, Ask, Context, Producer
from knowbound.evidence.question.terms import Focus, Term, TermKind
from knowbound.text.stems import common_start
from knowbound.text.terms import has_phrase, split_words

_LINES_AROUND = 2
_DESCRIBED_IN = 12  # lines around the cited one that a description may stretch over


class Read(Producer):
    """The ranked candidates, opened."""

    name = "read"
    cls = EvidenceClass.FILE_CONTENT
    independent_of = READER

    def can(self, ask: Ask) -> int:
        """Needs candidates."""
        return 9 if ask.candidates and ask.term is not None else 0

    def produce(self, ask: Ask, context: Context) -> Evidence:
        """Strong where the best candidate mentions the target, moderate where only a later one does."""
        term = ask.term
        assert term is not None
        agreed: list[Place] = []
        opened: list[str] = []
        best_agrees = False
        for candidate in _one_per_file(ask.candidates, context.limits.reads):
            text = context.tree.text(candidate.path)
            if text is None:
                continue
            opened.append(candidate.path)
            place = _mention_in(text, candidate, term)
            if place is not None:
                agreed.append(place)
                best_agrees = best_agrees or len(opened) == 1
        if not opened:
            return ask.nothing(self.name, "no candidate could be read")
        if not agreed:
            places = [Place(path) for path in opened]
            return ask.evidence(self.name, Quality.WEAK, places, note="the files read do not mention it")
        quality = Quality.STRONG if best_agrees else Quality.MODERATE
        note = "the best candidate mentions it" if best_agrees else "a later candidate mentions it"
        return ask.evidence(self.name, quality, agreed, exact=len(agreed), note=note)


def _one_per_file(candidates: tuple[Place, ...], limit: int) -> list[Place]:
    first: dict[str, Place] = {}
    for candidate in candidates:
        first.setdefault(candidate.path, candidate)
    return list(first.values())[:limit]


def _mention_in(text: str, candidate: Place, term: Term) -> Place | None:
    """The place in the file that has what is asked, found anew; None where the reader disagrees."""
    name = candidate.path.rpartition("/")[2]
    if term.kind is TermKind.FILE:
        return Place(candidate.path, 0, name) if text.strip() else None
    if candidate.line == 0:
        return None  # a file name says nothing of what is in it
    lines = text.split("\n")
    if extension(candidate.path) in DOCUMENTS and _says_nothing(lines, candidate.line):
        return None
    if term.kind is TermKind.DESCRIPTION:
        return candidate if _describes(lines, candidate, term) else None
    if candidate.symbol and term.focus is Focus.DEFINITION and term.defined and has_grammar(candidate.path):
        defined = (one.line for one in occurrences(text, candidate.path, candidate.symbol)
                   if one.role is NameRole.DEFINITION and one.kind != "parameter")  # fmt: skip
        line = min(defined, key=lambda one: abs(one - candidate.line), default=0)
        return Place(candidate.path, line, candidate.symbol) if line else None
    first = max(0, candidate.line - 1 - _LINES_AROUND)
    for number in sorted(
        range(first, min(len(lines), candidate.line + _LINES_AROUND)), key=lambda at: abs(at + 1 - candidate.line)
    ):
        if _line_has(lines, number, candidate, term):
            return Place(candidate.path, number + 1, candidate.symbol)
    return None


def _says_nothing(lines: list[str], line: int) -> bool:
    """A document's line that promises or points elsewhere; a heading with no text before the next one."""
    cited = lines[line - 1] if line <= len(lines) else ""
    level = _level(cited)
    if not level:
        return bool(line_says_nothing(cited))
    below = (one for one in lines[line:] if one.strip())
    return not any(not _level(one) for one in takewhile(lambda one: not 0 < _level(one) <= level, below))


def _level(line: str) -> int:
    """Of a heading of Markdown its level; 0 for any other line."""
    return len(line) - len(line.lstrip("#"))


def _describes(lines: list[str], candidate: Place, term: Term) -> bool:
    """Whether every word of a description begins some word, or part of a name, near the cited line or above it."""
    first = max(0, candidate.line - 1 - _DESCRIBED_IN)
    near = "\n".join(
        (*lines[first : candidate.line + _DESCRIBED_IN], candidate.symbol, candidate.path, *_above(lines, first))
    )
    spoken = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_", " ", near).lower()
    words = all(re.search(rf"(?<![a-z]){re.escape(common_start(word) or word.lower())}", spoken) for word in term.words)
    return words and all(name in near for name in term.names)


def _above(lines: list[str], first: int) -> list[str]:
    """The headings, and the lines that are indented less, which contain the lines below them."""
    found, indent = [], 1000
    for line in reversed(lines[:first]):
        deep = len(line) - len(line.lstrip())
        if line.strip() and (deep < indent or line.startswith("#")):
            found.append(line)
            indent = min(indent, deep)
        if indent == 0 and len(found) > _DESCRIBED_IN:
            break
    return found


def _line_has(lines: list[str], number: int, candidate: Place, term: Term) -> bool:
    line = lines[number]
    if term.kind in (TermKind.IDENTIFIER, TermKind.OPTION):
        named = candidate.symbol or term.text
        return re.search(rf"(?<![\w$]){re.escape(named)}(?![\w$])", line) is not None
    window = " ".join(lines[number : number + _DESCRIBED_IN])
    if term.kind is TermKind.QUOTE:
        return split_words(term.text)[:6] == () or has_phrase(split_words(window), split_words(term.text)[:6])
    wanted_words = term.words[:-1] if term.noun and len(term.words) > 2 else term.words
    words = split_words(" ".join(lines[number : number + 2]))
    return (
        has_phrase(words, term.words)
        or has_phrase(words, wanted_words)
        or (bool(candidate.symbol) and has_phrase(words, split_words(candidate.symbol)))
    )

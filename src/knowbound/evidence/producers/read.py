"""`read`: opens the candidates and checks whether each mentions the target (specification 3, FileContent).

The reader does not trust the search. It takes the file as it is, splits it into words on its own, and resolves for
itself which symbol the place is. So where both name the same file and symbol, two independent producers agree.
"""

from __future__ import annotations

import re

from knowbound.core.evidence import Evidence, EvidenceClass, Place, Quality
from knowbound.evidence.producers.protocol import READER, Ask, Context
from knowbound.evidence.question.terms import Term, TermKind
from knowbound.files import read_text
from knowbound.text.stems import common_start, stem
from knowbound.text.terms import has_phrase, split_words

_LINES_AROUND = 2
_DESCRIBED_IN = 8  # lines that a description may stretch over


class Read:
    """The ranked candidates, opened."""

    name = "read"
    cls = EvidenceClass.FILE_CONTENT
    independent_of = READER
    authoritative = False

    def can(self, ask: Ask, context: Context) -> int:
        """Needs candidates."""
        return 9 if ask.candidates and ask.term is not None else 0

    def produce(self, ask: Ask, context: Context) -> list[Evidence]:
        """Strong where the best candidate mentions the target, moderate where only a later one does."""
        term = ask.term
        assert term is not None
        agreed: list[Place] = []
        opened: list[str] = []
        best_agrees = False
        for candidate in _one_per_file(ask.candidates, context.limits.reads):
            text = read_text(context.root, candidate.path, context.limits.file_bytes)
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
            return [ask.evidence(self.name, Quality.WEAK, places, note="the files read do not mention it")]
        quality = Quality.STRONG if best_agrees else Quality.MODERATE
        note = "the best candidate mentions it" if best_agrees else "a later candidate mentions it"
        return [ask.evidence(self.name, quality, agreed, exact=len(agreed), note=note)]


def _one_per_file(candidates: tuple[Place, ...], limit: int) -> list[Place]:
    first: dict[str, Place] = {}
    for candidate in candidates:
        first.setdefault(candidate.path, candidate)
    return list(first.values())[:limit]


def _mention_in(text: str, candidate: Place, term: Term) -> Place | None:
    """The place in the file that mentions the target, resolved anew; None where there is none."""
    if term.kind is TermKind.FILE:
        return Place(candidate.path, 0, candidate.path.rpartition("/")[2]) if text.strip() else None
    named = candidate.symbol != "" and term.kind is not TermKind.WORD
    if term.verb and not named and not re.search(rf"(?i)\b{re.escape(common_start(term.verb))}", text):
        return None  # the thing is there, but what is said to be done with it is not
    if candidate.line == 0:
        return Place(candidate.path, 0, candidate.path.rpartition("/")[2])
    lines = text.split("\n")
    first = max(0, candidate.line - 1 - _LINES_AROUND)
    for number in sorted(
        range(first, min(len(lines), candidate.line + _LINES_AROUND)), key=lambda at: abs(at + 1 - candidate.line)
    ):
        if _line_has(lines, number, candidate, term):
            return Place(candidate.path, number + 1, candidate.symbol)
    return None


def _line_has(lines: list[str], number: int, candidate: Place, term: Term) -> bool:
    line = lines[number]
    if candidate.symbol:
        return re.search(rf"(?<![\w$]){re.escape(candidate.symbol)}(?![\w$])", line) is not None
    if term.kind in (TermKind.IDENTIFIER, TermKind.OPTION):
        return term.text in line
    window = " ".join(lines[number : number + _DESCRIBED_IN])
    if term.kind is TermKind.CLAUSE:
        stems = [stem(part) for match in re.finditer(r"\w+", window) for part in split_words(match.group())]
        wanted = [stem(word) for word in term.words]
        return set(wanted) <= set(stems)
    if term.kind is TermKind.QUOTE:
        return split_words(term.text)[:6] == () or has_phrase(split_words(window), split_words(term.text)[:6])
    wanted_words = term.words[:-1] if term.noun and len(term.words) > 2 else term.words
    return has_phrase(split_words(" ".join(lines[number : number + 2])), wanted_words)

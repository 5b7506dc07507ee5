"""What does exist near to a term that was not found: shown as a hint, never as evidence."""

from __future__ import annotations

from difflib import SequenceMatcher

from knowbound.codebase.symbols import Symbols
from knowbound.core.paths import source_rank
from knowbound.evidence.question.terms import Term, TermKind
from knowbound.text.terms import canonical, canonical_words

_SHOWN = 3
_ALIKE = 0.72  # below this, two names have nothing to do with each other
_GENERIC = frozenset(canonical(word) for word in "get set is the to of in for and test data value".split())


def nearest(term: Term, symbols: Symbols) -> list[str]:
    """The defined names and files that share most words with the term, or are spelled most like it."""
    if term.kind is TermKind.FILE:
        return _alike_files(term.text, symbols)
    wanted = {canonical(word) for word in term.words} - _GENERIC
    scored: list[tuple[float, int, str, str]] = []
    for name, ones in symbols.by_name.items():
        words = set(canonical_words(name))
        shared = len(wanted & words)
        if not shared or len(name) > 60:
            continue
        share = shared / len(wanted | words)
        best = min(ones, key=lambda one: (source_rank(one.path), one.path, one.line))
        scored.append((-share, source_rank(best.path), name, f"{name} ({best.path}:{best.line})"))
    if term.kind is TermKind.IDENTIFIER:
        scored.extend(_alike_names(term.text, symbols))
    scored.sort()
    return list(dict.fromkeys(shown for *_, shown in scored))[:_SHOWN]


def _alike_names(text: str, symbols: Symbols) -> list[tuple[float, int, str, str]]:
    matcher = SequenceMatcher(b=text.lower())
    found = []
    for name, ones in symbols.by_name.items():
        if abs(len(name) - len(text)) > 3 or name[:2].lower() != text[:2].lower():
            continue
        matcher.set_seq1(name.lower())
        if matcher.quick_ratio() >= _ALIKE and (ratio := matcher.ratio()) >= _ALIKE:
            found.append((-ratio, source_rank(ones[0].path), name, f"{name} ({ones[0].path}:{ones[0].line})"))
    return found


def _alike_files(name: str, symbols: Symbols) -> list[str]:
    base = name.rpartition("/")[2].lower()
    stem = base.partition(".")[0]
    matcher = SequenceMatcher(b=base)
    scored = []
    for path in symbols.files:
        other = path.rpartition("/")[2].lower()
        matcher.set_seq1(other)
        ratio = 1.0 if other.partition(".")[0] == stem else matcher.quick_ratio()
        if ratio >= _ALIKE:
            scored.append((-ratio, source_rank(path), path))
    return [path for *_, path in sorted(scored)[:_SHOWN]]

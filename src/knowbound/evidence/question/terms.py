"""The terms that a question names (specification 3, part III.2: phrases, never their loose words)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from knowbound.core.evidence import Intent


class TermKind(StrEnum):
    """What a term of a question is; each kind has its own notion of an exact match."""

    IDENTIFIER = "identifier"  # one symbol as it is written in code; also dotted
    FILE = "file"  # a file name or path
    OPTION = "option"  # --verbose, -x
    QUOTE = "quote"  # words in quotation marks: exactly these
    PHRASE = "phrase"  # a noun of several words: contiguous, in any spelling
    DESCRIPTION = "description"  # nouns and verbs that must be together in one definition or passage
    WORD = "word"  # one plain word, where the question names nothing better


TYPES = frozenset("type struct enum class union interface trait typedef".split())  # "the type X" is defined somewhere


class Focus(StrEnum):
    """Which places of a term the question asks for."""

    DEFINITION = "definition"
    USES = "uses"
    OCCURRENCES = "occurrences"  # where it is read, enforced, printed: whatever it is


@dataclass(frozen=True, slots=True)
class Term:
    """One thing that the question names, with the spellings under which code may know it."""

    text: str
    kind: TermKind
    words: tuple[str, ...] = ()
    spellings: tuple[str, ...] = ()
    focus: Focus = Focus.DEFINITION
    within: str = ""  # a file that the question names too: the term must be found there
    noun: str = ""  # the sort of thing it is said to be: class, option, function
    names: tuple[str, ...] = ()  # of a description: what must be there as it is written
    also: tuple[str, ...] = ()  # of a description: words that help to find it, and prove nothing
    defined: bool = False  # the question asks where it is defined: nothing else will do


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """A question with its intent and the terms that it names."""

    text: str
    intent: Intent
    focus: Focus
    terms: tuple[Term, ...]
    words: tuple[str, ...] = ()  # every word that says something, names whole

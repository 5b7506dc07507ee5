"""The plan of an investigation: the intent of the question, and the terms to look for (specification 3, part III.2).

A model, or the agent that asks, gives the plan. Without one a small lexical reading takes the names that the question
writes as names, and else its words: side by side they are a phrase, otherwise a description whose words must be
together. A phrase is never taken apart into loose words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from knowbound.core.evidence import Intent, Requirement
from knowbound.core.paths import FILE_EXTENSIONS
from knowbound.text.english import STOP_WORDS
from knowbound.text.intent import evidence_needed, intent_of
from knowbound.text.terms import has_phrase, spellings, split_words

MOST_TERMS, LONGEST_TERM = 16, 200  # of a given plan


class TermKind(StrEnum):
    """Sort of a term; each has its own notion of an exact match."""

    IDENTIFIER = "identifier"  # one symbol as it is written in code; also dotted
    FILE = "file"  # a file name or path
    OPTION = "option"  # --verbose, -x
    QUOTE = "quote"  # words in quotation marks: exactly these
    PHRASE = "phrase"  # several words: contiguous, in any spelling
    DESCRIPTION = "description"  # words that must be together in one definition or passage
    WORD = "word"  # one plain word


class Focus(StrEnum):
    """Places of a term that a question asks for."""

    DEFINITION = "definition"
    USES = "uses"
    OCCURRENCES = "occurrences"  # wherever it is


@dataclass(frozen=True, slots=True)
class Term:
    """One thing to look for, with the spellings under which code may know it."""

    text: str
    kind: TermKind
    words: tuple[str, ...] = ()
    spellings: tuple[str, ...] = ()
    focus: Focus = Focus.DEFINITION
    within: str = ""  # a file that the question names too: the term must be found there
    names: tuple[str, ...] = ()  # of a description: what must be there as it is written
    asks_definition: bool = False  # the question asks where it is defined: nothing else will do
    asks_action: bool = False  # the question asks where something is done: only source does it
    is_proposed: bool = False  # not in the question: a synonym, a guess


@dataclass(frozen=True, slots=True)
class Plan:
    """A question, what it asks for, and what to look for."""

    question: str
    intent: Intent
    terms: tuple[Term, ...]
    proposed: tuple[Term, ...] = ()  # terms of a model or of whoever asks: any of them may be the place
    by: str = ""  # the model that made the plan; "" for the lexical reading

    @property
    def needs(self) -> tuple[Requirement, ...]:
        """The evidence that answers the question."""
        return evidence_needed(self.question, self.intent)

    @property
    def targets(self) -> tuple[str, ...]:
        """The terms of the question, each of which needs evidence."""
        return tuple(term.text for term in self.terms)

    @property
    def words(self) -> tuple[str, ...]:
        """The words to rank passages by."""
        words = (*(word for term in self.terms for word in (*term.words, *term.names)), *self.proposed_words)
        return tuple(dict.fromkeys(part for word in words for part in (split_words(word) or (word,))))

    @property
    def subject(self) -> str:
        """The question with the words of the proposed terms: a question in another language names tests there."""
        return f"{self.question} {' '.join(self.proposed_words)}"

    @property
    def proposed_words(self) -> tuple[str, ...]:
        """The words of the proposed terms."""
        return tuple(dict.fromkeys(word for term in self.proposed for word in term.words))


_QUOTED = re.compile(r"`([^`\n]+)`|\"([^\"\n]+)\"|“([^”\n]+)”|(?<!\w)'([^'\n]{3,})'(?!\w)")
_FILE = re.compile(r"^[\w@.+-]*(?:/[\w@.+-]+)+/?$|^[\w.+-]+\.(\w+)$")
_OPTION = re.compile(r"^--?[A-Za-z][\w-]*$")
_CODE = re.compile(
    r"^@?[A-Za-z_$][\w$]*(?:(?:\.|::|->|#)[A-Za-z_$][\w$]*)+(?:\(.*\))?$|^\w+\(.*\)$|^[A-Za-z]*_\w+$|^[a-z]+[A-Z]\w*$|"
    r"^[A-Z][a-z0-9]+(?:[A-Z]\w*)+$|^[A-Z]{2,}[a-z]\w*$|^[A-Z]+\d+\w*$"
)
_TOKEN = re.compile(r"--?[A-Za-z][\w-]*|@?[\w$]+(?:(?:[./#-]|::|->)[\w$]+)*(?:\([^)\s]*\))?/?|[^\W\d_]+")
# Words that only ask, or say what sort of thing is meant: never a term.
_NO_TERM = STOP_WORDS | frozenset(
    "defined define defines definition declared declare declares declaration implemented implement implements "
    "implementation located live lives "
    "find show open explain describe compare review look tell give list search code codebase repo repository project "
    "file files module class function method option flag setting variable constant struct enum interface type helper "
    "called named caller callers call calls used uses use usage import imports imported work works difference differ "
    "differs purpose happens happen thing things way place part know want see need please section page document "
    "documentation docs say says mean means summarize summarise task commit commits added introduced changed removed "
    "file's kind sort read many much long often needed needs".split()
)
_IDEOGRAPHS = re.compile(r"[\u3400-\u9fff]{2}")
_ASKS_FOR_DEFINITION = re.compile(r"\b(?:defin\w+|declar\w+|implement\w*)\b", re.I)
_ACTION = re.compile(
    r"\b(?:read|set|enforced|checked|raised|thrown|printed|logged|applied|written|parsed|handled)\b", re.I
)
_BEFORE_A_NOUN = "the|a|an|our|this|that|its|your|my|of|for|in|on|find|explain|review|describe|locate"
_SIDES = re.compile(r"\b(?:and|vs\.?|versus|from|with|to|or)\b|,", re.I)


def read_plan(question: str, intent: Intent | None = None, given: Iterable[str] = (), by: str = "") -> Plan:
    """Return the lexical reading of a question, with the terms that somebody proposes beside it."""
    intent = intent or intent_of(question)
    question_words = split_words(question)
    proposed = []
    for text in dict.fromkeys(" ".join(text.split())[:LONGEST_TERM] for text in given):
        if (term := term_of(text)) is not None:
            proposed.append(replace(term, is_proposed=not has_phrase(question_words, split_words(term.text))))
    terms = _question_terms(question, intent) or tuple(proposed[:1])  # evidence is needed for one at least
    return Plan(question, intent, terms, tuple(proposed[:MOST_TERMS]), by)


def term_of(text: str) -> Term | None:
    """Return a term by the way it is written; None for nothing."""
    quoted = _QUOTED.fullmatch(text)
    bare = next((group for group in quoted.groups() if group), "").strip() if quoted else text.strip(" ?!,;:.")
    words = split_words(bare)
    if not words:
        return None
    file = _FILE.match(bare)  # group 1: the ending of a name without folders
    if _OPTION.match(bare):
        kind = TermKind.OPTION
    elif file and (file[1] is None or file[1].lower() in FILE_EXTENSIONS) and " " not in bare:
        kind = TermKind.FILE
    elif _CODE.match(bare):
        kind, bare = TermKind.IDENTIFIER, re.sub(r"\(.*$", "", bare).lstrip("@")
    elif quoted and " " in bare:
        kind = TermKind.QUOTE
    elif quoted or (bare[:1].isupper() and " " not in bare):  # one word: a name, unless it has other signs
        kind = TermKind.IDENTIFIER if re.fullmatch(r"[\w$]+", bare) else TermKind.QUOTE
    elif len(words) > 1:
        return Term(bare, TermKind.PHRASE, words, spellings(words))
    else:
        kind = TermKind.WORD
    return Term(bare, kind, words, (bare,))


def file_term(path: str) -> Term:
    """Return a file or folder as a term."""
    return Term(path, TermKind.FILE, split_words(path), (path,))


def _question_terms(question: str, intent: Intent) -> tuple[Term, ...]:
    """Return what the question names, with the places of it that are asked for."""
    if intent is Intent.CHAT:
        return ()
    found = _compared_terms(question) if intent is Intent.COMPARE else _terms_by_name(question, intent)
    is_about_definition = _ASKS_FOR_DEFINITION.search(question) is not None
    is_about_action = _ACTION.search(question) is not None  # "where is it read?"
    focus = Focus.OCCURRENCES if is_about_action and not is_about_definition else Focus.DEFINITION
    if intent is Intent.NAVIGATE and not (found and found[0].kind is TermKind.FILE):  # a file is opened, not used
        focus = Focus.USES
    if is_about_definition and len(found) == 1 and found[0].kind is TermKind.WORD:
        found = [replace(found[0], kind=TermKind.IDENTIFIER)]  # what is asked for the definition of is a name
    asks_action = is_about_definition or is_about_action
    asks_definition = is_about_definition and focus is Focus.DEFINITION
    return tuple(replace(term, focus=focus, asks_definition=asks_definition, asks_action=asks_action) for term in found)


def _compared_terms(question: str) -> list[Term]:
    """Return the sides of a comparison: its names, else the texts on either side of "and"."""
    names = [term for term in _names(question)[0] if term.kind is not TermKind.WORD]
    if len(names) > 1:
        return names
    sides = (_content_words(part) for part in _SIDES.split(question))
    return [term for side in sides if side and (term := term_of(" ".join(side))) is not None]


def _content_words(text: str) -> list[str]:
    """Return the words that may be part of a term; text without spaces between words as pairs of its characters."""
    words = (word for word in _TOKEN.findall(text) if word.lower() not in _NO_TERM)
    return [part for word in words for part in (_IDEOGRAPHS.findall(word) if _IDEOGRAPHS.search(word) else [word])]


def _terms_by_name(question: str, intent: Intent) -> list[Term]:
    """Return the names of a question; else its words as one phrase or description."""
    names, rest = _names(question)
    files = [term for term in names if term.kind is TermKind.FILE]
    others = [term for term in names if term.kind is not TermKind.FILE]
    within = files[0].text if len(files) == 1 else ""  # of several files none is sure to hold it
    words = [word for word in _content_words(rest) if len(word) > 1 or not word.isascii()]
    if others:  # a verb beside a name says what happens to it: it is no word to look for
        words = [word for word in words if not _ACTION.fullmatch(word)]
    is_about_name = intent is Intent.NAVIGATE or _ASKS_FOR_DEFINITION.search(question) is not None
    if others and (is_about_name or not words):
        return [*files, *(replace(term, within=within) for term in others)]
    if files and not words:
        return files
    if not others and len(words) == 1:
        single = term_of(words[0])
        return [*files, *([replace(single, within=within)] if single else [])]
    if len(words) == 2 and not others and _is_phrase(words, question):
        phrase = term_of(" ".join(words))
        return [*files, *([replace(phrase, within=within)] if phrase else [])]
    exact = tuple(term.text for term in others)
    text = " ".join((*exact, *words))
    parts = tuple(dict.fromkeys(part for word in words for part in split_words(word)))
    if not parts and not exact:
        return files
    return [*files, Term(text, TermKind.DESCRIPTION, parts, (text,), within=within, names=exact)]


def _is_phrase(words: list[str], question: str) -> bool:
    """Report whether two words are one phrase: side by side after an article, or where nothing is before them.

    "The retry budget" is one; "who approves refunds" and "how long are invoices kept" say what is done.
    """
    pair = r"\s+".join(map(re.escape, words))
    is_introduced = re.search(rf"(?:^\W*|\b(?:{_BEFORE_A_NOUN})\s+){pair}\b", question, re.I) is not None
    return is_introduced and not words[1].endswith("ed")


def _names(question: str) -> tuple[list[Term], str]:
    """Return what is written as a name (quoted, an option, a path, a symbol), and the question without it."""
    found: dict[str, Term] = {}

    def take_out(text: str) -> str:
        """Keep a text that is a name, and return a comma in its place; return any other text as it is."""
        term = term_of(text)
        if term is not None and term.kind is not TermKind.WORD:
            found.setdefault(term.text, term)
            return " , "
        return text

    rest = _QUOTED.sub(lambda match: take_out(match[0]), question)
    first = rest.split(maxsplit=1)[0] if rest.split() else ""
    unquoted_names = [word for word in _TOKEN.findall(rest) if _is_name(word, word == first)]
    for word in unquoted_names:
        rest = rest.replace(word, " , ", 1) if take_out(word) == " , " else rest
    # Of symbols with the same last part the last one is kept: `Owner.member` and `member` are one thing.
    members = {
        text: text if term.kind is TermKind.FILE else re.split(r"\.|::|->|#", text)[-1] for text, term in found.items()
    }
    last = {member: text for text, member in members.items()}
    return [term for text, term in found.items() if last[members[text]] == text], rest


def _is_name(word: str, is_first: bool) -> bool:
    """Report whether a word is written as a name: an option, a symbol, a path, or a capital within the sentence."""
    if _OPTION.match(word) or _CODE.match(word):
        return True
    file = _FILE.match(word)
    if file:
        return file[1] is None or file[1].lower() in FILE_EXTENSIONS
    return word[:1].isupper() and word[1:].islower() and not is_first and len(word) > 3 and word.lower() not in _NO_TERM

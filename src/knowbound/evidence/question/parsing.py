"""What a question is about: the terms that it names, and which places of them it asks for.

Names are taken as they are; a noun phrase is one term, whose words alone prove nothing (specification 3, part III.2).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from knowbound.codebase.passages import word_stem
from knowbound.core.evidence import Intent
from knowbound.evidence.question.asked_words import BY_SYNTAX, AskedWord, asked_words, is_sort
from knowbound.evidence.question.focus import focus_of
from knowbound.evidence.question.phrases import HYPHEN, Chunk, QuestionToken, chunks_of, content, segments_of
from knowbound.evidence.question.terms import TYPES, Focus, ParsedQuestion, Term, TermKind
from knowbound.text.questions.intent import AskedQuestion
from knowbound.text.questions.words import LIGHT_VERBS, SAYING_WHICH, VACUOUS, verb_base
from knowbound.text.terms import spellings, split_words

_SURELY_CODE = re.compile(r"_|\$|::|\.|->|#|\(\)$|^@|^[a-z]+[A-Z]")
_NAMES = frozenset({TermKind.IDENTIFIER, TermKind.FILE, TermKind.OPTION, TermKind.QUOTE})
_PIPELINE_WORDS = frozenset(
    "ci build builds test tests pipeline workflow workflows suite failing failed broken".split()
)
_WORKFLOWS = Term(".github/workflows/", TermKind.FILE, ("github", "workflows"), (".github/workflows/",))
_MAKING = frozenset("add implement create introduce write make build".split())
_TURNING = frozenset("to into with by".split())
_OF_A_TEXT = frozenset(map(word_stem, "error exception warning message text".split()))  # what a quotation can be
_ANY_CODE_DOES = frozenset("compute calculate determine process make build produce do".split())  # and so needs no word
_WHOLE = frozenset({Intent.LOCATE, Intent.NAVIGATE, Intent.EXPLAIN})  # intents in which every word counts
_ASKS_FOR_DEFINITION = re.compile(r"\b(?:defin\w+|declar\w+|implement\w*)\b", re.IGNORECASE)


def parse(question: AskedQuestion) -> ParsedQuestion:
    """The focus and the terms of a question."""
    intent = question.intent
    if intent is Intent.CHAT:
        return ParsedQuestion(question.text, intent, Focus.DEFINITION, ())
    segments = segments_of(question.corrected)
    chunks = [chunk for number, segment in enumerate(segments) for chunk in chunks_of(segment, number)]
    if intent is Intent.REVIEW:
        chunks = _without_aspects(chunks)
    if intent is Intent.MODIFY:
        chunks = _to_be_changed(chunks)
    terms = [_named_type(_with_its_verb(term, question.corrected)) for term in _terms(_linked(chunks), intent)]
    about = _without_terms(question.corrected, terms)
    focus = focus_of(about, intent)
    words = asked_words(question.corrected)
    defined = focus is Focus.DEFINITION and _ASKS_FOR_DEFINITION.search(about) is not None
    if defined and len(terms) == 1 and terms[0].kind is TermKind.WORD and not terms[0].noun:
        terms = [replace(terms[0], kind=TermKind.IDENTIFIER)]  # what is asked for the definition of is a name
    names = [term for term in terms if term.kind is TermKind.IDENTIFIER]
    if len({re.split(r"\.|::|->", term.text)[-1] for term in names}) == 1:
        names = names[:1]  # `StatusMessage`, and the same as `utils.StatusMessage`
    if defined and len(names) == 1 and intent in _WHOLE:
        # What else is said of the name says which one is meant.
        terms = [*names, *(term for term in terms if term.kind is TermKind.FILE)]
    elif intent in _WHOLE:
        terms = _together(terms, words, focus, intent)
    terms = [replace(term, focus=focus, defined=defined) for term in terms]
    return ParsedQuestion(question.text, intent, focus, tuple(terms), tuple(word.text for word in words))


def _named_type(term: Term) -> Term:
    """ "struct addrinfo" is the name `addrinfo`, of a struct."""
    if term.kind is not TermKind.PHRASE or len(term.words) != 2 or term.words[0] not in TYPES:
        return term
    name = term.text.split()[-1]
    return Term(name, TermKind.IDENTIFIER, split_words(name), (name,), noun=term.words[0])


def _with_its_verb(term: Term, question: str) -> Term:
    """ "who approves refunds", "which carrier delivers parcels": the words hold a verb, and are no phrase."""
    if term.kind is not TermKind.PHRASE:
        return term
    first, second, *_ = term.words
    forms = [rf"(?:who|what|which \w+) {re.escape(first)}"] if first.endswith("s") else []
    if len(term.words) > 2 and second.endswith("s"):
        forms.append(rf"(?:which|what) {re.escape(first)} {re.escape(second)}")
    follows = any(re.search(rf"\b{form}\b", question, re.IGNORECASE) for form in forms)
    return replace(term, kind=TermKind.DESCRIPTION) if follows else term


def _together(terms: list[Term], words: Sequence[AskedWord], focus: Focus, intent: Intent) -> list[Term]:
    """One term stays what it is where it is all that is asked. Else all of the question is one description."""
    files = [term for term in terms if term.kind is TermKind.FILE]
    about = [term for term in terms if term.kind is not TermKind.FILE]
    known = {word_stem(word) for term in terms for word in (*term.words, *split_words(term.text))}
    named = all(term.kind in _NAMES for term in terms)
    left = [word for word in words if not word.exact and word.stem not in known and not is_sort(word)]
    if any(term.kind is TermKind.QUOTE for term in terms):
        left = [word for word in left if word.stem not in _OF_A_TEXT]
    if intent is Intent.EXPLAIN:
        left = [word for word in left if (verb_base(word.text) or word.text) not in _ANY_CODE_DOES]
    if named or files or focus is Focus.USES:
        left = [word for word in left if not (word.is_verb and (verb_base(word.text) or word.text) in BY_SYNTAX)]
    if not left and len(about) < 2 and not any(term.kind is TermKind.DESCRIPTION for term in about):
        return terms
    if focus is Focus.USES and len(about) == 1 and about[0].kind in _NAMES:
        return terms  # who uses a name is a question about the name
    exact = [word.text for word in words if word.exact and word.text not in {term.text for term in files}]
    needed = [word for word in words if not word.exact and not is_sort(word)]
    if len(needed) + len(exact) < 2:
        return terms
    text = " ".join(word.text for word in words if word.text not in {term.text for term in files})
    return [
        *files,
        Term(
            text,
            TermKind.DESCRIPTION,
            tuple(word.text for word in needed),
            (text,),
            within=files[0].text if len(files) == 1 else "",
            names=tuple(exact),
            also=tuple(word.text for word in words if not word.exact and is_sort(word)),
        ),
    ]


def _without_terms(question: str, terms: list[Term]) -> str:
    """The question without what it is about: "the option usage" does not ask for uses."""
    for term in sorted(terms, key=lambda term: -len(term.text)):
        question = re.sub(rf"(?<!\w){re.escape(term.text)}(?!\w)", " X ", question)
    return question


def _without_aspects(chunks: list[Chunk]) -> list[Chunk]:
    """A review names its thing first; what to look for ("for thread safety", ": is it right?") is no term."""
    first = next((chunk.segment for chunk in chunks if not chunk.is_empty), 0)
    return [chunk for chunk in chunks if chunk.segment == first and chunk.link != "for"] or chunks[:1]


def _to_be_changed(chunks: list[Chunk]) -> list[Chunk]:
    """ "Rename A to B" is about A; "add A to B" is about B: what is yet to be made cannot be found."""
    making = bool(chunks) and chunks[0].after in _MAKING
    kept = [chunk for chunk in chunks if (bool(chunk.preposition) if making else chunk.preposition not in _TURNING)]
    return kept or chunks[:1]


def _linked(chunks: list[Chunk]) -> list[Chunk]:
    """ "the definition of X" is X; "serialization of JSON types" is one description."""
    found: list[Chunk] = []
    for chunk in chunks:
        last = found[-1] if found else None
        if last is None or not chunk.link or last.clause or last.segment != chunk.segment:
            found.append(chunk)
        elif last.is_empty:
            found[-1] = chunk
        elif _is_one_description(last, chunk):
            joint = [*last.tokens, QuestionToken("of", "word"), *chunk.tokens]
            found[-1] = replace(last, tokens=joint, clause=True)
        else:
            found.append(chunk)
    return found


def _is_one_description(first: Chunk, second: Chunk) -> bool:
    """ "serialization of JSON types" is one; "the vertical overflow of the live render" names two things."""
    if second.link != "of" or second.is_empty or any(one.is_code for one in (*first.tokens, *second.tokens)):
        return False
    return not (second.determiner == "the" and len(first.tokens) > 1 and len(second.tokens) > 1)


def _terms(chunks: list[Chunk], intent: Intent) -> list[Term]:
    """Terms of the chunks: names first; single plain words only where nothing better is named."""
    terms: dict[str, Term] = {}
    definite: set[str] = set()  # "the stack": in a question about a file, one word can be what is asked for in it
    about_file = any(chunk.tokens[0].kind == "file" for chunk in chunks)
    for chunk in chunks:
        for term in _of_chunk(chunk):
            worked_on = chunk.after and terms and not about_file and term.kind not in _NAMES
            if worked_on and intent is Intent.EXPLAIN and (chunk.determiner != "the" or len(term.words) < 2):
                continue  # what the thing does its work on; the thing itself is the term
            if chunk.determiner == "the" and about_file:
                definite.add(term.text)
            terms.setdefault(term.text.lower() if term.kind is TermKind.PHRASE else term.text, term)
    found = list(terms.values())
    if intent is not Intent.COMPARE:
        named = [term for term in found if term.kind is not TermKind.WORD or term.text in definite]
        found = named or _scattered(chunks) or found[:1]
    if not found:
        found = [term for chunk in chunks for term in _generic_phrase(chunk)][:1]
    if intent is Intent.DIAGNOSE:
        found = [term for term in found if not _PIPELINE_WORDS & set(term.words)] or [_WORKFLOWS]
    files = [term for term in found if term.kind is TermKind.FILE]
    if len(files) == 1 and intent is not Intent.COMPARE:
        found = [term if term is files[0] else replace(term, within=files[0].text) for term in found]
    return found


def _of_chunk(chunk: Chunk) -> list[Term]:
    """The terms of one chunk: a name for itself; else the whole of it as one phrase."""
    if chunk.clause:
        return _description(chunk)
    if chunk.is_empty:
        return []
    names = [token for token in chunk.tokens if token.is_code]
    others = [token for token in chunk.tokens if not token.is_code]
    if names and (all(token.is_empty for token in others) or any(_is_surely_code(token) for token in names)):
        noun = next((token.low for token in others if token.is_generic), "")
        return [_name(token, noun) for token in names]
    tokens = list(chunk.tokens)
    while len(tokens) > 1 and (tokens[0].low in VACUOUS or (len(tokens) > 2 and tokens[0].low in SAYING_WHICH)):
        tokens.pop(0)
    parts = [part for token in tokens for part in HYPHEN.split(token.text)]
    words = tuple(part.lower() for word in parts for part in (split_words(word) if names else (word,)))
    if len(words) < 2:
        return [_single(tokens[-1], "")]
    specific = [token for token in tokens if not token.is_empty]
    noun = tokens[-1].low if tokens[-1].is_generic else ""
    if not noun and len(tokens) == 2 and tokens[0].is_generic and not chunk.determiner:
        noun = tokens[0].low  # "function echo"
    if len(specific) == 1 and specific[0].text[:1].isupper():
        return [_single(specific[0], noun)]  # "the Group class"
    text = " ".join(token.text for token in tokens)
    return [Term(text, TermKind.PHRASE, words, spellings(words), noun=noun)]


def _description(chunk: Chunk) -> list[Term]:
    words = tuple(word.lower() for word in content(chunk.tokens) if word.lower() not in VACUOUS)
    text = " ".join(token.text for token in chunk.tokens)
    if len(words) < 2:
        return [Term(words[0], TermKind.WORD, words, words)] if words else []
    return [Term(text, TermKind.DESCRIPTION, words, (text,))]


def _scattered(chunks: list[Chunk]) -> list[Term]:
    """Single words that mean something together: "the cache for prompts", "does the client follow redirects"."""
    single = [chunk for chunk in chunks if not chunk.is_empty and not chunk.clause]
    for first, second in pairwise(single):
        if first.segment != second.segment or second.after in LIGHT_VERBS:
            continue
        words = (second.after, second.tokens[-1].low) if second.after else (first.tokens[-1].low, second.tokens[-1].low)
        if second.after or second.preposition:
            return [Term(" ".join(words), TermKind.DESCRIPTION, words, (" ".join(words),))]
    return []


def _generic_phrase(chunk: Chunk) -> list[Term]:
    """ "command line arguments": several generic nouns can be a name after all, where nothing else is named."""
    words = tuple(token.low for token in chunk.tokens if not token.is_code)
    if chunk.clause or len(words) < 2:
        return []
    return [Term(" ".join(words), TermKind.PHRASE, words, spellings(words))]


def _is_surely_code(token: QuestionToken) -> bool:
    """A name no one would write as a word of prose (`foo_bar`, `a.b`, a quote), unlike `WebSocket` or `JavaScript`."""
    return token.kind != "name" or _SURELY_CODE.search(token.text) is not None


def _name(token: QuestionToken, noun: str) -> Term:
    kind = {"file": TermKind.FILE, "option": TermKind.OPTION, "quote": TermKind.QUOTE}.get(token.kind)
    if kind is not None:
        return Term(token.text, kind, split_words(token.text), (token.text,), noun=noun)
    text = token.text.removesuffix("()").lstrip("@")
    return Term(text, TermKind.IDENTIFIER, split_words(text), (text,), noun=noun)


def _single(token: QuestionToken, noun: str) -> Term:
    """One word: a name where it is written like one (`Blueprint`), else a plain word."""
    kind = TermKind.IDENTIFIER if token.text[:1].isupper() else TermKind.WORD
    return Term(token.text, kind, (token.low,), (token.text,), noun=noun)

"""`read`: opens the candidates and decides whether each can answer (specification 3, FileContent).

The reader does not trust the search. It looks at the whole symbol or section around the cited line, without comments
and string literals, and can disagree: a test, a fixture, a changelog, a log, a transcript, help text and a page that
only promises or points elsewhere answer nothing. So where both name the same file and symbol, two independent
producers agree. A symbol of a single line is read as Moderate: it is the very line that the search found; so is a
description, whose words alone are no understanding.

Rules read for questions of where; how, why and what is better is for a model to read (`evidence/understanding.py`).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from knowbound.codebase.languages import NameRole, code_lines, has_grammar, occurrences
from knowbound.codebase.passages import CodePassage, outline_of
from knowbound.codebase.tree import SourceTree
from knowbound.codebase.tree_search import passage_at
from knowbound.core.evidence import Evidence, EvidenceClass, Intent, Place, Quality
from knowbound.core.paths import DOCUMENTS, extension, is_changelog, is_test, source_rank
from knowbound.evidence.plan import Focus, Term, TermKind
from knowbound.evidence.producers.protocol import READER, Ask, Context, Producer
from knowbound.text.stems import common_start
from knowbound.text.terms import has_phrase, split_words

MODEL_ONLY = frozenset({Intent.EXPLAIN, Intent.COMPARE, Intent.REVIEW})  # questions that only a model reads
_ABOUT_TESTS = re.compile(r"\b(?:tests?|tested|fixtures?|specs?|benchmarks?|changelog|release notes)\b", re.I)
_DATA = frozenset("jsonl ndjson log csv tsv snap har lock svg map po pot out diff patch".split())
_MANUAL = re.compile(r"\.[1-9]$")
_GENERATED, _TESTS = 4, 3  # source_rank
_NUMBER_ASKED = re.compile(r"\bhow (?:many|much|long|often|old|big|large|far|soon|frequently)\b", re.I)
_NUMBER = re.compile(
    r"\d|\bone(?= \w)|\b(?:two|three|four|five|six|seven|eight|nine|ten|twelve|once|twice|half|daily|hourly|weekly|"
    r"monthly|yearly|every|never|always)\b",
    re.I,
)
_NOW = re.compile(r"\b(?:today|tonight|this (?:week|month|year|sprint|morning)|right now|currently)\b", re.I)
# A line of a page that promises, points elsewhere or asks.
_SAYS_NOTHING = re.compile(
    r"\b(?:TODO|TBD|TBA|WIP)\b|^\W*(?:write down|document|describe) (?:the|how|what|when|why|who|our)\b|"
    r"\bto be (?:documented|written|defined|decided|added)\b|\bcoming soon\b|\bnot yet\b|"
    r"^\W*(?:see|refer to|more (?:in|on|about|at)|for (?:more|details))\b|\?\s*$|^\s*[-*]?\s*\[[^\]]*\]\([^)]*\)\s*$|"
    r"\b(?:documented|described|covered|explained) (?:elsewhere|in (?:the|our) \w+ ?(?:wiki|handbook|repo|runbook))",
    re.I,
)
_TYPE = "type|class|struct|interface|enum|trait"
_AROUND = 12  # lines of a block without a section or definition around it


class _Read(NamedTuple):
    """Place that answers, whether it is more than one line; or the reason to disagree."""

    place: Place | None
    is_whole: bool = False
    why_not: str = ""


class Read(Producer):
    """The ranked candidates, opened."""

    name = "read"
    cls = EvidenceClass.FILE_CONTENT
    independent_of = READER

    def can(self, ask: Ask) -> int:
        """Needs candidates."""
        return 9 if ask.candidates and ask.term is not None else 0

    def produce(self, ask: Ask, context: Context) -> Evidence:
        """Strong where the best candidate answers, moderate where only a later one does, weak where none does."""
        term = ask.term
        assert term is not None
        reads: list[tuple[str, _Read]] = []
        for candidate in _one_per_file(ask.candidates, context.limits.reads):
            text = context.tree.text(candidate.path)
            if text is not None and context.seconds_left > 0:
                reads.append((candidate.path, _look(text, candidate, term, ask, context.tree)))
        if not reads:
            return ask.nothing(self.name, "no candidate could be read")
        agreed = [(number, one) for number, (_, one) in enumerate(reads) if one.place is not None]
        if not agreed:
            return ask.evidence(self.name, Quality.WEAK, [Place(path) for path, _ in reads], note=reads[0][1].why_not)
        places = [one.place for _, one in agreed if one.place is not None]
        if ask.intent in MODEL_ONLY:
            note = "found, and not read: a question of how or why needs a model (knowbound model)"
            return ask.evidence(self.name, Quality.WEAK, places, note=note)
        is_best, is_whole = agreed[0][0] == 0, agreed[0][1].is_whole
        is_named = term.kind is not TermKind.DESCRIPTION
        quality = Quality.STRONG if is_best and is_whole and is_named else Quality.MODERATE
        note = "the best candidate has it" if is_best else "a later candidate has it"
        if not is_whole:
            note += ", in one line that the search found, too"
        elif not is_named:
            note += ", by its words alone: no model has read it"
        return ask.evidence(self.name, quality, places, exact=len(places), note=note)


def _one_per_file(candidates: tuple[Place, ...], limit: int) -> list[Place]:
    first: dict[str, Place] = {}
    for candidate in candidates:
        first.setdefault(candidate.path, candidate)
    return list(first.values())[:limit]


def why_unfit(path: str, question: str) -> str:
    """Return why a file answers no question about the product; "" if it can, or if the question is about such files."""
    if extension(path) in _DATA or _MANUAL.search(path):
        return "a log, a transcript, a manual page or generated data answers nothing"
    if source_rank(path) == _GENERATED:
        return "third-party or generated files answer nothing about this project"
    if _ABOUT_TESTS.search(question) or path in question:
        return ""
    if is_test(path):
        return "a test or a fixture answers nothing about the product"
    return "a changelog says what was once so" if is_changelog(path) else ""


def _look(text: str, candidate: Place, term: Term, ask: Ask, tree: SourceTree) -> _Read:
    """Decide whether the symbol or section around a place answers, from the file as it is now."""
    path = candidate.path
    if term.kind is TermKind.FILE:
        name = path.rpartition("/")[2]
        return _Read(Place(path, 0, name), True) if text.strip() else _Read(None, why_not="the file is empty")
    if reason := why_unfit(path, ask.question):
        return _Read(None, why_not=reason)
    if candidate.line == 0:
        return _Read(None, why_not="a file name says nothing of what is in it")
    around = passage_at(tree.root, path, candidate.line)
    if has_grammar(path):
        return _source(text, candidate, term, around, ask.question)
    return _document(text, candidate, term, ask, around, tree)


def _span(around: CodePassage | None, line: int) -> tuple[int, int]:
    return (around.first, around.last) if around else (max(1, line - _AROUND), line + _AROUND)


def _source(text: str, candidate: Place, term: Term, around: CodePassage | None, question: str) -> _Read:
    """Source answers by what it does: by a name in its syntax tree, by words in code, never by a comment."""
    path, line = candidate.path, candidate.line
    if term.kind is TermKind.IDENTIFIER:
        return _symbol(text, candidate, term, around, question)
    first, last = _span(around, line)
    raw = text.split("\n")[first - 1 : last]
    code = code_lines(text, path, first, last)
    head = f"{around.name} {around.above}" if around else ""
    is_whole = sum(bool(one.strip()) for one in code) > 1
    if term.kind in (TermKind.OPTION, TermKind.QUOTE):  # a text is a literal: it must be in one, not in a comment
        literals = "\n".join(one for one, plain in zip(raw, code, strict=True) if one != plain and plain.strip())
        has = has_phrase(split_words(literals), split_words(term.text))
        return _Read(candidate, is_whole) if has else _Read(None, why_not="only in a comment or a help text")
    if term.kind is TermKind.DESCRIPTION:
        missing = _missing(term, "\n".join((*code, head, path)))
        why = f"no code here has {', '.join(missing)}: only a comment or a text" if missing else ""
        return _Read(None, why_not=why) if missing else _Read(candidate, is_whole)
    named = has_phrase(split_words(head), term.words) or (
        candidate.symbol and has_phrase(split_words(candidate.symbol), term.words) and candidate.symbol in head.split()
    )
    if named or any(has_phrase(split_words(one), term.words) for one in code):
        return _Read(candidate, is_whole)
    return _Read(None, why_not="only in a comment, a docstring or a string")


def _symbol(text: str, candidate: Place, term: Term, around: CodePassage | None, question: str) -> _Read:
    """A name is where the syntax tree has it: defined, called or used, as the question asks."""
    name = candidate.symbol if candidate.symbol.isidentifier() else re.split(r"\.|::|->|#", term.text)[-1]
    found = occurrences(text, candidate.path, name)
    roles = {
        Focus.DEFINITION: (NameRole.DEFINITION,)
        if term.defined
        else (NameRole.DEFINITION, NameRole.CALL, NameRole.USE),
        Focus.USES: (NameRole.CALL, NameRole.USE, NameRole.IMPORT),
        Focus.OCCURRENCES: (NameRole.CALL, NameRole.USE, NameRole.DEFINITION),
    }[term.focus]
    unlike = {"parameter"} if term.defined else set()
    if term.defined and re.search(
        rf"\b(?:{_TYPE}) `?{re.escape(name)}\b|\b{re.escape(name)}`? (?:{_TYPE})\b", question
    ):
        unlike |= {"function", "method"}  # a type is asked for
    fitting = [one for one in found if one.role in roles and one.kind not in unlike]
    if not fitting:
        key = _key_line(text, candidate, name) if not term.defined else 0
        if key:
            return _Read(Place(candidate.path, key, candidate.symbol), True)
        return _Read(None, why_not=f"the syntax tree has no {roles[0]} of {name} here")
    line = min(fitting, key=lambda one: (roles.index(one.role), abs(one.line - candidate.line))).line
    whole = next((one for one in outline_of(candidate.path, text) if one.line == line), None)
    first, last = (whole.line, whole.last) if whole else _span(around, line) if around else (line, line)
    code = code_lines(text, candidate.path, first, last)
    return _Read(Place(candidate.path, line, candidate.symbol), sum(bool(one.strip()) for one in code) > 1)


def _key_line(text: str, candidate: Place, name: str) -> int:
    """The line of code at the candidate on which the name is a key: a whole string, as settings are read."""
    lines = text.split("\n")
    if candidate.line > len(lines):
        return 0
    (code,) = code_lines(text, candidate.path, candidate.line, candidate.line)
    is_key = re.search(rf"[\"'`]{re.escape(name)}[\"'`]", lines[candidate.line - 1]) and code.strip(" ()[],;:")
    return candidate.line if is_key else 0


def _document(text: str, candidate: Place, term: Term, ask: Ask, around: CodePassage | None, tree: SourceTree) -> _Read:
    """A page answers by what it says: a block with the words, and of the kind that is asked for."""
    path, line = candidate.path, candidate.line
    is_page = extension(path) in DOCUMENTS
    if is_page and (term.done or term.focus is Focus.USES) and not tree.is_knowledge:
        return _Read(None, why_not="a page does nothing: only source defines, calls, parses or enforces")
    first, last = _span(around, line)
    lines = text.split("\n")[first - 1 : last]
    said = [line for line in lines if line.strip() and not line.lstrip().startswith("#")] or _below(text, line)
    head = f"{around.name} {around.above} {path}" if around else path
    block = _block(lines, line - first)
    cited = lines[line - first] if 0 <= line - first < len(lines) else ""
    if not is_page:
        has = cited.strip() and not cited.lstrip().startswith(("#", "//", ";"))
        return _Read(candidate, len(said) > 1) if has else _Read(None, why_not="only in a comment")
    if not said or all(_SAYS_NOTHING.search(one) for one in (block or said)):
        return _Read(None, why_not="the page only promises it, asks for it or points elsewhere")
    asked = "\n".join(block or said)
    if _NUMBER_ASKED.search(ask.question) and not _NUMBER.search(_without(asked, term)):
        return _Read(None, why_not="the page gives no number for it")
    if now := _NOW.search(ask.question):
        return _Read(None, why_not=f"no page knows what is so {now[0].lower()}")
    if term.kind is TermKind.DESCRIPTION:
        missing = _missing(term, f"{asked}\n{head}")
        return _Read(None, why_not=f"without {', '.join(missing)}") if missing else _Read(candidate, len(lines) > 1)
    has_it = has_phrase(split_words(f"{asked}\n{head}"), split_words(term.text))
    return _Read(candidate, len(lines) > 1) if has_it else _Read(None, why_not="the section says nothing of it")


def _below(text: str, line: int) -> list[str]:
    """Return the text of the sections below a heading, up to the next heading of its level."""
    lines = text.split("\n")
    level = len(lines[line - 1]) - len(lines[line - 1].lstrip("#")) if line <= len(lines) else 0
    found = []
    for one in lines[line:] if level else ():
        deep = len(one) - len(one.lstrip("#"))
        if 0 < deep <= level:
            break
        found += [one] if one.strip() and not deep else []
    return found


def _without(text: str, term: Term) -> str:
    """The text without the numbers that the question has itself."""
    return re.sub("|".join(map(re.escape, re.findall(r"\d+", term.text))) or r"(?!)", " ", text)


def _block(lines: list[str], at: int) -> list[str]:
    """The paragraph, list item or table row around a line; nothing for a heading."""
    if not 0 <= at < len(lines) or not lines[at].strip() or lines[at].startswith("#"):
        return []
    begin, end = at, at + 1
    starts = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s|^\s*\||^#")
    while begin > 0 and lines[begin - 1].strip() and not starts.match(lines[begin]):
        begin -= 1
    while end < len(lines) and lines[end].strip() and not starts.match(lines[end]):
        end += 1
    return lines[begin:end]


def _missing(term: Term, text: str) -> list[str]:
    """The words of a description that begin no word, and no part of a name, of a text."""
    spoken = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_", " ", text).lower()
    absent = [
        word
        for word in term.words
        if not re.search(rf"(?<![a-z]){re.escape(common_start(word) or word.lower())}", spoken)
    ]
    return absent + [name for name in term.names if name not in text]

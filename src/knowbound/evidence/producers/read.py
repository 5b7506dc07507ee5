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
from knowbound.text.english import common_start
from knowbound.text.terms import has_phrase, split_words

MODEL_ONLY = frozenset({Intent.EXPLAIN, Intent.COMPARE, Intent.REVIEW})  # questions that only a model reads
_ABOUT_TESTS = re.compile(r"\b(?:tests?|tested|fixtures?|specs?|benchmarks?|changelog|release notes)\b", re.I)
_DATA = frozenset("jsonl ndjson log csv tsv snap har lock svg map po pot out diff patch".split())
_MANUAL = re.compile(r"\.[1-9]$")
_GENERATED = 4  # source_rank
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
_LINES_EACH_WAY = 12  # lines of a block without a section or definition around it


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
        """Return one entry: Strong if the best candidate answers, Moderate if only a later one does, Weak if none."""
        term = ask.term
        assert term is not None
        reads: list[tuple[str, _Read]] = []
        for candidate in _one_per_file(ask.candidates, context.limits.reads):
            text = context.tree.text(candidate.path)
            if text is not None and context.seconds_left > 0:
                reads.append((candidate.path, _read_candidate(text, candidate, term, ask, context.tree)))
        if not reads:
            return ask.nothing(self.name, "no candidate could be read")
        answering = [(rank, read) for rank, (_, read) in enumerate(reads) if read.place is not None]
        if not answering:
            return ask.evidence(self.name, Quality.WEAK, [Place(path) for path, _ in reads], note=reads[0][1].why_not)
        places = [read.place for _, read in answering if read.place is not None]
        if ask.intent in MODEL_ONLY:
            note = "found, and not read: a question of how or why needs a model (knowbound model)"
            return ask.evidence(self.name, Quality.WEAK, places, note=note)
        first_rank, first = answering[0]
        is_best, is_whole = first_rank == 0, first.is_whole
        is_named = term.kind is not TermKind.DESCRIPTION  # a description has loose words
        quality = Quality.STRONG if is_best and is_whole and is_named else Quality.MODERATE
        note = "the best candidate has it" if is_best else "a later candidate has it"
        if not is_whole:
            note += ", in one line that the search found, too"
        elif not is_named:
            note += ", by its words alone: no model has read it"
        return ask.evidence(self.name, quality, places, exact=len(places), note=note)


def _one_per_file(candidates: tuple[Place, ...], limit: int) -> list[Place]:
    """Return the first candidate of each file."""
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
        return ""  # tests and changelogs are what it asks for
    if is_test(path):
        return "a test or a fixture answers nothing about the product"
    return "a changelog says what was once so" if is_changelog(path) else ""


def _read_candidate(text: str, candidate: Place, term: Term, ask: Ask, tree: SourceTree) -> _Read:
    """Decide whether the symbol or section around a place answers, from the file as it is now."""
    path = candidate.path
    if term.kind is TermKind.FILE:
        name = path.rpartition("/")[2]
        return _Read(Place(path, 0, name), is_whole=True) if text.strip() else _Read(None, why_not="the file is empty")
    if reason := why_unfit(path, ask.question):
        return _Read(None, why_not=reason)
    if candidate.line == 0:
        return _Read(None, why_not="a file name says nothing of what is in it")
    around = passage_at(tree.root, path, candidate.line)
    if has_grammar(path):
        return _read_source(text, candidate, term, around, ask.question)
    return _read_document(text, candidate, term, ask, around, tree)


def _lines_around(around: CodePassage | None, line: int) -> tuple[int, int]:
    return (around.first, around.last) if around else (max(1, line - _LINES_EACH_WAY), line + _LINES_EACH_WAY)


def _read_source(text: str, candidate: Place, term: Term, around: CodePassage | None, question: str) -> _Read:
    """Read source, which answers by what it does: a name in its syntax tree or words in code, never a comment."""
    path, line = candidate.path, candidate.line
    if term.kind is TermKind.IDENTIFIER:
        return _read_symbol(text, candidate, term, around, question)
    first, last = _lines_around(around, line)
    lines = text.split("\n")[first - 1 : last]
    code = code_lines(text, path, first, last)  # the same lines without comments and literals
    head = f"{around.name} {around.above}" if around else ""
    is_whole = sum(bool(row.strip()) for row in code) > 1
    if term.kind in (TermKind.OPTION, TermKind.QUOTE):  # a text is a literal: it must be in one, not in a comment
        literals = "\n".join(row for row, plain in zip(lines, code, strict=True) if row != plain and plain.strip())
        is_in_literal = has_phrase(split_words(literals), split_words(term.text))
        return _Read(candidate, is_whole) if is_in_literal else _Read(None, why_not="only in a comment or a help text")
    if term.kind is TermKind.DESCRIPTION:
        missing = _missing_words(term, "\n".join((*code, head, path)))
        why = f"no code here has {', '.join(missing)}: only a comment or a text" if missing else ""
        return _Read(None, why_not=why) if missing else _Read(candidate, is_whole)
    is_in_name = has_phrase(split_words(head), term.words) or (
        candidate.symbol and has_phrase(split_words(candidate.symbol), term.words) and candidate.symbol in head.split()
    )
    if is_in_name or any(has_phrase(split_words(row), term.words) for row in code):
        return _Read(candidate, is_whole)
    return _Read(None, why_not="only in a comment, a docstring or a string")


def _read_symbol(text: str, candidate: Place, term: Term, around: CodePassage | None, question: str) -> _Read:
    """Read a name where the syntax tree has it nearest to the candidate, in the role that the question asks for."""
    name = candidate.symbol if candidate.symbol.isidentifier() else re.split(r"\.|::|->|#", term.text)[-1]  # a member
    places = occurrences(text, candidate.path, name)
    roles = {  # the best first
        Focus.DEFINITION: (NameRole.DEFINITION,)
        if term.asks_definition
        else (NameRole.DEFINITION, NameRole.CALL, NameRole.USE),
        Focus.USES: (NameRole.CALL, NameRole.USE, NameRole.IMPORT),
        Focus.OCCURRENCES: (NameRole.CALL, NameRole.USE, NameRole.DEFINITION),
    }[term.focus]
    excluded_kinds = {"parameter"} if term.asks_definition else set[str]()
    if term.asks_definition and re.search(
        rf"\b(?:{_TYPE}) `?{re.escape(name)}\b|\b{re.escape(name)}`? (?:{_TYPE})\b", question
    ):
        excluded_kinds |= {"function", "method"}  # a type is asked for
    fitting = [place for place in places if place.role in roles and place.kind not in excluded_kinds]
    if not fitting:
        key_line = _key_line(text, candidate, name) if not term.asks_definition else 0  # 0: no line
        if key_line:
            return _Read(Place(candidate.path, key_line, candidate.symbol), is_whole=True)
        return _Read(None, why_not=f"the syntax tree has no {roles[0]} of {name} here")
    line = min(fitting, key=lambda place: (roles.index(place.role), abs(place.line - candidate.line))).line
    definition = next((outlined for outlined in outline_of(candidate.path, text) if outlined.line == line), None)
    first, last = _lines_around(around, line) if around else (line, line)
    if definition:
        first, last = definition.line, definition.last
    code = code_lines(text, candidate.path, first, last)
    return _Read(Place(candidate.path, line, candidate.symbol), sum(bool(code_line.strip()) for code_line in code) > 1)


def _key_line(text: str, candidate: Place, name: str) -> int:
    """Return the candidate's line if the name is a whole string in code there, as keys of settings are; else 0."""
    lines = text.split("\n")
    if candidate.line > len(lines):
        return 0
    (code,) = code_lines(text, candidate.path, candidate.line, candidate.line)
    is_key = re.search(rf"[\"'`]{re.escape(name)}[\"'`]", lines[candidate.line - 1]) and code.strip(" ()[],;:")
    return candidate.line if is_key else 0


def _read_document(
    text: str, candidate: Place, term: Term, ask: Ask, around: CodePassage | None, tree: SourceTree
) -> _Read:
    """Read a page, which answers by what it says: a block with the words, and of the kind that is asked for."""
    path, line = candidate.path, candidate.line
    is_page = extension(path) in DOCUMENTS
    if is_page and (term.asks_action or term.focus is Focus.USES) and not tree.is_knowledge:
        return _Read(None, why_not="a page does nothing: only source defines, calls, parses or enforces")
    first, last = _lines_around(around, line)
    lines = text.split("\n")[first - 1 : last]
    prose = [row for row in lines if row.strip() and not row.lstrip().startswith("#")]
    prose = prose or _text_below_heading(text, line)  # a section may hold nothing but sections
    head = f"{around.name} {around.above} {path}" if around else path
    block = _block_around(lines, line - first)
    cited_line = lines[line - first] if 0 <= line - first < len(lines) else ""
    if not is_page:  # settings, a script without grammar
        is_no_comment = cited_line.strip() and not cited_line.lstrip().startswith(("#", "//", ";"))
        return _Read(candidate, len(prose) > 1) if is_no_comment else _Read(None, why_not="only in a comment")
    if not prose or all(_SAYS_NOTHING.search(row) for row in (block or prose)):
        return _Read(None, why_not="the page only promises it, asks for it or points elsewhere")
    answer = "\n".join(block or prose)
    if _NUMBER_ASKED.search(ask.question) and not _NUMBER.search(_without_question_numbers(answer, term)):
        return _Read(None, why_not="the page gives no number for it")
    if moment := _NOW.search(ask.question):
        return _Read(None, why_not=f"no page knows what is so {moment[0].lower()}")
    if term.kind is TermKind.DESCRIPTION:
        missing = _missing_words(term, f"{answer}\n{head}")
        return _Read(None, why_not=f"without {', '.join(missing)}") if missing else _Read(candidate, len(lines) > 1)
    has_it = has_phrase(split_words(f"{answer}\n{head}"), split_words(term.text))
    return _Read(candidate, len(lines) > 1) if has_it else _Read(None, why_not="the section says nothing of it")


def _text_below_heading(text: str, line: int) -> list[str]:
    """Return the text of the sections below a heading, up to the next heading of its level."""
    lines = text.split("\n")
    level = len(lines[line - 1]) - len(lines[line - 1].lstrip("#")) if line <= len(lines) else 0
    found = []
    for line_below in lines[line:] if level else ():
        heading_level = len(line_below) - len(line_below.lstrip("#"))
        if 0 < heading_level <= level:
            break
        found += [line_below] if line_below.strip() and not heading_level else []  # no headings
    return found


def _without_question_numbers(text: str, term: Term) -> str:
    """The text without the numbers that the question has itself."""
    return re.sub("|".join(map(re.escape, re.findall(r"\d+", term.text))) or r"(?!)", " ", text)


def _block_around(lines: list[str], at: int) -> list[str]:
    """Return the paragraph, list item or table row around a line; nothing for a heading."""
    if not 0 <= at < len(lines) or not lines[at].strip() or lines[at].startswith("#"):
        return []
    begin, end = at, at + 1
    starts = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s|^\s*\||^#")
    while begin > 0 and lines[begin - 1].strip() and not starts.match(lines[begin]):
        begin -= 1
    while end < len(lines) and lines[end].strip() and not starts.match(lines[end]):
        end += 1
    return lines[begin:end]


def _missing_words(term: Term, text: str) -> list[str]:
    """Return the words of a description that begin no word, and no part of a name, of a text; and its absent names."""
    separated = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_", " ", text).lower()  # `retryBudget` → `retry budget`
    absent = [
        word
        for word in term.words
        if not re.search(rf"(?<![a-z]){re.escape(common_start(word) or word.lower())}", separated)
    ]
    return absent + [name for name in term.names if name not in text]

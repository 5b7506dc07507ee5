"""Statements that rules leave open, decided by a model from passages of the tree that rules found.

The model sees the statements of one section together, with the folders, settings and lines that they may be about. It
quotes what contradicts or confirms a statement; a verdict without a verbatim quotation does not count. Where the
passages settle nothing it names terms once; these are searched, and it is asked once more. It words repairs, also of
statements that rules contradict; a repair counts only if rules find everything in it that the old statement had not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

import msgspec
from msgspec.structs import replace

from knowbound.codebase.checkout import Checkout, TreeLine
from knowbound.core.paths import FILE_EXTENSIONS, extension, is_test
from knowbound.core.statement import CheckedStatement, Statement, StatementKind, StatementPlace, Truth
from knowbound.judge.material import is_quoted
from knowbound.judge.models.asking import Asker
from knowbound.judge.models.questions import sendable
from knowbound.judge.prompts import load_prompt
from knowbound.knowledge.checking import Checker
from knowbound.knowledge.named import named_in
from knowbound.text.printable import estimated_tokens

_ITEMS = "entries of a memory store"
_STATEMENTS_PER_QUESTION = 10  # so that each still gets its passages
_PASSAGE_TOKENS = 3_500  # of the passages in one question
_LINE_TOKENS = 4  # of a line beside its text
_PLACES_OF_TERM = 3  # that are shown of each term
_PLACES_OF_COMMON_WORD = 40  # places of a word that says little by itself
_LINES_AFTER, _LINE_CHARACTERS = 4, 160  # lines after a definition, characters of a line
_TERMS_OF_STATEMENT = 8  # of a statement
_FOLDER_ENTRIES = 40  # of a folder
_SETTINGS_LINES = 60
_SPAN = re.compile(r"`([^`\n]+)`")
_NAME = re.compile(r"[A-Za-z_$][\w$]*(?:[-.][\w$]+)*")
_PROPER = re.compile(
    r"(?<![.!?:|*] )(?<!^)\b[A-Z][A-Za-z0-9]+(?:[.-][A-Za-z0-9]+)*\b|\b[a-z]+[A-Z]\w*|\b\w+_\w+\b|\b\d{2,}\b"
)
_DEFINES = r"\b(?:class|def|function|func|fn|interface|type|const|enum|struct|trait|export|var|let|public|private)\s+"
_NO_SOURCE = re.compile(
    r"(?:^|/)(?:LICEN[CS]E|CHANGELOG|NOTICE|AUTHORS)[\w.-]*$|\.(?:snap|lock|svg|csv|map)$|lock\.\w+$", re.IGNORECASE
)
_MOST_TERMS = 6  # that the model names for a second look
_NUMBER = re.compile(r"\d+(?:\.\d+)*")
_FEWEST_WORDS = 3  # that a statement has at least
_COMMON = frozenset(
    "The This That When Use Always Never Run All Each Every For From With Note If It In On At To And Or No Not Do "
    "true false null none src test tests lib app docs index main run npm pnpm yarn bun uv make git".split()
)
# Settings that say how a project is built, tested and written; those nearest to the statement's file first.
_SETTINGS = re.compile(
    r"(?:^|/)(?:package\.json|pyproject\.toml|Cargo\.toml|go\.mod|composer\.json|Gemfile|build\.gradle(?:\.kts)?|"
    r"Directory\.Packages\.props|\.prettierrc[\w.]*|prettier\.config\.\w+|\.editorconfig|biome\.jsonc?|\.oxlintrc\.json|"
    r"tsconfig(?:\.base)?\.json|(?:vitest|jest|vite|playwright)\.config\.\w+|ruff\.toml|\.pre-commit-config\.yaml|"
    r"justfile|Makefile|turbo\.json|nx\.json|mise\.toml|\.nvmrc|\.tool-versions|rust-toolchain\.toml)$"
)


class StatementAnswer(msgspec.Struct, frozen=True):
    """Answer about one statement."""

    number: int
    truth: Truth
    quote: str = ""
    repair: str = ""


class StatementAnswers(msgspec.Struct, frozen=True):
    """Answer about the statements of a question."""

    statements: list[StatementAnswer]
    terms: list[str] = []


def decided_by_model(checked: Sequence[CheckedStatement], checkout: Checkout, asker: Asker) -> list[CheckedStatement]:
    """Return the statements, those that rules left open as the model decides them. A failure leaves them open."""
    decided = list(checked)
    asking = _Asking(checkout, asker)
    batches = list(_batches(checked))
    named_terms = asking.ask(decided, batches, [[]] * len(batches))  # terms that the model wants to see places of
    second_questions = [
        (undecided, terms)
        for batch, terms in zip(batches, named_terms, strict=True)
        if terms and (undecided := [at for at in batch if decided[at].truth is Truth.NOT_CHECKABLE])
    ]
    asking.ask(decided, [undecided for undecided, _ in second_questions], [terms for _, terms in second_questions])
    return decided


class _Asking:
    """Asks about statements of a checkout, and checks the answers."""

    def __init__(self, checkout: Checkout, asker: Asker) -> None:
        self._tree, self._asker, self._checker = checkout, asker, Checker(checkout)

    def ask(
        self, decided: list[CheckedStatement], batches: Sequence[list[int]], terms_by_batch: Sequence[list[str]]
    ) -> list[list[str]]:
        """Decide the statements at the indexes of each batch; return the terms that the model names for each."""
        words = {term for batch in batches for at in batch for term in terms_of(decided[at].statement)}
        searched = self._tree.places_of(words | {term for terms in terms_by_batch for term in terms})
        materials = [
            _Material(self._tree, searched, [decided[at] for at in batch], terms)
            for batch, terms in zip(batches, terms_by_batch, strict=True)
        ]
        answers = self._asker.ask(
            load_prompt("statements"),
            [material.inputs() for material in materials],
            StatementAnswers,
            checks=[_numbered(len(batch)) for batch in batches],
        )
        for batch, material, answer in zip(batches, materials, answers, strict=True):
            for answered in answer.value.statements if answer.value is not None else ():
                if 1 <= answered.number <= len(batch):
                    at = batch[answered.number - 1]
                    decided[at] = self._decided(decided[at], answered, material)
        return [_searchable(answer.value.terms) if answer.value is not None else [] for answer in answers]

    def _decided(self, checked: CheckedStatement, answer: StatementAnswer, material: _Material) -> CheckedStatement:
        """Return the statement as the model decides it, if its quotation is in the material."""
        if checked.truth is Truth.CONTRADICTED:  # by rules, which stand: the model only words the repair
            return self._repaired(checked, answer.repair, material)
        if answer.truth is Truth.NOT_CHECKABLE:
            return checked
        place = material.place_of(answer.quote)
        if place is None or (answer.truth is Truth.CONFIRMED and checked.truth is Truth.CONFIRMED):
            return checked
        kind = checked.kind if checked.kind is not StatementKind.OTHER else StatementKind.BEHAVIOUR
        evidence = place if place.path else None  # a quotation over several lines has no place
        found = replace(checked, kind=kind, truth=answer.truth, named=checked.statement.text, evidence=evidence)
        found = replace(found, by=self._asker.judge)
        if answer.truth is Truth.CONFIRMED:
            return found
        where = f"{place.path}:{place.line}" if place.path else "the tree"
        return self._repaired(replace(found, why=f"{where} says otherwise: {answer.quote}"), answer.repair, material)

    def _repaired(self, wrong: CheckedStatement, words: str, material: _Material) -> CheckedStatement:
        """Return the statement with the model's repair, if rules find what it names; else with the repair it has."""
        repair, old = " ".join(words.split()), wrong.statement
        is_new = bool(repair) and repair not in (old.text, wrong.repair) and old.line == old.end_line  # of one line
        keeps = wrong.swap is None or wrong.swap[1] in repair  # a repair of rules is worded, not replaced
        if not is_new or not keeps or wrong.repair == "" or not self._is_shown(old, repair, material):
            return wrong  # an empty repair of rules takes the row out
        return replace(wrong, repair=repair, swap=(old.text, repair))

    def _is_shown(self, old: Statement, repair: str, material: _Material) -> bool:
        """Report whether the tree has everything that a repair names and its statement did not."""
        new = replace(old, text=repair, path="")
        known = {(named.kind, named.value) for named in named_in(old)}
        if any((named.kind, named.value) not in known for named in self._checker.unshown(new)):
            return False
        [checked] = self._checker.check_all([new])
        passages = "\n".join(material.lines)
        shown = "\n".join(line.partition(": ")[2] for line in material.lines)  # without the numbers of lines
        added = [span for span in _SPAN.findall(repair) if span not in old.text]
        spans = {span for span in added if not named_in(replace(new, text=f"`{span}`"))}  # rules cannot check
        numbers = set(_NUMBER.findall(repair)) - set(_NUMBER.findall(old.text))
        has_numbers = all(re.search(rf"(?<![\w.]){re.escape(number)}(?!\w)", shown) for number in numbers)
        return checked.truth is not Truth.CONTRADICTED and has_numbers and all(span in passages for span in spans)


def _searchable(terms: Sequence[str]) -> list[str]:
    """Return the terms of a model that can be searched as whole words."""
    plain = dict.fromkeys(term.strip().strip("`") for term in terms)
    return [term for term in plain if 2 < len(term) <= _LINE_CHARACTERS and "\n" not in term][:_MOST_TERMS]


def is_open(checked: CheckedStatement) -> bool:
    """Report whether a model is asked about a statement: a sentence that rules did not contradict."""
    statement = checked.statement
    is_heading = statement.text.startswith("#")
    has_words = len(statement.text.split()) >= _FEWEST_WORDS or statement.is_code
    return checked.truth is not Truth.CONTRADICTED and not is_heading and has_words and bool(terms_of(statement))


def _is_wordable(checked: CheckedStatement) -> bool:
    """Report whether a model may word the repair of a statement that rules contradict: it is one line of text."""
    statement = checked.statement
    return checked.truth is Truth.CONTRADICTED and checked.repair != "" and not statement.is_code and not statement.path


def _batches(checked: Sequence[CheckedStatement]) -> Iterator[list[int]]:
    """Yield the indexes of statements that a model is asked about, those of one section together."""
    to_ask = [at for at, statement in enumerate(checked) if is_open(statement) or _is_wordable(statement)]
    for _, group in groupby(to_ask, key=lambda at: _section(checked[at].statement)):
        section = list(group)
        for start in range(0, len(section), _STATEMENTS_PER_QUESTION):
            yield section[start : start + _STATEMENTS_PER_QUESTION]


def _section(statement: Statement) -> tuple[str, str]:
    """Return what statements of one question share: file and section, or that they are items."""
    return (_ITEMS, "") if statement.file.startswith("item:") else (statement.file, statement.heading)


def terms_of(statement: Statement) -> list[str]:
    """Return the names and numbers of a statement that a tree could have, those in code spans first."""
    spans = _SPAN.findall(statement.text) if not statement.is_code else [statement.text]
    in_code = [word for span in spans for word in _NAME.findall(span)]
    in_prose = _PROPER.findall(_SPAN.sub(" ", statement.text)) if not statement.is_code else []
    words = (_search_term(word.strip(".-")) for word in (*in_code, *in_prose))
    return [word for word in dict.fromkeys(words) if len(word) > 2 and word not in _COMMON][:_TERMS_OF_STATEMENT]


def _search_term(word: str) -> str:
    """Return a file name as it is, and of another dotted name the last part."""
    return word if extension(word) in FILE_EXTENSIONS else word.rpartition(".")[2]


class _Material:
    """The material of a question about some statements: settings, folders, and lines with their terms."""

    def __init__(
        self,
        checkout: Checkout,
        searched: dict[str, list[TreeLine]],
        checked: Sequence[CheckedStatement],
        terms_of_model: Sequence[str],
    ) -> None:
        self._tree, self._searched, self._terms_of_model = checkout, searched, terms_of_model
        self._statements = [statement.statement for statement in checked]
        self._why_wrong = [statement.why if statement.truth is Truth.CONTRADICTED else "" for statement in checked]
        self.places: list[tuple[str, int]] = []
        self.lines: list[str] = []
        left = _PASSAGE_TOKENS
        for text, path, number in (*self._terms(), *self._folders(), *self._settings()):
            left -= estimated_tokens(text) + _LINE_TOKENS
            if left < 0:
                break
            self.lines.append(text)
            self.places.append((path, number))

    def inputs(self) -> dict[str, str]:
        """Return the text for each placeholder of the prompt file."""
        rows = (
            {"number": number, "section": statement.heading, "statement": sendable(statement.text)}
            | ({"wrong": sendable(why)} if why else {})
            for number, (statement, why) in enumerate(zip(self._statements, self._why_wrong, strict=True), 1)
        )
        return {
            "file": _section(self._statements[0])[0],
            "statements": "\n".join(msgspec.json.encode(row).decode("utf-8") for row in rows),
            "passages": sendable("\n".join(self.lines)),
        }

    def place_of(self, quote: str) -> StatementPlace | None:
        """Return the line that a quotation is from, without path if it is from several; None if it is not verbatim."""
        for line, (path, number) in zip(self.lines, self.places, strict=True):
            if is_quoted(quote, [sendable(line)]):
                return StatementPlace(path, number)
        return StatementPlace("", 0) if is_quoted(quote, [sendable("\n".join(self.lines))]) else None

    def _terms(self) -> Iterator[tuple[str, str, int]]:
        """Yield lines with each term: its definition with the lines after it first; of a common word only settings."""
        own_files = {statement.file for statement in self._statements}  # these repeat the term, and show nothing
        for term in dict.fromkeys(
            (*self._terms_of_model, *(term for statement in self._statements for term in terms_of(statement)))
        ):
            places = self._searched.get(term, [])
            found = [place for place in places if place.path not in own_files and not _NO_SOURCE.search(place.path)]
            is_absent = all(place.path in own_files for place in places) and term not in self._tree.unsearched
            for path in self._tree.by_name.get(term.lower(), [])[:_PLACES_OF_TERM]:
                yield f"(there is the file {path})", path, 0  # 0: no line
                is_absent = False
            if is_absent:
                yield f"(nothing else in the tree has the word {term})", "", 0
            if len(places) >= _PLACES_OF_COMMON_WORD:
                found = [place for place in found if _SETTINGS.search(place.path)]
            shown = set[tuple[str, int]]()
            found.sort(key=lambda place: (not self._defines(place, term), _place_order(place)))
            for place in found[:_PLACES_OF_TERM]:
                after = _LINES_AFTER if self._defines(place, term) else 0
                lines = self._tree.lines(place.path)[place.line - 1 : place.line + after]
                for number, line in enumerate(lines, place.line):
                    if (place.path, number) not in shown and line.strip():
                        shown.add((place.path, number))
                        yield f"{place.path}:{number}: {line.strip()[:_LINE_CHARACTERS]}", place.path, number

    def _defines(self, place: TreeLine, term: str) -> bool:
        lines = self._tree.lines(place.path)[place.line - 1 : place.line]
        return bool(lines) and bool(re.search(rf"{_DEFINES}{re.escape(term)}\b", lines[0]))

    def _folders(self) -> Iterator[tuple[str, str, int]]:
        """Yield the entries of the folders that statements name, and of the root."""
        spans = (
            span.strip("/")
            for statement in self._statements
            for span in (statement.path, *_SPAN.findall(statement.text))
        )
        for folder in dict.fromkeys(("", *(span for span in spans if span in self._tree.folders))):
            above = f"{folder}/" if folder else ""
            inside = {path[len(above) :].partition("/")[0] for path in self._tree.files if path.startswith(above)}
            names = sorted(inside)
            more = f" and {len(names) - _FOLDER_ENTRIES} more" if len(names) > _FOLDER_ENTRIES else ""
            yield f"(folder {folder or '.'} has: {', '.join(names[:_FOLDER_ENTRIES])}{more})", folder, 0

    def _settings(self) -> Iterator[tuple[str, str, int]]:
        """Yield the lines of the settings files at the root and beside the statements' file, without comments."""
        own_folder = self._statements[0].file.rpartition("/")[0]
        found = [path for path in self._tree.files if _SETTINGS.search(path)]
        near = [path for path in found if path.rpartition("/")[0] in ("", own_folder)]
        for path in sorted(near, key=lambda path: (path.rpartition("/")[0] != own_folder, path)):
            for number, line in enumerate(self._tree.lines(path)[:_SETTINGS_LINES], 1):
                if line.strip() and not line.lstrip().startswith(("//", "/*", "*", "#")):
                    yield f"{path}:{number}: {line.rstrip()[:_LINE_CHARACTERS]}", path, number


def _place_order(place: TreeLine) -> tuple[bool, bool, bool, int, str, int]:
    """Return the sort key of a place: settings and sources before prose, tests last; then those near to the root."""
    is_prose = place.path.lower().endswith((".md", ".mdx", ".rst", ".txt"))
    return (
        not _SETTINGS.search(place.path),
        is_prose,
        is_test(place.path),
        place.path.count("/"),
        place.path,
        place.line,
    )


def _numbered(count: int) -> Callable[[StatementAnswers], str]:
    """Return the check that an answer has each of the numbers from 1 to `count`."""

    def problem(answer: StatementAnswers) -> str:
        missing = set(range(1, count + 1)) - {statement.number for statement in answer.statements}
        return f"no answer for the statements {sorted(missing)}" if missing else ""

    return problem

"""Passages of a file: the parts that are shown to a person, each with its words and the words of its containers.

In source a passage is a definition with its comment, or a window of a long definition; between definitions it is a
window of lines. In a document it is a section or a part of a long section. Parts of names count as words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from knowbound.codebase.definitions import definition_on
from knowbound.codebase.languages import DEFINED_KINDS, grammar_of
from knowbound.core.paths import DOCUMENTS, extension, language_of
from knowbound.text.embedding import embed
from knowbound.text.english import stem
from knowbound.text.terms import split_words

LONGEST = 60  # lines of a definition that is one passage
WINDOW, _STEP = 40, 30  # lines of a window of a longer definition, and lines from one window to the next
_NAME = re.compile(r"[^\W\d_][\w$]*|[_$][\w$]+|\d+(?:\.\d+)*")
_LONGEST_LINE = 1000  # characters whose words count
_LONGEST_PROSE = 1200  # characters whose meaning is compared
_COMMENT = re.compile(r"^\s*(?:#|//|/?\*|\"\"\"|'''|--|;)")
_HEADING = re.compile(r"^(#{1,6})\s+(\S.*)$")
_FENCE = re.compile(r"^\s*(`{3,}|~{3,})")
_UNDERLINES = "=-~^\"'"
_UNDERLINE = re.compile(r"^(?:={3,}|-{3,}|~{3,}|\^{3,}|\"{3,}|'{3,})\s*$")
_IDEOGRAPHS = re.compile(r"[\u3400-\u9fff]+")


@dataclass(frozen=True, slots=True)
class CodePassage:
    """Lines of a file that belong together, and their name."""

    path: str
    first: int
    last: int
    line: int  # of the definition or the heading itself
    name: str  # of the definition, or the heading
    kind: str  # of the definition; "section", "lines"
    above: str  # its containers: classes, headings
    words: Counter[str]  # stems of the lines, with the parts of names
    lines: tuple[frozenset[str], ...]  # the same stems by line
    prose: str  # its comments; in a document all its text

    @property
    def meaning(self) -> bytes:
        """The embedding of its name, its containers and its prose."""
        return _meaning(" ".join(split_words(f"{self.name} {self.above}")), self.prose)

    @property
    def head(self) -> frozenset[str]:
        """The stems of its name, its containers and its path."""
        return word_stems(f"{self.name} {self.above} {self.path}")


@lru_cache(maxsize=5_000)
def _meaning(names: str, prose: str) -> bytes:
    return embed(f"{names}. {prose}")


@lru_cache(maxsize=100_000)
def word_stem(word: str) -> str:
    """Return the stem of a word, equal for negotiate, negotiated and negotiation."""
    stemmed = stem(word)
    return stemmed[:-3] if stemmed.endswith("iat") and len(stemmed) > 5 else stemmed  # negotiat → negot


@lru_cache(maxsize=50_000)
def word_stems(text: str) -> frozenset[str]:
    """Return the stems of a text: words, parts of names, whole names, and pairs of adjacent Chinese characters."""
    found = set[str]()
    for name in _NAME.findall(text):
        parts = split_words(name)
        found.update(map(word_stem, parts))
        if len(parts) > 1:
            found.add("".join(parts))  # the whole name
    if not text.isascii():
        for run in _IDEOGRAPHS.findall(text):
            found.update(run[at : at + 2] for at in range(max(1, len(run) - 1)))
    return frozenset(found)


def passages_of(path: str, text: str) -> list[CodePassage]:
    """Return the passages of a file, in order."""
    lines = text.split("\n")
    words = [word_stems(line[:_LONGEST_LINE]) for line in lines]
    cuts: Iterable[_Cut]
    if extension(path) in DOCUMENTS:
        cuts = _of_sections(lines)
    elif language_of(path) is None:
        cuts = ((first, last, first, "", "lines", "") for first, last in _windows(1, len(lines)))
    else:
        cuts = _of_definitions(path, text, len(lines))
    found = []
    for cut_first, cut_last, line, name, kind, above in cuts:
        first, last = max(1, cut_first), min(cut_last, len(lines))
        words_by_line = tuple(words[first - 1 : last])
        if any(words_by_line):  # else no question can find it
            counts = Counter(word for line_words in words_by_line for word in line_words)
            text_lines = lines[first - 1 : last]
            prose_lines = text_lines if kind == "section" else _comments(text_lines)
            prose = " ".join(prose_line.strip(" \t#/*\"'-;") for prose_line in prose_lines)[:_LONGEST_PROSE]
            found.append(CodePassage(path, first, last, line, name, kind, above, counts, words_by_line, prose))
    return found


def is_comment(line: str) -> bool:
    """Report whether a line begins like a comment or a text in three quotes."""
    return _COMMENT.match(line) is not None


def _comments(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of comments and of texts in three quotes."""
    open_quote = ""
    for line in lines:
        marks = [mark for mark in ('"""', "'''") if mark in line]
        if open_quote or marks or is_comment(line):
            yield line
        if open_quote and open_quote in line:
            open_quote = ""
        elif not open_quote and marks and line.count(marks[0]) == 1:  # the text goes on below
            open_quote = marks[0]


_Cut = tuple[int, int, int, str, str, str]  # first and last line, line, name, kind and containers of a passage


def _of_sections(lines: Sequence[str]) -> Iterator[_Cut]:
    """Yield the sections of a document by its headings (of Markdown, or underlined) outside of fences."""
    headings: list[tuple[int, str]] = []
    begin, fence = 1, ""
    for number, line in enumerate([*lines, ""], 1):  # the line after the last ends the last section
        mark = _FENCE.match(line)
        if mark and (not fence or line.strip().startswith(fence)):
            fence = "" if fence else mark[1][:3]
        level, name = (0, "") if fence else _heading(lines, number)
        if not level and number <= len(lines):
            continue
        if number > begin:
            own = headings[-1][1] if headings else ""
            above = " ".join(heading for _, heading in headings[:-1])
            for first, last in _windows(begin, number - 1):
                yield first, last, begin, own, "section", above
        headings = [heading for heading in headings if heading[0] < level]
        headings.append((level, name))
        begin = number


def _heading(lines: Sequence[str], number: int) -> tuple[int, str]:
    """Return the level and the text of the heading on a line; level 0 if there is none."""
    if number > len(lines):
        return 0, ""
    line = lines[number - 1]
    if match := _HEADING.match(line):
        return len(match[1]), match[2].strip().rstrip("#").strip()
    below = lines[number] if number < len(lines) else ""
    is_long_enough = len(below.strip()) >= min(4, len(line.strip()))  # `---` below a long line is a rule
    if line.strip() and _UNDERLINE.match(below) and is_long_enough:
        return _UNDERLINES.find(below.strip()[0]) + 1, line.strip()
    return 0, ""


def _of_definitions(path: str, text: str, line_count: int) -> Iterator[_Cut]:
    """Yield each definition that is not a container, and the remaining lines of containers and of the file."""
    outline = outline_of(path, text)
    leaves = [definition for definition in outline if not definition.contains and definition.last > definition.line]
    owner: list[str] = [""] * (line_count + 2)  # of each line, from 1 on: the names of its containers
    covered = bytearray(line_count + 2)  # of each line: whether it is in a passage
    for definition in outline:
        if definition.contains:
            name = f"{definition.inside} {definition.name}".strip()
            length = min(definition.last, line_count) + 1 - definition.first
            owner[definition.first : definition.last + 1] = [name] * length
    cuts: list[_Cut] = []
    for definition in leaves:
        if covered[definition.line]:
            continue  # inside another function
        length = min(definition.last, line_count) + 1 - definition.first
        covered[definition.first : definition.last + 1] = b"\1" * length
        for first, last in _windows(definition.first, definition.last):
            cuts.append((first, last, definition.line, definition.name, definition.kind, definition.inside))
    containers = {definition.line: definition for definition in outline if definition.contains}
    begin = 0  # first line of the present run of uncovered lines; 0: there is none
    for number in range(1, line_count + 2):
        is_uncovered = number <= line_count and not covered[number]
        if is_uncovered and not begin:
            begin = number
        elif begin and (not is_uncovered or owner[number] != owner[begin]):
            for first, last in _windows(begin, number - 1):
                container = next((containers[at] for at in range(first, last + 1) if at in containers), None)
                if container is not None:
                    cuts.append((first, last, container.line, container.name, container.kind, container.inside))
                else:
                    cuts.append((first, last, first, "", "lines", owner[first]))
            begin = number if is_uncovered else 0
    yield from sorted(cuts)


def _windows(first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield the lines as one passage, or as windows that overlap if they are too many."""
    if last - first < LONGEST:
        yield first, last
        return
    while True:
        yield first, min(last, first + WINDOW - 1)
        if first + WINDOW > last:
            return
        first += _STEP


_MOST_COMMENT_LINES = 40  # above a definition
_LONGEST_PARSED = 1_500_000  # characters: a larger file is data
_FUNCTION_VALUES = frozenset("arrow_function function_expression function class generator_function".split())
_CONTAINERS = frozenset(
    "class_definition class_declaration interface_declaration enum_declaration struct_item trait_item impl_item "
    "mod_item class_specifier struct_specifier namespace_definition internal_module abstract_class_declaration "
    "record_declaration".split()
)
_VALUES = frozenset("const_spec var_spec field_declaration".split())
_COMMENT_LINE = re.compile(r"^\s*(?:#|//|/\*|\*|--|;|@|\]|///|//!)")


@dataclass(frozen=True, slots=True)
class Outlined:
    """A definition with its lines, from the comment above it to its end."""

    name: str
    kind: str
    first: int  # with the comment and the decorators above it
    line: int  # of the definition itself
    last: int
    inside: str = ""  # names of its containers, outermost first, with a space between
    contains: bool = False  # a class, trait or module: definitions may be inside


def outline_of(path: str, text: str) -> list[Outlined]:
    """Return the definitions of a file, in order."""
    lines = text.split("\n")
    grammar = grammar_of(path, text) if len(text) <= _LONGEST_PARSED else None
    found = _outline_by_grammar(text, grammar) if grammar is not None else _outline_by_lines(path, lines)
    found.sort(key=lambda definition: (definition.line, -definition.last))
    return [_with_comment(definition, lines) for definition in found]


def _outline_by_grammar(text: str, grammar: str) -> list[Outlined]:
    """Return the definitions in the syntax tree of a file."""
    from ast_grep_py import SgRoot  # noqa: PLC0415  (loaded only where a tree is parsed)

    found, enclosing = [], list[Outlined]()
    for node in SgRoot(text, grammar).root().find_all(any=[{"kind": kind} for kind in DEFINED_KINDS[grammar]]):
        kind, span = node.kind(), node.range()
        name = _name_of_node(node, kind)
        if not name:
            continue
        first, last = span.start.line + 1, span.end.line + 1
        while enclosing and enclosing[-1].last < first:
            enclosing.pop()
        if kind in _VALUES and any(not outer.contains for outer in enclosing):
            continue  # a variable of a function
        inside = " ".join(outer.name for outer in enclosing if outer.contains)
        short_kind = kind.split("_")[0]  # class_definition → class
        outlined = Outlined(name, short_kind, first, first, last, inside, kind in _CONTAINERS)
        found.append(outlined)
        enclosing.append(outlined)
    return found


def _name_of_node(node: Any, kind: str) -> str:
    """Return the name that a node defines; "" if the outline leaves the node out."""
    match kind:
        case "variable_declarator" | "pair" | "field_definition" | "public_field_definition":
            value = node.field("value")
            if value is None or value.kind() not in _FUNCTION_VALUES:  # data
                return ""
            name_node = node.field("name") or node.field("key") or node.field("property")
        case "impl_item":
            name_node = node.field("type")
        case "struct_specifier" | "enum_specifier" | "union_specifier" | "class_specifier":
            name_node = node.field("name") if node.field("body") is not None else None  # else it is only mentioned
        case "function_definition" | "type_definition" | "field_declaration":
            name_node = node.field("name") or _declared_name(node.field("declarator"))
        case _:
            name_node = node.field("name")
    return name_node.text().strip("'\"`#") if name_node is not None else ""


def _declared_name(declarator: Any) -> Any:
    """Return the name inside pointers, arrays and argument lists (C, C++, Java)."""
    for _ in range(6):  # no code nests deeper
        if declarator is None or declarator.kind() in ("identifier", "type_identifier", "field_identifier"):
            return declarator
        declarator = declarator.field("declarator") or declarator.field("name")
    return declarator


def _outline_by_lines(path: str, lines: list[str]) -> list[Outlined]:
    """Return the definitions of a file without a grammar; each ends before the next one of the same indent or less."""
    starts = []  # of each definition: line, indent, name, kind
    for number, line in enumerate(lines, 1):
        defined = definition_on(line, path, number)
        if defined is not None and defined.kind != "variable":
            starts.append((number, len(line) - len(line.lstrip()), defined.name, defined.kind))
    found = []
    for at, (number, indent, name, kind) in enumerate(starts):
        ends = (other for other, deep, *_ in starts[at + 1 :] if deep <= indent)
        found.append(Outlined(name, kind, number, number, next(ends, len(lines) + 1) - 1))
    return found


def _with_comment(definition: Outlined, lines: list[str]) -> Outlined:
    """Return the definition with the comment and the decorators right above it."""
    first = definition.first
    while first > 1 and definition.line - first < _MOST_COMMENT_LINES and _COMMENT_LINE.match(lines[first - 2]):
        first -= 1
    return definition if first == definition.first else replace(definition, first=first)

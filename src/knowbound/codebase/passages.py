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
from knowbound.text.stems import stem
from knowbound.text.terms import split_words

LONGEST = 60  # lines of a definition that is one passage
WINDOW, _STEP = 40, 30  # lines of a window of a longer definition, and lines from one window to the next
_NAME = re.compile(r"[^\W\d_][\w$]*|[_$][\w$]+|\d+(?:\.\d+)*")
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
    found = stem(word)
    return found[:-3] if found.endswith("iat") and len(found) > 5 else found


@lru_cache(maxsize=50_000)
def word_stems(text: str) -> frozenset[str]:
    """Return the stems of a text: words, parts of names, whole names, and pairs of adjacent Chinese characters."""
    found = set[str]()
    for name in _NAME.findall(text):
        parts = split_words(name)
        found.update(map(word_stem, parts))
        if len(parts) > 1:
            found.add("".join(parts))
    if not text.isascii():
        for run in _IDEOGRAPHS.findall(text):
            found.update(run[at : at + 2] for at in range(max(1, len(run) - 1)))
    return frozenset(found)


def passages_of(path: str, text: str) -> list[CodePassage]:
    """Return the passages of a file, in order."""
    lines = text.split("\n")
    words = [word_stems(line[:1000]) for line in lines]
    cuts: Iterable[_Cut]
    if extension(path) in DOCUMENTS:
        cuts = _of_sections(lines)
    elif language_of(path) is None:
        cuts = ((first, last, first, "", "lines", "") for first, last in _windows(1, len(lines)))
    else:
        cuts = _of_definitions(path, text, len(lines))
    found = []
    for begin, end, line, name, kind, above in cuts:
        first, last = max(1, begin), min(end, len(lines))
        here = tuple(words[first - 1 : last])
        if any(here):
            counts = Counter(word for one in here for word in one)
            text_lines = lines[first - 1 : last]
            read = text_lines if kind == "section" else _comments(text_lines)
            prose = " ".join(one.strip(" \t#/*\"'-;") for one in read)[:_LONGEST_PROSE]
            found.append(CodePassage(path, first, last, line, name, kind, above, counts, here, prose))
    return found


def is_comment(line: str) -> bool:
    """Report whether a line begins like a comment or a text in three quotes."""
    return _COMMENT.match(line) is not None


def _comments(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of comments and of texts in three quotes."""
    quoted = ""
    for line in lines:
        marks = [one for one in ('"""', "'''") if one in line]
        if quoted or marks or is_comment(line):
            yield line
        if quoted and quoted in line:
            quoted = ""
        elif not quoted and marks and line.count(marks[0]) == 1:
            quoted = marks[0]


_Cut = tuple[int, int, int, str, str, str]


def _of_sections(lines: Sequence[str]) -> Iterator[_Cut]:
    """Yield the sections of a document by its headings (of Markdown, or underlined) outside of fences."""
    headings: list[tuple[int, str]] = []
    begin, fence = 1, ""
    for number, line in enumerate([*lines, ""], 1):
        mark = _FENCE.match(line)
        if mark and (not fence or line.strip().startswith(fence)):
            fence = "" if fence else mark[1][:3]
        level, name = (0, "") if fence else _heading(lines, number)
        if not level and number <= len(lines):
            continue
        if number > begin:
            own = headings[-1][1] if headings else ""
            above = " ".join(one for _, one in headings[:-1])
            for first, last in _windows(begin, number - 1):
                yield first, last, begin, own, "section", above
        headings = [one for one in headings if one[0] < level]
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
    if line.strip() and _UNDERLINE.match(below) and len(below.strip()) >= min(4, len(line.strip())):
        return _UNDERLINES.find(below.strip()[0]) + 1, line.strip()
    return 0, ""


def _of_definitions(path: str, text: str, count: int) -> Iterator[_Cut]:
    """Yield each definition that is not a container, and the remaining lines of containers and of the file."""
    outline = outline_of(path, text)
    leaves = [one for one in outline if not one.contains and one.last - one.line > 0]
    owner: list[str] = [""] * (count + 2)
    covered = bytearray(count + 2)
    for one in outline:
        if one.contains:
            name = f"{one.inside} {one.name}".strip()
            owner[one.first : one.last + 1] = [name] * (min(one.last, count) + 1 - one.first)
    found: list[_Cut] = []
    for one in leaves:
        if covered[one.line]:
            continue  # inside another function
        covered[one.first : one.last + 1] = b"\1" * (min(one.last, count) + 1 - one.first)
        for first, last in _windows(one.first, one.last):
            found.append((first, last, one.line, one.name, one.kind, one.inside))
    names = {one.line: one for one in outline if one.contains}
    begin = 0
    for number in range(1, count + 2):
        inside = number <= count and not covered[number]
        if inside and not begin:
            begin = number
        elif begin and (not inside or owner[number] != owner[begin]):
            for first, last in _windows(begin, number - 1):
                named = next((names[at] for at in range(first, last + 1) if at in names), None)
                if named is not None:
                    found.append((first, last, named.line, named.name, named.kind, named.inside))
                else:
                    found.append((first, last, first, "", "lines", owner[first]))
            begin = number if inside else 0
    yield from sorted(found)


def _windows(first: int, last: int) -> Iterator[tuple[int, int]]:
    if last - first < LONGEST:
        yield first, last
        return
    while True:
        yield first, min(last, first + WINDOW - 1)
        if first + WINDOW > last:
            return
        first += _STEP


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
    found = _parsed(text, grammar) if grammar is not None else _by_look(path, lines)
    return [_with_comment(one, lines) for one in sorted(found, key=lambda one: (one.line, -one.last))]


def _parsed(text: str, grammar: str) -> list[Outlined]:
    from ast_grep_py import SgRoot  # noqa: PLC0415  (loaded only where a tree is parsed)

    found, open_ = [], list[Outlined]()
    for node in SgRoot(text, grammar).root().find_all(any=[{"kind": kind} for kind in DEFINED_KINDS[grammar]]):
        kind, span = node.kind(), node.range()
        name = _name(node, kind)
        if not name:
            continue
        first, last = span.start.line + 1, span.end.line + 1
        while open_ and open_[-1].last < first:
            open_.pop()
        if kind in _VALUES and any(not one.contains for one in open_):
            continue  # a variable of a function
        inside = " ".join(one.name for one in open_ if one.contains)
        one = Outlined(name, kind.split("_")[0], first, first, last, inside, kind in _CONTAINERS)
        found.append(one)
        open_.append(one)
    return found


def _name(node: Any, kind: str) -> str:
    """Return the name that a node defines; "" if the outline leaves the node out."""
    match kind:
        case "variable_declarator" | "pair" | "field_definition" | "public_field_definition":
            value = node.field("value")
            if value is None or value.kind() not in _FUNCTION_VALUES:
                return ""
            named = node.field("name") or node.field("key") or node.field("property")
        case "impl_item":
            named = node.field("type")
        case "struct_specifier" | "enum_specifier" | "union_specifier" | "class_specifier":
            named = node.field("name") if node.field("body") is not None else None
        case "function_definition" | "type_definition" | "field_declaration":
            named = node.field("name") or _declared(node.field("declarator"))
        case _:
            named = node.field("name")
    return named.text().strip("'\"`#") if named is not None else ""


def _declared(declarator: Any) -> Any:
    """Return the name inside pointers, arrays and argument lists (C, C++, Java)."""
    for _ in range(6):
        if declarator is None or declarator.kind() in ("identifier", "type_identifier", "field_identifier"):
            return declarator
        declarator = declarator.field("declarator") or declarator.field("name")
    return declarator


def _by_look(path: str, lines: list[str]) -> list[Outlined]:
    starts = []
    for number, line in enumerate(lines, 1):
        defined = definition_on(line, path, number)
        if defined is not None and defined.kind != "variable":
            starts.append((number, len(line) - len(line.lstrip()), defined.name, defined.kind))
    found = []
    for at, (number, indent, name, kind) in enumerate(starts):
        later = (other for other, deep, *_ in starts[at + 1 :] if deep <= indent)
        found.append(Outlined(name, kind, number, number, next(later, len(lines) + 1) - 1))
    return found


def _with_comment(one: Outlined, lines: list[str]) -> Outlined:
    first = one.first
    while first > 1 and one.line - first < 40 and _COMMENT_LINE.match(lines[first - 2]):
        first -= 1
    return one if first == one.first else replace(one, first=first)

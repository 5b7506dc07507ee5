"""The outline of a source file: its definitions, each with its lines and its containers.

With a grammar the outline comes from the syntax tree. Without one a definition is known by the look of its line, and
reaches to the next definition that is indented no deeper.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from knowbound.codebase.definitions import definition_on
from knowbound.codebase.languages import grammar_of

_LONGEST_PARSED = 1_500_000  # characters: a larger file is data
_KINDS = {
    "python": ("class_definition", "function_definition"),
    "javascript": ("class_declaration", "function_declaration", "generator_function_declaration", "method_definition",
                   "variable_declarator", "field_definition", "pair"),
    "go": ("function_declaration", "method_declaration", "type_spec", "const_spec", "var_spec"),
    "rust": ("function_item", "struct_item", "enum_item", "trait_item", "type_item", "mod_item", "const_item",
             "static_item", "macro_definition", "union_item", "impl_item"),
    "java": ("class_declaration", "interface_declaration", "enum_declaration", "record_declaration",
             "annotation_type_declaration", "method_declaration", "constructor_declaration", "field_declaration"),
    "c": ("function_definition", "struct_specifier", "enum_specifier", "union_specifier", "preproc_function_def",
          "type_definition"),
    "cpp": ("function_definition", "class_specifier", "struct_specifier", "enum_specifier", "union_specifier",
            "namespace_definition", "preproc_function_def"),
}  # fmt: skip
_KINDS["typescript"] = _KINDS["tsx"] = (
    *(kind for kind in _KINDS["javascript"] if kind != "field_definition"),
    "abstract_class_declaration", "interface_declaration", "type_alias_declaration",
    "enum_declaration", "public_field_definition", "internal_module", "function_signature", "method_signature",
)  # fmt: skip
_FUNCTION_VALUES = frozenset("arrow_function function_expression function class generator_function".split())
_CONTAINERS = frozenset(
    "class_definition class_declaration interface_declaration enum_declaration struct_item trait_item impl_item "
    "mod_item class_specifier struct_specifier namespace_definition internal_module abstract_class_declaration "
    "record_declaration".split()
)
_VALUES = frozenset("const_spec var_spec field_declaration".split())
_COMMENT = re.compile(r"^\s*(?:#|//|/\*|\*|--|;|@|\]|///|//!)")


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
    for node in SgRoot(text, grammar).root().find_all(any=[{"kind": kind} for kind in _KINDS[grammar]]):
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
    while first > 1 and one.line - first < 40 and _COMMENT.match(lines[first - 2]):
        first -= 1
    return one if first == one.first else replace(one, first=first)

"""The role of a name in a source file (definition, call, import, other use), and the module that a name comes from.

Roles come from the syntax tree. Only languages of the table are given to ast-grep: any other would end the process.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from knowbound.core.paths import extension, extensions_of

_GRAMMARS = {  # name in ast-grep → name in `core/paths.py`
    "python": "Python",
    "javascript": "JavaScript",
    "typescript": "TypeScript",
    "go": "Go",
    "rust": "Rust",
    "java": "Java",
    "c": "C",
    "cpp": "C++",
}
_NO_GRAMMAR = frozenset("pyx vue svelte".split())
_GRAMMAR_OF = {
    ending: grammar for grammar, name in _GRAMMARS.items() for ending in extensions_of(name) - _NO_GRAMMAR
} | {"tsx": "tsx"}
# Nodes that hold a name, by grammar.
_NAME_KINDS = {
    "python": ("identifier",),
    "javascript": ("identifier", "property_identifier", "shorthand_property_identifier",
                   "shorthand_property_identifier_pattern", "private_property_identifier"),
    "go": ("identifier", "type_identifier", "field_identifier", "package_identifier"),
    "rust": ("identifier", "type_identifier", "field_identifier"),
    "java": ("identifier", "type_identifier"),
    "c": ("identifier", "type_identifier", "field_identifier"),
    "cpp": ("identifier", "type_identifier", "field_identifier", "namespace_identifier"),
}  # fmt: skip
_NAME_KINDS["typescript"] = _NAME_KINDS["tsx"] = (*_NAME_KINDS["javascript"], "type_identifier")
# Nodes that are a definition with its body, by grammar.
DEFINED_KINDS = {
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
DEFINED_KINDS["typescript"] = DEFINED_KINDS["tsx"] = (
    *(kind for kind in DEFINED_KINDS["javascript"] if kind != "field_definition"),
    "abstract_class_declaration", "interface_declaration", "type_alias_declaration",
    "enum_declaration", "public_field_definition", "internal_module", "function_signature", "method_signature",
)  # fmt: skip
# Nodes whose `name` field is a definition.
_DEFINITIONS = frozenset(
    "class_definition function_definition class_declaration function_declaration method_definition "
    "generator_function_declaration abstract_class_declaration interface_declaration type_alias_declaration "
    "enum_declaration method_declaration type_spec type_alias method_spec function_item struct_item enum_item "
    "trait_item type_item mod_item const_item static_item macro_definition union_item function_signature_item "
    "constructor_declaration record_declaration annotation_type_declaration struct_specifier class_specifier "
    "enum_specifier union_specifier namespace_definition preproc_def preproc_function_def alias_declaration "
    "enumerator enum_variant const_spec var_spec module internal_module function_signature method_signature "
    "abstract_method_signature property_signature public_field_definition field_definition enum_constant "
    "concept_definition".split()
)
_SPECIFIERS = frozenset(("struct_specifier", "class_specifier", "enum_specifier", "union_specifier"))
_DECLARATORS = frozenset(
    "function_declarator init_declarator pointer_declarator reference_declarator type_definition".split()
)
_MEMBERS = frozenset("attribute member_expression selector_expression field_expression scoped_identifier".split())
_IMPORTS = frozenset(
    "import_statement import_from_statement import_declaration import_spec import_specifier use_declaration "
    "preproc_include import_clause namespace_import future_import_statement using_declaration export_specifier".split()
)
_CALLS = frozenset("call call_expression new_expression method_invocation object_creation_expression macro_invocation "
                   "decorator".split())  # fmt: skip

_LOOKS_LIKE_CPP = re.compile(
    r"^\s*(?:class \w|namespace\b|template\s*<|public:|private:|using \w)|\w::\w", re.MULTILINE
)
_IMPORT_LINES = 40  # lines that one import may have
_IMPORT_FORMS = (
    re.compile(r"^\s*from\s+([\w.]+)\s+import\b"),  # Python
    re.compile(r"\bfrom\s+['\"]([^'\"]+)['\"]"),  # JavaScript, TypeScript
    re.compile(r"\brequire\(\s*['\"]([^'\"]+)['\"]"),
    re.compile(r"^\s*import\s+(?:static\s+)?([\w.]+)\.\w+\s*;"),  # Java
    re.compile(r"^\s*(?:pub\s+)?use\s+([\w:]+)::"),  # Rust
    re.compile(r"^\s*(?:[\w.]+\s+)?\"([\w./-]+)\"\s*$"),  # Go, inside its brackets
    re.compile(r"^\s*import\s+([\w.]+)"),
    re.compile(r"^\s*#\s*include\s*[<\"]([^>\"]+)[>\"]"),
)


class NameRole(StrEnum):
    """Role of a name at one place."""

    DEFINITION = "definition"
    CALL = "call"
    IMPORT = "import"
    USE = "use"
    TEXT = "text"  # inside a comment or a string


@dataclass(frozen=True, slots=True)
class NameOccurrence:
    """A name at a line, and its role there."""

    line: int
    role: NameRole
    kind: str = ""  # of a definition: class, function, variable


def has_grammar(path: str) -> bool:
    """Report whether names in this file can be resolved: its language has a grammar."""
    return extension(path) in _GRAMMAR_OF


def grammar_of(path: str, text: str) -> str | None:
    """Return the grammar of a file; None if its language has no grammar."""
    language = _GRAMMAR_OF.get(extension(path))
    # The name of a header does not say whether it is C or C++; its text does.
    return "cpp" if language == "c" and _LOOKS_LIKE_CPP.search(text) else language


def occurrences(text: str, path: str, name: str) -> list[NameOccurrence]:
    """Return every place of the name in the syntax tree of a file, in order."""
    from ast_grep_py import SgRoot  # noqa: PLC0415  (loaded only where a tree is parsed)

    language = grammar_of(path, text)
    assert language is not None
    tree = SgRoot(text, language).root()
    escaped = "".join(f"\\{sign}" if not sign.isalnum() and sign != "_" else sign for sign in name)
    found = []
    # A `#` begins a private name of JavaScript.
    for node in tree.find_all(any=[{"kind": kind} for kind in _NAME_KINDS[language]], regex=f"^#?{escaped}$"):
        role, kind = _role(node, language)
        found.append(NameOccurrence(node.range().start.line + 1, role, kind))
    return found


def code_lines(text: str, path: str, first: int, last: int) -> list[str]:
    """Return lines of a file without its comments and string literals, by the syntax tree; as they are without one."""
    lines = text.split("\n")[first - 1 : last]
    language = grammar_of(path, text)
    if language is None:
        return lines
    from ast_grep_py import SgRoot  # noqa: PLC0415  (loaded only where a tree is parsed)

    nodes = [SgRoot(text, language).root()]
    while nodes:
        node = nodes.pop()
        span = node.range()
        begin, end = span.start.line + 1 - first, span.end.line + 1 - first  # indexes in `lines`
        if end < 0 or begin >= len(lines):
            continue
        if not ("comment" in node.kind() or "string" in node.kind()):
            nodes.extend(node.children())
            continue
        for at in range(max(0, begin), min(len(lines) - 1, end) + 1):
            start = span.start.column if at == begin else 0
            stop = span.end.column if at == end else len(lines[at])
            lines[at] = lines[at][:start] + " " * max(0, stop - start) + lines[at][stop:]
    return lines


def _role(node: Any, language: str) -> tuple[NameRole, str]:
    """Return the role of a name node, and its kind if it is a definition."""
    parent = node.parent()
    if parent is None:
        return NameRole.USE, ""
    kind = parent.kind()
    # In C, `struct x` without a body only mentions the struct.
    is_mention = kind in _SPECIFIERS and parent.field("body") is None
    if kind in _DEFINITIONS and _is_same_node(parent.field("name"), node) and not is_mention:
        return NameRole.DEFINITION, kind.split("_")[0]
    if kind in (
        "assignment",
        "variable_declarator",
        "assignment_expression",
        "short_var_declaration",
        "let_declaration",
    ):
        side = parent.field("left") or parent.field("name") or parent.field("pattern")
        if _is_same_node(side, node):
            value = parent.field("value") or parent.field("right")
            if value is not None and value.text().startswith("require("):  # `const x = require('x')`
                return NameRole.IMPORT, ""
            return NameRole.DEFINITION, "variable"
    if kind == "pair" and _is_same_node(parent.field("key"), node):
        return NameRole.DEFINITION, "key"
    if kind in ("typed_parameter", "default_parameter", "typed_default_parameter") or (
        kind in ("parameters", "formal_parameters") and language == "python"
    ):
        return NameRole.DEFINITION, "parameter"
    if kind in ("member_expression", "attribute") and _is_same_node(
        parent.field("property") or parent.field("attribute"), node
    ):
        return _role_of_member(parent)
    if kind in _DECLARATORS and _is_same_node(parent.field("declarator"), node):
        return _role_of_declarator(parent)
    if kind == "qualified_identifier" and _is_same_node(parent.field("name"), node):
        above = parent.parent()
        if above is not None and above.kind() == "function_declarator":
            return _role_of_declarator(above)
    if any(node_above.kind() in _IMPORTS for node_above in (parent, *list(node.ancestors())[:3])):
        return NameRole.IMPORT, ""
    if kind in _CALLS:
        function = (
            parent.field("function") or parent.field("constructor") or parent.field("name") or parent.field("type")
        )
        if function is None or _is_same_node(function, node):
            return NameRole.CALL, ""
    above = parent.parent()  # of a member in a call, such as `a.b()`
    is_in_call = above is not None and above.kind() in _CALLS
    if kind in _MEMBERS and is_in_call and _is_same_node(above.field("function"), parent):
        owner = parent.field("object") or parent.field("operand") or parent.field("argument")  # `a`: it is not called
        return (NameRole.USE if _is_same_node(owner, node) else NameRole.CALL), ""
    return NameRole.USE, ""


def _role_of_declarator(declarator: Any) -> tuple[NameRole, str]:
    """Return the role of a C or C++ declarator: a body makes a function, a prototype is of kind declaration."""
    for node in declarator.ancestors():
        if node.kind() == "function_definition":
            return NameRole.DEFINITION, "function"
        if node.kind() in ("declaration", "field_declaration", "type_definition"):
            return NameRole.DEFINITION, "declaration"
        if node.kind() in ("parameter_declaration", "compound_statement"):  # a parameter, a local variable
            break
    return NameRole.USE, ""


def _role_of_member(member: Any) -> tuple[NameRole, str]:
    """Return the role of a member: `exports.name = …`, `this.name = …`, `self.name = …` define, `a.name()` calls."""
    above = member.parent()
    if above is None:
        return NameRole.USE, ""
    if above.kind() in ("assignment_expression", "assignment") and _is_same_node(above.field("left"), member):
        right = above.field("right")
        if right is not None and right.kind() in (
            "function_expression",
            "arrow_function",
            "class",
            "generator_function",
        ):
            return NameRole.DEFINITION, "function"
        return NameRole.DEFINITION, "attribute"
    if above.kind() in _CALLS and _is_same_node(above.field("function") or above.field("constructor"), member):
        return NameRole.CALL, ""
    return NameRole.USE, ""


def _is_same_node(node: Any, other: Any) -> bool:
    return node is not None and node.range() == other.range()


def imported_from(text: str, line: int, name: str) -> str:
    """Return the module, package or header that a line imports the name from; "" if the text does not say."""
    lines = text.split("\n")
    if not 0 < line <= len(lines):
        return ""
    for at in range(line - 1, max(-1, line - 1 - _IMPORT_LINES), -1):
        found = next((match[1] for form in _IMPORT_FORMS if (match := form.search(lines[at]))), "")
        if found:
            return found
        if at < line - 1 and re.search(r"[;)]\s*$", lines[at]):
            break  # the end of another statement
    # JavaScript: the module's name comes after the names.
    for later in lines[line : line + _IMPORT_LINES]:
        match = _IMPORT_FORMS[1].search(later)
        if match:
            return match[1]
        if ";" in later or name in later:  # the import is over
            break
    return ""

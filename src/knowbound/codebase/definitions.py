"""Definitions in source code, by their look: the keywords, and for each language the patterns of its definitions.

`definition_on` reads one line for evidence, precisely. `definitions_in` reads a whole file for the kept index, quickly.
Both can take another line for a definition: callers check it in the syntax tree, or in the file as it is now.
A hook loads this module, so its patterns are compiled at their first use.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

from knowbound.core.lazy_pattern import lazy
from knowbound.core.paths import MARKDOWN, extension, extensions_of

MOST_DEFINITIONS = 5_000  # definitions of one file in the index
_LONGEST_INDEXED_LINE = 2_000  # a longer line is data or a bundle
_LONGEST_LINE = 300


class Definition(NamedTuple):
    """A line that looks like the definition of a name."""

    name: str
    path: str
    line: int
    kind: str  # `definition_on`: class, function, heading, …; `definitions_in`: type, function, variable, method or key
    is_indented: bool


# ---- keywords

_TYPES = "class|struct|interface|enum|trait|type"
_FUNCTIONS = "def|func|fn|function"
_VALUES = "const|let|var"
_DEFINING = rf"{_TYPES}|{_FUNCTIONS}|{_VALUES}|module|namespace|#\s*define"
_BEGINS = lazy(
    r"^\s*(?:(?:export|default|public|private|protected|static|async|pub|abstract|final|const)\s+)*"
    rf"(?:{_DEFINING})\s"
)
_HAS_KEYWORD = lazy(rf"\b(?:{_TYPES}|{_FUNCTIONS}|const|define)\b")
_OWNER = rf"\b(?:{_TYPES}|impl|module|namespace|object)\s+"


def is_definition_line(line: str) -> bool:
    """Report whether a line begins with the keywords of a definition."""
    return _BEGINS.match(line) is not None


def has_defining_keyword(line: str) -> bool:
    """Report whether a line has a keyword of definitions anywhere in it."""
    return _HAS_KEYWORD.search(line) is not None


def has_owner_definition(text: str, name: str) -> bool:
    """Report whether a text defines a class, module or the like of this name."""
    return re.search(rf"{_OWNER}{re.escape(name)}\b", text) is not None


# ---- one line, for evidence

_MODIFIERS = (
    r"(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|pub(?:\([^)]*\))?|unsafe|const|"
    r"extern(?:\s+\"[^\"]*\")?|inline|virtual|sealed|data|open|partial|readonly|declare|typedef|synchronized|native|"
    r"constexpr|template\s*<[^>]*>|@\w+(?:\([^)]*\))?)\s+)*"
)
_KEYWORDS = (
    rf"(?:enum\s+class|{_DEFINING}|function\*|mod|union|macro_rules!|object|protocol|record|@interface|static|cdef|"
    r"impl)"
)
_JS_METHOD = (
    r"^\s+(?:(?:async|static|get|set|public|private|protected|readonly|override)\s+)*[#*]?[A-Za-z_$][\w$]*\s*"
    r"\([^;]*\)\s*(?::[^{;]+)?\{\s*$"
)
_JS_FUNCTION_VALUE = r"^\s*[\w$.]+\s*[:=]\s*(?:async\s*)?(?:function\b|(?:\([^)]*\)|[\w$]+)\s*=>)"
_ASSIGNED = r"^[A-Za-z_$][\w$.]*\s*(?::[^=\n]+)?=(?:[^=]|$)"
_HEADING = r"^#{1,6}\s+\S"
_C_FUNCTION = r"^(?:[A-Za-z_][\w:<>,*&\s~\[\]]*[\s*&])?~?[A-Za-z_][\w:~]*\s*\([^;{}]*(?:\)[\w\s:]*\{?|,)\s*(?:\{.*)?$"
_JAVA_METHOD = (
    r"^\s+(?:(?:public|private|protected|static|final|abstract|synchronized|native|default|override|suspend|<[^>]*>|"
    r"@\w+)\s+)*[\w<>\[\],.? ]+\s+[a-zA-Z_]\w*\s*\([^;]*\)?\s*(?:throws [\w., ]+)?[{;]?\s*$"
)

_DEFINES = lazy(rf"^\s*{_MODIFIERS}{_KEYWORDS}\s+(?:\([^)]*\)\s*)?[*&]?(?P<name>[A-Za-z_$][\w$]*)")
_KIND = lazy(rf"^\s*{_MODIFIERS}(?P<kind>{_KEYWORDS})\s")
_NAME_BEFORE_PAREN = lazy(r"(?P<name>[A-Za-z_$~][\w$]*)\s*\(")
_NAME_BEFORE_VALUE = lazy(r"^\s*(?:[\w$]+\.)*(?P<name>[A-Za-z_$][\w$]*)\s*(?::[^=\n]+)?[:=]")
_NOT_NAMES = frozenset(
    "if for while switch return else catch do try with and or not in is new delete throw case elif except assert "
    "await yield function super this self sizeof defined import from using print default finally "
    "where loop match".split()
)
_GENERAL = rf"^\s*{_MODIFIERS}{_KEYWORDS}\s+(?:\([^)]*\)\s*)?[*&]?[A-Za-z_$]"
_KIND_OF_KEYWORD = {
    "def": "function", "func": "function", "fn": "function", "function": "function", "function*": "function",
    "cdef": "function", "macro_rules!": "macro", "#": "macro", "#define": "macro", "const": "variable",
    "let": "variable", "var": "variable", "static": "variable", "mod": "module", "namespace": "module",
    "@interface": "interface", "record": "class", "object": "class", "protocol": "interface",
}  # fmt: skip


# ---- whole files, for the index

_LINE_END = lazy("\n")
_NAME = r"(?P<name>[A-Za-z_$][\w$]*)"
_Patterns = tuple[tuple[str, re.Pattern[str]], ...]


def _patterns(**kinds: str) -> _Patterns:
    return tuple((kind, lazy(pattern, re.MULTILINE)) for kind, pattern in kinds.items())


_NOT_A_METHOD = r"(?!(?:if|for|while|switch|catch|return|else|do|function|await|new|throw|case|with|super)\b)"
_SCRIPT = _patterns(
    type=rf"^[ \t]*(?:export[ \t]+)?(?:default[ \t]+)?(?:declare[ \t]+)?(?:abstract[ \t]+)?"
    rf"(?:class|interface|type|(?:const[ \t]+)?enum|namespace)[ \t]+{_NAME}",
    function=rf"^[ \t]*(?:export[ \t]+)?(?:default[ \t]+)?(?:declare[ \t]+)?(?:async[ \t]+)?function\*?[ \t]+{_NAME}",
    variable=rf"^[ \t]*(?:export[ \t]+)?(?:declare[ \t]+)?(?:const|let|var)[ \t]+{_NAME}[ \t]*[=:]",
    method=rf"^[ \t]+(?:(?:public|private|protected|static|async|override|get|set)[ \t]+)*{_NOT_A_METHOD}"
    rf"{_NAME}[ \t]*(?:<[^>\n]*>)?\([^\n]*\{{[ \t]*$",
    key=rf"^[ \t]+(?:(?:public|private|protected|static|readonly|declare)[ \t]+)*['\"]?{_NAME}['\"]?[?!]?:[ \t]?",
)
_PYTHON = _patterns(
    type=rf"^[ \t]*class[ \t]+{_NAME}",
    function=rf"^[ \t]*(?:async[ \t]+)?def[ \t]+{_NAME}",
    variable=rf"^{_NAME}[ \t]*(?::[^=\n]+)?=(?!=)",
    key=rf"^[ \t]+(?:{_NAME}[ \t]*:[ \t]*[\w\"'][^\n]*|self\.(?P<own>[A-Za-z_]\w*)[ \t]*(?::[^=\n]+)?=(?!=)[^\n]*)$",
)
_RUST = _patterns(
    type=rf"^[ \t]*(?:pub(?:\([^)\n]*\))?[ \t]+)?(?:unsafe[ \t]+)?(?:struct|enum|trait|mod|type|union)[ \t]+{_NAME}",
    function=rf"^[ \t]*(?:pub(?:\([^)\n]*\))?[ \t]+)?(?:(?:async|unsafe|const|extern(?:[ \t]+\"[^\"\n]*\")?)[ \t]+)*"
    rf"(?:fn|macro_rules!)[ \t]+{_NAME}",
    variable=rf"^[ \t]*(?:pub(?:\([^)\n]*\))?[ \t]+)?(?:static|const)[ \t]+(?:mut[ \t]+)?{_NAME}[ \t]*:",
    key=rf"^[ \t]+(?:pub(?:\([^)\n]*\))?[ \t]+)?{_NAME}:[ \t]",
)
_GO = _patterns(
    type=rf"^[ \t]*type[ \t]+{_NAME}",
    function=rf"^func[ \t]+(?:\([^)\n]*\)[ \t]*)?{_NAME}",
    variable=rf"^(?:var|const)[ \t]+{_NAME}|^\t(?P<own>[A-Z]\w*)[ \t]+=",
    key=rf"^\t{_NAME}[ \t]+[\w*\[\].]+(?:[ \t]+`[^`\n]*`)?[ \t]*$",
)
_CLASSES = _patterns(
    type=rf"^[^\n/#*]*?\b(?:class|interface|enum|record|object|struct|protocol|trait|module|namespace|extension)"
    rf"[ \t]+{_NAME}",
    function=rf"^[^\n/#*=]*?\b(?:fun|func|def|function|sub)[ \t]+(?:self\.)?{_NAME}|"
    r"^[ \t]*(?:(?:public|private|protected|internal|static|final|override|abstract|virtual|async)[ \t]+)+"
    r"[\w<>\[\],.?]+[ \t]+(?P<own>[A-Za-z_]\w*)[ \t]*\(",
    variable=rf"^[ \t]*(?:(?:public|private|protected|internal|static|final|const|readonly|val|var|let)[ \t]+)+"
    rf"(?:[\w<>\[\],.?]+[ \t]+)?{_NAME}[ \t]*[=:;]",
)
_C = _patterns(
    type=rf"^[ \t]*(?:typedef[ \t]+)?(?:class|struct|enum(?:[ \t]+class)?|union|namespace)[ \t]+{_NAME}[^;\n]*$",
    function=rf"^(?!(?:return|else|typedef|using|static_assert)\b)[A-Za-z_][\w:<>*&,\[\] \t]*?[ \t*&]"
    rf"(?:\w+::)*{_NAME}[ \t]*\([^;\n]*$",
    variable=rf"^[ \t]*#[ \t]*define[ \t]+{_NAME}",
)
_SHELL = _patterns(
    function=rf"^[ \t]*(?:function[ \t]+)?{_NAME}[ \t]*\(\)", variable=rf"^[ \t]*(?:export[ \t]+)?{_NAME}="
)
_SETTINGS = _patterns(
    variable=rf"^[ \t]*#?[ \t]?(?:export[ \t]+)?{_NAME}[ \t]*=", key=r"^[ \t]*\[+(?P<name>[\w.-]+)\]+"
)
_YAML = _patterns(key=r"^[ \t]*(?:-[ \t]+)?['\"]?(?P<name>[A-Za-z_][\w.-]*)['\"]?:(?=\s|$)")
_STYLES = _patterns(key=r"^[ \t]*[.#](?P<name>[A-Za-z_][\w-]*)[^;\n]*[{,]")
_SQL = _patterns(
    type=r"(?i)\bcreate[ \t]+(?:or[ \t]+replace[ \t]+)?(?:table|view|function|procedure|type|index|trigger)[ \t]+"
    r"(?:if[ \t]+not[ \t]+exists[ \t]+)?(?:\w+\.)?[\"`\[]?(?P<name>\w+)"
)
_SCHEMA = _patterns(type=rf"^[ \t]*(?:message|service|rpc|enum|type|input|interface|union|scalar)[ \t]+{_NAME}")
_MAKE = _patterns(function=r"^(?P<name>[\w.-]+):(?!=)", variable=rf"^{_NAME}[ \t]*[:?+]?=")


# ---- the languages


class _DefinitionLook(NamedTuple):
    """The look of the definitions of a language."""

    line: re.Pattern[str] | None  # a line that can be a definition
    file: _Patterns = ()


def _look(*lines: str, file: _Patterns = ()) -> _DefinitionLook:
    return _DefinitionLook(lazy("|".join(f"(?:{pattern})" for pattern in lines)) if lines else None, file)


_JS_LIKE = extensions_of("JavaScript", "TypeScript")
_C_LIKE = extensions_of("C", "C++", "Objective-C")
_JAVA_LIKE = extensions_of("Java", "C#", "Kotlin", "Scala", "Dart")
_LOOKS = {
    ending: look
    for endings, look in (
        (extensions_of("Python"), _look(_GENERAL, _ASSIGNED, file=_PYTHON)),
        (extensions_of("Rust"), _look(_GENERAL, _ASSIGNED, file=_RUST)),
        (extensions_of("Go"), _look(_GENERAL, _ASSIGNED, file=_GO)),
        (extensions_of("Shell"), _look(_GENERAL, _ASSIGNED, file=_SHELL)),
        (extensions_of("Ruby", "PHP", "Lua", "Swift", "Elixir"), _look(_GENERAL, _ASSIGNED, file=_CLASSES)),
        (_JS_LIKE, _look(_GENERAL, _ASSIGNED, _JS_METHOD, _JS_FUNCTION_VALUE, file=_SCRIPT)),
        (_C_LIKE, _look(_GENERAL, _ASSIGNED, _C_FUNCTION, file=_C)),
        (_JAVA_LIKE, _look(_GENERAL, _JAVA_METHOD, file=_CLASSES)),
        (extensions_of("Groovy", "F#", "R", "Julia", "Perl", "Zig", "Haskell"), _look(file=_CLASSES)),
        (extensions_of("SQL"), _look(file=_SQL)),
        (MARKDOWN, _look(_HEADING)),
        (("toml", "ini", "cfg", "conf", "env", "properties"), _look(file=_SETTINGS)),
        (("yaml", "yml"), _look(file=_YAML)),
        (("css", "scss", "less"), _look(file=_STYLES)),
        (("proto", "graphql"), _look(file=_SCHEMA)),
        (("mk",), _look(file=_MAKE)),
    )
    for ending in endings
}


def definition_on(line: str, path: str, number: int) -> Definition | None:
    """Return the definition on a line, by its look; None if the line defines nothing."""
    ending = extension(path)
    look = _LOOKS.get(ending)
    if look is None or look.line is None or len(line) > _LONGEST_LINE or look.line.match(line) is None:
        return None
    name_and_kind = _name_and_kind(line, ending)
    if name_and_kind is None:
        return None
    name, kind = name_and_kind
    return Definition(name, path, number, kind, line[:1] in " \t")


def _name_and_kind(line: str, ending: str) -> tuple[str, str] | None:
    """Return the name and the kind that a line defines; None for an import, a keyword or a call."""
    if ending in MARKDOWN:
        return line.lstrip("#").strip().rstrip("#").strip(), "heading"
    defines = _DEFINES.match(line)
    if defines is not None and defines["name"] not in _NOT_NAMES and "require(" not in line:
        kind = _KIND.match(line)
        word = kind["kind"].split()[0] if kind else ""
        return defines["name"], _KIND_OF_KEYWORD.get(word, word)
    value = _NAME_BEFORE_VALUE.match(line)
    if value is not None and "require(" in line:
        return None  # an import
    if value is not None and (ending not in _C_LIKE and ending not in _JAVA_LIKE):  # there it is an assignment
        name = value["name"]
        return None if name in _NOT_NAMES else (name, "function" if "function" in line or "=>" in line else "variable")
    called = _NAME_BEFORE_PAREN.search(line)
    first_word = line.split(maxsplit=1)[0].partition("(")[0] if line.strip() else ""
    if called is not None and called["name"] not in _NOT_NAMES and first_word not in _NOT_NAMES:
        return called["name"].lstrip("~"), "function"  # `~Name` is a destructor of C++
    return None


def definitions_in(text: str, path: str) -> list[Definition]:
    """Return the definitions of a file, each name once a line."""
    patterns = _patterns_of(path)
    if not patterns:
        return []
    ends = [line_end.start() for line_end in _LINE_END.finditer(text)]
    found: dict[tuple[str, int], Definition] = {}  # by name and line
    for kind, pattern in patterns:
        for match in pattern.finditer(text):
            group = "name" if match["name"] else "own"  # the second alternative of a pattern has `own`
            name, at = match[group], match.start(group)
            line = bisect_right(ends, at - 1) + 1
            line_start = ends[line - 2] + 1 if line > 1 else 0
            if len(name) > 1 and at - line_start < _LONGEST_INDEXED_LINE and (name, line) not in found:
                found[name, line] = Definition(name, path, line, kind, text[line_start] in " \t")
                if len(found) == MOST_DEFINITIONS:
                    return list(found.values())
    return list(found.values())


def _patterns_of(path: str) -> _Patterns:
    """Return the patterns for a file, by its name or its ending."""
    name = path.rpartition("/")[2]
    if name in ("Makefile", "makefile", "GNUmakefile", "justfile"):
        return _MAKE
    if name.startswith(".env"):
        return _SETTINGS
    look = _LOOKS.get(extension(path))
    return look.file if look is not None else ()

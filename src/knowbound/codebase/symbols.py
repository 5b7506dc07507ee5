"""Lines that look like a definition, in any language: cheap, and right most of the time.

They are candidates: what an answer rests on is resolved in the syntax tree of its file, where we have a grammar.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from knowbound.core.paths import MARKDOWN, extension, extensions_of

_MODIFIERS = (
    r"(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|pub(?:\([^)]*\))?|unsafe|const|"
    r"extern(?:\s+\"[^\"]*\")?|inline|virtual|sealed|data|open|partial|readonly|declare|typedef|synchronized|native|"
    r"constexpr|template\s*<[^>]*>|@\w+(?:\([^)]*\))?)\s+)*"
)
_KEYWORDS = (
    r"(?:class|def|func|fn|function\*?|struct|interface|enum(?:\s+class)?|trait|type|module|namespace|mod|union|"
    r"macro_rules!|object|protocol|record|@interface|const|let|var|static|#\s*define|cdef|impl)"
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

_DEFINES = re.compile(rf"^\s*{_MODIFIERS}{_KEYWORDS}\s+(?:\([^)]*\)\s*)?[*&]?(?P<name>[A-Za-z_$][\w$]*)")
_KIND = re.compile(rf"^\s*{_MODIFIERS}(?P<kind>{_KEYWORDS})\s")
_NAME_BEFORE_PAREN = re.compile(r"(?P<name>[A-Za-z_$~][\w$]*)\s*\(")
_NAME_BEFORE_VALUE = re.compile(r"^\s*(?:[\w$]+\.)*(?P<name>[A-Za-z_$][\w$]*)\s*(?::[^=\n]+)?[:=]")
_NOT_NAMES = frozenset(
    "if for while switch return else catch do try with and or not in is new delete throw case elif except assert "
    "await yield function super this self sizeof defined import from using print default finally "
    "where loop match".split()
)
# Languages by what their definitions look like.
_KEYWORD_LIKE = extensions_of("Python", "Go", "Rust", "Ruby", "PHP", "Lua", "Shell", "Swift", "Elixir")
_JS_LIKE = extensions_of("JavaScript", "TypeScript")
_C_LIKE = extensions_of("C", "C++", "Objective-C")
_JAVA_LIKE = extensions_of("Java", "C#", "Kotlin", "Scala", "Dart")

_LONGEST_LINE = 300
_GENERAL = (rf"^\s*{_MODIFIERS}{_KEYWORDS}\s+(?:\([^)]*\)\s*)?[*&]?[A-Za-z_$]", _ASSIGNED)
_LOOKS = {
    ending: re.compile("|".join(f"(?:{pattern})" for pattern in patterns))
    for endings, patterns in (
        (_KEYWORD_LIKE, _GENERAL),
        (_JS_LIKE, (*_GENERAL, _JS_METHOD, _JS_FUNCTION_VALUE)),
        (_C_LIKE, (*_GENERAL, _C_FUNCTION)),
        (_JAVA_LIKE, (_GENERAL[0], _JAVA_METHOD)),
        (MARKDOWN, (_HEADING,)),
    )
    for ending in endings
}


@dataclass(frozen=True, slots=True)
class Definition:
    """A line that looks like the definition of a name."""

    name: str
    path: str
    line: int
    kind: str  # class, function, variable, heading, …
    indented: bool


def definition_on(line: str, path: str, number: int) -> Definition | None:
    """What a line defines, by its look; None where it defines nothing. A syntax tree may say otherwise."""
    ending = extension(path)
    look = _LOOKS.get(ending)
    if look is None or len(line) > _LONGEST_LINE or look.match(line) is None:
        return None
    found = _name_on(line, ending)
    return Definition(found[0], path, number, found[1], line[:1] in " \t") if found is not None else None


def _name_on(line: str, ending: str) -> tuple[str, str] | None:
    """The name a line defines and what it defines it as."""
    if ending in MARKDOWN:
        return line.lstrip("#").strip().rstrip("#").strip(), "heading"
    defines = _DEFINES.match(line)
    if defines is not None and defines["name"] not in _NOT_NAMES and "require(" not in line:
        kind = _KIND.match(line)
        word = kind["kind"].split()[0] if kind else ""
        return defines["name"], _KINDS.get(word, word)
    value = _NAME_BEFORE_VALUE.match(line)
    if value is not None and "require(" in line:
        return None  # an import
    if value is not None and (ending not in _C_LIKE and ending not in _JAVA_LIKE):
        name = value["name"]
        return None if name in _NOT_NAMES else (name, "function" if "function" in line or "=>" in line else "variable")
    called = _NAME_BEFORE_PAREN.search(line)
    first_word = line.split(maxsplit=1)[0].partition("(")[0] if line.strip() else ""
    if called is not None and called["name"] not in _NOT_NAMES and first_word not in _NOT_NAMES:
        return called["name"].lstrip("~"), "function"
    return None


_KINDS = {
    "def": "function", "func": "function", "fn": "function", "function": "function", "function*": "function",
    "cdef": "function", "macro_rules!": "macro", "#": "macro", "#define": "macro", "const": "variable",
    "let": "variable", "var": "variable", "static": "variable", "mod": "module", "namespace": "module",
    "@interface": "interface", "record": "class", "object": "class", "protocol": "interface",
}  # fmt: skip

"""The names that a file defines, by lines that look like definitions: quick, and the same for every language.

It may take a line for a definition that is none; whoever says a place looks at it first.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

from knowbound.core.lazy_pattern import lazy
from knowbound.core.paths import extension

MOST = 5_000  # of one file
_LONGEST_LINE = 2_000  # a longer one is data or a bundle
_LINE_END = lazy("\n")
_NAME = r"(?P<name>[A-Za-z_$][\w$]*)"


class Definition(NamedTuple):
    """A name, the line that defines it, and what it is: type, function, variable or key."""

    name: str
    line: int
    kind: str


def _patterns(**kinds: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
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
_LANGUAGES = {
    ending: patterns
    for endings, patterns in (
        ("js mjs cjs jsx vue svelte ts tsx mts cts", _SCRIPT),
        ("py pyi pyx", _PYTHON),
        ("rs", _RUST),
        ("go", _GO),
        ("java kt kts scala groovy cs fs swift dart rb php ex exs lua r jl pl pm zig hs", _CLASSES),
        ("c h cc cpp cxx hpp hh hxx m mm", _C),
        ("sh bash zsh", _SHELL),
        ("toml ini cfg conf env properties", _SETTINGS),
        ("yaml yml", _YAML),
        ("css scss less", _STYLES),
        ("sql", _SQL),
        ("proto graphql", _SCHEMA),
        ("mk", _MAKE),
    )
    for ending in endings.split()
}


def definitions_in(text: str, path: str) -> list[Definition]:
    """The names that a file defines, with their lines; a line defines a name once."""
    patterns = _patterns_of(path)
    if not patterns:
        return []
    ends = [found.start() for found in _LINE_END.finditer(text)]
    found: dict[tuple[str, int], Definition] = {}
    for kind, pattern in patterns:
        for match in pattern.finditer(text):
            group = "name" if match["name"] else "own"
            name, at = match[group], match.start(group)
            line = bisect_right(ends, at - 1) + 1
            start = ends[line - 2] + 1 if line > 1 else 0
            if len(name) > 1 and at - start < _LONGEST_LINE and (name, line) not in found:
                found[name, line] = Definition(name, line, kind)
                if len(found) == MOST:
                    return list(found.values())
    return list(found.values())


def _patterns_of(path: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    name = path.rpartition("/")[2]
    if name in ("Makefile", "makefile", "GNUmakefile", "justfile"):
        return _MAKE
    if name.startswith(".env"):
        return _SETTINGS
    return _LANGUAGES.get(extension(path), ())

"""The names that a tree defines: one ripgrep pass over definition lines, kept for a while in the process.

The lines are candidates: what an answer rests on is resolved again in the file as it is now. So an index that is a
minute old can miss a name but never invent one.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from knowbound.core.paths import MARKDOWN, extension, extensions_of, source_rank
from knowbound.files import list_files, rg
from knowbound.text.terms import canonical_words, glued, one_edit, split_words

_FRESH_SECONDS = 60.0
_KEPT_ROOTS = 4
_LINE_COLUMNS = "300"
_SHORTEST_MISTYPED = 8  # one edit, eight or more characters, exactly one candidate

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

_OWNERS = frozenset("class struct interface trait impl".split())


@dataclass(frozen=True, slots=True)
class Definition:
    """A line that defines a name, as ripgrep saw it."""

    name: str
    path: str
    line: int
    kind: str  # class, function, variable, heading, …
    indented: bool


@dataclass(slots=True)
class Symbols:
    """Files and definitions of one root."""

    root: Path
    files: list[str]
    by_name: dict[str, list[Definition]]
    made: float
    limited: str = ""
    is_knowledge: bool = False  # markdown and no source: a folder of knowledge
    _by_glued: dict[str, list[str]] = field(default_factory=dict)
    _by_length: dict[int, list[str]] = field(default_factory=dict)

    def named(self, words: tuple[str, ...]) -> list[Definition]:
        """The definitions whose name is exactly these words, in whatever spelling."""
        if not self._by_glued:
            glue: dict[str, list[str]] = defaultdict(list)
            for name in self.by_name:
                parts = split_words(name)
                for key in {glued(canonical_words(name)), glued(parts)}:
                    glue[key].append(name)
            self._by_glued.update(glue)
        keys = dict.fromkeys((glued(canonical_words(" ".join(words))), glued(words)))
        names = dict.fromkeys(name for key in keys for name in self._by_glued.get(key, ()))
        return [one for name in names for one in self.by_name[name]]

    def members(self, words: tuple[str, ...]) -> list[Definition]:
        """Methods whose class and name together are exactly these words (`AppContext.push`)."""
        found = []
        for cut in range(1, len(words)) if len(words) > 2 else ():
            owners = [one for one in self.named(words[:cut]) if one.kind in _OWNERS]
            methods = (
                [one for one in self.named(words[cut:]) if one.kind == "function" and one.indented] if owners else []
            )
            for owner in owners:
                here = [one for one in methods if one.path == owner.path and one.line > owner.line]
                found += [one for one in here if not self._class_between(owner, one)]
        return found

    def _class_between(self, owner: Definition, method: Definition) -> bool:
        return any(
            one.kind in _OWNERS and one.path == owner.path and owner.line < one.line < method.line and not one.indented
            for ones in self.by_name.values()
            for one in ones
        )

    def mistyped(self, name: str) -> str | None:
        """The one defined name that is a single edit away, for names long enough to be sure."""
        if len(name) < _SHORTEST_MISTYPED:
            return None
        if not self._by_length:
            for other, ones in self.by_name.items():
                if any(one.kind != "heading" for one in ones):
                    self._by_length.setdefault(len(other), []).append(other)
        alike = (other for size in (-1, 0, 1) for other in self._by_length.get(len(name) + size, ()))
        near = {
            other
            for other in alike
            # One edit leaves the beginning or the end as it is.
            if (other[:3] == name[:3] or other[-3:] == name[-3:]) and one_edit(name, other)
        }
        return near.pop() if len(near) == 1 else None


_cache: dict[Path, Symbols] = {}


def symbols_of(root: Path, seconds: float) -> Symbols:
    """The symbols of a root, from this process's memory where they are fresh."""
    known = _cache.get(root)
    if known is not None and time.monotonic() - known.made < _FRESH_SECONDS:
        return known
    found = _scan(root, seconds)
    while len(_cache) >= _KEPT_ROOTS:
        _cache.pop(next(iter(_cache)))
    _cache[root] = found
    return found


def forget(root: Path) -> None:
    """Scan the root again next time."""
    _cache.pop(root, None)


def _scan(root: Path, seconds: float) -> Symbols:
    files, cut = list_files(root, seconds)
    endings = {extension(path) for path in files}
    patterns = [rf"^\s*{_MODIFIERS}{_KEYWORDS}\s+(?:\([^)]*\)\s*)?[*&]?[A-Za-z_$]", _ASSIGNED]
    by_name: dict[str, list[Definition]] = defaultdict(list)
    limited = "the list of files was cut" if cut else ""
    for wanted, kinds in (
        (patterns, _KEYWORD_LIKE),
        ([*patterns, _JS_METHOD, _JS_FUNCTION_VALUE], _JS_LIKE),
        ([*patterns, _C_FUNCTION], _C_LIKE),
        ([patterns[0], _JAVA_METHOD], _JAVA_LIKE),
        ([_HEADING], MARKDOWN),
    ):
        here = sorted(kinds & endings)
        if not here:
            continue
        arguments = ["--null", "--no-heading", "--line-number", "--no-messages", "--max-columns", _LINE_COLUMNS]
        for ending in here:
            arguments += ["--iglob", f"*.{ending}"]
        for pattern in wanted:
            arguments += ["-e", pattern]
        ran = rg(root, [*arguments, "--", "."], seconds, 64_000_000)
        if ran.cut or ran.timed_out:
            limited = "the scan for definitions reached its limit"
        _take(ran.out, by_name)
    is_knowledge = bool(endings & MARKDOWN) and all(source_rank(path) != 0 for path in files)
    return Symbols(root, files, dict(by_name), time.monotonic(), limited, is_knowledge)


def _take(output: bytes, by_name: dict[str, list[Definition]]) -> None:
    """Definitions from lines `path NUL number:text`."""
    head_before, path, ending = b"", "", ""
    broken = b""  # the beginning of a file name that has a line break in it
    for raw in output.split(b"\n"):
        head, nul, rest = raw.partition(b"\0")
        if not nul:
            broken += raw + b"\n"
            continue
        head, broken = broken + head, b""
        if head != head_before:
            head_before, path = head, head.decode("utf-8", "surrogateescape").removeprefix("./")
            ending = extension(path)
        number, _, line_bytes = rest.partition(b":")
        line = line_bytes.decode("utf-8", "replace")
        found = _name_of(line, ending)
        if found is not None:
            name, kind = found
            by_name[name].append(Definition(name, path, int(number or 0), kind, line[:1] in " \t"))


def _name_of(line: str, ending: str) -> tuple[str, str] | None:
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

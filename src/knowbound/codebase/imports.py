"""Where an imported name comes from, read from the line that imports it."""

from __future__ import annotations

import re

_UP = 40  # lines above in which an import may begin
_FORMS = (
    re.compile(r"^\s*from\s+([\w.]+)\s+import\b"),  # Python
    re.compile(r"\bfrom\s+['\"]([^'\"]+)['\"]"),  # JavaScript, TypeScript
    re.compile(r"\brequire\(\s*['\"]([^'\"]+)['\"]"),
    re.compile(r"^\s*import\s+(?:static\s+)?([\w.]+)\.\w+\s*;"),  # Java
    re.compile(r"^\s*(?:pub\s+)?use\s+([\w:]+)::"),  # Rust
    re.compile(r"^\s*(?:[\w.]+\s+)?\"([\w./-]+)\"\s*$"),  # Go, inside its brackets
    re.compile(r"^\s*import\s+([\w.]+)"),
    re.compile(r"^\s*#\s*include\s*[<\"]([^>\"]+)[>\"]"),
)


def imported_from(text: str, line: int, name: str) -> str:
    """The module, package or header that a name is imported from at a line; "" where the text does not say."""
    lines = text.split("\n")
    if not 0 < line <= len(lines):
        return ""
    for at in range(line - 1, max(-1, line - 1 - _UP), -1):
        found = next((match[1] for form in _FORMS if (match := form.search(lines[at]))), "")
        if found:
            return found
        if at < line - 1 and re.search(r"[;)]\s*$", lines[at]):
            break
    # JavaScript: the module's name comes after the names.
    for later in lines[line : line + _UP]:
        match = _FORMS[1].search(later)
        if match:
            return match[1]
        if ";" in later or name in later:
            break
    return ""

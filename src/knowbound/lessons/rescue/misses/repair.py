"""Repairs of a malformed pattern or glob, each with its reason in words.

The rules of traces/calls/patterns.py say what is malformed; a repair is believed only where it matches.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from knowbound.core.lazy_pattern import lazy
from knowbound.traces.calls.patterns import has_stray_quote, rust_fault

_QUOTES = "\"'`"
_LONGEST = 2_000
_COUNTED = lazy(r"\{\d+(?:,\d*)?\}")
_BASIC = lazy(r"\\[|(){}+?]|[|(){}+?]")
_TYPES = {
    "javascript": ("*.js", "*.mjs", "*.cjs"), "rs": ("*.rs",), "golang": ("*.go",), "shell": ("*.sh", "*.bash"),
    "bash": ("*.sh", "*.bash"), "yml": ("*.yml", "*.yaml"),
}  # fmt: skip


class Repair(NamedTuple):
    """A pattern or glob as it was meant, and what was wrong with it."""

    meant: str
    reason: str = ""  # begins a sentence; "" where nothing was wrong
    then: str = ""  # how it was run again: "without it"


def as_rust(pattern: str, syntax: str) -> str:
    """A pattern of another program, as ripgrep reads it."""
    if syntax == "fixed":
        return re.escape(pattern)
    if syntax == "basic":  # an escaped character is an operator, others are literal
        return _BASIC.sub(lambda sign: sign[0][1:] if len(sign[0]) == 2 else "\\" + sign[0], pattern)
    return pattern


def pattern_repairs(pattern: str, syntax: str) -> list[Repair]:
    """Return what a pattern may have meant, likeliest first; the first has nothing repaired."""
    if not pattern or len(pattern) > _LONGEST:
        return []
    as_it_is = as_rust(pattern, syntax)
    wrong = rust_fault(as_it_is) if syntax in ("rust", "extended") else ""
    found = [
        Repair(_balanced(as_it_is), f"the pattern is refused ({wrong})", "read as meant") if wrong else Repair(as_it_is)
    ]
    if has_stray_quote(pattern):
        bare = _balanced(as_rust(pattern[:-1].rstrip("\\"), syntax))
        found.insert(0, Repair(bare, "the pattern ends in a stray quote", "without it"))
    if syntax != "fixed" and "\\|" in pattern:
        swapped = pattern.replace("\\|", "|")
        found.append(Repair(_balanced(swapped), "`\\|` is a literal bar here", "with `|`"))
    if syntax == "basic" and re.search(r"(?<!\\)[|+?{(]", pattern):
        found.append(Repair(_balanced(pattern), "`|`, `+`, `?` and braces are literal without `-E`", "with it"))
    if syntax != "fixed" and "\\\\" in pattern:
        found.append(Repair(_balanced(pattern.replace("\\\\", "\\")), "the pattern is escaped twice", "escaped once"))
    if pattern[0] in _QUOTES and pattern[-1] == pattern[0] and len(pattern) > 4:
        found.append(
            Repair(_balanced(as_rust(pattern[1:-1], syntax)), "the pattern has quotes around it", "without them")
        )
    return [meant for at, meant in enumerate(found) if meant.meant and meant.meant not in [o.meant for o in found[:at]]]


def _balanced(pattern: str) -> str:
    """The pattern with what ripgrep would refuse standing for itself."""
    if not rust_fault(pattern):
        return pattern
    braces = re.sub(r"(?<!\\)\{(?!\d+(?:,\d*)?\})", r"\\{", pattern)
    braces = re.sub(r"(?<!\\)\}", lambda sign: sign[0] if _closes(braces, sign.start()) else "\\}", braces)
    for tried in (braces, re.sub(r"(?<!\\)([()])", r"\\\1", braces), re.sub(r"(?<!\\)([()\[\]])", r"\\\1", braces)):
        if not rust_fault(tried):
            return tried
    return "|".join(re.escape(branch) for branch in re.split(r"(?<!\\)\|", pattern))


def _closes(pattern: str, at: int) -> bool:
    return any(count.end() - 1 == at for count in _COUNTED.finditer(pattern))


def glob_repairs(glob: str) -> list[Repair]:
    """The globs that a malformed one may have meant; none where it is well-formed."""
    found: list[Repair] = []
    bare = glob.strip().strip(_QUOTES)
    if bare != glob:
        found.append(Repair(bare, "the glob has a stray quote", "without it"))
    if " -o " in bare:
        parts = [part.strip().removeprefix("-name").strip().strip(_QUOTES) for part in bare.split(" -o ")]
        parts.sort(key=lambda part: part.count("*"))
        found = [Repair(part, "a glob has no `-o`", "apart") for part in parts if part]
    elif "|" in bare and "(" not in bare:
        found = [Repair(part.strip(), "a glob has no `|`", "apart") for part in bare.split("|") if part.strip()]
    elif "\\." in bare or ".*" in bare.replace("**", ""):
        found = [
            Repair(
                bare.replace("\\.", ".").replace(".*", "*").strip("^$"), "the glob is a regular expression", "as a glob"
            )
        ]
    return found


def type_globs(type_: str) -> tuple[str, ...]:
    """The globs that an unknown file type means: `tsx`, `ts,tsx`."""
    names = [name.strip().lstrip("*.") for name in re.split(r"[,|\s]+", type_) if name.strip()]
    return tuple(glob for name in names for glob in _TYPES.get(name, (f"*.{name}",)))

"""Faults of a search pattern: mistakes in its syntax that keep it from matching what was meant.

A correct pattern that matches nothing has no fault. In doubt a pattern has no fault: `"name": "x"`, `className="` and
`string \\| null` may be in the code.
"""

from __future__ import annotations

from knowbound.core.lazy_pattern import lazy
from knowbound.core.tool_kinds import Syntax

_LONGEST = 2_000  # characters; longer patterns are not checked


def fault(pattern: str, syntax: Syntax, *, multiline: bool = False) -> str:
    """Return the fault of a pattern, in words; "" if it has none."""
    if not pattern or len(pattern) > _LONGEST:
        return ""
    if syntax is Syntax.GLOB:
        return _glob_fault(pattern)
    if syntax is Syntax.FIXED:
        return r"`\|` is literal text with -F" if _ESCAPED_BAR.search(pattern) else ""
    if _GLOB.search(pattern):
        return "a glob where a regular expression is expected"
    plain = _CLASS.sub("[]", pattern)  # signs in brackets are literal
    if _OVER_ESCAPED.search(plain):
        return "escaped twice: it demands a backslash"
    if syntax is Syntax.BASIC:
        return _basic_fault(plain)
    if _ESCAPED_BAR.search(plain) and not _BAR.search(plain.replace(r"\|", "")):
        return r"`\|` is a literal bar here"
    if syntax is Syntax.EXTENDED and _PERL_GROUP.search(plain):
        return "Perl's syntax without -P"
    return rust_fault(pattern, multiline) if syntax is Syntax.RUST else ""


_CLASS = lazy(r"\[\^?\]?[^\[\]\\]*(?:\\.[^\[\]\\]*)*\]")
_GLOB = lazy(r"\A\*+(?:\.\w|/)|(?:\A|/)\*\*/")
_OVER_ESCAPED = lazy(r"(?<!\\)\\\\(?:[.()\[\]{}|*+?$]|[swdSWD][*+]|b(?:\W|\Z)|b(?<=\A\\\\b))")
_BAR = lazy(r"(?<!\\)\|")
# A bar between words; with space around it, or doubled, it is a bar of the code.
_ESCAPED_BAR = lazy(r"[^\s|\\]\\\|[^\s|\\]")
_PLAIN_BAR = lazy(r"[\w)\]*.$'\"]\|[\w(\[^.'\"]")
_PERL_GROUP = lazy(r"\(\?(?:[:=!<]|[imsx]+\))")
_QUANTIFIER = lazy(r"(?:\[\]|(?<!\\)\\[wWsSdD]|(?<![\\.])\.)\+|\[\]\{\d")


def _basic_fault(plain: str) -> str:
    """Return the fault of a pattern for `grep` without -E, where bars, plus signs and braces are literal."""
    if _PERL_GROUP.search(plain):
        return "Perl's syntax without -P"
    if _PLAIN_BAR.search(plain) and r"\|" not in plain:
        return "`|` is a literal bar without -E"
    return "`+` and `{}` are literal without -E" if _QUANTIFIER.search(plain) else ""


_GLOB_EXPRESSION = lazy(r"\\\.|\.\*\\|\A\^|[\w*)]\$\Z|\.\+")
_EXTENDED_GLOB = lazy(r"[@+?!*]\(")


def _glob_fault(glob: str) -> str:
    """Return the fault of a glob; "" if it has none."""
    if glob[0] in "\"'`" or glob[-1] in "\"'`":
        return "quotes in a glob"
    if " -o " in glob:
        return "options of find in a glob"
    if _GLOB_EXPRESSION.search(glob) or ("|" in glob and not _EXTENDED_GLOB.search(glob)):
        return "a regular expression where a glob is expected"
    return "unbalanced braces" if glob.count("{") != glob.count("}") else ""


def has_stray_quote(pattern: str) -> bool:
    """Report whether a pattern ends in a quote without a partner that closes nothing.

    Only for patterns that reached their tool without a shell: in a command line a quote was escaped on purpose. After
    `=`, `(` and similar signs a quote opens a text of the code, unless the pattern has space before the `=` only; after
    a path it closes an import.
    """
    last = pattern[-1:]
    if not last or last not in "\"'`" or pattern.count(last) % 2 == 0:
        return False
    before = pattern[:-1].rstrip("\\")
    if not before or (_OPENING.search(before) and not _SPACED.search(before)):
        return False
    return "/" not in before or before.count(last) > 1


_OPENING = lazy(r"(?:[=({\[:,\s]|\\s[*+]?|(?<!\\)\.[*+]\??)\Z")
_SPACED = lazy(r"(?:\s|\\s[*+]?)=\Z")


_OPTION = lazy(
    r"-[A-Za-z]\d*|-[A-Z] \d+"
    r"|--(?:include|exclude|exclude-dir|glob|type|context|after-context|before-context)(?:[= ].*)?"
)


def is_option(pattern: str) -> bool:
    """Report whether an option of the program was given as the pattern: `-C3`, `--include=*.go`."""
    return _OPTION.fullmatch(pattern) is not None


# ---- expressions that ripgrep refuses; Claude Code then reports no matches

_ESCAPES = frozenset("abBdDfnrsStvwWzApPxuU")
_LONG_ESCAPE = lazy(
    r"\\(?:[pP](?:\{[^{}]*\}|\w)|x(?:[0-9A-Fa-f]{2}|\{[0-9A-Fa-f]+\})|u(?:[0-9A-Fa-f]{4}|\{[0-9A-Fa-f]+\})"
    r"|U(?:[0-9A-Fa-f]{8}|\{[0-9A-Fa-f]+\})|b\{(?:start|end)(?:-half)?\})"
)
_REPEATED = lazy(r"\{ *(\d+) *(?:, *(\d*) *)?\}")
_GROUP = lazy(r"\(\?(?:P?<[A-Za-z_][\w.\[\]]*>|[imsUuxR]*(?:-[imsUuxR]+)?(:|\)))")
_POSIX_CLASS = lazy(r"\[:\^?\w+:\]")


def rust_fault(pattern: str, multiline: bool = False) -> str:
    """Return the reason why ripgrep refuses the expression; "" if it accepts it."""
    pattern = f"(?:{pattern})"  # as ripgrep does
    at = depth = 0
    can_repeat = False  # the position follows something that can be repeated
    while at < len(pattern):
        sign = pattern[at]
        if sign == "\\":
            length = _escape_length(pattern, at)
            if not length:
                return f"`{pattern[at : at + 2]}` is no escape that ripgrep knows"
            if not multiline and pattern[at + 1] == "n":
                return "a line break without multiline"
            at, can_repeat = at + length, True
            continue
        if sign == "[":
            at, can_repeat = _class_end(pattern, at), True
            if at < 0:
                return "an unclosed `[`"
            continue
        if sign == "(":
            group = _GROUP.match(pattern, at)
            if group is None and pattern.startswith("(?", at):
                return f"`{pattern[at : at + 3]}` is not known to ripgrep"
            is_flags = group is not None and group[1] == ")"
            depth, can_repeat, at = depth + (not is_flags), False, group.end() if group else at + 1
            continue
        if sign == "{":
            repetition = _REPEATED.match(pattern, at)
            if repetition is None or not can_repeat or (repetition[2] and int(repetition[1]) > int(repetition[2])):
                return "`{` must be escaped"
            at = repetition.end()
            continue
        if sign in "*+?" and not can_repeat:
            return f"nothing before `{sign}`"
        if sign == "\n" and not multiline:
            return "a line break without multiline"
        depth -= sign == ")"
        if depth < 0:
            return "an unopened `)`"
        can_repeat = sign != "|"
        at += 1
    return "an unclosed `(`" if depth else ""


def _escape_length(pattern: str, at: int) -> int:
    """Return the length of an escape; 0 if ripgrep does not know it."""
    sign = pattern[at + 1 : at + 2]
    if not sign or not sign.isascii() or (sign.isalnum() and sign not in _ESCAPES):
        return 0
    long = _LONG_ESCAPE.match(pattern, at)
    if long:
        return long.end() - at
    return 0 if sign in "pPxuU" else 2


def _class_end(pattern: str, at: int) -> int:
    """Return the end of a class in brackets, with the classes inside it; -1 if it is not closed."""
    depth = 0
    while at < len(pattern):
        sign = pattern[at]
        if sign == "[":
            posix = _POSIX_CLASS.match(pattern, at) if depth else None
            if posix:
                at = posix.end()
                continue
            depth += 1
            at += 1 + pattern.startswith("^", at + 1)
            if pattern.startswith("]", at):  # literal at the start of a class
                at += 1
            continue
        if sign == "]":
            depth -= 1
            if not depth:
                return at + 1
        at += 2 if sign == "\\" else 1
    return -1

"""Expressions that ripgrep refuses; Claude Code then reports no matches."""

from __future__ import annotations

from knowbound.core.lazy_pattern import lazy

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
            is_flags = group is not None and group[1] == ")"  # `(?i)` opens no group
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
    return 0 if sign in "pPxuU" else 2  # these five need a name or digits behind them


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
            at += 1 + pattern.startswith("^", at + 1)  # the bracket, and ^ for "none of"
            if pattern.startswith("]", at):  # literal at the start of a class
                at += 1
            continue
        if sign == "]":
            depth -= 1
            if not depth:
                return at + 1
        at += 2 if sign == "\\" else 1
    return -1

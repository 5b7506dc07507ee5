"""Words of a command line that have several pieces: quotes, escapes and expansions side by side.

The parser loads this module for such words and for here-documents alone.
"""

from __future__ import annotations

import re

from knowbound.core.lazy_pattern import lazy
from knowbound.traces.shell.parser import Expansion, ShellWord

_PIECE = lazy(
    r"""
      (?P<bare>[^\s'"\\$`;|&()<>]++)
    | '(?P<single>[^']*+)'
    | \$'(?P<ansi>(?>(?:[^'\\]++|\\.)*))'
    | \$?"(?P<double>[^"\\$`]*+)"
    | \\(?P<escape>.)
    | \$(?P<name>\w++|\{[^}]{0,300}\}|[@*\#?$!-])
    """,
    re.VERBOSE | re.DOTALL,
)
_IN_DOUBLE = lazy(r'["\\`]|\$\(|\$(?P<name>\w++|\{[^}]{0,300}\}|[@*#?$!-])')
_IN_PARENS = lazy(r"""[()'"\\`]|<<-?[ ]?(?P<here>\\?['"]?(?P<mark>[A-Za-z_]\w*)['"]?)""")
_ESCAPED = lazy(r"\\(.)", re.DOTALL)
_ANSI = {"n": "\n", "t": "\t", "r": "\r", "e": "\x1b", "a": "\a", "b": "\b", "0": "\0"}


def read_word(text: str, start: int) -> tuple[ShellWord, int]:
    """Return the word at a position, and the position after it."""
    at, pieces, expansions, length = start, [""], list[Expansion](), 0
    while at < len(text):
        piece = _PIECE.match(text, at)
        if piece is not None:
            at = piece.end()
            kind = piece.lastgroup or ""
            value = piece[kind]
            if kind == "name":
                expansions.append(Expansion(length, length + len(value) + 1, value.strip("{}")))
                value = "$" + value
            elif kind == "ansi":
                value = _ESCAPED.sub(lambda found: _ANSI.get(found[1], found[1]), value)
            elif kind == "escape" and value == "\n":  # a line goes on
                value = ""
        elif text[at] == '"' or text.startswith('$"', at):
            value, at = _double_quoted(text, at + 1 + (text[at] == "$"), length, expansions)
        elif text[at] == "`" or text.startswith(("$(", "<(", ">("), at):
            value, at = _substitution(text, at)
            expansions.append(Expansion(length, length + len(value), ""))
        elif text[at] == "'":  # a quote that never closes
            value, at = text[at + 1 :], len(text)
        elif text[at] in "$\\":
            value, at = text[at], at + 1  # a sign alone
        else:
            break
        pieces.append(value)
        length += len(value)
    return ShellWord("".join(pieces), tuple(expansions)), at


def _double_quoted(text: str, at: int, length: int, expansions: list[Expansion]) -> tuple[str, int]:
    """Return the inside of "…" and the position after it; `length` is the position in the word."""
    pieces = list[str]()
    while found := _IN_DOUBLE.search(text, at):
        pieces.append(text[at : found.start()])
        length += found.start() - at
        sign, at = found[0], found.end()
        if sign == '"':
            return "".join(pieces), at
        if sign == "\\":
            value, at = text[at : at + 1], at + 1
            value = "" if value == "\n" else value if value in '"\\$`' else "\\" + value
        elif found["name"] is not None:
            value = sign
            expansions.append(Expansion(length, length + len(value), found["name"].strip("{}")))
        else:
            value, at = _substitution(text, found.start())
            expansions.append(Expansion(length, length + len(value), ""))
        pieces.append(value)
        length += len(value)
    return "".join(pieces) + text[at:], len(text)


def _substitution(text: str, start: int) -> tuple[str, int]:
    """Return `$(…)`, `<(…)` or a backquoted command, as written, and the position after it."""
    if text[start] != "`":
        end = _after_parens(text, start + 2)
        return text[start:end], end
    end = text.find("`", start + 1)
    while end > 0 and text[end - 1] == "\\":  # escaped
        end = text.find("`", end + 1)
    end = end + 1 if end >= 0 else len(text)
    return text[start:end], end


def after_heredoc(text: str, at: int, mark: str) -> int:
    """Return the position after the line that ends a here-document; the end of the text if none does."""
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        if text[at:end].strip() == mark:
            return min(end + 1, len(text))
        at = end + 1
    return len(text)


def _after_parens(text: str, at: int) -> int:
    """Return the position after the bracket that closes the one before `at`, outside of quotes and here-documents."""
    closing = [")"]  # what is open, innermost last
    while closing:
        found = (_IN_DOUBLE if closing[-1] == '"' else _IN_PARENS).search(text, at)
        if found is None:
            return len(text)
        sign, at = found[0], found.end()
        if sign == "\\":
            at += 1
        elif sign == closing[-1]:
            closing.pop()
        elif sign == "$(":
            closing.append(")")
        elif closing[-1] == ")":
            if sign == "(":
                closing.append(")")
            elif sign == '"':
                closing.append('"')
            elif sign == "'":
                end = text.find("'", at)
                at = end + 1 if end >= 0 else len(text)
            elif found["here"] is not None:
                line = text.find("\n", at)
                at = after_heredoc(text, line + 1, found["mark"]) if line >= 0 else at
    return at

"""Parser of shell command lines into pipelines of commands; nothing is executed.

Every text has a tree, parsed in time linear in its length; groups are at most `_DEEPEST` deep, so that callers may
recurse.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

from knowbound.core.lazy_pattern import lazy
from knowbound.traces.shell.tree import (
    ASSIGNMENT,
    Command,
    CompoundCommand,
    Expansion,
    Pipeline,
    Redirect,
    ShellWord,
    script_of,
    unwrap,
)

LONGEST = 20_000  # characters; a longer line is one unknown command
_SHORT = 2_000  # characters; longer lines are not cached
_DEEPEST = 24  # brackets of deeper groups are ignored
_NESTED_SCRIPTS = 4  # bash -c "bash -c …": deeper scripts stay one command


_END = r"(?=[\s;|&()<>]|\Z)"
_TOKEN = lazy(
    rf"""
    [^\S\n]*+(?>(?:\\\r?\n[^\S\n]*+)*)  # space, and lines that go on in the next one
    (?:
      (?P<redirect>(?:\d{{0,3}}(?:<<<|<<-|<<|>>|>\||<>|>&|<&|[<>](?!\())|&>>|&>))
    | (?P<plain>[^\s'"\\$`;|&()<>\#][^\s'"\\$`;|&()<>]*+){_END}
    | '(?P<single>[^']*+)'{_END}
    | "(?P<double>[^"\\$`]*+)"{_END}
    | (?P<newline>\n)
    | (?P<comment>\#[^\n]*+)
    | (?P<operator>&&|\|\||\|&|;;&|;;|;&|[;&|()])
    | (?P<other>)  # a word of several pieces, or the end of the text
    )
    """,
    re.VERBOSE,
)
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


def parse(text: str) -> tuple[Pipeline, ...]:
    """Return the pipelines of a command line, in order."""
    if len(text) > LONGEST:
        return (Pipeline("", False, (Command((ShellWord(text[:100]),)),)),)
    return _cached(text) if len(text) < _SHORT else _Parser(text, 0).parse()


@lru_cache(maxsize=512)  # several readers of a session parse the same line
def _cached(text: str) -> tuple[Pipeline, ...]:
    return _Parser(text, 0).parse()


@dataclass(slots=True)
class _OpenGroup:
    """A group that is being read: its current list, and its earlier sections."""

    word: str
    section: str = "body"
    chained: bool = False  # an elif: it closes together with its if
    test: tuple[Pipeline, ...] = ()
    body: tuple[Pipeline, ...] = ()
    items: tuple[ShellWord, ...] = ()
    steps: list[Pipeline] = field(default_factory=list)
    stages: list[Command | CompoundCommand] = field(default_factory=list)
    words: list[ShellWord] = field(default_factory=list)
    assigns: list[ShellWord] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)
    link: str = ""
    negated: bool = False
    piped: bool = False  # a pipe was the last operator

    def closed(self) -> CompoundCommand:
        steps = tuple(self.steps)
        if self.section == "other":
            return CompoundCommand(self.word, self.test, self.body, steps, self.items)
        if self.section == "test":
            return CompoundCommand(self.word, steps)
        return CompoundCommand(self.word, self.test, steps, (), self.items)


class _Parser:
    def __init__(self, text: str, nested: int) -> None:
        self.text = text
        self.nested = nested
        self.at = 0
        self.top = _OpenGroup("")  # the innermost open group
        self.groups = [self.top]
        self.pending: str | None = None  # a redirection that waits for its target
        self.heredocs: list[str] = []

    def parse(self) -> tuple[Pipeline, ...]:
        text, size, match = self.text, len(self.text), _TOKEN.match
        while self.at < size:
            token = match(text, self.at)
            if token is None:  # never: the last alternative matches everything
                break
            self.at = token.end()
            kind = token.lastgroup
            if kind in ("plain", "single", "double"):
                self.word(ShellWord(token[kind]), bare=kind == "plain")
            elif kind == "other":
                if self.at < size:
                    self.word(self.slow_word())
            elif kind == "redirect":
                self.pending = token["redirect"]
            elif kind == "operator":
                self.operator(token["operator"])
            elif kind == "newline":
                if not self.top.piped:
                    self.end_pipeline(";")
                if self.heredocs:
                    self.skip_heredocs()
        while len(self.groups) > 1:
            self.close()
        self.end_pipeline("")
        return tuple(self.top.steps)

    # ---- words

    def word(self, word: ShellWord, *, bare: bool = False) -> None:
        group = self.top
        group.piped = False
        if self.pending is not None:
            self.redirect(self.pending, word.text)
            self.pending = None
        elif group.words:
            if group.words[0].text == "[[" and word.text == "]]":
                group.words[0] = ShellWord("[")
            group.words.append(word)
            if group.section == "head" and word.text == "in" and group.word == "case":
                group.section, group.words = "pattern", []
        elif bare and self.reserved(word.text):
            pass
        elif ASSIGNMENT.match(word.text):
            group.assigns.append(word)
        else:
            group.words.append(word)

    def slow_word(self) -> ShellWord:
        """Read a word of several pieces: quotes, escapes and expansions side by side."""
        text, pieces, expansions, length = self.text, [""], [], 0
        while self.at < len(text):
            start = self.at
            piece = _PIECE.match(text, start)
            if piece is not None:
                self.at = piece.end()
                kind = piece.lastgroup or ""
                value = piece[kind]
                if kind == "name":
                    expansions.append(Expansion(length, length + len(value) + 1, value.strip("{}")))
                    value = "$" + value
                elif kind == "ansi":
                    value = _ESCAPED.sub(lambda found: _ANSI.get(found[1], found[1]), value)
                elif kind == "escape" and value == "\n":
                    value = ""
            elif text[start] == '"' or text.startswith('$"', start):
                value = self.double(start + 1 + (text[start] == "$"), length, expansions)
            elif text[start] == "`" or text.startswith(("$(", "<(", ">("), start):
                value = self.substitution(start)
                expansions.append(Expansion(length, length + len(value), "", _inner_command(value)))
            elif text[start] in "'$\\":  # a quote that never closes, or a plain character
                self.at = len(text) if text[start] == "'" else start + 1
                value = text[start + (text[start] == "'") : self.at]
            else:
                break
            pieces.append(value)
            length += len(value)
        return ShellWord("".join(pieces), tuple(expansions))

    def double(self, start: int, length: int, expansions: list[Expansion]) -> str:
        """Read the inside of "…" with expansions in it; `length` is the position in the word."""
        text, pieces, at = self.text, [], start
        while True:
            found = _IN_DOUBLE.search(text, at)
            if found is None:
                self.at = len(text)
                pieces.append(text[at:])
                break
            pieces.append(text[at : found.start()])
            length += found.start() - at
            sign = found[0]
            if sign == '"':
                self.at = found.end()
                break
            if sign == "\\":
                value = text[found.end() : found.end() + 1]
                at = found.end() + 1
                value = "" if value == "\n" else value if value in '"\\$`' else "\\" + value
            elif found["name"] is not None:
                value, at = sign, found.end()
                expansions.append(Expansion(length, length + len(value), found["name"].strip("{}")))
            else:
                value = self.substitution(found.start())
                expansions.append(Expansion(length, length + len(value), "", _inner_command(value)))
                at = self.at
            pieces.append(value)
            length += len(value)
        return "".join(pieces)

    def substitution(self, start: int) -> str:
        """Read `$(…)`, `<(…)` or a backquoted command, as written."""
        text = self.text
        if text[start] == "`":
            end = text.find("`", start + 1)
            while end > 0 and text[end - 1] == "\\":
                end = text.find("`", end + 1)
            self.at = end + 1 if end >= 0 else len(text)
        else:
            self.at = _after_parens(text, start + 2)
        return text[start : self.at]

    # ---- redirections

    def redirect(self, sign: str, target: str) -> None:
        operator = sign.lstrip("0123456789")
        if operator in ("<<", "<<-"):
            self.heredocs.append(target)
        self.top.redirects.append(Redirect(sign[: len(sign) - len(operator)], operator, target))

    def skip_heredocs(self) -> None:
        for mark in self.heredocs:
            self.at = _after_heredoc(self.text, self.at, mark)
        self.heredocs = []

    # ---- lists and groups

    def operator(self, sign: str) -> None:
        group = self.top
        if group.words and group.words[0].text == "[[":
            group.words.append(ShellWord(sign))  # inside [[ … ]] they are only words
        elif sign == "(":
            if not group.words:
                self.open(_OpenGroup("("))
        elif sign == ")":
            if group.section == "pattern":
                group.words, group.section = [], "body"
            elif group.word == "(":
                self.close()
            else:
                self.end_pipeline(";")
        elif sign in ("|", "|&"):
            if group.section == "pattern":
                group.words = []
            else:
                self.end_command()
                group.piped = True
        else:
            self.end_pipeline(sign if sign in ("&&", "||") else ";")
            if sign.startswith(";") and sign != ";" and group.word == "case":
                group.section = "pattern"

    def reserved(self, word: str) -> bool:
        """Act on a reserved word in command position; False for an ordinary word."""
        group = self.top
        if word in _OPENING:
            self.open(_OpenGroup("for" if word == "select" else word, _OPENING[word]))
        elif word == "!":
            group.negated = not group.negated
        elif word == "time":
            pass
        elif word == "then" and group.word == "if":
            self.end_pipeline("")
            group.test, group.steps, group.section = tuple(group.steps), [], "body"
        elif word in ("else", "elif") and group.word == "if" and group.section == "body":
            self.end_pipeline("")
            group.body, group.steps, group.section = tuple(group.steps), [], "other"
            if word == "elif":
                self.open(_OpenGroup("if", "test", chained=True))
        elif word == "do" and group.section in ("head", "test"):
            self.do(group)
        elif _CLOSING.get(word, ()) and group.word in _CLOSING[word]:
            while self.top.chained:
                self.close()
            self.close()
        else:
            return False
        return True

    def do(self, group: _OpenGroup) -> None:
        self.end_pipeline("")
        if group.section == "test":
            group.test = tuple(group.steps)
        else:
            head = [stage for step in group.steps for stage in step.stages if isinstance(stage, Command)]
            group.items = head[0].words if head else ()
        group.steps, group.section = [], "body"

    def open(self, group: _OpenGroup) -> None:
        if len(self.groups) < _DEEPEST:
            self.groups.append(group)
            self.top = group

    def close(self) -> None:
        self.end_pipeline("")
        closed = self.groups.pop().closed()
        self.top = self.groups[-1]
        self.top.stages.append(closed)

    def end_command(self) -> None:
        group = self.top
        if group.words or group.assigns:
            command = Command(tuple(group.words), tuple(group.redirects), tuple(group.assigns))
            group.stages.append(self.unwrapped(command))
        elif group.redirects:
            last = group.stages[-1] if group.stages else None
            if isinstance(last, CompoundCommand):
                group.stages[-1] = last._replace(redirects=tuple(group.redirects))
            else:
                group.stages.append(Command((), tuple(group.redirects)))
        group.words, group.assigns, group.redirects = [], [], []
        self.pending = None

    def unwrapped(self, command: Command) -> Command | CompoundCommand:
        """Return the command inside its wrappers, or the group of the script of `bash -c "…"`."""
        command = unwrap(command)
        text = script_of(command) if self.nested < _NESTED_SCRIPTS else None
        if text is None:
            return command
        steps = _Parser(text, self.nested + 1).parse()
        return CompoundCommand("sh", body=steps, redirects=command.redirects, wrappers=command.wrappers)

    def end_pipeline(self, link: str) -> None:
        group = self.top
        self.end_command()
        group.piped = False
        if group.stages:
            group.steps.append(Pipeline(group.link, group.negated, tuple(group.stages)))
            group.stages, group.negated = [], False
            group.link = link
        elif link in ("&&", "||") or not group.steps:
            group.link = link if group.steps else ""


_OPENING = {"if": "test", "while": "test", "until": "test", "for": "head", "select": "head", "case": "head"}
_OPENING["{"] = "body"
_CLOSING = {"fi": ("if",), "done": ("for", "while", "until"), "esac": ("case",), "}": ("{",)}


def _inner_command(substitution: str) -> str:
    if substitution.startswith("`"):
        return substitution[1:-1]
    return substitution[2:-1] if substitution.endswith(")") else substitution[2:]


def _after_heredoc(text: str, at: int, mark: str) -> int:
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
    closing = [")"]
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
                at = _after_heredoc(text, line + 1, found["mark"]) if line >= 0 else at
    return at

"""The syntax of shell command lines: what would run, in which order and under which condition.

Tolerant and linear in the length of the text: any text gives a tree, nothing is ever executed. The
tree is at most `DEPTH` groups deep, so that its readers may recurse.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

from msgspec.structs import replace

from knowbound.traces.shell.tree import ASSIGNMENT, Command, Group, Hole, Redirect, Step, Word, script, unwrap

DEPTH = 24  # deeper groups are read as if their brackets were not there
NESTED = 4  # bash -c "bash -c …": deeper scripts stay opaque


_END = r"(?=[\s;|&()<>]|\Z)"
_TOKEN = re.compile(
    rf"""
    [^\S\n]*+(?:\\\r?\n[^\S\n]*+)*+  # space, and lines that go on in the next one
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
_PIECE = re.compile(
    r"""
      (?P<bare>[^\s'"\\$`;|&()<>]++)
    | '(?P<single>[^']*+)'
    | \$'(?P<ansi>(?:[^'\\]++|\\.)*+)'
    | \$?"(?P<double>[^"\\$`]*+)"
    | \\(?P<escape>.)
    | \$(?P<name>\w++|\{[^}]{0,300}\}|[@*\#?$!-])
    """,
    re.VERBOSE | re.DOTALL,
)
_IN_DOUBLE = re.compile(r'["\\`]|\$\(|\$(?P<name>\w++|\{[^}]{0,300}\}|[@*#?$!-])')
_IN_PARENS = re.compile(r"""[()'"\\`]|<<-?[ ]?(?P<here>\\?['"]?(?P<mark>[A-Za-z_]\w*)['"]?)""")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ANSI = {"n": "\n", "t": "\t", "r": "\r", "e": "\x1b", "a": "\a", "b": "\b", "0": "\0"}


def parse(text: str) -> tuple[Step, ...]:
    """The pipelines of a command line, in order."""
    return _remembered(text) if len(text) < 2_000 else _Parser(text, 0).parse()


@lru_cache(maxsize=1024)
def _remembered(text: str) -> tuple[Step, ...]:
    return _Parser(text, 0).parse()


@dataclass(slots=True)
class _Frame:
    """An open group: the list being read in it, and the sections already read."""

    word: str
    section: str = "body"
    chained: bool = False  # an elif: it closes together with its if
    test: tuple[Step, ...] = ()
    body: tuple[Step, ...] = ()
    items: tuple[Word, ...] = ()
    steps: list[Step] = field(default_factory=list)
    stages: list[Command | Group] = field(default_factory=list)
    words: list[Word] = field(default_factory=list)
    assigns: list[Word] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)
    link: str = ""
    negated: bool = False
    piped: bool = False  # the next stage of the pipeline is still to come

    def group(self) -> Group:
        """The group once it is closed."""
        steps = tuple(self.steps)
        if self.section == "other":
            return Group(self.word, self.test, self.body, steps, self.items)
        if self.section == "test":
            return Group(self.word, steps)
        return Group(self.word, self.test, steps, (), self.items)


class _Parser:
    def __init__(self, text: str, nested: int) -> None:
        self.text = text
        self.nested = nested
        self.at = 0
        self.top = _Frame("")  # the innermost open group
        self.frames = [self.top]
        self.pending: str | None = None  # a redirection that waits for its target
        self.heredocs: list[str] = []

    def parse(self) -> tuple[Step, ...]:
        text, size, match = self.text, len(self.text), _TOKEN.match
        while self.at < size:
            token = match(text, self.at)
            if token is None:  # never: the last alternative takes anything
                break
            self.at = token.end()
            kind = token.lastgroup
            if kind in ("plain", "single", "double"):
                self.word(Word(token[kind]), bare=kind == "plain")
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
        while len(self.frames) > 1:
            self.close()
        self.end_pipeline("")
        return tuple(self.top.steps)

    # ---- words

    def word(self, word: Word, *, bare: bool = False) -> None:
        frame = self.top
        frame.piped = False
        if self.pending is not None:
            self.redirect(self.pending, word.text)
            self.pending = None
        elif frame.words:
            if frame.words[0].text == "[[" and word.text == "]]":
                frame.words[0] = Word("[")
            frame.words.append(word)
            if frame.section == "head" and word.text == "in" and frame.word == "case":
                frame.section, frame.words = "pattern", []
        elif bare and self.reserved(word.text):
            pass
        elif ASSIGNMENT.match(word.text):
            frame.assigns.append(word)
        else:
            frame.words.append(word)

    def slow_word(self) -> Word:
        """A word of several pieces: quotes, escapes and expansions side by side."""
        text, pieces, holes, length = self.text, [""], [], 0
        while self.at < len(text):
            start = self.at
            piece = _PIECE.match(text, start)
            if piece is not None:
                self.at = piece.end()
                kind = piece.lastgroup or ""
                value = piece[kind]
                if kind == "name":
                    holes.append(Hole(length, length + len(value) + 1, value.strip("{}")))
                    value = "$" + value
                elif kind == "ansi":
                    value = _ESCAPED.sub(lambda found: _ANSI.get(found[1], found[1]), value)
                elif kind == "escape" and value == "\n":
                    value = ""
            elif text[start] == '"' or text.startswith('$"', start):
                value = self.double(start + 1 + (text[start] == "$"), length, holes)
            elif text[start] == "`" or text.startswith(("$(", "<(", ">("), start):
                value = self.substitution(start)
                holes.append(Hole(length, length + len(value), "", _inside(value)))
            elif text[start] in "'$\\":  # a quote that never closes, or a sign that stands for itself
                self.at = len(text) if text[start] == "'" else start + 1
                value = text[start + (text[start] == "'") : self.at]
            else:
                break
            pieces.append(value)
            length += len(value)
        return Word("".join(pieces), tuple(holes))

    def double(self, start: int, length: int, holes: list[Hole]) -> str:
        """The inside of "…" with expansions in it; `length` is the place in the word."""
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
                holes.append(Hole(length, length + len(value), found["name"].strip("{}")))
            else:
                value = self.substitution(found.start())
                holes.append(Hole(length, length + len(value), "", _inside(value)))
                at = self.at
            pieces.append(value)
            length += len(value)
        return "".join(pieces)

    def substitution(self, start: int) -> str:
        """`$(…)`, `<(…)` or a backquoted command, as written; moves behind it."""
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
        frame = self.top
        if frame.words and frame.words[0].text == "[[":
            frame.words.append(Word(sign))  # inside [[ … ]] they are only words
        elif sign == "(":
            if not frame.words:
                self.open(_Frame("("))
        elif sign == ")":
            if frame.section == "pattern":
                frame.words, frame.section = [], "body"
            elif frame.word == "(":
                self.close()
            else:
                self.end_pipeline(";")
        elif sign in ("|", "|&"):
            if frame.section == "pattern":
                frame.words = []
            else:
                self.end_command()
                frame.piped = True
        else:
            self.end_pipeline(sign if sign in ("&&", "||") else ";")
            if sign.startswith(";") and sign != ";" and frame.word == "case":
                frame.section = "pattern"

    def reserved(self, word: str) -> bool:
        """Act on a reserved word in command position; False where it is an ordinary word."""
        frame = self.top
        if word in _OPENING:
            self.open(_Frame("for" if word == "select" else word, _OPENING[word]))
        elif word == "!":
            frame.negated = not frame.negated
        elif word == "time":
            pass
        elif word == "then" and frame.word == "if":
            self.end_pipeline("")
            frame.test, frame.steps, frame.section = tuple(frame.steps), [], "body"
        elif word in ("else", "elif") and frame.word == "if" and frame.section == "body":
            self.end_pipeline("")
            frame.body, frame.steps, frame.section = tuple(frame.steps), [], "other"
            if word == "elif":
                self.open(_Frame("if", "test", chained=True))
        elif word == "do" and frame.section in ("head", "test"):
            self.do(frame)
        elif _CLOSING.get(word, ()) and frame.word in _CLOSING[word]:
            while self.top.chained:
                self.close()
            self.close()
        else:
            return False
        return True

    def do(self, frame: _Frame) -> None:
        self.end_pipeline("")
        if frame.section == "test":
            frame.test = tuple(frame.steps)
        else:
            head = [stage for step in frame.steps for stage in step.stages if isinstance(stage, Command)]
            frame.items = head[0].words if head else ()
        frame.steps, frame.section = [], "body"

    def open(self, frame: _Frame) -> None:
        if len(self.frames) < DEPTH:
            self.frames.append(frame)
            self.top = frame

    def close(self) -> None:
        self.end_pipeline("")
        group = self.frames.pop().group()
        self.top = self.frames[-1]
        self.top.stages.append(group)

    def end_command(self) -> None:
        frame = self.top
        if frame.words or frame.assigns:
            command = Command(tuple(frame.words), tuple(frame.redirects), tuple(frame.assigns))
            frame.stages.append(self.unwrapped(command))
        elif frame.redirects:
            last = frame.stages[-1] if frame.stages else None
            if isinstance(last, Group):
                frame.stages[-1] = replace(last, redirects=tuple(frame.redirects))
            else:
                frame.stages.append(Command((), tuple(frame.redirects)))
        frame.words, frame.assigns, frame.redirects = [], [], []
        self.pending = None

    def unwrapped(self, command: Command) -> Command | Group:
        """The command inside its wrappers; `bash -c "…"` becomes the group of its script."""
        command = unwrap(command)
        text = script(command) if self.nested < NESTED else None
        if text is None:
            return command
        steps = _Parser(text, self.nested + 1).parse()
        return Group("sh", body=steps, redirects=command.redirects, wrappers=command.wrappers)

    def end_pipeline(self, link: str) -> None:
        frame = self.top
        self.end_command()
        frame.piped = False
        if frame.stages:
            frame.steps.append(Step(frame.link, frame.negated, tuple(frame.stages)))
            frame.stages, frame.negated = [], False
            frame.link = link
        elif link in ("&&", "||") or not frame.steps:
            frame.link = link if frame.steps else ""


_OPENING = {"if": "test", "while": "test", "until": "test", "for": "head", "select": "head", "case": "head"}
_OPENING["{"] = "body"
_CLOSING = {"fi": ("if",), "done": ("for", "while", "until"), "esac": ("case",), "}": ("{",)}


def _inside(substitution: str) -> str:
    """The command in `$(…)`, `<(…)` or backquotes."""
    if substitution.startswith("`"):
        return substitution[1:-1]
    return substitution[2:-1] if substitution.endswith(")") else substitution[2:]


def _after_heredoc(text: str, at: int, mark: str) -> int:
    """Behind the line that ends a here-document, or the end of the text as in the shell."""
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        if text[at:end].strip() == mark:
            return min(end + 1, len(text))
        at = end + 1
    return len(text)


def _after_parens(text: str, at: int) -> int:
    """Behind the bracket that closes the one before `at`; quotes and here-documents are stepped over."""
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

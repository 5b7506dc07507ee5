"""Parser of shell command lines into pipelines of commands; nothing is executed.

Every text has a tree, parsed in time linear in its length; groups are at most `_DEEPEST` deep, so that callers may
recurse.
"""

from __future__ import annotations

import re
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
        return (Pipeline("", negated=False, stages=(Command((ShellWord(text[:100]),)),)),)
    return _cached(text) if len(text) < _SHORT else _Parser(text, 0).parse()


@lru_cache(maxsize=512)  # several readers of a session parse the same line
def _cached(text: str) -> tuple[Pipeline, ...]:
    return _Parser(text, 0).parse()


class _Parser:
    """A recursive parser with one token at hand: a word, or an operator, a redirection or a new line."""

    def __init__(self, text: str, nested: int) -> None:
        self.text = text
        self.nested = nested
        self.at = 0
        self.depth = 0  # of groups
        self.heredocs: list[str] = []
        self.word: ShellWord | None = None
        self.operator = ""  # "" for a word and at the end
        self.is_redirect = False
        self.bare = ""  # the operator, or a word without quotes: only that can be reserved
        self.ended_by = ""  # what ended the last list

    def parse(self) -> tuple[Pipeline, ...]:
        self.advance()
        return self.steps()

    def advance(self) -> None:
        """Go on to the next token."""
        text, size = self.text, len(self.text)
        self.word, self.operator, self.bare, self.is_redirect = None, "", "", False
        while self.at < size:
            token = _TOKEN.match(text, self.at)
            assert token is not None  # the last alternative matches everything
            self.at = token.end()
            kind = token.lastgroup
            if kind == "plain":
                self.bare = token["plain"]
                self.word = ShellWord(self.bare)
                return
            if kind in ("single", "double"):
                self.word = ShellWord(token[kind])
                return
            if kind in ("operator", "redirect", "newline"):
                self.operator = self.bare = token[kind]
                self.is_redirect = kind == "redirect"
                if kind == "newline" and self.heredocs:
                    self.skip_heredocs()
                return
            if kind == "other" and self.at < size:
                self.word = self.slow_word()
                return

    # ---- lists and groups

    def steps(self, *ends: str) -> tuple[Pipeline, ...]:
        """Read pipelines up to one of these reserved words and brackets, or to the end."""
        steps: list[Pipeline] = []
        link = self.ended_by = ""
        while self.word is not None or self.operator:
            if self.bare in ends:
                self.ended_by = self.bare
                self.advance()
                break
            step = self.pipeline(link)
            if step.stages:
                steps.append(step)
                link = ";"
            if self.operator in ("&&", "||"):
                link = self.operator if steps else ""
            if self.operator in _SEPARATORS and self.operator not in ends:
                self.advance()
        return tuple(steps)

    def pipeline(self, link: str) -> Pipeline:
        """Read commands and groups that are joined by `|`; `link` is the operator before the first."""
        negated, stages = False, list[Command | CompoundCommand]()
        while True:
            is_group = self.bare in _GROUPS
            if self.bare in ("!", "time") or (is_group and self.depth >= _DEEPEST):
                negated ^= self.bare == "!"
                self.advance()
                continue
            stage = self.group() if is_group else self.command()
            stages += [stage] if stage else []
            if self.operator not in ("|", "|&"):
                return Pipeline(link, negated, tuple(stages))
            self.advance()
            while self.operator == "\n":
                self.advance()

    def group(self) -> CompoundCommand:
        """Read a group with the redirections behind it."""
        word, depth = self.bare, self.depth
        self.depth += 1
        self.advance()
        group = self.group_body(word)
        self.depth = depth
        redirects = list[Redirect]()
        while self.is_redirect:
            self.redirect(redirects)
        return group._replace(redirects=tuple(redirects))

    def group_body(self, word: str) -> CompoundCommand:
        """Read a group after its first word."""
        if word == "if":
            deeper = ("elif",) if self.depth < _DEEPEST else ()
            test, body = self.steps("then"), self.steps("else", "fi", *deeper)
            other: tuple[Pipeline, ...] = ()
            if self.ended_by == "else":
                other = self.steps("fi")
            elif self.ended_by == "elif":
                self.depth += 1
                other = (Pipeline("", negated=False, stages=(self.group_body("if"),)),)
            return CompoundCommand(word, test, body, other)
        if word in ("while", "until"):
            return CompoundCommand(word, self.steps("do"), self.steps("done"))
        if word in ("for", "select"):
            self.steps("do")  # the name and what it takes on
            return CompoundCommand("for", body=self.steps("done"))
        if word == "case":
            return CompoundCommand(word, body=self.cases())
        return CompoundCommand(word, body=self.steps(")" if word == "(" else "}"))

    def cases(self) -> tuple[Pipeline, ...]:
        """Read the lists of all cases as one list; their patterns are passed over."""
        body: tuple[Pipeline, ...] = ()
        while (self.word is not None or self.operator) and self.bare != "esac":
            is_pattern_end = self.operator == ")"
            self.advance()
            if is_pattern_end:
                body += self.steps(";;", ";&", ";;&", "esac")
                if self.ended_by == "esac":
                    return body
        self.advance()
        return body

    def command(self) -> Command | CompoundCommand | None:
        """Read a simple command; None if there is none before the next operator."""
        words, assigns, redirects = list[ShellWord](), list[ShellWord](), list[Redirect]()
        is_test = False  # inside [[ … ]] operators are only words
        while True:
            word = self.word
            if word is not None:
                if words or not ASSIGNMENT.match(word.text):
                    words.append(word)
                else:
                    assigns.append(word)
                if word.text == "]]" and is_test:
                    words[0], is_test = ShellWord("["), False
                elif word.text == "[[":
                    is_test |= len(words) == 1
            elif self.is_redirect:
                self.redirect(redirects)
                continue
            elif is_test and self.operator not in ("", "\n"):
                words.append(ShellWord(self.operator))
            elif not words or self.operator != "(":  # the bracket of a function
                break
            self.advance()
        command = Command(tuple(words), tuple(redirects), tuple(assigns))
        return self.unwrapped(command) if words or assigns else command if redirects else None

    def redirect(self, redirects: list[Redirect]) -> None:
        """Read a redirection; one without a target counts for nothing."""
        operator = self.operator.lstrip("0123456789")
        fd = self.operator[: len(self.operator) - len(operator)]
        self.advance()
        if self.word is not None:
            redirects.append(Redirect(fd, operator, self.word.text))
            self.heredocs += [self.word.text] if operator in ("<<", "<<-") else []
            self.advance()

    def skip_heredocs(self) -> None:
        for mark in self.heredocs:
            self.at = _after_heredoc(self.text, self.at, mark)
        self.heredocs = []

    def unwrapped(self, command: Command) -> Command | CompoundCommand:
        """Return the command inside its wrappers, or the group of the script of `bash -c "…"`."""
        command = unwrap(command)
        text = script_of(command) if self.nested < _NESTED_SCRIPTS else None
        if text is None:
            return command
        steps = _Parser(text, self.nested + 1).parse()
        return CompoundCommand("sh", body=steps, redirects=command.redirects, wrappers=command.wrappers)

    # ---- words of several pieces

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
                expansions.append(Expansion(length, length + len(value), ""))
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
                expansions.append(Expansion(length, length + len(value), ""))
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


_GROUPS = frozenset({"(", "{", "if", "while", "until", "for", "select", "case"})
_SEPARATORS = frozenset({";", "&", "&&", "||", ";;", ";&", ";;&", ")", "\n"})


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

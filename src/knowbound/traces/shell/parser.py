"""The tree of a shell command line, lists of pipelines of commands, and its parser; nothing is executed.

Every text has a tree, parsed in time linear in its length; groups are at most `_DEEPEST` deep, so that callers may
recurse.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from knowbound.core.lazy_pattern import lazy

_ASSIGNMENT = lazy(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=")
LONGEST = 20_000  # characters; a longer line is one unknown command
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


class Expansion(NamedTuple):
    """A part of a word that the shell replaces by a value."""

    start: int
    end: int
    name: str  # of a variable; "" for the output of a command


class ShellWord(NamedTuple):
    """A word without its quotes; its expansions are as they were written."""

    text: str
    expansions: tuple[Expansion, ...] = ()


class Redirect(NamedTuple):
    """A redirection: `2>/dev/null` has fd "2", operator ">", target "/dev/null"."""

    fd: str
    operator: str
    target: str


class Command(NamedTuple):
    """A program with its arguments, without wrappers such as `sudo` and `timeout`."""

    words: tuple[ShellWord, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    assigns: tuple[ShellWord, ...] = ()
    wrappers: tuple[str, ...] = ()

    @property
    def program(self) -> str:
        """The name of the program without its folder."""
        if not self.words:
            return ""
        name = self.words[0].text
        return name.rsplit("/", 1)[-1].lstrip("\\") if "/" in name or "\\" in name else name

    @property
    def texts(self) -> list[str]:
        """The arguments."""
        return [word.text for word in self.words[1:]]


class CompoundCommand(NamedTuple):
    """A compound command: `(`, `{`, for, while, until, if, case, or sh for `bash -c "…"`."""

    word: str
    test: tuple[Pipeline, ...] = ()  # the condition of if and while
    body: tuple[Pipeline, ...] = ()
    other: tuple[Pipeline, ...] = ()  # else
    redirects: tuple[Redirect, ...] = ()
    wrappers: tuple[str, ...] = ()


class Pipeline(NamedTuple):
    """A pipeline in a list, and the operator before it: "", ";", "&&" or "||"."""

    link: str
    negated: bool
    stages: tuple[Command | CompoundCommand, ...]


def commands(pipelines: tuple[Pipeline, ...]) -> Iterator[Command]:
    """Yield every simple command in the tree, in the order of the text."""
    for pipeline in pipelines:
        for stage in pipeline.stages:
            if isinstance(stage, Command):
                yield stage
            else:
                for part in (stage.test, stage.body, stage.other):
                    yield from commands(part)


@lru_cache(maxsize=256)  # several readers of a session parse the same line
def parse(text: str) -> tuple[Pipeline, ...]:
    """Return the pipelines of a command line, in order."""
    if len(text) > LONGEST:
        return (Pipeline("", negated=False, stages=(Command((ShellWord(text[:100]),)),)),)  # one unknown program
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
                from knowbound.traces.shell.words import read_word  # noqa: PLC0415  # most words have one piece

                self.word, self.at = read_word(self.text, self.at)
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
                link = ";"  # unless an operator follows
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
                continue  # a group that is too deep is read without its brackets
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
                if words or not _ASSIGNMENT.match(word.text):
                    words.append(word)
                else:
                    assigns.append(word)
                if word.text == "]]" and is_test:
                    words[0], is_test = ShellWord("["), False  # read as `[ … ]`
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
        """Go on after the here-documents that this line announced."""
        from knowbound.traces.shell.words import after_heredoc  # noqa: PLC0415  # few lines have one

        for mark in self.heredocs:
            self.at = after_heredoc(self.text, self.at, mark)
        self.heredocs = []

    def unwrapped(self, command: Command) -> Command | CompoundCommand:
        """Return the command inside its wrappers, or the group of the script of `bash -c "…"`."""
        command = _unwrap(command)
        text = _script_of(command) if self.nested < _NESTED_SCRIPTS else None
        if text is None:
            return command
        steps = _Parser(text, self.nested + 1).parse()
        return CompoundCommand("sh", body=steps, redirects=command.redirects, wrappers=command.wrappers)


_GROUPS = frozenset({"(", "{", "if", "while", "until", "for", "select", "case"})
_SEPARATORS = frozenset({";", "&", "&&", "||", ";;", ";&", ";;&", ")", "\n"})


# ---- wrappers: programs that run the program named in their arguments

# For each wrapper its options that take a value, and the number of operands before the program.
_WRAPPERS: dict[str, tuple[str, int]] = {
    # rtk is a proxy that shortens the output of the program it runs.
    **dict.fromkeys(("nohup", "setsid", "builtin", "command", "noglob", "rtk", "busybox"), ("", 0)),
    "sudo": ("-u -g -h -p -C -D", 0),
    "doas": ("-u", 0),
    "env": ("-u -C -S", 0),
    "nice": ("-n", 0),
    "ionice": ("-c -n", 0),
    "stdbuf": ("-i -o -e", 0),
    "exec": ("-a", 0),
    "time": ("-f -o", 0),
    **dict.fromkeys(("timeout", "gtimeout"), ("-s --signal -k --kill-after", 1)),
    "xargs": ("-I -i -n -P -L -d -s -a -E --max-args --max-procs", 0),
    "parallel": ("-j -n", 0),
    **dict.fromkeys(("docker exec", "podman exec"), ("-e -u -w --env --user --workdir", 1)),
    "kubectl exec": ("-c -n --container --namespace", 1),
    "ssh": ("-i -p -l -o -F -J -L -R -D", 1),
}
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "ash"})


def _unwrap(command: Command) -> Command:
    """Return the command inside `sudo`, `timeout 5`, `xargs`, …."""
    for _ in range(4):  # more wrappers are not stacked in practice
        words, name = command.words, command.program
        if name in ("docker", "podman", "kubectl") and len(words) > 1 and words[1].text == "exec":
            words, name = words[1:], name + " exec"  # `docker exec`: two words name the wrapper
        if name not in _WRAPPERS or (name == "command" and len(words) > 1 and words[1].text in ("-v", "-V")):
            break
        inner_words = _inner_words(words[1:], *_WRAPPERS[name])
        if not inner_words and name != "xargs":  # xargs alone prints
            break
        if name == "ssh" and len(inner_words) == 1:
            inner_words = (ShellWord("sh"), ShellWord("-c"), inner_words[0])
        command = Command(inner_words, command.redirects, command.assigns, (*command.wrappers, name))
    return command


def _inner_words(words: tuple[ShellWord, ...], valued: str, operands: int) -> tuple[ShellWord, ...]:
    """Return the words after a wrapper's own options, assignments and operands."""
    at = 0
    while at < len(words):
        text = words[at].text
        if text == "--" or _ASSIGNMENT.match(text):
            at += 1
        elif text.startswith("-") and len(text) > 1:
            at += 2 if text in valued.split() else 1
        elif operands:
            operands -= 1
            at += 1
        else:
            break
    return words[at:]


def _script_of(command: Command) -> str | None:
    """Return the script in `bash -lc "…"`; None for other commands."""
    if command.program not in _SHELLS:
        return None
    words = command.texts
    for at, word in enumerate(words):
        if not word.startswith("-"):
            return None
        if "c" in word and not word.startswith("--"):
            return words[at + 1] if at + 1 < len(words) else None
    return None

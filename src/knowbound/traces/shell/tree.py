"""The tree of a shell command line: lists of pipelines of commands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from knowbound.core.lazy_pattern import lazy

ASSIGNMENT = lazy(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=")


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

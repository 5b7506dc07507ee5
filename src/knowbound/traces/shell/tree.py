"""The tree of a shell command line: lists of pipelines of commands, their wrappers and their arguments."""

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


def unwrap(command: Command) -> Command:
    """Return the command inside `sudo`, `timeout 5`, `xargs`, …."""
    for _ in range(4):  # more wrappers are not stacked in practice
        words, name = command.words, command.program
        if name in ("docker", "podman", "kubectl") and len(words) > 1 and words[1].text == "exec":
            words, name = words[1:], name + " exec"
        if name not in _WRAPPERS or (name == "command" and len(words) > 1 and words[1].text in ("-v", "-V")):
            break
        inner_words = _inner_words(words[1:], *_WRAPPERS[name])
        if not inner_words and name != "xargs":
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
        if text == "--":
            at += 1
        elif text.startswith("-") and len(text) > 1:
            at += 2 if text in valued.split() else 1
        elif ASSIGNMENT.match(text):
            at += 1
        elif operands:
            operands -= 1
            at += 1
        else:
            break
    return words[at:]


def script_of(command: Command) -> str | None:
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


# ---- arguments


class Arguments(NamedTuple):
    """Arguments of a program: options, their values, operands."""

    flags: frozenset[str]
    values: dict[str, list[str]]
    operands: list[str]

    def has(self, *names: str) -> bool:
        """Report whether one of the options was given, with or without a value."""
        return any(name in self.flags or name in self.values for name in names)

    def valued(self, *names: str) -> list[str]:
        """Return the values of these options."""
        return [value for name in names for value in self.values.get(name, ())]


def arguments(words: list[str], short: str = "", long: frozenset[str] = frozenset()) -> Arguments:
    """Split arguments as getopt does; `short` and `long` name the options that take a value."""
    flags: set[str] = set()
    values: dict[str, list[str]] = {}
    operands: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word == "--":
            operands += words[at:]
            break
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            if equals:
                values.setdefault(name, []).append(value)
            elif name in long and at < len(words):
                values.setdefault(name, []).append(words[at])
                at += 1
            else:
                flags.add(name)
        elif word.startswith("-") and len(word) > 1:
            for position, letter in enumerate(word[1:], 2):
                if letter not in short:
                    flags.add(letter)
                    continue
                value = word[position:]
                if not value and at < len(words):
                    value = words[at]
                    at += 1
                values.setdefault(letter, []).append(value)
                break
        else:
            operands.append(word)
    return Arguments(frozenset(flags), values, operands)

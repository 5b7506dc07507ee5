"""Command lines as people would write them down, and what a program prints that was called wrongly.

A line is written relative, without redirects, messages and throw-away parts.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from knowbound.core.knowledge_paths import relative_to
from knowbound.core.lazy_pattern import lazy
from knowbound.text.printable import both_ends
from knowbound.traces.shell.parser import Command, commands, parse

_LONGEST_LINE = 4_000  # characters of a command line that are read
_LONGEST_WORD, _MOST_WORDS = 60, 10
_PLAIN = lazy(r"[\w@%+=:,./*~-]+")
_RUNNERS = lazy(r"(?:npm|pnpm|yarn|bun|mise|deno|poe|hatch|pdm|rye|composer)(?: run)?|make|just|task|rake|nox")
_OWN_COMMANDS = frozenset(
    "install add remove exec dlx x create init link publish update upgrade outdated why list ls use trust i ci "
    "filter --filter -r --parallel build".split()
)
# Programs of every machine: how they are called says nothing about a project.
MACHINE = frozenset(
    "cat sed awk grep egrep rg find ls cd echo head tail wc sort uniq cut tr xargs tee cp mv mkdir touch chmod ln rm "
    "which type export source sleep kill ps printf test true false read set pwd date env diff curl wget jq python3 "
    "python node perl open lsof tree stat du file basename dirname for while if command pgrep pkill od xxd".split()
)
_PROXIES = frozenset({"rtk"})  # wrappers that know only some of the programs that they are put in front of
_GIT_LOOKS = frozenset("status diff log show branch add stash fetch rev-parse remote config checkout blame".split())
_MISUSED = lazy(
    r"""(?:unrecognized\ (?:sub)?command|unknown\ (?:sub)?command|no\ such\ (?:sub)?command
    |script\ not\ found
    |missing\ script|command\ not\ found|is\ not\ a\ (?:valid\ |known\ )?(?:command|task|script|subcommand|recipe)
    |no\ module\ named|no\ rule\ to\ make\ target|ERR_PNPM_NO_SCRIPT|no\ projects\ matched|couldn't\ find\ a\ script
    |no\ task\b[^\n]{0,30}\bfound|task\b[^\n]{0,40}\bdoes\ not\ exist)""",
    re.IGNORECASE | re.VERBOSE,
)
_CHARACTERS_BEFORE, _CHARACTERS_AFTER = 60, 100  # characters of that line that are kept
LOOKED_THROUGH = 12_000  # characters of an output: half at its beginning, half at its end


class Invocation(NamedTuple):
    """One program with its arguments, as one would type it."""

    words: tuple[str, ...]
    wrapper: str = ""  # a program in front that runs it, other than those of every shell

    @property
    def text(self) -> str:
        """The command line as a person would type it."""
        return " ".join((self.wrapper, *self.words) if self.wrapper else self.words)

    @property
    def is_work(self) -> bool:
        """True for a build, a test or a commit, not for a look around."""
        program = self.words[0]
        if program == "git":
            return len(self.words) > 1 and self.words[1] not in _GIT_LOOKS
        if program in ("python", "python3"):
            return self.words[1:2] == ("-m",)
        return program not in MACHINE


@lru_cache(maxsize=4096)
def read_line(command: str, project: str) -> tuple[Invocation, ...]:
    """The invocations of a command line that do something; what reads another's output is left out."""
    firsts = (line._replace(stages=line.stages[:1]) for line in parse(command[:_LONGEST_LINE]))
    invocations = (_invocation(command, project) for first in firsts for command in commands((first,)))
    return tuple(invocation for invocation in invocations if invocation is not None and invocation.is_work)


def _invocation(command: Command, project: str) -> Invocation | None:
    """Return the command up to its first word that is long, quoted or expanded; None if that is the first one."""
    words: list[str] = []
    for word in command.words[:_MOST_WORDS]:
        text = relative_to(word.text, project)
        if word.expansions or len(text) > _LONGEST_WORD or not _PLAIN.fullmatch(text):
            break
        words.append(text)
    if not words:
        return None
    if words[0] == "git" and len(words) > 1:
        words = words[:2]  # messages, branches and files are of one commit
    wrapper = next((wrapper for wrapper in command.wrappers if wrapper in _PROXIES), "")
    return Invocation(tuple(words), wrapper)


def script_name(text: str) -> str:
    """The script or target that a task runner is asked for: `bun run lint:fix` → lint:fix; "" for other commands."""
    found = _RUNNERS.match(text)
    if found is None or text[found.end() : found.end() + 1] != " ":
        return ""
    name = text[found.end() + 1 :].partition(" ")[0]
    return "" if name.startswith("-") or (name in _OWN_COMMANDS and " run" not in found[0]) else name


def misused_line(output: str) -> str:
    """The line that says that a command was called wrongly; "" where none does."""
    shown = both_ends(output, LOOKED_THROUGH, "\n")
    found = _MISUSED.search(shown)
    if found is None:
        return ""
    before = shown[max(0, found.start() - _CHARACTERS_BEFORE) : found.start()].rpartition("\n")[2]
    after = shown[found.end() : found.end() + _CHARACTERS_AFTER].partition("\n")[0]
    return " ".join(f"{before}{found[0]}{after}".split())

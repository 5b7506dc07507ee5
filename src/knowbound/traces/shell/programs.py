"""Roles of single commands: searching, listing and reading programs, and what else prints or changes something."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from itertools import islice
from typing import NamedTuple

from knowbound.core.tool_kinds import Syntax, ToolKind
from knowbound.traces.shell.parser import Command


class ProgramRole(StrEnum):
    """Role of a command, by its output."""

    LOOKUP = "lookup"  # searches, lists or reads files and names
    TEXT = "text"  # prints history, package lists, pages; with grep, a search
    KNOWLEDGE = "knowledge"  # prints documentation or lists files; with grep, a search as in files
    FILTER = "filter"  # passes on a part of what it is given
    COUNT = "count"  # passes on the number of lines
    PRINT = "print"  # prints a text that the command line contains
    QUIET = "quiet"  # prints nothing when it succeeds
    SHOW = "show"  # prints the state of programs and machines
    ACT = "act"  # everything else: builds, tests, edits, waits for a state (sleep)


class ParsedCommand(NamedTuple):
    """A command with its role and, for a lookup, its query and its places."""

    role: ProgramRole
    kind: ToolKind = ToolKind.SHELL
    query: str = ""
    operands: tuple[str, ...] = ()  # the files and folders it names
    prints_count: bool = False  # prints numbers: grep -c
    is_silent: bool = False  # prints nothing, only its exit status decides: grep -q, test
    lists_paths: bool = False  # prints one path per line: find, grep -l
    is_inverted: bool = False  # grep -v, test ! -e
    program: str = ""
    syntax: Syntax | None = None  # of its pattern; None without a pattern
    is_state: bool = False  # asks for the state of programs and services, not for knowledge of a project


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# ---- arguments


class Arguments(NamedTuple):
    """Arguments of a program: its options with their values, and its operands."""

    options: dict[str, list[str]]
    operands: list[str]

    def has(self, *names: str) -> bool:
        """Report whether one of the options was given, with or without a value."""
        return any(name in self.options for name in names)

    def valued(self, *names: str) -> list[str]:
        """Return the values of these options."""
        return [value for name in names for value in self.options.get(name, ())]


def arguments(words: list[str], short: str = "", long: frozenset[str] = frozenset()) -> Arguments:
    """Split arguments as getopt does; `short` and `long` name the options that take a value."""
    options: dict[str, list[str]] = {}
    operands: list[str] = []
    left = iter(words)
    for word in left:
        if word == "--":
            operands += left
        elif word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            values = [value] if equals else list(islice(left, 1)) if name in long else []
            options.setdefault(name, []).extend(values)
        elif word.startswith("-") and len(word) > 1:
            for position, letter in enumerate(word[1:], 2):  # its value follows, or is the next word
                values = options.setdefault(letter, [])
                if letter in short:
                    values.append(word[position:] or next(left, ""))
                    break
        else:
            operands.append(word)
    return Arguments(options, operands)


# ---- searching by content

_CONTEXT = "after-context before-context context max-count regexp file color colour "
# For each program that reads options with values: their letters, then their long names.
_VALUED = {
    "grep": "ABCDdefm include exclude exclude-dir exclude-from label binary-files directories devices " + _CONTEXT,
    "rg": "ABCEMTefgjmrtd glob iglob type type-not type-add max-depth max-columns max-filesize replace sort sortr "
    "threads encoding engine pre pre-glob ignore-file context-separator colors path-separator " + _CONTEXT,
    "ag": "ABCGmpW after before context depth ignore ignore-dir file-search-regex max-count pager",
    "ack": "ABCmg after-context before-context context max-count type ignore-dir ignore-file",
    "fd": "eEtdxXjSc extension exclude type max-depth min-depth exec exec-batch threads size color base-directory",
    "tree": "LPIo max-depth level ignore ignore-glob hide",
    "ls": "IwT ignore ignore-glob hide",
    "du": "d max-depth",
    "head": "nc lines bytes",
    "tail": "nc lines bytes",
    "cut": "dfbc delimiter",
    "sort": "kto",
    "xxd": "lsc",
    "od": "ANjt",
    "bat": "rl line-range language",
    "sed": "efl expression file",
    "awk": "Fvf expression file field-separator assign",
    "jq": "fL file indent",
}
_SAME_OPTIONS = {
    **dict.fromkeys(_words("egrep fgrep zgrep bzgrep xzgrep ggrep pgrep-files ugrep ug"), "grep"),
    **{"rga": "rg", "ripgrep": "rg", "ack-grep": "ack", "fdfind": "fd", "batcat": "bat"},
    **dict.fromkeys(_words("gsed gawk mawk yq"), "awk"),
}
_OPTIONS = {name: (text.split()[0], frozenset(text.split()[1:])) for name, text in _VALUED.items()}


def arguments_of(command: Command, words: list[str]) -> Arguments:
    """Return the arguments of a program, with the values of those options that take one."""
    name = command.program
    return arguments(words, *_OPTIONS.get(_SAME_OPTIONS.get(name, name), ("", frozenset())))


def search(command: Command, words: list[str]) -> ParsedCommand:
    """Read grep and similar programs: the first operand is the pattern unless -e or -f gives it."""
    options, table = arguments_of(command, words), _SAME_OPTIONS.get(command.program, command.program)
    operands = options.operands
    patterns = options.valued("e", "regexp")
    if table == "rg" and options.has("files"):
        globs = [glob for glob in options.valued("g", "glob", "iglob") if not glob.startswith("!")]
        kind = ToolKind.SEARCH if globs else ToolKind.LIST
        return lookup(command, kind, " ".join(globs), operands)._replace(lists_paths=True)
    if table == "ag" and options.has("g"):  # `ag -g x` lists files by name
        patterns = patterns or operands[:1]
    if not patterns and not options.has("f", "file") and operands:
        patterns, operands = operands[:1], operands[1:]
    return lookup(command, ToolKind.SEARCH, " | ".join(patterns), operands)._replace(
        syntax=_syntax(command.program, table, options),
        prints_count=options.has("c", "count", "count-matches"),
        is_silent=options.has("q", "quiet", "silent"),
        lists_paths=options.has("l", "L", "files-with-matches", "files-without-match", "name-only"),
        is_inverted=options.has("v", "invert-match"),
    )


def _syntax(program: str, table: str, options: Arguments) -> Syntax | None:
    """Return the syntax of a pattern; None if ripgrep's faults do not apply to it (`--multiline`)."""
    if program == "fgrep" or options.has("F", "fixed-strings", "Q", "literal"):
        return Syntax.FIXED
    if table in ("ag", "ack") or options.has("P", "perl-regexp", "pcre2"):
        return Syntax.PERL
    if table == "rg":
        return None if options.has("U", "multiline") else Syntax.RUST
    return Syntax.EXTENDED if program == "egrep" or options.has("E", "extended-regexp") else Syntax.BASIC


def lookup(command: Command, kind: ToolKind, query: str, operands: list[str]) -> ParsedCommand:
    """Return a lookup, with the operands that name something."""
    named = tuple(operand for operand in operands if operand not in ("-", "{}"))
    return ParsedCommand(ProgramRole.LOOKUP, kind, query, named, program=command.program)


# ---- searching by name


def _names(command: Command, words: list[str]) -> ParsedCommand:
    """Read `which`, `type`, `command -v`, `locate`: the operands are names, not paths."""
    names = [word for word in words if not word.startswith("-")]
    return lookup(command, ToolKind.SEARCH, " ".join(names), [])._replace(is_state=command.program in _PROGRAM_PLACES)


_PROGRAM_PLACES = _words("which whereis type command hash")


# ---- listing and reading


def _list(command: Command, words: list[str]) -> ParsedCommand:
    operands = arguments_of(command, words).operands
    return lookup(command, ToolKind.LIST, "", operands)._replace(is_state=command.program == "stat")


def _read(command: Command, words: list[str]) -> ParsedCommand:
    """Read `cat`, `head` and similar programs, which read files, or the pipe if no file is named."""
    operands = [word for word in arguments_of(command, words).operands if not (word[:1] == "+" and word[1:].isdigit())]
    operands += [redirect.target for redirect in command.redirects if redirect.operator == "<"]
    if any(redirect.operator == "<<" for redirect in command.redirects) or not operands:
        role = ProgramRole.COUNT if command.program == "wc" else ProgramRole.FILTER
        return ParsedCommand(role, program=command.program)
    return lookup(command, ToolKind.READ, "", operands)


# Programs that are read alike.
_BY_READER: dict[Callable[[Command, list[str]], ParsedCommand], str] = {
    search: "grep egrep fgrep zgrep bzgrep xzgrep ggrep pgrep-files ugrep ug rg rga ripgrep ag ack ack-grep",
    _names: "which whereis type locate mlocate plocate mdfind command",
    _list: "ls tree exa eza lsd dir vdir stat file readlink realpath du gls Get-ChildItem",
    _read: "cat bat batcat head tail less more nl tac strings xxd od hexdump zcat gzcat wc cut sort uniq "
    "column rev fold fmt paste tr basename dirname md5sum sha256sum expand pbpaste",
}
_READERS = {name: reader for reader, names in _BY_READER.items() for name in names.split()}
_EXPRESSIONS = _words("find gfind fd fdfind sed gsed awk gawk mawk jq yq test [ [[")
_ROLES = {
    ProgramRole.PRINT: "echo printf",
    ProgramRole.QUIET: "cd pushd popd true false : mkdir rm mv cp touch chmod chown ln rmdir wait kill pkill killall "
    "unset source . shopt setopt unsetopt trap return exit read local declare typeset readonly disown "
    "break continue shift umask ulimit let tput clear",
    ProgramRole.SHOW: "pwd date whoami uname hostname id ps top lsof netstat ss df free uptime history jobs nproc arch "
    "sw_vers diff cmp comm seq tmux pgrep crontab mount ifconfig ip launchctl sqlite3 psql mysql redis-cli",
    ProgramRole.KNOWLEDGE: "man info tldr apropos",
    ProgramRole.FILTER: "tee xargs perl",
}
_ROLE = {name: role for role, names in _ROLES.items() for name in names.split()}
_SETTINGS = _words("export set env alias hash printenv")  # alone they print the settings; `set -e` changes them


def describe(command: Command) -> ParsedCommand:
    """Return the role of a simple command."""
    name, words = command.program, command.texts
    if not name:
        return ParsedCommand(ProgramRole.QUIET)
    if words and words[-1] == "--help" and _READERS.get(name) is not search:  # grep may search for it
        return ParsedCommand(ProgramRole.KNOWLEDGE, program=name)
    if name in _READERS:
        return _READERS[name](command, words)
    if name in _EXPRESSIONS:
        from knowbound.traces.shell.expressions import describe_expression  # noqa: PLC0415  # hooks load few programs

        return describe_expression(command, words)
    if name in _SETTINGS:
        role = ProgramRole.QUIET if words and name != "printenv" else ProgramRole.SHOW  # set, or shown
        return ParsedCommand(role, program=name)
    if name in _ROLE:
        return ParsedCommand(_ROLE[name], program=name)
    if name.lower() == "select-string":
        return lookup(command, ToolKind.SEARCH, " ".join(words[-1:]), [])
    if name.lower() == "findstr":
        plain = [word for word in words if not word.startswith("/")]
        return lookup(command, ToolKind.SEARCH, " ".join(plain[:1]), plain[1:])
    from knowbound.traces.shell.services import describe_service  # noqa: PLC0415  # lines that look up files need none

    return describe_service(command, words)

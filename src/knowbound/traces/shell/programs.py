"""Roles of single commands: tables of searching, listing and reading programs and their options."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum

import msgspec
from msgspec.structs import replace

from knowbound.core.lazy_pattern import lazy
from knowbound.core.trace import ToolKind
from knowbound.traces.patterns import Syntax
from knowbound.traces.shell.tree import Arguments, Command, arguments


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
    ACT = "act"  # everything else: builds, tests, edits


class ParsedCommand(msgspec.Struct, frozen=True, gc=False):
    """A command with its role and, for a lookup, its query and its places."""

    role: ProgramRole
    kind: ToolKind = ToolKind.SHELL
    query: str = ""
    operands: tuple[str, ...] = ()  # the files and folders it names
    counts: bool = False  # prints numbers: grep -c
    silent: bool = False  # prints nothing, only its exit status decides: grep -q, test
    lists_paths: bool = False  # prints one path per line: find, grep -l
    inverted: bool = False  # grep -v, test ! -e
    program: str = ""
    syntax: Syntax | None = None  # of its pattern; None without a pattern
    is_state: bool = False  # asks for the state of programs and services, not for knowledge of a project


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# ---- searching by content

_CONTEXT = "after-context before-context context max-count regexp file color colour "
# Short and long options that take a value.
_SEARCHERS: dict[str, tuple[str, frozenset[str]]] = {
    "grep": (
        "ABCDdefm",
        _words(_CONTEXT + "include exclude exclude-dir exclude-from label binary-files directories devices"),
    ),
    "rg": (
        "ABCEMTefgjmrtd",
        _words(
            _CONTEXT + "glob iglob type type-not type-add max-depth max-columns max-filesize replace sort "
            "sortr threads encoding engine pre pre-glob ignore-file context-separator colors path-separator"
        ),
    ),
    "ag": ("ABCGmpW", _words("after before context depth ignore ignore-dir file-search-regex max-count pager")),
    "ack": ("ABCmg", _words("after-context before-context context max-count type ignore-dir ignore-file")),
}
_GREPS = dict.fromkeys(_words("grep egrep fgrep zgrep bzgrep xzgrep ggrep pgrep-files ugrep ug"), "grep")
_GREPS |= {"rg": "rg", "rga": "rg", "ripgrep": "rg", "ag": "ag", "ack": "ack", "ack-grep": "ack"}


def _search(command: Command, words: list[str], table: str) -> ParsedCommand:
    """Read grep and similar programs: the first operand is the pattern unless -e or -f gives it."""
    given = arguments(words, *_SEARCHERS[table])
    operands = given.operands
    patterns = [*given.values.get("e", []), *given.values.get("regexp", [])]
    if table == "rg" and given.has("files"):
        globs = [*given.values.get("g", []), *given.values.get("glob", []), *given.values.get("iglob", [])]
        globs = [glob for glob in globs if not glob.startswith("!")]
        kind = ToolKind.SEARCH if globs else ToolKind.LIST
        return _lookup(command, kind, " ".join(globs), operands, lists_paths=True)
    if table == "ag" and given.has("g"):
        patterns = patterns or operands[:1]
    if not patterns and not given.has("f", "file") and operands:
        patterns, operands = operands[:1], operands[1:]
    return _lookup(
        command,
        ToolKind.SEARCH,
        " | ".join(patterns),
        operands,
        syntax=_syntax(command.program, table, given),
        counts=given.has("c", "count", "count-matches"),
        silent=given.has("q", "quiet", "silent"),
        lists_paths=given.has("l", "L", "files-with-matches", "files-without-match", "name-only"),
        inverted=given.has("v", "invert-match"),
    )


def _syntax(program: str, table: str, given: Arguments) -> Syntax | None:
    if program == "fgrep" or given.has("F", "fixed-strings", "Q", "literal"):
        return Syntax.FIXED
    if table in ("ag", "ack") or given.has("P", "perl-regexp", "pcre2"):
        return Syntax.PERL
    if table == "rg":
        return None if given.has("U", "multiline") else Syntax.RUST
    return Syntax.EXTENDED if program == "egrep" or given.has("E", "extended-regexp") else Syntax.BASIC


def _lookup(
    command: Command,
    kind: ToolKind,
    query: str,
    operands: list[str],
    *,
    syntax: Syntax | None = None,
    is_state: bool = False,
    counts: bool = False,
    silent: bool = False,
    lists_paths: bool = False,
    inverted: bool = False,
) -> ParsedCommand:
    named = tuple(operand for operand in operands if operand not in ("-", "{}"))
    return ParsedCommand(
        ProgramRole.LOOKUP, kind, query, named, counts, silent, lists_paths, inverted, command.program, syntax, is_state
    )


# ---- searching by name

_FIND_NAMES = _words("-name -iname -path -ipath -wholename -iwholename")
_FIND_TESTS = _FIND_NAMES | _words(
    "-regex -iregex -newer -mtime -mmin -size -empty -user -perm -newermt -samefile -inum -lname"
)


def _find(command: Command, words: list[str]) -> ParsedCommand:
    """Read `find`: the paths, then tests; -exec and -delete can make it an act."""
    places: list[str] = []
    query: list[str] = []
    negated = False
    by_name = True
    at = 0
    while at < len(words) and (not words[at].startswith(("-", "(", "!")) or words[at] in ("-L", "-H", "-P")):
        if not words[at].startswith("-"):
            places.append(words[at])
        at += 1
    while at < len(words):
        word = words[at]
        at += 1
        if word in ("!", "-not"):
            negated = True
            continue
        if word in _FIND_TESTS:
            value = word if word == "-empty" else (words[at] if at < len(words) else "")
            at += word != "-empty"
            if not negated and not (at < len(words) and words[at] == "-prune"):
                query.append(value)
                by_name &= word in _FIND_NAMES
        elif word == "-delete":
            return ParsedCommand(ProgramRole.ACT, program="find")
        elif word in ("-exec", "-execdir", "-ok"):
            end = next((i for i in range(at, len(words)) if words[i] in (";", "+")), len(words))
            inner = describe(replace(command, words=command.words[at + 1 : end + 1]))
            if inner.kind is ToolKind.SEARCH:
                return replace(inner, operands=tuple(places), program="find")
            if inner.role in (ProgramRole.ACT, ProgramRole.QUIET):
                return ParsedCommand(ProgramRole.ACT, program="find")
            at = end
        negated = False
    kind = ToolKind.SEARCH if query else ToolKind.LIST
    syntax = Syntax.GLOB if by_name and len(query) == 1 else None
    return _lookup(command, kind, " ".join(query), places, syntax=syntax, lists_paths=True)


_FD_LONG = _words("extension exclude type max-depth min-depth exec exec-batch threads size color base-directory")


def _fd(command: Command, words: list[str]) -> ParsedCommand:
    given = arguments(words, "eEtdxXjSc", _FD_LONG)
    query = [*given.operands[:1], *given.values.get("e", []), *given.values.get("extension", [])]
    places = given.operands[1:]
    return _lookup(command, ToolKind.SEARCH if query else ToolKind.LIST, " ".join(query), places, lists_paths=True)


def _names(command: Command, words: list[str]) -> ParsedCommand:
    """Read `which`, `type`, `command -v`, `locate`: the operands are names, not paths."""
    names = [word for word in words if not word.startswith("-")]
    return _lookup(command, ToolKind.SEARCH, " ".join(names), [], is_state=command.program in _PROGRAM_PLACES)


_PROGRAM_PLACES = _words("which whereis type command hash")


# ---- listing and reading


_LIST_SHORT = {"tree": "LPIo", "ls": "IwT", "du": "d"}
_LIST_LONG = _words("max-depth level ignore ignore-glob hide")
_READ_SHORT = {"head": "nc", "tail": "nc", "cut": "dfbc", "sort": "kto", "xxd": "lsc", "od": "ANjt", "bat": "rl"}
_READ_LONG = _words("lines bytes line-range language delimiter")


def _list(command: Command, words: list[str]) -> ParsedCommand:
    given = arguments(words, _LIST_SHORT.get(command.program, ""), _LIST_LONG)
    return _lookup(command, ToolKind.LIST, "", given.operands, is_state=command.program == "stat")


def _read(command: Command, words: list[str]) -> ParsedCommand:
    """Read `cat`, `head` and similar programs, which read files, or the pipe if no file is named."""
    given = arguments(words, _READ_SHORT.get(command.program, ""), _READ_LONG)
    operands = [word for word in given.operands if not (word.startswith("+") and word[1:].isdigit())]
    operands += [redirect.target for redirect in command.redirects if redirect.operator == "<"]
    if any(redirect.operator == "<<" for redirect in command.redirects) or not operands:
        return ParsedCommand(
            ProgramRole.COUNT if command.program == "wc" else ProgramRole.FILTER, program=command.program
        )
    return _lookup(command, ToolKind.READ, "", operands)


_SCRIPT_SHORT = {"sed": "efl", "jq": "fL"}
_SCRIPT_LONG = _words("expression file indent field-separator assign")
_LINE_RANGE = lazy(r"[\d,$~+pdq;{}= \n]*\Z")
_ADDRESS = lazy(r"\\?[/|](.+?)(?<!\\)[/|]")


def _script_reader(command: Command, words: list[str]) -> ParsedCommand:
    """Read `sed`, `awk` and `jq`: the first operand is a script; a pattern in it makes it a search."""
    name = command.program
    if name in ("jq", "yq"):
        words = _without_pairs(words)
    given = arguments(words, _SCRIPT_SHORT.get(name, "Fvf"), _SCRIPT_LONG)
    if name in ("sed", "gsed") and any(flag in given.flags for flag in ("i", "in-place")):
        return ParsedCommand(ProgramRole.QUIET, program=name)
    operands = given.operands
    scripts = given.values.get("e", []) + given.values.get("expression", [])
    if not scripts and not given.has("f", "file"):
        scripts, operands = operands[:1], operands[1:]
    operands = operands + [redirect.target for redirect in command.redirects if redirect.operator == "<"]
    operands = [word for word in operands if not re.match(r"[A-Za-z_]\w*=", word)]
    if not operands:
        return ParsedCommand(ProgramRole.FILTER, program=name)
    script = scripts[0] if scripts else ""
    if name in ("jq", "yq"):
        seeks = re.search(r"\b(?:select|test|contains|match)\(", script)
        return _lookup(command, ToolKind.SEARCH if seeks else ToolKind.READ, script if seeks else "", operands)
    address = _ADDRESS.match(script.lstrip())
    quiet = "n" in given.flags or name not in ("sed", "gsed")
    if address and quiet and not _LINE_RANGE.match(script):
        return _lookup(command, ToolKind.SEARCH, address[1], operands)
    return _lookup(command, ToolKind.READ, "", operands)


def _without_pairs(words: list[str]) -> list[str]:
    """Return the words without jq's `--arg NAME VALUE`."""
    kept: list[str] = []
    skip = 0
    for word in words:
        if skip:
            skip -= 1
        elif word in ("--arg", "--argjson", "--slurpfile", "--rawfile"):
            skip = 2
        else:
            kept.append(word)
    return kept


def _test(command: Command, words: list[str]) -> ParsedCommand:
    """Read `test`: `test -f x` and `[ -f x ]` look for a path; other tests look for nothing."""
    words = [word for word in words if word not in ("]", "]]")]
    inverted = words[:1] == ["!"]
    words = words[inverted:]
    if len(words) == 2 and words[0] in ("-e", "-f", "-d", "-s", "-L", "-h", "-r", "-x"):
        return _lookup(command, ToolKind.LIST, "", words[1:], silent=True, inverted=inverted)
    return ParsedCommand(ProgramRole.QUIET, program="test")


def _shows_when_alone(command: Command, words: list[str]) -> ParsedCommand:
    """Read `set`, `env` and similar programs: alone they print the settings; `set -e` changes them."""
    shows = not words or command.program == "printenv"
    return ParsedCommand(ProgramRole.SHOW if shows else ProgramRole.QUIET, program=command.program)


# ---- git, gh and packages

_GIT_VALUED = _words("-C -c --git-dir --work-tree --namespace --exec-path")
_GIT_ROLES = {
    ProgramRole.TEXT: _words(
        "log show blame annotate reflog shortlog ls-remote describe help whatchanged cat-file name-rev"
    ),
    ProgramRole.QUIET: _words("add rm mv fetch checkout switch init clone clean"),
    ProgramRole.SHOW: _words(
        "status diff config rev-parse rev-list show-ref remote stash worktree merge-base symbolic-ref for-each-ref"
    ),
}
_GIT_ROLE = {name: role for role, names in _GIT_ROLES.items() for name in names}
_REVISION_PATH = lazy(r"^(?!\w+://)[^\s:]*:(?P<path>[^\s:].*)$")


def _git(command: Command, words: list[str]) -> ParsedCommand:
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in _GIT_VALUED else 1
    if at >= len(words):
        return ParsedCommand(ProgramRole.SHOW, program="git")
    verb, words = words[at], words[at + 1 :]
    if verb == "grep":
        return _git_grep(command, words)
    if verb in ("ls-files", "ls-tree"):
        given = arguments(words, "xX", _words("exclude exclude-from exclude-per-directory"))
        places = given.operands[verb == "ls-tree" :]
        return _lookup(command, ToolKind.LIST, " ".join(places), places, lists_paths=True)
    if verb in ("log", "reflog", "shortlog"):
        return _git_log(command, words)
    if verb in ("show", "cat-file"):
        paths = [found["path"] for word in words if (found := _REVISION_PATH.match(word))]
        if paths:
            return _lookup(command, ToolKind.READ, "", paths)
    if verb == "ls-remote" and len(names := [word for word in words if not word.startswith("-")]) > 1:
        return _lookup(command, ToolKind.LIST, " ".join(names[1:]), [], is_state=True)
    if verb in ("branch", "tag"):
        given = arguments(words, "", frozenset())
        if given.has("l", "list") and given.operands:
            return _lookup(command, ToolKind.LIST, " ".join(given.operands), [], is_state=True)
        acts = given.operands and not given.has("a", "r", "contains", "merged", "no-merged", "points-at")
        return ParsedCommand(ProgramRole.QUIET if acts else ProgramRole.TEXT, program="git")
    return ParsedCommand(_GIT_ROLE.get(verb, ProgramRole.ACT), program=f"git {verb}")


def _git_grep(command: Command, words: list[str]) -> ParsedCommand:
    cut = words.index("--") if "--" in words else len(words)
    parsed = _search(command, words[:cut], "grep")
    return replace(parsed, operands=(*parsed.operands, *words[cut + 1 :]), program="git")


def _git_log(command: Command, words: list[str]) -> ParsedCommand:
    """Read `git log`: `-S x`, `-G x`, `--grep x` and `-- path` search the history."""
    given = arguments(words, "SGnL", _words("grep author format since until after before"))
    wanted = [*given.values.get("S", []), *given.values.get("G", []), *given.values.get("grep", [])]
    if "--" in words:  # the history of a path
        wanted = wanted or words[words.index("--") + 1 :]
    if wanted:
        return _lookup(command, ToolKind.SEARCH, " | ".join(wanted), [])
    return ParsedCommand(ProgramRole.TEXT, program="git")


def _gh(command: Command, words: list[str]) -> ParsedCommand:
    """Read GitHub's command line: list, view and search look something up; other verbs act."""
    subject, verb = [*words, "", ""][:2]
    given = arguments(
        words[2:], "RLSBHlAsqt", _words("repo limit state head base search author json jq label template")
    )
    if subject == "search":
        return _lookup(command, ToolKind.SEARCH, " ".join(given.operands), [])
    if verb == "list":
        searched = given.values.get("search", []) + given.values.get("S", [])
        wanted = searched + given.values.get("head", [])
        kind = ToolKind.SEARCH if wanted else ToolKind.LIST
        return _lookup(command, kind, " ".join(wanted), [], is_state=not searched)
    if verb == "view" and subject in ("pr", "issue", "release", "repo"):
        return _lookup(command, ToolKind.READ, " ".join([subject, *given.operands]), [], is_state=True)
    if verb in ("view", "diff"):
        return ParsedCommand(ProgramRole.TEXT, program="gh")
    writes = any(word in ("-X", "--method", "-f", "-F", "--field", "--raw-field", "--input") for word in words)
    return ParsedCommand(ProgramRole.TEXT if subject == "api" and not writes else ProgramRole.ACT, program="gh")


# Verbs that print facts about packages and modules; `_LOOKS_UP_NAME`: verbs that look up a name.
_PACKAGE_TEXT = {
    "npm": _words("ls list outdated view info show explain why"),
    "pnpm": _words("ls list outdated view info why"),
    "yarn": _words("list info why"),
    "bun": _words("pm"),
    "pip": _words("list freeze show index"),
    "pip3": _words("list freeze show index"),
    "uv": _words("tree"),
    "poetry": _words("show"),
    "gem": _words("list"),
    "go": _words("list doc env"),
    "cargo": _words("tree search metadata"),
    "brew": _words("list info search"),
    "apt": _words("list search show"),
    "apt-cache": _words("search show policy"),
    "dpkg": _words("-l -L -S"),
    "conda": _words("list"),
}
_LOOKS_UP_NAME = _words("ls list view show info search why explain doc")
_SHOWING = {
    "docker": _words("ps images logs inspect info network volume container image"),
    "kubectl": _words("get describe logs config"),
    "systemctl": _words("status list-units is-active"),
    "bd": _words("list show ready"),
}
_LOCAL_URL = lazy(r"localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]|\$")


def _package(command: Command, words: list[str]) -> ParsedCommand:
    name = command.program
    plain = [word for word in words if not word.startswith("-") or name == "dpkg"]
    verb = plain[0] if plain else ""
    if plain[1:] and verb in _LOOKS_UP_NAME:
        return _lookup(command, ToolKind.SEARCH, " ".join(plain[1:]), [], is_state=verb != "doc")
    return ParsedCommand(ProgramRole.TEXT if verb in _PACKAGE_TEXT[name] else ProgramRole.ACT, program=name)


def _showing(command: Command, words: list[str]) -> ParsedCommand:
    return ParsedCommand(ProgramRole.SHOW if words[:1] and words[0] in _SHOWING[command.program] else ProgramRole.ACT)


def _fetch(command: Command, words: list[str]) -> ParsedCommand:
    """Read `curl`: a remote page is a text to search; a local service is a state."""
    acts = any(word in ("-X", "-d", "--data", "--request", "-F", "-o", "-O", "-T") for word in words)
    local = any(_LOCAL_URL.search(word) for word in words if not word.startswith("-"))
    return ParsedCommand(
        ProgramRole.ACT if acts else ProgramRole.SHOW if local else ProgramRole.TEXT, program=command.program
    )


def _archive(command: Command, words: list[str]) -> ParsedCommand:
    lists = any(re.match(r"-?[zjJvf]*t[zjJvf]*$|--list$", word) for word in words[:2])
    lists = lists or (command.program in ("unzip", "zipinfo") and any(word in ("-l", "-p", "-Z1") for word in words))
    return ParsedCommand(ProgramRole.KNOWLEDGE if lists else ProgramRole.ACT, program=command.program)


def _executor(command: Command, words: list[str]) -> ParsedCommand:
    """Read `npx`, `bunx` and test runners: only their lists are knowledge."""
    lists = "--listTests" in words or "--list" in words
    return ParsedCommand(ProgramRole.KNOWLEDGE if lists else ProgramRole.ACT, program=command.program)


_BY_READER: dict[Callable[[Command, list[str]], ParsedCommand], str] = {
    _find: "find gfind",
    _fd: "fd fdfind",
    _names: "which whereis type locate mlocate plocate mdfind command hash",
    _list: "ls tree exa eza lsd dir vdir stat file readlink realpath du gls Get-ChildItem",
    _read: "cat bat batcat head tail less more nl tac strings xxd od hexdump zcat gzcat wc cut sort uniq "
    "column rev fold fmt paste tr basename dirname md5sum sha256sum expand pbpaste",
    _script_reader: "sed gsed awk gawk mawk jq yq",
    _test: "test [ [[",
    _git: "git",
    _gh: "gh",
    _package: " ".join(_PACKAGE_TEXT),
    _showing: " ".join(_SHOWING),
    _fetch: "curl wget",
    _archive: "tar unzip zipinfo",
    _executor: "npx bunx jest vitest pytest",
    _shows_when_alone: "export set env alias hash printenv",
}
_READERS = {name: reader for reader, names in _BY_READER.items() for name in names.split()}
_ROLES = {
    ProgramRole.PRINT: _words("echo printf"),
    ProgramRole.QUIET: _words(
        "cd pushd popd true false : mkdir rm mv cp touch chmod chown ln rmdir sleep wait kill pkill killall "
        "unset source . shopt setopt unsetopt trap return exit read local declare typeset readonly disown "
        "break continue shift umask ulimit let tput clear"
    ),
    ProgramRole.SHOW: _words(
        "pwd date whoami uname hostname id ps top lsof netstat ss df free uptime history jobs nproc arch "
        "sw_vers diff cmp comm seq tmux pgrep crontab mount ifconfig ip launchctl sqlite3 psql mysql redis-cli"
    ),
    ProgramRole.KNOWLEDGE: _words("man info tldr apropos"),
    ProgramRole.FILTER: _words("tee xargs perl"),
}
_ROLE = {name: role for role, names in _ROLES.items() for name in names}
_ASKS_VERSION = _words("--version -V version -version --ver")


def describe(command: Command) -> ParsedCommand:
    """Return the role of a simple command."""
    name = command.program
    if not name:
        return ParsedCommand(ProgramRole.QUIET)
    words = command.texts
    if name in _GREPS:
        return _search(command, words, _GREPS[name])
    if words and words[-1] == "--help":
        return ParsedCommand(ProgramRole.KNOWLEDGE, program=name)
    if name in _READERS:
        return _READERS[name](command, words)
    if name in _ROLE:
        return ParsedCommand(_ROLE[name], program=name)
    if name.startswith("python") and words[:2] == ["-m", "json.tool"]:
        return ParsedCommand(ProgramRole.FILTER, program=name)
    if name.lower() == "select-string":
        return _lookup(command, ToolKind.SEARCH, " ".join(words[-1:]), [])
    if name.lower() == "findstr":
        plain = [word for word in words if not word.startswith("/")]
        return _lookup(command, ToolKind.SEARCH, " ".join(plain[:1]), plain[1:])
    if words and words[-1] in ("-h", "help"):
        return ParsedCommand(ProgramRole.KNOWLEDGE, program=name)
    if len(words) == 1 and words[0] in _ASKS_VERSION:
        return ParsedCommand(ProgramRole.SHOW, program=name)
    return ParsedCommand(ProgramRole.ACT, program=name)

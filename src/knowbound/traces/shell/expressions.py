"""Programs whose arguments are a language: tests of `find` (and `fd`), scripts of `sed`, `awk` and `jq`, `test`."""

from __future__ import annotations

import re

from knowbound.core.lazy_pattern import lazy
from knowbound.core.tool_kinds import Syntax, ToolKind
from knowbound.traces.shell.parser import Command
from knowbound.traces.shell.programs import ParsedCommand, ProgramRole, arguments_of, describe, lookup


def describe_expression(command: Command, words: list[str]) -> ParsedCommand:
    """Return the role of such a program, and what it looks for."""
    if command.program in ("fd", "fdfind"):
        return _fd(command, words)
    if "find" in command.program:
        return _find(command, words)
    return _test(command, words) if command.program in ("test", "[", "[[") else _script(command, words)


_FIND_NAMES = frozenset("-name -iname -path -ipath -wholename -iwholename".split())
_FIND_TESTS = _FIND_NAMES | frozenset(
    "-regex -iregex -newer -mtime -mmin -size -empty -user -perm -newermt -samefile -inum -lname".split()
)


def _find(command: Command, words: list[str]) -> ParsedCommand:
    """Read `find`: the paths, then tests; -exec and -delete can make it an act."""
    paths: list[str] = []
    query: list[str] = []
    negated = False
    by_name = True
    at = 0
    while at < len(words) and (not words[at].startswith(("-", "(", "!")) or words[at] in ("-L", "-H", "-P")):
        if not words[at].startswith("-"):
            paths.append(words[at])
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
                by_name &= word in _FIND_NAMES  # a time or a size is no pattern
        elif word == "-delete":
            return ParsedCommand(ProgramRole.ACT, program="find")
        elif word in ("-exec", "-execdir", "-ok"):
            end = next((i for i in range(at, len(words)) if words[i] in (";", "+")), len(words))
            inner = describe(command._replace(words=command.words[at + 1 : end + 1]))
            if inner.kind is ToolKind.SEARCH:  # `-exec grep`
                return inner._replace(operands=tuple(paths), program="find")
            if inner.role in (ProgramRole.ACT, ProgramRole.QUIET):
                return ParsedCommand(ProgramRole.ACT, program="find")
            at = end  # past the `;` or `+` of the inner command
        negated = False
    kind = ToolKind.SEARCH if query else ToolKind.LIST
    syntax = Syntax.GLOB if by_name and len(query) == 1 else None
    return lookup(command, kind, " ".join(query), paths)._replace(syntax=syntax, lists_paths=True)


def _fd(command: Command, words: list[str]) -> ParsedCommand:
    """Read `fd`: a pattern or an extension, then the folders."""
    options = arguments_of(command, words)
    query = [*options.operands[:1], *options.valued("e", "extension")]
    kind = ToolKind.SEARCH if query else ToolKind.LIST
    return lookup(command, kind, " ".join(query), options.operands[1:])._replace(lists_paths=True)


_LINE_RANGE = lazy(r"[\d,$~+pdq;{}= \n]*\Z")
_ADDRESS = lazy(r"\\?[/|](.+?)(?<!\\)[/|]")


def _script(command: Command, words: list[str]) -> ParsedCommand:
    """Read `sed`, `awk` and `jq`: the first operand is a script; a pattern in it makes it a search."""
    name = command.program
    if name in ("jq", "yq"):
        words = _without_pairs(words)
    options = arguments_of(command, words)
    if name in ("sed", "gsed") and options.has("i", "in-place"):  # an edit prints nothing
        return ParsedCommand(ProgramRole.QUIET, program=name)
    scripts, operands = options.valued("e", "expression"), options.operands
    if not scripts and not options.has("f", "file"):
        scripts, operands = operands[:1], operands[1:]
    operands = operands + [redirect.target for redirect in command.redirects if redirect.operator == "<"]
    operands = [word for word in operands if not re.match(r"[A-Za-z_]\w*=", word)]  # no `name=value` of awk
    if not operands:
        return ParsedCommand(ProgramRole.FILTER, program=name)
    script = scripts[0] if scripts else ""
    if name in ("jq", "yq"):
        seeks = re.search(r"\b(?:select|test|contains|match)\(", script)
        return lookup(command, ToolKind.SEARCH if seeks else ToolKind.READ, script if seeks else "", operands)
    address = _ADDRESS.match(script.lstrip())
    quiet = options.has("n") or name not in ("sed", "gsed")  # it prints only what the pattern matches
    if address and quiet and not _LINE_RANGE.match(script):
        return lookup(command, ToolKind.SEARCH, address[1], operands)
    return lookup(command, ToolKind.READ, "", operands)


def _without_pairs(words: list[str]) -> list[str]:
    """Return the words without jq's `--arg NAME VALUE`."""
    kept: list[str] = []
    skip = 0
    for word in words:
        if skip:
            skip -= 1
        elif word in ("--arg", "--argjson", "--slurpfile", "--rawfile"):
            skip = 2  # its name and its value
        else:
            kept.append(word)
    return kept


def _test(command: Command, words: list[str]) -> ParsedCommand:
    """Read `test`: `test -f x` and `[ -f x ]` look for a path; other tests look for nothing."""
    words = [word for word in words if word not in ("]", "]]")]
    inverted = words[:1] == ["!"]
    words = words[inverted:]
    if len(words) == 2 and words[0] in ("-e", "-f", "-d", "-s", "-L", "-h", "-r", "-x"):
        return lookup(command, ToolKind.LIST, "", words[1:])._replace(is_silent=True, is_inverted=inverted)
    return ParsedCommand(ProgramRole.QUIET, program="test")

"""Plan for reading the output of a command line: its lookups, the texts that it prints itself, its other programs."""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache

import msgspec
from msgspec.structs import replace

from knowbound.core.lazy_pattern import lazy
from knowbound.core.trace import ToolKind
from knowbound.traces.shell.parser import parse
from knowbound.traces.shell.programs import ParsedCommand, ProgramRole, describe
from knowbound.traces.shell.tree import Command, CompoundCommand, Expansion, Pipeline, Redirect, ShellWord, commands


class SearchIntent(IntEnum):
    """Intent of grep behind a program: `make | grep x` filters if the agent watches, and searches otherwise."""

    WATCHES = 0
    CHECKS = 1
    FINDS = 2
    FILTERS = 3  # every grep behind a program is a search, for any intent of the agent


class Lookup(msgspec.Struct, frozen=True, gc=False):
    """A lookup of the line together with the pipeline behind it."""

    parsed: ParsedCommand
    counts: bool  # its output is a number
    silent: bool  # it prints nothing; only its exit status decides
    muted: bool  # its error messages are discarded
    decides: bool  # its status is the status of its pipeline


class PrintedText(msgspec.Struct, frozen=True, gc=False):
    """A line of text that the command line itself prints."""

    pieces: tuple[str, ...]  # the text before, between and after its expansions
    text: str
    prefix: bool  # no newline follows: the output of the next command is in the same line
    lookup: int  # the lookup that it reports on, -1 for none
    when: bool  # it is printed if that lookup found something
    filled: tuple[bool, ...]  # for every expansion: a lookup fills it
    status: int  # the expansion with `$?`, -1 for none

    def match(self, line: str) -> tuple[list[str], str] | None:
        """Return the values of the expansions and the rest of the line; None if the line is not this text."""
        if not line.startswith(self.pieces[0]):
            return None
        at, values = len(self.pieces[0]), []
        for left, piece in zip(range(len(self.pieces) - 2, -1, -1), self.pieces[1:], strict=True):
            end = line.find(piece, at)
            if not left and not (self.prefix and piece):  # the last piece ends the line
                end = len(line) - len(piece) if line.endswith(piece) else -1
            if end < at:
                return None
            values.append(line[at:end].strip())
            at = end + len(piece)
        rest = line[at:].strip()
        return None if rest and not self.prefix else (values, rest)


class LinePlan(msgspec.Struct, frozen=True, gc=False):
    """Facts about a command line that decide how its output is read."""

    lookups: tuple[Lookup, ...]
    prints: tuple[PrintedText, ...]
    shows: bool  # other programs print their state into the output
    acts: bool  # it builds, tests or changes something: the lookups are not its purpose
    filters: bool  # a program's output goes through grep
    ends_in_filter: bool  # … at the end of the line
    last: int  # the lookup whose status is the status of the line, -1 for none
    negated: bool  # `! grep …`
    programs: frozenset[str]
    timed: bool  # run under `timeout`
    removes: bool  # it removes or rewrites something


def plan(command: str, intent: SearchIntent) -> LinePlan:
    """Parse and plan a command line."""
    return _cached(command, intent) if len(command) < 2_000 else _plan(command, intent)


@lru_cache(maxsize=4096)
def _cached(command: str, intent: SearchIntent) -> LinePlan:
    return _plan(command, intent)


def _plan(command: str, intent: SearchIntent) -> LinePlan:
    steps = parse(command)
    planner = _Planner(intent)
    planner.walk(steps)
    simple = list(commands(steps))
    names = {name for one in simple for name in (one.program, *one.wrappers)}
    names.update(name for step in steps for stage in step.stages for name in stage.wrappers)
    return LinePlan(
        tuple(planner.lookups),
        tuple(planner.prints),
        planner.shows,
        planner.acts,
        planner.filters,
        planner.ends_in_filter,
        planner.last,
        planner.negated,
        frozenset(names),
        "timeout" in names or "gtimeout" in names,
        any(_removes(one) for one in simple),
    )


def _removes(command: Command) -> bool:
    program = command.program
    if program == "git":
        return command.texts[:1] == ["rm"]
    if program in ("sed", "gsed", "perl"):
        return any(re.match(r"-[a-zA-Z]*i|--in-place", word) for word in command.texts[:3])
    return program in ("rm", "unlink", "rmdir") and "/tmp" not in "".join(command.texts)


_PROGRAMS = frozenset((ProgramRole.ACT, ProgramRole.SHOW))
_PRINTING = frozenset(
    (ProgramRole.TEXT, ProgramRole.KNOWLEDGE, ProgramRole.SHOW, ProgramRole.FILTER, ProgramRole.COUNT)
)


class _Condition(msgspec.Struct, frozen=True, gc=False):
    """The lookup that an `&&`, `||` or `then` depends on; `flipped` if success means not found."""

    lookup: int = -1
    flipped: bool = False


_UNCONDITIONAL = _Condition()


class _Tail(msgspec.Struct, frozen=True, gc=False):
    """The stages of a pipeline after the first."""

    search: ParsedCommand | None  # the last grep that picks lines
    counts: bool  # the last stage prints a number
    acts: bool  # a stage does something with each line


class _Planner:
    def __init__(self, intent: SearchIntent, variables: dict[str, Lookup] | None = None, depth: int = 0) -> None:
        self.intent = intent
        self.depth = depth
        self.lookups: list[Lookup] = []
        self.prints: list[PrintedText] = []
        self.shows = self.acts = self.filters = self.ends_in_filter = self.negated = False
        self.last = -1
        self.variables: dict[str, Lookup] = variables if variables is not None else {}
        self.in_hits = False  # inside a loop over hits, where every printed text is a hit

    def walk(self, steps: tuple[Pipeline, ...], condition: _Condition | None = None, when: bool = True) -> _Condition:
        """Read a list of pipelines that runs under the condition `condition` is `when`."""
        outer, outer_when = condition or _UNCONDITIONAL, when
        current = _UNCONDITIONAL
        for step in steps:
            guard, when = outer, outer_when
            if step.link in ("&&", "||") and current.lookup >= 0:
                guard, when = current, step.link == "&&"
            elif step.link not in ("&&", "||"):
                current = _UNCONDITIONAL
            before = len(self.lookups)
            self.last = -1
            found = self.pipeline(step.stages, guard, when)
            if found.lookup >= before:
                current = _Condition(found.lookup, found.flipped != step.negated)
                self.last = found.lookup
                self.negated |= step.negated
        return current

    # ---- pipelines

    def pipeline(self, stages: tuple[Command | CompoundCommand, ...], guard: _Condition, when: bool) -> _Condition:
        if len(stages) == 1:
            stage = stages[0]
            if isinstance(stage, CompoundCommand):
                return self.group(stage, guard, when)
            return self.single(stage, guard, when)
        source, rest = stages[0], stages[1:]
        tail = self.behind(rest)
        if tail.acts:
            self.acts = True
            return _UNCONDITIONAL
        if isinstance(source, CompoundCommand):
            return self.group_through(source, tail, guard, when)
        parsed = describe(source)
        if parsed.role is ProgramRole.PRINT:
            printed = self.lookup_in(source.words)  # `echo "$HITS" | grep x` searches in the hits
            parsed = printed.parsed if printed else parsed
        search, last = tail.search, rest[-1]
        decides = search is not None and isinstance(last, Command) and describe(last) == search
        if parsed.role is ProgramRole.LOOKUP and not parsed.silent:
            if search:
                paths = parsed.lists_paths or search.lists_paths
                parsed = replace(
                    parsed, kind=ToolKind.SEARCH, query=search.query, lists_paths=paths, syntax=search.syntax
                )
        elif search and self.is_search_of(parsed):
            parsed = replace(search, operands=(), is_state=parsed.role is not ProgramRole.KNOWLEDGE)
        else:
            self.acts |= parsed.role is ProgramRole.ACT
            self.shows |= parsed.role is not ProgramRole.ACT
            self.filters |= search is not None and parsed.role in _PROGRAMS
            self.ends_in_filter |= decides
            return _UNCONDITIONAL
        silent = (search is not None and search.silent) or _goes_to_file(last.redirects)
        return self.add(Lookup(parsed, tail.counts, silent, _discards_errors(source.redirects), decides))

    def is_search_of(self, source: ParsedCommand) -> bool:
        """Report whether grep behind this program searches for knowledge."""
        if source.role in (ProgramRole.TEXT, ProgramRole.KNOWLEDGE):
            return True
        if self.intent is SearchIntent.FILTERS:
            return source.role in _PROGRAMS
        if source.program in ("git diff", "git status", "git stash"):
            return self.intent >= SearchIntent.CHECKS
        return source.role is ProgramRole.ACT and self.intent >= SearchIntent.FINDS

    def behind(self, rest: tuple[Command | CompoundCommand, ...]) -> _Tail:
        """Read the stages after the first."""
        search: ParsedCommand | None = None
        counts = acts = False
        for stage in rest:
            if isinstance(stage, CompoundCommand):
                inner = self.nested(stage.test + stage.body + stage.other)
                acts |= inner.acts
                searches = [lookup.parsed for lookup in inner.lookups if lookup.parsed.kind is ToolKind.SEARCH]
                search = replace(searches[0], silent=False) if searches else search
                continue
            parsed = describe(stage)
            if parsed.kind is ToolKind.SEARCH and not parsed.inverted:
                search, counts = parsed, parsed.counts
            elif parsed.role is ProgramRole.COUNT or stage.program == "wc":
                counts = True
            elif parsed.role is ProgramRole.ACT or (parsed.role is ProgramRole.QUIET and "xargs" in stage.wrappers):
                acts = True
            else:
                counts |= parsed.counts  # grep -vc
        return _Tail(search, counts, acts)

    def nested(self, steps: tuple[Pipeline, ...]) -> _Planner:
        inner = _Planner(self.intent, self.variables, self.depth + 1)
        inner.walk(steps)
        return inner

    def add(self, lookup: Lookup) -> _Condition:
        self.lookups.append(lookup)
        return _Condition(
            len(self.lookups) - 1, lookup.parsed.inverted and lookup.parsed.program in ("test", "[", "[[")
        )

    # ---- groups

    def group(self, group: CompoundCommand, guard: _Condition, when: bool) -> _Condition:
        if group.word == "if":
            condition = self.walk(group.test)
            if condition.lookup < 0:
                condition = guard
            self.walk(group.body, condition, True)
            self.walk(group.other, condition, False)
            return _UNCONDITIONAL
        if group.word == "for" and (lookup := self.lookup_in(group.items)):
            self.add(lookup)
            outer, self.in_hits = self.in_hits, True
            self.walk(group.body)
            self.in_hits = outer
            return _UNCONDITIONAL
        self.walk(group.test)
        condition = self.walk(group.body, guard, when)
        return condition if group.word in ("(", "{", "sh") else _UNCONDITIONAL

    def group_through(self, source: CompoundCommand, tail: _Tail, guard: _Condition, when: bool) -> _Condition:
        """Read a group before a pipe: `for …; done | grep x`, `(a; b) | wc -l`."""
        if tail.search is None and not tail.counts:
            self.group(source, guard, when)
            return _UNCONDITIONAL
        inner = self.nested((Pipeline("", False, (source,)),))
        self.acts |= inner.acts and not (tail.search and self.intent >= SearchIntent.FINDS)
        self.shows |= inner.shows
        if not inner.lookups:
            return _UNCONDITIONAL
        parsed = inner.lookups[0].parsed
        if tail.search:
            parsed = replace(parsed, kind=ToolKind.SEARCH, query=tail.search.query, syntax=tail.search.syntax)
        return self.add(Lookup(parsed, tail.counts, False, inner.lookups[0].muted, False))

    # ---- one command

    def single(self, command: Command, guard: _Condition, when: bool) -> _Condition:
        if not command.words:
            self.assign(command.assigns)
            return _UNCONDITIONAL
        parsed = describe(command)
        away = _goes_to_file(command.redirects)
        if parsed.role is ProgramRole.LOOKUP:
            if away and parsed.kind is not ToolKind.SEARCH:
                return _UNCONDITIONAL
            silent = parsed.silent or away
            return self.add(Lookup(parsed, parsed.counts, silent, _discards_errors(command.redirects), True))
        if parsed.role is ProgramRole.PRINT and not away:
            self.print(command, guard, when)
        elif parsed.program == "test" and (lookup := self.lookup_in(command.words)):
            empty = "-z" in command.texts or "0" in command.texts  # true when nothing was found
            self.lookups.append(replace(lookup, silent=True))
            return _Condition(len(self.lookups) - 1, empty)
        elif parsed.role is ProgramRole.ACT:
            is_discarded = any(redirect.target == "/dev/null" for redirect in command.redirects)
            self.acts |= not (away and is_discarded)
        elif parsed.role in _PRINTING:
            self.shows |= not away and not any(redirect.operator == "<<" for redirect in command.redirects)
        elif parsed.program == "sleep":
            self.acts = True  # it waits for a state; the line is no lookup of knowledge
        if parsed.program in ("export", "local", "declare", "readonly"):
            self.assign(command.words[1:])
        return _UNCONDITIONAL

    def assign(self, words: tuple[ShellWord, ...]) -> None:
        for word in words:
            name = re.split(r"\+?=|\[", word.text, maxsplit=1)[0]
            lookup = self.lookup_in((word,))
            if lookup:
                self.variables[name] = lookup
            else:
                self.variables.pop(name, None)

    def lookup_in(self, words: tuple[ShellWord, ...]) -> Lookup | None:
        """Return the lookup whose result is expanded in these words."""
        return next(
            (lookup for word in words for expansion in word.expansions if (lookup := self.fills(expansion))), None
        )

    def fills(self, expansion: Expansion) -> Lookup | None:
        if expansion.name:
            return self.variables.get(expansion.name)
        if not expansion.command or self.depth > 2:
            return None
        inner = self.nested(parse(expansion.command))
        return inner.lookups[0] if inner.lookups and not inner.acts else None

    # ---- texts that the line prints itself

    def print(self, command: Command, guard: _Condition, when: bool) -> None:
        if self.in_hits:
            return
        words = list(command.words[1:])
        escapes, newline = command.program == "printf", command.program == "echo"
        while command.program == "echo" and words and _ECHO_OPTIONS.fullmatch(words[0].text):
            newline &= "n" not in words[0].text
            escapes |= "e" in words[0].text
            words = words[1:]
        if command.program == "printf":
            words = _formatted(words)
        text = " ".join(word.text for word in words)
        if escapes:
            newline |= text.endswith(("\\n", "\n"))
        known = self.known_lines(words)
        for at, (pieces, filled, status) in enumerate(known):
            prefix = not newline and at == len(known) - 1
            when_found = when != guard.flipped
            self.prints.append(PrintedText(pieces, text, prefix, guard.lookup, when_found, filled, status))

    def known_lines(self, words: list[ShellWord]) -> list[tuple[tuple[str, ...], tuple[bool, ...], int]]:
        """Return for each line of the text its pieces, the expansions that lookups fill, and the position of `$?`."""
        text, fillers = "", []
        for word in words:
            at, text = 0, text + " " if text else ""
            for expansion in word.expansions:
                text += word.text[at : expansion.start] + "\0"
                at = expansion.end
                lookup = self.fills(expansion)
                if lookup:
                    self.lookups.append(lookup)
                fillers.append((lookup is not None, expansion.name == "?"))
            text += word.text[at:]
        known: list[tuple[tuple[str, ...], tuple[bool, ...], int]] = []
        taken = 0
        for line in text.replace("\\n", "\n").replace("\\t", "\t").split("\n"):
            pieces = tuple(piece.strip() for piece in line.split("\0"))
            here = fillers[taken : taken + len(pieces) - 1]
            taken += len(here)
            if any(pieces) or (here and all(lookup or code for lookup, code in here)):
                status = next((at for at, (_, code) in enumerate(here) if code), -1)
                known.append((pieces, tuple(lookup for lookup, _ in here), status))
            elif here:
                self.shows = True  # a bare variable may print anything
        return known


_ECHO_OPTIONS = lazy(r"-[neE]+")
_CONVERSION = lazy(r"%[-+ 0]*\d*(?:\.\d+)?[sdiqfxb]")


def _formatted(words: list[ShellWord]) -> list[ShellWord]:
    """Return printf's format filled with its arguments; the format repeats while arguments are left."""
    if not words:
        return []
    form, given = words[0].text, words[1:]
    text, expansions = "", []
    for _ in range(20):
        at = 0
        for found in _CONVERSION.finditer(form):
            text += form[at : found.start()]
            value, given = (given[0], given[1:]) if given else (ShellWord(""), [])
            expansions += [
                replace(expansion, start=expansion.start + len(text), end=expansion.end + len(text))
                for expansion in value.expansions
            ]
            text += value.text
            at = found.end()
        text += form[at:]
        if not given or at == 0:
            break
    return [ShellWord(text, tuple(expansions))] if expansions or not words[0].expansions else [words[0]]


def _goes_to_file(redirects: tuple[Redirect, ...]) -> bool:
    return any(
        redirect.operator in (">", ">>", ">|", "&>", "&>>")
        and redirect.fd in ("", "1")
        and redirect.target not in ("/dev/stdout", "/dev/stderr", "/dev/tty")
        for redirect in redirects
    )


def _discards_errors(redirects: tuple[Redirect, ...]) -> bool:
    return any(
        redirect.target == "/dev/null" and (redirect.fd == "2" or redirect.operator.startswith("&>"))
        for redirect in redirects
    )

"""What a command line would tell: its lookups, the texts it prints itself, and what else runs in it."""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec
from msgspec.structs import replace

from knowbound.core.trace import Kind
from knowbound.traces.shell.parser import parse
from knowbound.traces.shell.programs import Deed, Role, describe
from knowbound.traces.shell.tree import Command, Expansion, Group, Pipeline, Redirect, Word, commands

# How much the agent's own description says that it wants to find something: a program's output that
# goes through grep is a filter for the one who watches a build, and a search for the one who seeks.
WATCHES, CHECKS, FINDS = 0, 1, 2


class Look(msgspec.Struct, frozen=True, gc=False):
    """A lookup of the line, with the pipeline behind it taken into account."""

    deed: Deed
    counts: bool  # its output is a number
    silent: bool  # only its status tells
    muted: bool  # its error messages are thrown away
    decides: bool  # its status is that of its pipeline


class Print(msgspec.Struct, frozen=True, gc=False):
    """A line of text that the command line itself prints."""

    pieces: tuple[str, ...]  # what stands before, between and behind its expansions
    text: str
    prefix: bool  # no newline follows: the output of the next command stands in the same line
    look: int  # the lookup it tells about, -1 for none
    when: bool  # it is printed when that lookup found something
    filled: tuple[bool, ...]  # for every hole, whether a lookup fills it
    status: int  # the hole that holds `$?`, -1 for none

    def match(self, line: str) -> tuple[list[str], str] | None:
        """The values of the expansions and what follows the text, if the line is this text."""
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


class Plan(msgspec.Struct, frozen=True, gc=False):
    """A command line as a reader of its output sees it."""

    looks: tuple[Look, ...]
    prints: tuple[Print, ...]
    shows: bool  # other programs print their state into the output
    acts: bool  # it builds, tests or changes something: the lookups are not its point
    filters: bool  # a program's output goes through grep as the last thing
    last: int  # the lookup whose status is that of the line, -1 for none
    negated: bool  # `! grep …` with nothing to say about it
    programs: frozenset[str]
    timed: bool  # run under `timeout`
    removes: bool  # it removes or rewrites something before it looks


def plan(command: str, intent: int) -> Plan:
    """Read a command line; `intent` is WATCHES, CHECKS or FINDS."""
    return _remembered(command, intent) if len(command) < 2_000 else _plan(command, intent)


@lru_cache(maxsize=4096)
def _remembered(command: str, intent: int) -> Plan:
    return _plan(command, intent)


def _plan(command: str, intent: int) -> Plan:
    steps = parse(command)
    planner = _Planner(intent)
    planner.walk(steps)
    simple = list(commands(steps))
    names = {name for one in simple for name in (one.program, *one.wrappers)}
    names.update(name for step in steps for stage in step.stages for name in stage.wrappers)
    return Plan(
        tuple(planner.looks),
        tuple(planner.prints),
        planner.shows,
        planner.acts,
        planner.filters,
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


class _Anchor(msgspec.Struct, frozen=True, gc=False):
    """The lookup that an `&&`, `||` or `then` hangs on; `flipped` when success means not found."""

    look: int = -1
    flipped: bool = False


_NO_ANCHOR = _Anchor()


class _Tail(msgspec.Struct, frozen=True, gc=False):
    """What stands behind the first stage of a pipeline."""

    sought: Deed | None  # the last grep that picks lines
    counts: bool  # only a number is left in the end
    acts: bool  # something is done with each line


class _Planner:
    def __init__(self, intent: int, variables: dict[str, Look] | None = None, depth: int = 0) -> None:
        self.intent = intent
        self.depth = depth
        self.looks: list[Look] = []
        self.prints: list[Print] = []
        self.shows = self.acts = self.filters = self.negated = False
        self.last = -1
        self.variables: dict[str, Look] = variables if variables is not None else {}
        self.derived = False  # inside a loop over hits: what is printed there is a hit

    def walk(self, steps: tuple[Pipeline, ...], anchor: _Anchor | None = None, when: bool = True) -> _Anchor:
        """Read a list; `anchor` and `when` are the condition that the whole list stands under."""
        outer, outer_when = anchor or _NO_ANCHOR, when
        current = _NO_ANCHOR
        for step in steps:
            guard, when = outer, outer_when
            if step.link in ("&&", "||") and current.look >= 0:
                guard, when = current, step.link == "&&"
            elif step.link not in ("&&", "||"):
                current = _NO_ANCHOR
            before = len(self.looks)
            self.last = -1
            found = self.pipeline(step.stages, guard, when)
            if found.look >= before:
                current = _Anchor(found.look, found.flipped != step.negated)
                self.last = found.look
                # `! grep x` has the opposite status; nothing more is said about it
                self.negated |= step.negated
        return current

    # ---- pipelines

    def pipeline(self, stages: tuple[Command | Group, ...], guard: _Anchor, when: bool) -> _Anchor:
        if len(stages) == 1:
            stage = stages[0]
            if isinstance(stage, Group):
                return self.group(stage, guard, when)
            return self.single(stage, guard, when)
        source, rest = stages[0], stages[1:]
        tail = self.behind(rest)
        if tail.acts:
            self.acts = True
            return _NO_ANCHOR
        if isinstance(source, Group):
            return self.group_through(source, tail, guard, when)
        deed = describe(source)
        if deed.role is Role.PRINT:
            deed = self.printed_lookup(source) or deed
        sought, last = tail.sought, rest[-1]
        decides = sought is not None and isinstance(last, Command) and describe(last) == sought
        if deed.role is Role.LOOK and not deed.silent:
            if sought:
                paths = deed.lists_paths or sought.lists_paths
                deed = replace(deed, kind=Kind.SEARCH, query=sought.query, lists_paths=paths)
        elif sought and self.is_search_of(deed):
            deed = replace(sought, operands=())
        else:
            self.acts |= deed.role is Role.ACT
            self.shows |= deed.role is not Role.ACT
            self.filters |= decides
            return _NO_ANCHOR
        silent = (sought is not None and sought.silent) or _to_file(last.redirects)
        return self.add(Look(deed, tail.counts, silent, _muted(source.redirects), decides))

    def is_search_of(self, source: Deed) -> bool:
        """Whether grep behind this program searches for knowledge."""
        if source.role is Role.TEXT:
            return True
        if source.program in ("git diff", "git status", "git stash"):
            return self.intent >= CHECKS
        return source.role is Role.ACT and self.intent >= FINDS

    def behind(self, rest: tuple[Command | Group, ...]) -> _Tail:
        """Read the stages behind the first."""
        sought: Deed | None = None
        counts = acts = False
        for stage in rest:
            if isinstance(stage, Group):
                inner = self.nested(stage.test + stage.body + stage.other)
                acts |= inner.acts
                searches = [look.deed for look in inner.looks if look.deed.kind is Kind.SEARCH]
                sought = replace(searches[0], silent=False) if searches else sought
                continue
            deed = describe(stage)
            if deed.kind is Kind.SEARCH and not deed.inverted:
                sought, counts = deed, deed.counts
            elif deed.role is Role.COUNT or stage.program == "wc":
                counts = True
            elif deed.role is Role.ACT or (deed.role is Role.QUIET and "xargs" in stage.wrappers):
                acts = True
            else:
                counts |= deed.counts  # grep -vc
        return _Tail(sought, counts, acts)

    def nested(self, steps: tuple[Pipeline, ...]) -> _Planner:
        inner = _Planner(self.intent, self.variables, self.depth + 1)
        inner.walk(steps)
        return inner

    def add(self, look: Look) -> _Anchor:
        self.looks.append(look)
        return _Anchor(len(self.looks) - 1, look.deed.inverted and look.deed.program in ("test", "[", "[["))

    # ---- groups

    def group(self, group: Group, guard: _Anchor, when: bool) -> _Anchor:
        if group.word == "if":
            anchor = self.walk(group.test)
            if anchor.look < 0:
                anchor = guard
            self.walk(group.body, anchor, True)
            self.walk(group.other, anchor, False)
            return _NO_ANCHOR
        if group.word == "for" and (look := self.hole_look(group.items)):
            self.add(look)
            outer, self.derived = self.derived, True
            self.walk(group.body)
            self.derived = outer
            return _NO_ANCHOR
        self.walk(group.test)
        anchor = self.walk(group.body, guard, when)
        return anchor if group.word in ("(", "{", "sh") else _NO_ANCHOR

    def group_through(self, source: Group, tail: _Tail, guard: _Anchor, when: bool) -> _Anchor:
        """`for …; done | grep x`, `(a; b) | wc -l`."""
        if tail.sought is None and not tail.counts:
            self.group(source, guard, when)
            return _NO_ANCHOR
        inner = self.nested((Pipeline("", False, (source,)),))
        self.acts |= inner.acts and not (tail.sought and self.intent >= FINDS)
        self.shows |= inner.shows
        if not inner.looks:
            return _NO_ANCHOR
        deed = inner.looks[0].deed
        if tail.sought:
            deed = replace(deed, kind=Kind.SEARCH, query=tail.sought.query)
        return self.add(Look(deed, tail.counts, False, inner.looks[0].muted, False))

    # ---- one command

    def single(self, command: Command, guard: _Anchor, when: bool) -> _Anchor:
        if not command.words:
            self.assign(command.assigns)
            return _NO_ANCHOR
        deed = describe(command)
        away = _to_file(command.redirects)
        if deed.role is Role.LOOK:
            if away and deed.kind is not Kind.SEARCH:
                return _NO_ANCHOR
            silent = deed.silent or away
            return self.add(Look(deed, deed.counts, silent, _muted(command.redirects), True))
        if deed.role is Role.PRINT and not away:
            self.print(command, guard, when)
        elif deed.program == "test" and (look := self.hole_look(command.words)):
            empty = "-z" in command.texts or "0" in command.texts  # true when nothing was found
            self.looks.append(replace(look, silent=True))
            return _Anchor(len(self.looks) - 1, empty)
        elif deed.role is Role.ACT:
            self.acts |= not _to_nowhere(command.redirects)
        elif deed.role in (Role.TEXT, Role.SHOW, Role.FILTER, Role.COUNT):
            self.shows |= not away and not any(redirect.operator == "<<" for redirect in command.redirects)
        elif deed.program == "sleep":
            self.acts = True  # it waits for something to be done: a look at a state, not for knowledge
        if deed.program in ("export", "local", "declare", "readonly"):
            self.assign(command.words[1:])
        return _NO_ANCHOR

    def assign(self, words: tuple[Word, ...]) -> None:
        for word in words:
            name = re.split(r"\+?=|\[", word.text, maxsplit=1)[0]
            look = self.hole_look((word,))
            if look:
                self.variables[name] = look
            else:
                self.variables.pop(name, None)

    def hole_look(self, words: tuple[Word, ...]) -> Look | None:
        """The lookup that fills a hole in these words."""
        return next((look for word in words for hole in word.expansions if (look := self.fills(hole))), None)

    def fills(self, hole: Expansion) -> Look | None:
        if hole.name:
            return self.variables.get(hole.name)
        if not hole.command or self.depth > 2:
            return None
        inner = self.nested(parse(hole.command))
        return inner.looks[0] if inner.looks and not inner.acts else None

    def printed_lookup(self, command: Command) -> Deed | None:
        """`echo "$HITS" | grep x` searches in what was found before."""
        look = self.hole_look(command.words)
        return look.deed if look else None

    # ---- what the line prints itself

    def print(self, command: Command, guard: _Anchor, when: bool) -> None:
        if self.derived:
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
            told = when != guard.flipped
            self.prints.append(Print(pieces, text, prefix, guard.look, told, filled, status))

    def known_lines(self, words: list[Word]) -> list[tuple[tuple[str, ...], tuple[bool, ...], int]]:
        """Every line of the text: the pieces around its expansions, which of them a lookup fills, where `$?` is."""
        text, fillers = "", []
        for word in words:
            at, text = 0, text + " " if text else ""
            for hole in word.expansions:
                text += word.text[at : hole.start] + "\0"
                at = hole.end
                look = self.fills(hole)
                if look:
                    self.looks.append(look)
                fillers.append((look is not None, hole.name == "?"))
            text += word.text[at:]
        known: list[tuple[tuple[str, ...], tuple[bool, ...], int]] = []
        taken = 0
        for line in text.replace("\\n", "\n").replace("\\t", "\t").split("\n"):
            pieces = tuple(piece.strip() for piece in line.split("\0"))
            here = fillers[taken : taken + len(pieces) - 1]
            taken += len(here)
            if any(pieces) or (here and all(look or code for look, code in here)):
                status = next((at for at, (_, code) in enumerate(here) if code), -1)
                known.append((pieces, tuple(look for look, _ in here), status))
            elif here:
                self.shows = True  # a bare variable may print anything
        return known


_ECHO_OPTIONS = re.compile(r"-[neE]+")
_CONVERSION = re.compile(r"%[-+ 0]*\d*(?:\.\d+)?[sdiqfxb]")


def _formatted(words: list[Word]) -> list[Word]:
    """Printf's format with its arguments filled in; the format is used again while arguments are left."""
    if not words:
        return []
    form, given = words[0].text, words[1:]
    text, expansions = "", []
    for _ in range(20):
        at = 0
        for found in _CONVERSION.finditer(form):
            text += form[at : found.start()]
            value, given = (given[0], given[1:]) if given else (Word(""), [])
            expansions += [
                replace(hole, start=hole.start + len(text), end=hole.end + len(text)) for hole in value.expansions
            ]
            text += value.text
            at = found.end()
        text += form[at:]
        if not given or at == 0:
            break
    return [Word(text, tuple(expansions))] if expansions or not words[0].expansions else [words[0]]


def _to_file(redirects: tuple[Redirect, ...]) -> bool:
    """Whether the output goes somewhere else than to the reader."""
    return any(
        redirect.operator in (">", ">>", ">|", "&>", "&>>")
        and redirect.fd in ("", "1")
        and redirect.target not in ("/dev/stdout", "/dev/stderr", "/dev/tty")
        for redirect in redirects
    )


def _to_nowhere(redirects: tuple[Redirect, ...]) -> bool:
    return _to_file(redirects) and any(redirect.target == "/dev/null" for redirect in redirects)


def _muted(redirects: tuple[Redirect, ...]) -> bool:
    """Whether error messages are thrown away."""
    return any(
        redirect.target == "/dev/null" and (redirect.fd == "2" or redirect.operator.startswith("&>"))
        for redirect in redirects
    )

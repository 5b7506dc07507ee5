"""Plan for reading the output of a command line: its lookups, the texts that it prints itself, its other programs."""

from __future__ import annotations

import re
from typing import NamedTuple

from knowbound.core.tool_kinds import ToolKind
from knowbound.traces.shell.parser import Command, CompoundCommand, Pipeline, Redirect, commands
from knowbound.traces.shell.programs import ParsedCommand, ProgramRole, describe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from knowbound.traces.shell.printed import PrintedText


class Lookup(NamedTuple):
    """A lookup of the line together with the pipeline behind it."""

    parsed: ParsedCommand
    prints_count: bool  # its output is a number
    is_silent: bool  # it prints nothing; only its exit status decides
    discards_errors: bool  # its error messages are discarded
    decides_status: bool  # its status is the status of its pipeline


def _removes(command: Command) -> bool:
    """Report whether a command removes files, other than temporary ones, or rewrites them in place."""
    program = command.program
    if program == "git":
        return command.texts[:1] == ["rm"]
    if program in ("sed", "gsed", "perl"):
        return any(re.match(r"-[a-zA-Z]*i|--in-place", word) for word in command.texts[:3])
    return program in ("rm", "unlink", "rmdir") and "/tmp" not in "".join(command.texts)


_SEARCHED = frozenset((ProgramRole.TEXT, ProgramRole.KNOWLEDGE))  # grep behind such a program searches for knowledge
_PROGRAMS = frozenset((ProgramRole.ACT, ProgramRole.SHOW))
_PRINTING = frozenset(
    (ProgramRole.TEXT, ProgramRole.KNOWLEDGE, ProgramRole.SHOW, ProgramRole.FILTER, ProgramRole.COUNT)
)


Stages = tuple[Command | CompoundCommand, ...]


class _Condition(NamedTuple):
    """The lookup that an `&&`, `||` or `then` depends on; `flipped` if success means not found."""

    lookup: int = -1
    flipped: bool = False


_UNCONDITIONAL = _Condition()


class _Tail(NamedTuple):
    """The stages of a pipeline after the first."""

    search: ParsedCommand | None  # the last grep that picks lines
    prints_count: bool  # the last stage prints a number
    acts: bool  # a stage does something with each line


class LinePlan:
    """Facts about a command line that decide how its output is read, gathered as its pipelines are read in order.

    With `filters_search`, `make | grep x` is a search and no filter.
    """

    def __init__(self, steps: tuple[Pipeline, ...], *, filters_search: bool = False) -> None:
        self.filters_search = filters_search
        self.lookups: list[Lookup] = []
        self.printed: list[PrintedText] = []
        self.shows_other_output = False  # other programs print their state into the output
        self.acts = False  # it builds, tests or changes something: the lookups are not its purpose
        self.filters_output = False  # a program's output goes through grep
        self.negated = False  # `! grep …`
        self.status_lookup = -1  # the lookup whose status is the status of the line, -1 for none
        self._read_list(steps)
        simple = list(commands(steps))
        names = {name for command in simple for name in (command.program, *command.wrappers)}
        self.programs = frozenset(names.union(*(stage.wrappers for step in steps for stage in step.stages)))
        self.removes_files = any(map(_removes, simple))

    def _read_list(
        self, steps: tuple[Pipeline, ...], condition: _Condition = _UNCONDITIONAL, when: bool = True
    ) -> _Condition:
        """Read a list of pipelines that runs if the lookup of `condition` succeeds (`when`) or fails.

        Return the condition that the end of the list sets for what follows it.
        """
        current = _UNCONDITIONAL
        for step in steps:
            is_linked = step.link in ("&&", "||")
            current = current if is_linked else _UNCONDITIONAL
            guard = (current, step.link == "&&") if current.lookup >= 0 else (condition, when)  # else of the whole list
            before = len(self.lookups)
            self.status_lookup = -1
            found = self._read_pipeline(step.stages, *guard)
            if found.lookup >= before:  # it looked something up itself
                current = _Condition(found.lookup, found.flipped != step.negated)
                self.status_lookup = found.lookup
                self.negated |= step.negated
        return current

    def _read_pipeline(self, stages: Stages, guard: _Condition, when: bool) -> _Condition:
        """Read a pipeline: its first stage looks something up, or a later grep searches what it prints."""
        source, later = stages[0], stages[1:]
        tail = self._later_stages(later)
        if tail.acts:
            self.acts = True
            return _UNCONDITIONAL
        if isinstance(source, CompoundCommand):
            return self._read_group(source, guard, when)
        if not later:
            return self._read_command(source, guard, when)
        parsed = describe(source)
        search, last = tail.search, later[-1]
        if parsed.role is ProgramRole.LOOKUP and not parsed.is_silent:
            if search:
                paths = parsed.lists_paths or search.lists_paths
                parsed = parsed._replace(
                    kind=ToolKind.SEARCH, query=search.query, lists_paths=paths, syntax=search.syntax
                )
        elif search and (parsed.role in _SEARCHED or (self.filters_search and parsed.role in _PROGRAMS)):
            parsed = search._replace(operands=(), is_state=parsed.role is not ProgramRole.KNOWLEDGE)
        else:
            self.acts |= parsed.role is ProgramRole.ACT
            self.shows_other_output |= parsed.role is not ProgramRole.ACT
            self.filters_output |= search is not None
            return _UNCONDITIONAL
        silent = (search is not None and search.is_silent) or _goes_to_file(last.redirects)
        decides = isinstance(last, Command) and describe(last) == search  # the line's status is the last command's
        lookup = Lookup(
            parsed,
            prints_count=tail.prints_count,
            is_silent=silent,
            discards_errors=_discards_errors(source.redirects),
            decides_status=decides,
        )
        return self._add_lookup(lookup)

    def _later_stages(self, stages: Stages) -> _Tail:
        """Read the stages after the first."""
        search: ParsedCommand | None = None
        counts = acts = False
        for stage in stages:
            if isinstance(stage, CompoundCommand):
                inner = LinePlan(stage.test + stage.body + stage.other, filters_search=self.filters_search)
                acts |= inner.acts
                searches = [lookup.parsed for lookup in inner.lookups if lookup.parsed.kind is ToolKind.SEARCH]
                search = searches[0]._replace(is_silent=False) if searches else search  # the group prints what it finds
                continue
            parsed = describe(stage)
            if parsed.kind is ToolKind.SEARCH and not parsed.is_inverted:  # `grep -v` leaves something out
                search, counts = parsed, parsed.prints_count
            elif parsed.role is ProgramRole.COUNT or stage.program == "wc":
                counts = True
            else:
                acts |= parsed.role is ProgramRole.ACT
                acts |= parsed.role is ProgramRole.QUIET and "xargs" in stage.wrappers  # as in `| xargs rm`
                counts |= parsed.prints_count  # grep -vc
        return _Tail(search, counts, acts)

    def _add_lookup(self, lookup: Lookup) -> _Condition:
        self.lookups.append(lookup)  # its success is a condition; flipped: `[ ! -f x ]`
        return _Condition(
            len(self.lookups) - 1, lookup.parsed.is_inverted and lookup.parsed.program in ("test", "[", "[[")
        )

    def _read_group(self, group: CompoundCommand, guard: _Condition, when: bool) -> _Condition:
        """Read a group; the branches of an `if` depend on the lookup in its test."""
        if group.word == "if":
            condition = self._read_list(group.test)
            if condition.lookup < 0:  # the test looks nothing up
                condition = guard
            self._read_list(group.body, condition, True)
            self._read_list(group.other, condition, False)
            return _UNCONDITIONAL
        self._read_list(group.test)
        condition = self._read_list(group.body, guard, when)
        return condition if group.word in ("(", "{", "sh") else _UNCONDITIONAL  # a loop has many ends

    def _read_command(self, command: Command, guard: _Condition, when: bool) -> _Condition:
        """Read a command that is a pipeline of its own."""
        parsed = describe(command)
        goes_to_file = _goes_to_file(command.redirects)
        if parsed.role is ProgramRole.LOOKUP:
            if goes_to_file and parsed.kind is not ToolKind.SEARCH:  # a copy of a file: nobody reads it here
                return _UNCONDITIONAL
            silent = parsed.is_silent or goes_to_file
            muted = _discards_errors(command.redirects)
            return self._add_lookup(Lookup(parsed, parsed.prints_count, silent, muted, decides_status=True))
        if parsed.role is ProgramRole.PRINT and not goes_to_file:
            from knowbound.traces.shell.printed import printed_texts  # noqa: PLC0415  # most lines print nothing

            for printed in printed_texts(command, guard.lookup, when != guard.flipped):
                self.shows_other_output |= printed.is_unknown
                self.printed += [] if printed.is_unknown else [printed]
        elif parsed.role is ProgramRole.ACT:
            self.acts = True
        elif parsed.role in _PRINTING:
            has_heredoc = any(redirect.operator == "<<" for redirect in command.redirects)
            self.shows_other_output |= not goes_to_file and not has_heredoc
        return _UNCONDITIONAL


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

"""Reading of a shell call: the query of its command line, and its outcome by its output.

The line is planned first (`plan`). Then texts that the line prints itself and messages of programs are removed from the
output; the remaining lines are hits. The intent of a line that found nothing is at the end of this module.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from knowbound.core.lazy_pattern import lazy
from knowbound.core.tool_kinds import LOOKUPS, MISSES, LookupIntent, Outcome, ToolKind
from knowbound.traces.shell.parser import parse
from knowbound.traces.shell.plan import LinePlan, Lookup

TYPE_CHECKING = False
if TYPE_CHECKING:
    from knowbound.traces.shell.printed import PrintedText
    from knowbound.traces.shell.programs import ParsedCommand

_MAX_HITS = 200  # lines are not counted further
_STOPPED_OUTCOMES = frozenset({Outcome.REJECTED, Outcome.CANCELLED, Outcome.TIMEOUT})


class ShellReading(NamedTuple):
    """A shell call as it was read: its kind, its outcome, its query and its places."""

    line: LinePlan
    kind: ToolKind
    outcome: Outcome
    query: str
    where: str
    reason: str
    intent: LookupIntent


def read_result(
    command: str,
    text: str,
    exit_code: int | None,
    is_error: bool | None,
    purpose: str = "",
    folder: str = "",
) -> ShellReading:
    """Read a call with the text of its result, which may begin with the exit code, or say that the call was stopped."""
    stopped: tuple[Outcome, str] | None = None
    if is_error and not text.startswith("Exit code"):
        from knowbound.traces.calls.outcome import failure  # noqa: PLC0415  # few commands are stopped

        stopped = failure(text)
    if exit_code is None and text:
        exit_code, text = split_exit_code(text)
    if stopped and stopped[0] in _STOPPED_OUTCOMES:  # the command line is only read for its query
        reading = read_shell(command, text, None, None, purpose, folder)
        return reading._replace(outcome=stopped[0], reason=stopped[1], intent=LookupIntent.LOOKUP)
    return read_shell(command, text, exit_code, is_error, purpose, folder)


def read_shell(
    command: str,
    output: str,
    exit_code: int | None,
    failed: bool | None,
    purpose: str = "",
    folder: str = "",
) -> ShellReading:
    """Return the query and the outcome of a command line.

    `failed` is the client's own flag, `purpose` the agent's description of the call, `folder` its working folder.
    """
    line = LinePlan(parse(command))
    kind = ToolKind.SHELL  # also a line that builds, tests or changes something
    if line.lookups and not line.acts:
        kinds = {lookup.parsed.kind for lookup in line.lookups}
        kind = next(kind for kind in (ToolKind.SEARCH, ToolKind.READ, ToolKind.LIST) if kind in kinds)
    if failed is None and exit_code is not None:
        failed = exit_code != 0
    is_limit = exit_code == 124 and not line.programs.isdisjoint(("timeout", "gtimeout"))  # the exit code of `timeout`
    if is_limit or (exit_code != 0 and _TIMED_OUT.match(output[:200])):
        outcome, reason = Outcome.TIMEOUT, "timed out"
    elif kind in LOOKUPS:
        outcome, reason = _lookup_outcome(line, output, exit_code, failed)
    else:
        outcome, reason = _shell_outcome(line, output, exit_code, failed)
        if line.filters_output and failed is not None and exit_code in (None, 0, 1):
            filtered = _empty_filter(command, output, exit_code, failed)
            line, kind, outcome, reason = filtered or (line, kind, outcome, reason)
    main_lookup = next((lookup.parsed for lookup in line.lookups if lookup.parsed.kind is kind), None)
    intent = LookupIntent.LOOKUP
    if main_lookup and outcome in MISSES:
        intent, fault = line_intent(line, main_lookup, purpose, folder)
        reason = fault or reason
    query = (main_lookup.query or " ".join(main_lookup.operands)) if main_lookup else ""
    where = " ".join(main_lookup.operands) if main_lookup and main_lookup.query else ""
    return ShellReading(line, kind, outcome, query or command, where, reason, intent)


def _empty_filter(
    command: str, output: str, exit_code: int | None, failed: bool
) -> tuple[LinePlan, ToolKind, Outcome, str] | None:
    """Return the reading of `make | grep x` as an empty search, if it let nothing through and does nothing else."""
    line = LinePlan(parse(command), filters_search=True)
    if line.acts or not all(lookup.parsed.is_state for lookup in line.lookups):
        return None  # it does more than filter
    outcome, _ = _lookup_outcome(line, output, exit_code, failed)
    return (line, ToolKind.SEARCH, outcome, "the filter let nothing through") if outcome is Outcome.EMPTY else None


_EXIT_CODE = lazy(r"(?:Error: )?Exit code (\d{1,9})(?:\n|\Z)")


def split_exit_code(text: str) -> tuple[int | None, str]:
    """Split Claude Code's error text "Exit code 1\\n…" into the code (None without one) and the rest."""
    found = _EXIT_CODE.match(text)
    return (int(found[1]), text[found.end() :]) if found else (None, text)


# ---- the output

_NOT_KNOWN_HINTS = ("no ", "not ", "404", "[error")  # a message without a colon has one of these
_NO_HITS = lazy(
    r"(?:no (?:matches|results?|files?|match|matching files) (?:found|were found)\.?|0 (?:matches|results|files)\b.*"
    r"|🔍 0 .*|0 directories(?:, 0 files)?|total 0|\(no output\)|\(?no matches\)?|└── \(empty\))$",
    re.IGNORECASE,
)
_NOISE = lazy(
    r"Shell cwd was reset to |<shellId: |\(Bash completed with no output\)|grep: warning: |total \d+$"
    r"|d[rwxst-]{9}\S*\s.*\s\.\.?$|[\w@/.-]+@\d[\w.+-]* /\S*$|tip: to pass '|For more information, try '--help'"
)
_COUNT = lazy(r"(?:.*:)?\s*(\d+)(?:\s+\S+)?$")


class ReadOutput:
    """The lines of an output, sorted into hits and messages."""

    def __init__(self, line: LinePlan, output: str) -> None:
        self.line_plan = line
        self.hits = 0  # lines that are no message and no printed text
        self.says_found = False  # the command line reports that a lookup found something
        self.says_nothing_found = False  # … or that it found nothing
        self.not_there: set[str] = set()  # messages: a path or name is not there
        self.wrong_use: set[str] = set()  # messages: wrong use, no permission
        self.is_line_unreadable = False  # the shell could not read the command line
        self.other_messages = 0  # … of another kind
        self.prints_counts = any(lookup.prints_count for lookup in line.lookups)
        for text in filter(None, map(str.strip, output.splitlines())):
            self.take_line(text)
            if self.hits > _MAX_HITS:
                break

    def take_line(self, text: str) -> None:
        """Sort a line: a message, a printed text, a count, or else a hit."""
        if _NOISE.match(text) or self.take_message(text):
            return
        rest = self.without_prints(text)
        if not rest or _NO_HITS.match(rest) or (rest == "[]" and "gh" in self.line_plan.programs):
            return
        if self.prints_counts and (count := _COUNT.match(rest)):
            self.says_found |= count[1] != "0"
            return
        self.hits += 1

    def take_message(self, text: str) -> bool:
        """Report whether a line is a message of a program, and note it."""
        is_hinted = any(map(text.__contains__, _NOT_KNOWN_HINTS))
        if ":" not in text and not is_hinted:
            return False
        from knowbound.traces.shell.messages import note_message  # noqa: PLC0415  # most searches end without messages

        return note_message(self, text, is_hinted)

    def without_prints(self, text: str) -> str:
        """Return a line without the texts that the command line prints itself."""
        for printed in self.line_plan.printed:
            match = printed.match(text)
            if match is None:
                continue
            values, text = match
            self.take_report(printed, values)
            if not text:
                break
        return text

    def take_report(self, printed: PrintedText, expansions: list[str]) -> None:
        """Note the result of a lookup that a printed text reports."""
        if printed.status_number >= 0 and self.line_plan.lookups and self.line_plan.lookups[-1].is_silent:
            self.says_found |= expansions[printed.status_number] == "0"
            self.says_nothing_found |= expansions[printed.status_number] != "0"
        elif printed.lookup >= 0:  # -1: it depends on no lookup
            self.says_found |= printed.if_found and self.line_plan.lookups[printed.lookup].is_silent
            self.says_nothing_found |= not printed.if_found


def _lookup_outcome(line: LinePlan, output: str, exit_code: int | None, failed: bool | None) -> tuple[Outcome, str]:
    """Return the outcome of a line that looks something up: by its messages and hits, then by its exit status."""
    lines = ReadOutput(line, output)
    if lines.is_line_unreadable and not lines.hits:
        return Outcome.ERROR, "the shell could not read the line"
    if lines.wrong_use and len(lines.wrong_use) >= len(line.lookups) and (failed or not lines.hits):
        return Outcome.ERROR, "usage error"
    if exit_code in (126, 127) and not lines.hits:  # not executable, not found
        return Outcome.ERROR, "the program could not be run"
    if lines.says_found:
        return Outcome.OK, "the line says that it was found"
    if lines.hits:
        named_things = sum(max(1, len(lookup.parsed.operands)) for lookup in line.lookups)
        if line.shows_other_output and len(lines.not_there) >= named_things:
            return Outcome.MISSING, "the path is not there; other programs printed the output"
        return Outcome.OK, "partly found" if lines.not_there else "found"
    if lines.not_there:
        return Outcome.MISSING, "the path or name is not there"
    if lines.other_messages and failed:
        return Outcome.ERROR, "the program failed"
    if lines.says_nothing_found:
        return _missed(line, "only the fallback text was printed", failed=True)  # `cat x || echo none`
    if all(lookup.is_silent for lookup in line.lookups):
        return _by_status(line, failed)
    if exit_code is not None and exit_code > 1 and any(lookup.discards_errors for lookup in line.lookups):
        return Outcome.MISSING, "failed with its message thrown away"
    if failed is None and all(lookup.parsed.kind is ToolKind.READ for lookup in line.lookups):
        return Outcome.UNKNOWN, "no status, no output"
    reads = [lookup for lookup in line.lookups if lookup.parsed.kind is ToolKind.READ and not lookup.parsed.query]
    if not failed and len(reads) == len(line.lookups) and not any(lookup.discards_errors for lookup in reads):
        return Outcome.OK, "the file is there; that part of it is empty"
    status_lookup = line.lookups[line.status_lookup] if line.status_lookup >= 0 else None
    if status_lookup and status_lookup.decides_status:
        return _missed(line, f"{status_lookup.parsed.program} {_PAST_VERB[status_lookup.parsed.kind]} nothing")
    return _missed(line, "pipeline status swallowed; output empty")


def _by_status(line: LinePlan, failed: bool | None) -> tuple[Outcome, str]:
    """Return the outcome by the exit status, if it is the status of the lookup."""
    if any(printed.lookup >= 0 and printed.if_found for printed in line.printed):
        return _missed(line, "the text for a find was not printed")
    if line.status_lookup < 0:  # -1: no lookup decides the status
        return Outcome.OK, "nothing was to be printed"
    if failed is None:
        return Outcome.UNKNOWN, "only the exit status decides, and it is not known"
    if failed == line.negated:  # `! grep` fails if it finds
        return Outcome.OK, "found, by its status"
    return _missed(line, "nothing found, by its status")


def _missed(line: LinePlan, reason: str, *, failed: bool = False) -> tuple[Outcome, str]:
    """Return the outcome of a miss: a search is empty; a name, or a path that could not be read, is missing."""
    by_name = all(lookup.parsed.program in _BY_NAME for lookup in line.lookups)  # `which x`, `test -f x`
    tested = any(lookup.parsed.program in _TESTS for lookup in line.lookups)
    by_path = (failed or tested) and all(lookup.parsed.kind is not ToolKind.SEARCH for lookup in line.lookups)
    return (Outcome.MISSING if by_name or by_path else Outcome.EMPTY), reason


_PAST_VERB = {ToolKind.SEARCH: "matched", ToolKind.LIST: "listed", ToolKind.READ: "printed"}
_TESTS = frozenset({"test", "[", "[["})
_BY_NAME = _TESTS | {"which", "type", "command", "whereis", "hash", "stat", "realpath"}
_TIMED_OUT = lazy(r"\s*(?:Command timed out after|.*\btimed out after \d+)", re.IGNORECASE)


def _shell_outcome(line: LinePlan, output: str, exit_code: int | None, failed: bool | None) -> tuple[Outcome, str]:
    """Return the outcome of a line that builds, tests or changes something."""
    printed = bool(output.strip())
    if failed is None:
        return (Outcome.OK, "it printed something") if printed else (Outcome.UNKNOWN, "no status, no output")
    if not failed:
        return Outcome.OK, "ended well"
    if line.filters_output and not printed and exit_code in (None, 1):
        return Outcome.OK, "the filter let nothing through"
    return Outcome.ERROR, f"ended with status {exit_code}" if exit_code is not None else "failed"


# ---- intent of a line whose lookups found nothing (specification 1, section 10)


def line_intent(line: LinePlan, main: ParsedCommand, purpose: str, folder: str) -> tuple[LookupIntent, str]:
    """Return the intent of a command line whose lookups found nothing, and the fault of its main lookup's pattern."""
    if main.syntax:
        from knowbound.traces.calls.intent import fault  # noqa: PLC0415  # a path has no syntax

        if pattern_fault := fault(main.query, main.syntax):
            return LookupIntent.MALFORMED, pattern_fault
    if all(_is_incidental(lookup.parsed, folder) for lookup in line.lookups):
        return LookupIntent.INCIDENTAL, ""
    expects_it = False
    if purpose:
        from knowbound.traces.calls import intent as words  # noqa: PLC0415  # most calls have no description

        if words.announces_check(purpose):
            return LookupIntent.CHECK, ""
        # An agent that announces a search may prepare for a miss, and still wants to find something.
        expects_it = words.expects_it(purpose)
    is_check = _checks_absence(line) or (_takes_either(line) and not expects_it)
    return (LookupIntent.CHECK if is_check else LookupIntent.LOOKUP), ""


def _is_incidental(parsed: ParsedCommand, folder: str) -> bool:
    """Report whether a lookup asks for a state, or only looks outside of what a project knows."""
    if parsed.is_state:
        return True
    if not parsed.operands:
        return False
    from knowbound.core.knowledge_paths import is_machine_state  # noqa: PLC0415

    return all(is_machine_state(operand, folder) for operand in parsed.operands)


def _takes_either(line: LinePlan) -> bool:
    """Report whether a line is made for either answer: it tests, counts, or prints itself that nothing is there."""
    lookups = line.lookups
    if lookups[0].parsed.program in ("test", "[", "[["):
        return True
    answered = {printed.lookup for printed in line.printed if not printed.if_found}
    unanswered = [lookup for at, lookup in enumerate(lookups) if at not in answered and not _reports_a_miss(lookup)]
    # `ls x && cat x/y || echo none`: the text answers for both.
    return not unanswered or (
        len(lookups) - 1 in answered and all(lookup.parsed.kind is not ToolKind.SEARCH for lookup in unanswered)
    )


def _reports_a_miss(lookup: Lookup) -> bool:
    """Report whether 0, a status or silence is an answer: `grep -c`, `grep -q`, `ls x 2>/dev/null`.

    The messages of a search are discarded for other reasons.
    """
    is_muted = lookup.discards_errors and lookup.parsed.kind is not ToolKind.SEARCH
    return lookup.prints_count or lookup.is_silent or is_muted


def _checks_absence(line: LinePlan) -> bool:
    """Report whether a line treats "not found" as success."""
    reported = {printed.lookup for printed in line.printed if printed.lookup >= 0}
    if (line.negated and not reported) or line.removes_files:
        return True
    if any("<<<<<<<" in lookup.parsed.query for lookup in line.lookups):
        return True  # conflict markers are only searched for to see that none is left
    inverted = (at for at, lookup in enumerate(line.lookups) if lookup.parsed.is_inverted and lookup.parsed.is_silent)
    return not reported.issuperset(inverted)

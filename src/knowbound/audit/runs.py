"""From a tool call to the checks that it ran, and how each ended.

What a tool printed decides first. Where it printed no summary the exit code does, unless it is another program's:
behind `| tail`, `; echo`, `|| true` it says nothing about the check.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

import msgspec

from knowbound.audit.checks import Check, Checking, Ended, Printed, checking_of, printed_results
from knowbound.core.trace import LOOKUPS, Outcome, ToolCall, ToolKind
from knowbound.traces.calls.tools import COMMAND_KEYS, first_text
from knowbound.traces.shell.parser import Command, CompoundCommand, Pipeline, commands, parse


class Run(msgspec.Struct, frozen=True):
    """A check that ran, and how it ended."""

    kinds: frozenset[Check]
    tool: str
    ended: Ended
    order: int  # of its call in the turn
    line: int
    command: str = ""
    is_printed: bool = False  # a summary that the tool printed decided, not an exit code
    passed: int | None = None
    failed: int = 0
    is_filtered: bool = False
    operands: tuple[str, ...] = ()
    folder: str = ""
    hides_exit: bool = False  # its exit code was replaced by that of another program
    is_by_hook: bool = False  # a commit or push ran it
    is_own_script: bool = False


class PlannedCheck(msgspec.Struct, frozen=True):
    """A check in a command line; `decides`: the exit code of the line is its own where it is 0."""

    checking: Checking
    decides: bool
    folder: str
    is_last: bool = False  # its exit code is that of the line, whatever it is


class CommandPlan(msgspec.Struct, frozen=True):
    """Checks, git commands and written files of a command line, and the meaning of its output."""

    checks: tuple[PlannedCheck, ...]
    programs: frozenset[str]
    shows_files: bool  # it prints files or history: a summary in there is no result
    commits: bool  # git commit or push: hooks may run checks
    gits: tuple[Command, ...] = ()  # git and gh
    written: tuple[str, ...] = ()  # files that it writes: `sed -i`, `> file`, `tee file`
    runs_unknown: bool = False  # a program that may have run the project, or the log of one
    is_compared: bool = False  # it ran without the change, or on another commit: `git stash && npm test`


_PLAIN_PROGRAMS = frozenset(
    "git gh rm mv cp ln touch chmod chown which type command test [ [[ : false exit return wc sort uniq cut tr tee "
    "basename dirname realpath stat file du df env unset read kill pkill lsof ps xargs pbcopy open tar unzip gzip "
    "md5 shasum sha256sum base64 history alias whoami uname hostname column paste comm yes seq expr let local declare "
    "npm pnpm yarn bun pip pip3 uv poetry brew apt apt-get go cargo mise rustup nvm volta corepack code claude".split()
)  # what is installed or looked up by them runs nothing of the project: what does is a check
_NOT_RUN = frozenset({Outcome.REJECTED, Outcome.CANCELLED})
_HARMLESS = frozenset({"cd", "export", "set", "source", ".", "echo", "printf", "true", "sleep", "mkdir", "pwd", "date"})
_PRINTERS = frozenset(
    "cat sed head tail grep rg egrep awk nl less bat jq find ls tree diff gh curl wget fgrep ag ack strings xxd".split()
)
_LOGS = re.compile(r"\.(?:log|out|output|txt)\b|/tmp/|/tasks/")
_ERRORS = re.compile(
    r"^(?:\S+:\d+(?::\d+)?:? (?:error|fatal)|(?:fatal )?error(?:\[\w+\])?:|ERROR\b|FAIL\b|FAILED\b|✖|✗|× |npm ERR!"
    r"|Traceback \(most recent|panic:|\w+Error: |[\w/.-]+\.go:\d+:\d+: )"
    r"|\bexited with (?:code|error code|status) [1-9]|ELIFECYCLE",
    re.M,
)
_COMPLAINTS = re.compile(r"(?<!\b0 )(?<!\bno )\b(?:errors?|fail(?:ed|ure|s)?|problems?|cannot|warnings?)\b", re.I)
# A script of the project says so itself; its exit code often says nothing.
_SAYS_FAIL = re.compile(r"^[^\S\n]*(?:[\w ]{1,20}:[^\S\n]*)?(?:FAIL(?:ED|URE)?\b(?!\w|:? *0\b)|[✗✖❌])", re.M)
_ECHO = re.compile(r"^(?:\[[\w:.-]+\] )?(?:\$|>) (\S[^\n]{2,200})$", re.M)
_BROWSERS = re.compile(r"(?:playwright|puppeteer|browser|chrome|screenshot|simulator|devtools)", re.I)
_OUTPUT_TOOLS = frozenset({"taskoutput", "bashoutput", "read_bash", "agentoutputtool", "killshell"})
_NOT_STARTED = re.compile(
    r"unrecognized subcommand|command not found|no such command|unknown command|Missing script", re.I
)
_SHORT_OUTPUT = 2_000  # characters: a tool that never started says no more
_REDIRECTS = frozenset({">", ">>", ">|"})
_IN_PLACE = re.compile(r"-[a-zA-Z]*i|--in-place")
_LONGEST_COMMAND = 300


def command_of(call: ToolCall) -> str:
    """The command line of a shell call, whatever its reader makes of it; "" for other calls."""
    return first_text(call.input, COMMAND_KEYS) if call.input else ""


def runs_of(call: ToolCall, order: int) -> list[Run]:
    """The checks that a call ran."""
    if call.outcome in _NOT_RUN:
        return []
    command = command_of(call)
    if not command:
        return list(_tool_runs(call, order))
    plan = plan_of(command)
    if not plan.checks and plan.shows_files:
        return []
    if not plan.checks and not plan.commits and call.kind in LOOKUPS and not _LOGS.search(command):
        return []
    output = call.text
    if len(output) < _SHORT_OUTPUT and _NOT_STARTED.search(output):
        return []
    printed = printed_results(output) if output else []
    folder = str((call.input or {}).get("workdir") or "")
    found = [_run(check, plan, printed, call, order, output, folder, command) for check in plan.checks]
    planned = set[Check]().union(*(check.checking.kinds for check in plan.checks))
    others = [one for one in (*printed, *_echoed(output, call, plan, printed)) if one.kind not in planned]
    found += [_printed_run(one, call, order, command, plan.commits) for one in others]
    return [msgspec.structs.replace(one, ended=Ended.UNKNOWN) for one in found] if plan.is_compared else found


def _echoed(output: str, call: ToolCall, plan: CommandPlan, printed: list[Printed]) -> Iterator[Printed]:
    """Checks that a hook or a script names before it runs them (`$ tsc --noEmit`), where all of it succeeded."""
    if call.outcome is not Outcome.OK or plan.shows_files or not (plan.commits or plan.checks):
        return
    done = {one.kind for one in printed}
    for found in _ECHO.finditer(output):
        for one in plan_of(found[1]).checks:
            for kind in one.checking.kinds - done:
                done.add(kind)
                yield Printed(one.checking.tool, kind, Ended.PASSED)


def _tool_runs(call: ToolCall, order: int) -> Iterator[Run]:
    """Checks by tools that are no shell: a browser, output of a background command."""
    name = call.name.lower()
    if name in _OUTPUT_TOOLS:
        for one in printed_results(call.text):
            yield _printed_run(one, call, order, call.name, False)
    elif call.kind in (ToolKind.OTHER, ToolKind.READ, ToolKind.SEARCH) and _BROWSERS.search(name):
        ended = Ended.PASSED if call.outcome is Outcome.OK else Ended.FAILED
        yield Run(frozenset({Check.RUN}), call.name, ended, order, call.line)


def _printed_run(one: Printed, call: ToolCall, order: int, command: str, by_hook: bool) -> Run:
    return Run(
        frozenset({one.kind}), one.tool, one.ended, order, call.line, command[:_LONGEST_COMMAND], True, one.passed,
        one.failed, is_by_hook=by_hook,
    )  # fmt: skip


def _run(
    one: PlannedCheck,
    plan: CommandPlan,
    printed: list[Printed],
    call: ToolCall,
    order: int,
    output: str,
    folder: str,
    command: str,
) -> Run:
    checking = one.checking
    own = [result for result in printed if result.kind in checking.kinds]
    ended, is_printed = _by_exit(one, plan, call, output), False
    passed, failed = None, 0
    if own:
        is_printed = True
        failed = sum(result.failed for result in own if result.ended is Ended.FAILED)
        counts = [result.passed for result in own if result.passed is not None]
        passed = sum(counts) if counts else None
        if any(result.ended is Ended.FAILED for result in own):
            ended = Ended.FAILED
        elif not (ended is Ended.FAILED and call.outcome is Outcome.ERROR and one.is_last):  # an exit code is no text
            ended = Ended.PASSED if any(result.ended is Ended.PASSED for result in own) else Ended.EMPTY
    return Run(
        checking.kinds, checking.tool, ended, order, call.line, command[:_LONGEST_COMMAND], is_printed, passed, failed,
        checking.is_filtered, checking.operands, one.folder or folder, not one.decides,
        is_own_script=checking.is_own_script,
    )  # fmt: skip


def _by_exit(one: PlannedCheck, plan: CommandPlan, call: ToolCall, output: str) -> Ended:
    """Return the end of a check by the exit code; if that is another program's, by the errors in the output."""
    if call.outcome is Outcome.TIMEOUT or (call.outcome is Outcome.UNKNOWN and call.is_unanswered):
        return Ended.UNKNOWN
    if call.outcome is Outcome.UNKNOWN and not output.strip():
        return Ended.UNKNOWN
    if call.outcome is Outcome.ERROR:
        alone = len(plan.checks) == 1 and one.is_last
        return Ended.FAILED if alone or _ERRORS.search(output) else Ended.UNKNOWN
    if one.checking.is_own_script and _SAYS_FAIL.search(output):
        return Ended.FAILED
    if one.decides:
        return Ended.PASSED
    if _ERRORS.search(output):
        return Ended.FAILED if len(plan.checks) == 1 else Ended.UNKNOWN
    if Check.TEST in one.checking.kinds or Check.RUN in one.checking.kinds or "grep" in plan.programs:
        return Ended.UNKNOWN
    # Compilers and linters print what they complain about, last: `| tail` shows it.
    return Ended.UNKNOWN if _COMPLAINTS.search(output) else Ended.PASSED


# ---- the command line


def plan_of(command: str) -> CommandPlan:
    """Return the plan of a command line; those of short command lines are kept."""
    return _remembered(command) if len(command) < 2_000 else _plan(command)


def _plan(command: str) -> CommandPlan:
    steps = parse(command)
    simple = list(commands(steps))
    programs = frozenset(one.program for one in simple)
    gits = {word for one in simple if one.program == "git" for word in one.texts[:3]}
    sources = [one for step in steps for one in step.stages[:1] if isinstance(one, Command)]
    shows = not _LOGS.search(command) and all(
        source.program in _PRINTERS or source.program in _HARMLESS or source.program == "git" for source in sources
    )
    pipefail = any(one.program == "set" and any("pipefail" in word for word in one.texts) for one in simple)
    checks = tuple(_checks(steps, pipefail, True, ""))
    commits = bool(gits & {"commit", "push"})
    acts = tuple(one for one in simple if one.program in ("git", "gh") and one.texts)
    written = tuple(path for one in simple for path in _written(one))
    known = _HARMLESS | _PRINTERS | _PLAIN_PROGRAMS
    reads_log = bool(programs & _PRINTERS) and bool(_LOGS.search(command))
    unknown = not checks and (reads_log or not programs <= known)
    compared = bool({"stash", "checkout", "switch", "worktree", "bisect"} & gits) and bool(checks)
    return CommandPlan(checks, programs, shows and not commits, commits, acts, written, unknown, compared)


_remembered = lru_cache(maxsize=2048)(_plan)


def _written(one: Command) -> Iterator[str]:
    """The files of the project that a command writes."""
    program, words = one.program, one.texts
    found = [
        redirect.target
        for redirect in one.redirects
        if redirect.operator in _REDIRECTS and redirect.fd in ("", "1") and program in ("cat", "echo", "printf")
    ]
    if program in ("sed", "gsed", "perl") and any(_IN_PLACE.match(word) for word in words[:3]):
        found += [word for word in words[1:] if "." in word and "/" in word and not word.startswith(("s/", "-"))]
    if program == "tee":
        found += [word for word in words if not word.startswith("-")]
    return (path for path in found if not path.startswith(("/tmp", "/dev", "&", "$TMP")))


def _checks(steps: tuple[Pipeline, ...], pipefail: bool, exit_is_ours: bool, folder: str) -> Iterator[PlannedCheck]:
    """The checks of a list. A check decides where a good exit code of the whole list needs its own."""
    for at, step in enumerate(steps):
        later = steps[at + 1 :]
        if any(isinstance(stage, Command) and stage.program == "cd" for stage in step.stages):
            folder = _folder(step, folder)
        chained = all(one.link == "&&" for one in later)
        is_last = exit_is_ours and all(_is_harmless(one) for one in later if one.link == "&&") and chained
        for number, stage in enumerate(step.stages):
            own = number == len(step.stages) - 1 or pipefail
            decides = exit_is_ours and chained and own and not step.negated
            if isinstance(stage, CompoundCommand):
                plain = stage.word in ("(", "{", "sh") and decides
                for part in (stage.test, stage.body, stage.other):
                    yield from _checks(part, pipefail, plain and part is stage.body, folder)
            elif (found := checking_of(stage)) is not None:
                yield PlannedCheck(found, decides, folder, is_last and own)


def _is_harmless(step: Pipeline) -> bool:
    return all(isinstance(stage, Command) and stage.program in _HARMLESS for stage in step.stages)


def _folder(step: Pipeline, before: str) -> str:
    for stage in step.stages:
        if isinstance(stage, Command) and stage.program == "cd" and stage.texts:
            to = stage.texts[-1]
            return to if to.startswith(("/", "~")) or not before else f"{before.rstrip('/')}/{to}"
    return before

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
    """Return the checks that a call ran: those of its command line, then others whose results it printed."""
    if call.outcome in _NOT_RUN:
        return []
    command = command_of(call)
    if not command:
        return list(_tool_runs(call, order))
    plan = plan_of(command)
    if not plan.checks and plan.shows_files:
        return []  # a result in a file that it prints is an old one
    if not plan.checks and not plan.commits and call.kind in LOOKUPS and not _LOGS.search(command):
        return []
    output = call.text
    if len(output) < _SHORT_OUTPUT and _NOT_STARTED.search(output):
        return []
    printed = printed_results(output) if output else []
    folder = str((call.input or {}).get("workdir") or "")
    runs = [_run(check, plan, printed, call, order, output, folder, command) for check in plan.checks]
    planned = set[Check]().union(*(check.checking.kinds for check in plan.checks))
    others = [result for result in (*printed, *_echoed(output, call, plan, printed)) if result.kind not in planned]
    runs += [_printed_run(result, call, order, command, plan.commits) for result in others]
    # How it ends without the change, or on another commit, says nothing about the change.
    return [msgspec.structs.replace(run, ended=Ended.UNKNOWN) for run in runs] if plan.is_compared else runs


def _echoed(output: str, call: ToolCall, plan: CommandPlan, printed: list[Printed]) -> Iterator[Printed]:
    """Yield checks that a hook or a script names before it runs them (`$ tsc --noEmit`), if the call succeeded."""
    if call.outcome is not Outcome.OK or plan.shows_files or not (plan.commits or plan.checks):
        return
    done = {result.kind for result in printed}  # kinds of check with a result: each is given once
    for echoed in _ECHO.finditer(output):
        for check in plan_of(echoed[1]).checks:
            for kind in check.checking.kinds - done:
                done.add(kind)
                yield Printed(check.checking.tool, kind, Ended.PASSED)


def _tool_runs(call: ToolCall, order: int) -> Iterator[Run]:
    """Yield checks by tools that are no shell: a browser, output of a background command."""
    name = call.name.lower()
    if name in _OUTPUT_TOOLS:
        for result in printed_results(call.text):
            yield _printed_run(result, call, order, call.name, by_hook=False)
    elif call.kind in (ToolKind.OTHER, ToolKind.READ, ToolKind.SEARCH) and _BROWSERS.search(name):
        ended = Ended.PASSED if call.outcome is Outcome.OK else Ended.FAILED
        yield Run(frozenset({Check.RUN}), call.name, ended, order, call.line)


def _printed_run(result: Printed, call: ToolCall, order: int, command: str, by_hook: bool) -> Run:
    """Return the run of a check that is known by its printed result alone."""
    return Run(
        frozenset({result.kind}), result.tool, result.ended, order, call.line, command[:_LONGEST_COMMAND], True,
        result.passed, result.failed, is_by_hook=by_hook,
    )  # fmt: skip


def _run(
    check: PlannedCheck,
    plan: CommandPlan,
    printed: list[Printed],
    call: ToolCall,
    order: int,
    output: str,
    folder: str,
    command: str,
) -> Run:
    """Return the run of a check of a command line: printed results of its kinds decide, else the exit code."""
    checking = check.checking
    own = [result for result in printed if result.kind in checking.kinds]
    ended, is_printed = _by_exit(check, plan, call, output), False
    passed, failed = None, 0
    if own:
        is_printed = True
        failed = sum(result.failed for result in own if result.ended is Ended.FAILED)
        counts = [result.passed for result in own if result.passed is not None]
        passed = sum(counts) if counts else None
        if any(result.ended is Ended.FAILED for result in own):
            ended = Ended.FAILED
        elif not (ended is Ended.FAILED and call.outcome is Outcome.ERROR and check.is_last):  # its exit code counts
            ended = Ended.PASSED if any(result.ended is Ended.PASSED for result in own) else Ended.EMPTY
    return Run(
        checking.kinds, checking.tool, ended, order, call.line, command[:_LONGEST_COMMAND], is_printed, passed, failed,
        checking.is_filtered, checking.operands, check.folder or folder, not check.decides,
        is_own_script=checking.is_own_script,
    )  # fmt: skip


def _by_exit(check: PlannedCheck, plan: CommandPlan, call: ToolCall, output: str) -> Ended:
    """Return the end of a check by the exit code; if that is another program's, by the errors in the output."""
    if call.outcome is Outcome.TIMEOUT or (call.outcome is Outcome.UNKNOWN and call.is_unanswered):
        return Ended.UNKNOWN
    if call.outcome is Outcome.UNKNOWN and not output.strip():
        return Ended.UNKNOWN
    if call.outcome is Outcome.ERROR:
        is_alone = len(plan.checks) == 1 and check.is_last
        return Ended.FAILED if is_alone or _ERRORS.search(output) else Ended.UNKNOWN
    if check.checking.is_own_script and _SAYS_FAIL.search(output):
        return Ended.FAILED
    if check.decides:
        return Ended.PASSED
    if _ERRORS.search(output):
        return Ended.FAILED if len(plan.checks) == 1 else Ended.UNKNOWN
    if Check.TEST in check.checking.kinds or Check.RUN in check.checking.kinds or "grep" in plan.programs:
        return Ended.UNKNOWN  # tests fail in words of their own; `grep` may have left the errors out
    # Compilers and linters print what they complain about, last: `| tail` shows it.
    return Ended.UNKNOWN if _COMPLAINTS.search(output) else Ended.PASSED


# ---- the command line


def plan_of(command: str) -> CommandPlan:
    """Return the plan of a command line; those of short command lines are kept."""
    return _remembered(command) if len(command) < 2_000 else _plan(command)


def _plan(command_line: str) -> CommandPlan:
    steps = parse(command_line)
    simple = list(commands(steps))
    programs = frozenset(command.program for command in simple)
    git_words = {word for command in simple if command.program == "git" for word in command.texts[:3]}  # with its verb
    sources = [stage for step in steps for stage in step.stages[:1] if isinstance(stage, Command)]  # of each pipe
    shows = not _LOGS.search(command_line) and all(
        source.program in _PRINTERS or source.program in _HARMLESS or source.program == "git" for source in sources
    )
    pipefail = any("pipefail" in word for command in simple if command.program == "set" for word in command.texts)
    checks = tuple(_checks(steps, pipefail, exit_is_ours=True, folder=""))
    commits = bool(git_words & {"commit", "push"})
    acts = tuple(command for command in simple if command.program in ("git", "gh") and command.texts)
    written = tuple(path for command in simple for path in _written(command))
    known = _HARMLESS | _PRINTERS | _PLAIN_PROGRAMS
    reads_log = bool(programs & _PRINTERS) and bool(_LOGS.search(command_line))
    unknown = not checks and (reads_log or not programs <= known)
    compared = bool({"stash", "checkout", "switch", "worktree", "bisect"} & git_words) and bool(checks)
    return CommandPlan(checks, programs, shows and not commits, commits, acts, written, unknown, compared)


_remembered = lru_cache(maxsize=2048)(_plan)


def _written(command: Command) -> Iterator[str]:
    """Yield the files of the project that a command writes."""
    program, words = command.program, command.texts
    found = [
        redirect.target
        for redirect in command.redirects  # of what only repeats a text: the output of a program is a log
        if redirect.operator in _REDIRECTS and redirect.fd in ("", "1") and program in ("cat", "echo", "printf")
    ]
    if program in ("sed", "gsed", "perl") and any(_IN_PLACE.match(word) for word in words[:3]):
        found += [word for word in words[1:] if "." in word and "/" in word and not word.startswith(("s/", "-"))]
    if program == "tee":
        found += [word for word in words if not word.startswith("-")]
    return (path for path in found if not path.startswith(("/tmp", "/dev", "&", "$TMP")))


def _checks(steps: tuple[Pipeline, ...], pipefail: bool, exit_is_ours: bool, folder: str) -> Iterator[PlannedCheck]:
    """Yield the checks of a list of pipes; `exit_is_ours`: the exit code of the list is that of the command line."""
    for at, step in enumerate(steps):
        later = steps[at + 1 :]
        if any(isinstance(stage, Command) and stage.program == "cd" for stage in step.stages):
            folder = _folder(step, folder)
        chained = all(other.link == "&&" for other in later)  # a good exit code of the list needs that of this step
        is_last = exit_is_ours and chained and all(map(_is_harmless, later))
        for number, stage in enumerate(step.stages):
            sets_exit = number == len(step.stages) - 1 or pipefail  # of a pipe: its last stage does
            decides = exit_is_ours and chained and sets_exit and not step.negated
            if isinstance(stage, CompoundCommand):
                plain = stage.word in ("(", "{", "sh") and decides
                for part in (stage.test, stage.body, stage.other):
                    yield from _checks(part, pipefail, plain and part is stage.body, folder)
            elif (found := checking_of(stage)) is not None:
                yield PlannedCheck(found, decides, folder, is_last and sets_exit)


def _is_harmless(step: Pipeline) -> bool:
    return all(isinstance(stage, Command) and stage.program in _HARMLESS for stage in step.stages)


def _folder(step: Pipeline, before: str) -> str:
    """Return the folder after a step with `cd`; `before` is the folder that it begins in."""
    for stage in step.stages:
        if isinstance(stage, Command) and stage.program == "cd" and stage.texts:
            to = stage.texts[-1]
            return to if to.startswith(("/", "~")) or not before else f"{before.rstrip('/')}/{to}"
    return before

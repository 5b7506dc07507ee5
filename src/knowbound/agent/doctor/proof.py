"""The proof of an installation: its hooks and its MCP server are run as the agent runs them.

A checkout may bring settings with entries that look like ours. A command from a project's own files is run only if it
is exactly what `install` writes; a command from the user's own settings is run as it is, like the agent does.
"""

from __future__ import annotations

import json
import os
import selectors
import shlex
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from knowbound import __version__
from knowbound.agent.doctor import NOTE, OK, PROBLEM, HealthCheck, first_wrong
from knowbound.agent.doctor.data_folder import first_row
from knowbound.agent.doctor.installations import Installation, OurHook, search_path
from knowbound.agent.hook_entry import TRIAL
from knowbound.config import Settings
from knowbound.errors import InputError
from knowbound.process import Program, run
from knowbound.store.data_dir import INDEX
from knowbound.text.redact import excerpt

_LONGEST_PROMPT = _LONGEST_REASON = 300  # characters
_FALLBACK_PROMPT = "knowbound doctor asks whether the hook answers"
_EXPLAIN = "knowbound explain hook-failed"
_WORKED = ("injected", "indexed", "queued", "rescued", "nothing", "off")  # outcomes of a hook


def check_proof(
    installations: list[Installation],
    settings: Settings,
    environ: Mapping[str, str],
    left: TimeLeft,
    *,
    has_store: bool,
) -> Iterator[HealthCheck]:
    """Try the hooks and the server of each installation, each command once."""
    prover = _Prover(settings, environ, left, has_store)
    with_user_hooks = {installed.agent for installed in installations if installed.hooks and installed.scope == "user"}
    for installation in installations:
        if installation.scope == "project" and installation.agent in with_user_hooks:
            yield HealthCheck(f"{installation.name} hooks", OK, "shared; they give way to your own (user)")
        elif installation.hooks:
            yield prover.prove_hooks(installation)
        for server in installation.servers:
            yield prover.prove_server(installation, server)


class _Prover:
    """Tries the hooks and servers of one project within one time limit."""

    def __init__(self, settings: Settings, environ: Mapping[str, str], left: TimeLeft, has_store: bool) -> None:
        self._settings, self._environ, self._left = settings, environ, left
        self._home = str(settings.home) if has_store else ""
        self._prompt = _words_of_newest_item(settings.home) if has_store else ""
        self._trials: dict[tuple[str, str], HookTrial] = {}

    def prove_hooks(self, installed: Installation) -> HealthCheck:
        """Try all events of an installation; the first failure is the result."""
        name = f"{installed.name} hooks"
        slowest, is_off, injects = 0.0, False, False
        for hook in installed.hooks:
            if not _may_run(installed, [hook.command], hook.event):
                return _not_run(name, installed, hook.command)
            if self._left.at_most(1.0) <= 0:
                return HealthCheck(name, NOTE, f"{hook.event} was not tried: no time was left", "knowbound doctor")
            trial = self._trial_of(hook)
            if check := self._problem_of(name, installed, hook, trial):
                return check
            slowest = max(slowest, trial.ms)
            is_off |= trial.report["outcome"] == "off"
            injects |= hook.event == "UserPromptSubmit" and bool(trial.context)
        events = ", ".join(hook.event for hook in installed.hooks)
        if is_off:
            return HealthCheck(name, OK, f"{events} run, and are switched off")
        if self._prompt and not injects:
            finding = f"{events} run, but the words of a stored item found no item"
            return HealthCheck(name, NOTE, finding, f"knowbound kms search {shlex.quote(self._prompt[:60])}")
        result = "an item came back for its own words" if injects else "nothing is stored that could be injected"
        if not self._home and self._settings.home.is_dir():  # another check says why
            result = "the data folder is not used"
        return HealthCheck(name, OK, f"{events} answer within {slowest:.0f} ms; {result}")

    def _trial_of(self, hook: OurHook) -> HookTrial:
        """Try a hook; installations with the same command share the trial."""
        key = (hook.command, hook.event)
        if key not in self._trials:
            payload = _payload(hook.event, self._settings.root, self._prompt or _FALLBACK_PROMPT)
            self._trials[key] = try_hook(hook.command, payload, self._settings.root, self._environ, self._left)
        return self._trials[key]

    def _problem_of(self, name: str, installed: Installation, hook: OurHook, trial: HookTrial) -> HealthCheck | None:
        """Return the worst of what is wrong with a trial."""
        report, outcome = trial.report, trial.report.get("outcome")
        version, uses = _shown(report.get("version")), _shown(report.get("home")) or "no data folder"
        # A hook that is off looks for no folder.
        is_elsewhere = outcome != "off" and self._home and report.get("home", "") != self._home
        event, install = hook.event, installed.install_command
        findings = (
            (trial.problem, f"{event}: {_shown(trial.problem)}", install),
            (not report, f"{event} runs, but says nothing of itself: it is of an earlier version", install),
            (version != __version__, f"{event} runs version {version}, this is {__version__}", install),
            (outcome not in _WORKED, f"{event} {_shown(outcome)}: {_shown(report.get('reason'))}", _EXPLAIN),
            (is_elsewhere, f"{event} uses {uses}, not {self._home}", "knowbound trust"),
        )
        return first_wrong(name, ((is_wrong, PROBLEM, finding, do) for is_wrong, finding, do in findings))

    def prove_server(self, installed: Installation, server: Mapping[str, Any]) -> HealthCheck:
        """Start the MCP server, ask for its tools, and end it."""
        name = f"{installed.name} MCP server"
        arguments = server.get("args")
        words = [str(server.get("command")), *map(str, arguments if isinstance(arguments, list) else ())]
        if not _may_run(installed, words):
            return _not_run(name, installed, " ".join(words))
        if self._left.at_most(1.0) <= 0:
            return HealthCheck(name, NOTE, "was not tried: no time was left", "knowbound doctor")
        env = server.get("env")
        variables = {str(key): str(value) for key, value in env.items()} if isinstance(env, dict) else {}
        trial = try_server(words, variables, self._settings.root, self._environ, self._left)
        if trial.problem:
            return HealthCheck(name, PROBLEM, f"{words[0]}: {_shown(trial.problem)}", installed.install_command)
        if trial.version != __version__:
            finding = f"runs version {_shown(trial.version) or 'unknown'}, this is {__version__}"
            return HealthCheck(name, PROBLEM, finding, installed.install_command)
        return HealthCheck(name, OK, f"{trial.tools} tools, handshake in {trial.ms:.0f} ms")


def _may_run(installed: Installation, words: list[str], event: str = "") -> bool:
    """Report whether our hook of an event, or our server, may be tried: of a project's files only what we write."""
    if installed.scope == "user":
        return True
    try:
        wanted = installed.wanted()
    except InputError:
        return False
    return words == ([wanted.command(event)] if event else [wanted.server["command"], *wanted.server["args"]])


def _not_run(name: str, installed: Installation, command: str) -> HealthCheck:
    finding = f"not tried, because a project may bring it: {_shown(command)}"
    return HealthCheck(name, NOTE, finding, installed.install_command)


def _payload(event: str, root: Path, prompt: str) -> dict[str, Any]:
    """Return an event's JSON as an agent sends it."""
    return {
        "session_id": "knowbound-doctor",
        "prompt_id": "knowbound-doctor",
        "transcript_path": None,
        "cwd": str(root),
        "permission_mode": "default",
        "hook_event_name": event,
        "prompt": prompt,
        "source": "startup",
        "stop_hook_active": False,
        "last_assistant_message": "",
        "tool_name": "Glob",
        "tool_input": {"pattern": "**/knowbound-doctor-looks-for-nothing"},
        "tool_response": {"filenames": [], "numFiles": 0},
        "tool_use_id": "knowbound-doctor",
    }


def _words_of_newest_item(home: Path) -> str:
    """Return the beginning of the newest item that can be injected, as a prompt that must find it; "" for none."""
    query = "SELECT content FROM item WHERE served = 1 AND flag = '' AND stale = 0 ORDER BY rowid DESC LIMIT 1"
    row = first_row(home / INDEX, query)
    return str(row[0])[:_LONGEST_PROMPT] if row else ""


def _shown(text: object) -> str:
    """Return another program's text without secrets."""
    return excerpt(str(text or ""), _LONGEST_REASON)


# Trials of commands, run as the agent would: hooks by the shell, the server over stdio


# The variables of the user's environment that a client hands on and that can matter to us.
_HANDED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "USER", "LOGNAME", "SHELL", "SYSTEMROOT")
_PREFIXES = ("KNOWBOUND_", "KMS_", "XDG_")
_MODEL = "KNOWBOUND_MODEL_TASKS_CHOOSE"  # none: a model may reject an item for its own words, and costs money
_MOST_OUTPUT = 1 << 20  # bytes
_HOOK_SECONDS, _SERVER_SECONDS = 5.0, 10.0
_METHODS = ("initialize", "tools/list")  # with the ids 1 and 2
_CLIENT = {"clientInfo": {"name": "knowbound doctor", "version": __version__}}
_HANDSHAKE = {"protocolVersion": "2025-06-18", "capabilities": {}} | _CLIENT
_MESSAGES: tuple[dict[str, object], ...] = (
    {"id": 1, "method": _METHODS[0], "params": _HANDSHAKE},
    {"method": "notifications/initialized"},
    {"id": 2, "method": _METHODS[1], "params": {}},
)
_REQUESTS = b"".join(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n" for message in _MESSAGES)


class TimeLeft:
    """One time limit for several trials."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def at_most(self, seconds: float) -> float:
        """Return the given seconds, or the time that is left if that is less."""
        return max(0.0, min(seconds, self._end - time.monotonic()))


class HookTrial(NamedTuple):
    """The outcome of one hook run."""

    ms: float
    context: str  # to be injected
    problem: str  # "" for a good answer
    report: Mapping[str, Any]  # of the hook itself; empty from a version without trials


class ServerTrial(NamedTuple):
    """The outcome of one start of an MCP server."""

    ms: float  # until the handshake was answered
    tools: int
    version: str
    problem: str


def try_hook(
    command: str, payload: Mapping[str, Any], root: Path, environ: Mapping[str, str], time_left: TimeLeft
) -> HookTrial:
    """Run a hook's command line, without a record."""
    shell = ["cmd", "/d", "/s", "/c"] if os.name == "nt" else ["/bin/sh", "-c"]
    started = time.monotonic()
    result = run(
        [*shell, command],
        root,
        time_left.at_most(_HOOK_SECONDS),
        _MOST_OUTPUT,
        environment=_environment(root, environ) | {TRIAL: "1", _MODEL: "none"},
        stdin=json.dumps(payload).encode(),
    )
    ms = (time.monotonic() - started) * 1000
    report = _report_in(result.err)
    problem = context = ""
    if result.timed_out:
        problem = f"did not end within {ms / 1000:.1f} s"
    elif result.code != 0:
        lines = result.err.decode("utf-8", "replace").strip().splitlines()
        problem = f"ended with {result.code}" + (f": {lines[-1]}" if lines else "")
    elif result.out:
        try:
            context = str(json.loads(result.out)["hookSpecificOutput"]["additionalContext"])
        except (ValueError, KeyError, TypeError):
            problem = "printed something that is no answer to the agent"
    return HookTrial(ms=ms, context=context, problem=problem, report=report)


def try_server(
    words: Sequence[str], variables: Mapping[str, str], root: Path, environ: Mapping[str, str], left: TimeLeft
) -> ServerTrial:
    """Start an MCP server, shake hands, list its tools, end it."""
    started = time.monotonic()
    deadline = TimeLeft(left.at_most(_SERVER_SECONDS))
    pipe = subprocess.PIPE
    try:
        program = Program(words, cwd=root, env=_environment(root, environ) | dict(variables), stdin=pipe, stdout=pipe)
    except (OSError, ValueError) as error:
        return ServerTrial(ms=0.0, tools=0, version="", problem=f"cannot be started: {error}")
    requests, answers = program.process.stdin, program.process.stdout
    assert requests
    assert answers
    with requests, answers:
        try:
            with suppress(OSError):  # a server that has ended gives no answer
                os.write(requests.fileno(), _REQUESTS)
            results = _results(answers.fileno(), deadline)
            version = str(next(results).get("serverInfo", {}).get("version", ""))
            ms = (time.monotonic() - started) * 1000
            return ServerTrial(ms, len(next(results)["tools"]), version, problem="")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            why = str(error) if isinstance(error, _NoAnswerError) else "its answer is none of the protocol's"
            return ServerTrial(ms=0.0, tools=0, version="", problem=why)
        finally:
            program.kill(sweep=False)


class _NoAnswerError(ValueError):
    """The server did not answer."""


def _results(answers: int, deadline: TimeLeft) -> Iterator[dict[str, Any]]:
    """Yield the results of the requests in their order, from a descriptor with lines of JSON."""
    wanted_id, unread = 1, b""
    with selectors.DefaultSelector() as selector:
        selector.register(answers, selectors.EVENT_READ)
        while True:
            while b"\n" not in unread:
                if not selector.select(deadline.at_most(_SERVER_SECONDS)):
                    raise _NoAnswerError("it did not answer in time")
                part = os.read(answers, 1 << 16)
                if not part or len(unread) > _MOST_OUTPUT:
                    raise _NoAnswerError("its answer has no end" if part else "it ended before it answered")
                unread += part
            line, _, unread = unread.partition(b"\n")
            answer = json.loads(line)
            if answer.get("id") == wanted_id:  # other messages in between are skipped
                if not isinstance(answer.get("result"), dict):
                    raise _NoAnswerError(f"it refused {_METHODS[wanted_id - 1]}")
                yield answer["result"]
                wanted_id += 1


def _environment(root: Path, environ: Mapping[str, str]) -> dict[str, str]:
    handed_on = {name: value for name, value in environ.items() if name in _HANDED_ON or name.startswith(_PREFIXES)}
    return handed_on | {"PATH": search_path(root, environ), "CLAUDE_PROJECT_DIR": str(root), "TERM": "dumb"}


def _report_in(errors: bytes) -> Mapping[str, Any]:
    """Return the hook's report of a trial: the last line of its errors, as JSON."""
    try:
        report = json.loads(errors.strip().splitlines()[-1])
    except (ValueError, IndexError):
        return {}
    return report if isinstance(report, dict) and "outcome" in report else {}

"""Trials of the commands in an agent's settings, run as the agent would: hooks by the shell, the server over stdio."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from knowbound import __version__
from knowbound.agent.hook_entry import TRIAL
from knowbound.process import Program, run, trusted_path

# The variables of the user's environment that a client hands on and that can matter to us.
_HANDED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "USER", "LOGNAME", "SHELL", "SYSTEMROOT")
_PREFIXES = ("KNOWBOUND_", "KMS_", "XDG_")
_MODEL = "KNOWBOUND_MODEL_TASKS_CHOOSE"  # none: a model may reject an item for its own words, and costs money
_MOST_OUTPUT = 1 << 20
_HOOK_SECONDS, _SERVER_SECONDS = 5.0, 10.0
_PROTOCOL = "2025-06-18"
_ENDED = "it ended before it answered"


class TimeLeft:
    """One time limit for several trials."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def at_most(self, seconds: float) -> float:
        """Return the given seconds, or the time that is left if that is less."""
        return max(0.0, min(seconds, self._end - time.monotonic()))


@dataclass(frozen=True, slots=True)
class HookTrial:
    """The outcome of one hook run."""

    ms: float
    context: str  # to be injected
    problem: str  # "" for a good answer
    report: Mapping[str, Any]  # of the hook itself; empty from a version without trials


@dataclass(frozen=True, slots=True)
class ServerTrial:
    """The outcome of one start of an MCP server."""

    ms: float  # until the handshake was answered
    tools: tuple[str, ...]
    version: str
    problem: str


def try_hook(
    command: str, payload: Mapping[str, Any], root: Path, environ: Mapping[str, str], left: TimeLeft
) -> HookTrial:
    """Run a hook's command line, without a record."""
    shell = ["cmd", "/d", "/s", "/c"] if os.name == "nt" else ["/bin/sh", "-c"]
    started = time.monotonic()
    ran = run(
        [*shell, command],
        root,
        left.at_most(_HOOK_SECONDS),
        _MOST_OUTPUT,
        environment=_environment(root, environ) | {TRIAL: "1", _MODEL: "none"},
        stdin=json.dumps(payload).encode(),
    )
    ms = (time.monotonic() - started) * 1000
    report = _report_in(ran.err)
    problem = context = ""
    if ran.timed_out:
        problem = f"did not end within {ms / 1000:.1f} s"
    elif ran.code != 0:
        lines = ran.err.decode("utf-8", "replace").strip().splitlines()
        problem = f"ended with {ran.code}" + (f": {lines[-1]}" if lines else "")
    elif ran.out:
        try:
            context = str(json.loads(ran.out)["hookSpecificOutput"]["additionalContext"])
        except (ValueError, KeyError, TypeError):
            problem = "printed something that is no answer to the agent"
    return HookTrial(ms, context, problem, report)


def try_server(
    words: Sequence[str], own: Mapping[str, str], root: Path, environ: Mapping[str, str], left: TimeLeft
) -> ServerTrial:
    """Start an MCP server, shake hands, list its tools, end it."""
    started = time.monotonic()
    deadline = TimeLeft(left.at_most(_SERVER_SECONDS))
    pipe = subprocess.PIPE
    try:
        program = Program(words, cwd=root, env=_environment(root, environ) | dict(own), stdin=pipe, stdout=pipe)
    except (OSError, ValueError) as error:
        return ServerTrial(0.0, (), "", f"cannot be started: {error}")
    try:
        talk = _Conversation(program.process, deadline)
        about = {"name": "knowbound doctor", "version": __version__}
        hello = talk.ask("initialize", protocolVersion=_PROTOCOL, capabilities={}, clientInfo=about)
        ms = (time.monotonic() - started) * 1000
        talk.say("notifications/initialized")
        tools = tuple(str(tool["name"]) for tool in talk.ask("tools/list")["tools"])
        return ServerTrial(ms, tools, str(hello.get("serverInfo", {}).get("version", "")), "")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        why = str(error) if isinstance(error, _NoAnswerError) else "its answer is none of the protocol's"
        return ServerTrial((time.monotonic() - started) * 1000, (), "", why)
    finally:
        program.kill(sweep=False)
        for stream in (program.process.stdin, program.process.stdout):
            if stream:
                with suppress(OSError):
                    stream.close()


class _NoAnswerError(ValueError):
    """The server did not answer."""


class _Conversation:
    """Requests and answers as lines of JSON."""

    def __init__(self, process: subprocess.Popen[bytes], deadline: TimeLeft) -> None:
        assert process.stdin
        assert process.stdout
        self._to, self._from = process.stdin.fileno(), process.stdout.fileno()
        self._deadline = deadline
        self._read = bytearray()
        self._last_id = 0

    def say(self, method: str, **more: Any) -> None:
        try:
            os.write(self._to, json.dumps({"jsonrpc": "2.0", "method": method} | more).encode() + b"\n")
        except OSError:
            raise _NoAnswerError(_ENDED) from None

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._last_id += 1
        self.say(method, id=self._last_id, params=params)
        while True:
            answer = json.loads(self._line())
            if answer.get("id") == self._last_id:
                result = answer.get("result")
                if not isinstance(result, dict):
                    raise _NoAnswerError(f"it refused {method}")
                return result

    def _line(self) -> bytes:
        with selectors.DefaultSelector() as selector:
            selector.register(self._from, selectors.EVENT_READ)
            while b"\n" not in self._read:
                if not selector.select(self._deadline.at_most(_SERVER_SECONDS)):
                    raise _NoAnswerError("it did not answer in time")
                part = os.read(self._from, 1 << 16)
                if not part or len(self._read) > _MOST_OUTPUT:
                    raise _NoAnswerError("its answer has no end" if part else _ENDED)
                self._read += part
        line, _, self._read = self._read.partition(b"\n")
        return bytes(line)


def _environment(root: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment like the client's."""
    kept = {name: value for name, value in environ.items() if name in _HANDED_ON or name.startswith(_PREFIXES)}
    return kept | {"PATH": search_path(root, environ), "CLAUDE_PROJECT_DIR": str(root), "TERM": "dumb"}


def search_path(root: Path, environ: Mapping[str, str]) -> str:
    """Return the user's PATH without folders of the project, except the folder that we run from."""
    given = environ.get("PATH", os.defpath).split(os.pathsep)
    trusted = trusted_path(os.pathsep.join(given), root).split(os.pathsep)
    ours = os.path.dirname(sys.executable)
    return os.pathsep.join(folder for folder in given if folder in trusted or folder == ours)


def _report_in(errors: bytes) -> Mapping[str, Any]:
    """Return the hook's report of a trial: the last line of its errors, as JSON."""
    try:
        said = json.loads(errors.strip().splitlines()[-1])
    except (ValueError, IndexError):
        return {}
    return said if isinstance(said, dict) and "outcome" in said else {}

"""A user's machine in a folder: a home, a project, knowbound installed there, and the real client run in it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from knowbound.agent.hook import log as hook_log
from knowbound.cli.main import knowbound
from tests.agents import namespace
from tests.agents.clients import Client
from tests.agents.programs import program
from tests.agents.scripted_model import Request, Script, ScriptedModel
from tests.services import DIES_WITH_US, until

_BIN = Path(sys.executable).parent
RUN_SECONDS = 120  # a run takes about two; this is for one that hangs
_GIT = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


@dataclass(frozen=True)
class Run:
    """What one run of a client did."""

    code: int
    events: list[dict[str, Any]]  # the lines it printed
    errors: str
    session: str
    answer: str
    requests: list[Request]  # what the model received

    def check(self) -> Run:
        """The same run, which must have ended well."""
        assert self.code == 0, f"exit code {self.code}\n{self.errors}\n{self.events[-3:]}"
        return self


class Sandbox:
    """One client on one machine."""

    def __init__(self, client: Client, folder: Path) -> None:
        self.client = client
        self.program = program(client.name)
        self.home = folder / "home"
        self.project = folder / "project"
        self.data = self.project / ".knowbound"
        self.model = ScriptedModel()
        self.environ = {
            "HOME": str(self.home),
            "PATH": f"{_BIN}:/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "KNOWBOUND_INJECTION_TIME_LIMIT_MS": "4000",  # on a busy machine; tests assert no time
            "KNOWBOUND_AUDIT_CHECK_MS": "3000",  # as above
            **_GIT,
            **client.environ(),
        }
        self._folder = folder
        self._runs = 0
        self.home.mkdir(parents=True)
        client.prepare(self.home)
        self.project.mkdir()
        (self.project / "README.md").write_text("# Orders\n", "utf-8")
        subprocess.run(["git", "init", "-q", str(self.project)], env=self.environ, check=True)

    def knowbound(self, *args: str, cwd: Path | None = None, codes: Sequence[int] = (0,)) -> str:
        """What the command line prints, as the user runs it."""
        done = subprocess.run(
            [str(_BIN / "knowbound"), *args],
            cwd=cwd or self.project,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=RUN_SECONDS,
            check=False,
        )
        assert done.returncode in codes, f"knowbound {args}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def install(self, *options: str, cwd: Path | None = None) -> None:
        self.knowbound("install", self.client.name, "--yes", *options, cwd=cwd)

    def add(self, content: str, *options: str) -> str:
        """Store an item; its id. In this process: starting Python takes ten times as long as storing."""
        words = ["kms", "add", content, "--root", str(self.project), "--format", "json", *options]
        done = CliRunner().invoke(knowbound, words, env=dict.fromkeys(os.environ) | self.environ)
        assert done.exit_code == 0, f"{words}: {done.output} {done.exception}"
        return str(json.loads(done.stdout)["item"]["id"])

    def ask(
        self,
        prompt: str,
        script: Script = (),
        *,
        resume: str = "",
        cwd: Path | None = None,
        options: Sequence[str] = (),
        interrupt: signal.Signals | None = None,
        **environ: str,
    ) -> Run:
        """Run the client with this prompt, in the project unless `cwd` names another folder.

        `interrupt` is sent to it when the model has begun an answer that it does not end, and the prompt is in the
        client's transcript, which it writes a moment later.
        """
        self.model.script(script)
        self.model.has_begun.clear()
        before = len(self.model.requests)
        arguments = self.client.arguments(prompt, resume, options)
        words = [str(self.program), *arguments]
        code, output, errors = self._run(words, cwd or self.project, environ, interrupt, written=prompt)
        events = [event for event in map(_json, output.splitlines()) if event]
        return Run(
            code=code,
            events=events,
            errors=errors,
            session=self.client.session(events) or resume,
            answer=self.client.answer(events),
            requests=self.model.requests[before:],
        )

    def knowbound_with_model(self, *args: str, script: Script, **environ: str) -> tuple[str, str, list[Request]]:
        """What the command line prints, and its errors, where it starts the client itself; what the model received."""
        self.model.script(script)
        before = len(self.model.requests)
        code, output, errors = self._run([str(_BIN / "knowbound"), *args], self.project, environ)
        assert code == 0, f"knowbound {args}: exit code {code}\n{output}\n{errors}"
        return output, errors, self.model.requests[before:]

    def outcomes(self, event: str) -> list[str]:
        """How the hook's runs for an event ended, oldest first."""
        return [run["outcome"] for run in hook_log.runs(str(self.data)) if run["event"] == event]

    def _run(
        self,
        words: list[str],
        cwd: Path,
        environ: dict[str, str],
        interrupt: signal.Signals | None = None,
        *,
        written: str = "",
    ) -> tuple[int, str, str]:
        """In a namespace of its own with the model; everything that it started ends with it."""
        self._runs += 1
        folder = self._folder / f"run-{self._runs}"
        folder.mkdir()
        ours, theirs = socket.socketpair()
        with ours, (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as errors:
            with theirs:
                process = subprocess.Popen(
                    [*DIES_WITH_US, *namespace.command(theirs.fileno(), *words)],
                    cwd=cwd,
                    env=self.environ | environ,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=errors,
                    start_new_session=True,
                    pass_fds=(theirs.fileno(),),
                )
            try:
                _, sockets, _, _ = socket.recv_fds(ours, 1, 1)
                assert sockets, _read(folder / "stderr")
                with self.model.answering(socket.socket(fileno=sockets[0])):
                    if interrupt:
                        assert self.model.has_begun.wait(RUN_SECONDS)
                        until(lambda: any(written in _read(path) for path in self.client.transcripts(self.home)))
                        process.send_signal(interrupt)
                    code = process.wait(RUN_SECONDS)
                _let_servers_end(process.pid)
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        return code, _read(folder / "stdout"), _read(folder / "stderr")


def _let_servers_end(group: int) -> None:
    """Give the servers of an ended client a moment, as it does, for what they record after the last answer."""
    end = time.monotonic() + 3.0
    while time.monotonic() < end and any(_is_server(one, group) for one in Path("/proc").glob("[0-9]*")):
        time.sleep(0.02)


def _is_server(process: Path, group: int) -> bool:
    try:
        own = int((process / "stat").read_text("utf-8").rpartition(") ")[2].split()[2])
        return own == group and b"mcp" in (process / "cmdline").read_bytes()
    except (OSError, IndexError, ValueError):
        return False


def why_impossible() -> str:
    """Why no client can be run on this machine; "" where one can."""
    if sys.platform != "linux":
        return "network namespaces are there on Linux alone"
    for name in ("unshare", "git"):
        if shutil.which(name) is None:
            return f"no {name}"
    done = subprocess.run([*namespace.unshare(), "true"], capture_output=True, text=True, check=False)
    return f"no network namespace: {done.stderr.strip()}" if done.returncode else ""


def _read(path: Path) -> str:
    return path.read_text("utf-8", "replace")


def _json(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}

"""Codex as an editor drives it: `codex app-server`, requests and answers as lines of JSON.

It is how a test does what a user does in Codex's own screens, such as trusting a hook.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from tests.agents import namespace
from tests.agents.sandbox import RUN_SECONDS, Sandbox
from tests.services import DIES_WITH_US


class CodexServer:
    """A running server."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin
        assert process.stdout
        self._requests, self._answers = process.stdin, process.stdout
        self._last_id = 0
        self.ask("initialize", clientInfo={"name": "test", "title": None, "version": "0"})
        self._write({"method": "initialized"})

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of a request; what the server says meanwhile is passed over."""
        self._last_id += 1
        self._write({"id": self._last_id, "method": method, "params": params})
        for line in self._answers:
            answer = json.loads(line)
            if answer.get("id") == self._last_id:
                assert "result" in answer, answer
                return dict(answer["result"])
        raise AssertionError(f"codex app-server ended before it answered {method}")

    def _write(self, message: dict[str, Any]) -> None:
        self._requests.write(json.dumps(message) + "\n")
        self._requests.flush()


@contextmanager
def codex_server(sandbox: Sandbox) -> Iterator[CodexServer]:
    """The server in the sandbox, for as long as it is needed."""
    process = subprocess.Popen(
        [*DIES_WITH_US, *namespace.unshare(), str(sandbox.program), "app-server"],
        cwd=sandbox.project,
        env=sandbox.environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )

    def end() -> None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    guard = threading.Timer(RUN_SECONDS, end)
    guard.start()
    try:
        with process:
            yield CodexServer(process)
            end()
    finally:
        guard.cancel()
        end()


def hooks(server: CodexServer, sandbox: Sandbox) -> list[dict[str, Any]]:
    """The hooks that Codex knows in the project."""
    (listed,) = server.ask("hooks/list", cwds=[str(sandbox.project)])["data"]
    assert listed["errors"] == []
    return list(listed["hooks"])


def trust_hooks(server: CodexServer, sandbox: Sandbox) -> None:
    """Trust every hook as it is now, as a user does in /hooks."""
    trusted = {hook["key"]: {"trusted_hash": hook["currentHash"]} for hook in hooks(server, sandbox)}
    edit = {"keyPath": "hooks.state", "mergeStrategy": "upsert", "value": trusted}
    server.ask("config/batchWrite", edits=[edit], reloadUserConfig=True)

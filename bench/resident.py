"""How long an agent waits for a hook that the running MCP server answers, and what happens to many at once.

    python -m bench.resident [--items 100000] [--runs 200] [--at-once 200] [--folder DIR]

The store and the prompts are those of `python -m bench.hook`; a folder that is given keeps its store for the next run.
A real server is asked over its standard streams, as clients ask it. First one prompt after another, in turns with the
process that the same client would start and with `python -c pass`. Then as many prompts as asked for at once, and each
must be answered or declined within the limit and recorded once. At last a server is killed with an answer under way,
and the shell line of the settings is run, as a client does: the process must answer.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from bench.hook import build, environment
from bench.labels import injected_turns
from bench.measuring import HOOK, at, options, process_ms, warn_if_busy
from knowbound.agent.install.clients import guarded
from knowbound.agent.mcp.server import HOOK_TOOL
from knowbound.injection.log import read_log

TARGET_MS, LEAST_ANSWERED = 50.0, 100  # DESIGN: p95 with 100,000 items; of 200 at once, within a second
_WARM = 5
_LIMIT = "KNOWBOUND_INJECTION_TIME_LIMIT_MS"


class Server:
    """A running `knowbound mcp`, and the events that it is asked to answer."""

    def __init__(self, root: Path, environ: dict[str, str]) -> None:
        self._root, self._sent, self._asked = root, 0, [turn["prompt"] for turn in injected_turns()]
        words = [str(HOOK.parent / "knowbound"), "mcp"]
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ, cwd=root, bufsize=0
        )
        self.send("initialize", protocolVersion="2025-06-18")
        self.receive()
        self.send("tools/list")
        self.receive()

    def send(self, method: str, **params: Any) -> int:
        assert self.process.stdin
        self._sent += 1
        message = {"jsonrpc": "2.0", "id": self._sent, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        return self._sent

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found

    def event(self) -> dict[str, Any]:
        """The next prompt, each in a session of its own."""
        number = self._sent
        key = {"session_id": f"resident-{self.process.pid}-{number}", "prompt_id": f"p-{number}"}
        return key | {"cwd": str(self._root), "prompt": self._asked[number % len(self._asked)], "transcript_path": ""}

    def prompt(self) -> int:
        known = {"layout": 1, "agent": "claude-code", "event": "UserPromptSubmit"}
        return self.send("tools/call", name=HOOK_TOOL, arguments=known | self.event())


def one_by_one(server: Server, runs: int, environ: dict[str, str]) -> tuple[list[float], list[float], list[float]]:
    """Milliseconds of the server, of the process, and of an empty process, in turns."""
    found: list[tuple[float, float, float]] = []
    for number in range(-_WARM, runs):
        began = time.perf_counter()
        server.prompt()
        server.receive()
        took = (time.perf_counter() - began) * 1000
        given = json.dumps(server.event() | {"session_id": f"process-{server.process.pid}-{number}"}).encode()
        process, _ = process_ms([HOOK, "user-prompt-submit"], given, environ)
        bare, _ = process_ms([sys.executable, "-c", "pass"], b"", environ)
        if number >= 0:
            found.append((took, process, bare))
    ours, processes, bare_ones = map(list, zip(*found, strict=True))
    return ours, processes, bare_ones


def at_once(server: Server, count: int) -> dict[int, float]:
    """Milliseconds to the answer of each of so many prompts that are sent at once."""
    sent: dict[int, float] = {}
    took: dict[int, float] = {}

    def read() -> None:
        while len(took) < count:
            id_ = server.receive()["id"]
            took[id_] = (time.perf_counter() - sent[id_]) * 1000

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(count):
        now = time.perf_counter()
        sent[server.prompt()] = now
    reader.join()
    return took


def killed(root: Path, environ: dict[str, str]) -> tuple[str, float]:
    """What the settings' shell line prints after kill -9 of the server, and its milliseconds."""
    server = Server(root, environ)
    server.prompt()
    server.receive()
    line = guarded(f"{HOOK} user-prompt-submit")
    given = json.dumps(server.event()).encode()
    gives_way = subprocess.run(
        ["/bin/sh", "-c", line], input=given, capture_output=True, env=environ, cwd=root, check=True
    )
    assert gives_way.stdout == b"", "the process answered beside a living server"
    server.prompt()
    server.process.kill()
    server.process.wait()
    began = time.perf_counter()
    given = json.dumps(server.event() | {"session_id": f"killed-{os.getpid()}"}).encode()
    done = subprocess.run(["/bin/sh", "-c", line], input=given, capture_output=True, env=environ, cwd=root, check=True)
    took = (time.perf_counter() - began) * 1000
    outcomes = [one.outcome for one in read_log(root / ".knowbound").records if one.session == f"killed-{os.getpid()}"]
    return f"{', '.join(outcomes) or 'NOT recorded'} ({len(done.stdout)} bytes)", took


def report(items: int = 100_000, runs: int = 200, count: int = 200, folder: Path | None = None) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory(prefix="knowbound-resident-", ignore_cleanup_errors=True) as temporary:
        root = folder or Path(temporary)
        if not (root / ".knowbound" / "index.db").exists():
            print(f"Resident hooks: a store of {items:,} items …", flush=True)
            print(f"  built in {build(root, items):.0f} s", flush=True)
        environ = {name: value for name, value in environment(Path(temporary)).items() if name != _LIMIT}
        _report_server(root, runs, count, environ)
        outcome, ms = killed(root, environ)
        print(f"  after kill -9 the process answers: {outcome}, {ms:.0f} ms")


def _report_server(root: Path, runs: int, count: int, environ: dict[str, str]) -> None:
    server = Server(root, environ)
    ours, processes, bare = one_by_one(server, runs, environ)
    print(f"  {runs} prompts, one after another{'p50':>10}{'p95':>8}{'max':>8}   milliseconds")
    for row, times in (("python -c pass", bare), ("a process", processes), ("the server", ours)):
        print(f"  {row:32}{at(times, 0.5):8.0f}{at(times, 0.95):8.0f}{max(times):8.0f}")
    print(f"  target p95 ≤ {TARGET_MS:.0f} ms: {'reached' if at(ours, 0.95) <= TARGET_MS else 'MISSED'}")
    warn_if_busy(bare)
    before = {one.id for one in read_log(root / ".knowbound").records}
    took = at_once(server, count)
    server.process.stdin.close()  # type: ignore[union-attr]
    server.process.wait()
    _report_at_once(took, [one for one in read_log(root / ".knowbound").records if one.id not in before])


def _report_at_once(took: dict[int, float], records: list[Any]) -> None:
    outcomes = Counter(one.outcome for one in records)
    answered = sum(outcomes[name] for name in ("injected", "nothing"))
    print(f"  {len(took)} at once: p50 {at(took.values(), 0.5):.0f} ms, the last after {max(took.values()):.0f} ms")
    print(f"  {', '.join(f'{count} {name}' for name, count in outcomes.most_common())}; {len(records)} records")
    is_exact = len({one.prompt_id for one in records}) == len(records) == len(took)
    print(f"  {'none lost or doubled' if is_exact else 'SOME LOST OR DOUBLED'}")
    print(f"  target {LEAST_ANSWERED} answered: {'reached' if answered >= LEAST_ANSWERED else 'MISSED'}")


if __name__ == "__main__":
    given = options(__doc__, items=100_000, runs=200, at_once=200, folder=None)
    report(given.items, given.runs, given.at_once, given.folder)

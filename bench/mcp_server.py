"""How long an agent waits for `knowbound mcp`: from the start of its process to its tools, in fresh processes.

    python -m bench.mcp_server [--items 100000] [--runs 20]

With an empty project and with a large store, which must make no difference: nothing of the project is read before a
tool is called. Runs of `python -c pass` run between ours, so both meet the same machine. The first call, which opens
the store, is measured too.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO

from bench.hook import build, environment
from bench.measuring import at, options, process_ms, warn_if_busy

SERVER = Path(sys.executable).parent / "knowbound"
TARGET_MS = 300.0  # to the answer to `initialize`
_WARM = 3
_STEPS = ("initialize", "tools/list", "a search", "the end")
_REQUESTS: tuple[dict[str, object], ...] = (
    {"method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}}},
    {"method": "tools/list"},
    {"method": "tools/call", "params": {"name": "unified_search", "arguments": {"query": "when was the trip planned"}}},
)


def conversation(root: Path, environ: dict[str, str]) -> list[float]:
    """Milliseconds from the start of the process to each answer, and from the closed input to the end."""
    began, pipe = time.perf_counter(), subprocess.PIPE
    process = subprocess.Popen([SERVER, "mcp"], stdin=pipe, stdout=pipe, cwd=root, env=environ)
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        steps = [_asked(process.stdin, process.stdout, request, began) for request in _REQUESTS]
        closed = time.perf_counter()
        process.stdin.close()
        process.wait()
        return [*steps, (time.perf_counter() - closed) * 1000]


def _asked(stdin: IO[bytes], stdout: IO[bytes], request: dict[str, object], began: float) -> float:
    stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1} | request).encode() + b"\n")
    stdin.flush()
    answer = json.loads(stdout.readline())
    assert "error" not in answer, answer
    return (time.perf_counter() - began) * 1000


def report(items: int = 100_000, runs: int = 20, folder: Path | None = None) -> None:
    """Print the table. A folder that is given keeps its store for the next run."""
    with tempfile.TemporaryDirectory(prefix="knowbound-mcp-") as temporary:
        empty, full = Path(temporary) / "empty", folder or Path(temporary) / "full"
        empty.mkdir()
        if not (full / ".knowbound" / "index.db").exists():
            full.mkdir(parents=True, exist_ok=True)
            build(full, items)
        environ = environment(Path(temporary))
        measured: dict[str, list[list[float]]] = {"no items": [], f"{items:,} items": []}
        started: list[float] = []
        for number in range(-_WARM, runs):
            for rows, root in zip(measured.values(), (empty, full), strict=True):
                steps = conversation(root, environ)
                if number >= 0:
                    rows.append(steps)
            if number >= 0:
                started.append(process_ms([sys.executable, "-c", "pass"], b"", environ)[0])
    print(f"MCP server: {runs} starts, from the start of the process to the answer")
    print(f"  {'':34}{'p50':>8}{'p95':>8}   milliseconds   {'p50 ratio':>9}")
    base = at(started, 0.5)
    print(f"  {'python -c pass':34}{base:8.0f}{at(started, 0.95):8.0f}")
    for name, rows in measured.items():
        for step, label in enumerate(_STEPS):
            times = [row[step] for row in rows]
            middle, late = at(times, 0.5), at(times, 0.95)
            print(f"  {f'{name}, {label}':34}{middle:8.0f}{late:8.0f}{'':16}{middle / base:9.1f}")
    worst = max(at([row[0] for row in rows], 0.95) for rows in measured.values())
    print(f"  target p95 of initialize ≤ {TARGET_MS:.0f} ms: {'reached' if worst <= TARGET_MS else 'MISSED'}")
    warn_if_busy(started)


if __name__ == "__main__":
    given = options(__doc__, items=100_000, runs=20, folder=None)
    report(given.items, given.runs, given.folder)

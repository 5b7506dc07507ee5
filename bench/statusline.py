"""How long the line for Claude Code's status line takes on a busy day, beside an empty Python program.

    python -m bench.statusline [--runs 20] [--prompts 500]

The project has an item, the findings of the demo's sessions, and a day's log with that many prompts, each with three
items that reached the model. Both programs are processes of their own, run in turns: on a busy machine the ratio says
more than the milliseconds.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from bench.measuring import options
from knowbound.demo import TRACES
from knowbound.store.data_dir import INJECTIONS

LIMIT = 50.0  # ms
_KNOWBOUND = str(Path(sys.executable).with_name("knowbound"))


def main() -> None:
    given = options(__doc__, runs=20, prompts=500)
    with tempfile.TemporaryDirectory() as folder:
        environ, project = os.environ | {"HOME": folder}, Path(folder) / "project"
        _busy_day(project, environ, int(given.prompts))
        event = json.dumps({"session_id": "s", "workspace": {"current_dir": str(project)}}).encode()
        commands = {
            "knowbound statusline": [_KNOWBOUND, "statusline"],
            "python -c pass": [sys.executable, "-c", "pass"],
        }
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
        printed = b""
        for _ in range(int(given.runs)):
            for name, command in commands.items():
                before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
                done = subprocess.run(command, input=event, cwd=project, env=environ, capture_output=True, check=True)
                wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
                cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
                taken[name].append((1000 * wall, 1000 * cpu))
                printed = printed or done.stdout
    if b"injected" not in printed:
        sys.exit(f"the line has no counts: {printed!r}")
    print(printed.decode().strip())
    for name, found in taken.items():
        walls = sorted(wall for wall, _ in found)
        last = walls[max(0, round(0.95 * len(walls)) - 1)]
        cpu = min(cpu for _, cpu in found)
        print(f"{name:<22} wall p50 {median(walls):6.1f} ms, p95 {last:6.1f} ms   cpu, least {cpu:5.1f} ms")
    print(f"wanted: below {LIMIT:g} ms")


def _busy_day(project: Path, environ: dict[str, str], prompts: int) -> None:
    project.mkdir()
    for words in (("kms", "add", "The port is 8080."), ("observe", str(TRACES)), ("audit", str(TRACES))):
        subprocess.run([_KNOWBOUND, *words], cwd=project, env=environ, capture_output=True, check=True)
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    items = [{"item": f"item-{number}", "score": 0.5, "why": "named", "tokens": 40} for number in range(3)]
    log = project / ".knowbound" / INJECTIONS / f"{now[:10]}.jsonl"
    log.parent.mkdir(exist_ok=True)
    with log.open("w", encoding="utf-8") as file:
        for number in range(prompts):
            for part in ({"session": "s", "items": items}, {"outcome": "injected", "delivered": True, "ms": 12.5}):
                file.write(json.dumps({"id": str(number), "time": now} | part, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()

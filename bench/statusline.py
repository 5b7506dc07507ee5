"""How long the line for Claude Code's status line takes, beside an empty Python program.

    python -m bench.statusline [--runs 20]

Both are processes of their own, run in turns: on a busy machine the ratio says more than the milliseconds.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import knowbound
from bench.measuring import options

LIMIT = 50.0  # ms
_KNOWBOUND = Path(sys.executable).with_name("knowbound")
_EVENT = b'{"session_id": "s", "cwd": ".", "workspace": {"project_dir": "."}}'


def main() -> None:
    runs = int(options(__doc__, runs=20).runs)
    commands = {
        "knowbound statusline": [str(_KNOWBOUND), "statusline"],
        "python -c pass": [sys.executable, "-c", "pass"],
    }
    project = Path(knowbound.__file__).parent / "demo" / "project"
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            before, began = os.times(), time.perf_counter()
            subprocess.run(command, input=_EVENT, cwd=project, stdout=subprocess.DEVNULL, check=True)
            wall, after = time.perf_counter() - began, os.times()
            cpu = after.children_user + after.children_system - before.children_user - before.children_system
            taken[name].append((1000 * wall, 1000 * cpu))
    for name, found in taken.items():
        walls = sorted(wall for wall, _ in found)
        last = walls[max(0, round(0.95 * len(walls)) - 1)]
        cpu = min(cpu for _, cpu in found)
        print(f"{name:<22} wall p50 {median(walls):6.1f} ms, p95 {last:6.1f} ms   cpu, least {cpu:5.0f} ms")
    print(f"wanted: below {LIMIT:g} ms")


if __name__ == "__main__":
    main()

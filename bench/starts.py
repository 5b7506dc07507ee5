"""How long each verb takes to say its help, and what it imports for that.

    python -m bench.starts [--runs 5]

A verb is a process of its own. Shown are the median wall time, the least CPU time (which a busy machine changes less)
and, in a further run, how many modules were imported, how many of them are ours, and how long that took.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

import click

from bench.measuring import options, process_ms
from knowbound.cli.main import knowbound

LIMIT = 150.0  # ms of wall time, DESIGN.md
_KNOWBOUND = Path(sys.executable).with_name("knowbound")


class Start(NamedTuple):
    """One verb: its times in milliseconds, and its imports."""

    verb: str
    wall: float
    cpu: float
    modules: int
    ours: int
    importing: float


def verbs(group: click.Group, before: str = "") -> Iterator[str]:
    """Yield every verb of a group, and those of the groups in it, each as it is written."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield f"{before}{name}"
        if isinstance(command, click.Group):
            yield from verbs(command, f"{before}{name} ")


def measure(verb: str, runs: int) -> Start:
    """Measure the help of one verb; "" is the help of knowbound itself."""
    command = [str(_KNOWBOUND), *verb.split(), "--help"]
    times = [process_ms(command, environ=_environ()) for _ in range(runs)]
    traced = [sys.executable, "-X", "importtime", "-c", "from knowbound.cli.entry import main; main()", *command[1:]]
    said = subprocess.run(traced, capture_output=True, text=True, env=_environ(), check=True).stderr
    rows = [line.removeprefix("import time:").split("|") for line in said.splitlines() if line.count("|") == 2]
    own = {name.strip(): int(time) / 1000 for time, _, name in rows if time.strip().isdigit()}
    ours = sum(name.startswith("knowbound") for name in own)
    wall, cpu = median(wall for wall, _ in times), min(cpu for _, cpu in times)
    return Start(verb or "(no verb)", wall, cpu, len(own), ours, sum(own.values()))


def _environ() -> dict[str, str]:
    """Let Python keep what it compiles: an installed package is compiled."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def report(runs: int = 5) -> None:
    every = sorted((measure(verb, runs) for verb in ["", *verbs(knowbound)]), key=lambda one: -one.cpu)
    bare = min(process_ms([sys.executable, "-c", "pass"], environ=_environ())[1] for _ in range(runs))
    print(f"--help of {len(every)} verbs; python -c pass takes {bare:.0f} ms of CPU")
    for what, field in (("wall time", "wall"), ("CPU time", "cpu")):
        slow = [one.verb for one in every if getattr(one, field) > LIMIT]
        print(f"over {LIMIT:.0f} ms of {what}: {', '.join(slow) or 'none'}")
    print(f"{'':30} {'wall ms':>8} {'CPU ms':>8} {'modules':>8} {'ours':>5} {'importing ms':>13}")
    for one in every:
        print(f"{one.verb:30} {one.wall:8.0f} {one.cpu:8.0f} {one.modules:8} {one.ours:5} {one.importing:13.0f}")


if __name__ == "__main__":
    report(options(__doc__, runs=5).runs)

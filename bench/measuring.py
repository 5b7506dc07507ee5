"""What the benchmarks share: options, rows of a file, times of processes, quantiles, trees of a commit."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from knowbound.stats.printing import estimate

HOOK = Path(sys.executable).parent / "knowbound-hook"
_RESAMPLES = 2000
HALVES = (("developed on", False), ("kept aside", True))


def options(about: str, **defaults: Any) -> argparse.Namespace:
    """Parse the command line: an option for each default, of its type. False is a flag, a list collects texts."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in defaults.items():
        option = f"--{name.replace('_', '-')}"
        if default is False:
            parser.add_argument(option, action="store_true")
        elif isinstance(default, list):
            parser.add_argument(option, action="append", default=default)
        else:
            parser.add_argument(option, type=Path if default is None else type(default), default=default)
    return parser.parse_args()


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def hashed(text: str, parts: int) -> int:
    """Assign a text to one of several parts by its hash: the split into development and aside."""
    return hashlib.sha256(text.encode()).digest()[0] % parts


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def process_ms(
    command: Sequence[str | Path], given: bytes = b"", environ: dict[str, str] | None = None
) -> tuple[float, float]:
    """Run a process and return its wall time and its CPU time in milliseconds."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, input=given, stdout=subprocess.DEVNULL, env=environ, check=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall * 1000, cpu * 1000


def at(times: Iterable[float], share: float) -> float:
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def warn_if_busy(bare: Sequence[float]) -> None:
    """Say that the machine was busy, if the times of an empty process vary too much."""
    if at(bare, 0.95) > 2 * at(bare, 0.25):
        print(f"  The machine is busy (load {os.getloadavg()[0]:.1f}): an empty process varies as much. Measure again.")


def check_out(git: Sequence[str], commit: str, target: Path) -> None:
    """Write the files of a commit below a folder, without links and blobs that the clone lacks."""
    environ = {**os.environ, "GIT_NO_LAZY_FETCH": "1"}
    listed = subprocess.run([*git, "ls-tree", "-r", "-z", commit], capture_output=True, env=environ, check=True).stdout
    entries = [entry.partition(b"\t") for entry in listed.split(b"\0") if entry.startswith(b"100")]
    wanted = [(about.split()[2], path) for about, _, path in entries]
    asked = b"".join(blob + b"\n" for blob, _ in wanted)
    batch = subprocess.run([*git, "cat-file", "--batch"], input=asked, capture_output=True, env=environ, check=True)
    start, blobs = 0, batch.stdout
    for _, path in wanted:
        end = blobs.index(b"\n", start)
        head, start = blobs[start:end].split(), end + 1
        if head[-1] == b"missing":
            continue
        size = int(head[2])
        file = target / os.fsdecode(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(blobs[start : start + size])
        start += size + 1


def kappa(pairs: Sequence[tuple[str, str]]) -> float | None:
    """Cohen's κ of two readings of the same turns."""
    n = len(pairs)
    if not n:
        return None
    first, second = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    seen = sum(one == other for one, other in pairs) / n
    chance = sum(first[name] * second[name] for name in first) / (n * n)
    return None if chance == 1 else (seen - chance) / (1 - chance)


def kappa_words(pairs: Sequence[tuple[str, str]]) -> str:
    """κ with its bootstrap interval."""
    draw, found = random.Random(17), []
    for _ in range(_RESAMPLES):
        value = kappa(draw.choices(pairs, k=len(pairs))) if pairs else None
        if value is not None:
            found.append(value)
    found.sort()
    if not found:
        return "unknown"
    return estimate(kappa(pairs), found[round(0.025 * (len(found) - 1))], found[round(0.975 * (len(found) - 1))])

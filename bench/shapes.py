"""How the work grows with the input, for every pathological shape of bench/hostile.py.

    python -m bench.shapes [--only TEXT]

Each shape runs in a child of its own with a limit of memory and of CPU time. It grows by 4 until a run takes long
enough to be measured; the next run, of 4 times the size, gives the growth: the exponent e of time ~ size^e. Work that
is linear has 1. The bench fails where a shape grows faster and is slow enough to matter, ends by a limit, or raises.
"""

from __future__ import annotations

import gc
import math
import multiprocessing
import resource
import shutil
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from bench.hostile import Shape, shapes
from bench.measuring import options

MEASURABLE = 0.04  # seconds of CPU: shorter runs are noise
STEEPEST = 1.35
NOTICED = 0.3  # seconds of CPU below which nobody notices the growth
MOST_SECONDS = 40  # of CPU, for all runs of a shape
MOST_MEMORY = 1 << 30  # bytes of address space beyond what the parent has
_SHOWN = 12


class Growth(NamedTuple):
    """What was measured of a shape; `growth` is None where even the largest size takes too little time."""

    name: str
    size: int
    seconds: float
    growth: float | None
    megabytes: float  # by which the memory of the child grew
    problem: str = ""

    @property
    def is_bad(self) -> bool:
        """Beyond linear, or not ended at all."""
        steep = self.growth is not None and self.growth > STEEPEST and self.seconds > NOTICED
        return steep or bool(self.problem)


def measured(shape: Shape) -> Growth:
    """The shape at growing sizes; what looks bad is measured again, since another process may have been in the way."""
    first = _measured(shape)
    if not first.is_bad:
        return first
    return min(first, _measured(shape), key=lambda one: (one.is_bad, bool(one.problem), one.growth or 0.0))


def _measured(shape: Shape) -> Growth:
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(shape, theirs))
    child.start()
    theirs.close()
    found = Growth(shape.name, 0, 0.0, None, 0.0, "ended without a word")
    try:
        while True:
            found = ours.recv()
    except EOFError:
        pass
    child.join()
    if child.exitcode:
        size = found.size * 4 or shape.first
        found = found._replace(size=size, problem=f"beyond {MOST_SECONDS} s or {MOST_MEMORY >> 20} MiB")
    return found


def _child(shape: Shape, out: Connection) -> None:
    """Runs in the child: one message per run, the last one counts."""
    start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
    limit = _address_space() + MOST_MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    gc.freeze()
    size, before = shape.first, 0.0
    try:
        _seconds(shape, max(1, size // 4))  # caches and lazy imports
        while True:
            seconds = _seconds(shape, size)
            if before < MEASURABLE / 2 and seconds < 0.5:
                seconds = min(seconds, _seconds(shape, size))
            memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start) / 1024
            growth = math.log(seconds / before, 4) if before >= MEASURABLE else None
            out.send(Growth(shape.name, size, seconds, growth, memory))
            if growth is not None or size * 4 > shape.most:
                return
            size, before = size * 4, seconds
    except Exception as error:
        out.send(Growth(shape.name, size, 0.0, None, 0.0, f"{type(error).__name__}: {error}"[:200]))


def _seconds(shape: Shape, size: int) -> float:
    """CPU seconds of one run; what a shape wrote is removed again."""
    made = shape.make(size)
    start = time.process_time()
    shape.run(made)
    spent = time.process_time() - start
    if isinstance(made, Path):
        shutil.rmtree(made if made.is_dir() else made.parent)
    return max(spent, 1e-6)


def _address_space() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


def report(only: str = "") -> bool:
    """Measure every shape, print the steepest, and say whether all are linear."""
    found = [measured(shape) for shape in shapes() if only in shape.name]
    bad = [one for one in found if one.is_bad]
    print(
        f"Pathological shapes: {len(found)} tried, {len(bad)} beyond linear (exponent over {STEEPEST}) or over a limit"
    )
    rest = sorted((one for one in found if not one.is_bad), key=lambda one: -(one.growth or 0.0))
    print(f"  {'shape':44} {'size':>10} {'seconds':>8} {'growth':>6} {'memory':>8}")
    for one in [*bad, *rest[:_SHOWN]]:
        growth = f"{one.growth:.2f}" if one.growth is not None else "–"
        print(f"  {one.name:44.44} {one.size:10,} {one.seconds:8.3f} {growth:>6} {one.megabytes:5.0f} MB {one.problem}")
    return not bad


if __name__ == "__main__":
    sys.exit(0 if report(options(__doc__, only="").only) else 1)

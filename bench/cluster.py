"""What a cluster on this machine costs and brings, against one process over the same files.

    python -m bench.cluster --megabytes 300 --runs 3

CPU seconds count every process that the run started, and hardly depend on what else runs; wall time does, so the
quickest of the runs is taken, and only the ratio to one process of the same round means something. Four workers on two
cores are overhead only.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.corpus import corpus
from bench.measuring import options

_KNOWBOUND = Path(sys.executable).with_name("knowbound")
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER: what a run leaves behind ends as a child of ours, and is counted
_WAYS = ("", "local:1", "local:2", "local:4")


def report(megabytes: int, runs: int) -> None:
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    traces = corpus(megabytes)
    best: dict[str, tuple[float, float]] = {}
    printed: dict[str, str] = {}
    for _ in range(runs):
        for way in _WAYS:
            wall, cpu, printed[way] = _run(traces, way)
            known = best.get(way, (wall, cpu))
            best[way] = min(known[0], wall), min(known[1], cpu)
    print(f"observe over {megabytes} MB, the best of {runs} rounds (load {os.getloadavg()[0]:.1f})")
    for way, (wall, cpu) in best.items():
        same = "same JSON" if printed[way] == printed[""] else "OTHER JSON"
        print(
            f"  {way or 'one process':12} wall {wall:7.2f} s  ratio {wall / best[''][0]:5.2f}   "
            f"CPU {cpu:7.2f} s  ratio {cpu / best[''][1]:5.2f}   {same}"
        )


def _run(traces: Path, way: str) -> tuple[float, float, str]:
    with tempfile.TemporaryDirectory() as folder:
        environ = os.environ | {"KNOWBOUND_HOME": f"{folder}/home", "KNOWBOUND_JOBS": "1"}
        command = [str(_KNOWBOUND), "observe", str(traces), "--root", folder, "--format", "json"]
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        ran = subprocess.run(
            [*command, *(["--cluster", way] if way else [])],
            env=environ,
            check=True,
            capture_output=True,
        )
        wall = time.perf_counter() - began
        while True:
            try:
                os.wait()
            except ChildProcessError:
                break
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = json.loads(ran.stdout)
    found.pop("made", None)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, used, json.dumps(found).replace(folder, "")


if __name__ == "__main__":
    given = options(__doc__ or "", megabytes=300, runs=3)
    report(given.megabytes, given.runs)

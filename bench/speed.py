"""How fast `observe` is and how much memory it takes, against bare decoding and against `omk observe`, in one run.

    python -m bench.speed [--megabytes 1024] [--no-omk] [--traces DIR]
    python -m bench.speed --growth 33,100,333,1000,3000      cold, at each of these sizes
    python -m bench.speed --profile                          where the time of one process goes

The corpus is read once and our code compiled before the clock starts, so nobody pays for a cold disk. Memory is the
sum of the resident sets of a process and all its children, looked at 50 times a second, and beside it what the
kernel remembers as the peak of the largest of them. Short runs are repeated and the median is shown.
"""

from __future__ import annotations

import hashlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median_low

import orjson

from bench.corpus import MEGABYTE, TRACES, corpus, grow, one_file, size
from bench.measuring import options

DECODE = "orjson decode, one core"
COLD = "observe, cold"
ALONE = "observe, cold, KNOWBOUND_JOBS=1"
AGAIN = "observe, nothing new"
GROWN = "observe, one file grown"
ONE_FILE = "observe, one file"
OMK = "omk observe"
HELP = "knowbound --help"
START = "python -c pass"

OMK_PACKAGES = ("oh-my-knowledge@0.54.0", "node@22.23.3")  # omk asks for node 22 or newer
OMK_PATIENCE = 180.0  # seconds; beyond that omk gets half of the corpus
REPEATS = 5  # of observe when there is little to do
STARTS = 10  # of a bare process

_DECODE_EVERY_LINE = """
import sys, orjson
from pathlib import Path
for path in Path(sys.argv[1]).rglob("*.jsonl"):
    with path.open("rb", buffering=1 << 20) as lines:  # lines are long: a small buffer slows the baseline
        for line in lines:
            try:
                orjson.loads(line)
            except orjson.JSONDecodeError:
                pass
"""


# Runs a verb and prints on stderr how often the running line was in each module: one sample per tick of CPU time.
_SAMPLED = """
import signal, sys, time
from collections import Counter
own, within, ticks = Counter(), Counter(), 0
def look(number, frame):
    global ticks
    ticks += 1
    own[frame.f_globals["__name__"]] += 1
    inside = set()
    while frame:
        inside.add(frame.f_globals["__name__"])
        frame = frame.f_back
    within.update(inside)
signal.signal(signal.SIGPROF, look)
signal.setitimer(signal.ITIMER_PROF, 0.001, 0.001)
from knowbound.cli.main import main
try:
    main()
finally:
    signal.setitimer(signal.ITIMER_PROF, 0)
    print(f"{ticks} samples in {time.process_time():.1f} s of CPU\n  itself  with what it calls", file=sys.stderr)
    for name, count in own.most_common(30):
        print(f"  {count / ticks:6.1%}  {within[name] / ticks:6.1%}  {name}", file=sys.stderr)
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. What was not measured is None, and the note says why."""

    name: str
    note: str = ""
    megabytes: float | None = None
    seconds: float | None = None
    cpu_seconds: float | None = None
    memory: float | None = None  # megabytes, peak of the sum over the process tree
    largest: float | None = None  # megabytes, peak of the largest single process; never under the benchmark's own
    grown: float | None = None  # megabytes of the one file that is not as before
    report: str = ""  # a digest of the JSON that was written, without the time when it was made

    @property
    def speed(self) -> float | None:
        """Megabytes per second, where the work is proportional to the corpus."""
        return self.megabytes / self.seconds if self.megabytes and self.seconds else None


@dataclass(frozen=True, slots=True)
class Target:
    """A line of DESIGN.md's speed table: what we promised, what we measured."""

    what: str
    value: float | None
    limit: float | None
    unit: str
    at_least: bool = False

    @property
    def verdict(self) -> str:
        """`meets`, `falls short by` how much, or `unknown` when one side was not measured."""
        if self.value is None or self.limit is None:
            return "unknown"
        short = 1 - self.value / self.limit if self.at_least else self.value / self.limit - 1
        return "meets" if short <= 0 else f"falls short by {short:.0%}"


def measure(megabytes: int = 1024, *, omk: bool = True, traces: Path = TRACES) -> list[Row]:
    """All rows, one after the other, on one corpus of at least this size."""
    folder, single = corpus(megabytes, traces), one_file(megabytes, traces)
    for data in (folder, single):
        _read_once(data)
    with tempfile.TemporaryDirectory(prefix="knowbound-bench-run-") as scratch:
        home = Path(scratch)
        _observe("compile what is imported", corpus(1, traces), home / "first")
        rows = [
            _median([_run(START, [sys.executable, "-c", "pass"], home) for _ in range(STARTS)]),
            _median([_run(HELP, [_knowbound(), "--help"], home) for _ in range(STARTS)]),
            _proportional(_run(DECODE, [sys.executable, "-c", _DECODE_EVERY_LINE, str(folder)], home), folder),
            _proportional(cold := _observe(COLD, folder, home / "corpus"), folder),
            _proportional(_compared(_observe(ALONE, folder, home / "alone", KNOWBOUND_JOBS="1"), cold), folder),
            _again(folder, home / "corpus"),
            _observe_grown(folder, home / "corpus"),
            _proportional(_observe(ONE_FILE, single, home / "one-file"), single),
        ]
        if omk:
            rows.append(_omk(megabytes, traces, home))
    return rows


def report(megabytes: int = 1024, *, omk: bool = True, traces: Path = TRACES) -> None:
    load = os.getloadavg()[0]
    busy = ": busy, so compare CPU seconds and measure again" if load > 0.5 else ""
    print(f"{os.cpu_count()} cores, load average {load:.1f} before the first run{busy}\n")
    print(table(measure(megabytes, omk=omk, traces=traces)))


def growth(sizes: Sequence[int], traces: Path) -> None:
    """Print a cold run over a corpus of each size: time and memory per megabyte show what is not linear."""
    with tempfile.TemporaryDirectory(prefix="knowbound-bench-run-") as scratch:
        _observe("compile what is imported", corpus(1, traces), Path(scratch) / "first")
        lines = [["", "wall s", "CPU s", "CPU s per 100 MB", "tree MB", "largest MB", "note"]]
        for megabytes in sizes:
            folder = corpus(megabytes, traces)
            _read_once(folder)
            row = _proportional(_observe(f"{megabytes:,} MB", folder, Path(scratch) / str(megabytes)), folder)
            share = 100 * (row.cpu_seconds or 0.0) / (row.megabytes or 1.0)
            figures = [_number(row.memory, 0), _number(row.largest, 0), row.note]
            lines.append([row.name, _number(row.seconds, 2), _number(row.cpu_seconds, 2), _number(share, 2), *figures])
        print(_columns(lines))


def profile(megabytes: int, traces: Path) -> None:
    """Print the share of each module in the CPU time of reading in one process, by samples of the running line."""
    folder = corpus(megabytes, traces)
    with tempfile.TemporaryDirectory(prefix="knowbound-bench-run-") as scratch:
        command = [sys.executable, "-c", _SAMPLED, "observe", str(folder), "-o", f"{scratch}/observe.txt"]
        environ = {**os.environ, "KNOWBOUND_HOME": scratch, "KNOWBOUND_JOBS": "1"}
        print(subprocess.run(command, env=environ, capture_output=True, text=True, check=True).stderr)


def targets(rows: Sequence[Row]) -> list[Target]:
    """The lines of DESIGN.md's speed table that these rows can answer."""
    row = {r.name: r for r in rows}
    missing = Row("not measured")
    decode, cold, again, grown, omk, single, help_, start = (
        row.get(name, missing) for name in (DECODE, COLD, AGAIN, GROWN, OMK, ONE_FILE, HELP, START)
    )
    one_grown = None
    if again.seconds and grown.grown and cold.cpu_seconds and cold.megabytes:
        one_grown = again.seconds + cold.cpu_seconds * grown.grown / cold.megabytes
    return [
        Target("observe cold: speed against omk", _ratio(cold.speed, omk.speed), 3, "×", at_least=True),
        Target("observe cold: time against orjson", _ratio(cold.seconds, decode.seconds), 2.4, "×"),
        Target("nothing new: CPU against python -c pass", _ratio(again.cpu_seconds, start.cpu_seconds), 4, "×"),
        Target("one file grown: nothing new plus that file", grown.seconds, one_grown, "s"),
        Target("memory: corpus", cold.memory, 200, "MB"),
        Target("memory: one file", single.memory, 200, "MB"),
        Target("knowbound --help", help_.seconds, 0.150, "s"),
    ]


def table(rows: Sequence[Row]) -> str:
    lines = [["", "wall s", "CPU s", "MB", "MB/s", "tree MB", "largest MB", "note"]]
    for row in rows:
        figures = (row.megabytes, row.speed, row.memory, row.largest)
        times = [_number(row.seconds, 3), _number(row.cpu_seconds, 3)]
        lines.append([row.name, *times, *(_number(figure, 0) for figure in figures), row.note])
    promises = [["", "target", "measured", "verdict"]]
    for goal in targets(rows):
        limit = f"{'≥' if goal.at_least else '≤'} {_number(goal.limit, 3)} {goal.unit}"
        promises.append([goal.what, limit, f"{_number(goal.value, 3)} {goal.unit}", goal.verdict])
    return f"{_columns(lines)}\n\n{_columns(promises)}"


def _again(folder: Path, home: Path) -> Row:
    """Print the report of what has not changed: once for the receipt, then as often as a short run needs."""
    root = home / "empty"  # the working folder holds what each run prints: it is never as it was
    root.mkdir()
    command = [_knowbound(), "observe", str(folder), "--format", "json", "--root", str(root)]
    return _median([_run(AGAIN, command, home.parent, KNOWBOUND_HOME=str(home)) for _ in range(REPEATS + 1)][1:])


def _compared(row: Row, other: Row) -> Row:
    same = "the same" if row.report and row.report == other.report else "ANOTHER"
    return replace(row, note=f"{same} JSON as with one process per core")


def _observe(name: str, folder: Path, home: Path, **settings: str) -> Row:
    """One run of our own command, with its store in this home."""
    home.mkdir(exist_ok=True)
    output = home.parent / "observe.json"
    command = [_knowbound(), "observe", str(folder), "--format", "json", "-o", str(output)]
    row = _run(name, command, home.parent, patience=None, KNOWBOUND_HOME=str(home), **settings)
    if row.seconds is None:
        return row
    written = orjson.loads(output.read_bytes())
    totals = written["totals"]
    note = f"{totals['files']} files, {totals['sessions']} sessions, {totals['turns']} turns"
    digest = hashlib.sha256(orjson.dumps(written | {"made": ""})).hexdigest()
    return replace(row, note=note, report=digest)


def _observe_grown(folder: Path, home: Path) -> Row:
    """The largest session of the corpus goes on, several times; then it is cut back for the next benchmark."""
    path = max(folder.rglob("*.jsonl"), key=lambda path: path.stat().st_size)
    length = path.stat().st_size
    rows = []
    try:
        for round_ in range(REPEATS):
            grow(path, round_)
            rows.append(_observe(GROWN, folder, home))
    finally:
        os.truncate(path, length)
    return replace(_median(rows), grown=length / MEGABYTE)


def _omk(megabytes: int, traces: Path, scratch: Path) -> Row:
    """The reference implementation, on the same corpus or on as much of it as it manages within its time."""
    tools = _install_omk()
    if isinstance(tools, str):
        return Row(OMK, note=tools)
    node = str(tools / "node") if (tools / "node").exists() else "node"
    part = megabytes
    while True:
        folder, reports = corpus(part, traces), scratch / f"omk-{part}"
        _read_once(folder)
        command = [node, str(tools / "omk"), "observe", str(folder), "--lang", "en", "--no-feedback"]
        command += ["--output-dir", str(reports)]
        row = _run(OMK, command, scratch, patience=OMK_PATIENCE, HOME=str(scratch))
        if row.seconds is not None or part < 32:
            break
        part //= 2
    if row.seconds is None:
        return row
    found = orjson.loads(next(reports.glob("*.json")).read_bytes())["meta"]["sessionCount"]
    scaled = "" if part == megabytes else f", only {part} MB: more took over {OMK_PATIENCE:.0f} s or failed"
    return replace(_proportional(row, folder), note=f"{found} sessions{scaled}")


def _install_omk() -> Path | str:
    """Where the commands of the pinned packages are, or why they could not be had."""
    if shutil.which("npm") is None:
        return "not measured: npm is missing"
    folder = _kept_folder("-".join(OMK_PACKAGES))
    if not (folder / "node_modules" / ".bin" / "omk").exists():
        install = ["npm", "install", "--no-audit", "--no-fund", "--save-exact", "--prefix", str(folder), *OMK_PACKAGES]
        if subprocess.run(install, capture_output=True, check=False).returncode:
            return "not measured: npm install failed"
    return folder / "node_modules" / ".bin"


def _run(name: str, command: list[str], folder: Path, *, patience: float | None = None, **settings: str) -> Row:
    """One process and its children from start to end, watched."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("KNOWBOUND_", "PYTHON"))}
    # an installed package is compiled, a checkout may not be
    kept["PYTHONPYCACHEPREFIX"] = str(_kept_folder("bytecode"))
    with (folder / "output").open("w+b") as output:
        begin = time.perf_counter()
        try:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=kept | settings,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        except FileNotFoundError:
            return Row(name, note=f"not measured: no {Path(command[0]).name}")
        with _Watch(process.pid, patience) as watch:
            _, status, usage = os.wait4(process.pid, 0)
            seconds = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            output.seek(0)
            last = output.read().decode(errors="replace").strip().rpartition("\n")[2]
            why = f"took over {patience:.0f} s" if watch.out_of_patience else f"exit {process.returncode}: {last[:100]}"
            return Row(name, note=f"not measured: {why}")
    return Row(
        name,
        seconds=seconds,
        cpu_seconds=usage.ru_utime + usage.ru_stime,
        memory=watch.peak / MEGABYTE or None,
        largest=usage.ru_maxrss * 1024 / MEGABYTE,
    )


class _Watch:
    """Looks at the memory of a process and its children in the background; ends them when patience runs out."""

    def __init__(self, pid: int, patience: float | None) -> None:
        self.peak = 0
        self.out_of_patience = False
        self._pid = pid
        self._deadline = None if patience is None else time.monotonic() + patience
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> _Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._ended.wait(0.02):
            self.peak = max(self.peak, _tree_memory(self._pid))
            if self._deadline is not None and time.monotonic() > self._deadline:
                self.out_of_patience = True
                os.killpg(self._pid, signal.SIGKILL)
                return


def _tree_memory(pid: int) -> int:
    """Resident bytes of a process and all its children; pages they share count for each of them."""
    try:
        resident = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()
        children = [
            child for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()
        ]
    except OSError:  # it has ended
        return 0
    return resident + sum(_tree_memory(int(child)) for child in children)


def _kept_folder(name: str) -> Path:
    folder = Path(tempfile.gettempdir()) / f"knowbound-bench-{name}"
    folder.mkdir(exist_ok=True)
    return folder


def _knowbound() -> str:
    return str(Path(sys.executable).with_name("knowbound"))


def _read_once(folder: Path) -> None:
    buffer = bytearray(MEGABYTE)
    for path in folder.rglob("*.jsonl"):
        with path.open("rb", buffering=0) as file:
            while file.readinto(buffer):
                pass


def _proportional(row: Row, folder: Path) -> Row:
    return replace(row, megabytes=size(folder) / MEGABYTE)


def _median(rows: list[Row]) -> Row:
    """The run of median wall time; a failed run stands for all."""
    failed = [row for row in rows if row.seconds is None]
    if failed:
        return failed[0]
    middle = median_low(row.seconds or 0.0 for row in rows)
    return next(row for row in rows if row.seconds == middle)


def _ratio(one: float | None, other: float | None) -> float | None:
    return one / other if one and other else None


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def _columns(lines: list[list[str]]) -> str:
    """Cells in columns: the first and the last to the left, numbers to the right."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    justify: list[Callable[[str, int], str]] = [str.ljust, *[str.rjust] * (len(widths) - 2), str.ljust]
    return "\n".join(
        "  ".join(put(cell, width) for put, cell, width in zip(justify, line, widths, strict=True)).rstrip()
        for line in lines
    )


if __name__ == "__main__":
    given = options(__doc__, megabytes=1024, no_omk=False, traces=TRACES, growth="", profile=False)
    if given.growth:
        growth([int(size) for size in given.growth.split(",")], given.traces)
    elif given.profile:
        profile(given.megabytes, given.traces)
    else:
        report(given.megabytes, omk=not given.no_omk, traces=given.traces)

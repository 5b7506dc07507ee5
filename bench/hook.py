"""How long an agent waits for `knowbound-hook`, for a prompt and for a session that starts, in fresh processes.

    python -m bench.hook [--items 100000] [--runs 200] [--at-once 200] [--folder DIR]

The store is real: as many items as asked for go through the backend, the screening and the embedding into the index.
Their words are those of the shared items and conversations, mixed anew, so that common words are as common as in real
text; they have two thousand subjects, of which a few have most items. The prompts are the shared ones. Bytecode is
compiled and the files are read once before the clock starts, as on a machine where the hook has run before; runs of
`python -c pass` run between ours, so both meet the same machine.

Then as many hooks as asked for are started at once, with the configured limit, and accounted for: each either answered
and is recorded as delivered, or is recorded as having given up; the items that they print are those of the records.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TypeAlias

from bench.labels import injected_items, injected_turns
from bench.measuring import HOOK, at, options, process_ms, warn_if_busy
from bench.retrieval import conversations
from knowbound.agent.hook import log as hook_log
from knowbound.core.item import Item
from knowbound.injection.log import log_files, read_log
from knowbound.kms.backends.protocol import Swap
from knowbound.kms.backends.sqlite import SqliteBackend
from knowbound.kms.index.database import Index
from knowbound.kms.knowledge_store import KnowledgeStore

TARGET_MS = 150.0  # DESIGN: p95 with 100,000 items
_CHUNK = 5_000
_SUBJECTS, _AREAS = 2_000, ("billing", "mobile", "infra", "people", "search")
_WARM = 5
_LIMIT = "KNOWBOUND_INJECTION_TIME_LIMIT_MS"
_ITEM = re.compile(r"^\[([^\]]+)\] \(", re.MULTILINE)
_OUT, _TEXT = "hookSpecificOutput", "additionalContext"
_MIXED = 0.35  # share of the words of a text that are exchanged


Times: TypeAlias = list[tuple[float, float]]  # wall and CPU milliseconds of fresh processes


def _wall(times: Times, share: float) -> float:
    return at((wall for wall, _ in times), share)


def texts(count: int) -> Iterator[str]:
    """As many texts as wanted, all different, with the words of real ones in their real frequencies."""
    spoken = [text for aside in (False, True) for one in conversations(aside=aside) for _, text in one.items]
    real = sorted({text for text in (*injected_items(), *spoken) if text.strip()})
    words = [word for text in real for word in text.split()]
    chance = random.Random(7)
    for number in range(count):
        text = chance.choice(real).split()
        mixed = [chance.choice(words) if chance.random() < _MIXED else word for word in text]
        yield f"{' '.join(mixed)} #{number}"


def build(root: Path, count: int) -> float:
    """A store of so many items under the root; seconds it took."""
    home, began = root / ".knowbound", time.perf_counter()
    backend = SqliteBackend(home)
    batch: list[Item] = []
    chance, weights = random.Random(3), list(accumulate(1 / (place + 1) for place in range(_SUBJECTS)))
    for number, text in enumerate(texts(count)):
        stamp = f"2026-{1 + number % 11:02}-{1 + number % 28:02}T08:00:00Z"
        place = chance.choices(range(_SUBJECTS), cum_weights=weights)[0]
        subject = (root.name, "")[place] if place < 2 else f"{_AREAS[place % len(_AREAS)]} {place}"
        batch.append(Item(id=f"k-{number:06}", content=text, subject=subject, timestamp=stamp, confidence=0.9))
        if len(batch) == _CHUNK:
            backend.swap([Swap(None, item) for item in batch])
            batch = []
    backend.swap([Swap(None, item) for item in batch])
    base = KnowledgeStore([backend], Index(home))  # reads the backend into the index
    base.close()
    return time.perf_counter() - began


def measure(root: Path, runs: int, environ: dict[str, str]) -> tuple[Times, Times, Times]:
    """Ours, the bare interpreter, and ours when a session starts, in turns."""
    asked = [turn["prompt"] for turn in injected_turns()]
    measured: list[tuple[tuple[float, float], ...]] = []
    for number in range(-_WARM, runs):
        about = {"cwd": str(root), "prompt": asked[number % len(asked)]}
        given = json.dumps(about | {"session_id": f"s-{os.getpid()}-{number}"}).encode()
        took = process_ms([HOOK, "user-prompt-submit"], given, environ)
        started = process_ms([sys.executable, "-c", "pass"], b"", environ)
        starting = {"cwd": str(root), "session_id": f"i-{os.getpid()}-{number}", "source": "startup"}
        indexed = process_ms([HOOK, "session-start"], json.dumps(starting).encode(), environ)
        if number >= 0:
            measured.append((took, started, indexed))
    ours, bare, at_start = map(list, zip(*measured, strict=True))
    return ours, bare, at_start


@dataclass(frozen=True, slots=True)
class AtOnce:
    wall: tuple[float, ...]  # milliseconds since the first was started
    bare: tuple[float, ...]  # of as many empty processes
    answered: int  # printed something
    outcomes: dict[str, int]  # of their records
    logged: int
    delivered: Counter[str]  # items in the records
    printed: Counter[str]  # items on stdout


def start_at_once(root: Path, count: int, environ: dict[str, str]) -> AtOnce:
    """Real processes, each with its own prompt and session, in the project's folder as agents start them."""
    home, asked = root / ".knowbound", [turn["prompt"] for turn in injected_turns()]
    known, logged = {one.id for one in read_log(home).records}, len(hook_log.runs(str(home)))
    given = [
        json.dumps(
            {"session_id": f"once-{os.getpid()}-{n}", "cwd": str(root), "prompt": asked[n % len(asked)]}
        ).encode()
        for n in range(count)
    ]
    environ = {name: value for name, value in environ.items() if name != _LIMIT}
    wall, outputs = _started([str(HOOK), "user-prompt-submit"], given, environ, root)
    bare, _ = _started([sys.executable, "-c", "pass"], [b""] * count, environ, root)
    records = [one for one in read_log(home).records if one.id not in known]
    return AtOnce(
        wall=tuple(wall),
        bare=tuple(bare),
        answered=sum(map(bool, outputs)),
        outcomes=dict(Counter(one.outcome for one in records)),
        logged=len(hook_log.runs(str(home))) - logged,
        delivered=Counter(item.item for one in records if one.delivered for item in one.items),
        printed=Counter(
            item for output in outputs if output for item in _ITEM.findall(json.loads(output)[_OUT][_TEXT])
        ),
    )


def _started(
    command: Sequence[str], given: list[bytes], environ: dict[str, str], folder: Path
) -> tuple[list[float], list[bytes]]:
    """Milliseconds from its own start to its end, and what it printed, for each."""
    left, held = os.pipe()  # held by all that is started, until what they leave behind is over
    began, ended = [], []
    with ThreadPoolExecutor(len(given)) as pool:  # waiting only
        for data in given:
            began.append(time.perf_counter())
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ, cwd=folder, pass_fds=(held,)
            )
            ended.append(pool.submit(_ended, process, data))
        os.close(held)
    with os.fdopen(left, "rb") as leaving:
        leaving.read()
    results = [one.result() for one in ended]
    return [(at - start) * 1000 for (_, at), start in zip(results, began, strict=True)], [out for out, _ in results]


def _ended(process: subprocess.Popen[bytes], given: bytes) -> tuple[bytes, float]:
    output, _ = process.communicate(given)  # one that gave up before it read is no error
    return output, time.perf_counter()


def environment(folder: Path) -> dict[str, str]:
    """As on a user's machine: bytecode is kept, and nothing of ours is set."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("KNOWBOUND", "KMS_", "PYTHON"))}
    # A run that takes too long shall be seen as slow, not as given up.
    return kept | {"PYTHONPYCACHEPREFIX": str(folder / "bytecode"), _LIMIT: "5000"}


def report(items: int = 100_000, runs: int = 200, at_once: int = 200, folder: Path | None = None) -> None:
    """Print the table. A folder that is given keeps its store for the next run."""
    with tempfile.TemporaryDirectory(prefix="knowbound-hook-") as temporary:
        root = folder or Path(temporary)
        if not (root / ".knowbound" / "index.db").exists():
            print(f"Hook: a store of {items:,} items …", flush=True)
            print(f"  built in {build(root, items):.0f} s", flush=True)
        environ = environment(Path(temporary))
        size, records = _log_size(root), len(read_log(root / ".knowbound").records)
        ours, bare, at_start = measure(root, runs, environ)
        added = len(read_log(root / ".knowbound").records) - records
        per_run = (_log_size(root) - size) / max(1, added)
        log = hook_log.runs(str(root / ".knowbound"))[-2 * runs :]
        crowd = start_at_once(root, at_once, environ)
    injected = sum(run["outcome"] == "injected" for run in log)
    failed = sum(run["outcome"] in ("failed", "gave_up") for run in log)
    print(f"  {runs} prompts in fresh processes: {injected} injected something, {failed} failed")
    print(f"  {'':28}{'p50':>8}{'p95':>8}{'max':>8}{'CPU':>8}   milliseconds")
    measured = {"python -c pass": bare, "knowbound-hook, cold": ours}
    for name, times in (measured | {"when a session starts": at_start}).items():
        cpu = at((cpu for _, cpu in times), 0.5)
        print(f"  {name:28}{_wall(times, 0.5):8.0f}{_wall(times, 0.95):8.0f}{_wall(times, 1.0):8.0f}{cpu:8.0f}")
    for name, times in (("a prompt", ours), ("a session's start", at_start)):
        ratios = [_wall(times, share) / _wall(bare, share) for share in (0.5, 0.95)]
        print(f"  {name}: p50 {ratios[0]:.1f} ×, p95 {ratios[1]:.1f} × python -c pass")
    print(f"  the log of injections: {per_run / 1024:.1f} KiB a run")
    verdict = "reached" if max(_wall(ours, 0.95), _wall(at_start, 0.95)) <= TARGET_MS else "MISSED"
    print(f"  target p95 ≤ {TARGET_MS:.0f} ms: {verdict}")
    warn_if_busy([wall for wall, _ in bare])
    _report_at_once(crowd)


def _report_at_once(crowd: AtOnce) -> None:
    started = len(crowd.wall)
    print(f"  {started} started at once, with the configured limit:")
    for name, wall in (("python -c pass", crowd.bare), ("knowbound-hook", crowd.wall)):
        print(f"  {name:28}{at(wall, 0.5):8.0f}{at(wall, 0.95):8.0f}{max(wall):8.0f}")
    counted = ", ".join(f"{count} {outcome}" for outcome, count in sorted(crowd.outcomes.items()))
    print(f"  {crowd.answered} answered; records: {counted}; {crowd.logged} lines in the log")
    is_exact = sum(crowd.outcomes.values()) == crowd.logged == started and crowd.delivered == crowd.printed
    items = f"{sum(crowd.printed.values())} items printed, {sum(crowd.delivered.values())} recorded as delivered"
    print(f"  {items}: {'all accounted for' if is_exact else 'NOT accounted for'}")


def _log_size(root: Path) -> int:
    return sum(path.stat().st_size for path in log_files(root / ".knowbound"))


if __name__ == "__main__":
    given = options(__doc__, items=100_000, runs=200, at_once=200, folder=None)
    report(given.items, given.runs, given.at_once, given.folder)

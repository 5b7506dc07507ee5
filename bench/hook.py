"""How long an agent waits for `knowbound-hook user-prompt-submit`: the installed entry point, in fresh processes.

    python -m bench.hook [--items 100000] [--runs 200]

The store is real: as many items as asked for go through the backend, the screening and the embedding into the index.
Their words are those of the shared items and conversations, mixed anew, so that common words are as common as in real
text. The prompts are the shared ones. Bytecode is compiled and the files are read once before the clock starts, as on
a machine where the hook has run before; runs of `python -c pass` run between ours, so both meet the same machine.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.labels import SHARED
from knowbound.agent import hook_log
from knowbound.core.item import Item
from knowbound.kms.backends.sqlite import SqliteBackend
from knowbound.kms.index.database import Index
from knowbound.kms.knowledge_store import KnowledgeStore

HOOK = Path(sys.executable).parent / "knowbound-hook"
TARGET_MS = 150.0  # DESIGN: p95 with 100,000 items
_CHUNK = 5_000
_WARM = 5
_MIXED = 0.35  # share of the words of a text that are exchanged


@dataclass(frozen=True, slots=True)
class Times:
    """Wall times of fresh processes, in milliseconds, and the CPU time of the one in the middle."""

    wall: tuple[float, ...]
    cpu: float

    def at(self, share: float) -> float:
        """A quantile."""
        ordered = sorted(self.wall)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def prompts() -> list[str]:
    """Prompts of real turns."""
    lines = (SHARED / "injection" / "turns.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line)["prompt"] for line in lines]


def texts(count: int) -> Iterator[str]:
    """As many texts as wanted, all different, with the words of real ones in their real frequencies."""
    real = _real_texts()
    words = [word for text in real for word in text.split()]
    chance = random.Random(7)
    for number in range(count):
        text = chance.choice(real).split()
        mixed = [chance.choice(words) if chance.random() < _MIXED else word for word in text]
        yield f"{' '.join(mixed)} #{number}"


def _real_texts() -> list[str]:
    found = {
        item["content"]
        for line in (SHARED / "injection" / "turns.jsonl").read_text("utf-8").splitlines()
        for item in json.loads(line)["items"]
    }
    for path in sorted((SHARED / "locomo").glob("*.json")):
        found |= set(_dialogue_texts(json.loads(path.read_text("utf-8"))))
    return sorted(text for text in found if text.strip())


def _dialogue_texts(document: object) -> Iterator[str]:
    if isinstance(document, dict):
        if isinstance(document.get("text"), str) and "dia_id" in document:
            yield document["text"]
        for value in document.values():
            yield from _dialogue_texts(value)
    elif isinstance(document, list):
        for value in document:
            yield from _dialogue_texts(value)


def build(root: Path, count: int) -> float:
    """A store of so many items under the root; seconds it took."""
    home, began = root / ".knowbound", time.perf_counter()
    backend = SqliteBackend(home)
    batch: list[Item] = []
    for number, text in enumerate(texts(count)):
        stamp = f"2026-{1 + number % 11:02}-{1 + number % 28:02}T08:00:00Z"
        subject = ("shop", "billing", "mobile", "infra", "people")[number % 5]
        batch.append(Item(id=f"k-{number:06}", content=text, subject=subject, timestamp=stamp, confidence=0.9))
        if len(batch) == _CHUNK:
            backend.put_many(batch)
            batch = []
    backend.put_many(batch)
    base = KnowledgeStore([backend], Index(home))  # reads the backend into the index
    base.close()
    return time.perf_counter() - began


def measure(root: Path, runs: int, environ: dict[str, str]) -> tuple[Times, Times]:
    """Ours, and the bare interpreter, in turns."""
    asked = prompts()
    ours: list[tuple[float, float]] = []
    bare: list[tuple[float, float]] = []
    for number in range(-_WARM, runs):
        given = {"session_id": f"s-{os.getpid()}-{number}", "cwd": str(root), "prompt": asked[number % len(asked)]}
        took = _timed([str(HOOK), "user-prompt-submit"], json.dumps(given).encode(), environ)
        started = _timed([sys.executable, "-c", "pass"], b"", environ)
        if number >= 0:
            ours.append(took)
            bare.append(started)
    return _times(ours), _times(bare)


def _timed(command: Sequence[str], stdin: bytes, environ: dict[str, str]) -> tuple[float, float]:
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, input=stdin, stdout=subprocess.DEVNULL, env=environ, check=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall * 1000, cpu * 1000


def _times(pairs: list[tuple[float, float]]) -> Times:
    return Times(tuple(wall for wall, _ in pairs), sorted(cpu for _, cpu in pairs)[len(pairs) // 2])


def environment(folder: Path) -> dict[str, str]:
    """As on a user's machine: bytecode is kept, and nothing of ours is set."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("KNOWBOUND", "KMS_", "PYTHON"))}
    # A run that takes too long shall be seen as slow, not as given up.
    return kept | {"PYTHONPYCACHEPREFIX": str(folder / "bytecode"), "KNOWBOUND_INJECTION_TIME_LIMIT_MS": "5000"}


def report(items: int = 100_000, runs: int = 200, folder: Path | None = None) -> None:
    """Print the table. A folder that is given keeps its store for the next run."""
    with tempfile.TemporaryDirectory(prefix="knowbound-hook-") as temporary:
        root = folder or Path(temporary)
        if not (root / ".knowbound" / "index.db").exists():
            print(f"Hook: a store of {items:,} items …", flush=True)
            print(f"  built in {build(root, items):.0f} s", flush=True)
        ours, bare = measure(root, runs, environment(Path(temporary)))
        log = hook_log.runs(str(root / ".knowbound"))[-runs:]
    injected = sum(run["outcome"] == "injected" for run in log)
    failed = sum(run["outcome"] in ("failed", "gave_up") for run in log)
    print(f"  {runs} prompts in fresh processes: {injected} injected something, {failed} failed")
    print(f"  {'':28}{'p50':>8}{'p95':>8}{'max':>8}{'CPU':>8}   milliseconds")
    for name, times in (("python -c pass", bare), ("knowbound-hook, cold", ours)):
        print(f"  {name:28}{times.at(0.5):8.0f}{times.at(0.95):8.0f}{max(times.wall):8.0f}{times.cpu:8.0f}")
    verdict = "reached" if ours.at(0.95) <= TARGET_MS else "MISSED"
    print(f"  target p95 ≤ {TARGET_MS:.0f} ms: {verdict}")
    if bare.at(0.95) > 2 * bare.at(0.25):
        print(f"  The machine is busy (load {os.getloadavg()[0]:.1f}): an empty process varies as much. Measure again.")


def main() -> None:
    """The command line of this benchmark."""
    parser = argparse.ArgumentParser(prog="bench.hook")
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--folder", type=Path, help="where to keep the store between runs")
    given = parser.parse_args()
    report(given.items, given.runs, given.folder)


if __name__ == "__main__":
    main()

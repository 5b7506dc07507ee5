"""Parallel writers and readers on the embedded store: no lost write, no "database is locked" to a caller.

`python -m bench.store` runs 50 processes for a minute (`--seconds`, `--processes`). Half of them add, update, supersede
and delete through the knowledge base; half read the index and the backend as hooks and reports do. Afterwards every
write that was acknowledged must be there, in the backend and in the index.
"""

from __future__ import annotations

import multiprocessing
import random
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from bench.measuring import options
from knowbound.kms.backends.sqlite import SqliteBackend
from knowbound.kms.index.database import Index
from knowbound.kms.knowledge_store import KnowledgeStore
from knowbound.kms.validation import ItemEdit, NewItem


class Done(NamedTuple):
    """What one process did: the last acknowledged content of each item and whether it is served, or its error."""

    acknowledged: dict[str, tuple[str, bool]]
    writes: int
    reads: int
    slowest: float
    error: str


class Result(NamedTuple):
    writes: int
    reads: int
    slowest: float
    errors: list[str]
    lost: list[str]


def stress(home: Path, processes: int, seconds: float) -> Result:
    """Run them, then look whether everything that was acknowledged is there."""
    _open(home).close()
    context = multiprocessing.get_context("spawn")
    with context.Pool(processes) as pool:
        # Readers and writers alternate; the time begins when a process is up.
        done = pool.starmap(_work, [(str(home), number, seconds) for number in range(processes)], chunksize=1)
    return Result(
        sum(one.writes for one in done),
        sum(one.reads for one in done),
        max(one.slowest for one in done),
        [one.error for one in done if one.error],
        _lost(home, {id_: state for one in done for id_, state in one.acknowledged.items()}),
    )


def _open(home: Path) -> KnowledgeStore:
    return KnowledgeStore([SqliteBackend(home)], Index(home), by="bench")


def _work(home: str, number: int, seconds: float) -> Done:
    base = _open(Path(home))
    chance = random.Random(number)
    held: dict[str, tuple[str, bool]] = {}
    count, slowest, error = 0, 0.0, ""
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            start = time.monotonic()
            if number % 2:
                _read(base)
            else:
                _write(base, held, chance, f"{number} {count}")
            slowest = max(slowest, time.monotonic() - start)
            count += 1
    except Exception as raised:
        error = f"{type(raised).__name__}: {raised}"
    base.close()
    return Done(held, 0 if number % 2 else count, count if number % 2 else 0, slowest, error)


def _write(base: KnowledgeStore, held: dict[str, tuple[str, bool]], chance: random.Random, name: str) -> None:
    served = [id_ for id_, (_, is_served) in held.items() if is_served]
    content = f"Writer and number {name}: the port is {chance.randrange(10_000)}."
    match chance.randrange(6) if served else 0:
        case 1:
            id_ = chance.choice(served)
            base.update(id_, ItemEdit(content=content))
            held[id_] = (content, True)
        case 2:
            id_ = chance.choice(served)
            base.delete(id_)
            held[id_] = (held[id_][0], False)
        case 3:
            id_ = chance.choice(served)
            held[base.supersede(id_, by=ItemEdit(content=content)).id] = (content, True)
            held[id_] = (held[id_][0], False)
        case _:
            held[base.add(NewItem(content=content)).item.id] = (content, True)


def _read(base: KnowledgeStore) -> None:
    base.index.counts()
    for known in base.index.same_content("")[:1] or base.index.flagged([]):
        base.get(known.item.id)
    for _, item in zip(range(20), base.backends["sqlite"].changed_since("")[0], strict=False):
        base.index.known(item.id)


def _lost(home: Path, acknowledged: dict[str, tuple[str, bool]]) -> list[str]:
    base = _open(home)
    try:
        return [id_ for id_, state in acknowledged.items() if _state(base, id_) != (state, state)]
    finally:
        base.close()


def _state(base: KnowledgeStore, id_: str) -> tuple[tuple[str, bool] | None, tuple[str, bool] | None]:
    """What the backend and what the index say."""
    item = base.get(id_)
    known = base.index.known(id_)
    return (
        (item.content, item.is_served) if item else None,
        (known[0].item.content, known[0].served) if known else None,
    )


def report(processes: int, seconds: float) -> bool:
    """Print what happened; whether all went well."""
    with tempfile.TemporaryDirectory() as folder:
        found = stress(Path(folder), processes, seconds)
    print(
        f"{processes} processes, {seconds:g} s: {found.writes} writes, {found.reads} reads, "
        f"slowest call {found.slowest:.2f} s, {len(found.errors)} errors, {len(found.lost)} lost writes"
    )
    for error in sorted(set(found.errors)):
        print(f"  {error}")
    return not found.errors and not found.lost


if __name__ == "__main__":
    given = options(__doc__, processes=50, seconds=60.0)
    raise SystemExit(not report(given.processes, given.seconds))

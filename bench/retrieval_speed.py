"""How long a search takes, in a fresh process and in a running one, with 10,000, 100,000 and 1,000,000 items.

    python -m bench.retrieval_speed [--sizes 10000,100000] [--folder DIR]

The items are made up: as long as turns of LoCoMo (a median of 18 words), their words drawn by Zipf's law, stop words
most often. Nobody's text is in them. A made index is kept in the folder and used again.
"""

from __future__ import annotations

import hashlib
import random
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from functools import partial
from importlib import resources
from itertools import accumulate
from pathlib import Path

from bench.measuring import at, options, seconds
from knowbound.kms.index.codes import refresh_codes
from knowbound.kms.index.search import search, terms_of
from knowbound.text.embedding import _table, code_of, embed
from knowbound.text.english import SEARCH_STOP_WORDS

SIZES = (10_000, 100_000, 1_000_000)
FOLDER = Path(tempfile.gettempdir()) / "knowbound-bench"
_QUERIES = 60
_WORDS = 20_000
_ADD = (
    "INSERT INTO item (id, backend, content, type, source, subject, user, timestamp, confidence, flag, served, stale,"
    " copy_of, content_sha, code, vector, record, terms)"
    " VALUES (?, 'sqlite', ?, 'fact', 'technical', '', '', ?, 1.0, '', 1, 0, '', ?, ?, ?, ?, ?)"
)
# What a hook adds to its process: imports, opening, one search. The start of Python itself is measured beside it.
_FRESH = """
import sqlite3, sys
from knowbound.kms.index.search import search
index = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
search(index, sys.argv[2], limit=6)
"""


def made_index(path: Path | str, items: Iterable[tuple[str, str]]) -> sqlite3.Connection:
    """An index of ids and contents, with nothing else said about them."""
    index = sqlite3.connect(path, isolation_level=None)
    scripts = resources.files("knowbound.store").joinpath("migrations/index").iterdir()
    for script in sorted(scripts, key=lambda script: script.name):
        index.executescript(script.read_text("utf-8"))
    index.execute("PRAGMA journal_mode = WAL")
    index.execute("BEGIN")
    index.executemany(_ADD, map(_row, items))
    refresh_codes(index)
    index.execute("COMMIT")
    return index


def _row(item: tuple[str, str]) -> tuple[str | bytes, ...]:
    id_, content = item
    vector = embed(content)
    sha = hashlib.sha256(content.encode()).hexdigest()
    return id_, content, "2026-01-01T00:00:00Z", sha, code_of(vector), vector, content.encode(), terms_of(content)


class Writer:
    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        names = [name for name in map(_name, range(_table().count)) if len(name) > 2 and name.isascii()]
        random.Random(0).shuffle(names)
        self._words = [*sorted(SEARCH_STOP_WORDS), *names[:_WORDS]]
        self._shares = list(accumulate(1 / (rank + 2.7) for rank in range(len(self._words))))

    def item(self) -> str:
        """A text of a median of 18 words."""
        length = min(150, max(3, round(self._chance.lognormvariate(2.9, 0.6))))
        return " ".join(self._chance.choices(self._words, cum_weights=self._shares, k=length))


def _name(row: int) -> str:
    return _table().name(row).decode().removeprefix("#").removeprefix("#")


def made_items(count: int) -> Iterator[tuple[str, str]]:
    writer = Writer(count)
    return ((f"item-{number}", writer.item()) for number in range(count))


def report(sizes: Iterable[int], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    python = [seconds(partial(_run, "pass")) for _ in range(20)]
    print(f"Time per search in ms, p50 / p95 (python -c pass: {_shown(python)})")
    writer = Writer(-1)
    queries = [writer.item() for _ in range(_QUERIES)]
    for size in sizes:
        path = folder / f"index-{size}.db"
        if not path.exists():
            draft = path.with_suffix(".draft")
            draft.unlink(missing_ok=True)
            made_index(draft, made_items(size)).close()
            draft.rename(path)
        index = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        search(index, " ".join(queries), limit=6)  # the file is in the system's cache, as it is between two prompts
        warm = [seconds(partial(search, index, query, limit=6)) for query in queries]
        index.close()
        fresh = [seconds(partial(_run, _FRESH, str(path), query)) for query in queries]
        print(f"  {size:>9,} items   running process {_shown(warm):>13}   fresh process {_shown(fresh):>13}")


def _run(code: str, *args: str) -> None:
    subprocess.run([sys.executable, "-c", code, *args], check=True)


def _shown(times: list[float]) -> str:
    return f"{at(times, 0.5) * 1000:.0f} / {at(times, 0.95) * 1000:.0f}"


if __name__ == "__main__":
    given = options(__doc__, sizes=",".join(map(str, SIZES)), folder=FOLDER)
    report([int(size) for size in given.sizes.split(",")], given.folder)

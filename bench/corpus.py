"""A corpus as large as wanted, from a few real traces: each copy has session, message and tool ids of its own.

A copy has the length of its original, so the size of the corpus is known before a byte is written. Files are cut at
their ids once and joined with fresh ones for each copy: one file in memory at a time, whatever the corpus.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator
from hashlib import sha256
from itertools import count
from pathlib import Path

from bench.labels import SHARED

TRACES = SHARED / "traces" / "claude-code"
MEGABYTE = 1_000_000

_ID = re.compile(
    rb"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"  # sessions and lines
    rb"|(?:toolu|msg|req)_[0-9A-Za-z]{20,40}"
    rb"|agentId\W{1,4}[0-9a-f]{7,17})"
)
_TAIL = 7  # hex digits at the end of an id that a copy replaces: the shortest id has no more


def fresh(name: bytes, copy: int) -> bytes:
    """The id in this copy: as long as the original, the same wherever it stands, another in every copy."""
    return name[:-_TAIL] + b"%07x" % ((zlib.crc32(name) + copy) % 16**_TAIL)


def corpus(megabytes: int, traces: Path = TRACES) -> Path:
    """A folder of at least this size: made once, in the temporary directory, and found again by the next run."""
    return _kept("corpus", _write_copies, megabytes, traces)


def one_file(megabytes: int, traces: Path = TRACES) -> Path:
    """A folder with one file of at least this size: the largest session, going on and on with fresh message ids."""
    return _kept("one-file", _write_one, megabytes, traces)


def size(folder: Path) -> int:
    """Bytes in the trace files of a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*.jsonl"))


def grow(path: Path, round_: int, lines: int = 50) -> None:
    """Let the session go on: its first lines once more, with fresh message ids."""
    with path.open("rb") as file:
        head = b"".join(line for line, _ in zip(file, range(lines), strict=False))
    pieces = _cut(head)
    with path.open("ab") as file:
        file.write(_joined(pieces, _AFTER_ALL_COPIES + round_, keep=_session(path)))


_AFTER_ALL_COPIES = 1_000_000  # no corpus has so many copies: the ids of grown lines meet no others


def _kept(kind: str, write: Callable[[list[Path], int, Path], None], megabytes: int, traces: Path) -> Path:
    originals = sorted(traces.rglob("*.jsonl"), key=lambda path: sha256(path.name.encode()).digest())  # no folder first
    if not originals:
        raise SystemExit(f"No traces to multiply in {traces} (looked for *.jsonl). Try: --traces DIR   [no-sessions]")
    state = sha256("".join(f"{path} {path.stat().st_size}\n" for path in originals).encode()).hexdigest()
    folder = Path(tempfile.gettempdir()) / f"knowbound-bench-{kind}-{megabytes}"
    data, complete = folder / "traces", folder / "complete"
    if not complete.exists() or complete.read_text() != f"{state} {size(data)}":
        shutil.rmtree(folder, ignore_errors=True)
        data.mkdir(parents=True)
        write(originals, megabytes * MEGABYTE, data)
        complete.write_text(f"{state} {size(data)}")
    return data


def _write_copies(originals: list[Path], wanted: int, data: Path) -> None:
    for original, copies in _plan(originals, wanted):
        pieces = _cut(original.read_bytes())
        name = _cut(original.name.encode())
        for copy in range(copies):
            folder = data / f"{original.parent.name}-{copy}"
            folder.mkdir(exist_ok=True)
            (folder / _joined(name, copy).decode()).write_bytes(_joined(pieces, copy))


def _plan(originals: list[Path], wanted: int) -> Iterator[tuple[Path, int]]:
    """How often each file is copied: whole rounds over all of them, and a last one as far as needed."""
    sizes = [path.stat().st_size for path in originals]
    rounds, missing = divmod(wanted, sum(sizes))
    for path, length in zip(originals, sizes, strict=True):
        yield path, rounds + (missing > 0)
        missing -= length


def _write_one(originals: list[Path], wanted: int, data: Path) -> None:
    original = max(originals, key=lambda path: path.stat().st_size)
    pieces = _cut(original.read_bytes())
    with (data / original.name).open("wb") as file:
        for copy in count():
            if file.tell() >= wanted:
                break
            file.write(_joined(pieces, copy, keep=_session(original)))


def _session(path: Path) -> bytes:
    return path.stem.encode()


def _cut(text: bytes) -> list[bytes]:
    """Text and ids by turns: every second piece is an id."""
    return _ID.split(text)


def _joined(pieces: list[bytes], copy: int, keep: bytes = b"") -> bytes:
    whole = pieces.copy()
    whole[1::2] = [name if name == keep else fresh(name, copy) for name in pieces[1::2]]
    return b"".join(whole)

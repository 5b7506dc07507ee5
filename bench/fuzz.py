"""Lines that no client writes: how many of them the readers are tried with, and how many crash or hang one.

    python -m bench.fuzz [--seconds 30] [--seed 1]

Recordings of ours are changed at random (bytes, values, keys, lines) and read from file to findings, as `observe` does
it. A reader may skip what it cannot use; an exception or more than 20 s for a file is counted as lost, and fails.
"""

from __future__ import annotations

import json
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from bench.hostile_traces import chat_calls, codex_exec, otel_spans, stream
from bench.measuring import options
from knowbound.demo import TRACES
from knowbound.gaps.lens import LensSettings
from knowbound.gaps.reading import read_session
from knowbound.traces.corpus import SessionFiles
from knowbound.traces.registry import readers, recognise
from knowbound.traces.sessions import SharedEvents
from knowbound.traces.source import read_head

_RECORDINGS = Path(__file__).parents[1] / "tests/recordings"
_PATIENCE = 20  # seconds for a file
_ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1e308, 10**400, 0.5, "", " ", "\x00", "\ud800", "\u202e", "a" * 3000, "[" * 500, [], {},
    [[]], [None], {"": None}, {"type": "text"}, "No matches found", "2026-99-99T99:99:99Z", "../../x", ["a", 1, {}],
)  # fmt: skip


class FuzzedReader(NamedTuple):
    """What a reader was tried with; `lost` are the first words of each crash, and hangs."""

    name: str
    files: int
    lines: int
    lost: list[str]


class _HangError(Exception):
    pass


def fuzz(seconds: float = 30.0, seed: int = 1) -> list[FuzzedReader]:
    """Try every reader for its share of the time."""
    seeds = _seeds()
    with tempfile.TemporaryDirectory(prefix="knowbound-fuzz-") as folder:
        share = seconds / len(seeds)
        return [_tried(name, files, share, random.Random(seed), Path(folder)) for name, files in seeds.items()]


def _seeds() -> dict[str, list[bytes]]:
    """Recordings by reader: ours, and for formats without one a small file made for it."""
    made = {"claude-stream": stream(6), "codex-exec": codex_exec(6), "otel": otel_spans(6), "chat": chat_calls(6)}
    files = [*TRACES.glob("*.jsonl"), *_RECORDINGS.glob("[!_]*/*"), *made.values()]
    found: dict[str, list[bytes]] = {reader.name: [] for reader in readers()}
    for file in sorted(files):
        known = recognise(read_head(file))
        assert known, f"no reader knows {file}"
        found[known[0].name].append(file.read_bytes())
    without = [name for name, seeds in found.items() if not seeds]
    assert not without, f"no recording of {', '.join(without)}: put one below {_RECORDINGS}"
    return found


def _tried(name: str, seeds: list[bytes], seconds: float, chance: random.Random, folder: Path) -> FuzzedReader:
    path = folder / f"{name}.jsonl"
    session = SessionFiles(name, "s", (str(path),), {}, 1)
    files = lines = 0
    lost: list[str] = []
    ends = time.monotonic() + seconds
    signal.signal(signal.SIGALRM, _stop)
    while time.monotonic() < ends:
        content = _changed(chance.choice(seeds), chance)
        path.write_bytes(content)
        files += 1
        lines += content.count(b"\n") + 1
        signal.alarm(_PATIENCE)
        try:
            recognise(read_head(path))
            read_session(SharedEvents(session), LensSettings())
        except Exception as error:
            lost.append(f"{type(error).__name__}: {error}"[:100])
        finally:
            signal.alarm(0)
    return FuzzedReader(name, files, lines, lost)


def _stop(number: int, frame: FrameType | None) -> None:
    raise _HangError(f"longer than {_PATIENCE} s")


def _changed(content: bytes, chance: random.Random) -> bytes:
    """A file with some of its lines changed: by values where they are JSON, by bytes, or in their order."""
    lines = content.split(b"\n")
    for _ in range(1 + chance.randrange(max(1, len(lines) // 4))):
        at = chance.randrange(len(lines))
        lines[at] = chance.choice(_CHANGES)(lines[at], chance)
    if chance.random() < 0.2:
        part = slice(chance.randrange(len(lines)), chance.randrange(len(lines)) + 1)
        lines[part] = chance.sample(lines[part], len(lines[part]))
    whole = (b"" if chance.random() < 0.05 else b"\n").join(lines)
    return whole[: chance.randrange(len(whole) + 1)] if chance.random() < 0.1 else whole


def _values(line: bytes, chance: random.Random) -> bytes:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return _bytes(line, chance)
    for _ in range(1 + chance.randrange(3)):
        value = _with_one_changed(value, chance)
    return json.dumps(value, ensure_ascii=chance.random() < 0.5).encode("utf-8", "surrogatepass")


def _with_one_changed(value: Any, chance: random.Random) -> Any:
    """The value with something odd in place of a part of it, with a part left out, or with one twice."""
    if not isinstance(value, dict | list) or not value or chance.random() < 0.1:
        return deepcopy(chance.choice(_ODD))
    at: Any = chance.choice(list(value)) if isinstance(value, dict) else chance.randrange(len(value))
    match chance.randrange(6):
        case 0:
            del value[at]
        case 1 if isinstance(value, list):
            value.append(deepcopy(value[at]))
        case _:
            value[at] = _with_one_changed(value[at], chance)
    return value


def _bytes(line: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(line) + 1)
    noise = bytes(chance.randrange(256) for _ in range(chance.randrange(1, 6)))
    match chance.randrange(4):
        case 0:
            return line[:at]
        case 1:
            return line[:at] + noise + line[at:]
        case 2:
            return line[:at] + noise + line[at + len(noise) :]
        case _:
            return line[:at] + line[max(0, at - 40) :]


def _twice(line: bytes, chance: random.Random) -> bytes:
    return line + chance.choice((b"", b"\n", b" ")) + line


_CHANGES: tuple[Callable[[bytes, random.Random], bytes], ...] = (_values, _values, _values, _bytes, _twice)


def report(seconds: float = 30.0, seed: int = 1) -> bool:
    found = fuzz(seconds, seed)
    lost = sum(len(one.lost) for one in found)
    print(f"Fuzzed lines: {sum(one.lines for one in found):,} over {len(found)} readers, {lost} lost (crash or hang)")
    for one in found:
        print(f"  {one.name:14} {one.files:7,} files {one.lines:10,} lines {len(one.lost):5} lost")
        for words in sorted(set(one.lost))[:5]:
            print(f"      {words}")
    return not lost


if __name__ == "__main__":
    given = options(__doc__, seconds=30.0, seed=1)
    sys.exit(0 if report(given.seconds, given.seed) else 1)

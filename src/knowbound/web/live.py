"""Live events: a process reads new sessions when traces change, and open pages are notified (server-sent events).

The reading is a process of its own: it may take seconds and hundreds of megabytes, and the pages stay quick meanwhile.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from knowbound.config import load
from knowbound.errors import KnowboundError
from knowbound.gaps.stored import Filters, project_at
from knowbound.review.review import review
from knowbound.store.data_dir import FINDINGS, INDEX, ITEMS
from knowbound.text.digest import digest_of
from knowbound.traces.corpus import scan
from knowbound.traces.sessions import places_of_agents

_LEAST_PAUSE_SECONDS = 2.0  # between two looks at the traces, at least
_PAUSE_FACTOR = 20  # a pause takes so many times as long as the looking and reading before it
_MOST_PAUSE_SECONDS = 120.0
_KEEP_ALIVE_SECONDS = 20.0  # a proxy closes a connection that is silent
_LONGEST_LINE_BYTES = 1 << 16
_PROGRESS_SECONDS = 0.2  # between two lines of the process that reads


class Pulse(msgspec.Struct, frozen=True):
    """State of the studio's data, as open pages are notified of it."""

    version: int = 0  # grows with every change
    is_reading: bool = False
    read: int = 0  # bytes
    of: int = 0
    problem: str = ""  # of the last reading
    was_read: bool = False  # sessions were read once since the start, or nothing is to be read


class ReadingPlan(msgspec.Struct, frozen=True):
    """The request to the reading process."""

    root: str
    paths: tuple[str, ...] = ()
    root_is_given: bool = False


class Live:
    """The watcher of one studio, and the pages that listen. Everything here runs in the server's loop."""

    def __init__(
        self, plan: ReadingPlan, home: Path, environ: Mapping[str, str] | None = None, *, reads: bool = True
    ) -> None:
        self.pulse = Pulse(was_read=not reads)  # without reading, what is stored is all
        self._plan, self._home, self._environ, self._reads = plan, home, dict(environ or {}), reads
        self._changed = asyncio.Event()
        self._wake = asyncio.Event()
        self._process: asyncio.subprocess.Process | None = None

    async def watch(self) -> None:
        """Look for changes until the task is cancelled."""
        last_traces = last_stores = ""
        try:
            while True:
                began, is_woken = time.monotonic(), self._wake.is_set()  # woken by a change in the studio
                self._wake.clear()
                if self._reads:
                    traces = await asyncio.to_thread(self._traces_fingerprint)
                    if traces != last_traces or is_woken:
                        last_traces = traces
                        await self._read()
                if (stores := self._stores_fingerprint()) != last_stores:
                    last_stores = stores
                    self._publish(version=self.pulse.version + 1)
                took = time.monotonic() - began
                with suppress(TimeoutError):
                    pause = min(_MOST_PAUSE_SECONDS, max(_LEAST_PAUSE_SECONDS, _PAUSE_FACTOR * took))
                    await asyncio.wait_for(self._wake.wait(), pause)
        finally:
            if self._process is not None and self._process.returncode is None:
                self._process.kill()

    def wake(self) -> None:
        """Read again soon: a page has changed something."""
        self._wake.set()

    async def events(self) -> AsyncIterator[str]:
        """Yield the pulse as server-sent events, now and whenever it changes."""
        yield "retry: 3000\n\n"
        last: Pulse | None = None
        while True:
            changed = self._changed  # before the look, so that no change is missed
            if self.pulse != last:
                last = self.pulse
                yield f"data: {json.dumps(msgspec.to_builtins(last))}\n\n"
            try:
                await asyncio.wait_for(changed.wait(), _KEEP_ALIVE_SECONDS)
            except TimeoutError:
                yield ": still here\n\n"

    def _publish(self, **fields: object) -> None:
        """Change the pulse, and wake the pages that wait for a change."""
        self.pulse = msgspec.structs.replace(self.pulse, **fields)
        self._changed.set()
        self._changed = asyncio.Event()

    def _traces_fingerprint(self) -> str:
        files, _ = scan([Path(path) for path in self._plan.paths] or places_of_agents()[1])
        return digest_of(f"{file.path}|{file.size}|{file.mtime_ns}" for file in files)

    def _stores_fingerprint(self) -> str:
        """Return the sizes and times of the databases and their journals."""
        states = []
        for name in (FINDINGS, INDEX, ITEMS):
            for ending in ("", "-wal"):
                with suppress(OSError):
                    info = (self._home / f"{name}{ending}").stat()
                    states.append(f"{name}{ending}|{info.st_size}|{info.st_mtime_ns}")
        return " ".join(states)

    async def _read(self) -> None:
        """Run the reading process, and pass on how far it is."""
        self._publish(is_reading=True, read=0, of=0)
        problem = ""
        try:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "knowbound.web.live", msgspec.json.encode(self._plan).decode()),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env=os.environ | self._environ,
                limit=_LONGEST_LINE_BYTES,
            )
            assert self._process.stdout is not None
            async for line in self._process.stdout:
                with suppress(msgspec.MsgspecError):
                    state = msgspec.json.decode(line, type=ReadingState)
                    problem = state.problem or problem
                    self._publish(read=state.read, of=state.of)
            if await self._process.wait() and not problem:
                problem = "The process that reads sessions ended early."
        except OSError as error:
            problem = f"The process that reads sessions could not be started: {error.strerror or error}."
        self._publish(is_reading=False, problem=problem, was_read=True, version=self.pulse.version + 1)


class ReadingState(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of the reading process."""

    read: int = 0
    of: int = 0
    problem: str = ""


# The process that reads: `python -m knowbound.web.live PLAN`


def read(plan: ReadingPlan) -> ReadingState:
    """Read what changed, and return how that ended; progress is written to stdout meanwhile."""
    last_written = 0.0

    def progress(done: int, of: int) -> None:
        nonlocal last_written
        if time.monotonic() - last_written > _PROGRESS_SECONDS:
            last_written = time.monotonic()
            _write_state(ReadingState(done, of))

    root, paths = Path(plan.root), [Path(path) for path in plan.paths]
    try:
        filters = Filters(project="" if paths else project_at(root))
        review(paths, load(root), filters, root_is_given=plan.root_is_given, progress=progress)
    except KnowboundError as error:
        return ReadingState(problem=str(error))
    return ReadingState()


def _write_state(state: ReadingState) -> None:
    sys.stdout.write(msgspec.json.encode(state).decode() + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    _write_state(read(msgspec.json.decode(sys.argv[1], type=ReadingPlan)))

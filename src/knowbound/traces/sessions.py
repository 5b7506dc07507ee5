"""Find the sessions below some paths, and read those that changed: once for all lenses, in several processes.

The lenses and the readers are imported where they are first needed: when nothing has changed, a stored report is shown
without them, in little more than the start of a process.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from knowbound.config import Settings
from knowbound.core.trace import Event
from knowbound.store.forgotten import Forgotten
from knowbound.store.observed import FileRow, Observed
from knowbound.text.digest import digest_of
from knowbound.traces.corpus import FoundFile, Member, SessionFiles, group
from knowbound.traces.registry import default_folders, events_of, readers, recognise
from knowbound.traces.source import Tally, read_head, why_unreadable

_MOST_PER_CORE = 4  # processes, whatever a config asks for
_POOL_FROM_BYTES = 24 * 1024 * 1024  # below this one process is quicker than starting more
_COMMIT_SECONDS = 1.0
_KEPT, _KEPT_PACKED = 24 * 1024 * 1024, 2 * 1024 * 1024  # bytes of a session whose events fit into memory

Progress = Callable[[int, int], None]  # bytes read, bytes to read


def places_of_agents(environ: Mapping[str, str] | None = None) -> tuple[Sequence[Path], list[Path]]:
    """Return the folders where agents keep their transcripts, and those of them that exist."""
    known = default_folders(os.environ if environ is None else environ, Path.home())
    existing = [path for path in known if path.exists()]
    sys.audit("knowbound.folders", [str(path) for path in known])  # for a receipt (cli/receipts.py)
    return known, existing


class FoundSessions(NamedTuple):
    """The sessions that files make up, and what is to be remembered about the files."""

    sessions: list[SessionFiles]
    unrecognised: list[str]
    fresh: list[FileRow]  # files that were looked at
    forgotten: list[str]  # files that hold only what was forgotten


def sessions_of(files: list[FoundFile], store: Observed, forgotten: Forgotten | None) -> FoundSessions:
    """The sessions that the files make up; only new and changed files are opened for that."""
    known = store.files()
    fresh: list[FileRow] = []
    members: list[Member] = []
    unrecognised: list[str] = []
    left_out: list[str] = []
    for file in files:
        gone = known.get(forgotten.file_row(file.path)) if forgotten else None
        if gone is not None and (gone.size, gone.mtime_ns) == (file.size, file.mtime_ns):
            left_out.append(file.path)
            continue
        row = known.get(file.path)
        if row is None or (row.size, row.mtime_ns) != (file.size, file.mtime_ns):
            try:
                row = _identify(file)
            except _UnreadableError as error:  # not kept: it may be readable the next time
                unrecognised.append(f"{file.path} ({error})")
                continue
            fresh.append(row)
        if row.reader:
            members.append(Member(file, row.reader, row.session, row.agent_id, row.time))
        else:
            unrecognised.append(f"{file.path} ({row.problem})")
    return FoundSessions(group(members), unrecognised, fresh, left_out)


class _UnreadableError(Exception):
    """A file whose head could not be read; the message says why."""


def _identify(file: FoundFile) -> FileRow:
    try:
        head = read_head(Path(file.path))
    except Exception as error:  # a damaged archive raises whatever its library raises
        raise _UnreadableError(why_unreadable(error)) from error
    found = recognise(head) if head else None
    if found is None:
        return FileRow(file.path, file.size, file.mtime_ns, problem="no trace" if head else "empty")
    reader, identity = found
    return FileRow(file.path, file.size, file.mtime_ns, reader.name, identity.session, identity.agent_id, identity.time)


class SessionToRead(NamedTuple):
    """A session, what it is stored under, and what its findings depend on: they are made again where that changed."""

    files: SessionFiles
    key: str
    state: str


class SharedEvents:
    """The events of one session, for several lenses: decoded once if they fit into memory, else once for each lens."""

    def __init__(self, session: SessionFiles, lenses: int = 1) -> None:
        self.session = session
        self.tally = Tally()
        is_packed = any(name.endswith((".gz", ".zst")) for name in parts_of(session))
        self._fits = lenses > 1 and session.size <= (_KEPT_PACKED if is_packed else _KEPT)
        self._kept: list[Event] | None = None

    def follow(self) -> Iterator[Event]:
        """Yield the events from the first to the last; then the tally is that of the whole session."""
        if self._kept is not None:
            return iter(self._kept)
        self.tally = Tally()
        events = events_of(self.session, self.tally)
        if not self._fits:
            return events
        self._kept = list(events)
        return iter(self._kept)


class Lens(NamedTuple):
    """A reader of sessions with a store of its own. `read` runs in a worker; `keep` in the process that began."""

    rules: str  # what the results depend on besides the trace: they are made again where it changed
    states: Mapping[str, str]  # of the sessions that are stored, by key
    read: Callable[[SharedEvents, Settings], bytes]
    keep: Callable[[list[tuple[SessionToRead, bytes]]], None]
    asks: bool = False  # asks a model that costs: in one process, which says before how much


def read_together(
    sessions: Sequence[SessionFiles],
    files: Sequence[FoundFile],
    lenses: Sequence[Lens],
    settings: Settings,
    progress: Progress | None = None,
) -> list[list[SessionToRead]]:
    """Read each session that changed for a lens, once for all lenses; return what was read for each lens."""
    changed = [_changed(sessions, files, lens.rules, lens.states) for lens in lenses]
    waiting: dict[str, tuple[SessionFiles, list[int]]] = {}
    for number, todo in enumerate(changed):
        for one in todo:
            waiting.setdefault(one.key, (one.files, []))[1].append(number)
    known = [{one.key: one for one in todo} for todo in changed]
    work = [
        (key, session, tuple((number, lenses[number].read) for number in wanted))
        for key, (session, wanted) in sorted(waiting.items(), key=lambda one: -one[1][0].size)
    ]
    is_asked = any(lens.asks for lens, todo in zip(lenses, changed, strict=True) if todo)
    total, done, last = sum(session.size for _, session, _ in work), 0, time.monotonic()
    batch: list[list[tuple[SessionToRead, bytes]]] = [[] for _ in lenses]
    try:
        for key, size, found in _read_each(
            work, replace(settings, jobs=1, cluster_address="") if is_asked else settings, total
        ):
            for number, encoded in found:
                batch[number].append((known[number][key], encoded))
            done += size
            if progress is not None:
                progress(done, total)
            if time.monotonic() - last > _COMMIT_SECONDS:  # Ctrl-C loses no more
                _keep(lenses, batch)
                last = time.monotonic()
    finally:
        _keep(lenses, batch)
    return changed


def _keep(lenses: Sequence[Lens], batch: list[list[tuple[SessionToRead, bytes]]]) -> None:
    for lens, rows in zip(lenses, batch, strict=True):
        if rows:
            lens.keep(rows)
            rows.clear()


def keys_of(sessions: Iterable[SessionFiles]) -> list[str]:
    """Return the keys that the sessions are stored under."""
    return [f"{session.name}:{digest_of(parts_of(session))[:16]}" for session in sessions]


def _changed(
    sessions: Sequence[SessionFiles], files: Iterable[FoundFile], rules: str, states: Mapping[str, str]
) -> list[SessionToRead]:
    """Return the sessions whose files or rules changed since `states`."""
    stamps = {file.path: f"{file.size}|{file.mtime_ns}" for file in files}
    known = (
        SessionToRead(session, key, digest_of([rules, *(f"{part}|{stamps[part]}" for part in parts_of(session))]))
        for session, key in zip(sessions, keys_of(sessions), strict=True)
    )
    return [one for one in known if states.get(one.key) != one.state]


def parts_of(session: SessionFiles) -> list[str]:
    """Return every file of a session."""
    return sorted((*session.files, *session.sidechains.values()))


_Work = tuple[str, SessionFiles, tuple[tuple[int, Callable[[SharedEvents, Settings], bytes]], ...]]
_Found = tuple[str, int, list[tuple[int, bytes]]]


def _read_one(work: _Work, settings: Settings) -> _Found:
    """Run in a worker: read one session for every lens that wants it."""
    key, session, lenses = work
    events = SharedEvents(session, len(lenses))
    return key, session.size, [(number, read(events, settings)) for number, read in lenses]


def _read_each(work: list[_Work], settings: Settings, total: int) -> Iterator[_Found]:
    """Yield what the lenses make of each session, from several processes where that is quicker."""
    cores = os.cpu_count() or 1
    jobs = min(settings.jobs or cores, _MOST_PER_CORE * cores, len(work))
    if work and settings.cluster_address:
        from knowbound.traces.cluster import read_on_cluster

        yield from read_on_cluster(work, settings, _read_one, lambda one: one[1].size, lambda one: parts_of(one[1]))
        return
    if work:
        readers()  # loaded before the workers fork, so that they share it
    if jobs <= 1 or total < _POOL_FROM_BYTES:
        for one in work:
            yield _read_one(one, settings)
        return
    from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
    from multiprocessing import active_children, get_all_start_methods, get_context

    context = get_context("fork" if "fork" in get_all_start_methods() else None)
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_start_worker)
    waiting: set[Future[_Found]] = set()
    queue = deque(work)
    try:
        while True:
            while queue and len(waiting) < 4 * jobs:
                waiting.add(pool.submit(_read_one, queue.popleft(), settings))
            if not waiting:
                return
            finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in finished)
    except BaseException:  # nobody waits for what they read now
        for worker in active_children():
            worker.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _start_worker() -> None:
    """In a worker: end with the process that started it, and look for cycles less often.

    It makes many small values and no cycles: looking for them all the time costs 7% (measured).
    """
    import threading

    threading.Thread(target=_end_with_parent, daemon=True).start()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def _end_with_parent() -> None:
    from multiprocessing import parent_process

    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)

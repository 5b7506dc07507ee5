"""Find the sessions below some paths, and read those that changed: once for all lenses, in several processes.

The lenses and the readers are imported where they are first needed: when nothing has changed, a stored report is shown
without them, in little more than the start of a process.

Each forked process takes the next piece of work when it is free, and ends with the process that began. Pieces are named
by number on one pipe that all processes read; each answers on a pipe of its own. An executor does the same with threads
and queues of its own, and takes 40 ms to import.
"""

from __future__ import annotations

import gc
import os
import pickle
import select
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from threading import Thread
from typing import NamedTuple, TypeVar

import msgspec

from knowbound.config import Settings
from knowbound.core.trace import Event, LeftOut
from knowbound.store.observed import FileRow, Observed
from knowbound.store.retention import Forgotten
from knowbound.text.digest import digest_of
from knowbound.traces.corpus import FoundFile, Member, SessionFiles, group
from knowbound.traces.registry import default_folders, events_of, known_readers, reader_named, recognise
from knowbound.traces.source import Tally, read_head, why_unreadable

_MOST_PER_CORE = 4  # processes, whatever a config asks for
_POOL_FROM_BYTES = 24 * 1024 * 1024  # below this one process is quicker than starting more
_COMMIT_SECONDS = 1.0
_RESULTS_AT_ONCE = 200  # results of a team: a session has up to some 100 KB
_NO_TRACE = "no trace"
_KEPT_BYTES, _KEPT_PACKED_BYTES = 24 * 1024 * 1024, 2 * 1024 * 1024  # of a session whose events fit into memory

Progress = Callable[[int, int], None]  # bytes read, bytes to read


def places_of_agents(environ: Mapping[str, str] | None = None) -> tuple[Sequence[Path], list[Path]]:
    """Return the folders where agents keep their transcripts, and those of them that exist."""
    folders = default_folders(os.environ if environ is None else environ, Path.home())
    existing = [path for path in folders if path.exists()]
    sys.audit("knowbound.folders", [str(path) for path in folders])  # for a receipt (cli/receipts.py)
    return folders, existing


class FoundSessions(NamedTuple):
    """The sessions that files make up, and what is to be remembered about the files."""

    sessions: list[SessionFiles]
    unrecognised: list[str]
    fresh: list[FileRow]  # files that were looked at
    forgotten: list[str]  # files that hold only what was forgotten
    unreadable: int = 0  # files that could not be opened or decompressed

    def left_out(self) -> Counter[LeftOut]:
        """Count the files that are in no session, by reason."""
        return Counter({LeftOut.FORGOTTEN: len(self.forgotten), LeftOut.UNREADABLE: self.unreadable})


def sessions_of(files: list[FoundFile], store: Observed, forgotten: Forgotten | None) -> FoundSessions:
    """Return the sessions of the files; only new and changed files, and files for new readers, are opened."""
    known_rows = store.files()
    fresh: list[FileRow] = []
    members: list[Member] = []
    unrecognised: list[str] = []
    forgotten_paths: list[str] = []
    unreadable = 0
    for file in files:
        forgotten_row = known_rows.get(forgotten.file_row(file.path)) if forgotten else None  # kept in place of the row
        if forgotten_row is not None and (forgotten_row.size, forgotten_row.mtime_ns) == (file.size, file.mtime_ns):
            forgotten_paths.append(file.path)
            continue
        row = known_rows.get(file.path)
        if row is None or (row.size, row.mtime_ns) != (file.size, file.mtime_ns) or _may_have_reader_now(row):
            try:
                row = _identify(file)
            except _UnreadableError as error:  # not kept: it may be readable the next time
                unrecognised.append(f"{file.path} ({error})")
                unreadable += 1
                continue
            fresh.append(row)
        if row.reader:
            members.append(Member(file, row.reader, row.session, row.agent_id, row.time, row.root))
        else:
            unrecognised.append(f"{file.path} ({row.problem})")
    return FoundSessions(group(members), unrecognised, fresh, forgotten_paths, unreadable)


def can_read_more(unrecognised: Iterable[str], store: Observed) -> bool:
    """Report whether a file of this list of `FoundSessions` has a reader by now, or may have one."""
    known_rows = store.files()
    rows = (known_rows.get(shown.removesuffix(f" ({_NO_TRACE})")) for shown in unrecognised)
    return any(row.reader or _may_have_reader_now(row) for row in rows if row is not None)


def _may_have_reader_now(row: FileRow) -> bool:
    """Report whether no reader knew the file, and there are others now: of a newer version, or of another package."""
    return row.problem == _NO_TRACE and row.root != known_readers()


class _UnreadableError(Exception):
    """A file whose head could not be read; the message says why."""


def _identify(file: FoundFile) -> FileRow:
    """Return a file with its reader, or with the readers that did not know it. Raises _UnreadableError."""
    try:
        head = read_head(Path(file.path))
    except Exception as error:  # a damaged archive raises whatever its library raises
        raise _UnreadableError(why_unreadable(error)) from error
    found = recognise(head) if head else None
    if found is None:
        asked = {"problem": _NO_TRACE, "root": known_readers()} if head else {"problem": "empty"}
        return FileRow(file.path, file.size, file.mtime_ns, **asked)
    reader, identity = found
    of_head = {"session": identity.session, "agent_id": identity.agent_id, "time": identity.time, "root": identity.root}
    return FileRow(file.path, file.size, file.mtime_ns, reader.name, **of_head)


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
        self._fits_memory = lenses > 1 and session.size <= (_KEPT_PACKED_BYTES if is_packed else _KEPT_BYTES)
        self._events: list[Event] | None = None

    def follow(self) -> Iterator[Event]:
        """Yield the events from the first to the last; then the tally is that of the whole session."""
        if self._events is not None:
            return iter(self._events)
        self.tally = Tally()
        events = events_of(self.session, self.tally)
        if not self._fits_memory:
            return events
        self._events = list(events)
        return iter(self._events)


class Lens(NamedTuple):
    """A reader of sessions with a store of its own. `read` runs in a worker; `keep` in the process that began."""

    rules: str  # what the results depend on besides the trace: they are made again where it changed
    states: Mapping[str, str]  # of the sessions that are stored, by key
    read: Callable[[SharedEvents, Settings], bytes]
    keep: Callable[[list[tuple[SessionToRead, bytes]]], None]
    taken_over: Callable[[Sequence[SessionToRead]], Iterator[tuple[SessionToRead, bytes]]] | None = None  # of a team


def read_together(
    sessions: Sequence[SessionFiles],
    files: Sequence[FoundFile],
    lenses: Sequence[Lens],
    settings: Settings,
    progress: Progress | None = None,
) -> list[list[SessionToRead]]:
    """Read each session that changed for a lens, once for all lenses; return what was read for each lens."""
    changed = [_changed(sessions, files, lens.rules, lens.states) for lens in lenses]
    wanted_by: dict[str, tuple[SessionFiles, list[int]]] = {}
    for lens_number, to_read in enumerate(changed):
        taken_over = _taken_over(lenses[lens_number], to_read)
        for session in to_read:
            if session.key not in taken_over:
                wanted_by.setdefault(session.key, (session.files, []))[1].append(lens_number)
    by_key = [{session.key: session for session in to_read} for to_read in changed]
    work = [
        (key, session, tuple((lens_number, lenses[lens_number].read) for lens_number in wanted))
        for key, (session, wanted) in sorted(wanted_by.items(), key=lambda entry: -entry[1][0].size)  # largest first
    ]
    total, done, last = sum(session.size for _, session, _ in work), 0, time.monotonic()
    batch: list[list[tuple[SessionToRead, bytes]]] = [[] for _ in lenses]
    try:
        for key, size, found in _read_each(work, settings, total):
            for lens_number, encoded in found:
                batch[lens_number].append((by_key[lens_number][key], encoded))
            done += size
            if progress is not None:
                progress(done, total)
            if time.monotonic() - last > _COMMIT_SECONDS:  # Ctrl-C loses no more
                _store_batch(lenses, batch)
                last = time.monotonic()
    finally:
        _store_batch(lenses, batch)
    return changed


def _taken_over(lens: Lens, to_read: Sequence[SessionToRead]) -> set[str]:
    """Store the results that the team shares for the same files and rules; return their keys."""
    if lens.taken_over is None or not to_read:
        return set()
    results = iter(lens.taken_over(to_read))
    keys: set[str] = set()
    while part := list(islice(results, _RESULTS_AT_ONCE)):
        lens.keep(part)
        keys |= {session.key for session, _ in part}
    return keys


def _store_batch(lenses: Sequence[Lens], batch: list[list[tuple[SessionToRead, bytes]]]) -> None:
    """Let each lens store its results, and empty the batch."""
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
    current = (
        SessionToRead(session, key, digest_of([rules, *(f"{part}|{stamps[part]}" for part in parts_of(session))]))
        for session, key in zip(sessions, keys_of(sessions), strict=True)
    )
    return [session_to_read for session_to_read in current if states.get(session_to_read.key) != session_to_read.state]


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

        yield from read_on_cluster(work, settings, _read_one, lambda job: job[1].size, lambda job: parts_of(job[1]))
        return
    for name in {session.reader for _, session, _ in work}:
        reader_named(name)  # loaded before the workers fork, so that they share it
    if jobs <= 1 or total < _POOL_FROM_BYTES or not can_fork():
        with collecting_seldom():
            yield from (_read_one(piece, settings) for piece in work)
    else:
        yield from done_in_processes(work, partial(_read_one, settings=settings), jobs)


# ---- what Claude Code's `/insights` keeps in `usage-data/facets/SESSION.json` (keys as of 2.1.328): a model's opinion
# of a part of the sessions. A reason to look, never a verdict: only counts of friction are read, no words.

_MOST_FILES = 5_000
_MOST_BYTES = 100_000


class _Facet(msgspec.Struct):
    session_id: str = ""
    friction_counts: dict[str, float] = {}


def sessions_with_friction(environ: Mapping[str, str] | None = None) -> frozenset[str]:
    """Return the ids of the sessions in which `/insights` saw friction; none where it never ran."""
    variables = os.environ if environ is None else environ
    moved = variables.get("CLAUDE_CONFIG_DIR")
    folder = (Path(moved) if moved else Path.home() / ".claude") / "usage-data" / "facets"
    found = set[str]()
    decode = msgspec.json.Decoder(_Facet).decode
    try:
        for entry, _ in zip(os.scandir(folder), range(_MOST_FILES), strict=False):
            if entry.name.endswith(".json") and entry.is_file() and entry.stat().st_size <= _MOST_BYTES:
                try:
                    facet = decode(Path(entry.path).read_bytes())
                except (OSError, msgspec.DecodeError, UnicodeError, RecursionError):
                    continue
                if any(count > 0 for count in facet.friction_counts.values()):
                    found.add(facet.session_id or entry.name.removesuffix(".json"))
    except OSError:
        pass
    return frozenset(found)


# ---- forked processes

Work = TypeVar("Work")
Done = TypeVar("Done")

_WAITING_PER_PROCESS = 4  # pieces of work that wait for each process
_NUMBER_BYTES = 4  # bytes of the number of a piece, and of the length of an answer
# Reading makes many values and no cycles: looking for them all the time costs 10%.
_RARE_COLLECTION = (500_000, 20, 20)


def can_fork() -> bool:
    """Report whether this system forks."""
    return hasattr(os, "fork")


@contextmanager
def collecting_seldom() -> Iterator[None]:
    """Look for cycles of garbage less often, and never among what is there already."""
    before = gc.get_threshold()
    gc.freeze()  # what is there now is never looked at
    gc.set_threshold(*_RARE_COLLECTION)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def done_in_processes(work: Sequence[Work], do: Callable[[Work], Done], jobs: int) -> Iterator[Done]:
    """Yield the result for each piece of work, in the order in which they are done."""
    # Nothing is written to `alive`: its end tells the processes that this one has ended.
    (numbers, numbers_out), (alive, alive_out) = os.pipe(), os.pipe()
    workers: dict[int, int] = {}  # pipe of its answers → process
    waiting = iter(range(len(work)))
    answers = select.poll()
    try:
        for _ in range(jobs):
            answers_in, answers_out = os.pipe()
            process = os.fork()  # posix: callers ask `can_fork`
            if not process:
                _work(work, do, numbers, answers_out, alive, {numbers_out, alive_out, answers_in, *workers})
            os.close(answers_out)
            workers[answers_in] = process
            answers.register(answers_in, select.POLLIN)
        for number in islice(waiting, _WAITING_PER_PROCESS * jobs):
            os.write(numbers_out, number.to_bytes(_NUMBER_BYTES, "little"))
        unanswered = len(work)
        while unanswered:
            for answered, _ in answers.poll():
                size = int.from_bytes(_read_exactly(answered, _NUMBER_BYTES), "little")
                result, error = pickle.loads(_read_exactly(answered, size))  # made by our own process
                for number in islice(waiting, 1):  # one more for the answer: the pipe stays filled
                    os.write(numbers_out, number.to_bytes(_NUMBER_BYTES, "little"))
                if error is not None:
                    raise error
                unanswered -= 1
                yield result
    except BaseException:  # nobody waits for what they do now
        for process in workers.values():
            os.kill(process, signal.SIGKILL)  # posix: as above
        raise
    finally:
        for pipe in (numbers, numbers_out, alive, alive_out, *workers):
            os.close(pipe)
        for process in workers.values():
            os.waitpid(process, 0)  # posix: as above


def _read_exactly(pipe: int, size: int) -> bytes:
    """Return so many bytes of a pipe. Raises RuntimeError if its other side ends before."""
    parts: list[bytes] = []
    while size:
        part = os.read(pipe, size)
        if not part:
            raise RuntimeError("a process that read sessions has ended before its work was done")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _work(
    work: Sequence[Work], do: Callable[[Work], Done], numbers: int, answers: int, alive: int, others: set[int]
) -> None:
    """Run in a process of its own: do work until there is none. Never returns."""
    with suppress(BaseException):
        for pipe in others:  # a pipe ends when nobody holds it
            os.close(pipe)
        Thread(target=_end_with_parent, args=(alive,), daemon=True).start()
        with collecting_seldom(), open(answers, "wb") as out:
            while number := os.read(numbers, _NUMBER_BYTES):
                answer = pickle.dumps(_result_or_error(do, work[int.from_bytes(number, "little")]))
                out.write(len(answer).to_bytes(_NUMBER_BYTES, "little") + answer)
                out.flush()
    os._exit(0)


def _result_or_error(do: Callable[[Work], Done], piece: Work) -> tuple[Done | None, Exception | None]:
    """Return the result, or the error that the first process is to raise."""
    try:
        return do(piece), None
    except Exception as error:
        return None, error


def _end_with_parent(alive: int) -> None:
    os.read(alive, 1)  # returns when the other side is closed, however that process ended
    os._exit(1)

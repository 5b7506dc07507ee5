"""Find the sessions below the observed paths, and read those that changed, in several processes.

The lens and the readers are imported where they are first needed: when nothing has changed, the
stored report is shown without them, in little more than the start of a process.
"""

from __future__ import annotations

import gc
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from knowbound.config import Settings
from knowbound.core.signal import Findings, SkippedLine
from knowbound.store.forgotten import Forgotten
from knowbound.store.observed import FileRow, Observed
from knowbound.text.digest import digest_of
from knowbound.traces.corpus import FoundFile, Member, SessionFiles, group
from knowbound.traces.registry import default_folders, readers, recognise
from knowbound.traces.source import read_head, why_unreadable

if TYPE_CHECKING:
    from knowbound.gaps.judging import JudgedHedges
    from knowbound.judge.hedging.verdict import HedgingJudge
    from knowbound.stats.figures import HedgeJudging

_MOST_PER_CORE = 4  # processes, whatever a config asks for
_POOL_FROM_BYTES = 24 * 1024 * 1024  # below this one process is quicker than starting more
_COMMIT_SECONDS = 1.0

Progress = Callable[[int, int], None]  # bytes read, bytes to read


def places_of_agents(environ: Mapping[str, str] | None = None) -> tuple[Sequence[Path], list[Path]]:
    """Return the folders where agents keep their transcripts, and those of them that exist."""
    known = default_folders(os.environ if environ is None else environ, Path.home())
    return known, [path for path in known if path.exists()]


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


class ReadSessions(NamedTuple):
    """What came of reading sessions."""

    keys: list[str]  # of all that are kept
    forgotten: list[str]  # files of those that were forgotten
    warnings: Sequence[str] = ()
    judging: HedgeJudging | None = None  # where the judge of hedges has a cap


def read_what_changed(
    sessions: list[SessionFiles],
    files: list[FoundFile],
    settings: Settings,
    store: Observed,
    lens: str,
    progress: Progress | None,
) -> ReadSessions:
    """Read the sessions whose files, settings or lens changed."""
    keys, todo = changed_sessions(sessions, files, lens, store.states())
    together = _judges_together(settings)  # then findings count as read only once they are judged
    gone: set[str] = set()

    def keep(batch: list[tuple[SessionToRead, bytes]]) -> None:
        gone.update(
            store.keep_sessions((one.key, one.files.name, "" if together else one.state, found) for one, found in batch)
        )

    _warm_up(settings)
    read_and_keep(todo, settings, _read_one, keep, progress)
    left_out = [path for one in todo if one.key in gone for path in _parts(one.files)]
    keys = [key for key in keys if key not in gone]
    if not together:
        return ReadSessions(keys, left_out)
    fresh = [(one.key, one.files.name, one.state) for one in todo if one.key not in gone]
    return ReadSessions(keys, left_out, *_judge_together(fresh, settings, store))


class SessionToRead(NamedTuple):
    """A session, what it is stored under, and what its findings depend on: they are made again where that changed."""

    files: SessionFiles
    key: str
    state: str


def changed_sessions(
    sessions: Iterable[SessionFiles], files: list[FoundFile], rules: str, states: Mapping[str, str]
) -> tuple[list[str], list[SessionToRead]]:
    """Return the keys of all sessions, and those whose files or rules changed since `states`, largest first."""
    stamps = {file.path: f"{file.size}|{file.mtime_ns}" for file in files}
    known = [
        SessionToRead(
            session,
            f"{session.name}:{digest_of(_parts(session))[:16]}",
            digest_of([rules, *(f"{part}|{stamps[part]}" for part in _parts(session))]),
        )
        for session in sessions
    ]
    todo = sorted((one for one in known if states.get(one.key) != one.state), key=lambda one: -one.files.size)
    return [one.key for one in known], todo


def _parts(session: SessionFiles) -> list[str]:
    return sorted((*session.files, *session.sidechains.values()))


def read_and_keep(
    todo: list[SessionToRead],
    settings: Settings,
    read: Callable[[SessionFiles, Settings], bytes],
    keep: Callable[[list[tuple[SessionToRead, bytes]]], None],
    progress: Progress | None,
) -> None:
    """Read each session, and keep what came of it at least once a second: Ctrl-C loses no more."""
    total, done = sum(one.files.size for one in todo), 0
    batch: list[tuple[SessionToRead, bytes]] = []
    last = time.monotonic()
    try:
        for one, found in _read_each(todo, settings, total, read):
            batch.append((one, found))
            done += one.files.size
            if progress is not None:
                progress(done, total)
            if time.monotonic() - last > _COMMIT_SECONDS:
                keep(batch)
                batch, last = [], time.monotonic()
    finally:
        if batch:
            keep(batch)


def _read_each(
    todo: list[SessionToRead], settings: Settings, total: int, read: Callable[[SessionFiles, Settings], bytes]
) -> Iterator[tuple[SessionToRead, bytes]]:
    """Yield what `read` makes of each session, from several processes where that is quicker."""
    cores = os.cpu_count() or 1
    jobs = min(settings.jobs or cores, _MOST_PER_CORE * cores, len(todo))
    if jobs <= 1 or total < _POOL_FROM_BYTES:
        for one in todo:
            yield one, read(one.files, settings)
        return
    from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
    from multiprocessing import active_children, get_all_start_methods, get_context

    context = get_context("fork" if "fork" in get_all_start_methods() else None)
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_start_worker)
    waiting: dict[Future[bytes], SessionToRead] = {}
    queue = deque(todo)
    try:
        while True:
            while queue and len(waiting) < 4 * jobs:
                one = queue.popleft()
                waiting[pool.submit(read, one.files, settings)] = one
            if not waiting:
                return
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                yield waiting.pop(future), future.result()
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


def _warm_up(settings: Settings) -> None:
    """Load what every worker needs before they fork, so that they share it."""
    from knowbound.gaps import judging, reading

    judging.judge_of(settings)
    readers()
    assert reading


def _read_one(session: SessionFiles, settings: Settings) -> bytes:
    """Runs in a worker: one session's findings, hedges judged, as msgpack."""
    from knowbound.gaps.judging import drop_hedges, judge_findings, judge_of
    from knowbound.gaps.reading import LensSettings, read_session
    from knowbound.gaps.settle import settle

    lens = LensSettings(settings.knowledge, settings.repeated_failure_calls)
    try:
        found = read_session(session, lens)
    except Exception as error:  # a defect of ours, or no memory left: one session never hides the others
        if os.environ.get("KNOWBOUND_TRACEBACK"):
            raise
        return msgspec.msgpack.encode([_unread(session, f"a defect of ours: {type(error).__name__}")])
    judge = judge_of(settings)
    if settings.hedges_off:
        drop_hedges(found)
    elif judge is None:
        for one in found:
            settle(one)
    elif not _is_capped(judge, settings):
        judge_findings(found, judge)
    return msgspec.msgpack.encode(found)


def _unread(session: SessionFiles, reason: str) -> Findings:
    files = [*session.files, *session.sidechains.values()]
    return Findings(
        session=session.session,
        agent=session.reader,
        files=files,
        skipped=[SkippedLine(files[0], 1, reason)],
        skipped_by_reason={reason: 1},
    )


def _is_capped(judge: HedgingJudge, settings: Settings) -> bool:
    return judge.costs or settings.hedging_classifier_max_candidates > 0


def _judges_together(settings: Settings) -> bool:
    """Whether the number of verdicts is capped, so that all new sessions have to be judged together."""
    from knowbound.gaps.judging import judge_of

    judge = judge_of(settings)
    return judge is not None and not settings.hedges_off and _is_capped(judge, settings)


def _judge_together(fresh: list[tuple[str, str, str]], settings: Settings, store: Observed) -> JudgedHedges:
    """Judge the hedges of all new sessions together, within one cap per evaluation."""
    from knowbound.gaps.judging import JudgedHedges, is_undecided, judge_findings, judge_of

    judge = judge_of(settings)
    if judge is None:
        return JudgedHedges([])
    found = [(row, list(store.findings([row[0]]))) for row in fresh]
    judged = judge_findings(
        (one for _, part in found for one in part),
        judge,
        settings.hedging_classifier_max_candidates or None,
    )
    store.keep_sessions(
        # What the judge was not asked, or failed on, stays unread, so that it is asked the next time.
        (key, name, "" if any(map(is_undecided, part)) else state, msgspec.msgpack.encode(part))
        for (key, name, state), part in found
    )
    return judged

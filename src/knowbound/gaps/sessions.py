"""Finds the sessions below the observed paths, and reads those that changed, in several processes.

The lens and the readers are imported where they are first needed: when nothing has changed, the
stored report is shown without them, in little more than the start of a process.
"""

from __future__ import annotations

import gc
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from knowbound.config import Settings
from knowbound.core.signal import Findings, SkippedLine
from knowbound.store.forgotten import Forgotten
from knowbound.store.observed import FileRow, Observed
from knowbound.text.digest import digest_of
from knowbound.traces.corpus import FoundFile, Member, SessionFiles, group
from knowbound.traces.registry import readers, recognise
from knowbound.traces.source import read_head, why_unreadable

if TYPE_CHECKING:
    from knowbound.gaps.judging import JudgedHedges
    from knowbound.judge.hedging.verdict import HedgingJudge
    from knowbound.stats.figures import HedgeJudging

_MOST_PER_CORE = 4  # processes, whatever a config asks for
_POOL_FROM_BYTES = 24 * 1024 * 1024  # below this one process is quicker than starting more
_COMMIT_SECONDS = 1.0  # findings are kept at least this often: Ctrl-C loses no more

Progress = Callable[[int, int], None]  # bytes read, bytes to read


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
    stamps = {file.path: f"{file.size}|{file.mtime_ns}" for file in files}
    states = store.states()
    keys: list[str] = []
    todo: list[tuple[SessionFiles, str, str]] = []
    for session in sessions:
        key, state = key_and_state(session, stamps, lens)
        keys.append(key)
        if states.get(key) != state:
            todo.append((session, key, state))
    together = _judges_together(settings)  # then findings count as read only once they are judged
    todo.sort(key=lambda one: -one[0].size)
    total = sum(session.size for session, _, _ in todo)
    done = 0
    batch: list[tuple[str, str, str, bytes]] = []
    gone: set[str] = set()
    last = time.monotonic()
    try:
        for (session, key, state), found in read_each(todo, settings, total):
            batch.append((key, session.name, "" if together else state, found))
            done += session.size
            if progress is not None:
                progress(done, total)
            if time.monotonic() - last > _COMMIT_SECONDS:
                gone |= store.keep_sessions(batch)
                batch, last = [], time.monotonic()
    finally:
        if batch:
            gone |= store.keep_sessions(batch)
    kept = [one for one in todo if one[1] not in gone]
    left_out = [path for session, key, _ in todo if key in gone for path in _parts(session)]
    keys = [key for key in keys if key not in gone]
    if not together:
        return ReadSessions(keys, left_out)
    fresh = [(key, session.name, state) for session, key, state in kept]
    return ReadSessions(keys, left_out, *_judge_together(fresh, settings, store))


def key_of(session: SessionFiles) -> str:
    """The key of a session in the store."""
    return f"{session.name}:{digest_of(_parts(session))[:16]}"


def key_and_state(session: SessionFiles, stamps: dict[str, str], lens: str) -> tuple[str, str]:
    """What a session is stored under, and what its findings depend on: they are made again where that changed."""
    state = digest_of([lens, *(f"{part}|{stamps[part]}" for part in _parts(session))])
    return key_of(session), state


def _parts(session: SessionFiles) -> list[str]:
    return sorted((*session.files, *session.sidechains.values()))


def read_each(
    todo: list[tuple[SessionFiles, str, str]],
    settings: Settings,
    total: int,
    read: Callable[[SessionFiles, Settings], bytes] | None = None,
) -> Iterator[tuple[tuple[SessionFiles, str, str], bytes]]:
    """What `read` makes of each session (its findings), as it comes, from several processes where that is quicker."""
    read = read or _read_one
    cores = os.cpu_count() or 1
    jobs = min(settings.jobs or cores, _MOST_PER_CORE * cores, len(todo))
    if read is _read_one:
        _warm_up(settings)
    if jobs <= 1 or total < _POOL_FROM_BYTES:
        for one in todo:
            yield one, read(one[0], settings)
        return
    from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
    from multiprocessing import active_children, get_all_start_methods, get_context

    context = get_context("fork" if "fork" in get_all_start_methods() else None)
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_start_worker)
    waiting: dict[Future[bytes], tuple[SessionFiles, str, str]] = {}
    queue = deque(todo)
    try:
        while True:
            while queue and len(waiting) < 4 * jobs:
                one = queue.popleft()
                waiting[pool.submit(read, one[0], settings)] = one
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
    from knowbound.gaps.judging import drop_hedges, judge_findings, judge_of, process_verdicts
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
        judge_findings(found, judge, process_verdicts())
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
    from knowbound.judge.hedging.cache import VerdictCache

    judge = judge_of(settings)
    if judge is None:
        return JudgedHedges([])
    found = [(row, list(store.findings([row[0]]))) for row in fresh]
    judged = judge_findings(
        (one for _, part in found for one in part),
        judge,
        VerdictCache(store),
        settings.hedging_classifier_max_candidates or None,
    )
    store.keep_sessions(
        # What the judge was not asked, or failed on, stays unread, so that it is asked the next time.
        (key, name, "" if any(map(is_undecided, part)) else state, msgspec.msgpack.encode(part))
        for (key, name, state), part in found
    )
    return judged

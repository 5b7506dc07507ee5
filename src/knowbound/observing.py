"""What `observe` does below its story: find the sessions, read those that changed, judge them, and count.

The lens and the readers are imported where they are first needed: when nothing has changed, the
stored report is shown without them, in little more than the start of a process.
"""

from __future__ import annotations

import gc
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from knowbound import __version__
from knowbound.config import Settings
from knowbound.core.figures import Coverage
from knowbound.core.knowledge import covered, relative_to
from knowbound.core.rate import Rate
from knowbound.core.signal import Findings, Signal, SkippedLine
from knowbound.core.testset import Watermark, observed_hash
from knowbound.errors import InputError
from knowbound.judge.registry import judge_version
from knowbound.read.corpus import FoundFile, Member, SessionFiles, group
from knowbound.read.source import read_head
from knowbound.report.model import Incomplete, ObserveReport, Totals
from knowbound.store.observed import FileRow, Observed
from knowbound.store.unmanaged import UnmanagedInjection, unmanaged_in
from knowbound.text.clock import utc_now
from knowbound.text.digest import digest_of

if TYPE_CHECKING:
    from knowbound.judge.verdict import HedgingJudge

_POOL_FROM_BYTES = 24 * 1024 * 1024  # below this one process is quicker than starting more
_COMMIT_SECONDS = 1.0  # findings are kept at least this often: Ctrl-C loses no more
_SKIPPED_SHOWN = 20
LENS_VERSION = 1  # raise it when the same trace gives other findings or another report: stored ones are made again

Progress = Callable[[int, int], None]  # bytes read, bytes to read


class Filters(msgspec.Struct, frozen=True):
    """Which sessions and samples the report is about; everything is read and kept all the same."""

    since: str = ""  # ISO time: sessions that were active since
    project: str = ""
    skill: str = ""
    agent: str = ""

    def admits(self, found: Findings) -> bool:
        """Whether a session is in the report."""
        if self.since and (not found.ended or found.ended < self.since):
            return False
        if self.agent and found.agent != self.agent:
            return False
        if self.project:
            project = found.project.rstrip("/")
            return project == self.project.rstrip("/") or self.project in project.split("/")
        return True

    def shown(self) -> dict[str, str]:
        """The filters that were given."""
        return {name: value for name, value in msgspec.structs.asdict(self).items() if value}


def sessions_of(files: list[FoundFile], store: Observed) -> tuple[list[SessionFiles], list[str]]:
    """The sessions that the files make up; only new and changed files are opened for that."""
    known = store.files()
    fresh: list[FileRow] = []
    members: list[Member] = []
    unrecognised: list[str] = []
    for file in files:
        row = known.get(file.path)
        if row is None or (row.size, row.mtime_ns) != (file.size, file.mtime_ns):
            row = _identify(file)
            fresh.append(row)
        if row.reader:
            members.append(Member(file, row.reader, row.session, row.agent_id, row.time))
        else:
            unrecognised.append(f"{file.path} ({row.problem})")
    store.keep_files(row for row in fresh if not row.problem.startswith("unreadable"))
    return group(members), unrecognised


def _identify(file: FoundFile) -> FileRow:
    from knowbound.read.registry import recognise

    problem = "no trace"
    try:
        head = read_head(Path(file.path))
    except Exception as error:  # a damaged archive raises whatever its library raises
        head, problem = b"", f"unreadable: {type(error).__name__}"
    if not head and problem == "no trace":
        problem = "empty"
    found = recognise(head) if head else None
    if found is None:
        return FileRow(file.path, file.size, file.mtime_ns, problem=problem)
    reader, identity = found
    return FileRow(file.path, file.size, file.mtime_ns, reader.name, identity.session, identity.agent_id, identity.time)


def read_what_changed(
    sessions: list[SessionFiles],
    files: list[FoundFile],
    settings: Settings,
    store: Observed,
    lens: str,
    progress: Progress | None,
) -> tuple[list[str], list[str]]:
    """Read the sessions whose files, settings or lens changed; return the keys of all of them, and warnings."""
    stamps = {file.path: f"{file.size}|{file.mtime_ns}" for file in files}
    states = store.states()
    keys: list[str] = []
    todo: list[tuple[SessionFiles, str, str]] = []
    for session in sessions:
        parts = sorted((*session.files, *session.sidechains.values()))
        key = f"{session.name}:{digest_of(parts)[:16]}"
        state = digest_of([lens, *(f"{part}|{stamps[part]}" for part in parts)])
        keys.append(key)
        if states.get(key) != state:
            todo.append((session, key, state))
    together = _judges_together(settings)  # then findings count as read only once they are judged
    todo.sort(key=lambda one: -one[0].size)
    total = sum(session.size for session, _, _ in todo)
    done = 0
    batch: list[tuple[str, str, str, bytes]] = []
    last = time.monotonic()
    try:
        for (session, key, state), found in _each(todo, settings, total):
            batch.append((key, session.name, "" if together else state, found))
            done += session.size
            if progress is not None:
                progress(done, total)
            if time.monotonic() - last > _COMMIT_SECONDS:
                store.keep_sessions(batch)
                batch, last = [], time.monotonic()
    finally:
        if batch:
            store.keep_sessions(batch)
    if not together:
        return keys, []
    return keys, _judge_together([(key, session.name, state) for session, key, state in todo], settings, store)


def _each(
    todo: list[tuple[SessionFiles, str, str]], settings: Settings, total: int
) -> Iterator[tuple[tuple[SessionFiles, str, str], bytes]]:
    """The findings of each session as they come, from several processes where that is quicker."""
    jobs = min(settings.jobs or os.cpu_count() or 1, len(todo))
    _warm_up(settings)
    if jobs <= 1 or total < _POOL_FROM_BYTES:
        for one in todo:
            yield one, _read_one(one[0], settings)
        return
    from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
    from multiprocessing import get_all_start_methods, get_context

    context = get_context("fork" if "fork" in get_all_start_methods() else None)
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_collect_less) as pool:
        waiting: dict[Future[bytes], tuple[SessionFiles, str, str]] = {}
        queue = deque(todo)
        try:
            while True:
                while queue and len(waiting) < 4 * jobs:
                    one = queue.popleft()
                    waiting[pool.submit(_read_one, one[0], settings)] = one
                if not waiting:
                    return
                for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                    yield waiting.pop(future), future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _collect_less() -> None:
    """A worker makes many small values and no cycles: looking for cycles all the time costs 7% (measured)."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def _warm_up(settings: Settings) -> None:
    """Load what every worker needs before they fork, so that they share it."""
    from knowbound.gaps import judging, reading
    from knowbound.read.registry import readers

    judging.judge_of(settings)
    readers()
    assert reading


def _read_one(session: SessionFiles, settings: Settings) -> bytes:
    """Runs in a worker: one session's findings, hedges judged, as msgpack."""
    from knowbound.gaps.judging import judge_findings, judge_of, process_verdicts
    from knowbound.gaps.reading import LensSettings, read_session

    lens = LensSettings(settings.knowledge, settings.repeated_failure_calls)
    found = read_session(session, lens)
    judge = judge_of(settings)
    if judge is not None and not _is_capped(judge, settings):
        judge_findings(found, judge, process_verdicts())
    return msgspec.msgpack.encode(found)


def _is_capped(judge: HedgingJudge, settings: Settings) -> bool:
    return judge.costs or settings.hedging_classifier_max_candidates > 0


def _judges_together(settings: Settings) -> bool:
    """Whether the number of verdicts is capped, so that all new sessions come before the judge at once."""
    from knowbound.gaps.judging import judge_of

    judge = judge_of(settings)
    return judge is not None and _is_capped(judge, settings)


def _judge_together(fresh: list[tuple[str, str, str]], settings: Settings, store: Observed) -> list[str]:
    """Hedges of all new sessions before one judge, where their number is capped per evaluation. Gives the warnings."""
    from knowbound.gaps.judging import is_undecided, judge_findings, judge_of
    from knowbound.judge.cache import VerdictCache

    judge = judge_of(settings)
    if judge is None or not fresh:
        return []
    found = [(row, list(store.findings([row[0]]))) for row in fresh]
    warnings = judge_findings(
        (one for _, part in found for one in part),
        judge,
        VerdictCache(store),
        settings.hedging_classifier_max_candidates or None,
    )
    store.keep_sessions(
        # What the judge failed on stays unread, so that it is asked again the next time.
        (key, name, "" if any(map(is_undecided, part)) else state, msgspec.msgpack.encode(part))
        for (key, name, state), part in found
    )
    return warnings


def report_of(
    store: Observed,
    keys: list[str],
    settings: Settings,
    filters: Filters,
    root_is_given: bool,
    places: list[str],
    files: list[FoundFile],
    unrecognised: list[str],
    warnings: list[str],
    knowledge: list[str],
) -> ObserveReport:
    """Count what the stored findings hold, within the filters."""
    from knowbound.gaps.aggregate import Aggregate

    whole = Aggregate(filters.skill or None)
    agents: dict[str, int] = {}
    skipped: dict[str, int] = {}
    examples: list[SkippedLine] = []
    lines = duplicates = 0
    used: set[str] = set()
    told: list[UnmanagedInjection] = []
    for found in store.findings(keys):
        told.extend(unmanaged_in(found))
        if not filters.admits(found):
            continue
        used.update(found.files)
        lines += found.lines
        duplicates += found.duplicates
        for skip in found.skipped:
            skipped[skip.reason] = skipped.get(skip.reason, 0) + 1
            if len(examples) < _SKIPPED_SHOWN:
                examples.append(skip)
        found.reached = _reached_in_root(found, settings.root, root_is_given)
        whole.add(found)
        agents[found.agent] = agents.get(found.agent, 0) + 1
    store.keep_unmanaged(told)
    if not whole.sessions:
        raise InputError("no-sessions", _nothing_found(places, filters, unrecognised))
    reached, uncovered = covered(knowledge, whole.reached)
    return ObserveReport(
        watermark=Watermark(listed(places), whole.samples - len(whole.incomplete), observed_hash(whole.parts)),
        totals=Totals(
            files=len(used) if filters.shown() else len(files),
            sessions=whole.sessions,
            turns=whole.turns,
            tool_calls=whole.tool_calls,
            samples=whole.samples,
            skipped_lines=sum(skipped.values()),
            lines=lines,
            duplicates=duplicates,
            signals=whole.signals,
            unmanaged_items=len({one.item.id for one in told}),
        ),
        gap=whole.figures(),
        coverage=Coverage(Rate(len(reached), len(knowledge)), uncovered),
        skills=whole.skills(frozenset(knowledge)),
        topics=whole.topics(),
        inventory=whole.inventory(),
        incomplete=[Incomplete(session, one.id, one.name, one.incomplete) for session, one in whole.incomplete],
        skipped=skipped,
        skipped_examples=examples,
        unrecognised=unrecognised,
        agents=agents,
        places=places,
        filters=filters.shown(),
        warnings=warnings,
        made=utc_now(),
        version=__version__,
        root=str(settings.root),
        skill_of={signal.sample: whole.skill_of[signal.sample] for signal in whole.inventory()},
    )


def _nothing_found(places: Sequence[str], filters: Filters, unrecognised: list[str]) -> str:
    from knowbound.read.registry import readers

    given = ", ".join(f"--{name} {value}" for name, value in filters.shown().items())
    message = f"No sessions found in {listed(places)}{f' with {given}' if given else ''}."
    if unrecognised:
        more = f" and {len(unrecognised) - 3} more" if unrecognised[3:] else ""
        message += f" No trace: {', '.join(unrecognised[:3])}{more}."
    names = [reader.name for reader in readers()]
    if filters.agent and filters.agent not in names:
        return f"{message} Agents are: {', '.join(names)}."
    return f"{message} Try: knowbound observe PATH"


def _reached_in_root(found: Findings, root: Path, root_is_given: bool) -> list[str]:
    """Knowledge files that a session reached, relative to the root; none when it worked elsewhere."""
    base = str(root.resolve())
    project = found.project.rstrip("/")
    if project == base or project.startswith(base + "/"):
        return [relative_to(path if path.startswith("/") else f"{project}/{path}", base) for path in found.reached]
    return (
        found.reached if root_is_given else [relative_to(path, base) for path in found.reached if path.startswith(base)]
    )


def signals_of(store: Observed, keys: Iterable[str], filters: Filters) -> Iterator[Signal]:
    """Every signal of the sessions, one by one, within the filters."""
    for found in store.findings(keys):
        if filters.admits(found):
            complete = {
                sample.id
                for sample in found.samples
                if not sample.incomplete and (not filters.skill or sample.name == filters.skill)
            }
            yield from (signal for signal in found.signals if signal.sample in complete)


def lens_state(settings: Settings) -> str:
    """What findings depend on besides the trace: stored ones are made again when it changes."""
    judge = judge_version(settings.hedging_classifier_model) if settings.hedging_classifier_enabled else "none"
    cap = settings.hedging_classifier_max_candidates
    return f"{__version__}|{LENS_VERSION}|{judge}|{cap}|{settings.knowledge}|{settings.repeated_failure_calls}"


def listed(places: Sequence[str]) -> str:
    """Folders for people: the home folder as ~."""
    home = str(Path.home())
    short = ["~" + place[len(home) :] if place.startswith(home + "/") else place for place in places]
    return ", ".join(short)

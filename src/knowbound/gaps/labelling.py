"""Sentences of the newest stored run for people to label, and the share of them that the judge kept.

The sessions are read again, because the store keeps the hedging sentences that the judge kept and not those that it
dropped (specification 1, section 4, source 3).
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator
from pathlib import Path

import msgspec

from knowbound.config import Settings
from knowbound.core.signal import Findings, Signal, SignalType
from knowbound.errors import InputError
from knowbound.gaps.lens import LensSettings
from knowbound.gaps.reading import read_session
from knowbound.gaps.stored import Filters, newest_run
from knowbound.judge.drawing import draw_from_both
from knowbound.judge.hedging.verdict import HedgingJudge
from knowbound.judge.labels import Unlabelled
from knowbound.judge.registry import why_hedges_off
from knowbound.stats.rate import Rate, clustered
from knowbound.traces.corpus import FoundFile, Member, SessionFiles, group
from knowbound.traces.sessions import SharedEvents

_POOL_PER_LABEL = 20  # sentences to draw one from; then no further session is read
_POOL_AT_LEAST = 1000


def label_candidates(settings: Settings, count: int, seed: int, known: Collection[str] = ()) -> list[Unlabelled]:
    """Draw unlabelled hedging sentences of the newest stored run, half from each predicted class, shuffled.

    So a rare answer is met often enough to measure how well the judge finds it. The weights undo the choice.
    """
    run = _run(settings)
    draw = random.Random(seed)
    draw.shuffle(run.sessions)
    pool = _pool(run, settings, max(_POOL_AT_LEAST, _POOL_PER_LABEL * count))
    kept = [signal for signal in pool.values() if signal.text in run.kept]
    dropped = [signal for signal in pool.values() if signal.text not in run.kept]
    drawn = draw_from_both(kept, dropped, lambda signal: signal.text in known, count, draw)
    if not drawn:
        left = "has no sentence that may speak of doubt" if not pool else "has none that is not labelled yet"
        raise InputError("nothing-to-label", f"The newest stored run {left}. Try: knowbound judge label --input FILE")
    return [Unlabelled(signal.text, signal.context, signal.session, weight) for signal, weight in drawn]


def _pool(run: _Run, settings: Settings, enough: int) -> dict[str, Signal]:
    """Collect the hedging sentences of sessions, each once, until there are enough."""
    pool: dict[str, Signal] = {}
    for session in run.sessions:
        for signal in _hedges(session, run, settings):
            pool.setdefault(signal.text, signal)
        if len(pool) >= enough:
            break
    return pool


def judged_rate(settings: Settings, judge: HedgingJudge) -> Rate | None:
    """Return the share of judged candidate sentences in the newest stored run that this judge kept as hedges.

    None if another judge or no judge decided in that run, or if calibration switched hedges off.
    """
    run = _run(settings)
    judges = set(run.kept.values())
    if why_hedges_off(settings) or judges - {judge.version, ""} or judges == {""}:
        return None
    unjudged = {text for text, by in run.kept.items() if not by}
    kept_by_session = [
        [signal.text in run.kept for signal in _hedges(session, run, settings) if signal.text not in unjudged]
        for session in run.sessions
    ]
    return clustered(Rate(kept.count(True), len(kept)) for kept in kept_by_session)


class _Run(msgspec.Struct, frozen=True):
    """The newest stored run: its sessions, and the hedging sentences kept in them, each with its judge (or "")."""

    sessions: list[SessionFiles]
    kept: dict[str, str]
    filters: Filters


def _run(settings: Settings) -> _Run:
    """Load the newest stored run, with the sessions whose files still exist."""
    store, report, keys = newest_run(settings)
    filters = Filters(**report.filters)
    kept: dict[str, str] = {}
    files: dict[str, None] = {}
    for found in store.findings(keys):
        if filters.admits(found):
            files.update(dict.fromkeys(found.files))
            for hedge in _of_hedging(found, filters):
                kept[hedge.text] = hedge.verdict.judge if hedge.verdict else ""
    rows = store.files()
    members = [
        Member(FoundFile(row.path, row.size, row.mtime_ns), row.reader, row.session, row.agent_id, row.time)
        for row in (rows[path] for path in files if path in rows)
        if row.reader and Path(row.path).is_file()
    ]
    return _Run(group(members), kept, filters)


def _hedges(session: SessionFiles, run: _Run, settings: Settings) -> Iterator[Signal]:
    """Read a session again, and yield every sentence that may speak of doubt, whatever the judge said."""
    for found in read_session(SharedEvents(session), LensSettings.of(settings, settings.knowledge)):
        if run.filters.admits(found):
            yield from _of_hedging(found, run.filters)


def _of_hedging(found: Findings, filters: Filters) -> Iterator[Signal]:
    wanted = {sample.id for sample in found.samples if not filters.skill or sample.name == filters.skill}
    return (signal for signal in found.signals if signal.type is SignalType.HEDGING and signal.sample in wanted)

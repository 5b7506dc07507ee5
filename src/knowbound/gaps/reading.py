"""Reads sessions: from their files to their findings, hedges judged; and again, for people who label sentences.

The store keeps the hedging sentences that the judge kept and not those that it dropped (specification 1, section 4,
source 3): a label needs both.
"""

from __future__ import annotations

import os
import random
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from knowbound.config import ModelTask, Settings
from knowbound.core.signal import Findings, Signal, SignalType, SkippedLine
from knowbound.core.trace import Event, Start
from knowbound.errors import InputError
from knowbound.gaps.endings import settle
from knowbound.gaps.lens import LensSettings, SessionLens
from knowbound.gaps.stored import Filters, newest_run
from knowbound.judge.choice import judge_for, may_see
from knowbound.judge.drawing import draw_from_both
from knowbound.judge.hedging.verdict import HedgingCandidate, HedgingJudge, cap_of, judge_candidates
from knowbound.judge.labels import Unlabelled
from knowbound.judge.names import RULES
from knowbound.judge.registry import hedging_judge, why_hedges_off
from knowbound.kms.team_results import FINDINGS, taken_over
from knowbound.stats.figures import HedgeJudging
from knowbound.stats.rate import Rate, clustered
from knowbound.store.observed import UNJUDGED, Observed
from knowbound.traces.corpus import FoundFile, Member, SessionFiles, group
from knowbound.traces.sessions import Lens, Progress, SessionToRead, SharedEvents, keys_of, parts_of, read_together

_POOL_PER_LABEL = 20  # sentences to draw one from; then no further session is read
_POOL_AT_LEAST = 1000


def judge_of(settings: Settings) -> HedgingJudge | None:
    """The configured judge; None keeps every candidate."""
    return hedging_judge(settings) if settings.hedging_classifier_enabled else None


def drop_hedges(found: Iterable[Findings]) -> None:
    """Drop the hedges of sessions: the user or calibration switched this source off."""
    for findings in found:
        findings.signals = [signal for signal in findings.signals if signal.type is not SignalType.HEDGING]
        settle(findings)


def is_undecided(found: Findings) -> bool:
    """Report whether a hedge in it was not judged, or its verdict failed: then the judge is asked the next time."""
    return any(_is_unjudged(signal) or _has_failed(signal) for signal in found.signals)


class JudgedHedges(NamedTuple):
    """Warnings for the user, and what the judge did where it has a cap."""

    warnings: list[str]
    judging: HedgeJudging | None = None


def judge_findings(
    found: Iterable[Findings],
    judge: HedgingJudge,
    max_candidates: int | None = None,
) -> JudgedHedges:
    """Judge the hedges that have no verdict yet, and drop those that are no doubt."""
    found = list(found)
    pairs = [(findings, signal) for findings in found for signal in findings.signals if _is_unjudged(signal)]
    unjudged_signals = [signal for _, signal in pairs]
    candidates = [_candidate(findings, signal) for findings, signal in pairs]
    usd_before = judge.usd
    judged = judge_candidates(judge, candidates, max_candidates)
    for signal, verdict in zip(unjudged_signals, judged.verdicts, strict=True):
        signal.verdict = verdict
    for findings in found:
        verdicts = ((signal, signal.verdict) for signal in findings.signals)
        findings.signals = [signal for signal, verdict in verdicts if verdict is None or verdict.is_uncertainty]
        settle(findings)
    cap = cap_of(judge, max_candidates)
    if cap is None:
        return JudgedHedges(judged.warnings)
    sentences = {signal.text: signal for signal in unjudged_signals}.values()  # the judge is asked once about each
    unjudged, failed = sum(map(_is_unjudged, sentences)), sum(map(_has_failed, sentences))
    usd = None if usd_before is None or judge.usd is None else judge.usd - usd_before
    judging = HedgeJudging(judge.version, cap, len(sentences) - unjudged - failed, unjudged, failed, usd)
    return JudgedHedges(judged.warnings, judging)


def _candidate(found: Findings, signal: Signal) -> HedgingCandidate:
    question = found.turns[signal.turn - 1].prompt if 0 < signal.turn <= len(found.turns) else ""
    return HedgingCandidate(signal.text, signal.context, question, found.session, found.project, found.agent)


def _is_unjudged(signal: Signal) -> bool:
    return signal.type is SignalType.HEDGING and signal.verdict is None


def _has_failed(signal: Signal) -> bool:
    return signal.verdict is not None and signal.verdict.has_failed


class ReadSessions(NamedTuple):
    """Result of reading sessions."""

    keys: list[str]  # of all that are kept
    forgotten: list[str]  # files of those that were forgotten
    read: int  # sessions that had changed
    warnings: Sequence[str] = ()
    judging: HedgeJudging | None = None  # where the judge of hedges has a cap


def read_what_changed(
    sessions: list[SessionFiles],
    files: list[FoundFile],
    settings: Settings,
    store: Observed,
    rules: str,
    progress: Progress | None,
    also: Sequence[Lens] = (),
    *,
    asks: bool = True,
) -> ReadSessions:
    """Read the sessions whose files, settings or rules changed, in the same pass for other lenses, too.

    Where a judge costs and `asks` is false, the findings of new sessions wait for it, and are not read again.
    """
    judge = judge_of(settings)
    is_capped = judge is not None and (judge.costs or settings.hedging_classifier_max_candidates > 0)
    asks_about_hedges = is_capped and not settings.hedges_off
    # Then all new sessions are judged together, and their findings count as read only once they are judged.
    judges_together = asks_about_hedges or judge_for(settings, ModelTask.MISSES) != RULES
    forgotten: set[str] = set()

    def keep(batch: list[tuple[SessionToRead, bytes]]) -> None:
        forgotten.update(
            store.keep_sessions(
                (read.key, read.files.name, f"{UNJUDGED}{read.state}" if judges_together else read.state, found)
                for read, found in batch
            )
        )

    states = {key: state.removeprefix(UNJUDGED) for key, state in store.states().items()}
    # A worker of a cluster has neither the model nor its budget: with a cap it leaves hedges to this process.
    cap = settings.hedging_classifier_max_candidates or int(asks_about_hedges)
    worker_settings = replace(settings, hedging_classifier_max_candidates=cap)
    lens = Lens(rules, states, _read_in_worker, keep, taken_over(FINDINGS, settings))
    changed = read_together(sessions, files, [lens, *also], worker_settings, progress)
    for_lens = changed[0]  # each lens has read what changed for it
    left_out = [path for session in for_lens if session.key in forgotten for path in parts_of(session.files)]
    by_key = zip(keys_of(sessions), sessions, strict=True)
    names = {key: session.name for key, session in by_key if key not in forgotten}
    read_count = len({session.key for read_sessions in changed for session in read_sessions})
    if not (judges_together and asks):
        return ReadSessions([*names], left_out, read_count)
    waiting = [(key, state) for key, state in store.states().items() if key in names and state.startswith(UNJUDGED)]
    unjudged = [(key, names[key], state.removeprefix(UNJUDGED)) for key, state in waiting]
    judged = _judge_together(unjudged, settings, store, hedges=asks_about_hedges)
    return ReadSessions([*names], left_out, read_count, *judged)


def _read_in_worker(events: SharedEvents, settings: Settings) -> bytes:
    """Run in a worker: return one session's findings, hedges judged, as msgpack."""
    try:
        found = read_session(events, LensSettings.of(settings, settings.knowledge))
    except Exception as error:  # a defect of ours, or no memory left: a session that fails never hides other sessions
        if os.environ.get("KNOWBOUND_TRACEBACK"):
            raise
        return msgspec.msgpack.encode([_unread(events.session, f"a defect of ours: {type(error).__name__}")])
    if settings.hedges_off:
        drop_hedges(found)
    elif not settings.hedging_classifier_enabled:  # every candidate is a hedge
        for findings in found:
            settle(findings)
    elif not settings.hedging_classifier_max_candidates and (judge := judge_of(settings)) is not None:
        judge_findings(found, judge)  # with a cap, all sessions are judged together afterwards
    return msgspec.msgpack.encode(found)


def _unread(session: SessionFiles, reason: str) -> Findings:
    """Return findings without anything, which say why the session could not be read."""
    files = [*session.files, *session.sidechains.values()]
    return Findings(
        session=session.session,
        agent=session.reader,
        files=files,
        skipped=[SkippedLine(files[0], 1, reason)],
        skipped_by_reason={reason: 1},
    )


def _judge_together(
    fresh: list[tuple[str, str, str]], settings: Settings, store: Observed, *, hedges: bool
) -> JudgedHedges:
    """Judge the hedges of all new sessions together, within one cap per evaluation, and the misses, newest first.

    `fresh` has the key, the name and the state of each new session.
    """
    found = [((key, name, state), list(store.findings([key]))) for key, name, state in fresh]
    all_findings = [findings for _, part in found for findings in part]
    judge = judge_of(settings) if hedges else None
    judged = JudgedHedges([])
    if judge is not None:
        judged = judge_findings(all_findings, judge, settings.hedging_classifier_max_candidates or None)
    newest_first = sorted(all_findings, key=lambda findings: findings.ended, reverse=True)
    unanswered = _ask_about_misses(newest_first, settings, judged.warnings)

    def is_open(part: list[Findings]) -> bool:
        """Report whether a judge was not asked or failed: then the session stays unread until the next time."""
        return any((hedges and is_undecided(findings)) or findings.session in unanswered for findings in part)

    store.keep_sessions(
        (key, name, "" if is_open(part) else state, msgspec.msgpack.encode(part)) for (key, name, state), part in found
    )
    return judged


def _ask_about_misses(found: Sequence[Findings], settings: Settings, warnings: list[str]) -> set[str]:
    """Ask the configured model how misses ended; return the sessions that it did not answer for."""
    name = judge_for(settings, ModelTask.MISSES)
    if name == RULES or not found:
        return set()
    from knowbound.gaps.asking import decide_misses  # noqa: PLC0415  (loads what asks a model)
    from knowbound.judge.registry import asker_for  # noqa: PLC0415

    asker = asker_for(settings, name)
    if asker is None:
        return set()
    unanswered, problem = decide_misses(found, asker, partial(may_see, name, settings=settings))
    if problem:
        warnings.append(f"{name} did not answer about every miss: {problem}")
    return unanswered


def read_session(events: SharedEvents, settings: LensSettings) -> list[Findings]:
    """The findings of a session; a file that holds several sessions gives several."""
    session = events.session
    files = [*session.files, *session.sidechains.values()]
    found = findings_of(events.follow(), session.start, files, settings)
    tally = events.tally
    found[0].lines, found[0].duplicates = tally.lines, tally.duplicates  # counted for the file, not for each session
    found[0].skipped, found[0].skipped_by_reason = tally.skipped, tally.skipped_by_reason
    return found


def findings_of(events: Iterator[Event], first: Start, files: Iterable[str], settings: LensSettings) -> list[Findings]:
    """The findings of each session in a stream of events; `first` names the session that it begins with."""
    found: list[Findings] = []
    start: Start | None = first
    while start is not None:
        lens = SessionLens(start.session, first.agent, settings)
        if found:  # the lens before took this start out of the events; the first one is still among them
            lens.start(start)
        start = lens.follow(events)
        found.append(lens.findings(files))
    return found


def label_candidates(settings: Settings, count: int, seed: int, known: Collection[str] = ()) -> list[Unlabelled]:
    """Draw unlabelled hedging sentences of the newest stored run, half from each predicted class, shuffled.

    So a rare answer is met often enough to measure how well the judge finds it. The weights undo the choice.
    """
    run = _run(settings)
    draw = random.Random(seed)
    draw.shuffle(run.sessions)
    pool = _pool(run, settings, max(_POOL_AT_LEAST, _POOL_PER_LABEL * count))
    kept = [signal for signal in pool.values() if signal.text in run.kept]  # the judge said: a hedge
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
    judges = set(run.kept.values())  # "" for none
    if why_hedges_off(settings) or judges - {judge.version, ""} or judges == {""}:
        return None
    unjudged = {text for text, judge_version in run.kept.items() if not judge_version}
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
        if row.reader and Path(row.path).is_file()  # a file without a reader is no trace
    ]
    return _Run(group(members), kept, filters)


def _hedges(session: SessionFiles, run: _Run, settings: Settings) -> Iterator[Signal]:
    """Read a session again, and yield every sentence that may speak of doubt, whatever the judge said."""
    for found in read_session(SharedEvents(session), LensSettings.of(settings, settings.knowledge)):
        if run.filters.admits(found):
            yield from _of_hedging(found, run.filters)


def _of_hedging(found: Findings, filters: Filters) -> Iterator[Signal]:
    """Return the hedges in the samples within the filters."""
    wanted = {sample.id for sample in found.samples if not filters.skill or sample.name == filters.skill}
    return (signal for signal in found.signals if signal.type is SignalType.HEDGING and signal.sample in wanted)

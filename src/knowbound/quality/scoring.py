"""Scores turns: joins what is known about each, asks the judge, writes the log (specification 2, section 3).

A turn is written once it is judged, in one write under its own id. So whatever ends the process, a turn is scored once,
and what was not written is scored by the next run. Where the judge fails, the turn is written without verdicts and is
scored again later.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
from msgspec.structs import replace

from knowbound.config import Settings
from knowbound.core.quality import JudgedCall, JudgedItem, JudgedTurn, LoggedItem, QualityTurn
from knowbound.errors import KnowboundError
from knowbound.judge.registry import turn_judge
from knowbound.judge.turns import TurnJudge, TurnVerdicts
from knowbound.kms.opening import open_index, open_quality_log
from knowbound.kms.quality_log import QualityLog
from knowbound.quality.found_turns import LOOK_SECONDS, FoundTurns
from knowbound.quality.joining import Joined, StoredText, TurnSources, exported, join
from knowbound.quality.queue import EndedRecord, Queue
from knowbound.quality.rollout.progress import Rollout
from knowbound.quality.rollup import RolledUp, roll_up
from knowbound.quality.suggesting import update_suggestions
from knowbound.store.data_dir import INDEX
from knowbound.store.read_only import open_read_only
from knowbound.store.retention import load_forgotten
from knowbound.text.clock import utc_now

_WAIT_SECONDS = 20.0  # for a writer of the index


class Scored(msgspec.Struct):
    """Result of a run."""

    turns: int = 0  # written
    failed: int = 0  # of these: without verdicts
    problem: str = ""  # of the last that failed

    def __iadd__(self, other: Scored) -> Scored:
        return Scored(self.turns + other.turns, self.failed + other.failed, other.problem or self.problem)

    def put(self, log: QualityLog, turn: QualityTurn) -> None:
        """Write a turn and count it."""
        self.turns += log.put(turn)
        if turn.problem:
            self.failed, self.problem = self.failed + 1, turn.problem


class QueueScored(msgspec.Struct, frozen=True):
    """Result of a run over the queue."""

    scored: Scored
    rolled_up: RolledUp
    problem: str = ""  # why effective confidences or suggested corrections could not be written


def score_queue(settings: Settings, *, again: bool = False, background: bool = False) -> QueueScored:
    """Score the turns that have ended; with `again` also those whose judge failed before. The caller holds the lock.

    In the background, a model is asked only if the user allowed that.
    """
    with closing(open_quality_log(settings)) as log:
        scorer = Scorer(settings.home, log, turn_judge(settings, background=background))
        done = scorer.run()
        done += scorer.sweep()
        if again:
            done += scorer.again()
        rolled = rolled_up(settings, log, scorer.days)
        problem = rolled.problem
        if not problem:  # else a backend is down
            try:
                update_suggestions(settings, log)
            except KnowboundError as error:  # a backend is down: the next worker does it
                problem = str(error)
        return QueueScored(done, rolled, problem)


def log_turns(settings: Settings, turns: Sequence[JudgedTurn], given: Sequence[TurnVerdicts], judge: str) -> Scored:
    """Write turns that another system recorded, and were judged, and roll them up. The caller holds the lock."""
    done, days, now = Scored(), set[str](), utc_now()
    with closing(open_quality_log(settings)) as log:
        clock = _LogClock(max((day.newest for day in log.days()), default=""))
        for turn, verdicts in zip(turns, given, strict=True):
            raw = exported(turn, now)
            # The log has ids of its own for the items of other systems.
            ids = {item.id: logged.id for item, logged in zip(turn.items, raw.other_items, strict=True)}
            renamed = tuple(replace(verdict, item=ids[verdict.item]) for verdict in verdicts.verdicts)
            scored = _judged(raw, replace(verdicts, verdicts=renamed), judge, clock.now())
            done.put(log, scored)
            days.add(scored.date)
        rolled_up(settings, log, days)
    return done


def rolled_up(settings: Settings, log: QualityLog, written: Collection[str] = ()) -> RolledUp:
    """Bring the days of a log up to its turns, and what is ranked up to the days."""
    with closing(open_index(settings)) as index:
        done = roll_up(log, index.corrections(), written=written, gamma=settings.quality_gamma)
        try:
            moved = Rollout(settings, log, index).keep_up()
        except KnowboundError as error:  # a backend is down: the next worker does it
            return replace(done, problem=str(error))
        return replace(done, moved=moved)


class Scorer:
    """Scores the turns of one data folder. One runs at a time: its caller holds the lock."""

    def __init__(self, home: Path, log: QualityLog, judge: TurnJudge) -> None:
        self._home, self._log, self._judge = home, log, judge
        self._queue = Queue(home)
        self._clock = _LogClock(max((day.newest for day in log.days()), default=""))
        self.days: set[str] = set()  # of the turns that it wrote

    def run(self) -> Scored:
        """Score the queued turns and those that no hook reported, until none is left."""
        done = Scored()
        while (records := self._due()) is not None:
            if records:
                found = FoundTurns(self._home, self._log, since=min(record.time for record in records))
                self._score(found.reported(records), done)
                self._score(found.unreported(records, only_closed=self._queue.has_more()), done)  # others may be queued
            self._queue.mark_done()
        return done

    def sweep(self) -> Scored:
        """Score the turns that no hook reported while nothing is queued."""
        done = Scored()
        self._score(FoundTurns(self._home, self._log, since=utc_now()).unreported([]), done)
        return done

    def again(self, most: int = 1000) -> Scored:
        """Score the turns whose judge failed."""
        done, found = Scored(), FoundTurns(self._home, self._log)
        for turn in self._log.unscored(most):
            sources = found.again(turn)
            with closing(_StoredItems(self._home)) as stored:
                # With the trace, and the record of injections if there were any, the turn is joined anew.
                is_whole = sources.trace and (sources.injected or not turn.injected_items)
                joined = _joined(sources, stored) if is_whole else Joined(replace(turn, problem=""), _as_logged(turn))
            rescored = replace(
                joined.turn,
                session_id=turn.session_id,  # a trace may name another: it stays the same document, of the same day
                turn_id=turn.turn_id,
                timestamp=turn.timestamp,
                ending=turn.ending,
                stop_ms=turn.stop_ms,
                trace=turn.trace,
            )
            self._write(Joined(rescored, joined.judged), done)
        return done

    def _due(self) -> list[EndedRecord] | None:
        """Return the queued records once they are complete: the second line of a record comes a moment later."""
        records = self._queue.pending()
        while self._queue.is_waiting:
            time.sleep(LOOK_SECONDS)
            records = self._queue.pending()
        return records

    def _score(self, found: Iterable[TurnSources], done: Scored) -> None:
        """Write each turn with its score and count it in `done`, except turns of forgotten sessions.

        A turn that is already logged from its trace is not replaced by what is known without the trace.
        """
        forgotten = load_forgotten(self._home)
        with closing(_StoredItems(self._home)) as stored:
            for sources in found:
                joined = _joined(sources, stored)
                turn = joined.turn
                if forgotten is not None and forgotten.has_session(turn.session_id):
                    continue
                logged = None if turn.trace else self._log.get(turn.id)  # a killed worker reads again
                if logged is None or not logged.is_scored or not logged.trace:
                    self._write(joined, done)

    def _write(self, joined: Joined, done: Scored) -> None:
        """Ask the judge, write the turn, and count it in `done`."""
        turn = _judged(joined.turn, self._verdicts(joined.judged), self._judge.version, self._clock.now())
        done.put(self._log, turn)
        self.days.add(turn.date)

    def _verdicts(self, turn: JudgedTurn) -> TurnVerdicts:
        """Return the judge's verdicts, or the reason why it failed."""
        if not turn.items:
            return TurnVerdicts()
        try:
            return self._judge.judge([turn])[0]
        except KnowboundError as error:  # no key, no such model: it can be judged when that is mended
            return TurnVerdicts(problem=str(error))
        except Exception as error:  # a defect of a judge takes the verdicts of this turn alone
            return TurnVerdicts(problem=f"{type(error).__name__}: {error}")


def _joined(sources: TurnSources, stored: _StoredItems) -> Joined:
    """Join the turn; if a defect of ours prevents it, join it without its trace, so that other turns are scored."""
    try:
        return join(sources, stored)
    except Exception as error:
        if sources.trace is None:
            raise
        turn, judged = join(replace(sources, trace=None), stored)
        problem = f"{type(error).__name__}: {error}"
        return Joined(replace(turn, trace=sources.trace.prompt.path, problem=problem), judged)


class _LogClock:
    """The time of each write, later than all before it, whatever the clock of the machine does.

    By the latest of a day, and their number, the rollup knows whether a turn was written since.
    """

    def __init__(self, newest: str) -> None:
        self._last = newest

    def now(self) -> str:
        """Return the present time, but later than every time returned before."""
        now = datetime.now(UTC)
        with suppress(ValueError, OverflowError):
            now = max(now, datetime.fromisoformat(self._last) + timedelta(microseconds=1))
        self._last = now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        return self._last


def _judged(turn: QualityTurn, answer: TurnVerdicts, judge: str, now: str) -> QualityTurn:
    """Return the turn with the verdicts on its items."""
    verdicts = {verdict.item: verdict for verdict in answer.verdicts}  # of the items that the judge decided

    def with_verdicts(items: tuple[LoggedItem, ...]) -> tuple[LoggedItem, ...]:
        return tuple(replace(item, verdict=verdicts.get(item.id)) for item in items)

    missing = [item.id for item in turn.items if item.id not in verdicts]
    problem = turn.problem or answer.problem or (f"no verdict on {', '.join(missing[:3])}" if missing else "")
    return replace(
        turn,
        injected_items=with_verdicts(turn.injected_items),
        pulled_items=with_verdicts(turn.pulled_items),
        other_items=with_verdicts(turn.other_items),
        # Rules judge the sessions that a model may not see: then the verdicts name their version.
        judge=next((verdict.judge for verdict in answer.verdicts if verdict.judge), judge) if verdicts else "",
        scored_at=now,
        problem=problem,
    )


def _as_logged(turn: QualityTurn) -> JudgedTurn:
    """Return for the judge a turn whose trace is gone, with what the log kept of it."""
    return JudgedTurn(
        id=turn.id,
        prompt=turn.user_prompt,
        response=turn.assistant_response,
        items=tuple(
            JudgedItem(item.id, item.content_excerpt, is_whole=item.content_length <= len(item.content_excerpt))
            for item in turn.items
        ),
        tool_calls=tuple(
            JudgedCall(call.name, {"query": call.input_excerpt}, outcome=call.outcome) for call in turn.tool_calls
        ),
        session=turn.session_id,
        agent=turn.agent,  # "unknown" is seen by no model of a provider
    )


class _StoredItems:
    """The texts of the index by id: redacted, as hooks inject them."""

    def __init__(self, home: Path) -> None:
        self._index = open_read_only(home / INDEX, wait_seconds=_WAIT_SECONDS)

    def __call__(self, id_: str) -> StoredText | None:
        query = "SELECT content, content_sha, source FROM item WHERE id = ? ORDER BY served DESC, backend"
        with suppress(sqlite3.Error):  # a damaged index is the store's to report: the log has the excerpt
            if self._index and (row := self._index.execute(query, (id_,)).fetchone()):
                return StoredText(*row)
        return None

    def close(self) -> None:
        if self._index:
            self._index.close()

"""`quality score` and the worker: score what is queued, and bring the days up to it (specification 2, section 3)."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing

import msgspec
from msgspec.structs import replace

from knowbound.config import Settings
from knowbound.errors import KnowboundError
from knowbound.judge.turns.opening import turn_judge
from knowbound.kms.opening import open_index, open_quality_log
from knowbound.kms.quality_log.protocol import QualityLog
from knowbound.quality.loop import tend
from knowbound.quality.rollout import keep_up
from knowbound.quality.rollup import RolledUp, roll_up
from knowbound.quality.scoring import Scored, Scorer


class QueueScored(msgspec.Struct, frozen=True):
    """What a run over the queue did."""

    scored: Scored
    rolled_up: RolledUp
    problem: str = ""  # why effective confidences or suggested corrections could not be written


def score_queue(settings: Settings, *, again: bool = False) -> QueueScored:
    """Score the turns that have ended; with `again` also those whose judge failed before. The caller holds the lock."""
    with closing(open_quality_log(settings)) as log:
        scorer = Scorer(settings.home, log, turn_judge(settings))
        done = scorer.run()
        done += scorer.sweep()
        if again:
            done += scorer.again()
        rolled = rolled_up(settings, log, scorer.days)
        if rolled.problem:
            return QueueScored(done, rolled, rolled.problem)
        try:
            tend(settings, log)
        except KnowboundError as error:  # a backend is down: the next worker does it
            return QueueScored(done, rolled, str(error))
        return QueueScored(done, rolled)


def rolled_up(settings: Settings, log: QualityLog, written: Collection[str] = ()) -> RolledUp:
    """Bring the days of a log up to its turns, and what is ranked up to the days."""
    with closing(open_index(settings)) as index:
        done = roll_up(log, index.corrections(), written=written)
        try:
            reverted = keep_up(settings, log, index)
        except KnowboundError as error:  # a backend is down: the next worker does it
            return replace(done, problem=str(error))
        return replace(done, reverted_to=reverted and reverted.after)

"""The state of the rollout of measured ranking, and its moves (specification 2, section 6).

A leg whose criteria are met is left by itself (`rollout.auto`), or on request; a kill criterion reverts it by itself,
to the leg before. The state is a note of the quality log, which all machines see; every data folder has a copy for its
hook.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from knowbound.config import Settings
from knowbound.core.quality import DayRollup, Discovery
from knowbound.errors import InputError, StoreError
from knowbound.injection.inject import keep_rollout
from knowbound.judge.calibration import configured_worth
from knowbound.kms.index.database import Index
from knowbound.kms.quality_log import QualityLog
from knowbound.quality.rollout.legs import (
    decided,
    entering,
    is_too_slow,
    legs_for,
    plan_of,
    present_leg,
    ranked_backends,
)
from knowbound.quality.rollout.monitors import is_self_reinforcing, monitor_input, monitors
from knowbound.quality.rollout.replay import replay, weights_of, write_effective
from knowbound.quality.rollup import discovery_rate, opened_log
from knowbound.stats.quality import RANKING_LIMIT_MS, QualityMetric, day_before, item_rates, sum_of_days, window
from knowbound.stats.rate import Rate
from knowbound.stats.rollout import (
    Baseline,
    CriterionName,
    CriterionState,
    EventKind,
    Leg,
    LegFacts,
    LegStatus,
    ReplayResult,
    ReplayVerdict,
    RolloutEvent,
    RolloutState,
    RolloutStatus,
    demotions,
    false_demotions,
)
from knowbound.text.clock import utc_now

STATE, REPLAY = "rollout", "replay"  # notes of the quality log
_MOST_EVENTS = 100
_AUTOMATIC_AUTHOR = "knowbound"  # of a leg that begins by itself
_Note = TypeVar("_Note", RolloutState, ReplayResult)


def rollout_status(settings: Settings, *, today: str = "") -> RolloutStatus:
    """Return the state of the rollout, and what is missing."""
    with opened_log(settings, today) as (log, index):
        rollout = Rollout(settings, log, index, today)
        rollout.replay_next()
        return rollout.status()


def advance(settings: Settings, *, by: str = "", today: str = "", force: bool = False) -> RolloutStatus:
    """Begin the next leg, where nothing is missing; otherwise nothing changes, and the status says what is.

    With `force` it begins all the same. The event names what was open; kill criteria watch it like any other leg.
    """
    with opened_log(settings, today) as (log, index):
        rollout = Rollout(settings, log, index, today)
        rollout.replay_next()
        status = rollout.status()
        next_leg = status.next
        if next_leg is None:
            raise InputError("rollout-refused", "The rollout is in its last leg: there is none after it.")
        missing = missing_of(status)
        if missing and not force:
            return replace(status, refused=True)
        kind = EventKind.FORCED if missing else EventKind.ADVANCED
        event = rollout.move(next_leg.leg.number, kind, by, missing)
        return replace(rollout.status(), changed=event)


def revert(settings: Settings, *, by: str = "", today: str = "") -> RolloutStatus:
    """Go back to the leg before."""
    with opened_log(settings, today) as (log, index):
        rollout = Rollout(settings, log, index, today)
        if not rollout.leg.number:
            raise InputError("rollout-refused", "The rollout is in leg 0, which only measures: nothing to revert.")
        event = rollout.move(rollout.leg.number - 1, EventKind.REVERTED, by)
        return replace(rollout.status(), changed=event)


def missing_of(status: RolloutStatus) -> tuple[CriterionName, ...]:
    """Return the reasons why the next leg does not begin; none if there is no next leg."""
    next_leg = status.next
    needed = (*status.current.leave, *(next_leg.enter if next_leg else ()))
    unmet = [criterion.name for criterion in needed if criterion.state is not CriterionState.MET]
    return (*(criterion.name for criterion in status.current.tripped), *unmet)


def load_state(log: QualityLog) -> RolloutState:
    """Return the state that the log has; leg 0 if nothing was ever decided."""
    return _note(log, STATE, RolloutState) or RolloutState()


class Rollout:
    """The rollout of one store, by a log that was rolled up."""

    def __init__(self, settings: Settings, log: QualityLog, index: Index, today: str = "") -> None:
        self._settings, self._log, self._index = settings, log, index
        self._today = today or utc_now()[:10]
        self._days = log.rollups()
        self._records = log.discoveries()
        self.legs = legs_for(settings.kms_backends)
        self.state = load_state(log)

    @property
    def leg(self) -> Leg:
        """The present leg, also where the backends changed since the rollout came to it."""
        return self.legs[present_leg(self.state.leg, self.state.plan, self.legs)]

    def status(self) -> RolloutStatus:
        """Return every leg, with the criteria of the present leg, and those for entering the next."""
        facts = self.facts()
        current = self.leg.number
        leave, kill = decided(self.leg.leave, facts), decided(self.leg.kill, facts)
        can_leave = all(criterion.state is CriterionState.MET for criterion in leave)
        legs = [LegStatus(leg, is_done=leg.number < current) for leg in self.legs]
        legs[current] = LegStatus(self.leg, is_current=True, leave=leave, kill=kill)
        if current + 1 < len(legs):
            next_leg = self.legs[current + 1]
            legs[current + 1] = LegStatus(next_leg, enter=entering(next_leg, facts, can_leave))
        monitored = monitor_input(self._settings, self._log, self._index, self._days, self._today, facts.drifted)
        return RolloutStatus(tuple(legs), self.state, monitors(monitored))

    def facts(self) -> LegFacts:
        """Return the facts about the days of the present leg. The day on which it began belongs to neither side."""
        first_whole_day = self._first_whole_day()
        first = max(first_whole_day, window(self._today)[0])
        week = sum_of_days(self._days, first, self._today)
        judge = configured_worth(self._settings, week.judges, utc_now())
        baseline = self.state.baselines.get(self.leg.number) or Baseline("", "")
        backends = self.leg.backends if baseline.of_backend else ()  # compared as the baseline was taken
        in_leg = [day for day in self._days if first_whole_day <= day.date <= self._today and day.turns]
        slow_by_day = (is_too_slow(day.rank_ms, RANKING_LIMIT_MS) for day in in_leg if day.date >= first)
        slow_days = [is_slow for is_slow in slow_by_day if is_slow is not None]  # None: too few runs
        return LegFacts(
            days=len(in_leg),
            turns=sum(day.turns for day in in_leg),
            unscored=Rate(week.unscored, week.turns),
            measured=judge.measured,
            labelled=judge.labelled,
            drifted=judge.weekly.drifted if judge.weekly and judge.weekly.metrics else None,
            rank_ms=week.rank_ms,
            slow_days=Rate(sum(slow_days), len(slow_days)),
            stop_ms=week.stop_ms,
            now=rates(self._days, self._records, first, self._today),
            before=baseline.rates,
            leg_now=item_rates(week, backends),
            leg_before=baseline.of_backend or baseline.rates,
            demotions=false_demotions(demotions(self._days, weights_of(self._settings)), first_whole_day, self._today),
            replay=self._valid_replay(),
        )

    def replay_next(self) -> None:
        """Replay the ranking of the next leg, and keep the result for all machines.

        Candidates are logged on each machine alone: too few of them do not replace the result of another machine.
        """
        present, candidate = self._ranked_now_and_next()
        if present != candidate:
            result = replay(self._settings, self._log, self._days, present, candidate)
            if result.verdict is not ReplayVerdict.TOO_FEW or self._valid_replay() is None:
                self._log.put_note(REPLAY, msgspec.json.encode(result))

    def keep_up(self) -> RolloutEvent | None:
        """After a rollup: revert or leave a leg by its criteria, explore, write confidences and the hook's file."""
        event = self._revert_if_tripped() or self._advance_if_complete()
        if (exploration := self._should_explore()) != self.state.exploration:
            self._save(replace(self.state, exploration=exploration))
        self._apply()
        return event

    def move(self, number: int, kind: EventKind, by: str, criteria: Sequence[CriterionName] = ()) -> RolloutEvent:
        """Begin another leg, and have items and hooks follow; `criteria` reverted the old one, or are still missing."""
        before = self.leg.number
        event = RolloutEvent(utc_now(), kind, before, number, by, tuple(criteria))
        # A leg that begins again later gets a new baseline.
        baselines = {leg: baseline for leg, baseline in self.state.baselines.items() if leg <= number}
        if number > before:
            first, last = window(day_before(self._today))
            of_backend = item_rates(sum_of_days(self._days, first, last), self.legs[number].backends)
            baselines[number] = Baseline(first, last, rates(self._days, self._records, first, last), of_backend)
        self._save(
            replace(
                self.state,
                leg=number,
                since=f"{self._today}{event.time[10:]}",  # the day of the rollup, which may be given
                plan=plan_of(self.legs),
                baselines=baselines,
                exploration=self.state.exploration and number > 0,
                history=(*self.state.history, event)[-_MOST_EVENTS:],
            )
        )
        self._apply()
        return event

    def _revert_if_tripped(self) -> RolloutEvent | None:
        """Revert the leg if a kill criterion is tripped; None if nothing changed."""
        if not self.leg.number:
            return None  # leg 0 ranks nothing: there is nothing to revert
        kill = decided(self.leg.kill, self.facts())
        tripped = [criterion.name for criterion in kill if criterion.state is CriterionState.TRIPPED]
        return self.move(self.leg.number - 1, EventKind.KILLED, "", tripped) if tripped else None

    def _advance_if_complete(self) -> RolloutEvent | None:
        """Begin the next leg by itself, once nothing is missing. The replay is made only when all else is met."""
        if not self._settings.rollout_auto or self.leg.number + 1 == len(self.legs):
            return None
        leave = decided(self.leg.leave, self.facts())
        if any(criterion.state is not CriterionState.MET for criterion in leave):
            return None
        self.replay_next()
        if missing_of(self.status()):
            return None
        return self.move(self.leg.number + 1, EventKind.ADVANCED, _AUTOMATIC_AUTHOR)

    def _should_explore(self) -> bool:
        """Report whether to explore: as before if that is unknown, never in leg 0."""
        if not self.leg.number:
            return False
        known = monitor_input(self._settings, self._log, self._index, self._days, self._today)
        is_feeding_itself = is_self_reinforcing(known)
        return self.state.exploration if is_feeding_itself is None else is_feeding_itself

    def _apply(self) -> None:
        """Bring items and the hook's copy up to the present leg."""
        write_effective(self._settings, self._index, self._days, ranked_backends(self.legs, self.leg.number))
        keep_rollout(self._settings.home, self.leg.number, self.state.exploration)

    def _save(self, state: RolloutState) -> None:
        self._log.put_note(STATE, msgspec.json.encode(state))
        self.state = state

    def _first_whole_day(self) -> str:
        """Return the first whole day of the leg; "" if it never began, or the backends changed since."""
        if not self.state.since or self.leg.number != self.state.leg:
            return ""
        return (date.fromisoformat(self.state.since[:10]) + timedelta(days=1)).isoformat()

    def _ranked_now_and_next(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the backends that are ranked by measured quality in this leg, and in the next one."""
        number = self.leg.number
        return ranked_backends(self.legs, number), ranked_backends(self.legs, number + 1)

    def _valid_replay(self) -> ReplayResult | None:
        """Return the newest replay, if it is about the next leg and newer than this leg."""
        newest = _note(self._log, REPLAY, ReplayResult)
        if newest is None or newest.made < self.state.since:
            return None
        return newest if (newest.before.backends, newest.after.backends) == self._ranked_now_and_next() else None


def rates(days: Sequence[DayRollup], records: Sequence[Discovery], first: str, last: str) -> dict[QualityMetric, Rate]:
    """The four metrics from one day to another."""
    return {
        **item_rates(sum_of_days(days, first, last)),
        QualityMetric.DISCOVERY: discovery_rate(records, first, last),
    }


def _note(log: QualityLog, name: str, kind: type[_Note]) -> _Note | None:
    """Return a note of the log, decoded; None if there is none. Raises StoreError if it cannot be decoded."""
    stored = log.note(name)
    try:
        return msgspec.json.decode(stored, type=kind) if stored else None
    except msgspec.MsgspecError as error:
        raise StoreError("store-corrupt", f"The note {name!r} of the quality log is none of ours: {error}") from error

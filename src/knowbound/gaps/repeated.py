"""Repeated failure (specification 1, source 4): the same class of lookup fails again and again.

Its status, and that of a miss which a guess follows, is settled once the hedges of the session are judged.
"""

from __future__ import annotations

from collections import deque

from knowbound.core.signal import NOT_CLOSED, Ending, Findings, Signal, SignalType, Status
from knowbound.core.trace import LOOKUPS, Step, ToolCall, ToolKind
from knowbound.gaps.search_words import words_in
from knowbound.gaps.searches import Misses, NewSignal
from knowbound.gaps.topics import topic_name
from knowbound.gaps.wanted import specific_words
from knowbound.text.redact import cut

WINDOW = 3  # consecutive steps (the specification's turns)
_PLURALS = {ToolKind.SEARCH: "searches", ToolKind.LIST: "listings", ToolKind.READ: "reads"}
_BETWEEN = " · "  # between the queries of an event
AT_LEAST = 3  # calls; the specification retries "more than N times (default N=2)"


def tool_class(call: ToolCall) -> str:
    """The class of a lookup: the agent's tool, and what a shell command does with it (Grep, Read, Bash search)."""
    return f"{call.name} {call.kind}" if call.kind in LOOKUPS else ""


class Repeats:
    """Watches each agent's last steps; counted before similar searches collapse."""

    def __init__(self, at_least: int = AT_LEAST) -> None:
        self._at_least = max(2, at_least)  # once is not again
        self._windows: dict[str, deque[Step]] = {}
        # Agent and class → the event that still grows, and the calls in it.
        self._running: dict[tuple[str, str], tuple[Signal, set[str]]] = {}

    def new_sample(self) -> None:
        """Forget what came before: repeats are counted within one sample."""
        self._windows.clear()
        self._running.clear()

    def step(self, step: Step, misses: Misses, new: NewSignal) -> list[Signal]:
        """The events that this step completes."""
        window = self._windows.get(step.agent_id)
        if window is None:
            window = self._windows[step.agent_id] = deque(maxlen=WINDOW)
        window.append(step)
        events: list[Signal] = []
        if not self._running and not misses.in_step:
            return events
        by_kind: dict[str, list[tuple[ToolCall, Step]]] = {
            kind: [] for kind in dict.fromkeys(map(tool_class, step.calls)) if kind
        }
        for at in window:
            for call in at.calls:
                by_kind.get(tool_class(call), []).append((call, at))
        for kind, calls in by_kind.items():
            key = (step.agent_id, kind)
            if not all(misses.is_miss(call) for call, _ in calls):
                self._running.pop(key, None)
                continue
            if len(calls) < self._at_least:
                continue
            if key not in self._running:
                self._running[key] = (self._event(calls, new), set())
                events.append(self._running[key][0])
            self._grow(*self._running[key], [call for call, _ in calls], misses)
        return events

    def _grow(self, event: Signal, known: set[str], calls: list[ToolCall], misses: Misses) -> None:
        """Take in the calls that are new, and say how many there are by now."""
        fresh = [call for call in calls if call.id not in known]
        known.update(call.id for call in fresh)
        event.call_ids.extend(call.id for call in fresh)
        queries = dict.fromkeys((*event.query.split(_BETWEEN), *map(misses.shown_query, fresh)))
        event.query = cut(_BETWEEN.join(query for query in queries if query), 500)
        event.reason = f"{len(event.call_ids)} {_PLURALS[calls[0].kind]} in consecutive steps, all failed"

    def _event(self, calls: list[tuple[ToolCall, Step]], new: NewSignal) -> Signal:
        first = calls[0][0]
        return new(
            type=SignalType.REPEATED_FAILURE,
            status=Status.OPEN,  # until it is known what its misses are
            tool=first.name,
            path=first.where,
            file=calls[0][1].path,
            line=first.line,
        )


_SOON = 2  # steps between a miss and a guess that shares one word with it
_MOST_DOUBTS = 200  # of a turn

_Doubts = dict[tuple[str, int], list[tuple[Signal, frozenset[str]]]]  # by agent and turn, each with its words


def settle(found: Findings) -> None:
    """End a miss with the guess that the agent makes about it next; the guess is of its topic."""
    doubts: _Doubts = {}
    for signal in found.signals:
        if signal.type in (SignalType.HEDGING, SignalType.EXPLICIT_MARKER) and signal.status is Status.OPEN:
            of_turn = doubts.setdefault((signal.agent_id, signal.turn), [])
            if len(of_turn) < _MOST_DOUBTS:
                of_turn.append((signal, words_in(signal.text)))
    for signal in found.signals:
        if signal.type is not SignalType.FAILED_SEARCH or not (about := _doubts_about(signal, doubts)):
            continue
        took_for_absent = signal.ending is None and signal.status is Status.VERIFICATION
        if signal.ending is Ending.WENT_ON or took_for_absent:
            signal.status, signal.ending = Status.UNDECIDED, Ending.GUESSED
        if signal.status in NOT_CLOSED:
            for doubt in about:
                doubt.names = tuple(dict.fromkeys((*doubt.names, topic_name(signal))))
    settle_repeats(found.signals)


def settle_repeats(signals: list[Signal]) -> None:
    """A repeated failure is open where one of its misses is; else it is what the first of them is."""
    statuses = {
        call: signal.status for signal in signals if signal.type is SignalType.FAILED_SEARCH for call in signal.call_ids
    }
    for signal in signals:
        if signal.type is SignalType.REPEATED_FAILURE:
            signal.status = _of_all([statuses[call] for call in signal.call_ids if call in statuses])


def _doubts_about(miss: Signal, doubts: _Doubts) -> list[Signal]:
    """Return the doubts of its turn that share a word with the miss soon after it, or all of its words later."""
    if not (of_turn := doubts.get((miss.agent_id, miss.turn))):
        return []
    words = frozenset[str]().union(*map(specific_words, miss.query.replace("/", " ").split()))
    return [
        doubt
        for doubt, said in of_turn
        if doubt.step >= miss.step
        and ((len(words) > 1 and words <= said) or (doubt.step - miss.step <= _SOON and words & said))
    ]


def _of_all(statuses: list[Status]) -> Status:
    """Open where one is, undecided where one is; else what the first is."""
    return next(
        (one for one in (Status.OPEN, Status.UNDECIDED) if one in statuses), statuses[0] if statuses else Status.OPEN
    )

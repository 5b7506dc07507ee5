"""What is decided once the hedges of a session are judged: misses that a guess follows, and repeated failures."""

from __future__ import annotations

from knowbound.core.signal import NOT_CLOSED, Ending, Findings, Signal, SignalType, Status
from knowbound.gaps.search_words import words_in
from knowbound.gaps.topics import topic_name
from knowbound.gaps.wanted import specific_words

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
    statuses = {call: one.status for one in signals if one.type is SignalType.FAILED_SEARCH for call in one.call_ids}
    for signal in signals:
        if signal.type is SignalType.REPEATED_FAILURE:
            signal.status = _of_all([statuses[call] for call in signal.call_ids if call in statuses])


def _doubts_about(miss: Signal, doubts: _Doubts) -> list[Signal]:
    """Those of the turn that share a word with it soon after, or all of its words later."""
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

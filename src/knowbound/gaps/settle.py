"""What is decided once the hedges of a session are judged: misses that a guess follows, and repeated failures."""

from __future__ import annotations

from knowbound.core.signal import Ending, Findings, Signal, SignalType, Status
from knowbound.gaps.search_words import words_in
from knowbound.gaps.wanted import telling_words

_SOON = 2  # steps between a miss and the guess that it led to


def settle(found: Findings) -> None:
    """A miss is open where the agent then guesses about it; a repeated failure is what its misses are."""
    guesses: dict[str, list[Signal]] = {}
    for signal in found.signals:
        if signal.type in (SignalType.HEDGING, SignalType.EXPLICIT_MARKER) and signal.status is Status.OPEN:
            guesses.setdefault(signal.agent_id, []).append(signal)
    for signal in found.signals:
        went_on = signal.type is SignalType.FAILED_SEARCH and signal.ending is Ending.WENT_ON
        if went_on and _is_guessed(signal, guesses.get(signal.agent_id, [])):
            signal.status, signal.ending = Status.OPEN, Ending.GUESSED
    settle_repeats(found.signals)


def settle_repeats(signals: list[Signal]) -> None:
    """A repeated failure is open where one of its misses is; else it is what the first of them is."""
    statuses = {call: one.status for one in signals if one.type is SignalType.FAILED_SEARCH for call in one.call_ids}
    for signal in signals:
        if signal.type is SignalType.REPEATED_FAILURE:
            signal.status = _of_all([statuses[call] for call in signal.call_ids if call in statuses])


def _is_guessed(miss: Signal, guesses: list[Signal]) -> bool:
    words = frozenset[str]().union(*map(telling_words, miss.query.replace("/", " ").split()))
    return any(0 <= guess.step - miss.step <= _SOON and not words.isdisjoint(words_in(guess.text)) for guess in guesses)


def _of_all(statuses: list[Status]) -> Status:
    """Open where one is; else what the first is."""
    return Status.OPEN if Status.OPEN in statuses or not statuses else statuses[0]

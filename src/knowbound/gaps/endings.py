"""The ending of each miss, by what the same agent did next (specification 1, section 10: search intent).

A miss is followed for a few steps. A call that finds what was wanted resolves it. So does the empty result itself where
the agent asked whether something is there, concludes that it is not, or took one look and its work went well: it has
its answer. A check that nothing is left and a look before creating are verifications. Asking the user, a hedge, giving
up, or searching again without a find leave it open; after these steps only the name that was missed resolves it.
Once the hedges of the session are judged, a guess about a miss ends it, and repeated failures follow their misses.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from itertools import islice

import msgspec

from knowbound.core.signal import NOT_CLOSED, Cost, Ending, Findings, FoundPlace, Signal, SignalType, Status
from knowbound.core.trace import LOOKUPS, Outcome, Step, ToolCall, ToolKind
from knowbound.gaps.topics import topic_name
from knowbound.gaps.wanted import (
    NOWHERE,
    Wanted,
    asks,
    concludes_absence,
    finds,
    gives_up,
    is_question_tool,
    last_sentence,
    plain_name,
    specific_words,
    topic_names,
    wanted_by,
    wanted_in,
    words_in,
)
from knowbound.text.redact import excerpt

WINDOW = 8  # steps in which a shared word is enough
_NEAR_STEPS = 3  # steps in which words count that do not name what was missed
_MAIN_AGENT = ""  # its agent_id
_LONGEST_QUESTION_CHARS = 4_000
_CORRECTION_CHARS = 240  # of the user's answer that are kept
_SPECIFIC_LETTERS = 6  # of a word by which an answer is known
_MOST_FOLLOWED = 64  # misses of one agent at a time
_MOST_CALLS = 64  # of one step that are looked at
_NEW_TEXT_CHARS = 20_000  # of an edit that are looked through for a name
_MOST_OPEN_NAMES = 2_000  # of a sample
_GUESS_STEPS = 2  # between a miss and a guess that shares one word with it
_MOST_DOUBTS = 200  # of a turn


_Doubts = dict[tuple[str, int], list[tuple[Signal, frozenset[str]]]]  # by agent and turn, each with its words


class ExistenceCheck(StrEnum):
    """A lookup that asked whether something is there."""

    ABSENCE = "absence"  # and expected that it is not
    WHETHER = "whether"


class _Miss(msgspec.Struct):
    """A miss that is being followed."""

    signal: Signal
    wanted: Wanted
    check: ExistenceCheck | None
    time: str
    steps: int = 0
    calls: int = 1
    tokens: int | None = None
    is_doubt: bool = False  # a hedge or a marker
    has_spoken: bool = False  # the agent has said something since
    took_for_absent: bool = False  # its first words conclude that the thing is not there
    gave_up: bool = False
    asked: bool = False
    user_answered: bool = False  # the user's answer is in the trace
    created: bool = False  # the agent wrote the missing thing itself


class Endings:
    """The misses of one session that may still be answered, with what the agent does after each."""

    def __init__(self) -> None:
        self._followed: dict[str, list[_Miss]] = {}  # by agent
        self._open_by_name: dict[str, list[_Miss]] = {}  # past the window, by name
        self._unanswered: list[_Miss] = []  # of the turn, by the main agent: the user's next words may answer them
        self._cached_step: Step | None = None  # the step whose finds are kept
        self._successful_lookups: list[ToolCall] = []
        self.project = ""

    def begin_turn(self, last_said: str, prompt: str) -> None:
        """Begin a turn: decide the main agent's misses, which its last words or the user's prompt may answer."""
        for miss in self._followed.pop(_MAIN_AGENT, ()):
            if last_said:
                miss.asked |= _is_asked(miss, last_said)
                miss.gave_up |= gives_up(last_said, miss.wanted.words)
            self._decide(miss)
        prompt_words = words_in(prompt[:_LONGEST_QUESTION_CHARS]) if self._unanswered else frozenset()
        for miss in self._unanswered:
            signal = miss.signal
            shared = miss.wanted.words & prompt_words
            if signal.ending is Ending.ASKED or any(len(word) >= _SPECIFIC_LETTERS for word in shared):
                signal.correction = " ".join(excerpt(prompt, _CORRECTION_CHARS).split())
                if signal.ending in (Ending.WENT_ON, Ending.ASKED):  # a guess stays a guess, whatever the user says
                    signal.status, signal.ending = Status.RESOLVED, Ending.ASKED  # the user's words answer it
        self._unanswered.clear()

    def new_sample(self) -> None:
        """Decide every miss that is followed: finds of the next sample resolve none of them."""
        for followed in self._followed.values():
            for miss in followed:
                self._decide(miss)
        self._followed.clear()
        self._open_by_name.clear()
        self._unanswered.clear()

    def follow(self, signal: Signal, call: ToolCall, step: Step, *, check: ExistenceCheck | None) -> None:
        """Begin to follow a miss; other calls of the same step may already resolve it."""
        miss = _Miss(signal, wanted_by(call, self.project), check, step.time)
        signal.names = self._names(miss, call, step.agent_id)
        self._followed_by(step.agent_id).append(miss)
        for other in self._lookups_of(step):
            self._resolve_if_found(miss, other, step)

    def _names(self, miss: _Miss, call: ToolCall, agent_id: str) -> tuple[str, ...]:
        """Return the names of a miss; in a chain of searches for the same thing, the first search's name leads."""
        own = topic_names(call, miss.wanted, self.project)
        for earlier in reversed(self._followed.get(agent_id, ())):  # the nearest first
            shared = miss.wanted.words & earlier.wanted.words
            if not earlier.is_doubt and earlier.signal.names and len(shared) >= 2:
                first = earlier.signal.names[0]
                return (first, *(name for name in own if name != first))
        return own

    def _lookups_of(self, step: Step) -> list[ToolCall]:
        """Return the first successful lookups of a step, cached for all of its misses."""
        if self._cached_step is not step:
            found = (call for call in step.calls if call.outcome is Outcome.OK and call.kind in LOOKUPS)
            self._cached_step, self._successful_lookups = step, list(islice(found, _MOST_CALLS))
        return self._successful_lookups

    def doubt(self, signal: Signal, step: Step) -> None:
        """Begin to follow a hedge or a marker; calls of the same step may already resolve it."""
        wanted = wanted_in(signal.text)
        signal.names = tuple(sorted(wanted.names))
        miss = _Miss(signal, wanted, None, step.time, calls=0, is_doubt=True)
        if step.calls:
            self._look_at_calls(miss, step)
            if signal.ending is None and _announces(signal.text, step):
                signal.ending = Ending.FOUND  # "it may be in a.py, let me look": the look is the answer
        self._followed_by(step.agent_id).append(miss)

    def _followed_by(self, agent_id: str) -> list[_Miss]:
        """Return the followed misses of an agent, with room for one more."""
        followed = self._followed.setdefault(agent_id, [])
        if len(followed) >= _MOST_FOLLOWED:
            self._decide(followed.pop(0))  # the oldest
        return followed

    def again(self, signal: Signal, agent_id: str) -> None:
        """Count a further failed call that joined the signal of an earlier miss."""
        for miss in self._followed.get(agent_id, ()):
            if miss.signal is signal:
                miss.calls += 1

    def step(self, step: Step) -> None:
        """Follow the agent's next step, before the misses of this step are taken in."""
        followed = self._followed.get(step.agent_id)
        if followed:
            said = "\n".join(message.text for message in step.said)
            for miss in followed:
                self._follow_step(miss, step, said)
            self._followed[step.agent_id] = [miss for miss in followed if not self._decide_if_over(miss)]
        if self._open_by_name:  # of whichever agent
            for call in step.calls:
                if call.outcome is Outcome.OK and call.kind in LOOKUPS:
                    self._resolve_later(call, step)

    def _follow_step(self, miss: _Miss, step: Step, said: str) -> None:
        """Take the agent's words and calls of one further step into a miss."""
        miss.steps += 1
        if step.tokens is not None:
            miss.tokens = (miss.tokens or 0) + step.tokens
        if said and not miss.is_doubt:
            if not miss.has_spoken or miss.steps <= _NEAR_STEPS:  # later words are about something else
                miss.took_for_absent |= not miss.has_spoken and concludes_absence(said)
                miss.gave_up |= gives_up(said, miss.wanted.words)
            miss.has_spoken = True
        self._look_at_calls(miss, step)

    def _look_at_calls(self, miss: _Miss, step: Step) -> None:
        """Note which calls of a step ask the user about a miss, find it, or create it."""
        for call in step.calls[:_MOST_CALLS]:
            if (
                is_question_tool(call)
                and not miss.is_doubt
                and not miss.wanted.words.isdisjoint(words_in(str(call.input)[:_LONGEST_QUESTION_CHARS]))
            ):
                miss.asked, miss.user_answered = True, call.outcome is Outcome.OK
            if call.outcome is not Outcome.OK:
                continue
            may_answer = call.kind in LOOKUPS or (miss.is_doubt and call.kind is ToolKind.SHELL)  # a test run, say
            if may_answer and miss.signal.ending is None:
                miss.calls += call.kind is not ToolKind.READ  # to read on is work; to search on is what the miss cost
                self._resolve_if_found(miss, call, step)
            elif call.kind is ToolKind.EDIT and self._creates(miss, call):
                miss.created = True

    def _resolve_if_found(self, miss: _Miss, call: ToolCall, step: Step) -> None:
        if miss.signal.ending is not None or not miss.wanted:  # it has an end, or nothing in it can be recognized
            return
        place = finds(call, miss.wanted, self.project, looks_inside=not miss.is_doubt)
        if place is not None:
            self._resolve(miss, call, place, step)

    def _resolve(self, miss: _Miss, call: ToolCall, place: FoundPlace, step: Step) -> None:
        signal = miss.signal
        signal.ending, signal.resolved_by = Ending.FOUND, call.id
        signal.found_at = None if place == NOWHERE else place
        calls = miss.calls + (call.kind is ToolKind.READ)  # of reads, which are not in it, only the one that found it
        signal.cost = Cost(calls, miss.steps, _seconds(miss.time, step.time), miss.tokens)

    def _creates(self, miss: _Miss, call: ToolCall) -> bool:
        """Report whether an edit makes what was missed: in a file of its name, or as a long name in the new text."""
        names = wanted_by(call, self.project).names
        if names & miss.wanted.names:
            return True
        edit = call.input or {}
        keys = ("content", "new_string", "patch")  # under which agents give the new text
        text = next((value for key in keys if isinstance(value := edit.get(key), str)), "")
        long_names = (name for name in miss.wanted.names if len(name) >= _SPECIFIC_LETTERS)
        return bool(text) and any(name in plain_name(text[:_NEW_TEXT_CHARS]) for name in long_names)

    def _decide_if_over(self, miss: _Miss) -> bool:
        """Decide a miss whose window has passed or whose end is known; report whether it was decided."""
        window = _NEAR_STEPS if miss.is_doubt else WINDOW
        if miss.steps < window and miss.signal.ending is None and not miss.created:
            return False
        self._decide(miss)
        return True

    def _decide(self, miss: _Miss) -> None:
        """Set status and ending, once what follows is known; the user's next words may answer what stays open."""
        signal = miss.signal
        self._set_status(miss)
        waits = signal.ending in (Ending.WENT_ON, Ending.ASKED, Ending.GUESSED, Ending.GAVE_UP)
        if waits and signal.agent_id == _MAIN_AGENT and len(self._unanswered) < _MOST_FOLLOWED:
            self._unanswered.append(miss)

    def _set_status(self, miss: _Miss) -> None:
        """Set the status and ending of a miss by what was seen since; the first reason that applies decides."""
        signal = miss.signal
        if signal.cost is None:
            signal.cost = Cost(miss.calls, miss.steps, tokens=miss.tokens)
        if signal.status not in (Status.OPEN, Status.RESOLVED):
            return  # malformed or incidental, as its call says
        if miss.is_doubt:
            if signal.ending is Ending.FOUND:
                signal.status = Status.RESOLVED
            else:
                gave_up = gives_up(signal.text, words_in(signal.text))
                signal.ending = Ending.ASKED if miss.asked else Ending.GAVE_UP if gave_up else Ending.GUESSED
                signal.cost = Cost()  # no call answered it: nothing was spent
            return
        if miss.check is ExistenceCheck.ABSENCE:
            signal.status = Status.VERIFICATION  # the miss was expected, whatever a later call finds
        elif signal.ending is Ending.FOUND:
            signal.status = Status.RESOLVED
        elif miss.check is ExistenceCheck.WHETHER:
            signal.status = Status.VERIFICATION  # the empty result is the answer
        elif miss.created:
            signal.status, signal.ending = Status.VERIFICATION, Ending.CREATED
        elif miss.asked:
            signal.ending = Ending.ASKED
            signal.status = Status.RESOLVED if miss.user_answered else Status.OPEN
        elif miss.gave_up:
            signal.ending = Ending.GAVE_UP
        elif miss.took_for_absent:
            signal.status = Status.VERIFICATION
        else:
            signal.status, signal.ending = Status.UNDECIDED, Ending.WENT_ON
        if signal.status in NOT_CLOSED:  # a later find of its very name may still resolve it
            for name in miss.wanted.names:
                if len(self._open_by_name) < _MOST_OPEN_NAMES:
                    self._open_by_name.setdefault(name, []).append(miss)

    def _resolve_later(self, call: ToolCall, step: Step) -> None:
        """Resolve misses past their window whose very name a call finds."""
        names: Iterable[str] = wanted_by(call, self.project).names
        stems = (plain_name(path.rpartition("/")[2].partition(".")[0]) for path in call.paths)
        for name in {*names, *stems}:
            for miss in self._open_by_name.pop(name, ()):
                if miss.signal.status in NOT_CLOSED:
                    self._resolve(miss, call, finds(call, miss.wanted, self.project) or NOWHERE, step)
                    miss.signal.status = Status.RESOLVED


def _is_asked(miss: _Miss, last_said: str) -> bool:
    """Report whether the last words ask about a miss; a doubt has to be a question in them itself."""
    if miss.is_doubt:  # its text is a sentence of the agent
        return "?" in miss.signal.text.replace("？", "?") and miss.signal.text in last_said
    return asks(last_said, miss.wanted.words)


def _announces(doubt: str, step: Step) -> bool:
    """Report whether a doubt is the last that the agent says before it looks: then the call is about it."""
    looks = any(call.outcome is Outcome.OK and call.kind in (*LOOKUPS, ToolKind.SHELL) for call in step.calls)
    return looks and last_sentence(step.said[-1].text) in doubt


def _seconds(start: str, end: str) -> float | None:
    try:
        elapsed = (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
    except (ValueError, TypeError):  # a trace without times, or one time with a zone and one without
        return None
    return round(elapsed, 1) if elapsed >= 0 else None  # clocks may go backwards


def settle(found: Findings) -> None:
    """End each miss that a doubt (hedge or marker) about it follows: it was guessed. The doubt gets its topic."""
    doubts: _Doubts = {}
    for signal in found.signals:
        if signal.type in (SignalType.HEDGING, SignalType.EXPLICIT_MARKER) and signal.status is Status.OPEN:
            of_turn = doubts.setdefault((signal.agent_id, signal.turn), [])
            if len(of_turn) < _MOST_DOUBTS:
                of_turn.append((signal, words_in(signal.text)))
    for signal in found.signals:
        if signal.type is not SignalType.FAILED_SEARCH or not (about := _doubts_about(signal, doubts)):
            continue
        took_for_absent = signal.ending is None and signal.status is Status.VERIFICATION  # a doubt says it was unsure
        if signal.ending is Ending.WENT_ON or took_for_absent:
            signal.status, signal.ending = Status.UNDECIDED, Ending.GUESSED
        if signal.status in NOT_CLOSED:
            for doubt in about:
                doubt.names = tuple(dict.fromkeys((*doubt.names, topic_name(signal))))
    settle_repeats(found.signals)


def settle_repeats(signals: list[Signal]) -> None:
    """Give each repeated failure the joint status of its misses."""
    statuses = {
        id_: signal.status for signal in signals if signal.type is SignalType.FAILED_SEARCH for id_ in signal.call_ids
    }
    for signal in signals:
        if signal.type is SignalType.REPEATED_FAILURE:
            signal.status = _joint_status([statuses[id_] for id_ in signal.call_ids if id_ in statuses])


def _doubts_about(miss: Signal, doubts: _Doubts) -> list[Signal]:
    """Return the doubts of its turn that share a word with the miss soon after it, or all of its words later."""
    words = frozenset[str]().union(*map(specific_words, miss.query.replace("/", " ").split()))
    return [
        doubt
        for doubt, doubted in doubts.get((miss.agent_id, miss.turn), ())
        if doubt.step >= miss.step
        and ((len(words) > 1 and words <= doubted) or (doubt.step - miss.step <= _GUESS_STEPS and words & doubted))
    ]


def _joint_status(statuses: list[Status]) -> Status:
    """Return open if a status is open, or there is none; else undecided if a status is; else the first."""
    if Status.OPEN in statuses or not statuses:
        return Status.OPEN
    return Status.UNDECIDED if Status.UNDECIDED in statuses else statuses[0]

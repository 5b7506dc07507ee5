"""One run of a hook: its time limit, and exactly one ending, which is recorded.

One lock decides which thread ends the run: the main thread takes it before it writes the answer, the watching thread
before it gives up. So no answer is written after the run was given up, and a delivered answer is recorded as delivered.

A hook that queues a turn gives up when the agent sends nothing or the disk hangs, but not because a busy machine took
the whole limit to start it: with that limit, all but 6 of 200 hooks at once gave up, and none ended earlier for it.
"""

from __future__ import annotations

import _thread  # threading itself costs 4 ms
import json
import os
import time
from contextlib import suppress

from knowbound import __version__
from knowbound.agent import hook_log
from knowbound.agent.hook_entry import AFTER_TOOLS
from knowbound.injection import contexts, hook_settings
from knowbound.injection.record import Record
from knowbound.quality import ended
from knowbound.store.data_dir import INJECTIONS, RESCUES, data_folder
from knowbound.store.owner import is_usable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn, TypeAlias

    from knowbound.agent.rescue_answer import RescueAnswer
    from knowbound.agent.stop_check import StopCheck
    from knowbound.injection.choosing import ModelChoice
    from knowbound.injection.hook_settings import HookSettings
    from knowbound.injection.inject import Choice
    from knowbound.injection.prompt import HookPrompt
    from knowbound.injection.store_index import SessionStart
    from knowbound.quality.ended import EndedTurn

    Delivered: TypeAlias = Choice | SessionStart | RescueAnswer

DEFAULT_LIMIT_MS = 1_000  # until the settings are known; as in config.py, which is too slow to load
_LIMIT_SETTING = "KNOWBOUND_INJECTION_TIME_LIMIT_MS"
_TO_RECORD_SECONDS = 1.0  # for recording a delivered answer: then the process ends without the record
_TO_QUEUE_SECONDS = 4.0  # for recording an ended turn, after the limit: agents end a hook after 5
_STAT = "/proc/self/stat"
_START_TIME = 19  # field 22 of proc(5), counted after the name in brackets, which may have any text
_LONGEST = 24 * 3600.0  # seconds; more is no hook, but the clock of another machine (some sandboxes have one)


def seconds_since_start() -> float:
    """Return the wall time since the kernel started the process, or the CPU time if the kernel does not say."""
    since = _seconds_by_kernel() if hasattr(time, "CLOCK_BOOTTIME") else None
    return time.process_time() if since is None or not 0 <= since < _LONGEST else since


def _seconds_by_kernel() -> float | None:
    """Return the seconds by clocks that ignore changes of the date and count while the machine sleeps."""
    try:
        with open(_STAT, "rb") as file:
            fields = file.read(4096).rpartition(b")")[2].split()
        ticks = int(fields[_START_TIME])
        return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return None


_STARTED = time.monotonic() - seconds_since_start()


class HookRun:
    """One run, from the start of the process to its ending."""

    def __init__(self, event: str, *, is_trial: bool = False) -> None:
        self.event = event
        self.is_trial = is_trial  # `doctor` tries the hook: nothing is recorded
        self.root = ""
        self.home = ""  # the data folder; if empty, nothing is injected or recorded
        self.record = Record(event, RESCUES if event in AFTER_TOOLS else INJECTIONS)
        self.is_recorded = True  # in the log of injections or rescues; the hook log has every run
        self.tree = ""  # the source tree whose index is to be updated
        self.index_is_outdated = False
        self.asks_later = False  # a model is to be asked after the answer
        self.notice = ""  # a sentence for the user, beside the context
        given = os.environ.get(_LIMIT_SETTING, "")
        self._limit_is_known = given.isdecimal() and len(given) < 10
        self.limit_ms = int(given) if self._limit_is_known else DEFAULT_LIMIT_MS
        self._deciding = _thread.allocate_lock()  # the thread that takes it ends the run
        self._has_decided = False  # the main thread took the lock
        self._is_ended = False
        self._is_writing = False
        self._asked: ModelChoice | None = None
        self._injects = event not in ended.EVENTS
        self.has_input = False  # the agent's input is read
        self.spent_ms = 0.0  # until the ending

    def watch(self) -> None:
        """Start a thread that gives up when the time is over: the agent must not wait."""
        _thread.start_new_thread(self._watch, ())

    def use_folder(self, root: str, home: str) -> None:
        """Use this project from now on: its data folder, if that is this user's own, and its limit."""
        if (root, home) == (self.root, self.home) and home:
            return
        self.root, self.home = (root, home) if home and is_usable(home) else ("", "")
        if self.home and (settings := hook_settings.cached(root, home)):
            self.limit_ms = hook_settings.limit_of(settings, self.event)
        self._limit_is_known = True

    def settings(self) -> HookSettings:
        """Return the project's settings, read again if they changed."""
        settings = hook_settings.load(self.root, self.home, keep=not self.is_trial)
        self.limit_ms = hook_settings.limit_of(settings, self.event)
        return settings

    @property
    def until(self) -> float:
        """The end of the limit, in monotonic seconds."""
        return _STARTED + self.limit_ms / 1000

    def add_model(self, asked: ModelChoice) -> None:
        """Note a model's choice, or the reason for a choice without it, for the record and the log."""
        self._asked = asked
        self.record.add_model(asked)

    # The endings

    def deliver(self, event_name: str, chosen: Delivered, prompt: HookPrompt) -> None:
        """Record and write the context. Raises OSError, and writes nothing, if it cannot be recorded."""
        output: dict[str, object] = {
            "hookSpecificOutput": {"hookEventName": event_name, "additionalContext": chosen.text}
        }
        if self.notice:
            output["systemMessage"] = self.notice
        answer = json.dumps(output, ensure_ascii=False).encode("utf-8", "replace")
        if not self.is_trial:
            self.record.begin(self.home)
        self._decide()
        if _spent_ms() > self.limit_ms:  # the watching thread has not noticed yet
            self._give_up()
        self._is_writing = True
        try:
            _write(answer)
        except OSError as error:  # the agent has gone
            self._is_writing = False
            return self._end("undelivered", reason=f"the answer could not be written: {error.strerror}")
        self._is_writing = False
        if prompt.context and not self.is_trial:
            try:
                contexts.remember(self.home, prompt.context, chosen.keys())
            except OSError as error:
                return self._end(chosen.outcome, chosen, reason=f"it may be injected again: {error.strerror}")
        return self._end(chosen.outcome, chosen)

    def queue(self, turn: EndedTurn, check: StopCheck | None = None) -> None:
        """Queue an ended turn to be scored, and write what the check says. Raises OSError if it cannot be queued."""
        if self.home and not self.is_trial:
            turn.begin(self.home)
        said = ""
        if check is not None:
            try:
                said = check.sentence(self.until)
            except Exception:  # a check that fails says nothing
                said = ""
        self._decide()
        if check is not None and said:
            try:
                _write(check.output(said))
            except OSError as error:
                return self._end("undelivered", reason=f"the answer could not be written: {error.strerror}")
            return self._end("blocked" if check.mode == "block" else "warned")
        return self._end("queued" if self.home else "nothing")

    def inject_nothing(self, outcome: str = "nothing") -> None:
        """Inject nothing, and record that. A sentence for the user is written all the same."""
        self._decide()
        if self.notice:
            with suppress(OSError):  # the agent has gone
                _write(json.dumps({"systemMessage": self.notice}, ensure_ascii=False).encode("utf-8", "replace"))
        self._end(outcome)

    def end_off(self) -> NoReturn:
        """End a run while hooks are switched off; nothing is recorded."""
        self._decide()
        if self.is_trial:
            self._report("off")
        os._exit(0)

    def fail(self, reason: str) -> None:
        """Write nothing, and record the reason. Never raises."""
        if self._is_ended:
            return
        try:
            self._decide()
            self._end("failed", reason=hook_log.without_secrets(reason))
        except Exception:  # no log is left to write to
            return

    def _decide(self) -> None:
        """Take the decision to end the run; if it was given up, wait for the end of the process."""
        if not self._has_decided:
            self._deciding.acquire()
            self._has_decided = True

    def _end(self, outcome: str, chosen: Delivered | None = None, *, reason: str = "") -> None:
        """Record the ending, once; if the data folder cannot be written, it is logged elsewhere."""
        self._is_ended = True
        reason = reason or (self._asked.problem if self._asked else "")
        if self.is_trial:
            return self._report(outcome, reason)
        if not self.home:
            return None
        spent, delivered = _spent_ms(), chosen is not None
        self.spent_ms = spent
        items, tokens = (len(chosen.items), chosen.tokens) if chosen else (0, 0)
        try:
            if self._injects and self.is_recorded:
                self.record.end(self.home, outcome, spent, tokens, delivered=delivered, reason=reason)
        except OSError as error:
            reason = f"the record is not complete: {error}; {reason}".rstrip("; ")
            outcome = outcome if delivered else "failed"
        model = self._asked.outcome if self._asked else ""
        return hook_log.write(self.home, self.event, outcome, spent, items, tokens, reason, model)

    def _report(self, outcome: str, reason: str = "") -> None:
        """Report the outcome of a trial on stderr."""
        found = {"version": __version__, "outcome": outcome, "reason": reason, "home": self.home, "ms": _spent_ms()}
        os.write(2, json.dumps(found).encode() + b"\n")

    # The time limit

    def _watch(self) -> None:
        to_look_up = time.monotonic() + DEFAULT_LIMIT_MS / 1000  # time to read the limit, if the start took too long
        to_start = 0.0 if self._injects else _spent_ms()
        while (left := self.limit_ms + to_start - _spent_ms()) > 0 or not (
            self._limit_is_known or time.monotonic() > to_look_up
        ):
            time.sleep(min(max(left / 1000, 0.005), 0.05))  # the limit may change when the settings are read
        to_queue = time.monotonic() + _TO_QUEUE_SECONDS
        while not self._injects and self.has_input and not self._is_ended and time.monotonic() < to_queue:
            time.sleep(0.02)
        if self._deciding.acquire(blocking=False):
            self._give_up()
        time.sleep(_TO_RECORD_SECONDS)
        while self._is_writing:  # a client may take half of an answer for a whole one
            time.sleep(0.05)
        os._exit(0)

    def _give_up(self) -> NoReturn:
        try:
            if not self.home:  # there was no time to find it
                self.use_folder(*data_folder(os.getcwd()))
            self._end("gave_up", reason=f"the time limit of {self.limit_ms} ms is over (injection.time_limit_ms)")
        finally:
            os._exit(0)


def _spent_ms() -> float:
    return (time.monotonic() - _STARTED) * 1000


def release_agent() -> None:
    """Close the streams that the agent reads: it has its answer."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)


def continue_detached() -> None:
    """Continue in a new process: agents wait only for the end of the process they started.

    If no process can be made, the agent waits a little longer.
    """
    if not hasattr(os, "fork"):
        return
    try:
        if os.fork():
            os._exit(0)
        os.setsid()
        os.nice(10)  # other hooks come first
    except OSError:
        return


def _write(answer: bytes) -> None:
    left = memoryview(answer)
    while left:
        left = left[os.write(1, left) :]

"""One run of a hook: its time limit, and exactly one ending, which is recorded.

Who ends the run is decided once, by a lock: the main thread takes it before it writes the answer, the watching thread
before it gives up. So no answer is written after the run was given up, and what was delivered is recorded as such.

A hook that queues a turn gives up when nothing comes from the agent, or when the disk hangs; not because the machine is
so busy that starting took all of the time. Of 200 at once all but 6 gave up so, and none ended earlier for it.
"""

from __future__ import annotations

import _thread  # threading itself costs 4 ms
import json
import os
import time

from knowbound import __version__
from knowbound.agent import hook_log
from knowbound.agent.hook_entry import AFTER_TOOLS
from knowbound.agent.process_start import seconds_since_start
from knowbound.injection import contexts, hook_settings
from knowbound.injection.record import Record
from knowbound.quality import ended
from knowbound.store.data_dir import INJECTIONS, RESCUES, data_folder
from knowbound.store.owner import OURS, may_be_tracked, owner_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from knowbound.agent.rescue_answer import SaidRescue
    from knowbound.agent.stop_check import StopCheck
    from knowbound.injection.hook_settings import HookSettings
    from knowbound.injection.inject import Choice
    from knowbound.injection.model_choice import ModelChoice
    from knowbound.injection.prompt import HookPrompt
    from knowbound.injection.store_index import SessionStart
    from knowbound.quality.ended import EndedTurn

DEFAULT_LIMIT_MS = 1_000  # as in config.py, which is too slow to load; until the settings are known
_LIMIT_SETTING = "KNOWBOUND_INJECTION_TIME_LIMIT_MS"
_TO_RECORD_SECONDS = 1.0  # for the record of an answer that was delivered: then the process ends without
_TO_QUEUE_SECONDS = 4.0  # for the record of a turn that ended, after the limit: agents end a hook after 5
_STARTED = time.monotonic() - seconds_since_start()


class HookRun:
    """One run, from the start of the process to its ending."""

    def __init__(self, event: str, *, is_trial: bool = False) -> None:
        self.event = event
        self.is_trial = is_trial  # `doctor` tries the hook: nothing is recorded
        self.root = ""
        self.home = ""  # the data folder; without one nothing is injected or recorded
        self.record = Record(event, RESCUES if event in AFTER_TOOLS else INJECTIONS)
        self.is_recorded = True  # in the log of injections or rescues; the hook log has every run
        self.tree = ""  # a source tree whose index is to be brought up to date
        self.index_is_outdated = False
        given = os.environ.get(_LIMIT_SETTING, "")
        self._limit_is_known = given.isdecimal() and len(given) < 10
        self.limit_ms = int(given) if self._limit_is_known else DEFAULT_LIMIT_MS
        self._deciding = _thread.allocate_lock()  # whoever takes it ends the run
        self._has_decided = False  # of the main thread
        self._is_ended = False
        self._is_writing = False
        self._asked: ModelChoice | None = None
        self._injects = event not in ended.EVENTS
        self.has_input = False  # all that the agent says is read
        self.spent_ms = 0.0  # until its ending

    def watch(self) -> None:
        """Give up when the time is over, wherever the work is: the agent must not wait."""
        _thread.start_new_thread(self._watch, ())

    def use_folder(self, root: str, home: str) -> None:
        """Work with this project from now on: with its data folder, where it is this user's own, and its limit."""
        if (root, home) == (self.root, self.home) and home:
            return
        self.root, self.home = (root, home) if home and _is_ours(home) else ("", "")
        if self.home and (settings := hook_settings.cached(root, home)):
            self.limit_ms = settings.time_limit_ms
        self._limit_is_known = True

    def settings(self) -> HookSettings:
        """The project's settings, read where they changed."""
        settings = hook_settings.load(self.root, self.home, keep=not self.is_trial)
        self.limit_ms = settings.time_limit_ms
        return settings

    @property
    def until(self) -> float:
        """When the limit is over, in monotonic seconds."""
        return _STARTED + self.limit_ms / 1000

    def add_model(self, asked: ModelChoice) -> None:
        """What a model chose, or why the choice was made without it: for the record and the log."""
        self._asked = asked
        self.record.add_model(asked.chooser, asked.outcome, asked.ms)

    # The endings

    def deliver(self, answer: bytes, chosen: Choice | SessionStart | SaidRescue, prompt: HookPrompt) -> None:
        """Write the answer. Raises OSError where it cannot be recorded: then it is not written."""
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
        """A turn has ended: have it scored, and say what the check says. Raises OSError where it cannot be kept."""
        if self.home and not self.is_trial:
            turn.begin(self.home)
        said = _said(check, self.until) if check is not None else ""
        self._decide()
        if check is not None and said:
            try:
                _write(check.output(said))
            except OSError as error:
                return self._end("undelivered", reason=f"the answer could not be written: {error.strerror}")
            return self._end("blocked" if check.mode == "block" else "warned")
        return self._end("queued" if self.home else "nothing")

    def inject_nothing(self) -> None:
        """Say nothing, and record that."""
        self._decide()
        self._end("nothing")

    def hold_out(self) -> None:
        """Say nothing although something would be injected, and record both."""
        self._decide()
        self._end("held_out")

    def end_off(self) -> NoReturn:
        """Hooks are switched off: nothing is recorded."""
        self._decide()
        if self.is_trial:
            self._report("off")
        os._exit(0)

    def fail(self, reason: str) -> None:
        """Say nothing, and record why; never an error."""
        if self._is_ended:
            return
        try:
            self._decide()
            self._end("failed", reason=hook_log.without_secrets(reason))
        except Exception:  # nowhere to say it
            return

    def _decide(self) -> None:
        """End the run here. Where it was given up, the process is about to end, and this waits for it."""
        if not self._has_decided:
            self._deciding.acquire()
            self._has_decided = True

    def _end(self, outcome: str, chosen: Choice | SessionStart | SaidRescue | None = None, *, reason: str = "") -> None:
        """Record the ending, once; what cannot be recorded in the data folder is at least logged elsewhere."""
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
        """Say on stderr what came of a trial."""
        found = {"version": __version__, "outcome": outcome, "reason": reason, "home": self.home, "ms": _spent_ms()}
        os.write(2, json.dumps(found).encode() + b"\n")

    # The time limit

    def _watch(self) -> None:
        to_look_up = time.monotonic() + DEFAULT_LIMIT_MS / 1000  # what the limit is, where the start took too long
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
        while self._is_writing:  # whoever reads half of an answer may take it for one
            time.sleep(0.05)
        os._exit(0)

    def _give_up(self) -> NoReturn:
        try:
            if not self.home:  # it had no time to look
                self.use_folder(*data_folder(os.getcwd()))
            self._end("gave_up", reason=f"the time limit of {self.limit_ms} ms is over (injection.time_limit_ms)")
        finally:
            os._exit(0)


def _said(check: StopCheck, until: float) -> str:
    """What the check says before the agent stops; a check that fails says nothing."""
    try:
        return check.said(until)
    except Exception:
        return ""


def _spent_ms() -> float:
    return (time.monotonic() - _STARTED) * 1000


def release_agent() -> None:
    """Close what the agent reads: it has its answer."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)


def continue_detached() -> None:
    """Go on in a process of its own: agents wait for the end of the one they started, not for this.

    Where no process can be made, the agent waits a little longer.
    """
    if not hasattr(os, "fork"):
        return
    try:
        if os.fork():
            os._exit(0)
        os.setsid()
        os.nice(10)  # hooks of others come first
    except OSError:
        return


def _write(answer: bytes) -> None:
    left = memoryview(answer)
    while left:
        left = left[os.write(1, left) :]


def _is_ours(home: str) -> bool:
    """Whether this user made the data folder, or named it. Another is neither read nor written."""
    is_given = bool(os.environ.get("KNOWBOUND_HOME"))
    return (is_given or owner_of(home) == OURS) and not may_be_tracked(home)

"""One run of a hook: it answers an event within its time limit, and has exactly one ending, which is recorded.

A run answers in a process of its own (process.py) or in the MCP server (agent/mcp/hook_events.py). What a kind of event
needs is loaded for it alone: prompt.py, rescue.py, stop.py; finish.py does the work that no agent waits for. All use
the standard library and our smallest modules, and read only the local index, so a backend that is down does not matter.
Claude Code and Codex use the same JSON, and the same names for the events that both have (agent/install/clients.py).

One lock decides which thread ends the run: the thread that works takes it before it answers, the thread that watches
the limit before it gives up. So no answer follows after the run was given up, and a delivered answer is recorded as
delivered.
"""

from __future__ import annotations

import _thread  # threading itself costs 4 ms
import time
from contextlib import suppress

from knowbound.agent.hook import log as hook_log
from knowbound.agent.hook import resident
from knowbound.agent.hook_entry import AFTER_TOOLS
from knowbound.injection import hook_settings
from knowbound.injection.hook_settings import SHADOW, is_shadowed
from knowbound.injection.prompt import HookPrompt, remember_keys
from knowbound.injection.record import Record
from knowbound.store.data_dir import INJECTIONS, RESCUES, data_folder, is_usable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    from knowbound.agent.hook.rescue import RescueAnswer
    from knowbound.agent.hook.stop import StopCheck
    from knowbound.injection.hook_settings import HookSettings
    from knowbound.injection.inject import Choice
    from knowbound.injection.session_start import SessionStart
    from knowbound.quality.ended import EndedTurn

    Delivered: TypeAlias = Choice | SessionStart | RescueAnswer
    Answered: TypeAlias = Callable[[str], None]  # takes the reason why the answer did not reach the agent, or ""

# The events that queue a turn, with their names in clients. Others do not load quality/ended.py.
TURN_ENDS = {
    "stop": "Stop",
    "stop-failure": "StopFailure",
    "interrupt": "Interrupt",
    "session-end": "SessionEnd",
    "subagent-stop": "SubagentStop",
}
INJECTING = {"user-prompt-submit": "UserPromptSubmit", "session-start": "SessionStart"}
EVENTS = INJECTING | TURN_ENDS | AFTER_TOOLS
DEFAULT_LIMIT_MS = 1_000  # until the settings are known; as in config.py, which is too slow to load


class RefusedError(Exception):
    """The reason why nothing is injected, for the log."""


class GivenUpError(Exception):
    """The run was ended by the thread that watches its limit."""


def answer(run: HookRun, event: str, payload: dict[str, Any], started_in: str) -> None:
    """Answer an event, unless another run has claimed it, and end the run."""
    prompt = HookPrompt(payload)
    run.use_folder(*data_folder(prompt.cwd or started_in))
    if run.home and not run.is_trial:
        run.has_claimed = resident.claim(run.home, event, prompt, payload)
        run.is_answered_elsewhere = not run.has_claimed
    if run.is_answered_elsewhere:
        run.leave()
    elif event in TURN_ENDS:
        from knowbound.quality.ended import EndedTurn  # noqa: PLC0415  # other events need none

        run.ended_turn = EndedTurn(event, prompt, payload)
        if event == "stop":
            from knowbound.agent.hook.stop import stop_check_of  # noqa: PLC0415

            run.check = stop_check_of(run, prompt, payload)
        run.queue(run.ended_turn, run.check if run.check is not None and run.check.mode != "off" else None)
    else:
        run.record.add_prompt(prompt)
        if event in AFTER_TOOLS:
            from knowbound.agent.hook.rescue import answer_miss  # noqa: PLC0415  # other events need none

            answer_miss(run, event, payload, prompt)
        else:
            from knowbound.agent.hook.prompt import answer_prompt  # noqa: PLC0415

            answer_prompt(run, event, prompt)


class HookRun:
    """One run, from its start to its ending."""

    waits = False  # a run that was given up waits for the end of its process, instead of an error

    def __init__(self, event: str, started: float, *, is_trial: bool = False) -> None:
        self.event = event
        self.started = started  # monotonic seconds
        self.is_trial = is_trial  # `doctor` tries the hook: nothing is recorded
        self.root = ""
        self.home = ""  # the data folder; if empty, nothing is injected or recorded
        self.cached: HookSettings | None = None  # the settings; None: not read, or changed since they were cached
        self.record = Record(event, RESCUES if event in AFTER_TOOLS else INJECTIONS)
        self.is_recorded = True  # in the log of injections or rescues; the hook log has every run
        self.ended_turn: EndedTurn | None = None
        self.check: StopCheck | None = None  # before the agent stops
        self.tree = ""  # the source tree whose index is to be updated
        self.index_is_outdated = False
        self.asks_later = False  # a model is to be asked after the answer
        self.is_answered_elsewhere = False  # by another run
        self.has_claimed = False  # this run answers it
        self.tool_calls, self.tool_ms = 0, 0.0  # of the turn that ended, as far as this process answered them
        self.notice = ""  # a sentence for the user, beside the context
        self.late_text = ""  # context that a model chose meanwhile, beside the answer
        self.limit_ms = DEFAULT_LIMIT_MS
        self.limit_is_known = False
        self.injects = event not in TURN_ENDS
        self.is_ended = False
        self.spent_ms = 0.0  # until the ending
        self._ending_lock = _thread.allocate_lock()  # the thread that takes it ends the run
        self._has_decided = False

    def use_folder(self, root: str, home: str) -> None:
        """Use this project from now on: its data folder, if that is this user's own, and its limit."""
        if (root, home) == (self.root, self.home) and home:
            return
        self.root, self.home = (root, home) if home and is_usable(home) else ("", "")
        self.cached = hook_settings.cached(root, home) if self.home else None
        if self.cached:
            self.limit_ms = self.cached.time_limit_ms
        self.limit_is_known = True

    def settings(self) -> HookSettings:
        """Return the project's settings, read again if they changed."""
        if self.cached is None:
            self.cached = hook_settings.load(self.root, self.home, keep=not self.is_trial)
            self.limit_ms = self.cached.time_limit_ms
        return self.cached

    @property
    def deadline(self) -> float:
        """The end of the limit, in monotonic seconds."""
        return self.started + self.limit_ms / 1000

    def elapsed_ms(self) -> float:
        """Return the milliseconds since the start."""
        return (time.monotonic() - self.started) * 1000

    def send(self, output: dict[str, Any], answered: Answered) -> None:
        """Give the agent its answer, and call `answered` when it has it, or when that failed."""
        raise NotImplementedError

    # The endings

    def deliver(self, event_name: str, chosen: Delivered, prompt: HookPrompt) -> None:
        """Record the context and answer with it. Raises OSError, and answers nothing, if it cannot be recorded.

        In shadow the choice is recorded, and nothing is answered.
        """
        if is_shadowed(self.home):
            self.record.add_arm(SHADOW)
            if prompt.context and not self.is_trial:  # chosen once a context, as it would be
                with suppress(OSError):
                    remember_keys(self.home, prompt.context, chosen.keys())
            return self.inject_nothing(SHADOW)
        if not self.is_trial:
            self.record.begin(self.home)
        self.decide()
        if self.elapsed_ms() > self.limit_ms:  # the watching thread has not noticed yet
            return self.give_up()

        def answered(problem: str) -> None:
            if problem:
                return self._end("undelivered", reason=problem)
            if prompt.context and not self.is_trial:
                try:
                    remember_keys(self.home, prompt.context, chosen.keys())
                except OSError as error:
                    return self._end(chosen.outcome, chosen, reason=f"it may be injected again: {error.strerror}")
            return self._end(chosen.outcome, chosen)

        return self.send(self._output(event_name, chosen.text), answered)

    def queue(self, turn: EndedTurn, check: StopCheck | None = None) -> None:
        """Queue an ended turn to be scored, and answer what the check says. Raises OSError if it cannot be queued."""
        if self.home and not self.is_trial:
            turn.begin(self.home)
        sentence = ""
        if check is not None:
            try:
                sentence = check.sentence(self.deadline)
            except Exception:  # a check that fails says nothing
                sentence = ""
        self.decide()
        if check is None or not sentence:
            return self.send({}, lambda _: self._end("queued" if self.home else "nothing"))
        outcome = "blocked" if check.mode == "block" else "warned"
        return self.send(check.output(sentence), lambda why: self._end("undelivered" if why else outcome, reason=why))

    def inject_nothing(self, outcome: str = "nothing", *, reason: str = "") -> None:
        """Inject nothing, and record that. A sentence for the user, or a late answer, is sent all the same."""
        self.decide()
        output = self._output(AFTER_TOOLS.get(self.event, ""), "")
        self.send(output, lambda _: self._end(outcome, reason=reason))

    def fail(self, reason: str) -> None:
        """Answer nothing, and record the reason. Never raises."""
        if self.is_ended:
            return
        try:
            self.decide()
            self._end("failed", reason=hook_log.without_secrets(reason))
        except Exception:  # no log is left to write to, or the run was given up
            return

    def leave(self) -> None:
        """Answer nothing and record nothing: another run has claimed the event."""
        self.decide()
        self.is_answered_elsewhere = self.is_ended = True

    def give_up(self) -> None:
        """Record that the limit is over."""
        self._end("gave_up", reason=f"the time limit of {self.limit_ms} ms is over (injection.time_limit_ms)")

    def decide(self) -> None:
        """Take the decision to end the run. Raises GivenUpError if it was given up."""
        if not self._has_decided:
            if not self._ending_lock.acquire(blocking=self.waits):
                raise GivenUpError
            self._has_decided = True

    def take_over(self) -> bool:
        """Take the decision from the thread that works, and report whether it had not decided yet."""
        return self._ending_lock.acquire(blocking=False)

    def _output(self, event_name: str, text: str) -> dict[str, Any]:
        """Return the client's JSON: the notice for the user, and the late and given context unless in shadow."""
        context = "" if is_shadowed(self.home) else "\n\n".join(filter(None, (self.late_text, text)))
        output: dict[str, Any] = {"systemMessage": self.notice} if self.notice else {}
        if context:
            output["hookSpecificOutput"] = {"hookEventName": event_name, "additionalContext": context}
        return output

    def _end(self, outcome: str, chosen: Delivered | None = None, *, reason: str = "") -> None:
        """Record the ending, once; if the data folder cannot be written, it is logged elsewhere."""
        self.is_ended = True
        self.spent_ms = spent = self.elapsed_ms()
        if self.is_trial:
            return self.report(outcome, reason)
        if not self.home:
            return None
        delivered = chosen is not None
        items, tokens = (len(chosen.items), chosen.tokens) if chosen else (0, 0)
        try:
            if self.injects and self.is_recorded:
                self.record.end(self.home, outcome, spent, tokens, delivered=delivered, reason=reason)
        except OSError as error:
            reason = f"the record is not complete: {error}; {reason}".rstrip("; ")
            outcome = outcome if delivered else "failed"
        return hook_log.write(self.home, self.event, outcome, spent, items=items, tokens=tokens, reason=reason)

    def report(self, outcome: str, reason: str = "") -> None:
        """Report the outcome of a trial."""

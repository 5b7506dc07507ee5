"""A hook as a process of its own: reads the event, answers on standard output, and ends when its time is over.

    knowbound-hook user-prompt-submit|session-start      the agent's hook JSON on stdin, its answer on stdout
    knowbound-hook stop|stop-failure|interrupt|session-end|subagent-stop      queues the turn to be scored; no answer
    knowbound-hook post-tool-use|post-tool-use-failure   the place that a missed lookup meant (rescue.py)
    knowbound-hook finish                                the rest of an event that the MCP server answered

After any failure the agent gets no context and no error, the exit code is 0, and the reason is in the hook log, which
`knowbound doctor` shows. A hook that queues a turn gives up when the agent sends nothing or the disk hangs, but not
because a busy machine took the whole limit to start it: with that limit, all but 6 of 200 hooks at once gave up, and
none ended earlier for it.
"""

from __future__ import annotations

import _thread  # threading itself costs 4 ms
import gc
import json
import os
import time

from knowbound import __version__
from knowbound.agent.hook.resident import is_off
from knowbound.agent.hook.run import DEFAULT_LIMIT_MS, EVENTS, HookRun, RefusedError, answer
from knowbound.agent.hook_entry import FINISH, MOST_INPUT, TRIAL, read_input
from knowbound.store.data_dir import data_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from knowbound.agent.hook.run import Answered

_LIMIT_SETTING = "KNOWBOUND_INJECTION_TIME_LIMIT_MS"
_TO_RECORD_SECONDS = 1.0  # for recording a delivered answer: then the process ends without the record
_TO_QUEUE_SECONDS = 4.0  # for recording an ended turn, after the limit: agents end a hook after 5
_STAT = "/proc/self/stat"  # posix: where it is not there, the CPU time counts
_START_TIME = 19  # field 22 of proc(5), counted after the name in brackets, which may have any text
_LONGEST_RUN_SECONDS = 24 * 3600.0  # more is no hook, but the clock of another machine (some sandboxes have one)


def main(args: list[str], data: bytes | None = None) -> NoReturn:
    """Answer one event; `data` is its input, if that was read already."""
    gc.disable()  # the process is over before there is anything to collect
    event = args[0] if args else ""
    run = ProcessRun(event if event in EVENTS else "unknown", is_trial=bool(os.environ.get(TRIAL)))
    payload: dict[str, Any] = {}
    try:
        if event == FINISH:
            from knowbound.agent.hook.finish import finish, resumed  # noqa: PLC0415

            finish(*resumed(_decoded(_read_input())))
            os._exit(0)
        run.watch()
        if is_off():
            _read_input()
            run.end_off()
        run.use_folder(*data_folder(_started_in()))  # for its time limit and its log, until the input names a folder
        payload = _decoded(_read_input() if data is None else data)
        run.has_input = True
        answer(run, event, payload, _started_in())
    except RefusedError as refusal:
        run.fail(str(refusal))
    except BaseException as error:
        run.fail(f"{type(error).__name__}: {error}")
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):  # the agent has its answer, and waits for the end of its streams
            os.dup2(nowhere, descriptor)
        if run.home and not run.is_trial:
            _continue_detached()
            from knowbound.agent.hook.finish import finish  # noqa: PLC0415  # the agent has its answer

            finish(run, payload)
    finally:
        os._exit(0)  # no interpreter teardown, no late exception, always 0


class ProcessRun(HookRun):
    """The run of a process, from its start."""

    waits = True

    def __init__(self, event: str, *, is_trial: bool) -> None:
        super().__init__(event, time.monotonic() - seconds_since_start(), is_trial=is_trial)
        limit = os.environ.get(_LIMIT_SETTING, "")
        if limit.isdecimal() and len(limit) < 10:
            self.limit_ms, self.limit_is_known = int(limit), True
        self.has_input = False  # the agent's input is read
        self._is_writing = False

    def send(self, output: dict[str, Any], answered: Answered) -> None:
        """Write the answer to standard output."""
        problem = ""
        unwritten = memoryview(json.dumps(output, ensure_ascii=False).encode("utf-8", "replace") if output else b"")
        self._is_writing = True
        try:
            while unwritten:
                unwritten = unwritten[os.write(1, unwritten) :]
        except OSError as error:  # the agent has gone
            problem = f"the answer could not be written: {error.strerror}"
        self._is_writing = False
        answered(problem)

    def end_off(self) -> NoReturn:
        """End a run while hooks are switched off; nothing is recorded."""
        self.decide()
        if self.is_trial:
            self.report("off")
        os._exit(0)

    def give_up(self) -> NoReturn:
        """Record that the limit is over, and end the process."""
        try:
            if not self.home:  # there was no time to find it
                self.use_folder(*data_folder(os.getcwd()))
            super().give_up()
        finally:
            os._exit(0)

    def report(self, outcome: str, reason: str = "") -> None:
        """Report the outcome of a trial on stderr."""
        document = {"version": __version__, "outcome": outcome, "reason": reason, "home": self.home}
        os.write(2, json.dumps(document | {"ms": self.elapsed_ms()}).encode() + b"\n")

    def watch(self) -> None:
        """Start a thread that gives up when the time is over: the agent must not wait."""
        _thread.start_new_thread(self._watch, ())

    def _watch(self) -> None:
        """Wait until the limit is over; give up if the other thread has not answered; end the process in any case."""
        lookup_deadline = time.monotonic() + DEFAULT_LIMIT_MS / 1000  # to read the limit, if the start took too long
        start_ms = 0.0 if self.injects else self.elapsed_ms()  # queueing a turn has the whole limit after the start
        while (left_ms := self.limit_ms + start_ms - self.elapsed_ms()) > 0 or not (
            self.limit_is_known or time.monotonic() > lookup_deadline
        ):
            time.sleep(min(max(left_ms / 1000, 0.005), 0.05))  # the limit may change when the settings are read
        queue_deadline = time.monotonic() + _TO_QUEUE_SECONDS
        while not self.injects and not self.is_ended and time.monotonic() < queue_deadline:
            if not self.has_input and not _has_unread_input():  # the agent sends nothing
                break
            time.sleep(0.02)
        if self.take_over():
            self.give_up()
        time.sleep(_TO_RECORD_SECONDS)
        while self._is_writing:  # a client may take half of an answer for a whole one
            time.sleep(0.05)
        os._exit(0)


def _has_unread_input() -> bool:
    """Report whether the agent has sent something that a busy machine left no time to read."""
    import select  # noqa: PLC0415  # only when the limit is over

    try:
        return bool(select.select([0], [], [], 0)[0])
    except (OSError, ValueError):
        return False


def seconds_since_start() -> float:
    """Return the wall time since the kernel started the process, or the CPU time if the kernel does not say."""
    since = _seconds_by_kernel() if hasattr(time, "CLOCK_BOOTTIME") else None
    return time.process_time() if since is None or not 0 <= since < _LONGEST_RUN_SECONDS else since


def _seconds_by_kernel() -> float | None:
    """Return the seconds since this process began, by clocks that ignore changes of the date and count sleep."""
    try:
        with open(_STAT, "rb") as file:
            fields = file.read(4096).rpartition(b")")[2].split()
        ticks = int(fields[_START_TIME]) / os.sysconf("SC_CLK_TCK")  # posix: the caller asks
        return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks  # posix: as above
    except (OSError, ValueError, IndexError):
        return None


def _continue_detached() -> None:
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


def _started_in() -> str:
    """Return the folder we were started in; one without a store if it was deleted, as the input names another."""
    try:
        return os.getcwd()
    except OSError:
        return os.sep


def _read_input() -> bytes:
    data = read_input()
    if data is None:
        raise RefusedError(f"the input has more than {MOST_INPUT} bytes")
    return data


def _decoded(data: bytes) -> dict[str, Any]:
    try:
        payload = json.loads(data.decode("utf-8", "replace").lstrip("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise RefusedError(f"the input is no JSON: {error}") from None
    if not isinstance(payload, dict):
        raise RefusedError("the input is no JSON object")
    return payload

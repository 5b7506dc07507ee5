"""Events that the running MCP server answers, for which no process starts.

The answers are those of the process (agent/hook/run.py), and so are the records; the index stays open between
events. One thread works, so that many events at once do not slow each other down; the thread of each call watches its
limit. An event that cannot be answered in time, judging by the last events, is declined at once and recorded.

The server belongs to one session of one client, so its environment is that of the session; root, data folder, settings
and trust are looked up for each event. The tool is not listed, and a call that stems from a tool use of the agent is
refused: a text that the agent reads cannot forge an event. After an upgrade the process of the new version answers.
Every failure means that nothing is said.
"""

from __future__ import annotations

import json
import os
import queue
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from contextlib import suppress
from functools import partial
from itertools import count

from knowbound.agent.hook import resident
from knowbound.agent.hook.finish import finish, needs_process, unfinished
from knowbound.agent.hook.resident import is_off
from knowbound.agent.hook.run import DEFAULT_LIMIT_MS, HookRun, RefusedError, answer
from knowbound.agent.hook_entry import AFTER_TOOLS, FINISH, may_be_miss
from knowbound.agent.mcp.server import LAYOUT
from knowbound.core.tool_kinds import ToolKind
from knowbound.injection import late
from knowbound.injection.hook_settings import is_shadowed
from knowbound.injection.prompt import HookPrompt
from knowbound.store.data_dir import data_folder, is_usable
from knowbound.store.own_index import IndexRefusedError, keep_open, open_own_index
from knowbound.store.read_only import HOOK_WAIT_SECONDS
from knowbound.traces.calls.tools import kind_of
from knowbound.user_files import PRIVATE_FILE, make_folder, state_places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from knowbound.agent.hook.run import Answered
    from knowbound.agent.mcp.protocol import Json, Later

_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(__file__))), "__init__.py")
_EVENT_NAMES = {name: event for event, name in resident.EVENTS.items()}
_AS_JSON = ("tool_input", "tool_response", "background_tasks", "stop_hook_active")  # Claude Code makes text of values
_TOOL_USE_KEYS = ("claudecode/toolUseId", "x-codex-turn-metadata")  # in `_meta` of an agent's own calls
_MOST_TURNS = 1_000  # with edits, that are remembered
_LOOKED_AT_CHARACTERS = 4_000  # of a tool's output; they decide whether it is a miss
_FIRST_MS = 20.0  # that an event takes, until some were answered
_SHARE_OF_LONE = 0.9  # time of an event that directly follows another event, as a share of a lone event's time
_LAST_EVENTS = 15  # whose median is the usual time: the first events of a burst or of a process take far longer
_TO_SEND_MS = 60.0  # of the limit, and for the threads of many events that come at once
_TO_QUEUE_SECONDS = 3.0  # for an ended turn, after the limit: agents end a call after 5
_LAST_SECONDS = 2.0  # for the rest of answered events, when the client has closed the connection
_EVENT_PRIORITY, _REST_PRIORITY = 0, 1  # the queue gives what an agent waits for first


class ResidentRun(HookRun):
    """A run in the server. Its answer is sent by the thread of the call."""

    def __init__(self, event: str, started: float) -> None:
        super().__init__(event, started)
        self.output: dict[str, Any] = {}
        self.is_done = threading.Event()  # the working thread has nothing more to do
        self._answered: Answered | None = None

    def send(self, output: dict[str, Any], answered: Answered) -> None:
        """Leave the answer to the thread of the call."""
        self.output, self._answered = output, answered

    def has_sent(self) -> None:
        """Record that the client has the answer."""
        if self._answered is not None:
            self._answered("")


class HookServer:
    """The events of one server, answered one after another."""

    def __init__(self) -> None:
        self._installed_at_start = installation()
        self._work: queue.PriorityQueue[tuple[int, int, Callable[[], None]]] = queue.PriorityQueue()
        self._order = count()  # first come, first served within a priority
        self._events_in_line = 0  # events, with the one that is answered
        self._event_ms = deque([_FIRST_MS], _LAST_EVENTS)  # milliseconds
        self._limit_ms = DEFAULT_LIMIT_MS
        self._lock = threading.Lock()
        self._is_working = False
        self._turns_with_edits: dict[str, None] = {}  # turns in which the agent has edited a file
        self._tool_events: dict[str, tuple[int, float]] = {}  # by turn: tool events, and milliseconds that they took

    def answered(self, values: Json, meta: Json, later: Later) -> Json:
        """Answer an event within its limit; {} for nothing."""
        started = time.monotonic()
        event = _EVENT_NAMES.get(str(values.get("event")))
        is_by_agent = any(name in meta for name in _TOOL_USE_KEYS)  # only its client reports events
        if event is None or is_by_agent or values.get("layout", LAYOUT) != LAYOUT or is_off():
            return {}
        payload = _payload(values)
        if installation() != self._installed_at_start:
            unmark()
            return _by_process(event, payload)  # knowbound was upgraded meanwhile
        prompt = HookPrompt(payload)
        run = ResidentRun(event, started)
        if event in AFTER_TOOLS:
            run.late_text = self._late_text(payload, prompt, later)
        late_output = _output_with(event, run.late_text)
        if not resident.has_id(event, prompt, payload) or (prompt.agent == "codex" and not prompt.transcript):
            return late_output  # the process answers it, and knows whether it is of a sub-agent
        mark()
        if event in AFTER_TOOLS and not _may_be_miss(payload):
            self._count_tool_event(prompt, run)
            return late_output
        if event == "stop":
            run.tool_calls, run.tool_ms = self._tool_events.pop(prompt.turn, (0, 0.0))
        outcome = "declined" if self._declines(run) else "" if self._is_answered_in_time(run, payload) else "gave_up"
        if outcome:
            record = partial(_record_unanswered, run, prompt, payload, outcome)
            later.append(lambda: self._enqueue(_REST_PRIORITY, record))
            return late_output
        if event in AFTER_TOOLS:
            self._count_tool_event(prompt, run)
        if event == "stop":  # a client may end its server right after it has the answer
            self._finish(run, payload)
            run.has_sent()
        else:
            later += [run.has_sent, lambda: self._finish(run, payload)]
        return run.output

    def warm_up(self) -> None:
        """Load what the first event needs, while the agent waits for nothing."""
        self._enqueue(_REST_PRIORITY, _load_modules)

    def end(self) -> None:
        """Answer no more events, and wait for what was left to do after the answers (hook/finish.py)."""
        unmark()
        is_done = threading.Event()
        self._enqueue(_REST_PRIORITY, is_done.set)
        is_done.wait(_LAST_SECONDS)

    def _declines(self, run: ResidentRun) -> bool:
        """Report whether earlier events will take the whole limit of this event, so that it is declined."""
        run.limit_ms = self._limit_ms
        with self._lock:
            usual_ms = sorted(self._event_ms)[len(self._event_ms) // 2]
            needed_ms = (self._events_in_line + 1) * usual_ms + _TO_SEND_MS
            # Only events that inject are declined: the end of a turn is always queued.
            is_declined = run.injects and self._events_in_line > 0 and run.elapsed_ms() + needed_ms > run.limit_ms
            self._events_in_line += not is_declined
        return is_declined

    def _is_answered_in_time(self, run: ResidentRun, payload: Json) -> bool:
        """Have the working thread answer, and report whether it did or will; else the run has ended at its limit."""
        self._enqueue(_EVENT_PRIORITY, lambda: self._answer_from_queue(run, payload))
        deadline = run.deadline + (0.0 if run.injects else _TO_QUEUE_SECONDS)
        if not run.is_done.wait(max(0.0, deadline - time.monotonic())) and run.take_over():
            run.is_ended = True
            return False
        run.is_done.wait()  # the working thread decided first
        return True

    def _answer_from_queue(self, run: ResidentRun, payload: Json) -> None:
        """Answer an event in the working thread, and note how long it took."""
        began, is_alone = time.monotonic(), self._events_in_line == 1
        try:
            if not run.is_ended:
                self._answer(run, payload)
        except RefusedError as refusal:
            run.fail(str(refusal))
        except Exception as error:
            run.fail(f"{type(error).__name__}: {error}")
        finally:
            run.is_done.set()
            with self._lock:
                self._events_in_line -= 1
                self._event_ms.append((time.monotonic() - began) * 1000 * (_SHARE_OF_LONE if is_alone else 1))

    def _answer(self, run: ResidentRun, payload: Json) -> None:
        folder = str(payload.get("cwd") or os.getcwd())
        run.use_folder(*data_folder(folder))
        if run.home:
            answer(run, run.event, payload, folder)
            self._limit_ms = run.limit_ms

    def _finish(self, run: ResidentRun, payload: Json) -> None:
        """Do what no agent waits for after an answer (hook/finish.py), in a process or in the working thread."""
        run.spent_ms = run.spent_ms or run.elapsed_ms()
        if run.home and needs_process(run):
            _start_finishing(unfinished(run, payload))
        else:
            self._enqueue(_REST_PRIORITY, lambda: finish(run, payload))

    def _enqueue(self, priority: int, work: Callable[[], None]) -> None:
        """Queue work, and start the one working thread with the first."""
        self._work.put((priority, next(self._order), work))
        with self._lock:
            is_first, self._is_working = not self._is_working, True
        if is_first:
            threading.Thread(target=self._work_through_queue, daemon=True).start()

    def _work_through_queue(self) -> None:
        keep_open()  # the indexes, for the next event
        while True:
            try:
                self._work.get()[2]()  # (priority, order, work)
            except Exception:  # what no agent waits for is lost
                continue

    def _late_text(self, payload: Json, prompt: HookPrompt, later: Later) -> str:
        """Return what a model answered meanwhile (injection/late.py), once, and only to the main agent."""
        if prompt.agent_id or not (prompt.context and prompt.turn):
            return ""
        if kind_of(str(payload.get("tool_name"))) is ToolKind.EDIT:
            self._turns_with_edits[prompt.turn] = None
            if len(self._turns_with_edits) > _MOST_TURNS:
                self._turns_with_edits.pop(next(iter(self._turns_with_edits)))
        folders = _data_folders(prompt.cwd)
        home = next((folder for folder in folders if late.is_kept(folder, prompt.context, prompt.turn)), "")
        if not home or not is_usable(home) or is_shadowed(home):  # checked last: it costs more
            return ""
        return late.deliver(home, prompt, later, is_after_edit=prompt.turn in self._turns_with_edits)

    def _count_tool_event(self, prompt: HookPrompt, run: ResidentRun) -> None:
        """Add a tool event to its turn; the record of the turn's end has the sum."""
        calls, spent_ms = self._tool_events.get(prompt.turn, (0, 0.0))
        self._tool_events[prompt.turn] = (calls + 1, spent_ms + run.elapsed_ms())
        if len(self._tool_events) > _MOST_TURNS:
            self._tool_events.pop(next(iter(self._tool_events)))


def _load_modules() -> None:
    """Import what events need, and open the index once, so that the first event finds both in memory."""
    from knowbound.injection.inject import choose_for_prompt  # noqa: F401, PLC0415
    from knowbound.kms.index.search import search  # noqa: PLC0415
    from knowbound.lessons.rescue.rescue import rescue  # noqa: F401, PLC0415
    from knowbound.text.embedding import embed  # noqa: PLC0415
    from knowbound.text.redact import excerpt  # noqa: PLC0415

    embed("a word")
    excerpt("password=a https://b@c", 100)
    home = data_folder(os.getcwd())[1]
    if home and is_usable(home):
        with suppress(IndexRefusedError, sqlite3.Error):  # the event says why
            index = open_own_index(home, wait_seconds=HOOK_WAIT_SECONDS, work_seconds=_LAST_SECONDS)
            if index is not None:
                search(index, "a word")  # an index of 100,000 items is ready after 0.1 s


def _payload(values: Json) -> Json:
    """Return the event as clients send it to a process."""
    payload = {name: value for name, value in values.items() if name not in ("layout", "agent", "event")}
    payload["hook_event_name"] = values.get("event")
    if values.get("agent") == "claude-code":
        for name in _AS_JSON:
            if isinstance(text := payload.get(name), str) and text[:1] in "{[tf":  # an object, a list, true, false
                try:
                    payload[name] = json.loads(text)
                except ValueError:
                    continue
    elif values.get("agent") == "codex":
        payload["agent_id"] = _codex_agent(payload)
    return payload


def _codex_agent(payload: Json) -> str:
    """Return the id of a sub-agent, "" for the main agent: Codex cannot fill in a field that only sub-agents have.

    A sub-agent has the session of its caller and a transcript of its own, whose name ends with its id.
    """
    name = os.path.basename(str(payload.get("transcript_path") or "")).removesuffix(".jsonl")
    session = str(payload.get("session_id"))
    return "" if name.endswith(session) else name[-len(session) :]


def _may_be_miss(payload: Json) -> bool:
    """Report whether a tool's event may be a lookup that found nothing, from the bytes that a process would get."""
    parts = {name: payload[name] for name in ("tool_input", "tool_response", "error") if name in payload}
    if isinstance(text := parts.get("tool_response"), str):
        parts["tool_response"] = text[:_LOOKED_AT_CHARACTERS]
    return may_be_miss(json.dumps(parts, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))


def _record_unanswered(run: ResidentRun, prompt: HookPrompt, payload: Json, outcome: str) -> None:
    """Record an event that this server had no time to answer, unless a hook process has answered it."""
    run.use_folder(*data_folder(prompt.cwd or os.getcwd()))
    if run.is_answered_elsewhere or not (
        run.has_claimed or (run.home and resident.claim(run.home, run.event, prompt, payload))
    ):
        return
    run.record.add_prompt(prompt)
    if outcome == "gave_up":
        run.give_up()
    else:
        run.inject_nothing(outcome, reason="too many events were waiting")
        run.has_sent()


def _output_with(event: str, text: str) -> Json:
    """Return a hook's output that injects the text; {} without a text."""
    injection = {"hookEventName": resident.EVENTS[event], "additionalContext": text}
    return {"hookSpecificOutput": injection} if text else {}


def _data_folders(cwd: str) -> Iterator[str]:
    """Yield the data folders of the agent's folder and of the server's: an agent may leave its project for a while."""
    agent_folder = data_folder(cwd)[1] if cwd else ""
    if agent_folder:
        yield agent_folder
    try:
        server_folder = data_folder(os.getcwd())[1]
    except OSError:  # the folder was removed
        return
    if server_folder and server_folder != agent_folder:
        yield server_folder


def _by_process(event: str, payload: Json) -> Json:
    """Return the answer of the process that the client would start, in the version that is installed now."""
    input_bytes = json.dumps(payload).encode()
    completed = subprocess.run(process_words(event), input=input_bytes, stdout=subprocess.PIPE, check=False)
    output = json.loads(completed.stdout) if completed.stdout else {}
    return output if isinstance(output, dict) else {}


def _start_finishing(unfinished_event: Json) -> None:
    """Start the process that finishes an event. It outlives the server."""
    with tempfile.TemporaryFile() as file:
        file.write(json.dumps(unfinished_event).encode())
        file.seek(0)
        discarded = subprocess.DEVNULL
        words = process_words(FINISH)
        subprocess.Popen(words, stdin=file, stdout=discarded, stderr=discarded, start_new_session=True)


# The mark of this server, and its version


def mark() -> None:
    """Say that this process answers the events of the client that started it. Raises OSError."""
    for folder in state_places(resident.MARKS):
        path = os.path.join(folder, f"{os.getppid()}.{os.getpid()}")
        if os.path.exists(path):
            continue
        make_folder(folder)
        os.close(os.open(path, resident.FLAGS & ~os.O_EXCL, PRIVATE_FILE))


def unmark() -> None:
    """Take the mark away: the process answers no more events."""
    for folder in state_places(resident.MARKS):
        resident.remove(os.path.join(folder, f"{os.getppid()}.{os.getpid()}"))


def installation() -> tuple[int, ...]:
    """Return values that change when another version is installed in this place."""
    try:
        status = os.stat(_PACKAGE)
    except OSError:
        return ()
    return status.st_ino, status.st_mtime_ns, status.st_size


def process_words(event: str) -> list[str]:
    """Return the command that answers an event in a process of its own, in the version that is installed now."""
    return [sys.executable, "-P", "-m", "knowbound.agent.hook_entry", event]

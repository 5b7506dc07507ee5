"""JSON-RPC over standard input and output: one message a line, many requests at once.

Requests are answered as they come, tool calls in threads, so that a long call delays no other. The server ends when the
client closes the input or goes away; a call that still runs then gets one more second. An interrupted call leaves
nothing half written: the knowledge store completes or undoes it when it is opened next.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from contextlib import nullcontext

from knowbound.agent.mcp.protocol import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    ProtocolError,
    RequestedCall,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    from knowbound.agent.mcp.protocol import Connection, Json

    Id: TypeAlias = str | int
    Reply: TypeAlias = Callable[[Json | None], bool]  # None: no answer is due; reports whether it was sent

MOST_OF_A_LINE = 4 << 20  # bytes; an entry has 20,000 characters at most
MOST_IN_A_BATCH = 100
MOST_CALLS = 64  # running or waiting
_MOST_EVENTS = 1_000  # of hooks, which answer or decline within a second
_CALLS_AT_ONCE = 4
_LAST_SECONDS = 1.0  # for calls that run when the input ends
_READ_BYTES = 1 << 16
_LARGEST_ID = 1 << 53  # every client can read it back


def serve(connection: Connection, *, at_end: Callable[[], None] = lambda: None) -> None:
    """Serve on the standard streams until the client closes them; end the process if a call does not end."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a client may end its servers with it: as quietly as with SIGTERM
    source, sink = _private_streams()
    output = _Output(sink)
    calls = _Calls()
    for line in lines(source):
        if line is None:
            output.send(_error(None, ProtocolError(INVALID_REQUEST, f"A line has over {MOST_OF_A_LINE} bytes")))
        elif line.strip():
            _answer_line(line, connection, calls, output.send)
        if output.is_closed:
            break
    are_ended = calls.ended(_LAST_SECONDS)
    at_end()
    if not are_ended:
        os._exit(0)


def lines(source: int) -> Iterator[bytes | None]:
    """Yield the lines of a file descriptor; None for a line that is too long, of which nothing is kept."""
    with open(source, "rb", closefd=False) as file:
        while line := file.readline(MOST_OF_A_LINE + 1):
            is_too_long = len(line) > MOST_OF_A_LINE and not line.endswith(b"\n")
            yield None if is_too_long else line.removesuffix(b"\n")
            while is_too_long and line and not line.endswith(b"\n"):
                line = file.readline(_READ_BYTES)


def _private_streams() -> tuple[int, int]:
    """Keep the standard streams for the protocol: prints of a library go to stderr, a child reads nothing."""
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # stderr is closed
        os.dup2(nothing, 1)
    os.close(nothing)
    return source, sink


def _answer_line(line: bytes, connection: Connection, calls: _Calls, send: Callable[[Json | list[Json]], bool]) -> None:
    """Answer one line: a message, or a batch of messages."""
    try:
        message = json.loads(line.decode(), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        send(_error(None, ProtocolError(PARSE_ERROR, f"Not JSON: {type(error).__name__}")))
        return
    if isinstance(message, list) and 0 < len(message) <= MOST_IN_A_BATCH:  # version 2025-03-26 has them
        batch = _Batch(len(message), send)
        for single in message:
            _answer(single, connection, calls, batch.reply)
    else:
        _answer(message, connection, calls, lambda answer: bool(answer) and send(answer or {}))


def _answer(message: object, connection: Connection, calls: _Calls, reply: Reply) -> None:
    """Answer one message, at once or from the thread of its call."""
    if not isinstance(message, dict):
        reply(
            _error(None, ProtocolError(INVALID_REQUEST, f"A message is an object, or a list of 1 to {MOST_IN_A_BATCH}"))
        )
        return
    if "method" not in message and ("result" in message or "error" in message):
        reply(None)  # it is a response, although we request nothing
        return
    if "id" not in message:
        if message.get("method") == "notifications/cancelled" and isinstance(params := message.get("params"), dict):
            calls.cancel(params.get("requestId"))
        reply(None)
        return
    id_ = message["id"]
    is_id = isinstance(id_, str) or (type(id_) is int and abs(id_) <= _LARGEST_ID)
    valid_id = id_ if is_id else None
    try:
        if valid_id is None:
            raise ProtocolError(INVALID_REQUEST, "An id is a string or an integer")
        method, params = message.get("method"), message.get("params", {})
        if message.get("jsonrpc") != "2.0" or not isinstance(method, str):
            raise ProtocolError(INVALID_REQUEST, 'A request has "jsonrpc": "2.0" and a method')
        if not isinstance(params, dict | None):
            raise ProtocolError(INVALID_PARAMS, "params must be an object")
        result = connection.request(method, params or {})
        if isinstance(result, RequestedCall):
            calls.start(valid_id, result, reply)
        else:
            reply(_response(valid_id, result))
            if method == "tools/list":
                threading.Thread(target=connection.prepare, daemon=True).start()
    except ProtocolError as error:
        reply(_error(valid_id, error))


def _refuse(constant: str) -> None:
    raise ValueError(constant)  # NaN and Infinity, which Python takes for JSON


def _response(id_: Id, result: Json) -> Json:
    return {"jsonrpc": "2.0", "id": id_, "result": result}


def _error(id_: Id | None, error: ProtocolError) -> Json:
    return {"jsonrpc": "2.0", "id": id_, "error": error.as_json()}


class _Output:
    """Output by whole lines, from any thread."""

    def __init__(self, sink: int) -> None:
        self._sink, self._lock = sink, threading.Lock()
        self.is_closed = False

    def send(self, message: Json | list[Json]) -> bool:
        """Write a message, and report whether the client could take it."""
        rest = memoryview(json.dumps(message, separators=(",", ":")).encode() + b"\n")  # ASCII: no text breaks it
        with self._lock:
            try:
                while rest and not self.is_closed:
                    rest = rest[os.write(self._sink, rest) :]
            except OSError:  # the client is gone
                self.is_closed = True
            return not self.is_closed


class _Batch:
    """The answers to a batch, sent together after the last one."""

    def __init__(self, size: int, send: Callable[[list[Json]], bool]) -> None:
        self._left, self._send, self._lock = size, send, threading.Lock()
        self._answers: list[Json] = []

    def reply(self, answer: Json | None) -> bool:
        """Take one answer. The last one sends them all; reports False if the client is gone."""
        with self._lock:
            self._answers += [answer] if answer else []
            self._left -= 1
            is_complete = not self._left
        return self._send(self._answers) if is_complete and self._answers else True


class _Calls:
    """The tool calls under way, each in a thread of its own, a few at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._slots = threading.Semaphore(_CALLS_AT_ONCE)
        self._threads_by_id: dict[Id, threading.Thread] = {}  # until the answer is sent or the call is cancelled
        self._running: set[threading.Thread] = set()

    def start(self, id_: Id, call: RequestedCall, reply: Reply) -> None:
        """Run the call in a thread and reply, unless it is cancelled before."""
        thread = threading.Thread(target=self._run, args=(id_, call, reply), daemon=True)
        with self._lock:
            if id_ in self._threads_by_id:
                raise ProtocolError(INVALID_REQUEST, "A request with this id is under way")
            has_room = len(self._running) < (_MOST_EVENTS if call.tool.is_for_hooks else MOST_CALLS)
            if has_room:
                self._threads_by_id[id_] = thread
                self._running.add(thread)
        if has_room:
            thread.start()
        else:
            reply(_response(id_, call.error(f"{MOST_CALLS} calls are under way. Try again when one has ended.")))

    def cancel(self, id_: object) -> None:
        """Drop the answer of a call; a call that has not begun never runs."""
        with self._lock:
            if type(id_) in (str, int):  # not bool: true equals 1
                self._threads_by_id.pop(id_, None)  # type: ignore[call-overload]

    def ended(self, seconds: float) -> bool:
        """Wait at most that long for all calls, and report whether they ended."""
        deadline = time.monotonic() + seconds
        with self._lock:
            threads = list(self._running)
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        return not any(thread.is_alive() for thread in threads)

    def _run(self, id_: Id, call: RequestedCall, reply: Reply) -> None:
        """Run a call in its thread when a slot is free; reply without an answer if it was cancelled."""
        me = threading.current_thread()
        with nullcontext() if call.tool.is_for_hooks else self._slots:  # an agent waits for its hooks
            answer = self._answer(id_, call) if self._threads_by_id.get(id_) is me else {}
        with self._lock:
            is_wanted = self._threads_by_id.get(id_) is me
            if is_wanted:
                del self._threads_by_id[id_]
        try:
            if reply(answer if is_wanted else None) and is_wanted:
                call.finish()
        finally:
            with self._lock:
                self._running.discard(me)

    def _answer(self, id_: Id, call: RequestedCall) -> Json:
        try:
            return _response(id_, call.result())
        except Exception as error:  # the client gets an answer to every call
            return _error(id_, ProtocolError(INTERNAL_ERROR, f"{call.tool.name} failed: {type(error).__name__}"))

"""A model that answers from a script: Anthropic Messages and OpenAI Responses, streamed, with every request kept.

A script is a list of replies, taken one after the other, or a function of the request. When the list is used up the
model says "Done.".
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import socket
from typing import Any


@dataclass(frozen=True)
class Say:
    """A text as the answer. `used` are the tokens that the model says it read: clients compact by them."""

    text: str
    used: int = 100


@dataclass(frozen=True)
class Call:
    """One tool call, and others in the same message."""

    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)
    namespace: str = ""  # Codex keeps the tools of an MCP server in one
    used: int = 100
    beside: tuple[Call, ...] = ()


@dataclass(frozen=True)
class Fail:
    """An error of the API."""

    status: int = 500
    kind: str = "api_error"


@dataclass(frozen=True)
class Begin:
    """The beginning of an answer whose end never comes: it lasts until the client hangs up."""

    text: str
    used: int = 100


Reply = Say | Call | Fail | Begin
Script = Sequence[Reply] | Callable[["Request"], Reply]


@dataclass(frozen=True)
class Part:
    """A piece of what the model receives: a text with its role. Tool results have the role `tool`."""

    role: str
    text: str


@dataclass(frozen=True)
class Request:
    """A request of a client."""

    path: str
    body: dict[str, Any]

    @property
    def parts(self) -> list[Part]:
        """Every text in its order, without the description of the tools."""
        first = self.body.get("system") or self.body.get("instructions") or ""
        messages = self.body.get("messages") or self.body.get("input") or []
        return [*_parts("system", first), *(part for message in messages for part in _message_parts(message))]

    @property
    def tools(self) -> list[str]:
        """The names of the tools that can be called, also of those that a tool search found."""
        found = [item["tools"] for item in self.body.get("input") or [] if item.get("type") == "tool_search_output"]
        names = []
        for tool in [*(self.body.get("tools") or []), *(tool for tools in found for tool in tools)]:
            inner = tool.get("tools") if tool.get("type") == "namespace" else None
            names += [f"{tool['name']}__{one['name']}" for one in inner or []]
            names += [] if inner else [tool.get("name") or tool["type"]]
        return names

    @property
    def results(self) -> list[str]:
        """What the tool calls of the conversation gave, in their order."""
        searched = [str(item) for item in self.body.get("input") or [] if item.get("type") == "tool_search_output"]
        return [*searched, *(part.text for part in self.parts if part.role == "tool")]

    def with_text(self, text: str) -> list[Part]:
        """The parts that hold a text."""
        return [part for part in self.parts if text in part.text]


def _message_parts(message: dict[str, Any]) -> list[Part]:
    if message.get("type") in ("function_call_output", "custom_tool_call_output", "mcp_tool_call_output"):
        return _parts("tool", message.get("output") or "")
    if message.get("type") in (None, "message"):
        return _parts(message["role"], message.get("content") or "")
    return []


def _parts(role: str, content: object) -> list[Part]:
    if isinstance(content, str):
        return [Part(role, content)] if content else []
    found = []
    for block in content if isinstance(content, list) else []:
        if block.get("type") == "tool_result":
            found += _parts("tool", block.get("content"))
        elif isinstance(block.get("text"), str):
            found.append(Part(role, block["text"]))
    return found


class ScriptedModel:
    """The model, for one client run or several: what it received, and what it will say."""

    def __init__(self, script: Script = ()) -> None:
        self.requests: list[Request] = []
        self.other: list[str] = []  # what clients asked besides: method and path
        self.has_begun = threading.Event()  # the beginning of an unfinished answer was sent
        self.script(script)
        self._lock = threading.Lock()

    def script(self, script: Script) -> None:
        """What to say from now on."""
        self._function = script if callable(script) else None
        self._replies = [] if callable(script) else list(script)

    def reply(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
            if not self._function:
                return self._replies.pop(0) if self._replies else Say("Done.")
        return self._function(request)  # it may wait for what another request brings about

    @contextmanager
    def answering(self, listening: socket) -> Iterator[None]:
        """Answer on this socket."""
        server = _Server(listening, self)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, listening: socket, model: ScriptedModel) -> None:
        super().__init__(listening.getsockname(), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.model = model

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is no error of the test."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_HEAD(self) -> None:
        self._other(200)

    def do_GET(self) -> None:
        self._other(404)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        path = self.path.partition("?")[0]
        if path == "/v1/messages/count_tokens":
            self._send(200, "application/json", json.dumps({"input_tokens": 100}).encode())
            return
        if path not in ("/v1/messages", "/v1/responses"):
            self._other(404)
            return
        reply = self.server.model.reply(Request(path, body))
        if isinstance(reply, Fail):
            error = {"type": "error", "error": {"type": reply.kind, "message": "scripted"}}
            self._send(reply.status, "application/json", json.dumps(error).encode())
            return
        events, whole = _anthropic(reply, body["model"]) if path == "/v1/messages" else _openai(reply)
        if isinstance(reply, Begin):
            self._begin(events)
        elif body.get("stream"):
            self._send(200, "text/event-stream", _lines(events))
        else:
            self._send(200, "application/json", json.dumps(whole).encode())

    def _begin(self, events: list[dict[str, Any]]) -> None:
        """Send the events up to the text, and keep the connection open until the client closes it."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(_lines(events[: 1 + next(n for n, event in enumerate(events) if "delta" in event)]))
        self.wfile.flush()
        self.server.model.has_begun.set()
        self.rfile.read(1)
        self.close_connection = True

    def _other(self, status: int) -> None:
        self.server.model.other.append(f"{self.command} {self.path}")
        self._send(status, "application/json", b"{}")

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is printed."""


_numbers = iter(range(1, 1 << 30))


def _lines(events: list[dict[str, Any]]) -> bytes:
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()


def _anthropic(reply: Say | Call | Begin, model: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The events of a stream, and the same as one message."""
    number, stop = next(_numbers), "tool_use" if isinstance(reply, Call) else "end_turn"
    usage = {"input_tokens": reply.used, "output_tokens": 10}
    blocks: list[dict[str, Any]] = []
    streamed: list[dict[str, Any]] = []
    for index, one in enumerate([reply, *reply.beside] if isinstance(reply, Call) else [reply]):
        if isinstance(one, Call):
            start = {"type": "tool_use", "id": f"toolu_{next(_numbers):08}", "name": one.tool, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(one.arguments)}
            blocks.append(start | {"input": one.arguments})
        else:
            start = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": one.text}
            blocks.append(start | {"text": one.text})
        streamed += [
            {"type": "content_block_start", "index": index, "content_block": start},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]
    message = {"id": f"msg_{number:08}", "type": "message", "role": "assistant", "model": model, "content": []}
    unfinished = message | {"stop_reason": None, "stop_sequence": None, "usage": usage}
    whole = message | {"content": blocks, "stop_reason": stop, "stop_sequence": None, "usage": usage}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": unfinished},
        *streamed,
        {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]
    return events, whole


def _openai(reply: Say | Call | Begin) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    response: dict[str, Any] = {"id": f"resp_{next(_numbers):08}", "object": "response", "status": "completed"}
    items = [_openai_item(one) for one in ([reply, *reply.beside] if isinstance(reply, Call) else [reply])]
    events: list[dict[str, Any]] = [{"type": "response.created", "response": {"id": response["id"]}}]
    for index, item in enumerate(items):
        said = {"type": "response.output_text.delta", "item_id": item["id"], "output_index": index, "content_index": 0}
        deltas = [] if isinstance(reply, Call) else [said | {"delta": reply.text}]
        empty = item if isinstance(reply, Call) else item | {"status": "in_progress", "content": []}
        events += [
            {"type": "response.output_item.added", "output_index": index, "item": empty},
            *deltas,
            {"type": "response.output_item.done", "output_index": index, "item": item},
        ]
    response |= {"output": items, "usage": _openai_usage(reply.used)}
    return [*events, {"type": "response.completed", "response": response}], response


def _openai_item(reply: Say | Call | Begin) -> dict[str, Any]:
    number = next(_numbers)
    item: dict[str, Any]
    if not isinstance(reply, Call):
        content = [{"type": "output_text", "text": reply.text, "annotations": []}]
        item = {"type": "message", "id": f"msg_{number:08}", "role": "assistant", "status": "completed"}
        return item | {"content": content}
    if reply.tool == "tool_search":
        item = {"type": "tool_search_call", "id": f"ts_{number:08}", "call_id": f"call_{number:08}"}
        return item | {"execution": "client", "arguments": reply.arguments, "status": "completed"}
    item = {"type": "function_call", "id": f"fc_{number:08}", "call_id": f"call_{number:08}", "name": reply.tool}
    item |= {"arguments": json.dumps(reply.arguments), "status": "completed"}
    return item | ({"namespace": reply.namespace} if reply.namespace else {})


def _openai_usage(used: int) -> dict[str, Any]:
    return {
        "input_tokens": used,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 10,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": used + 10,
    }

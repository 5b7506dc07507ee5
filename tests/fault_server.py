"""A server on loopback that speaks the chat APIs of model providers as a test says: well, badly, or not at all."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = Callable[[BaseHTTPRequestHandler], None]


class FaultServer:
    """Gives its replies one after the other, the last one again and again; notes what it was asked."""

    def __init__(self, replies: tuple[Reply, ...], port: int) -> None:
        self._replies, self._port = replies, port
        self._lock = threading.Lock()
        self.asked: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.keys: list[str] = []
        self.at_once = self._now = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def judge(self) -> str:
        """Its name as a judge."""
        return f"{self.address}/v1#m"

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("content-length", 0)))
        with self._lock:
            number = len(self.asked)
            self.asked.append(json.loads(body))
            self.paths.append(handler.path)
            self.keys.append(handler.headers.get("authorization") or handler.headers.get("x-api-key") or "")
            self._now += 1
            self.at_once = max(self.at_once, self._now)
        try:
            self._replies[min(number, len(self._replies) - 1)](handler)
        finally:
            with self._lock:
                self._now -= 1


@contextmanager
def serving(*replies: Reply) -> Iterator[FaultServer]:
    """A server that gives these replies."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            with suppress(BrokenPipeError, ConnectionResetError):  # whoever asked has gone
                server.answer(self)

        def log_message(self, format: str, *args: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    server = FaultServer(replies, http.server_address[1])
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()


def status(code: int, body: object = None, headers: Mapping[str, str] | None = None) -> Reply:
    """A reply with this status."""

    def reply(handler: BaseHTTPRequestHandler) -> None:
        data = (
            body if isinstance(body, bytes) else json.dumps(body or {"error": {"message": f"status {code}"}}).encode()
        )
        handler.send_response(code)
        for name, value in {"content-type": "application/json", **(headers or {})}.items():
            handler.send_header(name, value)
        handler.send_header("content-length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    return reply


def chat(
    text: str | None, calls: list[tuple[str, str]] | None = None, usage: tuple[int, int] | None = (11, 7)
) -> Reply:
    """A good reply of OpenAI's chat API, with tool calls where there are some."""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for number, (name, arguments) in enumerate(calls, 1)
        ]
    body: dict[str, Any] = {
        "id": "c1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "m-exact",
        "choices": [{"index": 0, "finish_reason": "tool_calls" if calls else "stop", "message": message}],
    }
    if usage:
        body["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
    return status(200, body)


def anthropic(text: str, model: str) -> Reply:
    """A good reply of Anthropic's messages API."""
    return status(
        200,
        {
            "id": "m1",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 1_000, "output_tokens": 100},
        },
    )


def responses(text: str, model: str) -> Reply:
    """A good reply of OpenAI's responses API."""
    part = {"type": "output_text", "text": text, "annotations": []}
    message = {"id": "m1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    return status(
        200,
        {
            "id": "r1",
            "object": "response",
            "created_at": 1_700_000_000,
            "model": model,
            "status": "completed",
            "output": [message],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": {
                "input_tokens": 1_000,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": 100,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": 1_100,
            },
        },
    )


def cut(handler: BaseHTTPRequestHandler) -> None:
    """The connection breaks in the middle of the body."""
    handler.send_response(200)
    handler.send_header("content-type", "application/json")
    handler.send_header("content-length", "5000")
    handler.end_headers()
    handler.wfile.write(b'{"id": "c1", "choices": [')
    handler.wfile.flush()
    handler.connection.close()


def huge(handler: BaseHTTPRequestHandler) -> None:
    """A body without an end."""
    handler.send_response(200)
    handler.send_header("content-type", "application/json")
    handler.end_headers()
    while True:
        handler.wfile.write(b" " * 65536)


def drip(handler: BaseHTTPRequestHandler) -> None:
    """A body that says a little now and then, so that no single wait is long: until whoever asked has gone."""
    handler.send_response(200)
    handler.send_header("content-type", "application/json")
    handler.end_headers()
    pause = threading.Event()
    while True:
        handler.wfile.write(b" ")
        handler.wfile.flush()
        pause.wait(0.02)

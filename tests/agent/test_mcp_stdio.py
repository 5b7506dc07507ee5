"""The MCP server on the wire: what a client that is wrong, slow, hostile or gone gets, from a real process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from knowbound.agent.mcp import stdio
from knowbound.agent.mcp.protocol import Connection, McpTool
from knowbound.config import load
from knowbound.kms.opening import open_knowledge_store
from tests.stores import items_of

KNOWBOUND = Path(sys.executable).parent / "knowbound"
PORT = "The orders service listens on port 8080 behind the internal gateway."
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def request(method: str, id_: object = 1, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": method} | ({"params": params} if params else {})


class Server:
    """A real server process, and its pipes."""

    def __init__(self, root: Path, *command: str) -> None:
        pipe = subprocess.PIPE
        words = command or (str(KNOWBOUND), "mcp")
        self.process = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, cwd=root)

    def write(self, *messages: object) -> None:
        self.raw(b"".join(json.dumps(message).encode() + b"\n" for message in messages))

    def raw(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def read(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def ask(self, *messages: object) -> Any:
        self.write(*messages)
        return self.read()

    def end(self) -> tuple[bytes, bytes]:
        """Close its input; what it still said."""
        return self.process.communicate(timeout=60)

    def close(self) -> None:
        with suppress(BrokenPipeError), self.process:  # closes the pipes, and waits
            self.process.kill()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with closing(Server(tmp_path)) as started:
        yield started


REFUSED: dict[str, tuple[bytes, int, object]] = {
    "no JSON": (b"hello", -32700, None),
    "half of JSON": (b'{"jsonrpc": "2.0", "id": 1,', -32700, None),
    "invalid UTF-8": (b'{"jsonrpc": "2.0", "id": 1, "method": "ping\xff"}', -32700, None),
    "a constant that is no JSON": (b'{"jsonrpc": "2.0", "id": NaN, "method": "ping"}', -32700, None),
    "nested too deep": (b"[" * 1_000_000, -32700, None),
    "an endless number": (b'{"jsonrpc": "2.0", "method": "ping", "id": ' + b"9" * 100_000 + b"}", -32700, None),
    "a number": (b"7", -32600, None),
    "an empty batch": (b"[]", -32600, None),
    "too large a batch": (json.dumps([{}] * (stdio.MOST_IN_A_BATCH + 1)).encode(), -32600, None),
    "too long a line": (b'"' + b"x" * (64 << 20) + b'"', -32600, None),
    "an id that is null": (json.dumps(request("ping", None)).encode(), -32600, None),
    "an id that is a fraction": (json.dumps(request("ping", 1.5)).encode(), -32600, None),
    "an id that is a truth value": (json.dumps(request("ping", True)).encode(), -32600, None),
    "an id that is an object": (json.dumps(request("ping", {"a": 1})).encode(), -32600, None),
    "an id that no client can read": (json.dumps(request("ping", 1 << 60)).encode(), -32600, None),
    "another JSON-RPC": (b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', -32600, 1),
    "no method": (b'{"jsonrpc": "2.0", "id": "a"}', -32600, "a"),
    "a method that is a number": (b'{"jsonrpc": "2.0", "id": "a", "method": 5}', -32600, "a"),
    "an unknown method": (json.dumps(request("resources/list", "a")).encode(), -32601, "a"),
    "parameters in a list": (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}', -32602, 1),
    "no version": (json.dumps(request("initialize")).encode(), -32602, 1),
    "a version that is a number": (json.dumps(request("initialize", protocolVersion=1)).encode(), -32602, 1),
    "a cursor of somebody else": (json.dumps(request("tools/list", cursor="x")).encode(), -32602, 1),
    "an unknown tool": (json.dumps(request("tools/call", name="rm")).encode(), -32602, 1),
    "no tool": (json.dumps(request("tools/call")).encode(), -32602, 1),
    "arguments in a list": (
        json.dumps(request("tools/call", name="unified_search", arguments=["x"])).encode(), -32602, 1,
    ),
    "_meta that is text": (json.dumps(request("tools/list", _meta="x")).encode(), -32602, 1),
    "half of the stateless _meta": (json.dumps(request("server/discover", _meta={})).encode(), -32602, 1),
    "a stateless version that is a number": (
        json.dumps(request("tools/list", _meta=META | {"io.modelcontextprotocol/protocolVersion": 1})).encode(),
        -32602, 1,
    ),
    "a stateless version of the future": (
        json.dumps(request("tools/list", _meta=META | {"io.modelcontextprotocol/protocolVersion": "2099"})).encode(),
        -32022, 1,
    ),
    "what the stateless version no longer has": (json.dumps(request("ping", _meta=META)).encode(), -32601, 1),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_answered_is_an_error_with_its_code_and_the_next_request_is_answered(
    name: str, server: Server
) -> None:
    data, code, id_ = REFUSED[name]
    server.raw(data + b"\n")
    answer = server.read()
    assert (answer["error"]["code"], answer["id"], answer["jsonrpc"]) == (code, id_, "2.0")
    assert len(answer["error"]["message"]) < 200
    assert server.ask(request("ping", "next")) == {"jsonrpc": "2.0", "id": "next", "result": {}}
    assert server.end() == (b"", b"")


def test_the_version_that_is_asked_for_is_agreed_on_or_the_newest_with_a_handshake(server: Server) -> None:
    for asked, agreed in (("2024-11-05", "2024-11-05"), ("2026-07-28", "2025-11-25"), ("soon", "2025-11-25")):
        answer = server.ask(request("initialize", protocolVersion=asked, capabilities={}))["result"]
        assert answer["protocolVersion"] == agreed
        assert answer["capabilities"] == {"tools": {}}


def test_what_needs_no_answer_gets_none(server: Server) -> None:
    server.write(
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": [1]}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": "x"},
        {"jsonrpc": "2.0", "method": "notifications/of/the/future"},
        {"jsonrpc": "2.0", "id": 5, "result": {}},
        {"jsonrpc": "2.0", "id": 6, "error": {"code": 1, "message": "x"}},
        [{"jsonrpc": "2.0", "method": "notifications/initialized"}],
    )
    server.raw(b"\n  \r\n")
    assert server.ask(request("ping"))["id"] == 1
    assert server.end() == (b"", b"")


def test_a_batch_is_answered_together(server: Server) -> None:
    call = request("tools/call", "call", name="kms_suggestions")
    answers = server.ask([request("ping"), {"jsonrpc": "2.0", "method": "notifications/initialized"}, call, 7])
    assert {answer["id"] for answer in answers} == {1, "call", None}
    assert len(answers) == 3


def test_a_last_line_without_an_end_is_answered(tmp_path: Path) -> None:
    done = subprocess.run(
        [KNOWBOUND, "mcp"], input=json.dumps(request("ping")).encode(), capture_output=True, cwd=tmp_path, check=True
    )
    assert json.loads(done.stdout)["result"] == {}


def test_text_that_is_no_unicode_does_not_end_the_server(server: Server) -> None:
    server.raw(b'{"jsonrpc":"2.0","id":"\\ud800","method":"tools/call","params":{"name":"unified_store","arguments":')
    server.raw(b'{"content":"half a character: \\ud800"}}}\n')
    answer = server.read()
    assert answer["id"] == "\ud800"
    assert answer["result"]["isError"]
    assert server.ask(request("ping"))["result"] == {}


def test_the_server_ends_in_the_middle_of_a_call_and_no_write_is_half_done(tmp_path: Path) -> None:
    """The input is closed, or a signal comes, after the call was sent: it is stored or not, and the store is whole."""
    endings = {"close": None, "terminate": signal.SIGTERM, "interrupt": signal.SIGINT}
    for ending, number in endings.items():
        server = Server(tmp_path)
        server.ask(request("initialize", protocolVersion="2025-11-25"))
        server.write(request("tools/call", name="unified_store", arguments={"content": f"{PORT} ({ending})"}))
        if number:
            server.process.send_signal(number)
        assert server.end()[1] == b""
        assert server.process.returncode == (-number if number else 0)
    with closing(open_knowledge_store(load(tmp_path))) as store:
        assert store.index.unfinished() == ({}, [])
        store.index.check()
        held = {item.content for item in items_of(store.backends["sqlite"])}
        assert held <= {f"{PORT} ({ending})" for ending in endings}


def test_a_client_that_no_longer_reads_does_not_keep_the_server(server: Server) -> None:
    assert server.process.stdout is not None
    server.process.stdout.close()
    server.write(request("ping"))
    assert server.process.wait(60) == 0


SERVED = """
import os, sys
from knowbound.agent.mcp import stdio
from knowbound.agent.mcp.protocol import Connection, McpTool

def wait(arguments, meta, later):
    gate = os.open(arguments["gate"], os.O_RDONLY)  # a named pipe: opens when the test opens it
    os.close(gate)
    print("a library that prints")
    os.system("echo a child that prints; cat")
    return {"waited": True}

def count(arguments, meta, later):
    return {"text": "done"}

tools = (McpTool("wait", "", {"type": "object"}, {}, wait), McpTool("count", "", {"type": "object"}, {}, count))
stdio.serve(Connection("test", "1", "", tools))
"""


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[Server]:
    """A server with a tool that waits until the named pipe is opened."""
    os.mkfifo(tmp_path / "gate")
    with closing(Server(tmp_path, sys.executable, "-c", SERVED)) as started:
        yield started


def call(tool: str, id_: object, root: Path) -> dict[str, Any]:
    return request("tools/call", id_, name=tool, arguments={"gate": str(root / "gate")})


def open_gate(root: Path) -> None:
    with (root / "gate").open("wb"):
        pass


def test_a_call_that_takes_long_keeps_nobody_waiting(waiting: Server, tmp_path: Path) -> None:
    waiting.write(call("wait", "slow", tmp_path))
    assert waiting.ask(request("ping", 2))["id"] == 2
    assert waiting.ask(request("tools/list", 3))["id"] == 3
    assert waiting.ask(call("count", 4, tmp_path))["result"]["structuredContent"] == {"text": "done"}
    assert waiting.ask(call("count", "slow", tmp_path))["error"]["code"] == -32600  # the id is taken
    open_gate(tmp_path)
    assert waiting.read() == {
        "jsonrpc": "2.0",
        "id": "slow",
        "result": {
            "content": [{"type": "text", "text": '{"waited": true}'}],
            "isError": False,
            "structuredContent": {"waited": True},
        },
    }
    assert waiting.ask(call("count", "slow", tmp_path))["id"] == "slow"  # and is free again


def test_what_a_library_or_a_child_prints_is_not_in_the_protocol(waiting: Server, tmp_path: Path) -> None:
    waiting.write(call("wait", 1, tmp_path))
    open_gate(tmp_path)
    assert waiting.read()["id"] == 1
    out, errors = waiting.end()
    assert out == b""
    assert b"a library that prints" in errors
    assert b"a child that prints" in errors


def test_a_cancelled_call_is_not_answered(waiting: Server, tmp_path: Path) -> None:
    waiting.write(call("wait", 1, tmp_path))
    waiting.write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    waiting.write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": True}})
    assert waiting.ask(request("ping", 2))["id"] == 2
    open_gate(tmp_path)
    assert waiting.ask(call("count", 1, tmp_path))["result"]["structuredContent"] == {"text": "done"}
    assert waiting.end()[0] == b""


def test_the_server_ends_though_a_call_does_not(waiting: Server, tmp_path: Path) -> None:
    waiting.write(call("wait", 1, tmp_path))
    assert waiting.ask(request("ping", 2))["id"] == 2
    assert waiting.end()[0] == b""
    assert waiting.process.returncode == 0


def test_calls_wait_for_each_other_and_too_many_are_refused(waiting: Server, tmp_path: Path) -> None:
    waiting.write(*(call("wait", n, tmp_path) for n in range(stdio.MOST_CALLS)))
    refused = waiting.ask(call("count", "more", tmp_path))
    assert refused["result"]["isError"]
    assert f"{stdio.MOST_CALLS} calls" in refused["result"]["content"][0]["text"]
    waiting.write(
        *({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": n}} for n in range(4, 64))
    )
    assert waiting.ask(request("ping", "p"))["id"] == "p"


def test_nothing_is_loaded_before_the_first_call_that_an_agent_would_have_to_wait_for(tmp_path: Path) -> None:
    code = """
import sys
sys.argv = ["knowbound", "mcp"]
from knowbound.agent.mcp.protocol import Connection
from knowbound.cli.entry import main
Connection.prepare = lambda connection: None  # follows when the client has its tools
main()
slow = {"click", "msgspec", "sqlite3", "asyncio", "subprocess", "inspect", "knowbound.config", "knowbound.errors"}
print(sorted(slow & sys.modules.keys()), file=sys.stderr)
"""
    messages = (request("initialize", 1, protocolVersion="2025-11-25"), request("tools/list", 2))
    given = b"".join(json.dumps(message).encode() + b"\n" for message in messages)
    done = subprocess.run([sys.executable, "-c", code], input=given, capture_output=True, cwd=tmp_path, check=True)
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [1, 2]
    assert done.stderr == b"[]\n"


def test_the_result_of_each_version_has_what_the_version_has() -> None:
    tool = McpTool("count", "", {"type": "object"}, {}, lambda arguments, meta, later: {"n": len(arguments)})
    connection = Connection("test", "1", "", (tool,))
    params = {"name": "count", "arguments": {"a": 1}}
    connection.request("initialize", {"protocolVersion": "2025-03-26"})
    old = connection.request("tools/call", params)
    assert not isinstance(old, dict)
    assert old.result() == {"content": [{"type": "text", "text": '{"n": 1}'}], "isError": False}
    new = connection.request("tools/call", params | {"_meta": META})
    assert not isinstance(new, dict)
    assert new.result() == {
        "resultType": "complete",
        "content": [{"type": "text", "text": '{"n": 1}'}],
        "isError": False,
        "structuredContent": {"n": 1},
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "test", "version": "1"}},
    }
    listed = connection.request("tools/list", {"_meta": META})
    assert isinstance(listed, dict)
    assert {"resultType", "tools", "ttlMs", "cacheScope", "_meta"} == listed.keys()

"""The part of the Model Context Protocol that a server of tools needs: a request in, its result out, no I/O.

The specification has two kinds of versions. Up to 2025-11-25 a connection is opened by `initialize`; since 2026-07-28
every request names its version in `_meta`. Both are answered, even on one connection. The agent waits for the first
answer, so this module imports as little as possible.
"""

from __future__ import annotations

import json

from knowbound.text.printable import shorten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    Json: TypeAlias = dict[str, Any]
    Later: TypeAlias = list[Callable[[], None]]
    RunTool: TypeAlias = Callable[[Json, Json, Later], Json]

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS_VERSIONS = ("2026-07-28",)
_VERSIONS = (*HANDSHAKE_VERSIONS, *STATELESS_VERSIONS)
_STRUCTURED_SINCE = _VERSIONS.index("2025-06-18")  # results as values beside their text

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603
UNSUPPORTED_VERSION = -32022

_META = "io.modelcontextprotocol/"
_CACHED = {"ttlMs": 300_000, "cacheScope": "public"}  # the tools are the same for as long as the process runs
_CAPABILITIES: Json = {"tools": {}}
_MOST_OF_A_NAME = 100  # characters of the client's text in an error


class McpTool:
    """A tool: its description for clients, and the function of a call.

    The function takes the arguments, `_meta`, and a list for work that follows the answer. It raises ToolError. A tool
    for hooks has a function that prepares its first call. It is not listed and answers at once, with one text, which
    clients read as a hook's output.
    """

    def __init__(
        self,
        name: str,
        description: str,
        schema: Json,
        annotations: Json,
        run: RunTool,
        *,
        prepare: Callable[[], None] | None = None,
    ) -> None:
        self.name = name
        self.run = run
        self.prepare = prepare
        self.is_for_hooks = prepare is not None
        self.listed: Json = {
            "name": name,
            "description": description,
            "inputSchema": schema,
            "annotations": annotations,
        }


class ToolError(Exception):
    """A failed call; the message is for the model, which can call again."""


class ProtocolError(Exception):
    """A failed request; the message is for the client."""

    def __init__(self, code: int, message: str, data: Json | None = None) -> None:
        super().__init__(message)
        self.code, self.data = code, data

    def as_json(self) -> Json:
        """Return the `error` of a response."""
        return {"code": self.code, "message": str(self)} | ({} if self.data is None else {"data": self.data})


class RequestedCall:
    """A call that may take long; its owner decides in which thread it runs."""

    def __init__(self, tool: McpTool, arguments: Json, meta: Json, version: str, server: Json) -> None:
        self.tool = tool
        self._arguments, self._meta, self._version, self._server = arguments, meta, version, server
        self._later: Later = []

    def result(self) -> Json:
        """Run the call and return its result."""
        try:
            answer = self.tool.run(self._arguments, self._meta, self._later)
        except ToolError as error:
            return self.error(str(error))
        text = json.dumps(answer, ensure_ascii=False, allow_nan=False)
        result_fields: Json = {"content": _text(text), "isError": False}
        # Of a hook, clients read the text alone.
        if _VERSIONS.index(self._version) >= _STRUCTURED_SINCE and not self.tool.is_for_hooks:
            result_fields["structuredContent"] = answer
        return _in_version(self._version, result_fields, self._server)

    def finish(self) -> None:
        """Do the work that follows the answer."""
        for work in self._later:
            work()

    def error(self, message: str) -> Json:
        """Return the result of a failed call."""
        return _in_version(self._version, {"content": _text(message), "isError": True}, self._server)


class Connection:
    """One client, with the version that `initialize` agreed on as its only state."""

    def __init__(self, name: str, version: str, instructions: str, tools: tuple[McpTool, ...]) -> None:
        self._server: Json = {"name": name, "version": version}
        self._instructions = instructions
        self._tools = {tool.name: tool for tool in tools}
        self._agreed_version = HANDSHAKE_VERSIONS[-1]

    def request(self, method: str, params: Json) -> Json | RequestedCall:
        """Return the result of a request, or the call that makes it. Raises ProtocolError."""
        if method == "initialize":
            return self._initialize(params)
        meta = params.get("_meta", {})
        if not isinstance(meta, dict):
            raise ProtocolError(INVALID_PARAMS, "params._meta must be an object")
        is_stateless = f"{_META}protocolVersion" in meta or method == "server/discover"  # no handshake came before
        version = _named_version(meta) if is_stateless else self._agreed_version
        if method == "tools/call":
            return self._call(params, meta, version)
        if method == "tools/list":
            return self._list(params, version)
        if method == "server/discover":
            about = {"supportedVersions": list(_VERSIONS), "capabilities": _CAPABILITIES}
            return _in_version(version, about | {"instructions": self._instructions} | _CACHED, self._server)
        if method == "ping" and not is_stateless:
            return {}
        raise ProtocolError(METHOD_NOT_FOUND, f"Method not found: {shorten(method, _MOST_OF_A_NAME)}")

    def _initialize(self, params: Json) -> Json:
        """Agree on the requested version, or offer the newest known one."""
        requested = params.get("protocolVersion")
        if not isinstance(requested, str):
            raise ProtocolError(INVALID_PARAMS, "initialize needs protocolVersion, a string")
        self._agreed_version = requested if requested in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]
        return {
            "protocolVersion": self._agreed_version,
            "capabilities": _CAPABILITIES,
            "serverInfo": self._server,
            "instructions": self._instructions,
        }

    def prepare(self) -> None:
        """Prepare the tools of hooks, when the client has what it waits for."""
        for tool in self._tools.values():
            if tool.prepare:
                tool.prepare()

    def _list(self, params: Json, version: str) -> Json:
        if params.get("cursor") is not None:
            raise ProtocolError(INVALID_PARAMS, "There is one page of tools, and no cursor")
        tools = [tool.listed for tool in self._tools.values() if not tool.is_for_hooks]  # no agent calls it
        cached = _CACHED if version in STATELESS_VERSIONS else {}
        return _in_version(version, {"tools": tools} | cached, self._server)

    def _call(self, params: Json, meta: Json, version: str) -> RequestedCall:
        name, arguments = params.get("name"), params.get("arguments")
        if not isinstance(name, str) or name not in self._tools:
            raise ProtocolError(INVALID_PARAMS, f"Unknown tool: {shorten(str(name), _MOST_OF_A_NAME)}")
        if not isinstance(arguments, dict | None):
            raise ProtocolError(INVALID_PARAMS, "arguments must be an object")
        return RequestedCall(self._tools[name], arguments or {}, meta, version, self._server)


def _named_version(meta: Json) -> str:
    """Return the version that a request names, if the other required keys are there."""
    missing = [key for key in ("protocolVersion", "clientCapabilities") if f"{_META}{key}" not in meta]
    if missing:
        raise ProtocolError(INVALID_PARAMS, f"params._meta lacks {', '.join(_META + key for key in missing)}")
    version = meta[f"{_META}protocolVersion"]
    if not isinstance(version, str):
        raise ProtocolError(INVALID_PARAMS, f"{_META}protocolVersion must be a string")
    if version not in STATELESS_VERSIONS:
        data: Json = {"supported": list(_VERSIONS), "requested": shorten(version, _MOST_OF_A_NAME)}
        raise ProtocolError(UNSUPPORTED_VERSION, "Unsupported protocol version", data)
    return version


def _in_version(version: str, result: Json, server: Json) -> Json:
    """Add the fields that the version requires in every result."""
    if version not in STATELESS_VERSIONS:
        return result
    return {"resultType": "complete", **result, "_meta": {f"{_META}serverInfo": server}}


def _text(text: str) -> list[Json]:
    return [{"type": "text", "text": text}]

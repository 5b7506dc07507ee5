"""A language server as a child process: the Language Server Protocol over its standard input and output.

Only what a question needs. The server is not trusted: every wait has an end, every message a size, and whatever it
sends that is not the protocol is a `ServerFault` with the reason in words.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import selectors
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from knowbound.process import clean_environment, kill

_READ = 1 << 16
_HEADER_BYTES = 4096
_FIRST_HEADER = b"content-"
_LENGTH = re.compile(rb"^content-length:[ \t]*(\d{1,12})[ \t]*$", re.IGNORECASE | re.MULTILINE)
_FAREWELL_SECONDS = 0.3  # what a server gets to end by itself
_ACCEPTED = frozenset(
    "client/registerCapability client/unregisterCapability window/workDoneProgress/create window/showMessageRequest "
    "workspace/diagnostic/refresh workspace/semanticTokens/refresh workspace/inlayHint/refresh "
    "workspace/codeLens/refresh workspace/foldingRange/refresh workspace/inlineValue/refresh".split()
)
_CAPABILITIES: dict[str, object] = {
    "general": {"positionEncodings": ["utf-16"]},
    "textDocument": {
        "definition": {},
        "references": {},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
        "synchronization": {},
    },
    "workspace": {"configuration": True, "workspaceFolders": True},
    "window": {"workDoneProgress": False},
}


class ServerFault(Exception):  # noqa: N818  (a fault of theirs, never an error of ours)
    """The server did not do its part; the message says how, as the end of a sentence that starts with its name."""


class Refused(ServerFault):
    """The server answered a request with an error; it is otherwise well."""


@dataclass(frozen=True, slots=True)
class Location:
    """A place as the server names it: a file, a line and two columns, all from 0, columns in UTF-16 units."""

    path: str  # absolute
    line: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Outline:
    """A symbol of a file, the lines that it spans (from 0), and the names of the symbols around it."""

    name: str
    first: int
    last: int
    containers: tuple[str, ...]


class Client:
    """One running server and the conversation with it."""

    def __init__(
        self,
        argv: Sequence[str],
        root: Path,
        message_bytes: int,
        env: Mapping[str, str] | None = None,
        settings: Mapping[str, object] | None = None,
    ) -> None:
        """Start it in the root, with the small environment that every program gets.

        `settings` is what it is told when it asks for its configuration, by section.
        """
        self.started = time.monotonic()
        self._root = root
        self._message_bytes = message_bytes
        self._settings = dict(settings or {})
        self._read_bytes = 0
        self._incoming = bytearray()
        self._outgoing = bytearray()
        self._answers: dict[int, tuple[object, str]] = {}
        self._last_id = 0
        self._open: set[str] = set()
        try:
            self._process = subprocess.Popen(
                list(argv),
                cwd=root,
                env=clean_environment(root, env),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise ServerFault(f"could not be started: {error}") from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        os.set_blocking(self._stdin.fileno(), False)

    def initialize(self, options: Mapping[str, object], end: float) -> str:
        """The handshake; returns the version that the server names, where it does."""
        root_uri = uri_of(self._root)
        result = self.wait(
            self.send(
                "initialize",
                {
                    "processId": os.getpid(),
                    "clientInfo": {"name": "knowbound"},
                    "rootUri": root_uri,
                    "workspaceFolders": self._folders(),
                    "capabilities": _CAPABILITIES,
                    "initializationOptions": dict(options),
                },
            ),
            end,
        )
        if not isinstance(result, dict) or not isinstance(result.get("capabilities"), dict):
            raise ServerFault("did not say what it can do")
        self.notify("initialized", {})
        info = result.get("serverInfo")
        version = re.search(r"\d[\w.+-]*", str(info.get("version"))) if isinstance(info, dict) else None
        return version.group()[:40] if version else ""

    def begin(self) -> None:
        """A new question: what may be read starts again from zero, and no file is taken as open."""
        self._read_bytes = 0
        self._answers.clear()
        for path in self._open:
            self.notify("textDocument/didClose", {"textDocument": {"uri": uri_of(self._root / path)}})
        self._open.clear()

    def open(self, path: str, text: str, language: str) -> None:
        """Tell the server of a file as it is now; once per question."""
        if path in self._open:
            return
        self._open.add(path)
        item = {"uri": uri_of(self._root / path), "languageId": language, "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})

    def ask_outline(self, path: str) -> int:
        """Ask which symbols an open file has."""
        return self.send("textDocument/documentSymbol", {"textDocument": {"uri": uri_of(self._root / path)}})

    def ask_at(self, method: str, path: str, line: int, column: int) -> int:
        """Ask about a position (from 0) of a file: `definition` or `references`."""
        params: dict[str, object] = {
            "textDocument": {"uri": uri_of(self._root / path)},
            "position": {"line": line, "character": column},
        }
        if method == "references":
            params["context"] = {"includeDeclaration": True}  # ty counts an import as a declaration
        return self.send(f"textDocument/{method}", params)

    def send(self, method: str, params: Mapping[str, object]) -> int:
        """Put a request on its way; `wait` for the number that is returned."""
        self._last_id += 1
        self._put({"id": self._last_id, "method": method, "params": params})
        return self._last_id

    def notify(self, method: str, params: Mapping[str, object]) -> None:
        """Put a notification on its way."""
        self._put({"method": method, "params": params})

    def wait(self, number: int, end: float) -> object:
        """The answer to a request; a fault where it does not come before `end` (`time.monotonic()`)."""
        while number not in self._answers:
            self._pump(end)
        result, error = self._answers.pop(number)
        if error:
            raise Refused(f"refused: {error}")
        return result

    def close(self) -> None:
        """Say goodbye where the server still listens, and end it with everything it started in every case."""
        end = time.monotonic() + _FAREWELL_SECONDS
        with contextlib.suppress(ServerFault):
            self._read_bytes = 0
            self.wait(self.send("shutdown", {}), end)
            self.notify("exit", {})
            while self._process.poll() is None:
                self._pump(end)
        self.kill()

    def kill(self) -> None:
        """End it at once, with everything it started."""
        kill(self._process)
        self._process.wait()
        for pipe in (self._stdin, self._stdout):
            with contextlib.suppress(OSError):
                pipe.close()

    def _folders(self) -> list[dict[str, str]]:
        return [{"uri": uri_of(self._root), "name": self._root.name}]

    def _put(self, message: dict[str, object]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode()
        self._outgoing += b"Content-Length: %d\r\n\r\n%b" % (len(body), body)

    def _pump(self, end: float) -> None:
        """Send what is waiting and take what has come: both at once, so that neither side can block the other."""
        left = end - time.monotonic()
        if left <= 0:
            raise ServerFault("did not answer in time")
        with selectors.DefaultSelector() as selector:
            selector.register(self._stdout, selectors.EVENT_READ)
            if self._outgoing:
                selector.register(self._stdin, selectors.EVENT_WRITE)
            for key, _ in selector.select(left):
                if key.fileobj is self._stdin:
                    self._write()
                else:
                    self._take()

    def _write(self) -> None:
        try:
            sent = os.write(self._stdin.fileno(), self._outgoing[:_READ])
        except BlockingIOError:
            return
        except OSError as error:
            raise ServerFault("ended before it answered") from error
        del self._outgoing[:sent]

    def _take(self) -> None:
        chunk = os.read(self._stdout.fileno(), _READ)
        if not chunk:
            raise ServerFault("ended before it answered")
        self._read_bytes += len(chunk)
        if self._read_bytes > self._message_bytes:
            raise ServerFault(f"sent more than {self._message_bytes} bytes")
        self._incoming += chunk
        for message in self._messages():
            self._receive(message)

    def _messages(self) -> Iterator[dict[str, object]]:
        """The whole messages that have come."""
        while self._incoming:
            start = bytes(self._incoming[: len(_FIRST_HEADER)]).lower()
            at = self._incoming.find(b"\r\n\r\n", 0, _HEADER_BYTES)
            if not _FIRST_HEADER.startswith(start) or (at < 0 and len(self._incoming) >= _HEADER_BYTES):
                raise ServerFault("sent something that is not the protocol")
            if at < 0:
                return
            length = _LENGTH.search(bytes(self._incoming[:at]).replace(b"\r\n", b"\n"))
            if length is None:
                raise ServerFault("sent a message without a length")
            size = int(length[1])
            if size > self._message_bytes:
                raise ServerFault(f"announced a message of {size} bytes")
            begin = at + 4
            if len(self._incoming) < begin + size:
                return
            body = bytes(self._incoming[begin : begin + size])
            del self._incoming[: begin + size]
            yield _decoded(body)

    def _receive(self, message: dict[str, object]) -> None:
        """Keep an answer, answer a request, leave a notification."""
        number, method = message.get("id"), message.get("method")
        if isinstance(method, str):
            if isinstance(number, int | str):
                self._put({"id": number, **self._reply(method, message.get("params"))})
            return
        if isinstance(number, int) and 0 < number <= self._last_id:
            error = message.get("error")
            text = error.get("message") if isinstance(error, dict) else error
            self._answers[number] = (message.get("result"), str(text)[:200] if text else "")

    def _reply(self, method: str, params: object) -> dict[str, object]:
        """What a request of the server gets: our few settings, our one folder, consent, or that we cannot do it."""
        if method == "workspace/configuration":
            items = params.get("items") if isinstance(params, dict) else None
            sections = [one.get("section") if isinstance(one, dict) else None for one in _list(items)]
            return {"result": [self._settings.get(one) if isinstance(one, str) else None for one in sections]}
        if method == "workspace/workspaceFolders":
            return {"result": self._folders()}
        if method == "workspace/applyEdit":
            return {"result": {"applied": False}}
        if method in _ACCEPTED:
            return {"result": None}
        return {"error": {"code": -32601, "message": "not supported"}}


def uri_of(path: Path) -> str:
    """The address of a file."""
    return "file://" + quote(os.fsencode(path))


def locations(result: object) -> list[Location]:
    """The places in an answer (Location, Location[] or LocationLink[]); what is none is left out."""
    found = []
    for one in _list(result) or [result]:
        if not isinstance(one, dict):
            continue
        path = _path_of(one.get("uri", one.get("targetUri")))
        where = one.get("range", one.get("targetSelectionRange"))
        start, end = _position(where, "start"), _position(where, "end")
        if path is not None and start is not None and end is not None:
            same_line = start[0] == end[0]
            found.append(Location(path, start[0], start[1], end[1] if same_line else start[1]))
    return found


def outline(result: object) -> list[Outline]:
    """The symbols in an answer to documentSymbol, with what encloses them."""
    found: list[Outline] = []
    waiting: list[tuple[object, tuple[str, ...]]] = [(result, ())]
    while waiting:
        symbols, containers = waiting.pop()
        for one in _list(symbols):
            name = one.get("name") if isinstance(one, dict) else None
            if not isinstance(one, dict) or not isinstance(name, str):
                continue
            first, last = _position(one.get("range"), "start"), _position(one.get("range"), "end")
            if first is not None and last is not None:
                found.append(Outline(name, first[0], last[0], containers))
                waiting.append((one.get("children"), (*containers, name)))
    return found


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _position(where: object, which: str) -> tuple[int, int] | None:
    at = where.get(which) if isinstance(where, dict) else None
    line, column = (at.get("line"), at.get("character")) if isinstance(at, dict) else (None, None)
    if not isinstance(line, int) or not isinstance(column, int) or line < 0 or column < 0:
        return None
    return line, column


def _path_of(uri: object) -> str | None:
    """The absolute path of a file address; None for every other kind."""
    if not isinstance(uri, str):
        return None
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    path = unquote(parts.path, errors="surrogateescape")
    return path if parts.scheme == "file" and parts.netloc in ("", "localhost") and "\0" not in path else None


def _decoded(body: bytes) -> dict[str, object]:
    try:
        message = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ServerFault("sent a message that is not JSON") from error
    if not isinstance(message, dict):
        raise ServerFault("sent a message that is not an object")
    return message

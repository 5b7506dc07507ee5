"""Memories of a Mem0 server, by its REST API, on exchanges that were recorded with the server of mem0ai 2.2.

`recordings/mem0_server.jsonl` has one exchange a line. To record it again: start that server with the memories of
`MEMORIES`, and run this file with its address and key in KNOWBOUND_TEST_MEM0_URL and KNOWBOUND_TEST_MEM0_KEY.
"""

from __future__ import annotations

import json
import os
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from knowbound.config import Settings
from knowbound.core.item import FlagKind, Item, ItemSource, ItemType
from knowbound.errors import InputError, StoreError
from knowbound.kms import knowledge_store
from knowbound.kms.opening import open_backend, open_knowledge_store
from knowbound.kms.validation import ItemEdit

_RECORDING = Path(__file__).parents[1] / "recordings" / "mem0_server.jsonl"
ENTRY = "7b1c2d3e-0000-4000-8000-000000000001"
_ABOUT = {"source": "technical", "confidence": 0.8, "timestamp": "2026-05-07T10:00:00.123Z", "subject": "Orders.port"}
MEMORIES = (
    ("The orders service listens on port 8040.", {"kms_id": ENTRY, "content_type": "fact", **_ABOUT}),
    ("Deploys run at noon.", {"content_type": "procedure", **_ABOUT}),
)


class Exchanges(ThreadingHTTPServer):
    """Answers as the recorded server did; in recording, asks that server and notes its answers."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.real, self.key = (
            os.environ.get("KNOWBOUND_TEST_MEM0_URL", ""),
            os.environ.get("KNOWBOUND_TEST_MEM0_KEY", ""),
        )
        self.recorded: list[dict[str, Any]] = []
        if not self.real:
            self.recorded = [json.loads(line) for line in _RECORDING.read_text("utf-8").splitlines()]
        self.unexpected: list[object] = []

    def answer(self, method: str, path: str, body: object) -> tuple[int, bytes]:
        if self.real:
            data = json.dumps(body).encode() if body is not None else None
            headers = {"X-API-Key": self.key, "Content-Type": "application/json"}
            with urllib.request.urlopen(
                urllib.request.Request(self.real + path, data, headers, method=method), timeout=60
            ) as answer:
                said = json.loads(answer.read())
            self.recorded.append({"method": method, "path": path, "body": body, "answer": said})
            return 200, json.dumps(said).encode()
        # Reads are answered from between the last write and the next one, as often as they are asked.
        for at, one in enumerate(self.recorded):
            if (one["method"], one["path"], one["body"]) == (method, path, body):
                del self.recorded[: 0 if method == "GET" else at + 1]
                return 200, json.dumps(one["answer"]).encode()
            if one["method"] != "GET":
                break
        self.unexpected.append((method, path, body))
        return 500, b"{}"


class _Handler(BaseHTTPRequestHandler):
    server: Exchanges

    def do_GET(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        if self.headers.get("X-API-Key") != "key":
            code, answer = 401, b"{}"
        else:
            code, answer = self.server.answer(self.command, self.path, body)
        self.send_response(code)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def server() -> Iterator[Exchanges]:
    with Exchanges() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def settings_for(server: Exchanges, home: Path, **more: Any) -> Settings:
    url = f"http://127.0.0.1:{server.server_address[1]}/"
    given = {"kms_mem0_password": "key", "kms_mem0_user": "ada"} | more
    return Settings(home, home / ".knowbound", kms_backends=("mem0",), kms_mem0_url=url, **given)


def test_memories_are_read_and_corrected_by_the_api(
    server: Exchanges, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(knowledge_store, "_new_id", lambda: "kaaaaaaaaaaa")
    monkeypatch.setattr(knowledge_store.KnowledgeStore, "_time", lambda _: "2026-11-18T12:00:00Z")
    with closing(open_knowledge_store(settings_for(server, tmp_path), by="ada")) as store:
        read = {one.item.content: one.item for one in store.index.all_items()}
        copy, own = read["The orders service listens on port 8040."], read["Deploys run at noon."]
        assert (copy.copy_of, copy.type, copy.source) == (ENTRY, ItemType.FACT, ItemSource.TECHNICAL)
        assert own == Item(
            own.id,
            "Deploys run at noon.",
            ItemType.PROCEDURE,
            subject="Orders.port",
            user="ada",
            timestamp="2026-05-07T10:00:00.123Z",
            confidence=0.8,
        )
        with pytest.raises(InputError, match="store-read-only"):
            store.supersede(own.id, by=ItemEdit(content="Deploys run at six."))
    with closing(open_knowledge_store(settings_for(server, tmp_path, kms_write=True), by="ada")) as store:
        new = store.supersede(own.id, by=ItemEdit(content="Deploys run at six."), note="moved")
        assert {one.item.content for one in store.index.all_items() if one.served} == {copy.content, new.content}
        old = store.get(own.id)
        assert old
        assert old.content == own.content
        assert old.flag
        assert (old.flag.kind, old.flag.superseded_by) == (FlagKind.SUPERSEDED, "kaaaaaaaaaaa")
        assert store.get(new.id) == new
        store.unflag(own.id)
        store.update(new.id, ItemEdit(content="Deploys run at seven."))
        assert (store.get(new.id) or own).content == "Deploys run at seven."
    if server.real:
        lines = [json.dumps(one, ensure_ascii=False) for one in server.recorded]
        _RECORDING.write_text("\n".join(lines) + "\n", "utf-8")
    assert server.unexpected == []
    assert server.real or not [one for one in server.recorded if one["method"] != "GET"]  # all writes were made


def test_a_wrong_key_and_a_list_that_is_not_whole_are_errors(server: Exchanges, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="401"):
        open_backend("mem0", settings_for(server, tmp_path, kms_mem0_password="x")).changed_since("")
    server.real, server.recorded = "", []
    rows = {"results": [{"id": None, "memory": None}]}  # so answers a server that can only list the memories of a user
    server.recorded.append({"method": "GET", "path": "/memories?top_k=1000", "body": None, "answer": rows})
    with pytest.raises(StoreError, match="mem0_user"):
        open_backend("mem0", settings_for(server, tmp_path, kms_mem0_user="")).changed_since("")


def test_a_server_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    settings = Settings(tmp_path, tmp_path, kms_backends=("mem0",), kms_mem0_url="http://127.0.0.1:9")
    with pytest.raises(StoreError, match="backend-unreachable"):
        open_backend("mem0", settings).changed_since("")

